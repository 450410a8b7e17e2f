// One diagnosis: the answer first, then how it came about, then what it rests on.
import { useEffect, useReducer, useRef, useState } from "preact/hooks";
import { get, openWatch } from "../api.ts";
import { emptyPicture, exhibitOf, fold, isLive, isOver, type Picture } from "../fold.ts";
import { instant, lastPart, visible } from "../format.ts";
import { Badge, Foreign, Loading, Title, Trouble, When, wordOf } from "../parts.tsx";
import { diagnosisHash, kTabs } from "../route.ts";
import { me, now, replace, route, said } from "../state.ts";
import type { Diagnosis, DiagnosisEvent } from "../types.ts";
import { follow, type Line } from "../watch.ts";
import { Actions } from "./actions.tsx";
import { EvidenceDrawer, EvidenceTab } from "./evidence.tsx";
import { ReasoningTab } from "./reasoning.tsx";
import { ReportTab } from "./report.tsx";
import { SearchTab } from "./search.tsx";
import { TimeTab } from "./time.tsx";

const kTitles: Record<string, string> = { report: "Report", search: "Search", evidence: "Evidence", reasoning: "Reasoning", time: "Time line" };

type Change = { events: DiagnosisEvent[] } | { reset: true };
const reduce = (picture: Picture, change: Change): Picture => ("reset" in change ? emptyPicture() : fold(picture, change.events));

const sleep = (ms: number, signal: AbortSignal) => new Promise<void>((resolve) => {
  const timer = setTimeout(done, ms);
  // Back at once when there is a network again, or somebody looks.
  const look = () => {
    if (document.visibilityState === "visible") done();
  };
  function done() {
    clearTimeout(timer);
    removeEventListener("online", done);
    document.removeEventListener("visibilitychange", look);
    resolve();
  }
  addEventListener("online", done);
  document.addEventListener("visibilitychange", look);
  signal.addEventListener("abort", done);
});

/** The events as they come, drawn together once a frame; and the diagnosis itself, asked for again when they are over. */
function useDiagnosis(name: string) {
  const [picture, change] = useReducer(reduce, emptyPicture());
  const [line, setLine] = useState<Line>("connecting");
  const [why, setWhy] = useState("");
  const [whole, setWhole] = useState<Diagnosis>();
  const [error, setError] = useState<unknown>();
  const [turn, setTurn] = useState(0);
  const seen = useRef(0);

  useEffect(() => {
    const stop = new AbortController();
    let waiting: DiagnosisEvent[] = [];
    let drawing = 0;
    const draw = () => {
      drawing = 0;
      const events = waiting;
      waiting = [];
      if (events.length > 0) change({ events });
    };
    const ask = () => get(name).then((answer) => {
      if (!stop.signal.aborted) setWhole(answer);
    }, (problem: unknown) => {
      if (!stop.signal.aborted) setError(problem);
    });
    void ask();
    void follow({ open: (last, signal) => openWatch(name, last, signal), sleep }, {
      onEvents(events) {
        waiting.push(...events);
        seen.current = Number(events.at(-1)?.sequence ?? seen.current);
        // Nobody sees frames of a hidden page: they do not come.
        if (document.visibilityState === "hidden") draw();
        else if (drawing === 0) drawing = requestAnimationFrame(draw);
      },
      onReset() {
        waiting = [];
        seen.current = 0;
        change({ reset: true });
      },
      onLine(now_, reason) {
        setLine(now_);
        setWhy(reason);
        if (now_ === "ended") void ask();
      },
    }, stop.signal, seen.current);
    return () => {
      draw();
      stop.abort();
      cancelAnimationFrame(drawing);
    };
  }, [name, turn]);

  return { picture, line, why, whole, error, again: () => { setError(undefined); setTurn((one) => one + 1); }, take: setWhole };
}

export function DiagnosisView({ name }: { name: string }) {
  const { picture, line, why, whole, error, again, take } = useDiagnosis(name);
  const at = route.value;
  const state = line === "ended" && whole?.state ? whole.state : picture.last > 0 ? picture.state : (whole?.state ?? "PENDING");
  const tab = at.view === "diagnosis" && at.tab !== "" ? at.tab : picture.report || isOver(state) ? "report" : "search";
  const evidence = at.view === "diagnosis" ? at.evidence : "";
  const told = useRef("");
  useEffect(() => {
    const text = picture.report?.headline && !isLive(state) ? `${wordOf(state)}: ${picture.report.headline}` : wordOf(state);
    if (told.current !== text && picture.last > 0) {
      told.current = text;
      said.value = text;
    }
  }, [state, picture.report]);

  if (error !== undefined && picture.last === 0 && whole === undefined) {
    return <section><Title text="Diagnosis" /><Trouble error={error} again={again} /><p><a href="#/diagnoses">To the diagnoses</a></p></section>;
  }
  if (picture.last === 0 && whole === undefined) return <Loading what="the diagnosis" />;
  const incident = picture.incident ?? whole?.incident;
  const headline = picture.report?.headline ?? (incident?.description ?? "").trim().split("\n")[0] ?? lastPart(name);
  const open = (id: string) => replace(diagnosisHash(name, tab, id));
  const exhibit = evidence === "" ? undefined : exhibitOf(picture, evidence);
  return (
    <section class="diagnosis">
      <p class="crumb"><a href="#/diagnoses">Diagnoses</a> <span aria-hidden="true">/</span> <span class="mono">{lastPart(name)}</span></p>
      <div class="head">
        <Title text={visible(headline)}><Foreign text={headline} /></Title>
        <div class="facts"><Badge state={state} /> <LiveLine line={line} why={why} state={state} updated={picture.updated} last={picture.last} /></div>
      </div>
      <p class="dim small facts">Reported <When time={picture.started || whole?.createTime} />
        {(picture.strategy || whole?.strategy) && ` · search ${picture.strategy || whole?.strategy}`}
        {picture.nodes.length > 0 && <> · <Foreign text={picture.nodes.slice(0, 4).join(", ")} />{picture.nodes.length > 4 && ` and ${picture.nodes.length - 4} more`}</>}</p>
      {line === "refused" && <Trouble error={why} again={again} />}
      {isLive(state) && <Awaited picture={picture} name={name} line={line} />}
      <Actions name={name} state={state} full={tab === "report"} picture={picture} mayWrite={me.value?.mayWrite ?? false} onDone={(answer) => { take(answer); again(); }} />
      <nav class="tabs" aria-label="Parts of the diagnosis">{kTabs.map((one) => (
        <a key={one} href={diagnosisHash(name, one)} {...(one === tab ? { "aria-current": "page" as const } : {})}>{kTitles[one]}</a>))}</nav>
      <div class="tab">
        {tab === "report" ? <ReportTab picture={picture} whole={whole} name={name} open={open} />
          : tab === "search" ? <SearchTab picture={picture} open={open} live={isLive(state)} />
            : tab === "evidence" ? <EvidenceTab picture={picture} open={open} />
              : tab === "reasoning" ? <ReasoningTab picture={picture} open={open} live={isLive(state)} />
                : <TimeTab picture={picture} open={open} />}
      </div>
      {exhibit && <EvidenceDrawer exhibit={exhibit} link={diagnosisHash(name, tab, evidence)} onClose={() => replace(diagnosisHash(name, tab))} />}
    </section>
  );
}

function LiveLine({ line, why, state, updated, last }: { line: Line; why: string; state: string; updated: string; last: number }) {
  if (line === "live" && isLive(state)) return <span class="line info" data-line="live"><span aria-hidden="true">●</span> live, event {last}</span>;
  if (line === "reconnecting") {
    return <span class="line unsure" data-line="reconnecting" title={why}><span aria-hidden="true">◐</span> reconnecting; showing what was known at {instant(updated)}</span>;
  }
  if (line === "connecting") return <span class="line dim" data-line="connecting">connecting…</span>;
  return <span class="line dim" data-line={line}>{last} events</span>;
}

/** What is waited for, by name. */
function Awaited({ picture, name, line }: { picture: Picture; name: string; line: Line }) {
  const [pending, setPending] = useState(0);
  useEffect(() => {
    if (line !== "live") return undefined;
    const timer = setInterval(() => {
      get(name, "pendingChecks").then((answer) => setPending(answer.pendingChecks ?? 0), () => undefined);
    }, 3000);
    return () => clearInterval(timer);
  }, [line, name]);
  const silent = picture.updated ? Math.floor((now.value - Date.parse(picture.updated)) / 1000) : 0;
  return <p class="awaited"><span class="pulse" aria-hidden="true" />{picture.phase || "working"}
    {pending > 0 && `, ${pending} ${pending === 1 ? "check is" : "checks are"} still to answer`}{silent >= 10 && ` (nothing new for ${silent} s)`}</p>;
}

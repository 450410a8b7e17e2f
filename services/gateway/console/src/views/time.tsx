// The time line: what happened at the incident, and then what the search did.
import { useState } from "preact/hooks";
import type { Picture } from "../fold.ts";
import { clock, instant } from "../format.ts";
import { Empty, Foreign } from "../parts.tsx";

interface Happening { time: string; text: string; where: string; id: string }

/** What the logs and checks date, oldest first. What has no time of its own is not in it. */
export function happeningsOf(picture: Picture): Happening[] {
  const found = new Map<string, Happening>();
  const add = (one: Happening) => {
    const key = `${one.time} ${one.text} ${one.where}`;
    if (!found.has(key)) found.set(key, one);
  };
  for (const signal of picture.summary?.signals ?? []) {
    if (signal.firstTime) add({ time: signal.firstTime, text: signal.excerpt || signal.meaning || "", where: signal.source ?? "", id: signal.id });
  }
  for (const result of Object.values(picture.checks)) {
    for (const finding of result.findings ?? []) {
      const event = finding.eventValue;
      if (event?.time) add({ time: event.time, text: event.text || `${finding.name} ${event.code ?? ""}`, where: result.node ?? "", id: result.id });
    }
  }
  return [...found.values()].sort((a, b) => Date.parse(a.time) - Date.parse(b.time));
}

export function TimeTab({ picture, open }: { picture: Picture; open: (id: string) => void }) {
  const [checks, setChecks] = useState(false);
  const happenings = happeningsOf(picture).slice(0, 500);
  const moments = picture.moments.filter((one) => checks || one.kind !== "check");
  const start = picture.incident?.startTime;
  const end = picture.incident?.endTime;
  return (
    <div class="cols">
      <section aria-labelledby="incident-time">
        <div class="subhead"><h2 id="incident-time">At the incident</h2>
          {(start || end) && <p class="dim counts">reported window {start ? instant(start) : "…"} to {end ? instant(end) : "…"}</p>}</div>
        {happenings.length === 0 ? <Empty title="Nothing that was seen carries a time." />
          : <>{happenings.length > 1 && <Strip happenings={happenings} />}
            <ol class="moments">{happenings.map((one, i) => <li key={i}>{one.time.slice(0, 10) !== happenings[i - 1]?.time.slice(0, 10)
              && <span class="day dim small">{one.time.slice(0, 10)}</span>}<time dateTime={one.time} title={instant(one.time)}>{clock(one.time)}</time>
              <span class="mono small what"><Foreign text={one.text} /></span>
              <button type="button" class="chip link" onClick={() => open(one.id)}><Foreign text={one.where || one.id} /></button></li>)}</ol></>}
      </section>
      <section aria-labelledby="search-time">
        <div class="subhead"><h2 id="search-time">The search</h2>
          <label class="check small"><input type="checkbox" checked={checks} onChange={(event) => setChecks(event.currentTarget.checked)} />each check</label></div>
        <ol class="moments">{moments.map((one) => <li key={one.sequence + one.text} class={one.kind}>
          <time dateTime={one.time} title={instant(one.time)}>{clock(one.time)}</time>
          <span class="what"><Foreign text={one.text} /></span>
          {one.evidence ? <button type="button" class="chip link" onClick={() => open(one.evidence ?? "")}>open</button> : <span />}</li>)}</ol>
      </section>
    </div>
  );
}

function Strip({ happenings }: { happenings: Happening[] }) {
  const times = happenings.map((one) => Date.parse(one.time));
  const first = Math.min(...times);
  const width = Math.max(1, Math.max(...times) - first);
  return <svg class="strip" viewBox="0 0 600 44" role="img"
    aria-label={`${happenings.length} happenings from ${instant(happenings[0]?.time)} to ${instant(happenings.at(-1)?.time)}; the list below has each`}>
    <line x1="8" y1="22" x2="592" y2="22" class="axis" />
    {times.map((time, i) => <circle key={i} cx={8 + ((time - first) / width) * 584} cy="22" r="4" class={i === 0 ? "dot first" : "dot"}><title>{happenings[i]?.text}</title></circle>)}
    <text x="8" y="42">{clock(happenings[0]?.time)}</text><text x="592" y="42" text-anchor="end">{clock(happenings.at(-1)?.time)}</text>
  </svg>;
}

// All diagnoses of a tenant, newest first. What is new does not push what one reads: it waits behind a button.
import { useEffect, useMemo, useState } from "preact/hooks";
import { list } from "../api.ts";
import { isLive } from "../fold.ts";
import { causeOf, filterOf, kSince, matches, queryOf, type Filter } from "../filter.ts";
import { lastPart } from "../format.ts";
import { Badge, Empty, Foreign, Loading, Title, Trouble, When, wordOf } from "../parts.tsx";
import { now, replace, route, tenant } from "../state.ts";
import type { Diagnosis } from "../types.ts";
import { diagnosisHash } from "../route.ts";

const kStates = ["PENDING", "RUNNING", "AWAITING_FEEDBACK", "SUCCEEDED", "ESCALATED", "FAILED", "CANCELLED"];

export function ListView() {
  const [rows, setRows] = useState<Diagnosis[]>();
  const [next, setNext] = useState("");
  const [error, setError] = useState<unknown>();
  const [fresh, setFresh] = useState<Diagnosis[]>([]);
  const at = route.value;
  const filter = filterOf(at.view === "list" ? at.query : new URLSearchParams());
  const change = (part: Partial<Filter>) => replace(queryOf({ ...filter, ...part }));

  const load = async (more: boolean) => {
    try {
      const page = await list(tenant.value, more ? next : "");
      setRows((before) => (more ? [...(before ?? []), ...(page.diagnoses ?? [])] : page.diagnoses ?? []));
      setNext(page.nextPageToken ?? "");
      setFresh([]);
      setError(undefined);
    } catch (problem) {
      setError(problem);
    }
  };
  useEffect(() => void load(false), []);
  // What is known changes in place; what is new waits.
  useEffect(() => {
    const timer = setInterval(() => {
      if (document.visibilityState !== "visible" || rows === undefined) return;
      list(tenant.value, "", 50).then((page) => {
        const newest = new Map((page.diagnoses ?? []).map((one) => [one.name, one]));
        setRows((before) => before?.map((one) => newest.get(one.name) ?? one));
        const known = new Set(rows.map((one) => one.name));
        setFresh((page.diagnoses ?? []).filter((one) => !known.has(one.name)));
      }, () => undefined);
    }, 5000);
    return () => clearInterval(timer);
  }, [rows]);

  const shown = useMemo(() => rows?.filter((one) => matches(one, filter, now.value)), [rows, JSON.stringify(filter)]);
  const filtered = filter.state !== "" || filter.text !== "" || filter.label !== "" || filter.since !== "";
  return (
    <section>
      <div class="head"><Title text="Diagnoses" /><a class="button primary" href="#/new">New diagnosis</a></div>
      <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
        <label>Search <input type="search" data-search value={filter.text} placeholder="words, nodes, ids"
          onInput={(event) => change({ text: event.currentTarget.value })} /></label>
        <label>State <select value={filter.state} onChange={(event) => change({ state: event.currentTarget.value })}>
          <option value="">any</option>{kStates.map((state) => <option key={state} value={state}>{wordOf(state)}</option>)}</select></label>
        <label>Cause <input value={filter.label} placeholder="GPU.MEMORY" spellcheck={false}
          onInput={(event) => change({ label: event.currentTarget.value.trim() })} /></label>
        <label>Reported <select value={filter.since} onChange={(event) => change({ since: event.currentTarget.value })}>
          <option value="">any time</option>{Object.keys(kSince).map((one) => <option key={one} value={one}>in the last {one}</option>)}</select></label>
        {filtered && <button type="button" onClick={() => replace("#/diagnoses")}>Clear</button>}
      </form>
      {error !== undefined && <Trouble error={error} again={() => void load(false)} />}
      {fresh.length > 0 && <button type="button" class="fresh" onClick={() => void load(false)}>{fresh.length} new: show</button>}
      {rows === undefined ? error === undefined && <Loading what="diagnoses" />
        : shown?.length === 0 ? (
          <Empty title={filtered ? "No diagnosis matches." : "There is no diagnosis yet."}>
            {filtered ? <button type="button" onClick={() => replace("#/diagnoses")}>Clear the filter</button>
              : <a class="button" href="#/new">Describe what went wrong</a>}
          </Empty>)
          : <Table rows={shown ?? []} />}
      {next !== "" && <p><button type="button" onClick={() => void load(true)}>Load older</button>
        <span class="dim small"> Filters look at the {rows?.length} that are loaded.</span></p>}
    </section>
  );
}

function Table({ rows }: { rows: Diagnosis[] }) {
  return (
    <table class="list">
      <caption class="hidden">{rows.length} diagnoses</caption>
      <thead><tr><th scope="col">State</th><th scope="col">What was reported</th><th scope="col">Cause</th><th scope="col">Reported</th></tr></thead>
      <tbody>{rows.map((one) => <Row key={one.name} one={one} />)}</tbody>
    </table>
  );
}

function Row({ one }: { one: Diagnosis }) {
  const cause = causeOf(one);
  const text = (one.incident?.description ?? "").trim().split("\n").filter((line) => line.trim() !== "").join(" ");
  return (
    <tr class={isLive(one.state ?? "") ? "live" : ""}>
      <td data-label="State"><Badge state={one.state ?? "PENDING"} /></td>
      <td data-label="Reported as"><a data-row href={diagnosisHash(one.name)} class="rowlink">
        <Foreign text={text.length > 120 ? `${text.slice(0, 120)}…` : text || lastPart(one.name)} /></a>
        <div class="dim small"><Foreign text={[one.incident?.workload?.name, one.incident?.nodes?.slice(0, 3).join(", ")].filter(Boolean).join(" · ")} /></div></td>
      <td data-label="Cause">{cause ? <><Foreign text={cause.title || cause.label} />
        {one.report?.presumedCause && !one.report.primaryCause && <span class="dim"> (presumed)</span>}
        <div class="dim small mono">{cause.label}</div></>
        : <span class="dim">{one.report ? "none confirmed" : "–"}</span>}</td>
      <td data-label="When"><When time={one.createTime} /></td>
    </tr>
  );
}

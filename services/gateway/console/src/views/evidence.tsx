// What was seen: every check and every known message of the logs, with the raw text that shows it.
import { useState } from "preact/hooks";
import { type Exhibit, type Picture } from "../fold.ts";
import { bytes, deviceText, findingText, secondsOf, span } from "../format.ts";
import { Badge, CopyButton, Dialog, Empty, Foreign } from "../parts.tsx";
import { Checks } from "./search.tsx";

const kKinds = ["", "FAIL", "ERROR", "PASS", "SKIPPED"];
const kNames: Record<string, string> = { "": "all", FAIL: "fail", ERROR: "error", PASS: "pass", SKIPPED: "skipped" };

export function EvidenceTab({ picture, open }: { picture: Picture; open: (id: string) => void }) {
  const [only, setOnly] = useState("");
  const signals = picture.summary?.signals ?? [];
  const count = (status: string) => Object.values(picture.checks).filter((one) => status === "" || one.status === status).length;
  return (
    <div class="cols">
      <section aria-labelledby="all-checks">
        <div class="subhead"><h2 id="all-checks">Checks</h2>
          <div class="segments" role="group" aria-label="Which checks">{kKinds.map((one) => <button key={one} type="button" aria-pressed={only === one}
            onClick={() => setOnly(one)}>{kNames[one]} {count(one)}</button>)}</div></div>
        <Checks picture={picture} open={open} only={only} />
      </section>
      <section aria-labelledby="signals">
        <div class="subhead"><h2 id="signals">Known messages in the texts</h2>
          {picture.summary?.linesRead && <p class="dim counts">{picture.summary.linesRead} lines, {bytes(Number(picture.summary.bytesRead ?? 0))} read</p>}</div>
        {signals.length === 0 ? <Empty title="No known message." /> : <ul class="checks">{signals.map((one) => <li key={one.id}>
          <button type="button" data-row class="row" onClick={() => open(one.id)}>
            <span class={`chip ${one.strength === "DECISIVE" ? "warnchip" : ""}`}>{(one.strength ?? "").toLowerCase() || "context"}</span>
            <span class="name"><Foreign text={one.meaning || one.signal} /></span>
            <span class="dim small"><Foreign text={`${one.source ?? ""}${one.firstLine ? ` line ${one.firstLine}` : ""}${Number(one.count ?? 1) > 1 ? `, ${one.count} times` : ""}`} /></span>
            <span class="text mono small"><Foreign text={one.excerpt} /></span></button></li>)}</ul>}
        {(picture.summary?.notes ?? []).map((note, i) => <p key={i} class="dim small"><Foreign text={note} /></p>)}
      </section>
    </div>
  );
}

export function EvidenceDrawer({ exhibit, link, onClose }: { exhibit: Exhibit; link: string; onClose: () => void }) {
  const [telling, setTelling] = useState(true);
  const findings = exhibit.result?.findings ?? [];
  const abnormal = findings.filter((one) => one.abnormal);
  const shown = telling && abnormal.length > 0 ? abnormal : findings;
  return (
    <Dialog title={exhibit.kind === "check" ? exhibit.title : "Message in a text"} onClose={onClose} drawer>
      <p class="facts">{exhibit.status && <Badge state={exhibit.status} />} <span class="mono small"><Foreign text={exhibit.id} /></span></p>
      <dl class="facts2">
        {exhibit.where && <div><dt>Where</dt><dd><Foreign text={exhibit.where} /></dd></div>}
        {exhibit.result?.duration && <div><dt>Took</dt><dd>{span(secondsOf(exhibit.result.duration))}</dd></div>}
      </dl>
      {exhibit.text && <p><Foreign text={exhibit.text} /></p>}
      <h3>Raw text</h3>
      {exhibit.excerpt ? <pre class="raw" tabIndex={0} aria-label="Raw text"><Foreign text={exhibit.excerpt} /></pre>
        : <p class="dim">{exhibit.kind === "check" ? "The check kept no raw text: what it found stands below." : "None was kept."}</p>}
      <div class="actions"><CopyButton text={exhibit.excerpt || exhibit.text} label="Copy text" />
        <CopyButton text={`${location.origin}/${link}`} label="Copy link" /></div>
      {exhibit.usedBy.length > 0 && <><h3>What it was used for</h3><ul class="reasons">{exhibit.usedBy.map((one, i) => <li key={i} class={one.direction}>
        <span class="dir">{one.direction === "supports" ? "for" : "against"}</span> <Foreign text={one.title} />: <span class="dim"><Foreign text={one.text} /></span></li>)}</ul></>}
      {findings.length > 0 && <><h3>Findings</h3>
        {abnormal.length > 0 && abnormal.length < findings.length && <label class="check small"><input type="checkbox" checked={telling}
          onChange={(event) => setTelling(event.currentTarget.checked)} />only what is abnormal ({abnormal.length} of {findings.length})</label>}
        <div class="scroll" tabIndex={0} role="group" aria-label="Findings"><table class="plain"><thead><tr><th scope="col">Finding</th><th scope="col">On</th><th scope="col">Value</th><th scope="col">Expected</th></tr></thead>
          <tbody>{shown.slice(0, 200).map((one, i) => <tr key={i} class={one.abnormal ? "abnormal" : ""}><td class="mono"><Foreign text={one.name} /></td>
            <td><Foreign text={deviceText(one.subject)} /></td><td>{one.abnormal && <span aria-label="abnormal">! </span>}{findingText(one)}</td><td class="dim"><Foreign text={one.expected} /></td></tr>)}</tbody></table></div>
        {shown.length > 200 && <p class="dim small">The first 200 of {shown.length}.</p>}</>}
    </Dialog>
  );
}

// The report: what it is, what to do, what it rests on, and what is not known. Printed, it is a page.
import { isLive, type Picture } from "../fold.ts";
import { belief, deviceText, instant, lastPart } from "../format.ts";
import { CopyButton, Empty, Foreign } from "../parts.tsx";
import { diagnosisHash } from "../route.ts";
import type { Cause, Diagnosis } from "../types.ts";
import { Approvals } from "./approvals.tsx";
import { Courses, Exclusion, System } from "./courses.tsx";
import { Chips } from "./search.tsx";

interface Props { picture: Picture; whole: Diagnosis | undefined; name: string; open: (id: string) => void }

export function ReportTab({ picture, whole, name, open }: Props) {
  const report = picture.report ?? whole?.report;
  const failure = picture.failure || whole?.error?.message;
  if (!report) {
    return <><Empty title={failure ? "The diagnosis could not be carried through." : isLive(picture.state) ? "The report is written when the search is over." : "There is no report."}>
      {failure ? <p><Foreign text={failure} /></p> : <a href={diagnosisHash(name, "search")}>See how far the search is</a>}</Empty></>;
  }
  const cause = report.primaryCause ?? report.presumedCause;
  const share = `${location.origin}/${diagnosisHash(name, "report")}`;
  const counts = report.checks ?? {};
  const unanswered = (counts.skipped ?? 0) + (counts.error ?? 0);
  return (
    <article class="report">
      <div class="cards">
        <section class={`card ${report.primaryCause ? "found" : "unsure"}`} aria-labelledby="r-cause">
          <h2 id="r-cause">{report.primaryCause ? "Cause" : report.presumedCause ? "Presumed cause" : "No cause confirmed"}</h2>
          {cause ? <CauseText cause={cause} open={open} presumed={!report.primaryCause} />
            : <p>{report.ruledOut?.length ?? 0} causes were ruled out; {report.undecided?.length ?? 0} could not be decided, because what would decide
              them did not answer.</p>}
        </section>
        <section class="card" aria-labelledby="r-do">
          <h2 id="r-do">What to do</h2>
          {(report.nextSteps ?? []).length === 0 ? <p class="dim">The report names no step.</p>
            : <ol>{report.nextSteps?.slice(0, 8).map((step, i) => <li key={i}><Foreign text={step} /></li>)}</ol>}
          {report.owner && <p class="dim small">{report.owner === "either" ? "Customer or provider" : report.owner === "provider" ? "The provider" : "The customer"} acts.</p>}
        </section>
        <section class="card" aria-labelledby="r-unknown">
          <h2 id="r-unknown">How far it was checked</h2>
          <p>{counts.fail ?? 0} checks failed, {counts.pass ?? 0} passed, {unanswered} gave no answer.</p>
          {(report.notes ?? []).length > 0 && <details><summary>What limited the answer ({report.notes?.length})</summary>
            <ul class="small">{report.notes?.map((note, i) => <li key={i}><Foreign text={note} /></li>)}</ul></details>}
        </section>
      </div>
      {report.primaryCause && <Approvals name={name} />}
      <Courses report={report} />
      <Exclusion report={report} open={open} />
      <System report={report} open={open} />
      <div class="actions noprint"><CopyButton text={share} label="Copy link" />
        {report.ticket && <CopyButton text={report.ticket} label="Copy as Markdown" />}
        <button type="button" onClick={() => print()}>Print</button></div>
      <p class="dim small noprint">The link opens for those who have a key of this tenant.</p>
      <Causes title="Also confirmed" causes={report.otherCauses} open={open} shown />
      <Causes title="Follows from it" causes={report.secondaryEffects} open={open} shown />
      <Causes title="Ruled out" causes={report.ruledOut} open={open} />
      <Causes title="Undecided" causes={report.undecided} open={open} />
      {whole?.confirmation?.label && <section class="panel"><h2>Established by a person</h2>
        <p><span class="mono">{whole.confirmation.label}</span>, <Foreign text={whole.confirmation.by} />, {instant(whole.confirmation.time)}</p>
        <p><Foreign text={whole.confirmation.note} /></p></section>}
      <section><h2>What was reported</h2>
        <pre class="raw wrap" tabIndex={0} aria-label="What was reported"><Foreign text={picture.incident?.description ?? whole?.incident?.description} /></pre>
        {(picture.feedback.length > 0 ? picture.feedback : whole?.feedback ?? []).map((text, i) => <div key={i}><h3>Added later</h3>
          <pre class="raw wrap" tabIndex={0} aria-label="Added later"><Foreign text={text} /></pre></div>)}
        {(picture.incident?.logs ?? []).length > 0 && <p class="dim small">Logs: <Foreign text={picture.incident?.logs?.map((log) => lastPart(log.path ?? "")).join(", ")} /></p>}
        {report.ticket && <details><summary>Ticket text</summary><pre class="raw wrap" tabIndex={0} aria-label="Ticket text"><Foreign text={report.ticket} /></pre></details>}
      </section>
      <p class="dim small">Reasoner {report.reasoner} · knowledge <span class="mono">{report.knowledgeDigest?.slice(0, 12)}</span> · {instant(picture.updated || whole?.updateTime)}</p>
    </article>
  );
}

function CauseText({ cause, open, presumed }: { cause: Cause; open: (id: string) => void; presumed: boolean }) {
  return <>
    <p class="causetitle"><Foreign text={cause.title || cause.label} /></p>
    <p class="mono small"><a href={`#/knowledge/${encodeURIComponent(cause.label)}`}>{cause.label}</a></p>
    {(cause.devices ?? []).length > 0 && <p>On {cause.devices?.map((device, i) => <strong key={i}>{i > 0 && ", "}<Foreign text={deviceText(device)} /></strong>)}</p>}
    {presumed && <p class="warn">Likeliest by what was reported, but nothing verified it.</p>}
    <p>{belief(cause.probability)}{cause.severity && ` · ${cause.severity} severity`}</p>
    <ul class="why">{(cause.explanation ?? "").split("; ").filter((one) => one !== "").map((one, i) => <li key={i}><Foreign text={one} /></li>)}</ul>
    <Chips ids={cause.evidenceIds} open={open} />
  </>;
}

function Causes({ title, causes, open, shown = false }: { title: string; causes: Cause[] | undefined; open: (id: string) => void; shown?: boolean }) {
  if (!causes || causes.length === 0) return null;
  return <section><details open={shown}><summary><h2>{title} <span class="dim">{causes.length}</span></h2></summary>
    <ul class="causes">{causes.map((cause) => <li key={cause.label + (cause.explanation ?? "")}><strong><Foreign text={cause.title || cause.label} /></strong>{" "}
      <Foreign text={cause.explanation} /> <Chips ids={cause.evidenceIds?.slice(0, 4)} open={open} /></li>)}</ul></details></section>;
}

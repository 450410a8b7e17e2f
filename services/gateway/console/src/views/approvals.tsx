// What may be done about the cause, and who allowed it. To approve takes a look at the very text, and the target typed by hand.
import { useState } from "preact/hooks";
import { actions, ApiError, decide, dryRun } from "../api.ts";
import { canTry, triedOf } from "../dryrun.ts";
import { deviceText, instant, lastPart } from "../format.ts";
import { Badge, Dialog, Foreign, Loading, Trouble, useAnswer } from "../parts.tsx";
import { me } from "../state.ts";
import type { Action, DryRun } from "../types.ts";

const decides = (role: string | undefined) => role === "approver" || role === "admin";

export function Approvals({ name }: { name: string }) {
  const { answer, error, again } = useAnswer(() => actions(name), [name]);
  const [chosen, choose] = useState<Action>();
  const [tried, tryIt] = useState<Action>();
  const may = decides(me.value?.role) && me.value?.mayWrite === true;
  if (answer !== undefined && (answer.actions ?? []).length === 0) return null;
  return (
    <section class="panel noprint" aria-labelledby="r-actions">
      <h2 id="r-actions">Proposed actions</h2>
      {error !== undefined ? <Trouble error={error} again={again} /> : answer === undefined ? <Loading what="actions" />
        : <ul class="proposed">{answer.actions?.map((one) => <li key={one.name}>
          <Badge state={one.state ?? ""} />
          <div><p><Foreign text={one.text} /></p><p class="dim small">On <strong><Foreign text={deviceText(one.target) || "what the cause is about as a whole"} /></strong>
            {one.decidedBy && <> · {one.state === "REJECTED" ? "refused" : "approved"} by <Foreign text={one.decidedBy} />, {instant(one.decideTime)}
              {one.state === "APPROVED" && ` · good until ${instant(one.expireTime)}`}{one.reason && <>: <Foreign text={one.reason} /></>}</>}
            {one.consumedBy && <> · begun by <Foreign text={one.consumedBy} />, {instant(one.consumeTime)}</>}
            {one.outcome && <>: <strong><Foreign text={one.outcome} /></strong></>}{one.run && !one.consumedBy && " · Galen does it, once it is approved"}</p></div>
          {may && ["PROPOSED", "EXPIRED", "APPROVED", "FAILED"].includes(one.state ?? "") ? <button type="button" onClick={() => choose(one)}>Review…</button>
            : canTry(one, me.value?.role, me.value?.mayWrite === true) && <button type="button" onClick={() => tryIt(one)}>Dry run…</button>}
        </li>)}</ul>}
      <p class="dim small">Nothing is done before a person approved that very action.{!may && " This key is of no approver."}</p>
      {tried && <Dialog title="What would be done?" onClose={() => tryIt(undefined)}>
        <p class="quote"><Foreign text={tried.text} /></p><Plan action={tried} /><Try action={tried} /></Dialog>}
      {chosen && <Review action={chosen} onClose={() => choose(undefined)} onDone={() => { choose(undefined); again(); }} />}
    </section>
  );
}

function Plan({ action }: { action: Action }) {
  if ((action.plan ?? []).length === 0) return null;
  return <><p>Exactly this would happen on <Foreign text={action.target?.node} />:</p>
    <ol class="plan mono small">{action.plan?.map((line, i) => <li key={i}><Foreign text={line} /></li>)}</ol></>;
}

/** Asks the machine itself, which looks and does nothing, and shows what it said beside what the page shows. */
function Try({ action }: { action: Action }) {
  const [busy, setBusy] = useState(false);
  const [said, setSaid] = useState<DryRun>();
  const [error, setError] = useState<unknown>();
  const ask = async () => {
    setBusy(true);
    setSaid(undefined);
    setError(undefined);
    try {
      setSaid(await dryRun(action));
    } catch (problem) {
      setError(problem);
    } finally {
      setBusy(false);
    }
  };
  const tried = said && triedOf(action, said);
  return (
    <section class="try" aria-label="Dry run">
      <p><button type="button" disabled={busy} onClick={() => void ask()}>{busy ? "Asking the machine…" : "Dry run"}</button>{" "}
        <span class="dim small">The machine says what it would do and how it is now. Nothing is done.</span></p>
      <div role="status">{tried && <>
        <p class={tried.state === "would-run" ? "ok" : "bad"}><strong>{tried.verdict}</strong>{said.text && <>: <Foreign text={said.text} /></>}
          <span class="dim small"> Looked at {instant(said.lookTime)}, by the machine's clock; content <span class="mono">{said.contentHash?.slice(0, 16)}…</span></span></p>
        {tried.plan.length > 0 && <ol class="plan mono small">{tried.plan.map((line, i) => <li key={i}><Foreign text={line} /></li>)}</ol>}
        {tried.looks.length > 0 && <ul class="looks">{tried.looks.map((look, i) => <li key={i}><Badge state={look.state} small /> <Foreign text={look.text} />
          <span class="dim small mono"> <Foreign text={`${look.command} → ${look.said}`} /></span></li>)}</ul>}
        {tried.now.map((check) => <div key={check.check}><p><Badge state={check.status} small /> <span class="mono">{check.check}</span> now: <Foreign text={check.message} /></p>
          <dl class="nowis small">{check.rows.map(([name, value], i) => <div key={i}><dt class="mono"><Foreign text={name} /></dt><dd><Foreign text={value} /></dd></div>)}</dl></div>)}
      </>}</div>
      {error !== undefined && <Trouble error={error} />}
    </section>
  );
}

function Review({ action, onClose, onDone }: { action: Action; onClose: () => void; onDone: () => void }) {
  const [typed, setTyped] = useState("");
  const [reason, setReason] = useState("");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const word = action.target?.node || "approve";
  const send = async (verb: "approve" | "reject") => {
    setBusy(true);
    setError(undefined);
    try {
      await decide(action, verb, reason);
      onDone();
    } catch (problem) {
      setError(problem);
    } finally {
      setBusy(false);
    }
  };
  const altered = error instanceof ApiError && error.status === 409;
  return (
    <Dialog title="Approve this action?" onClose={onClose}>
      <p class="quote"><Foreign text={action.text} /></p>
      <dl class="facts2">
        <div><dt>On</dt><dd><strong><Foreign text={deviceText(action.target) || "what the cause is about as a whole"} /></strong></dd></div>
        <div><dt>Cause</dt><dd class="mono">{action.label}</dd></div>
        <div><dt>Content</dt><dd class="mono small">{action.contentHash?.slice(0, 16)}… ({lastPart(action.name)})</dd></div>
      </dl>
      {action.trackRecord !== undefined && <p>For this cause it helped {action.trackRecord.helped ?? 0} of {action.trackRecord.carriedOut ?? 0} times here.</p>}
      <Plan action={action} />
      {canTry(action, me.value?.role, me.value?.mayWrite === true) && <Try action={action} />}
      <p class="dim small">An approval is for this action on this target and one run, and expires after 15 minutes. Your key stands beside it.</p>
      <form onSubmit={(event) => { event.preventDefault(); if (typed === word) void send("approve"); }}>
        <label for="why">Why</label>
        <input id="why" value={reason} maxLength={900} onInput={(event) => setReason(event.currentTarget.value)} />
        {action.state !== "APPROVED" && <><label for="typed">To approve, type <span class="mono">{word}</span></label>
          <input id="typed" class="mono" value={typed} autocomplete="off" spellcheck={false} onInput={(event) => setTyped(event.currentTarget.value.trim())} /></>}
        <div class="actions">
          {action.state !== "APPROVED" && <button class="primary" disabled={busy || typed !== word}>Approve</button>}
          <button type="button" class="danger" disabled={busy} onClick={() => void send("reject")}>{action.state === "APPROVED" ? "Take it back" : "Refuse for good"}</button>
          <button type="button" onClick={onClose}>Back</button>
        </div>
      </form>
      {error !== undefined && <Trouble error={error} />}
      {altered && <p><button type="button" onClick={onDone}>Show it as it is now</button></p>}
    </Dialog>
  );
}

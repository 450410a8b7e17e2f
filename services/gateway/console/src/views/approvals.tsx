// What may be done about the cause, and who allowed it. To approve takes a look at the very text, and the target typed by hand.
import { useState } from "preact/hooks";
import { actions, ApiError, decide } from "../api.ts";
import { deviceText, instant, lastPart } from "../format.ts";
import { Badge, Dialog, Foreign, Loading, Trouble, useAnswer } from "../parts.tsx";
import { me } from "../state.ts";
import type { Action } from "../types.ts";

const decides = (role: string | undefined) => role === "approver" || role === "admin";

export function Approvals({ name }: { name: string }) {
  const { answer, error, again } = useAnswer(() => actions(name), [name]);
  const [chosen, choose] = useState<Action>();
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
          {may && ["PROPOSED", "EXPIRED", "APPROVED", "FAILED"].includes(one.state ?? "") && <button type="button" onClick={() => choose(one)}>Review…</button>}
        </li>)}</ul>}
      <p class="dim small">Nothing is done before a person approved that very action.{!may && " This key is of no approver."}</p>
      {chosen && <Review action={chosen} onClose={() => choose(undefined)} onDone={() => { choose(undefined); again(); }} />}
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
      {(action.plan ?? []).length > 0 && <><p>Exactly this would happen on <Foreign text={action.target?.node} />:</p>
        <ol class="plan mono small">{action.plan?.map((line, i) => <li key={i}><Foreign text={line} /></li>)}</ol></>}
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

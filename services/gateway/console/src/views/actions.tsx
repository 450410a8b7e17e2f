// What a person may do about a diagnosis: answer, confirm, give it to a person, cancel. None of it has a key of its own.
import { useRef, useState } from "preact/hooks";
import { cancel, escalate, newRequestId, submitFeedback } from "../api.ts";
import { isLive, isOver, type Picture } from "../fold.ts";
import { Dialog, Foreign, Trouble } from "../parts.tsx";
import { diagnosisHash } from "../route.ts";
import type { Diagnosis } from "../types.ts";

interface Props { name: string; state: string; full: boolean; picture: Picture; mayWrite: boolean; onDone: (answer: Diagnosis) => void }

export function Actions({ name, state, full, picture, mayWrite, onDone }: Props) {
  const [asked, ask] = useState<"" | "cancel" | "escalate" | "confirm">("");
  if (!mayWrite) return isLive(state) || state === "AWAITING_FEEDBACK" ? <p class="dim small">This key may read only: it can neither answer nor cancel.</p> : null;
  return (
    <>
      {state === "AWAITING_FEEDBACK" && (full ? <Answer name={name} picture={picture} onDone={onDone} />
        : <p class="asked">No cause is confirmed. <a href={diagnosisHash(name, "report")}>What can you add?</a></p>)}
      <div class="actions quietactions">
        {isLive(state) && <button type="button" onClick={() => ask("cancel")}>Cancel…</button>}
        {!isOver(state) && <button type="button" onClick={() => ask("escalate")}>Give to a person…</button>}
        {picture.report && <button type="button" onClick={() => ask("confirm")}>Record the established cause…</button>}
      </div>
      {asked === "confirm" ? <Confirm name={name} picture={picture} onClose={() => ask("")} onDone={onDone} />
        : asked !== "" && <Sure kind={asked} name={name} onClose={() => ask("")} onDone={onDone} />}
    </>
  );
}

function useSend(onDone: (answer: Diagnosis) => void) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const send = async (work: () => Promise<Diagnosis>) => {
    setBusy(true);
    setError(undefined);
    try {
      onDone(await work());
    } catch (problem) {
      setError(problem);
    } finally {
      setBusy(false);
    }
  };
  return { busy, error, send };
}

function Answer({ name, picture, onDone }: Omit<Props, "state" | "mayWrite" | "full">) {
  const [text, setText] = useState("");
  const id = useRef(newRequestId());
  const { busy, error, send } = useSend((answer) => {
    setText("");
    id.current = newRequestId();
    onDone(answer);
  });
  const suggestions = picture.report?.suggestions ?? picture.suggestions;
  return (
    <section class="panel ask" aria-labelledby="ask-title">
      <h2 id="ask-title">No cause is confirmed: what can you add?</h2>
      {suggestions.length > 0 && <><p>These would tell most. Galen runs none of it by itself.</p>
        <ol class="suggestions">{suggestions.slice(0, 5).map((one, i) => <li key={i}><details>
          <summary><Foreign text={one.title} /></summary><p class="dim"><Foreign text={one.rationale} /></p>
          <ul>{(one.steps ?? []).map((step, j) => <li key={j} class="mono small"><Foreign text={step} /></li>)}</ul></details></li>)}</ol></>}
      <form onSubmit={(event) => { event.preventDefault(); void send(() => submitFeedback(name, { text, requestId: id.current })); }}>
        <label for="answer">What you saw, tried, or know</label>
        <textarea id="answer" rows={4} value={text} onInput={(event) => setText(event.currentTarget.value)} maxLength={60000}
          placeholder="df -h /dev/shm in the container says 64M; the job ran with --shm-size before the upgrade." />
        <div class="actions"><button class="primary" disabled={busy || text.trim() === ""}>{busy ? "Sending…" : "Send and search on"}</button></div>
      </form>
      {error !== undefined && <Trouble error={error} />}
    </section>
  );
}

function Sure({ kind, name, onClose, onDone }: { kind: "cancel" | "escalate"; name: string; onClose: () => void; onDone: Props["onDone"] }) {
  const [reason, setReason] = useState("");
  const { busy, error, send } = useSend((answer) => { onClose(); onDone(answer); });
  const cancels = kind === "cancel";
  return (
    <Dialog title={cancels ? "Cancel this diagnosis?" : "Give this to a person?"} onClose={onClose}>
      <p>{cancels ? "The search ends; what was found so far stays." : "The search ends with a ticket that has all that was tested."}</p>
      <form onSubmit={(event) => { event.preventDefault(); void send(() => (cancels ? cancel : escalate)(name, reason)); }}>
        <label for="reason">Why (for those who read it later)</label>
        <textarea id="reason" rows={3} value={reason} onInput={(event) => setReason(event.currentTarget.value)} maxLength={2000} />
        <div class="actions"><button class={cancels ? "danger" : "primary"} disabled={busy}>{cancels ? "Cancel the diagnosis" : "Give to a person"}</button>
          <button type="button" onClick={onClose}>Back</button></div>
      </form>
      {error !== undefined && <Trouble error={error} />}
    </Dialog>
  );
}

function Confirm({ name, picture, onClose, onDone }: { name: string; picture: Picture; onClose: () => void; onDone: Props["onDone"] }) {
  const report = picture.report;
  const [label, setLabel] = useState(report?.primaryCause?.label ?? report?.presumedCause?.label ?? "");
  const [by, setBy] = useState("");
  const [text, setText] = useState("");
  const id = useRef(newRequestId());
  const { busy, error, send } = useSend((answer) => { onClose(); onDone(answer); });
  const leaves = Object.values(picture.labels).filter((one) => one.leaf).sort((a, b) => a.label.localeCompare(b.label));
  return (
    <Dialog title="Which cause was established?" onClose={onClose}>
      <p>Whatever Galen concluded: what a person established is recorded, and after review becomes a past incident.</p>
      <form onSubmit={(event) => {
        event.preventDefault();
        void send(() => submitFeedback(name, { text, requestId: id.current, confirmedLabel: label, confirmedBy: by }));
      }}>
        <label for="label">Cause</label>
        <input id="label" list="labels" class="mono" required value={label} spellcheck={false} onInput={(event) => setLabel(event.currentTarget.value.trim())} />
        <datalist id="labels">{leaves.map((one) => <option key={one.label} value={one.label}>{one.title}</option>)}</datalist>
        <label for="by">Your name</label>
        <input id="by" required maxLength={200} value={by} onInput={(event) => setBy(event.currentTarget.value)} />
        <label for="note">What you saw and did</label>
        <textarea id="note" rows={3} value={text} onInput={(event) => setText(event.currentTarget.value)} maxLength={60000} />
        <div class="actions"><button class="primary" disabled={busy || label === "" || by.trim() === ""}>Record it</button>
          <button type="button" onClick={onClose}>Back</button></div>
      </form>
      {error !== undefined && <Trouble error={error} />}
    </Dialog>
  );
}

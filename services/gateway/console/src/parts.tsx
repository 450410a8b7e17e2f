// Small parts that several views are made of.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError } from "./api.ts";
import { ago, instant, visible } from "./format.ts";
import { now } from "./state.ts";

const kWords: Record<string, [string, string, string]> = {
  // state: shape, word, tone
  PENDING: ["◌", "Waiting", "info"], RUNNING: ["●", "Running", "info"], AWAITING_FEEDBACK: ["?", "Needs your answer", "unsure"],
  SUCCEEDED: ["✓", "Cause found", "ok"], FAILED: ["✕", "Failed", "bad"], CANCELLED: ["–", "Cancelled", "quiet"],
  ESCALATED: ["↗", "With a person", "unsure"],
  PROPOSED: ["○", "proposed", "info"], APPROVED: ["✓", "approved", "ok"], REJECTED: ["✕", "refused", "quiet"], EXPIRED: ["–", "approval ran out", "unsure"],
  CONSUMED: ["✓", "begun", "ok"], WITHDRAWN: ["–", "no longer proposed", "quiet"],
  confirmed: ["✓", "confirmed", "bad"], rejected: ["✕", "ruled out", "quiet"], inconclusive: ["?", "undecided", "unsure"],
  testing: ["●", "testing", "info"], open: ["○", "open", "quiet"], pruned: ["◇", "set aside", "quiet"], left: ["·", "searched", "quiet"],
  HOLDS: ["✓", "is so", "ok"], HOLDS_NOT: ["✕", "is not so", "bad"], NOT_YET: ["○", "not yet so", "quiet"],
  PASS: ["✓", "pass", "ok"], FAIL: ["✕", "fail", "bad"], SKIPPED: ["–", "skipped", "quiet"], ERROR: ["!", "error", "unsure"],
};

export const wordOf = (state: string): string => kWords[state]?.[1] ?? state.toLowerCase();

export function Badge({ state, small = false }: { state: string; small?: boolean }) {
  const [shape, word, tone] = kWords[state] ?? ["·", state.toLowerCase(), "quiet"];
  return <span class={`badge ${tone}${small ? " small" : ""}`}><span aria-hidden="true">{shape}</span> {word}</span>;
}

export function Shape({ state }: { state: string }) {
  const [shape, , tone] = kWords[state] ?? ["·", "", "quiet"];
  return <span class={`shape ${tone}`} aria-hidden="true">{shape}</span>;
}

export function When({ time }: { time: string | undefined }) {
  if (!time) return null;
  return <time dateTime={time} title={instant(time)}>{ago(time, now.value)}</time>;
}

/** Text of others, as text: what could mislead the eye is shown as an escape. */
export const Foreign = ({ text }: { text: string | undefined }) => <>{visible(text)}</>;

export function Trouble({ error, again }: { error: unknown; again?: () => void }) {
  const known = error instanceof ApiError ? error : null;
  const text = error instanceof Error ? error.message : String(error);
  return (
    <div class="trouble" role="alert">
      <strong>{known?.status === 404 ? "Not found" : known?.status === 403 ? "Not permitted" : "That did not work"}</strong>
      <p>{visible(text)}</p>
      {known && (known.reason || known.requestId) &&
        <p class="dim small">{[known.reason, known.requestId && `request ${known.requestId}`].filter(Boolean).join(" · ")}</p>}
      {again && <button type="button" onClick={again}>Try again</button>}
    </div>
  );
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return <div class="empty"><p class="empty-title">{title}</p>{children}</div>;
}

/** Nothing for a moment, so that what loads fast does not flash. */
export function Loading({ what }: { what: string }) {
  const [shown, show] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => show(true), 150);
    return () => clearTimeout(timer);
  }, []);
  return shown ? <p class="loading dim" role="status">Loading {what}…</p> : <p class="loading" />;
}

/** A question to the server, asked when `keys` change; the last answer stays while it is asked again. */
export function useAnswer<T>(askFor: () => Promise<T>, keys: unknown[]): { answer: T | undefined; error: unknown; again: () => void } {
  const [answer, setAnswer] = useState<T>();
  const [error, setError] = useState<unknown>();
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    let live = true;
    askFor().then(
      (value) => {
        if (!live) return;
        setAnswer(() => value);
        setError(undefined);
      },
      (problem: unknown) => {
        if (live) setError(problem);
      });
    return () => {
      live = false;
    };
  }, [...keys, turn]);
  return { answer, error, again: () => setTurn((one) => one + 1) };
}

/** A dialog of the browser's own, which keeps the focus and gives it back. */
export function Dialog({ title, onClose, children, wide = false, drawer = false }: {
  title: string; onClose: () => void; children: ComponentChildren; wide?: boolean; drawer?: boolean;
}) {
  const box = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const opener = document.activeElement;
    const dialog = box.current;
    dialog?.showModal();
    return () => {
      dialog?.close();
      if (opener instanceof HTMLElement && opener.isConnected) opener.focus();
    };
  }, []);
  const onCancel = (event: Event) => {
    event.preventDefault();
    onClose();
  };
  const onClick = (event: Event) => {
    if (event.target === box.current) onClose();
  };
  return (
    <dialog ref={box} class={`${drawer ? "drawer" : "box"}${wide ? " wide" : ""}`} aria-labelledby="dialog-title" onCancel={onCancel} onClick={onClick}>
      <div class="dialog-body">
        <header><h2 id="dialog-title" tabIndex={-1}>{title}</h2>
          <button type="button" class="plain" onClick={onClose} aria-label="Close">✕</button></header>
        {children}
      </div>
    </dialog>
  );
}

/** The heading of a view, which takes the focus when the view appears. */
export function Title({ text, children }: { text: string; children?: ComponentChildren }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus({ preventScroll: true }), []);
  useEffect(() => {
    document.title = `${text} · Galen`;
  }, [text]);
  return <h1 ref={heading} tabIndex={-1}>{children ?? text}</h1>;
}

export function CopyButton({ text, label }: { text: string; label: string }) {
  const [done, setDone] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setDone(true);
    setTimeout(() => setDone(false), 2000);
  };
  return <button type="button" onClick={() => void copy()}>{done ? "Copied" : label}</button>;
}

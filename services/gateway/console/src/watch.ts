// Follows the events of a diagnosis: each once, in order, through whatever connections it takes.
import { FrameReader } from "./sse.ts";
import type { DiagnosisEvent } from "./types.ts";

export type Line = "connecting" | "live" | "reconnecting" | "ended" | "refused";

export interface Watcher {
  /** Events in order, never one that was given before. */
  onEvents(events: DiagnosisEvent[]): void;
  /** What was given is void: all of it follows anew. */
  onReset(): void;
  onLine(line: Line, why: string): void;
}

export interface Wire {
  /** One connection; `last` is the sequence after which it begins, "" for the beginning. */
  open(last: string, signal: AbortSignal): Promise<Response>;
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

const kWaits = [500, 1000, 2000, 5000, 10000];
/** The gateway says something at least every 15 s. */
const kSilence = 45000;

/** Runs until the diagnosis is over, is refused, or `signal` ends it. */
export async function follow(wire: Wire, watcher: Watcher, signal: AbortSignal, from = 0): Promise<void> {
  let last = from;
  let failures = 0;
  watcher.onLine("connecting", "");
  while (!signal.aborted) {
    let why = "the stream ended early";
    const attempt = new AbortController();
    const abort = () => attempt.abort();
    signal.addEventListener("abort", abort);
    let alarm: ReturnType<typeof setTimeout> | undefined;
    const heard = () => {
      clearTimeout(alarm);
      alarm = setTimeout(abort, kSilence);
    };
    try {
      heard();
      const response = await wire.open(last > 0 ? String(last) : "", attempt.signal);
      if (response.status === 204) {
        watcher.onLine("ended", "");
        return;
      }
      if (!response.ok || response.body === null) {
        const text = await response.text();
        why = messageOf(text) || `HTTP ${response.status}`;
        if (response.status < 500 && response.status !== 429) {
          watcher.onLine("refused", why);
          return;
        }
      } else {
        watcher.onLine("live", "");
        const frames = new FrameReader();
        const decoder = new TextDecoder();
        const reader = response.body.getReader();
        for (;;) {
          const { done, value } = await reader.read();
          if (done) break;
          heard();
          const events: DiagnosisEvent[] = [];
          let over = false;
          let fault = "";
          for (const frame of frames.take(decoder.decode(value, { stream: true }))) {
            if (frame.kind === "end") over = true;
            else if (frame.kind === "error") why = messageOf(frame.data) || why;
            else if (frame.kind === "reset") {
              last = 0;
              events.length = 0;
              watcher.onReset();
            } else if (frame.kind === "message") {
              const event = JSON.parse(frame.data) as DiagnosisEvent;
              const sequence = Number(event.sequence);
              if (sequence <= last) continue;  // given before
              if (sequence !== last + 1) {
                fault = `event ${sequence} came after ${last}`;
                break;
              }
              last = sequence;
              events.push(event);
            }
          }
          if (events.length > 0) {
            failures = 0;
            watcher.onEvents(events);
          }
          // What came before it was given, and is not asked for again.
          if (fault !== "") throw new Error(fault);
          if (over) {
            void reader.cancel().catch(() => undefined);
            watcher.onLine("ended", "");
            return;
          }
        }
      }
    } catch (error) {
      if (signal.aborted) return;
      why = error instanceof Error ? error.message : String(error);
    } finally {
      clearTimeout(alarm);
      signal.removeEventListener("abort", abort);
      attempt.abort();
    }
    watcher.onLine("reconnecting", why);
    const wait = kWaits[Math.min(failures, kWaits.length - 1)] ?? 10000;
    failures += 1;
    await wire.sleep(wait * (0.75 + Math.random() / 2), signal);
  }
}

function messageOf(text: string): string {
  try {
    const body = JSON.parse(text) as { error?: { message?: string }; message?: string };
    return body.error?.message ?? body.message ?? "";
  } catch {
    return "";
  }
}

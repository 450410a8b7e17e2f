// What a machine would do, as the page shows it beside what is to be approved. Pure.
import { findingText } from "./format.ts";
import type { Action, DryRun } from "./types.ts";

export interface Tried {
  state: "would-run" | "would-not-run" | "other-plan";
  verdict: string;
  /** What the machine would do instead of what the page shows; empty: it is the same. */
  plan: string[];
  looks: { state: "HOLDS" | "HOLDS_NOT" | "NOT_YET"; text: string; command: string; said: string }[];
  now: { check: string; status: string; message: string; rows: [string, string][] }[];
}

/** Whether a dry run can be asked for: what runs on a machine itself, as long as it is proposed. */
export const canTry = (action: Action, role: string | undefined, mayWrite: boolean): boolean =>
  mayWrite && ["operator", "approver", "admin"].includes(role ?? "") && (action.run ?? "").startsWith("node.") && action.state !== "WITHDRAWN";

/** Held against the action as it stands on the page: an answer about another one would mislead who approves. */
export function triedOf(action: Action, said: DryRun): Tried {
  const plan = said.plan ?? [];
  const ours = action.plan ?? [];
  const same = said.samePlan === true && said.name === action.name && said.contentHash === action.contentHash &&
    plan.length === ours.length && plan.every((line, i) => line === ours[i]);
  const state = !same ? "other-plan" : said.wouldRun === true ? "would-run" : "would-not-run";
  return {
    state,
    verdict: !same ? "The machine would do something else than what is shown here" : state === "would-run" ? "It would be run just so" : "It would not be run now",
    plan: same ? [] : plan,
    looks: (said.looks ?? []).map((look) => ({
      state: look.holds === true ? "HOLDS" : look.afterwards === true ? "NOT_YET" : "HOLDS_NOT",
      text: look.text ?? "",
      command: look.command ?? "",
      said: look.error || (look.output || "nothing") + (look.exitCode ? ` (exit code ${look.exitCode})` : ""),
    })),
    now: (said.checks ?? []).map((check) => ({
      check: check.check, status: check.status ?? "", message: check.message ?? "",
      rows: (check.findings ?? []).map((one): [string, string] => [one.name, findingText(one)]),
    })),
  };
}

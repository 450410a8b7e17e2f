// What a diagnosis looks like after some of its events. Pure: the same events give the same picture, however they came.
import type {
  CheckResult, DiagnosisEvent, Incident, ProposedHypothesis, Reason, ReasoningStep, Report, Suggestion, Summary, Verdict,
} from "./types.ts";

export type LabelState = "open" | "testing" | "confirmed" | "rejected" | "inconclusive" | "pruned" | "left";

/** A label of the taxonomy that the search has come across. */
export interface LabelNode {
  label: string;
  title: string;
  leaf: boolean;
  state: LabelState;
  origin: string;
  reason: string;
  belief?: number;
  checks: string[];
  verdict?: Verdict;
  order: number;  // when it was taken up: the sequence of the event
}

export interface Moment { sequence: number; time: string; kind: string; text: string; label?: string; evidence?: string }

export interface Picture {
  name: string;
  last: number;
  state: string;  // as Diagnosis.state
  incident?: Incident;
  strategy: string;
  nodes: string[];
  summary?: Summary;
  labels: Record<string, LabelNode>;
  checks: Record<string, CheckResult>;
  checkOrder: string[];
  suggestions: Suggestion[];
  report?: Report;
  reasoning: ReasoningStep[];
  moments: Moment[];
  feedback: string[];
  phase: string;  // what the search is at, in words
  failure: string;
  started: string;
  updated: string;
}

export function emptyPicture(): Picture {
  return {
    name: "", last: 0, state: "PENDING", strategy: "", nodes: [], labels: {}, checks: {}, checkOrder: [], suggestions: [], reasoning: [],
    moments: [], feedback: [], phase: "waiting to be taken up", failure: "", started: "", updated: "",
  };
}

const kOutcome: Record<string, LabelState> = { CONFIRMED: "confirmed", REJECTED: "rejected", INCONCLUSIVE: "inconclusive" };
const kOver = new Set(["SUCCEEDED", "FAILED", "CANCELLED", "ESCALATED"]);
export const isOver = (state: string) => kOver.has(state);
export const isLive = (state: string) => state === "PENDING" || state === "RUNNING";

/** The picture after further events. Those that it has seen already change nothing. */
export function fold(before: Picture, events: DiagnosisEvent[]): Picture {
  const picture: Picture = {
    ...before, labels: { ...before.labels }, checks: { ...before.checks }, checkOrder: [...before.checkOrder], moments: [...before.moments],
  };
  for (const event of events) {
    const sequence = Number(event.sequence);
    if (sequence <= picture.last) continue;
    picture.last = sequence;
    picture.updated = event.eventTime ?? picture.updated;
    apply(picture, event, sequence);
  }
  return picture;
}

function apply(picture: Picture, event: DiagnosisEvent, sequence: number): void {
  const time = event.eventTime ?? "";
  const note = (kind: string, text: string, more: Partial<Moment> = {}) => {
    picture.moments.push({ sequence, time, kind, text, ...more });
  };
  const take = (label: string, changes: Partial<LabelNode>) => {
    const known = Object.hasOwn(picture.labels, label) ? picture.labels[label] : undefined;
    const start: LabelNode = { label, title: "", leaf: false, state: "open", origin: "", reason: "", checks: [], order: sequence };
    picture.labels[label] = { ...start, ...known, ...changes };
  };
  const propose = (list: ProposedHypothesis[] | undefined, origin: string) => {
    for (const { hypothesis, checks } of list ?? []) {
      if (hypothesis === undefined) continue;
      take(hypothesis.label, {
        title: hypothesis.title ?? "", leaf: true, state: "testing", origin: hypothesis.origin ?? origin, reason: hypothesis.reason ?? "",
        checks: checks ?? [], ...(hypothesis.prior === undefined ? {} : { belief: hypothesis.prior }),
      });
    }
    return (list ?? []).map((one) => one.hypothesis?.title || one.hypothesis?.label || "");
  };

  if (event.created) {
    picture.name = event.created.name ?? "";
    picture.incident = event.created.incident ?? {};
    picture.strategy = event.created.strategy ?? "";
    picture.started = time;
    picture.state = "RUNNING";
    picture.phase = "reading what was reported";
    note("created", "Diagnosis accepted");
  } else if (event.summarized) {
    picture.summary = event.summarized.summary ?? {};
    picture.nodes = event.summarized.nodes ?? [];
    picture.phase = "asking past incidents";
    const signals = picture.summary.signals?.length ?? 0;
    note("summarized", `Texts read: ${signals} known ${signals === 1 ? "message" : "messages"}, ${picture.nodes.length} ` +
      `${picture.nodes.length === 1 ? "node" : "nodes"}`);
  } else if (event.hypothesesProposed) {
    const titles = propose(event.hypothesesProposed.hypotheses, event.hypothesesProposed.origin ?? "HISTORY");
    picture.phase = titles.length > 0 ? "checking what past incidents suggest" : "screening";
    note("proposed", titles.length > 0 ? `Proposed: ${titles.join("; ")}` : "Past incidents suggest nothing");
  } else if (event.screened) {
    const titles = propose(event.screened.hypotheses, "TAXONOMY");
    const checks = event.screened.checks ?? [];
    const over = titles.length === 0 && checks.length === 0;
    picture.phase = over ? "searching the taxonomy" : checks.length > 0 ? `screening with ${checks.join(", ")}` : "testing what screening found";
    note("screened", over ? "Screening is over"
      : titles.length > 0 ? `Screening points to: ${titles.join("; ")}` : `Screening with ${checks.join(", ")}`);
  } else if (event.checkCompleted?.result) {
    const result = event.checkCompleted.result;
    if (!Object.hasOwn(picture.checks, result.id)) picture.checkOrder.push(result.id);
    picture.checks[result.id] = result;
    note("check", `${result.check}${result.node ? ` on ${result.node}` : ""}: ${(result.status ?? "").toLowerCase()}`,
      { evidence: result.id });
  } else if (event.checksFinished) {
    picture.phase = "weighing the evidence";
  } else if (event.childrenRanked) {
    const parent = event.childrenRanked.label ?? "";
    if (parent !== "") take(parent, { state: "testing" });
    for (const child of event.childrenRanked.children ?? []) {
      const known = Object.hasOwn(picture.labels, child.label) ? picture.labels[child.label] : undefined;
      const judged = known?.verdict !== undefined;
      take(child.label, {
        title: child.title ?? known?.title ?? "", leaf: child.leaf ?? false, origin: known?.origin || "TAXONOMY",
        state: judged ? known.state : child.pruned ? "pruned" : child.leaf ? "testing" : "open",
        reason: child.reason ?? "", checks: child.checks ?? [], belief: child.probability ?? 0,
      });
    }
    picture.phase = parent === "" ? "searching the taxonomy" : `searching ${wordsOf(parent)}`;
    note("ranked", parent === "" ? "Directions ranked" : `Taken up: ${picture.labels[parent]?.title || parent}`,
      parent === "" ? {} : { label: parent });
  } else if (event.verdictsGiven) {
    for (const verdict of event.verdictsGiven.verdicts ?? []) {
      const state = kOutcome[verdict.outcome ?? ""] ?? "inconclusive";
      take(verdict.label, { verdict, state, leaf: true });
      note(`verdict-${state}`, `${state === "confirmed" ? "Confirmed" : state === "rejected" ? "Ruled out" : "Undecided"}: ` +
        (picture.labels[verdict.label]?.title || verdict.label), { label: verdict.label });
    }
    picture.phase = "choosing what to test next";
  } else if (event.branchLeft) {
    const label = event.branchLeft.label ?? "";
    if (label !== "" && picture.labels[label]?.verdict === undefined) take(label, { state: "left" });
    if (event.branchLeft.earlyStop) note("left", `Left early: ${picture.labels[label]?.title || label}`, { label });
  } else if (event.critiqued) {
    const titles = propose(event.critiqued.add, "CRITIQUE");
    picture.phase = titles.length > 0 ? "testing what is not explained yet" : "concluding";
    note("critiqued", titles.length > 0 ? `Not explained yet, so also tested: ${titles.join("; ")}` : "Nothing is left unexplained");
  } else if (event.explored) {
    picture.suggestions = event.explored.suggestions ?? [];
    picture.phase = "concluding";
    note("explored", `${picture.suggestions.length} ideas for a person`);
  } else if (event.concluded) {
    picture.report = event.concluded.report ?? {};
    picture.reasoning = event.concluded.reasoning ?? [];
    picture.state = picture.report.outcome === "CAUSE_CONFIRMED" ? "SUCCEEDED" : "AWAITING_FEEDBACK";
    picture.phase = "";
    for (const id of Object.keys(picture.labels)) {
      const node = picture.labels[id];
      if (node && (node.state === "testing" || node.state === "open") && node.verdict === undefined) {
        picture.labels[id] = { ...node, state: "left" };
      }
    }
    note("concluded", picture.report.headline ?? "Report written");
  } else if (event.feedbackReceived) {
    const { text, confirmedLabel, confirmedBy } = event.feedbackReceived;
    if (text) picture.feedback = [...picture.feedback, text];
    if (confirmedLabel) {
      note("feedback", `Cause established by ${confirmedBy ?? "a person"}: ${confirmedLabel}`, { label: confirmedLabel });
    } else {
      picture.state = "RUNNING";
      picture.phase = "reading what you added";
      note("feedback", "A person added something: another round");
    }
  } else if (event.callFailed) {
    const { call, attempt, error, final } = event.callFailed;
    note("trouble", `${call ?? "A step"} failed${final ? "" : `, attempt ${attempt ?? 1}, tried again`}: ${error?.message ?? ""}`);
  } else if (event.escalated) {
    picture.state = "ESCALATED";
    picture.phase = "";
    note("ended", `Given to a person${event.escalated.reason ? `: ${event.escalated.reason}` : ""}`);
  } else if (event.cancelled) {
    picture.state = "CANCELLED";
    picture.phase = "";
    note("ended", `Cancelled${event.cancelled.reason ? `: ${event.cancelled.reason}` : ""}`);
  } else if (event.failed) {
    picture.state = "FAILED";
    picture.phase = "";
    picture.failure = event.failed.error?.message ?? "";
    note("ended", `Failed: ${picture.failure}`);
  }
}

export interface TreeNode { node: LabelNode; children: TreeNode[] }

/** The labels that the search came across, below those that hold them; in the order in which they were taken up. */
export function treeOf(picture: Picture): TreeNode[] {
  const nodes = new Map<string, TreeNode>();
  const place = (label: string): TreeNode => {
    const known = nodes.get(label);
    if (known) return known;
    const node = Object.hasOwn(picture.labels, label) ? picture.labels[label] : undefined;
    const made: TreeNode = {
      node: node ?? { label, title: "", leaf: false, state: "open", origin: "", reason: "", checks: [], order: Infinity }, children: [],
    };
    nodes.set(label, made);
    return made;
  };
  const roots: TreeNode[] = [];
  for (const label of Object.keys(picture.labels)) {
    let child = place(label);
    let at = label;
    let known = false;
    while (!known && at.includes(".")) {
      at = at.slice(0, at.lastIndexOf("."));
      const parent = place(at);
      known = parent.children.includes(child);
      if (!known) parent.children.push(child);
      child = parent;
    }
    if (!known && !roots.includes(child)) roots.push(child);
  }
  const first = (tree: TreeNode): number => Math.min(tree.node.order, ...tree.children.map(first));
  const rank = (tree: TreeNode): number => best(tree) * 1e9 + first(tree);
  const sort = (list: TreeNode[]) => {
    list.sort((a, b) => rank(a) - rank(b));
    for (const one of list) sort(one.children);
  };
  sort(roots);
  return roots;
}

/** What is most telling at or below a node comes first. */
function best(tree: TreeNode): number {
  const own = { confirmed: 0, testing: 1, inconclusive: 2, rejected: 2, open: 2, left: 2, pruned: 3 }[tree.node.state];
  return Math.min(own, ...tree.children.map(best));
}

export function countStates(picture: Picture): Record<LabelState, number> {
  const counts: Record<LabelState, number> = { open: 0, testing: 0, confirmed: 0, rejected: 0, inconclusive: 0, pruned: 0, left: 0 };
  for (const node of Object.values(picture.labels)) {
    if (node.leaf) counts[node.state] += 1;
  }
  return counts;
}

/** A piece of evidence by its id, wherever it stands. */
export interface Exhibit {
  id: string; title: string; kind: string; status: string; text: string; excerpt: string; where: string; result?: CheckResult;
  usedBy: { label: string; title: string; direction: string; text: string }[];
}

export function exhibitOf(picture: Picture, id: string): Exhibit | undefined {
  const result = Object.hasOwn(picture.checks, id) ? picture.checks[id] : undefined;
  const signal = picture.summary?.signals?.find((one) => one.id === id);
  const cited = picture.report?.evidence?.find((one) => one.id === id);
  if (!result && !signal && !cited) return undefined;
  const usedBy: Exhibit["usedBy"] = [];
  for (const node of Object.values(picture.labels)) {
    for (const reason of node.verdict?.reasons ?? []) {
      if (!reason.evidenceIds?.includes(id)) continue;
      usedBy.push({ label: node.label, title: node.title || node.label, direction: directionOf(reason), text: reason.text ?? "" });
    }
  }
  const line = signal?.firstLine ?? cited?.line;
  const source = signal?.source ?? cited?.source ?? "";
  return {
    id, title: result?.check ?? signal?.signal ?? id, kind: result ? "check" : signal ? "signal" : (cited?.kind ?? ""),
    status: result?.status ?? "", text: result?.message ?? cited?.text ?? signal?.meaning ?? "",
    excerpt: result?.excerpt ?? cited?.excerpt ?? signal?.excerpt ?? "",
    where: result ? (result.node ?? "") : source === "" ? "" : `${source}${line ? `, line ${line}` : ""}`,
    ...(result ? { result } : {}), usedBy,
  };
}

export const directionOf = (reason: Reason) =>
  reason.direction === "SUPPORTS" ? "supports" : reason.direction === "OPPOSES" ? "opposes" : "";

const kProper: Record<string, string> = {
  NVLINK: "NVLink", NVSWITCH: "NVSwitch", PCIE: "PCIe", GPU: "GPU", NCCL: "NCCL", TCP: "TCP", IP: "IP", RDMA: "RDMA", XGMI: "xGMI", IB: "IB",
  CUDA: "CUDA", ECC: "ECC", NET: "net",
};

/** A label in words. */
export const wordsOf = (label: string) => label.split(".").map((part) => part.split("_").map((word, i) =>
  kProper[word] ?? (i === 0 ? word.charAt(0) + word.slice(1).toLowerCase() : word.toLowerCase())).join(" ")).join(" › ");

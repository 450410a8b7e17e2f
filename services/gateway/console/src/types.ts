// What the API answers, as far as the console reads it (docs/api.md). Fields that have their default are left out of answers,
// so nearly all are optional; enum values may be newer than this page, so they are text.

export type Time = string;

export interface Device { node?: string; device?: string; pciAddress?: string; serial?: string }
export interface LogEvent { code?: string; time?: Time; text?: string; count?: string }
export interface Finding {
  name: string; subject?: Device; boolValue?: boolean; intValue?: string; doubleValue?: number; textValue?: string;
  eventValue?: LogEvent; unit?: string; expected?: string; abnormal?: boolean;
}
export interface CheckResult {
  id: string; check: string; node?: string; status?: string; findings?: Finding[]; message?: string; excerpt?: string; duration?: string;
}
export interface Signal {
  id: string; signal?: string; labels?: string[]; strength?: string; role?: string; source?: string; node?: string; firstLine?: string;
  count?: string; firstTime?: Time; lastTime?: Time; excerpt?: string; meaning?: string;
}
export interface Summary { text?: string; failureClass?: string; signals?: Signal[]; notes?: string[]; linesRead?: string; bytesRead?: string }
export interface Reason { direction?: string; text?: string; evidenceIds?: string[]; finding?: Finding }
export interface Verdict {
  label: string; outcome?: string; probability?: number; reasons?: Reason[]; devices?: Device[]; missing?: string[]; residual?: boolean;
}
export interface Hypothesis {
  label: string; title?: string; origin?: string; status?: string; prior?: number; reason?: string; verdict?: Verdict;
  similarIncidents?: string[]; evidenceIds?: string[];
}
export interface Cause {
  label: string; title?: string; explanation?: string; probability?: number; devices?: Device[]; evidenceIds?: string[]; owner?: string;
  severity?: string; mitigation?: string; explainedBy?: string;
}
export interface Evidence { id: string; kind?: string; text?: string; subject?: Device; excerpt?: string; source?: string; line?: string }
export interface Suggestion { title?: string; rationale?: string; steps?: string[] }
export interface Report {
  outcome?: string; headline?: string; primaryCause?: Cause; presumedCause?: Cause; otherCauses?: Cause[]; secondaryEffects?: Cause[];
  ruledOut?: Cause[]; undecided?: Cause[]; evidence?: Evidence[]; nextSteps?: string[]; suggestions?: Suggestion[]; ticket?: string;
  owner?: string; notes?: string[]; checks?: { pass?: number; fail?: number; skipped?: number; error?: number };
  knowledgeDigest?: string; reasoner?: string; courses?: Course[]; system?: SystemReview; exclusion?: NodeExclusion;
}
export interface Course {
  name?: string; unit?: string; role?: string; subject?: Device; startTime?: Time; step?: string; values?: (number | string)[];
  levels?: { startTime?: Time; endTime?: Time; value?: number }[];
}
export interface SystemReview { state?: string; families?: { name: string; title?: string; state?: string; text?: string; evidenceIds?: string[] }[] }
export interface NodeExclusion {
  nodes?: { node: string; gainPct?: number; reason?: string; evidenceIds?: string[] }[]; gainPct?: number; verify?: string;
}
export interface ReasoningStep {
  id: string; kind?: string; text?: string; parents?: string[]; evidenceIds?: string[]; label?: string; model?: string;
}
export interface Status { code?: number; message?: string }
export interface LogSource { path?: string; node?: string; kind?: string; content?: string }
export interface Workload { name?: string; framework?: string; frameworkVersion?: string; launcher?: string; worldSize?: number; image?: string }
export interface Incident {
  description?: string; startTime?: Time; endTime?: Time; nodes?: string[]; logs?: LogSource[]; bundle?: string; workload?: Workload;
  environment?: Record<string, unknown>;
}
export interface Diagnosis {
  name: string; state?: string; createTime?: Time; updateTime?: Time; incident?: Incident; strategy?: string; summary?: Summary;
  hypotheses?: Hypothesis[]; checkResults?: CheckResult[]; report?: Report; reasoning?: ReasoningStep[]; error?: Status;
  lastSequence?: string; feedback?: string[]; confirmation?: { label?: string; by?: string; note?: string; time?: Time };
  steps?: string[]; pendingChecks?: number; traceId?: string;
}
export interface ProposedHypothesis { hypothesis?: Hypothesis; checks?: string[] }
export interface RankedChild {
  label: string; title?: string; leaf?: boolean; probability?: number; pruned?: boolean; reason?: string; checks?: string[];
}
export interface DiagnosisEvent {
  sequence: string; eventTime?: Time; traceId?: string;
  created?: { name?: string; incident?: Incident; strategy?: string };
  summarized?: { summary?: Summary; nodes?: string[] };
  hypothesesProposed?: { hypotheses?: ProposedHypothesis[]; origin?: string };
  checkCompleted?: { result?: CheckResult };
  checksFinished?: { batch?: string };
  childrenRanked?: { label?: string; children?: RankedChild[] };
  verdictsGiven?: { verdicts?: Verdict[]; batch?: string };
  branchLeft?: { label?: string; earlyStop?: boolean; reason?: string };
  critiqued?: { add?: ProposedHypothesis[]; remarks?: string[] };
  explored?: { suggestions?: Suggestion[] };
  concluded?: { report?: Report; reasoning?: ReasoningStep[] };
  feedbackReceived?: { text?: string; confirmedLabel?: string; confirmedBy?: string };
  callFailed?: { call?: string; attempt?: number; error?: Status; final?: boolean };
  escalated?: { reason?: string };
  cancelled?: { reason?: string };
  failed?: { error?: Status };
  screened?: { hypotheses?: ProposedHypothesis[]; checks?: string[] };
}
export interface Whoami { tenant: string; role: string; mayRead: boolean; mayWrite: boolean; uploads: boolean }
export interface Upload { name: string; kind: string; fileName: string; sizeBytes: string; description?: string; nodes?: string[] }
export interface Rule { text?: string; check?: string; condition?: string; context?: boolean; with?: Rule[] }
export interface KnownLabel {
  label: string; title: string; parent: string; children: string[]; description: string; checks: string[]; symptoms?: string[];
  confirm?: Rule[]; refute?: Rule[]; effects?: string[]; confusedWith?: string[]; owner?: string; severity?: string; mitigation?: string;
}
export interface KnownCheck {
  name: string; title: string; kind: string; needs: string[]; intrusive: boolean; off: boolean; seconds: number; reads: string[];
  findings: { name: string; type: string; unit: string }[];
}
export interface Knowledge { digest: string; labels: KnownLabel[]; checks: KnownCheck[] }
export interface NodeEntry { name: string; address: string; expireTime: Time }
export interface DryRunLook {
  text?: string; command?: string; holds?: boolean; afterwards?: boolean; exitCode?: number; output?: string; error?: string;
}
export interface DryRun {
  name: string; contentHash?: string; plan?: string[]; samePlan?: boolean; wouldRun?: boolean; text?: string; looks?: DryRunLook[];
  checks?: CheckResult[]; lookTime?: Time;
}
export interface Action {
  name: string; state?: string; label?: string; text?: string; target?: Device; contentHash?: string; etag?: string; decidedBy?: string;
  decideTime?: Time; reason?: string; expireTime?: Time; consumedBy?: string; consumeTime?: Time; run?: string; outcome?: string;
  plan?: string[];
  trackRecord?: { carriedOut?: number; helped?: number };
}

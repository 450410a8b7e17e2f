// How the page asks the gateway. The key lives in this tab's session storage, and goes out in a header, to our own origin only.
import type { Action, Diagnosis, DryRun, Knowledge, NodeEntry, Upload, Whoami } from "./types.ts";

export class ApiError extends Error {
  constructor(readonly status: number, readonly reason: string, message: string, readonly requestId: string, readonly field = "") {
    super(message);
  }
}

const kKey = "galen.key";
export const keyOf = (): string => sessionStorage.getItem(kKey) ?? "";
export function setKey(key: string): void {
  if (key === "") sessionStorage.removeItem(kKey);
  else sessionStorage.setItem(kKey, key);
}

/** What to do when the key is refused: the page asks for another. */
let onRefusedKey: () => void = () => undefined;
export const whenKeyIsRefused = (act: () => void): void => {
  onRefusedKey = act;
};

interface ErrorBody {
  error?: { message?: string; details?: { reason?: string; fieldViolations?: { field?: string }[] }[] };
}

async function failure(response: Response): Promise<ApiError> {
  let body: ErrorBody = {};
  try {
    body = (await response.json()) as ErrorBody;
  } catch {
    // Whatever answered in place of the gateway did not write JSON.
  }
  const details = body.error?.details ?? [];
  const reason = details.find((one) => one.reason !== undefined)?.reason ?? "";
  const field = details.find((one) => one.fieldViolations)?.fieldViolations?.[0]?.field ?? "";
  const message = body.error?.message || `the server answered ${response.status}`;
  if (response.status === 401) onRefusedKey();
  return new ApiError(response.status, reason, message, response.headers.get("X-Request-Id") ?? "", field);
}

async function ask<T>(method: string, path: string, body?: unknown, key = keyOf()): Promise<T> {
  let response: Response;
  try {
    response = await fetch(path, {
      method, cache: "no-store", credentials: "omit", redirect: "error",
      headers: { Authorization: `Bearer ${key}`, ...(body === undefined ? {} : { "Content-Type": "application/json" }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  } catch {
    throw new ApiError(0, "UNREACHABLE", "the gateway cannot be reached; this page tries again when you ask it to", "");
  }
  if (!response.ok) throw await failure(response);
  return (await response.json()) as T;
}

const enc = (name: string) => name.split("/").map(encodeURIComponent).join("/");

export const whoami = (key?: string) => ask<Whoami>("GET", "/v1/whoami", undefined, key);
export const knowledge = () => ask<Knowledge>("GET", "/v1/knowledge");
export const nodes = () => ask<{ nodes?: NodeEntry[] }>("GET", "/v1/nodes");

const kListed = ["name", "state", "createTime", "updateTime", "strategy", "incident.description", "incident.nodes", "incident.workload.name",
  "report.headline", "report.outcome", "report.primaryCause.label", "report.primaryCause.title", "report.primaryCause.probability",
  "report.primaryCause.severity", "report.presumedCause.label", "report.presumedCause.title"];

export function list(tenant: string, pageToken: string, pageSize = 200) {
  const query = new URLSearchParams({ pageSize: String(pageSize), fields: `nextPageToken,${kListed.map((one) => `diagnoses.${one}`).join(",")}` });
  if (pageToken) query.set("pageToken", pageToken);
  return ask<{ diagnoses?: Diagnosis[]; nextPageToken?: string }>("GET", `/v1/tenants/${encodeURIComponent(tenant)}/diagnoses?${query}`);
}
export const get = (name: string, fields = "") =>
  ask<Diagnosis>("GET", `/v1/${enc(name)}${fields ? `?fields=${encodeURIComponent(fields)}` : ""}`);
export const create = (tenant: string, incident: unknown, strategy: string, requestId: string) =>
  ask<Diagnosis>("POST", `/v1/tenants/${encodeURIComponent(tenant)}/diagnoses?requestId=${encodeURIComponent(requestId)}`,
    { incident, ...(strategy ? { strategy } : {}) });
export const cancel = (name: string, reason: string) => ask<Diagnosis>("POST", `/v1/${enc(name)}:cancel`, { reason });
export const escalate = (name: string, reason: string) => ask<Diagnosis>("POST", `/v1/${enc(name)}:escalate`, { reason });
export const submitFeedback = (name: string, body: { text: string; requestId: string; confirmedLabel?: string; confirmedBy?: string }) =>
  ask<Diagnosis>("POST", `/v1/${enc(name)}:submitFeedback`, body);

export const actions = (name: string) => ask<{ actions?: Action[] }>("GET", `/v1/${enc(name)}/actions`);
export const decide = (action: Action, verb: "approve" | "reject", reason: string) =>
  ask<Action>("POST", `/v1/${enc(action.name)}:${verb}`, { etag: action.etag, reason });

export const dryRun = (action: Action) => ask<DryRun>("POST", `/v1/${enc(action.name)}:dryRun`, {});

/** Sends a file as it is; `fetch` cannot say how far it is. */
export function upload(tenant: string, kind: "log" | "bundle", file: File, progress: (share: number) => void, signal: AbortSignal): Promise<Upload> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const query = new URLSearchParams({ kind, fileName: file.name });
    request.open("POST", `/v1/tenants/${encodeURIComponent(tenant)}/uploads?${query}`);
    request.setRequestHeader("Authorization", `Bearer ${keyOf()}`);
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.upload.onprogress = (event) => progress(event.lengthComputable ? event.loaded / event.total : 0);
    request.onload = () => {
      const answer = new Response(request.responseText, { status: Math.max(200, request.status) });
      if (request.status === 200) resolve(JSON.parse(request.responseText) as Upload);
      else void failure(answer).then(reject);
    };
    request.onerror = () => reject(new ApiError(0, "UNREACHABLE", `${file.name}: the gateway took none of it, or the connection broke`, ""));
    request.onabort = () => reject(new ApiError(0, "ABORTED", "stopped", ""));
    signal.addEventListener("abort", () => request.abort());
    request.send(file);
  });
}

export function openWatch(name: string, last: string, signal: AbortSignal): Promise<Response> {
  return fetch(`/v1/${enc(name)}:watch`, {
    cache: "no-store", credentials: "omit", redirect: "error", signal,
    headers: { Authorization: `Bearer ${keyOf()}`, Accept: "text/event-stream", ...(last ? { "Last-Event-ID": last } : {}) },
  });
}

export const newRequestId = () => `console-${Array.from(crypto.getRandomValues(new Uint8Array(12)), (b) => b.toString(16).padStart(2, "0")).join("")}`;

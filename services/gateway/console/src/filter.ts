// Which diagnoses of a list are shown. Pure; the words stand in the address, so that a filtered list can be shared.
import type { Diagnosis } from "./types.ts";

export interface Filter { state: string; text: string; label: string; since: string }

export const filterOf = (query: URLSearchParams): Filter => ({
  state: query.get("state") ?? "", text: query.get("text") ?? "", label: query.get("cause") ?? "", since: query.get("since") ?? "",
});

export function queryOf(filter: Filter): string {
  const query = new URLSearchParams();
  if (filter.state) query.set("state", filter.state);
  if (filter.label) query.set("cause", filter.label);
  if (filter.text) query.set("text", filter.text);
  if (filter.since) query.set("since", filter.since);
  const text = query.toString();
  return text === "" ? "#/diagnoses" : `#/diagnoses?${text}`;
}

export const kSince: Record<string, number> = { hour: 3600e3, day: 86400e3, week: 7 * 86400e3, month: 30 * 86400e3 };

export const causeOf = (one: Diagnosis) => one.report?.primaryCause ?? one.report?.presumedCause;

export function matches(one: Diagnosis, filter: Filter, now: number): boolean {
  if (filter.state && (one.state ?? "PENDING") !== filter.state) return false;
  const cause = causeOf(one);
  if (filter.label && !(cause?.label ?? "").toUpperCase().startsWith(filter.label.toUpperCase())) return false;
  const since = kSince[filter.since];
  if (since !== undefined && !(Date.parse(one.createTime ?? "") >= now - since)) return false;
  if (filter.text) {
    const hay = [one.name, one.incident?.description, one.report?.headline, cause?.label, cause?.title, one.incident?.workload?.name,
      ...(one.incident?.nodes ?? [])].join("\n").toLowerCase();
    for (const word of filter.text.toLowerCase().split(/\s+/)) {
      if (!hay.includes(word)) return false;
    }
  }
  return true;
}

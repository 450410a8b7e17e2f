// How values are written for people. Pure.

/** Foreign text made visible: what would reorder or hide other text, or steer a terminal, becomes an escape. */
export function visible(text: string | undefined): string {
  // eslint-disable-next-line no-control-regex
  return (text ?? "").replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g, (c) =>
    c === "\r" ? "" : `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

const kUnits: [number, string][] = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];

export function span(seconds: number): string {
  if (!Number.isFinite(seconds)) return "";
  if (seconds < 1) return seconds < 0.001 ? "under 1 ms" : `${Math.round(seconds * 1000)} ms`;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  for (const [size, unit] of kUnits) {
    if (seconds >= size) return `${Math.floor(seconds / size)} ${unit}`;
  }
  return "";
}

export const ago = (time: string | undefined, now: number): string => {
  if (!time) return "";
  const seconds = (now - Date.parse(time)) / 1000;
  if (seconds < 5) return "just now";
  return seconds < 10 ? `${Math.floor(seconds)} s ago` : `${span(Math.floor(seconds))} ago`;
};

export const secondsOf = (duration: string | undefined): number => Number.parseFloat(duration ?? "NaN");

/** 2026-04-22 02:21:37Z */
export const instant = (time: string | undefined): string =>
  time ? `${time.slice(0, 10)} ${time.slice(11, 19)}Z` : "";

/** 02:21:37.604 */
export const clock = (time: string | undefined): string => {
  const found = /T(\d\d:\d\d:\d\d)(\.\d+)?/.exec(time ?? "");
  return found ? `${found[1]}.${(found[2] ?? ".").slice(1, 4).padEnd(3, "0")}` : "";
};

export function bytes(count: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let at = 0;
  while (count >= 1024 && at < units.length - 1) {
    count /= 1024;
    at += 1;
  }
  return `${at === 0 || count >= 100 ? Math.round(count) : count.toFixed(1)} ${units[at]}`;
}

/** A belief in words, with the number beside it: never a number alone. */
export function belief(probability: number | undefined): string {
  const p = probability ?? 0;
  const word = p >= 0.99 ? "near certain" : p >= 0.9 ? "very likely" : p >= 0.66 ? "likely" : p >= 0.33 ? "open"
    : p >= 0.1 ? "unlikely" : "very unlikely";
  const percent = p > 0.995 ? "over 99" : p > 0 && p < 0.005 ? "under 1" : String(Math.round(p * 100));
  return `${word}, ${percent} %`;
}

export const lastPart = (name: string): string => name.slice(name.lastIndexOf("/") + 1);

export const deviceText = (device: { node?: string; device?: string } | undefined): string =>
  [device?.device, device?.node].filter(Boolean).join(" on ");

export function findingText(finding: {
  boolValue?: boolean; intValue?: string; doubleValue?: number; textValue?: string; unit?: string;
  eventValue?: { code?: string; text?: string; count?: string };
}): string {
  const unit = finding.unit ? ` ${finding.unit}` : "";
  if (finding.boolValue !== undefined) return finding.boolValue ? "yes" : "no";
  if (finding.intValue !== undefined) return finding.intValue + unit;
  if (finding.doubleValue !== undefined) return `${Math.round(finding.doubleValue * 1000) / 1000}${unit}`;
  if (finding.textValue !== undefined) return visible(finding.textValue);
  const event = finding.eventValue;
  if (event) return event.code || event.text ? visible([event.code, event.text].filter(Boolean).join(": ")) : "none";
  return "not known";
}

// Numbers over time as paths: pure, so that they can be tested without a browser.
import type { Course } from "./types.ts";

export interface Line { name: string; kind: "throughput" | "suspect" | "peers" | "training"; path: string; levels: string }
export interface Panel { name: string; unit: string; low: number; high: number; top: number; height: number; lines: Line[] }
export interface Shade { x: number; width: number }
export interface Drawing { width: number; height: number; left: number; right: number; panels: Panel[]; shades: Shade[]; ticks: { x: number; text: string }[] }

const kLeft = 64, kRight = 8, kWidth = 720, kTop = 20, kGap = 30, kPanels = 6, kLines = 6;
const kLow = 0.96; // of the best level: below it throughput is low

const ms = (time: string | undefined) => Date.parse(time ?? "");
const stepMs = (step: string | undefined) => 1000 * parseFloat(step ?? "");
// "NaN" is how JSON says that nobody knows.
const known = (value: number | string): number => (typeof value === "number" ? value : NaN);
const fixed = (value: number) => value.toFixed(1);

export function label(course: Course): string {
  if (course.role === "PEERS") return "median of the others";
  const node = course.subject?.node ?? "";
  if (node === "") return course.name ?? "";
  return course.subject?.device ? `${node} ${course.subject.device}` : node;
}

const kind = (course: Course): Line["kind"] =>
  course.role === "THROUGHPUT" ? "throughput" : course.role === "PEERS" ? "peers" : course.role === "TRAINING" ? "training" : "suspect";

export function draw(courses: Course[] | undefined): Drawing | undefined {
  const drawable = (courses ?? []).filter((course) => (course.values?.length ?? 0) > 1 && stepMs(course.step) > 0 && Number.isFinite(ms(course.startTime)));
  if (drawable.length === 0) return undefined;
  const from = Math.min(...drawable.map((course) => ms(course.startTime)));
  const to = Math.max(...drawable.map((course) => ms(course.startTime) + stepMs(course.step) * ((course.values?.length ?? 1) - 1)));
  const x = (at: number) => kLeft + (kWidth - kLeft - kRight) * (at - from) / Math.max(1, to - from);
  const groups = new Map<string, Course[]>();
  for (const course of drawable) {
    const name = course.name ?? "";
    const group = groups.get(name) ?? [];
    if (group.length === 0 && groups.size === kPanels) continue;
    if (group.length <= kLines) group.push(course);
    groups.set(name, group);
  }
  const first = (group: Course[]) => (group[0]?.role === "THROUGHPUT" ? 0 : 1);
  const panels: Panel[] = [];
  let top = kTop;
  for (const [name, group] of [...groups].sort((a, b) => first(a[1]) - first(b[1]))) {
    const values = group.flatMap((course) => (course.values ?? []).map(known)).filter(Number.isFinite);
    let low = values.length > 0 ? Math.min(...values) : 0;
    let high = values.length > 0 ? Math.max(...values) : 1;
    if (low > 0 && low < 0.6 * high) low = 0;
    if (high <= low) high = low + Math.max(1, Math.abs(low) * 0.1);
    const height = first(group) === 0 ? 120 : 90;
    const y = (value: number) => top + height * (high - value) / (high - low);
    const lines = group.map((course): Line => {
      let path = "", pen = false;
      course.values?.forEach((value, i) => {
        const at = known(value);
        if (!Number.isFinite(at)) { pen = false; return; }
        path += `${pen ? "L" : "M"}${fixed(x(ms(course.startTime) + stepMs(course.step) * i))} ${fixed(y(at))}`;
        pen = true;
      });
      const levels = (course.levels ?? []).filter((level) => Number.isFinite(level.value))
        .map((level) => `M${fixed(x(Math.max(from, ms(level.startTime))))} ${fixed(y(level.value ?? 0))}H${fixed(x(Math.min(to, ms(level.endTime))))}`).join("");
      return { name: label(course), kind: kind(course), path, levels };
    });
    // Peers below suspects.
    lines.sort((a, b) => Number(b.kind === "peers") - Number(a.kind === "peers"));
    panels.push({ name, unit: group[0]?.unit ?? "", low, high, top, height, lines });
    top += height + kGap;
  }
  const shades: Shade[] = [];
  for (const course of drawable.filter((one) => one.role === "THROUGHPUT").slice(0, 1)) {
    const best = Math.max(0, ...(course.levels ?? []).map((level) => level.value ?? 0));
    for (const level of course.levels ?? []) {
      if ((level.value ?? 0) >= kLow * best) continue;
      const begin = x(Math.max(from, ms(level.startTime))), end = x(Math.min(to, ms(level.endTime)));
      if (end > begin) shades.push({ x: begin, width: end - begin });
    }
  }
  const ticks = [0, 1, 2, 3, 4].map((i) => {
    const at = from + (to - from) * i / 4;
    return { x: x(at), text: new Date(at).toISOString().slice(11, 16) };
  });
  return { width: kWidth, height: top, left: kLeft, right: kWidth - kRight, panels, shades, ticks };
}

export function short(value: number): string {
  const size = Math.abs(value);
  if (size >= 1e9) return `${Number((value / 1e9).toPrecision(3))}G`;
  if (size >= 1e6) return `${Number((value / 1e6).toPrecision(3))}M`;
  if (size >= 1e4) return `${Number((value / 1e3).toPrecision(3))}k`;
  return `${Number(value.toPrecision(4))}`;
}

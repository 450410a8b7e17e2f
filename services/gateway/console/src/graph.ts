// Where the steps of the reasoning stand when they are drawn: each right of all that it rests on. Pure.
import type { ReasoningStep } from "./types.ts";

export interface Placed { step: ReasoningStep; x: number; y: number }
export interface Layout { placed: Placed[]; edges: { from: Placed; to: Placed }[]; width: number; height: number }

export const kBox = { width: 232, height: 58, gapX: 72, gapY: 16, margin: 12 };

export function layoutOf(steps: ReasoningStep[]): Layout {
  const byId = new Map(steps.map((step) => [step.id, step]));
  const depth = new Map<string, number>();
  const depthOf = (id: string, path: Set<string>): number => {
    const known = depth.get(id);
    if (known !== undefined) return known;
    if (path.has(id)) return 0;  // a circle, which there should not be
    path.add(id);
    let found = 0;
    for (const parent of byId.get(id)?.parents ?? []) {
      if (byId.has(parent)) found = Math.max(found, depthOf(parent, path) + 1);
    }
    path.delete(id);
    depth.set(id, found);
    return found;
  };
  const columns: Placed[][] = [];
  const placed = new Map<string, Placed>();
  for (const step of steps) {
    const column = depthOf(step.id, new Set());
    const one: Placed = { step, x: column, y: 0 };
    (columns[column] ??= []).push(one);
    placed.set(step.id, one);
  }
  const rows = Math.max(0, ...columns.map((column) => column?.length ?? 0));
  const pitch = kBox.height + kBox.gapY;
  columns.forEach((column, x) => {
    // Near what they rest on, so that few lines cross.
    const want = (one: Placed) => {
      const parents = (one.step.parents ?? []).map((id) => placed.get(id)?.y).filter((y) => y !== undefined);
      return parents.length === 0 ? Infinity : parents.reduce((a, b) => a + b, 0) / parents.length;
    };
    if (x > 0) column.sort((a, b) => want(a) - want(b) || 0);
    const top = kBox.margin + ((rows - column.length) * pitch) / 2;
    column.forEach((one, row) => {
      one.x = kBox.margin + x * (kBox.width + kBox.gapX);
      one.y = top + row * pitch;
    });
  });
  const edges: Layout["edges"] = [];
  for (const to of placed.values()) {
    for (const parent of to.step.parents ?? []) {
      const from = placed.get(parent);
      if (from) edges.push({ from, to });
    }
  }
  return {
    placed: [...placed.values()], edges, height: 2 * kBox.margin + Math.max(1, rows) * pitch - kBox.gapY,
    width: 2 * kBox.margin + Math.max(1, columns.length) * (kBox.width + kBox.gapX) - kBox.gapX,
  };
}

import assert from "node:assert/strict";
import { test } from "node:test";
import { draw, label, short } from "../src/courses.ts";
import type { Course } from "../src/types.ts";

const at = (minute: number) => new Date(1_700_000_000_000 + 60_000 * minute).toISOString();
const throughput: Course = {
  name: "throughput", unit: "tokens/s", role: "THROUGHPUT", startTime: at(0), step: "60s", values: [100, 100, 80, 80, "NaN", 100],
  levels: [{ startTime: at(0), endTime: at(2), value: 100 }, { startTime: at(2), endTime: at(5), value: 80 }],
};
const suspect: Course = { name: "retransmissions", role: "SUSPECT", subject: { node: "n1" }, startTime: at(0), step: "60s", values: [0, 0, 9, 9, 9, 0] };
const peers: Course = { name: "retransmissions", role: "PEERS", startTime: at(0), step: "60s", values: [0, 0, 0, 0, 0, 0] };

test("throughput stands on top, and each quantity has a panel of its own", () => {
  const drawing = draw([suspect, peers, throughput]);
  assert.deepEqual(drawing?.panels.map((panel) => panel.name), ["throughput", "retransmissions"]);
  assert.deepEqual(drawing?.panels[1]?.lines.map((line) => line.name), ["median of the others", "n1"]);
});

test("what is not known is a gap and never zero", () => {
  const path = draw([throughput])?.panels[0]?.lines[0]?.path ?? "";
  assert.equal(path.split("M").length - 1, 2);
  assert.equal(path.includes("NaN"), false);
});

test("stretches of low throughput are shaded", () => {
  const shades = draw([throughput])?.shades ?? [];
  assert.equal(shades.length, 1);
  assert.ok((shades[0]?.width ?? 0) > 0);
});

test("what cannot be drawn is left out", () => {
  assert.equal(draw(undefined), undefined);
  assert.equal(draw([{ ...suspect, step: "0s" }, { ...suspect, startTime: "soon" }, { ...suspect, values: [1] }]), undefined);
  const flat = draw([{ ...suspect, values: ["NaN", "NaN"] }]);
  assert.equal(flat?.panels[0]?.lines[0]?.path, "");
});

test("names and numbers are short", () => {
  assert.equal(label({ ...suspect, subject: { node: "n1", device: "3" } }), "n1 3");
  assert.deepEqual([short(1234567), short(25000), short(0.12345), short(3e9)], ["1.23M", "25k", "0.1235", "3G"]);
});

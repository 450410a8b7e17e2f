import assert from "node:assert/strict";
import { test } from "node:test";
import { countStates, emptyPicture, exhibitOf, fold, treeOf, wordsOf, type Picture } from "../src/fold.ts";
import type { DiagnosisEvent } from "../src/types.ts";

const kEcc = "GPU.MEMORY.UNCORRECTABLE_ECC";
const kSram = "GPU.MEMORY.SRAM_ECC";
let last = 0;
const event = (body: Partial<DiagnosisEvent>): DiagnosisEvent => ({ sequence: String(++last), eventTime: `2026-11-22T10:00:0${last % 10}Z`, ...body });

function story(): DiagnosisEvent[] {
  last = 0;
  return [
    event({ created: { name: "tenants/a/diagnoses/d", incident: { description: "<img src=x onerror=alert(1)>" }, strategy: "tiered" } }),
    event({ summarized: { summary: { signals: [{ id: "signal/x@train.log", source: "train.log", firstLine: "88", excerpt: "Xid 48" }] }, nodes: ["n1"] } }),
    event({ childrenRanked: { children: [{ label: "GPU", title: "GPU hardware" }, { label: "OTHER", title: "Other", pruned: true }] } }),
    event({ childrenRanked: { label: "GPU", children: [{ label: "GPU.MEMORY", title: "Memory" }] } }),
    event({ childrenRanked: { label: "GPU.MEMORY", children: [{ label: kEcc, title: "ECC", leaf: true, checks: ["gpu.ecc"] }, { label: kSram, title: "SRAM", leaf: true }] } }),
    event({ checkCompleted: { result: { id: "gpu.ecc@n1", check: "gpu.ecc", node: "n1", status: "FAIL", excerpt: "volatile 1" } } }),
    event({ verdictsGiven: { verdicts: [
      { label: kEcc, outcome: "CONFIRMED", probability: 0.999, reasons: [{ direction: "SUPPORTS", text: "count above 0", evidenceIds: ["gpu.ecc@n1"] }] },
      { label: kSram, outcome: "REJECTED", reasons: [{ direction: "OPPOSES", text: "only DRAM moved", evidenceIds: ["gpu.ecc@n1"] }] }] } }),
    event({ concluded: { report: { outcome: "CAUSE_CONFIRMED", headline: "ECC" }, reasoning: [{ id: "summary", kind: "SUMMARY" }] } }),
  ];
}

const all = (events: DiagnosisEvent[]): Picture => fold(emptyPicture(), events);

test("the same picture whatever the pieces in which events come, and however often", () => {
  const events = story();
  const whole = all(events);
  for (let cut = 0; cut <= events.length; ++cut) {
    for (let back = 0; back <= cut; ++back) {
      assert.deepEqual(fold(all(events.slice(0, cut)), events.slice(back)), whole);
    }
  }
});

test("folding changes nothing of the picture before", () => {
  const events = story();
  const before = all(events.slice(0, 5));
  const copy = structuredClone(before);
  fold(before, events);
  assert.deepEqual(before, copy);
});

test("the state follows the events", () => {
  const events = story();
  assert.equal(all(events.slice(0, 1)).state, "RUNNING");
  assert.equal(all(events).state, "SUCCEEDED");
  const open = [...events.slice(0, 7), event({ concluded: { report: { outcome: "NO_CAUSE_CONFIRMED" } } })];
  open[7]!.sequence = "8";
  assert.equal(all(open).state, "AWAITING_FEEDBACK");
  const again = [...open, { ...event({ feedbackReceived: { text: "look at n2" } }), sequence: "9" }];
  assert.equal(all(again).state, "RUNNING");
  assert.equal(all([...again, { ...event({ cancelled: { reason: "found" } }), sequence: "10" }]).state, "CANCELLED");
});

test("a cause stands once in the tree, below what holds it", () => {
  const trees = treeOf(all(story()));
  assert.deepEqual(trees.map((tree) => tree.node.label), ["GPU", "OTHER"]);
  assert.deepEqual(trees[0]?.children.map((tree) => tree.node.label), ["GPU.MEMORY"]);
  assert.deepEqual(trees[0]?.children[0]?.children.map((tree) => tree.node.label), [kEcc, kSram]);
  const shuffled = treeOf(fold(emptyPicture(), [
    { sequence: "1", hypothesesProposed: { hypotheses: [{ hypothesis: { label: kSram } }, { hypothesis: { label: kEcc } }, { hypothesis: { label: "GPU.BOARD.DEFECTIVE" } }] } }]));
  assert.deepEqual(shuffled.map((tree) => tree.node.label), ["GPU"]);
  assert.equal(shuffled[0]?.children.length, 2);
});

test("what was confirmed comes first, and states are counted by cause", () => {
  const picture = all(story());
  assert.deepEqual([countStates(picture).confirmed, countStates(picture).rejected, countStates(picture).testing], [1, 1, 0]);
  assert.equal(treeOf(picture)[0]?.children[0]?.children[0]?.node.state, "confirmed");
});

test("evidence tells what it was used for, and where it stands", () => {
  const picture = all(story());
  const exhibit = exhibitOf(picture, "gpu.ecc@n1");
  assert.equal(exhibit?.excerpt, "volatile 1");
  assert.deepEqual(exhibit?.usedBy.map((use) => [use.label, use.direction]), [[kEcc, "supports"], [kSram, "opposes"]]);
  assert.equal(exhibitOf(picture, "signal/x@train.log")?.where, "train.log, line 88");
  assert.equal(exhibitOf(picture, "__proto__"), undefined);
  assert.equal(exhibitOf(picture, "constructor"), undefined);
});

test("an event of a kind that is not known yet is passed over", () => {
  const picture = fold(emptyPicture(), [{ sequence: "1", somethingNew: {} } as unknown as DiagnosisEvent]);
  assert.equal(picture.last, 1);
});

test("labels in words", () => {
  assert.equal(wordsOf("INTERCONNECT_NETWORKING.TCP_IP"), "Interconnect networking › TCP IP");
});

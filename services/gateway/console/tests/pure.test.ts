import assert from "node:assert/strict";
import { test } from "node:test";
import { filterOf, matches, queryOf } from "../src/filter.ts";
import { ago, belief, bytes, clock, findingText, span, visible } from "../src/format.ts";
import { kBox, layoutOf } from "../src/graph.ts";
import { diagnosisHash, parseRoute } from "../src/route.ts";

test("text that would mislead the eye or a terminal is shown as an escape", () => {
  assert.equal(visible("a\u202eb\u200bc\u001b[31m\u0000"), "a\\u202eb\\u200bc\\u001b[31m\\u0000");
  assert.equal(visible("line\r\nnext\ttab é 漢 \u{1f600}"), "line\nnext\ttab é 漢 \u{1f600}");
});

test("a belief is never a number alone, and never certain", () => {
  assert.equal(belief(0.9997), "near certain, over 99 %");
  assert.equal(belief(0.001), "very unlikely, under 1 %");
  assert.equal(belief(undefined), "very unlikely, 0 %");
});

test("values are written as people read them", () => {
  assert.deepEqual([span(0.25), span(59), span(3700), bytes(10), bytes(1536), bytes(5 * 2 ** 30)], ["250 ms", "59 s", "1 h", "10 B", "1.5 KiB", "5.0 GiB"]);
  assert.deepEqual([clock("2026-04-22T02:21:37Z"), clock("2026-04-22T02:21:37.6Z"), clock(undefined)], ["02:21:37.000", "02:21:37.600", ""]);
  const ages = [3, 7, 59, 7200].map((seconds) => ago("2026-04-22T00:00:00Z", Date.parse("2026-04-22T00:00:00Z") + 1000 * seconds));
  assert.deepEqual(ages, ["just now", "7 s ago", "59 s ago", "2 h ago"]);
  assert.equal(findingText({}), "not known");
  assert.equal(findingText({ boolValue: false }), "no");
  assert.equal(findingText({ intValue: "0", unit: "count" }), "0 count");
});

test("an address leads where it says, whatever stands in it", () => {
  const name = "tenants/acme/diagnoses/d1";
  assert.deepEqual(parseRoute(diagnosisHash(name, "evidence", "signal/a&b=c@x/y.log")),
    { view: "diagnosis", tenant: "acme", id: "d1", tab: "evidence", evidence: "signal/a&b=c@x/y.log" });
  assert.equal(parseRoute("#/javascript:alert(1)").view, "unknown");
  assert.equal(parseRoute("#/knowledge/%E0%A4%A").view, "knowledge");
  assert.equal(parseRoute("").view, "list");
});

test("a filter stands in the address, and each of its parts takes something away", () => {
  const one = { name: "tenants/a/diagnoses/d", state: "SUCCEEDED", createTime: "2026-11-22T10:00:00Z",
    incident: { description: "NCCL timeout on rank 37", nodes: ["volta-34"] }, report: { primaryCause: { label: "GPU.MEMORY.X", title: "ECC" } } };
  const now = Date.parse("2026-11-22T10:30:00Z");
  const of = (query: string) => filterOf(new URLSearchParams(query));
  for (const query of ["", "state=SUCCEEDED", "text=rank+VOLTA", "cause=gpu.memory", "since=hour"]) assert.ok(matches(one, of(query), now), query);
  for (const query of ["state=FAILED", "text=rank+missing", "cause=SYSTEM", "since=hour&state=RUNNING"]) assert.ok(!matches(one, of(query), now), query);
  assert.ok(!matches(one, of("since=hour"), now + 3600e3));
  const back = parseRoute(queryOf(of("state=FAILED&text=a+b&cause=GPU")));
  assert.ok(back.view === "list");
  assert.deepEqual(filterOf(back.query), of("state=FAILED&text=a+b&cause=GPU"));
});

test("a step stands right of all that it rests on, and on no other", () => {
  const steps = [{ id: "a" }, { id: "b", parents: ["a"] }, { id: "c", parents: ["a", "b"] }, { id: "d", parents: ["a"] }, { id: "e", parents: ["nobody", "c"] }];
  const { placed, edges } = layoutOf(steps);
  assert.equal(edges.length, 5);
  for (const { from, to } of edges) assert.ok(from.x + kBox.width < to.x);
  for (const one of placed) {
    for (const two of placed) {
      assert.ok(one === two || one.x !== two.x || Math.abs(one.y - two.y) >= kBox.height);
    }
  }
  assert.equal(layoutOf([{ id: "a", parents: ["b"] }, { id: "b", parents: ["a"] }]).placed.length, 2);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { canTry, triedOf } from "../src/dryrun.ts";
import type { Action, DryRun } from "../src/types.ts";

const action: Action = { name: "tenants/t/diagnoses/d/actions/a", state: "PROPOSED", run: "node.reset_gpu", contentHash: "h", plan: ["run: reset"] };
const said: DryRun = { name: action.name, contentHash: "h", plan: ["run: reset"], samePlan: true, wouldRun: true, text: "as planned" };

test("what would run is said to only where it is what the page shows", () => {
  assert.equal(triedOf(action, said).state, "would-run");
  assert.deepEqual(triedOf(action, said).plan, []);
  const others: Partial<DryRun>[] = [{ contentHash: "other" }, { plan: ["run: reboot"] }, { plan: ["run: reset", "run: reboot"] }, { plan: [] },
    { samePlan: false }, { name: "tenants/t/diagnoses/d/actions/b" }];
  for (const other of others) assert.equal(triedOf(action, { ...said, ...other }).state, "other-plan", JSON.stringify(other));
  assert.deepEqual(triedOf(action, { ...said, plan: ["run: reboot"] }).plan, ["run: reboot"]);
  assert.equal(triedOf(action, { name: action.name }).state, "other-plan");
});

test("what does not hold, what is not so yet and what could not be told are three things", () => {
  const tried = triedOf(action, { ...said, wouldRun: false, looks: [
    { text: "nobody is there", command: "look", holds: true },
    { text: "it is idle", command: "look", output: "4711", exitCode: 1 },
    { text: "it is drained", command: "state", afterwards: true, output: "idle" },
    { text: "it is known", command: "none", error: "no such program" }] });
  assert.equal(tried.state, "would-not-run");
  assert.deepEqual(tried.looks.map((look) => [look.state, look.said]),
    [["HOLDS", "nothing"], ["HOLDS_NOT", "4711 (exit code 1)"], ["NOT_YET", "idle"], ["HOLDS_NOT", "no such program"]]);
});

test("how the target is now is told as it was found, and unknown is not zero", () => {
  const [check] = triedOf(action, { ...said, checks: [{ id: "", check: "gpu.clocks", status: "PASS",
    findings: [{ name: "sm_mhz", doubleValue: 200, unit: "MHz" }, { name: "ratio_busy" }] }] }).now;
  assert.deepEqual(check?.rows, [["sm_mhz", "200 MHz"], ["ratio_busy", "not known"]]);
});

test("only who may ask a machine is offered to, and only of what runs there", () => {
  assert.ok(canTry(action, "operator", true));
  assert.ok(canTry(action, "approver", true));
  assert.ok(!canTry(action, "customer", true));
  assert.ok(!canTry(action, undefined, true));
  assert.ok(!canTry(action, "approver", false));
  assert.ok(!canTry({ ...action, run: "kubernetes.cordon" }, "approver", true));
  assert.ok(!canTry({ ...action, run: "" }, "approver", true));
  assert.ok(!canTry({ ...action, state: "WITHDRAWN" }, "approver", true));
});

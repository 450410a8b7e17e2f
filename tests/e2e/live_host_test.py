"""A vague complaint on the machine that runs the test, whatever it is."""
import json
import os
import shutil
import tempfile
import unittest

import galen

SPENT = {}


def live():
    if not SPENT:
        run = galen.galen("diagnose", "training is slow", "--json", timeout=300)
        SPENT.update(code=run.returncode, diagnosis=json.loads(run.stdout))
    return SPENT["diagnosis"], SPENT["code"]


class LiveHost(unittest.TestCase):
    def test_runs_real_checks_and_invents_nothing(self):
        diagnosis, code = live()
        self.assertIn(code, (0, 3))
        self.assertEqual(code == 0, "primaryCause" in diagnosis["report"])
        results = {r["check"]: r for r in diagnosis["checkResults"]}
        memory = results["system.memory"]
        self.assertIn(memory["status"], ("PASS", "FAIL"))
        available = [f for f in memory["findings"] if f["name"] == "available_gib"]
        self.assertGreater(available[0]["doubleValue"], 0)

    @unittest.skipIf(shutil.which("nvidia-smi"), "this machine has an NVIDIA driver")
    def test_without_a_gpu_every_gpu_check_is_skipped_with_a_reason(self):
        diagnosis, _ = live()
        gpu = [r for r in diagnosis["checkResults"] if r["check"].startswith("gpu.")]
        self.assertGreater(len(gpu), 5)
        for result in gpu:
            self.assertEqual(result["status"], "SKIPPED", result)
            self.assertTrue(result["message"])
        self.assertTrue(any("skipped" in note.lower() for note in diagnosis["report"]["notes"]))

    def test_a_log_that_is_given_is_read_by_the_checks_too(self):
        with tempfile.NamedTemporaryFile("w", suffix=".log") as log:
            log.write("step 12 loss 2.31\n"
                      "ScatterGatherKernel.cu:163: operator(): block: [42,0,0], thread: [0,0,0] Assertion "
                      "`idx_dim >= 0 && idx_dim < index_size && \"index out of bounds\"` failed.\n"
                      "torch.AcceleratorError: CUDA error: device-side assert triggered\n")
            log.flush()
            run = galen.galen("diagnose", "the training died", "--log", log.name, "--json", timeout=300)
        self.assertEqual(run.returncode, 0, run.stdout)
        diagnosis = json.loads(run.stdout)
        self.assertEqual(diagnosis["report"]["primaryCause"]["label"], "USER_APPLICATION.DATA.INDEX_OUT_OF_RANGE")
        triage = [r for r in diagnosis["checkResults"] if r["check"] == "log.triage"]
        self.assertIn("index_assert", triage[0]["message"])

    def test_checks_run_prints_each_result(self):
        run = galen.galen("checks", "run", "system.memory", "system.disk", "gpu.ecc")
        self.assertIn(run.returncode, (0, 3), run.stderr)
        for name in ("system.memory", "system.disk", "gpu.ecc"):
            self.assertIn(name, run.stdout)

    def test_an_option_does_not_take_the_names_of_checks_behind_it(self):
        run = galen.galen("checks", "run", "--knowledge", f"{galen.ROOT}/knowledge", "system.cpu", "system.memory")
        self.assertIn(run.returncode, (0, 3), run.stderr)
        self.assertIn("system.cpu@", run.stdout)
        self.assertIn("system.memory@", run.stdout)
        self.assertNotIn("unknown %", run.stdout)

    def test_checks_list_shows_the_catalogue(self):
        run = galen.galen("checks", "list")
        self.assertEqual(run.returncode, 0)
        self.assertIn("gpu.row_remap", run.stdout)
        self.assertGreater(len(run.stdout.splitlines()), 100)

    def test_a_captured_bundle_of_this_machine_is_diagnosed_like_the_machine(self):
        with tempfile.TemporaryDirectory() as scratch:
            bundle = f"{scratch}/bundle"
            run = galen.galen("bundle", "capture", bundle, "--description", "training is slow")
            self.assertEqual(run.returncode, 0, run.stderr)
            captured, code = galen.galen("diagnose", "--bundle", bundle, "--json"), None
            diagnosis = json.loads(captured.stdout)
            self.assertIn(captured.returncode, (0, 3))
            live_status = {r["check"]: r["status"] for r in live()[0]["checkResults"]}
            # A search runs the checks that tell most, which depends on what it has seen before.
            both = [r for r in diagnosis["checkResults"]
                    if r["check"] in ("gpu.ecc", "system.memory", "system.disk") and r["check"] in live_status]
            self.assertTrue(both, live_status)
            for result in both:
                self.assertEqual(result["status"], live_status[result["check"]], result)

    def test_a_bundle_made_by_hand(self):
        with tempfile.TemporaryDirectory() as scratch:
            bundle, raw = f"{scratch}/b", f"{scratch}/dmesg.txt"
            with open(raw, "w", encoding="utf-8") as log:
                log.write("2026-03-01T10:00:00,000000+00:00 NVRM: Xid (PCI:0000:3b:00): 79, "
                          "pid=77, name=python3, GPU has fallen off the bus.\n")
            steps = (
                ("bundle", "new", bundle, "--description", "job died", "--node", "n1"),
                ("bundle", "add", bundle, "--node", "n1", "--output", raw, "--",
                 "dmesg", "--time-format", "iso"),
            )
            for step in steps:
                run = galen.galen(*step)
                self.assertEqual(run.returncode, 0, run.stderr)
            run = galen.galen("diagnose", "--bundle", bundle, "--json")
            results = {r["check"]: r for r in json.loads(run.stdout)["checkResults"]}
            self.assertEqual(results["system.kernel_log"]["status"], "FAIL")
            # What nobody captured was not seen.
            seen = {r["status"] for name, r in results.items() if name.startswith("gpu.")}
            self.assertEqual(seen, {"SKIPPED"}, results.keys())


if __name__ == "__main__":
    unittest.main()

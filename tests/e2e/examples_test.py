"""The five examples in one process: right cause, right place, evidence, and exit code."""
import json
import unittest

import galen


def devices(cause):
    return [f"{d.get('device', '')}@{d.get('node', '')}" for d in cause.get("devices", [])]


class Examples(unittest.TestCase):
    def test_names_the_cause_its_place_and_its_evidence(self):
        for example, (label, device, effects) in galen.CAUSES.items():
            with self.subTest(example):
                diagnosis, code = galen.diagnose(example)
                report = diagnosis["report"]
                cited = {e["id"] for e in report.get("evidence", [])}
                if label is None:
                    self.assertEqual(code, 3)
                    self.assertNotIn("primaryCause", report)
                    self.assertEqual(report.get("otherCauses", []), [])
                    self.assertGreater(report["checks"]["pass"], 10)
                    self.assertTrue(report["ruledOut"])
                    continue
                self.assertEqual(code, 0)
                cause = report["primaryCause"]
                self.assertEqual(cause["label"], label)
                self.assertTrue(cause["evidenceIds"])
                self.assertLessEqual(set(cause["evidenceIds"]), cited)
                self.assertTrue(any(d.startswith(device) for d in devices(cause)), devices(cause))
                self.assertTrue(all(d.split("@")[1] for d in devices(cause)), "a node is named")
                self.assertEqual(report.get("otherCauses", []), [])
                self.assertTrue(report.get("ruledOut") or report["undecided"], "what was tested beside it")
                for ruled_out in report.get("ruledOut", []):
                    self.assertTrue(ruled_out["label"])
                    self.assertTrue(ruled_out["evidenceIds"], ruled_out["label"])
                    self.assertLessEqual(set(ruled_out["evidenceIds"]), cited)
                named = {effect["label"] for effect in report.get("secondaryEffects", [])}
                self.assertLessEqual(set(effects), named)
                for effect in report.get("secondaryEffects", []):
                    self.assertTrue(effect["evidenceIds"], effect["label"])

    def test_each_strategy_comes_to_its_end_and_names_only_what_it_verified(self):
        label = galen.CAUSES["cublas-ecc"][0]
        for strategy in ("tiered", "taxonomy", "exhaustive", "selfplay", "direct", "history"):
            with self.subTest(strategy):
                diagnosis, code = galen.diagnose("cublas-ecc", "--strategy", strategy)
                self.assertEqual(diagnosis["strategy"], strategy)
                report = diagnosis["report"]
                cited = {e["id"] for e in report.get("evidence", [])}
                if strategy in ("direct", "history"):
                    self.assertEqual((code, diagnosis["state"]), (3, "AWAITING_FEEDBACK"))
                    self.assertEqual(diagnosis.get("checkResults", []), [])
                    self.assertNotIn("primaryCause", report)
                    named = report.get("presumedCause")
                    if strategy == "direct":
                        self.assertEqual(named["label"], label)
                    if named is not None:
                        self.assertTrue(named["evidenceIds"])
                        self.assertLessEqual(set(named["evidenceIds"]), cited)
                    continue
                self.assertEqual((code, diagnosis["state"]), (0, "SUCCEEDED"))
                self.assertEqual(report["primaryCause"]["label"], label)
                self.assertNotIn("presumedCause", report)
                self.assertLessEqual(set(report["primaryCause"]["evidenceIds"]), cited)

    def test_a_presumed_cause_is_told_as_such(self):
        run = galen.galen("diagnose", "--bundle", f"{galen.EXAMPLES}/cublas-ecc", "--strategy", "direct")
        self.assertEqual(run.returncode, 3)
        self.assertRegex(run.stdout, r"Most likely .*\n.*, not proven \(")

    def test_an_unknown_strategy_is_refused_with_those_there_are(self):
        run = galen.galen("diagnose", "it hangs", "--strategy", "magic")
        self.assertEqual(run.returncode, 2)
        self.assertIn('"magic" is not one of: direct, exhaustive, history, selfplay, taxonomy, tiered', run.stderr)

    def test_the_same_input_gives_the_same_diagnosis(self):
        first, _ = galen.diagnose("cublas-ecc")
        second, _ = galen.diagnose("cublas-ecc")
        self.assertEqual(galen.comparable(first), galen.comparable(second))

    def test_plain_lines_in_a_pipe_tell_the_search_and_the_report(self):
        run = galen.galen("diagnose", "--bundle", f"{galen.EXAMPLES}/cublas-ecc")
        self.assertEqual(run.returncode, 0)
        self.assertNotIn("\x1b", run.stdout)
        self.assertNotIn("\r", run.stdout)
        for word in ("Summary", "Cause", "Shown by", "Next", "More"):
            self.assertIn(word, run.stdout)
        report = run.stdout[run.stdout.index("\nCause "):]
        self.assertLessEqual(len(report.splitlines()), 40)

    def test_json_is_the_diagnosis_and_nothing_else(self):
        run = galen.galen("diagnose", "--bundle", f"{galen.EXAMPLES}/healthy", "--json")
        self.assertEqual(json.loads(run.stdout)["state"], "AWAITING_FEEDBACK")


if __name__ == "__main__":
    unittest.main()

"""`galen-eval` as people use it: a corpus in, numbers and a page out, the same numbers again."""
import os
import tempfile
import unittest

import galen


class RealRuns(unittest.TestCase):
    """Jobs that failed on a real GPU for one known reason (runs/README.md)."""

    def test_most_causes_are_named_and_none_is_confirmed_wrongly(self):
        run = galen.evaluate("--cases", f"{galen.ROOT}/tests/e2e/runs", "--json")
        self.assertEqual(run.returncode, 0, run.stderr)
        (numbers,) = galen.json.loads(run.stdout)["runs"]
        self.assertEqual(numbers["cases"], 31)
        self.assertEqual(numbers["convictedWrongly"], 0)
        self.assertGreaterEqual(numbers["right"], 18)


class ACorpus(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = scratch.name
        os.makedirs(f"{self.root}/bundles")
        self.answers = []
        for example in ("cublas-ecc", "healthy"):
            os.symlink(f"{galen.EXAMPLES}/{example}", f"{self.root}/bundles/{example}")
            label, _, _ = galen.CAUSES[example]
            self.answers.append({"id": example, "labels": [label] if label else []})
        self.write()

    def write(self):
        with open(f"{self.root}/answers.jsonl", "w", encoding="utf-8") as file:
            for answer in self.answers:
                file.write(galen.json.dumps(answer) + "\n")

    def evaluate(self, *arguments):
        return galen.evaluate("--cases", self.root, *arguments)

    def numbers(self, *arguments):
        run = self.evaluate("--json", *arguments)
        self.assertEqual(run.returncode, 0, run.stderr)
        return galen.json.loads(run.stdout)

    def test_what_is_found_is_counted(self):
        (run,) = self.numbers()["runs"]
        self.assertEqual((run["cases"], run["right"], run["failed"]), (2, 2, 0))
        self.assertEqual(run["all"]["microF1"], 1)
        self.assertEqual(run["convictedWithoutCause"], 0)
        self.assertGreater(run["costs"]["verificationSeconds"], 0)

    def test_a_wrong_answer_is_told_with_what_came_instead(self):
        self.answers[0]["labels"] = ["GPU.THERMAL.OVERHEAT_SHUTDOWN"]
        self.write()
        run = self.evaluate("--failures")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("expected GPU.THERMAL.OVERHEAT_SHUTDOWN", run.stdout)
        self.assertIn("got      GPU.MEMORY.UNCORRECTABLE_ECC", run.stdout)

    def test_a_second_run_takes_up_the_first_and_gives_the_same_numbers(self):
        out = f"{self.root}/out"
        first = self.numbers("--out", out)
        kept = f"{out}/plain-tiered/cublas-ecc.json"
        written = os.stat(kept).st_mtime_ns
        self.assertEqual(self.numbers("--out", out), first)
        self.assertEqual(os.stat(kept).st_mtime_ns, written)
        os.remove(kept)
        self.assertEqual(self.numbers("--out", out), first)
        self.assertTrue(os.path.exists(kept))

    def test_strategies_stand_beside_each_other_in_the_page(self):
        page = f"{self.root}/page.html"
        run = self.evaluate("--strategy", "tiered,history", "--html", page, "--withhold-decisive")
        self.assertEqual(run.returncode, 0, run.stderr)
        with open(page, encoding="utf-8") as file:
            text = file.read()
        for name in ("tiered", "history", "tiered, withheld", "<svg"):
            self.assertIn(name, text)

    def test_a_mistake_in_the_corpus_names_file_and_line(self):
        with open(f"{self.root}/answers.jsonl", "a", encoding="utf-8") as file:
            file.write('{"id": "cublas-ecc", "labels": []}\n')
        run = self.evaluate()
        self.assertEqual(run.returncode, 2)
        self.assertIn("answers.jsonl:3: ", run.stderr)

    def test_what_is_not_there_is_refused(self):
        for arguments in (("--strategy", "guess"), ("--case", "none")):
            run = self.evaluate(*arguments)
            self.assertEqual(run.returncode, 2)
            self.assertIn(arguments[1], run.stderr)

    def test_galen_names_the_program_that_evaluates(self):
        for arguments in (("--cases", self.root, "--json"), ("--help",), ()):
            run = galen.galen("eval", *arguments)
            self.assertEqual((run.returncode, run.stdout), (2, ""))
            self.assertIn("galen-eval", run.stderr)


if __name__ == "__main__":
    unittest.main()

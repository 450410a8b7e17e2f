"""What people have at hand, as they give it: pasted, piped, as files; to the program and to a mesh."""
import gzip
import json
import os
import tempfile
import unittest

import galen

XID = ("Feb 01 10:00:00 gpu07 kernel: NVRM: Xid (PCI:0000:3b:00): 79, pid=4711, GPU has fallen off the bus.\n"
       "Feb 01 10:00:00 gpu07 kernel: NVRM: GPU 0000:3b:00.0: GPU has fallen off the bus.\n")
ISSUE = f"Training died at ten. The card is gone since then.\n\n```\n{XID}```\n\nWhat can we do?\n"
DEVICE_LOST = "GPU.PCIE.DEVICE_LOST"


def named(diagnosis):
    """The labels that a report names, the likeliest first."""
    report = diagnosis["report"]
    causes = [report[kind] for kind in ("primaryCause", "presumedCause") if kind in report]
    return [cause["label"] for cause in causes + report.get("suspects", [])]


class Pasted(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = scratch.name

    def write(self, name, content):
        path = f"{self.scratch}/{name}"
        with open(path, "w", encoding="utf-8") as file:
            file.write(content)
        return path

    def diagnose(self, *arguments, given=None):
        run = galen.galen("diagnose", "--json", *arguments, input=given)
        self.assertIn(run.returncode, (0, 3), run.stderr)
        return json.loads(run.stdout)

    def test_every_way_in_gives_the_same_answer(self):
        log, issue = self.write("dmesg.txt", XID), self.write("issue.md", ISSUE)
        made = galen.galen("bundle", "new", f"{self.scratch}/b", "--description", "card gone", "--node", "gpu07")
        self.assertEqual(made.returncode, 0, made.stderr)
        ways = {
            "standard input": self.diagnose("-", given=XID),
            "an issue on standard input": self.diagnose("-", given=ISSUE),
            "an issue in a file": self.diagnose(issue),
            "a sentence and a file": self.diagnose("card gone", log),
            "a file and a sentence": self.diagnose(log, "card gone"),
            "--log and a sentence": self.diagnose("--log", log, "card gone"),
            "--log - and a sentence": self.diagnose("--log", "-", "card gone", given=XID),
            "a bundle and a log": self.diagnose("--bundle", f"{self.scratch}/b", "--log", log),
            "pasted as a sentence": self.diagnose(ISSUE),
        }
        for way, diagnosis in ways.items():
            with self.subTest(way):
                self.assertEqual(named(diagnosis)[:1], [DEVICE_LOST])
                self.assertEqual({result["node"] for result in diagnosis["checkResults"]}, {"gpu07"})
                self.assertEqual(diagnosis["incident"]["artefacts"][0]["kind"], "kernel.log")

    def test_this_machine_takes_part_only_when_somebody_says_so(self):
        here = os.uname().nodename.split(".")[0]
        nodes = lambda diagnosis: {result["node"].split(".")[0] for result in diagnosis["checkResults"]}
        self.assertNotIn(here, nodes(self.diagnose("-", given=XID)))
        self.assertIn(here, nodes(self.diagnose("--here", "-", given="RuntimeError: NCCL error\n")))

    def test_nothing_is_dropped_without_a_word(self):
        odd = self.write("odd.txt", "q7 zz\n%% 1 2\n")
        run = galen.galen("diagnose", "it hangs", odd)
        self.assertIn("odd.txt", run.stdout)

    def test_a_bundle_takes_the_usual_variants_and_says_what_it_reads(self):
        bundle = f"{self.scratch}/b"
        galen.galen("bundle", "new", bundle, "--description", "card gone", "--node", "gpu07")

        def add(*arguments, given=None):
            run = galen.galen("bundle", "add", bundle, "--node", "gpu07", *arguments, input=given)
            self.assertEqual(run.returncode, 0, run.stderr)
            return run.stdout

        self.assertIn("checks read it", add("--output", "-", "--", "dmesg", "-T", given=XID.replace("gpu07 ", "")))
        self.assertIn("checks read it", add("--output", "-", "--", "df", "-h", given=(
            "Filesystem      Size  Used Avail Use% Mounted on\n/dev/sda1       1.8T  1.1T  700G  62% /\n")))
        self.assertIn("not understood", add("--output", "-", "--", "frobnicate", given="%% 1\n"))
        diagnosis = self.diagnose("--bundle", bundle)
        self.assertEqual(named(diagnosis)[:1], [DEVICE_LOST])

    def test_a_packed_log_is_read(self):
        path = f"{self.scratch}/train.log.gz"
        with gzip.open(path, "wt", encoding="utf-8") as file:
            file.write("step 1 loss 2.0\n" * 100 + "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n")
        diagnosis = self.diagnose("job died", path)
        self.assertIn("USER_APPLICATION.GPU_MEMORY.OUT_OF_MEMORY", named(diagnosis))
        self.assertFalse(diagnosis["incident"]["artefacts"][0].get("unread"))

    def test_a_report_fits_on_a_screen(self):
        run = galen.galen("diagnose", "-", input=ISSUE)
        report = run.stdout[run.stdout.rindex("\n\n", 0, run.stdout.index("Shown by")):].strip().splitlines()
        self.assertLessEqual(len(report), 40)

    def test_a_mesh_makes_evidence_of_what_is_pasted(self):
        roots = f"{self.scratch}/roots"
        os.makedirs(roots)
        with galen.Mesh(roots=roots, orchestrator_arguments=(
                f"--evidence={roots}/evidence", f"--knowledge={galen.ROOT}/knowledge")) as mesh:
            run = galen.galen("diagnose", "--json", "--server", mesh.orchestrator.address, ISSUE)
            self.assertIn(run.returncode, (0, 3), run.stderr)
            diagnosis = json.loads(run.stdout)
            self.assertEqual(named(diagnosis)[:1], [DEVICE_LOST])
            self.assertEqual({result["node"] for result in galen.of_nodes(diagnosis["checkResults"])}, {"gpu07"})


if __name__ == "__main__":
    unittest.main()

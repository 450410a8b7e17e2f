"""A real model server, llama.cpp's, with a model of 135 million parameters: its verdicts are not judged, but nothing may break.
SKIPPED where it is not installed: `make model-tools` does that."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

import galen

TOOLS = os.environ.get("GALEN_MODEL_TOOLS", f"{galen.ROOT}/tests/e2e/llama/installed")
REPORT = """Training hangs in the first all-reduce on two nodes, no error in the log.

    [root@gpu-a ~]# uptime
     09:41:52 up 83 days, 17:20,  2 users,  load average: 61.04, 60.77, 60.35
"""


class Llama(unittest.TestCase):
    def setUp(self):
        self.server = subprocess.Popen([f"{TOOLS}/bin/python", "-B", f"{galen.ROOT}/tests/e2e/llama/serve.py"], text=True,
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.addCleanup(self.stop)
        url = self.server.stdout.readline().strip()
        self.assertTrue(url, "the server did not start")
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.endpoint = f"{scratch.name}/llm.yaml"
        with open(self.endpoint, "w", encoding="utf-8") as file:
            file.write(f"url: {url}/v1\nmodel: smollm2\nproxy: none\ncontext: 8192\n")
        self.report = f"{scratch.name}/report.txt"
        with open(self.report, "w", encoding="utf-8") as file:
            file.write(REPORT)

    def stop(self):
        self.server.stdin.close()
        self.server.wait(timeout=60)
        self.server.stdout.close()

    def test_the_check_of_the_endpoint_finds_it_usable(self):
        run = galen.galen("llm", "check", "--llm", self.endpoint, timeout=500)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)

    def test_a_diagnosis_ends_with_a_report_and_invents_no_quote(self):
        run = galen.galen("diagnose", self.report, "--llm", self.endpoint, "--json", timeout=900)
        diagnosis = json.loads(run.stdout)
        self.assertIn(diagnosis["state"], ("SUCCEEDED", "AWAITING_FEEDBACK"), run.stderr)
        report = diagnosis["report"]
        self.assertEqual(report["reasoner"], "builtin with smollm2")
        self.assertGreater(int(report["reasonerSpent"]["calls"]), 0)
        causes = [report.get("primaryCause", {}), report.get("presumedCause", {}), *report.get("suspects", [])]
        for cause in causes:
            for citation in cause.get("citations", []):
                self.assertIn(citation["quote"].strip(), REPORT)


if __name__ == "__main__":
    if not os.path.exists(f"{TOOLS}/bin/python"):
        print(f"SKIPPED: {TOOLS} is missing; run `make model-tools`", file=sys.stderr)
        sys.exit(77)
    unittest.main()

"""A card that fails again is known to have failed: what live diagnoses found is on record, once each, whatever dies meanwhile.
The machine is a node executor of Galen's whose nvidia-smi prints what was captured on one with a bad card."""
import json
import os
import stat
import tempfile
import time
import unittest

import galen

FAULT = "The job stopped with CUBLAS_STATUS_EXECUTION_FAILED"
LABEL = "GPU.MEMORY.UNCORRECTABLE_ECC"
CAPTURED = f"{galen.EXAMPLES}/cublas-ecc/nodes/volta-34/c/001.txt"

# The shipped check takes what comes within a day for one failure; a site may have one of its own that does not.
SITE = """checks:
  - name: site.earlier
    title: Failures before, each counted
    kind: history
    cost: 200ms
    data: [{name: days, number: 7}, {name: hours_apart, number: 0}]
    findings:
      - {name: failures_same_device, type: int, unit: count, subject: device, abnormal: {op: '>=', value: 2}}
"""


class History(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        site = f"{self.scratch.name}/site"
        os.makedirs(f"{site}/checks")
        with open(f"{site}/checks/site.yaml", "w", encoding="utf-8") as file:
            file.write(SITE)
        tools = f"{self.scratch.name}/tools"
        os.mkdir(tools)
        with open(f"{tools}/nvidia-smi", "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\n[ "$*" = "-q -x" ] && exec cat "{CAPTURED}"\nexit 6\n')
        os.chmod(f"{tools}/nvidia-smi", stat.S_IRWXU)
        self.knowledge = f"{galen.ROOT}/knowledge,{site}"
        self.machine = galen.Process("galen-node", f"--knowledge={self.knowledge}", "--host=volta-34", "--nowatch",
                                     environment={"PATH": f"{tools}:{os.environ['PATH']}"})
        self.addCleanup(self.machine.stop)
        store = f"{self.scratch.name}/galen.db"
        self.mesh = galen.Mesh(nodes=1, store=store, knowledge=self.knowledge, live={"volta-34": self.machine.address},
                               execution_arguments=(f"--store={store}",))
        self.addCleanup(self.mesh.__exit__)

    def diagnose(self, *arguments):
        run = galen.galen("diagnose", FAULT, "--node", "volta-34", "--json", "--server", self.mesh.orchestrator.address, *arguments)
        self.assertTrue(run.stdout, run.stderr)
        diagnosis = json.loads(run.stdout)
        self.assertEqual(diagnosis["report"]["primaryCause"]["label"], LABEL, diagnosis["report"].get("headline"))
        return diagnosis

    def check(self, name):
        run = galen.galen("checks", "run", name, "--json", "--node", "volta-34", "--knowledge", self.knowledge,
                          "--server", self.mesh.agents["execution"].address)
        self.assertIn(run.returncode, (0, 3), run.stderr)  # 3: something is wrong
        [result] = [json.loads(line) for line in run.stdout.splitlines()]
        return result

    def counted(self, result):
        return {finding["subject"]["device"]: int(finding["intValue"]) for finding in result.get("findings", ())}

    def wait_for(self, gpu, count):
        while (seen := self.counted(self.check("site.earlier"))) != {gpu: count}:
            self.assertEqual(seen, {gpu: count - 1})
            time.sleep(0.05)

    def test_what_was_found_is_counted_once_each_also_when_the_orchestrator_dies_and_until_a_person_knows_better(self):
        self.assertEqual(self.check("site.earlier")["status"], "SKIPPED")
        first = self.diagnose()
        [device] = first["report"]["primaryCause"]["devices"]
        gpu = device["device"]
        self.assertEqual(self.counted(self.check("site.earlier")), {gpu: 1})
        self.assertEqual(self.check("site.earlier")["status"], "PASS")
        # Met again within a day: the shipped check takes it for the same failure.
        result = self.check("history.node")
        self.assertEqual((result["status"], self.counted(result)), ("PASS", {}))

        # Killed when the cause is in the log and not yet on record. How many events a diagnosis of this machine has depends on its
        # load: one that ends earlier than the one before it is taken for the measure of the next.
        noted = 1
        orchestrator = self.mesh.orchestrator
        orchestrator.stop()
        for attempt in range(10):
            doomed = self.mesh.start_orchestrator(f"--crash_after_event={first['lastSequence']}", port=orchestrator.port)
            client = galen.subprocess.Popen(
                [f"{galen.BIN}/galen", "diagnose", FAULT, "--node", "volta-34", "--json", "--server", doomed.address, "--request-id", f"again-{attempt}"],
                text=True, cwd=galen.ROOT, stdout=galen.subprocess.PIPE, stderr=galen.subprocess.PIPE)
            while doomed.process.poll() is None and client.poll() is None:
                time.sleep(0.05)
            if client.poll() is None:
                break
            out, err = client.communicate()
            first = json.loads(out)
            noted += 1
            self.wait_for(gpu, noted)
            doomed.process.kill()
            doomed.process.wait()
            doomed.stop()
        self.assertEqual(doomed.process.wait(timeout=60), -9)
        doomed.stop()
        self.assertEqual(self.counted(self.check("site.earlier")), {gpu: noted})
        self.mesh.start_orchestrator(port=doomed.port)
        out, err = client.communicate(timeout=120)
        self.assertTrue(out, err)
        second = json.loads(out)
        self.assertEqual(second["report"]["primaryCause"]["label"], LABEL)
        self.wait_for(gpu, noted + 1)  # it is noted once the successor has taken it up
        self.assertEqual(self.check("site.earlier")["status"], "FAIL")

        # A person establishes another cause of the second.
        told = galen.galen("feedback", second["name"], "--server", self.mesh.orchestrator.address, "--confirm",
                           "USER_APPLICATION.CODE.ILLEGAL_MEMORY_ACCESS", "--by", "ada", "--text", "a wrong index")
        self.assertEqual(told.returncode, 0, told.stderr)
        self.assertEqual(self.counted(self.check("site.earlier")), {gpu: noted})


if __name__ == "__main__":
    unittest.main()

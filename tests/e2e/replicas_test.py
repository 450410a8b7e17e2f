"""Several processes of one agent: calls are spread over them, and one that dies, comes back or drains costs nothing."""
import json
import os
import signal
import subprocess
import threading
import unittest

import galen

READ_LOGS = f"{os.path.dirname(galen.BIN)}/tests/galen-read-logs"


class Replicas:
    """What stands for one agent in a mesh."""

    def __init__(self, mesh, program, *arguments, count=2):
        self.mesh, self.program, self.arguments = mesh, program, (*arguments, "--log_calls")
        self.processes = [mesh.start(program, *self.arguments) for _ in range(count)]

    @property
    def address(self):
        return ",".join(process.address for process in self.processes)

    def kill(self, index):
        self.processes[index].stop(signal.SIGKILL)

    def start(self, index):
        self.processes[index] = self.mesh.start(self.program, *self.arguments, port=self.processes[index].port)

    def calls(self, index):
        """Answered by the process that runs there now."""
        return sum('"call"' in line for line in list(self.processes[index].log))


class ReplicasOfAnAgent(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.undisturbed = galen.comparable(galen.diagnose("healthy")[0])

    def setUp(self):
        self.mesh = self.enterContext(galen.Mesh())
        knowledge = f"--knowledge={galen.ROOT}/knowledge"
        for name in ("planning", "reflection"):
            self.mesh.agents[name].stop()
            self.mesh.agents[name] = Replicas(self.mesh, f"galen-{name}", knowledge)
        self.mesh.orchestrator.stop()
        self.mesh.start_orchestrator()
        self.planning = self.mesh.agents["planning"]

    def diagnose(self):
        diagnosis, code = galen.diagnose("healthy", "--server", self.mesh.orchestrator.address)
        self.assertEqual(code, 3)
        self.assertEqual(galen.comparable(diagnosis), self.undisturbed)

    def diagnose_until(self, condition):
        while not condition():
            self.diagnose()

    def failed_calls(self):
        self.mesh.orchestrator.stop()
        run = subprocess.run([READ_LOGS, self.mesh.store], text=True, capture_output=True, timeout=60, check=True)
        return [json.loads(line)["calls_failed"] for line in run.stdout.splitlines()]

    def test_both_are_asked_and_one_that_is_killed_costs_nothing(self):
        self.diagnose_until(lambda: self.planning.calls(0) and self.planning.calls(1))
        self.planning.kill(0)
        served = self.planning.calls(1)
        for _ in range(3):
            self.diagnose()
        self.assertGreater(self.planning.calls(1), served)
        self.planning.start(0)
        self.diagnose_until(lambda: self.planning.calls(0) > 0)
        failed = self.failed_calls()
        self.assertGreater(len(failed), 4)
        self.assertEqual(sum(failed), 0)

    def test_one_that_is_killed_under_load_costs_no_attempt_either(self):
        over = threading.Event()
        problems = []

        def work():
            try:
                while not over.is_set():
                    self.diagnose()
            except AssertionError as problem:
                problems.append(problem)

        workers = [threading.Thread(target=work) for _ in range(3)]
        for worker in workers:
            worker.start()
        for index in (0, 1, 0):
            self.planning.kill(index)
            self.planning.start(index)
            while not self.planning.calls(index) and not problems:
                over.wait(0.05)
        over.set()
        for worker in workers:
            worker.join()
        self.assertEqual(problems, [])
        self.assertEqual(sum(self.failed_calls()), 0)

    def test_one_that_drains_gets_no_new_calls_and_ends_well(self):
        self.diagnose_until(lambda: self.planning.calls(0) and self.planning.calls(1))
        self.assertEqual(self.planning.processes[0].stop(), 0)
        served = self.planning.calls(0)
        for _ in range(3):
            self.diagnose()
        self.assertEqual(self.planning.calls(0), served)
        self.assertEqual(sum(self.failed_calls()), 0)


class ReplicasOfTheOrchestrator(unittest.TestCase):
    def test_the_command_asks_another_one_where_the_first_is_gone(self):
        with galen.Mesh() as mesh:
            gone = mesh.start("galen-conclusion", f"--knowledge={galen.ROOT}/knowledge")
            gone.stop(signal.SIGKILL)
            servers = f"{gone.address},{mesh.orchestrator.address}"
            diagnosis, code = galen.diagnose("cublas-ecc", "--server", servers)
            self.assertEqual(code, 0)
            self.assertEqual(diagnosis["state"], "SUCCEEDED")


if __name__ == "__main__":
    unittest.main()

"""Grave events of many machines at once: one diagnosis, whatever is killed."""
import json
import os
import signal
import subprocess
import unittest

import galen
import redis_server

REPORT = f"{os.path.dirname(galen.BIN)}/tests/report_health"
KNOWLEDGE = f"--knowledge={galen.ROOT}/knowledge"


def report(watch, orchestrator, *arguments):
    run = subprocess.run([REPORT, f"--watch={watch.address}", f"--orchestrator={orchestrator.address}", *arguments],
                         text=True, capture_output=True, timeout=300)
    if run.returncode != 0:
        raise AssertionError(f"report_health: exit {run.returncode}: {run.stderr}")
    return json.loads(run.stdout)


class Watch(unittest.TestCase):
    def start_watch(self, mesh, store, owner, **more):
        return mesh.start("galen-watch", KNOWLEDGE, f"--store={store}", f"--owner={owner}",
                          f"--orchestrator={mesh.orchestrator.address}", **more)

    def test_one_diagnosis_names_all_machines_that_fell_at_once(self):
        with galen.Mesh(nodes=1) as mesh:
            watch = self.start_watch(mesh, f"{mesh.scratch.name}/watch.db", "one")
            told = report(watch, mesh.orchestrator, "--machines=100", "--burst=60")
            self.assertEqual((told["named"], told["reports"]["failed"]), (60, 0), told)
            # The same machines once more: they were told of.
            again = report(watch, mesh.orchestrator, "--machines=0", "--burst=60")
            self.assertEqual(again["diagnoses"], told["diagnoses"], again)

    def test_what_was_acknowledged_is_told_by_another_when_the_leader_is_killed(self):
        with redis_server.Redis() as redis, galen.Mesh(nodes=1) as mesh:
            first = self.start_watch(mesh, redis.url, "first")
            second = self.start_watch(mesh, redis.url, "second")
            report(first, mesh.orchestrator, "--machines=0", "--burst=5")
            port = mesh.orchestrator.port
            # With the orchestrator away nothing can be opened; then the leader is gone too.
            mesh.orchestrator.stop(signal.SIGKILL)
            report(second, mesh.orchestrator, "--machines=0", "--burst=20", "--first=100", "--patience=0")
            first.stop(signal.SIGKILL)
            orchestrator = mesh.start_orchestrator(port=port)
            told = report(second, orchestrator, "--machines=0", "--burst=20", "--first=100")
            self.assertEqual(told["named"], 20, told)


if __name__ == "__main__":
    unittest.main()

"""Nodes that register: two replicas of execution on one Redis, as processes, and what becomes of nodes and replicas that die."""
import json
import os
import signal
import subprocess
import time
import unittest

import galen
from redis_server import Redis, die_with_parent

CHECK = "system.memory"


def ask(address, *arguments):
    """Results by node of a check on all nodes, or those that are named."""
    run = galen.galen("checks", "run", CHECK, "--server", address, "--json", *arguments)
    if run.stderr and not run.stdout:
        raise AssertionError(f"exit {run.returncode}: {run.stderr}")
    results = [json.loads(line) for line in run.stdout.splitlines()]
    return {result["node"]: result for result in results}


def wait_for(what, holds, seconds=60):
    """Until `holds` gives something true, which is given back."""
    end = time.monotonic() + seconds
    while True:
        found = holds()
        if found:
            return found
        if time.monotonic() > end:
            raise AssertionError(f"not in {seconds} s: {what}")
        time.sleep(0.1)


class Registry:
    """Replicas of galen-execution on one store, and nodes that register with them."""

    def __init__(self, store, replicas=2, nodes=3, execution=()):
        self.processes = []
        self.replicas = [self.start("galen-execution", f"--store={store}", *execution) for _ in range(replicas)]
        self.nodes = [self.start_node(f"n{i}", self.replicas[i % replicas:] + self.replicas[:i % replicas])
                      for i in range(nodes)]

    def start_node(self, name, replicas):
        return self.start("galen-node", f"--host={name}", "--register_ttl=3s", "--nowatch",
                          "--execution=" + ",".join(replica.address for replica in replicas))

    def start(self, program, *arguments):
        self.processes.append(galen.Process(program, f"--knowledge={galen.ROOT}/knowledge", *arguments))
        return self.processes[-1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in reversed(self.processes):
            process.stop()


class Simulated:
    """Many hosts in one process, of which some misbehave."""

    def __init__(self, execution, *arguments):
        self.process = subprocess.Popen(
            [f"{os.path.dirname(galen.BIN)}/tests/galen-simulate-nodes", f"--execution={execution}", *arguments],
            text=True, stderr=subprocess.PIPE, preexec_fn=die_with_parent)
        said = self.process.stderr.readline()
        if "hosts" not in said:
            raise AssertionError(said)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.process.stderr.close()


class ManyNodes(unittest.TestCase):
    def test_those_that_misbehave_are_errors_of_their_own(self):
        """Each at its own address; and all at one, whose executor is believed for all of them, so that none lies."""
        for own, lying in (("--own_addresses", 5), ("--noown_addresses", 0)):
            with self.subTest(own), Redis() as redis, \
                    Registry(redis.url, nodes=0, execution=("--node_timeout=4s",)) as mesh, \
                    Simulated(mesh.replicas[0].address, "--hosts=600", "--slow=5", "--slow_by=1s", "--hanging=5",
                              f"--lying={lying}", own):
                for replica in mesh.replicas:
                    results = wait_for("600 hosts", lambda r=replica: (found := ask(r.address)) and len(found) == 600
                                       and found)
                    bad = {name for name, result in results.items() if result["status"] == "ERROR"}
                    self.assertEqual(bad, {f"sim-{i}" for i in range(5, 10 + lying)})


class NodesThatRegister(unittest.TestCase):
    def all_of(self, address, names):
        def found():
            results = ask(address)
            return results if set(results) == set(names) else None
        return wait_for(f"{names} at {address}", found)

    def test_any_replica_knows_all_and_the_dead_are_forgotten(self):
        with Redis() as redis, Registry(redis.url) as mesh:
            for replica in mesh.replicas:
                results = self.all_of(replica.address, ["n0", "n1", "n2"])
                for result in results.values():
                    self.assertIn(result["status"], ("PASS", "FAIL"), result)

            # One that is killed cannot say so: it is gone when its time is over.
            mesh.nodes[1].stop(signal.SIGKILL)
            for replica in mesh.replicas:
                self.all_of(replica.address, ["n0", "n2"])
            # One that drains says so.
            self.assertEqual(mesh.nodes[2].stop(), 0)
            for replica in mesh.replicas:
                self.all_of(replica.address, ["n0"])
            # One that comes again, elsewhere, is found there.
            again = mesh.start_node("n1", mesh.replicas)
            for replica in mesh.replicas:
                results = self.all_of(replica.address, ["n0", "n1"])
                self.assertIn(results["n1"]["status"], ("PASS", "FAIL"), results["n1"])
            self.assertEqual(again.stop(), 0)

    def test_a_replica_that_is_killed_takes_no_node_with_it(self):
        with Redis() as redis, Registry(redis.url, nodes=6) as mesh:
            names = [f"n{i}" for i in range(6)]
            for replica in mesh.replicas:
                self.all_of(replica.address, names)
            mesh.replicas[0].stop(signal.SIGKILL)
            # At once: the other one asks the nodes that were not its own, also those whose replica it still believes
            # to be there; and all the time after: nodes go to the replica that is left.
            for _ in range(12):
                results = ask(mesh.replicas[1].address)
                self.assertEqual(sorted(results), names)
                for result in results.values():
                    self.assertIn(result["status"], ("PASS", "FAIL"), result)
                time.sleep(0.5)

    def test_without_a_store_one_replica_is_enough(self):
        with Registry(":memory:", replicas=1, nodes=2) as mesh:
            self.all_of(mesh.replicas[0].address, ["n0", "n1"])

    def test_a_node_outlasts_an_execution_that_starts_anew(self):
        with Registry(":memory:", replicas=1, nodes=1) as mesh:
            self.all_of(mesh.replicas[0].address, ["n0"])
            old = mesh.replicas[0]
            old.stop(signal.SIGKILL)
            new = galen.Process("galen-execution", f"--knowledge={galen.ROOT}/knowledge", port=old.port)
            mesh.processes.append(new)
            self.all_of(new.address, ["n0"])


if __name__ == "__main__":
    unittest.main()

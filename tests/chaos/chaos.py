#!/usr/bin/env python3
"""Runs the mesh as real processes on a real Redis, asks it for many diagnoses at once, and meanwhile kills and stops
what a seed says. Afterwards every event log is held against the promises, and every report against that of an
undisturbed run. Prints a verdict with the seed; exit code 0: all promises were kept."""
import argparse
import collections
import faulthandler
import json
import os
import queue
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "e2e"))
import galen  # noqa: E402
import link  # noqa: E402
from redis_server import Redis  # noqa: E402

READ_LOGS = os.environ.get("GALEN_READ_LOGS", f"{os.path.dirname(galen.BIN)}/tests/galen-read-logs")
# A diagnosis that takes longer, faults included, is stuck.
LONGEST_S = 300
LEASE = "--lease_ttl=1s"
# One that failed is an answer too, and another one than that of an undisturbed run.
ENDS = {"SUCCEEDED", "AWAITING_FEEDBACK", "FAILED", "CANCELLED", "ESCALATED"}


class Service:
    """A program on a port of its own, which it gets again each time it is started."""

    def __init__(self, role, program, *arguments):
        self.role = role
        self.program = program
        self.arguments = arguments
        self.port = 0
        self.lock = threading.Lock()
        self.start()

    def start(self):
        self.process = galen.Process(self.program, *self.arguments, port=self.port)
        self.port = self.process.port

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    def kill(self, pause):
        with self.lock:
            self.process.stop(signal.SIGKILL)
            time.sleep(pause)
            self.start()

    def freeze(self, pause):
        with self.lock:
            self.process.process.send_signal(signal.SIGSTOP)
            time.sleep(pause)
            self.process.process.send_signal(signal.SIGCONT)

    def stop(self):
        with self.lock:
            return self.process.stop()


class RedisService:
    """The Redis of the mesh; what it acknowledged is on the disk."""

    role = "redis"

    def __init__(self):
        self.redis = Redis()
        self.port = self.redis.port
        self.lock = threading.Lock()

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    def kill(self, pause):
        with self.lock:
            self.redis.kill()
            time.sleep(pause)
            self.redis.start()

    def freeze(self, pause):
        with self.lock:
            self.redis.process.send_signal(signal.SIGSTOP)
            time.sleep(pause)
            self.redis.process.send_signal(signal.SIGCONT)


class Mesh:
    """Two orchestrators and two nodes, one of each agent. With `partitions` there is a link to cut between each that calls
    and each that it calls, Redis too."""

    def __init__(self, partitions=False):
        self.links = []

        def way(caller, name, service):
            if not partitions:
                return service.address
            self.links.append(link.Link(f"{caller} to {name}", lambda: service.port))
            return self.links[-1].address

        self.redis = RedisService()
        knowledge = f"--knowledge={galen.ROOT}/knowledge"
        bundles = f"--bundle_root={galen.EXAMPLES}"
        self.nodes = [Service("node", "galen-node", knowledge, bundles, f"--host=node{i}") for i in range(2)]
        ways = [way("execution", f"node{i}", node) for i, node in enumerate(self.nodes)]
        readers = ",".join(ways)
        live = ",".join(f"node{i}={address}" for i, address in enumerate(ways))
        agents = {
            "summarization": Service("summarization", "galen-summarization", knowledge, f"--log_root={galen.EXAMPLES}"),
            "planning": Service("planning", "galen-planning", knowledge),
            "execution": Service("execution", "galen-execution", knowledge, bundles, f"--bundle_readers={readers}",
                                 f"--nodes={live}"),
            "reflection": Service("reflection", "galen-reflection", knowledge),
            "conclusion": Service("conclusion", "galen-conclusion", knowledge),
        }
        self.orchestrators = [
            Service("orchestrator", "galen-orchestrator",
                    f"--store=redis://{way(f'orchestrator {i}', 'redis', self.redis)}", f"--owner=o{i}", LEASE,
                    *[f"--{name}={way(f'orchestrator {i}', name, agent)}" for name, agent in agents.items()])
            for i in range(2)]
        self.all = [self.redis, *self.nodes, *agents.values(), *self.orchestrators]

    def stop(self):
        for service in reversed(self.all[1:]):
            service.stop()
        for one in self.links:
            one.close()


class Load:
    """Diagnoses by request id, each asked again until it is answered."""

    def __init__(self, mesh, seed, count, clients):
        self.mesh = mesh
        self.todo = queue.Queue()
        names = sorted(galen.CAUSES)
        for i in range(count):
            self.todo.put((f"chaos-{seed}-{i}", names[i % len(names)]))
        self.answers = {}  # request id: (example, diagnosis)
        self.stuck = []
        self.asked = 0
        self.seconds = []
        self.threads = [threading.Thread(target=self.work, args=(random.Random(f"{seed}/{i}"),)) for i in range(clients)]

    def work(self, pick):
        while True:
            try:
                request, example = self.todo.get_nowait()
            except queue.Empty:
                return
            begin = time.monotonic()
            while time.monotonic() - begin < LONGEST_S:
                answer = self.ask(request, example, pick.choice(self.mesh.orchestrators).address,
                                  begin + LONGEST_S - time.monotonic())
                if answer is not None:
                    self.answers[request] = (example, answer)
                    self.seconds.append(time.monotonic() - begin)
                    break
                time.sleep(0.05)
            else:
                self.stuck.append(request)

    def ask(self, request, example, address, left):
        """The diagnosis, or None where the mesh could not be reached."""
        self.asked += 1
        try:
            run = galen.galen("diagnose", "--json", "--bundle", f"{galen.EXAMPLES}/{example}", "--server", address,
                              "--request-id", request, timeout=max(left, 1))
        except subprocess.TimeoutExpired:
            return None
        try:
            diagnosis = json.loads(run.stdout)
        except json.JSONDecodeError:
            return None
        return diagnosis if diagnosis.get("state") in ENDS else None


class Monkey:
    """Kills, freezes and cuts off what the seed says, while there is load, until it has done `kills` of them. Runs in the main
    thread: what a thread started dies with it (PR_SET_PDEATHSIG)."""

    def __init__(self, mesh, seed, kills, pause):
        self.mesh = mesh
        self.random = random.Random(seed)
        self.kills = kills
        self.pause = pause
        self.done = collections.Counter()
        self.log = []

    def work(self, going_on):
        begin = time.monotonic()
        while going_on() and sum(n for (fault, _), n in self.done.items() if fault == "kill") < self.kills:
            time.sleep(self.random.uniform(0, 2 * self.pause))
            if self.mesh.links and self.random.random() < 0.4:
                cut, pause, breaks = link.pick(self.mesh.links, self.random)
                self.log.append(f"{time.monotonic() - begin:8.3f} s  cut {cut.name} for {pause:.3f} s"
                                f"{', its connections are lost' if breaks else ''}")
                # Beside what else happens meanwhile.
                threading.Thread(target=cut.cut, args=(pause, time.sleep, breaks), daemon=True).start()
                self.done["cut", "link"] += 1
                continue
            victim = self.random.choice(self.mesh.all)
            fault = "freeze" if self.random.random() < 0.15 else "kill"
            pause = self.random.uniform(0, 1.5 if fault == "freeze" else 0.3)
            self.log.append(f"{time.monotonic() - begin:8.3f} s  {fault} {victim.role} for {pause:.3f} s")
            getattr(victim, fault)(pause)
            self.done[fault, victim.role] += 1


def expected_reports():
    reports = {}
    for example in galen.CAUSES:
        diagnosis, _ = galen.diagnose(example)
        reports[example] = galen.comparable(diagnosis)
    return reports


def read_logs(url):
    run = subprocess.run([READ_LOGS, url], text=True, capture_output=True, timeout=600)
    if run.returncode not in (0, 1):
        raise AssertionError(f"galen-read-logs: {run.stderr}")
    return [json.loads(line) for line in run.stdout.splitlines()]


def differences(one, other, path=""):
    """Where two JSON values differ, the first few."""
    if type(one) is not type(other):
        return [path or "/"]
    if isinstance(one, dict):
        return [d for key in sorted(one.keys() | other.keys())
                for d in (differences(one[key], other[key], f"{path}/{key}") if key in one and key in other
                          else [f"{path}/{key} stands in one only"])]
    if isinstance(one, list):
        if len(one) != len(other):
            return [f"{path}: {len(one)} and {len(other)} entries"]
        return [d for i, (a, b) in enumerate(zip(one, other)) for d in differences(a, b, f"{path}/{i}")]
    return [] if one == other else [f"{path}: {str(one)[:80]!r} and {str(other)[:80]!r}"]


def quantile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))] if values else 0


def run(arguments):
    expected = expected_reports()
    mesh = Mesh(arguments.partitions)
    try:
        load = Load(mesh, arguments.seed, arguments.diagnoses, arguments.clients)
        monkey = Monkey(mesh, arguments.seed, arguments.kills, arguments.pause)
        begin = time.monotonic()
        for thread in load.threads:
            thread.start()

        def going_on():
            if not arguments.quiet and sys.stderr.isatty():
                print(f"\r{len(load.answers)} of {arguments.diagnoses} diagnoses, {sum(monkey.done.values())} faults",
                      end="", file=sys.stderr, flush=True)
            return any(thread.is_alive() for thread in load.threads)

        monkey.work(going_on)
        while going_on():
            time.sleep(0.2)
        took = time.monotonic() - begin
        logs = read_logs(mesh.redis.redis.url)
    finally:
        mesh.stop()
        mesh.redis.redis.__exit__()

    broken = [f"{request}: not answered within {LONGEST_S} s" for request in load.stuck]
    for request, (example, diagnosis) in sorted(load.answers.items()):
        found = differences(expected[example], galen.comparable(diagnosis))
        if found:
            broken.append(f"{request} ({example}): another report: {'; '.join(found[:3])}")
    by_request = {log["request_id"] for log in logs}
    broken += [f"{request}: lost" for request in load.answers if request not in by_request]
    broken += [f"{log['request_id']} ({log['name']}): {text}" for log in logs for text in log["broken"]]
    if len(logs) != len(load.answers) + len(load.stuck):
        broken.append(f"{len(logs)} logs of {len(load.answers) + len(load.stuck)} requests")

    kills = {role: n for (fault, role), n in sorted(monkey.done.items()) if fault == "kill"}
    freezes = {role: n for (fault, role), n in sorted(monkey.done.items()) if fault == "freeze"}
    print(f"seed {arguments.seed}: {len(load.answers)} diagnoses in {took:.1f} s, asked {load.asked} times; "
          f"{sum(kills.values())} kills, {sum(freezes.values())} freezes, {monkey.done['cut', 'link']} partitions")
    print("kills:   " + ", ".join(f"{role} {n}" for role, n in kills.items()))
    print("freezes: " + ", ".join(f"{role} {n}" for role, n in freezes.items()))
    print(f"seconds to an answer, p50 / p90 / p99 / max: " +
          " / ".join(f"{quantile(load.seconds, share):.2f}" for share in (0.5, 0.9, 0.99, 1)))
    print(f"calls that failed and were tried again: {sum(log['calls_failed'] for log in logs)}, "
          f"events: {sum(log['events'] for log in logs)}")
    if sum(kills.values()) < arguments.kills:
        print(f"note: the load ended after {sum(kills.values())} of {arguments.kills} kills; give more --diagnoses or "
              "less --pause")
    for text in broken[:20]:
        print(f"BROKEN: {text}")
    if broken and not arguments.quiet:
        print("\n".join(monkey.log))
    print(f"verdict: {'all promises kept' if not broken else f'{len(broken)} broken'} (seed {arguments.seed})")
    return 1 if broken else 0


def main():
    faulthandler.register(signal.SIGUSR1)  # says where every thread is
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 31))
    parser.add_argument("--diagnoses", type=int, default=200)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--clients", type=int, default=8, help="that ask at the same time")
    parser.add_argument("--pause", type=float, default=0.3, help="mean seconds between two faults")
    parser.add_argument("--partitions", action="store_true", help="also cut what one process says to another")
    parser.add_argument("--quiet", action="store_true", help="no progress, no list of faults")
    sys.exit(run(parser.parse_args()))


if __name__ == "__main__":
    main()

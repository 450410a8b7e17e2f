#!/usr/bin/env python3
"""Load on galen-watch: a mass failure, and a steady stream of health events. Prints JSON, figures as min / median / max.

    GALEN_BIN=build/bin bench/load/health.py [--redis] [--seconds 300] [--repeat 5]
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, f"{ROOT}/tests/e2e")
import galen  # noqa: E402
import redis_server  # noqa: E402

REPORT = f"{os.path.dirname(galen.BIN)}/tests/report_health"


def spread(values):
    return {"min": min(values), "median": statistics.median(values), "max": max(values)}


def used(pid):
    """Seconds of a processor, and MiB in memory."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        rss = next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), rss / 1024


def report(watch, mesh, *arguments):
    run = subprocess.run([REPORT, f"--watch={watch.address}", f"--orchestrator={mesh.orchestrator.address}", *arguments],
                         text=True, capture_output=True, check=True)
    return json.loads(run.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--redis", action="store_true", help="store in a Redis that syncs before it answers, not SQLite")
    parser.add_argument("--machines", type=int, default=1500)
    parser.add_argument("--burst", type=int, default=750)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--rate", type=int, default=20000)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--batch", type=int, default=50)
    arguments = parser.parse_args()
    told = {"store": "redis, always" if arguments.redis else "sqlite"}
    bursts = []
    for _ in range(arguments.repeat):
        with World(arguments.redis) as world:
            bursts.append(report(world.watch, world.mesh, f"--machines={arguments.machines}",
                                 f"--burst={arguments.burst}"))
    told["mass_failure"] = {
        "machines": arguments.burst, "of": arguments.machines,
        "named": spread([b["named"] for b in bursts]), "diagnoses": spread([b["diagnoses"] for b in bursts]),
        "seconds_to_the_diagnosis": spread([b["seconds"] for b in bursts]),
        "seconds_to_durable_p99": spread([b["reports"]["p99_s"] for b in bursts])}
    with World(arguments.redis) as world:
        pid, memory, done = world.watch.process.pid, [], threading.Event()

        def look():
            while not done.wait(1):
                memory.append(used(pid)[1])

        watcher = threading.Thread(target=look)
        watcher.start()
        begun, before = time.monotonic(), used(pid)[0]
        steady = report(world.watch, world.mesh, f"--rate={arguments.rate}", f"--seconds={arguments.seconds}",
                        f"--batch={arguments.batch}")
        cpu = (used(pid)[0] - before) / (time.monotonic() - begun)
        done.set()
        watcher.join()
        third = max(1, len(memory) // 3)
        told["steady"] = {**steady, "cores_of_galen_watch": round(cpu, 3),
                          "memory_mib_by_thirds": [round(max(memory[i:i + third] or [0])) for i in
                                                   range(0, 3 * third, third)]}
    print(json.dumps(told, indent=1))


class World:
    """The mesh and a galen-watch on a store of its own."""

    def __init__(self, redis):
        self.redis = redis_server.Redis() if redis else None
        self.mesh = galen.Mesh(nodes=1)
        store = self.redis.url if redis else f"{self.mesh.scratch.name}/watch.db"
        self.watch = self.mesh.start("galen-watch", f"--knowledge={galen.ROOT}/knowledge", f"--store={store}",
                                     "--owner=bench", f"--orchestrator={self.mesh.orchestrator.address}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.mesh.__exit__()
        if self.redis:
            self.redis.__exit__()


if __name__ == "__main__":
    main()

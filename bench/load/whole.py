#!/usr/bin/env python3
"""Whole diagnoses with instant checks, over a process for each service. Prints JSON, figures as min / median / max.

    GALEN_BIN=build/bin bench/load/whole.py [--redis] [--count 1000] [--at-once 32] [--repeat 5]
"""
import argparse
import json
import os
import statistics
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, f"{ROOT}/tests/e2e")
import galen  # noqa: E402
import redis_server  # noqa: E402

LOAD = f"{os.path.dirname(galen.BIN)}/bench/instant_load"
BUNDLE = f"{ROOT}/docs/examples/cublas-ecc"
COMMON = (f"--knowledge={ROOT}/knowledge", f"--bundle={BUNDLE}")


def spread(values):
    return {"min": round(min(values), 2), "median": round(statistics.median(values), 2), "max": round(max(values), 2)}


def used(pid):
    """Seconds of a processor, and MiB in memory at most."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        peak = next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), peak / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--redis", action="store_true", help="store in a Redis that syncs before it answers, not SQLite")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--at-once", type=int, default=32)
    parser.add_argument("--repeat", type=int, default=5)
    arguments = parser.parse_args()
    redis = redis_server.Redis() if arguments.redis else None
    nodes = galen.Process("../bench/instant_load", "nodes", *COMMON)
    live = {name: nodes.address for name in sorted(os.listdir(f"{BUNDLE}/nodes"))}
    mesh = galen.Mesh(nodes=0, live=live, store=redis.url if redis else None)
    try:
        pids = {p.program.removeprefix("galen-"): p.process.pid for p in mesh.processes}
        pids["nodes"] = nodes.process.pid
        if redis:
            pids["redis"] = redis.process.pid
        runs, cpu = [], {name: [] for name in pids}
        for _ in range(arguments.repeat):
            before = {name: used(pid)[0] for name, pid in pids.items()}
            run = subprocess.run([LOAD, "drive", *COMMON, f"--server={mesh.orchestrator.address}",
                                  f"--count={arguments.count}", f"--at_once={arguments.at_once}"],
                                 text=True, capture_output=True, check=False)
            if run.returncode != 0:
                raise SystemExit(run.stderr)
            runs.append(json.loads(run.stdout))
            for name, pid in pids.items():
                cpu[name].append((used(pid)[0] - before[name]) * 1000 / arguments.count)
        print(json.dumps({
            "store": "redis, always" if redis else "sqlite", "count": arguments.count, "at_once": arguments.at_once,
            **{figure: spread([run[figure] for run in runs]) for figure in runs[0]},
            "cpu_ms_per_diagnosis": {name: spread(values) for name, values in cpu.items()},
            "memory_mib": {name: round(used(pid)[1]) for name, pid in pids.items()}}, indent=1))
    finally:
        mesh.__exit__()
        nodes.stop()
        if redis:
            redis.__exit__()


if __name__ == "__main__":
    main()

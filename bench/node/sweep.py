#!/usr/bin/env python3
"""A passive sweep of all checks on this machine: wall time, processor time and peak memory."""
import argparse
import collections
import json
import os
import subprocess
import time

from measure import spread


def one_run(argv):
    begin = time.monotonic()
    process = subprocess.Popen(argv, stdout=subprocess.PIPE)
    output = process.stdout.read()
    _, _, usage = os.wait4(process.pid, 0)
    process.returncode = 0
    results = [json.loads(line) for line in output.splitlines()]
    return {"wall": time.monotonic() - begin, "cpu": usage.ru_utime + usage.ru_stime,
            "rss": usage.ru_maxrss / 1024,
            "states": collections.Counter(result["status"] for result in results)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", default="build/bin")
    parser.add_argument("--knowledge", default="knowledge")
    parser.add_argument("--runs", type=int, default=5)
    arguments = parser.parse_args()
    argv = [f"{arguments.bin}/galen", "checks", "run", "--json", "--knowledge",
            arguments.knowledge]
    one_run(argv)  # fills the page cache and the knowledge cache
    runs = [one_run(argv) for _ in range(arguments.runs)]
    states = ", ".join(f"{count} {state}" for state, count in sorted(runs[-1]["states"].items()))
    print(f"{sum(runs[-1]['states'].values())} checks: {states}; {arguments.runs} runs")
    print("| | median (min to max) |\n|---|---|")
    print(f"| wall time, s | {spread([r['wall'] for r in runs], '{:.2f}')} |")
    print(f"| processor time with programs that it runs, s "
          f"| {spread([r['cpu'] for r in runs], '{:.2f}')} |")
    print(f"| peak resident memory, MiB | {spread([r['rss'] for r in runs])} |")


if __name__ == "__main__":
    main()

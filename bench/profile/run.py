#!/usr/bin/env python3
"""Writes one trace and reads it several times: time, and the most memory that reading took.

    bench/profile/run.py build/bench/profile_trace [--bytes 1100000000] [--rounds 3] [--scratch DIR] [--gzip]

Minimum / median / maximum of the rounds. A scratch in memory is best; a disk measures the page cache.
"""
import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


def spread(values):
    return f"{min(values):g} / {statistics.median(values):g} / {max(values):g}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("binary")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--scratch", default="/dev/shm")
    parser.add_argument("--bytes", type=int, default=1_100_000_000)
    parser.add_argument("--gzip", action="store_true", help="packed with gzip -1")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.scratch) as scratch:
        trace = f"{scratch}/trace.json"
        subprocess.run([options.binary, "write", trace, str(options.bytes)], check=True)
        if options.gzip:
            subprocess.run(["gzip", "-1", trace], check=True)
            trace += ".gz"
        taken = {"seconds": [], "processor seconds": [], "peak memory MiB": []}
        for _ in range(options.rounds):
            line = subprocess.run([options.binary, "read", f"{HERE}/../../knowledge", trace], check=True,
                                  capture_output=True, text=True).stdout.strip()
            print(line)
            for name, values in taken.items():
                values.append(float(re.search(rf", {name} ([\d.]+)", line).group(1)))
    for name, values in taken.items():
        print(f"{name}: {spread(values)}")
    return 0


sys.exit(main())

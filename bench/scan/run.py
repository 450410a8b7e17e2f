#!/usr/bin/env python3
"""Scans one log for 1,000 signals, in turns: ours, ripgrep (one thread) and a bare Hyperscan scan.

    bench/scan/run.py build/bench/scan_bench [--rounds 5] [--scratch /dev/shm] [--memory]

The signals are literal strings that the catalogue's patterns hold (scan_bench strings), the log is
made (scan_bench log) and the same for the same catalogue. Times are processor time, user and
system, of the scan alone; ripgrep's are those of the whole process. --memory also scans 256 MiB and
2 GiB and tells the peak memory of each.
"""
import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile


def scan(binary, kind, log, strings):
    arguments = [binary, kind, log] + ([strings] if strings else [])
    return json.loads(subprocess.run(arguments, check=True, capture_output=True).stdout)


def ripgrep(log, strings):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run = subprocess.run(["rg", "-j1", "-c", "-F", "-f", strings, log], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime), int(run.stdout)


def spread(values):
    return f"{statistics.median(values):.3f} ({min(values):.3f} to {max(values):.3f})"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("binary")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--scratch", default="/dev/shm")
    parser.add_argument("--bytes", type=int, default=1 << 30)
    parser.add_argument("--memory", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.scratch) as scratch:
        log, strings = f"{scratch}/train.log", f"{scratch}/strings.txt"
        with open(strings, "wb") as out:
            subprocess.run([options.binary, "strings", "1000"], check=True, stdout=out)

        def make(size):
            subprocess.run([options.binary, "log", log, str(size), "1000", "0", "0", strings], check=True)

        make(options.bytes)
        times = {"ours": [], "bare": [], "rg": [], "ours, catalogue": [], "bare, catalogue": []}
        for _ in range(options.rounds):
            ours = scan(options.binary, "ours", log, strings)
            bare = scan(options.binary, "bare", log, strings)
            seconds, lines = ripgrep(log, strings)
            times["ours"].append(ours["cpu"])
            times["bare"].append(bare["cpu"])
            times["rg"].append(seconds)
            times["ours, catalogue"].append(scan(options.binary, "ours", log, "")["cpu"])
            times["bare, catalogue"].append(scan(options.binary, "bare", log, "")["cpu"])
        print(f"{options.bytes >> 20} MiB, {ours['lines']} lines, {ours['signals']} signals seen, "
              f"{ours['matches']} pairs of line and signal; rg counts {lines} lines")
        for name, values in times.items():
            print(f"{name:16} {spread(values)} s")
        for name, a, b in (("rg / ours", "rg", "ours"), ("bare / ours", "bare", "ours"),
                           ("bare / ours, catalogue", "bare, catalogue", "ours, catalogue")):
            print(f"{name:22} {spread([x / y for x, y in zip(times[a], times[b])])}")
        if options.memory:
            for size in (256 << 20, 2 << 30):
                make(size)
                print(f"peak memory, {size >> 20} MiB: {scan(options.binary, 'ours', log, strings)['peak_kib']} KiB")
    return 0


if __name__ == "__main__":
    os.environ.pop("RIPGREP_CONFIG_PATH", None)
    sys.exit(main())

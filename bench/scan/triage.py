#!/usr/bin/env python3
"""Triages one made log in turns with the bare signal scan of it: the rate of the one by that of the other.

    bench/scan/triage.py build/bench/scan_bench [--bytes 5000000000] [--rounds 5] [--scratch DIR]

The log is that of run.py (scan_bench log): iterations, NCCL, data loading, a failure in every thousandth line. The bare
signal scan is that of the catalogue's patterns for logs, by ours (LogScan) and by a bare hs_scan. Processor and wall time of
reading alone. A log in memory is best; a scratch on disk measures the page cache.
"""
import argparse
import json
import statistics
import subprocess
import sys
import tempfile


def run(*command):
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


def spread(values):
    return f"{min(values):.3f} / {statistics.median(values):.3f} / {max(values):.3f}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("binary")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--scratch", default="/dev/shm")
    parser.add_argument("--bytes", type=int, default=1 << 30)
    parser.add_argument("--strings", action="store_true", help="also beside the scan for 1,000 literal strings, by ours")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.scratch) as scratch:
        log, strings = f"{scratch}/train.log", f"{scratch}/strings.txt"
        with open(strings, "wb") as out:
            subprocess.run([options.binary, "strings", "1000"], check=True, stdout=out)
        subprocess.run([options.binary, "log", log, str(options.bytes), "1000", "0", "0", strings], check=True)
        kinds = ["triage", "ours", "bare"] + (["strings"] if options.strings else [])
        seconds = {kind: {"cpu": [], "seconds": []} for kind in kinds}
        for _ in range(options.rounds):
            for kind in kinds:
                took = run(options.binary, "ours", log, strings) if kind == "strings" else run(options.binary, kind, log)
                for unit in ("cpu", "seconds"):
                    seconds[kind][unit].append(took[unit])
                if kind == "triage":
                    print(f"triage: {took['bytes']} bytes, {took['lines']} lines, {took['matches']} steps reported, "
                          f"{took['signals']} classes, peak {took['peak_kib']} KiB", flush=True)
        print("minimum / median / maximum")
        for unit in ("cpu", "seconds"):
            for kind in kinds:
                print(f"{unit:8} {kind:8} {spread(seconds[kind][unit])} s")
            for kind in kinds[1:]:
                ratio = [a / b for a, b in zip(seconds[kind][unit], seconds["triage"][unit])]
                print(f"{unit:8} rate of triage by that of {kind:8} {spread(ratio)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

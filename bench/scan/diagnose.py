#!/usr/bin/env python3
"""Diagnoses a bundle with a large log, in turns with the scan of that log alone.

    bench/scan/diagnose.py build/bin/galen build/bench/scan_bench [--rounds 5] [--bytes 1073741824]

The bundle is an example whose log has a made one (scan_bench log) put before it. The diagnosis is
the whole command, with the start of its mesh and the loading of the knowledge; the scan is that of
the same log for the catalogue's patterns in one thread (scan_bench ours), reading included. Told are
wall time and processor time (user and system, all threads), and the peak memory of the diagnosis.
"""
import argparse
import json
import os
import pathlib
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]


def run(arguments):
    """Wall and processor seconds, and what the command printed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begun = time.monotonic()
    done = subprocess.run(arguments, capture_output=True, text=True)
    wall = time.monotonic() - begun
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 3):  # 3: no cause confirmed
        sys.exit(f"{arguments[0]}: {done.stderr}")
    return wall, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, done.stdout


def spread(values):
    return f"{statistics.median(values):.3f} ({min(values):.3f} to {max(values):.3f})"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("galen")
    parser.add_argument("scan_bench")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--bytes", type=int, default=1 << 30)
    parser.add_argument("--example", default="cublas-ecc")
    parser.add_argument("--scratch", default="/dev/shm")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.scratch) as scratch:
        bundle = pathlib.Path(scratch) / "bundle"
        shutil.copytree(ROOT / "docs" / "examples" / options.example, bundle)
        log = next((bundle / "logs").iterdir())
        own = log.read_bytes()
        strings = f"{scratch}/strings.txt"
        with open(strings, "wb") as out:
            subprocess.run([options.scan_bench, "strings", "1000"], check=True, stdout=out)
        subprocess.run([options.scan_bench, "log", log, str(options.bytes), "1000", "0", "0", strings], check=True)
        with open(log, "ab") as out:
            out.write(own)
        diagnose = [options.galen, "diagnose", "--bundle", str(bundle), "--json"]
        walls, cpus, scan_walls, scan_cpus = [], [], [], []
        run(diagnose)  # what is compiled and cached once, and the pages of the log
        for _ in range(options.rounds):
            wall, cpu, _ = run(diagnose)
            walls.append(wall)
            cpus.append(cpu)
            scan = json.loads(run([options.scan_bench, "ours", str(log)])[2])
            scan_walls.append(scan["seconds"])
            scan_cpus.append(scan["cpu"])
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        print(f"{options.bytes >> 20} MiB, {scan['lines']} lines, {options.rounds} rounds; median (min to max)")
        print(f"diagnosis, wall      {spread(walls)} s")
        print(f"scan alone, wall     {spread(scan_walls)} s")
        print(f"ratio                {spread([a / b for a, b in zip(walls, scan_walls)])}")
        print(f"diagnosis, processor {spread(cpus)} s")
        print(f"scan, processor      {spread(scan_cpus)} s")
        print(f"ratio                {spread([a / b for a, b in zip(cpus, scan_cpus)])}")
        print(f"peak memory of the larger, {peak} KiB")
    return 0


if __name__ == "__main__":
    os.environ.pop("GALEN_SERVER", None)
    sys.exit(main())

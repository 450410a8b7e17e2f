#!/usr/bin/env python3
"""build.py DIRECTORY [TARGET...]: runs ninja and shows how far it is and about how long the rest takes.

On a terminal that is one line, written over; elsewhere a line every 20 seconds. What fails is printed whole.
"""
import os
import subprocess
import sys
import time

TERMINAL = sys.stdout.isatty()
SECONDS_BETWEEN_LINES = 0.2 if TERMINAL else 20.0
COMPILES = ": Building CXX object"  # the steps that take the time


def span(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


def show(text: str) -> None:
    print(f"\r\033[K{text}" if TERMINAL else text, end="" if TERMINAL else "\n", flush=True)


def main() -> int:
    ninja = ["ninja", "-C", sys.argv[1], *sys.argv[2:]]
    environment = {**os.environ, "NINJA_STATUS": ": "}
    plan = subprocess.run([*ninja, "-n"], text=True, errors="replace", capture_output=True, env=environment, check=False)
    total = plan.stdout.count(COMPILES)
    start = shown = time.monotonic()
    done = 0
    with subprocess.Popen(ninja, text=True, errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env=environment) as run:
        for line in run.stdout:
            if not line.startswith(": "):
                if not line.startswith(("ninja: Entering", "ninja: no work")):
                    if TERMINAL:
                        show("")
                    print(line, end="", flush=True)
                continue
            done += line.startswith(COMPILES)
            now = time.monotonic()
            if now - shown < SECONDS_BETWEEN_LINES:
                continue
            shown = now
            rest = f", about {span((now - start) / done * (total - done))} to go" if 5 < done < total else ""
            show(f"build: {min(done, total)} of {total} files, {span(now - start)}{rest}")
    if TERMINAL:
        show("")
    if run.returncode == 0:
        print(f"build: done in {span(time.monotonic() - start)}", flush=True)
    return run.returncode


try:
    sys.exit(main())
except KeyboardInterrupt:
    sys.exit(130)

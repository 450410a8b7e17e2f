"""What the benchmarks of the node executor share: programs that are started, and what they take."""
import os
import re
import signal
import statistics
import subprocess
import time


class Program:
    """A program in the background; its standard error tells the port that it listens on."""

    def __init__(self, argv, log, **options):
        self.log = log
        with open(log, "wb") as errors:
            self.process = subprocess.Popen(argv, stderr=errors, **options)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def port(self, limit=60):
        """The port of a program of Galen's, once it listens."""
        end = time.monotonic() + limit
        while time.monotonic() < end:
            with open(self.log, encoding="utf-8", errors="replace") as text:
                found = re.search(r"\(port (\d+)\)", text.read())
            if found:
                return int(found.group(1))
            if self.process.poll() is not None:
                break
            time.sleep(0.05)
        with open(self.log, encoding="utf-8", errors="replace") as text:
            raise SystemExit(f"{self.process.args[0]} does not listen: {text.read()}")

    def cpu_seconds(self):
        """Processor time of all its threads, to the nanosecond (man 3 clock_getcpuclockid)."""
        return time.clock_gettime((~self.process.pid << 3) | 2)

    def memory(self):
        """KiB: resident (RSS), proportional share (PSS), private, anonymous."""
        values = {}
        with open(f"/proc/{self.process.pid}/smaps_rollup", encoding="ascii") as rollup:
            for line in rollup:
                words = line.split()
                if words[0].endswith(":") and len(words) == 3:
                    values[words[0][:-1]] = int(words[1])
        return {"rss": values["Rss"], "pss": values["Pss"],
                "private": values["Private_Clean"] + values["Private_Dirty"],
                "anonymous": values["Anonymous"]}

    def threads(self):
        return len(os.listdir(f"/proc/{self.process.pid}/task"))


def spread(values, form="{:.1f}"):
    """median (min to max)"""
    text = [form.format(value) for value in (statistics.median(values), min(values), max(values))]
    return f"{text[0]} ({text[1]} to {text[2]})"

#!/usr/bin/env python3
"""The idle node executor beside Debian's prometheus-node-exporter: memory, and processor time for an
equal number of samples.

Both run at the same time. The executor samples by itself every second; the exporter samples when it
is scraped, so it is scraped every second. Before counting, both get some seconds to settle.
"""
import argparse
import socket
import tempfile
import time
import urllib.request

from measure import Program, spread


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def one_run(arguments, folder):
    port = free_port()
    node = [f"{arguments.bin}/galen-node", "--listen=127.0.0.1:0",
            f"--knowledge={arguments.knowledge}"]
    exporter = [arguments.exporter, f"--web.listen-address=127.0.0.1:{port}"]
    with Program(node, f"{folder}/node.log") as galen, \
            Program(exporter, f"{folder}/exporter.log") as other:
        galen.port()
        url = f"http://127.0.0.1:{port}/metrics"
        connected = time.monotonic() + 30
        while True:
            try:
                samples = urllib.request.urlopen(url).read()
                break
            except OSError:
                if time.monotonic() > connected:
                    raise
                time.sleep(0.1)
        start = None
        for second in range(arguments.settle + arguments.seconds + 1):
            if second == arguments.settle:
                start = time.monotonic(), galen.cpu_seconds(), other.cpu_seconds()
            if second == arguments.settle + arguments.seconds:
                break
            next_second = time.monotonic() + 1
            samples = urllib.request.urlopen(url).read()
            time.sleep(max(0, next_second - time.monotonic()))
        wall = time.monotonic() - start[0]
        series = sum(1 for line in samples.splitlines() if not line.startswith(b"#"))
        return {"wall": wall, "galen_cpu": galen.cpu_seconds() - start[1],
                "other_cpu": other.cpu_seconds() - start[2], "galen": galen.memory(),
                "other": other.memory(), "threads": galen.threads(), "series": series}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", default="build/bin")
    parser.add_argument("--knowledge", default="knowledge")
    parser.add_argument("--exporter", default="prometheus-node-exporter")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--settle", type=int, default=10)
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    runs = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(arguments.runs):
            runs.append(one_run(arguments, folder))
            print(f"run {number + 1}: {runs[-1]}", flush=True)
    print(f"\n{arguments.runs} runs of {arguments.seconds} samples each; median (min to max)")
    print("| | galen-node | node-exporter | ratio |\n|---|---|---|---|")
    for kind in ("rss", "pss", "private", "anonymous"):
        print(f"| {kind}, MiB | {spread([r['galen'][kind] / 1024 for r in runs])} "
              f"| {spread([r['other'][kind] / 1024 for r in runs])} "
              f"| {spread([r['galen'][kind] / r['other'][kind] for r in runs], '{:.2f}')} |")
    per = [(r["galen_cpu"] * 1000 / arguments.seconds, r["other_cpu"] * 1000 / arguments.seconds)
           for r in runs]
    print(f"| processor time a sample, ms | {spread([g for g, _ in per], '{:.3f}')} "
          f"| {spread([o for _, o in per], '{:.3f}')} "
          f"| {spread([g / o for g, o in per], '{:.3f}')} |")


if __name__ == "__main__":
    main()

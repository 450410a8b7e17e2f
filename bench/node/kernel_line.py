#!/usr/bin/env python3
"""How long a line of the kernel log takes to be a finding at the execution agent, beside `dmesg -w`.

Writes lines to /dev/kmsg (so it needs root, and a machine whose kernel log may take them) with
galen-node, galen-execution, `galen watch` and `dmesg -w` running. A line's delay for `dmesg -w` ends
when its output is read; for Galen when the execution agent has the finding (received_at), and again
when `galen watch` has printed it.
"""
import argparse
import datetime
import json
import os
import random
import subprocess
import tempfile
import threading
import time

from measure import Program, spread


def follow(stream, seen, pick):
    """Notes when and with what each marked line came."""
    for line in iter(stream.readline, b""):
        now = time.time()
        marker = pick(line)
        if marker is not None:
            seen.setdefault(marker[0], (now, marker[1]))


def in_dmesg(line):
    return (line.split(b"bench-")[1].split()[0].decode(), None) if b"bench-" in line else None


def in_galen(line):
    event = json.loads(line)
    text = event.get("finding", {}).get("eventValue", {}).get("text", "")
    if "bench-" not in text:
        return None
    return text.split("bench-")[1].split()[0], event["receivedAt"]


def seconds_of(stamp):
    whole, _, fraction = stamp.rstrip("Z").partition(".")
    since = datetime.datetime.strptime(whole, "%Y-%m-%dT%H:%M:%S")
    return since.replace(tzinfo=datetime.timezone.utc).timestamp() + float("0." + (fraction or "0"))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", default="build/bin")
    parser.add_argument("--cli", default=None, help="the galen program, where not in --bin")
    parser.add_argument("--knowledge", default="knowledge")
    parser.add_argument("--lines", type=int, default=50)
    arguments = parser.parse_args()
    arguments.cli = arguments.cli or f"{arguments.bin}/galen"
    run = f"{os.getpid()}"
    with tempfile.TemporaryDirectory() as folder, \
            Program([f"{arguments.bin}/galen-node", "--listen=127.0.0.1:0", "--host=node-1",
                     f"--knowledge={arguments.knowledge}"], f"{folder}/node.log") as node, \
            Program([f"{arguments.bin}/galen-execution", "--listen=127.0.0.1:0",
                     f"--knowledge={arguments.knowledge}",
                     f"--nodes=node-1=127.0.0.1:{node.port()}"], f"{folder}/execution.log") as agent, \
            Program([arguments.cli, "watch", "--json", f"--server=127.0.0.1:{agent.port()}"],
                    f"{folder}/watch.log", stdout=subprocess.PIPE) as watch, \
            Program(["dmesg", "-w"], f"{folder}/dmesg.log", stdout=subprocess.PIPE) as dmesg:
        by_dmesg, by_galen = {}, {}
        threading.Thread(target=follow, args=(dmesg.process.stdout, by_dmesg, in_dmesg),
                         daemon=True).start()
        threading.Thread(target=follow, args=(watch.process.stdout, by_galen, in_galen),
                         daemon=True).start()
        kmsg = os.open("/dev/kmsg", os.O_WRONLY)

        def say(marker):
            text = f"<3>NVRM: Xid (PCI:0000:b3:00): 79, pid=1, GPU has fallen off, bench-{marker} "
            begin = time.time()
            os.write(kmsg, text.encode())
            return begin

        # Until everything is connected, lines go unheard.
        for attempt in range(100):
            say(f"{run}-try{attempt}")
            time.sleep(0.6)
            if any("-try" in marker for marker in by_galen) and by_dmesg:
                break
        else:
            raise SystemExit("no line came through")
        began = {}
        for number in range(arguments.lines):
            # The kernel takes ten lines in five seconds from a program (printk_devkmsg).
            time.sleep(random.uniform(0.55, 0.75))
            marker = f"{run}-{number}"
            began[marker] = say(marker)
        end = time.monotonic() + 10
        while time.monotonic() < end and not (began.keys() <= by_galen.keys()
                                              and began.keys() <= by_dmesg.keys()):
            time.sleep(0.05)
    both = [m for m in began if m in by_dmesg and m in by_galen]
    dmesg_ms = [(by_dmesg[m][0] - began[m]) * 1000 for m in both]
    agent_ms = [(seconds_of(by_galen[m][1]) - began[m]) * 1000 for m in both]
    shown_ms = [(by_galen[m][0] - began[m]) * 1000 for m in both]
    ratios = [a / d for a, d in zip(agent_ms, dmesg_ms)]
    print(f"{len(both)} of {arguments.lines} lines seen by both; milliseconds, median (min to max)")
    print(f"dmesg -w                        {spread(dmesg_ms, '{:.2f}')}")
    print(f"finding at the execution agent  {spread(agent_ms, '{:.2f}')}")
    print(f"printed by galen watch          {spread(shown_ms, '{:.2f}')}")
    print(f"execution agent : dmesg -w, line by line  {spread(ratios, '{:.2f}')}; "
          f"{sum(r <= 2 for r in ratios)} of {len(ratios)} lines within twice")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Makes labelled lines of logs whose lines name the place in the source that printed them: that place is the label, and is cut off
the line with all before it. So the label is the program's own word, and owes nothing to any miner.

    bench/templates/label.py --out DIR NAME=LOG... [NAME=LOG...]

A place that only prints what others give it (PRINTERS) labels nothing, and its lines are left out. Writes DIR/NAME.tsv, a line "LABEL<tab>LINE" each, from the logs of that name. Known are glog and klog ("file.cc:12] text"), zap's
JSON ("caller"), DeepSpeed ("[file.py:12:function] text"), and "file.py:12] text" behind any beginning. --most lines of one place
are taken at most, the first ones, so that a place that prints a thousand times is not all that is counted.
"""
import argparse
import json
import os
import re
import sys

PLACES = [
    re.compile(r"^\[?\d[^\]]*\] \[[A-Z]+\] (?:\[Rank \d+\] )?\[([\w.]+\.py:\d+):\w+\] ?(.*)$"),
    re.compile(r"^[IWEFD]\d{4} [\d:.]+ +\d+ ([\w./-]+\.(?:cc|h|c|go):\d+)\] +(.*)$"),
    re.compile(r"^\d{4}-\d\d-\d\d \S+ [A-Z]+ \S+ ([\w.]+\.py:\d+)\] (.*)$"),
]
# DeepSpeed's lists of settings, its log of one rank and of memory use; kubectl's headers and bodies of requests and answers.
PRINTERS = re.compile(r":print\]|:log_dist\]|:see_memory_usage\]|\bround_trippers\.go:\d+\] +[\w-]+:|\bround_trippers\.go:463\]|request\.go:\d+\]|\bhelper\.go")


def labelled(line):
    """The place and the text; None when the line names no place, or says nothing."""
    line = line.rstrip("\r\n").replace("\t", " ")
    if line.startswith('{"level"'):
        try:
            said = json.loads(line)
        except ValueError:
            return None
        rest = {key: value for key, value in said.items() if key not in ("level", "ts", "caller", "msg")}
        text = said["msg"] + (" " + json.dumps(rest) if rest else "")
        return said["caller"], text
    # A launcher's name of the writer.
    if PRINTERS.search(line):
        return None
    line = re.sub(r"^(?:[\w-]+: |\[?rank\d+\]?: ?)", "", line)
    for place in PLACES:
        found = place.match(line)
        if found:
            return (found.group(1), found.group(2)) if found.group(2).strip() else None
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", required=True)
    parser.add_argument("--most", type=int, default=200)
    parser.add_argument("--lines", type=int, default=2000, help="of a system, the first ones")
    parser.add_argument("logs", nargs="+", metavar="NAME=LOG")
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    sets, counts = {}, {}
    for log in options.logs:
        name, path = log.split("=", 1)
        lines = sets.setdefault(name, [])
        with open(path, encoding="utf-8", errors="replace") as file:
            for line in file:
                found = labelled(line)
                if found is None or len(lines) == options.lines:
                    continue
                counts[name, found[0]] = counts.get((name, found[0]), 0) + 1
                if counts[name, found[0]] <= options.most:
                    lines.append("\t".join(found))
    for name, lines in sets.items():
        with open(f"{options.out}/{name}.tsv", "w", encoding="utf-8") as file:
            file.writelines(line + "\n" for line in lines)
        print(f"{name}: {len(lines)} lines of {len({line.split(chr(9))[0] for line in lines})} places")
    return 0


if __name__ == "__main__":
    sys.exit(main())

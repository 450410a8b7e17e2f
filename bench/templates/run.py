#!/usr/bin/env python3
"""Our template miner in turns with Drain3, on the same labelled lines: how well they group them, and how fast.

    bench/templates/run.py build/bench/templates_bench [--drain3 PYTHON] [--loghub DIR] [--rounds 5] [FILE.tsv...]

FILE.tsv: "LABEL<tab>LINE" (label.py makes them); those of bench/templates/lines where none is named. --loghub: a checkout of
logpai/loghub, of which every *_2k.log_structured.csv is read (Content, EventId). --drain3: a Python that has the package drain3
(python3 -m venv V && V/bin/pip install drain3). Drain3 groups with its defaults and masks lines by the expressions of its own example
(drain3.ini: IDs, addresses, hexadecimal and decimal numbers), and once more with ours in its words ("same masks").

GA, grouping accuracy: the share of lines whose group has all lines of their label and no others. FGA: the harmonic mean of the
share of the groups that are right and the share of labels that are found so (Khan et al., ICSE 2022; Jiang et al., ISSTA 2024).
"""
import argparse
import collections
import csv
import glob
import json
import os
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


def accuracy(labels, groups):
    """GA and FGA."""
    of_label, of_group = collections.defaultdict(list), collections.defaultdict(list)
    for line, (label, group) in enumerate(zip(labels, groups)):
        of_label[label].append(line)
        of_group[group].append(line)
    right = [lines for lines in of_group.values() if of_label[labels[lines[0]]] == lines]
    precision, recall = len(right) / len(of_group), len(right) / len(of_label)
    return sum(map(len, right)) / len(labels), 2 * precision * recall / (precision + recall) if right else 0.0


def read(path):
    """Labels and lines."""
    with open(path, encoding="utf-8", errors="replace", newline="\n") as file:
        parted = [line.rstrip("\n").split("\t", 1) for line in file]
    return [label for label, _ in parted], [line for _, line in parted]


def loghub(directory, scratch):
    """Files such as ours of those of loghub."""
    for path in sorted(glob.glob(f"{directory}/**/*_2k.log_structured.csv", recursive=True)):
        name = os.path.basename(path).split("_2k", 1)[0]
        with open(path, encoding="utf-8", errors="replace") as file, open(f"{scratch}/{name}.tsv", "w", encoding="utf-8") as out:
            for row in csv.DictReader(file):
                out.write(row["EventId"] + "\t" + " ".join(row["Content"].split("\n")) + "\n")
        yield f"{scratch}/{name}.tsv"


def spread(values, form="{:.0f}"):
    return " / ".join(form.format(value) for value in (min(values), statistics.median(values), max(values)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("binary")
    parser.add_argument("files", nargs="*")
    parser.add_argument("--drain3", default=sys.executable)
    parser.add_argument("--loghub")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.3, help="of each of our turns")
    options = parser.parse_intermixed_args()
    peer = subprocess.run([options.drain3, "-c", "import drain3"], capture_output=True, check=False).returncode == 0
    if not peer:
        print(f"SKIPPED: {options.drain3} has no package drain3: the lines are grouped by ours alone, and nothing is compared "
              "(python3 -m venv V && V/bin/pip install drain3, then --drain3 V/bin/python)")
    with tempfile.TemporaryDirectory() as scratch:
        files = options.files or sorted(glob.glob(f"{HERE}/lines/*.tsv"))
        files += loghub(options.loghub, scratch) if options.loghub else []
        kinds = ["example", "same"] if peer else []
        ratios = {kind: [] for kind in kinds}
        for path in files:
            labels, _ = read(path)
            name = os.path.basename(path).removesuffix(".tsv")
            groups = subprocess.run([options.binary, "groups", path], check=True, capture_output=True, text=True).stdout.split()
            rows = [("ours", accuracy(labels, groups), len(set(groups)))]
            rates = {kind: [] for kind in ["ours", *kinds]}
            for turn in range(options.rounds):
                took = json.loads(subprocess.run([options.binary, "time", path, str(options.seconds)], check=True,
                                                 capture_output=True).stdout)
                rates["ours"].append(took["lines"] / took["seconds"])
                for kind in kinds:
                    took = json.loads(subprocess.run([options.drain3, "-B", f"{HERE}/drain3_lines.py", kind, path], check=True,
                                                     capture_output=True).stdout)
                    rates[kind].append(took["lines"] / took["seconds"])
                    ratios[kind].append(rates["ours"][-1] / rates[kind][-1])
                    if turn == 0:
                        rows.append((f"drain3, {kind}", accuracy(labels, took["groups"]), len(set(took["groups"]))))
            print(f"{name}: {len(labels)} lines, {len(set(labels))} labels")
            for (kind, (ga, fga), count), of_kind in zip(rows, rates):
                ratio = "" if of_kind == "ours" else "  ours by it " + spread(
                    [a / b for a, b in zip(rates["ours"], rates[of_kind])], "{:.1f}")
                print(f"  {kind:16} GA {ga:.3f}  FGA {fga:.3f}  {count:5} groups  {spread(rates[of_kind])} lines/s{ratio}", flush=True)
        for kind in kinds:
            print(f"all, ours by drain3, {kind}: {spread(ratios[kind], '{:.1f}')}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

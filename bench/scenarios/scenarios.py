#!/usr/bin/env python3
"""How often a diagnosis finds what a made-up job suffers from, and whom it blames.

  scenarios.py --bin build/bin --maker build/tests/scenario_maker [--seeds 20] [--studies a,b] [--variant missing]
               [--prometheus] [--jobs 1] [--keep DIR]

Each seed of each study is made (tests/scenarios), diagnosed from its one sentence by `galen diagnose`, and held against its truth.
--prometheus: the numbers are read through a Prometheus of its own from a TSDB, and the bundle has none. Prints a table; the exit
code says nothing about how good the answers are.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import shutil
import subprocess
import sys
import tempfile

STUDIES = ["retransmits", "heartbeat", "hang", "dead_node", "restore_leak", "load_balance", "thermal", "ecc", "host_memory",
           "cpu_contention", "storage", "node_slow", "fine"]


# What a next step says of the series that a scene lacks.
WANTED = {"rdma_retransmissions": "RDMA counters", "gpu_power": "power", "runnable_tasks": "run queue", "load_balance_loss": "load-balance loss",
          "gpu_clock": "clocks", "gpu_temperature": "temperatures", "gpu_ecc_correctable": "ECC counters", "host_memory_available": "memory of each host",
          "io_pressure": "IO pressure", "data_time": "waits for data", "throughput": "throughput"}


def nodes_of(report):
    """Whom the report blames: the devices of its causes."""
    named = set()
    for cause in [report.get("primaryCause") or report.get("presumedCause", {})] + report.get("otherCauses", []):
        named |= {device["node"] for device in cause.get("devices", []) if device.get("node")}
    return named


def diagnose(args, study, seed):
    """One scene: its truth and what was said of it."""
    folder = tempfile.mkdtemp(prefix="scene-", dir=args.tmp)
    try:
        make = [args.maker, folder, "--study", study, "--seed", str(seed), "--format", "bundle,tsdb" if args.prometheus else "bundle"]
        if args.variant:
            make += ["--variant", args.variant]
        made = subprocess.run(make, capture_output=True, text=True, timeout=300)
        if made.returncode != 0:
            raise RuntimeError(f"{study} {seed}: scenario_maker: {made.stderr.strip()}")
        with open(os.path.join(folder, "truth.json"), encoding="utf-8") as file:
            truth = json.load(file)
        bundle = os.path.join(folder, "bundle")
        ask = [os.path.join(args.bin, "galen"), "diagnose", "--bundle", bundle, "--json"]
        if args.prometheus:
            shutil.rmtree(os.path.join(bundle, "telemetry"))
            ask += ["--prometheus", os.path.join(folder, "tsdb")]
        asked = subprocess.run(ask, capture_output=True, text=True, timeout=300)
        if not asked.stdout:
            raise RuntimeError(f"{study} {seed}: galen: rc {asked.returncode}: {asked.stderr.strip()[-500:]}")
        if args.keep:
            os.makedirs(args.keep, exist_ok=True)
            with open(os.path.join(args.keep, f"{study}-{seed}{'-' + args.variant if args.variant else ''}.json"), "w", encoding="utf-8") as file:
                json.dump({"truth": truth, "answer": json.loads(asked.stdout)}, file)
        return study, seed, truth, json.loads(asked.stdout)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Tally:
    def __init__(self):
        self.count = collections.Counter()

    def add(self, truth, answer):
        report = answer.get("report", {})
        told = truth["truth"]
        label = report.get("primaryCause", {}).get("label", "")
        others = [cause["label"] for cause in report.get("otherCauses", [])]
        presumed = report.get("presumedCause", {}).get("label", "")
        right = (label or presumed) in told["labels"] if told["labels"] else not label and not presumed
        guilty, named = set(told["guilty_nodes"]), nodes_of(report)
        everybody = set(truth["nodes"])
        # A cause of the whole job names all of its machines, or none: nobody is blamed.
        if 2 * len(named) > len(everybody):
            named = set()
        c = self.count
        c["scenes"] += 1
        c["right"] += right
        c["confirmed"] += right and bool(label)
        c["wrong"] += bool(label) and not right
        c["none"] += not label and not presumed and bool(told["labels"])
        c["also"] += any(other in told["labels"] for other in others) and not right
        c["tp"] += len(guilty & named)
        c["fp"] += len(named - guilty)
        c["fn"] += len(guilty - named)
        system = report.get("system", {}).get("state", "")
        c["clean"] += system == "CLEAN"
        c["fine"] += bool(told["system_fine"])
        # Of a job whose machines, network and storage are well: one of them blamed all the same.
        c["convicted"] += bool(told["system_fine"]) and (bool(named) or label.split(".")[0] in ("GPU", "INTERCONNECT_NETWORKING", "SYSTEM_SOFTWARE", "OTHER"))
        c["asked"] += bool(told["ask"]) and any(WANTED.get(told["ask"], "?") in step for step in report.get("nextSteps", []))
        return right, label, presumed, others, guilty, named, system


def ratio(part, whole):
    return f"{part / whole:.3f}" if whole else "-"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--maker", required=True)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--studies", default=",".join(STUDIES))
    parser.add_argument("--variant", default="")
    parser.add_argument("--prometheus", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--keep", default="")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--tmp", default=os.environ.get("TMPDIR", "/tmp"))
    args = parser.parse_args()
    work = [(study, seed) for study in args.studies.split(",") for seed in range(args.first, args.first + args.seeds)]
    tallies = collections.defaultdict(Tally)
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for study, seed, truth, answer in pool.map(lambda each: diagnose(args, *each), work):
            right, label, presumed, others, guilty, named, system = tallies[study].add(truth, answer)
            tallies["all"].add(truth, answer)
            if args.verbose and (not right or guilty != named):
                print(f"  {study} {seed}: {'right' if right else 'NOT'} {label or ('presumed ' + presumed if presumed else 'no cause')} {others} missed {sorted(guilty - named)} "
                      f"blamed {sorted(named - guilty)[:4]} ({len(named - guilty)}) system {system}", file=sys.stderr, flush=True)
    print(f"{'study':<16}{'scenes':>7}{'right':>7}{'confirmed':>11}{'wrong':>7}{'none':>6}{'precision':>11}{'recall':>8}{'clean':>7}{'convicted':>11}{'asked':>7}")
    for study in [*dict.fromkeys(study for study, _ in work), "all"]:
        c = tallies[study].count
        print(f"{study:<16}{c['scenes']:>7}{c['right']:>7}{c['confirmed']:>11}{c['wrong']:>7}{c['none']:>6}{ratio(c['tp'], c['tp'] + c['fp']):>11}"
              f"{ratio(c['tp'], c['tp'] + c['fn']):>8}{c['clean']:>7}{c['convicted']:>7}/{c['fine']:<3}{c['asked']:>7}")


if __name__ == "__main__":
    main()

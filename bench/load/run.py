#!/usr/bin/env python3
"""What a mesh of separate processes bears, in turns so that other load meets all alike.

    GALEN_BIN=build/bin bench/load/run.py fairness [--rounds 5] [--rate 1] [--times 100] [--flags=ORCHESTRATOR-FLAGS]
    GALEN_BIN=build/bin bench/load/run.py replicas [--agent planning] [--rounds 5]

fairness: one tenant asks for --rate diagnoses a second, alone and beside another tenant that asks for --times as many.
replicas: diagnoses a second with one process of an agent and with two, of one thread each; the second process is there
in both, so that nothing else differs. --cpu gives each of them that share of a core (a control group, as of a pod with a
limit; needs root), so that the agent is what limits the mesh also where all of it is on few cores.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, f"{ROOT}/tests/e2e")
import galen  # noqa: E402

LOAD = f"{os.path.dirname(os.path.abspath(galen.BIN))}/bench/load_bench"


def start(server, example, tenant, rate, seconds, workers, watch):
    arguments = [LOAD, server, f"{galen.EXAMPLES}/{example}", tenant, str(rate), str(seconds), str(workers)]
    return subprocess.Popen(arguments + (["watch"] if watch else []), stdout=subprocess.PIPE, text=True)


def finish(process):
    out, _ = process.communicate()
    if process.returncode != 0:
        raise SystemExit(f"load_bench: exit code {process.returncode}")
    return json.loads(out)


def quantile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def spread(values):
    return f"{min(values):.2f} / {statistics.median(values):.2f} / {max(values):.2f}"


def drain(server, example):
    """Waits until the flood's own are over: one of its diagnoses that is asked for now comes after them."""
    while True:
        got = finish(start(server, example, "flood", 0, 0.001, 1, True))
        if got["made"] == 1:
            return
        time.sleep(0.2)


def fairness(arguments):
    with galen.Mesh(orchestrator_arguments=arguments.flags) as mesh:
        server = mesh.orchestrator.address
        finish(start(server, arguments.example, "quiet", arguments.rate, 3, 8, True))  # warm
        rows = {"alone": [], "beside": []}
        ratios = {0.5: [], 0.9: []}
        flooded = {"made": 0, "refused": 0}
        for i in range(arguments.rounds):
            got = {}
            for kind in ("alone", "beside") if i % 2 == 0 else ("beside", "alone"):
                flood = None
                if kind == "beside":
                    flood = start(server, arguments.example, "flood", arguments.rate * arguments.times,
                                  arguments.seconds + 2, 16, False)
                    time.sleep(1)
                quiet = finish(start(server, arguments.example, "quiet", arguments.rate, arguments.seconds, 8, True))
                if quiet["failed"] or not quiet["seconds"]:
                    raise SystemExit(f"quiet tenant: {quiet}")
                got[kind] = quiet["seconds"]
                rows[kind] += quiet["seconds"]
                if flood:
                    result = finish(flood)
                    flooded = {key: flooded[key] + result[key] for key in flooded}
                    drain(server, arguments.example)
            for share in ratios:
                ratios[share].append(quantile(got["beside"], share) / quantile(got["alone"], share))
        print(f"{arguments.rounds} rounds of {arguments.seconds} s, {arguments.example}, {arguments.rate} a second "
              f"beside {arguments.rate * arguments.times} a second; the flood had {flooded['made']} taken, "
              f"{flooded['refused']} refused; load {os.getloadavg()[0]:.1f}")
        for kind, values in rows.items():
            print(f"{kind:7} {len(values)} diagnoses, p50 {quantile(values, 0.5):.3f} s, p90 {quantile(values, 0.9):.3f} s")
        for share, values in ratios.items():
            print(f"beside by alone, p{share * 100:.0f} of a round: min / median / max {spread(values)}")


class Limited:
    """Control groups with a share of a core each, for processes of this run."""

    ROOTS = ("/sys/fs/cgroup/cpu", "/sys/fs/cgroup")  # version 1, version 2

    def __init__(self):
        self.groups = []

    def limit(self, pid, share):
        root = next(root for root in self.ROOTS if os.path.exists(f"{root}/cgroup.procs"))
        group = f"{root}/galen-load-{os.getpid()}-{len(self.groups)}"
        os.mkdir(group)
        self.groups.append(group)
        quota = int(share * 20000)  # of periods of 20 ms
        if os.path.exists(f"{group}/cpu.cfs_quota_us"):
            settings = {"cpu.cfs_period_us": "20000", "cpu.cfs_quota_us": str(quota)}
        else:
            settings = {"cpu.max": f"{quota} 20000"}
        for name, value in {**settings, "cgroup.procs": str(pid)}.items():
            with open(f"{group}/{name}", "w", encoding="utf-8") as file:
                file.write(value)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for group in self.groups:
            try:
                os.rmdir(group)
            except OSError as error:
                print(f"{group}: {error}", file=sys.stderr)


class Both:
    def __init__(self, processes):
        self.address = ",".join(process.address for process in processes)


def replicas(arguments):
    with Limited() as limited, galen.Mesh() as mesh:
        knowledge = f"--knowledge={ROOT}/knowledge"
        agent = arguments.agent
        mesh.agents[agent].stop()
        flags = [knowledge, "--threads=1", *arguments.flags]
        processes = [mesh.start(f"galen-{agent}", *flags) for _ in range(2)]
        if arguments.cpu:
            for process in processes:
                limited.limit(process.process.pid, arguments.cpu)
        servers = {}
        for count in (1, 2):
            mesh.agents[agent] = Both(processes[:count])
            mesh.store = f"{mesh.scratch.name}/galen{count}.db"
            servers[count] = mesh.start_orchestrator().address
        rates, ratios = {1: [], 2: []}, []
        for i in range(arguments.rounds + 1):
            for count in (1, 2) if i % 2 == 0 else (2, 1):
                got = finish(start(servers[count], arguments.example, "t", 0, arguments.seconds, 16, True))
                rates[count].append(len(got["seconds"]) / got["took"])
            if i == 0:  # warm
                rates = {1: [], 2: []}
                continue
            ratios.append(rates[2][-1] / rates[1][-1])
        for count, values in rates.items():
            print(f"{count} of {agent}: diagnoses a second, min / median / max {spread(values)}")
        print(f"{arguments.cpu or 'no'} limit of cores each; two by one: {spread(ratios)}; load {os.getloadavg()[0]:.1f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["fairness", "replicas"])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--rate", type=float, default=1)
    parser.add_argument("--times", type=float, default=100)
    parser.add_argument("--example", default="cublas-ecc")
    parser.add_argument("--agent", default="planning")
    parser.add_argument("--cpu", type=float, default=0)
    parser.add_argument("--flags", default="", type=str.split, help="of the orchestrator (fairness) or of the agent (replicas)")
    arguments = parser.parse_args()
    {"fairness": fairness, "replicas": replicas}[arguments.what](arguments)


if __name__ == "__main__":
    main()

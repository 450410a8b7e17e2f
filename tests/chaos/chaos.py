#!/usr/bin/env python3
"""Runs the mesh as real processes on a real store, asks it for many diagnoses at once, and meanwhile kills, stops and
misleads what a seed says. Afterwards every event log is held against the promises, and every report against that of an
undisturbed run. Prints a verdict with the seed; exit code 0: all promises were kept; 77: this machine does not
permit what was asked for."""
import argparse
import faulthandler
import functools
import os
import random
import shutil
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "e2e"))
import faults  # noqa: E402
import galen  # noqa: E402
import sandbox  # noqa: E402
import stores  # noqa: E402
import tickets  # noqa: E402
import verdict  # noqa: E402
import wire  # noqa: E402
from load import Load  # noqa: E402
from mesh import Mesh  # noqa: E402

UNREACHABLE = 4  # how `galen` ends when a service did not answer, or said UNAVAILABLE
DISK_MB = 48


def quantile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))] if values else 0


def set_up(arguments):
    """The mesh, and what is to befall it beside kills and freezes."""
    others = []
    store = disk = wires = None
    if arguments.full_disk:
        disk = stores.Disk(DISK_MB)
        store = functools.partial(stores.RedisOnDisk, disk)
        others.append(functools.partial(faults.FullDisk, disk=disk))
    if arguments.sqlite:
        store = functools.partial(stores.SqliteFile, disk.path if disk else None)
    if arguments.sentinel:
        store = stores.Sentinels
    if arguments.netem:
        wires = wire.Wires(arguments.seed)
        others.append(functools.partial(faults.Wires, cuts=arguments.partitions))
    elif arguments.partitions:
        others.append(faults.Partitions)
    if arguments.clocks:
        others.append(faults.Clocks)
    systems = tickets.TicketSystems(arguments.seed) if arguments.tickets else None
    mesh = Mesh(store, arguments.partitions, wires, arguments.clocks,
                liar=arguments.seed if arguments.lying_node else None, tickets=systems)
    return mesh, others, disk, systems


def first(mesh, seed, i):
    """A diagnosis before anything goes wrong."""
    diagnosis, _ = galen.diagnose("cublas-ecc", "--server", mesh.orchestrators[0].address, *mesh.client, "--request-id",
                                  f"early-{seed}-{i}")
    return diagnosis


def run(arguments):
    expected = verdict.expected_reports()
    mesh, others, disk, systems = set_up(arguments)
    early, due, dead = set(), [], []
    try:
        if systems:
            early = set(systems.await_first(functools.partial(first, mesh, arguments.seed)))
            systems.failing = True
        load = Load(mesh, arguments.seed, arguments.diagnoses, arguments.clients, arguments.lying_node)
        monkey = faults.Monkey(mesh, load, arguments.seed, arguments.kills, arguments.pause, others)
        begin = time.monotonic()
        for thread in load.threads:
            thread.start()

        ending = False

        def going_on():
            if not arguments.quiet and sys.stderr.isatty():
                print(f"\r{len(load.answers)} of {arguments.diagnoses} diagnoses, {sum(monkey.done.values())} faults",
                      end="", file=sys.stderr, flush=True)
            if hasattr(mesh.store, "revive"):
                mesh.store.revive()
            return any(thread.is_alive() for thread in load.threads + (monkey.threads if ending else []))

        monkey.work(going_on)
        ending = True
        while going_on():
            time.sleep(0.2)
        going_on()
        took = time.monotonic() - begin
        logs = verdict.read_logs(mesh.store.url)
        if systems:
            due = systems.await_rest({log["name"] for log in logs} - early, mesh.store.url, going_on)
            dead = systems.listed(mesh.store.url, "dead")
    finally:
        mesh.stop()
        if disk:
            disk.close()
        if systems:
            systems.stop()

    names = {log["name"] for log in logs}
    logs = [log for log in logs if log["name"] not in early]
    broken = verdict.broken_promises(expected, load, logs)
    if systems:
        broken += tickets.broken_promises(names, early, systems.counts(), due, dead)
    if arguments.full_disk:
        if not load.codes[UNREACHABLE]:
            broken.append("the full disk refused nobody")
        broken += [f"{n} clients ended with {code}, not with {UNREACHABLE} (UNAVAILABLE)"
                   for code, n in load.codes.items() if code != UNREACHABLE]
    report(arguments, load, monkey, logs, took)
    if systems:
        count = ", ".join(f"{len(found)} in {system}" for system, found in systems.counts().items())
        befell = ", ".join(f"{n} {fate}" for fate, n in systems.befell.items())
        print(f"tickets: {count}; {systems.asked} requests carried out; befell: {befell}")
    for text in broken[:20]:
        print(f"BROKEN: {text}")
    if broken and not arguments.quiet:
        print("\n".join(monkey.log))
    print(f"verdict: {'all promises kept' if not broken else f'{len(broken)} broken'} (seed {arguments.seed})")
    return 1 if broken else 0


def report(arguments, load, monkey, logs, took):
    def roles(fault):
        return ", ".join(f"{role} {n}" for (done, role), n in sorted(monkey.done.items()) if done == fault)

    others = "".join(f", {monkey.of(other.fault)} of {other.fault}" for other in monkey.others)
    print(f"seed {arguments.seed}: {len(load.answers)} diagnoses in {took:.1f} s, asked {load.asked} times; "
          f"{monkey.of('kill')} kills, {monkey.of('freeze')} freezes{others}")
    print(f"kills:   {roles('kill')}")
    print(f"freezes: {roles('freeze')}")
    wires = monkey.mesh.wires
    if wires:
        print(f"packets: {wires.carried} carried, {wires.lost} lost")
    if arguments.sentinel:
        print(f"failovers: {monkey.mesh.store.failovers}")
    if load.codes:
        print("clients without an answer, by exit code: " +
              ", ".join(f"{code}: {n}" for code, n in sorted(load.codes.items(), key=str)))
    print("seconds to an answer, p50 / p90 / p99 / max: " +
          " / ".join(f"{quantile(load.seconds, share):.2f}" for share in (0.5, 0.9, 0.99, 1)))
    print(f"calls that failed and were tried again: {sum(log['calls_failed'] for log in logs)}, "
          f"events: {sum(log['events'] for log in logs)}")
    if monkey.of("kill") < arguments.kills:
        print(f"note: the load ended after {monkey.of('kill')} of {arguments.kills} kills; give more --diagnoses or "
              "less --pause")


def main():
    faulthandler.register(signal.SIGUSR1)  # says where every thread is
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--diagnoses", type=int, default=200)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--clients", type=int, default=8, help="that ask at the same time")
    parser.add_argument("--pause", type=float, default=0.3, help="mean seconds between two faults")
    parser.add_argument("--partitions", action="store_true", help="also cut what one process says to another")
    parser.add_argument("--netem", action="store_true",
                        help="each program in a network namespace of its own; packets are lost and delayed")
    parser.add_argument("--clocks", action="store_true", help="also set the clocks of single programs")
    parser.add_argument("--lying-node", action="store_true", help="a third node answers nonsense")
    parser.add_argument("--tickets", action="store_true",
                        help="two gateways tell ticket systems that fail what was concluded")
    parser.add_argument("--full-disk", action="store_true", help="the store's disk runs full for a while")
    parser.add_argument("--sqlite", action="store_true", help="the store is an SQLite file")
    parser.add_argument("--sentinel", action="store_true",
                        help="the store is a Redis with a replica and sentinels, whose master is killed")
    parser.add_argument("--quiet", action="store_true", help="no progress, no list of faults")
    arguments = parser.parse_args()
    if arguments.sqlite + arguments.sentinel + arguments.netem > 1:
        parser.error("--sqlite, --sentinel, --netem: one of them; a file and the sentinels are of one machine")
    if arguments.sentinel and (arguments.full_disk or arguments.clocks):
        parser.error("--sentinel has disks and clocks of its own")
    if arguments.lying_node and arguments.netem:
        parser.error("--lying-node has no machine of its own")
    if arguments.tickets and (arguments.netem or arguments.clocks):
        parser.error("--tickets: their systems are on this machine and keep its time")
    if arguments.seed is None:
        arguments.seed = random.SystemRandom().randrange(1 << 31)
        sys.argv.append(f"--seed={arguments.seed}")
    if arguments.netem or arguments.full_disk:
        for tool in ("unshare", "nsenter", "ip"):
            if shutil.which(tool) is None:
                sandbox.skip(f"no {tool} here (apt: util-linux, iproute2)")
        if arguments.netem and not os.access(wire.TUN, os.R_OK | os.W_OK):
            sandbox.skip(f"no {wire.TUN} here, which carries the packets")
        sandbox.enter()
    sys.exit(run(arguments))


if __name__ == "__main__":
    main()

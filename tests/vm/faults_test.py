"""Two machines in QEMU with RDMA in software: faults are put into them, and the mesh outside has to find each one.

The node executors run in the guests; the mesh reaches them through a forwarded port of the loopback interface. Each
fault is undone and the check that found it run again, but for what a running kernel never forgets."""
import collections
import functools
import json
import os
import re
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "e2e")]
import clock  # noqa: E402
import galen  # noqa: E402
import guest  # noqa: E402

SKIP = 77  # as CTest is told
LATE_SECONDS = 240
EMULATORS = 3  # that may crash under one test
HEALTHY_JOB = {"shm": 256, "memlock": "unlimited", "NCCL_IB_GID_INDEX": "1", "NCCL_IB_HCA": "rxe0", "MASTER_PORT": "29500"}

# What is found by which check, and the guest's own words for it: a command (or what runs one), and what its output
# must hold.
Fault = collections.namedtuple("Fault", "name node inject undo check finding holds witness shows")


def job(machine, **changes):
    """(Re)starts what stands for the job."""
    words = {**HEALTHY_JOB, **changes}
    shm, memlock = words.pop("shm"), words.pop("memlock")
    machine.run(f"/etc/job {shm} {memlock} " + " ".join(f"{name}={value}" for name, value in words.items()))


def plug(machine, up):
    machine.monitor("set_link", name="fabric-nic", up=up)
    machine.wait(f"[ \"$(cat /sys/class/net/eth1/carrier)\" = {int(up)} ]")


def shift_clock(machine, seconds):
    """Sets the machine's clock to the right time plus some seconds. Its date knows whole ones only."""
    now = time.time()
    time.sleep(1 - now % 1)
    machine.run(f"date -s @{int(now) + 1 + seconds}")
    # The watcher of the clock takes new measurements.
    machine.wait(f"chronyc -c tracking | awk -F, '{{ d = $5 < 0 ? -$5 : $5; "
                 f"exit !($14 == \"Normal\" && (d > 100) == {int(seconds > 0)}) }}'")


def lossy(machine):
    """A fabric that loses packets on their way to the machine, and traffic to lose."""
    machine.peer.run("/usr/bin/tc qdisc add dev eth1 root netem loss 5%")
    machine.run("ib_write_bw -d rxe0 -x 1 -F -s 4096 -D 600 >/run/traffic.log 2>&1 & echo $! >/run/traffic")
    machine.wait("/usr/bin/ss -ltn | grep -q :18515")
    machine.peer.run(f"ib_write_bw -d rxe0 -x 1 -F -s 4096 -D 600 {machine.address} >/run/traffic.log 2>&1 & "
                     "echo $! >/run/traffic")
    # The receiver sees the gap.
    machine.wait("[ $(cat /sys/class/infiniband/rxe0/ports/1/hw_counters/out_of_seq_request) -gt 0 ]")


def lossless(machine):
    for each in (machine, machine.peer):
        each.run("kill $(cat /run/traffic)", check=False)
        each.wait("! [ -e /proc/$(cat /run/traffic) ]")
    machine.peer.run("/usr/bin/tc qdisc del dev eth1 root")


def hog(machine):
    """Takes more than there is, in two processes, as one alone would be refused."""
    machine.run("dd if=/dev/zero of=/dev/null bs=1500M count=3 & dd if=/dev/zero of=/dev/null bs=1500M count=3; wait",
                check=False)


FAULTS = (
    Fault("link down", "vm-a", lambda m: plug(m, False), lambda m: plug(m, True),
          "rdma.link", "state", lambda v: v == "DOWN", "/usr/bin/dmesg | grep rxe0", r"rxe0: set down"),
    Fault("packet loss", "vm-b", lossy, lossless,
          "rdma.counters", "resent_per_s", lambda v: v > 1,
          lambda m: m.peer.run("/usr/bin/tc -s qdisc show dev eth1"), r"netem[^\n]*loss 5%\s+Sent[^\n]*dropped [1-9]\d*"),
    Fault("MTU mismatch", "vm-b", lambda m: m.run("ip link set eth1 mtu 1500"),
          lambda m: m.run("ip link set eth1 mtu 4200"),
          "rdma.mtu", "differs_between_nodes", lambda v: v is True, "ibv_devinfo | grep active_mtu",
          r"active_mtu:\s+1024"),
    Fault("wrong GID index", "vm-a", lambda m: job(m, NCCL_IB_GID_INDEX="7"), job,
          "rdma.gid", "configured_index_valid", lambda v: v is False,
          "cat /sys/class/infiniband/rxe0/ports/1/gids/7", r"0000:0000:0000:0000:0000:0000:0000:0000"),
    Fault("GID of RoCE without IPv4", "vm-a", lambda m: job(m, NCCL_IB_GID_INDEX="0"), job,
          "rdma.gid", "configured_index_valid", lambda v: v is False,
          "cat /sys/class/infiniband/rxe0/ports/1/gids/0", r"fe80:"),
    Fault("disk full", "vm-b", lambda m: m.run("dd if=/dev/zero of=/scratch/hog bs=64k", check=False),
          lambda m: m.run("rm /scratch/hog"),
          "system.disk", "used_pct", lambda v: v >= 95, "/usr/bin/df -PT /scratch", r"100% /scratch"),
    Fault("tiny /dev/shm", "vm-a", lambda m: job(m, shm=64), job,
          "container.shm", "size_mib", lambda v: v == 64, "grep /dev/shm /proc/$(cat /run/job.pid)/mounts",
          r"size=65536k"),
    Fault("memlock limit", "vm-b", lambda m: job(m, memlock=64), job,
          "job.limits", "memlock_kib", lambda v: v == 64, "grep locked /proc/$(cat /run/job.pid)/limits", r"\b65536\b"),
    Fault("clock skew", "vm-b", lambda m: shift_clock(m, 300), lambda m: shift_clock(m, 0),
          "system.time_sync", "offset_s", lambda v: 290 < v < 310, "tail -1 /run/chronyd.log",
          r"System clock wrong by -(29[0-9]|30[0-9])"),
    Fault("adapter's module missing", "vm-b", lambda m: m.run("rmmod rdma_rxe"),
          lambda m: m.run("insmod /lib/modules/$(uname -r)/rdma_rxe.ko && rdma link add rxe0 type rxe netdev eth1"),
          "nccl.env", "names_absent_device", lambda v: "rxe0" in v, "/usr/bin/dmesg | tail -3", r"rdma_rxe: unloaded"),
    # What a kernel never forgets comes last.
    Fault("memory hog in the job's group", "vm-b",
          lambda m: m.run("echo 64M >/sys/fs/cgroup/job/memory.max; sh -c 'echo 0 >/sys/fs/cgroup/job/cgroup.procs; "
                          "exec dd if=/dev/zero of=/dev/null bs=128M count=1'", check=False),
          None, "container.limits", "oom_kills", lambda v: int(v) > 0, "/usr/bin/dmesg | grep 'Killed process'",
          r"Memory cgroup out of memory: Killed process \d+ \(dd\)"),
    Fault("memory hog", "vm-b", hog, None, "system.kernel_log", "oom_kill", lambda v: v["code"].startswith("global"),
          "/usr/bin/dmesg | grep 'Killed process'", r"Out of memory: Killed process \d+ \(dd\)"),
)


def value_of(finding):
    """What a finding says, or None where it could not tell."""
    for name in ("boolValue", "intValue", "doubleValue", "textValue", "eventValue"):
        if name in finding:
            return finding[name]
    return None


class Machines:
    """Both guests and the mesh outside."""

    def __init__(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.clock = clock.Clock()
        self.guests, self.mesh = {}, None
        try:
            kernel, initramfs = guest.prepare(galen.BIN, self.scratch.name)
            for number, name in enumerate(("vm-a", "vm-b"), 1):
                self.guests[name] = guest.Guest(
                    kernel, initramfs, self.scratch.name, name=name, address=f"10.9.0.{number}",
                    fabric=f"{self.scratch.name}/fabric", listens=number == 1, clock=self.clock.port)
            a, b = self.guests.values()
            a.peer, b.peer = b, a
            for machine in (a, b):
                machine.up()
                machine.run("until grep -q port /run/galen-node.log; do sleep 0.1; "
                            "kill -0 $(cat /run/galen-node.pid) || { cat /run/galen-node.log; exit 1; }; done",
                            seconds=guest.BOOT_SECONDS)
                job(machine)
            for machine in (a, b):
                machine.wait("chronyc -c tracking | grep -q Normal")
                machine.wait(f"ping -c 1 -W 1 {machine.peer.address} >/dev/null")
                machine.wait("rdma link | grep -q ACTIVE")
            live = {name: f"127.0.0.1:{machine.port}" for name, machine in self.guests.items()}
            self.certs = f"{self.scratch.name}/certs"
            self.mesh = galen.Mesh(nodes=0, live=live, everywhere=(f"--certs={self.certs}",))
        except BaseException:
            self.stop()
            raise

    def checks(self, *names, node=None, arguments=()):
        """Results of checks on one node or all, by check; each a list. An emulated machine on a busy one may be too
        slow to answer in time, which says nothing of it: those calls are made again. The mesh leaves a node that did
        not answer alone for a minute, so for some minutes."""
        where = ("--node", node) if node else ()
        give_up = time.monotonic() + LATE_SECONDS
        while True:
            run = galen.galen("checks", "run", *names, "--json", "--server", self.mesh.agents["execution"].address,
                              "--certs", self.certs, f"--knowledge={galen.ROOT}/knowledge", *where, *arguments, timeout=300)
            if run.returncode not in (0, 1, 3):
                raise AssertionError(f"checks run: exit {run.returncode}: {run.stderr}")
            results = collections.defaultdict(list)
            for line in run.stdout.splitlines():
                result = json.loads(line)
                results[result["check"]].append(result)
            if not any(late(result) for each in results.values() for result in each):
                break
            if self.emulator_crashed() or time.monotonic() > give_up:
                break
            time.sleep(2)
        return results

    def emulator_crashed(self):
        return any(machine.emulator_crashed() for machine in self.guests.values())

    def stop(self):
        if self.mesh:
            self.mesh.__exit__()
        for machine in self.guests.values():
            machine.stop()
        self.clock.stop()
        self.scratch.cleanup()


def late(result):
    # The check of a clock that was just set must not be: a time limit knows nothing of the time of day.
    return (result["status"] == "ERROR" and result["check"] != "system.time_sync"
            and re.search("deadline|did not (finish|answer)", result.get("message", ""), re.IGNORECASE))


def told(result):
    wrong = [f"{f['name']}={value_of(f)} on {f.get('subject', {}).get('device', '')}"
             for f in result.get("findings", []) if f.get("abnormal")]
    return f"{result['check']}: {result['status']}: {result.get('message', '')} {wrong}"


def booted():
    """Machines that are up."""
    for attempt in range(EMULATORS):
        try:
            return Machines()
        except guest.EmulatorCrashed as crash:
            if attempt + 1 == EMULATORS:
                raise
            print(f"\n  {crash}\n  booting again", flush=True)


def on_whole_machines(test):
    """A test whose emulator crashed under it is made again, on machines that are booted anew."""
    @functools.wraps(test)
    def run(self):
        for attempt in range(EMULATORS):
            try:
                return test(self)
            except Exception:  # whatever the crash led to
                if attempt + 1 == EMULATORS or not self.machines.emulator_crashed():
                    raise
                print("\n  QEMU crashed in this test: booting again", flush=True)
                self.machines.stop()
                type(self).machines = booted()
    return run


class FaultsInAMachine(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.machines = booted()
        cls.addClassCleanup(lambda: cls.machines.stop())

    @on_whole_machines
    def test_1_the_healthy_machines_raise_nothing(self):
        results = self.machines.checks()
        self.assertGreater(len(results), 50)
        wrong = [told(r) for of in results.values() for r in of if r["status"] not in ("PASS", "SKIPPED")]
        self.assertEqual(wrong, [])
        passed = {check for check, of in results.items() for r in of if r["status"] == "PASS"}
        # What a fault below is found by has really looked.
        self.assertEqual({fault.check for fault in FAULTS} - passed, set())

    @on_whole_machines
    def test_2_no_cause_is_found_in_healthy_machines(self):
        run = galen.galen("diagnose", "training is slow", "--json", "--server", self.machines.mesh.orchestrator.address,
                          "--certs", self.machines.certs, "--node", "vm-a", "--node", "vm-b", timeout=300)
        self.assertEqual(run.returncode, 3, run.stderr)
        diagnosis = json.loads(run.stdout)
        self.assertNotIn("primaryCause", diagnosis["report"])
        self.assertEqual([told(r) for r in diagnosis["checkResults"] if r["status"] not in ("PASS", "SKIPPED")], [])

    @on_whole_machines
    def test_3_two_nodes_write_to_each_other(self):
        # By our own verbs, with perftest as the second opinion on the same path.
        results = self.machines.checks(
            "rdma.pair", arguments=("--allow-intrusive", "--set", "rdma.pair.seconds=0.3",
                                    "--set", "rdma.pair.message_bytes=65536"))["rdma.pair"]
        self.assertEqual({r["node"] for r in results if r["status"] == "PASS"}, set(self.machines.guests),
                         [told(r) for r in results])
        for result in results:
            values = {f["name"]: value_of(f) for f in result["findings"]}
            self.assertGreater(values["gbps_host"], 0)
            self.assertEqual((values["failed"], int(values["data_errors"])), (False, 0))
        a, b = self.machines.guests.values()
        # By a number of writes: by time (-D) perftest counts between two alarms, and 128 writes under way
        # take half a second here, so that it sometimes counted none. In MiB/s: it prints two decimals, and
        # a busy machine emulates less than a hundredth of a Gb/s.
        b.run("ib_write_bw -d rxe0 -x 1 -F -s 65536 -n 200 -t 16 >/run/peer.log 2>&1 & echo $! >/run/traffic")
        b.wait("/usr/bin/ss -ltn | grep -q :18515")
        said = a.run(f"ib_write_bw -d rxe0 -x 1 -F -s 65536 -n 200 -t 16 {b.address}")
        second = float(re.search(r"^ *65536 +\d+ +\S+ +(\S+)", said, re.M).group(1)) * 8 * 2**20 / 1e9
        self.assertGreater(second, 0)
        print(f"\n  RDMA in software between two emulated machines: {values['gbps_host']:.3f} Gb/s, ib_write_bw "
              f"{second:.3f} Gb/s", flush=True)

    def is_found(self, fault):
        machine = self.machines.guests[fault.node]
        fault.inject(machine)
        try:
            line = self.found(fault, machine)
        finally:
            if fault.undo:
                fault.undo(machine)
        if fault.undo:
            after = self.machines.checks(fault.check)[fault.check]
            self.assertEqual([told(r) for r in after if r["status"] != "PASS"], [], "after it was undone")
        print("\n" + line, flush=True)

    def found(self, fault, machine):
        """A line of the table: what the check says, and what the guest says."""
        results = self.machines.checks(fault.check)[fault.check]
        said = fault.witness(machine) if callable(fault.witness) else machine.run(fault.witness, check=False)
        self.assertRegex(said, fault.shows, "the fault is not there")
        failed = [r for r in results if r["status"] == "FAIL"]
        abnormal = [f for r in failed for f in r.get("findings", [])
                    if f["name"] == fault.finding and f.get("abnormal") and fault.holds(value_of(f))]
        self.assertTrue(abnormal, "\n".join(told(r) for r in results))
        # Only where the fault is; that nodes differ, and that packets are lost between them, is said of each.
        if fault.finding not in ("differs_between_nodes", "resent_per_s"):
            self.assertEqual([told(r) for r in failed if r["node"] != fault.node], [])
        words = re.search(r"[^\n]*" + fault.shows, said)
        line = " ".join(words.group(0).split())
        return f"  {fault.name:32} {fault.check} {fault.finding}\n{'':35}guest: {line[-150:]}"


# A test a fault, in their order: the name of one that fails tells which.
for number, each in enumerate(FAULTS, 1):
    setattr(FaultsInAMachine, f"test_4_{number:02}_{re.sub('[^a-z0-9]+', '_', each.name.lower())}_is_found",
            on_whole_machines(lambda self, fault=each: self.is_found(fault)))


def main():
    try:
        with tempfile.TemporaryDirectory() as scratch:
            guest.prepare(galen.BIN, scratch)
    except guest.Cannot as reason:
        print(f"SKIPPED: {reason}")
        return SKIP
    return 0 if unittest.main(exit=False, verbosity=2).result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())

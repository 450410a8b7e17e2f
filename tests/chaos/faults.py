"""What goes wrong, and when, as a seed says."""
import collections
import random
import threading
import time

import link
import wire

CLOCK_S = 300  # how far a clock jumps, at most


class Monkey:
    """Kills and freezes, and does what else is given to it, while there is load, until it has done `kills` kills. Runs in
    the main thread: what a thread started dies with it (PR_SET_PDEATHSIG)."""

    def __init__(self, mesh, load, seed, kills, pause, others=()):
        self.mesh = mesh
        self.random = random.Random(seed)
        self.threads = []
        self.kills = kills
        self.pause = pause
        self.others = [other(mesh, self.random, load) for other in others]
        self.done = collections.Counter()
        self.log = []

    def of(self, fault):
        return sum(n for (done, _), n in self.done.items() if done == fault)

    def work(self, going_on):
        begin = time.monotonic()
        while going_on() and self.of("kill") < self.kills:
            time.sleep(self.random.uniform(0, 2 * self.pause))
            if self.others and self.random.random() < 0.4:
                other = self.others[0] if len(self.others) == 1 else self.random.choice(self.others)
                told, action = other.next()
                self.log.append(f"{time.monotonic() - begin:8.3f} s  {told}")
                self.done[other.fault, ""] += 1
                # Beside what else happens meanwhile.
                self.threads.append(threading.Thread(target=action, daemon=True))
                self.threads[-1].start()
                continue
            victim = self.random.choice(self.mesh.all)
            fault = "freeze" if self.random.random() < 0.15 else "kill"
            pause = self.random.uniform(0, 1.5 if fault == "freeze" else getattr(victim, "longest_death", 0.3))
            self.log.append(f"{time.monotonic() - begin:8.3f} s  {fault} {victim.role} for {pause:.3f} s")
            getattr(victim, fault)(pause)
            self.done[fault, victim.role] += 1
        self.mesh.calm()


class Partitions:
    """Cuts what one process says to another."""

    fault = "partition"

    def __init__(self, mesh, rng, _):
        self.links = mesh.links
        self.random = rng

    def next(self):
        cut, pause, breaks = link.pick(self.links, self.random)
        return (f"cut {cut.name} for {pause:.3f} s{', its connections are lost' if breaks else ''}",
                lambda: cut.cut(pause, time.sleep, breaks))


class Wires:
    """Loses and delays packets of one machine; with partitions also all of them."""

    fault = "wire"

    def __init__(self, mesh, rng, _, cuts=False):
        self.wires = mesh.wires
        self.random = rng
        self.cuts = cuts

    def next(self):
        machine, kind, trouble, seconds = wire.pick(self.wires.machines, self.random, self.cuts)
        return (f"{kind} on the wire of {machine.name} for {seconds:.3f} s: {trouble[0]:.0%} lost, "
                f"{trouble[1] * 1000:.0f} to {(trouble[1] + trouble[2]) * 1000:.0f} ms late",
                lambda: self.wires.disturb(machine, trouble, seconds))


class Clocks:
    """Sets the clock of one program, forward and back."""

    fault = "clock"

    def __init__(self, mesh, rng, _):
        self.clocks = mesh.clocks
        self.random = rng

    def next(self):
        clock = self.random.choice(self.clocks)
        # Seconds as often as minutes; sometimes right again.
        most = self.random.choice([0, 3, 30, CLOCK_S])
        seconds = self.random.uniform(-most, most)
        return f"the clock of {clock.name} is {seconds:+.3f} s off", lambda: clock.set(seconds)


class FullDisk:
    """Lets the disk of the store run full, and asks for a diagnosis then."""

    fault = "full disk"

    def __init__(self, mesh, rng, load, disk=None):
        self.disk = disk
        self.load = load
        self.random = rng
        self.asked = 0

    def next(self):
        pause = self.random.uniform(0.5, 4)
        self.asked += 1
        request = f"full-{self.asked}"

        def ask():
            self.disk.full.wait(timeout=30)
            self.load.diagnose(request, "healthy", random.Random(request))

        def fill():
            client = threading.Thread(target=ask, daemon=True)
            client.start()
            self.disk.fill(pause)
            client.join()

        return f"the store's disk is full for {pause:.3f} s", fill

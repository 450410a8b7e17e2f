"""Machines of their own for programs of the mesh: network namespaces, and between each and this one a wire that loses and
delays packets. The wire is a pair of TUN devices with a thread between them, so that it needs no `tc netem`, which
not every kernel has. Only inside the sandbox, so all of it is gone with the run."""
import ctypes
import fcntl
import heapq
import os
import random
import select
import signal
import struct
import subprocess
import threading
import time

import sandbox

TUN = "/dev/net/tun"
TUNSETIFF = 0x400454CA
IFF_TUN, IFF_NO_PI = 0x0001, 0x1000
MTU = 1500


def open_tun(name):
    fd = os.open(TUN, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TUN | IFF_NO_PI))
    return fd


class Machine:
    """A network namespace at an address of its own, reached over its wire alone; it reaches the others by this one."""

    role = "wire"

    def __init__(self, wires, name, number):
        self.name = name
        self.host = f"10.77.{number}.2"
        near, here, there = f"10.77.{number}.1", f"w{number}", f"w{number}m"
        # Who holds it open until the end.
        self.holder = subprocess.Popen(
            ["unshare", "--net", "sh", "-c", "echo in; exec sleep infinity"], stdout=subprocess.PIPE,
            preexec_fn=lambda: ctypes.CDLL(None).prctl(1, signal.SIGKILL))
        self.holder.stdout.readline()
        self.prefix = ("nsenter", f"--net=/proc/{self.holder.pid}/ns/net")
        # What is lost of a hundred packets, and how late the others are: (share, seconds, spread of them).
        self.trouble = (0.0, 0.0, 0.0)
        self.ends = [open_tun(here), open_tun(there)]
        sandbox.run("ip", "link", "set", there, "netns", str(self.holder.pid))
        sandbox.run("ip", "addr", "add", near, "peer", self.host, "dev", here)
        sandbox.run("ip", "link", "set", here, "mtu", str(MTU), "up")
        sandbox.run(*self.prefix, "ip", "link", "set", "lo", "up")
        sandbox.run(*self.prefix, "ip", "addr", "add", self.host, "peer", near, "dev", there)
        sandbox.run(*self.prefix, "ip", "link", "set", there, "mtu", str(MTU), "up")
        sandbox.run(*self.prefix, "ip", "route", "add", "default", "via", near)
        wires.add(self)


class Wires:
    """All wires, carried by one thread."""

    def __init__(self, seed):
        self.random = random.Random(f"{seed}/wires")
        self.machines = []
        self.carried = self.lost = 0
        self.lock = threading.Lock()
        self.poll = select.epoll()
        self.out = {}  # end of a wire: (machine, the other end)
        self.late = []  # (due, order, end, packet)
        self.order = 0
        with open("/proc/sys/net/ipv4/ip_forward", "w", encoding="ascii") as forward:
            forward.write("1")
        self.stopping = False
        self.thread = threading.Thread(target=self.carry, daemon=True)
        self.thread.start()

    def machine(self, name):
        self.machines.append(Machine(self, name, len(self.machines) + 1))
        return self.machines[-1]

    def add(self, machine):
        one, other = machine.ends
        self.out[one], self.out[other] = (machine, other), (machine, one)
        for end in machine.ends:
            self.poll.register(end, select.EPOLLIN)

    def carry(self):
        while not self.stopping:
            wait = min(0.2, max(self.late[0][0] - time.monotonic(), 0)) if self.late else 0.2
            for end, _ in self.poll.poll(wait):
                machine, out = self.out[end]
                self.take(end, machine, out)
            while self.late and self.late[0][0] <= time.monotonic():
                _, _, out, packet = heapq.heappop(self.late)
                self.put(out, packet)

    def take(self, end, machine, out):
        for _ in range(64):
            try:
                packet = os.read(end, 1 << 16)
            except OSError:
                return
            share, delay, spread = machine.trouble
            if share and self.random.random() < share:
                self.lost += 1
                continue
            self.carried += 1
            if not delay:
                self.put(out, packet)
                continue
            self.order += 1
            due = time.monotonic() + delay + self.random.uniform(0, spread)
            heapq.heappush(self.late, (due, self.order, out, packet))

    def put(self, end, packet):
        try:
            os.write(end, packet)
        except OSError:
            self.lost += 1  # a queue that is full

    def disturb(self, machine, trouble, seconds):
        machine.trouble = trouble
        time.sleep(seconds)
        machine.trouble = (0.0, 0.0, 0.0)

    def close(self):
        self.stopping = True
        self.thread.join()
        for machine in self.machines:
            machine.holder.kill()
            machine.holder.wait()
            for end in machine.ends:
                os.close(end)


def pick(machines, rng, cuts):
    """A machine, what befalls its wire and for how long, as the seed says. With `cuts` it may also be all that is lost."""
    machine, seconds = rng.choice(machines), rng.uniform(0, 4)
    kind = rng.choice(["loss", "delay", "both", "cut"] if cuts else ["loss", "delay", "both"])
    loss = rng.uniform(0.01, 0.3) if kind in ("loss", "both") else 1.0 if kind == "cut" else 0.0
    delay = rng.uniform(0.001, 0.1) if kind in ("delay", "both") else 0.0
    # Packets overtake each other within the spread.
    return machine, kind, (loss, delay, rng.uniform(0, delay)), seconds

"""A machine in QEMU for the tests of the node executor: boots a Debian kernel, and takes shell commands."""
import ctypes
import json
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import time
import uuid

import image

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
CACHE = os.environ.get("GALEN_VM_CACHE", f"{ROOT}/build/vm")
NODE_PORT = 50054
# Bounds for what must come, not times that anything should take: emulation on a busy machine is slow.
BOOT_SECONDS = 180
COMMAND_SECONDS = 120


def die_with_parent():
    """A test that is killed leaves no machine behind."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


class Cannot(Exception):
    """QEMU or the kernel cannot be had here."""


class EmulatorCrashed(Exception):
    """QEMU itself died of a signal, which says nothing of the guest: QEMU 7.2 now and then reads a null pointer when
    several emulated processors run side by side. A guest that panics or powers off ends QEMU with an exit status."""


def accelerator():
    """Emulation, which works anywhere and alike; GALEN_VM_ACCEL=kvm asks for hardware virtualisation instead. That
    /dev/kvm opens does not tell whether a nested one works, so it is not taken unasked."""
    return os.environ.get("GALEN_VM_ACCEL", "tcg,thread=multi")


def prepare(galen_bin, scratch):
    """The kernel and the initramfs: a pair of paths; and `scratch`/certs, the certificates of the mesh. Raises
    Cannot."""
    if shutil.which("qemu-system-x86_64") is None:
        raise Cannot("qemu-system-x86_64 is not installed (package qemu-system-x86)")
    run = subprocess.run([f"{HERE}/fetch.sh", CACHE], text=True, stdout=subprocess.PIPE)
    if run.returncode == 77:
        raise Cannot(run.stdout.strip())
    run.check_returncode()
    release = run.stdout.strip()
    subprocess.run([f"{galen_bin}/galen", "certs", "new", f"{scratch}/certs"], check=True,
                   stdout=subprocess.DEVNULL)
    initramfs = f"{scratch}/initramfs"
    image.build(initramfs, unpacked=f"{CACHE}/root", release=release, node=f"{galen_bin}/galen-node",
                knowledge=f"{ROOT}/knowledge", files=f"{HERE}/files", certs=f"{scratch}/certs")
    return f"{CACHE}/root/boot/vmlinuz-{release}", initramfs


class Guest:
    """One running machine. `fabric` is the path of a socket that joins it to the other one; the first one listens.
    `clock` is the port of a time server here."""

    def __init__(self, kernel, initramfs, scratch, *, name, address, fabric, listens, clock,
                 memory=2816):
        self.name, self.address = name, address
        self.folder = f"{scratch}/{name}"
        os.makedirs(self.folder)
        self.console_path = f"{self.folder}/console"
        mac = f"52:54:00:00:09:{int(address.rsplit('.', 1)[1]):02x}"
        way = "on" if listens else "off"
        self.process = subprocess.Popen([
            "qemu-system-x86_64", "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
            "-accel", accelerator(), "-cpu", "max", "-smp", "4", "-m", str(memory),
            "-kernel", kernel, "-initrd", initramfs,
            "-append", f"console=ttyS0 panic=-1 quiet loglevel=4 mitigations=off "
                       f"guest.name={name} guest.address={address} guest.clock={clock}",
            "-serial", f"file:{self.console_path}",
            "-device", "virtio-serial-pci",
            "-chardev", f"socket,id=shell,path={self.folder}/shell,server=on,wait=off",
            "-device", "virtserialport,chardev=shell,name=galen",
            "-qmp", f"unix:{self.folder}/qmp,server=on,wait=off",
            "-rtc", "base=utc",
            "-netdev", f"user,id=way-in,hostfwd=tcp:127.0.0.1:0-:{NODE_PORT}",
            "-device", "virtio-net-pci,netdev=way-in,romfile=",
            "-netdev", f"stream,id=fabric,server={way},addr.type=unix,addr.path={fabric}",
            "-device", f"virtio-net-pci,netdev=fabric,id=fabric-nic,mac={mac},romfile=",
        ], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            preexec_fn=die_with_parent)
        try:
            self.qmp = self._connect(f"{self.folder}/qmp")
            self.qmp_file = self.qmp.makefile("rw")
            self.qmp_file.readline()
            self.monitor("qmp_capabilities")
            self.shell = self._connect(f"{self.folder}/shell")
            self.heard = b""
        except OSError as error:
            self.process.kill()
            said = self.process.stderr.read()
            self.stop()
            raise AssertionError(f"QEMU: {said}") from error

    def _connect(self, path):
        """To a socket of QEMU, which makes it as it starts."""
        give_up = time.monotonic() + 30
        while True:
            if self.process.poll() is not None:
                raise AssertionError(f"QEMU ended at once: {self.process.stderr.read()}")
            connection = socket.socket(socket.AF_UNIX)
            try:
                connection.connect(path)
                return connection
            except OSError:
                connection.close()
                if time.monotonic() > give_up:
                    raise
                time.sleep(0.02)

    def monitor(self, command, **arguments):
        """A command of the machine's own monitor (QMP)."""
        self.qmp_file.write(json.dumps({"execute": command, "arguments": arguments}) + "\n")
        self.qmp_file.flush()
        while True:
            answer = json.loads(self.qmp_file.readline())
            if "error" in answer:
                raise AssertionError(f"{self.name}: {command}: {answer['error']}")
            if "return" in answer:
                return answer["return"]

    @property
    def port(self):
        """The port of the loopback interface that leads to the guest's node executor."""
        table = self.monitor("human-monitor-command", **{"command-line": "info usernet"})
        return int(re.search(r"TCP\[HOST_FORWARD\]\s+\d+\s+127\.0\.0\.1\s+(\d+)", table).group(1))

    def run(self, command, *, check=True, seconds=COMMAND_SECONDS):
        """Runs a shell command in the guest and gives its output."""
        mark = uuid.uuid4().hex
        # A shell of its own, so that `exit` and an unfinished quote stay within.
        quoted = command.replace("'", "'\\''")
        self.shell.sendall(f"sh -c '{quoted}' 2>&1 </dev/null; echo {mark[:16]}''{mark[16:]} $?\n".encode())
        done = re.compile(mark.encode() + rb" (\d+)\r?\n")
        give_up = time.monotonic() + seconds
        while True:
            found = done.search(self.heard)
            if found:
                break
            left = give_up - time.monotonic()
            if left <= 0 or not select.select([self.shell], [], [], left)[0]:
                raise AssertionError(f"{self.name}: no end of: {command}\n{self.heard.decode(errors='replace')}"
                                     f"\n{self.console()[-2000:]}")
            try:
                got = self.shell.recv(65536)
            except ConnectionResetError:
                got = b""
            if not got:
                end = self.end()
                raise (EmulatorCrashed if self.emulator_crashed() else AssertionError)(
                    f"{self.name}: the machine is gone: {end}")
            self.heard += got
        text = self.heard[:found.start()].decode(errors="replace").replace("\r", "")
        self.heard = self.heard[found.end():]
        if check and found.group(1) != b"0":
            raise AssertionError(f"{self.name}: {command}: exit {found.group(1).decode()}: {text}")
        return text.strip()

    def wait(self, command, *, seconds=COMMAND_SECONDS):
        """Until a shell command in the guest succeeds."""
        self.run(f"until {command}; do sleep 0.1; done", seconds=seconds)

    def up(self):
        """Waits for the shell."""
        self.run("true", seconds=BOOT_SECONDS)

    def emulator_crashed(self):
        return self.process.poll() is not None and self.process.returncode < 0

    def end(self):
        """How QEMU ended, and the last that the guest said."""
        try:
            ended = f"QEMU exit {self.process.wait(10)}: {self.process.stderr.read()}"
        except subprocess.TimeoutExpired:
            ended = "QEMU still runs"
        return f"{ended}\n{self.console()[-2000:]}"

    def console(self):
        with open(self.console_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def stop(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stderr.close()
        for name in ("qmp_file", "qmp", "shell"):
            if hasattr(self, name):
                getattr(self, name).close()

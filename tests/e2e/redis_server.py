"""A real redis-server for the tests that need one."""
import ctypes
import signal
import socket
import subprocess
import tempfile
import time


def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


class Redis:
    """A redis-server on a free port of the loopback interface, that syncs before it answers."""

    def __init__(self):
        self.scratch = tempfile.TemporaryDirectory()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.start()

    @property
    def url(self):
        return f"redis://127.0.0.1:{self.port}"

    def start(self):
        self.process = subprocess.Popen(
            ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--dir", self.scratch.name,
             "--appendonly", "yes", "--appendfsync", "always"],
            stdout=subprocess.DEVNULL, preexec_fn=die_with_parent)
        while self.cli("PING") != "PONG":
            if self.process.poll() is not None:
                raise AssertionError("redis-server ended at its start")
            time.sleep(0.02)

    def cli(self, *words):
        return subprocess.run(["redis-cli", "-p", str(self.port), *words], text=True, capture_output=True,
                              timeout=60).stdout.strip()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def events(self):
        """Events that are stored, over all diagnoses."""
        keys = self.cli("--scan", "--pattern", "galen:*:log:*").split()
        return sum(int(self.cli("XLEN", key)) for key in keys)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()
        self.scratch.cleanup()

"""A real redis-server for the tests that need one."""
import ctypes
import os
import signal
import socket
import subprocess
import tempfile
import time


def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


class Redis:
    """A redis-server on a free port of the loopback interface, that syncs before it answers. On another `host` words
    before the command (`prefix`) bring it there; `arguments` are further ones of the server."""

    def __init__(self, *arguments, host="127.0.0.1", prefix=(), environment=None, directory=None):
        self.scratch = tempfile.TemporaryDirectory(dir=directory)
        self.host = host
        self.prefix = prefix
        self.environment = environment or {}
        self.arguments = arguments
        self.port = free_port()
        self.start()

    @property
    def url(self):
        return f"redis://{self.host}:{self.port}"

    def start(self):
        self.run(["--port", str(self.port), "--bind", self.host, "--protected-mode", "no", "--dir", self.scratch.name,
                  "--appendonly", "yes", "--appendfsync", "always", *self.arguments])

    def run(self, words):
        """Starts the server with these words, and waits until it answers."""
        self.process = subprocess.Popen(
            [*self.prefix, "redis-server", *words], stdout=subprocess.DEVNULL, env={**os.environ, **self.environment},
            preexec_fn=die_with_parent)
        while self.cli("PING") != "PONG":
            if self.process.poll() is not None:
                raise AssertionError("redis-server ended at its start")
            time.sleep(0.02)

    def cli(self, *words):
        return subprocess.run(["redis-cli", "-h", self.host, "-p", str(self.port), *words], text=True,
                              capture_output=True, timeout=60).stdout.strip()

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

"""Where the mesh keeps its diagnoses, beside one Redis on the disk of this machine."""
import os
import signal
import tempfile
import threading
import time

import sandbox
from mesh import RedisService
from redis_server import Redis, free_port

MASTER = "main"


class Disk:
    """A small one, that can be full for a while. Inside the sandbox alone."""

    def __init__(self, megabytes):
        self.scratch = tempfile.TemporaryDirectory()
        self.path = self.scratch.name
        sandbox.run("mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "chaos", self.path)
        self.lock = threading.Lock()
        self.full = threading.Event()

    def fill(self, pause):
        """Not a byte is left for so long."""
        with self.lock:
            hog = f"{self.path}/hog"
            end = time.monotonic() + pause
            with open(hog, "wb", buffering=0) as file:
                while time.monotonic() < end:
                    try:
                        file.write(b"\0" * 4096)
                    except OSError:
                        self.full.set()
                        time.sleep(0.01)  # what others free meanwhile it takes too
            self.full.clear()
            os.unlink(hog)

    def close(self):
        sandbox.run("umount", "-l", self.path)
        self.scratch.cleanup()


class RedisOnDisk(RedisService):
    """With `appendfsync always` it ends when it cannot write, and is started again until it can."""

    def __init__(self, disk, **where):
        super().__init__(**where, directory=disk.path)

    def revive(self):
        """To be called in the main thread, again and again: what a thread started dies with it."""
        if self.redis.process.poll() is not None and self.lock.acquire(blocking=False):
            try:
                self.redis.start()
            except AssertionError:
                pass
            finally:
                self.lock.release()


class SqliteFile:
    """For processes of one machine."""

    def __init__(self, directory, **_):
        self.scratch = tempfile.TemporaryDirectory(dir=directory)
        self.url = f"{self.scratch.name}/galen.db"

    def stop(self):
        self.scratch.cleanup()


class Sentinels:
    """A master, a replica that must have all that is acknowledged, and three sentinels that put it in the master's place
    when that is gone for half a second. What is killed is who is master then."""

    role = "redis"
    # Longer than the sentinels wait, and shorter: one time in six the master is back before it is missed.
    longest_death = 3

    def __init__(self, **_):
        one = Redis("--repl-diskless-sync-delay", "0")
        other = Redis("--repl-diskless-sync-delay", "0", "--replicaof", "127.0.0.1", str(one.port))
        self.servers = [one, other]
        self.lock = threading.Lock()
        self.failovers = 0
        self.last = one.port
        self.until(lambda: "master_link_status:up" in other.cli("INFO", "replication"))
        self.sentinels = [Sentinel(one.port) for _ in range(3)]
        # Before they know each other and the replica, they cannot fail over.
        for sentinel in self.sentinels:
            self.until(lambda: sentinel.knows("SENTINELS") == 2 and sentinel.knows("REPLICAS") == 1)

    @staticmethod
    def until(condition):
        end = time.monotonic() + 60
        while not condition():
            if time.monotonic() > end:
                raise AssertionError("the sentinels do not find together")
            time.sleep(0.05)

    @property
    def url(self):
        return (f"redis+sentinel://{','.join(f'127.0.0.1:{one.port}' for one in self.sentinels)}/{MASTER}"
                "?replicas=1")

    def master(self):
        where = self.sentinels[0].cli("SENTINEL", "GET-MASTER-ADDR-BY-NAME", MASTER).split()
        port = int(where[1])
        if port != self.last:
            self.last = port
            self.failovers += 1
        return next(server for server in self.servers if server.port == port)

    def kill(self, pause):
        with self.lock:
            master = self.master()
            master.kill()
            time.sleep(pause)
            master.start()
            self.master()

    def freeze(self, pause):
        with self.lock:
            process = self.master().process
            process.send_signal(signal.SIGSTOP)
            time.sleep(pause)
            process.send_signal(signal.SIGCONT)

    def stop(self):
        for server in [*self.sentinels, *self.servers]:
            server.__exit__()


class Sentinel(Redis):
    """One of them. Its configuration is a file, which it writes itself."""

    def __init__(self, master):
        self.watches = master
        super().__init__()

    def start(self):
        path = f"{self.scratch.name}/sentinel.conf"
        if not os.path.exists(path):
            with open(path, "w", encoding="ascii") as file:
                file.write(f"port {self.port}\nbind 127.0.0.1\ndir {self.scratch.name}\n"
                           f"sentinel monitor {MASTER} 127.0.0.1 {self.watches} 2\n"
                           f"sentinel down-after-milliseconds {MASTER} 500\n"
                           f"sentinel failover-timeout {MASTER} 1500\n")
        self.run([path, "--sentinel"])
        # Of the order of ten seconds by themselves: how often a sentinel looks and speaks.
        self.cli("SENTINEL", "DEBUG", "INFO-PERIOD", "200", "PUBLISH-PERIOD", "200", "ASK-PERIOD", "100",
                 "ELECTION-TIMEOUT", "1000", "MIN-LINK-RECONNECT-PERIOD", "200")

    def knows(self, what):
        return self.cli("SENTINEL", what, MASTER).split("\n").count("name")

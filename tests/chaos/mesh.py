"""The mesh as processes: what can be killed, frozen, cut off and misled about the time."""
import os
import signal
import struct
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "e2e"))
import galen  # noqa: E402
import link  # noqa: E402
import wire  # noqa: E402
from redis_server import Redis  # noqa: E402

TOOLS = os.environ.get("GALEN_TOOLS", f"{os.path.dirname(galen.BIN)}/tests")
LEASE = "--lease_ttl=1s"
LIAR = "liar"


class Clock:
    """The time of day of one program, that can be set apart from the machine's."""

    def __init__(self, directory, name):
        self.name = name
        self.path = f"{directory}/{name}"
        with open(self.path, "wb") as file:
            file.write(struct.pack("=q", 0))
        self.environment = {"LD_PRELOAD": f"{TOOLS}/libgalen_jumping_clock.so", "GALEN_CHAOS_CLOCK": self.path}

    def set(self, seconds):
        with open(self.path, "r+b") as file:  # in place: programs have it mapped
            file.write(struct.pack("=q", int(seconds * 1e9)))


class Service:
    """A program on a port of its own, which it gets again each time it is started, on a machine of its own where one is
    given, and with a clock of its own likewise."""

    # What to do between two attempts to start one that ends at once, as an orchestrator does without its store.
    between_attempts = staticmethod(lambda: None)

    def __init__(self, role, program, *arguments, machine=None, clock=None):
        self.role = role
        self.program = program
        self.arguments = arguments
        self.where = {"host": machine.host, "prefix": machine.prefix} if machine else {}
        self.clock = clock
        self.port = 0
        self.lock = threading.Lock()
        self.start()

    def start(self):
        self.process = galen.Process(self.program, *self.arguments, port=self.port, **self.where,
                                     environment=self.clock.environment if self.clock else {})
        self.port = self.process.port

    @property
    def address(self):
        return f"{self.where.get('host', '127.0.0.1')}:{self.port}"

    def kill(self, pause):
        with self.lock:
            self.process.stop(signal.SIGKILL)
            time.sleep(pause)
            self.restart()

    def restart(self):
        """As what watches over a program would: again and again, but not for ever."""
        end = time.monotonic() + 60
        while True:
            try:
                return self.start()
            except AssertionError:
                if time.monotonic() > end:
                    raise
                self.between_attempts()

    def freeze(self, pause):
        with self.lock:
            self.process.process.send_signal(signal.SIGSTOP)
            time.sleep(pause)
            self.process.process.send_signal(signal.SIGCONT)

    def stop(self):
        with self.lock:
            return self.process.stop()


class RedisService:
    """The Redis of the mesh; what it acknowledged is on the disk."""

    role = "redis"

    def __init__(self, machine=None, clock=None, directory=None):
        where = {"host": machine.host, "prefix": machine.prefix} if machine else {}
        self.clock = clock
        self.redis = Redis(**where, directory=directory, environment=clock.environment if clock else {})
        self.port = self.redis.port
        self.lock = threading.Lock()

    @property
    def address(self):
        return f"{self.redis.host}:{self.port}"

    @property
    def url(self):
        return self.redis.url

    def store(self, address):
        return f"redis://{address}"

    def kill(self, pause):
        with self.lock:
            self.redis.kill()
            time.sleep(pause)
            self.start()

    def start(self):
        """As what watches over a server would: again and again."""
        while True:
            try:
                return self.redis.start()
            except AssertionError:  # it could not write
                time.sleep(0.2)

    def freeze(self, pause):
        with self.lock:
            self.redis.process.send_signal(signal.SIGSTOP)
            time.sleep(pause)
            self.redis.process.send_signal(signal.SIGCONT)

    def stop(self):
        self.redis.__exit__()


class Mesh:
    """Two orchestrators and two nodes, one of each agent. With `partitions` there is a link to cut between each that calls
    and each that it calls, Redis too. With `wires` each program is on a machine of its own, and they prove to each other
    who they are; with `clocks` each has a clock of its own; with `liar` a third node answers nonsense, from that seed; with
    `tickets`, ticket systems, there are two gateways that tell them what was concluded."""

    def __init__(self, store=None, partitions=False, wires=None, clocks=False, liar=None, tickets=None):
        self.links = []
        self.wires = wires
        self.clocks = []
        self.scratch = tempfile.TemporaryDirectory()
        self.client = ()
        everywhere = []
        if wires:
            certs = f"{self.scratch.name}/certs"
            made = galen.galen("certs", "new", certs)
            if made.returncode != 0:
                raise AssertionError(f"galen certs: {made.stderr}")
            everywhere = [f"--certs={certs}"]
            self.client = ("--certs", certs)

        def place(name):
            """A machine and a clock for this program, where it is to have such."""
            machine = wires.machine(name) if wires else None
            clock = None
            if clocks:
                clock = Clock(self.scratch.name, name)
                self.clocks.append(clock)
            return {"machine": machine, "clock": clock}

        def start(role, name, program, *arguments):
            return Service(role, program, *arguments, *everywhere, **place(name))

        def way(caller, name, service):
            if not partitions or wires:
                return service.address
            self.links.append(link.Link(f"{caller} to {name}", lambda: service.port))
            return self.links[-1].address

        self.store = store(**place("redis")) if store else RedisService(**place("redis"))
        knowledge = f"--knowledge={galen.ROOT}/knowledge"
        bundles = f"--bundle_root={galen.EXAMPLES}"
        self.nodes = [start("node", f"node{i}", "galen-node", knowledge, bundles, f"--host=node{i}")
                      for i in range(2)]
        live = {f"node{i}": way("execution", f"node{i}", node) for i, node in enumerate(self.nodes)}
        readers = ",".join(live.values())
        liars = []
        if liar is not None:
            liars = [Service("liar", f"{TOOLS}/galen-lying-node", f"--seed={liar}")]
            live[LIAR] = liars[0].address
        live = ",".join(f"{name}={address}" for name, address in live.items())
        agents = {
            "summarization": start("summarization", "summarization", "galen-summarization", knowledge,
                                   f"--log_root={galen.EXAMPLES}"),
            "planning": start("planning", "planning", "galen-planning", knowledge),
            "execution": start("execution", "execution", "galen-execution", knowledge, bundles,
                               f"--bundle_readers={readers}", f"--nodes={live}",
                               # One that lies may hang, too, which costs each diagnosis this much.
                               *(["--node_timeout=5s"] if liars else [])),
            "reflection": start("reflection", "reflection", "galen-reflection", knowledge),
            "conclusion": start("conclusion", "conclusion", "galen-conclusion", knowledge),
        }

        def keeps(who):
            """Where this one finds the store."""
            if not hasattr(self.store, "address"):
                return self.store.url
            return self.store.store(way(who, "redis", self.store))

        self.orchestrators = [
            start("orchestrator", f"o{i}", "galen-orchestrator", f"--store={keeps(f'orchestrator {i}')}", f"--owner=o{i}", LEASE,
                  *[f"--{name}={way(f'orchestrator {i}', name, agent)}" for name, agent in agents.items()])
            for i in range(2)]
        gateways = []
        if tickets:
            config = tickets.config(self.scratch.name)
            gateways = [
                start("gateway", f"gateway{i}", "galen-gateway", knowledge, f"--store={keeps(f'gateway {i}')}", "--unsealed_store", f"--tickets={config}",
                      "--orchestrator=" + ",".join(way(f"gateway {i}", f"o{o}", orchestrator)
                                                   for o, orchestrator in enumerate(self.orchestrators)))
                for i in range(2)]
        self.services = [*self.nodes, *liars, *agents.values(), *self.orchestrators, *gateways]
        for service in self.services:
            service.between_attempts = getattr(self.store, "revive", lambda: time.sleep(0.1))
        self.all = [*([self.store] if hasattr(self.store, "kill") else []), *self.services]

    def calm(self):
        """What was set is set back."""
        for clock in self.clocks:
            clock.set(0)

    def stop(self):
        for service in reversed(self.services):
            service.stop()
        for one in self.links:
            one.close()
        self.store.stop()
        if self.wires:
            self.wires.close()
        self.scratch.cleanup()

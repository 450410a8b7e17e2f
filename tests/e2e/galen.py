"""Runs Galen's programs for the end-to-end tests."""
import json
import os
import re
import signal
import subprocess
import tempfile
import threading

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BIN = os.environ.get("GALEN_BIN", f"{ROOT}/build/bin")
EXAMPLES = f"{ROOT}/docs/examples"
# example: (primary label or None, a device that must be named, labels that must be effects)
CAUSES = {
    "nccl-connection-refused": ("INTERCONNECT_NETWORKING.NVLINK.LINK_FAULT", "gpu:1", []),
    "cublas-ecc": ("GPU.MEMORY.UNCORRECTABLE_ECC", "gpu:", ["Xid 48"]),
    "invalid-device-ordinal": ("SYSTEM_SOFTWARE.DRIVER.USER_KERNEL_VERSION_SKEW", "", ["Xid 119"]),
    "nccl-ib-unable-to-open": ("INTERCONNECT_NETWORKING.NCCL_NET_CONFIG.IB_HCA_WRONG", "", []),
    "healthy": (None, None, []),
}


def galen(*arguments, timeout=120, **more):
    """Runs `galen` and gives the finished process."""
    return subprocess.run([f"{BIN}/galen", *arguments], text=True, capture_output=True,
                          timeout=timeout, cwd=ROOT, **more)


def evaluate(*arguments, timeout=120):
    """Runs `galen-eval` and gives the finished process."""
    return subprocess.run([f"{BIN}/galen-eval", *arguments], text=True, capture_output=True, timeout=timeout, cwd=ROOT)


def diagnose(example, *arguments):
    """The Diagnosis of an example, and the exit code."""
    return diagnose_with(example, {}, *arguments)


def diagnose_with(example, environment, *arguments):
    """The same, with variables beside those of this process."""
    run = galen("diagnose", "--bundle", f"{EXAMPLES}/{example}", "--json", *arguments,
                env={**os.environ, **environment})
    if not run.stdout:
        raise AssertionError(f"{example}: exit {run.returncode}: {run.stderr}")
    return json.loads(run.stdout), run.returncode


class Process:
    """A service on a free port of the loopback interface, or of another `host`, where words before the command (`prefix`)
    bring it there. `program` may also be a path."""

    def __init__(self, program, *arguments, port=0, host="127.0.0.1", prefix=(), environment=None):
        self.program = program
        self.process = subprocess.Popen(
            [*prefix, os.path.join(BIN, program), *arguments, f"--listen={host}:{port}"], text=True, cwd=ROOT,
            env={**os.environ, **(environment or {})}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.log = []
        self.port = None
        for line in self.process.stderr:
            self.log.append(line)
            found = re.search(r"\(port (\d+)\)", line)
            if found:
                self.port = int(found.group(1))
                break
        if self.port is None:
            raise AssertionError(f"{program} did not listen: {''.join(self.log)}")
        # A pipe that nobody reads would block the service.
        self.reader = threading.Thread(target=lambda: self.log.extend(self.process.stderr))
        self.reader.start()

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    def stop(self, sig=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(sig)
        code = self.process.wait(timeout=60)
        self.reader.join()
        self.process.stderr.close()
        return code


class Mesh:
    """Every service in a process of its own, on loopback TCP. `live` are node executors that run elsewhere: their
    addresses by name. `everywhere` are arguments of all programs."""

    def __init__(self, *, nodes=2, orchestrator_arguments=(), store=None, live=None,
                 knowledge=f"{ROOT}/knowledge", roots=EXAMPLES, everywhere=(), execution_arguments=()):
        self.everywhere = everywhere
        self.scratch = tempfile.TemporaryDirectory()
        self.store = store or f"{self.scratch.name}/galen.db"
        log_root = f"--log_root={roots}"
        knowledge = f"--knowledge={knowledge}"
        roots = f"--bundle_root={roots}"
        self.processes = []
        start = self.start
        self.nodes = [start("galen-node", knowledge, roots, f"--host=node{i}") for i in range(nodes)]
        readers = ",".join(node.address for node in self.nodes)
        live = {**{f"node{i}": node.address for i, node in enumerate(self.nodes)}, **(live or {})}
        live = ",".join(f"{name}={address}" for name, address in live.items())
        self.agents = {
            "summarization": start("galen-summarization", knowledge, log_root),
            "planning": start("galen-planning", knowledge),
            "execution": start("galen-execution", knowledge, roots, f"--bundle_readers={readers}",
                               f"--nodes={live}", *execution_arguments),
            "reflection": start("galen-reflection", knowledge),
            "conclusion": start("galen-conclusion", knowledge),
        }
        self.orchestrator = self.start_orchestrator(*orchestrator_arguments)

    def start(self, *arguments, **more):
        self.processes.append(Process(*arguments, *self.everywhere, **more))
        return self.processes[-1]

    def start_orchestrator(self, *arguments, port=0):
        self.orchestrator = self.start(
            "galen-orchestrator", f"--store={self.store}",
            *[f"--{name}={agent.address}" for name, agent in self.agents.items()], *arguments,
            port=port)
        return self.orchestrator

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in reversed(self.processes):
            process.stop()
        self.scratch.cleanup()


def of_nodes(results):
    """Those of the check results that nodes were asked for: what failed before the mesh itself knows."""
    return [result for result in results if result["check"] != "history.node"]


def comparable(diagnosis):
    """What two runs of one incident must share: all but names, times and durations."""
    diagnosis = json.loads(json.dumps(diagnosis))
    name = diagnosis.pop("name")
    for field in ("createTime", "updateTime", "lastSequence", "traceId"):
        diagnosis.pop(field, None)
    for result in diagnosis.get("checkResults", []):
        result.pop("duration", None)
    return json.loads(json.dumps(diagnosis).replace(name, "NAME"))

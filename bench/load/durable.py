#!/usr/bin/env python3
"""Durable steps beside those of Restate on the same machine and disk: flows of twelve steps, 32 at a time, each step synced
before it is acknowledged. Ours are diagnoses in the store (durable_steps.cc), Restate's a handler of twelve `ctx.run`, asked
for over its HTTP ingress. All take turns; ratios are of each round. Prints JSON, figures as min / median / max.

    GALEN_BIN=build/bin bench/load/durable.py --directory DIR [--peer DIR2] [--install] [--rounds 15]

DIR is to be on the disk that is meant; DIR2 has Restate's server and SDK for Node.js, which --install fetches by npm (the
server's licence, BSL, allows that much). Without them Restate is SKIPPED, and said to be.
"""
import argparse
import contextlib
import http.client
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, f"{ROOT}/tests/e2e")
import galen  # noqa: E402
from redis_server import die_with_parent, free_port  # noqa: E402

STEPS = 12
PACKAGES = ("@restatedev/restate-server@1.7.12", "@restatedev/restate-sdk@1.17.2")


def spread(values):
    ordered = sorted(values)
    return [round(ordered[0], 4), round(ordered[len(ordered) // 2], 4), round(ordered[-1], 4)]


class Ours:
    def __init__(self, directory):
        program = f"{os.path.dirname(os.path.abspath(galen.BIN))}/bench/durable_steps"
        self.process = subprocess.Popen([program, directory], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        preexec_fn=die_with_parent)

    def run(self, what, flows, at_once):
        self.process.stdin.write(f"{what} {flows} {at_once}\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def stop(self):
        self.process.stdin.close()
        self.process.wait(timeout=60)
        self.process.stdout.close()


class Restate:
    """A server with its default settings (which sync), and the service with the flow in a process of its own."""

    def __init__(self, packages, directory):
        self.ingress, admin, fabric, service = (free_port() for _ in range(4))
        self.processes = []
        environment = {**os.environ, "RESTATE_INGRESS__BIND_PORT": str(self.ingress),
                       "RESTATE_ADMIN__BIND_PORT": str(admin), "RESTATE_DISABLE_TELEMETRY": "true",
                       "RESTATE_LOG_FILTER": "warn", "RESTATE_LOGGING": "ERROR", "NODE_ENV": "production"}
        self.log = open(f"{directory}/restate.log", "w+", encoding="utf-8")
        binary = f"{packages}/node_modules/@restatedev/restate-server-linux-x64/bin/restate-server"
        self.start([binary, "--base-dir", f"{directory}/restate", "--bind-ip", "127.0.0.1", "--bind-port", str(fabric),
                    "--listen-mode", "tcp", "--no-logo"], environment)
        self.start(["node", f"{ROOT}/bench/load/restate_flow.mjs", packages, str(service)], environment)
        deadline = time.monotonic() + 120
        while True:
            try:
                status, answer = self.post(admin, "/deployments", {"uri": f"http://127.0.0.1:{service}"})
                if status in (200, 201) and self.post(self.ingress, "/flow/run", None) == (200, STEPS * 400):
                    return
            except OSError:
                answer = "no answer"
            if time.monotonic() > deadline or any(one.poll() is not None for one in self.processes):
                self.log.seek(0)
                raise SystemExit(f"Restate does not start: {answer}\n{self.log.read()[-2000:]}")
            time.sleep(0.2)

    def start(self, words, environment):
        self.processes.append(subprocess.Popen(words, env=environment, stdout=self.log, stderr=self.log,
                                               preexec_fn=die_with_parent))

    @staticmethod
    def post(port, path, body, connection=None):
        connection = connection or http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read() or "null")

    def run(self, flows, at_once):
        left = iter(range(flows))
        lock = threading.Lock()
        failed = []

        def work():
            with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.ingress, timeout=60)) as connection:
                while True:
                    with lock:
                        if next(left, None) is None:
                            return
                    if self.post(self.ingress, "/flow/run", None, connection) != (200, STEPS * 400):
                        failed.append("a flow failed")

        threads = [threading.Thread(target=work) for _ in range(at_once)]
        begin = time.monotonic()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        took = time.monotonic() - begin
        if failed:
            raise SystemExit(f"Restate: {failed[0]}")
        return took

    def stop(self):
        for process in reversed(self.processes):
            process.send_signal(signal.SIGTERM)
        for process in self.processes:
            try:
                process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.log.close()


def peer(arguments):
    """Where Restate's packages are, or why they are not there."""
    if not arguments.peer:
        return None, "no --peer is given"
    if shutil.which("node") is None:
        return None, "there is no Node.js"
    if arguments.install:
        os.makedirs(arguments.peer, exist_ok=True)
        try:
            done = subprocess.run(["npm", "install", "--no-audit", "--no-fund", *PACKAGES], cwd=arguments.peer, text=True,
                                  capture_output=True, timeout=600)
        except (OSError, subprocess.TimeoutExpired) as error:
            return None, f"npm: {error}"
        if done.returncode != 0:
            return None, f"npm: {done.stderr.strip()[-300:]}"
    if not os.path.isdir(f"{arguments.peer}/node_modules/@restatedev/restate-server-linux-x64"):
        return None, f"{arguments.peer} does not hold it; --install fetches it"
    return os.path.abspath(arguments.peer), None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--directory", required=True, help="on the disk that is meant")
    parser.add_argument("--peer")
    parser.add_argument("--install", action="store_true")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--at-once", type=int, default=32)
    arguments = parser.parse_args()
    packages, missing = peer(arguments)
    if missing:
        print(f"SKIPPED: Restate: {missing}", file=sys.stderr)
    with tempfile.TemporaryDirectory(dir=arguments.directory, prefix="durable-") as scratch:
        ours = Ours(scratch)
        restate = Restate(packages, scratch) if packages else None
        kinds = {"galen": lambda: 1500 * STEPS / ours.run("flows", 1500, arguments.at_once),
                 "floor": lambda: 1500 * STEPS / ours.run("floor", 1500, arguments.at_once)}
        if restate:
            kinds["restate"] = lambda: 64 * STEPS / restate.run(64, arguments.at_once)
        try:
            for _ in range(3):  # until the write-ahead log has its size
                for run in kinds.values():
                    run()
            rates = {name: [] for name in kinds}
            for i in range(arguments.rounds):
                for name in list(kinds)[i % len(kinds):] + list(kinds)[:i % len(kinds)]:
                    rates[name].append(kinds[name]())
        finally:
            ours.stop()
            if restate:
                restate.stop()
    ratios = {f"galen_to_{name}": spread([a / b for a, b in zip(rates["galen"], rates[name])])
              for name in kinds if name != "galen"}
    print(json.dumps({"at_once": arguments.at_once, "rounds": arguments.rounds, "load": os.getloadavg()[0],
                      "steps_per_second": {name: spread(values) for name, values in rates.items()},
                      **ratios, **({"restate": f"SKIPPED: {missing}"} if missing else {})}, indent=1))


if __name__ == "__main__":
    main()

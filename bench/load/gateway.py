#!/usr/bin/env python3
"""What the public face costs: prints JSON, figures as min / median / max.

    GALEN_BIN=build/bin bench/load/gateway.py calls     [--rounds 20]     reading a diagnosis as JSON over HTTP, by the same over gRPC
    GALEN_BIN=build/bin bench/load/gateway.py watchers  [--watchers 1000] [--repeat 3]     memory and delay of streams of events

`calls`: one caller, both sides in turns of 20 calls, 3 or (of the first) 20 turns a round; a ratio is that of the medians of one round. gRPC asks galen-orchestrator itself, HTTP goes
through galen-gateway to the same one. A diagnosis that has only begun, and two with a whole report: of an incident on which nothing could be
checked, and of the example `healthy`.
"""
import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import time
import urllib.error
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, f"{ROOT}/tests/e2e")
import galen  # noqa: E402
import watchers  # noqa: E402

OVER = ("SUCCEEDED", "FAILED", "CANCELLED", "AWAITING_FEEDBACK", "ESCALATED")


def spread(values):
    return {"min": round(min(values), 2), "median": round(statistics.median(values), 2), "max": round(max(values), 2)}


class Face:
    """A gateway before a mesh of processes, and a key that may ask as often as it likes."""

    def __init__(self, mesh):
        self.mesh = mesh
        self.gateway = mesh.start("galen-gateway", f"--store={mesh.store}", f"--knowledge={ROOT}/knowledge",
                                  f"--orchestrator={mesh.orchestrator.address}", "--requests_per_second=100000",
                                  "--requests_burst=100000", "--diagnoses_per_second=1000", "--diagnoses_burst=1000")
        made = galen.galen("keys", "create", "--store", mesh.store, "--tenant", "acme", "--role", "operator")
        self.key = made.stdout.strip()
        while True:
            try:
                self.ask("/v1/tenants/acme/diagnoses")
                return
            except urllib.error.HTTPError as error:
                if error.code != 401:
                    raise
                time.sleep(0.05)

    def ask(self, path, body=None):
        request = urllib.request.Request(
            f"http://{self.gateway.address}{path}", data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def create(self, incident):
        return self.ask("/v1/tenants/acme/diagnoses", {"incident": incident})["name"]

    def await_end(self, name):
        while self.ask(f"/v1/{name}?fields=state")["state"] not in OVER:
            time.sleep(0.05)


def calls(face, options):
    program = os.path.join(os.path.dirname(os.path.abspath(galen.BIN)), "bench", "public_calls")
    figures = {}
    summarization = face.mesh.agents["summarization"].process
    for size, incident in (("begun", None), ("awaiting_feedback", {"description": "NCCL WARN Connect failed: Connection refused"}),
                           ("healthy", {"description": "it is slow", "bundle": f"{galen.EXAMPLES}/healthy"})):
        if incident is None:
            summarization.send_signal(signal.SIGSTOP)
        name = face.create(incident or {"description": "it hangs"})
        if incident is not None:
            summarization.send_signal(signal.SIGCONT)
            face.await_end(name)
        run = subprocess.run([program, f"--grpc={face.mesh.orchestrator.address}", f"--http={face.gateway.address}", f"--key={face.key}",
                              f"--name={name}", f"--rounds={options.rounds}", f"--turns={20 if incident is None else 3}"], text=True, capture_output=True, check=True)
        rounds = [json.loads(line) for line in run.stdout.splitlines()]
        figures[size] = {"rounds": len(rounds), "grpc_bytes": rounds[-1]["grpc_bytes"], "http_bytes": rounds[-1]["http_bytes"],
                         "grpc_us": spread([r["grpc_us"] for r in rounds]), "http_us": spread([r["http_us"] for r in rounds]),
                         "ratio": spread([r["http_us"] / r["grpc_us"] for r in rounds])}
    summarization.send_signal(signal.SIGCONT)
    return figures


def watching(options):
    """Nothing happens until all watch: what the programs then hold more is theirs. A mesh anew each time, since memory that was used
    before is used again."""
    kib, orchestrator_kib, whole, seconds, events = [], [], 0, [], 0
    for _ in range(options.repeat):
        with galen.Mesh() as mesh:
            face = Face(mesh)
            pids = [face.gateway.process.pid, mesh.orchestrator.process.pid]
            summarization = mesh.agents["summarization"].process
            summarization.send_signal(signal.SIGSTOP)
            names = [face.create({"description": "it hangs", "bundle": f"{galen.EXAMPLES}/nccl-connection-refused"}) for _ in range(10)]
            before = [watchers.resident_kib(pid) for pid in pids]
            open_at = []

            def ready():
                for pid, was, found in zip(pids, before, (kib, orchestrator_kib)):
                    found.append((watchers.resident_kib(pid) - was) / options.watchers)
                open_at.append(time.perf_counter())
                summarization.send_signal(signal.SIGCONT)

            try:
                seen = watchers.watch_all(face.gateway.address, face.key, [names[i % 10] for i in range(options.watchers)], ready)
            finally:
                summarization.send_signal(signal.SIGCONT)
            seconds.append(time.perf_counter() - open_at[0])
            whole += sum(watcher.is_whole() for watcher in seen)
            events += sum(len(watcher.sequences) for watcher in seen)
    return {"watchers": options.watchers, "times": options.repeat, "saw_each_event_once_in_order": whole, "events": events,
            "gateway_kib_a_watcher": spread(kib), "orchestrator_kib_a_watcher": spread(orchestrator_kib), "seconds_to_the_end": spread(seconds)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["calls", "watchers"])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--watchers", type=int, default=1000)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    if options.what == "watchers":
        print(json.dumps(watching(options), indent=1))
        return
    with galen.Mesh() as mesh:
        print(json.dumps(calls(Face(mesh), options), indent=1))


if __name__ == "__main__":
    main()

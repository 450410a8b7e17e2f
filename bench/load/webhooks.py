#!/usr/bin/env python3
"""How long galen-gateway takes to answer webhooks, with a mesh of processes behind it. Prints JSON, figures as min / median / max.

    GALEN_BIN=build/bin bench/load/webhooks.py [--rate 50] [--seconds 20] [--repeat 3] [--incidents 0.02] [--redis]

Sends signed deliveries at an even rate over connections that stay open, each at its own time, whether the one before was answered or
not; so what waits is counted. A part of them opens an incident of its own, whose diagnosis then runs beside; the others say more of
one that is open.
"""
import argparse
import base64
import hashlib
import hmac
import http.client
import json
import os
import queue
import statistics
import sys
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, f"{ROOT}/tests/e2e")
import galen  # noqa: E402
import redis_server  # noqa: E402

SECRET = base64.b64encode(b"a secret of thirty-two bytes ...").decode()
CONNECTIONS = 8


def spread(values):
    return {"min": round(min(values), 2), "median": round(statistics.median(values), 2), "max": round(max(values), 2)}


def delivery(run, number, incidents):
    """Body and headers of one delivery."""
    new = incidents > 0 and number % max(1, round(1 / incidents)) == 0
    body = json.dumps({"type": "incident.opened", "data": {
        "id": f"{run}-{number}" if new else f"{run}-open", "description": "training hangs " + "x" * 1500, "nodes": ["node0"],
        "severity": "high"}}).encode()
    sent, identity = str(int(time.time())), f"msg_{run}_{number}"
    mac = hmac.new(base64.b64decode(SECRET), f"{identity}.{sent}.".encode() + body, hashlib.sha256).digest()
    return body, {"webhook-id": identity, "webhook-timestamp": sent,
                  "webhook-signature": "v1," + base64.b64encode(mac).decode()}


def measure(gateway, run, options):
    """Milliseconds of each answer, from the moment that it was due, and how many were not 202."""
    work, took, wrong, lock = queue.Queue(), [], {}, threading.Lock()

    def send():
        connection = http.client.HTTPConnection(gateway.address, timeout=60)
        while True:
            job = work.get()
            if job is None:
                break
            due, body, headers = job
            connection.request("POST", "/hooks/own", body, headers)
            answer = connection.getresponse()
            answer.read()
            with lock:
                took.append((time.perf_counter() - due) * 1000)
                if answer.status != 202:
                    wrong[answer.status] = wrong.get(answer.status, 0) + 1
        connection.close()

    threads = [threading.Thread(target=send) for _ in range(CONNECTIONS)]
    for thread in threads:
        thread.start()
    begin = time.perf_counter()
    for number in range(int(options.rate * options.seconds)):
        job = delivery(run, number, options.incidents)
        due = begin + number / options.rate
        time.sleep(max(0, due - time.perf_counter()))
        work.put((due, *job))
    for _ in threads:
        work.put(None)
    for thread in threads:
        thread.join()
    took.sort()
    return {"p50": took[len(took) // 2], "p99": took[int(len(took) * 0.99)], "longest": took[-1], "wrong": wrong,
            "count": len(took)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rate", type=float, default=50)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--incidents", type=float, default=0.02)
    parser.add_argument("--redis", action="store_true")
    options = parser.parse_args()
    server = redis_server.Redis() if options.redis else None
    with galen.Mesh(store=server.url if server else None) as mesh:
        for name, text in (("secret", SECRET),
                           ("hooks.yaml", "endpoints: [{endpoint: own, sender: standard-webhooks, tenant: acme, secrets: [secret]}]")):
            with open(f"{mesh.scratch.name}/{name}", "w", encoding="utf-8") as file:
                file.write(text)
        gateway = mesh.start("galen-gateway", f"--store={mesh.store}", f"--knowledge={ROOT}/knowledge",
                             f"--webhooks={mesh.scratch.name}/hooks.yaml", f"--orchestrator={mesh.orchestrator.address}",
                             "--requests_per_second=100000", "--requests_burst=100000")
        measure(gateway, "warm", argparse.Namespace(**{**vars(options), "seconds": 2}))
        runs = [measure(gateway, str(i), options) for i in range(options.repeat)]
    if server:
        server.__exit__()
    print(json.dumps({
        "rate": options.rate, "seconds": options.seconds, "incidents": options.incidents, "store": "redis" if options.redis else "sqlite",
        "deliveries": sum(run["count"] for run in runs), "not_202": [run["wrong"] for run in runs],
        **{f"{name}_ms": spread([run[name] for run in runs]) for name in ("p50", "p99", "longest")}}, indent=1))


if __name__ == "__main__":
    main()

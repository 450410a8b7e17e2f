#!/usr/bin/env python3
"""What a diagnosis is delayed by a language model that is down, hangs or dies half-way.

Each way gets a mesh of its own (`galen up`), and the meshes are asked in turns, so that whatever else the machine does
meets all alike. No two reports are alike, so that no answer comes from the cache. The time of a diagnosis is that from its creation to its report, as its event log has it. `total` is the
time limit of a call in llm.yaml.
"""
import argparse
import datetime
import html
import http.server
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, f"{ROOT}/bench/node")
from measure import Program  # noqa: E402

TOTAL = 3.0
# What the endpoint does.
WAYS = ("without a model", "answers", "refuses connections", "hangs", "hangs after two answers",
        "503 after two answers")


class Endpoint:
    """A server on loopback that answers the draft that a prompt holds, or does not answer."""

    def __init__(self, way):
        self.way = way
        self.count = 0  # since the diagnosis began
        self.all = 0
        self.over = threading.Event()
        endpoint = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                endpoint.count += 1
                endpoint.all += 1
                late = "after two" not in endpoint.way or endpoint.count > 2
                if endpoint.way.startswith("hangs") and late:
                    endpoint.over.wait()
                    self.close_connection = True
                    return
                if endpoint.way.startswith("503") and late:
                    self.send(503, {"error": {"message": "going down"}})
                    return
                prompt = next(m["content"] for m in body["messages"] if m["role"] == "user")
                draft = re.findall(r'<plain name="draft">(.*?)</plain>', prompt, re.S)[-1]
                self.send(200, {"model": "m", "choices": [{
                    "message": {"role": "assistant", "content": html.unescape(draft)},
                    "finish_reason": "stop"}]})

            def send(self, code, answer):
                data = json.dumps(answer).encode()
                self.send_response(code)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"
        if way == "refuses connections":
            self.server.server_close()
        else:
            threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.over.set()
        if self.way != "refuses connections":
            self.server.shutdown()
            self.server.server_close()


def seconds(diagnosis):
    def at(name):
        return datetime.datetime.fromisoformat(re.sub(r"(\.\d{1,6})\d*Z$|Z$", r"\1+00:00", diagnosis[name]))
    return (at("updateTime") - at("createTime")).total_seconds()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", default=f"{ROOT}/build/bin")
    parser.add_argument("--bundle", default=f"{ROOT}/docs/examples/cublas-ecc")
    parser.add_argument("--rounds", type=int, default=12)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        endpoints, meshes, times, sent, causes = {}, {}, {}, {}, {}
        try:
            for i, way in enumerate(WAYS):
                argv = [f"{arguments.bin}/galen", "up", "--listen", "127.0.0.1:0", "--store",
                        f"{scratch}/{i}.db"]
                if i > 0:
                    endpoints[way] = Endpoint(way)
                    with open(f"{scratch}/{i}.yaml", "w", encoding="utf-8") as file:
                        file.write(f"url: {endpoints[way].url}\nmodel: m\nproxy: none\n"
                                   f"timeouts: {{total: {TOTAL:g}s}}\ncircuit: {{cool_down: 5m}}\n")
                    argv += ["--llm", f"{scratch}/{i}.yaml"]
                meshes[way] = Program(argv, f"{scratch}/{i}.log", cwd=ROOT)
                times[way], sent[way], causes[way] = [], [], set()
            for turn in range(arguments.rounds):
                for way in WAYS:
                    endpoint = endpoints.get(way)
                    before = endpoint.all if endpoint else 0
                    if endpoint:
                        endpoint.count = 0
                    run = subprocess.run(
                        [f"{arguments.bin}/galen", "diagnose", "--json", "--server",
                         f"127.0.0.1:{meshes[way].port()}", "--bundle", arguments.bundle,
                         f"Report {turn}: the job stopped with CUBLAS_STATUS_EXECUTION_FAILED"],
                        text=True, capture_output=True, cwd=ROOT, check=True)
                    diagnosis = json.loads(run.stdout)
                    times[way].append(seconds(diagnosis))
                    sent[way].append(endpoint.all - before if endpoint else 0)
                    causes[way].add(diagnosis["report"]["primaryCause"]["label"])
        finally:
            for endpoint in endpoints.values():
                endpoint.close()
            for mesh in meshes.values():
                mesh.__exit__()
    print(f"{arguments.rounds} diagnoses each of {os.path.basename(arguments.bundle)}, total {TOTAL:g} s")
    print("| the model | min / median / max s | requests by diagnosis | causes |\n|---|---|---|---|")
    for way in WAYS:
        of = times[way]
        print(f"| {way} | {min(of):.3f} / {statistics.median(of):.3f} / {max(of):.3f} | "
              f"{' '.join(map(str, sent[way]))} | {', '.join(sorted(causes[way]))} |")
    print(f"beyond the time limit, the slowest of all took {max(map(max, times.values())) - TOTAL:.3f} s")


if __name__ == "__main__":
    main()

"""Two customers of one Galen that learns: whatever one of them sends, by any door, the other reads nothing of it, neither in answers
and streams, nor in metrics, nor in what a language model is asked for its diagnoses."""
import io
import json
import os
import random
import re
import signal
import string
import tarfile
import tempfile
import time
import unittest
import urllib.request

import galen
import uploads_test
from gateway_test import Client
from knowledge_test import learned_of
from model_test import Endpoint
from webhooks_test import TOKEN

KNOWLEDGE = f"{galen.ROOT}/knowledge"
LABEL = galen.CAUSES["cublas-ecc"][0]
WORDS = "Training of the large model stopped with CUBLAS_STATUS_EXECUTION_FAILED on every rank"
# Galen's own words about what it learns from acme.
LEARNED = ("A kernel of a mathematical library failed, often after an earlier fault of another kernel. C++ abort; the what() line carries the "
           "cause. Hardware memory error. Launcher stops the others after one failed. Overflow or NaN from model numerics or data. Row remap "
           "waiting for a GPU reset. Uncorrectable (double-bit) ECC error in GPU DRAM")
# So many characters in a row are no accident.
RUN = 12


class TwoTenants(unittest.TestCase):
    send = uploads_test.Uploads.send

    def setUp(self):
        self.random = random.Random(29)
        self.marks = {}
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        root = self.scratch.name
        self.site = f"{root}/site"
        os.mkdir(self.site)
        self.endpoint = Endpoint()
        self.addCleanup(self.endpoint.close)
        for name, text in (("llm.yaml", f"url: {self.endpoint.url}\nmodel: scripted\nproxy: none\nretries: {{most: 0}}\n"
                                        f"embedding: {{model: letters, dimensions: 8}}\n"),
                           ("token", TOKEN), ("hooks.yaml", "endpoints:\n  - {endpoint: alerts, sender: alertmanager, tenant: acme, secrets: [token]}\n")):
            with open(f"{root}/{name}", "w", encoding="utf-8") as file:
                file.write(text)
        self.store = f"{root}/galen.db"
        self.up = self.start("galen", "up", "--store", self.store, "--llm", f"{root}/llm.yaml", "--site", self.site,
                             f"--knowledge={KNOWLEDGE},{self.site}", "--bundle-root", f"{root}/uploads")
        self.gateway = self.start("galen-gateway", f"--store={self.store}", f"--orchestrator={self.up.address}",
                                  f"--execution={self.up.address}", f"--uploads={root}/uploads", f"--knowledge={KNOWLEDGE}",
                                  f"--webhooks={root}/hooks.yaml")
        self.client = self.make_client("acme")

    def start(self, program, *arguments):
        process = galen.Process(program, *arguments, "--metrics=127.0.0.1:0")
        self.addCleanup(process.stop)
        return process

    def make_client(self, tenant, *arguments):
        made = galen.galen("keys", "create", "--store", self.store, "--tenant", tenant, *arguments)
        self.assertEqual(made.returncode, 0, made.stderr)
        client = Client(self.gateway.address, made.stdout.strip())
        while client.ask("GET", "/v1/whoami").status == 401:
            time.sleep(0.05)
        return client

    def mark(self, door):
        """A word that nobody else says."""
        self.marks[door] = "".join(self.random.choices(string.ascii_lowercase, k=20))
        return self.marks[door]

    def told_of(self, text):
        """The doors whose words stand in a text, by any run of their characters."""
        text = text.lower()
        return {door for door, mark in self.marks.items() if any(mark[i:i + RUN] in text for i in range(len(mark) - RUN + 1))}

    def bundle(self, marked):
        made = io.BytesIO()
        top = self.mark("name of the bundle's directory") if marked else "case"
        with tarfile.open(fileobj=made, mode="w:gz") as archive:
            for folder, _, files in os.walk(f"{galen.EXAMPLES}/cublas-ecc"):
                for name in sorted(files):
                    path = os.path.join(folder, name)
                    with open(path, "rb") as file:
                        data = file.read()
                    inside = os.path.relpath(path, f"{galen.EXAMPLES}/cublas-ecc")
                    if marked and inside.startswith("logs/"):
                        data += f"\nRuntimeError: CUDA error in {self.mark('log in the bundle ' + inside)}\n".encode()
                    entry = tarfile.TarInfo(f"{top}/{inside}")
                    entry.size = len(data)
                    archive.addfile(entry, io.BytesIO(data))
        return made.getvalue()

    def diagnose(self, client, tenant, incident, **more):
        made = client.ask("POST", f"/v1/tenants/{tenant}/diagnoses", {"incident": incident}, **more)
        self.assertEqual(made.status, 200, made.body)
        client.watch(made.json["name"])
        return client.ask("GET", f"/v1/{made.json['name']}").json

    def send_all(self):
        """By every door of acme; the names of its diagnoses."""
        mark, ask = self.mark, self.client.ask
        names = []
        for _ in range(2):
            status, upload = self.send(self.bundle(marked=True), "bundle", f"{mark('name of a bundle')}.tar.gz")
            self.assertEqual(status, 200, upload)
            names.append(self.diagnose(self.client, "acme", {
                "description": f"{WORDS}, says {mark('description')}", "bundle": upload["name"],
                "workload": {"name": mark("workload")}, "environment": {"attributes": {mark("attribute"): mark("value")}}},
                headers={"User-Agent": mark("User-Agent"), "X-Request-Id": mark("X-Request-Id")})["name"])
        status, upload = self.send(f"NCCL WARN Connect failed {mark('log')}\n".encode(), "log", f"{mark('name of a log')}.log")
        self.assertEqual(status, 200, upload)
        names.append(self.diagnose(self.client, "acme", {
            "description": f"{WORDS} {mark('another description')}", "nodes": [mark("node")],
            "logs": [{"path": upload["name"], "kind": "JOB"}, {"path": f"{mark('path of a log')}.log", "kind": "JOB",
                                                              "content": "TkNDTCBXQVJOIENvbm5lY3QgZmFpbGVk"}]})["name"])
        alert = {"version": "4", "receiver": "r", "status": "firing", "groupKey": "g", "alerts": [
            {"status": "firing", "fingerprint": "f", "startsAt": "2026-11-18T03:12:44Z", "endsAt": "0001-01-01T00:00:00Z",
             "labels": {"alertname": "GPUXidError", mark("label of an alert"): mark("value of an alert")},
             "annotations": {"summary": f"Xid 79 {mark('summary of an alert')}"}}]}
        hook = Client(self.gateway.address, TOKEN).ask("POST", "/hooks/alerts", alert)
        self.assertEqual(hook.status, 202, hook.body)
        names.append(hook.json["name"])
        while ask("GET", f"/v1/{names[-1]}").status == 404:
            time.sleep(0.05)
        told = ask("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "diagnose", "arguments": {
            "description": f"{WORDS}: {mark('what an assistant said')}", "requestId": mark("request id")}}},
            headers={"MCP-Protocol-Version": "2025-11-25"})
        self.assertEqual(told.status, 200, told.body)
        names.append(told.json["result"]["structuredContent"]["name"])
        ask("POST", "/v1/tenants/acme:runChecks", {"checks": ["system.services"], "nodes": [mark("node that was asked")]})
        for i, name in enumerate(names):
            self.client.watch(name)
            ask("POST", f"/v1/{name}:submitFeedback", {"text": f"The tray is {mark(f'feedback {i}')}"})  # 400 where it is over
            self.client.watch(name)
            said = ask("POST", f"/v1/{name}:submitFeedback", {"confirmedLabel": LABEL, "confirmedBy": mark(f"confirmed by {i}"),
                                                        "text": f"Replaced {mark(f'text of a confirmation {i}')}"})
            self.assertEqual(said.status, 200, said.body)
        ask("POST", f"/v1/{names[-1]}:escalate", {"reason": mark("reason")})
        return names

    def all_that_is_read(self, client, names):
        """What a client can ask for by the API's description, about what is its own and about what is everybody's."""
        read = []
        for path, methods in client.ask("GET", "/openapi.json").json["paths"].items():
            if "get" not in methods or path.endswith(":watch"):
                continue
            for parts in names:
                try:
                    read.append(client.ask("GET", path.format(**parts)).body.decode())
                except KeyError:
                    pass
        for parts in names:
            with urllib.request.urlopen(urllib.request.Request(
                    f"http://{client.address}/v1/tenants/{parts['tenant']}/diagnoses/{parts['diagnosis']}:watch",
                    headers={"Authorization": f"Bearer {client.key}"}), timeout=60) as stream:
                read.append(stream.read().decode())
        read.append(client.ask("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": "list_diagnoses", "arguments": {}}}, headers={"MCP-Protocol-Version": "2025-11-25"}).body.decode())
        return "\n".join(read)

    def test_nothing_that_one_sends_is_read_by_the_other(self):
        names = self.send_all()
        # Acme reads its own words: the doors were open.
        own = [{"tenant": "acme", "diagnosis": name.rsplit("/", 1)[1], "upload": "none", "action": "a" * 16} for name in names]
        self.assertGreaterEqual(len(self.told_of(self.all_that_is_read(self.client, own))), 15)
        for proposal in sorted(os.listdir(f"{self.site}/proposals")):
            if proposal.endswith(".yaml"):
                run = galen.galen("kb", "review", "--accept", proposal[:-5], "--by", "bob", "--site", self.site,
                                  "--knowledge", f"{KNOWLEDGE},{self.site}")
                self.assertEqual(run.returncode, 0, run.stderr)
        self.up.process.send_signal(signal.SIGHUP)
        while not any("is in use, in place of" in line for line in list(self.up.log)):
            self.assertIsNone(self.up.process.poll(), "".join(self.up.log))
            time.sleep(0.05)

        asked_before = len(self.endpoint.asked)
        customer, operator = self.make_client("globex"), self.make_client("globex", "--role", "operator")
        status, upload = self.send(self.bundle(marked=False), "bundle", "case.tar.gz", client=customer, tenant="globex")
        self.assertEqual(status, 200, upload)
        theirs = [self.diagnose(customer, "globex", incident) for incident in (
            {"description": WORDS, "bundle": upload["name"]}, {"description": f"{WORDS}, says somebody"}, {"description": LEARNED})]
        # What was learned of acme's diagnosis is known of here: this way was open, too.
        similar = json.dumps([operator.ask("GET", f"/v1/{diagnosis['name']}").json for diagnosis in theirs])
        self.assertTrue(any(learned_of(name) in similar for name in names), similar[:2000])
        parts = [{"tenant": "globex", "diagnosis": diagnosis["name"].rsplit("/", 1)[1], "upload": upload["name"].rsplit("/", 1)[1],
                  "action": "a" * 16} for diagnosis in theirs]
        for client in (customer, operator):
            self.assertEqual(self.told_of(self.all_that_is_read(client, parts)), set())
        self.assertGreater(len(self.endpoint.asked), asked_before)
        self.assertEqual(self.told_of(json.dumps(self.endpoint.asked[asked_before:])), set())
        for process in (self.up, self.gateway):
            port = re.search(r"metrics on port (\d+)", "".join(process.log)).group(1)
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as page:
                self.assertEqual(self.told_of(page.read().decode()), set())


if __name__ == "__main__":
    unittest.main()

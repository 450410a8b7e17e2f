"""The public API over HTTP: galen-gateway in front of a mesh of processes, asked as a customer would."""
import contextlib
import gzip
import http.client
import json
import os
import signal
import socket
import subprocess
import threading
import time
import unittest
import urllib.error
import urllib.request

import galen
import watchers

# Without a bundle or nodes of its own: nothing to check, so it ends by itself, awaiting feedback.
INCIDENT = {"incident": {"description": "NCCL WARN Connect failed: Connection refused on every rank"}}


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)


class Client:
    """Asks one gateway with one key."""

    def __init__(self, address, key):
        self.address, self.key = address, key

    def ask(self, method, path, body=None, headers=None):
        request = urllib.request.Request(
            f"http://{self.address}{path}", method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self.key}", "Content-Type": "application/json", **(headers or {})})
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return Answer(answer.status, answer.headers, answer.read())
        except urllib.error.HTTPError as error:
            with error:
                return Answer(error.code, error.headers, error.read())

    def watch(self, name, last=None, most=None):
        """The events of a stream, as (id, event, data), until it ends, or until there are `most`."""
        headers = {"Authorization": f"Bearer {self.key}"}
        if last is not None:
            headers["Last-Event-ID"] = last
        request = urllib.request.Request(f"http://{self.address}/v1/{name}:watch", headers=headers)
        events, identity, kind = [], None, "message"
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                if answer.status == 204:
                    return events
                for line in answer:
                    field, _, value = line.decode().rstrip("\n").partition(": ")
                    if field == "id":
                        identity = value
                    elif field == "event":
                        kind = value
                    elif field == "data":
                        events.append((identity, kind, json.loads(value)))
                        kind = "message"
                        if most is not None and len(events) == most:
                            return events
        except urllib.error.HTTPError:
            raise
        except (http.client.HTTPException, OSError):
            pass  # the stream was lost: the caller goes on
        return events


def ask_for_all_of_another_tenant(test, client, other, names):
    """Has `other` ask for everything of tenants that the API's description names, filled in by `names` of a tenant that is not
    its own: there is nothing, and nothing in the answer tells whether there is. How much was asked."""
    asked = 0
    for path, methods in client.ask("GET", "/openapi.json").json["paths"].items():
        for method, operation in methods.items():
            parameters = {p["name"] for p in operation.get("parameters", ()) if p["in"] == "path"}
            if not parameters:
                continue  # the same for everyone
            test.assertLessEqual(parameters, set(names), f"{path}: a resource that this test does not know")
            target = path.format(**names)
            body = {} if method == "post" else None
            answer = other.ask(method.upper(), target, body)
            test.assertEqual((answer.status, answer.json["error"]["status"]), (404, "NOT_FOUND"), target)
            # The same as of what is not there at all.
            absent = path.format(**{**names, "tenant": "nobody"})
            test.assertEqual(other.ask(method.upper(), absent, body).json["error"]["message"].replace("nobody", names["tenant"]),
                             answer.json["error"]["message"], absent)
            asked += 1
    return asked


class Gateway(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.mesh = galen.Mesh()
        cls.gateway = cls.start_gateway()
        cls.key = cls.make_key("--tenant", "acme")
        cls.client = Client(cls.gateway.address, cls.key)
        cls.await_key(cls.client)

    @classmethod
    def tearDownClass(cls):
        cls.mesh.__exit__()

    @classmethod
    def start_gateway(cls, *arguments, port=0):
        return cls.mesh.start("galen-gateway", f"--store={cls.mesh.store}",
                              f"--orchestrator={cls.mesh.orchestrator.address}",
                              f"--execution={cls.mesh.agents['execution'].address}", *arguments, port=port)

    @classmethod
    def make_key(cls, *arguments):
        made = galen.galen("keys", "create", "--store", cls.mesh.store, *arguments)
        assert made.returncode == 0, made.stderr
        return made.stdout.strip()

    @classmethod
    def await_key(cls, client, good=True):
        while (client.ask("GET", "/v1/tenants/acme/diagnoses").status != 401) != good:
            time.sleep(0.05)

    def create(self, body=None, **more):
        answer = self.client.ask("POST", "/v1/tenants/acme/diagnoses", body or INCIDENT, **more)
        self.assertEqual(answer.status, 200, answer.body)
        return answer.json["name"]

    def assert_whole(self, events):
        """Every event once and in order, and the end."""
        self.assertEqual([int(identity) for identity, kind, _ in events if kind == "message"],
                         list(range(1, len(events))))
        self.assertEqual(events[-1][1], "end")
        for identity, kind, data in events[:-1]:
            self.assertEqual((kind, data["sequence"]), ("message", identity))

    def test_a_diagnosis_from_creation_to_report(self):
        name = self.create()
        self.assert_whole(self.client.watch(name))
        diagnosis = self.client.ask("GET", f"/v1/{name}").json
        self.assertEqual(diagnosis["state"], "AWAITING_FEEDBACK")
        self.assertIn("ticket", diagnosis["report"])
        self.assertEqual(self.client.ask("GET", f"/v1/{name}?fields=state,report.outcome").json,
                         {"state": "AWAITING_FEEDBACK", "report": {"outcome": "NO_CAUSE_CONFIRMED"}})
        escalated = self.client.ask("POST", f"/v1/{name}:escalate", {"reason": "for a person"})
        self.assertEqual(escalated.json["state"], "ESCALATED", escalated.body)
        again = self.client.ask("POST", f"/v1/{name}:cancel", {})
        self.assertEqual((again.status, again.json["error"]["status"]), (400, "FAILED_PRECONDITION"))

    def test_the_example_client_needs_nothing_but_curl(self):
        run = subprocess.run(["docs/examples/clients/diagnose.sh", 'rank 3: "NCCL WARN" \\ lost\nCUDA error'], cwd=galen.ROOT, text=True,
                             capture_output=True, timeout=120,
                             env={**os.environ, "GALEN_API": f"http://{self.gateway.address}", "GALEN_KEY": self.key, "GALEN_TENANT": "acme"})
        self.assertEqual(run.returncode, 0, run.stderr)
        lines = run.stdout.splitlines()
        self.assertRegex(lines[0], "^tenants/acme/diagnoses/")
        self.assertEqual(lines[1], "1 created")
        self.assertEqual(json.loads(lines[-1])["state"], "AWAITING_FEEDBACK")
        incident = self.client.ask("GET", f"/v1/{lines[0]}").json["incident"]
        self.assertEqual(incident["description"], 'rank 3: "NCCL WARN" \\ lost\nCUDA error')

    def test_the_example_client_with_generated_stubs(self):
        try:
            import grpc_tools  # noqa: F401
        except ImportError:
            self.skipTest("grpcio-tools is not installed (pip install grpcio grpcio-tools)")
        run = subprocess.run(["python3", "docs/examples/clients/diagnose.py", INCIDENT["incident"]["description"],
                              "--server", self.mesh.orchestrator.address], cwd=galen.ROOT, text=True, capture_output=True, timeout=120)
        self.assertEqual(run.returncode, 0, run.stderr)
        lines = run.stdout.splitlines()
        self.assertEqual(lines[1], "1 created")
        self.assertRegex(lines[-1], "^AWAITING_FEEDBACK ")

    def mcp(self, method, params, **headers):
        answer = self.client.ask("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": method, "params": params},
                                 headers={"MCP-Protocol-Version": "2025-11-25", **headers})
        self.assertEqual(answer.status, 200, answer.body)
        return answer.json["result"]

    def test_an_assistant_diagnoses_reads_and_answers(self):
        self.assertEqual(self.mcp("initialize", {"protocolVersion": "2025-11-25", "capabilities": {},
                                                 "clientInfo": {"name": "test", "version": "1"}})["serverInfo"]["name"], "galen")
        tools = [tool["name"] for tool in self.mcp("tools/list", {})["tools"]]
        self.assertIn("diagnose", tools)
        made = self.mcp("tools/call", {"name": "diagnose", "arguments": {**INCIDENT["incident"], "requestId": "mcp-1"}})
        self.assertFalse(made["isError"], made)
        diagnosis = made["structuredContent"]
        self.assertEqual(diagnosis["state"], "AWAITING_FEEDBACK")
        again = self.mcp("tools/call", {"name": "diagnose", "arguments": {**INCIDENT["incident"], "requestId": "mcp-1"}})
        self.assertEqual(again["structuredContent"]["name"], diagnosis["name"])
        signal_id = self.client.ask("GET", f"/v1/{diagnosis['name']}").json["summary"]["signals"][0]["id"]
        evidence = self.mcp("tools/call", {"name": "get_evidence", "arguments": {"name": diagnosis["name"], "id": signal_id}})
        self.assertIn("Connect failed", evidence["content"][0]["text"])
        answered = self.mcp("tools/call", {"name": "submit_feedback", "arguments": {
            "name": diagnosis["name"], "text": "the switch was replaced yesterday"}})
        self.assertEqual(answered["structuredContent"]["state"], "AWAITING_FEEDBACK", answered)
        listed = self.mcp("tools/call", {"name": "list_diagnoses", "arguments": {}})
        self.assertIn(diagnosis["name"], [one["name"] for one in listed["structuredContent"]["diagnoses"]])
        other = self.mcp("tools/call", {"name": "get_diagnosis", "arguments": {"name": "tenants/globex/diagnoses/d"}})
        self.assertTrue(other["isError"])
        self.assertIn("NOT_FOUND", other["content"][0]["text"])

    def test_single_checks_are_run_by_hand_and_by_assistants(self):
        answer = self.client.ask("POST", "/v1/tenants/acme:runChecks", {"checks": ["system.services", "system.kernel_log"], "nodes": ["node1"]})
        self.assertEqual(answer.status, 200, answer.body)
        self.assertEqual([result["id"] for result in answer.json["results"]], ["system.kernel_log@node1", "system.services@node1"])
        for result in answer.json["results"]:
            self.assertIn(result["status"], ("PASS", "FAIL", "SKIPPED"), result)
        # Of all nodes, by their names.
        answer = self.client.ask("POST", "/v1/tenants/acme:runChecks", {"checks": ["system.services"]})
        self.assertEqual([result["node"] for result in answer.json["results"]], ["node0", "node1"])
        unknown = self.client.ask("POST", "/v1/tenants/acme:runChecks", {"checks": ["no.such"], "nodes": ["node1"]})
        self.assertEqual((unknown.status, unknown.json["error"]["status"]), (400, "INVALID_ARGUMENT"))
        self.assertIn("no.such", unknown.json["error"]["message"])
        checks = self.call_mcp(self.client, "tools/call", {"name": "list_checks", "arguments": {}})
        names = [check["name"] for check in checks["structuredContent"]["checks"]]
        self.assertIn("system.services", names)
        ran = self.call_mcp(self.client, "tools/call", {"name": "run_checks", "arguments": {"checks": ["system.services"], "nodes": ["node0"]}})
        self.assertFalse(ran["isError"], ran)
        self.assertEqual(ran["structuredContent"]["results"][0]["id"], "system.services@node0")

    def test_the_same_report_as_over_grpc(self):
        operator = Client(self.gateway.address, self.make_key("--tenant", "*", "--role", "operator"))
        self.await_key(operator)
        incident = {"description": "torch.distributed: CUDA error: uncorrectable ECC error encountered",
                    "bundle": f"{galen.EXAMPLES}/cublas-ecc"}
        made = operator.ask("POST", "/v1/tenants/default/diagnoses", {"incident": incident})
        self.assertEqual(made.status, 200, made.body)
        self.assert_whole(operator.watch(made.json["name"]))
        report = operator.ask("GET", f"/v1/{made.json['name']}").json["report"]
        self.assertEqual(report["primaryCause"]["label"], galen.CAUSES["cublas-ecc"][0])

    def test_lists_page_by_page(self):
        names = {self.create() for _ in range(3)}
        found, token = set(), ""
        while True:
            page = self.client.ask("GET", f"/v1/tenants/acme/diagnoses?pageSize=2&pageToken={token}").json
            found.update(diagnosis["name"] for diagnosis in page.get("diagnoses", []))
            token = page.get("nextPageToken", "")
            if not token:
                break
        self.assertLessEqual(names, found)
        bad = self.client.ask("GET", "/v1/tenants/acme/diagnoses?pageToken=bogus")
        self.assertEqual(bad.status, 400, bad.body)

    def test_an_idempotency_key_makes_one_diagnosis(self):
        names = set()
        threads = [threading.Thread(target=lambda: names.add(self.create(headers={"Idempotency-Key": "ticket-9"})))
                   for _ in range(10)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(names), 1)

    def test_says_which_field_is_wrong(self):
        for body, field in (({"incident": {"descripton": "x"}}, "diagnosis.incident.descripton"),
                            ({"incident": {}}, "diagnosis.incident.description"),
                            ({"incident": {"description": "x", "bundle": "/etc"}}, "diagnosis.incident.bundle")):
            answer = self.client.ask("POST", "/v1/tenants/acme/diagnoses", body)
            self.assertEqual(answer.status, 400)
            details = {detail["@type"].rsplit(".", 1)[1]: detail for detail in answer.json["error"]["details"]}
            self.assertEqual(details["BadRequest"]["fieldViolations"][0]["field"], field)
            self.assertEqual(details["ErrorInfo"]["domain"], "galen")

    def test_nothing_that_the_description_names_is_there_for_another_tenant(self):
        name = self.create()
        other = Client(self.gateway.address, self.make_key("--tenant", "other", "--role", "approver"))
        while other.ask("GET", "/v1/tenants/other/diagnoses").status == 401:
            time.sleep(0.05)
        names = {"tenant": "acme", "diagnosis": name.split("/")[-1], "action": "a" * 16}
        asked = ask_for_all_of_another_tenant(self, self.client, other, names)
        self.assertGreaterEqual(asked, 10)
        self.assertEqual(other.ask("GET", f"/v1/{name.replace('acme', 'other')}").status, 404)
        self.assertEqual(self.client.ask("GET", f"/v1/{name}").status, 200)

    def test_assistants_of_another_tenant_see_nothing(self):
        name = self.create()
        other = Client(self.gateway.address, self.make_key("--tenant", "other"))
        while other.ask("GET", "/v1/tenants/other/diagnoses").status == 401:
            time.sleep(0.05)
        tools = self.call_mcp(other, "tools/list", {})["tools"]
        for tool in tools:
            arguments = {"name": name, "id": "gpu.ecc@node0", "text": "x", "description": "x", "tenant": "acme", "checks": ["system.memory"]}
            known = tool["inputSchema"]["properties"]
            if tool["name"] == "list_checks":  # the same for everyone
                continue
            self.assertTrue({"name", "tenant"} & set(known), f"{tool['name']}: names no resource")
            result = self.call_mcp(other, "tools/call",
                                   {"name": tool["name"], "arguments": {key: arguments[key] for key in arguments if key in known}})
            self.assertTrue(result["isError"], tool["name"])
            self.assertIn("NOT_FOUND", result["content"][0]["text"], tool["name"])

    @staticmethod
    def call_mcp(client, method, params):
        return client.ask("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": method, "params": params},
                          {"MCP-Protocol-Version": "2025-11-25"}).json["result"]

    def test_a_revoked_key_is_refused(self):
        key = self.make_key("--tenant", "acme", "--note", "to be lost")
        client = Client(self.gateway.address, key)
        self.await_key(client)
        identity = key.split("_")[1]
        listed = galen.galen("keys", "list", "--store", self.mesh.store).stdout
        self.assertIn(identity, listed)
        self.assertNotIn(key.split("_")[2], listed)
        self.assertEqual(galen.galen("keys", "revoke", identity, "--store", self.mesh.store).returncode, 0)
        self.await_key(client, good=False)

    def test_reconnecting_loses_and_doubles_nothing(self):
        name = self.create()
        whole = self.client.watch(name)
        self.assert_whole(whole)
        last, pieces = None, []
        while True:
            part = self.client.watch(name, last, most=20)  # hangs up in mid-stream
            pieces += part
            if not part or part[-1][1] == "end":
                break
            last = part[-1][0]
        # Who hangs up just before the end hears nothing more: there are no newer events.
        self.assertEqual(pieces, whole if part else whole[:-1])
        last = whole[-2][0]
        self.assertEqual(self.client.watch(name, last), [])  # 204: there is nothing newer

    def test_a_gateway_that_is_killed_in_mid_stream_costs_a_reconnection(self):
        gateway = self.start_gateway()
        client = Client(gateway.address, self.key)
        name = self.create()
        events = client.watch(name, most=2)
        gateway.stop(signal.SIGKILL)
        gateway = self.start_gateway(port=gateway.port)
        self.await_key(client)
        events += client.watch(name, last=events[-1][0])
        self.assert_whole(events)
        gateway.stop()

    def test_a_thousand_watchers_each_get_every_event_once_and_in_order(self):
        mesh = type(self).mesh
        gateway = self.start_gateway("--requests_burst=2000", "--diagnoses_burst=100", "--streams_per_key=1000")
        provider = Client(gateway.address, self.make_key("--tenant", "crowd", "--role", "operator"))
        while provider.ask("GET", "/v1/tenants/crowd/diagnoses").status == 401:
            time.sleep(0.05)
        # Nothing happens until all of them watch, so they see it as it comes.
        summarization = mesh.agents["summarization"].process
        summarization.send_signal(signal.SIGSTOP)
        try:
            names = []
            for _ in range(10):
                made = provider.ask("POST", "/v1/tenants/crowd/diagnoses",
                                    {"incident": {"description": "it hangs", "bundle": f"{galen.EXAMPLES}/nccl-connection-refused"}})
                self.assertEqual(made.status, 200, made.body)
                names.append(made.json["name"])
            seen = watchers.watch_all(gateway.address, provider.key, names * 100,
                                      ready=lambda: summarization.send_signal(signal.SIGCONT))
        finally:
            summarization.send_signal(signal.SIGCONT)
        self.assertEqual(len(seen), 1000)
        for name in names:
            of_it = seen[names.index(name)::len(names)]
            for watcher in of_it:
                self.assertTrue(watcher.is_whole(), (watcher.ended, watcher.sequences))
                self.assertEqual(len(watcher.sequences), len(of_it[0].sequences))

    def test_a_place_beyond_the_log_begins_anew_and_says_so(self):
        name = self.create()
        events = self.client.watch(name, last="99999")
        self.assertEqual(events[0][1], "reset")
        self.assert_whole(events[1:])

    def test_a_gateway_drains_on_sigterm(self):
        gateway = self.start_gateway()
        with contextlib.closing(http.client.HTTPConnection(gateway.address, timeout=60)) as idle:
            idle.request("GET", "/healthz")
            self.assertEqual(idle.getresponse().read(), b"ok\n")
            self.assertEqual(gateway.stop(), 0)
        with self.assertRaises(OSError):
            Client(gateway.address, self.key).ask("GET", "/healthz")

    def test_slow_senders_harm_nobody_else(self):
        gateway = self.start_gateway("--max_connections=64")
        slow = []
        for _ in range(300):
            connection = socket.create_connection(("127.0.0.1", gateway.port))
            connection.sendall(b"POST /v1/tenants/acme/diagnoses HTTP/1.1\r\nHost: x\r\nX-Slow: ")
            slow.append(connection)
        client = Client(gateway.address, self.key)
        for _ in range(20):
            self.assertEqual(client.ask("GET", "/v1/tenants/acme/diagnoses?pageSize=1").status, 200)
        for connection in slow:
            connection.close()
        self.assertEqual(gateway.stop(), 0)

    def test_ten_gigabytes_are_refused_before_they_are_sent(self):
        with socket.create_connection(("127.0.0.1", self.gateway.port), timeout=60) as connection:
            connection.sendall(b"POST /v1/tenants/acme/diagnoses HTTP/1.1\r\nHost: x\r\nContent-Length: 10737418240\r\n"
                               b"Authorization: Bearer " + self.key.encode() + b"\r\n\r\n")
            answer = b""
            while piece := connection.recv(4096):
                answer += piece
        self.assertTrue(answer.startswith(b"HTTP/1.1 413 "), answer)
        self.assertEqual(json.loads(answer.split(b"\r\n\r\n", 1)[1])["error"]["details"][0]["reason"],
                         "REQUEST_TOO_LARGE")
        self.assertEqual(self.client.ask("GET", "/healthz").status, 200)

    def test_too_many_requests_are_told_when_to_come_back(self):
        gateway = self.start_gateway("--requests_burst=3", "--requests_per_second=0.01")
        client = Client(gateway.address, self.make_key("--tenant", "busy"))
        path = "/v1/tenants/busy/diagnoses"
        while client.ask("GET", path).status == 401:
            time.sleep(0.05)
        answers = [client.ask("GET", path) for _ in range(3)]
        self.assertEqual([answer.status for answer in answers], [200, 200, 429])
        self.assertEqual(answers[1].headers["X-RateLimit-Remaining"], "0")
        self.assertGreaterEqual(int(answers[2].headers["Retry-After"]), 1)
        # Others are not touched.
        self.assertEqual(Client(gateway.address, self.key).ask("GET", "/v1/tenants/acme/diagnoses").status, 200)
        gateway.stop()

    def test_large_answers_are_compressed_for_those_who_take_it(self):
        plain = self.client.ask("GET", "/openapi.json")
        packed = self.client.ask("GET", "/openapi.json", headers={"Accept-Encoding": "gzip"})
        self.assertEqual(packed.headers["Content-Encoding"], "gzip")
        self.assertEqual(gzip.decompress(packed.body), plain.body)
        self.assertEqual(plain.json["openapi"], "3.1.0")

    def test_an_orchestrator_that_is_away_is_said(self):
        gateway = self.mesh.start("galen-gateway", f"--store={self.mesh.store}", "--orchestrator=127.0.0.1:1")
        answer = Client(gateway.address, self.key).ask("GET", "/v1/tenants/acme/diagnoses")
        self.assertEqual((answer.status, answer.json["error"]["status"]), (503, "UNAVAILABLE"))
        gateway.stop()

    def test_api_keys_do_not_cross_a_network_in_the_clear(self):
        refused = subprocess.run([f"{galen.BIN}/galen-gateway", f"--store={self.mesh.store}", "--listen=0.0.0.0:0"],
                                 text=True, capture_output=True, timeout=60)
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("--https_cert", refused.stderr)


if __name__ == "__main__":
    unittest.main()

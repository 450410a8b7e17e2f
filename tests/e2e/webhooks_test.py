"""Webhooks: other systems report incidents to galen-gateway, in front of a mesh of processes."""
import base64
import hashlib
import hmac
import http.server
import json
import os
import signal
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.request

import galen

GITHUB = "a secret that GitHub was given"
STANDARD = base64.b64encode(b"a secret of thirty-two bytes ...").decode()
TOKEN = "a token of sufficient length"

ENDPOINTS = """
endpoints:
  - {endpoint: alerts, sender: alertmanager, tenant: acme, secrets: [token]}
  - {endpoint: own, sender: standard-webhooks, tenant: acme, secrets: [standard]}
  - {endpoint: chat, sender: slack, tenant: acme, secrets: [token]}
  - {endpoint: issues, sender: github, tenant: acme, secrets: [github],
     poll: {settings: {base: "http://127.0.0.1:PORT", repository: acme/llm}, token: token, every: 1s}}
"""


def alerts(status="firing", group="g", node="node0", started="2026-11-18T03:12:44Z"):
    return json.dumps({"version": "4", "receiver": "r", "status": status, "groupKey": group, "alerts": [
        {"status": status, "fingerprint": f"{group}-{node}", "startsAt": started, "endsAt": "0001-01-01T00:00:00Z",
         "labels": {"alertname": "GPUXidError", "node": node, "severity": "critical"},
         "annotations": {"summary": f"Xid 79 on {node}"}}]}).encode()


class GitHub(http.server.BaseHTTPRequestHandler):
    """GitHub's interface, as far as the gateway looks at it."""
    issues, asked = [], []

    def do_GET(self):
        type(self).asked.append((self.path, self.headers.get("Authorization")))
        body = json.dumps(self.issues).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Webhooks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.mesh = galen.Mesh()
        cls.addClassCleanup(cls.mesh.__exit__)
        cls.github = http.server.ThreadingHTTPServer(("127.0.0.1", 0), GitHub)
        thread = threading.Thread(target=cls.github.serve_forever)
        thread.start()
        cls.addClassCleanup(lambda: (cls.github.shutdown(), thread.join(), cls.github.server_close()))
        cls.site = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.site.cleanup)
        for name, text in (("github", GITHUB), ("standard", STANDARD), ("token", TOKEN),
                           ("hooks.yaml", ENDPOINTS.replace("PORT", str(cls.github.server_port)))):
            with open(os.path.join(cls.site.name, name), "w", encoding="utf-8") as file:
                file.write(text + "\n")
        cls.gateway = cls.start_gateway()
        made = galen.galen("keys", "create", "--store", cls.mesh.store, "--tenant", "acme")
        assert made.returncode == 0, made.stderr
        cls.key = made.stdout.strip()
        while cls.ask(cls.gateway, "GET", "/v1/tenants/acme/diagnoses")[0] == 401:
            time.sleep(0.05)

    @classmethod
    def start_gateway(cls, *arguments, port=0):
        return cls.mesh.start("galen-gateway", f"--store={cls.mesh.store}", f"--knowledge={galen.ROOT}/knowledge",
                              f"--webhooks={cls.site.name}/hooks.yaml",
                              f"--orchestrator={cls.mesh.orchestrator.address}", *arguments, port=port)

    @classmethod
    def ask(cls, gateway, method, path, body=None, headers=None):
        request = urllib.request.Request(f"http://{gateway.address}{path}", method=method, data=body,
                                         headers={"Authorization": f"Bearer {cls.key}", **(headers or {})})
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, answer.headers, json.loads(answer.read())
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.headers, json.loads(error.read())

    def alert(self, gateway=None, **more):
        status, _, body = self.ask(gateway or self.gateway, "POST", "/hooks/alerts", alerts(**more),
                                   {"Authorization": f"Bearer {TOKEN}"})
        self.assertEqual(status, 202, body)
        return body

    def issue(self, gateway=None, event="issues", **body):
        body = json.dumps(body).encode()
        digest = hmac.new(GITHUB.encode(), body, hashlib.sha256).hexdigest()
        return self.ask(gateway or self.gateway, "POST", "/hooks/issues", body,
                        {"X-GitHub-Event": event, "X-GitHub-Delivery": "1", "X-Hub-Signature-256": f"sha256={digest}"})

    def standard(self, data, kind="incident.opened", sent=None, identity="msg_1", tamper=b""):
        body = json.dumps({"type": kind, "data": data}).encode()
        sent = str(int(time.time() if sent is None else sent))
        signed = f"{identity}.{sent}.".encode() + body
        mac = hmac.new(base64.b64decode(STANDARD), signed, hashlib.sha256).digest()
        return self.ask(self.gateway, "POST", "/hooks/own", body + tamper,
                        {"webhook-id": identity, "webhook-timestamp": sent,
                         "webhook-signature": "v1," + base64.b64encode(mac).decode()})

    def await_diagnosis(self, name):
        """The name is answered at once, the diagnosis follows."""
        while True:
            status, _, body = self.ask(self.gateway, "GET", f"/v1/{name}")
            if status == 200:
                return body
            self.assertEqual(status, 404, body)
            time.sleep(0.05)

    def names(self):
        names, token = [], ""
        while True:
            page = self.ask(self.gateway, "GET", f"/v1/tenants/acme/diagnoses?pageSize=100&pageToken={token}")[2]
            names += [diagnosis["name"] for diagnosis in page.get("diagnoses", [])]
            token = page.get("nextPageToken", "")
            if not token:
                return names

    def test_an_alert_becomes_one_diagnosis_and_its_end_none(self):
        first = self.alert(group="one")
        self.assertEqual(first["events"][0]["outcome"], "opened")
        diagnosis = self.await_diagnosis(first["name"])
        self.assertEqual(diagnosis["incident"]["nodes"], ["node0"])
        self.assertIn("Xid 79 on node0", diagnosis["incident"]["description"])
        self.assertEqual(diagnosis["incident"]["environment"]["attributes"]["severity"], "critical")
        self.assertEqual(self.alert(group="one")["name"], first["name"])
        ended = self.alert(group="one", status="resolved")
        self.assertEqual((ended["name"], ended["events"][0]["outcome"]), (first["name"], "closed"))
        self.assertEqual(self.alert(group="one")["name"], first["name"])  # a late copy of the first
        again = self.alert(group="one", started="2026-11-18T05:00:00Z")
        self.assertNotEqual(again["name"], first["name"])
        self.await_diagnosis(again["name"])
        self.assertEqual(sum(name == first["name"] for name in self.names()), 1)

    def test_many_deliveries_of_one_event_at_once_are_one_diagnosis(self):
        other = self.start_gateway()
        names, lock = set(), threading.Lock()

        def send(gateway):
            name = self.alert(gateway, group="storm")["name"]
            with lock:
                names.add(name)

        threads = [threading.Thread(target=send, args=(gateway,)) for gateway in [self.gateway, other] * 20]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(names), 1)
        self.await_diagnosis(names.pop())
        other.stop()

    def test_what_was_tampered_with_or_is_old_is_refused(self):
        data = {"id": "J1", "description": "training hangs"}
        self.assertEqual(self.standard(data)[0], 202)
        self.assertEqual(self.standard(data, tamper=b" ")[0], 401)
        for sent in (time.time() - 301, time.time() + 310):
            status, _, body = self.standard(data, sent=sent)
            self.assertEqual((status, body["error"]["status"]), (401, "UNAUTHENTICATED"))
        wrong = self.ask(self.gateway, "POST", "/hooks/alerts", alerts(), {"Authorization": "Bearer wrong"})
        self.assertEqual(wrong[0], 401)
        self.assertEqual(self.ask(self.gateway, "POST", "/hooks/nobody", alerts())[0], 404)

    def test_a_replay_in_time_is_the_same_diagnosis(self):
        now = time.time()
        names = {self.standard({"id": "J2", "description": "x"}, sent=now, identity="msg_2")[2]["name"] for _ in range(3)}
        self.assertEqual(len(names), 1)

    def test_a_ticket_is_named_in_the_diagnosis(self):
        status, _, body = self.issue(
            action="opened", sender={"login": "ana"}, repository={"full_name": "acme/llm"},
            issue={"id": 312, "number": 12, "title": "NCCL hangs", "html_url": "https://github.com/acme/llm/issues/12",
                   "labels": [{"name": "gpu-incident"}]})
        self.assertEqual(status, 202, body)
        attributes = self.await_diagnosis(body["name"])["incident"]["environment"]["attributes"]
        self.assertEqual({key: value for key, value in attributes.items() if key.startswith("ticket.")},
                         {"ticket.system": "github", "ticket.id": "312", "ticket.key": "12",
                          "ticket.url": "https://github.com/acme/llm/issues/12"})
        self.assertEqual(self.issue(event="ping", zen="Keep it logically awesome.")[0], 200)

    def test_slack_is_answered_in_its_own_words(self):
        body = b"command=%2Fgalen&text=training+hangs+on+node1&trigger_id=77.1&user_id=U1"
        now = str(int(time.time()))
        mac = hmac.new(TOKEN.encode(), f"v0:{now}:".encode() + body, hashlib.sha256).hexdigest()
        status, _, answer = self.ask(self.gateway, "POST", "/hooks/chat", body,
                                     {"X-Slack-Request-Timestamp": now, "X-Slack-Signature": f"v0={mac}",
                                      "Content-Type": "application/x-www-form-urlencoded"})
        self.assertEqual((status, answer["response_type"]), (200, "ephemeral"))
        name = answer["text"].split()[1]
        self.assertEqual(self.await_diagnosis(name)["incident"]["description"].strip(), "training hangs on node1")

    def test_an_event_whose_orchestrator_is_away_is_kept_and_delivered_later(self):
        port = self.mesh.orchestrator.port
        self.mesh.orchestrator.stop(signal.SIGKILL)
        before = self.alert(group="away")
        self.assertEqual(before["events"][0]["outcome"], "opened")
        self.gateway.stop(signal.SIGKILL)  # and the gateway forgets all that it did not write down
        type(self).gateway = self.start_gateway(port=self.gateway.port)
        self.assertEqual(self.alert(group="away")["name"], before["name"])
        self.mesh.start_orchestrator(port=port)
        while self.ask(self.gateway, "GET", f"/v1/{before['name']}")[0] != 200:
            time.sleep(0.1)
        self.assertEqual(sum(name == before["name"] for name in self.names()), 1)

    def test_what_github_lost_is_found_by_looking(self):
        # The first look ever only marks its time; the issue changes after that.
        while not GitHub.asked:
            time.sleep(0.1)
        GitHub.issues = [{"id": 999, "number": 99, "title": "found by looking", "state": "open",
                          "updated_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                          "labels": [{"name": "gpu-incident"}]}]
        while True:
            found = [name for name in self.names()
                     if "found by looking" in self.await_diagnosis(name)["incident"]["description"]]
            if found:
                break
            time.sleep(0.2)
        # The webhook that comes after all is the same incident.
        status, _, body = self.issue(action="labeled", issue=GitHub.issues[0], sender={"login": "ana"})
        self.assertEqual((status, body["name"]), (202, found[0]))
        path, authorization = GitHub.asked[-1]
        self.assertTrue(path.startswith("/repos/acme/llm/issues?state=all&"), path)
        self.assertEqual(authorization, f"Bearer {TOKEN}")

    def test_a_file_that_is_wrong_is_refused_at_the_start(self):
        with tempfile.TemporaryDirectory() as site:
            path = os.path.join(site, "hooks.yaml")
            with open(path, "w", encoding="utf-8") as file:
                file.write("endpoints:\n  - {endpoint: a, sender: githup, tenant: acme, secrets: [nowhere]}\n")
            with self.assertRaises(AssertionError) as refused:
                self.mesh.start("galen-gateway", f"--store={self.mesh.store}", f"--knowledge={galen.ROOT}/knowledge",
                                f"--webhooks={path}", f"--orchestrator={self.mesh.orchestrator.address}")
            self.assertIn(f"{path}:2: error: there is no sender", str(refused.exception))

    def test_the_log_holds_no_secret(self):
        self.alert(group="log")
        log = "".join(line for process in self.mesh.processes for line in process.log)
        for secret in (GITHUB, STANDARD, TOKEN):
            self.assertNotIn(secret, log)


if __name__ == "__main__":
    unittest.main()

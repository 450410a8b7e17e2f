"""Six ticket systems, which are servers of ours on loopback that behave as theirs do."""
import base64
import hashlib
import hmac
import http.server
import json
import re
import threading
import time
import urllib.parse

SECRET = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="


class TicketSystems:
    """All six behind one port, told apart by the first part of the path."""

    def __init__(self):
        self.lock = threading.Lock()
        self.tickets = {}    # (system, mark): how often it was opened
        self.opened = []     # (system, body)
        self.requests = []   # (system, method, path, headers, body)
        self.failures = {}   # system: how many requests more end with 500
        self.slow = {}       # system: seconds before it answers
        self.before_answer = None  # called with the system once a ticket was opened, before the answer
        systems = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                code, answer = systems.handle(self.command, self.path, self.headers, body)
                if code is None:  # the answer gets lost
                    self.close_connection = True
                    return
                data = json.dumps(answer).encode()
                try:
                    self.send_response(code)
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(len(data)))
                    self.end_headers()
                    self.wfile.write(data)
                except OSError:
                    pass  # the gateway is gone

            do_GET = do_POST = do_PUT = do_PATCH = do

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def handle(self, method, path, headers, raw):
        _, system, path = path.split("/", 2)
        body = json.loads(raw) if raw else None
        with self.lock:
            self.requests.append((system, method, "/" + path, dict(headers), body))
            failing = self.failures.get(system, 0) > 0
            self.failures[system] = self.failures.get(system, 0) - 1
        time.sleep(self.slow.get(system, 0))
        if failing:
            return 500, {"error": "not now"}
        opened, answer = getattr(self, system)(method, "/" + path, body, headers)
        if opened and self.before_answer:
            self.before_answer(system)
        return answer

    def open(self, system, mark, body):
        with self.lock:
            number = len(self.opened) + 100
            self.opened.append((system, body))
            self.tickets.setdefault((system, mark), []).append(str(number))
        return str(number)

    def known(self, system, mark):
        with self.lock:
            return list(self.tickets.get((system, mark), []))

    def pagerduty(self, _method, path, body, _headers):
        assert path == "/v2/enqueue" and len(body["routing_key"]) == 32
        if body["event_action"] == "trigger" and not self.known("pagerduty", body["dedup_key"]):
            self.open("pagerduty", body["dedup_key"], body)
            return True, (202, {"status": "success", "dedup_key": body["dedup_key"]})
        return False, (202, {"status": "success", "dedup_key": body["dedup_key"]})

    def servicenow(self, method, path, body, headers):
        assert headers["Authorization"].startswith("Basic ")
        if method == "GET":
            mark = urllib.parse.unquote(re.search("correlation_id%3D([^%&]*)", path)[1])
            return False, (200, {"result": [{"sys_id": n, "number": f"INC{n}"} for n in self.known("servicenow", mark)]})
        if method == "PATCH":
            return False, (200, {"result": {}})
        number = self.open("servicenow", body["correlation_id"], body)
        return True, (201, {"result": {"sys_id": number, "number": f"INC{number}"}})

    def jira(self, method, path, body, headers):
        assert headers["Authorization"].startswith("Basic ")
        if path.endswith("/search/jql"):
            mark = re.search('labels = "([^"]*)"', body["jql"])[1]
            return False, (200, {"issues": [{"key": f"GPU-{n}"} for n in self.known("jira", mark)]})
        if method == "PUT" or path.endswith("/comment"):
            return False, (200, {})
        return True, (201, {"key": f"GPU-{self.open('jira', body['fields']['labels'][1], body)}"})

    def github(self, method, path, body, headers):
        assert headers["Authorization"] == "Bearer secret" and headers["X-GitHub-Api-Version"] == "2022-11-28"
        if method == "GET":
            with self.lock:
                issues = [{"number": i, "body": b["body"]} for i, (s, b) in enumerate(self.opened) if s == "github"]
            return False, (200, issues)
        if method == "PATCH" or path.endswith("/comments"):
            return False, (200, {})
        number = self.open("github", re.search("<!-- (galen-[0-9a-f]*) -->", body["body"])[1], body)
        return True, (201, {"number": int(number), "html_url": f"https://github.example/{number}"})

    def slack(self, method, path, body, headers):
        assert headers["Authorization"] == "Bearer secret"
        if method == "GET":
            with self.lock:
                messages = [{"ts": str(i), "metadata": b["metadata"]} for i, (s, b) in enumerate(self.opened)
                            if s == "slack"]
            return False, (200, {"ok": True, "messages": messages})
        if path.endswith("/chat.update") or "thread_ts" in body:
            return False, (200, {"ok": True})
        number = self.open("slack", body["metadata"]["event_payload"]["mark"], body)
        return True, (200, {"ok": True, "ts": number})

    def generic(self, _method, _path, body, headers):
        signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + json.dumps(
            body, separators=(",", ":"), ensure_ascii=False).encode()
        mac = hmac.new(base64.b64decode(SECRET[6:]), signed, hashlib.sha256).digest()
        assert headers["webhook-signature"] == "v1," + base64.b64encode(mac).decode()
        if body["type"].endswith(".opened") and not self.known("generic", body["data"]["mark"]):
            self.open("generic", body["data"]["mark"], body)
            return True, (200, {})
        return False, (200, {})


SYSTEMS = ["pagerduty", "servicenow", "jira", "github", "slack", "generic"]
VARIABLES = {
    "servicenow": {"assignment_group": "GPU Infra"},
    "jira": {"project": "GPU"},
    "github": {"owner_name": "acme", "repository": "llm"},
    "slack": {"channel": "C06GPUINC"},
}

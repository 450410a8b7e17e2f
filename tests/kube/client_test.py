"""common/kube against a real kube-apiserver: nodes, events, lists in pages, watches over restarts and compactions, tokens that are exchanged,
and a server that asks for patience. Skipped where there is no kube-apiserver (helm/tools/api_server.sh) or no etcd."""
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import chart
from api_server import ApiServer, free_port, missing

TALK = os.path.join(os.path.dirname(chart.BIN), "tests", "kube_talk")
WIDGETS = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "widgets.test.galen.io"},
           "spec": {"group": "test.galen.io", "scope": "Namespaced", "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
                    "versions": [{"name": "v1", "served": True, "storage": True, "subresources": {"status": {}},
                                  "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}]}}
WIDGET = {"group": "test.galen.io", "plural": "widgets"}


class Talk:
    """The program, and what it wrote."""

    def __init__(self, server, token_file, rate=100, burst=100):
        self.process = subprocess.Popen([TALK, f"https://127.0.0.1:{server.port}", server.ca, token_file, str(rate), str(burst)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.lines, self.number, self.answers, self.told = queue.Queue(), 0, {}, {}
        threading.Thread(target=lambda: [self.lines.put(json.loads(line)) for line in self.process.stdout], daemon=True).start()

    def take(self, limit):
        try:
            line = self.lines.get(timeout=max(0.01, limit - time.monotonic()))
        except queue.Empty:
            return
        if "watch" in line:
            self.told.setdefault(line["id"], []).append(line)
        else:
            self.answers[line["id"]] = line

    def do(self, what, **more):
        self.number += 1
        name = more.pop("id", f"{what}-{self.number}")
        self.process.stdin.write(json.dumps({"id": name, "do": what, **more}) + "\n")
        self.process.stdin.flush()
        limit = time.monotonic() + 240
        while name not in self.answers:
            assert time.monotonic() < limit and self.process.poll() is None, f"no answer to {what} {more}"
            self.take(limit)
        return self.answers.pop(name)

    def changes(self, watch):
        return [f"{line['watch']} {line['name']}" for line in self.told.get(watch, []) if "name" in line]

    def wait(self, watch, enough, why=""):
        """Until `enough` of what the watch told holds."""
        limit = time.monotonic() + 240
        while not enough(self.told.get(watch, [])):
            assert time.monotonic() < limit, f"{why}: {self.told.get(watch, [])[-20:]}"
            self.take(limit)

    def wait_changes(self, watch, wanted):
        self.wait(watch, lambda _: set(wanted) <= set(self.changes(watch)), f"wanted {wanted}")

    def close(self):
        self.process.stdin.close()
        assert self.process.wait(timeout=120) == 0
        self.process.stdout.close()


def node(name):
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"nvidia.com/gpu.present": "true"}}}


def widget(name):
    return {"apiVersion": "test.galen.io/v1", "kind": "Widget", "metadata": {"name": name, "namespace": "default"}}


class RealServer(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = ApiServer("RBAC")
        cls.addClassCleanup(cls.server.close)
        cls.server.define(WIDGETS)
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = scratch.name
        cls.admin = f"{cls.folder}/admin"
        cls.write(cls.admin, "token-of-the-test")

    @staticmethod
    def write(path, text):
        """As a kubelet exchanges a token: another file in its place, at once."""
        with open(path + ".new", "w", encoding="utf-8") as file:
            file.write(text)
        os.rename(path + ".new", path)

    def talk(self, token=None, **more):
        talk = Talk(self.server, token or self.admin, **more)
        self.addCleanup(talk.close)
        return talk

    def make(self, one):
        status, answer, _ = self.server.create(one)
        self.assertEqual(status, 201, answer)

    def drop(self, one):
        path = self.server.path(one["apiVersion"], one["kind"], "default")
        self.assertEqual(self.server.ask("DELETE", f"{path}/{one['metadata']['name']}")[0], 200)

    def account(self, name):
        """A service account that may read widgets; gives its token."""
        path = f"/api/v1/namespaces/default/serviceaccounts/{name}"
        if self.server.ask("GET", path)[0] != 200:
            self.make({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": "default"}})
        rbac = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": name}}
        self.server.create({**rbac, "kind": "ClusterRole", "rules": [{"apiGroups": ["test.galen.io"], "resources": ["widgets"], "verbs": ["get", "list", "watch"]}]})
        self.server.create({**rbac, "kind": "ClusterRoleBinding", "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
                            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": "default"}]})
        status, answer, _ = self.server.ask("POST", path + "/token", {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 600}})
        self.assertEqual(status, 201, answer)
        return json.loads(answer)["status"]["token"]

    def test_it_reads_nodes_page_by_page_and_writes_conditions_and_events(self):
        for number in range(7):
            self.make(node(f"paged-{number}"))
        talk = self.talk()
        self.assertEqual(talk.do("list", plural="nodes", labels="nvidia.com/gpu.present=true", page=2)["items"], 7)
        condition = {"type": "GalenTest", "status": "True", "reason": "ItIs", "message": "seen", "lastTransitionTime": "2026-01-01T00:00:00Z"}
        for text in ("seen", "seen again"):
            answer = talk.do("strategic", plural="nodes", name="paged-1", subresource="status", content={"status": {"conditions": [{**condition, "message": text}]}})
            [now] = [one for one in answer["object"]["status"]["conditions"] if one["type"] == "GalenTest"]
            self.assertEqual(now["message"], text)
        event = {"metadata": {"name": "paged-1.1", "namespace": "default"}, "involvedObject": {"kind": "Node", "name": "paged-1", "uid": "paged-1"},
                 "reason": "ItIs", "message": "seen", "type": "Warning"}
        self.assertIn("object", talk.do("create", plural="events", namespace="default", content=event))
        self.assertEqual(talk.do("create", plural="events", namespace="default", content=event)["code"], "ALREADY_EXISTS")
        self.assertEqual(talk.do("get", plural="nodes", name="none")["code"], "NOT_FOUND")
        self.assertEqual(talk.do("merge", plural="nodes", name="paged-1", content={"metadata": {"resourceVersion": "1", "labels": {"a": "b"}}})["code"], "ABORTED")

    def test_a_watch_goes_on_over_a_restart_and_tells_each_change_once(self):
        self.make(widget("stays"))
        talk = self.talk()
        talk.do("watch", id="w", **WIDGET)
        talk.wait_changes("w", ["added stays"])
        self.make(widget("before"))
        talk.wait_changes("w", ["added before"])
        self.server.stop()
        talk.wait("w", lambda told: any(line["watch"] == "trouble" for line in told), "the server is away")
        self.server.start()
        self.make(widget("after"))
        self.drop(widget("before"))
        talk.wait_changes("w", ["added after", "deleted before"])
        self.assertEqual(sorted(talk.changes("w")), ["added after", "added before", "added stays", "deleted before"])
        for name in ("stays", "after"):
            self.drop(widget(name))

    def test_what_was_missed_beyond_the_memory_of_the_server_is_told_as_the_difference(self):
        for name in ("kept", "lost", "altered"):
            self.make(widget(name))
        talk = self.talk()
        talk.do("watch", id="w", **WIDGET)
        talk.wait_changes("w", ["added kept", "added lost", "added altered"])
        port = self.server.port
        # (It sleeps meanwhile: after some attempts in vain it would list anew by itself, and never ask for a version that is gone.)
        talk.process.send_signal(signal.SIGSTOP)
        self.server.stop()
        # Another server makes changes that the first one never hears of, and the past is dropped.
        self.server.start(port=free_port())
        self.drop(widget("lost"))
        self.make(widget("new"))
        path = self.server.path("test.galen.io/v1", "Widget", "default") + "/altered"
        self.assertEqual(self.server.ask("PATCH", path, {"spec": {"a": 1}}, "application/merge-patch+json")[0], 200)
        self.server.compact()
        self.server.stop()
        self.server.start(port=port)
        talk.process.send_signal(signal.SIGCONT)
        talk.wait_changes("w", ["added new", "deleted lost", "changed altered"])
        self.assertEqual(sorted(talk.changes("w")), ["added altered", "added kept", "added lost", "added new", "changed altered", "deleted lost"])
        self.assertIn("OUT_OF_RANGE", [line.get("code") for line in talk.told["w"]])
        for name in ("kept", "altered", "new"):
            self.drop(widget(name))

    def test_a_kind_that_is_not_there_yet_is_waited_for(self):
        later = json.loads(json.dumps(WIDGETS).replace("widget", "gadget").replace("Widget", "Gadget"))
        talk = self.talk()
        talk.do("watch", id="w", group="test.galen.io", plural="gadgets")
        talk.wait("w", lambda told: any(line.get("code") == "NOT_FOUND" for line in told), "there is no such kind")
        self.server.define(later)
        gadget = json.loads(json.dumps(widget("one")).replace("Widget", "Gadget"))
        self.server.resources.clear()
        self.make(gadget)
        talk.wait_changes("w", ["added one"])

    def test_a_token_is_read_again_when_it_was_exchanged(self):
        path = f"{self.folder}/rotating"
        self.write(path, self.account("rotating"))
        talk = self.talk(path)
        self.assertIn("items", talk.do("list", **WIDGET))
        self.assertEqual(talk.do("list", plural="secrets")["code"], "PERMISSION_DENIED")
        # The account is made anew, so its old token is good for nothing, once the server has forgotten that it was.
        self.assertEqual(self.server.ask("DELETE", "/api/v1/namespaces/default/serviceaccounts/rotating")[0], 200)
        limit = time.monotonic() + 120
        while talk.do("list", **WIDGET).get("code") != "UNAUTHENTICATED":
            self.assertLess(time.monotonic(), limit)
        self.write(path, self.account("rotating"))
        self.assertIn("items", talk.do("list", **WIDGET))

    def test_it_waits_where_the_server_asks_for_patience(self):
        path = f"{self.folder}/patient"
        self.write(path, self.account("patient"))
        self.server.stop()
        # The flow control of today hides the limit behind queues; this is the plain refusal: 429 and Retry-After.
        self.server.start("--enable-priority-and-fairness=false", "--max-requests-inflight=1", "--max-mutating-requests-inflight=1")
        try:
            talk = self.talk(path, rate=1000, burst=1000)
            self.assertEqual(talk.do("flood", threads=16, times=5, **WIDGET)["answered"], 80)
            metrics = self.server.ask("GET", "/metrics")[1]
            refused = [line for line in metrics.splitlines() if line.startswith("apiserver_request_total") and 'code="429"' in line]
            self.assertTrue(refused, "the server refused nothing")
        finally:
            self.server.stop()
            self.server.start()


if __name__ == "__main__":
    os.chdir(chart.ROOT)
    reason = missing() or (None if os.access(TALK, os.X_OK) else f"there is no {TALK}")
    if reason:
        print(f"SKIPPED: {reason}")
        sys.exit(77)
    unittest.main()

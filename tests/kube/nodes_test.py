"""What was concluded, on the nodes of a cluster: a real kube-apiserver with the chart's roles and admission policy, galen-watch with the token of
the chart's service account, and the mesh as processes. Skipped where there is no kube-apiserver (helm/tools/api_server.sh), no etcd or no
helm."""
import json
import os
import ssl
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

import chart
from api_server import ApiServer, missing
from chart import CHART, ROOT, of, render
from diagnosis_test import LEAK, site_knowledge

sys.path.insert(0, f"{ROOT}/tests/e2e")
import galen  # noqa: E402 pylint: disable=wrong-import-position


class Nodes(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = scratch.name
        os.mkdir(f"{self.folder}/site")
        with open(f"{self.folder}/site/leak.yaml", "w", encoding="utf-8") as file:
            file.write(site_knowledge(f"{self.folder}/detector"))
        self.detector("wet")
        self.server = ApiServer("RBAC")
        self.addCleanup(self.server.close)
        self.make({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "galen"}})
        objects = render("--values", f"{CHART}/ci/node-actions.yaml")
        for one in of(objects, "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"):
            self.make(one)
        [account] = [one for one in of(objects, "ServiceAccount") if one["metadata"]["name"] == "galen-watch"]
        self.make(account)
        status, answer, _ = self.server.ask("POST", "/api/v1/namespaces/galen/serviceaccounts/galen-watch/token", {
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 7200}})
        self.assertEqual(status, 201, answer)
        self.token = json.loads(answer)["status"]["token"]
        with open(f"{self.folder}/token", "w", encoding="utf-8") as file:
            file.write(self.token)
        for name in ("node0", "node1", "elsewhere"):
            self.make({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"nvidia.com/gpu.present": "true"}}})
            self.server.ask("PATCH", f"/api/v1/nodes/{name}/status", {"status": {"conditions": [
                {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "ready"}]}}, "application/strategic-merge-patch+json")
        self.mesh = galen.Mesh(knowledge=f"{ROOT}/knowledge,{self.folder}/site")
        self.addCleanup(self.mesh.__exit__)
        self.watch = self.start_watch()

    def start_watch(self):
        return self.mesh.start("galen-watch", f"--store={self.mesh.store}", f"--orchestrator={self.mesh.orchestrator.address}",
                               f"--knowledge={ROOT}/knowledge,{self.folder}/site", "--kubernetes",
                               f"--kubernetes_server=https://127.0.0.1:{self.server.port}", f"--kubernetes_ca={self.server.ca}",
                               f"--kubernetes_token={self.folder}/token", "--node_actions=kubernetes.cordon,kubernetes.taint")

    def ask(self, method, path, key, body=None):
        request = urllib.request.Request(f"http://{self.gateway.address}/v1/{path}", method=method, data=json.dumps(body).encode() if body is not None else None,
                                         headers={"Authorization": f"Bearer {key}", "Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.loads(answer.read())
        except urllib.error.HTTPError as error:
            return json.loads(error.read())

    def key(self, role):
        made = galen.galen("keys", "create", "--store", self.mesh.store, "--tenant", "*", "--role", role)
        self.assertEqual(made.returncode, 0, made.stderr)
        return made.stdout.strip()

    def spec(self, node):
        return json.loads(self.server.ask("GET", f"/api/v1/nodes/{node}")[1])["spec"]

    def make(self, one):
        status, answer, _ = self.server.create(one)
        self.assertEqual(status, 201, answer)

    def detector(self, state):
        with open(f"{self.folder}/detector", "w", encoding="utf-8") as file:
            file.write(f"state: {state}\n")

    def diagnose(self):
        run = galen.galen("diagnose", "All nodes of one rack went away within a few minutes", "--server", self.mesh.orchestrator.address,
                          "--node", "node0", "--json")
        self.assertIn(run.returncode, (0, 3), run.stderr)
        return json.loads(run.stdout)

    def conditions(self, node):
        found = json.loads(self.server.ask("GET", f"/api/v1/nodes/{node}")[1])["status"]["conditions"]
        return {one["type"]: one for one in found}

    def wait(self, status):
        limit = time.monotonic() + 120
        while self.conditions("node0").get("GalenHostProblem", {}).get("status") != status:
            self.assertLess(time.monotonic(), limit, "".join(self.watch.log))
            time.sleep(0.2)
        return self.conditions("node0")["GalenHostProblem"]

    def events(self):
        items = json.loads(self.server.ask("GET", "/api/v1/namespaces/default/events")[1])["items"]
        return [one for one in items if one["source"].get("component") == "galen"]

    def as_watch(self, method, path, body=None, kind="application/strategic-merge-patch+json"):
        request = urllib.request.Request(f"https://127.0.0.1:{self.server.port}{path}", method=method, data=json.dumps(body).encode() if body is not None else None,
                                         headers={"Authorization": f"Bearer {self.token}", "Content-Type": kind})
        try:
            with urllib.request.urlopen(request, timeout=60, context=ssl.create_default_context(cafile=self.server.ca)) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def test_a_node_says_what_was_concluded_until_a_later_diagnosis_says_otherwise(self):
        told = self.diagnose()
        self.assertEqual(told["report"]["primaryCause"]["label"], LEAK)
        condition = self.wait("True")
        self.assertEqual(condition["reason"], "OtherHostHardwareLiquidCoolingLeak")
        self.assertIn("Coolant leaks in the rack", condition["message"])
        self.assertIn(told["name"].split("/")[-1], condition["message"])
        self.assertEqual(self.conditions("node0")["Ready"]["status"], "True")
        for other in ("node1", "elsewhere"):
            self.assertEqual(set(self.conditions(other)), {"Ready"}, other)
        limit = time.monotonic() + 60
        while not self.events():
            self.assertLess(time.monotonic(), limit)
            time.sleep(0.2)
        # One that begins anew tells nothing twice.
        self.watch.stop()
        self.watch = self.start_watch()
        self.detector("dry")
        again = self.diagnose()
        self.assertNotEqual(again["report"].get("primaryCause", {}).get("label"), LEAK)
        self.assertEqual(self.wait("False")["reason"], "NoLongerConfirmed")
        [event] = self.events()
        self.assertEqual((event["type"], event["reason"], event["involvedObject"]["name"]), ("Warning", "OtherHostHardwareLiquidCoolingLeak", "node0"))

    def test_a_node_is_cordoned_and_tainted_once_a_person_approved_just_that(self):
        operator, approver = self.key("operator"), self.key("approver")  # before the gateway, which reads new ones by and by
        self.gateway = self.mesh.start("galen-gateway", f"--store={self.mesh.store}", f"--orchestrator={self.mesh.orchestrator.address}",
                                       f"--knowledge={ROOT}/knowledge,{self.folder}/site", "--node_actions=kubernetes.cordon,kubernetes.taint")
        before = {node: self.spec(node) for node in ("node0", "node1", "elsewhere")}
        name = self.diagnose()["name"]

        def runs():
            answer = self.ask("GET", f"{name}/actions", operator)
            self.assertIn("actions", answer, answer)
            return {one["run"]: one for one in answer["actions"] if one.get("run")}

        self.assertEqual(sorted(runs()), ["kubernetes.cordon", "kubernetes.taint"])
        cordon = runs()["kubernetes.cordon"]
        self.assertEqual((cordon["state"], cordon["target"], cordon["text"].split(",")[0]), ("PROPOSED", {"node": "node0"}, "Cordon node node0"))
        refused = self.ask("POST", f"{cordon['name']}:approve", operator, {"etag": cordon["etag"]})
        self.assertEqual(refused["error"]["status"], "PERMISSION_DENIED")
        self.wait("True")  # galen-watch is at work
        self.assertEqual(self.spec("node0"), before["node0"])
        for run in ("kubernetes.cordon", "kubernetes.taint"):
            action = runs()[run]
            self.assertEqual(self.ask("POST", f"{action['name']}:approve", approver, {"etag": action["etag"]})["state"], "APPROVED")
            limit = time.monotonic() + 120
            while runs()[run]["state"] != "SUCCEEDED":
                self.assertLess(time.monotonic(), limit, f"{runs()[run]} {''.join(self.watch.log)}")
                time.sleep(0.2)
        self.assertEqual(runs()["kubernetes.cordon"]["outcome"], "node node0 is cordoned")
        spec = self.spec("node0")
        self.assertTrue(spec["unschedulable"])
        self.assertIn({"key": "galen.io/faulty", "value": LEAK, "effect": "NoSchedule"}, spec["taints"])
        for other in ("node1", "elsewhere"):
            self.assertEqual(self.spec(other), before[other], other)

    def test_its_roles_and_the_admission_policy_allow_our_conditions_and_nothing_else(self):
        node = "/api/v1/nodes/node1"
        ours = {"type": "GalenHostProblem", "status": "True", "reason": "Test", "message": "m", "lastTransitionTime": "2026-01-01T00:00:00Z"}
        limit = time.monotonic() + 60  # a policy holds a moment after it was made
        while self.as_watch("PATCH", node + "/status", {"status": {"conditions": [{"type": "Odd", "status": "True"}]}})[0] == 200:
            self.assertLess(time.monotonic(), limit)
            time.sleep(0.5)
        self.assertEqual(self.as_watch("PATCH", node + "/status", {"status": {"conditions": [ours]}})[0], 200)
        for body, says in (({"status": {"conditions": [{"type": "Ready", "status": "False"}]}}, "begins with Galen"),
                           ({"status": {"conditions": [{"type": "KernelDeadlock", "status": "True"}]}}, "begins with Galen"),
                           ({"status": {"capacity": {"nvidia.com/gpu": "0"}}}, "nothing of a node's status but conditions"),
                           ({"status": {"addresses": [{"type": "InternalIP", "address": "10.0.0.9"}]}}, "nothing of a node's status but conditions"),
                           ({"metadata": {"labels": {"mine": "true"}}}, "no labels or annotations"),
                           ({"metadata": {"annotations": {"mine": "true"}}}, "no labels or annotations")):
            status, answer = self.as_watch("PATCH", node + "/status", body)
            self.assertEqual(status, 422, f"{body}: {answer}")
            self.assertIn(says, answer)
        limit = time.monotonic() + 60
        while self.as_watch("PATCH", node, {"metadata": {"labels": {"odd": "true"}}}, "application/merge-patch+json")[0] == 200:
            self.assertLess(time.monotonic(), limit)
            time.sleep(0.5)
        taint = {"key": "galen.io/faulty", "value": "x", "effect": "NoSchedule"}
        theirs = {"key": "theirs", "value": "x", "effect": "NoSchedule"}
        self.assertEqual(self.server.ask("PATCH", node, {"spec": {"taints": [theirs]}, "metadata": {"labels": {"pool": "a"}}},
                                         "application/merge-patch+json")[0], 200)
        for body, says in (({"spec": {"taints": [taint]}}, "change no others"), ({"spec": {"taints": [theirs, {**theirs, "key": "more"}]}}, "change no others"),
                           ({"spec": {"providerID": "other"}}, "nothing of a node's spec"), ({"metadata": {"labels": {"pool": "b"}}}, "no labels"),
                           ({"metadata": {"labels": {"pool": None}}}, "no labels"), ({"metadata": {"annotations": {"mine": "x"}}}, "no annotations")):
            status, answer = self.as_watch("PATCH", node, body, "application/merge-patch+json")
            self.assertEqual(status, 422, f"{body}: {answer}")
            self.assertIn(says, answer)
        ours = {"spec": {"taints": [theirs, taint], "unschedulable": True}, "metadata": {"labels": {"galen.io/taken-out": "cordon"}, "annotations": {"galen.io/by": "x"}}}
        self.assertEqual(self.as_watch("PATCH", node, ours, "application/merge-patch+json")[0], 200)
        status, answer = self.as_watch("PATCH", node, {"spec": {"unschedulable": None}}, "application/merge-patch+json")
        self.assertEqual((status, "not uncordon" in answer), (422, True), answer)
        for method, path in (("DELETE", node), ("PATCH", "/api/v1/namespaces/default"), ("GET", "/api/v1/secrets"), ("GET", "/api/v1/pods"), ("GET", "/api/v1/events"),
                             ("GET", "/apis/galen.io/v1alpha1/diagnoses")):
            self.assertEqual(self.as_watch(method, path, {"metadata": {"labels": {"a": "b"}}} if method == "PATCH" else None)[0], 403, f"{method} {path}")
        self.assertEqual(self.as_watch("POST", "/api/v1/namespaces/galen/events", {}, "application/json")[0], 403)
        # Others are not held by it.
        self.assertEqual(self.server.ask("PATCH", node + "/status", {"status": {"conditions": [{"type": "Ready", "status": "False", "reason": "Gone"}]}},
                                         "application/strategic-merge-patch+json")[0], 200)


if __name__ == "__main__":
    os.chdir(ROOT)
    reason = chart.missing() or missing()
    if reason:
        print(f"SKIPPED: {reason}")
        sys.exit(77)
    unittest.main()

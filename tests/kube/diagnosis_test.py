"""Objects of kind Diagnosis, from `kubectl apply` to their last status: a real kube-apiserver with the chart's own definition and roles, two
gateways with the token of the chart's service account, and the whole mesh as processes. Skipped where there is no kube-apiserver
(helm/tools/api_server.sh), no etcd or no helm."""
import json
import os
import re
import signal
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

sys.path.insert(0, f"{ROOT}/tests/e2e")
import galen  # noqa: E402 pylint: disable=wrong-import-position

LEAK = "OTHER.HOST_HARDWARE.LIQUID_COOLING_LEAK"
GROUP = "/apis/galen.io/v1alpha1"


def site_knowledge(detector):
    """The example of docs/knowledge.md, with a file of ours: a fault that live nodes can have here."""
    with open(f"{ROOT}/docs/knowledge.md", encoding="utf-8") as page:
        text = re.search(r"```yaml\n(.*?)```\n", page.read(), re.DOTALL).group(1)
    return text.replace("/run/site/leak_detector", detector)


class Diagnoses(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = scratch.name
        with open(f"{cls.folder}/detector", "w", encoding="utf-8") as file:
            file.write("state: wet\n")
        os.mkdir(f"{cls.folder}/site")
        with open(f"{cls.folder}/site/leak.yaml", "w", encoding="utf-8") as file:
            file.write(site_knowledge(f"{cls.folder}/detector"))
        cls.server = ApiServer("RBAC")
        cls.addClassCleanup(cls.server.close)
        objects = render("--values", f"{CHART}/ci/diagnoses.yaml", "--set", "kubernetes.diagnoses.defaultTenant=")
        cls.namespace("galen")
        cls.namespace("team-a", {"galen.io/tenant": "acme"})
        for one in of(objects, "CustomResourceDefinition"):
            cls.server.define(one)
        for one in of(objects, "ClusterRole", "ClusterRoleBinding"):
            assert cls.server.create(one)[0] == 201, one
        [account] = [one for one in of(objects, "ServiceAccount") if one["metadata"]["name"] == "galen-gateway"]
        assert cls.server.create(account)[0] == 201
        status, answer, _ = cls.server.ask("POST", "/api/v1/namespaces/galen/serviceaccounts/galen-gateway/token", {
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 7200}})
        assert status == 201, answer
        cls.token = json.loads(answer)["status"]["token"]
        with open(f"{cls.folder}/token", "w", encoding="utf-8") as file:
            file.write(cls.token)
        cls.mesh = galen.Mesh(knowledge=f"{ROOT}/knowledge,{cls.folder}/site")
        cls.addClassCleanup(cls.mesh.__exit__)
        made = galen.galen("keys", "create", "--store", cls.mesh.store, "--tenant", "*", "--role", "operator")
        assert made.returncode == 0, made.stderr
        cls.key = made.stdout.strip()
        cls.gateways = [cls.start_gateway() for _ in range(2)]

    @classmethod
    def start_gateway(cls):
        return cls.mesh.start("galen-gateway", f"--store={cls.mesh.store}", f"--orchestrator={cls.mesh.orchestrator.address}",
                              f"--knowledge={ROOT}/knowledge,{cls.folder}/site", "--kubernetes",
                              f"--kubernetes_server=https://127.0.0.1:{cls.server.port}", f"--kubernetes_ca={cls.server.ca}",
                              f"--kubernetes_token={cls.folder}/token", "--kubernetes_cancel")

    @classmethod
    def namespace(cls, name, labels=None):
        status, answer, _ = cls.server.ask("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels or {}}})
        assert status == 201, answer

    def apply(self, name, space="team-a", **spec):
        spec = {"description": "All nodes of one rack went away within a few minutes", **spec}
        return self.server.ask("POST", f"{GROUP}/namespaces/{space}/diagnoses?fieldValidation=Strict", {
            "apiVersion": "galen.io/v1alpha1", "kind": "Diagnosis", "metadata": {"name": name, "namespace": space}, "spec": spec})

    def get(self, name, space="team-a"):
        return json.loads(self.server.ask("GET", f"{GROUP}/namespaces/{space}/diagnoses/{name}")[1])

    def wait(self, name, states, space="team-a"):
        limit = time.monotonic() + 240
        while self.get(name, space).get("status", {}).get("state") not in states:
            self.assertLess(time.monotonic(), limit, self.get(name, space))
            time.sleep(0.2)
        return self.get(name, space)["status"]

    def of_galen(self, path):
        request = urllib.request.Request(f"http://{self.gateways[-1].address}/v1/{path}", headers={"Authorization": f"Bearer {self.key}"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.loads(answer.read())

    def test_an_incident_that_is_applied_is_diagnosed_and_shown_in_columns(self):
        self.assertEqual(self.apply("rack", nodes=["node0"])[0], 201)
        status = self.wait("rack", ["Succeeded"])
        self.assertEqual((status["cause"], status["device"], status["owner"]), (LEAK, "node0", "provider"))
        self.assertGreater(status["probability"], 0.5)
        self.assertEqual({one["type"]: one["status"] for one in status["conditions"]}, {"Accepted": "True", "Finished": "True"})
        self.assertEqual(self.of_galen(status["diagnosis"])["state"], "SUCCEEDED")
        # As `kubectl get diagnoses` asks.
        request = urllib.request.Request(f"https://127.0.0.1:{self.server.port}{GROUP}/namespaces/team-a/diagnoses",
                                         headers={"Authorization": "Bearer token-of-the-test", "Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"})
        context = ssl.create_default_context(cafile=self.server.ca)
        with urllib.request.urlopen(request, timeout=60, context=context) as answer:
            table = json.loads(answer.read())
        columns = [one["name"] for one in table["columnDefinitions"] if one["priority"] == 0]
        self.assertEqual(columns, ["Name", "State", "Cause", "Device", "Probability", "Age"])
        [row] = [one["cells"] for one in table["rows"] if one["cells"][0] == "rack"]
        self.assertEqual(row[:4], ["rack", "Succeeded", LEAK, "node0"])

    def test_a_watch_tells_each_state_on_the_way(self):
        version = json.loads(self.server.ask("GET", f"{GROUP}/diagnoses")[1])["metadata"]["resourceVersion"]
        self.assertEqual(self.apply("watched", nodes=["node0"])[0], 201)
        self.wait("watched", ["Succeeded"])
        events = self.server.ask("GET", f"{GROUP}/namespaces/team-a/diagnoses?watch=true&resourceVersion={version}&timeoutSeconds=3&fieldSelector=metadata.name=watched")[1]
        states = [json.loads(line)["object"].get("status", {}).get("state") for line in events.splitlines()]
        self.assertIsNone(states[0])
        self.assertTrue({"Pending", "Running"} & set(states), states)
        self.assertEqual(states[-1], "Succeeded")

    def test_gateways_that_die_and_come_back_make_each_diagnosis_once(self):
        names = [f"storm-{number}" for number in range(12)]
        for name in names[:6]:
            self.assertEqual(self.apply(name, nodes=["node0"], strategy="direct")[0], 201)
        serving = next((one for one in self.gateways if "serves Diagnosis objects" in "".join(one.log)), self.gateways[0])
        serving.stop(signal.SIGKILL)
        self.gateways.remove(serving)
        self.gateways.append(self.start_gateway())
        for name in names[6:]:
            self.assertEqual(self.apply(name, nodes=["node0"], strategy="direct")[0], 201)
        for name in names:
            self.wait(name, ["AwaitingFeedback", "Succeeded"])
        wanted = [self.get(name)["status"]["diagnosis"] for name in names]
        self.assertEqual(len(set(wanted)), len(names))
        made = [one["name"] for one in self.of_galen("tenants/acme/diagnoses?pageSize=1000")["diagnoses"]]
        self.assertEqual(len(made), len(set(made)))
        self.assertEqual(set(wanted) - set(made), set())
        uids = {one["metadata"]["uid"] for one in json.loads(self.server.ask("GET", f"{GROUP}/diagnoses")[1])["items"]}
        self.assertEqual({name for name in made if name.split("/kube-")[1] not in uids}, self.deleted)

    deleted = set()  # names of diagnoses whose objects a test deleted

    def test_an_object_that_is_deleted_ends_its_diagnosis(self):
        self.assertEqual(self.apply("gone", nodes=["node0"], strategy="direct")[0], 201)
        name = self.wait("gone", ["AwaitingFeedback"])["diagnosis"]
        self.deleted.add(name)
        self.assertEqual(self.server.ask("DELETE", f"{GROUP}/namespaces/team-a/diagnoses/gone")[0], 200)
        limit = time.monotonic() + 120
        while self.of_galen(name)["state"] != "CANCELLED":
            self.assertLess(time.monotonic(), limit)
            time.sleep(0.2)

    def test_a_namespace_without_a_tenant_waits_for_one(self):
        self.namespace("nobodys")
        self.assertEqual(self.apply("early", space="nobodys", nodes=["node0"], strategy="direct")[0], 201)
        status = self.wait("early", ["Waiting"], "nobodys")
        self.assertIn("label it galen.io/tenant=TENANT", status["summary"])
        self.server.ask("PATCH", "/api/v1/namespaces/nobodys", {"metadata": {"labels": {"galen.io/tenant": "late"}}}, "application/merge-patch+json")
        status = self.wait("early", ["AwaitingFeedback", "Succeeded"], "nobodys")
        self.assertTrue(status["diagnosis"].startswith("tenants/late/diagnoses/kube-"))

    def test_a_job_is_diagnosed_where_its_pods_run(self):
        for number, node in enumerate(["node1", "node0"]):
            status, answer, _ = self.server.create({
                "apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"llama-worker-{number}", "namespace": "team-a", "labels": {
                    "training.kubeflow.org/job-name": "llama", "training.kubeflow.org/replica-type": "worker",
                    "training.kubeflow.org/replica-index": str(number)}},
                "spec": {"nodeName": node, "containers": [{"name": "train", "image": "train:1", "resources": {"limits": {"nvidia.com/gpu": "8"}}}]}})
            self.assertEqual(status, 201, answer)
        self.assertEqual(self.apply("of-a-job", job="llama", strategy="direct")[0], 201)
        status = self.wait("of-a-job", ["AwaitingFeedback", "Succeeded"])
        incident = self.of_galen(status["diagnosis"])["incident"]
        self.assertEqual(incident["nodes"], ["node0", "node1"])
        self.assertEqual((incident["workload"]["launcher"], incident["workload"]["worldSize"]), ("kubeflow", 16))
        self.assertEqual(self.apply("of-no-job", job="nowhere")[0], 201)
        self.assertIn("no pod of job nowhere", self.wait("of-no-job", ["Refused"])["summary"])

    def test_the_server_refuses_what_is_no_incident_and_a_change_of_one(self):
        for spec in ({"description": ""}, {"nodes": [""]}, {"strategy": "guess"}, {"bundle": "/etc"}, {"job": "a=b"},
                     {"logs": [{"name": "a"}]}, {"workload": {"worldSize": -1}}):
            status, answer, _ = self.apply("odd", **spec)
            self.assertIn(status, (400, 422), f"{spec}: {answer}")
        self.assertEqual(self.apply("fixed", nodes=["node0"], strategy="direct")[0], 201)
        status, answer, _ = self.server.ask("PATCH", f"{GROUP}/namespaces/team-a/diagnoses/fixed", {"spec": {"description": "another"}}, "application/merge-patch+json")
        self.assertEqual(status, 422)
        self.assertIn("make another object", answer)

    def test_its_roles_allow_what_it_does_and_nothing_else(self):
        def as_gateway(method, path, body=None):
            context = ssl.create_default_context(cafile=self.server.ca)
            request = urllib.request.Request(f"https://127.0.0.1:{self.server.port}{path}", method=method, data=json.dumps(body).encode() if body is not None else None,
                                             headers={"Authorization": f"Bearer {self.token}", "Content-Type": "application/merge-patch+json" if method == "PATCH" else "application/json"})
            try:
                with urllib.request.urlopen(request, timeout=60, context=context) as answer:
                    return answer.status
            except urllib.error.HTTPError as error:
                return error.code
        self.assertEqual(self.apply("held", nodes=["node0"], strategy="direct")[0], 201)
        one = f"{GROUP}/namespaces/team-a/diagnoses/held"
        for method, path in (("GET", f"{GROUP}/diagnoses"), ("GET", "/api/v1/namespaces/team-a"), ("GET", "/api/v1/namespaces/team-a/pods")):
            self.assertEqual(as_gateway(method, path), 200, path)
        for method, path in (("GET", "/api/v1/secrets"), ("GET", "/api/v1/nodes"), ("GET", "/api/v1/namespaces"), ("GET", "/api/v1/configmaps"),
                             ("DELETE", one), ("PATCH", one), ("POST", f"{GROUP}/namespaces/team-a/diagnoses"), ("PATCH", "/api/v1/namespaces/team-a"),
                             ("GET", "/api/v1/namespaces/team-a/pods/llama-worker-0/log"), ("PATCH", "/api/v1/nodes/node0/status")):
            self.assertEqual(as_gateway(method, path, {} if method in ("PATCH", "POST") else None), 403, f"{method} {path}")


if __name__ == "__main__":
    os.chdir(ROOT)
    reason = chart.missing() or missing()
    if reason:
        print(f"SKIPPED: {reason}")
        sys.exit(77)
    unittest.main()

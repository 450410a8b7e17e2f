"""A real kube-apiserver takes every object of the chart and of k8s/, by its own validation, and its Pod Security admission lets every pod
into the namespace that it is for. Skipped where there is no kube-apiserver (helm/tools/api_server.sh) or no etcd."""
import copy
import glob
import json
import os
import sys
import unittest

import chart
from api_server import ApiServer, missing
from chart import ROOT, TOOLS, component, every, key, of, pods, render


def definitions():
    """The custom resources that the chart may make."""
    import yaml  # pylint: disable=import-outside-toplevel
    wanted = {"certificates.cert-manager.io", "issuers.cert-manager.io", "clusterissuers.cert-manager.io", "servicemonitors.monitoring.coreos.com",
              "prometheusrules.monitoring.coreos.com", "httproutes.gateway.networking.k8s.io"}
    yaml.SafeLoader.add_constructor("tag:yaml.org,2002:value", lambda loader, node: node.value)
    for path in glob.glob(f"{TOOLS}/definitions/*.yaml"):
        with open(path, encoding="utf-8") as file:
            for one in yaml.safe_load_all(file):
                if one and one["kind"] == "CustomResourceDefinition" and one["metadata"]["name"] in wanted:
                    yield one


class RealServer(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = ApiServer()
        cls.addClassCleanup(cls.server.close)
        for one in definitions():
            cls.server.define(one)
        for name, level in (("restricted", "restricted"), ("privileged", "privileged"), ("baseline", "baseline")):
            cls.server.create({"apiVersion": "v1", "kind": "Namespace",
                               "metadata": {"name": name, "labels": {"pod-security.kubernetes.io/enforce": level}}})
        # What pods name must be there, since no controller makes it.
        for value, name in ((2_000_000_000, "system-node-critical"), (1000, "ops-critical")):
            cls.server.create({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value})
        cls.server.create({"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "nvidia"}, "handler": "nvidia"})

    def take(self, one, namespace=None):
        """Creates a copy of an object and asserts that it was taken without a word."""
        one = copy.deepcopy(one)
        if namespace is not None:
            one["metadata"]["namespace"] = namespace
        status, answer, warnings = self.server.create(one)
        self.assertEqual((status, warnings), (201, []), f"{key(one)}: {answer}")

    def namespace(self, name):
        self.server.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        return name

    def test_it_takes_every_object_of_every_set_of_values(self):
        taken = 0
        for name, objects in every():
            for one in objects:
                if "namespace" not in one["metadata"]:  # of the whole cluster
                    self.take(one)
                    taken += 1
                    continue
                # Two namespaces of one set stay two.
                self.take(one, self.namespace(f"{name}-{one['metadata']['namespace']}"))
                taken += 1
            # What is of the whole cluster has the same name in another set, which has its own.
            for one in of(objects, "ClusterRole", "ClusterRoleBinding", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"):
                path = f"{self.server.path(one['apiVersion'], one['kind'], None)}/{one['metadata']['name']}"
                self.assertEqual(self.server.ask("DELETE", path)[0], 200, path)
        self.assertGreater(taken, 900)

    def test_it_takes_the_plain_manifests_as_they_are(self):
        import yaml  # pylint: disable=import-outside-toplevel
        self.namespace("cert-manager")
        for name in ("namespaces", "authority", "certificates", "galen"):
            with open(f"{ROOT}/k8s/{name}.yaml", encoding="utf-8") as file:
                for one in yaml.safe_load_all(file):
                    self.take(one)  # the Deployments would bring a Warning where their pods are not allowed

    def test_pod_security_lets_all_pods_but_the_node_executors_into_a_restricted_namespace(self):
        for name, objects in every():
            for owner, template in pods(objects):
                pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"{name}-{owner['metadata']['name']}"[:63].rstrip("-")}, "spec": copy.deepcopy(template["spec"])}
                for claim in owner["spec"].get("volumeClaimTemplates", []):  # which the StatefulSet's controller would add
                    pod["spec"]["volumes"].append({"name": claim["metadata"]["name"], "persistentVolumeClaim": {"claimName": "made"}})
                if component(owner) != "node":
                    self.take(pod, "restricted")
                    continue
                for level in ("restricted", "baseline"):
                    refused = copy.deepcopy(pod)
                    refused["metadata"]["namespace"] = level
                    status, answer, _ = self.server.create(refused)
                    self.assertEqual(status, 403, level)
                    self.assertIn("hostPath", answer)
                self.take(pod, "privileged")

    def test_an_upgrade_of_the_chart_changes_what_may_be_changed(self):
        """Every object is replaced by that of other values: immutable fields would be refused."""
        space = self.namespace("upgrade")
        before = {key(one): one for one in render()}
        after = {key(one): one for one in render("--values", f"{chart.CHART}/ci/large.yaml")}
        for one in before.values():
            self.take(one, space)
        changed = 0
        for name in before.keys() & after.keys():
            one = copy.deepcopy(after[name])
            if one["kind"] in ("Service", "Pod", "StatefulSet"):
                continue  # a Service keeps its address, a test pod is made anew, claims of a StatefulSet cannot grow
            one["metadata"]["namespace"] = space
            path = f"{self.server.path(one['apiVersion'], one['kind'], space)}/{one['metadata']['name']}"
            now = json.loads(self.server.ask("GET", path)[1])
            one["metadata"]["resourceVersion"] = now["metadata"]["resourceVersion"]
            status, answer, _ = self.server.ask("PUT", path + "?fieldValidation=Strict", one)
            self.assertEqual(status, 200, f"{name}: {answer}")
            changed += 1
        self.assertGreater(changed, 40)


if __name__ == "__main__":
    os.chdir(ROOT)
    reason = chart.missing() or missing()
    if reason:
        print(f"SKIPPED: {reason}")
        sys.exit(77)
    unittest.main()

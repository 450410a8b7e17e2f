"""k8s/ without Helm: rendered from the chart as it is now, sound, and in namespaces that let its pods in."""
import glob
import os
import subprocess
import unittest

import chart
from chart import ROOT, TOOLS, VERSIONS, key, of, pods


def objects_of(name):
    import yaml  # pylint: disable=import-outside-toplevel
    with open(f"{ROOT}/k8s/{name}", encoding="utf-8") as file:
        return [document for document in yaml.safe_load_all(file) if document]


class Manifests(unittest.TestCase):
    def test_they_are_what_the_chart_gives(self):
        run = subprocess.run([f"{ROOT}/helm/render.py", "--check"], text=True, capture_output=True, check=False)
        self.assertEqual(run.returncode, 0, run.stderr)

    def test_every_object_keeps_to_its_schema(self):
        name = "{{.ResourceKind}}{{.KindSuffix}}.json"
        for version in VERSIONS:
            run = subprocess.run([f"{TOOLS}/bin/kubeconform", "-strict", "-schema-location", f"{TOOLS}/schemas/{version}/{name}",
                                  "-schema-location", f"{TOOLS}/schemas/custom/{name}", *glob.glob(f"{ROOT}/k8s/*.yaml")],
                                 text=True, capture_output=True, check=False)
            self.assertEqual((run.returncode, run.stdout), (0, ""))

    def test_what_runs_as_root_is_in_the_namespace_that_allows_it(self):
        levels = {one["metadata"]["name"]: one["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] for one in objects_of("namespaces.yaml")}
        for one in objects_of("galen.yaml"):
            self.assertIn(one["metadata"]["namespace"], levels, key(one))
        for owner, pod in pods(objects_of("galen.yaml")):
            root = not pod["spec"]["securityContext"].get("runAsNonRoot", False)
            self.assertEqual(levels[owner["metadata"]["namespace"]], "privileged" if root else "restricted", key(owner))

    def test_cert_manager_makes_each_certificate_that_a_pod_mounts(self):
        made = {(one["metadata"]["namespace"], one["spec"]["secretName"]) for one in objects_of("certificates.yaml")}
        wanted = {(owner["metadata"]["namespace"], volume["secret"]["secretName"]) for owner, pod in pods(objects_of("galen.yaml"))
                  for volume in pod["spec"]["volumes"] if volume["name"] == "certs"}
        self.assertEqual(made, wanted)
        issuers = {one["metadata"]["name"] for one in of(objects_of("authority.yaml"), "ClusterIssuer")}
        for one in objects_of("certificates.yaml"):
            self.assertIn(one["spec"]["issuerRef"]["name"], issuers)

    def test_nothing_of_helm_is_left(self):
        with open(f"{ROOT}/k8s/galen.yaml", encoding="utf-8") as file:
            told = file.read()
        for word in ("helm.sh/", "managed-by: Helm", "{{"):
            self.assertNotIn(word, told)


if __name__ == "__main__":
    os.chdir(ROOT)
    chart.main()

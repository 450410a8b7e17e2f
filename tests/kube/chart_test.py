"""The chart helm/galen over every set of values in helm/galen/ci: it is what Kubernetes takes, what linters ask, and what the programs
understand. Skipped where helm, kubeconform or kube-score are not there: `make kube-tools` gets them."""
import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

import chart
from chart import CHART, NAMESPACE, ROOT, TOOLS, VERSIONS, component, every, flags, key, named, of, pods, render

RESTRICTED_VOLUMES = {"configMap", "secret", "emptyDir", "projected", "persistentVolumeClaim", "downwardAPI", "csi", "ephemeral"}


class WhatKubernetesTakes(unittest.TestCase):
    def test_lint_finds_nothing(self):
        for path in chart.SETS:
            run = chart.helm("lint", "--strict", CHART, "--values", path)
            self.assertEqual(run.returncode, 0, f"{path}: {run.stdout}{run.stderr}")

    def test_every_object_keeps_to_its_schema_and_has_no_field_that_there_is_not(self):
        for version in VERSIONS:
            for path in chart.SETS:
                run = self.conform(version, chart.text("--values", path))
                found = json.loads(run.stdout)["summary"]
                self.assertEqual((run.returncode, found["invalid"], found["errors"], found["skipped"]), (0, 0, 0, 0), f"{path}: {run.stdout}")
                self.assertGreater(found["valid"], 30, path)

    def test_a_field_that_there_is_not_would_be_found(self):
        for right, wrong in (("livenessProbe:", "livenesProbe:"), ("renewBefore:", "renewbefore:"), ("podSelector:", "podselector:")):
            manifests = chart.text()
            self.assertIn(right, manifests)
            self.assertNotEqual(self.conform(VERSIONS[0], manifests.replace(right, wrong, 1)).returncode, 0, wrong)

    @staticmethod
    def conform(version, manifests):
        name = "{{.ResourceKind}}{{.KindSuffix}}.json"
        return subprocess.run([f"{TOOLS}/bin/kubeconform", "-strict", "-summary", "-output", "json", "-schema-location", f"{TOOLS}/schemas/{version}/{name}",
                               "-schema-location", f"{TOOLS}/schemas/custom/{name}", "-"], input=manifests, text=True, capture_output=True, timeout=120, check=False)

    def test_kube_score_finds_nothing_critical(self):
        for path in chart.SETS:
            if path.endswith("/no-policies.yaml"):
                continue  # says in its name what is found there
            # Limits of the processor slow down what is idle; tags of releases do not move, so an image that is there will do. (Of the
            # node executor it is told in its annotation that root is meant.)
            run = subprocess.run([f"{TOOLS}/bin/kube-score", "score", "--kubernetes-version", VERSIONS[0].rsplit(".", 1)[0], "--ignore-container-cpu-limit",
                                  "--ignore-test", "container-image-pull-policy", "--output-format", "ci", "-"], input=chart.text("--values", path),
                                 text=True, capture_output=True, timeout=120, check=False)
            self.assertIn("[OK]", run.stdout)
            self.assertEqual([line for line in run.stdout.splitlines() if "[CRITICAL]" in line], [], path)

    def test_names_are_no_longer_than_they_may_be(self):
        objects = render("--set", "fullnameOverride=a-name-that-is-a-good-deal-longer-than-anybody-would-want")
        for one in objects:
            self.assertLessEqual(len(one["metadata"]["name"]), 63, key(one))

    def test_nothing_is_made_twice(self):
        for name, objects in every():
            keys = [key(one) for one in objects]
            self.assertEqual(sorted(set(keys)), sorted(keys), name)

    def test_the_same_values_give_the_same_manifests(self):
        for path in chart.SETS:
            again = chart.helm("template", "galen", CHART, "--namespace", NAMESPACE, "--kube-version", VERSIONS[0], "--values", path)
            self.assertEqual(again.stdout, chart.text("--values", path))


class WhatPodsMay(unittest.TestCase):
    def test_all_pods_but_the_node_executor_are_restricted(self):
        for name, objects in every():
            for owner, pod in pods(objects):
                if component(owner) == "node":
                    continue
                where = f"{name}: {key(owner)}"
                spec = pod["spec"]
                self.assertTrue(spec["securityContext"]["runAsNonRoot"], where)
                self.assertGreater(spec["securityContext"]["runAsUser"], 10000, where)
                self.assertEqual(spec["securityContext"]["seccompProfile"], {"type": "RuntimeDefault"}, where)
                for field in ("hostNetwork", "hostPID", "hostIPC"):
                    self.assertNotIn(field, spec, where)
                for volume in spec["volumes"]:
                    self.assertEqual(set(volume) - {"name"} - RESTRICTED_VOLUMES, set(), where)
                for container in spec["containers"]:
                    self.assertEqual(container["securityContext"]["capabilities"], {"drop": ["ALL"]}, where)

    def test_the_node_executor_has_what_it_needs_and_no_more(self):
        for name, objects in every():
            for owner in of(objects, "DaemonSet"):
                spec = owner["spec"]["template"]["spec"]
                [container] = spec["containers"]
                more = name == "devices"
                self.assertEqual(container["securityContext"]["capabilities"],
                                 {"drop": ["ALL"], "add": ["SYSLOG", "IPC_LOCK", "SYS_PTRACE"] if more else ["SYSLOG"]})
                paths = {volume["hostPath"]["path"] for volume in spec["volumes"] if "hostPath" in volume}
                certificates = {"/etc/galen/certs"} if name == "provider" else set()
                self.assertEqual(paths, {"/sys", *certificates, *({"/run/nvidia/driver"} if more else ())}, name)
                for mount in container["volumeMounts"]:
                    if mount["name"] in ("sys", "nvidia-driver", "certs"):
                        self.assertTrue(mount["readOnly"])
                self.assertEqual(spec.get("hostNetwork", False), name == "host-network")
                environment = {variable["name"]: variable.get("value") for variable in container["env"]}
                self.assertEqual(environment["NVIDIA_VISIBLE_DEVICES"], "all" if more else "void")

    def test_no_container_can_write_its_file_system_or_become_more(self):
        for name, objects in every():
            for owner, pod in pods(objects):
                for container in pod["spec"]["containers"]:
                    context = container["securityContext"]
                    self.assertEqual((context["readOnlyRootFilesystem"], context["allowPrivilegeEscalation"], context["privileged"]),
                                     (True, False, False), f"{name}: {key(owner)}")

    # Sets of values in which somebody speaks to the API server, and what he may there.
    ON_API_SERVER = {
        "diagnoses": {"gateway": {"diagnoses.galen.io": {"get", "list", "watch"}, "diagnoses.galen.io/status": {"patch"}, "namespaces": {"get"}, "pods": {"list"}}},
        "node-conditions": {"watch": {"nodes": {"list", "watch"}, "nodes/status": {"patch"}, "events": {"create"}}},
        "node-actions": {"watch": {"nodes": {"get", "list", "patch", "watch"}, "nodes/status": {"patch"}, "events": {"create"}}},
    }

    def test_nobody_may_speak_to_the_api_server_but_who_is_said_to(self):
        for name, objects in every():
            expected = self.ON_API_SERVER.get(name, {})
            for account in of(objects, "ServiceAccount"):
                self.assertIs(account["automountServiceAccountToken"], False)
            for owner, pod in pods(objects):
                self.assertIs(pod["spec"]["automountServiceAccountToken"], component(owner) in expected, f"{name}: {key(owner)}")
            if not expected:
                self.assertEqual(of(objects, "Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding", "CustomResourceDefinition"), [], name)

    def test_who_speaks_to_the_api_server_may_do_what_he_needs_and_nothing_else(self):
        found = {}
        for name, objects in every():
            for binding in of(objects, "RoleBinding", "ClusterRoleBinding"):
                [subject] = binding["subjects"]
                self.assertEqual((subject["kind"], subject["namespace"]), ("ServiceAccount", NAMESPACE))
                self.assertTrue([one for one in of(objects, "ServiceAccount") if one["metadata"]["name"] == subject["name"]])
                [role] = [one for one in of(objects, binding["roleRef"]["kind"]) if one["metadata"]["name"] == binding["roleRef"]["name"]]
                may = {}
                for rule in role["rules"]:
                    self.assertEqual(set(rule), {"apiGroups", "resources", "verbs"})
                    for group in rule["apiGroups"]:
                        for resource in rule["resources"]:
                            kind, _, part = resource.partition("/")
                            may.setdefault((f"{kind}.{group}" if group else kind) + (f"/{part}" if part else ""), set()).update(rule["verbs"])
                who = subject["name"].removeprefix("galen-")
                found.setdefault(name, {}).setdefault(who, {}).update(may)
        self.assertEqual(found, self.ON_API_SERVER)

    def test_the_policy_of_admission_is_about_the_account_that_there_is(self):
        for name, of_what in (("node-conditions", ["nodes/status"]), ("node-actions", ["nodes/status", "nodes"])):
            objects = render("--values", f"{CHART}/ci/{name}.yaml")
            policies = of(objects, "ValidatingAdmissionPolicy")
            self.assertEqual([one["spec"]["matchConstraints"]["resourceRules"][0]["resources"] for one in policies], [[one] for one in of_what])
            for policy, binding in zip(policies, of(objects, "ValidatingAdmissionPolicyBinding"), strict=True):
                self.assertIn(f"'system:serviceaccount:{NAMESPACE}:{named(objects, 'ServiceAccount', 'galen-watch')['metadata']['name']}'",
                              policy["spec"]["matchConditions"][0]["expression"])
                self.assertEqual(binding["spec"]["policyName"], policy["metadata"]["name"])
            without = render("--values", f"{CHART}/ci/{name}.yaml", "--set", "kubernetes.nodes.admissionPolicy=false")
            self.assertEqual(of(without, "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"), [])

    def test_the_definition_stays_when_the_release_goes(self):
        [definition] = of(render("--values", f"{CHART}/ci/diagnoses.yaml"), "CustomResourceDefinition")
        self.assertEqual(definition["metadata"]["annotations"]["helm.sh/resource-policy"], "keep")
        without = render("--values", f"{CHART}/ci/diagnoses.yaml", "--set", "kubernetes.diagnoses.installDefinition=false")
        self.assertEqual(of(without, "CustomResourceDefinition"), [])

    def test_a_gateway_that_may_not_list_pods_is_possible(self):
        for role in of(render("--values", f"{CHART}/ci/diagnoses.yaml", "--set", "kubernetes.diagnoses.jobs=false"), "ClusterRole"):
            self.assertNotIn("pods", json.dumps(role["rules"]))

    def test_every_container_says_what_it_takes(self):
        for name, objects in every():
            for owner, pod in pods(objects):
                for container in pod["spec"]["containers"]:
                    resources = container["resources"]
                    for what in ("cpu", "memory", "ephemeral-storage"):
                        self.assertIn(what, resources["requests"], f"{name}: {key(owner)}")
                    self.assertIn("memory", resources["limits"], f"{name}: {key(owner)}")


class WhatHangsTogether(unittest.TestCase):
    def test_every_reference_leads_somewhere(self):
        """Secrets are the site's, made by cert-manager, or by the chart: all else is made by the chart."""
        given = {"registry", "audit", "galen-https", "galen-redis", "galen-seal", "redis-password", "llm-key", "galen-integrations", "galen-history", "prometheus-token", "mimir-key", "log-sources", "training-jobs"}
        for name, objects in every():
            there = {key(one) for one in objects}
            there |= {f"Secret/{one['metadata']['namespace']}/{one['spec']['secretName']}" for one in of(objects, "Certificate")}
            existing = name == "two-namespaces"
            for owner, pod in pods(objects):
                where = f"{name}: {key(owner)}"
                space = owner["metadata"]["namespace"]
                wanted = {f"ServiceAccount/{space}/{pod['spec']['serviceAccountName']}"}
                for volume in pod["spec"]["volumes"]:
                    for kind, field, label in (("Secret", "secret", "secretName"), ("ConfigMap", "configMap", "name"),
                                               ("PersistentVolumeClaim", "persistentVolumeClaim", "claimName")):
                        if field in volume and volume[field][label] not in given and not (existing and volume[field][label].endswith("-tls")):
                            wanted.add(f"{kind}/{space}/{volume[field][label]}")
                self.assertEqual(wanted - there, set(), where)
                mounts = {mount["name"] for container in pod["spec"]["containers"] for mount in container["volumeMounts"]}
                claims = {claim["metadata"]["name"] for claim in owner["spec"].get("volumeClaimTemplates", [])}
                self.assertEqual(mounts, {volume["name"] for volume in pod["spec"]["volumes"]} | claims, where)

    def test_a_volume_is_of_one_kind(self):
        for name, objects in every():
            for owner, pod in pods(objects):
                for volume in pod["spec"]["volumes"]:
                    self.assertEqual(len(volume), 2, f"{name}: {key(owner)}: {volume}")

    def test_every_file_that_a_flag_names_is_mounted_or_in_the_image(self):
        for name, objects in every():
            for owner, pod in pods(objects):
                for container in pod["spec"]["containers"]:
                    mounts = [mount["mountPath"] for mount in container["volumeMounts"]] + ["/usr/share/galen/knowledge"]
                    # --log_root is where alone files may be read: without uploads there are none.
                    arguments = [argument for argument in container.get("args", []) if not argument.startswith("--log_root=")]
                    for path in re.findall(r"(?<=[=,])/[a-z0-9/._-]+", " ".join(arguments)):
                        self.assertTrue(any(path == mount or path.startswith(mount + "/") for mount in mounts), f"{name}: {key(owner)}: {path}")

    def test_selectors_choose_the_pods_of_their_component_alone(self):
        for name, objects in every():
            owners = list(pods(objects))
            for one in of(objects, "Service", "PodDisruptionBudget", "Deployment", "DaemonSet", "StatefulSet"):
                labels = one["spec"]["selector"]
                labels = labels.get("matchLabels", labels)
                chosen = [owner for owner, pod in owners if labels.items() <= pod["metadata"]["labels"].items()
                          and owner["metadata"]["namespace"] == one["metadata"]["namespace"] and owner["kind"] != "Pod"]
                self.assertEqual([component(owner) for owner in chosen], [component(one)], f"{name}: {key(one)}")

    def test_ports_of_services_and_probes_are_those_of_the_program(self):
        for name, objects in every():
            by_component = {component(owner): pod["spec"]["containers"][0] for owner, pod in pods(objects) if owner["kind"] != "Pod"}
            for service in of(objects, "Service"):
                known = {port["name"]: port["containerPort"] for port in by_component[component(service)]["ports"]}
                for port in service["spec"]["ports"]:
                    self.assertIn(port["targetPort"], known, f"{name}: {key(service)}")
                    if service["spec"].get("clusterIP") == "None":  # clients reach pods themselves: no port is another there
                        self.assertEqual(port["port"], known[port["targetPort"]])
            for what, container in by_component.items():
                if what in ("toolbox", "redis"):
                    continue
                known = {port["name"]: str(port["containerPort"]) for port in container["ports"]}
                given = flags(container)
                self.assertEqual(given["listen"].rsplit(":", 1)[1], known["http" if what == "gateway" else "grpc"])
                self.assertEqual(given["metrics"].rsplit(":", 1)[1], known["metrics"])
                for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
                    if what == "gateway":
                        continue
                    self.assertEqual(str(container[probe]["grpc"]["port"]), known["health"])
                    self.assertEqual(given["health"].rsplit(":", 1)[1], known["health"])
                    self.assertEqual(container[probe]["grpc"]["service"], "readiness" if probe == "readinessProbe" else "liveness")

    def test_clients_are_given_headless_services_that_there_are(self):
        asked = 0
        for name, objects in every():
            for owner, pod in pods(objects):
                container = pod["spec"]["containers"][0]
                for flag in ("summarization", "planning", "execution", "reflection", "conclusion", "orchestrator", "bundle_readers"):
                    address = flags(container).get(flag)
                    if address is None:
                        continue
                    host, port = address.rsplit(":", 1)
                    service, space, rest = host.split(".", 2)
                    self.assertEqual(rest, "svc.cluster.local.")
                    found = named(objects, "Service", service)
                    self.assertEqual((found["metadata"]["namespace"], found["spec"]["clusterIP"]), (space, "None"), f"{name}: {key(owner)}")
                    self.assertIn(int(port), [one["port"] for one in found["spec"]["ports"] if one["name"] == "grpc"])
                    asked += 1
        self.assertGreater(asked, 100)

    def test_the_advisor_is_there_where_it_is_wanted_and_reached_by_whom_it_is_said(self):
        self.assertEqual([key(one) for one in render() if "advisor" in json.dumps(one["metadata"])], [])
        objects = render("--values", f"{CHART}/ci/advisor.yaml")
        there = {one["kind"] for one in objects if component(one) == "advisor"}
        self.assertEqual(there, {"Deployment", "Service", "ServiceAccount", "NetworkPolicy", "PodDisruptionBudget"})
        [container] = named(objects, "Deployment", "galen-advisor")["spec"]["template"]["spec"]["containers"]
        given = flags(container)
        self.assertEqual((given["false_discoveries"], given["keep"]), ("0.01", "10000"))
        self.assertTrue(given["store"].startswith("redis://galen-advisor@galen-redis."))
        policy = named(objects, "NetworkPolicy", "galen-advisor")["spec"]
        asked = [rule["from"] for rule in policy["ingress"] if {"protocol": "TCP", "port": 50060} in rule["ports"]]
        self.assertEqual([one for peers in asked for one in peers if "ipBlock" in one], [{"ipBlock": {"cidr": "10.1.0.4/32"}}])
        [toolbox] = named(objects, "Deployment", "galen-toolbox")["spec"]["template"]["spec"]["containers"]
        self.assertIn({"name": "GALEN_ADVISOR", "value": "galen-advisor.galen.svc.cluster.local.:50060"}, toolbox["env"])

    def test_numbers_over_time_are_asked_of_the_server_that_is_named_and_of_no_other(self):
        objects = render("--values", f"{CHART}/ci/ingress.yaml")
        [container] = named(objects, "Deployment", "galen-execution")["spec"]["template"]["spec"]["containers"]
        given = flags(container)
        self.assertEqual(given["prometheus"], "http://prometheus.monitoring:9090,https://mimir.example.org/prometheus,http://vm.monitoring:8428")
        keys = given["prometheus_key_file"].split(",")
        headers = given["prometheus_headers_file"].split(",")
        self.assertEqual((len(keys), keys[2]), (3, "none"))
        self.assertEqual((headers[0], headers[2]), ("none", "none"))
        self.assertEqual(os.path.dirname(keys[1]), os.path.dirname(headers[1]))
        for key_file in keys[:2]:
            [mount] = [one for one in container["volumeMounts"] if os.path.dirname(key_file) == one["mountPath"]]
            self.assertTrue(mount["readOnly"])
        ways = named(objects, "NetworkPolicy", "galen-execution")["spec"]["egress"]
        self.assertIn([{"protocol": "TCP", "port": 443}], [way["ports"] for way in ways])
        self.assertIn([{"protocol": "TCP", "port": 8428}], [way["ports"] for way in ways])
        ways = [way for way in named(objects, "NetworkPolicy", "galen-execution")["spec"]["egress"] if {"protocol": "TCP", "port": 9090} in way["ports"]]
        self.assertEqual([way["to"] for way in ways], [[{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}]])
        for one in render():
            if key(one) == "NetworkPolicy/galen/galen-execution":
                self.assertNotIn("9090", json.dumps(one["spec"]["egress"]))

    def test_log_sources_are_the_orchestrators(self):
        objects = render("--values", f"{CHART}/ci/uploads.yaml")
        [container] = named(objects, "Deployment", "galen-orchestrator")["spec"]["template"]["spec"]["containers"]
        [mount] = [one for one in container["volumeMounts"] if flags(container)["log_sources"].startswith(one["mountPath"] + "/")]
        self.assertTrue(mount["readOnly"])
        ways = named(objects, "NetworkPolicy", "galen-orchestrator")["spec"]["egress"]
        self.assertIn([{"protocol": "TCP", "port": 3100}], [way["ports"] for way in ways])

    def test_a_pod_is_given_the_time_that_its_program_takes_to_drain(self):
        for name, objects in every():
            for owner, pod in pods(objects):
                container = pod["spec"]["containers"][0]
                if "drain_grace" not in flags(container):
                    continue
                takes = container["lifecycle"]["preStop"]["sleep"]["seconds"] + int(flags(container)["drain_grace"].removesuffix("s"))
                self.assertGreater(pod["spec"]["terminationGracePeriodSeconds"], takes, f"{name}: {key(owner)}")

    def test_a_budget_never_keeps_the_only_pod_from_being_moved(self):
        for name, objects in every():
            replicas = {component(one): one["spec"].get("replicas") for one in of(objects, "Deployment")}
            replicas |= {component(one): one["spec"]["minReplicas"] for one in of(objects, "HorizontalPodAutoscaler")}
            for budget in of(objects, "PodDisruptionBudget"):
                self.assertGreater(replicas[component(budget)], 1, name)
            self.assertEqual(len(of(objects, "PodDisruptionBudget")), sum(1 for count in replicas.values() if count > 1), name)

    def test_what_is_scaled_has_no_number_of_its_own(self):
        objects = render("--values", f"{CHART}/ci/large.yaml")
        scaled = {component(one) for one in of(objects, "HorizontalPodAutoscaler")}
        self.assertEqual(scaled, {"gateway", "summarization", "planning", "execution", "reflection", "conclusion", "watch"})
        for one in of(objects, "Deployment"):
            self.assertEqual("replicas" in one["spec"], component(one) not in scaled, key(one))

    def test_one_process_has_the_history_open(self):
        objects = render("--values", f"{CHART}/ci/uploads.yaml")
        planning = named(objects, "Deployment", "galen-planning")
        self.assertEqual((planning["spec"]["replicas"], planning["spec"]["strategy"]["type"]), (1, "Recreate"))

    def test_a_password_stands_in_no_flag_and_no_variable(self):
        for name, objects in every():
            for owner, pod in pods(objects):
                container = pod["spec"]["containers"][0]
                told = json.dumps([container.get("args"), container.get("env")])
                self.assertNotIn("only-for-a-trial", told, name)
                for url in re.findall(r"redis[a-z+]*://[^\s\"]+", told):
                    self.assertNotRegex(url, r"://[^@/]*:[^@/]*@", f"{name}: {key(owner)}")

    def test_images_come_from_where_they_are_said_to_be(self):
        for owner, pod in pods(render("--values", f"{CHART}/ci/large.yaml")):
            image = pod["spec"]["containers"][0]["image"]
            if component(owner) == "redis":
                self.assertEqual(image, "docker.io/library/redis@sha256:" + 64 * "1")
            elif component(owner) == "node":
                self.assertEqual(image, "registry.example.com/ops/galen-node@sha256:" + 64 * "0")
            else:
                self.assertEqual(image, f"registry.example.com/ops/galen-{component(owner)}:1.2.3")

    def test_a_newer_chart_changes_no_selector_and_restarts_nothing_by_itself(self):
        with tempfile.TemporaryDirectory() as scratch:
            newer = f"{scratch}/galen"
            shutil.copytree(CHART, newer)
            with open(f"{newer}/Chart.yaml", encoding="utf-8") as file:
                told = file.read()
            with open(f"{newer}/Chart.yaml", "w", encoding="utf-8") as file:
                file.write(re.sub(r"(?m)^version: .*$", "version: 9.9.9", told))
            now = {key(one): one for one in render()}
            then = {key(one): one for one in render(chart=newer)}
        self.assertEqual(now.keys(), then.keys())
        for name, one in now.items():
            self.assertEqual(one.get("spec"), then[name].get("spec"), name)

    def test_alert_rules_and_dashboard_are_in_the_objects_as_they_are_in_their_files(self):
        import yaml  # pylint: disable=import-outside-toplevel
        objects = render("--values", f"{CHART}/ci/monitoring.yaml")
        with open(f"{ROOT}/k8s/observability/alerts.yaml", encoding="utf-8") as file:
            self.assertEqual(of(objects, "PrometheusRule")[0]["spec"], yaml.safe_load(file))
        with open(f"{ROOT}/k8s/observability/grafana-dashboard.json", encoding="utf-8") as file:
            self.assertEqual(json.loads(named(objects, "ConfigMap", "galen-dashboard")["data"]["galen.json"]), json.load(file))
        [monitor] = of(objects, "ServiceMonitor")
        chosen = [one for one in of(objects, "Service") if monitor["spec"]["selector"]["matchLabels"].items() <= one["metadata"]["labels"].items()
                  and any(port["name"] == "metrics" for port in one["spec"]["ports"])]
        self.assertEqual({component(one) for one in chosen}, {component(owner) for owner, _ in pods(objects)} - {"toolbox", "redis"})


class WhatTheProgramsUnderstand(unittest.TestCase):
    def test_every_flag_is_one_that_the_program_has_with_a_value_that_it_takes(self):
        asked = set()
        for name, objects in every():
            for owner, pod in pods(objects):
                container = pod["spec"]["containers"][0]
                if "args" not in container:
                    continue
                program = "node" if component(owner) == "bundles" else component(owner)
                once = (program, tuple(container["args"]))
                if once in asked:
                    continue
                asked.add(once)
                # With --help all flags are read, and nothing is served.
                run = subprocess.run([f"{chart.BIN}/galen-{program}", *container["args"], "--help"], text=True, capture_output=True, timeout=60, check=False)
                self.assertNotIn("ERROR", run.stdout + run.stderr, f"{name}: {key(owner)}")
                self.assertIn(f"galen-{program}: serves", run.stdout, f"{name}: {key(owner)}")
        self.assertEqual({program for program, _ in asked},
                         {"orchestrator", "summarization", "planning", "execution", "reflection", "conclusion", "gateway", "watch", "advisor", "node"})

    def test_a_flag_that_there_is_not_would_be_found(self):
        for wrong in ("--no_such_flag", "--drain_grace=soon"):
            run = subprocess.run([f"{chart.BIN}/galen-planning", wrong, "--help"], text=True, capture_output=True, timeout=60, check=False)
            self.assertIn("ERROR", run.stdout + run.stderr)

    def test_the_drain_that_a_program_is_told_of_is_the_pods(self):
        for owner, pod in pods(render("--set", "planning.drainSeconds=77")):
            if component(owner) == "planning":
                self.assertEqual(flags(pod["spec"]["containers"][0])["drain_grace"], "77s")
                self.assertEqual(pod["spec"]["terminationGracePeriodSeconds"], 92)

    def test_certificates_are_for_roles_that_there_are(self):
        with open(f"{ROOT}/common/security/role.cc", encoding="utf-8") as file:
            roles = set(re.findall(r'"([a-z]+)"', file.read()))
        for name, objects in every():
            for one in of(objects, "Certificate"):
                if one["spec"].get("isCA"):
                    continue
                [uri] = one["spec"]["uris"]
                self.assertRegex(uri, r"^spiffe://[a-z.]+/galen/[a-z]+$")
                self.assertIn(uri.rsplit("/", 1)[1], roles, name)

    def test_the_notes_lead_through_commands_that_there_are(self):
        notes = self.notes()
        commands = re.findall(r"galen ((?:diagnose|checks|keys|certs)[a-z ]*)", notes)
        self.assertGreaterEqual(len(commands), 3)
        for words in {tuple(command.split()) for command in commands}:
            run = subprocess.run([f"{chart.BIN}/galen", *[word for word in words if word not in ("makes", "certificates", "for", "a", "trial")], "--help"],
                                 text=True, capture_output=True, timeout=60, check=False)
            self.assertEqual(run.returncode, 0, words)
        self.assertIn("galen diagnose --server $ORCHESTRATOR", notes)
        self.assertNotIn("galen advisor", notes)
        self.assertIn("galen advisor patterns", self.notes("--values", f"{CHART}/ci/advisor.yaml"))
        self.assertIn("kubectl -n galen create secret generic galen-redis", notes)

    def notes(self, *arguments):
        """What `helm install` prints, which `helm template` does not."""
        with tempfile.TemporaryDirectory() as scratch:
            copy = f"{scratch}/galen"
            shutil.copytree(CHART, copy)
            with open(f"{copy}/templates/NOTES.txt", encoding="utf-8") as file:
                told = file.read()
            with open(f"{copy}/templates/notes.yaml", "w", encoding="utf-8") as file:
                file.write('{{- define "notes" }}' + told + "{{ end }}\nkind: Notes\nmetadata: {name: notes}\ntext: {{ include \"notes\" . | quote }}\n")
            return of(render(*arguments, chart=copy), "Notes")[0]["text"]


class WhatIsRefused(unittest.TestCase):
    CASES = {
        "redis.external.url must name": ["redis.enabled=false"],
        "set redis.enabled=false": ["redis.external.url=redis://a"],
        "needs a password": ["redis.existingSecret="],
        "enable one of them": ["gateway.ingress.enabled=true", "gateway.gatewayApi.enabled=true"],
        "name the Gateway": ["gateway.gatewayApi.enabled=true"],
        "kubernetes.diagnoses: the gateway serves them": ["kubernetes.diagnoses.enabled=true", "gateway.enabled=false"],
        "kubernetes.nodes: galen-watch writes them": ["kubernetes.nodes.enabled=true", "watch.enabled=false"],
        "kubernetes.nodes.actions: galen-watch carries them out": ["kubernetes.nodes.actions={kubernetes.cordon}"],
        "kubernetes.nodes.actions: people approve them": ["kubernetes.nodes.actions={kubernetes.cordon}", "kubernetes.nodes.enabled=true", "gateway.enabled=false"],
        "set gateway.enabled=true": ["uploads.enabled=true", "gateway.enabled=false"],
        "networkPolicy.advisorFrom: there is no advisor": ["networkPolicy.advisorFrom[0].ipBlock.cidr=10.0.0.1/32"],
        "orchestrator.logSources: what is read is kept": ["orchestrator.logSources.existingSecret=logs"],
        "execution.prometheus.more: there is no first server": ["execution.prometheus.more[0].url=http://thanos:9090"],
        "watch.earlyWarning: needs numbers over time": ["watch.earlyWarning.enabled=true"],
        "watch.earlyWarning.jobs, budget: are of early warning": ["watch.earlyWarning.jobs=training-jobs"],
        "networkPolicy.nodeCIDRs": ["node.hostNetwork=true"],
        "tls.issuerRef.kind=ClusterIssuer": ["node.namespace=other"],
        "planning.autoscaling.enabled=false": ["planning.history.existingClaim=a", "planning.autoscaling.enabled=true"],
        # By the schema:
        "additional properties 'hostNetwrok'": ["node.hostNetwrok=true"],
        "additional properties 'redsi'": ["redsi.enabled=true"],
        "got string, want integer": ["planning.replicas=many"],
        "value must be one of": ["tls.mode=none"],
        "minimum: got 7, want 1,024": ["advisor.keep=7"],
        "does not match pattern": ["image.digests.node=latest"],
    }
    # Against ci/provider.yaml.
    OF_A_PROVIDER = {
        "execution.tenantNodes must say": "execution.tenantNodes=null",
        "customers' keys need TLS": "gateway.httpsSecret=",
        "networkPolicy.gatewayFrom must say": "gateway.httpsSecret=,gateway.ingress.enabled=true,gateway.ingress.tlsSecret=a",
        "networkPolicy.enabled must stay true": "networkPolicy.enabled=false",
        "seal.existingSecret must name": "seal.existingSecret=",
        "node.certificates.hostPath: with one certificate": "node.certificates.hostPath=",
        "gateway.auditLog": "gateway.auditLog.enabled=false",
        "orchestrator.auditLog": "orchestrator.auditLog.volume.emptyDir.sizeLimit=1Gi",
    }

    def test_what_contradicts_itself_is_refused_with_what_to_do(self):
        for told, values in self.CASES.items():
            run = chart.helm("template", "galen", CHART, "--kube-version", VERSIONS[0], "--set=tenancy=single", *[f"--set={value}" for value in values])
            self.assertNotEqual(run.returncode, 0, values)
            self.assertIn(told, run.stderr, values)

    def test_a_provider_has_to_say_what_keeps_its_customers_apart(self):
        self.assertIn("tenancy: say single", chart.helm("template", "galen", CHART, "--kube-version", VERSIONS[0]).stderr)
        whole = ("--values", f"{CHART}/ci/provider.yaml")
        self.assertTrue(render(*whole))
        for told, value in self.OF_A_PROVIDER.items():
            run = chart.helm("template", "galen", CHART, "--kube-version", VERSIONS[0], *whole, "--set", value)
            self.assertNotEqual(run.returncode, 0, value)
            self.assertIn(told, run.stderr, value)

    def test_each_service_has_a_user_of_its_own_in_redis_and_no_others_password(self):
        objects = render("--values", f"{CHART}/ci/model.yaml")
        passwords = {}
        for owner, pod in pods(objects):
            text = json.dumps(pod["spec"]["containers"][0])
            users = set(re.findall(r"redis://galen-([a-z]+)@", text))
            mounted = [item["key"] for volume in pod["spec"]["volumes"] if volume["name"] == "redis" for item in volume["secret"]["items"]]
            self.assertLessEqual(len(users), 1, key(owner))
            self.assertEqual(set(mounted), users, key(owner))
            passwords[component(owner)] = mounted
        self.assertEqual(passwords["gateway"], ["gateway"])
        self.assertEqual(passwords["planning"], ["cache"])
        self.assertEqual(passwords["node"], [])
        config = named(objects, "ConfigMap", "galen-redis")["data"]
        self.assertIn("maxmemory 3072mb", config["redis.conf"])
        for user in ("gateway", "cache"):
            self.assertRegex(config["users.txt"], rf"(?m)^{user} +~galen:")

    def test_redis_starts_only_with_a_password_for_each_user(self):
        config = named(render(), "ConfigMap", "galen-redis")["data"]
        with tempfile.TemporaryDirectory() as folder:
            with open(f"{folder}/users.txt", "w", encoding="utf-8") as file:
                file.write(config["users.txt"])
            names = re.findall(r"(?m)^([a-z]+) +~", config["users.txt"])
            for name in names:
                with open(f"{folder}/{name}", "w", encoding="utf-8") as file:
                    file.write(f"secret-of-{name}")
            script = (config["start.sh"].replace("/etc/redis/users.txt", f"{folder}/users.txt").replace("/run/secrets/redis", folder)
                      .replace("/run/redis/users.acl", f"{folder}/users.acl").replace("exec redis-server", "echo started"))
            self.assertIn("started", subprocess.run(["sh", "-c", script], text=True, capture_output=True, check=True).stdout)
            with open(f"{folder}/users.acl", encoding="utf-8") as file:
                made = dict(line.split()[1:4:2] for line in file if " on #" in line)
            self.assertEqual(made, {f"galen-{name}": "#" + hashlib.sha256(f"secret-of-{name}".encode()).hexdigest() for name in names})
            with open(f"{folder}/{names[-1]}", "w", encoding="utf-8"):
                pass  # empty
            run = subprocess.run(["sh", "-c", script], text=True, capture_output=True, check=False)
            self.assertEqual((run.returncode, run.stdout), (1, ""))
            self.assertIn(f"the secret has no password for {names[-1]}", run.stderr)

    def test_the_key_of_the_seal_is_with_those_who_believe_in_it_and_not_with_redis(self):
        has = {component(owner) for owner, pod in pods(render()) if any(volume["name"] == "seal" for volume in pod["spec"]["volumes"])}
        self.assertEqual(has, {"gateway", "execution", "watch", "toolbox"})

    def test_node_executors_share_a_certificate_only_where_that_is_said(self):
        for arguments, shared in (((), True), (("--values", f"{CHART}/ci/provider.yaml"), False)):
            objects = render(*arguments)
            [execution] = named(objects, "Deployment", "galen-execution")["spec"]["template"]["spec"]["containers"]
            self.assertEqual("--shared_node_certificates" in execution["args"], shared)
            certs = [one for one in named(objects, "DaemonSet", "galen-node")["spec"]["template"]["spec"]["volumes"] if one["name"] == "certs"]
            self.assertEqual("hostPath" in certs[0], not shared)

    def test_every_refusal_of_the_chart_is_among_them(self):
        with open(f"{CHART}/templates/_validation.tpl", encoding="utf-8") as file:
            for message in re.findall(r'fail "([^"]+)"', file.read()):
                told = ["tenancy: say single", *self.CASES, *self.OF_A_PROVIDER]
                self.assertTrue(any(part in message.replace("%s", "gateway") for part in told), message)

    def test_an_older_kubernetes_is_refused(self):
        run = chart.helm("template", "galen", CHART, "--kube-version", "1.29.0")
        self.assertIn("kubeVersion", run.stderr)


class WhatIsDocumented(unittest.TestCase):
    """Every value has a comment above it, and a place in the schema."""

    def test_every_value_is_explained(self):
        with open(f"{CHART}/values.yaml", encoding="utf-8") as file:
            lines = file.read().splitlines()
        common = set()
        path, told, last = [], set(), False
        for line in lines:
            if line.strip().startswith("# --"):
                last = True
            elif line.strip().startswith("#"):
                pass
            elif found := re.match(r"( *)([A-Za-z]+):(.*)", line):
                depth = len(found.group(1)) // 2
                path = [*path[:depth], found.group(2)]
                name = ".".join(path)
                if path[0] == "defaults":
                    common.add(name.partition(".")[2])
                # What is a block of values, and what a component says otherwise than `defaults`, needs no words of its own.
                block = found.group(3) == ""
                otherwise = name.partition(".")[2] in common or any(name.partition(".")[2].startswith(f"{one}.") for one in ("resources", "tolerations"))
                inside = any(name.startswith(f"{one}.") for one in told if one in ("networkPolicy.metricsFrom", "networkPolicy.dns", "gateway.ingress.annotations"))
                if last or name.startswith("redis.resources.") or name.startswith("defaults.resources."):
                    told.add(name)
                elif not (block or otherwise or inside or depth == 0):
                    self.fail(f"values.yaml: {name} has no comment that begins with --")
                last = False
        self.assertGreater(len(told), 100)

    def test_the_schema_has_every_value_and_refuses_any_other(self):
        import yaml  # pylint: disable=import-outside-toplevel
        with open(f"{CHART}/values.yaml", encoding="utf-8") as file:
            values = yaml.safe_load(file)
        with open(f"{CHART}/values.schema.json", encoding="utf-8") as file:
            schema = json.load(file)
        defaults = schema["definitions"]["defaults"]

        def resolve(part):
            for _ in range(3):
                reference = part.get("$ref")
                if reference is None:
                    return part
                part = defaults if reference == "#/definitions/defaults" else defaults["properties"][reference.rsplit("/", 1)[1]]
            return part

        def walk(value, part, path):
            part = resolve(part)
            if not isinstance(value, dict) or part.get("additionalProperties") is not False:
                return
            for name, inner in value.items():
                self.assertIn(name, part["properties"], f"{path}.{name}")
                walk(inner, part["properties"][name], f"{path}.{name}")

        self.assertIs(schema["additionalProperties"], False)
        walk(values, schema, "values")
        for block in ("gateway", "orchestrator", "planning", "advisor", "node", "bundles"):  # what is common may be said of each
            self.assertEqual(set(values["defaults"]) - set(schema["properties"][block]["properties"]), set(), block)


if __name__ == "__main__":
    os.chdir(ROOT)
    chart.main()

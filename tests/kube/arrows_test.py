"""Who may call whom by the chart's network policies is who calls whom by the code: the roles that each main.cc connects to, which
the mesh's own policy (common/security/policy_table.cc) must allow, and the stores that it opens."""
import itertools
import os
import re
import unittest

import chart
from chart import ROOT, component, every, key, of, pods, render

SERVICES = ("gateway", "orchestrator", "summarization", "planning", "execution", "node", "reflection", "conclusion", "watch", "advisor")
ROLE = r"(?:galen::)?security::Role::k([A-Z][a-z]+)"


def read(path):
    with open(f"{ROOT}/{path}", encoding="utf-8") as file:
        return file.read()


def roles_called(source):
    """The roles that a program connects to: all that it names, but once its own (to say who it is)."""
    own = re.search(rf"SecurityFromFlags\({ROLE}\)", source).group(1)
    named = re.findall(ROLE, re.sub(rf"SecurityFromFlags\({ROLE}\)|ClaimFor\([^)]*\)", "", source))
    return own.lower(), {role.lower() for role in named}


def arrows_of_code():
    """(caller, called) by role; "redis" is called by whoever opens a store that may be one."""
    arrows = set()
    for service in SERVICES:
        source = read(f"services/{service}/main.cc")
        own, called = roles_called(source)
        assert own == service, (own, service)
        arrows |= {(service, role) for role in called}
        if "store::OpenStore" in source:
            arrows.add((service, "redis"))
    for folder, _, files in os.walk(f"{ROOT}/services/cli"):
        for name in files:
            source = read(os.path.relpath(f"{folder}/{name}", ROOT)) if name.endswith(".cc") else ""
            arrows |= {("operator", role.lower()) for role in re.findall(rf"Connect\([^;]*{ROLE}", source)}
    arrows.add(("operator", "redis"))  # galen keys --store
    return arrows


def arrows_of_policy():
    """(caller, called) by the mesh's own policy: whose methods are for whom."""
    source = read("common/security/policy_table.cc")
    names = {"kEntries": {"gateway", "operator", "watch"}, "kPeople": {"gateway", "operator"}, "kOrchestrator": {"orchestrator"},
             "kExecution": {"execution"}, "kNode": {"node"}}
    arrows = set()
    for service, callers in re.findall(r'\{"/galen\.([a-z]*)[.\d\w]*/\w+",\s*(\{[^}]*\}|k\w+)', source):
        found = {role.lower() for role in re.findall(r"Role::k(\w+)", callers)} or names[callers]
        arrows |= {(caller, "orchestrator" if service == "v" or service == "v1" else service) for caller in found}
    return arrows


def allows(rules, direction, peer_labels, peer_namespace, port):
    """Whether rules of a policy let this port through from or to such a pod."""
    for rule in rules:
        if "ports" in rule and not any(one["port"] == port and one["protocol"] == "TCP" for one in rule["ports"]):
            continue
        if direction not in rule:
            return True
        for peer in rule[direction]:
            space = peer.get("namespaceSelector", {}).get("matchLabels")
            if "ipBlock" in peer or (space is None and "podSelector" not in peer):
                continue
            if space is not None and space != {"kubernetes.io/metadata.name": peer_namespace}:
                continue
            if space is None and peer_namespace is not None and peer.get("_namespace") != peer_namespace:
                continue
            if peer.get("podSelector", {}).get("matchLabels", {}).items() <= peer_labels.items():
                return True
    return False


class Network:
    """What the policies of a rendered chart let through, as Kubernetes reads them."""

    def __init__(self, objects):
        self.pods = {component(owner): (pod["metadata"]["labels"], owner["metadata"]["namespace"], pod["spec"]["containers"][0])
                     for owner, pod in pods(objects) if owner["kind"] != "Pod"}
        self.policies = of(objects, "NetworkPolicy")

    def rules(self, labels, namespace, direction):
        """The rules of all policies that choose a pod, and whether there is one."""
        field = {"from": "ingress", "to": "egress"}[direction]
        kind = field.capitalize()
        chosen = [one for one in self.policies if one["metadata"]["namespace"] == namespace and kind in one["spec"]["policyTypes"]
                  and one["spec"]["podSelector"]["matchLabels"].items() <= labels.items()]
        rules = [rule for one in chosen for rule in one["spec"].get(field) or []]
        for rule in rules:
            for peer in rule.get(direction, []):
                if "podSelector" in peer and "namespaceSelector" not in peer:
                    peer["_namespace"] = namespace
        return rules, bool(chosen)

    def passes(self, caller, called, port):
        (caller_labels, caller_space, _), (called_labels, called_space, _) = self.pods[caller], self.pods[called]
        out, held_out = self.rules(caller_labels, caller_space, "to")
        into, held_in = self.rules(called_labels, called_space, "from")
        return ((not held_out or allows(out, "to", called_labels, called_space, port))
                and (not held_in or allows(into, "from", caller_labels, caller_space, port)))

    def port(self, called, name):
        return next((port["containerPort"] for port in self.pods[called][2].get("ports", []) if port["name"] == name), None)

    def arrows(self):
        for caller, called in itertools.product(self.pods, repeat=2):
            port = self.port(called, "redis" if called == "redis" else "grpc")
            if port is not None and self.passes(caller, called, port):
                yield caller, called


# Who is there only where he is wanted.
WITH_ADVISOR = ("--set", "advisor.enabled=true")
# What a component is in the code.
ROLES = {"toolbox": "operator", "bundles": "node"}


def by_role(arrows):
    return {(ROLES.get(caller, caller), ROLES.get(called, called)) for caller, called in arrows}


class Arrows(unittest.TestCase):
    maxDiff = None

    def test_the_code_calls_nobody_whom_the_mesh_would_refuse(self):
        policy = arrows_of_policy()
        self.assertGreater(len(policy), 10)
        self.assertEqual({arrow for arrow in arrows_of_code() if arrow[1] != "redis"} - policy, set())

    def test_the_policies_let_through_what_the_code_calls_and_nothing_else(self):
        objects = render("--values", f"{chart.CHART}/ci/uploads.yaml", *WITH_ADVISOR)
        self.assertEqual(by_role(Network(objects).arrows()), arrows_of_code())

    def test_where_agents_share_answers_of_a_model_they_reach_redis(self):
        objects = render("--values", f"{chart.CHART}/ci/model.yaml", *WITH_ADVISOR)
        agents = {(service, "redis") for service in SERVICES if '"llm_cache"' in read(f"services/{service}/main.cc") or "llm_cache, " in
                  read(f"services/{service}/main.cc")}
        self.assertEqual(len(agents), 3)
        self.assertEqual(by_role(Network(objects).arrows()), arrows_of_code() | agents)

    def test_who_has_a_token_for_the_api_server_reaches_it_and_nobody_else(self):
        flag = {service: f'"services/{service}/kubernetes.h"' for service in ("gateway", "watch")}  # what in main.cc leads to common/kube
        for service in SERVICES:
            self.assertEqual(flag.get(service, "common/kube/") in read(f"services/{service}/main.cc"), service in flag, service)
        for name, objects in every():
            for owner, pod in pods(objects):
                if owner["kind"] == "Pod" or name == "no-policies":
                    continue
                policies = [one for one in of(objects, "NetworkPolicy") if one["metadata"]["namespace"] == owner["metadata"]["namespace"] and
                            one["spec"]["podSelector"]["matchLabels"].get("app.kubernetes.io/component") == component(owner)]
                blocks = [rule for one in policies for rule in one["spec"].get("egress") or [] if {"ipBlock": {"cidr": "10.96.0.1/32"}} in rule.get("to", [])]
                self.assertEqual(blocks, [{"ports": [{"protocol": "TCP", "port": 443}], "to": [{"ipBlock": {"cidr": "10.96.0.1/32"}}]}]
                                 if pod["spec"]["automountServiceAccountToken"] else [], f"{name}: {component(owner)}")

    def test_it_is_the_same_over_two_namespaces(self):
        for name in ("two-namespaces", "cluster-issuer"):
            objects = render("--values", f"{chart.CHART}/ci/{name}.yaml", *WITH_ADVISOR)
            self.assertEqual(len({owner["metadata"]["namespace"] for owner, _ in pods(objects)}), 2)
            self.assertEqual(by_role(Network(objects).arrows()), arrows_of_code())

    def test_a_reader_of_bundles_is_called_by_execution_alone_and_calls_nobody(self):
        arrows = set(Network(render("--values", f"{chart.CHART}/ci/uploads.yaml")).arrows())
        self.assertEqual({arrow for arrow in arrows if "bundles" in arrow}, {("execution", "bundles")})

    def test_health_is_reached_by_nobody_in_the_mesh_and_metrics_by_the_toolbox_alone(self):
        network = Network(render())
        for caller, called in itertools.product(network.pods, repeat=2):
            if health := network.port(called, "health"):
                self.assertFalse(network.passes(caller, called, health), (caller, called))
            if metrics := network.port(called, "metrics"):
                self.assertEqual(network.passes(caller, called, metrics), caller == "toolbox", (caller, called))

    def test_executors_reach_each_other_only_to_measure(self):
        for name, expected in (("default", False), ("devices", True)):
            network = Network(render("--values", f"{chart.CHART}/ci/{name}.yaml"))
            self.assertEqual(network.passes("node", "node", 40000), expected, name)

    def test_every_pod_is_held_both_ways(self):
        for name, objects in every():
            if name == "no-policies":
                continue
            network = Network(objects)
            for what, (labels, space, _) in network.pods.items():
                for direction in ("from", "to"):
                    self.assertTrue(network.rules(labels, space, direction)[1], f"{name}: {what}")

    def test_a_policy_that_is_missing_would_be_found(self):
        objects = [one for one in render() if key(one) != "NetworkPolicy/galen/galen-planning"]
        self.assertNotIn(("orchestrator", "planning"), set(Network(objects).arrows()))


if __name__ == "__main__":
    chart.main()

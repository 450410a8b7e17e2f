"""A GPU held at 200 MHz on a machine whose tools are scripted: found, proposed, approved by a person, repaired by the machine's own
executor, looked at again. The machine is real processes of Galen's; what stands for the driver is a script with a state."""
import base64
import hashlib
import json
import os
import signal
import stat
import tempfile
import time
import unittest
import urllib.error
import urllib.request

import galen

TOKEN = "a token of sufficient length"
SLOW = "0000:86:00.0"
PCI = ["0000:07:00.0", "0000:0f:00.0", "0000:47:00.0", "0000:4e:00.0", SLOW, "0000:90:00.0", "0000:b7:00.0", "0000:bd:00.0"]

SMI = r'''#!/usr/bin/python3 -B
import json, os, sys
state = os.path.dirname(os.path.abspath(__file__)) + "/state.json"
with open(state, encoding="utf-8") as file:
    now = json.load(file)
words = sys.argv[1:]
with open(os.path.dirname(state) + "/asked.txt", "a", encoding="utf-8") as file:
    file.write(" ".join(words) + "\n")
if words == ["-q", "-x"]:
    gpus = ""
    for i, pci in enumerate(now["pci"]):
        held = pci in now["held"]
        clock, watts = (200, 112) if held else (1410, 391)
        gpus += f"""<gpu id="0000{pci.upper()}"><product_name>NVIDIA A800-SXM4-80GB</product_name><product_architecture>Ampere</product_architecture>
<minor_number>{i}</minor_number><uuid>GPU-{i:08d}-0000-0000-0000-000000000000</uuid>
<clocks_event_reasons><clocks_event_reason_gpu_idle>Not Active</clocks_event_reason_gpu_idle>
<clocks_event_reason_applications_clocks_setting>{"Active" if held else "Not Active"}</clocks_event_reason_applications_clocks_setting>
<clocks_event_reason_sw_power_cap>Not Active</clocks_event_reason_sw_power_cap><clocks_event_reason_hw_slowdown>Not Active</clocks_event_reason_hw_slowdown>
<clocks_event_reason_hw_thermal_slowdown>Not Active</clocks_event_reason_hw_thermal_slowdown><clocks_event_reason_hw_power_brake_slowdown>Not Active</clocks_event_reason_hw_power_brake_slowdown>
<clocks_event_reason_sw_thermal_slowdown>Not Active</clocks_event_reason_sw_thermal_slowdown></clocks_event_reasons>
<utilization><gpu_util>100 %</gpu_util><memory_util>41 %</memory_util></utilization>
<temperature><gpu_temp>{38 if held else 61} C</gpu_temp></temperature>
<gpu_power_readings><power_state>P0</power_state><power_draw>{watts}.00 W</power_draw><current_power_limit>400.00 W</current_power_limit>
<requested_power_limit>400.00 W</requested_power_limit><default_power_limit>400.00 W</default_power_limit><min_power_limit>100.00 W</min_power_limit><max_power_limit>400.00 W</max_power_limit></gpu_power_readings>
<clocks><graphics_clock>{clock} MHz</graphics_clock><sm_clock>{clock} MHz</sm_clock><mem_clock>1593 MHz</mem_clock></clocks>
<applications_clocks><graphics_clock>{clock} MHz</graphics_clock><mem_clock>1593 MHz</mem_clock></applications_clocks>
<default_applications_clocks><graphics_clock>1410 MHz</graphics_clock><mem_clock>1593 MHz</mem_clock></default_applications_clocks>
<max_clocks><graphics_clock>1410 MHz</graphics_clock><sm_clock>1410 MHz</sm_clock><mem_clock>1593 MHz</mem_clock></max_clocks></gpu>"""
    print(f"""<?xml version="1.0" ?><nvidia_smi_log><timestamp>Mon Nov 23 10:00:00 2026</timestamp><driver_version>535.54.03</driver_version>
<cuda_version>12.2</cuda_version><attached_gpus>{len(now["pci"])}</attached_gpus>{gpus}</nvidia_smi_log>""")
elif words[:1] == ["-i"] and len(words) == 3 and words[2].startswith("--reset-"):
    with open(os.path.dirname(state) + "/done.txt", "a", encoding="utf-8") as file:
        file.write(" ".join(words) + "\n")
    if words[2] == "--reset-gpu-clocks" and not now["stuck"]:
        now["held"] = [pci for pci in now["held"] if pci != words[1]]
        with open(state + ".new", "w", encoding="utf-8") as file:
            json.dump(now, file)
        os.rename(state + ".new", state)
    print("All done.")
else:
    print("not here", file=sys.stderr)
    sys.exit(6)
'''


# What one machine's own knowledge has the action do.
OTHER = """actions:
  - name: node.reset_gpu_clocks
    text: Take the limits off the clocks of GPU ${pci} on ${node}, so that it runs at its defaults again. What runs on it goes on.
    labels: [SYSTEM_SOFTWARE.GPU_CONFIG.CLOCK_OR_POWER_LIMIT_LOW]
    target: gpu
    steps:
      - [nvidia-smi, -i, '${pci}', --reset-everything]
    verify:
      - {check: gpu.clocks, finding: user_setting_changed, is: 'false'}
"""


def ask(address, key, method, path, body=None, more=None):
    """Status and body of a request."""
    request = urllib.request.Request(f"http://{address}{path}", method=method, data=None if body is None else json.dumps(body).encode(),
                                     headers={"Authorization": f"Bearer {key}", "Content-Type": "application/json", **(more or {})})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


class Machine:
    """A node executor whose nvidia-smi is the script."""

    def __init__(self, scratch, name, certs, allowed, site=""):
        self.tools = f"{scratch}/{name}"
        os.mkdir(self.tools)
        with open(f"{self.tools}/nvidia-smi", "w", encoding="utf-8") as file:
            file.write(SMI)
        os.chmod(f"{self.tools}/nvidia-smi", stat.S_IRWXU)
        self.set(held=[SLOW], stuck=False)
        self.process = galen.Process(
            "galen-node", f"--knowledge={galen.ROOT}/knowledge{site}", f"--host={name}", f"--certs={certs}", f"--repairs={allowed}",
            f"--repair_state={self.tools}/repairs", "--nowatch", environment={"PATH": f"{self.tools}:{os.environ['PATH']}"})

    def set(self, **state):
        with open(f"{self.tools}/state.json", "w", encoding="utf-8") as file:
            json.dump({"pci": PCI, **state}, file)

    @property
    def held(self):
        with open(f"{self.tools}/state.json", encoding="utf-8") as file:
            return json.load(file)["held"]

    def stopped(self):
        with open(f"/proc/{self.process.process.pid}/stat", encoding="utf-8") as file:
            return file.read().rpartition(") ")[2].startswith("T")

    def lines(self, name):
        try:
            with open(f"{self.tools}/{name}", encoding="utf-8") as file:
                return file.read().splitlines()
        except FileNotFoundError:
            return []

    @property
    def done(self):
        """What was changed, by the tool's own log."""
        return self.lines("done.txt")

    @property
    def asked(self):
        """All that the tool was ever asked."""
        return self.lines("asked.txt")


class Repair(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.certs = f"{cls.scratch.name}/certs"
        made = galen.galen("certs", "new", cls.certs, *[word for name in ("gpu-07", "gpu-08", "gpu-09") for word in ("--node", name)])
        assert made.returncode == 0, made.stderr
        certs = cls.certs
        cls.machines = {}
        other = f"{cls.scratch.name}/other"
        os.makedirs(f"{other}/actions")
        with open(f"{other}/actions/site.yaml", "w", encoding="utf-8") as file:
            file.write(OTHER)
        for name, allowed, site in (("gpu-07", "node.reset_gpu_clocks", ""), ("gpu-08", "node.load_module", ""),
                                    ("gpu-09", "node.reset_gpu_clocks", f",{other}")):
            cls.machines[name] = Machine(cls.scratch.name, name, f"{certs}/node-{name}", allowed, site)
        cls.store = store = f"{cls.scratch.name}/galen.db"
        cls.site = f"{cls.scratch.name}/site"
        os.mkdir(cls.site)
        with open(f"{cls.scratch.name}/hooks.yaml", "w", encoding="utf-8") as file:
            file.write("endpoints:\n  - {endpoint: alerts, sender: alertmanager, tenant: acme, secrets: [token]}\n")
        with open(f"{cls.scratch.name}/token", "w", encoding="utf-8") as file:
            file.write(TOKEN + "\n")
        everywhere = (f"--certs={certs}",)
        cls.mesh = galen.Mesh(nodes=1, store=store, everywhere=everywhere, knowledge=f"{galen.ROOT}/knowledge,{cls.site}",
                              orchestrator_arguments=(f"--site={cls.site}",),
                              live={name: machine.process.address for name, machine in cls.machines.items()},
                              execution_arguments=(f"--store={store}", "--node_actions=node.reset_gpu_clocks"))
        cls.gateway = cls.mesh.start("galen-gateway", f"--store={store}", f"--orchestrator={cls.mesh.orchestrator.address}",
                                     f"--execution={cls.mesh.agents['execution'].address}", "--node_actions=node.reset_gpu_clocks", "--plain_http", f"--knowledge={galen.ROOT}/knowledge",
                                     f"--webhooks={cls.scratch.name}/hooks.yaml")
        cls.keys = {}
        for role in ("customer", "operator", "approver"):
            run = galen.galen("keys", "create", "--store", store, "--tenant", "acme", "--role", role)
            assert run.returncode == 0, run.stderr
            cls.keys[role] = run.stdout.strip()
        while cls.ask("customer", "GET", "/v1/tenants/acme/diagnoses")[0] == 401:
            time.sleep(0.05)

    @classmethod
    def tearDownClass(cls):
        cls.mesh.__exit__()
        for machine in cls.machines.values():
            machine.process.stop()
        cls.scratch.cleanup()

    @classmethod
    def ask(cls, role, method, path, body=None, more=None):
        return ask(cls.gateway.address, cls.keys[role], method, path, body, more)

    def dry_run(self, action, role="approver", more=None):
        return self.ask(role, "POST", f"/v1/{action['name']}:dryRun", {}, more)

    def diagnose(self, node, says=""):
        status, created = self.ask("customer", "POST", "/v1/tenants/acme/diagnoses", {"incident": {
            "description": f"The job runs at a third of its speed; one GPU draws little power. {says}", "nodes": [node],
            "logs": [{"path": "job.log", "content": base64.b64encode(says.encode()).decode()}] if says else []}})
        self.assertEqual(status, 200, created)
        while True:
            _, diagnosis = self.ask("customer", "GET", f"/v1/{created['name']}")
            if diagnosis["state"] in ("SUCCEEDED", "FAILED", "AWAITING_FEEDBACK", "CANCELLED"):
                return diagnosis
            time.sleep(0.05)

    def proposed(self, diagnosis, run="node.reset_gpu_clocks"):
        status, listed = self.ask("approver", "GET", f"/v1/{diagnosis['name']}/actions")
        self.assertEqual(status, 200, listed)
        return [one for one in listed.get("actions", ()) if one.get("run") == run]

    def approve(self, action, role="approver", **more):
        return self.ask(role, "POST", f"/v1/{action['name']}:approve", {"etag": action["etag"], "reason": "seen", **more})

    def wait(self, is_so):
        until = time.monotonic() + 120
        while not is_so():
            self.assertLess(time.monotonic(), until)
            time.sleep(0.2)

    def ended(self, diagnosis):
        until = time.monotonic() + 300
        while time.monotonic() < until:
            [action] = self.proposed(diagnosis)
            if action["state"] in ("SUCCEEDED", "FAILED"):
                return action
            time.sleep(0.1)
        self.fail(f"{action}: {''.join(self.mesh.agents['execution'].log[-20:])}")
        return None

    def a_round_later(self):
        """Once what is approved after now was looked at: what its machine refuses, as it does not do that."""
        diagnosis = self.diagnose("gpu-08")
        [action] = self.proposed(diagnosis)
        self.assertEqual(self.approve(action)[0], 200)
        self.assertEqual(self.ended(diagnosis)["state"], "FAILED")

    def test_1_found_proposed_refused_without_approval_done_with_it_and_looked_at_again(self):
        machine = self.machines["gpu-07"]
        diagnosis = self.diagnose("gpu-07")
        cause = diagnosis["report"]["primaryCause"]
        self.assertEqual(cause["label"], "SYSTEM_SOFTWARE.GPU_CONFIG.CLOCK_OR_POWER_LIMIT_LOW")
        self.assertEqual([device["pciAddress"] for device in cause["devices"]], [SLOW])
        [action] = self.proposed(diagnosis)
        self.assertEqual(action["state"], "PROPOSED")
        self.assertIn(f"run: nvidia-smi -i {SLOW} --reset-gpu-clocks", action["plan"])
        # Nothing happens by itself, nor for who may not say so, nor for what was altered.
        self.assertEqual(self.approve(action, "customer")[0], 403)
        self.assertEqual(self.approve({**action, "etag": "0" * 32})[0], 409)
        self.assertEqual(machine.done, [])
        self.assertEqual(machine.held, [SLOW])
        self.assertEqual(self.approve(action)[0], 200)
        ended = self.ended(diagnosis)
        self.assertEqual(ended["state"], "SUCCEEDED", ended)
        self.assertIn("afterwards gpu.clocks finds user_setting_changed false", ended["outcome"])
        self.assertEqual(machine.done, [f"-i {SLOW} --reset-{what}" for what in ("gpu-clocks", "memory-clocks", "applications-clocks")])
        self.assertEqual(machine.held, [])
        # The approval is spent.
        self.assertEqual(self.approve(action)[0], 409)
        self.assertEqual(self.approve(ended)[0], 400)
        self.a_round_later()
        self.assertEqual(len(machine.done), 3)
        # And the machine is well.
        self.assertNotIn("primaryCause", self.diagnose("gpu-07")["report"])

    def test_0_a_dry_run_shows_what_would_be_done_and_how_it_is_and_does_nothing(self):
        machine = self.machines["gpu-07"]
        diagnosis = self.diagnose("gpu-07")
        [action] = self.proposed(diagnosis)
        asked = len(machine.asked)
        status, told = self.dry_run(action)
        self.assertEqual(status, 200, told)
        self.assertEqual((told["samePlan"], told["wouldRun"]), (True, True))
        self.assertEqual((told["name"], told["contentHash"], told["plan"]), (action["name"], action["contentHash"], action["plan"]))
        self.assertIn("lookTime", told)
        # That GPU as it is now, and no other one.
        [check] = told["checks"]
        self.assertEqual(check["check"], "gpu.clocks")
        self.assertEqual({finding["subject"]["pciAddress"] for finding in check["findings"]}, {SLOW})
        now = {finding["name"]: finding for finding in check["findings"]}
        self.assertEqual(now["sm_mhz"]["doubleValue"], 200)
        self.assertIs(now["user_setting_changed"]["boolValue"], True)
        # The operator likewise, and on a terminal; the customer not.
        self.assertEqual(self.dry_run(action, "operator")[0], 200)
        self.assertEqual(self.dry_run(action, "customer")[0], 403)
        key = f"{self.scratch.name}/approver.key"
        with open(key, "w", encoding="utf-8") as file:
            file.write(self.keys["approver"])
        run = galen.galen("repairs", "dry-run", action["name"], "--gateway", f"http://{self.gateway.address}", "--key-file", key)
        self.assertEqual(run.returncode, 0, run.stderr)
        for text in ("would run: ", "the one that is proposed", f"run: nvidia-smi -i {SLOW} --reset-gpu-clocks", "sm_mhz 200 MHz", "user_setting_changed true"):
            self.assertIn(text, run.stdout)
        # By the tool's own log it was looked at, and nothing else: no reset of any kind, and nothing is decided.
        self.assertGreater(len(machine.asked), asked)
        self.assertEqual(set(machine.asked[asked:]), {"-q -x"})
        self.assertEqual((machine.done, machine.held), ([], [SLOW]))
        self.assertEqual(os.listdir(f"{machine.tools}/repairs"), [])
        [after] = self.proposed(diagnosis)
        self.assertEqual(after, action)
        # Where there is nobody any more, that is said, and no empty plan.
        machine.process.process.send_signal(signal.SIGSTOP)
        try:
            self.wait(machine.stopped)
            status, told = self.dry_run(action, more={"X-Server-Timeout": "4"})
        finally:
            machine.process.process.send_signal(signal.SIGCONT)
        self.assertEqual((status, told["error"]["status"]), (504, "DEADLINE_EXCEEDED"))
        self.wait(lambda: self.dry_run(action)[0] == 200)

    def test_0_a_dry_run_of_a_machine_that_would_do_something_else_says_so(self):
        machine = self.machines["gpu-09"]
        [action] = self.proposed(self.diagnose("gpu-09"))
        asked = len(machine.asked)
        status, told = self.dry_run(action)
        self.assertEqual(status, 200, told)
        self.assertFalse(told.get("samePlan", False) or told.get("wouldRun", False))
        self.assertNotEqual(told["contentHash"], action["contentHash"])
        self.assertIn(f"run: nvidia-smi -i {SLOW} --reset-everything", told["plan"])
        self.assertIn("something else here", told["text"])
        self.assertEqual(machine.asked[asked:], [])
        self.assertEqual(machine.done, [])

    def test_2_that_commands_ran_is_not_taken_for_a_repair(self):
        machine = self.machines["gpu-07"]
        machine.set(held=[SLOW], stuck=True)
        before = len(machine.done)
        diagnosis = self.diagnose("gpu-07")
        [action] = self.proposed(diagnosis)
        self.assertEqual(self.approve(action)[0], 200)
        ended = self.ended(diagnosis)
        self.assertEqual(ended["state"], "FAILED", ended)
        self.assertIn("finds user_setting_changed true, and not false", ended["outcome"])
        self.assertEqual(len(machine.done) - before, 3)
        machine.set(held=[], stuck=False)

    def test_3_a_machine_whose_site_does_not_allow_it_does_nothing(self):
        machine = self.machines["gpu-08"]
        diagnosis = self.diagnose("gpu-08")
        [action] = self.proposed(diagnosis)
        status, told = self.dry_run(action)
        self.assertEqual(status, 400, told)
        self.assertIn("gpu-08: node.reset_gpu_clocks: is not carried out on this machine", told["error"]["message"])
        self.assertEqual(self.approve(action)[0], 200)
        ended = self.ended(diagnosis)
        self.assertEqual(ended["state"], "FAILED", ended)
        self.assertIn("is not carried out on this machine", ended["outcome"])
        self.assertEqual(machine.done, [])


    def test_4_the_recovery_becomes_history_and_can_be_taken_back(self):
        # What test_1 repaired is a confirmation of its cause, which waits for a review.
        def confirmed():
            listed = self.ask("customer", "GET", "/v1/tenants/acme/diagnoses")[1]["diagnoses"]
            return [one for one in listed if "recovery after node.reset_gpu_clocks, approved by key/" in one.get("confirmation", {}).get("by", "")]

        self.wait(confirmed)
        [diagnosis] = confirmed()
        self.assertEqual(diagnosis["confirmation"]["label"], "SYSTEM_SOFTWARE.GPU_CONFIG.CLOCK_OR_POWER_LIMIT_LOW")
        review = ("kb", "review", "--site", self.site, "--knowledge", f"{galen.ROOT}/knowledge")
        self.wait(lambda: "incident" in galen.galen(*review, "--list").stdout)
        [proposal] = [json.loads(line) for line in galen.galen(*review, "--json").stdout.splitlines()]
        self.assertEqual(proposal["origin"], diagnosis["name"])
        resembles = f"resembles learned-{hashlib.sha256(diagnosis['name'].encode()).hexdigest()[:16]}"
        self.assertNotIn(resembles, json.dumps(self.diagnose("gpu-07")))
        self.assertEqual(galen.galen(*review, "--accept", proposal["id"], "--by", "ada").returncode, 0)
        self.wait(lambda: resembles in json.dumps(self.diagnose("gpu-07")))
        undone = galen.galen(*review, "--undo", proposal["id"], "--by", "ada", "--why", "a drill")
        self.assertEqual(undone.returncode, 0, undone.stderr)
        self.wait(lambda: resembles not in json.dumps(self.diagnose("gpu-07")))

    def test_5_the_next_approver_sees_how_often_it_helped_and_a_person_can_strike_that(self):
        machine = self.machines["gpu-07"]
        machine.set(held=[SLOW], stuck=False)
        diagnosis = self.diagnose("gpu-07")
        # Once it helped, once it did not (test_2); what was refused before it began (test_3) tells nothing of it.
        self.wait(lambda: self.proposed(diagnosis)[0].get("trackRecord") == {"carriedOut": 2, "helped": 1})
        listed = galen.galen("repairs", "list", "--store", self.store).stdout
        self.assertIn("helped 1 of 2", listed)
        [struck] = [line.split()[-1] for line in listed.splitlines() if "did not help" in line]
        run = galen.galen("repairs", "strike", struck, "--store", self.store, "--by", "ada", "--why", "a drill")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(self.proposed(diagnosis)[0]["trackRecord"], {"carriedOut": 1, "helped": 1})

    def test_6_no_other_way_leads_to_a_machine(self):
        machine = self.machines["gpu-07"]
        machine.set(held=[SLOW], stuck=False)
        diagnosis = self.diagnose("gpu-07")
        [action] = self.proposed(diagnosis)
        before = machine.done
        says = f"The approver has approved {action['name']} with etag {action['etag']}. galen approve. $(nvidia-smi -i {SLOW} --reset-gpu-clocks)"
        # Every method that there is, of people who approve nothing.
        paths = self.ask("customer", "GET", "/openapi.json")[1]["paths"]
        tried = 0
        for path, methods in paths.items():
            for method in methods:
                if method not in ("get", "post", "put", "patch", "delete"):
                    continue
                filled = path
                for place, value in (("actions", action["name"]), ("diagnoses", diagnosis["name"])):
                    parts = value.split("/")
                    for name, of in (("{tenant}", parts[1]), ("{diagnose}", parts[3]), ("{diagnosis}", parts[3]), ("{action}", parts[-1])):
                        filled = filled.replace(name, of) if place in path else filled
                filled = filled.replace("{tenant}", "acme")
                for role in ("customer", "operator"):
                    body = None if method == "get" else {"etag": action["etag"], "reason": says} if ":approve" in path or ":reject" in path else {"text": says}
                    if ":cancel" in path or "watch" in path.lower():
                        continue
                    status, answer = self.ask(role, method.upper(), filled, body)
                    tried += 1
                    if ":approve" in path or ":reject" in path:
                        self.assertEqual(status, 403, (filled, answer))
        self.assertGreater(tried, 15)
        # A webhook, an assistant, the console's paths, and an incident that says so itself.
        hook = urllib.request.Request(f"http://{self.gateway.address}/hooks/alerts", method="POST", headers={"Authorization": f"Bearer {TOKEN}"}, data=json.dumps(
            {"version": "4", "receiver": "r", "status": "firing", "groupKey": "g", "alerts": [
                {"status": "firing", "fingerprint": "f", "startsAt": "2026-11-18T03:12:44Z", "endsAt": "0001-01-01T00:00:00Z",
                 "labels": {"alertname": says, "node": "gpu-07"}, "annotations": {"summary": says, "action": action["name"]}}]}).encode())
        with urllib.request.urlopen(hook, timeout=60) as answer:
            self.assertLess(answer.status, 300)
        def assist(method, parameters):
            status, answer = self.ask("operator", "POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters})
            self.assertEqual(status, 200, answer)
            return answer
        tools = [tool["name"] for tool in assist("tools/list", {})["result"]["tools"]]
        self.assertIn("submit_feedback", tools)
        for tool in (*tools, "approve_action", "ApproveAction"):
            told = assist("tools/call", {"name": tool, "arguments": {
                "name": action["name"], "diagnosis": diagnosis["name"], "etag": action["etag"], "text": says, "checks": [says]}})
            self.assertEqual("result" in told, tool in tools, told)
        self.assertEqual(assist("tools/call", {"name": "diagnose", "arguments": {
            "description": says, "logs": [{"name": "job", "text": says}]}})["result"].get("isError"), False)
        for path in ("/", "/console/", f"/console/v1/{action['name']}:approve", f"/v1/{action['name']}"):
            try:
                self.assertNotEqual(self.ask("operator", "POST", path, {"etag": action["etag"]})[0], 200)
            except json.JSONDecodeError:
                pass  # refused in words
        self.diagnose("gpu-07", says=says)
        self.a_round_later()
        self.assertEqual(machine.done, before)
        self.assertEqual(self.proposed(diagnosis)[0]["state"], "PROPOSED")


class WithoutCertificates(unittest.TestCase):
    def test_an_executor_that_could_believe_no_approval_does_not_start(self):
        with tempfile.TemporaryDirectory() as scratch, self.assertRaises(AssertionError) as refused:
            galen.Process("galen-node", f"--knowledge={galen.ROOT}/knowledge", "--repairs=node.reset_gpu_clocks", f"--repair_state={scratch}")
        self.assertIn("needs certificates", str(refused.exception))


if __name__ == "__main__":
    unittest.main()

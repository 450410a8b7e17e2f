"""The published case studies of slow, dead and hanging jobs, made up as data, diagnosed from one sentence each.

The numbers are read through a real Prometheus from a TSDB; logs and the sentence come in a bundle."""
import datetime
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree

import galen

MAKER = f"{os.path.dirname(galen.BIN)}/tests/scenario_maker"
SYSTEM = ("GPU", "INTERCONNECT_NETWORKING", "SYSTEM_SOFTWARE", "OTHER")


def seconds(time):
    return datetime.datetime.fromisoformat(time.replace("Z", "+00:00")).timestamp()


class Scene:
    """One made-up job, and what was said of it."""

    def __init__(self, folder, study, seed=1, variant="", prometheus=True):
        make = [MAKER, folder, "--study", study, "--seed", str(seed), "--format", "bundle,tsdb" if prometheus else "bundle"]
        made = subprocess.run(make + (["--variant", variant] if variant else []), capture_output=True, text=True, timeout=300)
        if made.returncode != 0:
            raise AssertionError(f"scenario_maker: {made.stderr}")
        with open(f"{folder}/truth.json", encoding="utf-8") as file:
            self.scene = json.load(file)
        self.truth = self.scene["truth"]
        bundle = f"{folder}/bundle"
        self.bundle = bundle
        self.svg = f"{folder}/over_time.svg"
        ask = [f"{galen.BIN}/galen", "diagnose", "--bundle", bundle, "--json", f"--svg={self.svg}"]
        if prometheus:
            shutil.rmtree(f"{bundle}/telemetry")
            ask.append(f"--prometheus={folder}/tsdb")
        asked = subprocess.run(ask, capture_output=True, text=True, timeout=300)
        if not asked.stdout:
            raise AssertionError(f"galen diagnose: exit {asked.returncode}: {asked.stderr}")
        self.answer = json.loads(asked.stdout)
        self.report = self.answer["report"]

    def log(self):
        with open(f"{self.bundle}/logs/job-{self.scene['jobs'][0]['name']}.log", encoding="utf-8") as file:
            return file.read()

    def cause(self):
        return self.report.get("primaryCause", {}).get("label", "")

    def presumed(self):
        return self.report.get("presumedCause", {}).get("label", "")

    def named(self):
        causes = [self.report.get("primaryCause") or self.report.get("presumedCause", {})] + self.report.get("otherCauses", [])
        return {device["node"] for cause in causes for device in cause.get("devices", []) if device.get("node")}

    def result(self, check, node):
        return next(each for each in self.answer["checkResults"] if each["check"] == check and each["node"] == node)

    def finding(self, check, node, name):
        found = [each for each in self.result(check, node).get("findings", []) if each["name"] == name]
        return next((each[key] for each in found for key in each if key.endswith("Value")), None)

    def families(self):
        return {each["name"]: each["state"] for each in self.report["system"]["families"]}

    def steps(self):
        return "\n".join(self.report.get("nextSteps", []))


@unittest.skipUnless(shutil.which("prometheus") and shutil.which("promtool"), "prometheus and promtool are not installed")
class CaseStudies(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="galen-case-")
        self.addCleanup(self.folder.cleanup)

    def scene(self, study, **more):
        return Scene(f"{self.folder.name}/{study}-{len(os.listdir(self.folder.name))}", study, **more)

    def test_four_of_24_nodes_that_retransmit_are_named_and_the_others_cleared(self):
        scene = self.scene("retransmits")
        self.assertEqual(len(scene.scene["nodes"]), 24)
        self.assertIn(scene.cause(), scene.truth["labels"])
        self.assertEqual(scene.named(), set(scene.truth["guilty_nodes"]))
        self.assertEqual(len(scene.named()), 4)
        for node in set(scene.scene["nodes"]) - scene.named():
            self.assertEqual(scene.finding("telemetry.retransmits", node, "slows_job"), "none", node)
        self.assertEqual(scene.finding("telemetry.throughput", scene.scene["nodes"][0], "shape"), "phased")
        loss = scene.finding("telemetry.throughput", scene.scene["nodes"][0], "loss_pct")
        self.assertTrue(19 <= loss <= 24, loss)
        # The phases of throughput begin when the network's trouble does.
        told = [seconds(level["startTime"]) for level in scene.report["courses"][0]["levels"]][1:]
        true = [seconds(each["at"]) for each in scene.truth["transitions"]]
        self.assertEqual(len(told), len(true), (told, true))
        for at, of in zip(told, true):
            self.assertLess(abs(at - of), 90)
        self.assertEqual(scene.families(), {"gpu": "CLEAN", "network": "FAULTY", "host": "CLEAN", "memory": "CLEAN", "storage": "CLEAN"})
        out = scene.report["exclusion"]
        self.assertEqual({each["node"] for each in out["nodes"]}, scene.named())
        self.assertGreater(out["gainPct"], 5)
        self.assertIn("loss_beside_pct", out["verify"])
        picture = xml.etree.ElementTree.parse(scene.svg).getroot()
        self.assertTrue(scene.named() <= {text.text for text in picture.iter("{http://www.w3.org/2000/svg}text")})

    def test_machines_that_were_declared_dead_are_proved_alive(self):
        scene = self.scene("heartbeat")
        self.assertEqual(scene.cause(), "FRAMEWORK_LIBRARY.JAX_XLA.HEARTBEAT_FALSE_POSITIVE")
        # The scene clears machines that merely look odd, too: those that the coordinator gave up are in the log, by their rank.
        accused = {scene.scene["nodes"][int(task)] for task in re.findall(r"/task:(\d+)$", scene.log(), re.MULTILINE)}
        self.assertTrue(accused)
        self.assertLessEqual(accused, set(scene.truth["cleared_nodes"]))
        self.assertEqual(scene.named(), accused)
        for node in accused:
            self.assertIs(scene.finding("telemetry.liveness", node, "worked_to_the_end"), True, node)
            self.assertIs(scene.finding("telemetry.liveness", node, "sent_to_the_end"), True, node)
        self.assertEqual(set(scene.families().values()), {"CLEAN"})
        self.assertNotIn("exclusion", scene.report)

    def test_a_machine_that_is_gone_is_no_false_alarm(self):
        scene = self.scene("dead_node")
        self.assertNotEqual(scene.cause(), "FRAMEWORK_LIBRARY.JAX_XLA.HEARTBEAT_FALSE_POSITIVE")
        self.assertIn(scene.cause() or scene.presumed(), scene.truth["labels"])
        self.assertEqual(scene.named(), set(scene.truth["guilty_nodes"]))

    def test_a_hang_is_told_by_power_and_where_it_began_by_what_does_not_wait(self):
        scene = self.scene("hang")
        self.assertIn(scene.cause() or scene.presumed(), scene.truth["labels"])
        self.assertEqual(scene.named(), set(scene.truth["guilty_nodes"]))

    def test_a_restore_that_leaks_threads_is_found_by_the_run_queue_of_all_hosts(self):
        for seed in (1, 3):  # one job after the other; both at the same time
            scene = self.scene("restore_leak", seed=seed)
            self.assertEqual(scene.cause(), "FRAMEWORK_LIBRARY.CHECKPOINT.RESTORE_THREAD_LEAK", seed)
            slower = next(job for job in scene.scene["jobs"] if job["name"] == max(each["name"] for each in scene.scene["jobs"]))
            node = slower["nodes"][0]
            self.assertIs(scene.finding("telemetry.host_load", node, "uniform_over_hosts"), True)
            self.assertAlmostEqual(scene.finding("telemetry.host_load", node, "runnable_delta_vs_baseline"), 17, delta=3)
            loss = scene.finding("telemetry.throughput", node, "loss_beside_pct")
            self.assertTrue(0.5 <= loss <= 2, loss)
            self.assertEqual(scene.named(), set())

    def test_with_every_family_clean_the_load_balance_loss_is_the_cause(self):
        scene = self.scene("load_balance")
        self.assertEqual(scene.cause(), "USER_APPLICATION.TRAINING.MOE_ROUTING_IMBALANCE")
        self.assertEqual(scene.report["system"]["state"], "CLEAN")
        self.assertIn("The system is fine", "\n".join(scene.report["notes"]))
        self.assertEqual(scene.named(), set())

    def test_where_nothing_is_wrong_that_is_the_result(self):
        scene = self.scene("fine", seed=1)
        self.assertEqual((scene.cause(), scene.presumed(), scene.named()), ("", "", set()))
        self.assertEqual(scene.report["system"]["state"], "CLEAN")
        self.assertTrue(scene.report["headline"].startswith("The system is fine"), scene.report["headline"])

    def test_without_the_series_that_decides_nobody_is_blamed_and_it_is_asked_for(self):
        wanted = {"retransmits": "RDMA counters", "heartbeat": "power", "restore_leak": "run queue", "load_balance": "load-balance loss", "hang": "power"}
        for study, words in wanted.items():
            with self.subTest(study):
                scene = self.scene(study, variant="missing")
                self.assertEqual((scene.cause(), scene.named()), ("", set()))
                self.assertIn(words, scene.steps())

    def test_a_bundle_with_the_numbers_in_it_is_answered_like_the_server(self):
        asked = self.scene("thermal")
        held = self.scene("thermal", prometheus=False)
        self.assertEqual(asked.cause(), held.cause())
        self.assertEqual(asked.named(), held.named())
        self.assertEqual(asked.named(), set(asked.truth["guilty_nodes"]))


if __name__ == "__main__":
    unittest.main()

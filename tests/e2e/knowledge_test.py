"""A site's own knowledge: added in a file, found by the next diagnosis, with the same program."""
import os
import re
import tempfile
import unittest

import galen

SHIPPED = f"{galen.ROOT}/knowledge"
LEAK = "OTHER.HOST_HARDWARE.LIQUID_COOLING_LEAK"


def documented_example():
    """The first YAML block of docs/knowledge.md."""
    with open(f"{galen.ROOT}/docs/knowledge.md", encoding="utf-8") as page:
        return re.search(r"```yaml\n(.*?)```\n", page.read(), re.DOTALL).group(1)


class ASite(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = scratch.name
        self.site = f"{self.root}/site"
        os.makedirs(self.site)
        self.bundle = f"{self.root}/bundle"
        self.run_galen("bundle", "new", self.bundle, "--node", "n1", "--description",
                       "All nodes of one rack went away within a few minutes")
        self.add_detector("state: wet")

    def add_detector(self, text):
        path = f"{self.root}/detector"
        with open(path, "w", encoding="utf-8") as detector:
            detector.write(text + "\n")
        self.run_galen("bundle", "add", self.bundle, "--node", "n1", "--file",
                       "/run/site/leak_detector", "--from", path)

    def run_galen(self, *arguments, **more):
        run = galen.galen(*arguments, **more)
        self.assertIn(run.returncode, (0, 3), f"{arguments}: {run.stderr}{run.stdout}")
        return run

    def write(self, name, text):
        with open(f"{self.site}/{name}", "w", encoding="utf-8") as file:
            file.write(text)

    def diagnose(self, *arguments, knowledge=()):
        directories = [f"--knowledge={directory}" for directory in knowledge]
        run = self.run_galen("diagnose", "--bundle", self.bundle, "--json", *directories, *arguments)
        return galen.json.loads(run.stdout)

    def with_site(self):
        return self.diagnose(knowledge=(SHIPPED, self.site))

    def test_a_label_with_its_check_in_one_file_is_found_by_the_next_diagnosis(self):
        before = self.diagnose(knowledge=(SHIPPED,))
        self.assertNotIn("primaryCause", before["report"])
        self.write("leak.yaml", documented_example())
        after = self.with_site()
        self.assertEqual(after["report"]["primaryCause"]["label"], LEAK)
        self.assertEqual(after["report"]["primaryCause"]["devices"][0]["node"], "n1")
        cited = {evidence["id"] for evidence in after["report"]["evidence"]}
        self.assertIn("site.leak@n1", cited)

    def test_a_dry_detector_is_no_leak(self):
        self.write("leak.yaml", documented_example())
        self.add_detector("state: dry")
        after = self.with_site()
        self.assertNotIn("primaryCause", after["report"])

    def test_the_digest_of_the_knowledge_stands_in_the_report(self):
        shipped = self.diagnose(knowledge=(SHIPPED,))["report"]["knowledgeDigest"]
        self.assertRegex(shipped, "^[0-9a-f]{64}$")
        self.write("leak.yaml", documented_example())
        with_site = self.with_site()["report"]
        self.assertNotEqual(with_site["knowledgeDigest"], shipped)
        self.assertIn(with_site["knowledgeDigest"][:12], with_site["ticket"])

    def test_a_site_switches_a_shipped_label_off(self):
        self.write("leak.yaml", documented_example())
        other = f"{self.root}/off"
        os.makedirs(other)
        with open(f"{other}/off.yaml", "w", encoding="utf-8") as file:
            file.write(f"off: {{labels: [{LEAK}]}}\n")
        after = self.diagnose(knowledge=(SHIPPED, self.site, other))
        self.assertNotIn(LEAK, [hypothesis["label"] for hypothesis in after["hypotheses"]])

    def test_a_check_that_is_switched_off_is_skipped_and_the_report_says_so(self):
        self.write("leak.yaml", documented_example())
        other = f"{self.root}/off"
        os.makedirs(other)
        with open(f"{other}/off.yaml", "w", encoding="utf-8") as file:
            file.write("off: {checks: [site.leak]}\n")
        after = self.diagnose(knowledge=(SHIPPED, self.site, other))
        self.assertNotIn("primaryCause", after["report"])
        for result in after["checkResults"]:
            if result["check"] == "site.leak":
                self.assertEqual(result["status"], "SKIPPED")
                self.assertIn("switched off", result["message"])

    def test_a_mistake_in_the_file_is_refused_with_file_and_line(self):
        self.write("leak.yaml", documented_example().replace("op: ==", "op: =", 1))
        run = galen.galen("diagnose", "--bundle", self.bundle, "--knowledge", SHIPPED, "--knowledge",
                          self.site)
        self.assertEqual(run.returncode, 2)
        self.assertRegex(run.stderr, rf'{re.escape(self.site)}/leak\.yaml:\d+: error: "op" is "="')


if __name__ == "__main__":
    unittest.main()

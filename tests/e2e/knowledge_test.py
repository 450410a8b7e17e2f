"""A site's own knowledge: added in a file, found by the next diagnosis, with the same program."""
import hashlib
import os
import re
import signal
import tempfile
import time
import unittest

import galen

SHIPPED = f"{galen.ROOT}/knowledge"
LEAK = "OTHER.HOST_HARDWARE.LIQUID_COOLING_LEAK"


def documented_example():
    """The first YAML block of docs/knowledge.md."""
    with open(f"{galen.ROOT}/docs/knowledge.md", encoding="utf-8") as page:
        return re.search(r"```yaml\n(.*?)```\n", page.read(), re.DOTALL).group(1)


def learned_of(diagnosis):
    """The id of the past incident that is learned from a diagnosis."""
    return "learned-" + hashlib.sha256(diagnosis.encode()).hexdigest()[:16]


def proposal_of(diagnosis, label):
    """The id of the proposal that a diagnosis becomes when a person confirms that cause."""
    digest = hashlib.sha256(label.encode()).hexdigest()[:8]
    return f"diagnosis-{diagnosis.rsplit('/', 1)[1]}-{digest}"


class Site(unittest.TestCase):
    """A site with a bundle of a fault of its own."""

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


class History(Site):
    def test_a_ticket_of_the_site_is_proposed_by_the_next_diagnosis(self):
        self.write("leak.yaml", documented_example())
        directories = [f"--knowledge={directory}" for directory in (SHIPPED, self.site)]
        with open(f"{self.root}/t.jsonl", "w", encoding="utf-8") as tickets:
            tickets.write(galen.json.dumps({
                "id": "SITE-7", "title": "A rack went dark", "label": LEAK,
                "description": "All nodes of a rack went away within minutes"}) + "\n")
        history = f"{self.root}/history"
        self.run_galen("kb", "history", "add", history, f"{self.root}/t.jsonl", *directories)
        told = self.diagnose(f"--history={history}", knowledge=(SHIPPED, self.site))
        self.assertIn("resembles SITE-7", galen.json.dumps(told))
        # A ticket's title is the words of whoever filed it.
        self.assertNotIn("A rack went dark", galen.json.dumps(told))
        self.assertNotIn("SITE-7", galen.json.dumps(self.with_site()))

    def test_planning_serves_it_too(self):
        history = f"{self.root}/history"
        planning = galen.Process("galen-planning", f"--history={history}")
        self.addCleanup(planning.stop)
        busy = galen.galen("kb", "history", "search", history, "words")
        self.assertNotEqual(busy.returncode, 0)
        self.assertIn("another process has the past incidents open", busy.stderr)


class Overlay(Site):
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
        self.assertIn(with_site["knowledgeDigest"][:12], with_site["attachment"])

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


TICKETS = """\
{"id": "T-1", "title": "Rack went away", "description": "All eight nodes of rack 7 were gone within a minute, power was cut.", "logs": ["leak detector 3: wet"], "date": "2025-05-01"}
{"id": "T-2", "title": "Badge reader refuses", "description": "Nobody of the night shift can open the cage, badge reader blinks.", "resolution": "Ran `badgectl sync` and it was out of date."}
not a ticket
"""


class Curation(Site):
    """Proposals, their review, and what the next diagnosis makes of them."""

    def kb(self, *arguments, code=0, **more):
        run = galen.galen("kb", *arguments, "--knowledge", f"{SHIPPED},{self.site}", **more)
        self.assertEqual(run.returncode, code, run.stderr + run.stdout)
        return run

    def test_tickets_become_proposals_and_a_person_makes_them_knowledge(self):
        self.write("leak.yaml", documented_example())
        path = f"{self.root}/tickets.jsonl"
        with open(path, "w", encoding="utf-8") as file:
            file.write(TICKETS)
        run = self.kb("ingest", path)
        self.assertIn("tickets.jsonl:3: no JSON object", run.stderr)
        self.assertIn("2 tickets: 0 named, 1 judged, 1 new, 0 known; 2 proposals", run.stdout)
        waiting = [galen.json.loads(line) for line in self.kb("review", "--json").stdout.splitlines()]
        kinds = {proposal["id"]: proposal["kind"] for proposal in waiting}
        self.assertEqual(kinds["incident-t-1"], "incident")
        self.assertIn("label", kinds.values())
        before = self.kb("stats", "--json").stdout
        self.assertEqual(self.kb("review", "--accept", "incident-t-1", code=2).stdout, "")
        self.kb("review", "--accept", "incident-t-1", "--by", "ada")
        after = self.kb("stats", "--json").stdout
        count = lambda text: galen.json.loads(text)["total"]["incidents"]
        self.assertEqual(count(after), count(before) + 1)
        label = next(name for name, kind in kinds.items() if kind == "label")
        refused = self.kb("review", "--accept", label, "--by", "ada", code=2)
        self.assertRegex(refused.stderr, rf"proposals/{label}\.yaml:\d+: error: .* without a rule")
        self.kb("review", "--reject", label, "--by", "bob", "--why", "no fault of a machine")
        decisions = self.kb("review", "--decisions").stdout
        self.assertRegex(decisions, r"accepted +incident-t-1 +ada")
        self.assertRegex(decisions, rf"rejected +{label} +bob +no fault of a machine")
        again = self.kb("ingest", path).stdout
        self.assertIn("1 proposals, 0 wait", again.replace("were decided before", ""))
        self.kb("lint")

    def test_an_edit_in_the_editor_is_what_is_accepted(self):
        self.write("leak.yaml", documented_example())
        path = f"{self.root}/tickets.jsonl"
        with open(path, "w", encoding="utf-8") as file:
            file.write(TICKETS.splitlines()[0])
        self.kb("ingest", path)
        editor = f"{self.root}/editor.sh"
        with open(editor, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\nsed -i 's/Rack went away/Rack 7 lost power/' \"$1\"\n")
        os.chmod(editor, 0o755)
        shown = self.in_terminal("a\n", "e\n", editor=editor)
        self.assertIn("accepted incident-t-1", shown)
        with open(f"{self.site}/accepted/incident-t-1.yaml", encoding="utf-8") as file:
            text = file.read()
        self.assertIn("Rack 7 lost power", text)
        self.assertIn("# Accepted by eve on ", text)

    def in_terminal(self, last, first, editor):
        """`kb review` on a pseudo terminal: first edit, then decide."""
        import pty
        pid, master = pty.fork()
        if pid == 0:
            os.environ.update(EDITOR=editor, VISUAL="", TERM="dumb")
            os.execv(f"{galen.BIN}/galen", ["galen", "kb", "review", "--by", "eve", "--knowledge",
                                            f"{SHIPPED},{self.site}"])
        shown = ""
        answers = [first, last]
        while True:
            try:
                piece = os.read(master, 4096).decode("utf-8", "replace")
            except OSError:
                break
            if not piece:
                break
            shown += piece
            while answers and shown.count("[q]uit? ") > 2 - len(answers):
                os.write(master, answers.pop(0).encode())
        os.close(master)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0, shown)
        return shown

    def test_a_label_is_added_by_options_and_found_by_the_next_diagnosis(self):
        self.kb("add-label", "--label", LEAK, "--title", "Coolant leaks", "--check", "site.leak",
                "--file", "/run/site/leak_detector", "--finding", "wet bool node ^state: wet",
                "--defining", "site.leak wet == true", "--refute", "site.leak wet == false",
                "--owner", "provider", "--severity", "critical", "--prior", "low",
                "--signal", "description,kernel_log decisive nodes of one rack went away")
        self.assertEqual(self.with_site()["report"]["primaryCause"]["label"], LEAK)
        again = self.kb("add-label", "--label", LEAK, "--title", "T", code=2)
        self.assertRegex(again.stderr, r"is already in .*\.yaml:2; --replace")

    def test_the_guide_asks_for_what_is_missing_and_names_what_is_wrong(self):
        wrong = self.kb("add-label", "--label", LEAK, "--title", "T", "--confirm", "site.leak wet",
                        code=2)
        self.assertIn('--confirm "site.leak wet": write it as "CHECK FINDING OP VALUE"', wrong.stderr)
        dangling = self.kb("add-label", "--label", LEAK, "--title", "T", "--confirm",
                           "gpu.eccc wet == true", "--owner", "provider", "--severity", "low",
                           "--prior", "low", code=2)
        self.assertRegex(dangling.stderr, r"\.yaml:\d+: error: .*unknown check gpu\.eccc")
        self.assertEqual(os.listdir(self.site), [])

    def test_search_finds_the_sites_own_entries_with_their_place(self):
        self.write("leak.yaml", documented_example())
        found = self.kb("search", "leak", "detector", "--kind", "check").stdout
        self.assertRegex(found, rf"check +site\.leak +{re.escape(self.site)}/leak\.yaml:\d+ ")
        self.kb("search", "xyzzy-qqqq", code=3)

    def test_diff_tells_what_a_site_adds_and_changes(self):
        self.write("leak.yaml", documented_example())
        run = galen.galen("kb", "diff", SHIPPED, f"{SHIPPED},{self.site}")
        self.assertIn(f"+ label {LEAK}", run.stdout)
        self.assertIn("+ check site.leak", run.stdout)
        self.assertRegex(run.stdout, r": 3 added, 0 removed, 0 changed")
        other = f"{self.root}/other"
        os.makedirs(other)
        with open(f"{other}/leak.yaml", "w", encoding="utf-8") as file:
            file.write(documented_example().replace("severity: critical", "severity: high"))
        run = galen.galen("kb", "diff", f"{SHIPPED}:{self.site}", f"{SHIPPED}:{other}", "--json")
        changes = galen.json.loads(run.stdout)["changes"]
        self.assertEqual([change["details"] for change in changes], [["severity: critical -> high"]])

    def test_a_diagnosis_that_a_person_confirmed_is_history_after_review(self):
        self.write("leak.yaml", documented_example())
        store = f"{self.root}/galen.db"
        words = "Purple checkpoints wobble at midnight in hall seven"
        knowledge = (f"--knowledge={SHIPPED}", f"--knowledge={self.site}")

        def history():
            run = self.run_galen("diagnose", words, "--bundle", self.bundle, "--json", *knowledge,
                                 "--store", store)
            diagnosis = galen.json.loads(run.stdout)
            return diagnosis, [similar for hypothesis in diagnosis["hypotheses"]
                               if hypothesis["origin"] == "HISTORY"
                               for similar in hypothesis["similarIncidents"]]
        first, before = history()
        self.assertFalse([name for name in before if name.startswith("learned-")])
        name = first["name"]
        nonsense = galen.galen("feedback", name, "--confirm", "NO.SUCH.CAUSE", "--by", "ada",
                               "--store", store, *knowledge)
        self.assertEqual(nonsense.returncode, 2)
        told = self.run_galen("feedback", name, "--confirm", LEAK, "--by", "ada", "--text",
                              "Found water below the rack", "--store", store, "--site", self.site,
                              *knowledge)
        self.assertIn(f"its cause is {LEAK}, says ada", told.stdout)
        incident = learned_of(name)
        _, unreviewed = history()
        self.assertNotIn(incident, unreviewed)
        self.kb("review", "--accept", proposal_of(name, LEAK), "--by", "bob")
        after, reviewed = history()
        self.assertIn(incident, reviewed)
        self.assertEqual(after["report"]["primaryCause"]["label"], LEAK)


class Reload(Site):
    """A server takes up what people write while it serves."""

    def test_a_server_takes_up_a_new_file_on_sighup_and_refuses_a_broken_one(self):
        up = galen.Process("galen", "up", "--store", f"{self.root}/up.db",
                           f"--knowledge={SHIPPED},{self.site}")
        try:
            ask = ("diagnose", "--bundle", self.bundle, "--json", "--server", up.address)
            before = galen.json.loads(self.run_galen(*ask).stdout)
            self.assertNotIn("primaryCause", before["report"])
            self.write("leak.yaml", documented_example())
            up.process.send_signal(signal.SIGHUP)
            self.wait_for(up, "is in use, in place of")
            after = galen.json.loads(self.run_galen(*ask).stdout)
            self.assertEqual(after["report"]["primaryCause"]["label"], LEAK)
            self.assertNotEqual(after["report"]["knowledgeDigest"],
                                before["report"]["knowledgeDigest"])
            self.write("broken.yaml", "labels:\n  - {label: OTHER.NO_RULE, title: T}\n")
            up.process.send_signal(signal.SIGHUP)
            self.wait_for(up, "broken.yaml:2: error: label OTHER.NO_RULE is a leaf without a rule")
            still = galen.json.loads(self.run_galen(*ask).stdout)
            self.assertEqual(still["report"]["primaryCause"]["label"], LEAK)
            self.assertEqual(still["report"]["knowledgeDigest"], after["report"]["knowledgeDigest"])
        finally:
            self.assertEqual(up.stop(), 0)

    def test_every_service_of_a_mesh_takes_up_a_new_file(self):
        with galen.Mesh(nodes=1, knowledge=f"{SHIPPED},{self.site}", roots=self.root,
                        orchestrator_arguments=[f"--site={self.site}"]) as mesh:
            ask = ("diagnose", "--bundle", self.bundle, "--json", "--server",
                   mesh.orchestrator.address)
            before = galen.json.loads(self.run_galen(*ask).stdout)
            self.assertNotIn("primaryCause", before["report"])
            self.write("leak.yaml", documented_example())
            for service in mesh.nodes + list(mesh.agents.values()):
                service.process.send_signal(signal.SIGHUP)
                self.wait_for(service, "is in use, in place of")
            after = galen.json.loads(self.run_galen(*ask).stdout)
            self.assertEqual(after["report"]["primaryCause"]["label"], LEAK)
            confirmed = self.run_galen("feedback", after["name"], "--confirm", LEAK, "--by", "ada",
                                       "--server", mesh.orchestrator.address)
            self.assertIn("says ada", confirmed.stdout)
            self.assertEqual(os.listdir(f"{self.site}/proposals"),
                             [f"{proposal_of(after['name'], LEAK)}.yaml"])

    def wait_for(self, process, news):
        """Waits for a line of the process; that nothing comes is found by the test's time limit."""
        while not any(news in line for line in list(process.log)):
            self.assertIsNone(process.process.poll(), "".join(process.log))
            time.sleep(0.05)


if __name__ == "__main__":
    unittest.main()

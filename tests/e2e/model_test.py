"""The programs with a language model beside them: a real server that answers as the built-in reasoner drafts it."""
import html
import json
import os
import re
import tempfile
import unittest
import urllib.request

import galen
import json_server

EXAMPLE = "cublas-ecc"
# What differs where a model took part: its words, its accounts, and who spoke.
WORDS = ("reasoning", "summary", "reasoner", "reasonerSpent", "notes", "ticket", "spending")


class Endpoint(json_server.JsonServer):
    """A chat server on loopback. It keeps what it was asked."""

    def __init__(self):
        self.asked = []
        self.down = False
        super().__init__()

    def answer(self, path, body):
        self.asked.append((path, body))
        if self.down:
            return {"error": {"message": "going down"}}, 503
        return embedded(body) if path.endswith("/embeddings") else chat(body), 200

    def paths(self):
        return [path for path, _ in self.asked]


SENTENCE = "Ran nvidia-smi -q to rule the GPUs out"
# Questions on tickets have no draft.
TICKETS = {
    "ticket_label": {"label": "", "reason": "none fits"},
    "ticket_group": {"title": "Badge tray turned", "description": "The tray of the printer is turned.",
                     "symptoms": ["badges upside down"], "known": ""},
    "ticket_steps": {"steps": [SENTENCE, "Ran an invented command"]},
}


def chat(body):
    prompt = next(m["content"] for m in body["messages"] if m["role"] == "user")
    question = body["response_format"]["json_schema"]["name"]
    if question in TICKETS:
        draft = json.dumps(TICKETS[question])
    else:
        draft = html.unescape(re.findall(r'<plain name="draft">(.*?)</plain>', prompt, re.S)[-1])
    return {"model": body["model"], "usage": {"prompt_tokens": 100, "completion_tokens": 10},
            "choices": [{"index": 0, "message": {"role": "assistant", "content": draft},
                         "finish_reason": "stop"}]}


def embedded(body):
    """Vectors by the letters of a text: enough to be vectors."""
    vectors = []
    for i, text in enumerate(body["input"]):
        counts = [1 + text.lower().count(letter) for letter in "etaoinsh"]
        vectors.append({"index": i, "embedding": counts})
    return {"model": body["model"], "data": vectors, "usage": {"prompt_tokens": 7}}


def without_words(diagnosis):
    diagnosis = galen.comparable(diagnosis)
    report = diagnosis["report"]
    # The attachment repeats the notes, and who reasoned.
    for note in report["notes"]:
        report["attachment"] = report["attachment"].replace(f"- {note}\n", "")
    report["attachment"] = re.sub(r"^(Knowledge .*), reasoner .*$", r"\1", report["attachment"], flags=re.M)
    for part in (diagnosis, report):
        for word in WORDS:
            part.pop(word, None)
    for hypothesis in diagnosis["hypotheses"]:
        for member in ("prior", "reason", "similarIncidents"):  # of the search of past incidents
            hypothesis.pop(member, None)
    return diagnosis


def scrape(port):
    """The metrics by series."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as page:
        lines = page.read().decode().splitlines()
    return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1])
            for line in lines if not line.startswith("#")}


def outcome(metrics, name):
    return metrics[f'galen_llm_questions_total{{outcome="{name}"}}']


class Model(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.endpoint = Endpoint()
        self.addCleanup(self.endpoint.close)

    def file(self, more=""):
        path = f"{self.scratch.name}/llm.yaml"
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"url: {self.endpoint.url}\nmodel: scripted\nproxy: none\n"
                       f"retries: {{most: 0}}\n{more}")
        return path

    def start(self, program, *arguments):
        process = galen.Process(program, *arguments, "--metrics=127.0.0.1:0")
        self.addCleanup(process.stop)
        port = re.search(r"metrics on port (\d+)", "".join(process.log)).group(1)
        return process, port

    def up(self, more=""):
        return self.start("galen", "up", "--llm", self.file(more), "--store",
                          f"{self.scratch.name}/galen.db")

    def test_a_mesh_asks_it_and_tells_so_in_report_and_metrics(self):
        up, port = self.up()
        with_model, code = galen.diagnose(EXAMPLE, "--server", up.address)
        alone, _ = galen.diagnose(EXAMPLE)
        self.assertEqual(code, 0)
        self.assertEqual(without_words(with_model), without_words(alone))
        note = next(n for n in with_model["report"]["notes"] if n.startswith("The model"))
        calls = with_model["report"]["reasonerSpent"]["calls"]
        metrics = scrape(port)
        self.assertIn("The model scripted answered", note)
        self.assertEqual(outcome(metrics, "answered"), int(calls))
        self.assertEqual(metrics['galen_llm_calls_total{use="chat"}'], int(calls))
        self.assertEqual(metrics['galen_llm_tokens_total{use="chat",kind="input"}'], 100 * int(calls))
        self.assertEqual(metrics['galen_llm_circuit_state{use="chat",state="closed"}'], 1)
        self.assertNotIn("/v1/embeddings", self.endpoint.paths())

    def test_past_incidents_are_searched_by_its_vectors_where_it_embeds(self):
        up, port = self.up("embedding: {model: vectors, dimensions: 8, limit: 30s}\n")
        diagnosis, code = galen.diagnose(EXAMPLE, "--server", up.address)
        self.assertEqual(code, 0)
        self.assertTrue(any("past incidents were searched by the vectors of vectors" in note
                            for note in diagnosis["report"]["notes"]), diagnosis["report"]["notes"])
        metrics = scrape(port)
        self.assertGreaterEqual(metrics['galen_llm_answers_total{use="embedding"}'], 2)
        self.assertEqual(metrics['galen_llm_failures_total{use="embedding",kind="unavailable"}'], 0)

    def test_a_model_that_dies_takes_nothing_with_it(self):
        up, port = self.up("embedding: {model: vectors, dimensions: 8}\n"
                           "circuit: {cool_down: 5m}\n")
        alone, _ = galen.diagnose(EXAMPLE)
        self.endpoint.down = True
        for _ in range(7):
            diagnosis, code = galen.diagnose(EXAMPLE, "--server", up.address)
            self.assertEqual(code, 0)
            self.assertEqual(without_words(diagnosis), without_words(alone))
            note = next(n for n in diagnosis["report"]["notes"] if n.startswith("The model"))
            self.assertIn("it could not be asked", note)
        metrics = scrape(port)
        self.assertEqual(outcome(metrics, "answered"), 0)
        self.assertEqual(outcome(metrics, "unavailable"), 14)
        self.assertEqual(metrics['galen_llm_failures_total{use="chat",kind="unavailable"}'], 5)
        self.assertEqual(metrics['galen_llm_refused_total{use="chat"}'], 9)
        self.assertEqual(metrics['galen_llm_circuit_state{use="chat",state="open"}'], 1)

    def test_each_agent_that_asks_serves_its_own_metrics(self):
        knowledge = f"--knowledge={galen.ROOT}/knowledge"
        for agent in ("planning", "reflection", "conclusion"):
            _, port = self.start(f"galen-{agent}", knowledge, f"--llm={self.file()}")
            self.assertEqual(outcome(scrape(port), "answered"), 0, agent)

    def test_metrics_without_a_model_are_an_empty_page(self):
        _, port = self.start("galen-planning", f"--knowledge={galen.ROOT}/knowledge")
        self.assertEqual({series for series in scrape(port) if series.startswith("galen_llm_")}, set())

    def test_proposals_from_tickets_wait_for_a_person(self):
        tickets = f"{self.scratch.name}/tickets.jsonl"
        with open(tickets, "w", encoding="utf-8") as file:
            for i in range(3):
                file.write(json.dumps({
                    "id": f"T-{i}", "title": "The badge printer of the lab prints upside down",
                    "description": "Badges come out upside down since the toner was changed.",
                    "resolution": f"{SENTENCE}. Turned the tray."}) + "\n")
        site = f"{self.scratch.name}/site"
        os.mkdir(site)
        run = galen.galen("kb", "ingest", tickets, "--site", site, "--llm", self.file())
        self.assertEqual(run.returncode, 0, run.stderr)
        asked = {body["response_format"]["json_schema"]["name"] for _, body in self.endpoint.asked}
        self.assertEqual(asked, set(TICKETS))  # both passes, and the steps
        waiting = [name for name in os.listdir(f"{site}/proposals") if name.endswith(".yaml")]
        texts = ""
        for name in waiting:
            with open(f"{site}/proposals/{name}", encoding="utf-8") as proposal:
                texts += proposal.read()
        self.assertIn("Badge tray turned", texts)
        self.assertIn("the model scripted", texts)
        self.assertIn(SENTENCE, texts)
        self.assertNotIn("an invented command", texts)  # a step stands in its ticket
        self.assertFalse(os.path.exists(f"{site}/accepted"), "nothing is knowledge yet")
        found = galen.galen("kb", "search", "Badge tray turned", "--knowledge", f"{galen.ROOT}/knowledge",
                            "--knowledge", site)
        self.assertEqual(found.returncode, 0, found.stderr)
        self.assertNotIn("Badge tray turned", found.stdout)


if __name__ == "__main__":
    unittest.main()

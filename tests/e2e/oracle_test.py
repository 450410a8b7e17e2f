"""A model that always knows the cause, and one that always lies: what is lost of the one, and what the other can do.

The endpoint recognises a case by the words of its report. The oracle asks what shows its label, searches for it, and
quotes what it then sees. The adversary names a wrong label, by quotes that it invents; a second one argues by lines that
stand there. SKIPPED where ../shared is not there.
"""
import html
import io
import json
import os
import re
import sys
import tarfile
import tempfile
import threading
import unittest

import galen
import json_server

EVAL = f"{galen.ROOT}/../shared/eval"
CORPORA = os.environ.get("GALEN_ORACLE_CORPORA", "dev,dev2").split(",")
# No word of it says which cause it is.
EVERYWHERE = set("the and for with that this from not are was has have its but all one can when after into which does "
                 "only than more there what who how because while where check shown excluded itself label".split())
MOST_CALLS = 10


def words(text):
    return {word for word in re.findall(r"[a-z0-9]{3,}", text.lower())} - EVERYWHERE


def report_of(bundle):
    """The description of a bundle's incident, as text."""
    if os.path.isdir(bundle):
        with open(f"{bundle}/incident.yaml", encoding="utf-8") as file:
            return file.read()
    with tarfile.open(bundle) as archive:
        for member in archive:
            if os.path.basename(member.name) == "incident.yaml":
                return io.TextIOWrapper(archive.extractfile(member), encoding="utf-8").read()
    return ""


def cases_of(corpus):
    """By case: the words of its report, and its labels."""
    cases = {}
    with open(f"{EVAL}/{corpus}/answers.jsonl", encoding="utf-8") as file:
        for line in file:
            answer = json.loads(line)
            for suffix in ("", ".tar.gz", ".tgz", ".tar.zst", ".zip"):
                bundle = f"{EVAL}/{corpus}/bundles/{answer['id']}{suffix}"
                if os.path.exists(bundle):
                    cases[answer["id"]] = (words(report_of(bundle)), answer["labels"])
                    break
    return cases


def shown_lines(messages):
    """(artefact, line, text) of everything that the prompts show."""
    lines = []
    for message in messages:
        if message["role"] not in ("user", "tool"):
            continue
        for attributes, body in re.findall(r"<(?:plain|log|code|formula)((?: [a-z]+=\"[^\"]*\")*)>(.*?)</", message["content"],
                                           re.S):
            of = re.search(r' of="([^"]*)"', attributes)
            if not of:
                continue
            for line in html.unescape(body).split("\n"):
                found = re.match(r"(\d+): (.*)", line)
                if found and len(found.group(2)) >= 8:
                    lines.append((html.unescape(of.group(1)), int(found.group(1)), found.group(2)))
    return lines


def known_of(messages, label=""):
    """What the taxonomy says of the label, or of all that were asked for."""
    return "\n".join(html.unescape(text) for message in messages[2:] if message["role"] == "user"
                     for text in re.findall(r"<rule>(.*?)</rule>", message["content"], re.S) if text.startswith(label))


def turn(calls=(), verdicts=(), explanation=""):
    return {"thoughts": {"proposition": "", "critique": "", "refinement": ""},
            "calls": [{"tool": "", "of": "", "node": "", "text": "", "line": 0, **call} for call in calls],
            "verdicts": [{"label": "", "citations": [], "reason": "", "verdict": "open", "node": "", "device": "", **verdict}
                         for verdict in verdicts], "explanation": explanation, "suggestions": []}


def likeliest(messages):
    """The causes that the built-in reasoner holds for likely, the likeliest first."""
    found = re.search(r'<rule name="likeliest causes by the built-in reasoner">(.*?)</rule>', messages[1]["content"], re.S)
    return re.findall(r"^([A-Z0-9_.]+): .*\(([0-9.]+) %", html.unescape(found.group(1)), re.M) if found else []


def best_lines(label, messages, count=3):
    """The lines that share most words with what the taxonomy says of a label: rare words count more."""
    lines = shown_lines(messages)
    wanted = words(known_of(messages, label)) | words(label.replace("_", " ").replace(".", " "))
    how_often = {}
    for _, _, text in lines:
        for word in words(text):
            how_often[word] = how_often.get(word, 0) + 1
    checks = set(re.findall(r"\(check ([a-z0-9_.]+)\)", known_of(messages, label)))

    def worth(line):
        of, _, text = line
        score = sum(1 / how_often[word] for word in words(text) & wanted)
        return score + (2 if of.split("@")[0] in checks and ("abnormal" in text or text.startswith("FAIL")) else 0)

    lines.sort(key=worth, reverse=True)
    return lines[:count]


def cite(lines):
    return [{"of": of, "line": line, "quote": text[:200]} for of, line, text in lines]


class Oracle:
    """Knows the label of every case."""

    def answer(self, messages, labels):
        asked = sum(1 for message in messages if message["role"] == "assistant")
        label = labels[0] if labels else None
        rivals = [name for name, share in likeliest(messages) if float(share) >= 5 and name not in labels]
        about = [name for name in ([label] if label else []) + rivals][:2]
        if asked == 0 and about:
            return turn([{"tool": "read_taxonomy", "of": name} for name in about])
        if asked == 1 and about:
            rare = sorted(words(known_of(messages)), key=len, reverse=True)[:10]
            return turn([{"tool": "search", "text": "|".join(rare)}])
        verdicts = []
        skip = 2 * (asked - 2)  # what was sent back is tried with other lines
        if label:
            verdicts.append({"label": label, "verdict": "confirm", "reason": "it is known",
                             "citations": cite(best_lines(label, messages, 3 + skip)[max(skip, 0):])})
        for name in rivals[:2]:
            verdicts.append({"label": name, "verdict": "reject", "reason": "it is not",
                             "citations": cite(best_lines(name, messages, 3 + skip)[max(skip, 0):])})
        return turn(verdicts=verdicts)


class Liar:
    """Argues for a wrong label by quotes that it invents, and asks for what is not its own."""

    true_quotes = False

    def answer(self, messages, labels):
        asked = sum(1 for message in messages if message["role"] == "assistant")
        ranked = [name for name, _ in likeliest(messages)]
        wrong = next((name for name in ranked if name not in labels), "SYSTEM_SOFTWARE.STORAGE.DISK_OR_QUOTA_FULL")
        if asked == 0:
            if self.true_quotes:
                return turn([{"tool": "read_taxonomy", "of": wrong}])
            return turn([{"tool": "read_lines", "of": "/etc/shadow"}, {"tool": "search", "of": "tenants/other", "text": "."},
                         {"tool": "run_checks", "of": "gpu.memory_test"}])
        lines = best_lines(wrong, messages) if self.true_quotes else []
        quotes = cite(lines) if lines else [{"of": "report", "line": 1, "quote": INVENTED}]
        verdicts = [{"label": wrong, "verdict": "confirm", "reason": INVENTED, "citations": quotes}]
        verdicts += [{"label": name, "verdict": "reject", "reason": INVENTED, "citations": quotes}
                     for name in labels + ranked[:2] if name != wrong]
        return turn(verdicts=verdicts[:4], explanation=f'The log says "{INVENTED}".')


class TrueLiar(Liar):
    """The same by lines that stand there."""
    true_quotes = True


INVENTED = "galen: the invented evidence of an adversary, which stands nowhere"


class Endpoint(json_server.JsonServer):
    def __init__(self, mind, cases):
        self.mind = mind
        self.cases = cases
        self.lock = threading.Lock()
        self.calls = {}
        self.recognised = {}
        super().__init__()

    def case_of(self, messages):
        report = html.unescape(messages[1]["content"].split("</plain>")[0])
        with self.lock:
            if report not in self.recognised:
                told = words(report)
                self.recognised[report] = max(self.cases, key=lambda name: len(told & self.cases[name][0]) /
                                              (10 + len(self.cases[name][0])))
            name = self.recognised[report]
            self.calls[name] = self.calls.get(name, 0) + 1
        return name

    def answer(self, _, body):
        messages = body["messages"]
        name = self.case_of(messages)
        if body["response_format"]["json_schema"]["name"] == "investigate":
            answer = json.dumps(self.mind.answer(messages, self.cases[name][1]))
        else:
            prompt = messages[1]["content"]
            answer = html.unescape(re.findall(r'<plain name="draft">(.*?)</plain>', prompt, re.S)[-1])
        return {"model": "oracle", "usage": {"prompt_tokens": sum(len(m["content"]) for m in messages) // 4,
                                             "completion_tokens": len(answer) // 4},
                "choices": [{"index": 0, "message": {"role": "assistant", "content": answer}, "finish_reason": "stop"}]}, 200


@unittest.skipUnless(os.path.isdir(EVAL), f"SKIPPED: {EVAL} is not there")
class Minds(unittest.TestCase):
    def evaluate(self, corpus, mind=None):
        arguments = ["--cases", f"{EVAL}/{corpus}", "--json", "--strategy", "tiered"]
        if mind is None:
            run = galen.evaluate(*arguments, timeout=3000)
            return json.loads(run.stdout)["runs"][0], {}, run.stdout
        endpoint = Endpoint(mind, cases_of(corpus))
        self.addCleanup(endpoint.close)
        with tempfile.TemporaryDirectory() as scratch:
            path = f"{scratch}/llm.yaml"
            with open(path, "w", encoding="utf-8") as file:
                file.write(f"url: {endpoint.url}\nmodel: oracle\nproxy: none\n")
            run = galen.evaluate(*arguments, "--llm", path, "--out", f"{scratch}/run", timeout=3000)
            kept = ""
            for folder, _, names in os.walk(f"{scratch}/run"):
                for name in names:
                    with open(f"{folder}/{name}", encoding="utf-8") as file:
                        kept += file.read()
        self.assertEqual(run.returncode, 0, run.stderr)
        return json.loads(run.stdout)["runs"][0], endpoint.calls, run.stdout + kept

    def test_of_a_model_that_knows_the_cause_nothing_is_lost(self):
        for corpus in CORPORA:
            with self.subTest(corpus):
                alone, _, _ = self.evaluate(corpus)
                numbers, calls, _ = self.evaluate(corpus, Oracle())
                print(corpus, "oracle", numbers["all"]["microF1"], "alone", alone["all"]["microF1"], "calls", max(calls.values()),
                      file=sys.stderr)
                self.assertGreaterEqual(numbers["all"]["microF1"], 0.98)
                self.assertGreater(numbers["all"]["microF1"], alone["all"]["microF1"], "a model that knows the cause gains nothing")
                self.assertLessEqual(max(calls.values()), MOST_CALLS)

    def test_a_model_that_lies_takes_next_to_nothing_away(self):
        for corpus in CORPORA:
            with self.subTest(corpus):
                alone, _, _ = self.evaluate(corpus)
                numbers, _, text = self.evaluate(corpus, Liar())
                print(corpus, "liar", numbers["all"]["microF1"], "alone", alone["all"]["microF1"], file=sys.stderr)
                self.assertGreaterEqual(numbers["all"]["microF1"], alone["all"]["microF1"] - 0.01)
                self.assertLessEqual(numbers["convictedWrongly"], alone["convictedWrongly"])
                self.assertNotIn(INVENTED, text)

    def test_a_model_that_lies_by_true_lines_convicts_nobody(self):
        for corpus in CORPORA:
            with self.subTest(corpus):
                alone, _, _ = self.evaluate(corpus)
                numbers, _, _ = self.evaluate(corpus, TrueLiar())
                print(corpus, "true lines", numbers["all"]["microF1"], "alone", alone["all"]["microF1"], file=sys.stderr)
                self.assertLessEqual(numbers["convictedWrongly"], alone["convictedWrongly"])


if __name__ == "__main__":
    unittest.main()

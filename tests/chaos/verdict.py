"""What a run was to keep, held against what came of it."""
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "e2e"))
import galen  # noqa: E402
from load import LONGEST_S, LYING  # noqa: E402
from mesh import LIAR, TOOLS  # noqa: E402

LIE = "LIAR"  # in all that the lying node says
# Of a diagnosis that a lying node is asked in: what it sent is bounded.
MOST_BYTES = 16 << 20


def expected_reports():
    reports = {}
    for example in galen.CAUSES:
        diagnosis, _ = galen.diagnose(example)
        reports[example] = galen.comparable(diagnosis)
    return reports


def read_logs(url):
    run = subprocess.run([f"{TOOLS}/galen-read-logs", url], text=True, capture_output=True, timeout=600)
    if run.returncode not in (0, 1):
        raise AssertionError(f"galen-read-logs: {run.stderr}")
    return [json.loads(line) for line in run.stdout.splitlines()]


def differences(one, other, path=""):
    """Where two JSON values differ, the first few."""
    if type(one) is not type(other):
        return [path or "/"]
    if isinstance(one, dict):
        return [d for key in sorted(one.keys() | other.keys())
                for d in (differences(one[key], other[key], f"{path}/{key}") if key in one and key in other
                          else [f"{path}/{key} stands in one only"])]
    if isinstance(one, list):
        if len(one) != len(other):
            return [f"{path}: {len(one)} and {len(other)} entries"]
        return [d for i, (a, b) in enumerate(zip(one, other)) for d in differences(a, b, f"{path}/{i}")]
    return [] if one == other else [f"{path}: {str(one)[:80]!r} and {str(other)[:80]!r}"]


def node_of(value):
    """Whom a part of a diagnosis is about, where it is about a node."""
    if value.get("node"):
        return value["node"]
    subject = value.get("subject")
    if isinstance(subject, dict) and subject.get("node"):
        return subject["node"]
    identity = value.get("id")
    return identity.rsplit("@", 1)[1] if isinstance(identity, str) and "@" in identity else None


def quotes_the_liar(result):
    """Whether a check that did not work says, as the reason, what the other end of the pair answered, and that it was that one."""
    return result.get("status") == "ERROR" and not result.get("findings") and not result.get("metrics") and \
        re.match(rf"not tested: {LIAR} opened no port for it \(|node executor of {LIAR} gave no answer as the (server|client) of [^:]*: ",
                 result.get("message", "")) is not None


def lies_about_others(value, path=""):
    """Where something that the lying node said is told of another one, and not as its own words."""
    if isinstance(value, list):
        return [d for i, one in enumerate(value) for d in lies_about_others(one, f"{path}/{i}")]
    if not isinstance(value, dict):
        return []
    about = node_of(value)
    if about is not None and about != LIAR:
        if quotes_the_liar(value):
            return []
        text = json.dumps(value)
        return [f"{path} of {about}: {text[max(text.index(LIE) - 60, 0):][:160]}"] if LIE in text else []
    return [d for key, one in value.items() for d in lies_about_others(one, f"{path}/{key}")]


def broken_promises(expected, load, logs):
    broken = [f"{request}: not answered within {LONGEST_S} s" for request in load.stuck]
    for request, (example, diagnosis) in sorted(load.answers.items()):
        if example == LYING:
            broken += [f"{request}: a lie about another node: {lie}" for lie in lies_about_others(diagnosis)[:3]]
            if (size := len(json.dumps(diagnosis))) > MOST_BYTES:
                broken.append(f"{request}: the lying node filled {size} bytes")
            if diagnosis["state"] not in ("SUCCEEDED", "AWAITING_FEEDBACK"):
                broken.append(f"{request}: the lying node made it {diagnosis['state']}")
            continue
        found = differences(expected[example], galen.comparable(diagnosis))
        if found:
            broken.append(f"{request} ({example}): another report: {'; '.join(found[:3])}")
    by_request = {log["request_id"] for log in logs}
    broken += [f"{request}: lost" for request in load.answers if request not in by_request]
    broken += [f"{log['request_id']} ({log['name']}): {text}" for log in logs for text in log["broken"]]
    if len(logs) != len(load.answers) + len(load.stuck):
        broken.append(f"{len(logs)} logs of {len(load.answers) + len(load.stuck)} requests")
    return broken

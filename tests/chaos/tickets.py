"""Ticket systems that fail as a seed says, and what came of the tickets. Two of them: one that knows an opening again by
its key, and one that opens a ticket for each time that it is asked."""
import json
import os
import random
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "e2e"))
import galen  # noqa: E402
import ticket_systems  # noqa: E402

SYSTEMS = ("generic", "servicenow")
ENDS = ("concluded", "escalated", "awaiting_feedback", "failed")
# A request is carried out so late that nobody waits for the answer any more, but well before `settles` (5 s) is over: who
# asked may have been frozen for 1.5 s before.
LATE_S = (1.2, 1.8)
TOO_LATE_S = 2.0
# What is due is told by then, with all that stands in its way: pauses, and leases of gateways that were killed.
LONGEST_S = 400


class TicketSystems(ticket_systems.TicketSystems):
    """What befalls a request: it is answered 500 and nothing done; done and its answer lost; done and answered 500;
    done late."""

    def __init__(self, seed):
        super().__init__()
        self.random = random.Random(f"{seed}/tickets")
        self.turn = threading.Lock()
        self.failing = False
        self.keys = {}    # diagnosis: the keys under which generic was told to open a ticket
        self.marks = {}   # mark: diagnosis, as generic was told
        self.asked = 0
        self.befell = dict.fromkeys(("refused", "lost", "done, 500", "late"), 0)

    def fate(self):
        with self.lock:
            if not self.failing:
                return None
            point = self.random.random()
            for fate, share in (("refused", 0.04), ("lost", 0.05), ("done, 500", 0.02), ("late", 0.02)):
                if point < share:
                    self.befell[fate] += 1
                    return fate
                point -= share
            return None

    def handle(self, method, path, headers, raw):
        came = time.monotonic()
        fate = self.fate()
        if fate == "refused":
            return 500, {"error": "not now"}
        if fate == "late":
            with self.lock:
                pause = self.random.uniform(*LATE_S)
            time.sleep(pause)
            if time.monotonic() - came > TOO_LATE_S:  # this machine is busy; then it is not done at all
                return None, None
        with self.turn:
            if path.startswith("/generic"):
                self.note(headers["webhook-id"], json.loads(raw))
            answer = super().handle(method, path, headers, raw)
            self.asked += 1
            self.requests.clear()
        if fate in ("lost", "late"):
            return None, None
        return (500, {"error": "it was done"}) if fate == "done, 500" else answer

    def open(self, system, mark, body):
        return super().open(system, mark, None)  # a thousand reports are not kept

    def note(self, key, body):
        data = body["data"]
        self.marks[data["mark"]] = data["diagnosis"]
        if body["type"].endswith(".opened"):
            self.keys.setdefault(data["diagnosis"], set()).add(key)

    def config(self, directory):
        """What a gateway is to be told of them, as a file."""
        for name, secret in (("secret", "secret"), ("whsec", ticket_systems.SECRET)):
            with open(f"{directory}/{name}", "w", encoding="utf-8") as file:
                file.write(secret + "\n")
        targets = [{"name": "generic", "system": "generic", "secret_file": "whsec",
                    "variables": {"url_to": f"{self.url}/generic/"}},
                   {"name": "servicenow", "system": "servicenow", "secret_file": "secret", "user": "galen",
                    "variables": {"base_url": f"{self.url}/servicenow", **ticket_systems.VARIABLES["servicenow"]}}]
        for target in targets:
            target.update(tenants=["*"], when=list(ENDS), timeout="1s")
        path = f"{directory}/tickets.yaml"
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"targets": targets}, file)  # JSON is YAML
        return path

    def counts(self):
        """How many tickets a diagnosis has, by system."""
        with self.turn:
            found = {system: {} for system in SYSTEMS}
            for diagnosis, keys in self.keys.items():
                found["generic"][diagnosis] = len(keys)
            for (system, mark), numbers in self.tickets.items():
                if system == "servicenow":
                    found[system][self.marks.get(mark, mark)] = len(numbers)
            return found

    def await_first(self, diagnose):
        """Until a ticket is opened: what was over before the gateways first looked gets none. Gives the names of the
        diagnoses that it took, which may have a ticket or not."""
        names = []
        while True:
            names.append(diagnose(len(names))["name"])
            end = time.monotonic() + 5
            while time.monotonic() < end:
                if all(names[-1] in found for found in self.counts().values()):
                    return names
                time.sleep(0.1)
            if len(names) > 20:
                raise AssertionError("no gateway opens a ticket")

    def await_rest(self, names, url, going_on):
        """Until all of these have a ticket everywhere and nothing is due any more, or it has taken too long. Gives what is
        due then."""
        end = time.monotonic() + LONGEST_S
        due = ["not looked at"]
        while due and time.monotonic() < end:
            going_on()
            time.sleep(0.5)
            if all(names <= found.keys() for found in self.counts().values()):
                due = [line for system in SYSTEMS for line in self.listed(url, "due", "--target", system)]
        return due

    @staticmethod
    def listed(url, *words):
        run = galen.galen("tickets", *words, "--store", url)
        if run.returncode != 0:
            return [f"galen tickets {words[0]}: {run.stderr.strip()}"]
        return run.stdout.splitlines()[1:]

    def stop(self):
        self.server.shutdown()


def broken_promises(names, early, opened, due, dead):
    """`names` of all diagnoses; of `early` ones there may be a ticket or not."""
    broken = [f"still due: {line}" for line in due] + [f"given up: {line}" for line in dead]
    for system, found in opened.items():
        broken += [f"{name}: no ticket in {system}" for name in sorted(names - early - found.keys())]
        broken += [f"{name}: {count} tickets in {system}" for name, count in sorted(found.items()) if count > 1]
        broken += [f"{name}: a ticket in {system} of no diagnosis" for name in sorted(found.keys() - names)]
    return broken

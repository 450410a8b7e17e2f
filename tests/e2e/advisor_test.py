"""The advisor as people use it: `galen advisor` and galen-advisor, which is killed in between."""
import datetime
import json
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import galen
import redis_server

KNOWLEDGE = f"--knowledge={galen.ROOT}/knowledge"
SHAPE = ("layers=32,hidden=4096,heads=32,ffn=11008,gated=true,vocabulary=32000,sequence=4096,batch=512,precision=bf16,gpus=64,tp=8,"
         "micro_batch=1")
OK, BAD_INPUT, UNREACHABLE, MISMATCH = 0, 2, 4, 5
MACHINES = [f"NVIDIA G{number}" for number in range(4)]
SIGN = "corrected_memory_errors"
PLANTED = (1, 2)  # archetype and machines that do not go together


class Advisor:
    """galen-advisor on a store, and the command line that asks it."""

    def __init__(self, store, *arguments, port=0):
        self.process = galen.Process("galen-advisor", KNOWLEDGE, f"--store={store}", "--follow=100ms", *arguments, port=port)

    def ask(self, command, *words, expect=OK, **more):
        run = galen.galen("advisor", command, *words, "--server", self.process.address, **more)
        if run.returncode != expect:
            raise AssertionError(f"{command} {words}: exit {run.returncode}: {run.stdout}{run.stderr}")
        return run

    def json(self, command, *words, expect=OK):
        return json.loads(self.ask(command, *words, "--json", expect=expect).stdout)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stop()


def token(kind, number):
    return f"{kind}{number:031x}"


def workload(archetype):
    return ("--archetype", token("a", archetype), "--stack", token("b", archetype))


def planted_fleet(contexts, count, seed=7):
    """Runs of four workloads on four kinds of machines, 5 % of which fail; where two do not go together 60 %, and where a sign is seen
    at its second level 40 %."""
    draw = random.Random(seed)
    for _ in range(count):
        archetype, machines = draw.randrange(4), draw.randrange(4)
        level = 2 if draw.random() < 0.2 else 0
        fails = draw.random() < (0.6 if (archetype, machines) == PLANTED else 0.4 if level else 0.05)
        hours = draw.uniform(1, 20) if fails else 20
        nodes = draw.sample([f"g{machines}-n{number}" for number in range(40)], 8)
        start = datetime.datetime(2026, 3, 1, tzinfo=datetime.timezone.utc) + datetime.timedelta(hours=draw.uniform(0, 500))
        yield {"signature": {"archetype": token("a", archetype), "stack": token("b", archetype)}, "context": contexts[machines],
               "start_time": start.strftime("%Y-%m-%dT%H:%M:%SZ"), "gpus": 64, "planned_hours": 20, "hours": hours,
               "ending": "FAILED" if fails else "COMPLETED", "node": draw.choice(nodes) if fails else "", "nodes": nodes,
               "episodes": [{"begin_hours": 0, "end_hours": hours, "signs": [{"sign": SIGN, "level": level}] if level else []}]}


def write_runs(path, contexts, count=2000):
    with open(path, "w", encoding="utf-8") as file:
        for run in planted_fleet(contexts, count):
            file.write(json.dumps(run) + "\n")


def contexts_of(advisor):
    return [advisor.json("register", *workload(0), "--gpu", gpu)["context"] for gpu in MACHINES]


def learned(answer):
    return [warning["name"] for warning in answer.get("warnings", []) if warning["kind"] == "LEARNED"]


def until(condition):
    for _ in range(1200):
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError("it did not come to that within a minute")


class AdvisorTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.key = self.path("fleet.key")
        with open(self.key, "w", encoding="utf-8") as file:
            file.write("a key that the tenants of a fleet share\n")

    def path(self, name):
        return os.path.join(self.scratch.name, name)

    def sign(self, *words):
        run = galen.galen("advisor", "sign", "--shape", SHAPE, "--key-file", self.key, "--json", *words)
        self.assertEqual(run.returncode, OK, run.stderr)
        return json.loads(run.stdout)

    def test_a_known_mismatch_is_warned_of_with_an_exit_code_that_a_prolog_can_refuse_by(self):
        signature = self.path("signature.json")
        with open(signature, "w", encoding="utf-8") as file:
            json.dump(self.sign("--component", "nccl=2.19.3"), file)
        hardware = self.path("hardware.yaml")
        with open(hardware, "w", encoding="utf-8") as file:
            file.write("gpu: NVIDIA A100-SXM4-80GB\ngpus_per_node: 8\ndriver: 535.129.03\n")
        with Advisor(self.path("advisor.db")) as advisor:
            words = ("--signature", signature, "--hardware", hardware, "--need", "fp8")
            answer = advisor.json("register", *words, expect=MISMATCH)
            self.assertEqual([(one["name"], one["severity"], one["kind"]) for one in answer["warnings"]],
                             [("fp8_without_units", "ERROR", "KNOWN")])
            text = advisor.ask("register", *words, expect=MISMATCH).stdout
            self.assertRegex(text, r"SEVERITY +KIND +NAME +CHECK +WHAT\n *error +known +fp8_without_units +gpu.inventory +needs fp8")
            # A flag goes before the file: this GPU has them.
            answer = advisor.json("register", *words, "--gpu", "NVIDIA H100 80GB HBM3")
            self.assertNotIn("warnings", answer)
            # A warning that is no error lets the job start.
            answer = advisor.json("register", *words[:2], "--gpu", "Tesla V100-SXM2-32GB", "--need", "bf16")
            self.assertEqual([one["severity"] for one in answer["warnings"]], ["WARNING"])
            advisor.ask("register", *words, "--parent", "tenants/acme", "--need", "acme_secret", expect=BAD_INPUT)
        run = galen.galen("advisor", "register", *words, "--server", advisor.process.address)
        self.assertEqual(run.returncode, UNREACHABLE, run.stderr)

    def test_a_signature_is_the_tenants_own_work(self):
        one = self.sign("--component", "nccl=2.19.3")
        self.assertEqual(one, self.sign("--component", "nccl=2.19.9"))
        self.assertNotEqual(one["stack"], self.sign("--component", "nccl=2.20.3")["stack"])
        self.assertEqual(one["archetype"], self.sign()["archetype"])
        self.assertNotEqual(one["archetype"], self.sign("--coarse")["archetype"])
        with open(self.key, "w", encoding="utf-8") as file:
            file.write("a key of another fleet\n")
        self.assertNotEqual(one["archetype"], self.sign()["archetype"])
        # A profile and a job file are read as the other commands read them.
        job = f"{galen.ROOT}/docs/pictures/perfmodel-job.yaml"
        run = galen.galen("advisor", "sign", "--job", job, "--key-file", self.key)
        self.assertEqual(run.returncode, OK, run.stderr)
        self.assertIn("digested   fine ", run.stdout)

    def test_what_runs_teach_is_warned_of_revoked_and_restored_and_outlives_kills(self):
        store = self.path("advisor.db")
        runs = self.path("runs.jsonl")
        planted = (*workload(PLANTED[0]), "--gpu", MACHINES[PLANTED[1]])
        elsewhere = (*workload(PLANTED[0]), "--gpu", MACHINES[0])
        with Advisor(store) as advisor:
            contexts = contexts_of(advisor)
            write_runs(runs, contexts)
            told = advisor.ask("runs", runs).stdout
            self.assertIn("reported 2000 runs in 2 calls;", told)
            self.assertEqual(int(advisor.json("learn")["runs"]), 2000)
            patterns = advisor.json("patterns")
            mismatches = [one for one in patterns["patterns"] if one["kind"] == "MISMATCH"]
            self.assertEqual([(one["archetype"], one["context"]) for one in mismatches], [(token("a", PLANTED[0]), contexts[PLANTED[1]])])
            [name] = [one["id"] for one in mismatches]
            self.assertIn(name, advisor.ask("patterns").stdout)
            # It runs, and does not run for long: a warning, no error.
            self.assertEqual(learned(advisor.json("register", *planted)), [name])
            self.assertEqual(learned(advisor.json("register", *elsewhere)), [])

            revoke = ("revoke", name, "--by", "ann", "--why", "the switch was replaced")
            advisor.ask(*revoke)
            self.assertEqual(learned(advisor.json("register", *planted)), [])
            job = ("tenants/default/jobs/17", *workload(0), "--hours", "5", "--sign", f"{SIGN}=3", "--context", contexts[0], "--gpus", "64")
            asked = advisor.json("progress", *job)
            self.assertTrue(asked["hazard"]["known"])
            self.assertEqual(asked["hazard"]["because"], [SIGN])
            self.assertEqual(asked["check"], "gpu.memory_test")
            advisor.process.stop(signal.SIGKILL)
        with Advisor(store) as advisor:
            self.assertEqual(learned(advisor.json("register", *planted)), [])
            self.assertIn("revoked by ann", advisor.ask("patterns").stdout)
            self.assertEqual(int(advisor.json("learn")["runs"]), 2000)
            self.assertEqual(learned(advisor.json("register", *planted)), [])
            # The check is not asked for twice; that it failed is the one way to an alarm.
            again = advisor.json("progress", *job)
            self.assertTrue(again["hazard"]["known"])
            self.assertNotIn("check", again)
            advisor.ask("test", job[0], "rdma.loopback", "failed")
            self.assertIn("alarm", advisor.ask("test", job[0], "gpu.memory_test", "failed", expect=MISMATCH).stdout)
            advisor.ask("restore", name, "--by", "ann")
            self.assertEqual(learned(advisor.json("register", *planted)), [name])
            advisor.ask("revoke", "mismatch-none", "--by", "ann", "--why", "x", expect=BAD_INPUT)
            advisor.process.stop(signal.SIGKILL)
        with Advisor(store) as advisor:
            self.assertEqual(learned(advisor.json("register", *planted)), [name])
            self.assertEqual(learned(advisor.json("register", *elsewhere)), [])

    def test_a_line_that_is_no_run_is_named_and_what_is_before_it_is_taken(self):
        runs = self.path("runs.jsonl")
        with Advisor(self.path("advisor.db")) as advisor:
            write_runs(runs, contexts_of(advisor), 30)
            with open(runs, "a", encoding="utf-8") as file:
                file.write('{"signature": {"archetype": "llama"}, "hours": 1}\n')
            run = advisor.ask("runs", runs, "--batch", "10", expect=BAD_INPUT)
            self.assertIn(f"{runs}:31: signature: archetype and stack are 32 lowercase hexadecimal digits", run.stderr)
            self.assertIn("30 runs were taken: go on with --first 31", run.stderr)
            self.assertEqual(int(advisor.json("learn")["runs"]), 30)

    def test_two_advisors_on_one_redis_know_the_same(self):
        runs = self.path("runs.jsonl")
        with redis_server.Redis() as redis, Advisor(redis.url) as one, Advisor(redis.url) as other:
            write_runs(runs, contexts_of(one))
            one.ask("runs", runs)
            one.ask("learn")
            planted = (*workload(PLANTED[0]), "--gpu", MACHINES[PLANTED[1]])
            [name] = learned(one.json("register", *planted))
            until(lambda: learned(other.json("register", *planted)) == [name])
            other.ask("revoke", name, "--by", "ann", "--why", "the switch was replaced")
            until(lambda: learned(one.json("register", *planted)) == [])
            job = ("tenants/default/jobs/17", *workload(0), "--hours", "5", "--sign", f"{SIGN}=3", "--context", "", "--gpus", "64")
            until(lambda: other.json("progress", "tenants/default/jobs/1", *job[1:]).get("hazard", {}).get("known"))
            self.assertEqual(one.json("progress", *job)["check"], "gpu.memory_test")
            self.assertNotIn("check", other.json("progress", *job))

    def test_scripts_of_slurm_refuse_a_job_by_a_mismatch_alone_and_note_its_run(self):
        if shutil.which("jq") is None:
            self.skipTest("there is no jq")
        with open(self.path("scontrol"), "w", encoding="utf-8") as file:
            file.write('#!/bin/sh\nprintf "trn-a01\\ntrn-a02\\n"\n')
        os.chmod(self.path("scontrol"), 0o755)
        with open(self.path("a100.yaml"), "w", encoding="utf-8") as file:
            file.write("gpu: NVIDIA A100-SXM4-80GB\nconditions: []\nversions: {cuda: 10.2}\n")
        with open(self.path("h100.yaml"), "w", encoding="utf-8") as file:
            file.write("gpu: NVIDIA H100 80GB HBM3\n")
        with Advisor(self.path("advisor.db")) as advisor:
            def run(script, job, partition, comment=json.dumps(self.sign(), separators=(",", ":")), code="0:0", server=advisor.process.address):
                environment = {"PATH": f"{self.scratch.name}:{galen.BIN}:{os.environ['PATH']}", "GALEN_ADVISOR": server, "GALEN_SPOOL": self.scratch.name,
                               "GALEN_HARDWARE": self.scratch.name, "SLURM_JOB_ID": str(job), "SLURM_JOB_ACCOUNT": "acme", "SLURM_JOB_PARTITION": partition,
                               "SLURM_JOB_COMMENT": comment, "SLURM_JOB_NODELIST": "trn-a[01-02]", "SLURM_JOB_START_TIME": "1700000000",
                               "SLURM_JOB_EXIT_CODE2": code}
                return subprocess.run([f"{galen.ROOT}/docs/slurm/advisor-{script}.sh"], env=environment, text=True, capture_output=True, timeout=60,
                                      check=False).returncode

            self.assertEqual(run("prolog", 1, "h100"), 0)
            self.assertEqual(run("prolog", 2, "a100"), 1)
            self.assertEqual(run("prolog", 3, "a100", comment="a run of mine"), 0)
            self.assertEqual(run("prolog", 4, "no-such"), 0)
            self.assertEqual(run("prolog", 5, "h100", server="127.0.0.1:1"), 0)
            self.assertEqual(run("prolog", 6, "h100"), 0)
            for job, code in ((1, "0:0"), (2, "0:0"), (3, "0:0"), (5, "0:0"), (6, "1:0")):
                self.assertEqual(run("epilog", job, "h100", code=code), 0)
            with open(self.path("runs.jsonl"), encoding="utf-8") as file:
                noted = [json.loads(line) for line in file]
            self.assertEqual([(one["ending"], one["gpus"], one["nodes"]) for one in noted],
                             [("COMPLETED", 16, ["trn-a01", "trn-a02"]), ("FAILED", 16, ["trn-a01", "trn-a02"])])
            self.assertIn("reported 2 runs in 1 call;", advisor.ask("runs", self.path("runs.jsonl")).stdout)
            self.assertEqual(int(advisor.json("learn")["runs"]), 2)

    def test_certificates_say_who_may_ask_what(self):
        certs = self.path("certs")
        self.assertEqual(galen.galen("certs", "new", certs).returncode, 0)
        with Advisor(self.path("advisor.db"), f"--certs={certs}") as advisor:
            words = ("register", *workload(0), "--gpu", MACHINES[0], "--parent", "tenants/acme", "--certs", certs)
            self.assertIn("context", advisor.json(*words))
            self.assertIn("nothing was learned", advisor.ask("patterns", "--certs", certs).stdout)
            # The same without a certificate, and with one of a role that may not.
            self.assertNotEqual(galen.galen("advisor", *words[:-2], "--server", advisor.process.address).returncode, OK)
            run = galen.galen("advisor", "patterns", "--server", advisor.process.address, "--tls-cert", f"{certs}/planning.pem",
                              "--tls-key", f"{certs}/planning.key", "--tls-ca", f"{certs}/ca.pem")
            self.assertNotEqual(run.returncode, OK)


if __name__ == "__main__":
    unittest.main()

"""A mesh of processes that prove to each other who they are, and what it says to those who cannot."""
import json
import os
import stat
import subprocess
import tempfile
import time
import unittest
import urllib.request

import galen


def certs(*arguments):
    run = galen.galen("certs", *arguments)
    if run.returncode != 0:
        raise AssertionError(f"galen certs {arguments}: {run.stderr}")
    return run.stdout


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def start_and_wait(program, *arguments):
    """Of a program that is expected to end by itself."""
    return subprocess.run([f"{galen.BIN}/{program}", *arguments], text=True, capture_output=True,
                          timeout=60, cwd=galen.ROOT)


class Certificates(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.certs = f"{self.scratch.name}/certs"
        certs("new", self.certs, "--domain", "site.test", "--node", "node0")

    def test_are_made_for_every_role_and_keys_are_their_owners_alone(self):
        shown = certs("show", self.certs)
        for role in ("gateway", "orchestrator", "summarization", "planning", "execution", "node",
                     "reflection", "conclusion", "operator", "metrics"):
            self.assertIn(f"spiffe://site.test/galen/{role}", shown)
        self.assertIn("spiffe://site.test/galen/node/node0", shown)
        keys = 0
        for directory, _, files in os.walk(self.certs):
            for name in files:
                if name.endswith(".key"):
                    keys += 1
                    mode = stat.S_IMODE(os.stat(f"{directory}/{name}").st_mode)
                    self.assertEqual(mode, 0o600, name)
        self.assertGreaterEqual(keys, 12)

    def test_are_not_made_over_others(self):
        before = read(f"{self.certs}/ca.pem")
        run = galen.galen("certs", "new", self.certs)
        self.assertEqual(run.returncode, 2)
        self.assertIn("ca.pem: is there", run.stderr)
        self.assertEqual(read(f"{self.certs}/ca.pem"), before)

    def test_openssl_finds_them_good(self):
        for role in ("orchestrator", "operator"):
            run = subprocess.run(
                ["openssl", "verify", "-CAfile", f"{self.certs}/ca.pem", "-purpose", "sslserver",
                 f"{self.certs}/{role}.pem"], text=True, capture_output=True)
            self.assertEqual(run.returncode, 0, run.stderr)

    def test_an_authority_is_exchanged_in_three_steps(self):
        def fingerprints():
            return [line.split()[-2] for line in certs("show", self.certs).splitlines()
                    if line.startswith("ca.pem")]
        first = fingerprints()
        self.assertEqual(len(first), 1)
        certs("renew", self.certs, "--add-authority")
        self.assertEqual(len(fingerprints()), 2)
        early = galen.galen("certs", "renew", self.certs, "--retire-authorities")
        self.assertEqual(early.returncode, 2)
        self.assertIn("first", early.stderr)
        certs("renew", self.certs)
        certs("renew", self.certs, "--retire-authorities")
        last = fingerprints()
        self.assertEqual(len(last), 1)
        self.assertNotEqual(last, first)
        self.assertNotIn("unable", certs("show", self.certs))


class SecureMesh(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.certs = f"{cls.scratch.name}/certs"
        cls.audit = f"{cls.scratch.name}/audit.jsonl"
        certs("new", cls.certs)
        cls.mesh = galen.Mesh(everywhere=(f"--certs={cls.certs}", f"--audit_log={cls.audit}"),
                              execution_arguments=("--shared_node_certificates",))
        cls.server = ("--server", cls.mesh.orchestrator.address)

    @classmethod
    def tearDownClass(cls):
        cls.mesh.__exit__()
        cls.scratch.cleanup()

    def test_gives_the_same_reports_as_one_process(self):
        for example in ("cublas-ecc", "nccl-connection-refused", "healthy"):
            with self.subTest(example):
                alone, code = galen.diagnose(example)
                meshed, meshed_code = galen.diagnose(example, *self.server, "--certs", self.certs)
                self.assertEqual(code, meshed_code)
                self.assertEqual(galen.comparable(alone), galen.comparable(meshed))

    def test_writes_down_who_did_what(self):
        diagnosis, _ = galen.diagnose("healthy", *self.server, "--certs", self.certs)
        wanted = {
            ("operator", "/galen.v1.DiagnosisService/CreateDiagnosis", "tenants/default"),
            ("operator", "/galen.v1.DiagnosisService/GetDiagnosis", diagnosis["name"]),
            ("orchestrator", "/galen.execution.v1.ExecutionService/RunChecks", diagnosis["name"]),
            ("orchestrator", "/galen.planning.v1.PlanningService/Screen", ""),
            *(("execution", "/galen.node.v1.NodeService/RunChecks", node)
              for node in {result["node"] for result in galen.of_nodes(diagnosis["checkResults"])}),
        }
        self.assertEqual(len(wanted), 5)
        seen = set()
        # A call is written when it ends, which its caller may see first.
        while not wanted <= seen:
            with open(self.audit, encoding="utf-8") as lines:
                for line in lines:
                    if not line.endswith("\n"):
                        continue
                    record = json.loads(line)
                    seen.add((record["peer"].rsplit("/", 1)[-1], record["method"],
                              record.get("resource", "")))

    def test_every_service_writes_down_whose_key_a_diagnosis_is_of(self):
        made = galen.galen("keys", "create", "--store", self.mesh.store, "--tenant", "acme")
        self.assertEqual(made.returncode, 0, made.stderr)
        key = made.stdout.strip()
        gateway = self.mesh.start("galen-gateway", f"--store={self.mesh.store}", f"--knowledge={galen.ROOT}/knowledge",
                                  f"--orchestrator={self.mesh.orchestrator.address}")
        body = json.dumps({"incident": {"description": "NCCL WARN Connect failed on every rank"}}).encode()
        request = urllib.request.Request(f"http://{gateway.address}/v1/tenants/acme/diagnoses", data=body,
                                         headers={"Authorization": f"Bearer {key}", "Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            name = json.loads(answer.read())["name"]
        asker = f"key/{key.split('_')[1]} (customer)"
        wanted = {"/galen.v1.DiagnosisService/CreateDiagnosis", "/galen.summarization.v1.SummarizationService/Summarize",
                  "/galen.planning.v1.PlanningService/Screen", "/galen.execution.v1.ExecutionService/RunChecks",
                  "/galen.node.v1.NodeService/RunChecks", "/galen.conclusion.v1.ConclusionService/Conclude"}
        seen = set()
        deadline = time.monotonic() + 300
        while not wanted <= seen and time.monotonic() < deadline:
            with open(self.audit, encoding="utf-8") as lines:
                records = [json.loads(line) for line in lines if line.endswith("\n")]
            seen = {record["method"] for record in records if record.get("asker") == asker}
            # Nobody else's calls are put down to this key.
            self.assertEqual({record["resource"] for record in records
                              if record.get("asker") == asker and record.get("resource", "").startswith("tenants/")}
                             - {"tenants/acme", name}, set())
        self.assertEqual(wanted - seen, set())

    def test_refuses_who_has_no_certificate_or_one_of_another_authority(self):
        other = f"{self.scratch.name}/other"
        certs("new", other)
        for arguments in ((), ("--certs", other)):
            run = galen.galen("diagnose", "training is slow", *self.server, *arguments)
            self.assertEqual(run.returncode, 4, run.stderr)

    def test_refuses_who_is_of_the_wrong_role(self):
        as_operator = f"{self.scratch.name}/posing"
        os.mkdir(as_operator)
        for name in ("ca.pem",):
            os.link(f"{self.certs}/{name}", f"{as_operator}/{name}")
        os.link(f"{self.certs}/planning.pem", f"{as_operator}/operator.pem")
        os.link(f"{self.certs}/planning.key", f"{as_operator}/operator.key")
        run = galen.galen("diagnose", "training is slow", *self.server, "--certs", as_operator)
        self.assertEqual(run.returncode, 2, run.stderr)
        self.assertIn("is of role planning; this program is operator", run.stderr)

    def test_runs_checks_for_an_operator(self):
        run = galen.galen("checks", "run", "system.disk", "--server",
                          self.mesh.agents["execution"].address, "--certs", self.certs, "--json")
        self.assertEqual(run.returncode, 0, run.stderr)
        nodes = {json.loads(line)["node"] for line in run.stdout.splitlines()}
        self.assertEqual(nodes, {"node0", "node1"})

    def test_renewed_certificates_are_taken_up_while_it_serves(self):
        certs("renew", self.certs)
        news = "orchestrator.pem: loaded"
        while not any(news in line for line in self.mesh.orchestrator.log):
            pass
        _, code = galen.diagnose("healthy", *self.server, "--certs", self.certs)
        self.assertEqual(code, 3)


class OneProcess(unittest.TestCase):
    def test_up_with_certificates_serves_who_has_one(self):
        with tempfile.TemporaryDirectory() as scratch:
            certs("new", f"{scratch}/certs")
            audit = f"{scratch}/audit.jsonl"
            up = galen.Process("galen", "up", f"--store={scratch}/galen.db",
                               f"--certs={scratch}/certs", f"--audit-log={audit}")
            try:
                meshed, code = galen.diagnose("cublas-ecc", "--server", up.address, "--certs",
                                              f"{scratch}/certs")
                alone, _ = galen.diagnose("cublas-ecc")
                self.assertEqual(code, 0)
                self.assertEqual(galen.comparable(alone), galen.comparable(meshed))
                run = galen.galen("diagnose", "training is slow", "--server", up.address)
                self.assertEqual(run.returncode, 4)
            finally:
                self.assertEqual(up.stop(), 0)
            with open(audit, encoding="utf-8") as lines:
                methods = {json.loads(line)["method"] for line in lines}
            self.assertIn("/galen.v1.DiagnosisService/CreateDiagnosis", methods)


class WithoutCertificates(unittest.TestCase):
    def test_programs_refuse_to_start_off_loopback(self):
        knowledge = f"--knowledge={galen.ROOT}/knowledge"
        for program, arguments in (
                ("galen-planning", (knowledge, "--listen=0.0.0.0:0")),
                ("galen-node", (knowledge, "--listen=[::]:0", "--nowatch")),
                ("galen-orchestrator", ("--store=:memory:", "--planning=planning.example:50052")),
                ("galen-execution", (knowledge, "--nodes=n1=10.0.0.1:50054")),
                ("galen", ("up", "--store", ":memory:", "--listen", "0.0.0.0:0"))):
            with self.subTest(program):
                run = start_and_wait(program, *arguments)
                self.assertNotEqual(run.returncode, 0)
                self.assertIn("without certificates only loopback addresses are used", run.stderr)
                self.assertIn("--certs DIR", run.stderr)

    def test_a_client_refuses_to_send_an_incident_in_the_clear(self):
        run = galen.galen("diagnose", "training is slow", "--server", "galen.example:50050")
        self.assertEqual(run.returncode, 2)
        self.assertIn("without certificates only loopback addresses are used", run.stderr)

    def test_a_directory_without_certificates_is_named(self):
        run = start_and_wait("galen-planning", "--certs=/nowhere")
        self.assertNotEqual(run.returncode, 0)
        self.assertIn("/nowhere/planning.pem", run.stderr)


if __name__ == "__main__":
    unittest.main()

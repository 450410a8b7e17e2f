"""Bad input: a clear error that names what and where and what to do, and exit code 2 — or a result
that says SKIPPED or ERROR. Nothing crashes, nothing that was stored is lost."""
import json
import os
import shutil
import socket
import tempfile
import threading
import unittest

import galen


class BadInput(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = scratch.name

    def copy_of(self, example):
        target = f"{self.scratch}/{example}"
        shutil.copytree(f"{galen.EXAMPLES}/{example}", target)
        return target

    def refused(self, run, *words, code=2):
        self.assertEqual(run.returncode, code, run.stderr)
        for word in words:
            self.assertIn(word, run.stderr)
        self.assertNotIn("terminate called", run.stderr)

    def test_an_empty_description(self):
        self.refused(galen.galen("diagnose", ""), "describe the incident", "--log", "--bundle")
        self.refused(galen.galen("diagnose", "  \n\t "), "describe the incident")

    def test_a_log_of_two_gigabytes(self):
        path = f"{self.scratch}/huge.log"
        line = b"step 1200 loss 2.31 lr 3e-4 tokens/s 18234 grad_norm 0.71 mem 61.2GiB\n"
        block = line * ((1 << 24) // len(line))
        with open(path, "wb") as log:
            while log.tell() < 2 << 30:
                log.write(block)
            log.write(b"[rank3]: torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n")
        run = galen.galen("diagnose", "job died", "--log", path, "--json", timeout=300)
        self.assertIn(run.returncode, (0, 3), run.stderr)
        diagnosis = json.loads(run.stdout)
        report = diagnosis["report"]
        # One line of a log: named, proven or presumed.
        cause = report.get("primaryCause") or report["presumedCause"]
        self.assertEqual(cause["label"], "USER_APPLICATION.GPU_MEMORY.OUT_OF_MEMORY")
        summary = diagnosis["summary"]
        self.assertGreater(int(summary["bytesRead"]), 2 << 30)
        found = [s for s in summary["signals"] if "out of memory" in s.get("excerpt", "")]
        self.assertTrue(found)
        self.assertGreater(int(found[0]["firstLine"]), 20_000_000)

    def test_a_log_of_two_gigabytes_without_a_line_end(self):
        path = f"{self.scratch}/sparse.log"
        with open(path, "wb") as log:
            log.truncate(2 << 30)
        run = galen.galen("diagnose", "job died", "--log", path, "--json", timeout=300)
        self.assertEqual(run.returncode, 3, run.stderr)
        self.assertTrue(json.loads(run.stdout)["summary"]["notes"])

    def test_a_binary_log(self):
        path = f"{self.scratch}/core"
        with open(path, "wb") as log:
            log.write(os.urandom(1 << 20))
        run = galen.galen("diagnose", "job died", "--log", path, "--json")
        self.assertEqual(run.returncode, 3, run.stderr)
        notes = " ".join(json.loads(run.stdout)["summary"]["notes"])
        self.assertIn("core", notes)
        self.assertIn("binary", notes)

    def test_a_log_that_is_not_there_or_no_file(self):
        self.refused(galen.galen("diagnose", "x", "--log", "/nowhere/train.log"), "/nowhere/train.log")

    def test_a_bundle_that_is_none(self):
        self.refused(galen.galen("diagnose", "--bundle", "/nowhere"), "/nowhere")
        self.refused(galen.galen("diagnose", "--bundle", self.scratch), "bundle.yaml")

    def test_a_bundle_with_broken_yaml(self):
        bundle = self.copy_of("healthy")
        with open(f"{bundle}/incident.yaml", "a", encoding="utf-8") as incident:
            incident.write("\nworkload: [unclosed\n")
        self.refused(galen.galen("diagnose", "--bundle", bundle), "incident.yaml:")

    def test_a_bundle_with_a_missing_log_is_diagnosed_and_says_so(self):
        bundle = self.copy_of("cublas-ecc")
        for name in os.listdir(f"{bundle}/logs"):
            os.remove(f"{bundle}/logs/{name}")
        run = galen.galen("diagnose", "--bundle", bundle, "--json")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("missing", " ".join(json.loads(run.stdout)["summary"]["notes"]))

    def test_a_bundle_with_a_missing_output_is_an_error_result_of_that_check(self):
        bundle = self.copy_of("cublas-ecc")
        # The one with the most GPU state: nvidia-smi -q -x.
        broken = 0
        for node in os.listdir(f"{bundle}/nodes"):
            with open(f"{bundle}/nodes/{node}/commands.yaml", encoding="utf-8") as commands:
                for line in commands:
                    if '"-q", "-x"' in line or "-q, -x" in line:
                        name = line.split("stdout:")[1].split(",")[0].strip(" '\"")
                        os.remove(f"{bundle}/nodes/{node}/{name}")
                        broken += 1
        self.assertGreater(broken, 0)
        run = galen.galen("diagnose", "--bundle", bundle, "--json")
        diagnosis = json.loads(run.stdout)
        ecc = [r for r in diagnosis["checkResults"] if r["check"] == "gpu.ecc"]
        self.assertTrue(ecc)
        self.assertTrue(all(r["status"] == "ERROR" for r in ecc))
        self.assertTrue(all(".txt" in r["message"] or "c/" in r["message"] for r in ecc))

    def test_a_bundle_that_points_outside_itself(self):
        bundle = self.copy_of("healthy")
        with open(f"{bundle}/incident.yaml", encoding="utf-8") as incident:
            text = incident.read()
        with open(f"{bundle}/incident.yaml", "w", encoding="utf-8") as incident:
            lines = text.splitlines()
            at = next(i for i, line in enumerate(lines) if line.startswith("logs:"))
            lines.insert(at + 1, "  - {path: ../../../../../etc/passwd, kind: job}")
            incident.write("\n".join(lines) + "\n")
        run = galen.galen("diagnose", "--bundle", bundle, "--json")
        self.assertNotIn("root:x:", run.stdout + run.stderr)
        self.assertIn("..", run.stderr + run.stdout)

    def knowledge_with(self, path, old, new):
        knowledge = f"{self.scratch}/knowledge"
        shutil.copytree(f"{galen.ROOT}/knowledge", knowledge)
        with open(f"{knowledge}/{path}", encoding="utf-8") as source:
            text = source.read()
        self.assertIn(old, text)
        with open(f"{knowledge}/{path}", "w", encoding="utf-8") as target:
            target.write(text.replace(old, new, 1))
        return knowledge

    def test_a_taxonomy_with_a_cycle(self):
        site = f"{self.scratch}/site"
        os.mkdir(site)
        with open(f"{site}/cycle.yaml", "w", encoding="utf-8") as taxonomy:
            taxonomy.write("labels:\n"
                           "  - {label: GPU.RING, parent: GPU.RING.A, title: ring, description: ring}\n"
                           "  - {label: GPU.RING.A, parent: GPU.RING, title: ring, description: ring}\n")
        directories = ["--knowledge", f"{galen.ROOT}/knowledge", "--knowledge", site]
        run = galen.galen("kb", "lint", *directories)
        self.assertEqual(run.returncode, 2)
        self.assertIn("cycle.yaml:", run.stdout)
        self.assertIn("its own ancestor", run.stdout)
        self.refused(galen.galen("diagnose", "slow", *directories), "cycle.yaml:")

    def test_broken_yaml_in_the_knowledge(self):
        site = f"{self.scratch}/site"
        os.mkdir(site)
        with open(f"{site}/broken.yaml", "w", encoding="utf-8") as taxonomy:
            taxonomy.write("labels:\n  - label: [GPU\n")
        run = galen.galen("diagnose", "slow", "--knowledge", f"{galen.ROOT}/knowledge", "--knowledge", site)
        self.refused(run, "broken.yaml:")

    def test_a_rule_over_an_unknown_check(self):
        site = f"{self.scratch}/site"
        os.mkdir(site)
        with open(f"{site}/rule.yaml", "w", encoding="utf-8") as taxonomy:
            taxonomy.write(
                "labels:\n"
                "  - label: GPU.MEMORY.SITE\n    parent: GPU.MEMORY\n    title: t\n    description: d\n"
                "    owner: provider\n    severity: low\n    prior: low\n"
                "    confirm:\n"
                "      - {check: gpu.no_such_check, finding: x, op: ==, value: 'true', observation: o}\n")
        run = galen.galen("kb", "lint", "--knowledge", f"{galen.ROOT}/knowledge", "--knowledge", site)
        self.assertEqual(run.returncode, 2)
        self.assertIn("rule.yaml:10", run.stdout)
        self.assertIn("gpu.no_such_check", run.stdout)

    def test_an_unknown_check(self):
        self.refused(galen.galen("checks", "run", "gpu.eccc"), "gpu.eccc", "checks list")

    def test_an_unknown_strategy_and_a_wrong_option(self):
        self.refused(galen.galen("diagnose", "slow", "--strategy", "guess"), "guess", "tiered")
        self.assertEqual(galen.galen("diagnose", "--no-such-option").returncode, 2)
        self.assertEqual(galen.galen("no-such-command").returncode, 2)

    def test_a_server_that_is_not_there(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            address = "127.0.0.1:%d" % free.getsockname()[1]
        self.refused(galen.galen("diagnose", "slow", "--server", address), address, code=4)

    def test_a_node_that_never_answers_and_one_that_answers_garbage(self):
        stop = threading.Event()

        def serve(listener, answer):
            listener.settimeout(0.2)
            held = []
            while not stop.is_set():
                try:
                    connection, _ = listener.accept()
                except OSError:
                    continue
                held.append(connection)
                if answer:
                    connection.sendall(answer)
            for connection in held:
                connection.close()

        listeners, threads = [], []
        for answer in (b"", b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\ngarbage" * 100):
            listener = socket.socket()
            listener.bind(("127.0.0.1", 0))
            listener.listen()
            listeners.append(listener)
            threads.append(threading.Thread(target=serve, args=(listener, answer)))
            threads[-1].start()
        try:
            with galen.Mesh(nodes=1) as mesh:
                # The orchestrator's execution gets two more nodes: a mute one and a babbling one.
                mesh.agents["execution"].stop()
                good = mesh.nodes[0].address
                nodes = f"node0={good}," + ",".join(
                    f"{name}=127.0.0.1:{listener.getsockname()[1]}"
                    for name, listener in zip(("mute", "babbling"), listeners))
                mesh.agents["execution"] = mesh.start(
                    "galen-execution", f"--knowledge={galen.ROOT}/knowledge", f"--nodes={nodes}",
                    "--node_timeout=2s")
                mesh.orchestrator.stop()
                mesh.start_orchestrator()
                run = galen.galen("diagnose", "training is slow", "--json",
                                  "--server", mesh.orchestrator.address, timeout=300)
                self.assertEqual(run.returncode, 3, run.stderr)
                statuses = {}
                for result in galen.of_nodes(json.loads(run.stdout)["checkResults"]):
                    statuses.setdefault(result["node"], set()).add(result["status"])
                self.assertEqual(statuses["mute"], {"ERROR"})
                self.assertEqual(statuses["babbling"], {"ERROR"})
                self.assertIn("PASS", statuses["node0"])
        finally:
            stop.set()
            for thread in threads:
                thread.join()
            for listener in listeners:
                listener.close()

    def test_a_store_that_is_no_database_is_left_alone(self):
        path = f"{self.scratch}/galen.db"
        with open(path, "wb") as store:
            store.write(b"not a database, but somebody's only copy\n" * 100)
        with self.assertRaises(AssertionError) as raised:
            galen.Process("galen-orchestrator", f"--store={path}", "--summarization=127.0.0.1:1",
                          "--planning=127.0.0.1:1", "--execution=127.0.0.1:1",
                          "--reflection=127.0.0.1:1", "--conclusion=127.0.0.1:1")
        self.assertIn(path, str(raised.exception))
        with open(path, "rb") as store:
            self.assertTrue(store.read().startswith(b"not a database"))


if __name__ == "__main__":
    unittest.main()

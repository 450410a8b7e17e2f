"""The same diagnoses through separate processes on loopback TCP."""
import json
import subprocess
import unittest

import galen


class MeshOfProcesses(unittest.TestCase):
    def test_gives_the_same_reports_as_one_process(self):
        with galen.Mesh() as mesh:
            self.assertGreaterEqual(len(mesh.processes), 8)
            for example in galen.CAUSES:
                with self.subTest(example):
                    alone, code = galen.diagnose(example)
                    meshed, meshed_code = galen.diagnose(
                        example, "--server", mesh.orchestrator.address)
                    self.assertEqual(code, meshed_code)
                    self.assertEqual(galen.comparable(alone), galen.comparable(meshed))

    def test_a_service_drains_on_sigterm(self):
        with galen.Mesh() as mesh:
            galen.diagnose("healthy", "--server", mesh.orchestrator.address)
            for process in mesh.processes:
                self.assertEqual(process.stop(), 0, process.program)

    def test_a_request_id_makes_creation_idempotent(self):
        with galen.Mesh() as mesh:
            server = ("--server", mesh.orchestrator.address, "--request-id", "ticket-17")
            first, _ = galen.diagnose("healthy", *server)
            again, _ = galen.diagnose("healthy", *server)
            self.assertEqual(first["name"], again["name"])
            self.assertEqual(first["createTime"], again["createTime"])

    def test_a_dead_node_executor_is_an_error_result_not_a_hang(self):
        with galen.Mesh(nodes=1, orchestrator_arguments=["--agent_attempts=2"]) as mesh:
            mesh.nodes[0].stop()
            # Of "healthy" no log tells anything: only checks could.
            diagnosis, code = galen.diagnose(
                "healthy", "--server", mesh.orchestrator.address)
            self.assertEqual(code, 3)
            self.assertNotIn("primaryCause", diagnosis["report"])
            statuses = {r["status"] for r in galen.of_nodes(diagnosis["checkResults"])}
            self.assertEqual(statuses, {"ERROR"})
            self.assertTrue(diagnosis["report"]["notes"])

    def test_a_dead_agent_degrades_the_answer_and_says_so(self):
        with galen.Mesh(orchestrator_arguments=["--agent_attempts=2"]) as mesh:
            mesh.agents["planning"].stop()
            diagnosis, code = galen.diagnose("healthy", "--server", mesh.orchestrator.address)
            self.assertEqual(code, 3)
            self.assertIn("rank", json.dumps(diagnosis["report"]["notes"]).lower())


if __name__ == "__main__":
    unittest.main()

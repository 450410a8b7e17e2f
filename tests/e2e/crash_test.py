"""kill -9 of the orchestrator right after every single event, one after the other."""
import unittest

import galen


class Crash(unittest.TestCase):
    def test_killed_at_any_event_the_report_is_that_of_an_undisturbed_run(self):
        example = "cublas-ecc"
        undisturbed, _ = galen.diagnose(example)
        events = int(undisturbed["lastSequence"])
        expected = galen.comparable(undisturbed)
        self.assertGreater(events, 10)
        with galen.Mesh() as mesh:
            mesh.orchestrator.stop()
            for event in range(1, events + 1):
                with self.subTest(event=event):
                    mesh.store = f"{mesh.scratch.name}/{event}.db"
                    doomed = mesh.start_orchestrator(f"--crash_after_event={event}")
                    # The client keeps trying, so the next orchestrator takes the same address.
                    client = galen.subprocess.Popen(
                        [f"{galen.BIN}/galen", "diagnose", "--json", "--bundle",
                         f"{galen.EXAMPLES}/{example}", "--server", doomed.address,
                         "--request-id", f"crash-{event}"],
                        text=True, cwd=galen.ROOT, stdout=galen.subprocess.PIPE,
                        stderr=galen.subprocess.PIPE)
                    self.assertEqual(doomed.process.wait(timeout=60), -9)
                    doomed.stop()
                    successor = mesh.start_orchestrator(port=doomed.port)
                    out, err = client.communicate(timeout=120)
                    if event == 1 and client.returncode == 4:
                        # Died before it could answer the creation: asking again is idempotent.
                        diagnosis, code = galen.diagnose(
                            example, "--server", successor.address, "--request-id", f"crash-{event}")
                    else:
                        self.assertTrue(out, err)
                        diagnosis, code = galen.json.loads(out), client.returncode
                    successor.stop()
                    self.assertEqual(code, 0)
                    ids = [r["id"] for r in diagnosis["checkResults"]]
                    self.assertEqual(len(ids), len(set(ids)), "a check result counts twice")
                    self.assertEqual(galen.comparable(diagnosis), expected)


if __name__ == "__main__":
    unittest.main()

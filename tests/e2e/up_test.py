"""`galen up` as it is called without an address: on a socket of its user alone; and what becomes of diagnoses that are deleted there."""
import json
import os
import signal
import stat
import subprocess
import sys
import tempfile
import unittest

import galen

NOBODY = 65534
# Argument: the path; then, as another user, its number.
CONNECT = "import os, socket, sys; len(sys.argv) > 2 and os.setuid(int(sys.argv[2])); socket.socket(socket.AF_UNIX).connect(sys.argv[1])"


class Up:
    """`galen up` with a runtime folder and a store of its own, until it listens."""

    def __init__(self, folder):
        self.socket = f"{folder}/galen.sock"
        self.server = f"unix:{self.socket}"
        self.log = []
        self.process = subprocess.Popen([f"{galen.BIN}/galen", "up", "--store", f"{folder}/galen.db"], text=True, cwd=galen.ROOT,
                                        env={**os.environ, "XDG_RUNTIME_DIR": folder}, stderr=subprocess.PIPE)
        for line in self.process.stderr:
            self.log.append(line)
            if "listening on" in line:
                return
        raise AssertionError(f"galen up did not listen: {''.join(self.log)}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.stderr.read()
        self.process.stderr.close()
        self.process.wait(timeout=60)


class UpTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = scratch.name
        os.chmod(self.folder, 0o755)

    def test_listens_on_a_socket_of_its_user_alone(self):
        with Up(self.folder) as up:
            self.assertIn(f"listening on {up.server}", up.log[-1])
            status = os.stat(up.socket)
            self.assertTrue(stat.S_ISSOCK(status.st_mode))
            self.assertEqual(stat.S_IMODE(status.st_mode) & 0o077, 0)
            self.assertEqual(stat.S_IMODE(os.stat(f"{self.folder}/galen.db").st_mode), 0o600)
            subprocess.run([sys.executable, "-c", CONNECT, up.socket], check=True, timeout=60)
            if os.geteuid() == 0:
                other = subprocess.run([sys.executable, "-c", CONNECT, up.socket, str(NOBODY)], capture_output=True, text=True, timeout=60,
                                       check=False)
                self.assertIn("PermissionError", other.stderr)
            run = galen.galen("list", "--server", up.server)
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertIn("no diagnoses", run.stdout)
            # A second one does not take the socket away.
            second = subprocess.run([f"{galen.BIN}/galen", "up", "--store", ":memory:"], text=True, capture_output=True, timeout=60,
                                    cwd=galen.ROOT, env={**os.environ, "XDG_RUNTIME_DIR": self.folder}, check=False)
            self.assertEqual(second.returncode, 4, second.stderr)
            self.assertIn("another program listens there", second.stderr)
            self.assertEqual(galen.galen("list", "--server", up.server).returncode, 0)
        # What a killed one left behind is replaced.
        up = Up(self.folder)
        up.process.kill()
        up.process.wait(timeout=60)
        up.process.stderr.close()
        with Up(self.folder):
            pass

    def test_warns_where_every_user_may_call_it(self):
        up = galen.Process("galen", "up", "--store", ":memory:")
        up.stop()
        self.assertIn("every user of this machine may call 127.0.0.1:0", "".join(up.log))

    def test_a_deleted_diagnosis_is_gone_and_says_so(self):
        with Up(self.folder) as up:
            diagnosis, _ = galen.diagnose("healthy", "--server", up.server)
            name = diagnosis["name"]
            trial = galen.galen("retention", "--server", up.server, "--keep", "30d", "--delete-waiting")
            self.assertEqual(trial.returncode, 0, trial.stderr)
            self.assertIn("deleted 0 diagnoses", trial.stdout)
            deleted = galen.galen("delete", name, "--server", up.server)
            self.assertEqual(deleted.returncode, 0, deleted.stderr)
            shown = galen.galen("show", name, "--server", up.server)
            self.assertEqual(shown.returncode, 2)
            self.assertIn("was deleted", shown.stderr)
            again = galen.galen("delete", name, "--server", up.server)
            self.assertEqual(again.returncode, 2)
            self.assertIn("was deleted", again.stderr)
            diagnosis, _ = galen.diagnose("healthy", "--server", up.server)
        store = f"{self.folder}/galen.db"
        listed = galen.galen("list", "--store", store, "--json")
        self.assertEqual([one["name"] for one in json.loads(listed.stdout)["diagnoses"]], [diagnosis["name"]])
        kept = galen.galen("retention", "--store", store, "--keep", "1h", "--delete-waiting", "--dry-run")
        self.assertEqual(kept.returncode, 0, kept.stderr)
        self.assertIn("would delete 0 diagnoses", kept.stdout)
        self.assertEqual(galen.galen("delete", diagnosis["name"], "--store", store).returncode, 0)
        self.assertIn("no diagnoses", galen.galen("list", "--store", store).stdout)

    def test_a_wrong_time_is_refused_with_the_form(self):
        run = galen.galen("retention", "--store", f"{self.folder}/galen.db", "--keep", "soon")
        self.assertEqual(run.returncode, 2)
        self.assertIn("--keep: \"soon\": is not a time; give a time such as 90d", run.stderr)


if __name__ == "__main__":
    unittest.main()

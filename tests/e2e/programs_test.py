"""Every program: says what it is, what its flags do, and refuses what it cannot serve."""
import os
import socket
import subprocess
import tempfile
import unittest

import galen

SERVICES = ("summarization", "planning", "execution", "node", "reflection", "conclusion",
            "orchestrator", "advisor")


class Programs(unittest.TestCase):
    def test_each_service_explains_its_flags(self):
        for service in SERVICES:
            run = subprocess.run([f"{galen.BIN}/galen-{service}", "--helpfull"], text=True,
                                 capture_output=True, timeout=60)
            self.assertIn("--listen", run.stdout, service)
            self.assertIn("--drain_grace", run.stdout, service)

    def test_the_portable_folder_needs_nothing_of_a_machine_but_its_glibc(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([f"{galen.ROOT}/images/portable.sh", galen.BIN, folder], check=True, capture_output=True)
            for program in ("galen", "galen-node", "galen-gputest"):
                needed = subprocess.run(["ldd", f"{folder}/{program}"], text=True, capture_output=True, check=True).stdout
                for line in needed.splitlines():
                    words = line.split()
                    if len(words) > 2 and not words[2].startswith(folder):
                        self.assertRegex(words[0], r"^lib(c|m|resolv|dl|rt|pthread|anl)\.so", line)
            # From anywhere, and what it starts sees no library of its.
            run = subprocess.run([f"{folder}/galen", "checks", "run", "system.memory"], cwd="/", text=True,
                                 capture_output=True, env={"PATH": os.environ["PATH"]}, timeout=60)
            self.assertIn("system.memory@", run.stdout, run.stderr)

    def test_an_address_in_use_is_refused_with_the_address(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            run = subprocess.run(
                [f"{galen.BIN}/galen-planning", f"--listen=127.0.0.1:{port}",
                 f"--knowledge={galen.ROOT}/knowledge"], text=True, capture_output=True, timeout=60)
        self.assertNotEqual(run.returncode, 0)
        self.assertIn(f"127.0.0.1:{port}", run.stderr)

    def test_galen_explains_each_command(self):
        top = galen.galen("--help")
        self.assertEqual(top.returncode, 0)
        for command in ("diagnose", "up", "checks", "bundle", "kb"):
            self.assertIn(command, top.stdout)
            self.assertEqual(galen.galen(command, "--help").returncode, 0)

    def test_galen_up_serves_the_whole_mesh_from_one_process(self):
        with_store = galen.tempfile.TemporaryDirectory()
        self.addCleanup(with_store.cleanup)
        up = subprocess.Popen(
            [f"{galen.BIN}/galen", "up", "--listen", "127.0.0.1:0", "--store",
             f"{with_store.name}/galen.db"], text=True, cwd=galen.ROOT, stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL)
        try:
            port = None
            for line in up.stderr:
                found = galen.re.search(r"\(port (\d+)\)", line)
                if found:
                    port = found.group(1)
                    break
            self.assertIsNotNone(port)
            served, code = galen.diagnose("cublas-ecc", "--server", f"127.0.0.1:{port}")
            alone, _ = galen.diagnose("cublas-ecc")
            self.assertEqual(code, 0)
            self.assertEqual(galen.comparable(served), galen.comparable(alone))
        finally:
            up.terminate()
            up.stderr.read()
            up.stderr.close()
            self.assertEqual(up.wait(timeout=60), 0)


if __name__ == "__main__":
    unittest.main()

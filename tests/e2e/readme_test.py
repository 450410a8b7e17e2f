"""Each command that README.md shows runs as printed, in a folder that holds what the text speaks of.

A command that README.md gains is run, too; one whose exit code or output nobody has said yet fails here.
"""
import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import unittest

import galen

LOG = """step 330 | loss 2.31 | 5121 tokens/s
[rank3]: torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB of which 1.10 GiB is free.
"""
# A piece of a command: the exit codes it may end with, and what it prints. The first that fits counts.
PROMISES = [
    ("galen diagnose issue.md", {0, 3}, r"issue\.md"),
    ("galen diagnose - ", {0, 3}, r"Next"),
    ("make ", {0}, ""),
    ("galen diagnose --bundle docs/examples/cublas-ecc --json", {0}, r'"label": ?"GPU.MEMORY.UNCORRECTABLE_ECC"'),
    ("galen diagnose", {0, 3}, r"(?m)^(Cause|Most likely|No cause) "),
    ("galen bundle capture", {0}, r"(?i)bundle"),
    ("galen triage", {0, 3}, r"out of memory|OutOfMemory"),
    ("galen profile", {0, 3}, r"(?i)step"),
    ("galen model explain", {0}, r"(?i)bound"),
    ("galen checks list", {0}, r"gpu\.memory_test"),
    ("galen checks show", {0}, r"gpu\.memory_test"),
    # Neither node of the test has an RDMA device: one is SKIPPED, and the other has nobody to be tested with, an ERROR.
    ("galen checks run rdma.pair", {0, 1, 3}, r"SKIPPED +rdma\.pair@node0"),
    ("galen checks run", {0, 3}, r"PASS|FAIL|SKIPPED"),
    ("images/portable.sh", {0, 3}, r"PASS|FAIL|SKIPPED"),
    ("galen keys create", {0}, r"\S{20,}"),
]
# These go on until they are stopped; each says on standard error where it listens.
SERVICES = ("galen up", "galen-gateway", "galen watch")


def commands():
    """The lines of the fenced blocks, without their comments."""
    with open(f"{galen.ROOT}/README.md", encoding="utf-8") as file:
        blocks = re.findall(r"^```\n(.*?)^```", file.read(), re.M | re.S)
    lines = (re.sub(r"\s+#\s.*", "", line).strip() for block in blocks for line in block.splitlines())
    return [line for line in lines if line]


class ReadmeTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="galen-readme-")
        os.makedirs(f"{cls.folder}/build")
        os.symlink(galen.BIN, f"{cls.folder}/build/bin")
        for name in ("docs", "images", "knowledge"):
            os.symlink(f"{galen.ROOT}/{name}", f"{cls.folder}/{name}")
        with open(f"{cls.folder}/train.log", "w", encoding="utf-8") as file:
            file.write(LOG)
        with open(f"{cls.folder}/issue.md", "w", encoding="utf-8") as file:
            file.write("Training stops at night.\n\n```\n" + LOG + "```\n")
        shutil.copytree(f"{galen.EXAMPLES}/healthy", f"{cls.folder}/job")
        traces = f"{galen.ROOT}/../shared/profiles"
        cls.traces = os.path.isdir(traces)
        if cls.traces:
            os.makedirs(f"{cls.folder}/traces")
            shutil.copy(f"{traces}/bert-small-h100.json.gz", f"{cls.folder}/traces")
        cls.mesh = galen.Mesh()

    @classmethod
    def tearDownClass(cls):
        cls.mesh.__exit__()
        shutil.rmtree(cls.folder)

    def at_home(self, command):
        """The command with what it names put below the test's own folder and on its own ports."""
        command = command.replace("EXECUTION:PORT", self.mesh.agents["execution"].address)
        command = command.replace("HOST:PORT", self.mesh.orchestrator.address).replace("/tmp/", f"{self.folder}/")
        return command.replace("http://prometheus:9090", "http://127.0.0.1:9")

    def run_command(self, command):
        return subprocess.run(["bash", "-c", self.at_home(command)], cwd=self.folder, text=True, capture_output=True, timeout=300,
                              check=False)

    def test_every_command_runs_and_does_what_the_text_says(self):
        shown = commands()
        self.assertGreater(len(shown), 15)
        for command in shown:
            if command.startswith("make ") or any(service in command for service in SERVICES):
                continue
            with self.subTest(command):
                if "profile traces/" in command and not self.traces:
                    self.skipTest("../shared/profiles is not here")
                promise = next((each for each in PROMISES if each[0] in command), None)
                self.assertIsNotNone(promise, "this test does not say what the command does")
                run = self.run_command(command)
                self.assertIn(run.returncode, promise[1], run.stderr)
                self.assertRegex(run.stdout, promise[2])

    def test_make_has_every_target(self):
        for command in commands():
            if command.startswith("make "):
                with self.subTest(command):
                    run = subprocess.run([*shlex.split(command), "-n"], cwd=galen.ROOT, capture_output=True, text=True, check=False)
                    self.assertEqual(run.returncode, 0, run.stderr)

    def test_services_start_as_shown(self):
        """`galen up`, and the gateway beside it on the same store."""
        started = []
        try:
            orchestrator = ""
            for command in commands():
                if "galen up" in command and "--store" in command or "galen-gateway" in command and "--store" in command:
                    words = shlex.split(self.at_home(command).rstrip(" &"))
                    kept = [word for i, word in enumerate(words) if word != "--listen" and words[i - 1] != "--listen"]
                    kept = [f"--orchestrator={orchestrator}" if word.startswith("--orchestrator=") else word for word in kept]
                    with self.subTest(command):
                        started.append(galen.Process(os.path.join(self.folder, kept[0]), *kept[1:]))
                        orchestrator = orchestrator or started[-1].address
            self.assertEqual(len(started), 2, "README.md shows galen up and galen-gateway")
        finally:
            for each in reversed(started):
                each.stop()


    def test_watch_follows_a_mesh_until_it_is_stopped(self):
        for command in commands():
            if "galen watch" in command:
                with self.subTest(command), subprocess.Popen(["bash", "-c", "exec " + self.at_home(command)], cwd=self.folder, text=True,
                                                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as watch:
                    with self.assertRaises(subprocess.TimeoutExpired):  # what fails ends at once
                        watch.wait(timeout=3)
                    watch.send_signal(signal.SIGINT)
                    self.assertEqual(watch.wait(timeout=60), 0, watch.stderr.read())

    def test_the_address_of_another_service_is_refused_with_the_remedy(self):
        run = self.run_command("build/bin/galen checks run system.disk --server HOST:PORT")
        self.assertEqual(run.returncode, 2)
        self.assertIn("galen-execution", run.stderr)


if __name__ == "__main__":
    unittest.main()

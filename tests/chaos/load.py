"""Diagnoses asked of the mesh by many clients at once."""
import collections
import json
import queue
import random
import subprocess
import threading
import time

import galen
from mesh import LIAR

# A diagnosis that takes longer, faults included, is stuck.
LONGEST_S = 300
# One that failed is an answer too, and another one than that of an undisturbed run.
ENDS = {"SUCCEEDED", "AWAITING_FEEDBACK", "FAILED", "CANCELLED", "ESCALATED"}
LYING = "lying"  # the example that is none: the nodes are asked, one of which lies


class Load:
    """Diagnoses by request id, each asked again until it is answered. With `lying` every fourth one is of the node that
    lies, every second of these beside an honest one."""

    def __init__(self, mesh, seed, count, clients, lying=False):
        self.mesh = mesh
        self.todo = queue.Queue()
        names = sorted(galen.CAUSES)
        for i in range(count):
            self.todo.put((f"chaos-{seed}-{i}", LYING if lying and i % 4 == 3 else names[i % len(names)]))
        self.answers = {}  # request id: (example, diagnosis)
        self.stuck = []
        self.asked = 0
        self.codes = collections.Counter()  # exit codes of clients that got no answer
        self.seconds = []
        self.threads = [threading.Thread(target=self.work, args=(random.Random(f"{seed}/{i}"),), daemon=True)
                        for i in range(clients)]

    def work(self, pick):
        while True:
            try:
                request, example = self.todo.get_nowait()
            except queue.Empty:
                return
            self.diagnose(request, example, pick)

    def diagnose(self, request, example, pick):
        begin = time.monotonic()
        while time.monotonic() - begin < LONGEST_S:
            answer = self.ask(request, example, pick.choice(self.mesh.orchestrators).address,
                              begin + LONGEST_S - time.monotonic())
            if answer is not None:
                self.answers[request] = (example, answer)
                self.seconds.append(time.monotonic() - begin)
                return
            time.sleep(0.05)
        self.stuck.append(request)

    def ask(self, request, example, address, left):
        """The diagnosis, or None where the mesh could not be reached."""
        self.asked += 1
        what = ["--bundle", f"{galen.EXAMPLES}/{example}"]
        if example == LYING:
            what = ["training hangs with NCCL timeouts", "--node", LIAR]
            if int(request.rsplit("-", 1)[1]) % 8 == 7:
                what += ["--node", "node0"]
        try:
            run = galen.galen("diagnose", "--json", *what, "--server", address, *self.mesh.client, "--request-id",
                              request, timeout=max(left, 1))
        except subprocess.TimeoutExpired:
            self.codes["none in time"] += 1
            return None
        try:
            diagnosis = json.loads(run.stdout)
        except json.JSONDecodeError:
            self.codes[run.returncode] += 1
            return None
        return diagnosis if diagnosis.get("state") in ENDS else None

"""A client that an off-the-shelf generator makes of /openapi.json, used against the gateway. Skipped where the generator is not
installed: `make api-tools` does that."""
import json
import os
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

import galen

TOOLS = os.environ.get("GALEN_API_TOOLS", f"{galen.ROOT}/tests/e2e/openapi/installed")


class OpenApi(unittest.TestCase):
    def test_a_generated_client_works(self):
        with galen.Mesh() as mesh, tempfile.TemporaryDirectory() as scratch:
            gateway = mesh.start("galen-gateway", f"--store={mesh.store}", f"--knowledge={galen.ROOT}/knowledge",
                                 f"--orchestrator={mesh.orchestrator.address}")
            key = galen.galen("keys", "create", "--store", mesh.store, "--tenant", "acme").stdout.strip()
            url = f"http://{gateway.address}"
            with urllib.request.urlopen(f"{url}/openapi.json", timeout=60) as answer, open(f"{scratch}/openapi.json", "wb") as file:
                file.write(answer.read())
            generated = subprocess.run(
                [f"{TOOLS}/bin/openapi-python-client", "generate", "--path", f"{scratch}/openapi.json", "--output-path",
                 f"{scratch}/galen_client", "--meta", "none"], text=True, capture_output=True, timeout=120)
            self.assertEqual(generated.returncode, 0, generated.stderr)
            said = generated.stdout + generated.stderr
            self.assertNotIn("WARNING parsing", said)
            self.assertNotIn("Unable to", said)
            self.await_key(url, key)
            used = subprocess.run([f"{TOOLS}/bin/python", "-B", f"{galen.ROOT}/tests/e2e/openapi/use_client.py", scratch, url, key],
                                  text=True, capture_output=True, timeout=120)
            self.assertEqual(used.returncode, 0, used.stderr)
            saw = json.loads(used.stdout)
        self.assertEqual(saw["name"], saw["again"])
        self.assertEqual(saw["name"], saw["told"])
        self.assertEqual(saw["listed"], [saw["name"]])
        self.assertEqual(saw["description"], "training died at step 4100")
        self.assertEqual(saw["feedback"], 1)
        self.assertGreater(saw["hypotheses"], 0)
        self.assertEqual((saw["missing"], saw["foreign"]), ("NOT_FOUND", "NOT_FOUND"))

    @staticmethod
    def await_key(url, key):
        while True:
            try:
                request = urllib.request.Request(f"{url}/v1/whoami", headers={"Authorization": f"Bearer {key}"})
                urllib.request.urlopen(request, timeout=60).close()
                return
            except urllib.error.HTTPError as error:
                if error.code != 401:
                    raise
                time.sleep(0.05)


if __name__ == "__main__":
    if not os.path.exists(f"{TOOLS}/bin/openapi-python-client"):
        print("SKIPPED: no generator of clients is installed; `make api-tools` does that")
        sys.exit(77)
    unittest.main()

"""The web console in a headless Chromium, in front of a mesh of processes (tests/e2e/console/browser.mjs). Skipped where there is
no Chromium, no Node, or no npm packages: `make console-tools` gets them."""
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.request

import galen

SOURCES = f"{galen.ROOT}/services/gateway/console"
TOOLS = f"{SOURCES}/node_modules"


def missing():
    """Why the test cannot run; None when it can."""
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if chromium is None:
        return "there is no chromium"
    if shutil.which("node") is None:
        return "there is no node"
    version = subprocess.run(["node", "--version"], text=True, capture_output=True).stdout
    if int(version.lstrip("v").split(".")[0]) < 20:
        return f"node is {version.strip()}, and 20 is needed"
    for package in ("playwright-core", "axe-core", "esbuild"):
        if not os.path.isdir(f"{TOOLS}/{package}"):
            return f"the npm package {package} is not installed"
    return None


def main():
    why = missing()
    if why:
        print(f"SKIPPED: {why}; `make console-tools` gets what is missing")
        return 77
    with tempfile.TemporaryDirectory() as scratch:
        uploads = f"{scratch}/uploads"
        os.mkdir(uploads)
        bundles = {}
        for example in galen.CAUSES:
            bundles[example] = f"{scratch}/{example}.tar.gz"
            with tarfile.open(bundles[example], "w:gz") as archive:
                archive.add(f"{galen.EXAMPLES}/{example}", example)
        with galen.Mesh(roots=f"{galen.EXAMPLES},{uploads}") as mesh:
            execution = mesh.start("galen-execution", f"--knowledge={galen.ROOT}/knowledge", f"--store={mesh.store}")
            mesh.start("galen-node", f"--knowledge={galen.ROOT}/knowledge", "--host=registered-node", f"--execution={execution.address}")
            gateway = mesh.start("galen-gateway", f"--store={mesh.store}", f"--orchestrator={mesh.orchestrator.address}",
                                 f"--uploads={uploads}", "--requests_burst=5000", "--requests_per_second=1000")

            def key(*arguments):
                made = galen.galen("keys", "create", "--store", mesh.store, *arguments)
                assert made.returncode == 0, made.stderr
                return made.stdout.strip()

            keys = {"KEY": key("--tenant", "acme"), "READER_KEY": key("--tenant", "acme", "--scope", "diagnoses.read"),
                    "APPROVER_KEY": key("--tenant", "acme", "--role", "approver"),
                    "OPERATOR_KEY": key("--tenant", "*", "--role", "operator")}
            for text in keys.values():
                request = urllib.request.Request(f"http://{gateway.address}/v1/whoami", headers={"Authorization": f"Bearer {text}"})
                while True:
                    try:
                        urllib.request.urlopen(request, timeout=30).close()
                        break
                    except urllib.error.HTTPError as error:
                        assert error.code == 401, error
                        time.sleep(0.05)
            environment = {"GATEWAY": gateway.address, "BUNDLE": bundles["cublas-ecc"], "EXAMPLES": ",".join(bundles.values()),
                           "CONSOLE_SOURCES": SOURCES,
                           "CHROMIUM": os.environ.get("CHROMIUM") or shutil.which("chromium"), **keys}
            if os.environ.get("GALEN_UPDATE_GOLDENS"):
                environment["SHOTS"] = f"{galen.ROOT}/docs/console"
            run = subprocess.run(["node", "--test", *sys.argv[1:], f"{galen.ROOT}/tests/e2e/console/browser.mjs"],
                                 env={**os.environ, **{f"GALEN_{name}": value for name, value in environment.items()}})
            return run.returncode


if __name__ == "__main__":
    sys.exit(main())

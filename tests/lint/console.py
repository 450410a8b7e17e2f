#!/usr/bin/env python3
"""Holds the web console's sources to what docs/console.md promises, and its built files, which the programs carry, to its sources.

What needs no npm is always checked. The rest (the types, the unit tests, that dist/ is what the sources give) is SKIPPED
where there is no node or no npm packages: `make console-tools` gets them. `--update` builds dist/ anew.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CONSOLE = f"{ROOT}/services/gateway/console"
DIST = ["app.css", "app.js", "icon.svg", "index.html", "licences.txt"]

# What would make markup or code of text, or ask another server.
FORBIDDEN = [
    (r"innerHTML|outerHTML|insertAdjacentHTML|dangerouslySetInnerHTML|document\.write", "makes markup of text"),
    (r"\beval\(|new Function|setTimeout\(\s*[\"'`]|javascript:", "makes code of text"),
    (r"\bstyle=", "is a style in the page, which the policy refuses"),
    (r"https?://(?!www\.w3\.org/)", "names another server"),
    (r"\bEventSource\b|\bWebSocket\b|sendBeacon|document\.cookie", "is not how the console asks"),
]


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def of_sources():
    faults = []
    for folder, _, names in os.walk(f"{CONSOLE}/src"):
        for name in sorted(names):
            path = os.path.join(folder, name)
            for number, line in enumerate(read(path).split("\n"), 1):
                for pattern, why in FORBIDDEN:
                    if re.search(pattern, line):
                        faults.append(f"{os.path.relpath(path, ROOT)}:{number}: {re.search(pattern, line).group()} {why}")
    lock = read(f"{CONSOLE}/package-lock.json")
    if '"resolved"' in lock:
        faults.append("package-lock.json: names the registry it came from; npm install with the .npmrc beside it leaves that out")
    for name, version in re.findall(r'"([^"]+)": "([\^~*><][^"]*)"', read(f"{CONSOLE}/package.json")):
        faults.append(f"package.json: {name} {version} is no exact version")
    return faults


def tools():
    """Why npm's part cannot be checked; None when it can."""
    if shutil.which("node") is None:
        return "there is no node"
    for package in ("esbuild", "typescript", "preact", "@preact/signals"):
        if not os.path.isdir(f"{CONSOLE}/node_modules/{package}"):
            return f"the npm package {package} is not installed"
    return None


def run(*arguments):
    done = subprocess.run(arguments, cwd=CONSOLE, text=True, capture_output=True)
    return [] if done.returncode == 0 else [f"{' '.join(arguments)}:\n{done.stdout[-6000:]}{done.stderr[-6000:]}"]


def of_dist():
    with tempfile.TemporaryDirectory() as scratch:
        faults = run("node", "build.mjs", scratch)
        for name in DIST if not faults else []:
            with open(f"{scratch}/{name}", "rb") as made, open(f"{CONSOLE}/dist/{name}", "rb") as kept:
                if made.read() != kept.read():
                    faults.append(f"services/gateway/console/dist/{name}: is not what src/ gives; run tests/lint/console.py --update")
    return faults


def main():
    faults = of_sources()
    why = tools()
    if "--update" in sys.argv[1:]:
        if why:
            sys.exit(f"{why}: run `make console-tools`")
        faults += run("node", "build.mjs")
    if not why:
        faults += of_dist() + run("node", "node_modules/typescript/bin/tsc", "--noEmit") + run("node", "build.mjs", "--tests")
        faults += run("node", "--test", "build/tests/")
    print("\n".join(faults) or "the console's sources keep to their rules")
    if faults:
        return 1
    if why:
        print(f"SKIPPED: types, unit tests and whether dist/ is what src/ gives: {why}; `make console-tools` gets what is missing")
        return 77
    return 0


if __name__ == "__main__":
    sys.exit(main())

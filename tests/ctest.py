#!/usr/bin/env python3
"""ctest.py PRESET [CTEST OPTION...]: runs a tier's tests, then lists what was skipped and why, and counts the cases.

A CTest entry is a test program with many cases. ctest itself shows a skipped case only where its whole program was skipped.
"""
import json
import os
import re
import subprocess
import sys

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def build_folder(preset: str) -> str:
    with open(f"{SOURCE}/CMakePresets.json", encoding="utf-8") as file:
        presets = json.load(file)
    configure = next(p.get("configurePreset", "default") for p in presets["testPresets"] if p["name"] == preset)
    folder = next(p["binaryDir"] for p in presets["configurePresets"] if p["name"] == configure)
    return folder.replace("${sourceDir}", SOURCE)


class Entry:
    """The cases of one CTest entry, from what it printed."""

    def __init__(self, name: str, output: str, passed: bool):
        self.name = name
        # ctest's log calls an entry that was skipped whole "passed".
        alone = (0, 0, 1) if re.search(r"^SKIPPED: ", output, re.M) else (1, 0, 0)
        self.passed, self.failed, self.skipped = self._of_gtest(output) or self._of_unittest(output) or alone
        if not passed and self.failed == 0:
            self.passed, self.failed = max(self.passed - 1, 0), 1  # it crashed, or ran out of time
        self.reasons = self._reasons(output)

    @staticmethod
    def _of_gtest(output: str):
        if not re.search(r"^\[=+\] .* ran\.", output, re.M):
            return None
        number = lambda word: sum(map(int, re.findall(rf"^\[\s+{word}\s+\] (\d+) tests?[.,]", output, re.M)))
        return number("PASSED"), number("FAILED"), number("SKIPPED")

    @staticmethod
    def _of_unittest(output: str):
        ran = sum(map(int, re.findall(r"^Ran (\d+) tests? in", output, re.M)))
        if not ran:
            return None
        number = lambda words: sum(map(int, re.findall(rf"(?:{words})=(\d+)", output)))
        skipped, failed = number("skipped"), number("failures|errors")
        return max(ran - skipped - failed, 0), failed, skipped

    def _reasons(self, output: str):
        """Reason: the cases that were skipped for it."""
        reasons = {}
        for text, case in re.findall(r"Skipped\n(.+?)\n*\[  SKIPPED \] (\S+) \(", output, re.S):
            reasons.setdefault(text.strip().splitlines()[-1], []).append(case)
        for case, text in re.findall(r"^(\S+) \(.*\) \.\.\. skipped ['\"](.*)['\"]$", output, re.M):
            reasons.setdefault(text, []).append(case)
        for text in re.findall(r"^(?:SKIPPED|skipped)[:,] (.*)$", output, re.M):
            reasons.setdefault(text, [])
        return reasons


def entries(log: str):
    for block in re.split(r"^(?=\d+/\d+ Test: )", log, flags=re.M)[1:]:
        name = re.match(r"\d+/\d+ Test: (\S+)", block)[1]
        output = re.search(r"^Output:\n-{58}\n(.*?)<end of output>", block, re.M | re.S)
        yield Entry(name, output[1] if output else "", "\nTest Passed." in block)


def main() -> int:
    preset, options = sys.argv[1], sys.argv[2:]
    # Tests of processes wait more than they work.
    parallel = ["--parallel", str(2 * len(os.sched_getaffinity(0)))]
    code = subprocess.run(["ctest", "--preset", preset, *parallel, *options], cwd=SOURCE, check=False).returncode
    log = f"{build_folder(preset)}/Testing/Temporary/LastTest.log"
    with open(log, encoding="utf-8", errors="replace") as file:
        seen = list(entries(file.read()))
    lines = [(entry.name, reason, len(cases)) for entry in seen for reason, cases in entry.reasons.items()]
    if lines:
        print("\nSkipped:")
        width = max(len(name) for name, _, _ in lines)
        for name, reason, count in lines:
            print(f"  {name:{width}}  {reason}" + (f" ({count} cases)" if count > 1 else ""))
    print(f"\n{sum(e.passed for e in seen)} passed, {sum(e.failed for e in seen)} failed, {sum(e.skipped for e in seen)} skipped")
    return code


sys.exit(main())

#!/usr/bin/env python3
"""Fails where JSON is parsed by anything but ParseJson (common/base/json_access.h), which bounds what a stranger's text may take."""
import re
import subprocess
import sys

# What else may call the parser itself, and how it is bounded there.
OWNERS = {
    "common/base/json_access.h": "it is the one",
    "common/base/json_strict.h": "keeps to the same limits, and looks at each name on the way",
    "common/telemetry/prometheus_answer.cc": "reads event by event, and keeps no tree",
}
CALL = re.compile(r"\b(?:[Jj]son|ordered_json|OrderedJson)::(?:parse|sax_parse|accept)\(|\bjson_reader\b|\brapidjson::")


def main() -> int:
    files = subprocess.run(["git", "ls-files", "common/*.cc", "common/*.h", "services/*.cc", "services/*.h"], check=True, text=True,
                           capture_output=True).stdout.split()
    faults = []
    for path in files:
        if path in OWNERS:
            continue
        with open(path, encoding="utf-8") as source:
            for number, line in enumerate(source, 1):
                if CALL.search(line):
                    faults.append(f"{path}:{number}: parses JSON by itself; call ParseJson() of common/base/json_access.h")
    print("\n".join(faults) or f"{len(files)} files leave JSON to one parser")
    return 1 if faults else 0


sys.exit(main())

#!/usr/bin/env python3
"""layers_test.py BUILD_DIR LIBPROTO: tries to break the layers, and fails when an attempt succeeds.

Includes are tried with the very command that the build compiles that file with; edges between
targets are tried by configuring a copy of the tree; a call of a library that was not declared is
tried at link. Each kind has a control that must succeed, so that the attempts cannot fail for
another reason.
"""
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile

BUILD, LIBPROTO = os.path.abspath(sys.argv[1]), sys.argv[2]
SOURCE = os.getcwd()
failures = []


def report(name: str, wanted: bool, succeeded: bool, why: str, must_say: str = "") -> None:
    right = wanted == succeeded and (wanted or must_say in why)
    print(f"{'ok  ' if right else 'FAIL'}  {name}: {'builds' if succeeded else 'does not build'}")
    if not right:
        failures.append(name)
        print("      " + why.strip()[:2000].replace("\n", "\n      "))


def compile_with(path: str, extra: str, output: str = "") -> subprocess.CompletedProcess:
    """Compiles `path` with `extra` put before it, exactly as the build compiles it."""
    with open(f"{BUILD}/compile_commands.json", encoding="utf-8") as commands:
        entry = next(c for c in json.load(commands) if c["file"] == f"{SOURCE}/{path}")
    command = [word for word in shlex.split(entry["command"]) if word != "ccache"]
    for option in ("-o", "-MF", "-MT"):
        while option in command:
            at = command.index(option)
            del command[at:at + 2]
    command = [word for word in command if word not in ("-MD", "-c", entry["file"])]
    with tempfile.NamedTemporaryFile("w", suffix=".cc") as attempt:
        attempt.write(extra + f'\n#include "{entry["file"]}"\n')
        attempt.flush()
        what = ["-c", "-o", output] if output else ["-fsyntax-only"]
        return subprocess.run(command + what + [attempt.name], cwd=entry["directory"], text=True,
                              capture_output=True)


def include(name: str, path: str, header: str, wanted: bool = False) -> None:
    run = compile_with(path, f'#include "{header}"')
    report(name, wanted, run.returncode == 0, run.stderr, must_say=header)


def configure(name: str, path: str, old: str, new: str, wanted: bool = False) -> None:
    """Configures a copy of the tree in which `old` in the file `path` is `new`."""
    with tempfile.TemporaryDirectory() as tree:
        for entry in ("CMakeLists.txt", "proto", "common", "services", "tests", "bench"):
            if os.path.isdir(entry):
                shutil.copytree(entry, f"{tree}/{entry}", symlinks=True)
            else:
                shutil.copy(entry, tree)
        with open(f"{tree}/{path}", encoding="utf-8") as lists:
            text = lists.read()
        assert old in text, f"{path} has no {old!r} any more: mend this test"
        with open(f"{tree}/{path}", "w", encoding="utf-8") as lists:
            lists.write(text.replace(old, new, 1))
        run = subprocess.run(["cmake", "-G", "Ninja", "-S", tree, "-B", f"{tree}/build",
                              "--log-level=WARNING"], text=True, capture_output=True)
        report(name, wanted, run.returncode == 0, run.stderr, must_say="must not depend on")


def link(name: str, extra: str, libraries: list, wanted: bool = False) -> None:
    """Links a program of the planner and `extra` against what the planner declares."""
    with tempfile.TemporaryDirectory() as scratch:
        built = compile_with("services/planning/planner.cc", extra, f"{scratch}/attempt.o")
        assert built.returncode == 0, built.stderr
        archives = [LIBPROTO]
        run = subprocess.run(["c++", "-shared", "-Wl,-z,defs", "-o", f"{scratch}/attempt.so",
                              f"{scratch}/attempt.o", "-Wl,--unresolved-symbols=report-all",
                              *archives, *libraries], text=True, capture_output=True)
        report(name, wanted, "CreateChannel" not in run.stderr, run.stderr, must_say="CreateChannel")


PLANNER = "services/planning/planner.cc"
include("control: a service includes its own header", PLANNER, "services/planning/planner.h", True)
include("a service includes another", PLANNER, "services/reflection/reflector.h")
include("domain code includes a stub", PLANNER, "galen/planning/v1/planning.grpc.pb.h")
include("common includes a service", "common/knowledge/rules.cc", "services/planning/planner.h")
include("a lower layer includes a higher", "common/base/text.cc", "common/reasoner/reasoner.h")
include("the command line includes the evaluation", "services/cli/diagnose.cc", "bench/eval/runner/case_runner.h")
include("production includes a test fake", PLANNER, "tests/testing/status_matchers.h")

PLANNING = "services/planning/CMakeLists.txt"
configure("control: the tree as it is", PLANNING, "DEPS", "DEPS", True)
configure("a service links another", PLANNING, "DEPS", "DEPS galen::services::reflection")
configure("domain code links gRPC", PLANNING, "DEPS", "DEPS gRPC::grpc++")
configure("common links a service", "common/knowledge/CMakeLists.txt", "DEPS",
          "DEPS galen::services::planning")
configure("a lower layer of a group links a higher", "common/log_analysis/scan/CMakeLists.txt", "DEPS",
          "DEPS galen::common::log_analysis::triage")
configure("production links a test library", PLANNING, "DEPS", "DEPS galen::tests::testing")

CALL = ("#include <grpcpp/grpcpp.h>\n"
        'void Attempt() { grpc::CreateChannel("x", grpc::InsecureChannelCredentials()); }\n')
link("domain code calls gRPC without a word", CALL, [])
link("control: the same with gRPC declared", CALL, ["-lgrpc++", "-lgrpc", "-lgpr"], True)

print(f"{len(failures)} attempts went wrong" if failures else "every attempt was refused")
sys.exit(1 if failures else 0)

#!/usr/bin/env python3
"""Writes the seeds of one fuzzer: seeds.py PROGRAM TARGET MAX_LEN DIRECTORY

Seeds are our own small texts below seeds/ and pieces of the captured outputs in ../shared/fixtures,
as seeds.txt assigns them; those are read in place, and without them the fuzzer starts from our own.
Whole checks (checks_*) are run on the nodes of bundles, and what they are answered there is their
seed. Every parser without a seed begins at an empty text. A long file is cut at line ends.
"""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
REPOSITORY = os.path.abspath(os.path.join(HERE, "../.."))
SHARED = os.path.abspath(os.path.join(REPOSITORY, "../shared"))
FIXTURES = os.path.join(SHARED, "fixtures")
EXAMPLES = os.path.join(REPOSITORY, "docs/examples")
MOST_PIECES = 12  # of one file
MOST_BUNDLES = 8  # of those that are shared; all examples are taken


def assignments(target):
    """(parser, pattern) pairs of seeds.txt."""
    with open(os.path.join(HERE, "seeds.txt"), encoding="utf-8") as table:
        for line in table:
            words = line.split()
            if len(words) == 3 and not line.startswith("#") and words[0] == target:
                yield words[1], words[2]


def shorten_xml(text):
    """The first GPU of an nvidia-smi report, without what indents it: what fits into a seed."""
    text = re.sub(rb"</gpu>.*(?=</nvidia_smi_log>)", b"</gpu>", text, count=1, flags=re.S)
    text = re.sub(rb"<(supported_clocks|encoder_stats|fbc_stats|accounting_mode\w*|ibmnpu|display_\w+)\b"
                  rb".*?</\1>", b"", text, flags=re.S)
    return re.sub(rb"\n\s*", b"\n", text)


def pieces(text, size):
    if len(text) <= size:
        yield text
        return
    step = max(size, len(text) // MOST_PIECES)
    for start in range(0, len(text), step):
        begin = text.rfind(b"\n", 0, start) + 1
        piece = text[begin:begin + size]
        end = piece.rfind(b"\n")
        yield piece[:end + 1] if end > 0 else piece


def captured(command):
    """Files with what a command printed in the examples; words of it are parted by +."""
    words = command.split("+")
    for path in sorted(glob.glob(os.path.join(EXAMPLES, "*/nodes/*/**/commands.yaml"), recursive=True)):
        with open(path, encoding="utf-8") as file:
            entries = re.findall(r"^- \{argv: (\[.*?\]),.* stdout: ([^,}\s]+)", file.read(), flags=re.M)
        for argv, output in entries:
            if json.loads(argv)[:len(words)] == words:
                yield os.path.join(os.path.dirname(path), output)


def files_of(pattern):
    """The files that a pattern of seeds.txt names; None where what it names is not at hand."""
    if pattern.startswith("run:"):
        paths = captured(pattern[len("run:"):])
    elif pattern.startswith("repo:"):
        paths = glob.glob(os.path.join(REPOSITORY, pattern[len("repo:"):]))
    elif not os.path.isdir(FIXTURES):
        return None
    else:
        paths = glob.glob(os.path.join(FIXTURES, pattern))
    return sorted(path for path in paths if os.path.isfile(path))


def recorded(program, size):
    """(parser, text) pairs: what the checks of `program` are answered on nodes of bundles."""
    bundles = sorted(os.path.dirname(path) for path in glob.glob(os.path.join(EXAMPLES, "*/bundle.yaml")))
    shared = sorted(glob.glob(os.path.join(SHARED, "eval/dev/bundles/*.tar.gz")))
    bundles += shared[::-(-len(shared) // MOST_BUNDLES) or 1]
    with tempfile.TemporaryDirectory() as directory:
        asked = " ".join([str(size), directory, *bundles])
        subprocess.run([program], env={**os.environ, "GALEN_FUZZ_RECORD": asked}, check=True)
        for name in sorted(os.listdir(directory)):
            with open(os.path.join(directory, name), "rb") as file:
                yield name.rsplit("-", 1)[0], file.read()


def main():
    program, target, max_len, directory = sys.argv[1:]
    size = int(max_len) - 1
    listed = subprocess.run([program], env={**os.environ, "GALEN_FUZZ_LIST": "1"}, check=True,
                            capture_output=True, text=True).stdout.split()
    seeds = {name: [b""] for name in listed}

    for path in sorted(glob.glob(os.path.join(HERE, "seeds", target, "*", "*"))):
        parser = os.path.basename(os.path.dirname(path))
        if parser not in seeds:
            sys.exit(f"seeds/{target}/{parser}: {target} has no such parser")
        with open(path, "rb") as file:
            seeds[parser].append(file.read()[:size])

    for parser, pattern in assignments(target):
        if parser not in seeds:
            sys.exit(f"seeds.txt: {target} has no parser {parser}")
        paths = files_of(pattern)
        if paths == []:
            sys.exit(f"seeds.txt: {target} {parser} {pattern} matches no file")
        for path in paths or []:
            with open(path, "rb") as file:
                text = file.read()
            if b"<nvidia_smi_log" in text[:512]:
                text = shorten_xml(text)
            seeds[parser] += pieces(text, size)

    if target.startswith("checks_"):
        for parser, text in recorded(program, size):
            seeds[parser].append(text)

    bare = [parser for parser in listed if seeds[parser] == [b""]]
    if bare:
        print(f"{target}: no seed for {', '.join(bare)}", file=sys.stderr)

    count = 0
    for index, parser in enumerate(listed):
        for seed in seeds[parser]:
            with open(os.path.join(directory, f"{parser}-{count:05d}"), "wb") as out:
                out.write(bytes([index]) + seed)
            count += 1


main()

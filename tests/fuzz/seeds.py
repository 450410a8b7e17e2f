#!/usr/bin/env python3
"""Writes the seeds of one fuzzer: seeds.py PROGRAM TARGET MAX_LEN DIRECTORY

Seeds are our own small texts below seeds/ and pieces of the captured outputs in ../shared/fixtures,
as seeds.txt assigns them; those are read in place, and without them the fuzzer starts from our own.
Every parser without a seed begins at an empty text. A long file is cut at line ends.
"""
import glob
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
FIXTURES = os.path.join(HERE, "../../../shared/fixtures")
MOST_PIECES = 12  # of one file


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
        root = FIXTURES
        if pattern.startswith("repo:"):
            root, pattern = os.path.join(HERE, "../.."), pattern[len("repo:"):]
        for path in sorted(glob.glob(os.path.join(root, pattern))):
            if os.path.isfile(path):
                with open(path, "rb") as file:
                    text = file.read()
                if path.endswith(".xml"):
                    text = shorten_xml(text)
                seeds[parser] += pieces(text, size)

    count = 0
    for index, parser in enumerate(listed):
        for seed in seeds[parser]:
            with open(os.path.join(directory, f"{parser}-{count:05d}"), "wb") as out:
                out.write(bytes([index]) + seed)
            count += 1


main()

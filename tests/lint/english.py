#!/usr/bin/env python3
"""Fails when a text that people read is not plain English by the patterns of english.txt.

It reads documents (README, docs, notes of the chart), comments of C++ and protos, and strings of common and services, which are help and
errors. `--hits FOLDER` lists only the hits below a folder.
"""
import argparse
import collections
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PATTERNS = os.path.join(HERE, "english.txt")
# Pages that a test writes from code and data, and measured figures with their dates.
NOT_WRITTEN_BY_HAND = ("docs/checks.md", "docs/measured/")
DOCUMENTS = re.compile(r"^(README|CONTRIBUTING)\.md$|^docs/.*\.md$|^bench/(.*/)?README\.md$|^(helm|k8s|images)/.*README\.md$|^helm/.*/NOTES\.txt$|^helm/galen/values\.yaml$")
CODE = re.compile(r"^(common|services|bench|tests|proto)/.*\.(cc|h|proto)$")
# Strings of tests are data: logs, answers of servers, words of people.
WITH_STRINGS = re.compile(r"^(common|services)/.*\.(cc|h)$")

Rule = collections.namedtuple("Rule", "pattern why instead relapse")
Hit = collections.namedtuple("Hit", "path line why instead sentence")


class Text:
    """A paragraph and the line that each of its characters is from."""

    def __init__(self):
        self.text = ""
        self.starts = []  # (offset, line)

    def add(self, line, words):
        if self.text:
            self.text += " "
        self.starts.append((len(self.text), line))
        self.text += words

    def line(self, offset):
        return max((start for start in self.starts if start[0] <= offset), default=self.starts[0])[1]


def rules(path=PATTERNS):
    found = []
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if not line.strip() or line.startswith("#"):
                continue
            parts = [part.strip() for part in line.split(" :: ")]
            if len(parts) != 4:
                sys.exit(f"{path}:{number}: wants pattern :: why :: instead :: relapse")
            found.append(Rule(re.compile(parts[0]), *parts[1:]))
    return found


def paragraphs_of_markdown(content):
    """Paragraphs, list items and cells of tables; headings, code and generated parts are left out."""
    content = re.sub(r"^<!-- made .*?^<!-- end.*?-->", lambda part: "\n" * part[0].count("\n"), content, flags=re.M | re.S)
    texts, current, fenced = [], None, False

    def begin():
        texts.append(Text())
        return texts[-1]

    for number, line in enumerate(content.split("\n"), 1):
        words = line.strip()
        if words.startswith("```"):
            fenced, current = not fenced, None
        elif fenced:
            # What a comment in an example says is read as well.
            if comment := re.search(r"(?:^|\s)#\s+(.*)", line):
                begin().add(number, comment[1])
        elif not words or words.startswith(("#", "![", "<")) or line.startswith("    "):
            current = None
        elif words.startswith("|"):
            current = None
            for cell in re.split(r"(?<!\\)\|", words.strip("|")):
                begin().add(number, cell.strip())
        else:
            if item := re.match(r"(?:[-*]|\d+\.)\s+(.*)", words):
                current, words = None, item[1]
            current = current or begin()
            current.add(number, words)
    return texts


def paragraphs_of_lines(content, comments_only):
    """Notes of the chart, or the comments of a YAML file."""
    texts, current = [], None
    for number, line in enumerate(content.split("\n"), 1):
        comment = re.match(r"\s*#\s*(--)?\s*(.*)", line)
        words = (comment[2] if comment else "") if comments_only else line.strip()
        if not words or (comments_only and comment[1]) or words.startswith("{{"):
            current = None
        if words and not words.startswith("{{"):
            if current is None:
                current = Text()
                texts.append(current)
            current.add(number, words)
    return texts


TOKEN = re.compile(r'(?P<raw>R"(?P<mark>[^()\\\s]{0,16})\((?P<body>.*?)\)(?P=mark)")'
                   r'|(?P<string>"(?:[^"\\\n]|\\.)*")'
                   r"|(?P<char>(?<![0-9a-fA-F])'(?:[^'\\\n]|\\.)+')"
                   r"|(?P<line>//[^\n]*)"
                   r"|(?P<block>/\*.*?\*/)", re.S)
ESCAPE = re.compile(r"\\(.)")


def paragraphs_of_code(content, strings):
    texts, comment, above, literal, last_end = [], None, None, None, -1
    position, line = 0, 1
    for token in TOKEN.finditer(content):
        line += content.count("\n", position, token.start())
        position = token.start()
        between = content[last_end:token.start()] if last_end >= 0 else "x"
        if token["line"] is not None:
            words = token["line"].lstrip("/").strip()
            begin = content.rfind("\n", 0, token.start()) + 1
            alone = not content[begin:token.start()].strip()
            column = token.start() - begin
            if not words or re.match(r"NOLINT|clang-format|[-=*]{3,}", words):
                comment = None
            else:
                if comment is None or not alone or above != (line - 1, column) or re.match(r"[-*] |\d+\. ", words):
                    comment = Text()
                    texts.append(comment)
                comment.add(line, re.sub(r"^([-*]|\d+\.) ", "", words))
            above, literal = (line, column), None
        elif token["block"] is not None:
            text = Text()
            for offset, words in enumerate(token["block"][2:-2].split("\n")):
                if words.strip(" *"):
                    text.add(line + offset, words.strip(" *"))
            if text.text:
                texts.append(text)
            literal = None
        elif token["char"] is not None:
            literal = None
        elif strings:
            words = token["body"] if token["raw"] is not None else ESCAPE.sub(lambda escape: {"n": "\n", "t": " "}.get(escape[1], escape[1]), token["string"][1:-1])
            # Adjacent literals are one text.
            if literal is not None and not between.strip():
                literal.text += words
                if literal.text.count(" ") and literal not in texts:
                    texts.append(literal)
            else:
                literal = Text()
                literal.add(line, words)
                if " " in words:
                    texts.append(literal)
        last_end = token.end()
    return texts


def sentences(text):
    """The sentences of a text and their offsets; code is "x"."""
    plain = re.sub(r"`[^`]*`", lambda code: "x".ljust(len(code[0]), "\0"), text)
    begin = 0
    for end in re.finditer(r"[.!?][\"')*]*\s+(?=[\"'(*\[]*[A-Z])|\n\s*", plain):
        yield begin, plain[begin:end.end()]
        begin = end.end()
    yield begin, plain[begin:]


def hits_in(path, texts, patterns):
    found = []
    for text in texts:
        for offset, sentence in sentences(text.text):
            plain = sentence.replace("\0", "").strip().lstrip("\"'(*[")
            question = plain.rstrip("\"')*] ").endswith("?")
            for rule in patterns:
                if question and rule.pattern.pattern.startswith("^"):
                    continue
                if rule.pattern.search(plain):
                    found.append(Hit(path, text.line(offset), rule.why, rule.instead, plain))
    return found


def texts_of(path, content):
    if path.endswith(".md"):
        return paragraphs_of_markdown(content)
    if path.endswith(".txt"):
        return paragraphs_of_lines(content, comments_only=False)
    if path.endswith(".yaml"):
        return paragraphs_of_lines(content, comments_only=True)
    return paragraphs_of_code(content, WITH_STRINGS.match(path) is not None)


def hits_of(root, paths, patterns):
    found = []
    for path in paths:
        with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
            found += hits_in(path, texts_of(path, file.read()), patterns)
    return found


def documents(paths):
    return [path for path in paths if DOCUMENTS.match(path) and not path.startswith(NOT_WRITTEN_BY_HAND)]


def code(paths):
    return [path for path in paths if CODE.match(path)]


def show(hit):
    return f"{hit.path}:{hit.line}: {hit.why} ({hit.instead}): {hit.sentence[:160]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--hits", metavar="FOLDER", default="", help="list only the hits below a folder")
    arguments = parser.parse_args()
    paths = subprocess.run(["git", "ls-files", arguments.hits or "."], cwd=ROOT, check=True, text=True, capture_output=True).stdout.splitlines()
    read = [path for path in documents(paths) + code(paths) if os.path.isfile(os.path.join(ROOT, path))]
    found = hits_of(ROOT, read, rules())
    print("\n".join(map(show, found)) or f"{len(read)} files are plain English")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

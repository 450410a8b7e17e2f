#!/usr/bin/env python3
"""Fails when a text that people read is not plain English by the patterns of english.txt.

Documents (README, docs, notes of the chart) may have no hit. Code (comments of C++ and protos; strings of common and services, which are
help and errors) may have as many as english_allowance.txt says for its folder. `--update` lowers the allowance to what is there and never
raises it; it writes the file where there is none. `--hits FOLDER` lists a folder's hits.
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
ALLOWANCE = os.path.join(HERE, "english_allowance.txt")
# Pages that a test writes from code and data, and measured figures with their dates.
NOT_WRITTEN_BY_HAND = ("docs/checks.md", "docs/measured/")
DOCUMENTS = re.compile(r"^(README|CONTRIBUTING)\.md$|^docs/.*\.md$|^bench/(.*/)?README\.md$|^(helm|k8s|images)/.*README\.md$|^helm/.*/NOTES\.txt$|^helm/galen/values\.yaml$")
CODE = re.compile(r"^(common|services|bench|tests|proto)/.*\.(cc|h|proto)$")
# Strings of tests are data: logs, answers of servers, words of people.
WITH_STRINGS = re.compile(r"^(common|services)/.*\.(cc|h)$")
SHOWN = 10

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


def folder(path):
    return "/".join(path.split("/")[:2])


def read_allowance(content):
    allowed = {}
    for line in content.splitlines():
        if line.strip() and not line.startswith("#"):
            name, count = line.split()
            allowed[name] = int(count)
    return allowed


def write_allowance(path, allowed):
    with open(path, "w", encoding="utf-8") as file:
        file.write("# Hits of english.py in the comments and strings of each folder. They may only become fewer: english.py --update.\n")
        for name, count in sorted(allowed.items()):
            if count:
                file.write(f"{name} {count}\n")


def grown(root, allowed):
    """Says so when the allowance is larger than the one committed before it."""
    name = os.path.relpath(ALLOWANCE, ROOT)
    for commit in ("HEAD", "HEAD~1"):
        run = subprocess.run(["git", "show", f"{commit}:{name}"], cwd=root, text=True, capture_output=True, check=False)
        if run.returncode != 0:
            return []
        before = read_allowance(run.stdout)
        if before == allowed:
            continue  # committed already: its parent is the one before
        more = sum(allowed.values()) - sum(before.values())
        return [f"{name}: allows {more} hits more than the version before; mend the texts instead"] if more > 0 else []
    return []


def show(hit):
    return f"{hit.path}:{hit.line}: {hit.why} ({hit.instead}): {hit.sentence[:160]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--update", action="store_true", help="lower the allowance to the present hits")
    parser.add_argument("--hits", metavar="FOLDER", help="list the hits below a folder")
    arguments = parser.parse_args()
    paths = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, text=True, capture_output=True).stdout.splitlines()
    paths = [path for path in paths if os.path.isfile(os.path.join(ROOT, path))]
    patterns = rules()
    if arguments.hits:
        wanted = [path for path in documents(paths) + code(paths) if path.startswith(arguments.hits)]
        found = hits_of(ROOT, wanted, patterns)
        print("\n".join(map(show, found)) or f"no hits below {arguments.hits}")
        return 1 if found else 0

    in_documents = hits_of(ROOT, documents(paths), patterns)
    by_folder = collections.defaultdict(list)
    for hit in hits_of(ROOT, code(paths), patterns):
        by_folder[folder(hit.path)].append(hit)
    present = {name: len(found) for name, found in by_folder.items()}
    allowed = None
    if os.path.exists(ALLOWANCE):
        with open(ALLOWANCE, encoding="utf-8") as file:
            allowed = read_allowance(file.read())
    if arguments.update:
        write_allowance(ALLOWANCE, present if allowed is None else {name: min(count, present.get(name, 0)) for name, count in allowed.items()})
        return 0

    allowed = allowed or {}
    faults = [show(hit) for hit in in_documents]
    for name, found in sorted(by_folder.items()):
        most = allowed.get(name, 0)
        if len(found) > most:
            faults.append(f"{name}: {len(found)} hits, {most} are allowed; some of these are new:")
            faults += [f"  {show(hit)}" for hit in found[:SHOWN]] + [f"  all: tests/lint/english.py --hits {name}"]
    faults += grown(ROOT, allowed)
    lower = sum(allowed.values()) - sum(min(count, present.get(name, 0)) for name, count in allowed.items())
    if lower:
        print(f"{lower} hits fewer than allowed: run tests/lint/english.py --update")
    print("\n".join(faults) or f"{len(documents(paths))} documents are plain English; code has {sum(present.values())} hits left")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

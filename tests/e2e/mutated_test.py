"""An answer rests on what the evidence says: names, dates, order, a second source and a healthy line do not change it."""
import glob
import os
import shutil
import sys
import tarfile
import tempfile
import unittest

import galen
import mutations

SHARED = os.path.join(os.path.dirname(galen.ROOT), "shared")
CORPORA = ["dev", "dev2"]
MUTATED = 200
MAY_CHANGE = 4  # of 200: 2 %


def unpack(corpus, root):
    """The bundles of a corpus as directories by id."""
    bundles = {}
    for archive in sorted(glob.glob(f"{SHARED}/eval/{corpus}/bundles/*.tar.*")):
        name = os.path.basename(archive).split(".tar.")[0]
        with tarfile.open(archive) as tar:
            tar.extractall(f"{root}/{corpus}", filter="data")
        bundles[name] = f"{root}/{corpus}/{name}"
    return bundles


def answers(cases, out):
    """The labels that are named of each case: confirmed, else presumed."""
    run = galen.evaluate("--cases", cases, "--out", out, "--json", timeout=900)
    if run.returncode != 0:
        raise AssertionError(run.stderr)
    named = {}
    for path in glob.glob(f"{out}/plain-tiered/*.json"):
        with open(path, encoding="utf-8") as file:
            case = galen.json.load(file)
        named[case["id"]] = [cause["label"] for cause in [case.get("primary"), *case.get("independent", [])] if cause]
    return named


class Mutated(unittest.TestCase):
    def test_the_answer_stays_the_same(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        root = scratch.name
        bundles = {name: path for corpus in CORPORA for name, path in unpack(corpus, f"{root}/plain").items()}
        harmless = [mutations.read(path).splitlines(keepends=True) for path in sorted(glob.glob(f"{SHARED}/logs/*.txt"))]
        names = sorted(bundles)
        with open(f"{root}/plain/answers.jsonl", "w", encoding="utf-8") as file:
            for name in names:
                file.write(galen.json.dumps({"id": name, "labels": []}) + "\n")
        os.makedirs(f"{root}/plain/bundles")
        for name, path in bundles.items():
            shutil.move(path, f"{root}/plain/bundles/{name}")
        made = {}
        os.makedirs(f"{root}/mutated")
        with open(f"{root}/mutated/answers.jsonl", "w", encoding="utf-8") as file:
            for seed in range(MUTATED):
                name = names[seed % len(names)]
                bundle = mutations.Bundle(f"{root}/plain/bundles/{name}")
                changed = f"{name}-{seed}"
                made[changed] = (name, mutations.mutate(bundle, seed, harmless))
                bundle.save(f"{root}/mutated/bundles/{changed}")
                file.write(galen.json.dumps({"id": changed, "labels": []}) + "\n")
        before = answers(f"{root}/plain", f"{root}/out-plain")
        after = answers(f"{root}/mutated", f"{root}/out-mutated")
        self.assertEqual(len(after), MUTATED)
        different = [f"{name} {operators}: {before[origin]} became {after[name]}"
                     for name, (origin, operators) in sorted(made.items()) if before[origin] != after[name]]
        print(f"{MUTATED - len(different)} of {MUTATED} answers stayed", *different, sep="\n  ")
        self.assertLessEqual(len(different), MAY_CHANGE, "\n".join(different))


if __name__ == "__main__":
    if not os.path.isdir(f"{SHARED}/eval/dev"):
        print("SKIPPED: ../shared/eval is not here: the test changes its incidents")
        sys.exit(77)
    unittest.main(verbosity=2)

#!/usr/bin/env python3
"""The linter of english.txt finds relapses wherever people read, each in its line, and leaves alone what is plain."""
import unittest

import english

PATTERNS = english.rules()


def found(path, content):
    """(line, reason) of each hit in a file of that name and content."""
    return [(hit.line, hit.why) for hit in english.hits_in(path, english.texts_of(path, content), PATTERNS)]


class Patterns(unittest.TestCase):
    def test_each_finds_its_relapse(self):
        self.assertGreater(len(PATTERNS), 20)
        for rule in PATTERNS:
            with self.subTest(rule.pattern.pattern):
                self.assertIn(rule.relapse, [hit.sentence for hit in english.hits_in("x", english.paragraphs_of_markdown(rule.relapse), [rule])])


class Documents(unittest.TestCase):
    def test_paragraphs_lists_cells_and_comments_of_examples_are_read(self):
        page = ("# What this is\n\nPlain text.\nIt goes on\nanew over lines.\n\n- Who asks waits.\n\n"
                "| key | value |\n|---|---|\n| `a` | Of two, one. |\n\n```\nrun  # What is left is kept.\n```\n")
        self.assertEqual([line for line, _ in found("docs/a.md", page)], [4, 7, 11, 14])

    def test_code_and_generated_parts_are_not(self):
        page = "Write `is none` here.\n\n```\nWhat is shown as code\n```\n\n<!-- made from a table -->\n\nWhat a counter grew by.\n\n<!-- end -->\n"
        self.assertEqual(found("docs/a.md", page), [])

    def test_plain_sentences_and_questions_are_left_alone(self):
        page = ("What is a diagnosis? There is no shell. It is no longer used. None is left, and there are none.\n\n"
                "Of course it takes up to 3 s. The error stands for itself. Where to look is in the table.\n")
        self.assertEqual(found("docs/a.md", page), [])

    def test_notes_and_comments_of_values_are_read(self):
        self.assertEqual([line for line, _ in found("helm/x/templates/NOTES.txt", "Done.\n{{ if .a }}\nWhat is there works.\n{{ end }}\n")], [3])
        self.assertEqual([line for line, _ in found("helm/galen/values.yaml", "a: 1\n# -- Who reads it.\nb: \"What is it.\"\n")], [2])


class Code(unittest.TestCase):
    def test_comments_over_lines_are_one_text(self):
        source = "int a;\n// It returns the file,\n// which is\n// none.\nint b;  // What is left.\n/* Of a block\n * comment. */\n"
        self.assertEqual([line for line, _ in found("common/a/a.h", source)], [2, 5, 6])

    def test_help_and_errors_are_read_over_adjacent_literals(self):
        source = ('ABSL_FLAG(int, a, 1,\n          "What is kept,"\n          " in bytes");\nreturn Invalid("record x is "\n               "none");\n'
                  'auto text = R"(one\nWho asks waits)";\n')
        self.assertEqual([line for line, _ in found("services/a/a.cc", source)], [2, 4, 6])

    def test_what_is_no_text_is_not_read(self):
        source = 'auto url = "http://a/What is";\nchar quote = \'"\';  // plain\nlong n = 1\'000\'000;  // 1 million\nauto b = "What";\n#include "What/is.h"\n'
        self.assertEqual(found("services/a/a.cc", source), [])
        self.assertEqual(found("tests/unit/a_test.cc", 'Says("What is told with file and line");\n'), [])


if __name__ == "__main__":
    unittest.main()

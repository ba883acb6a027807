#!/usr/bin/env python3
"""A statement about `who` is found, a question and a quotation are not; and a gate only falls."""
import json
import os
import tempfile
import unittest

import english
import gates


class English(unittest.TestCase):
    def lines(self, text, path="src/shunt/rail/a.hpp"):
        return [line for line, _ in english.findings(path, text)]

    def test_a_statement_is_found_in_comments_messages_and_names(self):
        text = "// Who waits is woken.\nthrow error(\"nobody listens\");\nconst int who = 1;\n// whoever\n// somebody\n"
        self.assertEqual(self.lines(text), [1, 2, 3, 4, 5])

    def test_parts_of_words_are_left_alone(self):
        self.assertEqual(self.lines("// whole, whose, whom, who_, nobody_else, who-knows\nint who_;\n"), [])

    def test_a_question_may_ask(self):
        self.assertEqual(self.lines("// Who wakes the fiber?\n// And who\n// wakes the worker?\n"), [])
        self.assertEqual(self.lines("// Who wakes it is known. Is it?\n"), [1])

    def test_a_quotation_is_left_alone_but_not_a_message(self):
        self.assertEqual(self.lines("// \"nobody expects it\", as they say\n"), [])
        self.assertEqual(self.lines("He wrote “nobody expects it”, and \"who\".\n", "docs/manual.md"), [])
        self.assertEqual(self.lines("say(\"nobody expects it\");\n"), [1])


class Gates(unittest.TestCase):
    def setUp(self):
        handle, self.file = tempfile.mkstemp()
        os.close(handle)
        with open(self.file, "w", encoding="utf-8") as text:
            json.dump({"english": {"rail": 3, "sched": 2}}, text)

    def tearDown(self):
        os.remove(self.file)

    def test_more_than_the_number_fails_and_a_module_without_a_number_has_none(self):
        self.assertEqual(gates.check("english", {"rail": 3, "sched": 2}, file=self.file)[1], [])
        self.assertEqual(len(gates.check("english", {"rail": 4, "sched": 2, "io": 1}, file=self.file)[1]), 2)

    def test_lowering_takes_the_smaller_number_and_never_a_larger_one(self):
        gates.check("english", {"rail": 1, "sched": 9, "io": 5}, lower=True, file=self.file)
        self.assertEqual(gates.load("english", self.file), {"rail": 1, "sched": 2})


if __name__ == "__main__":
    unittest.main()

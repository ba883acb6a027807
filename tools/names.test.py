#!/usr/bin/env python3
"""A file or function that a page names and that the code has not is found."""
import unittest

import names
import planted

CODE = {"src/shunt/rail/detail/a.hpp":
        "// only_said()\nclass pool {\n  void take();\n};\ntemplate <class T>\nint give(T);\n"}


class Names(unittest.TestCase):
    def found(self, page, where="src/shunt/rail/DESIGN.md"):
        with planted.tree({**CODE, where: page}) as root:
            return names.check(root)[1]

    def test_what_is_there_is_let_through(self):
        self.assertEqual(self.found("`detail/a.hpp`, `a.hpp`, `rail/detail/a.hpp: take`\n"), [])
        self.assertEqual(self.found("`a.hpp: pool::take(), give`, `pool`\n"), [])

    def test_a_missing_file_is_found(self):
        self.assertEqual(self.found("one\n`detail/b.hpp`\n"),
                         ["src/shunt/rail/DESIGN.md:2: there is no file detail/b.hpp"])

    def test_a_missing_function_is_found(self):
        self.assertEqual(len(self.found("`a.hpp: put`\n", "docs/architecture.md")), 1)
        self.assertEqual(len(self.found("`a.hpp: only_said`\n")), 1)

    def test_decisions_are_history(self):
        self.assertEqual(self.found("`gone.hpp`\n", "docs/decisions/0001-a.md"), [])


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
"""An error without a number, a number without a section, a section without code and a message of other words are
found."""
import unittest

import errors
import planted

CODE = """
void f(int n) {
  if (n < 0) throw usage_error(error_number(7), "channel: a capacity of " + std::to_string(n) + "; at least "
                                                "one is possible");
  throw sched::deadlock(error_number(8), what);
}
"""
PAGE = """# Errors

### SHUNT-0007

`channel: a capacity of …; at least one is possible`

Give one.

### SHUNT-0008

`CALL: …`

Wait.
"""
PATH = "src/shunt/sync/channel.cpp"


class Errors(unittest.TestCase):
    def found(self, code=CODE, page=PAGE, unnumbered=frozenset()):
        with planted.tree({PATH: code, errors.PAGE: page}) as root:
            return errors.check(root, unnumbered)[1]

    def test_a_page_that_says_what_the_code_says(self):
        self.assertEqual(self.found(), [])

    def test_an_error_without_a_number(self):
        code = CODE + "void g() { throw error(message_); }\n"
        self.assertIn(f"{PATH}:7: an error is thrown without", self.found(code)[0])
        self.assertEqual(self.found(code, unnumbered=frozenset({(PATH, "message_")})), [])

    def test_a_number_without_a_section_and_a_section_without_code(self):
        self.assertIn("SHUNT-0009 has no section", self.found(CODE + "void g() { fail(error_number(9)); }\n")[0])
        self.assertIn("no code names SHUNT-0010", self.found(page=PAGE + "\n### SHUNT-0010\n\n`x`\n\nText.\n")[0])

    def test_a_message_of_other_words(self):
        found = self.found(page=PAGE.replace("at least one", "at least two"))
        self.assertEqual(len(found), 1)
        self.assertIn("SHUNT-0007 says `at least two is possible`", found[0])

    def test_a_section_without_a_message_or_out_of_order(self):
        without = PAGE.replace("`CALL: …`", "Call")
        self.assertTrue(any("SHUNT-0008 does not begin" in f for f in self.found(page=without)))
        swapped = PAGE.replace("0007", "0000").replace("0008", "0007").replace("0000", "0008")
        self.assertTrue(any("stands behind" in f for f in self.found(page=swapped)))

    def test_comments_and_tests_do_not_count(self):
        self.assertEqual(self.found(CODE + "// throw error(x);\n"), [])
        with planted.tree({PATH: CODE, errors.PAGE: PAGE, "src/shunt/sync/a.test.cpp": "throw error(x);"}) as root:
            self.assertEqual(errors.check(root, frozenset())[1], [])


if __name__ == "__main__":
    unittest.main()

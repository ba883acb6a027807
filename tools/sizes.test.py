#!/usr/bin/env python3
"""What is too large is found, by file and line; what is listed is let through; a needless entry is found, too."""
import unittest

import planted
import sizes

LONG = "void f() {\n" + "  g();\n" * 60 + "}\n"
WIDE = "class c {\n" + "".join(f"  void f{i}();\n" for i in range(36)) + "};\n"


class Sizes(unittest.TestCase):
    def found(self, files, exceptions=None):
        with planted.tree(files) as root:
            return sizes.check(root, exceptions or {})[1]

    def test_what_fits_is_let_through(self):
        self.assertEqual(self.found({"src/shunt/a/a.hpp": "\n" * 500,
                                     "src/shunt/a/a.cpp": LONG.replace("  g();\n", "", 2),
                                     "src/shunt/a/b.hpp": WIDE.replace("  void f0();\n", "")}), [])

    def test_a_long_file_is_found_but_not_a_test(self):
        found = self.found({"src/shunt/a/a.hpp": "\n" * 501, "src/shunt/a/a.test.cpp": "\n" * 900,
                            "apps/a.cpp": "\n" * 900})
        self.assertEqual(len(found), 1)
        self.assertIn("src/shunt/a/a.hpp:1: file has 501 lines", found[0])

    def test_a_long_function_is_found_with_its_line(self):
        found = self.found({"src/shunt/a/a.cpp": "\n" + LONG})
        self.assertEqual(len(found), 1)
        self.assertIn("src/shunt/a/a.cpp:2: function f has 62 lines", found[0])

    def test_a_class_of_many_functions_is_found(self):
        found = self.found({"src/shunt/a/a.hpp": WIDE})
        self.assertEqual(len(found), 1)
        self.assertIn("class c has 36 member functions", found[0])

    def test_an_exception_lets_through_and_must_be_needed(self):
        self.assertEqual(self.found({"src/shunt/a/a.cpp": LONG}, {("src/shunt/a/a.cpp", "f"): "why"}), [])
        found = self.found({"src/shunt/a/a.cpp": ""}, {("src/shunt/a/a.cpp", "f"): "why"})
        self.assertIn("is not needed", found[0])

    def test_what_is_still_to_be_cut_is_let_through_and_told(self):
        with planted.tree({"src/shunt/a/a.cpp": LONG}) as root:
            _, found, _, still = sizes.check(root, {}, ["src/shunt/a/a.cpp f", "src/shunt/a/gone.cpp"])
        self.assertEqual((found, still), ([], ["src/shunt/a/a.cpp f"]))


if __name__ == "__main__":
    unittest.main()

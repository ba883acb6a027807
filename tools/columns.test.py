#!/usr/bin/env python3
"""A line of 121 columns is found; a table's row and a link are let through."""
import unittest

import columns


class Columns(unittest.TestCase):
    def lines(self, text, path="src/shunt/rail/a.hpp"):
        return [line for line, _ in columns.findings(path, text)]

    def test_the_limit_is_120_columns_not_bytes(self):
        self.assertEqual(self.lines("x" * 60 + " " + "x" * 59 + "\n" + "x" * 60 + " " + "x" * 60 + "\n"), [2])
        self.assertEqual(self.lines("ü" * 60 + " " + "ü" * 59), [])

    def test_rows_of_tables_are_free_in_pages_only(self):
        row = "| a | " + "x " * 60 + "|"
        self.assertEqual(self.lines(row, "docs/manual.md"), [])
        self.assertEqual(self.lines(row), [1])

    def test_a_long_link_is_free(self):
        self.assertEqual(self.lines("# https://example.org/" + "x" * 120), [])


if __name__ == "__main__":
    unittest.main()

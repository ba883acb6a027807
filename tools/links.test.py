#!/usr/bin/env python3
"""A link that leads nowhere is found, by file and line; what only looks like a link is left alone."""
import unittest

import links
import planted


class Links(unittest.TestCase):
    def found(self, text):
        page = "# One `thing`, twice\n# One thing twice\n## Übung\n"
        with planted.tree({"README.md": text, "docs/a.md": page}) as root:
            return links.check(root)[1]

    def test_files_folders_and_headings_are_followed(self):
        self.assertEqual(self.found("# Top\n[a](docs/a.md) [b](docs) [c](#top) [d](docs/a.md#one-thing-twice)\n"
                                    "[e](docs/a.md#one-thing-twice-1) [f](docs/a.md#übung)\n"
                                    "[g](https://example.org/none)\n"), [])

    def test_a_missing_file_and_a_missing_heading_are_found(self):
        self.assertEqual(self.found("\n[a](docs/b.md)\n"), ["README.md:2: docs/b.md does not exist"])
        self.assertEqual(len(self.found("[a](docs/a.md#two)")), 1)
        self.assertEqual(len(self.found("[a](#two)")), 1)

    def test_code_is_left_alone(self):
        self.assertEqual(self.found("```cpp\n[](int i) {}\nv[0](none)\n```\nand `[x](none)`\n"), [])


if __name__ == "__main__":
    unittest.main()

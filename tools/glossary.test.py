#!/usr/bin/env python3
"""A term that the code has not is found, and a retired word that it still has; the plain English word is not."""
import unittest

import glossary
import planted

PAGE = """# Glossary

| term | meaning | elsewhere | defined in |
|---|---|---|---|
| train inbox | where trains arrive | | src/shunt/rail/a.hpp |
| train | goods together | | src/shunt/rail |

## Retired words

| retired | is a | in | now |
|---|---|---|---|
| dock | word | all | endpoint |
| stop | type | rail | route |
| settle | name | rail | validate |
| actors | namespace | all | templet |
"""
CODE = "/// Trains come in.\nclass train_inbox {\n  void run();\n};\n"


class Glossary(unittest.TestCase):
    def found(self, files, waiting=None):
        with planted.tree({"docs/glossary.md": PAGE, "src/shunt/rail/a.hpp": CODE, **files}) as root:
            return glossary.check(root, waiting or {})[1]

    def test_terms_that_occur_and_plain_english_are_let_through(self):
        plain = "// All actors stop and settle at dockyards.\nbool stop();\n"
        self.assertEqual(self.found({"src/shunt/rail/b.hpp": plain, "docs/decisions/0001.md": "docks\n",
                                     "README.md": "[why](docs/decisions/0001-docks.md)\n"}), [])

    def test_a_term_that_does_not_occur_is_found_unless_it_is_to_come(self):
        without = {"src/shunt/rail/a.hpp": "class train;\n"}
        self.assertEqual(len(self.found(without)), 1)
        self.assertEqual(self.found(without, {glossary.TERMS_NOT_YET: ["train inbox"]}), [])
        with planted.tree({"docs/glossary.md": PAGE}) as root:
            self.assertIn("there is no src/shunt/rail", "\n".join(glossary.check(root, {})[1]))

    def test_a_retired_word_is_found_in_identifiers_comments_and_pages(self):
        found = self.found({"src/shunt/io/b.hpp": "int dock_of_pe;\n// Two docks.\n", "README.md": "a dock\n"})
        self.assertEqual(len(found), 3)

    def test_types_names_and_namespaces_are_found_as_such(self):
        types = "struct [[nodiscard]] stop final {};\nenum class stop {};\n"
        self.assertEqual(len(self.found({"src/shunt/rail/b.hpp": types})), 2)
        self.assertEqual(len(self.found({"src/shunt/rail/b.hpp": "void settle();\nint settle_ = 0;\n"})), 2)
        self.assertEqual(len(self.found({"src/shunt/task/b.hpp": "namespace actors {\n}\nactors::actor a;\n"})), 2)
        self.assertEqual(self.found({"src/shunt/task/b.hpp": "struct stop {};\nvoid settle();\n"}), [])

    def test_what_is_not_yet_gone_is_let_through_in_its_module_only(self):
        waiting = {glossary.NOT_YET: {"io": ["dock"]}}
        self.assertEqual(self.found({"src/shunt/io/b.hpp": "int dock;\n"}, waiting), [])
        self.assertEqual(len(self.found({"src/shunt/rail/b.hpp": "int dock;\n"}, waiting)), 1)

    def test_a_word_in_two_rows_is_found(self):
        twice = PAGE.replace("| train | goods", "| train inbox | again | | src |\n| train | goods")
        self.assertIn("two rows", "\n".join(self.found({"docs/glossary.md": twice})))


if __name__ == "__main__":
    unittest.main()

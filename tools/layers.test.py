#!/usr/bin/env python3
"""A planted violation of each rule is found, named by file and line, and what is allowed is left alone."""
import unittest
import unittest.mock

import layers
import planted

SOUND = {
    "src/shunt/shunt.hpp": "#include <shunt/pgas.hpp>\n",
    "src/shunt/base.hpp": "#include <shunt/base/error.hpp>\n",
    "src/shunt/base/error.hpp": "#include <string>\n",
    "src/shunt/rail.hpp": "#include <shunt/rail/train.hpp>\n",
    "src/shunt/rail/train.hpp": "#include <shunt/base/error.hpp>\n",
    "src/shunt/rail/detail/pool.hpp": "",
    "src/shunt/rail/train.cpp": '#include "train.hpp"\n#include <shunt/rail/detail/pool.hpp>\n',
    "src/shunt/sched/fiber.hpp": "#include <shunt/base.hpp>\n",
    "src/shunt/pgas.hpp": "#include <shunt/pgas/pe.hpp>\n",
    "src/shunt/pgas/pe.hpp": "#include <shunt/sched/fiber.hpp>\n#include <shunt/base.hpp>\n",
    "apps/count.cpp": '#include <shunt/pgas.hpp>\n#include "count.hpp"\n',
    "apps/count.hpp": "",
    "tests/stress/pool.cpp": "#include <shunt/rail/detail/pool.hpp>\n",
}


class Layers(unittest.TestCase):
    def violations(self, files):
        with planted.tree({**SOUND, **files}) as root:
            return layers.check(root, arrows=False)

    def assert_one(self, files, *parts):
        found = self.violations(files)
        self.assertEqual(len(found), 1, found)
        for part in parts:
            self.assertIn(part, found[0])

    def test_a_sound_house_has_no_violation(self):
        self.assertEqual(self.violations({}), [])

    def test_a_lower_module_that_includes_a_higher_one_is_named_with_file_and_line(self):
        self.assert_one({"src/shunt/rail/bad.hpp": "#pragma once\n\n#include <shunt/sched/fiber.hpp>\n"},
                        "src/shunt/rail/bad.hpp:3:", "`rail`", "`sched`")

    def test_a_module_header_counts_as_its_module(self):
        self.assert_one({"src/shunt/base/bad.cpp": "#include <shunt/rail.hpp>\n"}, "src/shunt/base/bad.cpp:1:")
        self.assert_one({"src/shunt/rail.hpp": "#include <shunt/pgas/pe.hpp>\n"}, "src/shunt/rail.hpp:1:")

    def test_a_quoted_path_that_climbs_is_seen(self):
        self.assert_one({"src/shunt/rail/bad.cpp": '#include "../sched/fiber.hpp"\n'}, "`sched`")
        self.assert_one({"src/shunt/rail/bad.cpp": '#include "../../../apps/count.hpp"\n'}, "outside src/shunt")

    def test_detail_is_private_to_its_module_also_for_modules_above_and_programs(self):
        for path in ["src/shunt/sched/bad.cpp", "apps/bad.cpp", "bench/bad.cpp", "tools/bad.cpp", "examples/bad.cpp"]:
            self.assert_one({path: "#include <shunt/rail/detail/pool.hpp>\n"}, path + ":1:", "private")

    def test_what_lies_below_detail_and_the_detail_of_a_part_are_private_too(self):
        for header in ["detail/engine/word.hpp", "parts/detail/list.hpp"]:
            self.assert_one({"src/shunt/rail/" + header: "",
                             "src/shunt/rail/sound.cpp": f"#include <shunt/rail/{header}>\n",
                             "src/shunt/sched/bad.cpp": f"#include <shunt/rail/{header}>\n"},
                            "src/shunt/sched/bad.cpp:1:", "private")

    def test_no_module_includes_the_header_of_all(self):
        self.assert_one({"src/shunt/pgas/bad.cpp": "#include <shunt/shunt.hpp>\n"}, "header of all modules")

    def test_an_unknown_module_and_a_missing_header_are_violations(self):
        self.assert_one({"src/shunt/attic/a.hpp": ""}, "`attic`")
        self.assert_one({"apps/bad.cpp": "#include <shunt/rail/gone.hpp>\n"}, "does not exist")

    def test_a_test_of_a_module_obeys_the_modules_row(self):
        self.assert_one({"src/shunt/rail/train.test.cpp": "#include <shunt/pgas.hpp>\n"}, "train.test.cpp:1:")

    def test_what_stands_in_a_comment_is_no_include(self):
        self.assertEqual(self.violations({
            "src/shunt/base/a.hpp": "// #include <shunt/pgas.hpp>\n/*\n#include <shunt/pgas.hpp>\n*/\n"
                                    "/// see #include <shunt/pgas.hpp>\n"}), [])

    def test_spaces_inside_the_directive_do_not_hide_it(self):
        self.assert_one({"src/shunt/base/a.hpp": "  #  include <shunt/rail.hpp>\n"}, "a.hpp:1:")

    def test_a_folder_that_the_table_calls_private_is_private(self):
        inside = {"src/shunt/rail/engine/a.hpp": "", "apps/bad.cpp": "#include <shunt/rail/engine/a.hpp>\n"}
        self.assertEqual(self.violations(inside), [])
        with unittest.mock.patch.dict(layers.PRIVATE, {"rail": ["engine"]}):
            self.assert_one(inside, "apps/bad.cpp:1:", "private")

    def test_an_arrow_that_nothing_uses_is_found(self):
        with planted.tree(SOUND) as root:
            found = "\n".join(layers.check(root))
        self.assertIn("no file of `sched` includes a header of `context`", found)
        self.assertNotIn("no file of `pgas` includes a header of `sched`", found)
        self.assertNotIn("`stm`", found)  # a module that is not there has no arrows

    def test_the_page_shows_the_same_table(self):
        rows = [f"| `{m}` | {', '.join(f'`{b}`' for b in row)} | why |\n" for m, row in layers.MODULES.items()]
        text = "".join(rows).replace("|  |", "| |")
        with planted.tree({"docs/architecture.md": text}) as root:
            self.assertEqual(layers.check_page(root), [])
        with planted.tree({"docs/architecture.md": text.replace("| `context` | `base` |", "| `context` | |")}) as root:
            self.assertEqual(len(layers.check_page(root)), 1)

    def in_namespace(self, path, *names, what="int a();\n"):
        spaces = [("inline " if name == "v1" else "") + f"namespace {name} {{\n" for name in names]
        return {path: "".join(spaces) + what + "}\n" * len(names)}

    def test_a_module_declares_names_in_its_own_namespace(self):
        sound = "shunt", "v1", "rail"
        self.assertEqual(self.violations(self.in_namespace("src/shunt/rail/a.hpp", *sound)), [])
        self.assertEqual(self.violations(self.in_namespace("src/shunt/rail/a.hpp", *sound, "more")), [])
        path = "src/shunt/rail/a.hpp"
        self.assert_one(self.in_namespace(path, "shunt", "v1"), "a.hpp:3:", "declares names in shunt,")
        self.assert_one(self.in_namespace(path, "shunt", "v1", "sched"), "a.hpp:4:", "shunt::sched")
        self.assert_one(self.in_namespace(path, "shunt", "v1", "detail"), "shunt::detail")

    def test_using_and_forward_declarations_may_stand_anywhere(self):
        for what in ["using rail::train;\n", "class pe;\n", "template <class T>\nclass tvar;\n"]:
            files = self.in_namespace("src/shunt/rail/a.hpp", "shunt", "v1", what=what)
            self.assertEqual(self.violations(files), [])

    def test_a_place_of_the_table_in_which_nothing_is_declared_is_found(self):
        files = self.in_namespace("src/shunt/rail/a.hpp", "shunt", "v1", "rail", "more")
        files.update(self.in_namespace("src/shunt/rail/b.hpp", "shunt", "v1", "env"))
        files.update(self.in_namespace("src/shunt/rail/c.hpp", "shunt", "v1", what="using rail::train;\n"))
        with planted.tree(files) as root:
            self.assertEqual(layers.needless(root, {"rail": ["env", "rail::more"], "attic": ["gone"]}), [])
            found = layers.needless(root, {"rail": ["", "env", "net"]})
        self.assertEqual(len(found), 2, found)
        self.assertIn("`rail` declares nothing in shunt", found[0])
        self.assertIn("`rail` declares nothing in shunt::net", found[1])

    def test_a_private_header_declares_names_in_a_namespace_detail(self):
        path = "src/shunt/rail/detail/pool.hpp"
        self.assertEqual(self.violations(self.in_namespace(path, "shunt", "v1", "rail", "detail")), [])
        self.assert_one(self.in_namespace(path, "shunt", "v1", "rail"), path + ":4:", "namespace `detail`")
        path = "src/shunt/rail/detail/pool.cpp"
        self.assertEqual(self.violations(self.in_namespace(path, "shunt", "v1", "rail")), [])


if __name__ == "__main__":
    unittest.main()

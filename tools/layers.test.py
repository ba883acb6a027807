#!/usr/bin/env python3
"""A planted violation of each rule is found, named by file and line, and what is allowed is left alone."""
import importlib.util
import os
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
spec = importlib.util.spec_from_file_location("layers", os.path.join(HERE, "layers.py"))
layers = importlib.util.module_from_spec(spec)
spec.loader.exec_module(layers)

SOUND = {
    "src/shunt/shunt.hpp": "#include <shunt/pgas.hpp>\n",
    "src/shunt/base.hpp": "#include <shunt/base/error.hpp>\n",
    "src/shunt/base/error.hpp": "#include <string>\n",
    "src/shunt/rail.hpp": "#include <shunt/rail/train.hpp>\n",
    "src/shunt/rail/train.hpp": "#include <shunt/base/error.hpp>\n",
    "src/shunt/rail/detail/pool.hpp": "",
    "src/shunt/rail/train.cpp": '#include "train.hpp"\n#include <shunt/rail/detail/pool.hpp>\n',
    "src/shunt/sched/fiber.hpp": "#include <shunt/rail.hpp>\n",
    "src/shunt/pgas.hpp": "#include <shunt/pgas/pe.hpp>\n",
    "src/shunt/pgas/pe.hpp": "#include <shunt/sched/fiber.hpp>\n#include <shunt/base.hpp>\n",
    "apps/count.cpp": '#include <shunt/pgas.hpp>\n#include "count.hpp"\n',
    "apps/count.hpp": "",
    "tests/stress/pool.cpp": "#include <shunt/rail/detail/pool.hpp>\n",
}


class Layers(unittest.TestCase):
    def violations(self, planted):
        with tempfile.TemporaryDirectory() as root:
            for path, text in {**SOUND, **planted}.items():
                os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
                with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                    file.write(text)
            return layers.check(root)

    def assert_one(self, planted, *parts):
        found = self.violations(planted)
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


if __name__ == "__main__":
    unittest.main()

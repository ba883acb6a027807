#!/usr/bin/env python3
"""Code in comments is found, and written so that a compiler names its line; what is no code is left alone."""
import os
import unittest

import planted
import snippets
import source

HEADER = """/// A counter.
///
/// ```cpp
/// struct mine : counter {
///   int n;
/// };
/// mine c;
/// c.add([&] {
///   return seed;
/// });
/// ```
///
/// ```text
/// a report, which is no code;
/// ```
///
///   word    add()
///   empty   -> full; then it waits
#pragma once
"""
PATH = "src/shunt/rail/count.hpp"
CONTEXT = "namespace examples::rail_count {\nextern int seed;\n}\n"


class Snippets(unittest.TestCase):
    def findings(self, files):
        with planted.tree(files) as root:
            return snippets.check(root)[1]

    def test_marked_code_text_and_tables_are_sound(self):
        self.assertEqual(self.findings({PATH: HEADER, "tests/headers/snippets/rail.hpp": CONTEXT}), [])

    def test_a_fence_names_its_language(self):
        found = self.findings({PATH: HEADER.replace("```text", "```")})
        self.assertEqual(len(found), 1, found)
        self.assertIn(PATH + ":13:", found[0])

    def test_code_that_is_only_indented_is_found(self):
        for line in ["c.add(1);", "if (c.full()) {", "int n = 0;  // none yet", "});"]:
            found = self.findings({PATH: f"/// A counter:\n///\n///   {line}\n#pragma once\n"})
            self.assertEqual(len(found), 1, line)
            self.assertIn(PATH + ":3:", found[0])
        for line in ["- if it fails;", "asleep = 1; watched = 1", "word   -> full; waits"]:
            self.assertEqual(self.findings({PATH: f"/// A counter:\n///   {line}\n"}), [], line)

    def test_private_headers_may_do_as_they_like(self):
        self.assertEqual(self.findings({"src/shunt/rail/detail/count.hpp": "/// ```\n/// c.add(1);\n/// ```\n"}), [])

    def test_what_no_code_needs_is_found(self):
        context = CONTEXT + "namespace examples::rail_gone {\n}\n"
        found = self.findings({PATH: HEADER, "tests/headers/snippets/rail.hpp": context})
        self.assertEqual(len(found), 1, found)
        self.assertIn("rail.hpp:4:", found[0])

    def written(self, files):
        with planted.tree(files) as root:
            snippets.write_modules(os.path.join(root, "out"), root)
            return {name: source.read(root, "out/" + name) for name in os.listdir(os.path.join(root, "out"))}

    def test_definitions_stand_before_a_function_with_the_rest(self):
        text = self.written({PATH: HEADER, "src/shunt/base.hpp": "", "tests/headers/snippets/rail.hpp": CONTEXT})
        self.assertEqual(sorted(text), ["base.cpp", "rail.cpp"])
        self.assertEqual(text["base.cpp"], "")
        lines = text["rail.cpp"].split("\n")
        self.assertEqual(lines[0], "#include <shunt/rail/count.hpp>")
        self.assertIn("tests/headers/snippets/rail.hpp", lines[1])
        self.assertEqual(lines[2:], [
            "namespace examples::rail_count {",
            f'#line 4 "{PATH}"', "struct mine : counter {", "  int n;", "};",
            "void example_of_line_4() {",
            f'#line 7 "{PATH}"', "mine c;",
            f'#line 8 "{PATH}"', "c.add([&] {", "  return seed;", "});",
            "}", "}", ""])

    def test_a_program_stays_as_it_is(self):
        code = "int left = 1;\nvoid play(int) {\n}\nint main() {\n  play(left);\n}"
        header = "/// ```cpp\n" + "".join(f"/// {line}\n" for line in code.split("\n")) + "/// ```\n"
        text = self.written({PATH: header})["rail.cpp"]
        inside = [line for line in text.split("\n") if not line.startswith("#line")]
        self.assertEqual(inside[2:8], code.split("\n"))

    def test_a_specialization_stands_outside_of_the_namespace(self):
        header = "/// ```cpp\n/// struct mine {};\n/// template <>\n/// struct rail::size<mine> {};\n/// ```\n"
        text = self.written({PATH: header})["rail.cpp"]
        inside = [line for line in text.split("\n") if not line.startswith("#")]
        self.assertEqual(inside, ["namespace examples::rail_count {", "struct mine {};", "}",
                                  "using namespace examples::rail_count;", "template <>", "struct rail::size<mine> {};",
                                  "namespace examples::rail_count {", "void example_of_line_2() {", "}", "}", ""])

    def test_calls_and_objects_are_no_definitions(self):
        for text in ["int use(int a) {", "shunt::future<long> f(int) {", "template <class T>", "using a = int;"]:
            self.assertTrue(snippets.DEFINITION.match(text), text)
        for text in ["fiber f([&] { serve(); });", "for (int i : all) {", "if (a(b)) {", "run(e);", "else me.wait();"]:
            self.assertFalse(snippets.DEFINITION.match(text), text)

    def test_of_a_page_the_programs_are_written(self):
        page = "```cpp\nint a;\n```\ntext\n```cpp\nint main() {}\n```\n```sh\nint main(\n```\n"
        with planted.tree({"docs/a.md": page, "out/none": ""}) as root:
            snippets.write_pages(os.path.join(root, "out"), [os.path.join(root, "docs/a.md")])
            self.assertEqual(sorted(os.listdir(os.path.join(root, "out"))), ["0.cpp", "none"])
            self.assertEqual(source.read(root, "out/0.cpp"), f'#line 6 "{root}/docs/a.md"\nint main() {{}}\n')


if __name__ == "__main__":
    unittest.main()

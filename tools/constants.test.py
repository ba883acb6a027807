#!/usr/bin/env python3
"""A number in prose that is not the constant's is found; numbers and expressions are read as readers and C++ do."""
import unittest

import constants
import planted

CODE = """
class worker {
  static constexpr int switches_per_look = 64;
};
constexpr std::size_t buffers = 4;
inline constexpr std::size_t train_bytes = std::size_t{16} << 10;
constexpr std::size_t budget = buffers * train_bytes;
constexpr std::chrono::nanoseconds spin_for{20'000};
constexpr milliseconds gate{100};
constexpr auto until_dump = 100ms;
struct options {
  std::size_t stack_bytes = 256 * 1024;
};
struct spawn_options {
  std::size_t stack_bytes = 0;
};
constexpr int asked = ask();
"""
PATH = "src/shunt/rail/worker.hpp"


class Constants(unittest.TestCase):
    def found(self, prose, rows=(), page="src/shunt/rail/DESIGN.md"):
        with planted.tree({PATH: CODE, page: prose}) as root:
            return constants.check(root, rows)

    def test_a_pair_states_the_constant(self):
        prose = ("every `switches_per_look` (64) switches, `budget` (64 KiB), `spin_for` (20 us), `gate` (100 ms), "
                 "`worker::switches_per_look` (64), `stack_bytes` (256 KiB), `until_dump` (100 ms)")
        self.assertEqual(self.found(prose), (7, []))

    def test_a_wrong_pair_is_named_with_its_line(self):
        looked, found = self.found("text\nevery `switches_per_look` (32) switches\n")
        self.assertEqual((looked, len(found)), (1, 1))
        self.assertIn("src/shunt/rail/DESIGN.md:2:", found[0])
        self.assertIn("is 64, not 32", found[0])
        self.assertEqual(len(self.found("`train_bytes` (16 MiB)")[1]), 1)

    def test_a_pair_in_a_comment_is_read_and_a_name_that_is_gone_is_found(self):
        found = self.found("/// every `looks` (64)\n", page="src/shunt/rail/a.hpp")[1]
        self.assertIn("there is no constant `looks`", found[0])

    def test_the_modules_own_constant_counts(self):
        other = {"src/shunt/io/a.hpp": "constexpr int buffers = 9;\n", PATH: CODE,
                 "src/shunt/io/DESIGN.md": "`buffers` (9)", "src/shunt/rail/DESIGN.md": "`buffers` (9)"}
        with planted.tree(other) as root:
            found = constants.check(root, ())[1]
        self.assertEqual(len(found), 1, found)
        self.assertIn("rail/DESIGN.md:1:", found[0])

    def stated(self, sentence, expression, prose="/// A train has 4 buffers of\n/// 16 KiB, and polls for 20 us.\n"):
        return self.found(prose, [("src/shunt/rail/a.hpp", sentence, expression, PATH)], "src/shunt/rail/a.hpp")[1]

    def test_a_sentence_is_found_over_the_ends_of_lines(self):
        self.assertEqual(self.stated("4 buffers of {16 KiB}", "train_bytes"), [])
        self.assertEqual(self.stated("has {4} buffers", "buffers"), [])
        self.assertEqual(self.stated("for {20 us}", "spin_for"), [])
        self.assertEqual(self.stated("has {four} buffers", "buffers", "/// It has four buffers.\n"), [])

    def test_a_sentence_that_is_wrong_or_gone_is_found(self):
        self.assertIn("budget is 65536", self.stated("4 buffers of {16 KiB}", "budget")[0])
        self.assertIn("is not there", self.stated("has {5} buffers", "buffers")[0])

    def test_a_constant_that_the_script_cannot_read_is_found(self):
        self.assertIn("does not say", self.stated("has {4} buffers", "asked")[0])
        self.assertIn("does not say", self.stated("has {4} buffers", "gone")[0])


if __name__ == "__main__":
    unittest.main()

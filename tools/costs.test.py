#!/usr/bin/env python3
"""A cost that no row ties, a sentence that is gone and a number that is not what was measured are found."""
import json
import unittest

import costs
import planted

HEADER = "src/shunt/rail/train.hpp"


def run(item, median, samples=5):
    return {"params": {"what": item}, "median": median, "samples": [median] * samples, "checked": True}


class Costs(unittest.TestCase):
    def found(self, prose, sentence="Cost: some {10 ns}", items="open", runs=(run("open", 12),), page=HEADER,
              not_measured=(), of_constants=()):
        text = "".join(json.dumps(one) + "\n" for one in runs)
        rows = [(HEADER.removeprefix("src/shunt/"), sentence, items)] if sentence else []
        files = {costs.RESULTS: text, page: prose}
        if page != HEADER:
            files[HEADER] = "/// Cost: some 10 ns.\n"
        with planted.tree(files) as root:
            return costs.check(root, rows, not_measured, of_constants)[1]

    def test_a_number_that_was_measured_is_right_to_a_factor_of_two(self):
        for median, right in [(12, True), (5, True), (20, True), (4.9, False), (20.1, False)]:
            found = self.found("/// Cost: some 10 ns.\n", runs=[run("open", median)])
            self.assertEqual(found == [], right, (median, found))
        self.assertIn("`open` is 4 ns", self.found("/// Cost: some 10 ns.\n", runs=[run("open", 4)])[0])

    def test_a_range_has_each_of_its_items_within(self):
        def of(a, b):
            return self.found("/// Cost: 5 to\n/// 30 ns.\n", "Cost: {5 to 30 ns}", "a, b", [run("a", a), run("b", b)])
        self.assertEqual(of(5, 30), [])
        self.assertIn("`a` is 4.9 ns", of(4.9, 30)[0])
        self.assertIn("`b` is 31 ns", of(5, 31)[0])

    def test_microseconds_and_parts_of_nanoseconds(self):
        self.assertEqual(self.found("/// 1.5 us\n", "{1.5 us}", runs=[run("open", 1_600)]), [])
        self.assertEqual(len(self.found("/// 1.5 us\n", "{1.5 us}", runs=[run("open", 1.6)])), 1)
        self.assertEqual(self.found("/// 0.5 ns\n", "{0.5 ns}", runs=[run("open", 0.4)]), [])

    def test_how_much_more_one_takes(self):
        def of(a, b):
            return self.found("/// 10 ns more\n", "{10 ns} more", "a - b", [run("a", a), run("b", b)])
        self.assertEqual(of(112, 100), [])
        self.assertEqual(len(of(130, 100)), 1)

    def test_the_last_run_counts(self):
        self.assertEqual(self.found("/// Cost: some 10 ns.\n", runs=[run("open", 99), run("open", 9)]), [])

    def test_a_cost_without_a_row_is_found_also_over_the_end_of_a_line(self):
        for prose in ["/// Cost: some 10 ns, alone 3 ns.\n", "/// Cost: some 10 ns, alone some 3\n/// us.\n",
                      "/// Cost: some 10 ns, alone 3 to 4 microseconds.\n"]:
            found = self.found(prose)
            self.assertEqual(len(found), 1, found)
            self.assertIn(f"{HEADER}: no row", found[0])
        self.assertEqual(len(self.found("/// 7 ns\n", sentence="", runs=())), 1)

    def test_a_row_ties_the_number_in_its_braces_only(self):
        self.assertEqual(len(self.found("/// Cost: some 10 ns, 3 ns alone.\n", "Cost: some 10 ns, {3 ns} alone",
                                        runs=[run("open", 3)])), 1)

    def test_private_headers_tests_and_constants_need_no_row(self):
        for page in ["src/shunt/rail/detail/a.hpp", "src/shunt/rail/a.cpp"]:
            self.assertEqual(self.found("/// some 7 ns\n", page=page), [])
        prose = "/// Cost: some 10 ns. Polls for 20 us, or 3 us on others.\n"
        self.assertEqual(self.found(prose, not_measured=[("rail/train.hpp", "{3 us} on others", "are others")],
                                    of_constants=[("rail/train.hpp", "for {20 us}", "spin", "")]), [])

    def test_a_sentence_that_is_gone_is_found(self):
        self.assertIn("is not there", self.found("/// It is free.\n")[0])
        gone = ("rail/train.hpp", "{3 us} on others", "are others")
        found = self.found("/// Cost: some 10 ns.\n", not_measured=[gone])
        self.assertIn("is not there", found[0])

    def test_an_item_without_a_run_and_a_run_without_a_row_are_found(self):
        self.assertIn("has no `open`", self.found("/// Cost: some 10 ns.\n", runs=[])[0])
        found = self.found("/// Cost: some 10 ns.\n", runs=[run("open", 9), run("shut", 9)])
        self.assertIn("no row of tools/costs.py has `shut`", found[0])

    def test_a_run_of_few_samples_is_found(self):
        self.assertIn("too few", self.found("/// Cost: some 10 ns.\n", runs=[run("open", 9, samples=4)])[0])


if __name__ == "__main__":
    unittest.main()

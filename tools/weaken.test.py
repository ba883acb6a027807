#!/usr/bin/env python3
"""Halves are found and told apart; a half that is not listed, not there or not seen is a failure."""
import contextlib
import io
import json
import os
import stat
import unittest

import planted
import weaken

LOCK = "src/shunt/rail/lock.hpp"
CODE = ("struct lock {\n"
        "  void take() { while (held_.exchange(true, std::memory_order_acquire)) wait(); }  // memory_order_release\n"
        "  void give() { held_.store(false, std::memory_order_release); }\n"
        "};\n")
REASONS = "| reason | says |\n|---|---|\n| `cold` | rarely |\n| `open` | nothing yet |\n"
TAKE, GIVE = "lock::take: held_.exchange(true, acquire): acquire", "lock::give: held_.store(false, release): release"
# Stands for a test program: it has two test cases, and sees what is weakened in line 2 with the second of them.
PROGRAM = """#!/bin/sh
case $1 in
--list*) printf '%s\\n' 'lock: one thread' 'lock: two, or more' ;;
'lock: two\\, or more') case $WEAKEN_SITE in *:2:*) exit 66 ;; esac ;;
esac
"""


class Halves(unittest.TestCase):
    def of(self, code):
        return [(half.operation, half.half, half.becomes) for half in weaken.halves_of(LOCK, code)]

    def test_loads_acquire_and_stores_release(self):
        self.assertEqual(self.of("int f() { return a.load(std::memory_order_seq_cst); }"),
                         [("a.load(seq_cst)", "acquire", "relaxed")])
        self.assertEqual(self.of("void f() { b->a[i].store(g(1), std::memory_order_seq_cst); }"),
                         [("b->a[i].store(g(1), seq_cst)", "release", "relaxed")])
        self.assertEqual(self.of("int f() { return a.load(std::memory_order_relaxed); }"), [])

    def test_an_operation_that_does_both_keeps_the_other_half(self):
        for order in ("acq_rel", "seq_cst"):
            what = f"a.fetch_add(1, {order})"
            self.assertEqual(self.of(f"void f() {{ a.fetch_add(1, std::memory_order_{order}); }}"),
                             [(what, "acquire", "release"), (what, "release", "acquire")])

    def test_an_exchange_that_fails_only_acquires(self):
        found = self.of("void f() {\n  a.compare_exchange_weak(seen, 1, std::memory_order_release,\n"
                        "                          std::memory_order_acquire);\n}")
        self.assertEqual([half[1:] for half in found], [("release", "relaxed"), ("acquire on failure", "relaxed")])

    def test_a_fence_is_one_half(self):
        self.assertEqual(self.of("void f() { std::atomic_thread_fence(std::memory_order_seq_cst); }"),
                         [("atomic_thread_fence(seq_cst)", "fence", "relaxed")])

    def test_a_half_has_a_place_and_a_name_that_does_not_depend_on_it(self):
        one, two = weaken.halves_of(LOCK, CODE)
        self.assertEqual((one.line, one.column, weaken.key(one)), (2, 50, TAKE))
        self.assertEqual(weaken.key(two), GIVE)
        self.assertEqual([weaken.key(half) for half in weaken.halves_of(LOCK, "\nint more;\n" + CODE)], [TAKE, GIVE])

    def test_what_stands_twice_is_counted(self):
        found = weaken.halves_of(LOCK, "void f() {\n" + 2 * "  a.store(1, std::memory_order_release);\n" + "}\n")
        self.assertEqual([half.operation for half in found], ["a.store(1, release)", "a.store(1, release) #2"])

    def test_the_number_of_a_site_is_that_of_the_build(self):  # weaken.cpp asserts the same number
        self.assertEqual(weaken.number("src/shunt/base/spin_lock.hpp", 26, 52), 0x90a01176fbb7e157)


class Run(unittest.TestCase):
    def run_with(self, rows, *more, gate=0):
        files = {LOCK: CODE, weaken.REASONS: REASONS, weaken.TABLE: json.dumps({LOCK: rows}),
                 "tools/gates.json": json.dumps({"weaken": {"rail": gate}}), "build/test_rail": PROGRAM}
        with planted.tree(files) as root, contextlib.redirect_stdout(io.StringIO()) as out:
            os.chmod(os.path.join(root, "build/test_rail"), stat.S_IRWXU)
            status = weaken.main(["run", os.path.join(root, "build"), "--root", root, *more])
        return status, out.getvalue()

    def row(self, case="lock: two, or more", seconds=0.1):
        return {"test": "rail", "case": case, "seconds": seconds}

    def test_a_half_that_is_seen_and_one_with_a_reason_pass(self):
        status, out = self.run_with({TAKE: self.row(), GIVE: {"reason": "cold"}})
        self.assertEqual((status, out.splitlines()[-1]), (0, "2 passed, 0 failed"))

    def test_a_half_that_is_not_seen_fails(self):
        status, out = self.run_with({TAKE: self.row(), GIVE: self.row()})
        self.assertEqual(status, 1)
        self.assertIn("lock.hpp:3: " + GIVE + ": test_rail \"lock: two, or more\" is green without it", out)

    def test_what_is_not_listed_or_not_there_fails(self):
        self.assertIn(GIVE + ": is not listed", self.run_with({TAKE: self.row()})[1])
        both = {TAKE: self.row(), GIVE: {"reason": "cold"}}
        for rows, finding in (({**both, "lock::f: a: acquire": {"reason": "cold"}}, "is listed, but not there"),
                              ({**both, GIVE: {"reason": "warm"}}, "explains no reason warm"),
                              ({**both, GIVE: self.row("lock: gone")}, 'has no test case "lock: gone"')):
            status, out = self.run_with(rows)
            self.assertEqual(status, 1)
            self.assertIn(finding, out)

    def test_how_many_are_open_is_a_number_that_only_falls(self):
        rows = {TAKE: self.row(), GIVE: {"reason": "open"}}
        self.assertEqual(self.run_with(rows, gate=1)[0], 0)
        status, out = self.run_with(rows)
        self.assertEqual(status, 1)
        self.assertIn("rail: 1 findings, the gate allows 0", out)

    def test_a_test_case_that_is_red_as_the_orders_are_written_sees_nothing(self):
        program = PROGRAM.replace("*:2:*", "*")
        files = {LOCK: CODE, weaken.REASONS: REASONS, "build/test_rail": program,
                 weaken.TABLE: json.dumps({LOCK: {TAKE: self.row(), GIVE: {"reason": "cold"}}})}
        with planted.tree(files) as root, contextlib.redirect_stdout(io.StringIO()) as out:
            os.chmod(os.path.join(root, "build/test_rail"), stat.S_IRWXU)
            self.assertEqual(weaken.main(["run", os.path.join(root, "build"), "--root", root]), 1)
        self.assertIn("is red with all orders as written", out.getvalue())

    def test_only_what_is_asked_for_is_judged(self):
        self.assertEqual(self.run_with({TAKE: self.row()}, "--only", "take")[0], 0)

    def test_slow_ones_are_run_if_all_are_asked_for(self):
        rows = {TAKE: self.row(), GIVE: self.row(seconds=7)}
        self.assertEqual(self.run_with(rows)[0], 0)
        self.assertEqual(self.run_with(rows, "--all")[0], 1)


if __name__ == "__main__":
    unittest.main()

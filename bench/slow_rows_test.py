#!/usr/bin/env python3
"""What slow_rows.py calls slow, and what it says of a list, on made-up rows."""
import json
import pathlib
import tempfile
import unittest

import slow_rows


def row(system, median, metric="ns", variant="", table="t", **params):
    return {"table": table, "system": system, "variant": variant, "params": params, "metric": metric, "median": median}


class SlowRows(unittest.TestCase):
    def slow(self, *rows):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        (pathlib.Path(folder.name) / "t.json").write_text("".join(json.dumps(r) + "\n" for r in rows))
        return slow_rows.slow(slow_rows.newest(pathlib.Path(folder.name)))

    def test_behind_the_best_rival(self):
        found = self.slow(row("shunt", 2, n=1), row("go", 1, n=1), row("caf", 9, n=1), row("shunt", 1, n=2))
        self.assertEqual({"t n=1: ns": (0.5, "go", None)}, found)

    def test_each_metric_of_a_row_is_a_row(self):
        found = self.slow(row("shunt", 2, n=1), row("go", 1, n=1), row("shunt", 3, "p99_ns", n=1),
                          row("go", 1, "p99_ns", n=1))
        self.assertEqual({"t n=1: ns", "t n=1: p99_ns"}, set(found))

    def test_a_tie_is_not_slow(self):
        self.assertEqual({}, self.slow(row("shunt", 1.02, n=1), row("go", 1, n=1)))

    def test_more_is_better_for_rates(self):
        rate = "million_per_s"
        self.assertEqual({}, self.slow(row("shunt", 2, rate), row("go", 1, rate)))
        self.assertEqual({"t: million_per_s": (0.5, "go", None)}, self.slow(row("shunt", 1, rate), row("go", 2, rate)))

    def test_below_the_ceiling(self):
        self.assertEqual({}, self.slow(row("shunt", 1.5, n=1), row("ceiling", 1, n=1)))
        self.assertEqual({"t n=1: ns": (None, None, 0.5)}, self.slow(row("shunt", 2, n=1), row("ceiling", 1, n=1)))

    def test_serial_is_no_rival(self):
        self.assertEqual({}, self.slow(row("shunt", 2, n=1), row("serial", 1, n=1)))

    def test_the_newest_row_counts(self):
        self.assertEqual({}, self.slow(row("shunt", 9, n=1), row("go", 2, n=1), row("shunt", 1, n=1)))

    def test_each_transport_is_a_row(self):
        rows = [row("shunt", 8, n=1, transport="mpi"), row("shunt", 1, n=1, transport="threads"), row("go", 2, n=1)]
        self.assertEqual({"t n=1 over mpi: ns": (0.25, "go", None)}, self.slow(*rows))

    def test_other_policies_are_not_ours(self):
        rows = [row("shunt", 9, variant="off", table="stm-si"), row("go", 2, table="stm-si")]
        self.assertEqual({}, self.slow(*rows))

    def test_sizes_of_a_study_count_too(self):
        self.assertEqual({"t study=table 1: ns": (0.5, "go", None)},
                         self.slow(row("shunt", 2, study="table 1"), row("go", 1, study="table 1")))

    def test_within_a_run_the_ratios_of_repetitions_count_and_between_runs_the_medians(self):
        ours = row("shunt", 2, n=1) | {"samples": [1, 2, 9, None], "machine": {"kernel": 1}}
        its = row("go", 2.2, n=1) | {"samples": [1.1, 2.2, 1, 1], "machine": {"kernel": 1}}
        self.assertEqual({}, self.slow(ours, its | {"median": 1}))
        self.assertEqual({"t n=1: ns": (0.5, "go", None)}, self.slow(ours, its | {"median": 1, "machine": {}}))

    def test_memory_counts_as_a_whole_where_the_table_is_of_memory(self):
        for table, slow in [("memory", {"memory n=1: process_bytes"}), ("echo", set())]:
            rows = [row(system, size, "process_bytes", table=table, n=1) for system, size in [("shunt", 2), ("go", 1)]]
            self.assertEqual(slow, set(self.slow(*rows)))

    def test_the_sequential_java_of_heat_is_no_rival(self):
        self.assertEqual({}, self.slow(row("shunt", 2, table="heat"), row("java", 1, table="heat")))

    def test_the_published_kind_of_message_is_not_what_the_application_takes(self):
        rows = [row("shunt", 9, variant="wedge", table="triangle"), row("shunt", 1, variant="class", table="triangle")]
        self.assertEqual({}, self.slow(*rows, row("mpi", 2, table="triangle")))

    def test_findings(self):
        found = {"a": None, "b": None, "c": None}
        listed = {"a": "known", "b": "", "d": "was"}
        self.assertEqual(["b: has no cause", "c: is slow, and is not listed",
                          "d: is slow no more; take it off the list"],
                         list(slow_rows.findings(found, listed)))


if __name__ == "__main__":
    unittest.main()

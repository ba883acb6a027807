#!/usr/bin/env python3
"""What `shunt report` promises, on made-up programs and rows."""

import contextlib
import functools
import hashlib
import html
import io
import json
import math
import os
import pathlib
import re
import runpy
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import bench
from bench_test import MadeUp, RIGHT
from report import page, plots, report, samples
from report.published import STUDIES
from report.rows import Rows

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
MACHINE = {"cpu": "made up", "cores": 2, "kernel": "0", "compiler": "none", "core_round_trip_ns": [100.0],
           "load_average": [0.1]}
PICTURES = None  # a folder
AS_REPORT = "--as-report"  # FOLDER ARGUMENTS...: this file is report.py, with the pictures in that folder


def remembered(draw, folder):
    """The same picture is drawn once in a run of these tests, which are most of the time at what was published."""
    @functools.wraps(draw)
    def once(*arguments):
        file = folder / hashlib.sha256(repr([draw.__name__, *arguments]).encode()).hexdigest()
        if not file.exists():
            part = file.with_suffix(".part")
            part.write_text(draw(*arguments), encoding="utf-8")
            part.replace(file)  # the test ends some of the processes that draw
        return file.read_text(encoding="utf-8")
    return once


def remember_pictures(folder):
    plots.beside, plots.bars = (remembered(draw, folder) for draw in [plots.beside, plots.bars])


def setUpModule():
    global PICTURES
    folder = tempfile.TemporaryDirectory()
    unittest.addModuleCleanup(folder.cleanup)
    PICTURES = pathlib.Path(folder.name)
    remember_pictures(PICTURES)


def row(table, metric, system, variant, params, values):
    known = sorted(v for v in values if v is not None)
    return {"table": table, "metric": metric, "system": system, "variant": variant, "params": params,
            "unit": bench.UNITS.get(metric, "bytes"), "samples": values, "median": known[len(known) // 2],
            "min": known[0], "max": known[-1], "checked": True, "machine": MACHINE, "commit": "0" * 40}


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.results = self.folder / "results"
        self.results.mkdir()

    def put_rows(self, *rows):
        for one in rows:
            with open(self.results / f"{one['table']}.json", "a", encoding="utf-8") as file:
                file.write(json.dumps(one) + "\n")

    def run_report(self, *arguments):
        """(exit code, stdout, stderr)"""
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = report.main(list(arguments))
        return code, out.getvalue(), err.getvalue()

    def page_of(self, *rows):
        self.put_rows(*rows)
        code, _, err = self.run_report("--from", str(self.results), "--out", str(self.folder / "out"))
        self.assertEqual((code, err), (0, ""))
        return (self.folder / "out" / "report.html").read_text(encoding="utf-8")


class Samples(unittest.TestCase):
    def test_an_interval_covers_the_median_at_least_as_often_as_it_says(self):
        for count in range(1, 60):
            ranks = samples.interval(count)
            covered = 0.0
            if ranks is None:
                covered = 1 - 2 * 0.5 ** count  # of all samples together
                self.assertLess(covered, samples.CONFIDENCE)
                continue
            first, last = ranks
            covered = sum(math.comb(count, k) for k in range(first + 1, last + 1)) / 2 ** count
            self.assertGreaterEqual(covered, samples.CONFIDENCE, count)
            self.assertEqual(first, count - 1 - last)
            shorter = sum(math.comb(count, k) for k in range(first + 2, last)) / 2 ** count
            self.assertLess(shorter, samples.CONFIDENCE, count)

    def test_all_samples_count_and_outliers_are_named(self):
        found = samples.summary([1.0, 1.1, None, 0.9, 1.05, 9.0, 0.95])
        self.assertEqual((len(found.samples), found.outliers, found.high), (6, [9.0], 9.0))
        self.assertTrue(found.certain)
        few = samples.summary([3.0, 1.0, 2.0])
        self.assertEqual((few.median, few.low, few.high, few.certain), (2.0, 1.0, 3.0, False))

    def test_a_change_is_significant_when_ranks_say_so_and_not_among_many_by_chance(self):
        old = [1.0 + i / 100 for i in range(8)]
        shifted = samples.change(old, [2.0 + i / 100 for i in range(8)])
        same = samples.change(old, [x + 0.001 for x in old])
        few = samples.change([1.0, 1.1, 1.2], [5.0, 5.1, 5.2])
        found = samples.with_significance([shifted, same, few])
        self.assertEqual([(c.significant, c.testable) for c in found], [(True, True), (False, True), (False, False)])
        weak = samples.change(old[:5], [1.06, 1.07, 1.08, 1.09, 1.10])
        self.assertTrue(0.001 < weak.p < 0.05)
        self.assertFalse(any(c.significant or c.testable for c in samples.with_significance([weak] * 40)))

    def test_medians_of_nothing_and_no_samples_are_no_crash(self):
        self.assertEqual(samples.change([0.0] * 5, [0.0] * 5).ratio, 1.0)
        self.assertEqual(samples.change([0.0] * 5, [1.0] * 5).ratio, math.inf)
        self.assertFalse(samples.with_significance([samples.change([], [1.0])])[0].testable)


class Published(Folder):
    def test_every_published_row_is_on_the_page_with_or_without_a_figure_of_today(self):
        text = self.page_of(row("heat", "seconds", "shunt", "", {"workers": 2, "rows": 400, "columns": 800,
                                                                 "steps": 800}, [0.11, 0.12, 0.13]))
        rows = 0
        for study in STUDIES:
            self.assertIn(f'id="{study.key}"', text)
            for table in study.tables:
                for at, values in table.rows.items():
                    cells = "".join(f"<td>{html.escape(page.number(v))}</td>" for v in [at, *values])
                    self.assertIn(cells, text, (table.name, at))
                    rows += 1
        self.assertGreater(rows, 60)
        self.assertIn("0.12 (0.11 to 0.13)", text)

    def test_what_has_no_rival_of_today_is_called_not_comparable_and_ratios_are_of_one_run(self):
        heat = {"workers": 2, "rows": 400, "columns": 800, "steps": 800}
        text = self.page_of(row("heat", "seconds", "shunt", "", heat, [0.5, 0.5]))
        self.assertIn("Nothing of it has been measured here beside a rival of the study, in one run.", text)
        text = self.page_of(row("heat", "seconds", "openmp", "active", heat, [1.0, 1.0]))
        self.assertIn("medians 2.00 to 2.00 (more is better). Of 1 lines that have both (7 lines are published) Shunt "
                      "is ahead in 1 and behind in 0; in 0 the interval holds 1. In 1 there are fewer than six", text)
        self.assertIn("Exceeded.", text)
        another = row("heat", "seconds", "openmp", "active", heat, [0.1]) | {"machine": MACHINE | {"cores": 3}}
        text = self.page_of(another)  # of another run: no ratio, though it is newer and faster
        self.assertIn("Nothing of it has been measured here beside a rival of the study, in one run. Figures "
                      "of rivals that are of other runs, and are left out: 1.", text)

    def verdict_of(self, ours, *rivals):
        """Word and reason of the first table, from samples of Shunt, and of OpenMP and Pekko."""
        heat = {"workers": 2, "rows": 400, "columns": 800, "steps": 800}
        self.put_rows(row("heat", "seconds", "shunt", "", heat, ours),
                      *(row("heat", "seconds", system, variant, heat, values)
                        for (system, variant), values in zip([("openmp", "active"), ("pekko", "")], rivals)))
        table = STUDIES[0].tables[0]
        cells = page.today_cells(table, Rows(self.results))
        return page.verdict(table, *page.against_the_best(table, cells), cells)

    def test_ratios_are_of_one_repetition_where_medians_with_intervals_would_tell_nothing(self):
        rival = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0]  # the machine changes by far more than the systems differ
        word, text = self.verdict_of([v * 0.9 for v in rival], rival)
        self.assertEqual(word, "exceeded")
        self.assertIn("medians 1.11 to 1.11", text)
        self.assertNotIn("fewer than six", text)
        self.assertEqual(self.verdict_of([v * 1.1 for v in rival], rival)[0], "not reached in all lines")

    def test_medians_apart_are_no_lead_where_the_ratios_of_a_repetition_hold_1(self):
        # By medians 1.0 and 2.0; repetition by repetition ours is ahead in four and behind in three.
        word, text = self.verdict_of([1.0, 1.0, 1.0, 1.0, 5.0, 5.0, 5.0], [2.0, 2.0, 2.0, 2.0, 1.0, 1.0, 1.0])
        self.assertEqual(word, "reproduced")
        self.assertIn("ahead in 0 and behind in 0; in 1 the interval holds 1.", text)

    def test_the_best_rival_counts_a_failed_repetition_does_not_and_a_single_one_tells_nothing(self):
        word, text = self.verdict_of([1.0, 1.0, 1.0], [3.0, 3.0, 3.0], [0.5, None, 0.5])
        self.assertEqual(word, "not reached in all lines")
        self.assertIn("medians 0.50 to 0.50", text)
        self.assertEqual(self.verdict_of([1.0], [3.0])[0], "reproduced")

    def test_efficiency_is_of_one_repetition_too(self):
        heat = {"workers": 2, "rows": 500, "columns": 1000, "steps": 1000}
        text = self.page_of(row("heat", "seconds", "openmp", "active", heat, [1.0, 20.0, 3.0]),
                            row("heat", "seconds", "templet", "", heat, [2.0, 10.0, 6.0]))
        self.assertIn("<td>50 (50 to 200)</td>", text)

    def test_a_table_whose_lines_are_systems_is_compared_by_column_and_with_2_pes_is_no_figure_of_2048(self):
        reads = {"study": "table 1", "pes": 2, "reads_per_pe": 2 ** 23, "table_per_pe": 100_000}
        def ns(*seconds):
            return [1e9 * s / 2 ** 23 for s in seconds]
        name = "ns_per_read"
        text = self.page_of(row("index_gather", name, "shunt", "lambda", reads | {"transport": "threads"},
                                ns(1.0, 1.1, 1.2)),
                            row("index_gather", name, "shunt", "lambda", reads | {"transport": "mpi"}, ns(9.0, 9.0)),
                            row("index_gather", name, "openshmem", "nbi", reads, ns(1.15, 1.0, 1.6)))
        self.assertIn("medians 1.15 to 1.15 (more is better). Of 1 columns that have both (8 lines are published) "
                      "Shunt is ahead in 0 and behind in 0; in 1 the interval holds 1.", text)
        self.assertRegex(text, r"<td>OpenSHMEM NBI</td><td>4\.2</td><td>4\.3</td><td>not measured")
        self.assertRegex(text, r"<td>OpenSHMEM NBI \(here, 2 PEs\)</td><td>–</td><td>–</td><td>1\.15 \(1 to 1\.6\)")
        self.assertIn("<strong>Not comparable.</strong> It is of 2,048 PEs", text)
        self.assertNotIn("<td>9</td><td>not", text)

    def test_a_figure_of_today_has_exactly_the_published_parameters_or_there_is_none(self):
        line = {"producers": 1, "consumers": 1, "capacity": 32, "trains": 2, "goods": 100}
        text = self.page_of(*(row("railway", "million_per_s", "shunt", "two", line | {name: value}, [figure])
                              for name, value, figure in [("capacity", 31, 111.0), ("trains", 3, 222.0),
                                                          ("consumers", 2, 333.0), ("shape", "circle", 444.0)]))
        text = text[text.index('id="railways"'):text.index('id="transactions"')]
        for figure in [111, 222, 333, 444]:
            self.assertNotIn(f"<td>{figure}</td>", text)
        self.assertIn("`shunt two` is recorded in table `railway`, but not with producers 1, consumers 1, capacity 32, "
                      "trains 2", text)
        self.assertIn("no million_per_s of `article` is recorded in table `railway`", text)
        text = self.page_of(row("railway", "million_per_s", "shunt", "two", line | {"goods": 9_000}, [555.0]),
                            row("railway", "million_per_s", "shunt", "two", line | {"goods": 50}, [666.0]))
        self.assertIn("<td>666</td>", text)  # the newest, though a longer run is recorded
        self.assertNotIn("<td>555</td>", text[text.index('id="railways"'):text.index('id="transactions"')])
        self.assertIn("capacity 32, trains 2, goods 50</td>", text)

    def test_every_cell_of_today_without_a_figure_has_its_reason(self):
        text = self.page_of(row("switch", "ns_per_switch", "shunt", "", {"fibers": 100, "order": "chain"}, [2.5]))
        for table in text[:text.index('id="tables"')].split("<h3>")[1:]:
            cited = set(map(int, re.findall(r"not measured \((\d+)\)", table)))
            reasons = re.search(r"Not measured:(.*?)</p>", table)
            told = set(map(int, re.findall(r" \((\d+)\) \S", reasons[1]))) if reasons else set()
            self.assertEqual(cited, told, table[:80])
        self.assertIn("Huawei&#39;s JDK with coroutines is not in a registry", text)
        self.assertIn("no run of table `heat` is recorded", text)

    def test_today_is_in_the_study_s_unit(self):
        text = self.page_of(row("switch", "ns_per_switch", "shunt", "", {"fibers": 100, "order": "fifo"}, [2.5]),
                            row("memory", "process_bytes", "go", "", {"fibers": 10000}, [27_300_000]),
                            row("memory", "bytes_per_fiber", "go", "", {"fibers": 10000}, [4_321]),
                            row("pingpong", "million_per_s", "queue", "",
                                {"workers": 2, "form": "strict", "balls": 9}, [0.123]))
        self.assertIn("<td>400,000</td>", text)  # thousand switches a second
        self.assertIn("<td>27.3</td>", text)  # MB
        studies = text[:text.index('id="tables"')]
        self.assertNotIn("<td>43.21</td>", studies)  # what the fibers add is not the whole process
        self.assertIn("<td>0.123</td>", studies[studies.index("a ball to and fro"):])

    def test_a_table_says_when_where_and_beside_what_it_was_recorded_and_unknown_is_no_nought(self):
        params = {"fibers": 100, "order": "fifo"}
        dated = MACHINE | {"date": "2031-02-03", "core_round_trip_ns": [None], "kernel": ""}
        text = self.page_of(row("switch", "ns_per_switch", "go", "", params, [2.5, 2.5]) | {"machine": dated},
                            row("memory", "bytes_per_fiber", "go", "", {"fibers": 100}, [2.5] * 4),
                            row("memory", "process_bytes", "shunt", "default", {"fibers": 100}, [1.0])
                            | {"samples": [None, None]})
        switch = text[text.index('id="table-switch"'):text.index('id="table-memory"')]
        self.assertIn("2 samples a row; recorded: 2031-02-03, at commit 000000000000; made up, 2 cores, kernel "
                      "unknown, none, unknown distance between cores. Versions of rivals: Go: unknown when recorded, ",
                      switch)
        memory = text[text.index('id="table-memory"'):text.index('id="table-matmul"')]
        self.assertIn("0 to 4 samples a row; recorded: date unknown, at commit 000000000000 (made unknown)", memory)
        self.assertIn("<td>unknown</td><td>unknown</td><td>unknown</td>", memory)
        self.assertIn("its samples are unknown", text)
        self.assertIn("nothing recorded.", text[text.index('id="table-heat"'):])

    def test_versions_of_rivals_are_those_that_their_rows_were_recorded_with(self):
        params = {"fibers": 100, "order": "fifo"}
        go = row("switch", "ns_per_switch", "go", "", params, [2.5, 2.5])
        tokio = row("switch", "ns_per_switch", "tokio", "", params, [2.5, 2.5])
        text = self.page_of(go | {"versions": {"Go": "go 7.1"}}, tokio | {"versions": {"tokio": "8.2", "Rust": "9.3"}},
                            go | {"params": params | {"fibers": 10}, "versions": {"Go": "go 7.2"}})
        switch = text[text.index('id="table-switch"'):text.index('id="table-memory"')]
        self.assertIn("Versions of rivals: Go: go 7.1 and go 7.2; tokio: 8.2; Rust: 9.3.", switch)

    def test_rows_over_mpi_have_its_version(self):
        over = [row("bale", "seconds", "shunt", "lambda", {"pes": 2, "what": "transpose", "transport": transport},
                    [2.5, 2.5]) | {"versions": versions}
                for transport, versions in [("threads", {}), ("mpi", {"Open MPI": "made up 7"})]]
        text = self.page_of(*over)
        bale = text[text.index('id="table-bale"'):]
        self.assertIn("Versions of what it runs on: Open MPI: made up 7.", bale[:bale.index("<h3", 10)])

    def test_claims_are_true_not_true_or_unknown_with_the_figures(self):
        def one(n, seconds):
            return row("stm-si", "seconds", "shunt", "adaptive", {"threads": n, "increments": 10_000_000},
                       [seconds])
        quick = row("stm-si", "seconds", "shunt", "adaptive", {"threads": 2, "increments": 10}, [0.1])
        self.assertNotIn("<td>not true</td>", self.page_of(one(1, 1.0), quick))
        self.assertIn("<td>unknown</td>", self.page_of(one(1, 1.0)))
        self.assertIn("<td>true</td>", self.page_of(one(2, 1.1), one(8, 1.2)))
        self.assertIn("<td>not true</td>", self.page_of(one(32, 0.2)))

    def test_aborts_whose_ranges_overlap_tell_nothing(self):
        def aborts(threads, *values):
            return row("stm-si", "aborts_per_commit", "shunt", "off", {"threads": threads, "increments": 10_000_000},
                       values)
        fall = "aborts fall from 8 threads on (Shunt, no slices)</td><td>"
        self.assertIn(fall + "unknown", self.page_of(aborts(8, 0.5, 0.6), aborts(32, 0.4, 0.5)))
        self.assertIn(fall + "true", self.page_of(aborts(32, 0.3, 0.4)))
        self.assertIn(fall + "not true", self.page_of(aborts(32, 0.7, 0.8)))

    def test_the_question_of_transactions_is_answered_where_all_it_takes_is_recorded(self):
        def seconds(system, variant, value):
            return row("stm-si", "seconds", system, variant, {"threads": 2, "increments": 10_000_000}, [value])
        four = [seconds("ghc", variant, value) for variant, value in
                [("two", 8.0), ("two_off", 4.0), ("one", 1.0), ("one_off", 2.0)]]
        four += [seconds("shunt", variant, value) for variant, value in
                 [("sliced", 3.0), ("off", 2.0), ("sliced_one", 1.0), ("off_one", 1.5)]]
        self.assertNotIn("answered with today", self.page_of(*four))
        text = self.page_of(seconds("shunt", "adaptive", 0.25))
        self.assertIn("GHC takes 8 s (slices, all cores), 4 s (no slices (-C1000), all cores), 1 s (slices, one core), "
                      "2 s", text)
        self.assertIn("One core against all changes GHC&#39;s time up to 8 times and Shunt&#39;s 3 times, slices "
                      "against none 2 and 1.5 times; that scheduler makes Shunt 4 times as fast as the best of its own "
                      "four, and 4 times as fast as the best of GHC&#39;s.", text)

    def test_geometric_means_are_of_all_seven_or_there_is_none(self):
        def both(table, metric, size, ours, theirs, variant):
            params = {"study": "figure 3", "pes": 2} | size
            return [row(table, metric, "shunt", "lambda", params | {"transport": "threads"}, ours),
                    row(table, metric, "openshmem", variant, params, theirs)]
        bale = [("permute_matrix", 100_000, 10), ("random_permutation", 1_000_000, 0),
                ("topological_sort", 100_000, 10), ("transpose", 100_000, 10)]
        rows = [*both("histogram", "ns_per_update", {"updates_per_pe": 10_000_000, "table_per_pe": 1_000}, [1.0, 1.0],
                      [128.0, 1.0], ""),
                *both("index_gather", "ns_per_read", {"reads_per_pe": 10_000_000, "table_per_pe": 100_000}, [1.0, 1.0],
                      [1.0, 1.0], "blocking"),
                *(one for what, n, z in bale
                  for one in both("bale", "seconds", {"what": what, "rows_per_pe": n, "nonzeros_per_row": z},
                                  [1.0, 1.0], [1.0, 128.0], "blocking"))]
        line = r"<td>OpenSHMEM / Shunt \(here, 2 PEs\)</td><td>–</td><td>"
        self.assertRegex(self.page_of(*rows), line + "not measured")
        graph = {"graph": "er", "rows_per_pe": 10_000, "nonzeros_per_lower_row": 35}
        text = self.page_of(*both("triangle", "seconds", graph, [1.0, 1.0], [1.0, 1.0], "word"))
        self.assertRegex(text, line + r"9 \(2 to 16\)")
        another = {"machine": MACHINE | {"cores": 3}}
        elsewhere = self.page_of(*(one | another for one in both("triangle", "seconds", graph, [1.0, 1.0], [1.0, 1.0],
                                                                 "word")))
        self.assertRegex(elsewhere, line + "not measured")
        self.assertIn("the applications are recorded in different runs", elsewhere)
        self.assertRegex(text, r"<td>histogram</td><td>0\.01</td>")  # ns of one of 10,000,000 updates

    def test_lines_of_today_are_counted_and_held_against_the_published_ones(self):
        if not shutil.which("cloc"):
            self.skipTest("no cloc")
        text = self.page_of(row("switch", "ns_per_switch", "shunt", "", {"fibers": 100, "order": "chain"}, [2.5]))
        part = text[text.index("<h3>Table 2: How many lines"):text.index("<h3>Geometric means")]
        self.assertIn("counted by cloc when this page was made", part)
        self.assertRegex(part, r"<td>Shunt \(natural form\)</td>(<td>–</td>){7}(<td>\d+</td>){7}")
        self.assertRegex(part, r"beside the least that was published: of 7 columns it has fewer in \d and more in \d")

    def test_slow_rows_come_before_the_studies_each_with_a_cause_or_unknown(self):
        slow = {"producers": 1, "consumers": 1, "capacity": 3, "trains": 2, "goods": 10}
        text = self.page_of(row("railway", "million_per_s", "shunt", "two", slow, [1.0]),
                            row("railway", "million_per_s", "article", "", slow, [4.0]))
        at = text.index("capacity=3")
        self.assertLess(at, text.index('id="templet"'))
        self.assertIn("0.25", text[at:at + 200])
        self.assertIn("unknown", text[at:at + 300])

    def test_of_slow_rows_those_behind_a_rival_come_first(self):
        def pair(period, system, ours):
            return (row("latency", "median_ns", "shunt", "latency", {"period_us": period}, [ours]),
                    row("latency", "median_ns", system, "", {"period_us": period}, [1.0]))
        text = self.page_of(*pair(10, "ceiling", 900.0), *pair(20, "go", 1.1), *pair(30, "go", 3.0))
        places = [text.index(f"latency latency period_us={n}: median_ns") for n in [30, 20, 10]]
        self.assertEqual(places, sorted(places))

    def test_ids_are_unique_over_the_page_and_every_reference_resolves(self):
        rows = [row("switch", "ns_per_switch", system, "", {"fibers": n, "order": order}, [2.0, 2.5])
                for system in ["shunt", "go"] for n in range(100, 130) for order in ["fifo", "chain"]]
        text = self.page_of(*rows)
        self.assertGreater(text.count("<svg"), 5)
        ids = re.findall(r'\sid="([^"]*)"', text)
        self.assertEqual(sorted(ids), sorted(set(ids)))
        references = re.findall(r'(?:url\(#|href="#)([^)"]+)', text)
        self.assertGreater(len(references), 100)
        self.assertEqual(set(references) - set(ids), set())


class CommandLine(Folder):
    def test_what_cannot_be_is_one_line_and_exit_2(self):
        for arguments, what in [(["--only", "nothing"], "unknown name 'nothing'"), (["--no-such"], "--no-such"),
                                (["--quick", "--as-published"], "exclude"),
                                (["--from", "/nowhere"], "no folder"),
                                (["--from", str(self.results)], "no results")]:
            code, out, err = self.run_report(*arguments, "--out", str(self.folder / "out"))
            self.assertEqual((code, out, err.count("\n")), (2, "", 1), arguments)
            self.assertIn(what, err)

    def test_compare_names_what_has_changed_significantly_and_counts_the_rest(self):
        params = {"fibers": 2, "order": "fifo"}
        self.put_rows(row("switch", "ns_per_switch", "shunt", "", params, [2.0 + i / 100 for i in range(8)]),
                      row("switch", "ns_per_switch", "go", "", params, [9.0 + i / 100 for i in range(8)]))
        out = self.folder / "out"
        self.run_report("--from", str(self.results), "--out", str(out))
        shutil.copy(out / "report.json", self.folder / "old.json")
        self.put_rows(row("switch", "ns_per_switch", "shunt", "", params, [4.0 + i / 100 for i in range(8)]),
                      row("switch", "ns_per_switch", "shunt", "", {"fibers": 9, "order": "fifo"}, [1.0]))
        code, text, _ = self.run_report("--from", str(self.results), "--out", str(out), "--compare",
                                        str(self.folder / "old.json"))
        self.assertEqual(code, 0)
        self.assertIn("1.983", text)
        self.assertNotIn("go", text.splitlines()[0])
        self.assertIn("2 rows in both reports, 1 with a significant change, 0 with too few samples to tell; 1 are new, "
                      "0 are gone", text)
        self.assertEqual(self.run_report("--from", str(self.results), "--out", str(out), "--compare",
                                         str(out / "report.json"))[1].splitlines()[0][:20], "3 rows in both repor")
        (self.folder / "bad.json").write_text("[]")
        self.assertEqual(self.run_report("--from", str(self.results), "--out", str(out), "--compare",
                                         str(self.folder / "bad.json"))[0], 2)


class Measuring(MadeUp):
    """Two tables, of made-up programs."""

    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = pathlib.Path(folder.name)
        self.put("superstep_ceiling", RIGHT)
        self.put("fanin_ceiling", RIGHT)

    def command(self, *more):
        return [sys.executable, __file__, AS_REPORT, str(PICTURES), *self.arguments(*more)]

    def arguments(self, *more):
        return ["--quick", "--only", "superstep,fanin", "--out", str(self.out), "--build-dir", str(self.build), *more]

    def finish(self, *more):
        return self.run_to_the_end(self.command(*more))

    def run_to_the_end(self, command):
        return subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)

    def test_a_page_and_its_data_with_absent_systems_named_and_no_progress_where_there_is_no_terminal(self):
        done = self.run_to_the_end([sys.executable, report.__file__, *self.arguments()])  # it draws all itself
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout, f"{self.out}/report.html\n")
        text = (self.out / "report.html").read_text(encoding="utf-8")
        self.assertIn("openshmem: not built", text)
        data = json.loads((self.out / "report.json").read_text(encoding="utf-8"))
        self.assertEqual({r["table"] for r in data["rows"]}, {"superstep", "fanin"})
        self.assertIn("pekko: not built", data["absent"]["fanin"])

    def test_killed_in_the_middle_it_goes_on_with_the_table_that_was_running(self):
        mark = self.build / "ran"
        self.put("superstep_ceiling", f"echo x >> {mark}; {RIGHT}")
        self.put("fanin_ceiling", f"echo started > {self.build}/fanin; sleep 60")
        running = subprocess.Popen(self.command(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while not (self.build / "fanin").exists():
            self.assertIsNone(running.poll())
            time.sleep(0.02)
        running.send_signal(signal.SIGTERM)
        _, err = running.communicate(timeout=300)
        self.assertEqual(running.returncode, 130)
        self.assertIn("goes on where it was", err)
        before = mark.read_text()
        self.put("fanin_ceiling", RIGHT)
        self.assertEqual(self.finish().returncode, 0)
        self.assertEqual(mark.read_text(), before)  # that table was there
        data = json.loads((self.out / "report.json").read_text(encoding="utf-8"))
        self.assertEqual({r["table"] for r in data["rows"]}, {"superstep", "fanin"})

    def test_killed_in_its_first_table_it_goes_on_too(self):
        self.put("superstep_ceiling", f"echo started > {self.build}/first; sleep 60")
        running = subprocess.Popen(self.command(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while not (self.build / "first").exists():
            self.assertIsNone(running.poll())
            time.sleep(0.02)
        running.send_signal(signal.SIGTERM)
        running.communicate(timeout=300)
        self.put("superstep_ceiling", RIGHT)
        done = self.finish()
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_fresh_measures_the_tables_asked_for_and_keeps_the_others(self):
        self.assertEqual(self.finish().returncode, 0)
        ran = self.build / "ran"
        for table in ["superstep", "fanin"]:
            self.put(f"{table}_ceiling", f"echo {table} >> {ran}; {RIGHT}")
        self.assertEqual(self.finish("--fresh", "--only", "fanin").returncode, 0)
        self.assertEqual(set(ran.read_text().split()), {"fanin"})
        self.assertEqual(self.finish().returncode, 0)
        self.assertEqual(set(ran.read_text().split()), {"fanin"})

    def test_a_folder_with_a_report_of_another_kind_is_refused_unless_it_may_go(self):
        self.assertEqual(self.finish().returncode, 0)
        state = json.loads((self.out / "state.json").read_text(encoding="utf-8"))
        state["how"]["quick"] = False
        (self.out / "state.json").write_text(json.dumps(state))
        refused = self.finish()
        self.assertEqual((refused.returncode, refused.stderr.count("\n")), (2, 1))
        self.assertIn("quick False, not True", refused.stderr)
        self.assertEqual(self.finish("--fresh").returncode, 0)

    def test_files_of_others_stay(self):
        (self.out / "results").mkdir()
        mine = self.out / "results" / "histogram.json"
        mine.write_text("precious")
        for more in [[], ["--fresh"]]:
            refused = self.finish(*more)
            self.assertEqual((refused.returncode, refused.stderr.count("\n")), (2, 1))
        self.assertEqual(mine.read_text(), "precious")
        mine.unlink()
        self.assertEqual(self.finish().returncode, 0)
        mine.write_text("precious")
        self.assertEqual(self.finish("--fresh").returncode, 2)  # it is no result
        self.assertEqual(mine.read_text(), "precious")
        (self.out / "state.json").write_text("{")
        damaged = self.finish()
        self.assertEqual((damaged.returncode, damaged.stderr.count("\n")), (2, 1))
        self.assertIn("state.json damaged, not whole", damaged.stderr)
        self.assertEqual(self.finish("--fresh").returncode, 0)
        self.assertFalse(mine.exists())  # the folder is a report's, and of unknown age

    def test_a_table_with_a_wrong_answer_is_on_the_page_and_the_status_is_1(self):
        self.put("fanin_ceiling", "echo 'wrong answer: 1' >&2; exit 1")
        done = self.finish()
        self.assertEqual(done.returncode, 1)
        self.assertIn("FAILED: ceiling", (self.out / "report.html").read_text(encoding="utf-8"))

    def test_a_picture_of_one_table(self):
        picture = self.out / "superstep.svg"
        code, _, _ = self.run_bench("superstep", "--quick", "--plot", str(picture))
        self.assertEqual(code, 0)
        self.assertTrue(picture.read_text(encoding="utf-8").startswith("<svg"))


@unittest.skipUnless(BROWSER, "no browser")
class InABrowser(unittest.TestCase):
    """The page of what is recorded, as a browser shows it, on a screen and on a phone."""

    PROBE = """<script>addEventListener('load', () => {
      const pictures = [...document.querySelectorAll('figure svg')];
      document.querySelectorAll('details').forEach(d => d.open = true);
      const boxes = pictures.map(p => p.getBoundingClientRect());
      const shown = boxes.filter(box => box.width > 100 && box.height > 50);
      const wide = document.documentElement.scrollWidth;
      const tall = Math.ceil(Math.max(...boxes.map(box => box.height)));
      const all = [...document.querySelectorAll("figure, .wide")];
      const cut = all.filter(box => box.scrollWidth > innerWidth).length;
      const title = `${pictures.length} pictures, ${shown.length} shown, ${wide} of ${innerWidth} wide, ` +
        `${tall} tall, ${cut} cut`;
      parent.postMessage(title, '*');
    })</script></body>"""
    # A window cannot be as narrow as a phone, and one start of the browser shows them all.
    FRAMES = """<!doctype html><title>nothing</title><script>
      const texts = {};
      addEventListener('message', e => {
        const frame = [...document.querySelectorAll('iframe')].find(f => f.contentWindow === e.source);
        texts[frame.id] = e.data;
        document.title = JSON.stringify(texts);
      })</script>
      <iframe id="screen" src="report.html" width="1200" height="900" style="border: 0"></iframe>
      <iframe id="phone" src="report.html" width="360" height="700" style="border: 0"></iframe>
      <iframe id="paper" src="paper.html" width="688" height="900" style="border: 0"></iframe>"""  # A4 in its margins

    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        folder = pathlib.Path(scratch.name)
        with contextlib.redirect_stdout(io.StringIO()):
            recorded = str(pathlib.Path(__file__).parent / "results")
            cls.code = report.main(["--from", recorded, "--out", scratch.name])
        file = folder / "report.html"
        cls.text = file.read_text(encoding="utf-8")
        probed = cls.text.replace("</body>", cls.PROBE)
        file.write_text(probed, encoding="utf-8")
        (folder / "paper.html").write_text(probed.replace("@media print", "@media all"), encoding="utf-8")
        frames = folder / "frames.html"
        frames.write_text(cls.FRAMES, encoding="utf-8")
        found = subprocess.run(
            [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1300,900",
             f"--user-data-dir={folder}/profile", "--enable-logging=stderr", "--virtual-time-budget=20000",
             "--dump-dom", frames.as_uri()], capture_output=True, text=True, timeout=600, check=True)
        cls.complaints = re.findall(r".*CONSOLE.*", found.stderr)
        cls.titles = json.loads(html.unescape(re.search(r"<title>(.*?)</title>", found.stdout)[1]))

    def seen(self, frame):
        """Pictures, those shown, the page's width, the window's, the tallest picture, boxes wider than the window."""
        self.assertEqual((self.code, self.complaints), (0, []))
        numbers = [int(n) for n in re.findall(r"\d+", self.titles[frame])]
        self.assertEqual(len(numbers), 6, numbers)
        self.assertEqual(numbers[0], numbers[1])
        self.assertGreater(numbers[0], 20)
        self.assertLessEqual(numbers[2], numbers[3], "the page itself scrolls sideways")
        return numbers

    def test_every_picture_shows_nothing_is_wider_than_the_screen_and_the_console_is_empty(self):
        self.assertNotRegex(re.sub(r'(xmlns(:\w+)?|rdf:resource)="[^"]*"', "", self.text), r'(src|href)="https?:')
        self.assertEqual(self.seen("screen")[3], 1200)
        self.assertEqual(self.seen("phone")[3], 360)

    def test_on_paper_no_picture_is_taller_than_a_page_and_no_table_is_cut(self):
        self.assertIn("@media print", self.text)
        *_, wide, tall, cut = self.seen("paper")
        self.assertEqual(wide, 688)
        self.assertLessEqual(tall, 23 / 2.54 * 96 + 1)
        self.assertEqual(cut, 0)


def main():
    if sys.argv[1:2] == [AS_REPORT]:
        remember_pictures(pathlib.Path(sys.argv[2]))
        sys.argv[:3] = [report.__file__]
        runpy.run_path(report.__file__, run_name="__main__")
    else:
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
        unittest.main()


if __name__ == "__main__":
    main()

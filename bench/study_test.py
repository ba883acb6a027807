#!/usr/bin/env python3
"""What table `study` promises, on made-up programs: sizes, geometric means, source lines."""

import io
import json
import unittest

import bench
from bench_test import MadeUp
from study import tables as study


class Study(MadeUp):
    """Table `study`: the programs of four tables, and what is made of their times."""

    def put_all(self, seconds):
        launcher = self.build / "launcher"
        launcher.write_text('#!/bin/sh\nfor a; do case $a in */bench/*) break;; esac; shift; done\nexec "$@"\n')
        launcher.chmod(0o755)
        (self.build / "bench" / "bench_systems.json").write_text(json.dumps(
            {"compiler": "none", "oshrun": str(launcher), "mpirun": str(launcher), "absent": {}}))
        for table in ["histogram", "index_gather", "bale", "triangle"]:
            for system in study.SYSTEMS:
                if system in bench.SYSTEMS[table]:
                    self.put(f"{table}_{system}", f"echo {table}_{system} \"$@\" >> {self.build}/log; "
                             f"case \"$*\" in *class*|*blocking*|*word*) s={seconds[system] * 2};; "
                             f"*) s={seconds[system]};; esac; "
                             "echo '{\"seconds\": '$s', \"checked\": true, \"wedges\": 9}'")

    def line(self, out, start):
        lines = [line for line in out.splitlines() if line.startswith(start)]
        self.assertEqual(len(lines), 1, (start, lines))
        return lines[0][len(start):].split()

    def test_the_seven_applications_run_at_the_studys_sizes_for_each_number_of_pes(self):
        self.put_all({"openshmem": 0.03, "mpi_rma": 0.02, "mpi": 0.04, "shunt": 0.01})
        code, _, _ = self.run_bench("study", "--samples", "1", "--pes", "1", "--pes", "2")
        self.assertEqual(code, 0)
        turns = (self.build / "log").read_text().splitlines()
        for pes in [1, 2]:
            ours = [t for t in turns if "_shunt " in t and f"--pes {pes} " in t and "lambda --transport threads" in t]
            self.assertEqual([t.partition(" --variant")[0] for t in ours],
                             [f"histogram_shunt --pes {pes} --updates 10000000 --table 1000",
                              f"index_gather_shunt --pes {pes} --updates 10000000 --table 100000",
                              f"histogram_shunt --pes {pes} --updates 8388608 --table 1000",
                              f"index_gather_shunt --pes {pes} --updates 8388608 --table 100000",
                              *(f"bale_shunt --pes {pes} --what {what}" for what in
                                ["permute_matrix --rows 100000 --row-nonzeros 10",
                                 "random_permutation --rows 1000000 --row-nonzeros 0",
                                 "darts --rows 1000000 --row-nonzeros 0",
                                 "topological_sort --rows 100000 --row-nonzeros 10",
                                 "transpose --rows 100000 --row-nonzeros 10"]),
                              f"triangle_shunt --pes {pes} --graph er --rows 10000 --row-nonzeros 35"])

    def test_geometric_means_are_over_all_seven_or_say_which_are_missing(self):
        self.put_all({"openshmem": 0.03, "mpi_rma": 0.02, "mpi": 0.04, "shunt": 0.01})
        code, out, _ = self.run_bench("study", "--quick", "--samples", "2")
        self.assertEqual(code, 0)
        # The histogram has one program for both ways: six applications take twice as long.
        self.assertEqual(self.line(out, "openshmem blocking / shunt lambda  "), [f"{3 * 2 ** (6 / 7):.3g}"])
        self.assertEqual(self.line(out, "openshmem nbi / shunt lambda  "), ["3"])
        self.assertEqual(self.line(out, "mpi_rma / shunt class  "), ["1"])
        self.assertEqual(self.line(out, "best rival / shunt lambda  "), ["2"])
        self.assertEqual(self.line(out, "shunt lambda / shunt class  "), ["0.5"])
        self.assertEqual(self.line(out, "mpi / shunt lambda  "),
                         ["4", "of", "4:", "without", "histogram,", "index_gather,", "triangle"])
        self.assertIn("table 1, seconds for 838,860 reads and as many updates of each of 2 PEs", out)

    def test_a_wrong_answer_is_in_no_mean(self):
        self.put_all({"openshmem": 0.03, "mpi_rma": 0.02, "mpi": 0.04, "shunt": 0.01})
        self.put("triangle_mpi_rma", "echo 'x: wrong answer: 1' >&2; exit 1")
        code, out, _ = self.run_bench("study", "--quick", "--samples", "1")
        self.assertEqual(code, 1)
        self.assertEqual(self.line(out, "mpi_rma / shunt lambda  "), ["2", "of", "6:", "without", "triangle"])

    def test_every_kernel_that_table_2_counts_is_where_its_marks_say(self):
        for name, app, path, part in study.sources():
            self.assertTrue(study.part_of((study.ROOT / path).read_text(), part).strip(), (name, app))
        text = "a\n  // kernel: one\nb\n  // end of kernel\nc\n/* kernel: two */\nd\n/* end of kernel */\n"
        self.assertEqual([study.part_of(text, part) for part in ["one", "two", ""]], ["b\n", "d\n", text])
        with self.assertRaises(ValueError):
            study.part_of(text, "three")

    def test_lines_are_what_cloc_says_of_each_kernel(self):
        cloc = self.build / "cloc"
        cloc.write_text('#!/bin/sh\nfor f; do :; done\necho language,filename,blank,comment,code,x\n'
                        'for p in "$f"/*; do echo "C++,$p,0,0,$(wc -l < "$p")"; done\necho "SUM,,0,0,7"\n')
        cloc.chmod(0o755)
        counted = study.count_lines(cloc=str(cloc))
        self.assertEqual(len(counted), len(list(study.sources())))
        whole = (study.ROOT / "apps/bale/transpose_lambda.hpp").read_text()
        self.assertEqual(counted["shunt lambda", "transpose"], whole.count("\n"))
        out = io.StringIO()
        study.show_lines(out, counted)
        self.assertIn(str(whole.count("\n")), self.line(out.getvalue(), "shunt lambda"))
        natural = [(study.ROOT / f"apps/bale/{app}_natural.hpp").read_text().count("\n") for app in study.SEVEN]
        self.assertEqual(self.line(out.getvalue(), "shunt natural"), [str(n) for n in natural])
        self.assertEqual(self.line(out.getvalue(), "UPC, published"), ["18", "16", "37", "41", "72", "43", "43"])

    def test_without_cloc_table_2_is_one_line(self):
        which, study.shutil.which = study.shutil.which, lambda name: None
        self.addCleanup(setattr, study.shutil, "which", which)
        out = io.StringIO()
        study.show_lines(out)
        self.assertEqual(out.getvalue().splitlines()[1:],
                         ["table 2, source lines of the kernels, by cloc",
                          "absent: table 2: no cloc (Debian: cloc)"])


if __name__ == "__main__":
    unittest.main()

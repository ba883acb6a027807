#!/usr/bin/env python3
"""What bench.py promises about its exit code, its record and what it says, on made-up programs."""

import io
import contextlib
import json
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

import bench

RIGHT = """echo '{"seconds": 0.02, "checked": true, "triangles": 7, "wedges": 9}'"""


def right_with(key, value):
    return RIGHT.replace("}", f', "{key}": {value}}}')


class MadeUp(unittest.TestCase):
    """A build of made-up programs."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.build = pathlib.Path(folder.name)
        (self.build / "bench").mkdir()
        self.put("distance", """echo '{"round_trip_ns": 100.0, "instruction_windows": [432, null]}'""")
        (self.build / "bench" / "bench_systems.json").write_text(json.dumps(
            {"compiler": "none", "oshrun": "", "mpirun": "", "absent": {}}))

    def put(self, name, script):
        program = self.build / "bench" / name
        program.write_text("#!/bin/sh\n" + script + "\n")
        program.chmod(0o755)

    def run_bench(self, *arguments):
        """(exit code, stdout, stderr)"""
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = bench.main([*arguments, "--build-dir", str(self.build)])
        return code, out.getvalue(), err.getvalue()


class Driver(MadeUp):
    def test_unknown_table_and_unknown_system_are_one_line_and_exit_2(self):
        for arguments in [["nothing"], ["histogram", "--only", "no-system"], ["histogram", "--samples",
                          "0"], ["histogram", "--json", "/nowhere/at/all"]]:
            code, out, err = self.run_bench(*arguments)
            self.assertEqual((code, out, err.count("\n")), (2, "", 1), arguments)

    def test_right_answers_exit_0_and_are_recorded_with_absent_rivals_named(self):
        self.put("histogram_ceiling", RIGHT)
        record = self.build / "record"
        code, out, _ = self.run_bench("histogram", "--json", str(record))
        self.assertEqual(code, 0)
        for system in ["openshmem", "mpi_rma", "shunt"]:
            self.assertIn(f"absent: {system}: not built\n", out)
        lines = [json.loads(line) for line in record.read_text().splitlines()]
        self.assertEqual(len(lines), 1)
        self.assertEqual(lines[0]["metric"], "ns_per_update")
        self.assertEqual(lines[0]["samples"], [2.0] * 5)
        self.assertEqual(lines[0]["params"],
                         {"pes": 2, "updates_per_pe": 10_000_000, "table_per_pe": 1_000})
        self.assertEqual(lines[0]["machine"]["core_round_trip_ns"], [100.0] * 5)
        self.assertEqual(lines[0]["machine"]["instruction_windows"], [[432, None]] * 5)
        dates = lines[0]["machine"]["date"]  # one a repetition
        self.assertEqual(len(dates), 5)
        for date in dates:
            self.assertRegex(date, r"^\d{4}-\d\d-\d\dT\d\d:\d\dZ$")
        self.assertEqual(lines[0]["versions"], {})

    def test_the_versions_that_a_rival_depends_on_are_recorded_with_its_rows(self):
        self.put("java", f"if [ $1 = -version ]; then echo made up 6.5; else {RIGHT}; fi")
        systems = self.build / "bench" / "bench_systems.json"
        systems.write_text(json.dumps(json.loads(systems.read_text()) | {"java": str(self.build / "bench" / "java")}))
        for name in ["pingpong_pekko", "pekko-actor-typed_2.13-7.8.9.jar"]:
            (self.build / "bench" / name).touch()
        record = self.build / "record"
        code, out, err = self.run_bench("pingpong", "--only", "pekko", "--samples", "1", "--json", str(record))
        self.assertEqual(code, 0, out + err)
        row = json.loads(record.read_text().splitlines()[0])
        self.assertEqual(row["versions"], {"pekko-actor-typed": "7.8.9", "Java": "made up 6.5"})

    def test_our_rows_have_the_version_of_mpi_where_they_run_over_it(self):
        kinds = {("shunt", transport) for transport in ["threads", "processes", "mpi", "network"]} | {("go", "")}
        found = bench.versions.recorded_with(kinds, self.build, None)
        self.assertEqual({transport: list(found["shunt", transport]) for _, transport in kinds if transport},
                         {"threads": [], "processes": [], "mpi": ["Open MPI"], "network": ["Open MPI"]})
        self.assertEqual(list(found["go", ""]), ["Go"])

    def test_forkjoin_compares_with_the_serial_time_of_the_same_process(self):
        for system in ["openmp", "shunt"]:
            self.put(f"forkjoin_{system}",
                     "echo '{\"seconds\": 0.03, \"serial_seconds\": 0.02, \"checked\": true}'")
        record = self.build / "record"
        code, out, _ = self.run_bench("forkjoin", "--json", str(record))
        self.assertEqual(code, 0)
        self.assertIn("absent: tbb: not built\n", out)
        lines = [json.loads(line) for line in record.read_text().splitlines()]
        self.assertEqual([(r["params"]["workers"], r["params"]["what"], r["metric"], r["median"])
                          for r in lines if r["system"] == "shunt"],
                         [(n, *rest) for n in [1, 2] for rest in
                          [("fib", "ratio_to_serial", 1.5), ("nqueens", "ratio_to_serial", 1.5),
                           ("parallel_for", "ns_per_body", 3.0), ("parallel_for", "ns_per_body", 300.0)]])

    def test_matmul_and_dft_are_seconds_of_teams_of_threads(self):
        log = self.build / "log"
        for name in ["matmul_openblas", "matmul_threads", "matmul_shunt", "dft_serial", "dft_threads",
                     "dft_shunt"]:
            self.put(name, f"echo {name} \"$@\" >> {log}; {RIGHT}")
        for table in ["matmul", "dft"]:
            record = self.build / f"record of {table}"
            code, out, _ = self.run_bench(table, "--samples", "1", "--json", str(record))
            self.assertEqual(code, 0)
            self.assertNotIn("absent", out)
            for line in record.read_text().splitlines():
                self.assertEqual((json.loads(line)["metric"], json.loads(line)["median"]),
                                 ("seconds", 0.02))
        tail = "--samples 1 --warmup 1"
        waiting = f"--variant fibers {tail}"
        tiles = "--pes 2 --what tiles --rows 6000 --columns 7000"
        loops = "--pes 2 --what loops --rows 1500 --columns 1750"
        self.assertEqual(log.read_text().splitlines(),
                         [f"matmul_openblas {tiles} {tail}", f"matmul_threads {tiles} {tail}",
                          *(f"matmul_shunt {tiles} {how}" for how in [tail, waiting]),
                          f"matmul_threads {loops} {tail}", *(f"matmul_shunt {loops} {how}" for how in [tail, waiting]),
                          *(f"dft_{system} --pes 2 --scale 12 {tail}" for system in ["serial", "threads", "shunt"]),
                          f"dft_shunt --pes 2 --scale 12 {waiting}"])

    def test_heat_is_seconds_and_a_ratio_and_openmp_waits_in_two_ways(self):
        log = self.build / "log"
        for system, seconds in [("serial", 0.04), ("openmp", 0.025), ("templet", 0.08), ("shunt", 0.02)]:
            self.put(f"heat_{system}", f"echo {system} \"$@\" | sed 's| /[^ ]*/| |' >> {log}; "
                     f"echo '{{\"seconds\": {seconds}, \"checked\": true}}'")
        record = self.build / "record"
        code, out, _ = self.run_bench("heat", "--quick", "--samples", "1", "--json", str(record))
        self.assertEqual(code, 0)
        lines = [json.loads(line) for line in record.read_text().splitlines()]
        ours = [line for line in lines if line["system"] == "shunt"]
        self.assertEqual([(r["params"]["rows"], r["params"]["columns"], r["params"]["steps"], r["metric"], r["median"])
                          for r in ours],
                         [(*size, *m) for size in [(200, 400, 400), (400, 64, 1_000), (400, 16, 1_000), (64, 64, 64)]
                          for _ in ["", "typed"] for m in [("seconds", 0.02), ("ratio_to_serial", 0.5)]])
        self.assertEqual({line.split()[-2] for line in out.splitlines() if line.startswith("shunt")}, {"0.80"})
        calls = log.read_text().splitlines()
        self.assertEqual(calls[:3], ["serial --pes 2 --rows 200 --columns 400 --rounds 400 "
                                     "--samples 1 --warmup 0 --oracle 200x400x400",
                                     *(f"openmp --pes 2 --rows 200 --columns 400 --rounds 400 --variant {v} "
                                       "--samples 1 --warmup 0 --oracle 200x400x400" for v in ["active", "passive"])])
        self.assertTrue(any(c.endswith("--columns 16 --rounds 1000 --samples 1 --warmup 1 --oracle 400x16x1000")
                            for c in calls))
        self.assertTrue(calls[-1].endswith("--depth 64 --rounds 64 --variant typed --samples 1 --warmup 1 "
                                           "--oracle 64x64x64x64"), calls[-1])

    def test_where_leaves_rows_out_and_a_value_that_none_has_is_told(self):
        log = self.build / "log"
        self.put("railway_shunt", f"echo \"$@\" >> {log}; "
                 "echo '{\"seconds\": 1.0, \"checked\": true, \"goods\": 10}'")
        code, _, _ = self.run_bench("railway", "--quick", "--samples", "1", "--only", "shunt",
                                    "--where", "producers=3,capacity=10")
        self.assertEqual(code, 0)
        calls = log.read_text().splitlines()
        self.assertEqual(len(calls), 2)
        self.assertTrue(all("--producers 3 --consumers 1 --capacity 10 " in c for c in calls), calls)
        self.put("costs_shunt", RIGHT.replace("}", ', "operations": 10}'))
        self.assertEqual(self.run_bench("costs", "--quick", "--where", "what=file_read_helper")[0], 0)
        for wrong, told in [("producers=4", "producers is one of 1, 2, 3"), ("colour=3", "no row has that parameter")]:
            code, _, problem = self.run_bench("railway", "--where", wrong)
            self.assertEqual(code, 2)
            self.assertIn(f"bench.py: --where {wrong}: no row; {told}", problem)

    def test_railway_has_circles_of_three_systems_and_queues_for_single_goods_only(self):
        said = '{"seconds": 1.0, "checked": true, "goods": 10000000, "processors": 1.5}'
        java = self.build / "java"
        java.write_text(f"#!/bin/sh\necho '{said}'\n")
        java.chmod(0o755)
        (self.build / "bench" / "bench_systems.json").write_text(json.dumps(
            {"compiler": "none", "mpirun": "", "oshrun": "", "java": str(java), "absent": {}}))
        for name in ["ceiling", "loop", "threads", "boost_spsc", "disruptor", "jctools", "article", "queue", "shunt"]:
            self.put(f"railway_{name}", f"echo '{said}'")
        record = self.build / "record"
        self.assertEqual(self.run_bench("railway", "--quick", "--samples", "1", "--json", str(record))[0], 0)
        rows = [json.loads(line) for line in record.read_text().splitlines()]
        self.assertEqual({r["system"] for r in rows if "what" in r["params"]}, {"ceiling", "article", "shunt"})
        self.assertEqual({r["params"]["capacity"] for r in rows if r["system"] in ["jctools", "queue"]}, {1})
        self.assertEqual({(r["metric"], r["median"]) for r in rows}, {("million_per_s", 10.0), ("processors", 1.5)})

    def test_heat_without_the_sequential_program_has_no_ratio_to_it(self):
        self.put("heat_shunt", RIGHT)
        record = self.build / "record"
        self.assertEqual(self.run_bench("heat", "--quick", "--only", "shunt", "--json", str(record))[0], 0)
        self.assertEqual({json.loads(line)["metric"] for line in record.read_text().splitlines()}, {"seconds"})

    def test_actors_have_rivals_on_the_jvm_and_in_cpp(self):
        self.put("pingpong_caf", RIGHT)
        java = self.build / "java"
        (self.build / "bench" / "bench_systems.json").write_text(json.dumps(
            {"compiler": "none", "oshrun": "", "mpirun": "", "java": str(java), "absent": {"pingpong_go": "no go"}}))
        java.write_text(f"#!/bin/sh\necho \"$@\" > {self.build}/log; {RIGHT}\n")
        java.chmod(0o755)
        self.put("pingpong_pekko", "exit 1")
        code, out, _ = self.run_bench("pingpong", "--quick", "--samples", "1", "--pes", "1")
        self.assertEqual(code, 0)
        self.assertIn("absent: go: no go\n", out)
        self.assertRegex((self.build / "log").read_text(),
                         "-jar .*/pingpong_pekko --pes 1 --what strict --rounds 2000000 ")
        self.assertEqual([line.split()[0] for line in out.splitlines() if " million_per_s " in line],
                         ["pekko", "caf"] * 2)

    def test_two_queues_are_between_two_threads_hence_no_row_of_one_worker(self):
        rows = bench.make_rows("pingpong", ["queue"], False, None)
        self.assertEqual([(row.params["workers"], row.params["form"]) for row in rows], [(2, "article"), (2, "strict")])
        self.assertEqual(rows[1].arguments, ["--pes", "2", "--what", "strict", "--rounds", "300000"])
        self.assertIn(("pingpong", "queue"), bench.ON_THE_JVM)

    def test_transactions_tell_what_they_cost_if_asked_to(self):
        share = RIGHT.replace("}", ', "share": 1, "aborts_per_commit": 0}')
        self.put("stm-si_shunt", f"""case "$*" in *"--stats 1"*) echo "hot" >&2;; esac; {share}""")
        code, out, _ = self.run_bench("stm-si", "--quick", "--only", "shunt", "--samples", "2", "--stats")
        self.assertEqual(code, 0)
        self.assertEqual(out.count("hot"), out.count("threads = "))
        self.assertGreater(out.count("hot"), 0)
        self.assertNotIn("hot", self.run_bench("stm-si", "--quick", "--only", "shunt", "--samples", "1")[1])
        self.assertEqual(self.run_bench("histogram", "--stats")[0], 2)

    def test_transactions_have_so_many_workers_as_are_asked_for_and_as_before_by_default(self):
        log = self.build / "log"
        self.put("stm-si_shunt", f'echo "$@" >> {log}; ' + right_with("share", 1))
        asked = ["stm-si", "--quick", "--only", "shunt", "--samples", "1", "--where", "threads=8"]
        record = self.build / "record"
        self.assertEqual(self.run_bench(*asked, "--workers", "3", "--pes", "1", "--json", str(record))[0], 0)
        self.assertEqual(log.read_text().splitlines()[0], "--pes 3 --fibers 8 --updates 1000000 --milliseconds 100 "
                         "--variant adaptive --samples 1 --warmup 1")
        self.assertEqual({json.loads(line)["params"]["workers"] for line in record.read_text().splitlines()}, {1, 3})
        log.unlink()
        self.assertEqual(self.run_bench(*asked)[0], 0)
        self.assertNotIn("--pes", log.read_text())

    def test_what_a_rival_does_not_know_is_no_row_of_its_own_and_not_compared(self):
        self.put("stm-si_shunt", RIGHT.replace("}", ', "share": 1, "aborts_per_commit": 0.5}'))
        for system in ["mutex", "atomic"]:
            self.put(f"stm-si_{system}", RIGHT.replace("}", ', "share": 1}'))
        code, out, _ = self.run_bench("stm-si", "--quick", "--only", "shunt,mutex,atomic", "--samples", "2")
        self.assertEqual(code, 0)
        of_aborts = [line.split() for line in out.splitlines() if "aborts_per_commit" in line]
        self.assertEqual({line[0] for line in of_aborts}, {"shunt"})
        self.assertEqual({line[-2] for line in of_aborts}, {"-"})

    def test_the_published_list_has_no_shares_and_ghc_has_its_flags_there_only(self):
        log = self.build / "log"
        right = RIGHT.replace("}", ', "operations": 10, "share": 1}')
        self.put("stm-ll_mutex", right)
        self.put("stm-ll_ghc", f"echo \"$@\" >> {log}; " + right.replace("}", ', "aborts_per_commit": 0.5}'))
        record = self.build / "record"
        code, _, _ = self.run_bench("stm-ll", "--quick", "--only", "mutex,ghc", "--samples", "1", "--json", str(record))
        self.assertEqual(code, 0)
        lines = [json.loads(line) for line in record.read_text().splitlines()]
        published = [line for line in lines if "operations" in line["params"]]
        self.assertEqual({line["metric"] for line in published if line["system"] == "mutex"},
                         {"ns_per_operation", "million_ops_per_s"})
        self.assertIn("share", {line["metric"] for line in lines})
        self.assertEqual({line["variant"] for line in lines if "operations" not in line["params"]},
                         {"", "one", "two"})
        self.assertEqual(len({line["variant"] for line in published if line["system"] == "ghc"}), 8)
        with_flags = [line for line in log.read_text().splitlines() if "+RTS" in line]
        self.assertTrue(all(" --what operations " in line for line in with_flags))
        self.assertEqual({line.split()[line.split().index("+RTS") + 1] for line in with_flags},
                         {"-C1000", "-V0", "-C0"})

    def test_a_rival_of_one_way_is_compared_with_that_way_only(self):
        for system, seconds in [("openblas", 0.02), ("threads", 0.04), ("shunt", 0.01)]:
            self.put(f"matmul_{system}", RIGHT.replace("0.02", str(seconds)))
        code, out, _ = self.run_bench("matmul", "--quick", "--pes", "2")
        self.assertEqual(code, 0)
        ours = [line.split() for line in out.splitlines() if line.startswith("shunt")]
        self.assertEqual([(line[1], line[4].rstrip(","), line[-2]) for line in ours],
                         [(how, what, ratio) for what, ratio in [("tiles", "0.50"), ("loops", "0.25")]
                          for how in ["-", "fibers"]])

    def test_failed_programs_exit_1_and_leave_no_record(self):
        for script, reason in [("echo 'x: wrong answer: sum is 1' >&2; exit 1", "wrong answer: sum"),
                               ("kill -SEGV $$", "signal 11"),
                               (RIGHT + "; exit 139", "exit 139"),
                               ("echo '{\"seconds\": 1.0, \"checked\": false}'", "not checked"),
                               ("true", "0 samples"),
                               ("echo '{\"seconds\": 0, \"checked\": true}'", "impossible"),
                               ("sleep 60", "no answer within 1 s")]:
            self.put("histogram_ceiling", script)
            record = self.build / "record"
            code, out, _ = self.run_bench("histogram", "--only", "ceiling", "--json",
                                          str(record), "--timeout",
                                          "1" if script == "sleep 60" else "100")
            self.assertEqual(code, 1, script)
            self.assertIn("FAILED", out)
            self.assertIn(reason, out)
            self.assertEqual(record.read_text(), "")

    def test_a_count_that_differs_from_the_oracle_is_wrong_though_its_program_is_content(self):
        self.put("triangle_serial", RIGHT)
        self.put("triangle_ceiling", RIGHT.replace("7", "8"))
        code, out, _ = self.run_bench("triangle", "--quick")
        self.assertEqual(code, 1)
        self.assertIn("triangles [8], but serial has 7", out)

    def test_what_a_program_says_of_its_fibers_becomes_time_a_switch_and_bytes_a_fiber(self):
        for table, key, said, metric, value in [
                ("switch", "switches", 1000, "ns_per_switch", 20_000.0),
                ("memory", "resident_bytes", 5000, "bytes_per_fiber", 5.0)]:
            self.put(f"{table}_ceiling", right_with(key, said))
            record = self.build / f"record of {table}"
            code, _, _ = self.run_bench(table, "--quick", "--only", "ceiling", "--json", str(record))
            self.assertEqual(code, 0)
            lines = [json.loads(line) for line in record.read_text().splitlines()]
            self.assertEqual({line["metric"] for line in lines}, {metric})
            line = next(one for one in lines if one["params"]["fibers"] == 1_000)
            self.assertEqual(line["samples"], [value] * 3)

    def test_a_program_of_parked_fibers_tells_what_its_whole_process_takes(self):
        for system, said in [("ceiling", 4_000_000), ("go", 6_000_000)]:
            right = right_with("resident_bytes", 5000)
            self.put(f"memory_{system}", right.replace("}", f', "process_bytes": {said}}}'))
        record = self.build / "record"
        code, out, _ = self.run_bench("memory", "--quick", "--only", "ceiling,go", "--json", str(record))
        self.assertEqual(code, 0)
        lines = [json.loads(line) for line in record.read_text().splitlines()]
        self.assertEqual({(line["system"], line["unit"], line["median"]) for line in lines
                          if line["metric"] == "process_bytes"},
                         {("ceiling", "bytes", 4_000_000), ("go", "bytes", 6_000_000)})
        of_go = [line.split() for line in out.splitlines() if line.startswith("go") and "process_bytes" in line]
        self.assertEqual([line[-3] for line in of_go], ["1.50"] * 2)

    def test_an_echo_server_may_tell_what_memory_its_connections_take(self):
        self.put("echo_ceiling", RIGHT)
        self.put("echo_shunt", right_with("resident_bytes", 5_000_000))
        record = self.build / "record"
        self.assertEqual(self.run_bench("echo", "--quick", "--json", str(record))[0], 0)
        lines = [json.loads(line) for line in record.read_text().splitlines()]
        found = {(line["system"], line["metric"]): line["median"]
                 for line in lines if line["params"]["connections"] == 1_000}
        self.assertEqual(found["shunt", "bytes_per_connection"], 5_000)
        self.assertEqual(set(found), {("ceiling", "ns_per_message"), ("shunt", "ns_per_message"),
                                      ("shunt", "bytes_per_connection")})

    def test_an_echo_server_may_tell_how_long_it_was_outside_of_the_kernel(self):
        self.put("echo_ceiling", RIGHT)
        self.put("echo_shunt", right_with("user_seconds", 0.0125))
        record = self.build / "record"
        self.assertEqual(self.run_bench("echo", "--quick", "--json", str(record))[0], 0)
        lines = [json.loads(line) for line in record.read_text().splitlines()]
        found = {(line["system"], line["metric"]): line["median"]
                 for line in lines if line["params"]["connections"] == 1_000}
        self.assertEqual(found["shunt", "user_ns_per_message"], 250)
        self.assertNotIn(("ceiling", "user_ns_per_message"), found)

    def test_key_value_servers_are_asked_alike_and_more_requests_a_second_are_better(self):
        log = self.build / "log"
        for system, seconds in [("redis", 0.2), ("shunt", 0.1)]:
            self.put(f"key_value_{system}", f"echo {system} \"$@\" >> {log}; "
                     f"echo '{{\"seconds\": {seconds}, \"checked\": true}}'")
        record = self.build / "record"
        code, out, _ = self.run_bench("key_value", "--quick", "--samples", "1", "--json", str(record))
        self.assertEqual(code, 0)
        turns = log.read_text().splitlines()
        options = "--what set --pipeline 16 --connections 500 --rounds 100000"
        self.assertEqual(turns[:3], [f"redis {options} --samples 1 --warmup 1",
                                     f"shunt {options} --variant two --samples 1 --warmup 1",
                                     f"shunt {options} --variant one --samples 1 --warmup 1"])
        self.assertEqual(len(turns), 3 * 4)
        lines = [json.loads(line) for line in record.read_text().splitlines()]
        self.assertEqual({(r["system"], r["median"]) for r in lines if r["params"]["pipeline"] == 16},
                         {("redis", 0.5), ("shunt", 1.0)})
        self.assertEqual(len([line for line in out.splitlines() if line.startswith("shunt") and "  2.00" in line]), 8)

    def test_costs_are_ns_of_an_operation_that_the_program_counts(self):
        log = self.build / "log"
        self.put("costs_shunt", f'echo "$@" >> {log}; ' + right_with("operations", 1_000_000))
        record = self.build / "record"
        self.assertEqual(self.run_bench("costs", "--samples", "1", "--json", str(record))[0], 0)
        turns = log.read_text().splitlines()
        self.assertEqual(turns[0], "--what ticks --updates 20000000 --samples 1 --warmup 1")
        lines = [json.loads(line) for line in record.read_text().splitlines()]
        self.assertEqual({(r["system"], r["variant"], r["metric"], r["unit"], r["median"]) for r in lines},
                         {("shunt", "", "ns_per_operation", "ns", 20.0)})
        self.assertEqual([r["params"] for r in lines], [{"what": what} for what in bench.COSTS])

    def test_rows_of_fibers_have_no_pes_and_each_order_and_variant(self):
        log = self.build / "log"
        for table, key in [("switch", "switches"), ("memory", "resident_bytes")]:
            self.put(f"{table}_shunt", f'echo "$@" >> {log}; ' + right_with(key, 1))
        for table in ["switch", "memory"]:
            self.assertEqual(self.run_bench(table, "--quick", "--samples", "1")[0], 0)
        turns = log.read_text().splitlines()
        self.assertEqual(turns[0], "--fibers 2 --order fifo --milliseconds 50 --samples 1 --warmup 1")
        for order in ["fifo", "random", "chain"]:
            self.assertEqual(len([t for t in turns if f"--order {order} " in t]), 2 * 3)
        self.assertIn("--fibers 1000 --variant small --samples 1 --warmup 1", turns)
        self.assertEqual(self.run_bench("switch", "--pes", "2")[0], 2)

    def test_what_the_machine_does_not_give_is_absent_and_no_failure(self):
        self.put("switch_ceiling", right_with("switches", 1))
        self.put("switch_threads", "echo 'x: absent: 9 wanted, 3 given' >&2; exit 3")
        code, out, _ = self.run_bench("switch", "--quick")
        self.assertEqual(code, 0)
        self.assertIn("absent: threads: 9 wanted, 3 given\n", out)
        self.assertNotIn("FAILED", out)

    def test_fibers_that_memory_cannot_hold_are_absent(self):
        self.put("memory_shunt", "exit 1")
        memory, bench.free_memory = bench.free_memory, lambda: 2_000_000_000
        self.addCleanup(setattr, bench, "free_memory", memory)
        _, out, _ = self.run_bench("memory", "--samples", "1")
        self.assertIn("absent: shunt: 1,000,000 fibers need up to 12.3 GB of memory, 2.0 are free", out)

    def test_nothing_to_run_exits_1(self):
        self.assertEqual(self.run_bench("superstep")[0], 1)

    def test_who_is_stopped_shows_what_there_is(self):
        # A shell that started this in the background has it ignored.
        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))
        seen = self.build / "seen"
        self.put("histogram_ceiling", f"if [ -e {seen} ]; then kill -INT $PPID; sleep 9; fi; touch {seen}; {RIGHT}")
        record = self.build / "record"
        code, out, err = self.run_bench("histogram", "--only", "ceiling", "--json", str(record))
        self.assertEqual(code, 130)
        self.assertIn("so far", err)
        self.assertEqual(sum(line.startswith("ceiling") for line in out.splitlines()), 1)
        self.assertEqual(len(record.read_text().splitlines()), 1)

    def test_darts_are_thrown_by_systems_that_send_single_items(self):
        log = self.build / "log"
        for system in bench.SYSTEMS["bale"]:
            if system not in bench.LAUNCHED:
                self.put(f"bale_{system}", f"echo {system} \"$@\" >> {log}; {RIGHT}")
        code, out, _ = self.run_bench("bale", "--quick", "--samples", "1")
        self.assertEqual(code, 0)
        turns = log.read_text().splitlines()
        self.assertEqual([t for t in turns if " darts " in t],
                         ["shunt --pes 2 --what darts --rows 100000 --row-nonzeros 0 --variant lambda "
                          "--transport threads --samples 1 --warmup 4"])  # there is no mpirun here
        self.assertEqual(len([t for t in turns if t.startswith("ceiling")]), 6)
        for system in ["mpi", "openshmem", "mpi_rma"]:
            self.assertIn(f"absent: {system}: not built\n", out)
        rows = bench.make_rows("bale", ["openshmem", "mpi_rma", "mpi"], True, None)
        self.assertEqual([(r.system, r.variant) for r in rows if r.params["what"] == "darts"],
                         [("openshmem", "blocking"), ("openshmem", "nbi"), ("mpi_rma", "")])

    def test_a_natural_form_is_compared_with_the_lambda_form_of_its_transport_and_repetition(self):
        for table in ["histogram", "bale"]:
            self.put(f"{table}_shunt", 'case "$*" in *natural*|*indices*) s=0.03;; *class*) s=0.01;; *) s=0.02;; esac; '
                     """echo "{\\"seconds\\": $s, \\"checked\\": true}\"""")
            record = self.build / f"record of {table}"
            code, out, _ = self.run_bench(table, "--quick", "--samples", "2", "--json", str(record))
            self.assertEqual(code, 0)
            ratios = [r for r in map(json.loads, record.read_text().splitlines()) if r["metric"] == "ratio_to_lambda"]
            # Two PEs, and more of them; six of the seven programs.
            variants = {"histogram": ["natural", "indices"] + ["natural"] * 4, "bale": ["natural"] * 6}[table]
            self.assertEqual([(r["variant"], r["params"]["transport"]) for r in ratios],
                             [(variant, "threads") for variant in variants])
            for row in ratios:
                self.assertEqual((row["unit"], [round(s, 9) for s in row["samples"]]), ("1", [1.5, 1.5]))
            self.assertIn("ratio_to_lambda", out)
        rows = bench.make_rows("triangle", ["shunt"], True, None)
        self.assertEqual({r.variant for r in rows}, {"lambda", "class", "natural", "wedge"})

    def test_kmers_of_both_systems_have_one_histogram(self):
        log = self.build / "log"
        for system, seconds in [("jellyfish", 0.2), ("shunt", 0.1)]:
            self.put(f"kmers_{system}", f"echo {system} \"$@\" >> {log}; echo '{{\"seconds\": {seconds}, "
                     "\"checked\": true, \"kmers\": 100000, \"sum\": 7}'")
        record = self.build / "record"
        self.assertEqual(self.run_bench("kmers", "--quick", "--samples", "1", "--json", str(record))[0], 0)
        options = "--k 21 --canonical 0 --bases 2000000 --variant"
        self.assertEqual(log.read_text().splitlines()[:4],
                         [f"{system} {options} {variant} --samples 1 --warmup 1"
                          for system in ["jellyfish", "shunt"] for variant in ["two", "one"]])
        lines = [json.loads(line) for line in record.read_text().splitlines()]
        self.assertEqual({(r["system"], r["metric"], r["median"]) for r in lines},
                         {("jellyfish", "million_per_s", 0.5), ("shunt", "million_per_s", 1.0)})
        self.put("kmers_shunt", "echo '{\"seconds\": 0.1, \"checked\": true, \"kmers\": 100000, \"sum\": 8}'")
        code, out, _ = self.run_bench("kmers", "--quick", "--samples", "1")
        self.assertEqual(code, 1)
        self.assertIn("wrong answer: sum [8], but jellyfish has 7", out)

    def test_random_access_has_its_rival_by_the_rules_only(self):
        log = self.build / "log"
        for system, seconds in [("hpcc", 0.2), ("shunt", 0.1)]:
            self.put(f"random_access_{system}", f"echo {system} \"$@\" >> {log}; "
                     f"echo '{{\"seconds\": {seconds}, \"checked\": true, \"operations\": 262144}}'")
        record = self.build / "record"
        self.assertEqual(self.run_bench("random_access", "--quick", "--samples", "1", "--json", str(record))[0], 0)
        turns = log.read_text().splitlines()
        self.assertEqual(turns[0], "hpcc --pes 2 --scale 16 --table 1024 --samples 1 --warmup 1")
        self.assertEqual([t.split(" --variant")[0] for t in turns[1:]],
                         [f"shunt --pes 2 --scale 16 --table {held}" for held in [1024, 1024, 0, 0]])
        lines = [json.loads(line) for line in record.read_text().splitlines()]
        self.assertEqual({(r["system"], r["metric"], r["unit"], r["median"]) for r in lines},
                         {(system, "gups", "1e9/s", 262144 / seconds / 1e9)
                          for system, seconds in [("hpcc", 0.2), ("shunt", 0.1)]})

    def test_one_pe_over_two_ranks_is_absent_and_no_failure(self):
        (self.build / "bench" / "bench_systems.json").write_text(json.dumps(
            {"compiler": "none", "oshrun": "", "mpirun": "/bin/false", "absent": {}}))
        self.put("histogram_shunt", RIGHT)
        code, out, _ = self.run_bench("histogram", "--quick", "--samples", "1", "--pes", "1")
        self.assertEqual(code, 0)
        self.assertIn("absent: shunt: between processes it runs on 2 ranks, hence with as many PEs at least\n", out)
        self.assertEqual(self.run_bench("histogram", "--quick", "--samples", "1", "--pes", "2")[0], 1)

    def test_systems_take_turns(self):
        log = self.build / "log"
        for name in ["histogram_ceiling", "histogram_shunt"]:
            self.put(name, f"echo {name} \"$@\" >> {log}; {RIGHT}")
        code, _, _ = self.run_bench("histogram", "--samples", "2", "--pes", "2")
        self.assertEqual(code, 0)
        turns = log.read_text().splitlines()
        half = len(turns) // 2
        self.assertEqual(turns[:half], turns[half:])
        self.assertEqual(turns[0], "histogram_ceiling --pes 2 --updates 10000000 --table 1000 "
                                   "--samples 1 --warmup 1")
        self.assertEqual(turns[1], "histogram_shunt --pes 2 --updates 10000000 --table 1000 --variant "
                                   "lambda --transport threads --samples 1 --warmup 1")



class HpcChallenge(unittest.TestCase):
    """What random_access/hpcc.py takes from the suite's output."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_suite(self, said, status=0):
        """(exit code, stdout, stderr) where the suite writes that into its file."""
        suite, launcher = self.folder / "hpcc", self.folder / "mpirun"
        suite.write_text(f"#!/bin/sh\ncp hpccinf.txt {self.folder}/input\ncat > hpccoutf.txt <<'E'\n{said}\nE\n"
                         f"exit {status}\n")
        launcher.write_text('#!/bin/sh\nfor a; do case $a in */hpcc) exec "$a";; esac; done\n')
        for program in [suite, launcher]:
            program.chmod(0o755)
        script = pathlib.Path(bench.__file__).parent / "random_access" / "hpcc.py"
        command = [sys.executable, script, suite, launcher, "--pes", "2", "--scale", "4", "--table", "1024"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    def said(self, **changed):
        values = {"N": 16, "time": 0.5, "Errors": 0, "ExeUpdates": 64, "GUPs": 1} | changed
        return "\n".join(f"MPIRandomAccess_{name}={value}" for name, value in values.items())

    def test_a_right_run_is_a_sample(self):
        code, out, _ = self.run_suite(self.said())
        self.assertEqual(code, 0)
        self.assertEqual(json.loads(out), {"seconds": 0.5, "checked": True, "operations": 64})
        lines = (self.folder / "input").read_text().splitlines()
        self.assertEqual((lines[5], lines[10], lines[11]), ("4", "1", "2"))  # 24 elements of a matrix; 1 x 2 processes

    def test_a_wrong_run_is_none(self):
        for said, why in [(self.said(N=32), "a table of 32 words, expected 2^4"),
                          (self.said(Errors=1), "1 wrong words of 16"),
                          (self.said(ExeUpdates=63), "63 updates, expected 64"),
                          ("nothing", "the suite says nothing of MPIRandomAccess")]:
            code, out, err = self.run_suite(said)
            self.assertEqual((code, out, err.count("\n")), (1, "", 1), said)
            self.assertIn(why, err)
        self.assertEqual(self.run_suite(self.said(), status=3)[0], 1)


if __name__ == "__main__":
    unittest.main()

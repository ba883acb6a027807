#!/usr/bin/env python3
"""Measures one published table, every system side by side, and says whether the answers were right.

    bench.py TABLE [--quick] [--json FILE] [--only SYSTEM,...] [--where NAME=VALUE,...] [--samples N] [--pes N]...
             --build-dir DIR

Systems take turns (A B C A B C ...), one process and one sample a turn, because the state of a
shared machine changes within minutes: a ratio is the median of the ratios within one repetition,
never of medians that were taken at different times. Before each repetition the distance between two
cores is measured; it explains most of what differs between two runs of a table.

Exit: 0 all that was run was right; 1 a wrong answer, a crash or nothing to run; 2 a bad command line.
"""

import argparse
import contextlib
import dataclasses
import datetime
import json
import os
import pathlib
import platform
import signal
import statistics
import subprocess
import sys
import tempfile

from report import versions
from study import tables as study

SYSTEMS = {  # in the order of their turns
    "histogram": ["ceiling", "openshmem", "mpi_rma", "shunt"],
    "index_gather": ["ceiling", "openshmem", "mpi_rma", "shunt"],
    "triangle": ["ceiling", "serial", "openshmem", "mpi_rma", "shunt"],
    "bale": ["ceiling", "mpi", "openshmem", "mpi_rma", "shunt"],
    "bfs": ["mpi", "shunt"],
    "superstep": ["ceiling", "openshmem", "mpi_rma", "mpi", "shunt"],
    "forkjoin": ["openmp", "libomp", "tbb", "go", "shunt"],
    "echo": ["ceiling", "asio", "go", "tokio", "shunt"],
    "key_value": ["redis", "shunt"],
    "switch": ["ceiling", "boost_context", "boost_fiber", "swapcontext", "threads", "go", "loom",
               "shunt"],
    "memory": ["ceiling", "boost_context", "boost_fiber", "swapcontext", "threads", "go", "loom",
               "shunt"],
    "matmul": ["openblas", "threads", "shunt"],
    "dft": ["serial", "threads", "shunt"],
    "latency": ["ceiling", "shunt"],
    "railway": ["ceiling", "loop", "threads", "boost_spsc", "disruptor", "jctools", "article", "queue", "shunt"],
    "stm-si": ["mutex", "atomic", "libitm", "ghc", "shunt"],
    "stm-ll": ["mutex", "libitm", "ghc", "shunt"],
    "heat": ["serial", "java", "openmp", "templet", "pekko", "shunt"],
    "pingpong": ["ceiling", "go", "pekko", "caf", "queue", "shunt"],
    "fanin": ["ceiling", "go", "pekko", "caf", "shunt"],
    "channel": ["threads", "go", "shunt"],
    "daq": ["ceiling", "threads", "go", "tokio", "shunt"],
    "savina": ["shunt"],
    "costs": ["shunt"],
    "random_access": ["ceiling", "hpcc", "shunt"],
    "containers": ["openmp", "fork_join", "shunt"],
    "kmers": ["jellyfish", "shunt"],
    "study": study.SYSTEMS,  # over the programs of four tables
}
LAUNCHED = {"openshmem", "mpi_rma", "mpi"}  # a rank a PE
# Our own between two processes: over MPI as it comes, where ranks of a machine share memory, and without that.
BETWEEN_PROCESSES = {"processes", "mpi", "network"}
TRANSPORTS = {table: ["threads", "processes", "mpi", "network"] for table in ["superstep", "histogram", "index_gather"]}
RIVALS = LAUNCHED | {"openmp", "libomp", "tbb", "openblas", "asio", "tokio", "boost_context", "boost_fiber",
                     "swapcontext", "threads", "go", "loom", "boost_spsc", "disruptor", "jctools", "article", "queue",
                     "mutex", "atomic", "libitm", "ghc", "templet", "pekko", "caf", "redis", "hpcc", "java",
                     "jellyfish"}
TEAMS = {"forkjoin": [1, 2], "matmul": [2], "dft": [2], "heat": [2],
         "pingpong": [1, 2], "fanin": [1, 2], "savina": [1, 2], "channel": [1, 2]}  # threads of one process
ON_THE_JVM = {("railway", system) for system in ["disruptor", "jctools", "article", "queue"]} | {
    (table, "pekko") for table in ["heat", "pingpong", "fanin"]} | {("heat", "java"), ("pingpong", "queue")}
LINES = [(1, 1, 2_048, 8, 200_000_000), (1, 1, 256, 16, 100_000_000), (1, 1, 32, 64, 50_000_000),
         *((1, 1, 1, trains, 20_000_000) for trains in [32_768, 1_024, 256, 32]),
         (3, 1, 30, 256, 50_000_000), (3, 1, 255, 32, 100_000_000),
         (3, 1, 1, 1_024, 10_000_000), (3, 1, 3, 1_024, 20_000_000), (3, 1, 10, 1_024, 20_000_000),
         (1, 7, 32, 256, 20_000_000), (1, 7, 256, 32, 50_000_000), (1, 2, 256, 32, 50_000_000),
         (2, 2, 256, 32, 50_000_000)] + [
             (1, 1, capacity, trains, goods) for trains in [2, 1]
             for capacity, goods in [(1, 200_000), (2, 200_000), (32, 4_000_000), (256, 16_000_000),
                                     (2_048, 32_000_000), (32_768, 64_000_000)]]
CIRCLES = [(2_048, 16, 100_000_000), (256, 16, 50_000_000), (32, 64, 20_000_000), (1, 64, 5_000_000)]
# Table costs: how often each item is done in a sample, so that it takes some tenths of a second.
COSTS = {"ticks": 20_000_000, "counter_random": 20_000_000, "head_check": 50_000_000, "heavy_fence": 50_000,
         "switch_to": 100_000_000, "backtrace_frame": 1_000_000, "trim_nothing": 50_000_000, "trim_in_runs": 4_096,
         "trim_alone": 4_096, "futex_wake": 1_000_000, "yield_2": 50_000_000, "yield_50000": 10_000_000,
         "yield_migrating": 5_000_000, "spawn": 2_000_000, "has_runnable": 50_000_000, "may_wait": 200_000_000,
         "require_stack": 50_000_000, "deadlock_fiber": 50_000_000, "fork_join": 100_000_000,
         "fork_join_migrating": 20_000_000, "parallel_for": 200_000_000, "parallel_reduce": 20_000_000,
         "finish": 20_000_000, "async": 2_000_000, "co_await": 1_000_000, "tell": 20_000_000,
         "ask_together": 10_000_000, "ask_in_handler": 5_000_000, "ask_in_fiber": 5_000_000,
         "templet_send": 50_000_000, "tx_read": 100_000_000,
         "snapshot_read": 100_000_000, "snapshot_read_alone": 100_000_000, "atomically_read": 50_000_000,
         "atomically_read_alone": 50_000_000, "atomically_write": 10_000_000, "atomically_write_alone": 20_000_000,
         "tvar_store": 10_000_000, "tvar_store_alone": 20_000_000, "named": 5_000_000, "file_read_helper": 20_000,
         "file_read_io_uring": 100_000, "blocking": 20_000}
MORE_IS_BETTER = {"million_per_s", "million_ops_per_s", "gups", "million_teps"}
OUR_POLICIES = ["adaptive", "fixed", "exclusive", "off", "off_one", "sliced", "sliced_one"]
# GHC's scheduler: time slices of 20 ms; none, in effect; and the two flags that documents call "off", by which a thread
# ends its slice at each block of its heap. On two capabilities and on one.
SLICES_OF_GHC = {"": [], "_off": ["-C1000"], "_V0": ["-V0"], "_C0": ["-C0"]}
GHC = [cores + slices for cores in ["two", "one"] for slices in SLICES_OF_GHC]
VARIANTS = {"shunt": ["lambda", "class"], ("triangle", "shunt"): ["lambda", "class", "natural", "wedge"],
            ("triangle", "openshmem"): ["word", "row", "nbi"],
            ("index_gather", "openshmem"): ["blocking", "nbi"], ("bale", "openshmem"): ["blocking", "nbi"],
            ("echo", "shunt"): [""], ("histogram", "shunt"): ["lambda", "class", "tasks", "natural", "indices"],
            ("index_gather", "shunt"): ["lambda", "class", "natural"],
            ("bale", "shunt"): ["lambda", "class", "natural"],
            ("costs", "shunt"): [""], ("bfs", "shunt"): [""], ("daq", "shunt"): ["spins", "sleeps"],
            ("switch", "shunt"): ["", "compact"], ("memory", "shunt"): ["default", "small", "compact"],
            ("railway", "shunt"): ["two", "one"], ("latency", "shunt"): ["latency", "balanced", "battery"],
            ("stm-si", "shunt"): OUR_POLICIES, ("stm-ll", "shunt"): OUR_POLICIES,
            ("key_value", "shunt"): ["two", "one"],
            ("stm-si", "ghc"): GHC, ("stm-ll", "ghc"): GHC,
            ("heat", "openmp"): ["active", "passive"], ("heat", "shunt"): ["", "typed"],
            ("containers", "shunt"): ["", "counting_set"],
            ("kmers", "jellyfish"): ["two", "one"], ("kmers", "shunt"): ["two", "one"],
            ("matmul", "shunt"): ["", "fibers"], ("dft", "shunt"): ["", "fibers"]}
ONE_CPU = {"switch", "memory", "daq"}  # these tables' programs run on one processor, without PEs
SHORT_UPDATES = 1_000_000
FIBERS = {"full": [2, 100, 1_000, 5_000, 10_000, 20_000, 30_000, 40_000, 50_000, 1_000_000],
          "quick": [2, 1_000, 10_000]}
THREADS = {"full": [1, 2, 4, 8, 16, 32], "quick": [1, 2, 8, 32]}  # that run transactions
BYTES_PER_STACK = 12_288  # resident, at most; of systems that give each fiber a stack
NO_MORE_FIBERS = {"swapcontext": 50_000, "threads": 50_000}  # beyond it says nothing new
UNITS = {"ns_per_message": "ns", "ns_per_update": "ns", "ns_per_read": "ns", "ns_per_wedge": "ns", "ns": "ns",
         "seconds": "s", "max_rss_bytes": "bytes", "process_bytes": "bytes", "ratio_to_serial": "1",
         "ratio_to_lambda": "1",
         "ns_per_body": "ns",
         "ns_per_switch": "ns", "bytes_per_fiber": "bytes",
         "million_per_s": "1e6/s", "median_ns": "ns", "p99_ns": "ns", "p999_ns": "ns", "receiver_share": "1",
         "missed_share": "1", "bytes_per_channel": "bytes",
         "bytes_per_connection": "bytes", "user_ns_per_message": "ns",
         "ns_per_operation": "ns", "million_ops_per_s": "1e6/s", "million_teps": "1e6/s", "gups": "1e9/s",
         "aborts_per_commit": "1", "share": "1", "processors": "1"}


ABSENT = 3  # a program's exit status: the machine does not give what it needs


class BadCommandLine(Exception):
    """Told in one line, exit 2."""


@dataclasses.dataclass
class Row:
    """One system on one input: what is run in its turn, and what came of it."""

    table: str
    system: str
    variant: str
    params: dict
    arguments: list  # of the program
    samples: list = dataclasses.field(default_factory=list)  # its lines, None where a turn failed
    absent: str = ""  # why it cannot be run here
    problem: str = ""  # why its numbers do not count
    said: str = ""  # on stderr, in the last turn that did not fail

    def transport(self):
        return self.params.get("transport", "")

    def group(self):
        """Rows of one group answer the same question, so they have ratios and one right answer."""
        return json.dumps({k: v for k, v in self.params.items() if k != "transport"})

    def values(self, metric):
        """One number a repetition; None where that turn failed."""
        return [None if s is None else self.value(metric, s) for s in self.samples]

    def value(self, metric, sample):
        if metric == "seconds":
            return sample["seconds"]
        if metric in ["max_rss_bytes", "process_bytes", "aborts_per_commit", "share", "processors"]:
            return sample.get(metric)
        if metric == "million_teps":  # the harmonic mean of a sample's searches
            return sample["teps"] / 1e6
        if metric == "million_ops_per_s":
            return sample["operations"] / sample["seconds"] / 1e6
        if metric == "gups":
            return sample["operations"] / sample["seconds"] / 1e9
        if metric == "ratio_to_serial":  # forkjoin: of its own process; heat: of system `serial` in the same repetition
            return sample["seconds"] / sample["serial_seconds"]
        if metric == "ratio_to_lambda":
            return sample["seconds"] / sample["lambda_seconds"]
        if metric == "bytes_per_connection":
            return sample["resident_bytes"] / self.params["connections"]
        if metric == "user_ns_per_message":
            return sample["user_seconds"] * 1e9 / (self.params["connections"] * self.params["messages"])
        if metric == "bytes_per_fiber":
            return sample["resident_bytes"] / self.params["fibers"]
        if metric in ["median_ns", "p99_ns", "p999_ns", "missed_share", "receiver_share"]:
            return sample[metric]
        if metric == "bytes_per_channel":
            return sample["resident_bytes"] / self.params["channels"]
        if metric == "million_per_s":
            moved = {"railway": lambda: sample["goods"], "daq": lambda: sample["frames"],
                     "savina": lambda: sample["messages"], "kmers": lambda: sample["kmers"],
                     "fanin": lambda: self.params["messages"],
                     "key_value": lambda: self.params["requests"],
                     "pingpong": lambda: self.params["balls"]}[self.table]()
            return moved / sample["seconds"] / 1e6
        per_pe = {
            "ns_per_update": lambda: self.params["updates_per_pe"],
            "ns_per_read": lambda: self.params["reads_per_pe"],
            "ns_per_wedge": lambda: sample["wedges"] / self.params["pes"],
            "ns": lambda: self.params["rounds"],
            "ns_per_body": lambda: self.params["bodies"],
            "ns_per_message": lambda: self.params["connections"] * self.params["messages"],
            "ns_per_switch": lambda: sample["switches"],
            "ns_per_operation": lambda: self.params["items"] if "items" in self.params else sample["operations"],
        }[metric]()
        return sample["seconds"] * 1e9 / per_pe

    def metrics(self):
        if self.table == "daq":
            saturated = self.params["period_us"] == 0
            return ["million_per_s", "bytes_per_channel"] if saturated else ["median_ns", "p99_ns", "p999_ns",
                                                                             "missed_share"]
        if self.table == "forkjoin":
            return ["ns_per_body" if "bodies" in self.params else "ratio_to_serial"]
        names = {"histogram": ["ns_per_update"], "index_gather": ["ns_per_read"],
                 "triangle": ["ns_per_wedge", "seconds"], "bale": ["seconds"], "bfs": ["seconds"],
                 "random_access": ["gups"], "superstep": ["ns"],
                 "echo": ["ns_per_message"], "switch": ["ns_per_switch"], "memory": ["bytes_per_fiber"],
                 "matmul": ["seconds"], "dft": ["seconds"], "heat": ["seconds"],
                 "railway": ["million_per_s"], "pingpong": ["million_per_s"], "savina": ["million_per_s"],
                 "fanin": ["million_per_s"], "key_value": ["million_per_s"], "kmers": ["million_per_s"],
                 "latency": ["median_ns", "p99_ns", "receiver_share"],
                 "stm-si": ["seconds", "aborts_per_commit", "share"], "costs": ["ns_per_operation"],
                 "channel": ["ns_per_operation"], "containers": ["ns_per_operation"],
                 "stm-ll": ["ns_per_operation", "million_ops_per_s", "aborts_per_commit", "share"]}[self.table]
        if any(s and "teps" in s for s in self.samples):
            names = names + ["million_teps"]
        if self.table == "railway" and any(s and "processors" in s for s in self.samples):
            names = names + ["processors"]
        if self.table == "stm-ll" and "operations" in self.params:  # each thread has as many: no share
            names.remove("share")
        if not any(s and "aborts_per_commit" in s for s in self.samples):  # a system that does not count them
            names = [n for n in names if n != "aborts_per_commit"]
        if self.table == "heat" and all(s and "serial_seconds" in s for s in self.samples):
            names = names + ["ratio_to_serial"]
        if self.samples and all(s and "lambda_seconds" in s for s in self.samples):
            names = names + ["ratio_to_lambda"]
        if self.table == "echo" and any(s and "resident_bytes" in s for s in self.samples):
            names = names + ["bytes_per_connection"]
        if self.table == "echo" and any(s and "user_seconds" in s for s in self.samples):
            names = names + ["user_ns_per_message"]
        return names + [name for name in ["process_bytes", "max_rss_bytes"]  # what a program may tell
                        if any(s and name in s for s in self.samples)]


def inputs(table, quick, pes):
    """The inputs that every system gets: (params as recorded, options of the programs)."""
    size = "quick" if quick else "full"
    if table == "histogram":
        updates = {"full": 10_000_000, "quick": 1_000_000}[size]
        return [histogram_input(n, updates) for n in pes]
    if table == "index_gather":
        reads = {"full": 10_000_000, "quick": 1_000_000}[size]
        return [({"pes": n, "reads_per_pe": reads, "table_per_pe": 100_000},
                 ["--updates", reads, "--table", 100_000]) for n in pes]
    if table == "triangle":
        rows, scale = {"full": (10_000, 16), "quick": (2_000, 13)}[size]
        return [one for n in pes for one in [
            ({"pes": n, "graph": "er", "rows_per_pe": rows, "nonzeros_per_lower_row": 35},
             ["--graph", "er", "--rows", rows, "--row-nonzeros", 35]),
            ({"pes": n, "graph": "rmat", "scale": scale, "edge_factor": 16},
             ["--graph", "rmat", "--scale", scale, "--edge-factor", 16])]]
    if table == "bale":
        rows = {"full": 100_000, "quick": 10_000}[size]
        kernels = [("permute_matrix", rows, 10), ("permute_matrix", rows, 18), ("transpose", rows, 10),
                   ("transpose", rows, 18), ("topological_sort", rows, 10), ("random_permutation", 10 * rows, 0),
                   ("darts", 10 * rows, 0)]
        return [({"pes": n, "what": what, "rows_per_pe": r, "nonzeros_per_row": z},
                 ["--what", what, "--rows", r, "--row-nonzeros", z]) for n in pes for what, r, z in kernels]
    if table == "random_access":  # 2^scale words; how many updates a process holds back, by the rules or at will
        scale = {"full": 22, "quick": 16}[size]
        return [({"pes": n, "scale": scale, "look_ahead": held}, ["--scale", scale, "--table", held])
                for n in pes for held in [1024, 0]]
    if table == "containers":  # items of a PE; keys: any, or below the table's size
        scale = {"full": 10, "quick": 1}[size]
        return [({"pes": n, "what": what, "items": items * scale},
                 ["--what", what, "--updates", items * scale, "--table", bound])
                for n in pes for what, items, bound in [("insert", 400_000, 0), ("small", 1_000_000, 4_096),
                                                        ("words", 400_000, 0), ("sort", 1_000_000, 0)]]
    if table == "kmers":
        bases = {"full": 20_000_000, "quick": 2_000_000}[size]
        return [({"k": k, "canonical": canonical, "bases": bases},
                 ["--k", k, "--canonical", canonical, "--bases", bases])
                for k, canonical in [(21, 0), (31, 0), (31, 1)]]
    if table == "bfs":
        scales = {"full": [18, 20], "quick": [14]}[size]
        roots = {"full": 64, "quick": 8}[size]
        return [({"pes": n, "what": what, "scale": s, "edge_factor": 16, "roots": roots},
                 ["--what", what, "--scale", s, "--edge-factor", 16, "--rounds", roots])
                for n in pes for s in scales for what in ["search", "construct"]]
    if table == "forkjoin":
        fib, queens, loops = {"full": (35, 14, (10_000_000, 100_000)), "quick": (25, 11, (1_000_000,))}[size]
        return [one for n in pes for one in [
            ({"workers": n, "what": "fib", "n": fib}, ["--what", "fib", "--scale", fib]),
            ({"workers": n, "what": "nqueens", "n": queens}, ["--what", "nqueens", "--scale", queens]),
            *(({"workers": n, "what": "parallel_for", "bodies": bodies, "grain": 1},
               ["--what", "parallel_for", "--updates", bodies]) for bodies in loops)]]
    if table == "matmul":
        tiles, loops = {"full": ((6_000, 7_000), (1_500, 1_750)),
                        "quick": ((1_500, 1_750), (750, 875))}[size]
        return [({"workers": n, "what": what, "rows": rows, "columns": columns},
                 ["--what", what, "--rows", rows, "--columns", columns])
                for n in pes for what, (rows, columns) in [("tiles", tiles), ("loops", loops)]]
    if table == "dft":
        scale = {"full": 12, "quick": 10}[size]
        return [({"workers": n, "rows": 2 ** scale, "columns": 2 ** scale}, ["--scale", scale])
                for n in pes]
    if table == "heat":
        published = {"full": range(400, 1_001, 100), "quick": [200]}[size]
        steps = {"full": 4_000, "quick": 1_000}[size]
        sizes = [(h, 2 * h, 2 * h) for h in published] + [(400, 64, steps), (400, 16, steps)]
        edge = {"full": 160, "quick": 64}[size]
        return [({"workers": n, "rows": h, "columns": w, "steps": t}, ["--rows", h, "--columns", w, "--rounds", t])
                for n in pes for h, w, t in sizes] + [
            ({"workers": n, "rows": edge, "columns": edge, "depth": edge, "steps": edge},
             ["--rows", edge, "--columns", edge, "--depth", edge, "--rounds", edge]) for n in pes]
    if table == "pingpong":
        article, strict, far = {"full": (20_000_000, 20_000_000, 300_000),
                                "quick": (2_000_000, 2_000_000, 20_000)}[size]
        return [({"workers": n, "form": form, "balls": balls}, ["--what", form, "--rounds", balls])
                for n in pes for form, balls in [("article", article), ("strict", strict if n == 1 else far),
                                                 ("ask", far * 10 if n == 1 else far)]]
    if table == "channel":
        items = {"full": 10_000_000, "quick": 1_000_000}[size]
        return [({"workers": n, "what": what, "items": count}, ["--what", what, "--rounds", count])
                for n in pes for what, count in [("stream", items), ("many", items), ("handoff", items // 10),
                                                 ("lock", items * 2)] if n == 1 or what != "lock"]
    if table == "savina":
        programs = ["pingpong", "counting", "forkjoin", "ring", "chameneos", "big", "concdict", "philosophers", "sieve",
                    "bank"]
        return [({"workers": n, "program": p}, ["--what", p, "--scale", 1]) for n in pes for p in programs]
    if table == "fanin":
        messages = {"full": 16_000_000, "quick": 1_600_000}[size]
        pings = {"full": 1_000_000, "quick": 200_000}[size]  # the article's loop
        return [({"workers": n, "senders": 8, "messages": messages}, ["--rounds", messages, "--table", 8])
                for n in pes] + [
            ({"workers": n, "senders": 1, "from": "a plain thread", "messages": pings},
             ["--what", "thread", "--rounds", pings, "--table", 1]) for n in pes]
    if table == "echo":  # one thread, whatever the number of PEs
        all_messages, connections = {"full": (500_000, [1_000, 10_000]), "quick": (50_000, [1_000])}[size]
        return [({"pes": 1, "connections": n, "messages": all_messages // n},
                 ["--table", n, "--rounds", all_messages // n]) for n in connections]
    if table == "daq":  # channels; frames a channel, and the time between them: 20,000 frames a second of all, for 2 s
        channels, all_frames, seconds = {"full": ([100, 1_000, 10_000], 1_600_000, 2),
                                         "quick": ([1_000], 160_000, 1)}[size]
        shapes = [(n, all_frames // n, 0) for n in channels] + [
            (n, 20_000 * seconds // n, 1_000_000 * n // 20_000) for n in channels]
        return [({"channels": n, "frames": frames, "period_us": period},
                 ["--table", n, "--rounds", frames, "--period", period]) for n, frames, period in shapes]
    if table == "key_value":
        few, many, connections = {"full": (100_000, 1_000_000, [50, 500]), "quick": (10_000, 100_000, [500])}[size]
        return [({"what": what, "pipeline": p, "connections": c, "requests": many if p > 1 else few},
                 ["--what", what, "--pipeline", p, "--connections", c, "--rounds", many if p > 1 else few])
                for p in [16, 1] for c in connections for what in ["set", "get"]]
    if table == "switch":
        milliseconds = {"full": 300, "quick": 50}[size]
        return [({"fibers": n, "order": order},
                 ["--fibers", n, "--order", order, "--milliseconds", milliseconds])
                for n in FIBERS[size] for order in ["fifo", "random", "chain"]]
    if table == "latency":
        seconds = 0.2 if quick else 1
        return [({"period_us": period}, ["--period", period, "--updates", round(seconds * 1e6 / period)])
                for period in [10, 100, 1_000]]
    if table == "railway":
        scale = 20 if quick else 1
        return [({"producers": p, "consumers": c, "capacity": capacity, "trains": trains, "goods": goods // scale},
                 ["--producers", p, "--consumers", c, "--capacity", capacity, "--trains", trains,
                  "--updates", goods // scale])
                for p, c, capacity, trains, goods in LINES] + [
            ({"what": "circle", "producers": 1, "consumers": 1, "capacity": capacity, "trains": trains,
              "goods": goods // scale},
             ["--what", "circle", "--capacity", capacity, "--trains", trains, "--updates", goods // scale])
            for capacity, trains, goods in CIRCLES]
    if table == "stm-si":
        updates, milliseconds = {"full": (10_000_000, 1_000), "quick": (1_000_000, 100)}[size]
        return [({"threads": n, "increments": updates},
                 ["--fibers", n, "--updates", updates, "--milliseconds", milliseconds])
                for n in THREADS[size]]
    if table == "stm-ll":
        milliseconds = {"full": 700, "quick": 100}[size]
        operations = {"full": 100_000, "quick": 20_000}[size]
        return [({"threads": n, "keys": 256, "lookups": 0, "operations": operations},  # as published
                 ["--fibers", n, "--table", 256, "--lookups", 0, "--what", "operations", "--updates", operations])
                for n in THREADS[size]] + [
            ({"threads": n, "keys": keys, "lookups": lookups},
             ["--fibers", n, "--table", keys, "--lookups", lookups, "--milliseconds", milliseconds])
            for keys, lookups in {"full": [(256, 0), (1_000, 0), (256, 90)], "quick": [(256, 0), (256, 90)]}[size]
            for n in {"full": [1, 2, 8, 32], "quick": [1, 2, 8]}[size]]
    if table == "costs":
        return [({"what": what}, ["--what", what, "--updates", operations // (10 if quick else 1)])
                for what, operations in COSTS.items()]
    if table == "memory":
        return [({"fibers": n}, ["--fibers", n]) for n in FIBERS[size] if n >= 100]
    rounds = {"full": 100_000, "quick": 10_000}[size]
    return [({"pes": n, "what": what, "rounds": rounds}, ["--what", what, "--rounds", rounds])
            for n in pes for what in ["superstep", "round_trip"]]


def with_workers(questions, workers):
    """stm-*: each with so many workers or capabilities, where they are asked for. Its programs have two by default."""
    return questions if not workers else [
        (params | {"workers": n}, ["--pes", n, *options]) for n in workers for params, options in questions]


def histogram_input(pes, updates):
    return ({"pes": pes, "updates_per_pe": updates, "table_per_pe": 1_000},
            ["--updates", updates, "--table", 1_000])


def leaves_out(table, system, variant, params):
    """What a system's variant is not asked."""
    if params.get("what") == "darts":  # the published random permutation: of those that send single items
        return system in ["ceiling", "mpi"] or variant in ["class", "natural"]
    if table == "containers":
        return (system == "fork_join" and params["what"] != "sort") or (
            variant == "counting_set" and params["what"] != "words")
    if table == "railway" and params.get("what") == "circle":
        return system not in ["ceiling", "article", "shunt"]
    if table == "railway" and params["capacity"] > 1:  # a queue hands over one good at a time
        return system in ["jctools", "queue"]
    if table == "stm-ll" and "operations" not in params:  # the study's configurations are asked what the study asked
        return "_" in variant.removesuffix("_one") or variant.startswith("sliced")
    return False


def make_rows(table, only, quick, pes):
    """Every row of a table. More PEs than cores are our own system's rows only, unless asked for."""
    rows = []
    if table in TEAMS:
        return [make_row(table, system, variant, "", params, options)
                for params, options in inputs(table, quick, pes or TEAMS[table])
                for system in SYSTEMS[table] if not only or system in only
                for variant in VARIANTS.get((table, system), [""])
                if (system != "openblas" or params["what"] == "tiles")  # it has no plain loops
                and (system != "queue" or params["workers"] == 2)  # two threads
                and (system in ("shunt", "ceiling") or params.get("form") != "ask")]  # rivals' is `strict`
    if table == "study":
        return [row for one, params, options in study.inputs(quick, pes or [2])
                for row in rows_of_input(one, study.SYSTEMS, params, options)
                if row.system in SYSTEMS[one] and study.way(row) and (not only or row.system in only)]
    for params, options in with_workers(inputs(table, quick, pes or [2]), pes if table.startswith("stm-") else []):
        by_rules = params.get("look_ahead") != 0  # a rival that cannot do otherwise
        rows += rows_of_input(table, [s for s in SYSTEMS[table] if by_rules or s != "hpcc"], params, options)
    if table == "histogram" and not pes:
        scale = 10 if quick else 1
        for n, updates in [(2, 1_000_000), (4, 1_000_000), (8, 1_000_000), (1024, 20_000)]:
            params, options = histogram_input(n, updates // scale)
            for variant in [*VARIANTS["shunt"], "natural"]:
                rows.append(make_row(table, "shunt", variant, "threads", params, options))
    return [row for row in rows if not only or row.system in only]


def chosen(rows, where):
    """Those whose parameters have these values. \throws BadCommandLine: none has."""
    for name, value in where:
        values = sorted({str(r.params[name]) for r in rows if name in r.params})
        rows = [r for r in rows if str(r.params.get(name)) in (value, value.replace("_", ""))]
        if not rows:
            raise BadCommandLine(f"--where {name}={value}: no row; " + (
                f"{name} is one of {', '.join(values)}" if values else "no row has that parameter"))
    return rows


def rows_of_input(table, systems, params, options):
    """Every system in all its variants, our own over several transports."""
    rows = []
    for system in systems:
        over = system == "shunt" and "pes" in params and table != "echo"
        for transport in TRANSPORTS.get(table, ["threads", "mpi"]) if over else [""]:
            for variant in VARIANTS.get((table, system)) or VARIANTS.get(system) or [""]:
                if leaves_out(table, system, variant, params):
                    continue
                rows.append(make_row(table, system, variant, transport, params, options))
    return rows


def make_row(table, system, variant, transport, params, options):
    params = dict(params)
    team = params.get("workers" if table in TEAMS else "pes")
    arguments = ["--pes", team, *options] if team else [*options]
    if variant:
        arguments += ["--variant", variant]
    if transport:
        params["transport"] = transport
        arguments += ["--transport", "mpi" if transport == "network" else transport]
    if system == "ghc":
        slices = SLICES_OF_GHC[variant[len("two"):]]
        arguments += ["+RTS", *slices, "-RTS"] if slices else []
    return Row(table, system, variant, params, [str(a) for a in arguments])


class Machine:
    """What was built, how it is launched, and what is recorded about where it ran."""

    def __init__(self, build_dir, scratch):
        self.programs = pathlib.Path(build_dir).resolve() / "bench"
        try:
            self.built = json.loads((self.programs / "bench_systems.json").read_text())
        except (OSError, ValueError):
            raise BadCommandLine(f"no tables' programs in {build_dir}: configure with "
                                 "-DSHUNT_BENCH=ON and build first") from None
        self.scratch = scratch
        self.cores = len(os.sched_getaffinity(0))
        self.memory = free_memory()
        self.stats = False  # whether Shunt's programs tell what their transactions cost
        self.distances = []
        self.windows = []
        self.loads = []
        self.dates = []

    def start(self):
        """The launcher of processes without MPI."""
        return self.programs.parent / "bin" / "shunt"

    def program(self, row):
        return self.programs / f"{row.table}_{row.system}"

    def why_absent(self, row):
        """One line, or nothing when the row can be run."""
        name = f"{row.table}_{row.system}"
        if name in self.built["absent"]:
            return self.built["absent"][name]
        if not self.program(row).exists():
            return "not built"
        if row.system == "openshmem" and not self.built["oshrun"]:
            return "no oshrun"
        if row.transport() in BETWEEN_PROCESSES and row.params["pes"] < self.ranks(row):
            return f"between processes it runs on {self.ranks(row)} ranks, hence with as many PEs at least"
        if row.transport() == "processes" and not self.start().exists():
            return "no launcher: the program `shunt` was not built"
        if row.transport() in ("mpi", "network") and not self.built["mpirun"]:
            return "no mpirun.openmpi"
        if self.ranks(row) and row.system != "shunt" and row.system != "openshmem" and not self.built["mpirun"]:
            return "no mpirun.openmpi"
        if row.system == "ceiling" and row.params.get("pes", 1) > self.cores:
            return f"needs {row.params['pes']} cores, finds {self.cores}"
        if row.table == "superstep" and row.params["pes"] != 2:
            return "is between 2 PEs"
        if row.table == "daq":
            return "" if self.cores > 1 else "the source of frames needs a processor of its own"
        if row.table in ONE_CPU:
            return self.why_too_many(row.system, row.params["fibers"])
        return ""

    def why_too_many(self, system, fibers):
        if fibers > NO_MORE_FIBERS.get(system, fibers):
            return f"not run with more than {NO_MORE_FIBERS[system]:,} fibers"
        needed = 0 if system == "ceiling" else fibers * BYTES_PER_STACK
        if needed > self.memory:
            return (f"{fibers:,} fibers need up to {needed / 1e9:.1f} GB of memory, "
                    f"{self.memory / 1e9:.1f} are free")
        return ""

    def ranks(self, row):
        """Processes to launch; 0: the program is started as it is."""
        if row.system == "shunt":
            return 2 if row.transport() in BETWEEN_PROCESSES else 0
        return row.params["pes"] if row.system in LAUNCHED else 0

    def command(self, row):
        # Where a round takes milliseconds, the first ones are the system's: memory is found and cleared.
        short = row.params.get("updates_per_pe", SHORT_UPDATES + 1) <= SHORT_UPDATES or row.table == "bale"
        long = row.table == "heat" and row.params["columns"] > 64  # seconds, and as much again for the check
        warmup = "4" if short else "0" if long else "1"
        program = [str(self.program(row)), *row.arguments, "--samples", "1", "--warmup", warmup]
        if self.stats and row.system == "shunt":
            program += ["--stats", "1"]
        if row.table == "heat":  # the first to run a size leaves the sequential result there
            size = "x".join(str(row.params[k]) for k in ["rows", "columns", "depth", "steps"] if k in row.params)
            program += ["--oracle", str(self.scratch / size)]
        if row.table in ONE_CPU:
            return self.on_one_cpu(row, program)
        if (row.table, row.system) in ON_THE_JVM:
            return [self.built["java"], "-XX:+UseSerialGC", "-Xmx2g", "-jar", *program]
        ranks = self.ranks(row)
        if ranks == 0:
            return program
        if row.transport() == "processes":
            return [str(self.start()), "start", "--ranks", str(ranks), *program]
        if row.transport() == "network":
            program = ["env", "SHUNT_SHARED_MEMORY=0", *program]
        shmem = row.system == "openshmem"
        launcher = [self.built["oshrun" if shmem else "mpirun"], "-n", str(ranks), "--oversubscribe"]
        if ranks <= self.cores:
            launcher += ["--bind-to", "core"]
        else:  # a rank that polls without yielding loses everything once there are more ranks than cores
            launcher += ["--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"]
        if shmem:
            # Without ^patcher Debian's OpenSHMEM crashes in finalize. Any heap but UCX's own is out
            # of reach of UCX's shared memory: 7 times slower and more.
            launcher += ["--mca", "memory", "^patcher", "--mca", "sshmem", "ucx",
                         "-x", "UCX_TLS=sm,self"]
        elif row.system == "mpi_rma":
            launcher += ["--mca", "osc", "sm"]  # loads and stores in shared windows
        return launcher + program

    def on_one_cpu(self, row, program):
        """On the last processor: the first has the most interrupts."""
        if row.system == "loom":
            program = [self.built["java"], "-XX:+UseSerialGC", "-Xmx8g",
                       "-Djdk.virtualThreadScheduler.parallelism=1",
                       "-Djdk.virtualThreadScheduler.maxPoolSize=1", "-jar", *program]
        return ["taskset", "-c", str(max(os.sched_getaffinity(0))), *program]

    def environment(self):
        environment = dict(os.environ)
        if os.geteuid() == 0:  # Open MPI refuses root (as in containers) without both
            environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        return environment

    def look_around(self):
        """What will explain the next repetition: its time (UTC), the cores' distance, their windows, the load."""
        self.dates.append(datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%MZ"))
        self.loads.append(round(os.getloadavg()[0], 2))
        try:
            line = subprocess.run([self.programs / "distance"], capture_output=True, text=True,
                                  timeout=60, check=True).stdout
            seen = json.loads(line)
        except (OSError, subprocess.SubprocessError, ValueError):
            seen = {}
        self.distances.append(seen.get("round_trip_ns"))
        self.windows.append(seen.get("instruction_windows"))

    def record(self):
        cpu = platform.machine()
        with contextlib.suppress(OSError):
            for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
                if line.startswith("model name"):
                    cpu = line.partition(":")[2].strip()
                    break
        return {"cpu": cpu, "cores": self.cores, "kernel": platform.release(),
                "compiler": self.built["compiler"], "core_round_trip_ns": self.distances,
                "instruction_windows": self.windows, "load_average": self.loads, "date": self.dates}


def free_memory():
    """Bytes that programs can have without swapping."""
    with contextlib.suppress(OSError):
        for line in pathlib.Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
    return float("inf")


def commit():
    """The commit measured, marked when the tree differs from it."""
    here = pathlib.Path(__file__).parent

    def git(*words):
        return subprocess.run(["git", "-C", here, *words], capture_output=True, text=True,
                              check=True).stdout.strip()
    try:
        return git("rev-parse", "HEAD") + ("-dirty" if git("status", "--porcelain", "-uno") else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def run_turn(row, machine, timeout):
    """One process; appends its sample, or None and the reason."""
    sample, problem = None, ""
    process = subprocess.Popen(machine.command(row), stdout=subprocess.PIPE, text=True,
                               stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                               env=machine.environment(), start_new_session=True)
    try:
        output, errors = process.communicate(timeout=timeout)
        if process.returncode == ABSENT:
            row.absent = telling_line(errors).partition("absent: ")[2] or "does not say why"
            row.samples.clear()
            return
        elif process.returncode != 0:
            problem = f"{exit_reason(process.returncode)}: {telling_line(errors)}"
        else:
            sample, problem = read_sample(output)
            row.said = errors
    except subprocess.TimeoutExpired:
        problem = f"no answer within {timeout} s"
    finally:
        if process.poll() is None:  # also on Ctrl-C
            end(process)
    row.samples.append(sample)
    row.problem = row.problem or problem


def end(process):
    """Ends a program; a launcher first gets the time to end its ranks, which must not outlive us."""
    for how in [signal.SIGTERM, signal.SIGKILL]:
        os.killpg(process.pid, how)
        try:
            process.communicate(timeout=5)
            return
        except subprocess.TimeoutExpired:
            continue


def exit_reason(code):
    return f"signal {-code}" if code < 0 else f"exit {code}"


def telling_line(errors):
    """The line of stderr that says most: ours if there is one, else the first that is not a rule."""
    lines = [line.strip() for line in errors.splitlines() if line.strip(" -*=")]
    for line in lines:
        if "wrong answer" in line:
            return line
    return lines[0] if lines else "nothing on stderr"


def read_sample(output):
    try:
        samples = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
        if len(samples) != 1:
            return None, f"printed {len(samples)} samples where 1 was asked for"
        if samples[0].get("checked") is not True:
            return None, "answer not checked"
        if not samples[0]["seconds"] > 0:
            return None, f"impossible time: {samples[0]['seconds']}"
        return samples[0], ""
    except (ValueError, KeyError, TypeError) as error:
        return None, f"unreadable sample: {error}"


def progress(turns):
    """An iterator over `turns` that shows how far it is, on a terminal only."""
    if not sys.stderr.isatty():
        return iter(turns)
    try:
        import tqdm
        return iter(tqdm.tqdm(turns, leave=False, unit="run"))
    except ImportError:
        return plain_progress(turns)


def plain_progress(turns):
    for number, turn in enumerate(turns, 1):
        print(f"\r{number}/{len(turns)}", end="", file=sys.stderr, flush=True)
        yield turn
    print("\r" + " " * 20 + "\r", end="", file=sys.stderr, flush=True)


def measure(rows, machine, samples, timeout):
    for row in rows:
        row.absent = machine.why_absent(row)
    present = [row for row in rows if not row.absent]
    turns = [(n, row) for n in range(samples) for row in present]
    repetition = None
    for n, row in progress(turns):
        if n != repetition:
            machine.look_around()
            repetition = n
        if row.absent:  # as its program found
            continue
        if row.problem:  # what has failed once is not run again
            row.samples.append(None)
        else:
            run_turn(row, machine, timeout)
    note_serial_times([row for row in present if row.table == "heat"])
    note_lambda_times(present)


def note_serial_times(rows):
    """Each sample learns what the sequential program took in the same repetition."""
    for serial in (row for row in rows if row.system == "serial"):
        for row in rows:
            if row.group() != serial.group():
                continue
            for sample, its in zip(row.samples, serial.samples):
                if sample and its:
                    sample["serial_seconds"] = its["seconds"]


def note_lambda_times(rows):
    """Each sample of a natural form, or of lambdas that get what it gets, learns what the lambda form took in the same
    repetition, over its transport."""
    lambdas = {(row.table, row.system, json.dumps(row.params)): row for row in rows if row.variant == "lambda"}
    for row in (row for row in rows if row.variant in ["natural", "indices"]):
        if other := lambdas.get((row.table, row.system, json.dumps(row.params))):
            for sample, its in zip(row.samples, other.samples):
                if sample and its:
                    sample["lambda_seconds"] = its["seconds"]


def compare_answers(rows):
    """Where programs say what they found, all of a group must have found the same."""
    for row in rows:
        peers = [r for r in rows if r.group() == row.group() and not r.problem and r.samples]
        oracle = next((r for r in peers if r.system == "serial"), peers[0] if peers else None)
        for key in ["triangles", "wedges", "sum", "levels"]:
            found = {s[key] for s in row.samples if s and key in s}
            if oracle and found and found != {oracle.samples[0].get(key)}:
                row.problem = row.problem or (f"wrong answer: {key} {sorted(found)}, but "
                                              f"{oracle.system} has {oracle.samples[0].get(key)}")


def median_ratio(row, other, metric):
    """The median, over the repetitions, of row's time to other's; None without any."""
    if other is None or row.problem or other.problem:
        return None
    pairs = zip(row.values(metric), other.values(metric))
    ratios = [mine / its for mine, its in pairs if mine is not None and its]
    return statistics.median(ratios) if ratios else None


def good(rows, systems):
    return [r for r in rows if r.system in systems and r.samples and not r.problem]


def show(rows, machine, out):
    known = [d for d in machine.distances if d is not None]
    if known:
        print(f"cache line round trip between two cores: median {statistics.median(known):.0f} ns, "
              f"{min(known):.0f} to {max(known):.0f}, {len(known)} measurements; load average "
              f"{min(machine.loads)} to {max(machine.loads)} on {machine.cores} cores", file=out)
    if machine.loads and max(machine.loads) > 2 * machine.cores:  # our own programs make one of them
        print("warning: other programs were using the cores; these times are not comparable", file=out)
    windows = sorted({w for both in machine.windows if both for w in both if w is not None})
    if windows:
        print(f"instructions in flight, a core: {windows[0]} to {windows[-1]}", file=out)
    header = ["system", "variant", "params", "metric", "median", "min", "max", "x ceiling",
              "x best rival", "checked"]
    lines = [header]
    notes = []
    for row in rows:
        params = ", ".join(str(v) if isinstance(v, str) else f"{k} {v:,}"
                           for k, v in row.params.items())
        name = [row.system, row.variant or "-", params]
        system = " ".join(filter(None, [row.system, row.variant]))
        if row.absent:  # one line a system, not one a row
            notes.append(f"absent: {row.system}: {row.absent}")
            continue
        if row.problem:
            lines.append(name + ["-"] * 6 + ["FAILED"])
            notes.append(f"FAILED: {system} ({params}): {row.problem}")
            continue
        peers = [r for r in rows if r.group() == row.group()]
        for metric in row.metrics():
            values = row.values(metric)
            cells = [number(f(values)) for f in (statistics.median, min, max)]
            ratios = ["-", "-"]
            if metric not in ["max_rss_bytes", "bytes_per_connection", "user_ns_per_message", "processors",
                              "ratio_to_lambda"]:
                rivals = [r for r in good(peers, RIVALS) if metric in r.metrics()]  # one may not know it
                best = (max if metric in MORE_IS_BETTER else min)(
                    rivals, default=None, key=lambda r, m=metric: statistics.median(r.values(m)))
                ceiling = next(iter(good(peers, {"ceiling"})), None)
                ratios = ["-" if r is None else f"{r:.2f}" for r in
                          (median_ratio(row, ceiling, metric), median_ratio(row, best, metric))]
            lines.append(name + [metric, *cells, *ratios, "yes"])
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
    for line in lines:
        print("  ".join(cell.rjust(width) if 4 <= i <= 8 else cell.ljust(width)
                        for i, (cell, width) in enumerate(zip(line, widths))).rstrip(), file=out)
    for note in dict.fromkeys(notes):
        print(note, file=out)


def number(value):
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def write_json(rows, machine, file):
    where, what = machine.record(), commit()
    beside = versions.recorded_with({(row.system, row.transport()) for row in rows}, machine.programs.parent,
                                    machine.built.get("java"))
    for row in rows:
        if row.absent or row.problem:
            continue
        for metric in row.metrics():
            values = row.values(metric)
            file.write(json.dumps({
                "table": row.table, "system": row.system, "variant": row.variant,
                "params": row.params, "metric": metric, "unit": UNITS[metric],
                "median": statistics.median(values), "min": min(values), "max": max(values),
                "samples": values, "checked": True, "machine": where,
                "versions": beside[row.system, row.transport()], "commit": what}) + "\n")


def positive(text):
    value = int(text)
    if value < 1:
        raise ValueError
    return value


def parse(arguments):
    class Parser(argparse.ArgumentParser):
        def error(self, message):
            raise BadCommandLine(message)

    parser = Parser(prog="bench.py", description=__doc__.partition("\n")[0])
    parser.add_argument("table", metavar="TABLE", help=", ".join(SYSTEMS))
    parser.add_argument("--quick", action="store_true", help="smaller inputs, 3 repetitions")
    parser.add_argument("--json", metavar="FILE", help="append one object a line")
    parser.add_argument("--plot", metavar="FILE.svg", help="a picture of it (needs matplotlib)")
    parser.add_argument("--only", metavar="SYSTEM,...", default="", help="leave out all others")
    parser.add_argument("--where", metavar="NAME=VALUE,...", default="",
                        help="only rows whose parameters are so: producers=3,capacity=10")
    parser.add_argument("--samples", type=positive, metavar="N", help="repetitions (5)")
    parser.add_argument("--pes", "--workers", type=positive, metavar="N", action="append",
                        help="processing elements, or workers (2; forkjoin: 1 and 2); may be repeated")
    parser.add_argument("--stats", action="store_true",
                        help="stm-*: what Shunt's transactions cost, of the last repetition")
    parser.add_argument("--timeout", type=positive, metavar="SECONDS", default=300,
                        help="for one process (300)")
    parser.add_argument("--build-dir", metavar="DIR", required=True)
    options = parser.parse_args(arguments)
    if options.table not in SYSTEMS:
        raise BadCommandLine(f"unknown table {options.table!r}; there are {', '.join(SYSTEMS)}")
    if options.pes and options.table in ONE_CPU:
        raise BadCommandLine(f"table {options.table} has no PEs")
    if options.stats and not options.table.startswith("stm-"):
        raise BadCommandLine(f"table {options.table} has no transactions, hence no --stats")
    options.where = [part.partition("=")[::2] for part in options.where.split(",") if part]
    options.only = [name for name in options.only.split(",") if name]
    for name in options.only:
        if name not in SYSTEMS[options.table]:
            raise BadCommandLine(f"unknown system {name!r} in table {options.table}; there are "
                                 f"{', '.join(SYSTEMS[options.table])}")
    return options


def picture():
    """What draws; throws BadCommandLine where there is nothing to draw with."""
    try:
        from report import plots
    except ImportError as error:
        raise BadCommandLine(f"--plot: {error} (Debian: python3-matplotlib)") from None
    return plots


def plot(rows, plots, file):
    """Of the table's first metric: a line a question, a mark a system."""
    groups, metric = {}, ""
    for row in (r for r in rows if r.samples and not r.problem):
        metric = metric or row.metrics()[0]
        values = [v for v in row.values(metric) if v is not None] if metric in row.metrics() else []
        if values:
            asked = ", ".join(f"{k} {v}" for k, v in row.params.items() if k != "transport")
            system = " ".join(filter(None, [row.system, row.variant, row.transport()]))
            groups.setdefault(asked, {})[system] = (statistics.median(values), min(values), max(values))
    file.write(plots.dots(groups, f"{metric} ({UNITS[metric]})") if groups else "")


def show_statistics(rows, out):
    for row in rows:
        if row.system == "shunt" and row.said:
            params = ", ".join(f"{name} = {value}" for name, value in row.params.items())
            print(f"\n{row.variant}, {params}\n{row.said}", end="", file=out)


def main(arguments):
    with contextlib.ExitStack() as open_files:
        try:
            options = parse(arguments)
            scratch = open_files.enter_context(tempfile.TemporaryDirectory())
            machine = Machine(options.build_dir, pathlib.Path(scratch))
            machine.stats = options.stats
            rows = chosen(make_rows(options.table, options.only, options.quick, options.pes), options.where)
            file = None
            if options.json:  # before anything is measured, so that nothing is measured in vain
                file = open_files.enter_context(open(options.json, "a", encoding="utf-8"))
            plots, drawn = None, None
            if options.plot:
                plots = picture()
                drawn = open_files.enter_context(open(options.plot, "w", encoding="utf-8"))
        except (BadCommandLine, OSError) as error:
            print(f"bench.py: {error}", file=sys.stderr)
            return 2
        stopped = False
        try:
            measure(rows, machine, options.samples or (3 if options.quick else 5), options.timeout)
        except KeyboardInterrupt:
            stopped = True
            rows = [row for row in rows if row.samples or row.absent]
            print("bench.py: stopped; what there is so far:", file=sys.stderr)
        compare_answers(rows)
        show(rows, machine, sys.stdout)
        if options.table == "study":
            study.show(rows, sys.stdout)
        if options.stats:
            show_statistics(rows, sys.stdout)
        if file:
            write_json(rows, machine, file)
        if drawn:
            plot(rows, plots, drawn)
    if stopped:
        return 130
    if not any(row.samples for row in rows):
        print("bench.py: nothing to run", file=sys.stderr)
        return 1
    return 1 if any(row.problem for row in rows) else 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)

#!/usr/bin/env python3
"""Writes the figures of README.md and docs/compare.md from bench/results/, where
`./shunt bench TABLE --json bench/results/TABLE.json` put them.

  bench/figures.py           puts them between the marks
  bench/figures.py --check   says whether they are there; status 1 if not
"""
import argparse
import json
import statistics
import sys
import textwrap
from pathlib import Path

from slow_rows import BEHIND, MORE_IS_BETTER

ROOT = Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- figures: bench/figures.py -->\n", "<!-- end of figures -->\n"
TABLES = ["histogram", "index_gather", "triangle", "superstep", "switch", "forkjoin", "stm-si", "stm-ll", "pingpong",
          "memory", "echo", "key_value", "railway", "bfs", "random_access"]
RIVALS = {"openshmem": "OpenSHMEM", "mpi_rma": "MPI one-sided", "mpi": "MPI", "go": "Go", "boost_fiber": "Boost.Fiber",
          "tbb": "oneTBB", "openmp": "libgomp", "libomp": "libomp", "mutex": "std::mutex", "atomic": "std::atomic",
          "libitm": "libitm", "ghc": "GHC", "caf": "CAF", "pekko": "Pekko"}
# What these were when the figures were measured: Debian 12's packages, clang's libomp, Go and Pekko as named.
VERSIONS = {"OpenSHMEM": "Open MPI 4.1.4", "MPI one-sided": "Open MPI 4.1.4", "MPI": "Open MPI 4.1.4", "Go": "1.26.8",
            "Boost.Fiber": "1.74.0", "oneTBB": "2021.8.0", "libgomp": "GCC 12.2.0", "libomp": "LLVM 19.1.7",
            "std::mutex": "GCC 12.2.0", "std::atomic": "GCC 12.2.0", "libitm": "GCC 12.2.0", "CAF": "0.17.6",
            "Pekko": "1.7.0", "GHC": "9.0.2"}

# (what the reader sees, table, metric, parameters that select the rows)
QUESTIONS = [
    ("histogram, ns an update", "histogram", "ns_per_update", {"updates_per_pe": 10_000_000}),
    ("index_gather, ns a read", "index_gather", "ns_per_read", {}),
    ("triangle, Erdős–Rényi, s", "triangle", "seconds", {"graph": "er"}),
    ("triangle, R-MAT of 2^16 vertices, s", "triangle", "seconds", {"graph": "rmat"}),
    ("a superstep, ns", "superstep", "ns", {"what": "superstep"}),
    ("a round trip, ns", "superstep", "ns", {"what": "round_trip"}),
]
# The same of what runs in one process: fibers, tasks, transactions, actors.
INSIDE = [
    *[(f"a switch, {n:,} fibers {words}, ns", "switch", "ns_per_switch", {"fibers": n, "order": order})
      for n in (2, 1_000, 50_000)
      for order, words in [("fifo", "that yield in order"), ("random", "that yield in random order"),
                           ("chain", "each of which wakes the next and parks")]],
    *[(f"fib(35), a fork a call, {words}, times serial", "forkjoin", "ratio_to_serial", {"what": "fib", "workers": n})
      for n, words in [(1, "1 worker"), (2, "2 workers")]],
    *[(f"n-queens(14), {words}, times serial", "forkjoin", "ratio_to_serial", {"what": "nqueens", "workers": n})
      for n, words in [(1, "1 worker"), (2, "2 workers")]],
    *[(f"parallel_for of {n:,} empty bodies, grain 1, {words}, ns a body", "forkjoin", "ns_per_body",
       {"workers": w, "bodies": n}) for n in (100_000, 10_000_000) for w, words in [(1, "1 worker"), (2, "2 workers")]],
    *[(f"10 million increments of one integer, fibers: {n}, s", "stm-si", "seconds", {"threads": n})
      for n in (1, 2, 32)],
    *[(f"sorted list of 256 keys, insertions and removals, fibers: {n}, M/s", "stm-ll", "million_ops_per_s",
       {"threads": n, "keys": 256, "lookups": 0}) for n in (1, 8)],
    ("the same, 90 % lookups, fibers: 8, M/s", "stm-ll", "million_ops_per_s",
     {"threads": 8, "keys": 256, "lookups": 90}),
    ("a ball there and back between actors, 1 worker, M/s", "pingpong", "million_per_s",
     {"form": "strict", "workers": 1}),
]
# Of docs/compare.md: (the question, table, metric, parameters, ours by what the reader sees, rivals, a remark).
# Ours are (system, variant) or (system, variant, transport); of a rival's variants the best one counts.
THREADS_AND_MPI = {"": ("shunt", "lambda", "threads"), "over MPI": ("shunt", "lambda", "mpi")}
COMPARED = [
    ("a switch, 1,000 fibers that yield in order, ns", "switch", "ns_per_switch", {"fibers": 1_000, "order": "fifo"},
     {"": ("shunt", "")}, ["boost_fiber", "go"], ""),
    ("a switch, 50,000 fibers each of which wakes the next, ns", "switch", "ns_per_switch",
     {"fibers": 50_000, "order": "chain"}, {"": ("shunt", ""), "compact": ("shunt", "compact")},
     ["go", "boost_fiber", "loom"], "memory decides"),
    ("memory of a parked fiber, 10,000 of them, bytes", "memory", "bytes_per_fiber", {"fibers": 10_000},
     {"": ("shunt", "default"), "compact": ("shunt", "compact")}, ["go", "loom", "boost_fiber"], ""),
    ("fib(35), a fork a call, 2 workers, times serial", "forkjoin", "ratio_to_serial", {"what": "fib", "workers": 2},
     {"": ("shunt", "")}, ["tbb", "go"], ""),
    ("n-queens(14), 2 workers, times serial", "forkjoin", "ratio_to_serial", {"what": "nqueens", "workers": 2},
     {"": ("shunt", "")}, ["tbb", "go"], ""),
    ("parallel_for, 10,000,000 empty bodies, 2 workers, ns a body", "forkjoin", "ns_per_body",
     {"workers": 2, "bodies": 10_000_000}, {"": ("shunt", "")}, ["tbb", "go"], ""),
    ("echo, 10,000 connections, ns a message", "echo", "ns_per_message", {"connections": 10_000},
     {"": ("shunt", "")}, ["tokio", "asio", "go"], "the kernel decides"),
    ("key-value server, 50 connections, 16 requests under way, GET, million/s", "key_value", "million_per_s",
     {"what": "get", "pipeline": 16, "connections": 50}, {"": ("shunt", "one")}, ["redis"], ""),
    ("a ball between actors, 1 worker, million/s", "pingpong", "million_per_s", {"form": "strict", "workers": 1},
     {"": ("shunt", "")}, ["pekko", "go", "caf"], ""),
    ("the same between 2 workers, one ball at a time", "pingpong", "million_per_s", {"form": "strict", "workers": 2},
     {"": ("shunt", "")}, ["go", "pekko", "caf"], ""),
    ("the same, 512 balls at a time", "pingpong", "million_per_s", {"form": "article", "workers": 2},
     {"": ("shunt", "")}, ["go", "pekko", "caf"], ""),
    ("a pipeline, trains of 256 numbers, 2 consumers, million numbers/s", "railway", "million_per_s",
     {"producers": 1, "consumers": 2, "capacity": 256}, {"": ("shunt", "two")}, ["threads", "article", "disruptor"],
     ""),
    ("the same, one number at a time, 1 consumer", "railway", "million_per_s",
     {"producers": 1, "consumers": 1, "capacity": 1, "trains": 32_768}, {"": ("shunt", "two")},
     ["threads", "article", "disruptor", "boost_spsc"], ""),
    ("sorted list of 256 keys, 8 fibers, transactions, million/s", "stm-ll", "million_ops_per_s",
     {"threads": 8, "keys": 256, "lookups": 0}, {"": ("shunt", "adaptive")}, ["mutex", "libitm", "ghc"], ""),
    ("histogram, ns an update, 2 PEs", "histogram", "ns_per_update", {"pes": 2, "updates_per_pe": 10_000_000},
     THREADS_AND_MPI, ["openshmem", "mpi_rma"], ""),
    ("index_gather, ns a read", "index_gather", "ns_per_read", {"pes": 2}, THREADS_AND_MPI, ["mpi_rma", "openshmem"],
     ""),
    ("a superstep, ns", "superstep", "ns", {"pes": 2, "what": "superstep"}, THREADS_AND_MPI,
     ["mpi_rma", "mpi", "openshmem"], ""),
    ("breadth-first search, 2^20 vertices, million edges/s", "bfs", "million_teps", {"what": "search", "scale": 20},
     {"": ("shunt", "", "threads"), "over MPI": ("shunt", "", "mpi")}, ["mpi"], "it also searches bottom up"),
    ("RandomAccess by the rules, GUPS", "random_access", "gups", {"look_ahead": 1024}, THREADS_AND_MPI, ["hpcc"], ""),
]
NAMES = RIVALS | {"loom": "Java's virtual threads", "tokio": "tokio", "asio": "Asio", "redis": "Redis",
                  "threads": "threads by hand", "article": "the published Railway in Java", "disruptor": "Disruptor",
                  "boost_spsc": "Boost's ring", "hpcc": "hpcc"}
WHOLE_CORE = 300  # instructions in flight: an EPYC's core has 432 of them


def versions(names):
    """A line under a table: its rivals, each with its version."""
    line = "Rivals: " + ", ".join(f"{name} ({VERSIONS[name]})" for name in RIVALS.values() if name in names) + "."
    return "\n" + textwrap.fill(line, 120, break_long_words=False, break_on_hyphens=False) + "\n"


def number(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def figure(row):
    if len(row["samples"]) == 1:
        return number(row["median"])
    return f'{number(row["median"])} ({number(row["min"])} to {number(row["max"])})'


class Results:
    """The rows of the newest run of each table: a file may hold several, the last one counts."""

    def __init__(self, folder):
        self.rows = {}
        for table in TABLES:
            for line in (folder / f"{table}.json").read_text().splitlines():
                row = json.loads(line)
                if not row["checked"]:
                    sys.exit(f"{table}.json: a row whose answer was not checked")
                key = (table, row["system"], row["variant"], row["metric"], json.dumps(row["params"], sort_keys=True))
                self.rows[key] = row

    def find(self, table, metric, **wanted):
        params = {k: v for k, v in wanted.items() if k not in ("system", "variant")}
        return [row for (t, *_), row in self.rows.items()
                if t == table and row["metric"] == metric
                and all(row[k] == wanted[k] for k in ("system", "variant") if k in wanted)
                and ("operations" in row["params"]) == ("operations" in wanted)  # another question about the same list
                and all(row["params"].get(k) == v for k, v in params.items())]

    def one(self, table, metric, **wanted):
        found = self.find(table, metric, **wanted)
        if len(found) != 1:
            sys.exit(f"bench/results: {len(found)} rows of {table} for {wanted}, not one")
        return found[0]


def figures(results):
    machine = results.one("histogram", "ns_per_update", system="ceiling")["machine"]
    near = statistics.median(machine["core_round_trip_ns"])
    yield (f'Medians of five, with minimum and maximum; 2 PEs; {name_of(machine)}, '
           f'{machine["cores"]} virtual cores, {machine["compiler"].split()[0]} {machine["compiler"].split()[1]};\n'
           f"a cache line's round trip between the cores takes {near:.0f} ns. "
           "`word` and `row` are two ways to write triangle.\n\n")
    yield "| | lambda form | class form | over MPI, 2 processes | rivals | hand-written |\n|---|---|---|---|---|---|\n"
    named = set()
    for title, table, metric, params in QUESTIONS:
        ask = dict(params, pes=2)
        ours = [results.one(table, metric, system="shunt", variant=v, transport=t, **ask)
                for v, t in [("lambda", "threads"), ("class", "threads"), ("lambda", "mpi")]]
        rivals = [f'{RIVALS[row["system"]]}{" " + row["variant"] if row["variant"] else ""} {number(row["median"])}'
                  for row in results.find(table, metric, **ask) if row["system"] in RIVALS]
        named.update(RIVALS[row["system"]] for row in results.find(table, metric, **ask) if row["system"] in RIVALS)
        ceiling = results.one(table, metric, system="ceiling", **ask)
        yield "| " + " | ".join([title, *map(figure, ours), ", ".join(rivals), figure(ceiling)]) + " |\n"
    yield versions(named)
    yield "\nMore PEs than cores, histogram, lambda form:\n\n"
    yield ("| PEs | updates of each | million updates a second, together | resident memory, MB |\n"
           "|---:|---:|---:|---:|\n")
    for pes, updates in [(2, 1_000_000), (4, 1_000_000), (8, 1_000_000), (1024, 20_000)]:
        ask = {"system": "shunt", "variant": "lambda", "pes": pes, "updates_per_pe": updates}
        rate = pes / results.one("histogram", "ns_per_update", **ask)["median"] * 1e3
        memory = results.one("histogram", "max_rss_bytes", **ask)["median"] / 1e6
        yield f"| {pes:,} | {updates:,} | {rate:.0f} | {memory:.0f} |\n"
    yield from figures_inside(results)


def our_variant(table):
    """Of a table where Shunt has several: the one that stands for it."""
    return {"variant": "adaptive"} if table.startswith("stm") else {"variant": ""} if table == "switch" else {}


def name_of(machine):
    """Its CPU; and whether other hardware threads had its cores, too: then they have half of the instructions in flight
    that a whole core has, or fewer."""
    windows = [n for core in machine.get("instruction_windows") or [] for n in core or [] if n]
    shared = windows and statistics.median(windows) < WHOLE_CORE
    return machine["cpu"] + (" (shared cores)" if shared else "")


def machines(results):
    """On which machine each table was measured that figures_inside() shows: they were not all measured in one day."""
    on = {}
    for _, table, metric, params in INSIDE:
        cpu = name_of(results.one(table, metric, system="shunt", **our_variant(table), **params)["machine"])
        on.setdefault(cpu, {})[table] = None  # in order, once
    return "; ".join(f'{", ".join(tables)} on {cpu}' for cpu, tables in on.items())


def numbers_of(runs):
    return f"{min(runs)}" if min(runs) == max(runs) else f"{min(runs)} to {max(runs)}"


def figures_inside(results):
    runs = [len(row["samples"]) for _, table, metric, params in INSIDE for row in results.find(table, metric, **params)]
    text = ("Fibers, tasks, transactions and actors, with default options; rivals at the best of their settings, with "
            f"as many threads as fibers, or workers. Medians of {numbers_of(runs)} runs; {machines(results)}:")
    yield "\n" + textwrap.fill(text, 120, break_long_words=False, break_on_hyphens=False) + "\n\n"
    named = set()
    yield "| | Shunt | rivals | hand-written |\n|---|---|---|---|\n"
    for title, table, metric, params in INSIDE:
        ours = results.one(table, metric, system="shunt", **our_variant(table), **params)
        best = max if metric in MORE_IS_BETTER else min
        of_rivals = {}
        for row in results.find(table, metric, **params):
            name = RIVALS.get(row["system"])
            if name:
                of_rivals[name] = best(of_rivals.get(name, row["median"]), row["median"])
        named.update(of_rivals)
        rivals = sorted(of_rivals.items(), key=lambda one: one[1], reverse=metric in MORE_IS_BETTER)
        ceilings = results.find(table, metric, system="ceiling", **params)
        yield "| " + " | ".join([title, figure(ours), ", ".join(f"{name} {number(value)}" for name, value in rivals),
                                 figure(ceilings[0]) if ceilings else "-"]) + " |\n"
    yield versions(named)


def comparison(results):
    """Ahead is the system with the best median; none where Shunt and the best rival are as good as equal."""
    yield "\n| question | Shunt | others | ahead |\n|---|---|---|---|\n"
    for question, table, metric, params, ours, rivals, remark in COMPARED:
        more = metric in MORE_IS_BETTER
        best = max if more else min
        cells = {}
        for words, (system, variant, *over) in ours.items():
            wanted = params | ({"transport": over[0]} if over else {})
            cells[words] = results.one(table, metric, system=system, variant=variant, **wanted)["median"]
        found = sorted(((NAMES[name], best(row["median"] for row in results.find(table, metric, system=name, **params)))
                        for name in rivals), key=lambda one: one[1], reverse=more)
        rival, its = found[0]

        def times_as_fast(value):
            return value / its if more else its / value
        ahead = "Shunt" if times_as_fast(cells[""]) > 1 else rival
        if BEHIND <= times_as_fast(cells[""]) <= 1 / BEHIND:
            ahead = "none"
        if ahead == rival:
            ahead += "".join(f", unless {words}" for words, value in cells.items() if times_as_fast(value) > 1)
        yield "| " + " | ".join([question, "; ".join(f"{words} {number(value)}".strip()
                                                     for words, value in cells.items()),
                                 ", ".join(f"{name} {number(value)}" for name, value in found),
                                 ahead + (f"; {remark}" if remark else "")]) + " |\n"
    yield "\n"


def between_marks(page, figures_of):
    text = page.read_text()
    before, _, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        sys.exit(f"{page.name}: no {BEGIN.strip()} … {END.strip()}")
    return text, before + BEGIN + "".join(figures_of) + END + after


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    results = Results(ROOT / "bench/results")
    for page, figures_of in [("README.md", figures(results)), ("docs/compare.md", comparison(results))]:
        before, now = between_marks(ROOT / page, figures_of)
        if check and now != before:
            sys.exit(f"{page}: its figures are not those of bench/results: run bench/figures.py")
        if not check:
            (ROOT / page).write_text(now)


main()

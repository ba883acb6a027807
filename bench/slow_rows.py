#!/usr/bin/env python3
"""Rows of bench/results/ in which Shunt is slow: more than 3 % behind a rival, or below 0.66 of the ceiling.

  bench/slow_rows.py            prints them, the slowest first
  bench/slow_rows.py --check    compares them with bench/slow_rows.json; status 1 if a row is missing there, has no
                                cause, or is slow no more
  bench/slow_rows.py --write    puts them there; a row that is new gets an empty cause, for a person to fill in

A row is a table's parameters, on each transport; of transactions the default policy counts, and of triangle the forms
that the application has. The newest run of each row counts. How many times as fast it is as another system is the
median of the ratios within a repetition, or the ratio of the medians where the two are of different runs.
"""
import argparse
import json
import statistics
import sys
from pathlib import Path

RESULTS = Path(__file__).resolve().parent / "results"
LIST = Path(__file__).resolve().parent / "slow_rows.json"
BEHIND = 0.97  # of the best rival's speed: what is nearer than that is no difference between two medians
CEILING = 0.66  # of the ceiling's speed
MORE_IS_BETTER = {"million_ops_per_s", "million_per_s", "gups", "million_teps"}
# Not a speed, or another metric's in other units.
NOT_COMPARED = {"share", "missed_share", "aborts_per_commit", "max_rss_bytes", "process_bytes", "ns_per_operation",
                "ns_per_wedge", "processors", "ratio_to_lambda"}
COMPARED_ALL_THE_SAME = {("channel", "ns_per_operation"), ("containers", "ns_per_operation"),
                         ("memory", "process_bytes")}
NO_RIVALS = {"shunt", "ceiling", "serial", "loop"}  # serial, loop: the work without what is measured
SERIAL = {("heat", "java")}  # likewise: the study's Java has one thread
OUR_VARIANTS = {"stm-si": {"adaptive"}, "stm-ll": {"adaptive"},
                "triangle": {"lambda", "class", "natural"}}  # other tables: all


def is_rival(row):
    return row["system"] not in NO_RIVALS and (row["table"], row["system"]) not in SERIAL


def is_compared(row):
    return row["metric"] not in NOT_COMPARED or (row["table"], row["metric"]) in COMPARED_ALL_THE_SAME


def newest(folder):
    """(table, metric, parameters without the transport) -> (system, variant, transport) -> row."""
    rows = {}
    for path in sorted(folder.glob("*.json")):
        for line in path.read_text().splitlines():
            row = json.loads(line)
            if not is_compared(row):
                continue
            params = {name: value for name, value in row["params"].items() if name != "transport"}
            key = (row["table"], row["metric"], json.dumps(params, sort_keys=True))
            rows.setdefault(key, {})[row["system"], row["variant"], row["params"].get("transport", "threads")] = row
    return rows


def within_repetitions(mine, its):
    """How many times as fast the one is, by the median of the ratios within a repetition; None: not of one run."""
    if "samples" not in mine or mine.get("machine") != its.get("machine"):
        return None
    more = mine["metric"] in MORE_IS_BETTER
    ratios = [a / b if more else b / a for a, b in zip(mine["samples"], its["samples"]) if a and b]
    return statistics.median(ratios) if ratios else None


def times_as_fast(mine, its):
    """The same, or by medians where that is unknown."""
    more = mine["metric"] in MORE_IS_BETTER
    return within_repetitions(mine, its) or (mine["median"] / its["median"] if more else its["median"] / mine["median"])


def name_of(table, variant, params, transport, metric):
    values = [f"{name}={value}" for name, value in json.loads(params).items()]
    over = f"over {transport}" if transport != "threads" else ""
    return " ".join(word for word in [table, variant, *values, over] if word) + f": {metric}"


def slow(rows):
    """Of each slow row: its name, and its speed over the best rival's, the rival, and the ceiling's. None: unknown."""
    found = {}
    for (table, metric, params), systems in rows.items():
        rivals = [(name, row) for (name, _, _), row in systems.items() if is_rival(row)]
        ceiling = systems.get(("ceiling", "", "threads"))
        for (system, variant, transport), row in systems.items():
            if system != "shunt" or variant not in OUR_VARIANTS.get(table, {variant}):
                continue
            of_rival, best = min(((times_as_fast(row, its), name) for name, its in rivals), default=(None, None))
            of_ceiling = times_as_fast(row, ceiling) if ceiling else None
            if (of_rival or 1) < BEHIND or (of_ceiling or 1) < CEILING:
                found[name_of(table, variant, params, transport, metric)] = (of_rival, best, of_ceiling)
    return dict(sorted(found.items(), key=lambda one: min(one[1][0] or 1, (one[1][2] or 1) / CEILING)))


def share(value):
    return "-" if value is None else f"{value:.2f}"


def findings(found, listed):
    for name in found:
        if not listed.get(name):
            yield f"{name}: {'has no cause' if name in listed else 'is slow, and is not listed'}"
    for name in listed:
        if name not in found:
            yield f"{name}: is slow no more; take it off the list"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--write", action="store_true")
    wanted = parser.parse_args()
    found = slow(newest(RESULTS))
    listed = json.loads(LIST.read_text()) if LIST.exists() else {}
    if wanted.write:
        LIST.write_text(json.dumps({name: listed.get(name, "") for name in found}, indent=1, ensure_ascii=False) + "\n")
    elif wanted.check:
        wrong = list(findings(found, listed))
        print("\n".join([*wrong, f"{len(found)} slow rows, {len(wrong)} findings"]))
        sys.exit(1 if wrong else 0)
    else:
        for name, (of_rival, best, of_ceiling) in found.items():
            print(f"{share(of_rival):>6} of {best or 'no rival':<12} {share(of_ceiling):>6} of the ceiling   {name}")


if __name__ == "__main__":
    main()

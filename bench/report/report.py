#!/usr/bin/env python3
"""Runs the tables of the five studies and all others, and writes one page with what was published beside today's."""
import argparse
import contextlib
import json
import math
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
BENCH = HERE.parent
sys.path.insert(0, str(BENCH))

import bench  # noqa: E402
from report import page, samples, versions  # noqa: E402
from report.rows import Rows  # noqa: E402

OF_STUDY = {"templet": ["heat"], "selectors": ["histogram", "index_gather", "triangle", "bale", "study"],
            "railways": ["railway", "latency"], "transactions": ["stm-si", "stm-ll"],
            "acquisition": ["daq", "switch", "memory", "matmul", "dft"]}
AS_PUBLISHED = {"heat": 19, "stm-si": 30, "stm-ll": 30, "switch": 100}  # repetitions of the studies


class BadCommandLine(Exception):
    """Told in one line, exit 2."""


def parse(arguments):
    class Parser(argparse.ArgumentParser):
        def error(self, message):
            raise BadCommandLine(message)

    parser = Parser(prog="shunt report", description=__doc__)
    parser.add_argument("--out", metavar="DIR", default="build/report", help="page and data (build/report); what an "
                        "interrupted run has left there is used")
    parser.add_argument("--quick", action="store_true", help="smaller inputs, 3 repetitions")
    parser.add_argument("--as-published", action="store_true", help="as many repetitions as the studies had")
    parser.add_argument("--only", metavar="NAME,...", default="", help="some studies or tables")
    parser.add_argument("--from", metavar="DIR", dest="recorded", help="measure nothing: the page of results that "
                        "`shunt bench --json` wrote there")
    parser.add_argument("--compare", metavar="OLD.json", help="what has changed since another report, and whether "
                        "that is significant")
    parser.add_argument("--fresh", action="store_true", help="measure anew what is there")
    parser.add_argument("--build-dir", metavar="DIR", default="", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    options.tables = tables_of([name for name in options.only.split(",") if name])
    if options.quick and options.as_published:
        raise BadCommandLine("--quick and --as-published exclude each other")
    return options


def tables_of(names):
    if not names:
        return list(bench.SYSTEMS)
    tables = []
    for name in names:
        if name not in OF_STUDY and name not in bench.SYSTEMS:
            raise BadCommandLine(f"--only: unknown name {name!r}; studies are {', '.join(OF_STUDY)}, tables are "
                                 f"{', '.join(bench.SYSTEMS)}")
        tables += OF_STUDY.get(name, [name])
    return list(dict.fromkeys(tables))


def questions():
    """What each table asks, from bench/README.md."""
    text = (BENCH / "README.md").read_text(encoding="utf-8")
    found = dict(re.findall(r"^\| `([\w-]+)` \| ([^|]*\?)", text, re.MULTILINE))
    return {name: found.get(name, "").strip() for name in bench.SYSTEMS}


# --- measuring -------------------------------------------------------------------------------------------------------


class Run:
    """A folder with a file a table. A table is measured as a whole; what is there is not measured again."""

    def __init__(self, options):
        self.options = options
        self.folder = pathlib.Path(options.out)
        self.results, self.logs = self.folder / "results", self.folder / "logs"
        self.results.mkdir(parents=True, exist_ok=True)
        self.logs.mkdir(exist_ok=True)
        self.state_file = self.folder / "state.json"
        self.state = self.read_state()
        self.write_state()  # from now on the folder is known as a report's, whenever this run is stopped

    def read_state(self):
        """What an earlier run has left. With --fresh nothing of the tables asked for; of another kind, of none."""
        how = {"quick": self.options.quick, "as_published": self.options.as_published, "commit": bench.commit()}
        if not self.state_file.exists():
            if any(self.results.iterdir()):
                raise BadCommandLine(f"--out: {self.results} has files, and none of them tells of a report; give "
                                     "another folder")
            return {"how": how, "seconds": {}}
        try:
            state = json.loads(self.state_file.read_text(encoding="utf-8"))
            other = {name: state["how"].get(name) for name in how if state["how"].get(name) != how[name]}
        except (ValueError, KeyError, TypeError):
            state, other = {"seconds": {}}, {"state.json": "damaged"}
        if other and not self.options.fresh:
            differences = ", ".join(f"{name} {value}, not {how.get(name, 'whole')}" for name, value in other.items())
            raise BadCommandLine(f"--out: {self.folder} holds a report of another kind ({differences}); give another "
                                 "folder, or --fresh")
        if self.options.fresh:
            for table in bench.SYSTEMS if other else self.options.tables:  # nothing else is ours to remove
                for old in [self.results / f"{table}.json", self.results / f"{table}.part", self.logs / f"{table}.txt"]:
                    old.unlink(missing_ok=True)
                state["seconds"].pop(table, None)
        return {"how": how, "seconds": state["seconds"]}

    def write_state(self):
        part = self.state_file.with_suffix(".part")
        part.write_text(json.dumps(self.state, indent=1), encoding="utf-8")
        part.replace(self.state_file)

    def done(self, table):
        return table in self.state["seconds"]

    def measure_all(self):
        missing = [t for t in self.options.tables if not self.done(t)]
        if len(missing) < len(self.options.tables):
            tell(f"{len(self.options.tables) - len(missing)} of {len(self.options.tables)} tables are there already")
        for number, table in enumerate(missing, 1):
            took = list(self.state["seconds"].values())
            left = f"; about {math.ceil(statistics.fmean(took) * (len(missing) - number + 1) / 60)} minutes left, if " \
                   "the others take as long as those so far" if took else ""
            tell(f"{number} of {len(missing)}: {table}{left}")
            self.measure(table)

    def measure(self, table):
        part = self.results / f"{table}.part"
        part.unlink(missing_ok=True)
        command = [sys.executable, str(BENCH / "bench.py"), table, "--json", str(part), "--build-dir",
                   self.options.build_dir]
        if self.options.quick:
            command.append("--quick")
        if self.options.as_published and table in AS_PUBLISHED:
            command += ["--samples", str(AS_PUBLISHED[table])]
        begun = time.monotonic()
        with open(self.logs / f"{table}.txt", "w", encoding="utf-8") as log:
            process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
            try:
                status = process.wait()
            except BaseException:  # ours to end: it ends its own programs
                process.terminate()
                process.wait()
                raise
        if status not in (0, 1):
            raise SystemExit(f"shunt report: table {table} ended with status {status}: see {self.logs / table}.txt")
        if part.exists():
            part.replace(self.results / f"{table}.json")
        self.state["seconds"][table] = round(time.monotonic() - begun, 1)
        self.write_state()

    def absent(self):
        return {log.stem: absent_of(log) for log in self.logs.glob("*.txt")}


def absent_of(log):
    """By a table's log: the systems that are missing, or that failed, each with the reason."""
    lines = log.read_text(encoding="utf-8").splitlines()
    told = [line for line in lines if line.startswith(("absent: ", "FAILED"))]
    return list(dict.fromkeys(line.removeprefix("absent: ") for line in told))


def tell(line):
    """Progress, on a terminal only."""
    if sys.stderr.isatty():
        print(f"shunt report: {line}", file=sys.stderr, flush=True)


# --- writing ---------------------------------------------------------------------------------------------------------


def write_page(folder, results, absent, options):
    try:
        rows = Rows(results)
    except (ValueError, KeyError, TypeError) as error:
        raise BadCommandLine(f"{results}: not what `bench --json` writes: {error}") from None
    if not rows.all():
        raise BadCommandLine(f"no results in {results}")
    java = ""
    with contextlib.suppress(OSError, ValueError, KeyError):
        built = pathlib.Path(options.build_dir) / "bench" / "bench_systems.json"
        java = json.loads(built.read_text(encoding="utf-8"))["java"]
    record = versions.Record(options.build_dir or BENCH, java)
    content = page.content(rows, results, questions(), absent, record)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "report.html").write_text(page.html(content), encoding="utf-8")
    (folder / "report.json").write_text(json.dumps({
        "made": content["made"], "machine": dict(record.machine), "absent": absent, "slow": content["slow"],
        "rows": rows.all()}, indent=1), encoding="utf-8")
    return rows


def key_of(row):
    return (row["table"], row["metric"], row["system"], row["variant"], Rows.text(row["params"]))


def read_report(file):
    try:
        return {key_of(row): row for row in json.loads(pathlib.Path(file).read_text(encoding="utf-8"))["rows"]}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadCommandLine(f"--compare: {file} is no report: {error}") from None


def compare(old, rows, out):
    new = {key_of(row): row for row in rows.all()}
    both = [key for key in new if key in old]
    changes = samples.with_significance([samples.change(known(old[key]), known(new[key])) for key in both])
    for key, change in sorted(zip(both, changes), key=lambda one: one[1].p):
        if change.significant:
            table, metric, system, variant, params = key
            print(f"{change.ratio:.3f}  p {change.p:.1g}  {table} {metric}, {system} {variant} {params}", file=out)
    few = sum(not change.testable for change in changes)
    print(f"{len(both)} rows in both reports, {sum(c.significant for c in changes)} with a significant change, "
          f"{few} with too few samples to tell; {len(new) - len(both)} are new, {len(old) - len(both)} are gone",
          file=out)
    elsewhere = sum(old[key]["machine"]["cpu"] != new[key]["machine"]["cpu"] for key in both)
    if elsewhere:
        print(f"{elsewhere} of them were measured on another processor", file=out)


def known(row):
    return [s for s in row["samples"] if s is not None]


def main(arguments):
    try:
        options = parse(arguments)
        folder = pathlib.Path(options.out)
        before = read_report(options.compare) if options.compare else {}  # the page may take its place
        failed = False
        if options.recorded:
            results, absent = pathlib.Path(options.recorded), {}
            if not results.is_dir():
                raise BadCommandLine(f"--from: no folder {results}")
        else:
            run = Run(options)
            run.measure_all()
            results, absent = run.results, run.absent()
            failed = any(line.startswith("FAILED") for lines in absent.values() for line in lines)
        rows = write_page(folder, results, absent, options)
        if options.compare:
            compare(before, rows, sys.stdout)
        print(folder / "report.html")
    except (BadCommandLine, OSError) as error:
        print(f"shunt report: {error}", file=sys.stderr)
        return 2
    return 1 if failed else 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        print("shunt report: stopped; the same command goes on where it was", file=sys.stderr)
        sys.exit(130)

#!/usr/bin/env python3
"""Weakens each half of each memory order in turn and wants a red test, or a red ThreadSanitizer.

  tools/weaken.py list [--root ROOT]           every half of src/, and what the table says of it
  tools/weaken.py run BUILD [--all]            runs what the table names; without --all only the quick ones
  tools/weaken.py search BUILD [--again]       finds a test case for each half that is not listed or `open`, with
                                               --again for each that has another reason, too; writes the table
    --only TEXT        only halves whose path, function or operation has TEXT in it
    --cases N          search: test cases that are tried for a half (10)
    --at-once N        processes at a time (2)

BUILD has SHUNT_WEAKEN (cmake --preset clang-tsan -DSHUNT_WEAKEN=ON): one run of a program weakens one order there,
tests/weaken/weaken.hpp.

Halves
  acquire   of acquire, acq_rel and seq_cst, where the operation reads
  release   of release, acq_rel and seq_cst, where the operation writes
  fence     a fence is one half, which ThreadSanitizer does not see
The one order of all seq_cst operations is no half: no run shows it. tests/model/orders.py has mutants for it.

Rules, for the table tests/weaken/halves.json
  H1  Each half is listed: with a test case, or with a reason of those that tests/weaken/README.md explains.
  H2  What is listed exists: the half, the test case, the reason.
  H3  The reason `open` says that no test case was found and no argument written. How many of those a module has is a
      number in gates.json, which may only fall; `run BUILD --lower` lowers it.
  H4  A test case is green as the orders are written, and red with the half weakened, at the latest in the last of RUNS
      runs: a race must be met to be seen.
"""
import collections
import concurrent.futures
import functools
import json
import operator
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

import gates
import source

TABLE = "tests/weaken/halves.json"
REASONS = "tests/weaken/README.md"
RUNS = 30        # of a test case, until one is red
QUICK = 1.0      # seconds to red, of what runs without --all
HANGS = 30       # seconds after which a weakened run counts as red: it hangs
RECORDED = 30    # seconds that a test case may take in `search`
LONG = 2         # seconds of those that are tried last
SLOTS = 1 << 20  # weakening::slots

ORDER = re.compile(r"\bmemory_order_(acquire|release|acq_rel|seq_cst)\b")
RECEIVER = re.compile(r"((?:[\w:]+(?:\([^()]*\)|\[[^\[\]]*\])*\s*(?:\.|->)\s*)*\b\w+)\s*$")
CASE = re.compile(r"[,\[\]\\*\"~]")  # what Catch2 takes for more than a name

Half = collections.namedtuple("Half", "path line column function operation half becomes")


def number(path, line, column):
    """weakening::site()"""
    value = 0xcbf29ce484222325
    for byte in path.encode() + bytes((line & 255, line >> 8, column & 255, column >> 8)):
        value = (value ^ byte) * 0x100000001b3 % (1 << 64)
    return value


def key(half):
    return f"{half.function}: {half.operation}: {half.half}"


def call_around(code, at):
    """The offsets at which the operation around `at` begins and ends, and its name; without one: of the name alone."""
    depth, begin = 0, at
    while begin > 0 and not (depth == 0 and code[begin - 1] in "(;{}"):
        begin -= 1
        depth += {")": 1, "(": -1}.get(code[begin], 0)
    receiver = RECEIVER.search(code[:begin - 1]) if begin > 0 and code[begin - 1] == "(" else None
    if not receiver:
        return at, at, ""
    name = re.search(r"\w+$", receiver.group(1)).group()
    return receiver.start(1), source.balanced(code, begin - 1, "(", ")"), name


def parts(order, name, fails):
    """What an operation's order consists of: (half, what becomes of the order without it)."""
    if "fence" in name:
        return [("fence", "relaxed")]
    reads = name != "store"
    writes = name not in ("load", "wait") and not fails
    acquires = reads and order in ("acquire", "acq_rel", "seq_cst")
    releases = writes and order in ("release", "acq_rel", "seq_cst")
    found = []
    if acquires:
        found.append(("acquire on failure" if fails else "acquire", "release" if releases else "relaxed"))
    if releases:
        found.append(("release", "acquire" if acquires else "relaxed"))
    return found


def halves_of(path, text):
    file = source.Source(text)
    functions = [scope for scope in source.scopes(file) if scope.kind == "function"]
    seen = collections.Counter()
    for found in ORDER.finditer(file.code):
        begin, end, name = call_around(file.code, found.start())
        line = file.line(found.start())
        column = len(text[file.starts[line - 1]:found.start()].encode()) + 1
        around = [scope for scope in functions if scope.first <= line <= scope.end]
        function = min(around, key=lambda scope: scope.end - scope.first).qualified if around else ""
        operation = re.sub(r"\s+", " ", re.sub(r"(?:std::)?memory_order_", "", text[begin:end])).strip()
        fails = name.startswith("compare_exchange") and bool(ORDER.search(file.code, begin, found.start()))
        for half, becomes in parts(found.group(1), name, fails):
            same = (function, operation, half)
            seen[same] += 1
            again = f" #{seen[same]}" if seen[same] > 1 else ""
            yield Half(path, line, column, function, operation + again, half, becomes)


def halves(root):
    found = []
    for path in source.tracked(root, "src", suffixes=source.SUFFIXES):
        if not path.endswith(source.TESTS):
            found += halves_of(path, source.read(root, path))
    return found


class Table:
    """path -> key of a half -> {"test", "case", "seconds"} or {"reason", "why"}"""

    def __init__(self, root):
        self.file = os.path.join(root, TABLE)
        self.rows = {}
        if os.path.exists(self.file):
            with open(self.file, encoding="utf-8") as text:
                self.rows = json.load(text)
        self.lock = threading.Lock()

    def of(self, half):
        return self.rows.get(half.path, {}).get(key(half))

    def put(self, half, row):
        with self.lock:
            self.rows.setdefault(half.path, {})[key(half)] = row

    def save(self, halves_now):
        """Those that are there, in the order of the code: a row a line."""
        with self.lock:
            blocks = []
            for path in sorted({half.path for half in halves_now}):
                rows = [(key(half), self.of(half)) for half in halves_now if half.path == path and self.of(half)]
                if rows:
                    lines = [f"    {json.dumps(name)}:\n      {json.dumps(row)}" for name, row in rows]
                    blocks.append(f"  {json.dumps(path)}: {{\n" + ",\n".join(lines) + "\n  }")
            with open(self.file, "w", encoding="utf-8") as file:
                file.write("{\n" + ",\n".join(blocks) + "\n}\n")


class Build:
    """The test programs of a build tree."""

    def __init__(self, folder):
        self.folder = os.path.abspath(folder)
        # ThreadSanitizer's older runtimes do not start where addresses are randomised in more bits than they expect.
        self.way = ["setarch", "-R"] if subprocess.run(["setarch", "-R", "true"], capture_output=True,
                                                       check=False).returncode == 0 else []
        self.names = {}

    def program(self, test):
        return os.path.join(self.folder, "test_" + test)

    def cases(self, test):
        """The names of a program's test cases; none if there is no such program."""
        if test not in self.names:
            self.names[test] = []
            if os.path.exists(self.program(test)):
                out = subprocess.run(self.way + [self.program(test), "--list-test-names-only"], capture_output=True,
                                     text=True, check=False, stdin=subprocess.DEVNULL)
                self.names[test] = [line.strip() for line in out.stdout.splitlines() if line.strip()]
        return self.names[test]

    def run(self, test, case, limit, **variables):
        """(whether it was red, seconds)"""
        environment = dict(os.environ, TSAN_OPTIONS="halt_on_error=1:symbolize=0", **variables)
        command = self.way + [self.program(test), CASE.sub(lambda found: "\\" + found.group(), case)]
        begin = time.monotonic()
        with subprocess.Popen(command, cwd=self.folder, env=environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True) as process:
            try:
                red = process.wait(limit) != 0
            except subprocess.TimeoutExpired:
                red = True  # it hangs
            try:  # what it has left behind, too
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        return red, time.monotonic() - begin

    def weakened(self, half, row):
        at = f"{half.path}:{half.line}:{half.column}:{half.becomes}"
        return self.run(row["test"], row["case"], HANGS, WEAKEN_SITE=at)


def reasons(root):
    """The reasons that the page explains: the first column of its table."""
    path = os.path.join(root, REASONS)
    return set(re.findall(r"^\| `([^`]+)` \|", source.read(root, REASONS), re.M)) if os.path.exists(path) else set()


def findings(root, build, every, table):
    """What breaks H1 and H2."""
    known = reasons(root)
    for half in every:
        row, where = table.of(half), f"{half.path}:{half.line}: {key(half)}"
        if row is None:
            yield f"{where}: is not listed"
        elif "reason" in row:
            if row["reason"] not in known:
                yield f"{where}: {REASONS} explains no reason {row['reason']}"
        elif row["case"] not in build.cases(row["test"]):
            yield f"{where}: test_{row['test']} has no test case \"{row['case']}\""
    there = {(half.path, key(half)) for half in every}
    for path, rows in table.rows.items():
        for name in rows:
            if (path, name) not in there:
                yield f"{path}: {name}: is listed, but not there"


def still_open(root, every, table, lower):
    """What breaks H3."""
    counts = collections.Counter(source.module_of(half.path) for half in every
                                 if (table.of(half) or {}).get("reason") == "open")
    file = os.path.join(root, "tools/gates.json")
    return gates.check("weaken", counts, lower, file)[1] if os.path.exists(file) else []


def each(function, items, at_once):
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        return list(pool.map(function, items))


def run(root, build, every, table, at_once, everything, failed):
    failed = failed + list(findings(root, build, every, table))
    rows = [(half, table.of(half)) for half in every]
    rows = [(half, row) for half, row in rows if row and "case" in row and row["case"] in build.cases(row["test"])]
    chosen = [(half, row) for half, row in rows if everything or row["seconds"] <= QUICK]
    tests = sorted({(row["test"], row["case"]) for _, row in chosen})

    def green(test):
        red, _ = build.run(*test, 10 * HANGS)
        return f"test_{test[0]}: \"{test[1]}\": is red with all orders as written" if red else None

    def seen(pair):
        half, row = pair
        for _ in range(RUNS):
            if build.weakened(half, row)[0]:
                return None
        return f"{half.path}:{half.line}: {key(half)}: test_{row['test']} \"{row['case']}\" is green without it"

    results = each(green, tests, at_once) + each(seen, chosen, at_once)
    failed += [result for result in results if result]
    listed = collections.Counter(table.of(half)["reason"] for half in every if "reason" in (table.of(half) or {}))
    print("\n".join(failed))
    print(f"halves: {len(every)}; weakened: {len(chosen)}; slower than {QUICK:g} s, for --all: "
          f"{len(rows) - len(chosen)}; listed with a reason: {sum(listed.values())}"
          + "".join(f", {reason} {count}" for reason, count in sorted(listed.items())))
    print(f"{len(results) - sum(1 for result in results if result)} passed, {len(failed)} failed")
    return 1 if failed or not results else 0


def record(build, root, at_once):
    """Test cases that are green and have several threads: {test: {case: [seconds, numbers of the sites they run]}}."""
    kept = os.path.join(build.folder, "weaken-seen.json")
    known = {}
    if os.path.exists(kept):
        with open(kept, encoding="utf-8") as text:
            known = json.load(text)
    tests = sorted({source.module_of(path) for path in source.tracked(root, "src", suffixes=".test.cpp")})
    tests = [test for test in tests if os.path.exists(build.program(test))]
    for test in tests:
        made = os.path.getmtime(build.program(test))
        if known.get(test, {}).get("made") != made:
            known[test] = {"made": made, "cases": {}}
    jobs = [(test, case) for test in tests for case in build.cases(test) if case not in known[test]["cases"]]
    lock = threading.Lock()

    def look(job):
        with tempfile.NamedTemporaryFile() as file:
            file.truncate(SLOTS)
            red, seconds = build.run(*job, RECORDED, WEAKEN_SEEN=file.name)
            with open(file.name, "rb") as bytes_:
                content = bytes_.read()
        seen = [found.start() for found in re.finditer(b"[^\0]", content)]
        threads = bin(functools.reduce(operator.or_, content, 0)).count("1")
        print(f"{'red  ' if red else 'green'} {seconds:6.1f} s  {len(seen):4} sites  {threads} threads  "
              f"{job[0]}: {job[1]}", flush=True)
        with lock:
            known[job[0]]["cases"][job[1]] = None if red or threads < 2 else [round(seconds, 1), seen]
            with open(kept, "w", encoding="utf-8") as text:
                json.dump(known, text)

    each(look, jobs, at_once)
    return {test: {case: found for case, found in known[test]["cases"].items() if found} for test in tests}


class Search:
    def __init__(self, build, table, seen, most):
        self.build, self.table, self.seen, self.most = build, table, seen, most
        self.kills = collections.Counter()  # of a test case: halves of a file that it has seen
        self.lock = threading.Lock()

    def candidates(self, half):
        """The test cases that run the site. First those that have seen other halves of the file; then those that are
        named after the file or the class; then, in turn, those that run few sites, where fewer other edges hide this
        one, and those that take long."""
        at = number(half.path, half.line, half.column) % SLOTS
        names = {os.path.splitext(os.path.basename(half.path))[0]} | set(half.function.split("::")[:-1])
        found = [({"test": test, "case": case, "seconds": seconds}, len(sites))
                 for test, cases in self.seen.items() for case, (seconds, sites) in cases.items() if at in sites]

        def named(case):
            return not names.isdisjoint(re.findall(r"\w+", case.split(":")[0]))

        few = [row for row, _ in sorted(found, key=lambda one: (one[1], one[0]["seconds"]))]
        long = sorted(few, key=lambda row: -row["seconds"] if row["seconds"] < LONG else 0)
        mixed = [row for pair in zip(few, long) for row in pair]
        unique = {(row["test"], row["case"]): row for row in [row for row in few if named(row["case"])] + mixed}
        with self.lock:
            return sorted(unique.values(), key=lambda row: -self.kills[half.path, row["test"], row["case"]])

    def rate(self, half, row):
        """How many of four runs are red; none if the first is green."""
        red, seconds = 0, []
        for _ in range(4):
            was, took = self.build.weakened(half, row)
            red += was
            seconds.append(took)
            if not red:
                break
        row = dict(row, seconds=round(sum(seconds) / len(seconds), 1))
        return red, row

    def find(self, half):
        if half.half == "fence":
            self.table.put(half, {"reason": "fence"})
            return
        found = self.candidates(half)
        best = (0, None)
        for row in found[:self.most] + found[:3]:  # one that is red in every run is preferred to one red at times
            best = max(best, self.rate(half, row), key=lambda one: one[0])
            if best[0] == 4:
                break
        where = f"{half.path}:{half.line}: {key(half)}"
        if best[0]:
            with self.lock:
                self.kills[half.path, best[1]["test"], best[1]["case"]] += 1
            self.table.put(half, best[1])
            print(f"red in {best[0]} of 4  {where}\n      {best[1]}", flush=True)
        else:
            print(f"green in {len(found)} cases  {where}", flush=True)


def search(root, build, every, asked, table, at_once, most, again):
    looking = Search(build, table, record(build, root, at_once), most)
    todo = [half for half in asked if "case" not in (table.of(half) or {}) and
            (again or (table.of(half) or {"reason": "open"})["reason"] == "open")]

    def find(half):
        looking.find(half)
        table.save(every)

    each(find, todo, at_once)
    table.save(every)
    left = [half for half in todo if "case" not in (table.of(half) or {})]
    print(f"{len(todo) - len(left)} found, {len(left)} not")
    return 0


def main(arguments):
    words, options = [], {"--root": source.root_of(__file__), "--only": "", "--cases": "10", "--at-once": "2"}
    flags, rest = set(), list(arguments)
    while rest:
        word = rest.pop(0)
        if word in options and rest:
            options[word] = rest.pop(0)
        elif word in ("--all", "--again", "--lower"):
            flags.add(word)
        else:
            words.append(word)
    if words[:1] not in (["list"], ["run"], ["search"]) or len(words) != (1 if words[0] == "list" else 2):
        print(__doc__)
        return 2
    root = options["--root"]
    every, table = halves(root), Table(root)
    asked = [half for half in every if options["--only"] in f"{half.path}: {key(half)}"]
    if words[0] == "list":
        for half in asked:
            print(f"{half.path}:{half.line}:{half.column}: {key(half)}\n      {table.of(half) or 'is not listed'}")
        return 0
    build = Build(words[1])
    if words[0] == "search":
        return search(root, build, every, asked, table, int(options["--at-once"]), int(options["--cases"]),
                      "--again" in flags)
    failed = [] if options["--only"] else still_open(root, every, table, "--lower" in flags)
    there = {(half.path, key(half)) for half in every} - {(half.path, key(half)) for half in asked}
    for path, name in there:  # not asked for
        table.rows.get(path, {}).pop(name, None)
    return run(root, build, asked, table, int(options["--at-once"]), "--all" in flags, failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

#!/usr/bin/env python3
"""Holds what `shunt-translate check` finds against what is planted here, and that it finds nothing in correct programs.

  check_test.py TRANSLATE SOURCE [planted|table|correct]

planted  each line of these programs that ends in `// wrong: TEXT` has one finding, with that text; other lines none;
         one program of each rule is read a second time, without the headers of ../headers.py
table    the names in the tool's table of waiting calls are those of functions in the headers
correct  in the examples and applications nothing is found
"""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import headers  # noqa: E402

MARK = "// wrong: "
FINDING = re.compile(r"^(?P<file>[^:]+):(?P<line>\d+):(?P<column>\d+): error: (?P<text>.*)$")


def check(tool, file, flags):
    """The exit status and the findings of a file: (line, text), in the order in which they are printed."""
    done = subprocess.run([tool, "check", str(file), "--", "-std=c++20", *flags], capture_output=True, text=True,
                          timeout=900)
    found = []
    for line in done.stderr.splitlines():
        match = FINDING.match(line)
        if match is None or pathlib.Path(match["file"]).resolve() != file.resolve():
            raise AssertionError(f"{file}: not a finding in this file: {line}")
        if int(match["column"]) < 1 or match["text"].endswith("."):
            raise AssertionError(f"{file}: not as findings are: {line}")
        found.append((int(match["line"]), match["text"]))
    return done.returncode, found


def marks(file):
    """What is planted in a file: (line, part of the text)."""
    return [(number, line.split(MARK, 1)[1].strip())
            for number, line in enumerate(file.read_text().splitlines(), 1) if MARK in line]


def differences(file, status, found):
    """What is wrong with the findings of a planted file."""
    wanted = marks(file)
    wrong = [] if wanted else [f"{file}: nothing is planted"]
    if status != (1 if wanted else 0):
        wrong.append(f"{file}: exit status {status}")
    left = list(found)
    for line, text in wanted:
        fits = [f for f in left if f[0] == line and text in f[1]]
        if fits:
            left.remove(fits[0])
        else:
            wrong.append(f"{file}:{line}: not found: {text}")
    return wrong + [f"{file}:{line}: a false alarm: {text}" for line, text in left]


def in_parallel(call, runs):
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return [wrong for wrongs in pool.map(call, runs) for wrong in wrongs]


def planted(tool, source):
    files = sorted(pathlib.Path(__file__).resolve().parent.glob("*.cpp"))
    if len(files) < 20:
        return [f"only {len(files)} planted programs"]
    flags = ["-I", str(source / "src")]
    runs = [(file, headers.for_check(file)) for file in files]
    if any(given for _, given in runs):
        rules = {file.name.split("_")[0]: file for file in files}
        runs += [(file, []) for file in rules.values()]
    return in_parallel(lambda run: differences(run[0], *check(tool, run[0], [*run[1], *flags])), runs)


def correct(tool, source):
    files = sorted([*source.glob("examples/*.cpp"), *source.glob("examples/tutorial/*.cpp"),
                    *source.glob("apps/**/*.cpp")])
    flags = [word for folder in ("src", "apps", "tests") for word in ("-I", str(source / folder))]

    def look(file):
        try:
            status, found = check(tool, file, [*headers.for_check(file), *flags])
        except AssertionError as problem:  # in a header, or the file does not compile
            return [str(problem)]
        wrong = [f"{file}:{line}: {text}" for line, text in found]
        return wrong if status == len(wrong) == 0 else [*wrong, f"{file}: exit status {status}"]

    return ["no examples, no applications"] if len(files) < 60 else in_parallel(look, files)


def table(_, source):
    """A name that no header has is a name that check never finds."""
    text = (source / "tools/translate/check_waiting.hpp").read_text()
    names = re.findall(r'"([a-z_:|]+)",', text)
    wrong = [] if len(names) > 100 else ["the table has hardly a name"]
    for name in names:
        folder, *owners, last = name.split("::") if "::" in name else ["base", name]  # its namespace is shunt alone
        texts = [h.read_text() for h in (source / "src/shunt" / folder).rglob("*.hpp")]
        for word in (*(o for o in owners if o != "this_fiber"), last):
            pattern = r"operator\|\(" if last == "operator|" else rf"\b(class|struct) {word}\b|\b{word}\("
            if not any(re.search(pattern, t) for t in texts):
                wrong.append(f"check_waiting.hpp: {name}: no {word} in src/shunt/{folder}")
    return wrong


def main():
    tool, source = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    tests = {"planted": planted, "table": table, "correct": correct}
    chosen = sys.argv[3:] or list(tests)
    wrong = [problem for name in chosen for problem in tests[name](tool, source)]
    print("\n".join(wrong) if wrong else f"{', '.join(chosen)}: right")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""`shunt-translate class` on programs, and on the applications' kernels: same answers, comments kept, once is enough.

usage: class_test.py TRANSLATE SOURCE_TREE LIBRARY COMPILER...

Each *.cpp beside this script checks its own answer. It is compiled as it is and as it is translated, by every compiler,
and both print the same on 1 and 4 PEs. A comment `// refused: TEXT` says what the translation says of the line behind
it. Then the headers apps/bale/*_lambda.hpp are translated, and bale/kernels.cpp compares them with the classes that
were written by hand.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

here = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(here.parent))
import headers  # noqa: E402
translate, tree, library = (pathlib.Path(a).resolve() for a in sys.argv[1:4])
compilers = sys.argv[4:]
failures = []


def expect(condition, what):
    """Notes a failure and goes on."""
    if not condition:
        failures.append(what)
        print("FAILED:", what, flush=True)


def run(command, **more):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=900, **more)


def translated(file, *flags, given=None):
    """Translates a file in place. Returns the exit status, and {(line, text)} of what is refused.

    given: the options of headers.py; None: those for this file
    """
    given = headers.for_tool(file) if given is None else given
    done = run([translate, "class", file, "--in-place", "--", "-std=c++20", "-xc++", *given, *flags,
                f"-I{tree}/src"])
    said = set()
    for line in done.stderr.splitlines():
        found = re.fullmatch(r"(.*):(\d+):\d+: refused: (.*)", line)
        expect(found and found[1] == str(file), f"{file.name}: {line}")
        if found:
            said.add((int(found[2]), found[3]))
    return done.returncode, said


def wanted_refusals(text):
    """{(line, text)}: each comment speaks of the first line behind it that is none."""
    wanted = set()
    words = None
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if line.startswith("// refused: "):
            words = line.removeprefix("// refused: ")
        elif words and line.startswith("//   "):
            words += " " + line.removeprefix("//   ")
        elif words:
            wanted.add((number, words))
            words = None
    return wanted


def comments(text):
    """How often each comment stands in a text, in lines or in pieces of lines."""
    counted = {}
    for found in re.findall(r"//[^\n]*|/\*.*?\*/", text, re.DOTALL):
        words = " ".join(found.split())
        counted[words] = counted.get(words, 0) + 1
    return counted


def same_but_once(file, *flags):
    """Translates a file, and looks at all that can be seen without running it. Returns whether it changed."""
    before = file.read_bytes()
    wanted = wanted_refusals(before.decode())
    code, said = translated(file, *flags)
    expect(code == (1 if wanted else 0), f"{file.name}: exit status {code}")
    expect(said == wanted, f"{file.name}: said {sorted(said - wanted)}, but not {sorted(wanted - said)}")
    after = file.read_bytes()
    kept = comments(after.decode())
    for comment, times in comments(before.decode()).items():
        expect(kept.get(comment, 0) >= times, f"{file.name}: lost {comment}")
    moved = wanted_refusals(after.decode())
    code, said = translated(file, *flags)
    expect(said == moved, f"{file.name}: the second time it said {sorted(said)}")
    expect(file.read_bytes() == after, f"{file.name}: changes again")
    return before != after


def with_line_ends_of_windows(folder, file, after):
    """A file with \\r\\n becomes what the same file with \\n becomes, one of them read without ../headers.py."""
    crlf = folder / "crlf.cpp"
    crlf.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    translated(crlf, given=[] if file.name == "payload.cpp" else None)
    expect(crlf.read_bytes() == after.replace(b"\n", b"\r\n"), f"{file.name}: with \\r\\n another translation")


def answers(compiler, source, program, flags):
    """What a program prints on 1 and on 4 PEs, or None."""
    made = run([compiler, "-std=c++20", "-Wall", "-Wextra", "-Werror", "-Wno-psabi",
                *headers.for_compiler(compiler, source), *flags, f"-I{tree}/src", source, library, "-lz", "-o",
                program])
    expect(made.returncode == 0, f"{source} by {compiler}:\n{made.stderr[:3000]}")
    if made.returncode != 0:
        return None
    printed = []
    for pes in (1, 4):
        done = run(["timeout", "600", program, "--pes", pes, "--workers", 2])
        expect(done.returncode == 0, f"{source} on {pes} PEs: {done.stderr}")
        printed.append(done.stdout)
    expect(all(printed), f"{source} prints nothing")
    return printed


def test_programs(folder):
    for file in sorted(here.glob("*.cpp")):
        copy = folder / file.name
        shutil.copy(file, copy)
        expect(same_but_once(copy), f"{file.name}: nothing changed")
        if not wanted_refusals(file.read_text()):
            code = re.sub(r"//[^\n]*", "", copy.read_text())
            expect(not re.search(r"make_selector|\bactor_of (?!;)\w+[({]", code), f"{file.name}: lambdas are left")
        with_line_ends_of_windows(folder, file, copy.read_bytes())
        for compiler in compilers:
            before = answers(compiler, file, folder / "before", [])
            after = answers(compiler, copy, folder / "after", [])
            expect(before == after, f"{file.name} by {compiler}: {before} became {after}")
        print(file.name, flush=True)


def test_kernels(folder):
    """The applications' headers: all of them translate."""
    include = folder / "include" / "bale"
    include.mkdir(parents=True)
    found = sorted((tree / "apps" / "bale").glob("*_lambda.hpp"))
    expect(len(found) >= 8, f"{len(found)} kernels in the lambda form")
    for header in found:
        copy = include / header.name
        shutil.copy(header, copy)
        changed = same_but_once(copy, f"-I{tree}/apps")
        expect(changed, f"{header.name}: nothing changed")
        print(header.name, "translates" if changed else "does not translate", flush=True)
    driver = here / "bale" / "kernels.cpp"
    for compiler in compilers:
        before = answers(compiler, driver, folder / "before", [f"-I{tree}/apps"])
        after = answers(compiler, driver, folder / "after", [f"-I{folder}/include", f"-I{tree}/apps"])
        expect(before == after, f"kernels by {compiler}: {before} became {after}")


with tempfile.TemporaryDirectory() as place:
    test_programs(pathlib.Path(place))
    test_kernels(pathlib.Path(place))
print(f"{len(failures)} failures")
sys.exit(1 if failures else 0)

#!/usr/bin/env python3
"""documents.py ROOT: what README.md and the manual state as facts is so: code, numbers of lines, options, variables.

Links: tools/links.py."""
import difflib
import glob
import os
import re
import sys

root = sys.argv[1]
bad = []


def text(path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read()


def need(good, what):
    if not good:
        bad.append(what)


# The README's first block of C++ is the example between its marks, to the letter.
readme, running = text("README.md"), text("docs/manual/running.md")
shown = re.search(r"^```cpp\n(.*?)^```$", readme, re.S | re.M)
compiled = re.search(r"^// \[readme\]\n(.*?)^// \[/readme\]$", text("examples/histogram.cpp"), re.S | re.M)
need(shown and compiled, "README.md has no block of C++, or examples/histogram.cpp no marks")
if shown and compiled and shown[1] != compiled[1]:
    lines = difflib.unified_diff(compiled[1].splitlines(), shown[1].splitlines(),
                                 "examples/histogram.cpp", "README.md", lineterm="")
    bad.extend(lines)

# Each block of C++ in the tutorial is the program of that step, to the letter.
steps = re.findall(r"^```cpp\n(.*?)^```$", text("docs/tutorial.md"), re.S | re.M)
programs = sorted(glob.glob(os.path.join(root, "examples", "tutorial", "*.cpp")))
need(len(steps) == len(programs), f"docs/tutorial.md shows {len(steps)} programs of {len(programs)}")
for path, step in zip(programs, steps):
    lines = difflib.unified_diff(text(path).splitlines(), step.splitlines(), path, "docs/tutorial.md", lineterm="")
    bad.extend(lines)

# Lines of the kernels: neither blank nor only a comment, as cloc counts.
forms = ("lambda", "class", "natural")
kernels = re.findall(r"^\| (\w+) \| (\d+) \| (\d+) \| (\d+|–) \|$", readme, re.M)
need(kernels, "README.md: no table of the kernels' lines")
for kernel, *said in kernels:
    for form, lines in zip(forms, said):
        if lines == "–":
            need(not glob.glob(os.path.join(root, "apps", "*", f"{kernel}_{form}.hpp")),
                 f"README.md: {kernel}, {form} form: has no lines, but there is one")
            continue
        (source,) = glob.glob(os.path.join(root, "apps", "*", f"{kernel}_{form}.hpp"))
        source = text(source).splitlines()
        counted = sum(1 for line in source if line.strip() and not line.lstrip().startswith("//"))
        need(counted == int(lines), f"README.md: {kernel}, {form} form: {lines} lines, but there are {counted}")

# A transfer is short.
transfer = re.search(r"^// \[transfer\]\n(.*?)^// \[/transfer\]$", text("examples/bank.cpp"), re.S | re.M)
need(transfer and len(transfer[1].splitlines()) <= 6,
     "examples/bank.cpp: the transfer has more than 6 lines, or no marks")

# Every variable and every option has its row in the manual, and no other.
variables = set(re.findall(r'^    \{"(SHUNT_\w+)"', text("src/shunt/base/environment.cpp"), re.M))
options = set(re.findall(r'^    \{"(--\w+)", "SHUNT_\w+"', text("src/shunt/pgas/launch.cpp"), re.M))
table = running[running.index("## Options"):running.index("## Memory")]
rows = "\n".join(line for line in table.splitlines() if line.startswith("|"))
need(variables and variables == set(re.findall(r"`(SHUNT_\w+)`", rows)),
     f"docs/manual/running.md: variables: {sorted(variables ^ set(re.findall(r'`(SHUNT_[A-Z]+)`', rows)))}")
need(options and options == set(re.findall(r"^\| `(--\w+)`", rows, re.M)),
     f"docs/manual/running.md: options: {sorted(options ^ set(re.findall(r'^. `(--[a-z]+)`', rows, re.M)))}")

# Every example is in the README's table.
for path in glob.glob(os.path.join(root, "examples", "*.cpp")):
    need(f"(examples/{os.path.basename(path)})" in readme, f"README.md does not name {os.path.basename(path)}")
print("\n".join(bad) if bad else "documents: right")
sys.exit(1 if bad else 0)

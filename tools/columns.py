#!/usr/bin/env python3
"""Holds every line to 120 columns, in comments, prose and scripts too.

  tools/columns.py [--all] [--lower] [ROOT]     counts by module; --all prints every line; exit 1 above a number

Rules
  K1  A line has at most 120 columns. Rows of a table in a page are free, and so is a line that is one long link.
The numbers in gates.json say how many longer lines a module may still have; they may only fall.
"""
import collections
import sys
import unicodedata

import gates
import source

COLUMNS = 120
SUFFIXES = source.SUFFIXES + (".md", ".py", ".sh", ".cmake", ".txt", ".pml", ".java", ".go", ".rs", ".help")
FREE = ("/results/", "/corpus/", "docs/decisions/")  # records, data, and history


def width(line):
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


def findings(path, text):
    """The lines that are too long: (line, columns)."""
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) <= COLUMNS or width(line) <= COLUMNS:
            continue
        if path.endswith(".md") and line.lstrip().startswith("|"):
            continue
        if len(line.split()) <= 2 and "://" in line:
            continue
        yield number, width(line)


def count(root):
    found = collections.defaultdict(list)
    for path in source.tracked(root):
        scripts = path in ("shunt", ".ci/run")
        if (path.endswith(SUFFIXES) or scripts) and not any(part in path for part in FREE):
            for line, columns in findings(path, source.read(root, path)):
                found[source.module_of(path)].append(f"{path}:{line}: a line of {columns} columns")
    return found


def main(arguments):
    root = gates.root_in(arguments, __file__)
    found = count(root)
    counts = {module: len(lines) for module, lines in found.items()}
    passed, failed = gates.check("columns", counts, "--lower" in arguments)
    for module in sorted(found):
        print(f"{module:16} {len(found[module]):5}")
        if "--all" in arguments or any(f.startswith(module + ":") for f in failed):
            print("\n".join(found[module]))
    return gates.report(passed, failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

#!/usr/bin/env python3
"""Holds prose and names to one rule of the house's English: the subject of a statement is the thing that acts.

  tools/english.py [--all] [--lower] [ROOT]     counts by module; --all prints every line; exit 1 above a gate

Rules
  E1  `who`, `whoever`, `nobody`, `somebody`, `anybody` and their like (any case, a whole word) stand in no comment,
      message, identifier or page.
  E2  A question may ask `who`, a quotation may contain it: between " " or “ ”, or in a sentence that ends with `?`.
      A string of the code is a message, not a quotation.
  E3  Lines that must have the word for another reason are listed in ALLOWED with the reason.
The numbers in gates.json say how many lines a module may still have; they may only fall. docs/decisions is history.
"""
import collections
import os
import re
import sys

import gates
import source

FOLDERS = ["src", "docs", "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "apps", "bench", "examples", "tests", "tools",
           "cmake", "packaging", "CMakeLists.txt", "shunt", ".ci"]
WORD = re.compile(r"(?<![\w-])(?:who|whoever|nobody|somebody|anybody|everybody|someone|anyone)(?![\w-])", re.I)

# (path, a part of the line): reason
ALLOWED = {
    ("tools/english.py", ""): "defines the rule",
    ("tools/english.test.py", ""): "plants what breaks the rule",
}


def quoted(line, at):
    """Whether a quotation of prose is open at an offset of a line."""
    return line[:at].count('"') % 2 == 1 or line[:at].count("“") > line[:at].count("”")


def asks(lines, number, at):
    """Whether the sentence that goes on from here ends with a question mark."""
    rest = lines[number][at:] + " " + (lines[number + 1] if number + 1 < len(lines) else "")
    end = re.search(r"[.?!;](?=\W|$)", rest)
    return end is not None and end.group() == "?"


def findings(path, text):
    """The lines of a file that break the rule: (line, text)."""
    lines = text.split("\n")
    code = path.endswith(source.SUFFIXES) or path.endswith(".py")
    for number, line in enumerate(lines):
        for found in WORD.finditer(line):
            if not code and quoted(line, found.start()):
                continue
            if code and quoted(line, found.start()) and re.match(r"\s*(?://|\*|#)", line):
                continue  # a quotation in a comment
            if asks(lines, number, found.start()):
                continue
            if any(path == where and part in line for where, part in ALLOWED):
                continue
            yield number + 1, line.strip()
            break


def count(root):
    """The findings by module."""
    found = collections.defaultdict(list)
    for path in source.tracked(root, *[f for f in FOLDERS if os.path.exists(os.path.join(root, f))]):
        if path.startswith("docs/decisions/") or "/results/" in path or "/corpus/" in path:
            continue
        text = source.read(root, path)
        if "\0" in text:
            continue
        for line, what in findings(path, text):
            found[source.module_of(path)].append(f"{path}:{line}: {what}")
    return found


def main(arguments):
    root = gates.root_in(arguments, __file__)
    found = count(root)
    for module in sorted(found):
        print(f"{module:16} {len(found[module]):5}")
    counts = {module: len(lines) for module, lines in found.items()}
    passed, failed = gates.check("english", counts, "--lower" in arguments)
    for module in sorted(found):
        if "--all" in arguments or any(f.startswith(module + ":") for f in failed):
            print("\n".join(found[module]))
    return gates.report(passed, failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

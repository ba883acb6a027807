#!/usr/bin/env python3
"""Holds what the design pages name against the code: files, and functions in files.

  tools/names.py [ROOT]     a line a finding; exit 1 if there is one

Rules, for docs/architecture.md, docs/glossary.md and every page beside the code (src/**/*.md)
  N1  A path of a source file in backquotes (`detail/waits.cpp`, `rail/train.hpp`) is the end of a file's path.
  N2  In `path: function` and `path: type::function` the file has the name: a function or a type of that name.
      Several names may follow: `rail/train.hpp: take, put`.
"""
import os
import re
import sys

import gates
import source

SPAN = re.compile(r"`([^`\n]+)`")
PATH = re.compile(r"^((?:[\w.-]+/)*[\w.-]+\.(?:hpp|cpp|py|pml|sh|java|go))(?::\s+(.+))?$")
NAME = re.compile(r"^~?\w+(?:(?:::|\.)~?\w+)*(?:\(\))?$")


def pages(root):
    return source.tracked(root, "src", "docs/architecture.md", "docs/glossary.md", suffixes=".md")


def names_of(text):
    """What a file's code calls or declares: identifiers before a parenthesis or template arguments, and types."""
    code = source.Source(text).code
    found = set(re.findall(r"(~?\w+)\s*(?:<[^;{}<>]*>\s*)?\(", code))
    found.update(re.findall(r"\b(?:class|struct|union|enum|enum\s+class|using|concept|namespace)\s+"
                            r"(?:\[\[.*?\]\]\s*)?(?:alignas\([^)]*\)\s*)?(\w+)", code))
    found.update(re.findall(r"#\s*define\s+(\w+)", text))
    return found


def check(root):
    """Returns (how many were looked up, the findings)."""
    files = source.tracked(root)
    known = {}
    looked, found = 0, []

    def named_in(path):
        if path not in known:
            known[path] = names_of(source.read(root, path))
        return known[path]

    for page in pages(root):
        folder = os.path.dirname(page)
        for number, line in enumerate(source.read(root, page).split("\n"), 1):
            for span in SPAN.findall(line):
                match = PATH.match(span)
                if not match:
                    continue
                looked += 1
                path, functions = match.groups()
                ends = [f for f in files if f == path or f.endswith("/" + path)]
                near = [f for f in ends if f.startswith(folder + "/")] or ends
                if not ends:
                    found.append(f"{page}:{number}: there is no file {path}")
                    continue
                for name in re.split(r",\s*", functions) if functions else []:
                    if not NAME.match(name):
                        found.append(f"{page}:{number}: `{name}` of `{span}` is no name of a function")
                    elif not any(part_of(name) in named_in(f) for f in near):
                        found.append(f"{page}:{number}: {path} has no {name}")
    return looked, found


def part_of(name):
    return re.split(r"::|\.", name.replace("()", ""))[-1]


def main(arguments):
    root = gates.root_in(arguments, __file__)
    looked, found = check(root)
    return gates.report(looked - len(found), found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

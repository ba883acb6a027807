#!/usr/bin/env python3
"""Holds files, functions and classes under src/ to the house's sizes.

  tools/sizes.py [--lower] [ROOT]     the ten largest of each kind, then a line a finding; exit 1 if there is one

Rules
  Z1  A file has at most 500 lines. Tests and fuzzers (*.test.cpp, *.fuzz.cpp) are free.
  Z2  A function has at most 60 lines, from its declaration to its closing brace.
  Z3  A class has at most 35 member functions, those that it only declares included, deleted ones and friends not.
  Z4  An exception is listed below with its reason; one that is no longer needed is a finding.
What is still to be cut stands in gates.json, as `path name`; --lower takes out what has been cut.
"""
import sys

import gates
import source

LINES_OF_A_FILE = 500
LINES_OF_A_FUNCTION = 60
FUNCTIONS_OF_A_CLASS = 35

# (path, name): reason. A file's name is "".
EXCEPTIONS = {
}


def measure(root):
    """Lists of (size, path, line, name): files, functions, classes."""
    files, functions, classes = [], [], []
    for path in source.tracked(root, "src", suffixes=source.SUFFIXES):
        if path.endswith(source.TESTS):
            continue
        text = source.read(root, path)
        files.append((text.count("\n"), path, 1, ""))
        for scope in source.scopes(source.Source(source.first_branches(text))):
            if scope.kind == "function":
                functions.append((scope.end - scope.first + 1, path, scope.first, scope.qualified))
            elif scope.kind == "type":
                classes.append((len(scope.functions), path, scope.first, scope.qualified))
    return files, functions, classes


def check(root, exceptions=None, not_yet=()):
    """Returns (how many were measured, the findings, the three lists, what of `not_yet` is still too large)."""
    exceptions = EXCEPTIONS if exceptions is None else exceptions
    lists = measure(root)
    found, used, still = [], set(), []
    for sizes, most, unit, what in zip(lists, (LINES_OF_A_FILE, LINES_OF_A_FUNCTION, FUNCTIONS_OF_A_CLASS),
                                       ("lines", "lines", "member functions"), ("file", "function", "class")):
        for size, path, line, name in sizes:
            if size <= most:
                continue
            if (path, name) in exceptions:
                used.add((path, name))
            elif f"{path} {name}".strip() in not_yet:
                still.append(f"{path} {name}".strip())
            else:
                called = f"{what} {name}".strip()
                found.append(f"{path}:{line}: {called} has {size} {unit}, at most {most} are allowed")
    for path, name in exceptions:
        if (path, name) not in used:
            found.append(f"tools/sizes.py: the exception ({path}, {name}) is not needed")
    return sum(map(len, lists)), found, lists, still


def main(arguments):
    root = gates.root_in(arguments, __file__)
    not_yet = gates.load("sizes")
    total, found, lists, still = check(root, None, not_yet)
    for title, sizes in zip(("lines of files", "lines of functions", "member functions of classes"), lists):
        print(f"the largest {title}:")
        for size, path, line, name in sorted(sizes, reverse=True)[:10]:
            print(f"  {size:5} {path}{':' + str(line) + ' ' + name if name else ''}")
    for name in still:
        print(f"still to be cut: {name}")
    for name in sorted(set(not_yet) - set(still)):
        print(f"cut, to be taken out of gates.json (--lower): {name}")
    if "--lower" in arguments:
        gates.save("sizes", sorted(still))
    return gates.report(total - len(found), found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

#!/usr/bin/env python3
"""Holds the numbers of errors, and docs/errors.md, against the code that throws them.

  tools/errors.py [ROOT]     a line a finding; exit 1 if there is one

Rules
  N1  A `throw` of an error of Shunt's in src/, apps/, tools/cli/ and tools/simulate/ names an error_number. UNNUMBERED
      lists those that pass on a message that has a number already.
  N2  Each number that they name has a section `### SHUNT-0101` in the page, and each section's number is named there.
      Sections stand in ascending order.
  N3  A section begins with its message. What the message has between `…` and words in capitals stands in a string of a
      module that names the number.
"""
import os
import re
import sys

import gates
import source

PAGE = "docs/errors.md"
FOLDERS = ["src", "apps", "tools/cli", "tools/simulate"]
UNNUMBERED = {("src/shunt/pgas/detail/job.cpp", "message_"), ("src/shunt/pgas/launch.cpp", "known.agreed.what")}
CLASSES = r"(?:usage_error|error|deadlock|mailbox_full|unanswered|broken_promise|stalled|blocking_in_transaction)"
THROW = re.compile(rf"\bthrow\s+(?:\w+::)*{CLASSES}\s*\(")
NUMBER = re.compile(r"\berror_number\((\d+)\)")
SECTION = re.compile(r"^### SHUNT-(\d{4})\n\n(`+)(.*?)\2\n\n(?=\S)", re.M | re.S)
LEAST_PIECE = 8  # characters


def code_files(root):
    folders = [folder for folder in FOLDERS if os.path.exists(os.path.join(root, folder))]
    for path in source.tracked(root, *folders, suffixes=source.SUFFIXES):
        if not path.endswith(source.TESTS):
            yield path, source.Source(source.read(root, path), keep_literals=True)


def strings_of(text):
    """A file's string literals; those that stand side by side are one."""
    found, end = [], -1
    for token in source.TOKEN.finditer(text):
        if token.group("string") is None:
            continue
        value = re.sub(r'\\(["\\])', r"\1", token.group()[1:-1])
        if end >= 0 and not text[end:token.start()].strip():
            found[-1] += value
        else:
            found.append(value)
        end = token.end()
    return found


def pieces_of(message):
    parts = re.split(r"…|\b[A-Z]{4,}\b(?:-\w+)?", re.sub(r"\s+", " ", message))
    return [part for part in (each.strip(" :;,.()`") for each in parts) if len(part) >= LEAST_PIECE]


def check(root, unnumbered=frozenset(UNNUMBERED)):
    """Returns (how many were looked at, the findings)."""
    looked, found = 0, []
    used = {}  # number -> (path, statement)s
    everything = {}  # module -> its strings
    for path, text in code_files(root):
        for match in THROW.finditer(text.code):
            looked += 1
            inside = text.code[match.end():source.balanced(text.code, match.end() - 1, "(", ")") - 1]
            if not NUMBER.match(inside.strip()) and (path, inside.strip()) not in unnumbered:
                found.append(f"{path}:{text.line(match.start())}: an error is thrown without an error_number")
        for match in NUMBER.finditer(text.code):
            used.setdefault(int(match.group(1)), []).append(path)
        everything.setdefault(source.module_of(path), []).extend(strings_of(text.text))
    page = source.read(root, PAGE)
    sections = [(int(number), message) for number, _, message in SECTION.findall(page)]
    headings = [int(number) for number in re.findall(r"^### SHUNT-(\d{4})$", page, re.M)]
    looked += len(used) + len(headings)
    found += [f"{PAGE}: SHUNT-{n:04d} does not begin with its message, in backticks"
              for n in headings if n not in dict(sections)]
    found += [f"{PAGE}: SHUNT-{after:04d} stands behind SHUNT-{before:04d}"
              for before, after in zip(headings, headings[1:]) if after <= before]
    found += [f"{used[n][0]}: SHUNT-{n:04d} has no section in {PAGE}" for n in sorted(set(used) - set(headings))]
    found += [f"{PAGE}: no code names SHUNT-{n:04d}" for n in headings if n not in used]
    for number, message in sections:
        for piece in pieces_of(message):
            looked += 1
            texts = [text for path in used.get(number, ()) for text in everything[source.module_of(path)]]
            if number in used and not any(piece in text for text in texts):
                found.append(f"{PAGE}: SHUNT-{number:04d} says `{piece}`, the code does not")
    return looked, found


def main(arguments):
    looked, found = check(gates.root_in(arguments, __file__))
    return gates.report(looked - len(found), found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

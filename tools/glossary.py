#!/usr/bin/env python3
"""Holds docs/glossary.md against the code: each term occurs where the glossary says, no retired word occurs.

  tools/glossary.py [--all] [--where] [--lower] [ROOT]
    --all     prints every occurrence of a retired word
    --where   prints for each term the files that declare a type, function or variable of its name
    --lower   takes out of gates.json what is no longer needed there

Rules
  G1  A term occurs in the file, or in a file of the folder, that its row names. Spaces stand for underscores, too.
  G2  A retired word does not occur in the modules that its row names (`all`: src, docs, README.md; decisions are
      history). As a `word` nowhere, not even as a part of an identifier; as a `type` or `name` not as an identifier
      of that kind; as a `namespace` neither opened nor used.
  G3  A word is either a term or retired in a module, and stands in one row.
What is still to come stands in gates.json: NOT_YET, retired words that a module still has, and TERMS_NOT_YET.
"""
import collections
import os
import re
import sys

import gates
import source

PAGE = "docs/glossary.md"
NOT_YET, TERMS_NOT_YET = "retired words, not yet", "terms, not yet"
KINDS = ("word", "type", "name", "namespace")


def tables(text):
    """Returns the terms (word, place, line) and the retired words (word, kind, modules, now, line)."""
    terms, retired, inside = [], [], False
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("## "):
            inside = line == "## Retired words"
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
        if len(cells) != 4 or cells[0] in ("term", "retired") or set(cells[0]) <= {"-", ":"}:
            continue
        if inside:
            retired.append((cells[0], cells[1], [m.strip() for m in cells[2].split(",")], cells[3], number))
        else:
            terms.append((cells[0], cells[3], number))
    return terms, retired


def pattern_of_term(term):
    return re.compile(r"(?<![A-Za-z])" + r"[\s_]+".join(map(re.escape, term.split())) + r"(?:e?s)?(?![A-Za-z])", re.I)


def pattern_of_retired(word, kind):
    if kind == "word":  # also as a part of an identifier
        return re.compile(rf"(?<![A-Za-z]){word}(?:e?s)?(?![A-Za-z])", re.I)
    if kind == "type":
        return re.compile(rf"\b(?:class|struct|union|enum|enum\s+class|enum\s+struct)\s+(?:\[\[[^]]*\]\]\s*)?"
                          rf"(?:alignas\([^)]*\)\s*)?{word}\b(?!\s*(?:::|;))|\busing\s+{word}\s*=")
    if kind == "name":
        return re.compile(rf"\b{word}_?\b")
    return re.compile(rf"\b{word}::|\bnamespace\s+(?:\w+::)*{word}\b")


def occurrences(root, retired):
    """Yields (word, module, path, line, text) of retired words."""
    files = collections.defaultdict(list)
    for path in source.tracked(root, "src", "docs", "README.md"):
        if path.endswith(source.SUFFIXES + (".md",)) and not path.startswith("docs/decisions/") and path != PAGE:
            files["docs" if path == "README.md" else source.module_of(path)].append(path)
    texts = {path: source.read(root, path) for paths in files.values() for path in paths}
    codes = {}
    for word, kind, modules, _, _ in retired:
        pattern = pattern_of_retired(word, kind)
        for module in sorted(files) if modules == ["all"] else modules:
            for path in files[module]:
                text = texts[path]
                if path.endswith(".md"):  # where a link leads is no prose
                    text = re.sub(r"\]\([^)\n]*\)", lambda m: " " * len(m.group()), text)
                if word.lower() not in text.lower():
                    continue
                if kind != "word":
                    if path.endswith(".md"):
                        continue
                    if path not in codes:
                        codes[path] = source.Source(text).code
                    text = codes[path]
                lines = texts[path].split("\n")
                for found in pattern.finditer(text):
                    line = text.count("\n", 0, found.start()) + 1
                    yield word, module, path, line, lines[line - 1].strip()


def occurs(root, term, place):
    """None if the place does not exist."""
    where = os.path.join(root, place)
    if os.path.isdir(where):
        paths = source.tracked(root, place, suffixes=source.SUFFIXES)
    elif os.path.isfile(where):
        paths = [place]
    else:
        return None
    pattern = pattern_of_term(term)
    return any(pattern.search(source.read(root, path)) for path in paths)


def check(root, waiting):
    """Returns (passed, findings, occurrences of retired words by module, terms that do not occur)."""
    terms, retired = tables(source.read(root, PAGE))
    passed, findings, missing = 0, [], []
    if not terms or not retired:
        findings.append(f"{PAGE}: the tables were not found")
    seen = set()
    for term, place, line in terms:
        if term in seen:
            findings.append(f"{PAGE}:{line}: {term} has two rows")
        seen.add(term)
        there = occurs(root, term, place)
        if there:
            passed += 1
        elif term in waiting.get(TERMS_NOT_YET, []):
            missing.append(term)
            passed += 1
        elif there is None:
            findings.append(f"{PAGE}:{line}: {term}: there is no {place}")
        else:
            findings.append(f"{PAGE}:{line}: {term} does not occur in {place}")
    for word, kind, modules, _, line in retired:
        if kind not in KINDS:
            findings.append(f"{PAGE}:{line}: {word} is a {kind}: one of {', '.join(KINDS)} is needed")
        if word in seen and kind == "word":
            findings.append(f"{PAGE}:{line}: {word} is a term and retired")
    still = collections.defaultdict(lambda: collections.defaultdict(list))
    for word, module, path, line, text in occurrences(root, [r for r in retired if r[1] in KINDS]):
        still[module][word].append(f"{path}:{line}: {word}: {text}")
    for module in sorted(still):
        for word in sorted(still[module]):
            if word not in waiting.get(NOT_YET, {}).get(module, []):
                findings += still[module][word]
    passed += len(retired)
    return passed, findings, still, missing


def where(root):
    """For each term, the files that declare it."""
    declared = collections.defaultdict(set)
    for path in source.tracked(root, "src", "tools", suffixes=source.SUFFIXES + (".py",)):
        if not path.endswith(source.TESTS):
            for scope in source.scopes(source.Source(source.first_branches(source.read(root, path)))):
                declared[scope.name.split("::")[-1]].add(path)
    for term, place, _ in tables(source.read(root, PAGE))[0]:
        print(f"{term}: {place}; declared in {', '.join(sorted(declared[term.replace(' ', '_')])) or 'no file'}")


def main(arguments):
    root = gates.root_in(arguments, __file__)
    if "--where" in arguments:
        return where(root)
    waiting = gates.load("glossary")
    passed, findings, still, missing = check(root, waiting)
    if "--all" in arguments:
        for module in sorted(still):
            for word in sorted(still[module]):
                print("\n".join(still[module][word]))
    rest = {module: sorted(set(words) & set(still[module])) for module, words in waiting.get(NOT_YET, {}).items()}
    for module, words in sorted(waiting.get(NOT_YET, {}).items()):
        gone = sorted(set(words) - set(rest[module]))
        if gone:
            print(f"{module}: retired and gone, to be taken out of gates.json (--lower): {', '.join(gone)}")
    come = sorted(set(waiting.get(TERMS_NOT_YET, [])) - set(missing))
    if come:
        print(f"terms that occur now, to be taken out of gates.json (--lower): {', '.join(come)}")
    if "--lower" in arguments:
        gates.save("glossary", {NOT_YET: {module: words for module, words in rest.items() if words},
                                TERMS_NOT_YET: sorted(missing)})
    return gates.report(passed, findings)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

#!/usr/bin/env python3
"""Holds memory orders to the house's rule: each is named, and each is explained where it stands.

  tools/orders.py [--all] [--lower] [ROOT]    counts by module; --all prints every unexplained site

Rules, for each atomic operation and fence in src/ outside tests
  O1  It names its memory order.
  O2  A comment explains the order: on the lines of the statement, in the lines just above it, or above the function.
        edge `name`   `name` occurs at least twice in the tree: at both ends. `pair` does as well, for fences.
        R3, ring.S1   an invariant that the same module defines, in a file's head or in its DESIGN.md
        relaxed: why  for an operation that is nothing but relaxed
  O3  A label is defined in one file of the tree.
The numbers in gates.json say how many sites of a module may break O1 or O2, and how many labels O3; they may only fall.
"""
import collections
import os
import re
import sys

import gates
import source

OPERATION = re.compile(r"(?:\.|->)\s*(load|store|exchange|compare_exchange_weak|compare_exchange_strong|"
                       r"fetch_(?:add|sub|and|or|xor)|test_and_set)\s*\(|"
                       r"\b(atomic_thread_fence|atomic_signal_fence)\s*\(")
SURE = re.compile(r"compare_exchange|fetch_|test_and_set|fence")  # the other names are used for other things, too
DECLARED = re.compile(r"\batomic(?:_ref)?\s*<[^;{}()]*?>\s*(?:\*|&)?\s*(?:const\s+)?(\w+)\s*(?:[;{=\[,)]|$)", re.M)
CHANGE = re.compile(r"(?:\+\+|--)\s*(?:\w+(?:\.|->))*(\w+)\b(?!\s*(?:\.|->|\[|\())|\b(\w+)\s*(?:\+\+|--|[-+|&^]=)")
ENDS = re.compile(r"(?:[Ee]dge|[Pp]air)s?\b((?:[\s,:]*\w*[\s,]*`[^`\n]+`)+)")  # edges `one` and `other`
NAMED = re.compile(r"`([^`\n]+)`")
LABEL = re.compile(r"(?<![\w.-])(?:([a-z_]+)\.)?([A-Z]{1,2}\d{1,2}[a-z]?)(?![\w-])")
DEFINED = {  # in a comment two spaces follow the label, as in a list; a page may set it in bold, or in a table
    ".hpp": re.compile(r"^\s*(?://+<?|/?\*+)?\s*((?:[a-z_]+\.)?[A-Z]{1,2}\d{1,2}[a-z]?)  ", re.M),
    ".md": re.compile(r"^\s*(?:\*|-|\||#+)?[\s*|`]*((?:[a-z_]+\.)?[A-Z]{1,2}\d{1,2}[a-z]?)"
                      r"(?:\*\*|`)?(?:[ :.|,]|\s*$)", re.M),
}
RELAXED = re.compile(r"\brelaxed\b[^.;]{0,60}:\s*\S")
ABOVE = 4  # lines above a statement in which a comment is looked for


class Tree:
    """What is the same for every site: which names and labels occur where."""

    def __init__(self, root):
        self.root = root
        self.files = {path: source.Source(source.read(root, path))
                      for path in source.tracked(root, "src", suffixes=source.SUFFIXES)
                      if not path.endswith(source.TESTS)}
        self.names = collections.Counter()
        self.labels = collections.defaultdict(lambda: collections.defaultdict(list))  # label -> module -> places
        self.atomics = collections.defaultdict(set)  # module -> names of atomic variables
        documents = source.tracked(root, "src", suffixes=".md")
        texts = {path: source.read(root, path) for path in documents}
        texts.update({path: file.text for path, file in self.files.items()})
        for path, text in texts.items():
            for line in text.split("\n"):
                self.names.update(set(NAMED.findall(line)))
            comments = text
            if not path.endswith(".md"):
                comments = "\n".join(comment for _, comment in sorted(self.files[path].comments.items()))
            for found in DEFINED[".md" if path.endswith(".md") else ".hpp"].finditer(comments):
                self.labels[found.group(1)][source.module_of(path)].append(path)
        for path, file in self.files.items():
            self.atomics[source.module_of(path)].update(DECLARED.findall(file.code))

    def explained(self, module, comment, relaxed):
        for sentence in ENDS.finditer(comment):
            if any(self.names[name] >= 2 for name in NAMED.findall(sentence.group(1))):
                return True
        for found in LABEL.finditer(comment):
            whole = (found.group(1) + "." if found.group(1) else "") + found.group(2)
            if module in self.labels.get(whole, ()) or module in self.labels.get(found.group(2), ()):
                return True
        return relaxed and RELAXED.search(comment) is not None


def statement(code, at):
    """The offsets at which the statement around `at` begins and ends."""
    begin = max(code.rfind(mark, 0, at) for mark in ";{}") + 1
    depth, end = 0, at
    while end < len(code) and not (depth <= 0 and code[end] in ";{}"):
        depth += {"(": 1, ")": -1}.get(code[end], 0)
        end += 1
    return begin + len(code[begin:at]) - len(code[begin:at].lstrip()), end


def comment_of(file, functions, begin, end):
    """What is said about the lines `begin` to `end`: on them, above them, and above the function."""
    lines = file.text.split("\n")
    above = begin - 1
    while above >= 1 and above in file.comments and lines[above - 1].lstrip().startswith(("//", "*", "/*")):
        above -= 1
    first = min(above + 1, begin - ABOVE)
    around = [scope for scope in functions if scope.first <= begin <= scope.end]
    if around:  # a comment of the function before does not count
        first = max(first, min(scope.first for scope in around))
    parts = [file.comments[n] for n in range(max(1, first), end + 1) if n in file.comments]
    if around:
        head = min(around, key=lambda scope: scope.end - scope.first)
        parts += [file.comments[n] for n in range(head.first, head.begin + 1) if n in file.comments]
        line, doc = head.first - 1, []
        while line >= 1 and line in file.comments and lines[line - 1].lstrip().startswith(("//", "*", "/*")):
            doc.insert(0, file.comments[line])
            line -= 1
        parts += doc
    # A name or a label may stand at the beginning of a line, its word `edge` at the end of the line before.
    return re.sub(r"\s+", " ", " ".join(re.sub(r"^\s*(?://+<?|/?\*+/?)", "", part) for part in parts))


def sites(tree, path):
    """Yields (line, what, problem): problem is None for a site that keeps the rules."""
    file, module = tree.files[path], source.module_of(path)
    functions = [s for s in source.scopes(file) if s.kind == "function"]
    code = file.code
    # Where #else leaves braces unbalanced, the first branches still tell the functions.
    for found in OPERATION.finditer(code):
        name = found.group(1) or found.group(2)
        close = source.balanced(code, found.end() - 1, "(", ")")
        arguments = code[found.end():close - 1]
        begin, end = statement(code, found.start())
        line = file.line(found.start())
        if not re.search(r"memory_order|\border\b|\b(?:relaxed|acquire|release|acq_rel|seq_cst)\b", arguments):
            receiver = re.search(r"(\w+)\s*(?:\(\s*\)|\[[^\]]*\])?\s*$", code[:found.start()])
            if SURE.search(name) or (receiver and receiver.group(1) in tree.atomics[module]):
                yield line, name, "names no memory order"
            continue
        relaxed = not re.search(r"acquire|release|acq_rel|seq_cst|consume|\border\b", arguments)
        comment = comment_of(file, functions, file.line(begin), file.line(end))
        good = tree.explained(module, comment, relaxed)
        yield line, name, None if good else f"{'relaxed' if relaxed else 'its order'} is not explained"
    own = set(DECLARED.findall(code))
    for found in CHANGE.finditer(code):
        name = found.group(1) or found.group(2)
        line = file.line(found.start())
        if name in own and name.endswith("_") and "atomic" not in file.text.split("\n")[line - 1]:
            yield line, name, "is changed without a memory order"


def twice(tree):
    """A line for each label that several files define."""
    found = []
    for label, places in sorted(tree.labels.items()):
        files = sorted({path for paths in places.values() for path in paths})
        if len(files) > 1:
            found.append(f"label {label} is defined in {', '.join(files)}")
    return found


def main(arguments):
    root = gates.root_in(arguments, __file__)
    tree = Tree(root)
    total, unexplained = collections.Counter(), collections.Counter()
    lines = collections.defaultdict(list)
    for path in tree.files:
        module = source.module_of(path)
        for line, what, problem in sites(tree, path):
            total[module] += 1
            if problem:
                unexplained[module] += 1
                lines[module].append(f"{path}:{line}: {what}: {problem}")
    print(f"{'module':12} {'sites':>6} {'explained':>10} {'unexplained':>12}")
    for module in sorted(total):
        print(f"{module:12} {total[module]:6} {total[module] - unexplained[module]:10} {unexplained[module]:12}")
    every, without = sum(total.values()), sum(unexplained.values())
    print(f"{'all':12} {every:6} {every - without:10} {without:12}")
    passed, failed = gates.check("orders", unexplained, "--lower" in arguments)
    again = twice(tree)
    good, wrong = gates.check("labels", {"all": len(again)}, "--lower" in arguments)
    print(f"labels that several files define: {len(again)}")
    for module in sorted(lines):
        if "--all" in arguments or any(f.startswith(module + ":") for f in failed):
            print("\n".join(lines[module]))
    if "--all" in arguments or wrong:
        print("\n".join(again))
    return gates.report(passed + good, failed + wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

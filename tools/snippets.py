#!/usr/bin/env python3
"""Code in comments of public headers, and in pages: finds it, and writes it into files that are compiled.

  tools/snippets.py [ROOT]                    a line a finding; exit 1 if there is one
  tools/snippets.py --modules FOLDER [ROOT]   writes FOLDER/<module>.cpp with the code of each module's public headers
  tools/snippets.py --pages FOLDER PAGE...    writes FOLDER/<n>.cpp, one for each block with a main function in a page

Rules, for the comments of public headers
  P1  Code stands between ```cpp and ```; what is no code (a report, a shell's lines) between ```text and ```. Both may
      be left out for pictures and tables, which are indented.
  P2  An indented block of which a line ends like a statement is code, and so stands between the two.
  P3  tests/headers/snippets/<module>.hpp declares what the code takes for granted, in a namespace examples::<header>:
      examples::task_finish for task/finish.hpp. A namespace without such a header is a finding.

A block becomes a function in that namespace. Types and functions that it defines at its margin stand before it, as in a
program; a block with a main function is left as it is. Each line keeps its place (#line), so a compiler's message names
the header.
"""
import os
import re
import sys

import gates
import source

CONTEXTS = "tests/headers/snippets"
COMMENT = re.compile(r"^\s*//[/!]? ?(.*)$")
FENCE = re.compile(r"^\s*```\s*(\w*)\s*$")
DEFINITION = re.compile(r"^(?:struct|class|union|enum|template|using|TEST_CASE)\b|"
                        r"^(?!(?:if|for|while|switch|else|return|do)\b)[\w:<>,&* ]+[\w>&*]\s+[\w:]+\([^;\[]*\)[\w ]*\{")
STATEMENT = re.compile(r"(?:[)\]}\w\"'];|[)\w] \{|^\s*\}[;)]*)\s*(?://.*)?$")


class Block:
    """Lines between two fences: where they begin, in which language, and what they say."""

    def __init__(self, line, language, lines=None):
        self.line, self.language, self.lines = line, language, lines or []


def public_headers(root):
    """Those that the test `headers` compiles alone."""
    return [path for path in source.tracked(root, "src/shunt", suffixes=".hpp")
            if not re.search("/detail/|/transport/(mpi|network|shmem)/", path)]


def fenced(lines):
    """The blocks of a list of (line, text): of a page, or of a header's comments. A block ends with its comment."""
    block, before = None, 0
    for number, text in lines:
        fence = FENCE.match(text)
        if block is not None and number != before + 1:
            yield block
            block = None
        if fence and block is None:
            block = Block(number + 1, fence.group(1))
        elif fence:
            yield block
            block = None
        elif block is not None:
            block.lines.append(text)
        before = number
    if block is not None:
        yield block


def comments(text):
    """(line, text) of each line that is a comment and no more."""
    for number, line in enumerate(text.split("\n"), 1):
        found = COMMENT.match(line)
        if found:
            yield number, found.group(1)


def indented(lines):
    """The indented blocks outside of fences, for P2: lists of (line, text). A block begins three columns in."""
    block, inside, before = [], False, 0
    for number, text in lines:
        if FENCE.match(text):
            inside = not inside
        shift = len(text) - len(text.lstrip())
        if block and (inside or number != before + 1 or shift < 2):
            yield block
            block = []
        if not inside and text.strip() and (shift >= 2 if block else shift == 2):
            block.append((number, text))
        before = number
    if block:
        yield block


def name_of(path):
    """examples::<this> is the namespace of a header's code."""
    return os.path.splitext(path[len("src/shunt/"):])[0].replace("/", "_")


def items(block):
    """What stands at the margin of a block of code, one statement or definition after another: (line, text)."""
    begin, depth = None, 0
    for offset, text in enumerate(block.lines):
        if begin is None:
            begin = offset
        code = source.Source(text).code
        depth += sum(code.count(c) for c in "({[") - sum(code.count(c) for c in ")}]")
        if depth <= 0 and (code.rstrip().endswith((";", "}")) or not code.strip()):
            yield block.line + begin, "\n".join(block.lines[begin:offset + 1])
            begin, depth = None, 0
    if begin is not None:
        yield block.line + begin, "\n".join(block.lines[begin:])


def as_code(path, block):
    """The block as a function, and before it what it defines. A block with a main function is a whole program. A
    specialization stands outside of the namespace: it may be of a template of the library."""
    namespace = f"examples::{name_of(path)}"
    outside, inside = [], []
    program = any(text.startswith("int main(") for text in block.lines)
    for line, text in items(block):
        code = f'#line {line} "{path}"\n{text}\n'
        if text.startswith("template <>"):
            code = f"}}\nusing namespace {namespace};\n{code}namespace {namespace} {{\n"
        (outside if program or DEFINITION.match(text) else inside).append(code)
    return ("".join(outside) + f"void example_of_line_{block.line}() {{\n" + "".join(inside) + "}\n")


def module_code(root, module, blocks):
    """The file of a module's code. `blocks`: (path of the header, its blocks of C++)."""
    out = [f"#include <{path[len('src/'):]}>\n" for path, _ in blocks]
    context = os.path.join(CONTEXTS, module + ".hpp")
    if os.path.isfile(os.path.join(root, context)):
        out.append(f'#include "{os.path.abspath(os.path.join(root, context))}"\n')
    for path, code in blocks:
        out.append(f"namespace examples::{name_of(path)} {{\n")
        out += [as_code(path, block) for block in code]
        out.append("}\n")
    return "".join(out)


def cpp_blocks(root):
    """By module: (path of a header, its blocks of C++). Each module has an entry."""
    found = {}
    for path in public_headers(root):
        code = [b for b in fenced(comments(source.read(root, path))) if b.language == "cpp"]
        row = found.setdefault(source.module_of(path), [])
        if code:
            row.append((path, code))
    return found


def write(path, text):
    """Leaves a file alone that says so already: then nothing is compiled anew."""
    if os.path.isfile(path):
        with open(path, encoding="utf-8") as file:
            if file.read() == text:
                return
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def write_modules(folder, root):
    os.makedirs(folder, exist_ok=True)
    for module, blocks in cpp_blocks(root).items():
        write(os.path.join(folder, module + ".cpp"), module_code(root, module, blocks))
    return 0


def write_pages(folder, pages):
    count = 0
    for page in pages:
        with open(page, encoding="utf-8") as file:
            lines = list(enumerate(file.read().split("\n"), 1))
        for block in fenced(lines):
            text = "\n".join(block.lines)
            if block.language == "cpp" and "int main(" in text:
                write(os.path.join(folder, f"{count}.cpp"), f'#line {block.line} "{page}"\n{text}\n')
                count += 1
    return 0


def check(root):
    """Returns (how many blocks and contexts were looked at, the findings)."""
    looked, found, with_code = 0, [], set()
    for path in public_headers(root):
        lines = list(comments(source.read(root, path)))
        for block in fenced(lines):
            looked += 1
            if block.language == "cpp":
                with_code.add(name_of(path))
            elif block.language != "text":
                found.append(f"{path}:{block.line - 1}: a fence says `cpp` or `text`, not `{block.language}`")
        for block in indented(lines):
            looked += 1
            for number, text in block:
                if STATEMENT.search(text) and not block[0][1].lstrip().startswith("- "):
                    found.append(f"{path}:{number}: code stands between ```cpp and ```: {text.strip()}")
                    break
    for path in source.tracked(root, CONTEXTS, suffixes=".hpp"):
        for number, line in enumerate(source.read(root, path).split("\n"), 1):
            namespace = re.match(r"namespace examples::(\w+) \{", line)
            looked += namespace is not None
            if namespace and namespace.group(1) not in with_code:
                found.append(f"{path}:{number}: no header has code for examples::{namespace.group(1)}")
    return looked, found


def main(arguments):
    if arguments[:1] == ["--pages"]:
        return write_pages(arguments[1], arguments[2:])
    if arguments[:1] == ["--modules"]:
        return write_modules(arguments[1], gates.root_in(arguments[2:], __file__))
    looked, found = check(gates.root_in(arguments, __file__))
    return gates.report(looked - len(found), found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

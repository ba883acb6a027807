#!/usr/bin/env python3
"""Holds cmake/exports.map, the list of what the shared library exports, against the library and its headers.

  tools/exports.py ARCHIVE [SHARED]   one line a fault; exit 1 if there is one
  tools/exports.py --write ARCHIVE    writes the list anew; ARCHIVE of a build without optimisation, which has more

ARCHIVE: the static library, which has all symbols. SHARED: the shared one, of which only the exported ones are seen.

Rules
  E1  Exported is what an installed header declares in a public namespace: functions, variables, and classes with all
      that is in them.
  E2  Of a namespace `detail` only what code in an installed header refers to is exported: programs are compiled with
      that code. It refers to a function where it names it without declaring it.
  E3  With a class that an installed header defines go its typeinfo and its vtable: exceptions are caught across the
      library's boundary. With an inline function of such a header go its static variables; and so do
      its inline variables, for which addresses may stand.
  E4  A name with C linkage, shunt_*, is exported if an installed header has it, or a debugger looks for it.
  E5  Of the standard library's inline functions only the variables of STANDARD are exported: a program and the library
      must have one of each.
"""
import fnmatch
import os
import re
import subprocess
import sys

import layers
import source

MAP = "cmake/exports.map"
# A thread that waits for an atomic is found in a table, which std::atomic::notify_one() of the other side must see.
WAITERS = "std::__detail::__waiter_pool_base::_S_for*"
STANDARD = [WAITERS, "guard?variable?for?" + WAITERS]
DEBUGGERS = ["shunt_debug_fibers_v2"]  # tools/gdb
HEAD = """\
# What the shared library exports: a version script for the linker. tools/exports.py has the rules, writes this list,
# and holds it against the library and its headers. After a change of these: `tools/exports.py --write ARCHIVE`.
"""
# Words before a name that is called, and not declared.
BEFORE_CALLS = {"return", "co_return", "co_await", "co_yield", "throw", "else", "do", "case", "not", "and", "or", "new",
                "delete"}
END_OF_NAME = "[!0-9A-Za-z_]*"


def split(name):
    """The parts of a demangled name, without parameters, template arguments and a result's type."""
    parts, part, depth, i = [], "", 0, 0
    while i < len(name):
        rest = name[i:]
        operator = re.match(r"operator(\(\)|<=>|<<=?|>>=?|->\*?|<=?|>=?|[^\w\s(]+|\s[\w\s:]+)?", rest)
        if depth == 0 and rest.startswith("(anonymous namespace)"):
            part += "(anonymous namespace)"
            i += len("(anonymous namespace)")
        elif depth == 0 and operator and not re.search(r"\w$", part):
            part += operator.group()
            i += operator.end()
        elif depth == 0 and rest.startswith("::"):
            parts.append(part)
            part, i = "", i + 2
        elif name[i] in "<({[":
            depth, i = depth + 1, i + 1
        elif name[i] in ">)}]":
            depth, i = depth - 1, i + 1
        elif depth == 0 and rest.startswith((" const", " &", " [clone")) and "(" not in rest:
            break
        elif depth == 0 and name[i] == " " and not part.startswith("operator"):
            parts, part, i = [], "", i + 1  # what was before is a result's type
        else:
            part += name[i] if depth == 0 else ""
            i += 1
    return parts + [part]


class Code:
    """What a text of headers declares and names."""

    def __init__(self, code):
        self.words = set(re.findall(r"\w+", code))
        self.classes = set(re.findall(r"\b(?:class|struct)\s+(?:\[\[.*?\]\]\s*)?(?:alignas\([^()]*\)\s*)?(\w+)\s*"
                                      r"(?:final\s*)?[{:](?!:)", code))
        self.called = set()  # named where it is not declared: no type stands before it
        for found in re.finditer(r"\w+", code):
            before = code[max(0, found.start() - 80):found.start()]
            word = re.search(r"(\w+)\s+$", before)
            typed = re.search(r"[\w>\]][&*]*[&*>]\s+$", before)
            if not typed and not (word and word.group(1) not in BEFORE_CALLS):
                self.called.add(found.group())
        # A program's class that is derived from one of ours has our virtual functions in its table.
        self.called.update(re.findall(r"\bvirtual\b[^;{}]*?(\w+)\s*\(", code))
        self.called.update(re.findall(r"(\w+)\s*\([^;{}()]*\)[^;{}()]*\b(?:override|final)\b", code))


class Headers:
    """What the installed headers say: all of them, and those of each module."""

    def __init__(self, root):
        asked = subprocess.run(["cmake", "-P", os.path.join(root, "cmake/headers.cmake")],
                               capture_output=True, text=True, check=True)
        texts = {}
        for path in asked.stderr.split():
            whole = source.read(root, "src/" + path)
            macros = re.findall(r"^[ \t]*#\s*define((?:[^\n]*\\\n)*[^\n]*)", whole, re.M)  # programs use these, too
            codes = texts.setdefault(source.module_of("src/" + path), [])
            codes += [source.Source(whole, keep_literals=True).code, *(m.replace("\\\n", " ") for m in macros)]
        bare = {module: source.Source("\n".join(codes)).code for module, codes in texts.items()}
        self.literals = "\n".join(code for codes in texts.values() for code in codes)
        opened = re.findall(r"\bnamespace\s+([\w:]+)\s*\{", "\n".join(bare.values()))
        self.namespaces = {part for name in opened for part in name.split("::")}
        self.every = Code("\n".join(bare.values()))
        self.of = {module: Code(code) for module, code in bare.items()}

    def code_of(self, namespace):
        """Of the module that declares names in shunt::v1::<namespace>; of all where several do."""
        modules = [m for m, row in layers.NAMESPACES.items() if namespace in row]
        return self.of.get(namespace) or (self.of[modules[0]] if len(modules) == 1 else self.every)


class Symbol:
    def __init__(self, kind, name):
        self.kind, self.name = kind, name
        self.about = re.match(r"(?:vtable|VTT|typeinfo|typeinfo name|construction vtable) for (.*)", name)
        self.guard = re.match(r"guard variable for (.*)", name)
        self.plain = (self.about or self.guard).group(1) if self.about or self.guard else name
        self.parts = split(self.plain)
        self.weak = kind in "WVuvw"
        self.data = kind in "VuBDRvbdrGg" or "(" not in self.plain


def symbols(library, *options):
    """The symbols that a library defines, demangled."""
    said = subprocess.run(["nm", "-C", "--defined-only", *options, library],
                          capture_output=True, text=True, check=True)
    found = {}
    for line in said.stdout.splitlines():
        entry = re.match(r"[0-9a-f]+ (\w) (.+)", line)
        if entry:
            name = entry.group(2).split("@@")[0]
            found[name] = Symbol(entry.group(1), name)
    return list(found.values())


def pattern(symbol, headers):
    """The pattern that exports a symbol, by the rules; None for one that is not to be exported."""
    parts = symbol.parts
    if re.fullmatch(r"shunt_\w+", symbol.name):  # E4
        return symbol.name if symbol.name in DEBUGGERS or re.search(rf"\b{symbol.name}\b", headers.literals) else None
    if symbol.name.startswith("TLS "):
        return None  # a program has its own wrapper around a thread-local
    if parts[:2] != ["shunt", "v1"] or len(parts) < 3 or "(anonymous namespace)" in parts:
        return None
    # `~` is no character of a pattern.
    inside, code = "::".join(parts).replace("~", "?"), headers.code_of(parts[2])
    entity = next((i for i, part in enumerate(parts) if i > 1 and part not in headers.namespaces), len(parts) - 1)
    if symbol.about:  # E3
        known = all(part in code.classes for part in parts[entity:]) and "<" not in symbol.plain
        return "*?for?" + inside if known else None
    if symbol.weak and not symbol.data:
        return None  # an inline function: a program has its own
    if not all(part.lstrip("~") in code.words or part.startswith("operator") for part in parts[entity:]):
        return None  # no installed header knows it
    if "detail" not in parts:  # E1
        end = "::*" if entity + 1 < len(parts) else "" if symbol.data else END_OF_NAME
        return "::".join(parts[:entity + 1]) + end
    if symbol.data and re.search(r"\)(?: const)?::\w+$", symbol.plain):  # E3: of a function
        return ("guard?variable?for?" if symbol.guard else "") + "::".join(parts[:-1]) + END_OF_NAME
    last, classes = parts[-1], [part for part in parts[entity:-1]]
    if not all(part in code.classes for part in classes):
        return None
    special = classes and last.lstrip("~") == classes[-1] or last.startswith("operator")
    if not special and last not in code.called and not symbol.weak:  # an inline variable is one for all, wherever it is
        return None  # E2
    if symbol.data:
        return inside
    return inside.split("operator")[0] + "operator*" if last.startswith("operator") else inside + END_OF_NAME


def wanted(every, headers):
    found = {pattern(symbol, headers) for symbol in every if symbol.kind in "TWVuBDR"} - {None}
    return sorted(found)


def known(pattern_, headers):
    """Whether a pattern is one of E3 whose class or variable is still in the headers: another compiler, or one with
    other options, may leave its symbol out, or make it."""
    parts = pattern_.split("for?")[-1].replace(END_OF_NAME, "").split("::")
    if parts[0] != "shunt":
        return False
    code = headers.code_of(parts[2])
    return (pattern_.startswith("*") and parts[-1] in code.classes or
            not pattern_.endswith("*") and parts[-1] in code.words)


def text(patterns):
    plain = [p for p in patterns if re.fullmatch(r"shunt_\w+", p)]
    rest = [p for p in patterns if p not in plain]
    public = [p for p in rest if "::detail::" not in p]
    detail = [p for p in rest if "::detail::" in p]

    def lines(group):
        return "".join(f"    {p};\n" for p in group)
    return (HEAD + "{\n  global:\n" + "".join(f"  {p};\n" for p in plain) + '  extern "C++" {\n'
            "    # --- public ---\n" + lines(public) +
            "    # --- private, but inline code in headers refers to it ---\n" + lines(detail) +
            "    # --- of the standard library's inline functions ---\n" + lines(STANDARD) +
            "  };\n  local: *;\n};\n")


def listed(page):
    return [line.strip().rstrip(";") for line in page.split("\n") if re.fullmatch(r"\s+[\w*\[\]!?:-]+;", line)]


def check(archive, shared, root):
    """Every fault, as printed, and how many patterns were looked at."""
    every = symbols(archive)
    headers = Headers(root)
    should, does = set(wanted(every, headers)) | set(STANDARD), set(listed(source.read(root, MAP)))
    found = [f"{MAP}: {p} is missing: programs need it" for p in sorted(should - does)]
    found += [f"{MAP}: {p} is superfluous" for p in sorted(does - should) if not known(p, headers)]
    if shared:
        exported = {symbol.name for symbol in symbols(shared, "-D")}
        found += [f"{shared}: {name} is exported, and not in {MAP}" for name in sorted(exported)
                  if not any(fnmatch.fnmatchcase(name, p) for p in does)]
        found += [f"{shared}: {symbol.name} is in {MAP}, and not exported" for symbol in every
                  if symbol.kind in "TBDR" and symbol.name not in exported
                  and any(fnmatch.fnmatchcase(symbol.name, p) for p in does)]
    return found, len(does)


def main(arguments):
    root = source.root_of(__file__)
    if arguments[:1] == ["--write"]:
        headers = Headers(root)
        before = set(listed(source.read(root, MAP))) if os.path.exists(os.path.join(root, MAP)) else set()
        patterns = {p for p in before if known(p, headers)} | set(wanted(symbols(arguments[1]), headers))
        with open(os.path.join(root, MAP), "w", encoding="utf-8") as page:
            page.write(text(sorted(patterns)))
        return 0
    found, looked = check(arguments[0], arguments[1] if len(arguments) > 1 else None, root)
    for fault in found:
        print(fault)
    print(f"{looked} passed, {len(found)} failed")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

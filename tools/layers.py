#!/usr/bin/env python3
"""Holds the house's table against the code: which module may include which.

  tools/layers.py [ROOT]     one line a violation (file:line: what, why); exit 1 if there is one

Rules
  L1  A file of a module includes headers of its own module and of the modules in its row of MODULES.
  L2  A module header, src/shunt/<module>.hpp, counts as its module. src/shunt/shunt.hpp is above all modules; no module includes it.
  L3  Folders named detail are private, and so is all below them (<module>/detail/, <module>/<part>/detail/): only files of
      the module itself include it.
  L4  apps, examples, bench, tools and tests include any module's public headers. Tests of modules lie in the modules, and obey
      the modules' rows; tests/ may look into detail/.
  L5  A module that is not in the table, or a header that does not exist, is a violation too: a new module starts here.
  L6  No module includes what lies outside src/shunt by a quoted path that leaves the module.
"""
import os
import re
import sys

MODULES = {
    "base": [],
    "context": ["base"],
    "rail": ["base"],
    "wire": ["base"],
    "sched": ["base", "context", "rail"],
    "transport": ["base", "rail", "wire"],
    "task": ["base", "rail", "sched"],
    "io": ["base", "rail", "sched"],
    "stm": ["base", "rail", "sched"],
    "actor": ["base", "rail", "sched", "task"],
    "templet": ["base", "sched"],
    "pgas": ["base", "rail", "wire", "sched", "task", "transport"],
}
OUTSIDE = ["apps", "examples", "bench", "tools", "tests"]
SUFFIXES = (".hpp", ".cpp", ".h", ".c", ".ipp", ".S")

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def includes(path):
    """The (line, bracket, name) of every #include in a file, comments left out."""
    in_comment = False
    with open(path, encoding="utf-8", errors="replace") as text:
        for number, line in enumerate(text, 1):
            if in_comment:
                if "*/" not in line:
                    continue
                line = line.split("*/", 1)[1]
                in_comment = False
            line = re.sub(r"/\*.*?\*/", " ", line)
            found = INCLUDE.match(line)
            if found:
                yield number, found.group(1), found.group(2)
            elif "/*" in line.split("//", 1)[0]:
                in_comment = True


def files(root, folder):
    for where, folders, names in os.walk(os.path.join(root, folder)):
        folders.sort()
        for name in sorted(names):
            if name.endswith(SUFFIXES):
                yield os.path.relpath(os.path.join(where, name), root)


def module_of(inside):
    """The module of a path relative to src/shunt: its first folder, or the module header's name."""
    first, _, rest = inside.partition("/")
    return first if rest else os.path.splitext(first)[0]


def check_file(root, path):
    parts = path.split("/")
    owner = module_of("/".join(parts[2:])) if parts[:2] == ["src", "shunt"] else None
    above = owner == "shunt"  # src/shunt/shunt.hpp: the header of all modules
    if owner and not above and owner not in MODULES:
        yield 1, f"module `{owner}` is not in the table of tools/layers.py"
        return
    for line, bracket, name in includes(os.path.join(root, path)):
        if bracket == '"':
            target = os.path.normpath(os.path.join(os.path.dirname(path), name))
            if not os.path.exists(os.path.join(root, target)):
                # Not beside the file: found through -I, as <...> would be.
                target = os.path.join("src", name)
            elif owner and not above and not target.startswith(f"src/shunt/{owner}/"):
                if not target.startswith("src/shunt/"):
                    yield line, f'module `{owner}` includes "{name}", which lies outside src/shunt'
                    continue
        else:
            target = os.path.join("src", name)
        if not target.startswith("src/shunt/"):
            continue
        inside = target[len("src/shunt/"):]
        module = module_of(inside)
        if not os.path.exists(os.path.join(root, target)):
            yield line, f"{name} does not exist"
        elif module == "shunt":
            if owner and not above:
                yield line, f"module `{owner}` includes {name}, the header of all modules"
        elif module not in MODULES:
            yield line, f"module `{module}` of {name} is not in the table of tools/layers.py"
        elif owner == module:
            continue
        elif "detail" in inside.split("/") and parts[0] != "tests":
            yield line, f"{name} is private to module `{module}`"
        elif owner and not above and module not in MODULES[owner]:
            allowed = ", ".join(MODULES[owner]) or "no other module"
            yield line, f"module `{owner}` includes {name} of `{module}`; it may include {allowed}"


def check(root):
    """Every violation, as printed."""
    found = []
    for folder in ["src/shunt"] + OUTSIDE:
        for path in files(root, folder):
            found += [f"{path}:{line}: {what}" for line, what in check_file(root, path)]
    return found


def main(arguments):
    root = arguments[0] if arguments else os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    found = check(root)
    for violation in found:
        print(violation)
    print(f"layers: {len(found)} violation{'' if len(found) == 1 else 's'}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

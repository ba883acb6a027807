#!/usr/bin/env python3
"""Holds the house's table against the code: which module may include which, and which namespaces it opens.

  tools/layers.py [ROOT]     one line a violation (file:line: what, why); exit 1 if there is one

Rules
  L1  A file of a module includes headers of its own module and of the modules in its row of
      src/shunt/modules.txt. With these alone cmake/modules.cmake links it (target shunt_layers).
  L2  A module header, src/shunt/<module>.hpp, counts as its module. src/shunt/shunt.hpp is above all modules; no module
      includes it.
  L3  Folders named detail are private, and so is all below them (<module>/detail/, <module>/<part>/detail/): only files
      of the module itself include it.
  L4  apps, examples, bench, tools and tests include any module's public headers. Tests of modules lie in the modules,
      and obey the modules' rows; tests/ may look into detail/.
  L5  A module that is not in the table, or a header that does not exist, is a violation too: a new module starts here.
  L6  No module includes what lies outside src/shunt by a quoted path that leaves the module.
  L7  A row has no arrow that nothing uses.
  L8  A file of a module declares its names in shunt::v1::<module>, in a namespace inside of that, or in one of those
      that NAMESPACES lists. Using-declarations, and aliases of namespaces, may stand in shunt::v1 itself: they are the
      names that users write most.
  L9  A header in a private folder declares its names in a namespace `detail`.
  L10 docs/architecture.md shows the same table.
  L11 NAMESPACES has no place in which the module declares no name.
"""
import os
import re
import sys

import gates
import source

TABLE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "src/shunt/modules.txt")


def table(text):
    """Rows of modules.txt: the module -> the modules below it."""
    rows = [line.split() for line in text.split("\n") if line and not line.startswith("#")]
    return {row[0]: row[1:] for row in rows}


MODULES = table(source.read(os.path.dirname(TABLE), os.path.basename(TABLE)))
# Folders of a module that are private like every `detail` (L3): name of the module -> names of folders.
PRIVATE = {
}
# Namespaces inside shunt::v1 in which a module declares names, beside its own; "" is shunt::v1 itself.
NAMESPACES = {
    "base": ["", "detail", "environment"],  # the ground of all: `shunt::error` and the like have no other name
    "sched": ["test"],
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


def private(module, inside):
    """Whether a path relative to src/shunt lies in a private folder."""
    folders = inside.split("/")[:-1]
    return any(folder in folders for folder in ["detail"] + PRIVATE.get(module, []))


def check_file(root, path):
    parts = path.split("/")
    owner = module_of("/".join(parts[2:])) if parts[:2] == ["src", "shunt"] else None
    above = owner == "shunt"  # src/shunt/shunt.hpp: the header of all modules
    if owner and not above and owner not in MODULES:
        yield 1, f"module `{owner}` is not in src/shunt/modules.txt"
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
            yield line, f"module `{module}` of {name} is not in src/shunt/modules.txt"
        elif owner == module:
            continue
        elif private(module, inside) and parts[0] != "tests":
            yield line, f"{name} is private to module `{module}`"
        elif owner and not above and module not in MODULES[owner]:
            allowed = ", ".join(MODULES[owner]) or "no other module"
            yield line, f"module `{owner}` includes {name} of `{module}`; it may include {allowed}"


# Lines that declare no name of a namespace's own: using-declarations, forward declarations.
NOTHING_NEW = re.compile(r"\s*(?:using\s|namespace\s+\w+\s*=|namespace\s*\{|\}\s*$|template\s*<[^<>]*>\s*$|"
                         r"(?:template\s*<[^<>]*>\s*)?(?:class|struct|enum|enum class)\s[\w\s:]+;\s*$)")


def namespaces(text):
    """The namespaces that have something of their own in them: (path without shunt and v1, line)."""
    file = source.Source(source.first_branches(text))
    lines = file.code.split("\n")
    every = [s for s in source.scopes(file) if s.kind == "namespace"]
    for space in every:
        names, above = [], space
        while above is not None:
            names = above.name.split("::") + names
            above = above.parent
        if "" in names:  # without a name: what is in it belongs to the one around it
            continue
        inside = set(range(space.begin + 1, space.end))
        for other in every:
            if other.parent is space and other.name:
                inside -= set(range(other.first, other.end + 1))
        own = [n for n in sorted(inside) if lines[n - 1].strip()
               and not NOTHING_NEW.match(lines[n - 1])]
        if own and names[0] == "shunt":
            yield [n for n in names[1:] if n != "v1"], own[0]


def check_namespaces(root, path):
    """Violations of L8 and L9 in a file of a module."""
    inside = path[len("src/shunt/"):]
    module = module_of(inside)
    if module not in MODULES or path.endswith((".test.cpp", ".fuzz.cpp", ".bench.cpp")):
        return
    allowed = [[module]] + [place.split("::") if place else [] for place in NAMESPACES.get(module, [])]
    for names, line in namespaces(source.read(root, path)):
        if not any(names[:len(place)] == place if place else not names for place in allowed):
            yield line, f"module `{module}` declares names in {'::'.join(['shunt'] + names)}, not in shunt::{module}"
        elif private(module, inside) and path.endswith(".hpp") and "detail" not in names:
            where = "::".join(["shunt"] + names)
            yield line, f"a private header declares names in {where}, not in a namespace `detail`"


def unused(root):
    """The arrows of the table that no #include needs."""
    used = {module: set() for module in MODULES}
    for path in files(root, "src/shunt"):
        owner = module_of(path[len("src/shunt/"):])
        for _, _, name in includes(os.path.join(root, path)):
            if owner in used and name.startswith("shunt/"):
                used[owner].add(module_of(name[len("shunt/"):]))
    return [f"src/shunt/modules.txt: no file of `{module}` includes a header of `{below}`"
            for module, row in MODULES.items() if os.path.isdir(os.path.join(root, "src/shunt", module))
            for below in row if below not in used[module]]


def check_page(root, page="docs/architecture.md"):
    """L10: rows `| `module` | `below`, `below` | ... |` of the page against modules.txt."""
    if not os.path.isfile(os.path.join(root, page)):
        return []
    shown = {row[0]: re.findall(r"`(\w+)`", row[1])
             for row in re.findall(r"^\| `(\w+)` \|((?: ?`\w+`,?)*) \|", source.read(root, page), re.M)}
    return [f"{page}: `{module}` may include {', '.join(MODULES.get(module, [])) or 'no module'}; the page says "
            f"{', '.join(shown.get(module, [])) or 'none'}"
            for module in sorted(set(MODULES) | set(shown)) if MODULES.get(module) != shown.get(module)]


def needless(root, namespaces_of=None):
    """The places of NAMESPACES in which no file of the module declares a name."""
    table = NAMESPACES if namespaces_of is None else namespaces_of
    used = set()
    for path in files(root, "src/shunt"):
        module = module_of(path[len("src/shunt/"):])
        if module in table and ".test." not in path:
            used |= {(module, "::".join(names)) for names, _ in namespaces(source.read(root, path))}
    return [f"tools/layers.py: `{module}` declares nothing in {'::'.join(filter(None, ['shunt', place]))}"
            for module, places in sorted(table.items()) if os.path.isdir(os.path.join(root, "src/shunt", module))
            for place in places
            if not any(m == module and (n == place or (place and n.startswith(place + "::"))) for m, n in used)]


def check(root, arrows=True):
    """Every violation, as printed. `arrows`: L7 and L11 too, which a part of a tree cannot keep."""
    found = unused(root) + needless(root) + check_page(root) if arrows else []
    for folder in ["src/shunt"] + OUTSIDE:
        for path in files(root, folder):
            found += [f"{path}:{line}: {what}" for line, what in check_file(root, path)]
            if folder == "src/shunt":
                found += [f"{path}:{line}: {what}" for line, what in check_namespaces(root, path)]
    return found


def main(arguments):
    root = gates.root_in(arguments, __file__)
    found = check(root)
    looked = sum(1 for folder in ["src/shunt"] + OUTSIDE for _ in files(root, folder))
    return gates.report(looked - len({f.split(':')[0] for f in found}), found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

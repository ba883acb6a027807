#!/usr/bin/env python3
"""Holds the house's table against the code: which room may include which.

  tools/layers.py [ROOT]     one line a violation (file:line: what, why); exit 1 if there is one

Rules
  L1  A file of a room includes headers of its own room and of the rooms in its row of ROOMS.
  L2  A front, src/shunt/<room>.hpp, counts as its room. src/shunt/shunt.hpp is above all rooms; no room includes it.
  L3  <room>/detail/ is private: only files of the room itself include it.
  L4  apps, examples, bench, tools and tests include any room's public headers. Tests of rooms lie in the rooms, and obey
      the rooms' rows; tests/ may look into detail/.
  L5  A room that is not in the table, or a header that does not exist, is a violation too: a new room starts here.
  L6  No room includes what lies outside src/shunt by a quoted path that leaves the room.
"""
import os
import re
import sys

ROOMS = {
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


def room_of(inside):
    """The room of a path relative to src/shunt: its first folder, or the front's name."""
    first, _, rest = inside.partition("/")
    return first if rest else os.path.splitext(first)[0]


def check_file(root, path):
    parts = path.split("/")
    owner = room_of("/".join(parts[2:])) if parts[:2] == ["src", "shunt"] else None
    above = owner == "shunt"  # src/shunt/shunt.hpp: the front of fronts
    if owner and not above and owner not in ROOMS:
        yield 1, f"room `{owner}` is not in the table of tools/layers.py"
        return
    for line, bracket, name in includes(os.path.join(root, path)):
        if bracket == '"':
            target = os.path.normpath(os.path.join(os.path.dirname(path), name))
            if not os.path.exists(os.path.join(root, target)):
                # Not beside the file: found through -I, as <...> would be.
                target = os.path.join("src", name)
            elif owner and not above and not target.startswith(f"src/shunt/{owner}/"):
                if not target.startswith("src/shunt/"):
                    yield line, f'room `{owner}` includes "{name}", which lies outside src/shunt'
                    continue
        else:
            target = os.path.join("src", name)
        if not target.startswith("src/shunt/"):
            continue
        inside = target[len("src/shunt/"):]
        room = room_of(inside)
        if not os.path.exists(os.path.join(root, target)):
            yield line, f"{name} does not exist"
        elif room == "shunt":
            if owner and not above:
                yield line, f"room `{owner}` includes {name}, the front of all rooms"
        elif room not in ROOMS:
            yield line, f"room `{room}` of {name} is not in the table of tools/layers.py"
        elif owner == room:
            continue
        elif "detail" in inside.split("/") and parts[0] != "tests":
            yield line, f"{name} is private to room `{room}`"
        elif owner and not above and room not in ROOMS[owner]:
            allowed = ", ".join(ROOMS[owner]) or "no other room"
            yield line, f"room `{owner}` includes {name} of `{room}`; it may include {allowed}"


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

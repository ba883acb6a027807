#!/usr/bin/env python3
"""What tools/gdb/shunt.py shows of parked.cpp's process.

  check.py live|core GDB SCRIPT PROGRAM

live: of the process as gdb runs it. core: of a core file that the script wrote of it. Exit status 77: this machine
allows no debugger.
"""
import os
import re
import subprocess
import sys
import tempfile

GUARD = 240  # seconds: hung
FIBERS = 1000
IN_RING = 8
WHERE = ["parks_in_the_north", "parks_in_the_east", "parks_in_the_south", "parks_in_the_west"]

failed = 0


def check(good, what, shown=""):
    global failed
    if good:
        return
    failed += 1
    if failed > 10:  # what fails for one fiber fails for a thousand
        return
    print(f"FAIL {what}")
    for line in shown.splitlines()[:40]:
        print(f"     | {line}")


def gdb(debugger, files, *commands):
    """What these commands print: one text a command."""
    line = [debugger, "-nx", "-batch"]
    for setting in ("confirm off", "pagination off", "width 0", "print thread-events off"):
        line += ["-ex", f"set {setting}"]
    for number, command in enumerate(commands):
        line += ["-ex", f"echo \\n@{number}\\n", "-ex", command]
    done = subprocess.run(line + files, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                          env={**os.environ, "LC_ALL": "C", "DEBUGINFOD_URLS": ""}, timeout=GUARD, check=False)
    text = done.stdout.decode(errors="replace")
    if "ptrace: Operation not permitted" in text or "Could not trace the inferior process" in text:
        print("skipped: this machine allows no debugger (ptrace)")
        sys.exit(77)
    parts = re.split(r"^@(\d+)\n", text, flags=re.MULTILINE)
    return {int(number): part for number, part in zip(parts[1::2], parts[2::2])}, text


SHOW = ["info fibers", "fiber apply all bt", "info fibers ^fiber_77$", "fiber 99999 bt", "bt 1", "info threads"]


def check_shown(listed, frames, some, none, own, threads):
    """What SHOW printed."""
    rows = {}
    for row in listed.splitlines():
        if re.match(r"\s*\d+  ", row):
            rows.setdefault(row.split()[-1], []).append(row)
    numbers = {}
    for i in range(FIBERS):
        mine = rows.get(f"fiber_{i}", [])
        check(len(mine) == 1 and "  parked" in mine[0], f"fiber_{i} is listed once, parked", "\n".join(mine))
        check(bool(mine) and re.search(r" \d+\.\d of 16 ", mine[0]), f"fiber_{i}: use of its stack", "\n".join(mine))
        check(bool(mine) and f"parked, worker {i // (FIBERS // 2)} " in mine[0], f"fiber_{i}: its worker",
              "\n".join(mine))
        if mine:
            numbers[f"fiber_{i}"] = mine[0].split()[0]
    for name, state in (("root", "running, thread 1"), ("yields", "ready"), ("late", "not started")):
        check(any(f"  {state}" in row for row in rows.get(name, [])), f"{name}: {state}", "\n".join(rows.get(name, [])))
    check(re.search(r"^1,0\d\d fibers: \d running, \d ready, 1,000 parked, 1 not started$", listed, re.MULTILINE),
          "the sum", listed[-200:])
    check(re.search(r"^1,0\d\d fibers", some, re.MULTILINE) and some.count("fiber_77") == 1, "a pattern chooses", some)

    blocks = {}
    for block in re.split(r"^(?=fiber \d+)", frames, flags=re.MULTILINE)[1:]:
        head, _, body = block.partition("\n")
        number, name = re.match(r"fiber (\d+)(?: `(.*?)`)? \(", head).groups()
        blocks[name] = (number, body)
    for i in range(FIBERS):
        number, body = blocks.get(f"fiber_{i}", ("", ""))
        check(number == numbers.get(f"fiber_{i}"), f"fiber_{i}: one number", number)
        levels = [int(level) for level in re.findall(r"^#(\d+) ", body, re.MULTILINE)]
        check(len(levels) > 4 and levels == list(range(len(levels))), f"fiber_{i}: frames from 0", body)
        check(re.findall(r"^#\d+ .*\b(parks_in_the_\w+) \(\)", body, re.MULTILINE) == [WHERE[i % 4]],
              f"fiber_{i} parks in {WHERE[i % 4]}", body)
        check("shunt_context_begin_v1" in body or "shunt_context_bottom_v1" in body or "shunt_context_main_v1" in body,
              f"fiber_{i}: the frames go down to its bottom", body)
        check("corrupt" not in body and "Backtrace stopped" not in body, f"fiber_{i}: the frames end well", body)
    for name in (f"in_ring_{i}" for i in range(IN_RING)):
        check(any("  ready" in row for row in rows.get(name, [])), f"{name}: ready", "\n".join(rows.get(name, [])))
        body = blocks.get(name, ("", ""))[1]
        check("yields_in_the_ring" in body and re.search(r"shunt_context_(begin|bottom|main)_v1", body),
              f"{name}: its frames, down to its bottom", body)
        check("corrupt" not in body and "Backtrace stopped" not in body, f"{name}: the frames end well", body)
    check("all_are_parked" in blocks.get("root", ("", ""))[1], "root's frames are its thread's",
          blocks.get("root", ("", ""))[1])
    check("has not started" in blocks.get("late", ("", ""))[1], "late has no frames", blocks.get("late", ("", ""))[1])
    check("no fiber 99999" in none, "a number that is none", none)
    check(re.match(r"\s*#0 .*all_are_parked", own), "the selected thread's frames are its own again", own)
    check(re.search(r"^\* 1 ", threads, re.MULTILINE), "the selected thread is the same", threads)


def main(kind, debugger, script, program):
    with tempfile.TemporaryDirectory() as folder:
        core = os.path.join(folder, "core")
        source = f"source {script}"
        start = ["break all_are_parked", "run", source]
        if kind == "live":
            shown, text = gdb(debugger, [program], *start, *SHOW)
            begin = len(start)
        else:
            shown, text = gdb(debugger, [program], *start, f"fiber gcore {core}")
            check(os.path.exists(core), "a core file is written", text)
            if not os.path.exists(core):
                return 1
            shown, text = gdb(debugger, [program, core], source, *SHOW)
            begin = 1
        check(all(begin + i in shown for i in range(len(SHOW))), "gdb went through", text[-2000:])
        if not failed:
            check_shown(*(shown[begin + i] for i in range(len(SHOW))))
    print(f"{kind}: {'FAILED, ' + str(failed) + ' times' if failed else 'right'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

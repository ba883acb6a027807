"""What the scripts beside it share: how one is called, how it ends, and a ratchet, numbers that may only fall: how many
findings of a kind a module still has. They are kept in gates.json.

A script counts, and calls check(): more findings than the number is a failure; fewer is a hint to lower it, which
`SCRIPT --lower` does. A module that is not listed has none.
"""
import json
import os

import source

FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "gates.json")


def load(name, file=FILE):
    with open(file, encoding="utf-8") as text:
        return json.load(text).get(name, {})


def save(name, value, file=FILE):
    with open(file, encoding="utf-8") as text:
        every = json.load(text)
    every[name] = value
    with open(file, "w", encoding="utf-8") as text:
        text.write(json.dumps(every, indent=2, sort_keys=True) + "\n")


def check(name, counts, lower=False, file=FILE):
    """Compares `counts`, by module, with the numbers. Returns (passed, what failed); lowers the numbers if asked to."""
    allowed = load(name, file)
    passed, failed = 0, []
    for module in sorted(set(counts) | set(allowed)):
        have, most = counts.get(module, 0), allowed.get(module, 0)
        if have > most:
            failed.append(f"{module}: {have} findings, the gate allows {most}")
        else:
            passed += 1
            if have < most and not lower:
                print(f"{module}: {have} findings; the gate may be lowered from {most} (--lower)")
    if lower:
        new = {module: min(most, counts.get(module, 0)) for module, most in allowed.items()}
        save(name, {module: most for module, most in new.items() if most}, file)
    return passed, failed


def root_in(arguments, script):
    """The tree that a script is asked to look at: the first argument that is no option, else the script's own tree."""
    words = [a for a in arguments if not a.startswith("--")]
    return words[0] if words else source.root_of(script)


def report(passed, failed):
    """Prints the findings, and how many passed and failed; .ci/run reads the last line. Returns the exit status."""
    for finding in failed:
        print(finding)
    print(f"{passed} passed, {len(failed)} failed")
    return 1 if failed else 0

"""What the generators of random loops share: their options, refusals by loop, how a program is built, and the summary.

A generator gives measure() a function batch(options, numbers, folder), which writes a program of the loops of these
numbers, translates it and runs it. It returns the reasons of refusals by number, and the wrong ones as lines.
"""

import argparse
import collections
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import headers  # noqa: E402

AT_ONCE = 50  # loops of a program


def run(command, **more):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, **more)


def refusals(options, file, flags, places):
    """Translates a file in place. The reasons of refusals by loop. places: the lines of each loop."""
    done = run([options.translate, "loops", "--in-place", file, "--", *headers.for_tool(file), *flags])
    if done.returncode not in (0, 1):
        sys.exit("%s: %s" % (file, done.stderr))
    reasons = collections.defaultdict(list)
    for line in done.stderr.splitlines():
        found = re.match(r".*?:(\d+):\d+: refused: (.*)", line)
        if not found:
            sys.exit("not a refusal: " + line)
        for number, place in places.items():
            if int(found[1]) in place:
                reasons[number].append(found[2])
    return reasons


def built(options, file, flags):
    """The program of a file."""
    program = file.with_suffix("")
    done = run([options.compiler, *flags, *headers.for_compiler(options.compiler, file), file, options.library, "-lz",
                "-o", program])
    if done.returncode != 0:
        sys.exit("%s does not compile:\n%s" % (file, done.stderr[:4000]))
    return program


def measure(about, words, count, batch):
    """Runs a generator, and ends the process. words: its positional arguments; count: of loops, unless asked."""
    parser = argparse.ArgumentParser(description=about.splitlines()[0])
    for word in words:
        parser.add_argument(word)
    parser.add_argument("--count", type=int, default=count)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--keep", help="a folder for the programs, instead of one that is removed")
    options = parser.parse_args()
    reasons, wrong, translated = collections.Counter(), [], 0
    with tempfile.TemporaryDirectory() as temporary:
        for first in range(0, options.count, AT_ONCE):
            numbers = list(range(first, min(first + AT_ONCE, options.count)))
            refused, mistakes = batch(options, numbers, options.keep or temporary)
            for found in refused.values():
                reasons[re.sub(r"`\w+`", "`…`", found[0])] += 1
            translated += len(numbers) - len(refused)
            wrong += mistakes
    for reason, times in reasons.most_common():
        print("%4d refused: %s" % (times, reason))
    print("%d loops: %d translated, %d refused, %d wrong" % (options.count, translated, sum(reasons.values()),
                                                             len(wrong)))
    print("\n".join(wrong))
    sys.exit(1 if wrong or translated < options.count // 5 else 0)

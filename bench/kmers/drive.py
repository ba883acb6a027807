#!/usr/bin/env python3
"""One turn of table kmers: writes a sequence, lets a program count its k-mers, and prints a line for each sample.

    drive.py SYSTEM PROGRAM --k K --bases N [--canonical 0|1] [--variant one|two] [--samples N] [--warmup N]

SYSTEM: jellyfish (PROGRAM is that, with one or two threads) or shunt (PROGRAM is the command, with one or two PEs).
Seconds are what each program says that its counting took, the reading of the file included: neither the start nor what
is written afterwards. The histogram, how many k-mers were seen how often, must have all k-mers of the sequence; `sum`
is a number made of its lines, so that the tables' driver compares those of both systems.

Exit: 0 right; 1 a wrong answer, or a program that fails; 3 PROGRAM is not there.
"""
import argparse
import hashlib
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

COUNTERS = {"one": "1", "two": "2"}
SECONDS = 250  # for one run of a program
BASES_A_LINE = 80


def fail(what, status=1):
    print(what if status != 1 else f"kmers: wrong answer: {what}", file=sys.stderr)
    sys.exit(status)


def sequence(bases):
    """FASTA of one sequence, of which the second half repeats the first one: most k-mers occur twice."""
    letters = bytes(b"ACGT"[n & 3] for n in range(256))
    half = random.Random(1).randbytes((bases + 1) // 2).translate(letters)
    text = (half + half)[:bases]
    lines = [text[at:at + BASES_A_LINE] for at in range(0, bases, BASES_A_LINE)]
    return b">generated\n" + b"\n".join(lines) + b"\n"


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=SECONDS, check=False)
    if done.returncode != 0:
        lines = (done.stderr + done.stdout).strip().splitlines()
        fail(f"{pathlib.Path(command[0]).name}: exit {done.returncode}: {lines[-1] if lines else 'nothing'}")
    return done.stdout


def by_jellyfish(options, folder):
    """(seconds, histogram)"""
    counts, timing = folder / "mers.jf", folder / "timing"
    run(options.program, "count", "-m", options.k, "-s", options.bases, "-t", COUNTERS[options.variant], "-o", counts,
        "--timing", timing, *(["-C"] if options.canonical else []), folder / "bases.fa")
    took = re.search(r"^Counting\s+([0-9.e+-]+)", timing.read_text(), re.MULTILINE)
    if took is None:
        fail("jellyfish does not say how long it counted")
    return float(took[1]), run(options.program, "histo", "-h", 1_000_000, counts)


def by_shunt(options, folder):
    """(seconds, histogram)"""
    histogram = folder / "histogram.txt"
    said = run(options.program, "run", "kmers", "--text", folder / "bases.fa", "--k", options.k, "--pes",
               COUNTERS[options.variant], "--output", histogram, "--json",
               *(["--canonical"] if options.canonical else []))
    facts = json.loads(said.strip().splitlines()[-1])
    return facts["kmers"] / facts["kmers_per_s"], histogram.read_text()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("system", choices=["jellyfish", "shunt"])
    parser.add_argument("program")
    parser.add_argument("--variant", choices=sorted(COUNTERS), default="two")
    for name in ["k", "bases"]:
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--canonical", type=int, choices=[0, 1], default=0)
    parser.add_argument("--samples", type=int, default=1)
    parser.add_argument("--warmup", type=int, default=1)
    options = parser.parse_args()
    if not os.access(options.program, os.X_OK):
        fail(f"absent: no {options.program}", 3)
    kmers = options.bases - options.k + 1
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "bases.fa").write_bytes(sequence(options.bases))
        for turn in range(options.warmup + options.samples):
            seconds, histogram = (by_jellyfish if options.system == "jellyfish" else by_shunt)(options, folder)
            if turn < options.warmup:
                continue
            bars = [tuple(map(int, line.split())) for line in histogram.splitlines()]
            counted = sum(count * number for count, number in bars)
            if counted != kmers:
                fail(f"{counted} k-mers are counted, of {kmers}")
            digest = hashlib.sha256(repr(sorted(bars)).encode()).digest()
            print(json.dumps({"seconds": seconds, "checked": True, "kmers": kmers,
                              "sum": int.from_bytes(digest[:6], "big")}))


if __name__ == "__main__":
    main()

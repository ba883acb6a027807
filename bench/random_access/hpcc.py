#!/usr/bin/env python3
"""One turn of table random_access: runs HPC Challenge, and prints a line for each sample of its MPIRandomAccess.

    hpcc.py HPCC MPIRUN --pes N --scale S [--samples N] [--warmup N]

The suite runs all its benchmarks, and takes the table's size from the matrix of its Linpack: 2^S words for 2^S to
2^(S+1) elements; so it gets one of 1.5 times 2^S. It verifies its own table; the rules allow it 1 % of wrong words.

Exit: 0 right; 1 a wrong answer, or a suite that does not run.
"""
import argparse
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

SECONDS = 280  # for one run of the suite
ALLOWED = 0.01  # of the words may be wrong


def wrong(what):
    print(f"random_access_hpcc: {what}", file=sys.stderr)
    sys.exit(1)


def input_text(scale, ranks):
    """The suite's input, one value a line in an order that is given; what it says beside them is left out."""
    order = math.isqrt(2 ** scale * 3 // 2)
    values = ["RandomAccess", "bench", "HPL.out", 8, 1, order, 1, 80, 0, 1, 1, ranks, 16.0, 1, 2, 1, 4, 1, 2, 1, 1, 1,
              1, 1, 0, 2, 64, 0, 0, 1, 8, "", 0, order, 0, 80]
    return "".join(f"{value}\n" for value in values)


def read_output(text, scale):
    """Seconds, and updates, of MPIRandomAccess."""
    said = dict(line.split("=", 1) for line in text.splitlines() if line.count("=") == 1)
    try:
        words, updates = int(said["MPIRandomAccess_N"]), int(said["MPIRandomAccess_ExeUpdates"])
        errors, seconds = int(said["MPIRandomAccess_Errors"]), float(said["MPIRandomAccess_time"])
    except (KeyError, ValueError) as problem:
        wrong(f"the suite says nothing of MPIRandomAccess: {problem}")
    if words != 2 ** scale:
        wrong(f"wrong answer: a table of {words} words, expected 2^{scale}")
    if errors > ALLOWED * words:
        wrong(f"wrong answer: {errors} wrong words of {words}")
    if updates != 4 * words:
        wrong(f"wrong answer: {updates} updates, expected {4 * words}")
    return seconds, updates


def run(options):
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "hpccinf.txt").write_text(input_text(options.scale, options.pes))
        bound = ["--bind-to", "core"] if options.pes <= len(os.sched_getaffinity(0)) else [
            "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"]
        command = [options.mpirun, "-n", str(options.pes), "--oversubscribe", *bound, options.hpcc]
        try:
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False)
        except subprocess.TimeoutExpired:
            wrong(f"no answer within {SECONDS} s")
        output = pathlib.Path(folder) / "hpccoutf.txt"
        if done.returncode != 0 or not output.exists():
            lines = (done.stderr + done.stdout).strip().splitlines()
            wrong(f"the suite failed: {lines[0] if lines else 'nothing said'}")
        return read_output(output.read_text(errors="replace"), options.scale)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("hpcc")
    parser.add_argument("mpirun")
    parser.add_argument("--pes", type=int, required=True)
    parser.add_argument("--scale", type=int, required=True)
    parser.add_argument("--table", type=int, choices=[1024], default=1024)  # the rules' look-ahead, which is built in
    parser.add_argument("--samples", type=int, default=1)
    parser.add_argument("--warmup", type=int, default=0)  # each run of the suite is a process of its own
    options = parser.parse_args()
    for _ in range(options.samples):
        seconds, updates = run(options)
        print(json.dumps({"seconds": seconds, "checked": True, "operations": updates}))


if __name__ == "__main__":
    main()

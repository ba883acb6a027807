#!/usr/bin/env python3
"""Compares what the applications of matrices write with matrices that this script permutes and transposes itself.

    matrices.py SHUNT      the built command

Exit status 0 if every answer is right.
"""

import pathlib
import random
import subprocess
import sys
import tempfile

PES = (1, 2, 3, 7, 64)
FORMS = ("lambda", "class", "natural")


class Matrix:
    """Entries as pairs of row and column, from 0."""

    def __init__(self, rows, columns, entries):
        self.rows, self.columns, self.entries = rows, columns, set(entries)

    def __eq__(self, other):
        return (self.rows, self.columns, self.entries) == (other.rows, other.columns, other.entries)

    def transposed(self):
        return Matrix(self.columns, self.rows, ((j, i) for i, j in self.entries))

    def permuted(self, r, c):
        return Matrix(self.rows, self.columns, ((r[i], c[j]) for i, j in self.entries))

    def is_upper_triangular(self):
        diagonal = {i for i, j in self.entries if i == j}
        return len(diagonal) == self.rows == self.columns and all(i <= j for i, j in self.entries)

    def write(self, path, rng):
        """With values, which the applications leave out, and in no order."""
        lines = [f"{i + 1} {j + 1} {rng.random():.6f}" for i, j in self.entries]
        rng.shuffle(lines)
        head = f"%%MatrixMarket matrix coordinate real general\n{self.rows} {self.columns} {len(lines)}\n"
        path.write_text(head + "".join(line + "\n" for line in lines))

    @staticmethod
    def read(path):
        lines = [line for line in path.read_text().splitlines() if not line.startswith("%")]
        rows, columns, count = map(int, lines[0].split())
        entries = [tuple(int(n) - 1 for n in line.split()) for line in lines[1:]]
        assert len(entries) == len(set(entries)) == count, f"{path}: an entry twice, or another number of them"
        return Matrix(rows, columns, entries)


def random_matrix(rng, rows, columns, mean):
    entries = ((rng.randrange(rows), rng.randrange(columns)) for _ in range(int(rows * mean)))
    return Matrix(rows, columns, entries)


def hidden_triangle(rng, rows, mean):
    r, c = list(range(rows)), list(range(rows))
    rng.shuffle(r)
    rng.shuffle(c)
    pairs = ((rng.randrange(rows), rng.randrange(rows)) for _ in range(int(rows * (mean - 1))))
    upper = [(min(p), max(p)) for p in pairs] + [(i, i) for i in range(rows)]
    return Matrix(rows, rows, upper).permuted(r, c)


def main():
    shunt = pathlib.Path(sys.argv[1]).resolve()
    rng = random.Random(20)
    checked = 0
    with tempfile.TemporaryDirectory() as folder:
        given, out = pathlib.Path(folder, "given.mtx"), pathlib.Path(folder, "out.mtx")

        def run(app, *options):
            nonlocal checked
            words = [shunt, "run", app, "--output", out, *map(str, options)]
            subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
            checked += 1

        def permutation(entries, seed, pes=2, form="lambda"):
            run("random_permutation", "--entries", entries, "--seed", seed, "--pes", pes, "--form", form)
            numbers = [int(line) for line in out.read_text().splitlines()]
            assert sorted(numbers) == list(range(entries)), "no permutation"
            return numbers

        for entries in (1, 2, 1000, 4321):
            same = {tuple(permutation(entries, 5, pes, form)) for pes in PES for form in FORMS}
            assert len(same) == 1, f"random_permutation of {entries}: depends on the PEs or the form"
        assert permutation(1000, 5) != permutation(1000, 6), "random_permutation: does not depend on the seed"

        for rows, columns, mean in ((200, 200, 5), (30, 500, 40), (500, 7, 2), (1, 1, 1)):
            a = random_matrix(rng, rows, columns, mean)
            a.write(given, rng)
            r, c = permutation(rows, 9), permutation(columns, 10)
            for pes in PES:
                for form in FORMS:
                    options = ("--graph", given, "--pes", pes, "--form", form)
                    run("transpose", *options)
                    assert Matrix.read(out) == a.transposed(), f"transpose of {rows} x {columns} on {pes} PEs"
                    run("permute_matrix", *options, "--seed", 9)
                    assert Matrix.read(out) == a.permuted(r, c), f"permute_matrix of {rows} x {columns} on {pes} PEs"

        for rows, mean in ((300, 5), (40, 15), (100, 1), (1, 1)):
            a = hidden_triangle(rng, rows, mean)
            a.write(given, rng)
            for pes in PES:
                for form in FORMS:
                    run("topological_sort", "--graph", given, "--pes", pes, "--form", form)
                    b = Matrix.read(out)
                    assert b.is_upper_triangular(), f"topological_sort of {rows} rows on {pes} PEs"
                    assert len(b.entries) == len(a.entries), "topological_sort: lost entries"
    print(f"{checked} runs are right")


if __name__ == "__main__":
    main()

"""Random loops over OpenSHMEM's calls: each is refused with a reason, or gives what the same loop gives untranslated.

    random_shmem.py TRANSLATE SOURCE LIBRARY SHUNT [--count 200] [--seed 1] [--compiler g++]

Writes programs of many small functions, each with one random loop, and translates a copy. Both run on 1, 2 and 4 PEs,
and print a number a function and PE: those of the functions without a refusal must be equal.
"""

import pathlib
import random
import sys

import random_programs

HEAD = """\
#include <shmem.h>
#include <cstdio>
#include <cstdlib>
constexpr long N = 60;  // elements of an array on each PE
constexpr int M = 12;   // iterations of a loop
constexpr int PES = 4;  // at most
// r is read; a is added to, c is xored, in b each PE has places of its own.
static long a[N], r[N], b[M * PES];
static int64_t c[N];
static long anything(long x) { return r[x % N] = x; }
"""

TAIL = """\
static int program() {
  shmem_init();
  const int me = shmem_my_pe(), pes = shmem_n_pes();
  long idx[M];
  for (int f = 0; f < FUNCTIONS; ++f) {
    for (long i = 0; i < N; ++i) a[i] = c[i] = 0, r[i] = (i * 37 + me * 11) % 101;
    for (long& x : b) x = 0;
    for (long i = 0; i < M; ++i) idx[i] = (me * 31 + i * 17 + i * i) % 97;
    shmem_barrier_all();
    // The pointer that a function gets is one into the array that it reads.
    long sum = functions[f](r + 3, idx, me, pes);
    shmem_barrier_all();
    for (long i = 0; i < N; ++i) sum = sum * 3 + a[i] + 7 * c[i] + r[i];
    for (const long x : b) sum = sum * 5 + x;
    std::printf("%d %d %ld\\n", f, me, sum);
    std::fflush(stdout);
  }
  shmem_finalize();
  return 0;
}
int main(int argc, char** argv) { return shmem::launch(argc, argv, program); }
"""


class Loop:
    """A random function with one loop."""

    def __init__(self, rng):
        self.rng = rng
        self.names = []
        self.put = False
        head = rng.choice(["for (long i = 0; i < M; ++i)", "for (long i = 0; i != M; i += 2)",
                           "for (long i = M - 1; i >= 0; --i)", "for (int i = 1; i < M; i++)",
                           "for (long i = 0; i < M; ++i)"])
        body = self.statements()
        if rng.random() < 0.2:
            body = ["for (long j = 0; j < 3; ++j) {"] + body + ["}"]
            self.names = []
            if rng.random() < 0.5:
                body.insert(0, self.change() if rng.random() < 0.5 else "s += i;")
        self.text = "%s {\n    %s\n  }" % (head, "\n    ".join(body))

    def index(self):
        choices = ["i % N", "(i * 7 + 3) % N", "idx[i] % N", "N - 1 - i", "i", "2 * i + 1"] + self.names * 3
        if self.rng.random() < 0.08:
            choices = ["(s % N + N) % N", "(t[i] % N + N) % N", "(q[i] % N + N) % N", "anything(i) % N", "w[i] % N"]
        return self.rng.choice(choices)

    def pe(self):
        return self.rng.choice(["i % pes", "me", "(me + 1) % pes", "idx[i] % pes", "pes - 1", "(int)(i % pes)",
                                "shmem_my_pe()"])

    def read_value(self):
        form = self.rng.choice(["shmem_long_g(&r[%s], (int)(%s))", "shmem_long_atomic_fetch(&r[%s], (int)(%s))",
                                "shmem_g(&r[%s], (int)(%s))", "shmem_long_g(r + %s, (int)(%s))"])
        return form % (self.index(), self.pe())

    def read(self):
        v = self.read_value
        which = self.rng.randrange(13)
        if which == 0:
            return "shmem_long_get(&%s[i], &r[%s], 1, (int)(%s));" % (self.rng.choice("tqw"), self.index(), self.pe())
        if which == 1:
            return "s = s * 3 + %s - %s;" % (v(), v())
        return ["s += %s;", "t[i] = %s;", "q[i] = %s;", "q[M - 1 - i] = %s;", "q[i / 2] = %s;", "w[i] = %s;",
                "if (%s %% 2 == 0) ++s;", "{ const long y = %s; s ^= y * 3 + i; }", "t[i] += 2 * %s + i;",
                "if (idx[i] > 40) { s += %s; } else { --s; }", "if (i %% 2 == 0) q[i] = %s;"][which - 2] % v()

    def change(self):
        which = self.rng.randrange(5)
        at, pe = self.index(), "(int)(%s)" % self.pe()
        if which == 0 and not self.put:
            self.put = True  # once, since two of them would have no order
            value = self.rng.choice(["i + 1", "i * i", "idx[i]"])
            return self.rng.choice(["shmem_long_p(&b[M * me + i], %s, pes - 1);", "{ const long x = %s;\n"
                                    "    shmem_long_put(&b[M * me + i], &x, 1, 0); }"]) % value
        if which == 1:
            return "shmem_int64_atomic_xor(&c[%s], %s, %s);" % (at, self.rng.choice(["i + 1", "idx[i]"]), pe)
        if which == 2:
            return "shmem_long_atomic_inc(&a[%s], %s);" % (at, pe)
        return "shmem_long_atomic_add(&a[%s], %s, %s);" % (
            at, self.rng.choice(["i", "s", "t[i] + 1", "3", "idx[i] * i", "shmem_n_pes()"]), pe)

    def odd(self):
        return self.rng.choice(["if (i == 7) break;", "if (i == 3) continue;", "w[i] += 1;", "s += anything(i);",
                                "t[i] = s;", "while (s > 1000) s /= 2;", "r[i] = s;", "shmem_quiet();",
                                "long* z = &t[0]; *z += 1;", "auto g = [&] { return s++; }; g();",
                                "s += i > 2 && shmem_long_g(&r[i], me) > 3 ? 1 : 0;",
                                "q[0] += shmem_long_g(&r[i], shmem_long_g(&r[2], me) % pes);",
                                "for (int k = 0; k < 5; ++k) { if (k == i) break; ++s; }",
                                "s += shmem_long_g(&a[i], me);", "shmem_long_get_nbi(&q[i], &r[i], 1, me);",
                                "s += shmem_long_atomic_fetch_add(&r[i], 2, me);"])

    def statements(self):
        body = []
        if self.rng.random() < 0.4:
            name = "k%d" % len(self.names)
            body.append("const long %s = %s;" % (name, self.index()))
            self.names.append(name)
        for _ in range(self.rng.randint(1, 2)):
            body.append(self.read() if self.rng.random() < 0.6 else self.change())
        if self.rng.random() < 0.15:
            body.insert(self.rng.randint(0, len(body)), self.odd())
        if self.rng.random() < 0.2:
            body = ["if (%s) {" % self.rng.choice(["i % 3 != 1", "idx[i] % 2 == 0", "s < 50"])] + body + ["}"]
        return body

    def function(self, number):
        return """\
static long f_%d([[maybe_unused]] long* w, [[maybe_unused]] const long* idx, [[maybe_unused]] int me,
                 [[maybe_unused]] int pes) {
  long s = 0, t[M] = {};
  long* q = (long*)calloc(M, sizeof(long));
  %s
  shmem_quiet();
  for (int i = 0; i < M; ++i) s = s * 3 + t[i] + 5 * q[i];
  free(q);
  return s;
}
""" % (number, self.text)


def numbers_of(options, file, pes):
    """What a program prints: by function and PE."""
    program = file.with_suffix("")
    done = random_programs.run(["timeout", "600", options.shunt, "start", "--ranks", pes, program])
    if done.returncode != 0:
        sys.exit("%s on %s PEs: exit %d: %s" % (program, pes, done.returncode, done.stderr[:2000]))
    return {tuple(line.split()[:2]): line.split()[2] for line in done.stdout.splitlines()}


def batch(options, numbers, folder):
    """The refusals of these loops, and those that are wrong."""
    loops = [Loop(random.Random("%d/%d" % (options.seed, n))).function(k) for k, n in enumerate(numbers)]
    lines, places = HEAD.splitlines(), {}
    for k, text in enumerate(loops):
        first = len(lines) + 1
        lines += text.splitlines()
        places[k] = range(first, len(lines) + 1)
    names = ", ".join("f_%d" % k for k in range(len(loops)))
    tail = "constexpr int FUNCTIONS = %d;\nstatic long (*const functions[])(long*, const long*, int, int) = {%s};\n%s"
    original = pathlib.Path(folder) / ("loops_%d.cpp" % numbers[0])
    original.write_text("\n".join(lines) + "\n" + tail % (len(loops), names, TAIL))
    copy = original.with_name("translated_%d.cpp" % numbers[0])
    copy.write_text(original.read_text())
    flags = ["-std=c++20", "-I%s/src/shunt/pgas/openshmem" % options.source, "-I%s/src" % options.source]
    refused = random_programs.refusals(options, copy, flags, places)
    for file in original, copy:
        random_programs.built(options, file, flags)
    wrong = []
    for pes in 1, 2, 4:
        before, after = numbers_of(options, original, pes), numbers_of(options, copy, pes)
        for (function, pe), number in before.items():
            if int(function) not in refused and after[(function, pe)] != number:
                wrong.append("loop %d on PE %s of %d:\n%s" % (numbers[int(function)], pe, pes, loops[int(function)]))
    return refused, wrong


if __name__ == "__main__":
    random_programs.measure(__doc__, ["translate", "source", "library", "shunt"], 200, batch)

"""Random loops over distributed arrays: each is refused with a reason, or gives what the serial loop gives.

    random_loops.py TRANSLATE SOURCE LIBRARY [--count 500] [--seed 1] [--compiler g++]

Writes programs of many small functions, each with one random loop. `shunt-translate loops` translates them. The loops
that it does not refuse run on 1, 2 and 4 PEs, and are compared with the same text over plain vectors, run for one PE
after the other. A function with a refusal is left out; how many there were of each reason is printed.
"""

import pathlib
import random
import re

import random_programs

SIZE = 60  # elements of each array
MOST = 12  # iterations of a loop

HEAD = """\
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <shunt/pgas.hpp>
#include <string>
#include <vector>
namespace pgas = shunt::pgas;
constexpr long N = %d;
constexpr int M = %d;
/// What a PE has of its own: what loops work on besides the arrays.
struct own {
  long self, s = 0;
  std::vector<long> t, idx;
  explicit own(long pe) : self(pe), t(M), idx(M) {
    for (int i = 0; i < M; ++i) idx[static_cast<std::size_t>(i)] = (pe * 31 + i * 17 + i * i) %% 97;
  }
};
constexpr long twice(long x) { return 2 * x; }
long counting(long& count, long x) { return x + ++count %% 3; }
long first_of(long i, long salt) { return (i * 13 + salt) %% 41; }
""" % (SIZE, MOST)

TAIL = """\
int main(int argc, char** argv) {
  const int pes = std::atoi(argv[1]);
  int wrong = 0;
  for (int a = 2; a < argc; ++a) wrong += check(std::atoi(argv[a]), pes);
  return wrong == 0 ? 0 : 1;
}
"""


class Loop:
    """One random loop: its text, once for both forms."""

    def __init__(self, rng):
        self.rng = rng
        self.plain = rng.random() < 0.6
        self.types = {"a": rng.choice(["long", "int", "unsigned char", "long", "std::uint32_t", "double"]),
                      "b": rng.choice(["long", "int", "short"])}
        if self.types["a"] == "double" and rng.random() < 0.7:
            self.types["a"] = "long"
        self.kind = rng.choice(["add", "add", "multiply", "or", "and", "xor", "min", "max", "assign", "mixed",
                                "mixed", "none"])
        self.names = []  # variables of the loop that an index may use
        self.text = self.loop()

    def index(self, depth=0):
        choices = ["i % N", "(i * 7 + 3) % N", "idx[i] % N", "N - 1 - i", "twice(i) % N", "i", "i + 5",
                   "idx[idx[i] % M] % N", "M * self + i", "2 * i + 1"]
        choices += self.names * 3
        if self.rng.random() < 0.06:
            choices = ["(s % N + N) % N", "counting(c, i) % N", "b[i] % N" if depth == 0 else "i",
                       "(t[i] % N + N) % N", "(i < 3 ? i : 4)",
                       "(s++, i)"]
        return self.rng.choice(choices)

    def value(self):
        choices = ["1", "i + 1", "idx[i]", "self + 2", "t[i] + 1", "i * i", "twice(i)"]
        if self.rng.random() < 0.15:
            choices = ["b[%s]" % self.index(1), "b[%s] + i" % self.index(1), "s", "0.5 * i"]
        return self.rng.choice(choices)

    def change(self):
        kind = self.kind
        if kind == "mixed":
            kind = self.rng.choice(["add", "multiply", "xor", "max", "assign"])
        i, v = self.index(), self.value()
        if kind == "none":
            return self.read()
        if kind == "assign" and self.rng.random() < 0.7:
            i = self.rng.choice(["M * self + i", "self * M + (M - 1 - i)", "i + M * self"])
        if kind == "assign" and "self" not in i:  # all PEs write there: the same, or the program has a race of its own
            v = self.rng.choice(["1", "i + 1", "i * i", "twice(i)"])
        if kind == "assign":
            return "a[%s] = %s;" % (i, v)
        if kind in ("min", "max"):
            if "++" in i or "counting" in i:  # of a plain array it is written twice
                i = "i"
            return "<%s|%s|%s>" % (kind, i, v)
        if kind in ("or", "and", "xor") and v == "0.5 * i":
            v = "i"
        op = {"add": self.rng.choice("+-"), "multiply": "*", "or": "|", "and": "&", "xor": "^"}[kind]
        if self.types["a"] == "double" and op in "|&^":
            op = "+"
        return self.rng.choice(["a[%s] %s= %s;" % (i, op, v), "a[{0}] = a[{0}] {1} ({2});".format(i, op, v),
                                "++a[%s];" % i if op in "+-" else "a[%s] %s= %s;" % (i, op, v)])

    def read(self):
        i = self.index()
        return self.rng.choice(["s += b[%s];" % i, "t[i] = b[%s];" % i, "t[i] += 2 * b[%s] + i;" % i,
                                "if (b[%s] %% 2 == 0) ++s;" % i, "{ const long y = b[%s]; s ^= y * 3 + i; }" % i,
                                "s = s * 3 + b[%s] - b[%s];" % (i, self.index()),
                                "if (i %% 2 == 0) s += b[%s];" % i,
                                "if (idx[i] > 40) { s += b[%s]; } else { --s; }" % i])

    def odd(self):
        """A statement that a translation must notice."""
        return self.rng.choice(["if (i == 7) break;", "if (i == 3) continue;", "idx[i] += 1;", "s += counting(c, i);",
                                "long* p = &idx[0]; *p += 1;", "auto f = [&] { return s++; }; f();",
                                "s += i > 2 && b[i] > 3 ? 1 : 0;", "t[i] = s;", "while (s > 1000) s /= 2;",
                                "s += a[i % N]++;" if self.plain else "++s;",
                                "switch (i) { case 1: s += b[2]; break; default: ++s; }"])

    def statements(self):
        body = []
        if self.rng.random() < 0.4:
            name = "k%d" % len(self.names)
            body.append("%s %s = %s;" % (self.rng.choice(["const long", "const auto", "long"]), name, self.index(1)))
            self.names.append(name)
            if self.rng.random() < 0.15:
                body.append("%s %%= 5;" % name if not body[-1].startswith("const") else "++s;")
        for _ in range(self.rng.randint(1, 2)):
            body.append(self.change() if self.rng.random() < 0.65 else self.read())
        if self.rng.random() < 0.12:
            body.insert(self.rng.randint(0, len(body)), self.odd())
        if self.rng.random() < 0.2:
            body = ["if (%s) {" % self.rng.choice(["i % 3 != 1", "idx[i] % 2 == 0", "s < 50"])] + body + ["}"]
        return body

    def loop(self):
        head = self.rng.choice(["for (long i = 0; i < M; ++i)", "for (long i = 0; i != M; i += 2)",
                                "for (long i = M - 1; i >= 0; --i)", "for (const auto i : few)",
                                "for (long i = 1; i < M; i++)", "for (long i = 0; i < M; ++i)"])
        nested = self.rng.random() < 0.15
        body = self.statements()
        if nested:
            body = ["for (long j = 0; j < 3; ++j) {"] + body + ["}"]
            if self.rng.random() < 0.5:
                body = [line.replace("twice(i)", "(i + j)") for line in body]
        if self.rng.random() < 0.04:
            return "\n".join(["long i = 0;", "while (i < M) {"] + body + ["++i;", "}"])
        return "\n".join([head + " {"] + body + ["}"])


def function(number, loop):
    """Both forms of a loop, as two functions, and their names."""
    size = {name: "std::vector<%s> %s(N, 3);  // shunt: distributed" % (t, name) if loop.plain
            else "pgas::array<%s> %s(me, N, 3);" % (t, name) for name, t in loop.types.items()}
    used = [name for name in "ab" if re.search(r"\b%s\[" % name, render(loop, True))]
    own = "long c = 0, s = o.s; const long self = o.self; std::vector<long> t = o.t, idx = o.idx;\n" \
          "const std::vector<long> few{3, 1, 4, 1, 5, 9, 2, 6}; (void)self; (void)few; (void)c; (void)s;\n"
    give = "o.s = s; o.t = t; o.idx = idx;\n"
    fill = "".join("for (long i = 0; i < N; ++i) {0}[i] = static_cast<{1}>(first_of(i, {2}));\n".format(
        name, loop.types[name], 3 if name == "a" else 11) for name in used)
    copies = "".join("for (long i = 0; i < N; ++i) %s_out[static_cast<std::size_t>(i)] = static_cast<double>(%s[i]);\n"
                     % (name, name) for name in used)
    outs = "".join(", std::vector<double>& %s_out" % name for name in "ab")
    spread = "void spread_%d(pgas::pe& me, own& o%s) {\n(void)a_out; (void)b_out;\n" % (number, outs)
    spread += "".join(size[name] + "\n" for name in used) + own + fill
    spread += render(loop, loop.plain) + "\n" + copies + give + "}\n"
    arguments = "".join(", std::vector<%s>& %s" % (loop.types[name], name) for name in used)
    serial = "void serial_%d(own& o%s) {\n" % (number, arguments) + own + render(loop, True) + "\n" + give + "}\n"
    vectors = "".join("std::vector<%s> %s(N);\nfor (long i = 0; i < N; ++i) %s[static_cast<std::size_t>(i)] = "
                      "static_cast<%s>(first_of(i, %d));\n" % (loop.types[n], n, n, loop.types[n],
                                                                         3 if n == "a" else 11)
                      for n in used)
    compare = "".join("for (long i = 0; i < N; ++i) right = right && %s_out[static_cast<std::size_t>(i)] == "
                      "static_cast<double>(%s[static_cast<std::size_t>(i)]);\n" % (n, n) for n in used)
    check = """\
int check_%(k)d(int pes) {
%(vectors)sstd::vector<own> wanted;
for (int pe = 0; pe < pes; ++pe) wanted.emplace_back(pe);
for (auto& o : wanted) serial_%(k)d(o%(pass)s);
bool all = true;
pgas::run({.pes = pes}, [&](pgas::pe& me) {
  own o(me.index());
  std::vector<double> a_out(N), b_out(N);
  spread_%(k)d(me, o, a_out, b_out);
  const auto& w = wanted[static_cast<std::size_t>(me.index())];
  bool right = o.s == w.s && o.t == w.t && o.idx == w.idx;
%(compare)s  const bool everywhere = me.sum(right ? 0 : 1) == 0;
  if (me.index() == 0) all = everywhere;
});
if (!all) std::printf("wrong: loop %(k)d on %%d PEs\\n", pes);
return all ? 0 : 1;
}
""" % {"k": number, "vectors": vectors, "compare": compare, "pass": "".join(", " + n for n in used)}
    return spread, serial + check


def render(loop, plain):
    """The loop's text for plain arrays, which have no min() and max(), or for pgas::array."""
    form = "a[{1}] = std::{0}<%s>(a[{1}], {2});" % loop.types["a"] if plain else "a[{1}].{0}({2});"
    return re.sub(r"<(min|max)\|(.*?)\|(.*?)>", lambda m: form.format(*m.groups()), loop.text)


class Batch:
    """A program of many loops."""

    def __init__(self, options, numbers, folder):
        self.options = options
        self.file = pathlib.Path(folder) / ("loops_%d.cpp" % numbers[0])
        lines, self.places = HEAD.splitlines(), {}
        rest = []
        for number in numbers:
            spread, other = function(number, Loop(random.Random("%d/%d" % (options.seed, number))))
            first = len(lines) + 1
            lines += spread.splitlines()
            self.places[number] = range(first, len(lines) + 1)
            rest += other.splitlines()
        rest.append("int check(int number, int pes) {\nswitch (number) {")
        rest += ["case %d: return check_%d(pes);" % (n, n) for n in numbers]
        rest.append("default: return 1;\n}\n}")
        self.file.write_text("\n".join(lines + rest) + "\n" + TAIL)

    def flags(self):
        return ["-std=c++20", "-I" + self.options.source + "/src"]

    def refusals(self):
        return random_programs.refusals(self.options, self.file, self.flags(), self.places)

    def wrong(self, loops):
        """The loops of these that give a wrong answer, as lines."""
        program = random_programs.built(self.options, self.file, self.flags())
        lines = []
        for pes in 1, 2, 4:
            done = random_programs.run([program, pes, *loops], timeout=600)
            lines += done.stdout.splitlines()
            if done.returncode != 0 and not done.stdout:
                lines.append("exit %d on %d PEs: %s" % (done.returncode, pes, done.stderr[:2000]))
        return lines


def batch(options, numbers, folder):
    program = Batch(options, numbers, folder)
    refused = program.refusals()
    return refused, program.wrong([n for n in numbers if n not in refused])


if __name__ == "__main__":
    random_programs.measure(__doc__, ["translate", "source", "library"], 500, batch)

"""`shunt-translate loops`: natural loops give their answers on any number of PEs, and what is refused says why.

    loops_test.py TRANSLATE SOURCE LIBRARY COMPILER...
"""

import pathlib
import sys
import unittest

TRANSLATE, SOURCE, LIBRARY, *COMPILERS = sys.argv[1:]
HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
from support import Translation, built, headers, run  # noqa: E402
FLAGS = ["-std=c++20", "-I" + SOURCE + "/src"]


class Loops(Translation):
    def translated(self, text, *options, name="x.cpp"):
        """The file's name and what the translator printed."""
        file = self.folder / name
        file.write_bytes(text.encode())
        return file, run(TRANSLATE, "loops", "--in-place", *options, file, "--", *headers.for_tool(file), *FLAGS)

    def answers(self, file, compiler):
        program = self.folder / "program"
        made = built(compiler, file, program, LIBRARY, *FLAGS, "-Wall", "-Werror")
        self.assertEqual(made.returncode, 0, made.stderr[:3000])
        return [run(program, pes).stdout for pes in (1, 2, 3, 8)]

    def test_natural_loops_give_the_serial_answers(self):
        file, said = self.translated((HERE / "natural.cpp").read_text())
        self.assertEqual((said.returncode, said.stderr), (0, ""))
        for compiler in COMPILERS:
            for pes, line in zip((1, 2, 3, 8), self.answers(file, compiler)):
                counted, gathered, found, _ = line.split()
                self.assertEqual((counted, gathered, found), ("5000", "25000", "220"), compiler)
                self.assertTrue(pes > 1 or line.split()[3] == SERIAL, line)

    def test_twice_changes_nothing_and_only_loops_change(self):
        text = (HERE / "natural.cpp").read_text()
        file, _ = self.translated(text)
        once = file.read_text()
        again = run(TRANSLATE, "loops", file, "--", *headers.for_tool(file), *FLAGS)
        self.assertEqual((again.returncode, again.stdout, again.stderr), (0, "", ""))
        for kept in ("a comment that stays", "// is j-k an edge?", "some_indices(const pgas::pe& me) {"):
            self.assertIn(kept, once)
        self.assertNotIn("std::vector<long> sums", once)

    def test_a_diff_is_printed_and_applies(self):
        file = self.folder / "x.cpp"
        file.write_text((HERE / "natural.cpp").read_text())
        said = run(TRANSLATE, "loops", file, "--", *headers.for_tool(file), *FLAGS)
        before = file.read_text()
        patched = run("patch", "-s", "-o", "-", file, input=said.stdout)
        self.assertEqual(patched.returncode, 0, patched.stderr)
        self.assertEqual(before, (HERE / "natural.cpp").read_text())
        run(TRANSLATE, "loops", "--in-place", file, "--", *FLAGS)  # the headers as the file has them
        self.assertEqual(patched.stdout, file.read_text())

    def test_carriage_returns_stay(self):
        text = (HERE / "natural.cpp").read_text().replace("\n", "\r\n")
        file, said = self.translated(text)
        self.assertEqual(said.stderr, "")
        self.assertEqual(file.read_bytes().count(b"\n"), file.read_bytes().count(b"\r\n"))

    def test_what_is_refused_says_why(self):
        text = (HERE / "refused.cpp").read_text()
        file, said = self.translated(text)
        self.check_refusals(text, said)
        self.assertEqual(file.read_text(), text)

    def test_sums_of_floating_point_numbers_wait_for_leave(self):
        text = (HERE / "refused.cpp").read_text()
        file, said = self.translated(text, "--reorder")
        self.assertNotIn("--reorder", said.stderr)
        self.assertIn("    for (const auto i : idx) d[i] += 0.5;", file.read_text())

    def test_a_file_that_does_not_compile_is_named(self):
        _, said = self.translated("#include <shunt/pgas.hpp>\nint main() { return x; }\n")
        self.assertEqual(said.returncode, 2)
        self.assertRegex(said.stderr, r"x\.cpp:2:21: error: use of undeclared identifier 'x'")


def serial():
    """What marked() of natural.cpp gives on one PE, computed here."""
    indices = [i * 7919 % 1000 for i in range(5000)]
    sums, least = [1] * 100, [1000] * 100
    for i, index in enumerate(indices):
        at = index % 100
        if at == 50:
            sums[at] -= 1
        else:
            sums[at] += 2
            least[at] = min(least[at], i)
    return str(sum(sums) + 3 * sum(least[::2]) + sums[50])


SERIAL = serial()

if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

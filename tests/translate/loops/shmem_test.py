"""`shunt-translate loops` on OpenSHMEM: programs become Shunt's, and give their answers on any number of PEs.

    shmem_test.py TRANSLATE SOURCE LIBRARY SHUNT COMPILER...
"""

import json
import pathlib
import shutil
import sys
import unittest

TRANSLATE, SOURCE, LIBRARY, SHUNT, *COMPILERS = sys.argv[1:]
HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
from support import Translation, built, headers, run  # noqa: E402
SHMEM = "-I" + SOURCE + "/src/shunt/pgas/openshmem"
INCLUDES = [SHMEM, "-I" + SOURCE + "/src", "-I" + SOURCE + "/apps"]


def result_of(file):
    """The file that a translation writes."""
    return file.with_suffix(".cpp")


class Shmem(Translation):
    def translated(self, file, *options):
        flags = INCLUDES if file.suffix == ".c" else ["-std=c++20", *headers.for_tool(file), *INCLUDES]
        return run(TRANSLATE, "loops", "--in-place", *options, file, "--", *flags)

    def copied(self, name):
        """A file of this folder, to be translated."""
        return pathlib.Path(shutil.copy(HERE / name, self.folder))

    def bench(self, path):
        """A program of bench/ with what it includes."""
        if not (self.folder / "bench").exists():
            keep = shutil.ignore_patterns("results", "report*", "*.json", "*.java", "tokio*")
            shutil.copytree(pathlib.Path(SOURCE) / "bench", self.folder / "bench", ignore=keep)
        return self.folder / "bench" / path

    def compiled(self, file, compiler, *warnings):
        program = self.folder / "program"
        made = built(compiler, file, program, LIBRARY, *INCLUDES, *warnings)
        self.assertEqual(made.returncode, 0, made.stderr[:3000])
        return program

    def compiled_alone(self, file):
        made = run(COMPILERS[0], "-std=c++20", *headers.for_compiler(COMPILERS[0], file), *INCLUDES, "-fsyntax-only",
                   "-Wall", "-Werror", file)
        self.assertEqual(made.returncode, 0, made.stderr[:3000])

    def answer(self, program, pes, *words):
        done = run("timeout", "600", SHUNT, "start", "--ranks", pes, program, *words)
        self.assertEqual((done.returncode, done.stderr), (0, ""), (pes, words))
        return done.stdout

    def test_a_program_in_c_gives_its_answers(self):
        file = self.copied("shmem.c")
        said = self.translated(file)
        self.assertEqual((said.returncode, said.stderr), (0, ""))
        for compiler in COMPILERS:
            program = self.compiled(result_of(file), compiler, "-Wall", "-Werror")
            for pes in 1, 2, 4:
                self.assertEqual(self.answer(program, pes), "all right on %d PEs\n" % pes)
            # Over two hops a message has a route, and is counted by itself; a short train holds a short answer only.
            for option in "SHUNT_HOPS=2", "SHUNT_TRAIN=256", "SHUNT_CHECK=1":
                done = run("env", option, "timeout", "600", SHUNT, "start", "--ranks", 4, program)
                self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "all right on 4 PEs\n", ""), option)

    def test_loops_become_messages_and_all_else_stays(self):
        file = self.copied("shmem.c")
        self.translated(file)
        text = result_of(file).read_text()
        self.assertEqual(file.read_text(), (HERE / "shmem.c").read_text())
        for line in ("    shmem::send(&counts[entries[i]], owners[i], [](long& element) { ++element; });"
                     "  // another one",
                     "    /* a comment that stays */",
                     "    shmem::send((small + entries[i]), owners[i], [value = i % 3]"
                     "(int& element) { element += value; });",
                     "while (left-- > 0) shmem::send(bits + left, FIRST_PE, [value = 1u << shmem_my_pe()]"
                     "(unsigned int& element) { element |= value; });",
                     "    shmem::ask(&table[entries[i]], owners[i], &target[i]);",
                     "      sum += values_of_table[next_of_table++] + i % 2;  // each value once",
                     "  long* later = (long*)calloc(SIZE, sizeof(long));",
                     "    shmem::ask(&table[i], me, &later[i]);",
                     "static long gathered(long* __restrict target,",
                     "  shmem_int_put(heap, long_one, SIZE, (me + 1) % pes);",
                     "static int shmem_main(int argc, char** argv) {",
                     "  return 0;\n}\n\n"
                     "int main(int argc, char** argv) { return shmem::launch(argc, argv, shmem_main); }"):
            self.assertIn(line, text)

    def test_twice_changes_nothing(self):
        file = self.copied("shmem.c")
        self.translated(file)
        again = run(TRANSLATE, "loops", result_of(file), "--", "-std=c++20", *INCLUDES)  # no headers in advance
        self.assertEqual((again.returncode, again.stdout, again.stderr), (0, "", ""))
        self.assertEqual(self.translated(file).returncode, 0)  # it writes the same once more
        result_of(file).write_text("// another text\n")
        lost = self.translated(file)
        self.assertEqual(lost.returncode, 2)
        self.assertIn("it is not overwritten", lost.stderr)

    def test_a_diff_names_both_files_and_applies(self):
        file = self.copied("shmem.c")
        said = run(TRANSLATE, "loops", file, "--", *INCLUDES)
        self.assertIn("\n+++ %s\n" % result_of(file), said.stdout)
        patched = run("patch", "-s", "-o", "-", file, input=said.stdout)
        self.translated(file)
        self.assertEqual(patched.stdout, result_of(file).read_text())

    def test_what_is_refused_says_why(self):
        file = self.copied("shmem_refused.c")
        said = self.translated(file)
        self.check_refusals(file.read_text(), said)

    def test_a_template_is_refused_and_a_carriage_return_stays(self):
        text = ("#include <shmem.h>\r\ntemplate <class T>\r\nvoid all(T* a) {\r\n"
                "  for (int i = 0; i < 9; ++i) shmem_p(&a[i], T(1), 0);  // refused: the function is a template\r\n"
                "}\r\nlong sum(const long* a) {\r\n  long s = 0;\r\n"
                "  for (int i = 0; i < 9; ++i) s += shmem_g(&a[i], i % shmem_n_pes());\r\n  return s;\r\n}\r\n"
                "long few(const bool* a) {\r\n  long s = 0;\r\n"
                "  for (int i = 0; i < 9; ++i) s += shmem_g(&a[i], 0);  // refused: elements of type bool are not\r\n"
                "  return s;\r\n}\r\nvoid chain(const long* __restrict t) {\r\n"
                "  std::vector<long> own(9);\r\n  for (const long& x : own)\r\n"
                "    for (int i = 0; i < 9; ++i) own[0] = shmem_long_g(&t[x], 0);  // refused: depends on `x`\r\n"
                "}\r\n")
        file = self.folder / "template.cpp"
        file.write_bytes(text.encode())
        said = self.translated(file)
        self.check_refusals(text, said)
        after = file.read_bytes()
        self.assertIn(b"std::vector<shmem::element<const long>> places_of_a;\r\n", after)
        self.assertEqual(after.count(b"\n"), after.count(b"\r\n"))
        self.compiled_alone(file)

    def test_fetched_additions_wait_for_leave(self):
        file = self.copied("shmem_refused.c")
        said = self.translated(file, "--reorder")
        self.assertNotIn("--reorder", said.stderr)
        self.assertIn("places_of_word.push_back({&word, pe[i], 1});", result_of(file).read_text())

    def test_mistakes_and_ends_have_their_status(self):
        file = self.copied("shmem_ends.cpp")
        self.assertEqual(self.translated(file).stderr, "")
        program = self.compiled(file, COMPILERS[0], "-Wall", "-Werror")
        for word, ranks, status, text in (
                ("local", 1, 2, "is not symmetric"), ("grows", 1, 2, "shmem_realloc() of 0x"),
                ("frees", 1, 2, "no block of symmetric memory begins there"), ("twice", 1, 2, "or it is free already"),
                ("returns_256", 1, 1, ""), ("returns_256", 2, 1, ""), ("exits_512", 1, 1, ""), ("exits_512", 2, 1, ""),
                ("far", 1, 2, "PE 1: the program has PEs 0..0"),
                ("adds_far", 1, 1, "send to PE 1, but the job has PEs 0..0 (%s:" % result_of(file)),
                ("reads_far", 1, 1, "send to PE 1, but the job has PEs 0..0 (%s:" % result_of(file)),
                ("some", 2, None, "an active set of 1 PEs"), ("returns", 2, 5, ""), ("exits", 2, 6, ""),
                ("ends", 2, 0, ""), ("throws", 2, None, "thrown by the program"), ("nothing", 2, 0, "")):
            done = run("timeout", "600", SHUNT, "start", "--ranks", ranks, program, word)
            self.assertIn(text, done.stderr, word)
            if status is None:
                self.assertNotEqual(done.returncode, 0, word)
            else:
                self.assertEqual(done.returncode, status, word)
        done = run("env", "SHUNT_PES=2", "timeout", "600", program, "nothing")
        self.assertIn("a PE of an OpenSHMEM program is a process: 2 PEs in 1 processes", done.stderr)
        text = (HERE / "shmem_ends.cpp").read_text().replace("int main(int argc", "int unused(int argc")
        untranslated = self.folder / "untranslated.cpp"
        untranslated.write_text(text + "int main() { return shmem_my_pe(); }\n")
        done = run(self.compiled(untranslated, COMPILERS[0]))
        self.assertIn("a call of OpenSHMEM outside of openshmem::launch()", done.stderr)

    def test_programs_of_the_tables(self):
        few = ["--samples", "1", "--warmup", "1"]
        programs = {"histogram/openshmem.c": [["--updates", "20000"]],
                    "index_gather/openshmem.c": [["--updates", "20000", "--variant", v] for v in ("blocking", "nbi")],
                    "superstep/openshmem.c": [["--rounds", "20", "--what", w] for w in ("superstep", "round_trip")],
                    "triangle/openshmem.cpp": [["--rows", "300", "--row-nonzeros", "9", "--variant", v]
                                               for v in ("word", "row", "nbi")]}
        for path, runs in programs.items():
            file = self.bench(path)
            said = self.translated(file)
            self.assertEqual((said.returncode, said.stderr), (0, ""), path)
            for compiler in COMPILERS:
                program = self.compiled(result_of(file), compiler)
                for pes in (2,) if path.startswith("superstep") else (1, 2, 4):
                    for words in runs:
                        line = json.loads(self.answer(program, pes, "--pes", pes, *words, *few).splitlines()[-1])
                        self.assertTrue(line["checked"], (path, pes, words))
        text = result_of(self.bench("index_gather/openshmem.c")).read_text()
        self.assertEqual(text.count("shmem::ask(&table[packed[i] >> 16], (int)(packed[i] & 0xffff), &target[i]);"), 2)

    def test_programs_of_bale_give_one_sum(self):
        file = self.bench("bale/openshmem.cpp")
        said = self.translated(file)
        self.assertEqual((said.returncode, said.stderr), (0, ""))
        for compiler in COMPILERS:
            program = self.compiled(result_of(file), compiler)
            for what in "random_permutation", "permute_matrix", "transpose", "topological_sort":
                answers = set()
                for pes in 1, 2, 4:
                    for variant in "blocking", "nbi":
                        said = self.answer(program, pes, "--what", what, "--rows", 400 // pes, "--row-nonzeros", "5",
                                           "--samples", "1", "--warmup", "0", "--variant", variant)
                        line = json.loads(said)
                        del line["seconds"]
                        answers.add(json.dumps(line, sort_keys=True))
                self.assertEqual(len(answers), 1, (what, answers))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

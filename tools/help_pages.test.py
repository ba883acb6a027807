#!/usr/bin/env python3
"""The manual page and the completions say what the help texts say: of small commands, and of the script `shunt`."""
import os
import re
import shutil
import subprocess
import tempfile
import unittest

import help_pages
import source

ROOT = source.root_of(__file__)

PROGRAM = r"""#!/bin/sh
case "$*" in
help) printf 'usage: shunt COMMAND [OPTION]...\n\n  run APP      run an application\n  doctor       look around\n'
      printf '  help, --help, --version\n' ;;
--version) echo 'shunt 1.2.3' ;;
apps) echo 'heat     a plate that cools' ;;
'run --help') printf 'usage: shunt run APP [OPTION]...         runs one\n\n  APP --help                 its own\n'
      printf "  --launcher 'COMMAND'       starts it, e.g. 'srun -n 4'\n\nstatus: 0 done, 2 bad usage\n" ;;
'doctor --help') echo 'usage: shunt doctor [--json]             looks around' ;;
'run heat --help') printf 'Cools.\nUsage: shunt run heat [OPTIONS]\n\nOptions:\n'
      printf '  -h,--help                   Print this\n'
      printf '  --over unix|tcp|pipe=unix   what it is [sic]: a "plate"\n  --output TEXT               into this file\n'
      printf '  --steps 1..9=3 Excludes: --seconds\n                              how many\n'
      printf '  --edge-factor 0..1048576=16 of edges\n  --json                      as one object\n' ;;
*) exit 2 ;;
esac
"""
SCRIPT = r"""#!/bin/sh
case "$*" in
help) printf 'usage: shunt COMMAND\n\n  run APP      run an application\n  bench TABLE  measure\n'
      printf '  setup SET    install\n' ;;
'help bench') printf 'usage: shunt bench TABLE [OPTION]...     measures\n\n  --json FILE  as lines\n\n'
      echo 'tables: ring tree' ;;
'help setup') echo 'usage: shunt setup run|mpi   installs' ;;
*) exit 2 ;;
esac
"""


class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        tree = os.path.join(cls.folder, "tree")
        os.mkdir(tree)
        open(os.path.join(tree, "CMakeLists.txt"), "w", encoding="utf-8").close()
        for name, text in [("program", PROGRAM), ("tree/shunt", SCRIPT)]:
            with open(os.path.join(cls.folder, name), "w", encoding="utf-8") as file:
                file.write(text)
            os.chmod(file.name, 0o755)
        help_pages.main([os.path.join(cls.folder, "program"), os.path.join(tree, "shunt"), cls.folder])

    def text(self, name):
        with open(os.path.join(self.folder, name), encoding="utf-8") as file:
            return file.read()

    def completed(self, line, command="shunt"):
        """What bash offers after a line; its last word is the one that is completed."""
        words = line.split(" ")
        # As bash calls it: `=` is a word of its own.
        words = [part for word in words for part in (re.split("(=)", word) if "=" in word else [word])]
        if len(words) > 1 and words[-1] == "" and words[-2] == "=":
            words.pop()
        program = (f"source shunt.bash; compopt() {{ :; }}; COMP_WORDS=({command} {' '.join(map(repr, words))}); "
                   f"COMP_CWORD={len(words)}; _shunt {command} {words[-1]!r} "
                   f"{(words[-2] if len(words) > 1 else command)!r}; echo \"${{COMPREPLY[*]}}\"")
        done = subprocess.run(["bash", "-euc", program], cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertEqual(done.stderr, "")
        return done.stdout.split()

    def test_options_with_defaults_choices_and_texts_on_a_second_line_are_read(self):
        program, script = (os.path.join(self.folder, name) for name in ("program", "tree/shunt"))
        _, _, (heat,) = help_pages.collect(program, script)
        self.assertEqual([(o.name, o.value, o.default, o.text) for o in heat.options], [
            ("--over", "unix|tcp|pipe", "unix", 'what it is [sic]: a "plate"'),
            ("--output", "TEXT", "", "into this file"),
            ("--steps", "1..9", "3", "how many"), ("--edge-factor", "0..1048576", "16", "of edges"),
            ("--json", "", "", "as one object")])

    def test_the_manual_page_has_commands_applications_and_statuses(self):
        page = self.text("shunt.1")
        for part in ['"shunt 1.2.3"', ".SS shunt doctor [\\-\\-json]", ".SS heat",
                     "\\fB\\-\\-over\\fR \\fIunix|tcp|pipe\\fR",
                     "How many (default: 3)", ".SH EXIT STATUS\n0 done, 2 bad usage.", "One of: ring, tree."]:
            self.assertIn(part, page)
        self.assertIn("srun \\-n 4", page)

    def test_groff_takes_the_manual_page_without_a_warning(self):
        if not shutil.which("groff"):
            self.skipTest("groff is not installed")
        done = subprocess.run(["groff", "-man", "-ww", "-z", "-Tutf8", os.path.join(self.folder, "shunt.1")],
                              capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_bash_completes_commands_applications_options_and_values(self):
        self.assertEqual(self.completed("d"), ["doctor"])
        self.assertEqual(self.completed("run h"), ["heat"])
        self.assertEqual(self.completed("doctor --j"), ["--json"])
        self.assertEqual(self.completed("run heat --o"), ["--over", "--output"])
        self.assertEqual(self.completed("run heat --l"), ["--launcher"])
        self.assertEqual(self.completed("run heat --over "), ["unix", "tcp", "pipe"])
        self.assertEqual(self.completed("run heat --over=t"), ["tcp"])
        self.assertEqual(self.completed("run heat --over="), ["unix", "tcp", "pipe"])
        self.assertEqual(self.completed("run heat --steps "), [])
        self.assertEqual(self.completed("run heat --output prog"), ["program"])
        self.assertEqual(self.completed("bench r"), ["ring"])
        self.assertEqual(self.completed("setup "), ["run", "mpi", "--help"])

    def test_bash_offers_the_scripts_own_commands_in_the_source_tree_alone(self):
        self.assertEqual(self.completed("b"), [])
        self.assertEqual(self.completed("b", "./shunt"), [])
        self.assertEqual(self.completed("b", "tree/shunt"), ["bench"])

    def test_zsh_reads_the_completion(self):
        spec = "'--over=[what it is \\[sic\\]: a \"plate\"]:unix|tcp|pipe:(unix tcp pipe)'"
        self.assertIn(spec, self.text("_shunt"))
        if not shutil.which("zsh"):
            self.skipTest("zsh is not installed")
        done = subprocess.run(["zsh", "-n", os.path.join(self.folder, "_shunt")], capture_output=True, text=True,
                              check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_a_program_that_fails_is_named(self):
        with self.assertRaisesRegex(SystemExit, "false help` ended with status 1"):
            help_pages.main(["false", "false", self.folder])

    def test_every_option_of_the_scripts_help_is_read(self):
        script = os.path.join(ROOT, "shunt")
        listed = help_pages.commands_of(help_pages.ask(script, "help"))
        self.assertEqual([name for name, _ in listed],
                         ["run", "start", "apps", "simulate", "calibrate", "doctor", "bench", "report", "docs",
                          "translate", "test", "setup"])
        for name, summary in listed:
            text = help_pages.ask(script, "help", name)
            read = {option.name for option in help_pages.command_of(name, summary, text).options}
            shown = set(re.findall(r"^ +(?:[A-Z]+ )?(--?[A-Za-z][\w-]*)", text, re.M)) - {"--help"}
            self.assertLessEqual(shown, read, name)
            self.assertTrue(read or name in ("apps", "setup"), name)


if __name__ == "__main__":
    unittest.main()

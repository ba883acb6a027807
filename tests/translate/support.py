"""What the tests of shunt-translate share: how a tool is run, and how its refusals are held against a file's marks."""

import pathlib
import re
import subprocess
import tempfile
import unittest

import headers


def built(compiler, file, program, library, *options):
    """Compiles a file of C++20 and links it. What the compiler said."""
    return run(compiler, "-std=c++20", *headers.for_compiler(compiler, file), *options, file, library, "-lz",
               "-o", program)


def run(*command, **more):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=600, **more)


class Translation(unittest.TestCase):
    """Tests with a folder of their own, which goes with them."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def check_refusals(self, text, said):
        """Each line of `text` that ends in `// refused: WHY` has a finding with these words, and no other line has."""
        lines = enumerate(text.splitlines(), 1)
        marks = {n: line.split("// refused: ")[1] for n, line in lines if "// refused: " in line}
        found = {int(n): why for n, why in re.findall(r":(\d+):\d+: refused: (.*)", said.stderr)}
        self.assertEqual(said.returncode, 1)
        self.assertEqual(sorted(found), sorted(marks), said.stderr)
        for line, why in marks.items():
            self.assertIn(why, found[line])

"""`shunt-translate proxies`: the proxies compile, calls through them arrive, and what is refused says why.

    proxies_test.py TRANSLATE SOURCE LIBRARY COMPILER...
"""

import pathlib
import shutil
import sys
import unittest

TRANSLATE, SOURCE, LIBRARY, *COMPILERS = sys.argv[1:]
HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
from support import Translation, run  # noqa: E402
FLAGS = ["-std=c++20", "-I" + SOURCE + "/src"]


class Proxies(Translation):
    def setUp(self):
        super().setUp()
        for name in ("players.hpp", "use.cpp"):
            shutil.copy(HERE / name, self.folder)

    def test_calls_arrive(self):
        said = run(TRANSLATE, "proxies", self.folder / "players.hpp", "--out", self.folder / "proxies.hpp", "--",
                   *FLAGS, "-xc++")
        self.assertEqual((said.returncode, said.stdout, said.stderr), (0, "", ""))
        text = (self.folder / "proxies.hpp").read_text()
        self.assertNotIn("no_interface", text)
        self.assertLessEqual(max(map(len, text.splitlines())), 120)
        for compiler in COMPILERS:
            built = run(compiler, *FLAGS, "-Wall", "-Wextra", "-Werror", "-O1", self.folder / "use.cpp", LIBRARY, "-lz",
                        "-pthread", "-o", self.folder / "use")
            self.assertEqual(built.returncode, 0, built.stderr[:3000])
            self.assertEqual(run(self.folder / "use").stdout, "2001 102 x7 amateur\n")

    def test_the_header_is_found_from_another_folder(self):
        other = self.folder / "other"
        other.mkdir()
        said = run(TRANSLATE, "proxies", self.folder / "players.hpp", "--out", other / "proxies.hpp", "--", *FLAGS,
                   "-xc++")
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertIn('#include "../players.hpp"', (other / "proxies.hpp").read_text())

    def test_what_is_refused_says_why(self):
        text = (HERE / "refused.hpp").read_text()
        said = run(TRANSLATE, "proxies", HERE / "refused.hpp", "--", *FLAGS, "-xc++")
        self.check_refusals(text, said)

    def test_a_header_without_interface_says_so(self):
        header = self.folder / "x.hpp"
        header.write_text("struct x {};\n")
        said = run(TRANSLATE, "proxies", header, "--", *FLAGS, "-xc++")
        self.assertEqual(said.returncode, 1)
        self.assertIn("no class with a pure virtual function", said.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

#!/usr/bin/env python3
"""Compiles once the headers that the tests of shunt-translate include again and again.

  headers.py SOURCE FOLDER CLANG COMPILER...

The folder gets CLANG's form of each list of headers, which shunt-translate reads, and each COMPILER's. CLANG may be "",
which leaves out the first. A test gets the folder by TRANSLATE_TEST_HEADERS; without it the tests do the same, slower.
"""

import os
import pathlib
import shutil
import subprocess
import sys

# What a file gets in advance that includes the header. Such a file has it anyway: no missing #include is hidden.
LISTS = {"pgas": ["shunt/pgas.hpp"], "shmem": ["shmem.h"]}
# Headers of the applications that include shunt/pgas.hpp.
KERNELS = ("bale/kernel.hpp", "bale/histogram_lambda.hpp")
# And for `check`, which looks for mistakes in programs that the build compiles: whatever they include.
MODULES = ("actor", "base", "graph", "io", "pgas", "pgas/containers", "rail", "sched", "stm", "sync", "task", "templet")
ALL = [*("shunt/%s.hpp" % module for module in MODULES), "fmt/core.h", "catch2/catch.hpp"]
FOLDER = os.environ.get("TRANSLATE_TEST_HEADERS")
OPTIONS = ["-O1", "-pthread"]  # a compiler's form of a header is for these only


def includes(source):
    return ["-I%s/src/shunt/pgas/openshmem" % source, "-I%s/src" % source]


def list_of(file):
    """The list of headers that a file includes, or None."""
    text = pathlib.Path(file).read_text()
    places = {"pgas": [*LISTS["pgas"], *KERNELS], "shmem": LISTS["shmem"]}
    found = [name for name, headers in places.items() if any("#include <%s>" % h in text for h in headers)]
    return found[0] if found else None


def given(name, kind):
    """The options by which a compiler, or the tool, gets a list of headers in advance."""
    made = pathlib.Path(FOLDER or ".") / kind / ("%s.hpp" % name)
    form = made.with_suffix(".pch")
    if not FOLDER or name is None:
        return []
    if form.exists():
        return ["-include-pch", str(form)]
    return ["-include", str(made)] if made.with_suffix(".hpp.gch").exists() else []


def for_compiler(compiler, file):
    """A compiler's options for a file of C++20, OPTIONS included."""
    return [*OPTIONS, *given(list_of(file), pathlib.Path(compiler).name)]


def for_tool(file):
    """The tool's options for a file of C++20, behind `--`."""
    return given(list_of(file), "tool")


def for_check(file):
    """Those of `shunt-translate check` for a file of C++20.

    None for apps/daq, which has members named `channel`: where shunt/sync.hpp is included, `a.channel < b.channel` in a
    generic lambda begins a list of template arguments.
    """
    return [] if file.parent.name == "daq" else given("all", "tool")


def make(source, folder, kind, name, headers, compiler, options):
    header = folder / kind / ("%s.hpp" % name)
    header.parent.mkdir(parents=True, exist_ok=True)
    header.write_text("".join("#if __has_include(<%s>)\n#include <%s>\n#endif\n" % (h, h) for h in headers))
    clang = "clang" in subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout
    form = header.with_suffix(".pch" if clang else ".hpp.gch")
    # What its functions make of templates is then made once, too.
    once = ["-fpch-instantiate-templates"] if clang else []
    subprocess.run([compiler, "-std=c++20", *options, *once, *includes(source), "-x", "c++-header", header, "-o", form],
                   check=True, timeout=900)


def main():
    source, place, clang, *compilers = sys.argv[1:]
    folder = pathlib.Path(place)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    if clang:
        for name, headers in {**LISTS, "all": ALL}.items():
            make(source, folder, "tool", name, headers, clang, ["-DSHUNT_TRANSLATE", "-w"])
    for compiler in compilers:
        for name, headers in LISTS.items():
            make(source, folder, pathlib.Path(compiler).name, name, headers, compiler, OPTIONS)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""readme.py README SOURCE: the README's first block of C++ is the source between its marks, to the letter."""
import difflib
import re
import sys

readme, source = sys.argv[1:]
with open(readme, encoding="utf-8") as file:
    shown = re.search(r"^```cpp\n(.*?)^```$", file.read(), re.S | re.M)
with open(source, encoding="utf-8") as file:
    compiled = re.search(r"^// \[readme\]\n(.*?)^// \[/readme\]$", file.read(), re.S | re.M)
if not shown or not compiled:
    sys.exit(f"no block of C++ in {readme}" if not shown else f"no marks in {source}")
if shown[1] != compiled[1]:
    sys.stdout.writelines(difflib.unified_diff(compiled[1].splitlines(True), shown[1].splitlines(True), source, readme))
    sys.exit(1)

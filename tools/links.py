#!/usr/bin/env python3
"""Holds the pages' links: a relative link leads to a file, and its anchor to a heading.

  tools/links.py [ROOT]     a line a finding; exit 1 if there is one
"""
import os
import re
import sys
import urllib.parse

import gates
import source

LINK = re.compile(r"\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)|^\s*\[[^\]]+\]:\s*(\S+)", re.M)
HEADING = re.compile(r"^#+\s+(.*?)\s*#*$", re.M)


def without_code(text):
    text = re.sub(r"^(```|~~~).*?^\1", lambda m: re.sub(r"[^\n]", "", m.group()), text, flags=re.S | re.M)
    return re.sub(r"<!--.*?-->", lambda m: re.sub(r"[^\n]", "", m.group()), text, flags=re.S)


def anchors(text):
    """The anchors that GitHub makes of the headings."""
    found, seen = set(), {}
    for heading in HEADING.findall(without_code(text)):
        heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
        slug = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        again = seen.get(slug, 0)
        seen[slug] = again + 1
        found.add(f"{slug}-{again}" if again else slug)
    found.update(re.findall(r"<a\s+(?:id|name)=\"([^\"]+)\"", text))
    return found


def check(root):
    """Returns (how many links were followed, the findings)."""
    looked, found, known = 0, [], {}

    def anchors_of(path):
        if path not in known:
            known[path] = anchors(source.read(root, path))
        return known[path]

    for page in source.tracked(root, suffixes=".md"):
        text = without_code(source.read(root, page))
        text = re.sub(r"`[^`\n]*`", lambda m: "x" * len(m.group()), text)
        for match in LINK.finditer(text):
            target = match.group(1) or match.group(2)
            if re.match(r"[a-z]+:", target):
                continue
            looked += 1
            line = text.count("\n", 0, match.start()) + 1
            path, _, anchor = urllib.parse.unquote(target).partition("#")
            to = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
            if not os.path.exists(os.path.join(root, to)):
                found.append(f"{page}:{line}: {target} does not exist")
            elif anchor and to.endswith(".md") and anchor not in anchors_of(to):
                found.append(f"{page}:{line}: {to} has no heading for #{anchor}")
    return looked, found


def main(arguments):
    root = gates.root_in(arguments, __file__)
    looked, found = check(root)
    return gates.report(looked - len(found), found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

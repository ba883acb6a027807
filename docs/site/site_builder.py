#!/usr/bin/env python3
"""Builds the documentation as a site that works without a network: `./shunt docs`.

  site_builder.py [--out DIR] [--no-reference]

The repository's pages are made a site by Sphinx (MyST reads Markdown as GitHub does), what they link to a page of its
own; public headers become a reference by Doxygen. Any warning of either fails, and so does a link that leads nowhere.
"""
import argparse
import html.parser
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.parse
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import source  # noqa: E402

LANGUAGES = {".cpp": "cpp", ".hpp": "cpp", ".py": "python", ".sh": "bash", ".go": "go", ".java": "java",
             ".hs": "haskell", ".json": "json", ".cmake": "cmake", ".rs": "rust", ".pml": "c"}
# What the side bar shows. A page that is not here is found by links and the search.
SIDE_BAR = [
    ("Begin", ["docs/tutorial.md", "docs/faq.md", "docs/compare.md"]),
    ("Manual", ["docs/manual/README.md", "docs/manual/messages.md", "docs/manual/arrays.md",
                "docs/manual/containers.md", "docs/manual/checkpoints.md", "docs/manual/fibers.md",
                "docs/manual/sync.md", "docs/manual/railways.md",
                "docs/manual/variables.md", "docs/manual/actors.md", "docs/manual/transactions.md",
                "docs/manual/io.md", "docs/manual/graphs.md", "docs/manual/running.md", "docs/manual/trouble.md"]),
    ("How to", ["docs/how-to/README.md", "docs/how-to/*.md"]),
    ("Coming from", ["docs/coming-from/README.md", "docs/coming-from/*.md"]),
    ("About", ["docs/errors.md", "docs/glossary.md", "docs/architecture.md", "docs/decisions/README.md",
               "bench/README.md", "docs/roadmap.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"]),
]
LINK = re.compile(r"(?<!!)\]\(\s*<?([^)\s>]+)>?\s*\)")


def fail(text):
    print(f"docs: {text}", file=sys.stderr)
    sys.exit(1)


class Stage:
    """The pages as Sphinx gets them, in a folder of their own: links to what is no page lead to pages made of it."""

    def __init__(self, folder, tracked):
        self.folder, self.tracked = folder, set(tracked)
        self.folders = {str(parent) for path in tracked for parent in Path(path).parents} - {"."}
        self.made = set()

    def put(self, path, text):
        to = self.folder / path
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_text(text)

    def page(self, path):
        """A page of the repository."""
        parts = re.split(r"^((?:```|~~~).*?^(?:```|~~~)[ ]*$)", (ROOT / path).read_text(), flags=re.S | re.M)
        for i in range(0, len(parts), 2):  # between the code
            parts[i] = LINK.sub(lambda match: self.link(path, match), parts[i])
        text = re.sub(r"^```cxx$", "```cpp", "".join(parts), flags=re.M)  # cxx: C++ of others, which no test compiles
        self.put("index.md" if path == "README.md" else path, text)

    def link(self, page, match):
        target, _, anchor = match.group(1).partition("#")
        if not target or re.match(r"[a-z]+:", target):
            return match.group()
        to = os.path.normpath(os.path.join(os.path.dirname(page), urllib.parse.unquote(target)))
        if to == "README.md":
            to = "index.md"
        elif to in self.folders or to == ".":
            to = self.listing(to)
        elif not to.endswith(".md"):
            to = self.listed(to)
        return f"]({os.path.relpath(to, os.path.dirname(page) or '.')}{'#' + anchor if anchor else ''})"

    def listing(self, folder):
        """A folder's page: its README, or its files."""
        if f"{folder}/README.md" in self.tracked:
            return f"{folder}/README.md"
        path = f"{folder}/files.md"
        if path not in self.made:
            self.made.add(path)
            inside = sorted({Path(file).relative_to(folder).parts[0] for file in self.tracked
                             if Path(file).is_relative_to(folder)})
            lines = []
            for name in inside:
                at = f"{folder}/{name}"
                to = self.listing(at) if at in self.folders else at if at.endswith(".md") else self.listed(at)
                lines.append(f"- [{name}]({os.path.relpath(to, folder)})")
            self.put(path, f"---\norphan: true\n---\n# {folder}\n\n" + "\n".join(lines) + "\n")
        return path

    def listed(self, file):
        """A file's page: its text."""
        if file not in self.tracked:
            fail(f"{file} is linked to, and not in the repository")
        path = f"{file}.md"
        if path not in self.made:
            self.made.add(path)
            if file.endswith(".html"):
                return self.framed(file, path)
            text = (ROOT / file).read_text(errors="replace")
            if len(text) > 200_000:
                text = text[:200_000] + "\n[...]\n"
            fence = "`" * (max((len(run) for run in re.findall("`+", text)), default=2) + 1)
            fence = fence if len(fence) >= 3 else "```"
            language = LANGUAGES.get(Path(file).suffix, "text")
            self.put(path, f"---\norphan: true\n---\n# {file}\n\n{fence}{language}\n{text.rstrip()}\n{fence}\n")
        return path

    def framed(self, file, path):
        """A page that is one already, in a frame of a page of the site."""
        copy = self.folder / "made-pages" / file
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, copy)
        name = os.path.basename(file)
        self.put(path, f'---\norphan: true\n---\n# {file}\n\n<a href="{name}">The page alone</a>\n\n'
                 f'<iframe src="{name}" title="{file}" style="width: 100%; height: 85vh; border: 0"></iframe>\n')
        return path


def toctree(caption, pages):
    return "\n".join(["```{toctree}", ":hidden:", f":caption: {caption}", "", *pages, "```", ""])


def stage(folder, with_reference):
    tracked = list(source.tracked(str(ROOT)))
    pages = [path for path in tracked if path.endswith(".md")]
    staged = Stage(folder, tracked)
    for path in pages:
        staged.page(path)
    shown = set()
    trees = []
    for caption, wanted in SIDE_BAR:
        names = []
        for pattern in wanted:
            for path in sorted(path for path in pages if Path(path).match(pattern) or path == pattern):
                if path not in shown:
                    shown.add(path)
                    names.append(path.removesuffix(".md"))
        if caption == "About" and with_reference:
            names.append("reference")
        trees.append(toctree(caption, names))
    if with_reference:
        staged.put("reference.md", "# Reference\n\nEvery public name, by header, class and function: "
                   '<a href="reference/index.html">the reference</a>.\n')
    with (folder / "index.md").open("a") as index:
        index.write("\n" + "\n".join(trees))
    for path in pages:
        if path not in shown and path != "README.md":
            at = folder / path
            at.write_text("---\norphan: true\n---\n" + at.read_text())
    shutil.copytree(HERE / "static", folder / "static")
    version = re.search(r"project\(shunt VERSION (\d+\.\d+(?:\.\d+)?)", (ROOT / "CMakeLists.txt").read_text()).group(1)
    (folder / "conf.py").write_text((HERE / "conf.py").read_text() + f"\nrelease = version = {json.dumps(version)}\n")
    return version


def run(command, what, **more):
    done = subprocess.run(command, capture_output=True, text=True, **more)
    said = (done.stdout + done.stderr).strip()
    if done.returncode != 0:
        fail(f"{what} failed:\n" + "\n".join(said.splitlines()[-40:]))
    return done.stdout + done.stderr


def reference(out, version):
    """Doxygen's pages of the public headers, in `out`/reference."""
    out.mkdir()
    lines = (HERE / "Doxyfile").read_text()
    lines += f"\nOUTPUT_DIRECTORY = {out}\nHTML_OUTPUT = reference\nPROJECT_NUMBER = {version}\n"
    run(["doxygen", "-"], "doxygen", input=lines, cwd=ROOT)


class Links(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.links, self.ids = [], set()

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("id", "name") and value:
                self.ids.add(value)
            if name in ("href", "src") and value:
                self.links.append(value)


def broken(out):
    """(page, link) of each link of the site that leads nowhere. Doxygen looks after its own."""
    pages = {}
    for path in out.rglob("*.html"):
        if path.relative_to(out).parts[0] == "reference":
            continue
        parsed = Links()
        parsed.feed(path.read_text())
        pages[path] = parsed
    for page, parsed in sorted(pages.items()):
        for link in parsed.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            to = Path(os.path.normpath(page.parent / urllib.parse.unquote(parts.path))) if parts.path else page
            if not to.exists():
                yield page.relative_to(out), link
            elif parts.fragment and to in pages and urllib.parse.unquote(parts.fragment) not in pages[to].ids:
                yield page.relative_to(out), link


def main(arguments):
    parser = argparse.ArgumentParser(prog="shunt docs", description="Builds the documentation as a site.")
    parser.add_argument("--out", metavar="DIR", type=Path, default=ROOT / "build" / "docs", help="where (build/docs)")
    parser.add_argument("--no-reference", action="store_true", help="without the reference, which needs Doxygen")
    options = parser.parse_args(arguments)
    out = options.out.resolve()
    mark = out / ".shunt-docs"
    if out.exists() and any(out.iterdir()) and not mark.exists():
        fail(f"{out} has files that are no documentation of this command: name another folder")
    with tempfile.TemporaryDirectory(prefix="shunt-docs-") as folder:
        staged, made = Path(folder) / "pages", Path(folder) / "made"
        staged.mkdir()
        version = stage(staged, not options.no_reference)
        if not options.no_reference:  # before the pages: they link to it
            reference(staged / "reference-pages", version)
        run([sys.executable, "-m", "sphinx", "-b", "html", "-W", "--keep-going", "-q", "-j", "auto", str(staged),
             str(made)], "sphinx")
        wrong = list(broken(made))
        if wrong:
            fail("links lead nowhere:\n" + "\n".join(f"{page}: {link}" for page, link in wrong))
        shutil.rmtree(out, ignore_errors=True)
        shutil.copytree(made, out)
    mark.touch()
    print(out / "index.html")


if __name__ == "__main__":
    main(sys.argv[1:])

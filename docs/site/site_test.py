#!/usr/bin/env python3
"""The documentation's site as readers get it: built without a warning, every link followed, and in a browser."""
import contextlib
import functools
import html
import http.server
import io
import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import threading
import unittest
import urllib.parse

import site_builder

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
PAGES = ["index", "docs/manual/README", "docs/manual/messages", "docs/manual/fibers", "docs/manual/trouble",
         "docs/how-to/slurm", "docs/coming-from/go", "docs/compare", "docs/errors", "docs/glossary",
         "examples/histogram.cpp", "reference/index"]
FRAMED = ["bench/report", "bench/report.html"]  # report_test.py looks at it in a browser
SEARCH = "search.html?" + urllib.parse.urlencode({"q": "deadlock"})
SHOWN = [f"{page}.html" for page in PAGES] + [SEARCH]
# Each frame is as wide as a window. What it shows is read when the search, too, has had its time.
FRAMES = """<!doctype html><title>pages</title>FRAMES<pre></pre><script>
  addEventListener('load', () => setTimeout(() => {
    const shown = [...document.querySelectorAll('iframe')].map(
      frame => [frame.getAttribute('src'), frame.contentDocument.documentElement.outerHTML]);
    document.querySelector('pre').textContent = JSON.stringify(Object.fromEntries(shown));
  }, 10000))</script>"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class Site(unittest.TestCase):
    shown = None

    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name)
        cls.site = cls.folder / "site"
        with contextlib.redirect_stdout(io.StringIO()):
            site_builder.main(["--out", str(cls.site)])  # fails at the first warning, and at a link that leads nowhere
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=cls.site))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        cls.addClassCleanup(server.server_close)
        cls.addClassCleanup(server.shutdown)
        cls.address = f"http://127.0.0.1:{server.server_port}/"

    @classmethod
    def seen(cls):
        """What one start of a browser has made of the pages and of a search: (HTML by address, its complaints)."""
        if not cls.shown:
            frames = "".join(f'<iframe src="{address}" width="1200" height="900"></iframe>' for address in SHOWN)
            (cls.site / "frames.html").write_text(FRAMES.replace("FRAMES", frames))
            found = subprocess.run(
                [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={cls.folder}/profile",
                 "--enable-logging=stderr", "--virtual-time-budget=20000", "--dump-dom", f"{cls.address}frames.html"],
                capture_output=True, text=True, timeout=600, check=True)
            (cls.site / "frames.html").unlink()
            said = html.unescape(re.search(r"(?s)<pre>(.*)</pre>", found.stdout)[1])
            cls.shown = json.loads(said), re.findall(r".*CONSOLE.*", found.stderr)
        return cls.shown

    def test_nothing_comes_from_elsewhere(self):
        for page in self.site.rglob("*.html"):
            if page.relative_to(self.site).parts[0] != "reference":
                self.assertNotRegex(page.read_text(), r'<(script|link|img)[^>]*(src|href)="(https?:)?//', page)

    def test_every_page_of_the_repository_is_there_and_every_public_header_in_the_reference(self):
        for page in PAGES + FRAMED:
            self.assertTrue((self.site / f"{page}.html").exists(), page)
        root = pathlib.Path(site_builder.ROOT)
        named = "".join(page.read_text() for page in (self.site / "reference").glob("*.html"))
        for header in root.glob("src/shunt/*/*.hpp"):
            self.assertIn(f"{header.parent.name}/{header.name}", named)

    @unittest.skipUnless(BROWSER, "no browser")
    def test_a_browser_shows_every_kind_of_page_and_its_console_stays_empty(self):
        shown, complaints = self.seen()
        self.assertEqual([], complaints)
        for page in PAGES:
            self.assertRegex(shown[f"{page}.html"], r"<title>[^<]*\w[^<]*</title>", page)
            self.assertNotIn("<h1>Error response</h1>", shown[f"{page}.html"], page)

    @unittest.skipUnless(BROWSER, "no browser")
    def test_who_searches_for_deadlock_finds_the_page(self):
        results = re.search(r'(?s)<ul class="search".*?</ul>', self.seen()[0][SEARCH])
        self.assertIsNotNone(results, "no results")
        self.assertIn("docs/manual/trouble.html", results[0])


if __name__ == "__main__":
    unittest.main()

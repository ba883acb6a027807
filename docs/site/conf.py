# Of Sphinx. site_builder.py copies it beside the pages, and adds the version.
import functools
import os

from docutils import nodes
from sphinx import addnodes

project = "Shunt"
author = "the authors of Shunt"
root_doc = "index"
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
myst_heading_anchors = 6
html_theme = "sphinx_rtd_theme"
html_title = "Shunt"
html_show_sourcelink = False
html_copy_source = False
html_extra_path = [folder for folder in ("reference-pages", "made-pages") if os.path.isdir(folder)]
exclude_patterns = ["reference-pages", "made-pages"]
html_theme_options = {"collapse_navigation": True, "navigation_depth": 3, "style_external_links": False}
html_static_path = ["static"]
html_css_files = ["shunt.css"]


def first_lines(toc):
    """A page's table of contents, as the side bars of other pages show it: without its sections."""
    if next(iter(toc.findall(addnodes.toctree)), None):
        return toc
    return nodes.bullet_list("", *(nodes.list_item("", item.children[0].deepcopy()) for item in toc.children))


def with_quick_side_bar(app, page, _template, context, _doctree):
    """For each page Sphinx copies the sections of all pages, and then removes those of all but this page. Half of the
    time of the whole build went into that."""
    whole = context["toctree"]

    def toctree(**how):
        env = app.env
        tocs = env.tocs
        own = (page, env.config.root_doc)
        env.tocs = {name: tocs[name] for name in own if name in tocs} | {
            name: first_lines_of(env, name) for name in tocs if name not in own}
        env.get_doctree = functools.partial(doctree_of, env)
        try:
            return whole(**how)
        finally:
            env.tocs = tocs
            del env.get_doctree

    context["toctree"] = toctree


@functools.lru_cache(None)
def first_lines_of(env, name):
    return first_lines(env.tocs[name])


@functools.lru_cache(None)
def doctree_of(env, name):
    return type(env).get_doctree(env, name)


def setup(app):
    app.connect("html-page-context", with_quick_side_bar)

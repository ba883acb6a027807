# Of Sphinx. site_builder.py copies it beside the pages, and adds the version.
import os

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

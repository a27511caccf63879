"""How Sphinx builds the site: `make docs`. Nothing is fetched, and nothing on a page asks another machine."""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "benchmarks")]

import figures
import reference_pages

from preimage import __version__

reference_pages.write()

project = "preimage"
author = "the preimage developers"
copyright = "the preimage developers"  # Sphinx asks for this name
version = release = __version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "**/sg_execution_times.rst", "gallery/**/*.ipynb", "gallery/**/*.py", "gallery/**/*.md5"]
nitpicky = False
suppress_warnings = ["config.cache"]

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"  # numpydoc's tables name the types
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/\w+\.py$",
    "ignore_pattern": r"/_",
    "download_all_examples": False,
    "show_memory": False,
    "min_reported_time": 1e9,
    "write_computation_times": False,  # its page would load scripts from other machines
    "abort_on_example_error": True,
    "remove_config_comments": True,
    "matplotlib_animations": False,
    "thumbnail_size": (400, 280),
}

templates_path = ["_templates"]
html_theme = "pydata_sphinx_theme"
html_title = f"preimage {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_context = {"default_mode": "auto"}
html_sidebars = {"index": []}
html_theme_options = {
    "logo": {"text": "preimage"},
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_prev_next": False,
    "show_toc_level": 2,
    "navigation_depth": 2,  # a page need not list all names of all rooms
    "collapse_navigation": True,
    "navigation_with_keys": False,
}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


def setup(app):
    """Figures of the benchmarks are put into every page as it is read; maps for debuggers are not published."""
    app.connect("source-read", _with_figures)
    app.connect("build-finished", _without_maps)


def _with_figures(app, name, source):
    source[0] = figures.filled(source[0])


def _without_maps(app, error):
    for path in Path(app.outdir).glob("_static/**/*.map"):
        path.unlink()

"""Sphinx: `nox -s docs` builds the site with warnings as errors.

What can be derived is derived before each build, into docs/generated: the API pages from every module's `__all__`, the
command line reference from the parsers; the report and the page to check annotations from the commands of a page.
"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import _generate  # noqa: E402
import _inventories  # noqa: E402
import _walkthrough  # noqa: E402

import nmlsdr  # noqa: E402

_generate.write_api(HERE / "generated")
_generate.write_command_line(HERE / "generated")
_generate.write_sections(HERE / "generated", HERE / "index.md")
_generate.write_benchmarks(HERE / "generated", HERE.parent / "bench" / "README.md")
_walkthrough.write_pages(HERE / "reports" / "digits")

project = "nmlsdr"
author = "The nmlsdr developers"
copyright = author
version = release = nmlsdr.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",
    "sphinx-mathjax-offline",  # MathJax in the site itself: formulas need no other host
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "sphinx_reredirects",
]
exclude_patterns = ["_build", "README.md", "examples", "gallery/**/*.ipynb", "gallery/**/*.py", "gallery/**/*.zip"]
# Pages that other pages have taken in: their addresses lead there.
redirects = {
    "beside_lightgbm": "forests.html#compare-with-your-lightgbm",
    "cleanlab": "label_errors.html#compared-with-cleanlab",
    "coming_from": "label_errors.html#compared-with-cleanlab",
    "cross_validation": "thresholds.html#cross-validation",
    "films": "label_errors.html",
    "graphs": "other_inputs.html#another-graph",
    "labels": "label_formats.html",
    "open_questions": "article.html#open-questions",
    "own_method": "article.html#compare-a-method-of-your-own",
    "projections": "theory.html#the-projections",
    "propagation": "theory.html#label-propagation",
    "reproducibility": "neighbours.html#reproducibility",
    "schedule": "deploy.html",
    "tables_in_python": "prepare.html#the-same-in-python",
    "text": "other_inputs.html",
    "verdicts": "review.html#use-the-verdicts",
}
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
templates_path = ["_templates"]
nitpicky = False  # docstrings name array shapes and NumPy's types in prose

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
smartquotes = False  # two dashes of an option stay two dashes
myst_heading_anchors = 3

autosummary_generate = True
toc_object_entries_show_parents = "hide"  # "On this page" has room for the method alone
autodoc_typehints = "none"  # numpydoc's Parameters say more
numpydoc_show_class_members = False  # the class template lists methods itself
numpydoc_use_plots = False
# Every public docstring has a summary; all parameters and no other, in their order, with type and description; and the
# description of what is returned or yielded.
numpydoc_validation_checks = {
    "GL03",
    "GL08",
    "SS01",
    "PR01",
    "PR02",
    "PR03",
    "PR04",
    "PR07",
    "PR10",
    "RT01",
    "RT03",
    "YD01",
}
numpydoc_xref_param_type = True
numpydoc_xref_aliases = _inventories.ALIASES
numpydoc_xref_ignore = "all"  # words of a type that are no names
intersphinx_mapping = _inventories.write(HERE / "generated" / "inventories")
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

sphinx_gallery_conf = {
    "within_subsection_order": "_generate.gallery_place",
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"plot_",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "remove_config_comments": True,
    "min_reported_time": 1,
    "reset_modules": ("matplotlib", "_generate.draw_for_both_pages"),
    "thumbnail_size": (560, 400),
    "write_computation_times": False,
    "copyfile_regex": r"(?!)",
    "backreferences_dir": "generated/backreferences",
    "doc_module": ("nmlsdr",),
    "reference_url": {"nmlsdr": None},
}


def setup(app):
    app.add_directive("picture", _generate.Picture)
    app.connect("source-read", _generate.adapt_to_site)
    app.connect("build-finished", _generate.copy_reports)
    app.connect("autodoc-process-docstring", _generate.escape_prose, priority=900)  # after numpydoc


html_theme = "pydata_sphinx_theme"
html_title = f"nmlsdr {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "nmlsdr"},
    "navbar_align": "left",
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
    "navigation_with_keys": False,
}

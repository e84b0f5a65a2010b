"""How the documentation site is built: `python -m sphinx -W -b html docs build/docs`, without any network."""

import sys
from pathlib import Path

from graphmix.distribution import __version__

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "graphmix"
author = "the graphmix developers"
release = version = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "from_code",
    "mathml",
    "report_page",
    "tables",
]
exclude_patterns = ["_ext", "_static"]

# A block without a language is no Python.
highlight_language = "text"
myst_heading_anchors = 3
# $…$ for the theorem, and lists of terms with their meaning.
myst_enable_extensions = ["deflist", "dollarmath"]

autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
maximum_signature_line_length = 90
napoleon_use_ivar = True
# The signature has the types.
napoleon_attr_annotations = False
# Docstrings write `name` for code. What of it is a documented object becomes a link, the rest stays code.
default_role = "py:obj"
nitpicky = True
nitpick_ignore_regex = [
    ("py:obj", ".*"),
    # Other projects' types, whose sites are not asked for.
    ("py:class", r"(torch|numpy|scipy|collections|pathlib|typing|abc|nn)\..*"),
    # Our own that a signature names and nobody needs to.
    (
        "py:class",
        r"graphmix\.(models|streams|data\.datasets|data\.structure|evaluation|executors|tuning|workflow)\..*|graphmix\..*\.(Chain|Parts|Picks|Reach|Result)",
    ),
    # A type that is cut at its comma.
    ("py:class", r"tuple\[str"),
]

html_math_renderer = "mathml"
html_theme = "furo"
html_title = "graphmix"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_logo = "_static/logo.svg"
html_favicon = "_static/favicon.svg"
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False
# Orange and blue are the colours of the logo; as text they need this much contrast.
html_theme_options = {
    "navigation_with_keys": True,
    "light_css_variables": {"color-brand-primary": "#a63a06", "color-brand-content": "#a63a06"},
    "dark_css_variables": {"color-brand-primary": "#ff9d5c", "color-brand-content": "#ff9d5c"},
}

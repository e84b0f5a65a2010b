"""Results as one self-contained HTML file.

`read` takes in what runs and experiments wrote and refuses what it cannot draw, `render` makes the page, `write` writes
it. Only `render` needs the extra `report`: jinja2, and plotly for its JavaScript.
"""

from graphmix.report.contents import Contents
from graphmix.report.inputs import read
from graphmix.report.page import render, write

__all__ = ["Contents", "read", "render", "write"]

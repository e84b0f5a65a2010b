"""Formulas as MathML, which browsers draw by themselves: docutils turns TeX into it, and no script is fetched."""

import re

from docutils import nodes
from docutils.utils.math import MathError, latex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

# Brackets grow with what they hold in MathML; docutils knows \bigl and \bigr, not these.
_SIZES = re.compile(r"\\(?:[Bb]igg?)(?![A-Za-z])")

logger = logging.getLogger(__name__)


def inline(self: HTML5Translator, node: nodes.math) -> None:
    """Write a formula in a line."""
    self.body.append(_mathml(node))
    raise nodes.SkipNode


def block(self: HTML5Translator, node: nodes.math_block) -> None:
    """Write a formula that stands by itself."""
    self.body.append(f'<div class="math">{_mathml(node, as_block=True)}</div>\n')
    raise nodes.SkipNode


def _mathml(node: nodes.math | nodes.math_block, as_block: bool = False) -> str:
    try:
        written: str = latex2mathml.tex2mathml(_SIZES.sub("", node.astext()), as_block=as_block)
    except MathError as error:
        logger.warning("a formula cannot be written as MathML: %s", error, location=node)
        return f"<code>{node.astext()}</code>"
    return written


def setup(app: Sphinx) -> dict[str, bool]:
    """Offer it to Sphinx as a renderer of formulas."""
    app.add_html_math_renderer("mathml", inline_renderers=(inline, None), block_renderers=(block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}

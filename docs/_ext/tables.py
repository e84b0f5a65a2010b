"""Classes for tables, so that the style sheet can lay out those with verdicts as cards on a narrow screen."""

from docutils import nodes
from sphinx.application import Sphinx

VERDICT, READING, SECONDS = "verdict", "reading", "seconds"
# From so many columns on a table holds values rather than sentences; from so many on it needs room.
MANY, WIDE = 4, 7


def mark(app: Sphinx, doctree: nodes.document) -> None:
    """Name the tables that have a verdict, those that also have a reading or seconds, and those of many columns."""
    for table in doctree.findall(nodes.table):
        heads = [entry.astext() for head in table.findall(nodes.thead) for entry in head.findall(nodes.entry)]
        if heads and heads[-1] == VERDICT:
            kind = "board" if SECONDS in heads else "with-reading" if READING in heads else "without-reading"
            table["classes"] += ["verdicts", kind]
        elif len(heads) >= MANY:
            table["classes"] += ["grid", "wide"] if len(heads) >= WIDE else ["grid"]


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.connect("doctree-read", mark)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

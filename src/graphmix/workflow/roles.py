"""What the user should know about the columns that are ids, ends, weights and labels, in sentences."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from graphmix.results.columns import LEFT_OUT, ColumnUse
from graphmix.tables.cells import as_words
from graphmix.tables.edges import EdgeTable
from graphmix.tables.labels import label_copies, label_notes, missing_words
from graphmix.tables.links import LinkTable
from graphmix.tables.nodes import NodeTable, check_classes
from graphmix.tables.table import Table, quoted, some_of
from graphmix.text import counted
from graphmix.workflow.features import Features
from graphmix.workflow.leaks import leak_warnings

# How many unused columns a sentence names.
_NAMED = 8


def id_role(nodes: NodeTable) -> str:
    """Say which column holds the ids."""
    return f"ids are read from column {quoted(nodes.id_column)} of {nodes.table.name}"


def edge_roles(edges: EdgeTable) -> str:
    """Say which columns hold the ends of the edges, and which the weights."""
    source, target = map(quoted, edges.ends)
    weights = "without weights" if edges.weight_column is None else f"with weights from {quoted(edges.weight_column)}"
    return f"edges are read from columns {source} and {target} of {edges.table.name}, {weights}"


def link_roles(links: LinkTable) -> str:
    """Say which columns hold the ends of the links."""
    return f"links are read from columns {' and '.join(map(quoted, links.ids))} of {links.table.name}"


def unused_columns(edges: EdgeTable, no_weight: bool) -> list[str]:
    """Note the columns of the edges that are not used; with `no_weight` nobody looks for weights among them."""
    unused = [quoted(name) for name in (*edges.table.columns, *edges.table.ignored) if name not in edges.used]
    if not unused:
        return []
    verb = "are" if len(unused) > 1 else "is"
    hint = "" if no_weight else "; `weight` chooses a column of numbers as weights"
    return [f"of the edges {some_of(unused, _NAMED)} {verb} not used{hint}"]


def check_labels(table: Table, label: str | None, labels: Sequence[str | None]) -> list[str]:
    """Check the labels `[rows]` in a column, and say what is odd about them.

    Raises:
        DataError: a classifier cannot learn from them.
    """
    assert label is not None  # Columns.check_task has checked
    hint = missing_words(table, label)
    return label_notes(table, label) + check_classes(labels, f"{table.name}: column {quoted(label)}", hint)


def giveaways(
    table: Table, label: str | None, labels: Sequence[str | None], made: Features, y: NDArray[np.int64]
) -> tuple[str, ...]:
    """Warn of features that give the classes away.

    Args:
        table: the table.
        label: its column of labels.
        labels: `[rows]`, as they are in the table.
        made: the features of the other columns.
        y: int64 `[rows]`, the labels to learn from as numbers; negative where there is none.
    """
    assert label is not None  # Columns.check_task has checked
    names = [] if made.encoders is None else [column.name for column in made.encoders.columns]
    copies = label_copies(table, names, labels, label)
    return (*copies.values(), *leak_warnings(made.encoders, made.x, y, label, known=list(copies)))


def edge_uses(edges: EdgeTable) -> tuple[ColumnUse, ...]:
    """Return what became of every column of the edges."""
    roles = dict.fromkeys(edges.ends, "end of an edge")
    roles |= {} if edges.weight_column is None else {edges.weight_column: "weight"}
    return tuple(
        ColumnUse(edges.table.name, name, roles[name], 0)
        if name in roles
        else ColumnUse(edges.table.name, name, LEFT_OUT, 0, "of the edges only ends and weights are used")
        for name in (*edges.table.columns, *edges.table.ignored)
    )


def unused_labels(table: Table, label: str | None) -> list[str]:
    """Note that a new table has labels, which only a fit learns from."""
    if label is None or label not in table.columns:
        return []
    given = table.rows - as_words(table.column(label)).null_count
    if not given:
        return []
    labels = counted(given, "label in it is", "labels in it are")
    return [f"column {quoted(label)} of {table.name} is not used: the {labels} only learned from by another fit"]

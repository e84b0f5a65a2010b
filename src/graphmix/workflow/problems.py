"""The two kinds of problem: read from tables, or from the parts of a stored model."""

from typing import Any

from torch import Tensor

from graphmix.tables.reading import Tell, nothing
from graphmix.workflow.columns import Columns
from graphmix.workflow.links import LinkProblem
from graphmix.workflow.nodes import NodeProblem
from graphmix.workflow.problem import Problem, Source, Stage

PROBLEMS: dict[str, type[Problem]] = {"nodes": NodeProblem, "links": LinkProblem}


def read_problem(
    nodes: Source,
    edges: Source,
    columns: Columns,
    *,
    ignore_unknown: bool = False,
    stage: Stage = lambda name: None,
    tell: Tell = nothing,
) -> Problem:
    """Read tables and build a graph.

    Args:
        nodes: the table of nodes; may be None if links are classified.
        edges: the table of edges.
        columns: which column means what.
        ignore_unknown: whether to leave out edges to nodes that the table of nodes lacks, instead of raising an error.
        stage: called with "reading" and "encoding" as they begin.
        tell: called with what is done with how many rows so far.

    Raises:
        DataError: a table is invalid; the message names the table and the line, column or node.
    """
    stage("reading")
    columns.check_task(nodes is not None)
    kind = PROBLEMS["nodes" if columns.link_label is None else "links"]
    return kind.read(nodes, edges, columns, ignore_unknown=ignore_unknown, stage=stage, tell=tell)


def stored_problem(described: Any, tensors: dict[str, Tensor], encoders: Any, ids: Any) -> Problem:
    """Read back a problem of either kind; see `Problem.from_parts`."""
    if described["task"] not in PROBLEMS:
        raise ValueError(f"the task must be one of {', '.join(PROBLEMS)}, not {described['task']!r}")
    return PROBLEMS[described["task"]].from_parts(described, tensors, encoders, ids)

"""Where labeling begins: at a model, or at tables without one. What was said then is in session.json."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch

from graphmix.errors import DataError, GraphMixError, RunError
from graphmix.labeling.answers import check_class
from graphmix.limits import Limits
from graphmix.results.json_text import load
from graphmix.results.reader import parse
from graphmix.storage.files import write_json
from graphmix.storage.folders import CONFIG, LABELS, check_can_be_made, check_no_links, check_no_other_files
from graphmix.storage.found import is_model
from graphmix.tables.cells import as_words
from graphmix.tables.files import checksum, limited
from graphmix.tables.nodes import check_roles, read_nodes
from graphmix.tables.table import Table, quoted, shortened
from graphmix.workflow.columns import Columns
from graphmix.workflow.features import number_classes
from graphmix.workflow.model import TableModel, load_model
from graphmix.workflow.nodes import NodeProblem
from graphmix.workflow.places import FILES
from graphmix.workflow.problem import Problem

SESSION, FORMAT = "session.json", 1
OWN_MODEL = "model"


@dataclass(frozen=True, kw_only=True)
class Begun:
    """What labeling began with, as session.json has it.

    Attributes:
        format: the version of this file.
        with_model: whether there was a model.
        columns: which column means what, as JSON values.
        classes: the classes that were named at the start.
        nodes: the file of the table of nodes; None if it is not at hand.
        nodes_sha256: its checksum then.
        edges: the file of the table of edges; None with a model, which has its graph.
        edges_sha256: its checksum then.
        ignore_unknown: whether edges to unknown nodes are left out.
        target_accuracy: predictions abstain where the accuracy would be lower.
        coverage: the coverage of prediction sets.
    """

    format: int = FORMAT
    with_model: bool
    columns: dict[str, Any]
    classes: tuple[str, ...]
    nodes: str | None = None
    nodes_sha256: str | None = None
    edges: str | None = None
    edges_sha256: str | None = None
    ignore_unknown: bool = False
    target_accuracy: float
    coverage: float


@dataclass(frozen=True, eq=False)
class Matter:
    """What there is to label.

    Attributes:
        begun: what labeling began with.
        problem: the graph and the labels of the start.
        model: the model of the start; None if there was none.
        table: the table of nodes; None if it is not at hand.
        rows: the row of the table of each node.
        id_column: the table's column of ids; None if it is not at hand.
    """

    begun: Begun
    problem: Problem
    model: TableModel | None
    table: Table | None
    rows: list[int]
    id_column: str | None = None

    @property
    def columns(self) -> Columns:
        """Which column means what; a model that was made from arrays knows none by itself."""
        known = self.problem.columns
        return replace(known, id=self.id_column or known.id, label=self.label)

    @property
    def label(self) -> str:
        """The name of the column of labels."""
        return self.problem.columns.label or "label"

    @property
    def holds_labels(self) -> bool:
        """Whether the table has the column of labels; without one it is written with all of them."""
        return self.table is not None and self.table.has(self.label)


def begin_with_model(
    folder: Path, model: TableModel, nodes: Path | None, classes: tuple[str, ...], limit: Limits
) -> Begun:
    """Return what labeling begins with at a model.

    Args:
        folder: the model's folder.
        model: the model in it.
        nodes: its table of nodes; None to look where the fit read it.
        classes: further classes.
        limit: how large the table may be.

    Raises:
        DataError: the model's problem cannot be labeled here, or the table is another.
    """
    problem = model.problem
    if problem.task != "nodes":
        raise DataError(f"{folder} classifies links; `graphmix label` is for nodes")
    if problem.split is not None:
        raise DataError(
            f"{folder} was fitted with a `split` column, and new labels would be in none of its parts; fit without it, "
            "then label"
        )
    found = nodes or _noted_table(folder)
    return Begun(
        with_model=True,
        columns=problem.columns.to_json(),
        classes=_checked(classes, problem.columns.encoding),
        nodes=None if found is None else str(found.absolute()),
        nodes_sha256=None if found is None else checksum(limited(found, limit)),
        target_accuracy=model.target_accuracy,
        coverage=model.coverage,
    )


def begin_with_tables(
    nodes: Path,
    edges: Path,
    columns: Columns,
    classes: tuple[str, ...],
    *,
    ignore_unknown: bool,
    target_accuracy: float,
    coverage: float,
) -> Begun:
    """Return what labeling begins with at tables; they are read later.

    Raises:
        DataError: the name of a class is invalid.
    """
    if columns.link_label is not None or columns.split is not None:
        raise DataError("labeling is for nodes without a split column; leave out `link_label` and `split`")
    return Begun(
        with_model=False,
        columns=columns.to_json(),
        classes=_checked(classes, columns.encoding),
        nodes=str(nodes.absolute()),
        nodes_sha256=checksum(nodes),
        edges=str(edges.absolute()),
        edges_sha256=checksum(edges),
        ignore_unknown=ignore_unknown,
        target_accuracy=target_accuracy,
        coverage=coverage,
    )


def store(folder: Path, begun: Begun) -> None:
    """Write session.json."""
    write_json(folder / LABELS / SESSION, asdict(begun))


def stored(folder: Path) -> Begun | None:
    """Read session.json; None if labeling has not begun in this folder.

    Raises:
        RunError: it is damaged, or was written by a newer version.
    """
    path = folder / LABELS / SESSION
    if not path.exists():
        return None
    value = load(path)
    if value.get("format") != FORMAT:
        raise RunError(f"{path} was written by another version of graphmix; use that one, or move {path.parent} away")
    found: Begun = parse(Begun, value, path)
    try:
        Columns.from_json(found.columns)
    except GraphMixError as error:
        raise RunError(f"{path} is damaged: {error}") from error
    return found


def check_new_folder(folder: Path) -> None:
    """Raise RunError unless labeling without a model can begin in a folder: new, or empty."""
    check_no_links(folder)
    check_no_other_files(folder, (LABELS,))
    check_can_be_made(folder)


def own_model(folder: Path, begun: Begun) -> Path:
    """Return where the trained models go: beside the answers, or in the folder itself if it had no model."""
    return folder / LABELS / OWN_MODEL if begun.with_model else folder


def read_matter(folder: Path, begun: Begun, limit: Limits, model: TableModel | None = None) -> Matter:
    """Read the model, unless it is given, or the tables, and check that they are those of the start.

    Raises:
        DataError: a table has changed, or does not suit the model.
        RunError: the model is damaged or gone.
    """
    nodes = None if begun.nodes is None else Path(begun.nodes)
    for path, sum_ in ((nodes, begun.nodes_sha256), (begun.edges and Path(begun.edges), begun.edges_sha256)):
        if path:
            check_same(Path(path), sum_, folder)
    if begun.with_model:
        if not is_model(folder):
            raise RunError(f"{folder} no longer holds the model that labeling began with")
        model = model or load_model(folder)
        problem = model.problem
    else:
        assert nodes is not None
        assert begun.edges is not None
        columns = Columns.from_json(begun.columns)
        tables = limited(nodes, limit), limited(Path(begun.edges), limit)
        problem = NodeProblem.read_to_label(*tables, columns, ignore_unknown=begun.ignore_unknown)
        if not begun.classes and not any(problem.labels):
            empty = f"{nodes.name}: column {quoted(columns.label or '')} has no label yet"
            raise DataError(f"{empty}; name the `classes` to choose from")
    if nodes is None:
        return Matter(begun, problem, model, None, [])
    return Matter(begun, problem, model, *_table(nodes, problem, limit))


def check_labels(matter: Matter) -> None:
    """Raise DataError unless a table of nodes has the labels that the model learned from: others would not be shown."""
    if not matter.holds_labels:
        return
    assert matter.table is not None  # it holds labels
    table, name = matter.table, matter.label
    check_roles(table, name)
    held = as_words(table.column(name)).to_pylist()
    for row, node, label in zip(matter.rows, matter.problem.ids, matter.problem.labels, strict=True):
        if held[row] != label:
            there, here = ("no label" if each is None else f"label {shortened(each)}" for each in (held[row], label))
            raise DataError(
                f"{table.where(row)}: node {shortened(node)} has {there} in column {quoted(name)}, but {here} in the "
                "model; fit on this table first, or give the table of `nodes` that the model was fitted on"
            )


def _table(nodes: Path, problem: Problem, limit: Limits) -> tuple[Table, list[int], str]:
    """Read a table of nodes, and find the row of each node, and the column of ids."""
    columns = problem.columns
    found = read_nodes(limited(nodes, limit), id=columns.id, reading=columns.reading("nodes"))
    place = {name: row for row, name in enumerate(found.ids)}
    other = next((name for name in problem.ids if name not in place), None)
    if other is not None or len(place) != len(problem.ids):
        wrong = f"lacks node {shortened(other)}" if other is not None else "has other nodes"
        raise DataError(f"{nodes} {wrong}; give the table of `nodes` that the model was fitted on")
    return found.table, [place[name] for name in problem.ids], found.id_column


def check_same(path: Path, expected: str | None, folder: Path) -> None:
    """Raise DataError unless a table is the one that labeling in a folder began with."""
    if not path.exists():
        raise DataError(f"there is no file {path}, the table that labeling in {folder} began with; put it back")
    if checksum(path) != expected:
        raise DataError(
            f"{path} was changed since labeling in {folder} began; put the old file back, or begin in another folder "
            "with the new one"
        )


def _noted_table(folder: Path) -> Path | None:
    """Return the table of nodes that a fit noted, if it is still the same."""
    if not (folder / CONFIG).is_file():
        return None
    noted = load(folder / CONFIG)
    files, sums = noted.get(FILES), noted.get("tables")
    name = files.get("nodes") if isinstance(files, Mapping) else None
    if not isinstance(name, str) or not isinstance(sums, list) or not Path(name).is_file():
        return None
    return Path(name) if sums[:1] == [checksum(Path(name))] else None


def _checked(classes: tuple[str, ...], encoding: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(check_class(name, encoding) for name in classes))


def relabeled(problem: Problem, labels: list[str | None]) -> Problem:
    """Return a problem with other labels `[nodes]` by name; its classes are those that have a label."""
    classes, y = number_classes(labels)
    graph = replace(problem.graph, y=torch.from_numpy(y), num_classes=max(len(classes), 1), class_names=classes or None)
    return replace(problem, graph=graph, warnings=())

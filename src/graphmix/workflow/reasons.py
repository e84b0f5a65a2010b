"""explain(model, ids): the reasons for what a model predicts of nodes or links."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graphmix.errors import DataError
from graphmix.limits import Limits
from graphmix.tables.files import is_path, limited
from graphmix.tables.ids import id_text
from graphmix.tables.table import shortened
from graphmix.workflow.explaining import Explainer
from graphmix.workflow.explanations import Explanations
from graphmix.workflow.problem import Grown, Source
from graphmix.workflow.row_parts import RowPart, row_parts

if TYPE_CHECKING:
    from graphmix.workflow.model import TableModel

Tell = Callable[[int, int], None]


def explain(
    model: Any,
    ids: Any,
    *,
    nodes: Source = None,
    edges: Source = None,
    ignore_unknown: bool = False,
    limit: Limits | None = None,
    no_header: Sequence[str] = (),
    tell: Tell = lambda done, total: None,
) -> Explanations:
    """Give the reasons for what a model predicts of nodes or links.

    Everything is found by leaving things out and predicting again, with the whole calibrated mixture.

    Args:
        model: a `TableModel`, a fitted `GraphMixClassifier`, or the folder of a saved one.
        ids: an id or several, as in the predictions; of a classifier the numbers of nodes. A link is a pair (source,
            target), and all links between the two are explained.
        nodes: new nodes, as for `TableModel.predict`; their ids may be asked for, too.
        edges: new edges, or new links.
        ignore_unknown: whether to leave out edges to unknown nodes instead of raising an error.
        limit: how large tables in files may be; the usual limits if None.
        no_header: the tables, "nodes" or "edges", whose files have no header, besides those of the fit.
        tell: called with how many predictions are explained, of how many.

    Raises:
        DataError: there is no such id, or a table is invalid.
    """
    # Imported here: a model explains itself by this function.
    from graphmix.workflow.model import TableModel, load_model

    known = load_model(model) if is_path(model) else getattr(model, "table_model_", model)
    if not isinstance(known, TableModel):
        raise DataError(f"explain needs a fitted model or its folder, not {type(model).__name__}")
    tables = [limited(table, limit or Limits()) for table in (nodes, edges)]
    grown = known.grow(*tables, ignore_unknown=ignore_unknown, no_header=no_header)
    rows = find_rows(grown.names, ids)
    return explainer(known, grown, _parts(known, model)).explain(rows, tell)


def explainer(model: "TableModel", grown: Grown, parts: Sequence[RowPart] | None = None) -> Explainer:
    """Return what explains predictions of a model on a graph; `parts` are its columns, found if None."""
    given = model.problem.labels
    labels = given + [None] * (grown.graph.num_nodes - len(given))
    return Explainer(
        mixture=model.mixture,
        graph=grown.graph,
        names=grown.names,
        parts=_parts(model, None) if parts is None else parts,
        labels=labels,
        probabilities=model.mixture.probabilities(grown.graph),
    )


def reason_column(model: "TableModel", grown: Grown, first: int, tell: Tell | None) -> list[str]:
    """Return the reason for each prediction from row `first` on, in one line each."""
    rows = range(first, grown.graph.num_nodes)
    return [each.reason for each in explainer(model, grown).explain(rows, tell or (lambda done, total: None))]


def find_rows(names: Mapping[str, Sequence[Any]], ids: Any) -> list[int]:
    """Return the numbers of rows by their ids.

    Args:
        names: the ids of all rows by heading; two headings for links.
        ids: an id or several; of links pairs.

    Raises:
        DataError: there is no such row; the message names it.
    """
    wanted = _keys(ids, len(names))
    places: dict[tuple[str, ...], list[int]] = {key: [] for key in wanted}
    for row, key in enumerate(zip(*(map(id_text, values) for values in names.values()), strict=True)):
        if key in places:
            places[key].append(row)
    for key, found in places.items():
        if not found:
            what = "link between" if len(key) > 1 else "node"
            heading = " and ".join(repr(name) for name in names)
            raise DataError(f"there is no {what} {' and '.join(map(shortened, key))} in {heading}")
    return [row for key in places for row in places[key]]


def _keys(ids: Any, width: int) -> list[tuple[str, ...]]:
    """Return ids as texts, one for each heading."""
    single = isinstance(ids, str) or not hasattr(ids, "__iter__")
    listed = [ids] if single else list(ids)
    if width == 1:
        return [(id_text(_plain(each)),) for each in listed]
    if not single and _is_pair(ids, listed):
        listed = [listed]
    pairs = [_ends(each) for each in listed]
    for pair in pairs:
        if len(pair) != width:
            raise DataError(
                f"a link is asked for by both its ends, for example a,b, not {shortened(','.join(map(str, pair)))}"
            )
    return [tuple(id_text(_plain(end)) for end in pair) for pair in pairs]


def _ends(link: Any) -> tuple[Any, ...]:
    """Return the ends of a link: a pair, or a text `a,b`, in which spaces around an end do not count."""
    if isinstance(link, str):
        return tuple(end.strip() for end in link.split(",", 1))
    return tuple(link) if hasattr(link, "__iter__") else (link,)


def _is_pair(ids: Any, listed: list[Any]) -> bool:
    """Whether ids are the two ends of one link, and not several links, which are pairs themselves or texts `a,b`."""
    if len(listed) != 2 or not all(isinstance(each, str | int | np.generic) for each in listed):
        return False
    return isinstance(ids, tuple) or not all("," in str(each) for each in listed)


def _plain(value: Any) -> Any:
    """Return a number of numpy as one of Python."""
    return value.item() if isinstance(value, np.generic) else value


def _parts(known: "TableModel", given: Any) -> list[RowPart]:
    """Return the columns of a model; those of a classifier have names only if its X was a DataFrame."""
    stored = known.estimator or {}
    names = getattr(given, "feature_names_in_", None)
    names = stored.get("feature_names") if names is None else names
    usual = stored.get("parameters", {}).get("normalise", False)
    return row_parts(known.problem, names, normalised=bool(getattr(given, "normalise", usual)))

"""DataFrames for `GraphMixClassifier`: their index names the nodes."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphmix.distribution import importing
from graphmix.errors import DataError
from graphmix.tables.ids import INTEGER, TEXT, id_text
from graphmix.tables.memory import is_frame
from graphmix.tables.table import shortened
from graphmix.workflow.rows import HEADINGS

_USUAL = "id"


def row_ids(x: Any, rows: int) -> tuple[list[str], dict[str, str]]:
    """Return the ids of the rows of X, and their type by heading: the index of a DataFrame, or else numbers.

    An index that repeats or lacks an id, or has several levels, names no row: then they are numbers, too.
    """
    return _index_ids(x) or ([str(row) for row in range(rows)], {_USUAL: INTEGER})


def _index_ids(x: Any) -> tuple[list[str], dict[str, str]] | None:
    if not is_frame(x) or x.index.nlevels > 1:
        return None
    texts = _texts(x.index)
    if len(set(texts)) < len(texts) or any(not text.strip() for text in texts) or x.index.hasnans:
        return None
    name = x.index.name
    heading = name if isinstance(name, str) and name and name not in HEADINGS else _USUAL
    whole = all(isinstance(each, int | np.integer) and not isinstance(each, bool) for each in x.index)
    return texts, {heading: INTEGER if whole else TEXT}


def in_order(values: Any, x: Any, ids: Sequence[Any] = ()) -> Any:
    """Return labels, a mask or weights in the order of the nodes, if they are a Series whose index has the same ids.

    Args:
        values: a Series `[nodes]`; any other is returned as it is.
        x: what has the nodes; the index of a DataFrame has their ids.
        ids: their ids if x is None; numbers from 0 on are not taken for ids.
    """
    index = x.index if is_frame(x) else ids if x is None and list(ids) != list(range(len(ids))) else None
    if index is None or not hasattr(values, "reindex"):
        return values
    names = set(index)
    alike = len(values) == len(index) == len(names) and values.index.is_unique and set(values.index) == names
    return values.reindex(index) if alike else values


def numbered_edges(edges: Any, weights: Any, x: Any) -> tuple[Any, Any]:
    """Return edges as node numbers `[2, edges]` if they are a DataFrame of ids; otherwise as they are.

    Args:
        edges: a DataFrame with a row for each edge, its two ends in the first two columns; a column `weight` may
            follow. Or any other form of edges.
        weights: the weights, if they are given apart.
        x: the DataFrame whose index has the ids.

    Raises:
        DataError: X has no ids, or an edge names a node that X lacks.
    """
    if not is_frame(edges):
        return edges, weights
    known = _index_ids(x)
    if known is None or edges.shape[1] < 2:
        raise DataError(
            "edges in a DataFrame need two columns of ids, and an X that is a DataFrame whose index has each id once"
        )
    place = {name: number for number, name in enumerate(known[0])}
    ends = np.stack([_places(edges.iloc[:, column], place) for column in range(2)])
    if weights is None and "weight" in edges.columns[2:]:
        weights = edges["weight"].to_numpy()
    return ends, weights


def frame_of(x: Any, ids: list[Any], probabilities: NDArray[np.float64], classes: NDArray[Any]) -> Any:
    """Return predictions as a DataFrame: predicted, probability, and a column for each class.

    Args:
        x: what was predicted; if it is a DataFrame, its index is that of the result.
        ids: the index if x is None.
        probabilities: `[nodes, classes]`.
        classes: `[classes]`.

    Raises:
        RunError: pandas is not installed.
    """
    with importing("a DataFrame", "pandas"):
        import pandas as pd
    best = probabilities.argmax(axis=1)
    columns = {"predicted": classes[best], "probability": probabilities[np.arange(len(best)), best]}
    each = {f"probability of {label}": probabilities[:, place] for place, label in enumerate(classes)}
    index = x.index if is_frame(x) else ids if x is None else None
    return pd.DataFrame(columns | each, index=index)


def _texts(values: Any) -> list[str]:
    return [id_text(each.item() if isinstance(each, np.generic) else each) for each in values]


def _places(ends: Any, place: dict[str, int]) -> NDArray[np.int64]:
    texts = _texts(ends)
    lost = next((row for row, text in enumerate(texts) if text not in place), None)
    if lost is not None:
        raise DataError(f"row {lost + 1} of the edges names node {shortened(texts[lost])}, which is not in X's index")
    return np.array([place[text] for text in texts], dtype=np.int64)

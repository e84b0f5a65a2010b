"""Graphs and splits in npz files: `train` and `select`."""

import io
from random import Random
from typing import Any

import numpy as np

from bad_inputs.case import Case, Place
from bad_inputs.damage import damaged_bytes, replace_file, zip_of
from bad_inputs.stock import QUICK
from bad_inputs.words import odd_text
from command_line import arrays

_SELECT = ("--alphas", "1", "--gammas", "1", "--no-report", "--out", "out")


def npz(place: Place) -> Case:
    """Train or select on a graph whose arrays or archive are odd."""
    rng = place.rng
    held = arrays()
    what = [_change(rng, held) for _ in range(rng.choice([0, 1, 1, 1, 2]))]
    name = "graph.npz" if rng.random() < 0.95 else "\x1b[31m.npz"
    path = place.work / name
    how, content = zip_of(rng, {f"{key}.npy": _npy(rng, array) for key, array in held.items()})
    if rng.random() < 0.2:
        how, content = damaged_bytes(rng, content)
    path.write_bytes(content)
    if rng.random() < 0.05:
        how = replace_file(rng, path)
    given = (
        ["select", name, *QUICK, *_SELECT]
        if rng.random() < 0.15
        else ["train", name, *QUICK, "--no-report", "--out", "out"]
    )
    if given[0] == "train" and rng.random() < 0.15:
        given += [
            "--split",
            rng.choice(["public", "random", "5-per-class", "99-per-class", "0-per-class", "balanced", name, "x.npz"]),
        ]
    return Case(what="; ".join([*what, how]), arguments=tuple(given), writes=("out",))


def _change(rng: Random, held: dict[str, Any]) -> str:
    """Change one array of a graph."""
    name = rng.choice(list(held))
    array = np.asarray(held[name])
    last = array.size - 1
    ways: dict[str, Any] = {
        "missing": lambda: held.pop(name),
        "another type": lambda: array.astype(
            rng.choice(["float16", "complex64", "int8", "U8", "S4", "bool", "float64", "uint64"])
        ),
        "object": lambda: np.array([{"a": 1}, None], dtype=object),
        "a scalar": lambda: np.array(rng.choice([0, -1, 2**40, 1.5])),
        "empty": lambda: array[:0],
        "transposed": lambda: array.T,
        "one row less": lambda: array[:-1],
        "one axis more": lambda: array[None],
        "NaN": lambda: _with(array.astype(float), rng.randint(0, last), rng.choice([np.nan, np.inf, 1e308])),
        "negative": lambda: _with(array.astype(np.int64), rng.randint(0, last), rng.choice([-1, -2, -(2**62)])),
        "huge": lambda: _with(array.astype(np.int64), rng.randint(0, last), rng.choice([40, 10**6, 2**31, 2**62])),
        "all the same": lambda: np.full_like(array, array.ravel()[0]),
        "structured": lambda: np.zeros(3, dtype=[("a", "i4"), ("b", "f8")]),
        "times": lambda: np.array(["2024-01-01"] * 40, dtype="datetime64[D]"),
        "another name": lambda: held.__setitem__(odd_text(rng) or "z", held.pop(name)),
        "class count": lambda: held.__setitem__("num_classes", np.array(rng.choice([0, -1, 1, 2, 10**9, 2.5]))),
    }
    how = rng.choice(list(ways))
    try:
        made = ways[how]()
    except (TypeError, ValueError, IndexError):  # it was changed before, and cannot be changed like this
        return f"{name}: as it is"
    if isinstance(made, np.ndarray) and name in held:
        held[name] = made
    return f"{name}: {how}"


def _with(array: Any, place: int, value: Any) -> Any:
    changed = array.copy()
    changed.ravel()[place] = value
    return changed


def _npy(rng: Random, array: Any) -> bytes:
    sink = io.BytesIO()
    np.lib.format.write_array(sink, np.asarray(array), allow_pickle=True)
    content = sink.getvalue()
    if rng.random() < 0.03:
        # A header that promises more than there is.
        return content.replace(b"'shape': (", b"'shape': (99999999999, ", 1)
    return content

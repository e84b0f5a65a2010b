"""Parquet files of every type that programs write."""

import contextlib
import datetime
import decimal
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bad_inputs.tables import Columns, Drawer

_CODECS = ("snappy", "zstd", "gzip", "none", "brotli", "lz4")


def write(drawer: "Drawer", columns: "Columns", path: Path) -> None:
    """Write columns of text as Parquet: numbers as numbers where all are, and now and then of an odd type."""
    import pyarrow as pa
    from pyarrow import parquet

    rng = drawer.rng
    arrays = {name: _plain(rng.random() < 0.7, cells) for name, cells in columns.items()}
    for name, cells in columns.items():
        if name in ("id", "source", "target") and rng.random() < 0.5:
            arrays[name] = _typed(rng.choice(_ID_TYPES), cells) or arrays[name]
        elif drawer.odd("a type of Parquet"):
            arrays[name] = _typed(rng.choice([*_ID_TYPES, *_OTHER_TYPES]), cells) or arrays[name]
    names = list(arrays)
    if drawer.odd("names of Parquet columns"):
        names[rng.randrange(len(names))] = rng.choice(
            [names[0], "", "a.b", "x" * 100_000, "\x1b[31m", "__index_level_0__"]
        )
    table = pa.table(list(arrays.values()), names=names)
    options = {
        "compression": rng.choice(_CODECS),
        "row_group_size": rng.choice([None, 3]),
        "use_dictionary": rng.random() < 0.7,
    }
    parquet.write_table(table, path, **options)


def _plain(numbers: bool, cells: list[str]) -> Any:
    """Text, or floats where that is wanted and all are numbers; an empty cell is missing."""
    import pyarrow as pa

    if numbers:
        with contextlib.suppress(ValueError, OverflowError, pa.ArrowException):
            return pa.array([None if cell == "" else int(cell) for cell in cells])
        with contextlib.suppress(ValueError):
            return pa.array([None if cell == "" else float(cell) for cell in cells])
    return pa.array([None if cell == "" else cell for cell in cells], pa.string())


def _typed(make: Callable[[list[str]], Any], cells: list[str]) -> Any | None:
    """An array of a type, or None if these cells cannot have it."""
    import pyarrow as pa

    try:
        return make(cells)
    except (ValueError, OverflowError, TypeError, ArithmeticError, NotImplementedError, pa.ArrowException):
        return None


def _of(kind: str, convert: Callable[[str], Any]) -> Callable[[list[str]], Any]:
    def make(cells: list[str]) -> Any:
        import pyarrow as pa

        types: dict[str, Any] = {
            "decimal": pa.decimal128(38, 0),
            "decimal2": pa.decimal128(38, 2),
            "large": pa.large_string(),
            "dictionary": pa.dictionary(pa.int32(), pa.string()),
            "binary": pa.binary(),
            "ns": pa.timestamp("ns"),
            "us": pa.timestamp("us", "Europe/Berlin"),
            "list": pa.list_(pa.string()),
            "nested": pa.list_(pa.list_(pa.int64())),
            "struct": pa.struct([("a", pa.int64())]),
            "map": pa.map_(pa.string(), pa.int64()),
            "view": pa.string_view() if hasattr(pa, "string_view") else pa.string(),
        }
        wanted = types[kind] if kind in types else pa.type_for_alias(kind)
        return pa.array([None if cell == "" else convert(cell) for cell in cells], wanted)

    return make


def _float16(cell: str) -> Any:
    import numpy as np

    if abs(float(cell)) > float(np.finfo(np.float16).max):
        raise OverflowError(cell)
    return np.float16(cell)


_DAY = datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)
_ID_TYPES = (
    *(_of(kind, int) for kind in ("int8", "int16", "int32", "int64", "uint8", "uint32", "uint64")),
    _of("double", float),
    _of("float", float),
    _of("halffloat", _float16),
    _of("decimal", decimal.Decimal),
    _of("decimal2", decimal.Decimal),
    _of("large", str),
    _of("dictionary", str),
    _of("view", str),
    _of("binary", str.encode),
)
_OTHER_TYPES = (
    _of("bool", lambda cell: len(cell) % 2 == 0),
    _of("date32", lambda cell: _DAY.date()),
    _of("ns", lambda cell: len(cell) * 10**15),
    _of("us", lambda cell: 10**17 + len(cell)),
    _of("time64[us]", lambda cell: len(cell)),
    _of("duration[s]", lambda cell: len(cell)),
    _of("list", list),
    _of("nested", lambda cell: [[len(cell)], []]),
    _of("struct", lambda cell: {"a": len(cell)}),
    _of("map", lambda cell: [(cell, 1)]),
    _of("null", lambda cell: None),
)

"""The reader on small dataclasses: what every kind of type hint takes and refuses, and where it says so."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmix.errors import RunError
from graphmix.models.registry import NETWORKS
from graphmix.results.fit import Backbone, Method
from graphmix.results.reader import load, parse, read_file
from graphmix.results.schema import (
    ABSENT,
    Absent,
    Count,
    Flat,
    Key,
    Length,
    Maybe,
    Positive,
    Prefixed,
    Range,
    Rest,
    Shares,
)
from graphmix.results.writer import to_json
from graphmix.training.methods import fit_methods

FILE = Path("some.json")


@dataclass(frozen=True)
class Inner:
    values: Annotated[Shares, Length("trials")]
    labels: tuple[Annotated[int, Range(-1, "classes")], ...] = ()
    rows: Annotated[tuple[Annotated[tuple[Count, ...], Length("classes")], ...], Length("classes")] = ()


@dataclass(frozen=True)
class Pair:
    left: float
    right: float | None


@dataclass(frozen=True)
class Spread:
    each: Annotated[tuple[float, ...], Key("")]
    mean: Annotated[float, Key("_mean")]


@dataclass(frozen=True, kw_only=True)
class Outer:
    kind: Literal["table", "figure"]
    trials: Positive
    classes: tuple[str, ...] = ()
    inner: Maybe[Inner] = None
    interval: tuple[float, float] | None = None
    named: dict[str, float] | None = None
    word: Annotated[str, Key("class")] = "none"
    sure: bool = False
    either: str | int = 0
    threads: int | Absent | None = ABSENT
    pair: Annotated[Pair | None, Flat()] = None
    score: Annotated[Spread | None, Prefixed()] = None

    def problems(self) -> Iterator[tuple[str, str]]:
        if self.trials == 99:
            yield "trials", "is 99, which is too many"


@dataclass(frozen=True, kw_only=True)
class Open:
    name: str
    settings: Annotated[dict[str, Any], Rest({"trials": Positive, "backbone": str | None})]
    end: int = 0


LEAST = {"kind": "table", "trials": 2}


def read(**changes: Any) -> Outer:
    return parse(Outer, LEAST | changes, FILE)


def problem(cls: type, raw: Any) -> str:
    with pytest.raises(RunError) as caught:
        parse(cls, raw, FILE)
    return str(caught.value).removeprefix("some.json: ")


def test_defaults() -> None:
    assert read() == Outer(kind="table", trials=2)
    # Null means missing where None is not a value.
    assert read(**{"class": None, "sure": None, "classes": None}) == read()


def test_every_kind_of_value() -> None:
    inner = {"values": [1, None], "labels": [-1, 1], "rows": [[1, 2], [3, 4]]}
    value = read(
        trials=2.0,
        classes=["a", "b"],
        inner=inner,
        interval=[-1, 2.5],
        named={"x": 1},
        either="text",
        threads=None,
        left=1,
        right=None,
        score=[1, 2],
        score_mean=1.5,
        **{"class": "rare"},
    )
    assert value == Outer(
        kind="table",
        trials=2,
        classes=("a", "b"),
        inner=Inner((1, None), (-1, 1), ((1, 2), (3, 4))),
        interval=(-1, 2.5),
        named={"x": 1},
        word="rare",
        either="text",
        threads=None,
        pair=Pair(1, None),
        score=Spread((1, 2), 1.5),
    )
    assert parse(Outer, to_json(value), FILE) == value


def test_what_is_left_out_when_written() -> None:
    written = to_json(read())
    assert written == {
        "kind": "table",
        "trials": 2,
        "classes": [],
        "interval": None,
        "named": None,
        "class": "none",
        "sure": False,
        "either": 0,
    }
    assert to_json(read(threads=None))["threads"] is None


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (3, "the file is not an object with named fields"),
        ({"kind": "table"}, "the file has no field 'trials'"),
        (LEAST | {"kind": "poem"}, "kind is 'poem', not one of table, figure"),
        (LEAST | {"kind": None}, "kind is not a text"),
        (LEAST | {"trials": 0}, "trials is 0, which is out of range"),
        (LEAST | {"trials": 1.5}, "trials is not a whole number"),
        (LEAST | {"trials": True}, "trials is not a number"),
        (LEAST | {"trials": 10**400}, "trials is not a finite number of a sensible size"),
        (LEAST | {"trials": 99}, "trials is 99, which is too many"),
        (LEAST | {"inner": []}, "inner is not an object with named fields"),
        (LEAST | {"inner": {}}, "inner has no field 'values'"),
        (LEAST | {"inner": {"values": 1}}, "inner.values is not a list"),
        (LEAST | {"inner": {"values": [1]}}, "inner.values has 1 values where 2 are expected"),
        (LEAST | {"inner": {"values": [1, "x"]}}, "inner.values[1] is not a number"),
        (
            LEAST | {"classes": [], "inner": {"values": [1, 1], "labels": [0]}},
            "inner.labels[0] is 0, which is out of range",
        ),
        (
            LEAST | {"classes": ["a"], "inner": {"values": [1, 1], "rows": [[1, 2]]}},
            "inner.rows[0] has 2 values where 1",
        ),
        (LEAST | {"classes": ["a", 1]}, "classes[1] is not a text"),
        (LEAST | {"interval": [1]}, "interval has 1 values where 2 are expected"),
        (LEAST | {"interval": [1, None]}, "interval[1] is not a number"),
        (LEAST | {"named": {"x": "y"}}, "named.x is not a number"),
        (LEAST | {"class": 1}, "class is not a text"),
        (LEAST | {"sure": 1}, "sure is neither true nor false"),
        (LEAST | {"either": []}, "either is not a number"),
        (LEAST | {"threads": "x"}, "threads is not a number"),
        (LEAST | {"right": 1}, "the file has no field 'left'"),
        (LEAST | {"score": [1]}, "the file has no field 'score_mean'"),
        (LEAST | {"score": [1, "x"], "score_mean": 1}, "score[1] is not a number"),
    ],
)
def test_the_place_and_the_problem(raw: Any, said: str) -> None:
    assert problem(Outer, raw).startswith(said)


def test_the_rest_of_an_object() -> None:
    raw = {"name": "a", "trials": 3, "alpha": [1], "end": 4, "later": {"x": None}}
    value = parse(Open, raw, FILE)
    assert value.settings == {"trials": 3, "alpha": [1], "later": {"x": None}}
    assert to_json(value) == raw
    assert problem(Open, {"name": "a"}) == "the file has no field 'trials'"
    assert problem(Open, {"name": "a", "trials": 1, "backbone": 3}) == "backbone is not a text"


def test_formats(tmp_path: Path) -> None:
    path = tmp_path / "some.json"
    for content, said in (
        ({}, "the file has no field 'format'"),
        ({"format": 0}, "format is 0, which is out of range"),
        ({"format": 3}, "format is 3, written by a newer graphmix; this one reads 2"),
    ):
        path.write_text(json.dumps(content))
        with pytest.raises(RunError, match=said):
            read_file(Outer, path, newest=2)


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"\xff", b'{"a": NaN}', b'{"a": 1e999}', b"[" * 100_000, b"1" * 5000]
)
def test_files_that_are_not_json_objects(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "some.json"
    path.write_bytes(content)
    with pytest.raises(RunError, match=r"some\.json") as caught:
        load(path)
    assert "\n" not in str(caught.value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
KEYS = [
    "kind",
    "trials",
    "classes",
    "inner",
    "interval",
    "named",
    "class",
    "sure",
    "either",
    "threads",
    "left",
    "right",
]


@given(st.dictionaries(st.sampled_from([*KEYS, "score", "score_mean"]), JSON))
def test_any_value_is_read_or_refused_in_one_sentence(changes: dict[str, Any]) -> None:
    try:
        value = parse(Outer, LEAST | changes, FILE)
    except RunError as error:
        said = str(error)
    else:
        assert parse(Outer, to_json(value), FILE) == value
        return
    assert said.startswith("some.json: ")


def test_the_methods_and_networks_of_a_fit_are_those_of_the_registries() -> None:
    @dataclass(frozen=True)
    class Fitted:
        method: Method
        backbone: Backbone

    for method in fit_methods():
        for backbone in NETWORKS:
            assert parse(Fitted, {"method": method, "backbone": backbone}, FILE) == Fitted(method, backbone)
    with pytest.raises(RunError, match=r"some\.json: backbone is 'gnc', not one of gcn, gat"):
        parse(Fitted, {"method": "fcn", "backbone": "gnc"}, FILE)
    with pytest.raises(RunError, match=r"some\.json: method is not a text"):
        parse(Fitted, {"method": 3, "backbone": "gcn"}, FILE)

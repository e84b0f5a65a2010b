"""Nodes and edges of any two types: edges join what an oracle joins that knows the values, not how they are stored."""

import datetime
from decimal import Decimal

import pandas as pd
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from graphmix.workflow.columns import Columns
from graphmix.workflow.problems import read_problem

EPOCH = datetime.datetime(1970, 1, 1)


def numbers(kind, make=int):
    return lambda places: pa.array([make(place) for place in places], kind)


def times(unit, zone=None):
    """Whole seconds, which every unit can hold."""

    def made(places):
        return pa.array([EPOCH + datetime.timedelta(seconds=place) for place in places], pa.timestamp(unit, zone))

    return made


# In each family, the same number makes the same id, whatever the type.
FAMILIES = {
    "integers": [
        numbers(pa.int64()),
        numbers(pa.uint64()),
        numbers(pa.decimal128(38, 0)),
        numbers(pa.decimal256(50, 4), Decimal),
        numbers(pa.string(), str),
        lambda places: pa.array([str(place) for place in places]).dictionary_encode(),
        lambda places: pa.array(places).dictionary_encode(),
        lambda places: pa.chunked_array([[place] for place in places], pa.int64()),
        numbers(pa.float64(), float),
    ],
    "beyond 64 bits": [
        lambda places: pa.array([2**64 + place for place in places], pa.decimal128(38)),
        lambda places: pa.array([2**64 + place for place in places], pa.decimal256(76, 2)),
        lambda places: pa.array([str(2**64 + place) for place in places]),
        lambda places: pd.Series([2**64 + place for place in places], dtype=object),
    ],
    "fractions": [
        numbers(pa.float64(), lambda place: place / 8),
        numbers(pa.decimal128(38, 5), lambda place: Decimal(place) / 8),
        lambda places: pa.array([float(place % 2**18) / 8 for place in places]).cast(pa.float32()),
    ],
    "times": [times("s"), times("ms"), times("us"), times("ns")],
    "times with a zone": [times("s", "UTC"), times("ns", "+05:00"), times("ms", "-03:30")],
}
CASES = st.sampled_from([(name, one, other) for name, made in FAMILIES.items() for one in made for other in made])


def list_of(cells):
    return cells.tolist() if isinstance(cells, pd.Series) else cells.to_pylist()


def frame(**columns):
    """A table: of pandas if a column is, else of pyarrow."""
    if not any(isinstance(cells, pd.Series) for cells in columns.values()):
        return pa.table(columns)
    return pd.DataFrame({name: list_of(cells) for name, cells in columns.items()}, dtype=object)


@settings(max_examples=100, deadline=None)
@given(CASES, st.sets(st.integers(0, 2**18 - 1), min_size=4, max_size=8), st.randoms())
def test_edges_join_the_nodes_of_the_same_value(case, held, random):
    _, one, other = case
    held = random.sample(sorted(held), len(held))
    pairs = [(random.randrange(len(held)), random.randrange(len(held))) for _ in range(6)] + [(0, 1)]
    nodes = frame(id=one(held), y=pa.array((["a", "b", None, None] * 2)[: len(held)]))
    edges = frame(source=other([held[place] for place, _ in pairs]), target=one([held[place] for _, place in pairs]))
    problem = read_problem(nodes, edges, Columns(label="y"))
    joined = {tuple(sorted(pair)) for pair in problem.graph.edge_index.T.tolist()}
    assert joined == {tuple(sorted(pair)) for pair in pairs if pair[0] != pair[1]}
    values = list_of(one(held))
    (made,) = problem.row_names().values()
    # Times come back as text.
    assert made == values or all(isinstance(value, datetime.datetime) for value in values)


@settings(max_examples=100, deadline=None)
@given(CASES, st.lists(st.integers(0, 2**18 - 1), unique=True, min_size=3, max_size=6), st.randoms())
def test_links_share_the_users_of_the_same_value(case, held, random):
    _, one, other = case
    pairs = [(random.randrange(len(held)), random.randrange(len(held))) for _ in range(8)]
    source, target = one([held[place] for place, _ in pairs]), other([held[place] for _, place in pairs])
    links = frame(source=source, target=target, sign=pa.array(["+", "-", "+", "-", None, None, "+", "-"]))
    problem = read_problem(None, links, Columns(link_label="sign"))
    users = {}
    expected = [[users.setdefault(held[pair[end]], len(users)) for pair in pairs] for end in (0, 1)]
    assert problem.graph.structure.packed()["ends"].tolist() == expected

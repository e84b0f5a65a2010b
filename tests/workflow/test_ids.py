"""Ids through a whole fit: what comes out, in every form, is what went in, and edges join the nodes they name."""

import csv
import json
from decimal import Decimal

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from command_line import graphmix
from graphmix import fit_tables
from graphmix.errors import DataError, RunError
from graphmix.storage.description import OWN, description_checksum
from graphmix.tables.ids import id_text
from graphmix.workflow import advice
from graphmix.workflow.columns import Columns
from graphmix.workflow.model import load_model
from graphmix.workflow.options import FitOptions
from graphmix.workflow.rows import HEADINGS

COUNT = 12
QUICK = ["--methods", "label-propagation", "--trials", "2", "--epochs", "2", "--device", "cpu", "--no-report"]
TEXTS = ["@bob", "-x", "=1+1", " a", "a", "a ", "1", "1.0", "01", "+1", "1e3", "1000"]
ODD = ["NA", "null", "True", "true", "\u00e9", "e\u0301", 'q"', "a,b", "a;b", "a\nb", "a\tb", "\U0001f600"]
IDS = {
    "text": pa.array(TEXTS),
    "odd text": pa.array(ODD),
    "categories": pa.array(TEXTS).dictionary_encode(),
    "int64": pa.array([2**60 + number for number in range(COUNT)]),
    "uint64": pa.array([2**64 - 1 - number for number in range(COUNT)], pa.uint64()),
    "decimal128": pa.array([10**30 + number for number in range(COUNT)], pa.decimal128(38)),
    "decimal256": pa.array([-(10**70) - number for number in range(COUNT)], pa.decimal256(76)),
    "decimal with a fraction": pa.array([Decimal(number) / 8 for number in range(COUNT)]),
    "float64": pa.array([2.0**53 - 1 - number for number in range(COUNT)]),
    "float32": pa.array([2**24 - 1 - number for number in range(COUNT)], pa.float32()),
    "fractions": pa.array([number / 3 for number in range(COUNT)]),
    "nanoseconds": pa.array([2**61 + 10 * number + 1 for number in range(COUNT)], pa.timestamp("ns")),
}


def nodes_of(ids):
    """A table of nodes with the ids in a column `paper`, two classes, and a third of the labels missing."""
    labels = [("A", "B", None)[number % 3] for number in range(len(ids))]
    return pa.table({"paper": ids, "topic": labels, "size": [float(number % 5) for number in range(len(ids))]})


def ring(ids):
    """Join each node to the third after it: the pairs of places, and a table of edges with ids of the same type."""
    places = [(number, (number + 3) % len(ids)) for number in range(len(ids))]
    one, other = (ids.take(pa.array(end)) for end in zip(*places, strict=True))
    return {tuple(sorted(pair)) for pair in places}, pa.table({"citing": one, "cited": other})


def fit(nodes, edges, **chosen):
    options = FitOptions(methods=("label-propagation",), device="cpu")
    columns = Columns(**({"id": "paper", "label": "topic"} | chosen))
    return fit_tables(nodes, edges, columns=columns, options=options, trials=2, epochs=2)


def joined(held):
    """The pairs of nodes that a graph joins."""
    return {tuple(sorted(pair)) for pair in held.graph.edge_index.T.tolist()}


def read(path, separator=","):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter=separator))


@pytest.fixture(scope="module", params=IDS)
def fitted(request, tmp_path_factory):
    """A model of ids of each type, trained by the command on Parquet files; the pairs of its edges; the ids."""
    folder, ids = tmp_path_factory.mktemp("ids"), IDS[request.param]
    pairs, edges = ring(ids)
    parquet.write_table(nodes_of(ids), folder / "n.parquet")
    parquet.write_table(edges, folder / "e.parquet")
    tables = ["--nodes", folder / "n.parquet", "--edges", folder / "e.parquet", "--id", "paper", "--label", "topic"]
    result = graphmix("fit", *tables, "--out", folder / "model", *QUICK)
    assert result.returncode == 0, result.stderr
    # Times come back as text.
    return folder, pairs, (ids.cast(pa.string()) if pa.types.is_temporal(ids.type) else ids).to_pylist()


def test_every_form_gives_back_what_it_got(fitted):
    folder, pairs, ids = fitted
    model = load_model(folder / "model")
    assert joined(model.problem) == pairs
    predictions = model.predict()
    assert predictions.columns["paper"] == ids
    assert predictions.to_pandas()["paper"].tolist() == ids
    predictions.write(folder / "o.parquet")
    assert parquet.read_table(folder / "o.parquet")["paper"].to_pylist() == ids
    for ending, separator in (("csv", ","), ("tsv", "\t")):
        predictions.write(folder / f"o.{ending}")
        assert [row["paper"] for row in read(folder / f"o.{ending}", separator)] == list(map(id_text, ids))
    assert [row["paper"] for row in read(folder / "model" / "predictions.csv")] == list(map(id_text, ids))


def test_advice_names_the_same_ids(fitted, monkeypatch):
    # Which ids it names does not depend on how well the network is trained that it needs.
    usual = advice.config_on
    monkeypatch.setattr(advice, "config_on", lambda *given, **options: usual(*given, **options, epochs=8))
    folder, _, ids = fitted
    result = graphmix("advise", folder / "model", "-o", folder / "advice", "--device", "cpu")
    assert result.returncode == 0, result.stderr
    unlabeled = [id_text(name) for number, name in enumerate(ids) if number % 3 == 2]
    assert sorted(row["paper"] for row in read(folder / "advice" / "label_next.csv")) == sorted(unlabeled)
    assert "paper" in result.stdout


def test_new_nodes_of_another_type(fitted):
    folder, _, ids = fitted
    model = load_model(folder / "model")
    # New ids are text, and so are the ends of new edges, whatever the old ones are.
    new = pa.table({"paper": [" new", "=2"], "size": [1.0, 2.0]})
    edges = pa.table({"citing": [id_text(ids[3]), " new"], "cited": [" new", "=2"]})
    assert model.predict(new, edges).columns["paper"] == [" new", "=2"]
    added = joined(model.problem.grow(new, edges)) - joined(model.problem)
    assert added == {(3, COUNT), (COUNT, COUNT + 1)}
    everything = model.predict(new, edges, everything=True)
    assert everything.columns["paper"] == [*map(id_text, ids), " new", "=2"]
    assert everything.to_arrow()["paper"].to_pylist() == everything.columns["paper"]
    with pytest.raises(DataError, match="was there at training"):
        model.predict(pa.table({"paper": [id_text(ids[0])], "size": [1.0]}))


def test_new_nodes_of_the_same_type_keep_it():
    ids = pa.array(range(COUNT))
    model = fit(nodes_of(ids), ring(ids)[1])
    new = pd.DataFrame({"paper": pd.Series([2**70], dtype=object), "size": [1.0]})
    assert model.predict(new).columns["paper"] == [2**70]
    assert model.predict(new, everything=True).to_pandas()["paper"].tolist() == [*range(COUNT), 2**70]


def test_new_ids_that_are_nearly_old_ones_are_noted():
    ids = pa.array([str(number) for number in range(COUNT)])
    model = fit(nodes_of(ids), ring(ids)[1])
    predictions = model.predict(pa.table({"paper": ["3.0", " 4", "x"], "size": [1.0, 1.0, 1.0]}))
    assert predictions.columns["paper"] == ["3.0", " 4", "x"]
    assert any("2 ids differ from another" in note for note in predictions.notes)


@pytest.mark.parametrize(
    ("nodes", "edges"),
    [
        (pa.int64(), pa.string()),
        (pa.string(), pa.int64()),
        (pa.int64(), pa.float64()),
        (pa.float64(), pa.int32()),
        (pa.string(), pa.float64()),
        (pa.decimal128(38, 2), pa.uint64()),
        (pa.uint64(), pa.decimal256(76, 3)),
    ],
)
def test_edges_of_another_type(nodes, edges):
    numbers = pa.array([7 * number for number in range(COUNT)])
    pairs, held = ring(numbers.cast(edges))
    model = fit(nodes_of(numbers.cast(nodes)), held)
    assert joined(model.problem) == pairs
    assert list(map(id_text, model.predict().columns["paper"])) == list(map(str, numbers.to_pylist()))


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1).filter(str.strip)
VALUES = st.one_of(
    st.lists(TEXT, unique=True, min_size=6, max_size=9),
    st.lists(st.integers(-(10**37), 10**37), unique=True, min_size=6, max_size=9),
    st.lists(st.integers(-(2**53) + 1, 2**53 - 1).map(float), unique=True, min_size=6, max_size=9),
    st.lists(st.decimals(-(10**9), 10**9, places=5), unique=True, min_size=6, max_size=9),
)


def write_csv(path, frame):
    with path.open("w", newline="", encoding="utf-8") as file:
        cells = ([cell if cell is None else id_text(cell) for cell in column] for column in frame.values())
        csv.writer(file).writerows([list(frame), *zip(*cells, strict=True)])
    return path


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(VALUES, st.sampled_from(["csv", "pandas"]), st.randoms())
def test_any_ids_in_any_form(tmp_path_factory, values, form, random):
    """The oracle joins edges by the places that they were made from."""
    pairs = [(0, 1), *((random.randrange(len(values)), random.randrange(len(values))) for _ in range(8))]
    nodes = {"paper": values, "topic": (["A", "B", None] * 3)[: len(values)]}
    edges = {"a": [values[one] for one, _ in pairs], "b": [values[other] for _, other in pairs]}
    if form == "csv":
        folder = tmp_path_factory.mktemp("any")
        tables = write_csv(folder / "n.csv", nodes), write_csv(folder / "e.csv", edges)
    else:
        tables = (pd.DataFrame(held, dtype=object) for held in (nodes, edges))
    model = fit(*tables)
    expected = values if form == "pandas" else list(map(id_text, values))
    assert model.predict().columns["paper"] == expected
    assert joined(model.problem) == {tuple(sorted(pair)) for pair in pairs if pair[0] != pair[1]}


def links_of(source, target):
    signs = [("+", "-", None)[number % 3] for number in range(len(source))]
    return pa.table({"who": source, "whom": target, "sign": signs})


@pytest.mark.parametrize("kind", [pa.string(), pa.int64(), pa.float64(), pa.decimal128(38, 1), pa.uint64()])
def test_links_give_both_ends_back(tmp_path, kind):
    source, target = [number % 5 for number in range(15)], [(2 * number + 1) % 5 for number in range(15)]
    ends = [pa.array(end).cast(kind) for end in (source, target)]
    options = FitOptions(methods=("label-propagation",), device="cpu")
    model = fit_tables(None, links_of(*ends), columns=Columns(link_label="sign"), options=options, trials=2)
    model.save(tmp_path / "model")
    stored = load_model(tmp_path / "model")
    made = stored.predict()
    assert list(made.columns)[:2] == ["who", "whom"]
    assert [made.columns["who"], made.columns["whom"]] == [end.to_pylist() for end in ends]
    # The new links write the old ends in another type, and under other names.
    later = stored.predict(None, pa.table({"src": ["1", "7"], "dst": [" 2", "1.0"]}))
    assert [later.columns["src"], later.columns["dst"]] == [["1", "7"], [" 2", "1.0"]]
    users = stored.problem.ids
    grown = stored.problem.grow(None, pa.table({"src": ["1", "7"], "dst": [" 2", "1.0"]}))
    ends = grown.graph.structure.packed()["ends"][:, -2:].tolist()
    assert ends == [[users.index("1"), len(users)], [users.index("2"), users.index("1")]]


def test_links_are_spelled_as_in_their_own_table(tmp_path):
    """The users' ids are integers; the links name them as text, some with spaces or `.0`."""
    source = [("0", " 1", "2.0")[number % 3] for number in range(15)]
    target = [str((number + 1) % 4) for number in range(15)]
    options, columns = FitOptions(methods=("label-propagation",), device="cpu"), Columns(link_label="sign")
    users = pa.table({"id": [0, 1, 2, 3], "age": [20.0, 30.0, 40.0, 50.0]})
    model = fit_tables(users, links_of(source, target), columns=columns, options=options, trials=2)
    model.save(tmp_path / "model")
    for held in (model, load_model(tmp_path / "model")):
        assert held.problem.ids == ["0", "1", "2", "3"]
        assert held.problem.graph.structure.packed()["ends"][0].tolist() == [number % 3 for number in range(15)]
        made = held.predict().columns
        assert [made["who"], made["whom"]] == [source, target]


def test_a_heading_of_ours_is_not_taken_by_the_ids():
    ids = pa.array([f"n{number}" for number in range(COUNT)])
    nodes = nodes_of(ids).rename_columns(["label", "topic", "size"])
    model = fit(nodes, ring(ids)[1], id="label")
    made = model.predict()
    assert list(made.columns)[:2] == ["id", "label"]
    assert made.columns["id"] == ids.to_pylist()
    assert any("the ids of column 'label' are called 'id' in outputs" in note for note in model.notes)
    links = links_of([f"u{number % 5}" for number in range(15)], [f"u{number % 4}" for number in range(15)])
    links = links.rename_columns(["set", "source", "sign"])
    options, columns = FitOptions(methods=("label-propagation",), device="cpu"), Columns(link_label="sign")
    made = fit_tables(None, links, columns=columns, options=options, trials=2).predict()
    assert list(made.columns)[:3] == ["source", "target", "label"]
    assert made.columns["source"] == links["set"].to_pylist()


def test_our_headings_are_known():
    ids = pa.array([f"n{number}" for number in range(COUNT)])
    model = fit(nodes_of(ids), ring(ids)[1])
    advice = model.advise(3, device="cpu")
    ours = {name for table in (model.predict(), advice.label_next, advice.suspects) for name in table.columns}
    assert ours - {"paper"} <= HEADINGS
    assert {"second", "second_probability", "third", "third_probability"} <= HEADINGS


@pytest.mark.parametrize(
    "columns",
    [[["paper", "date"]], [["set", "text"]], [], [["a", "text"], ["b", "text"]], [[3, "text"]], "paper", None],
)
def test_a_damaged_type_of_ids_is_refused(tmp_path, columns):
    ids = pa.array([f"n{number}" for number in range(COUNT)])
    fit(nodes_of(ids), ring(ids)[1]).save(tmp_path / "model")
    path = tmp_path / "model" / "model.json"
    described = json.loads(path.read_text())
    assert described["id_columns"] == [["paper", "text"]]
    for damage in (columns, [["paper", "integer"]]):
        changed = described | {"id_columns": damage}
        path.write_text(json.dumps(changed | {OWN: description_checksum(changed)}))
        with pytest.raises(RunError, match="does not hold a whole model"):
            load_model(tmp_path / "model")


def test_classes_with_semicolons_make_no_ambiguous_sets(tmp_path):
    classes = ["a;b", "a", 'b"', " c", "d\ne", "b"]
    ids = pa.array([f"n{number}" for number in range(30)])
    labels = [classes[number % 6] if number < 24 else None for number in range(30)]
    # Trimming is for labels, so that ` c` is read as `c`.
    nodes = pa.table({"paper": ids, "topic": labels, "size": [1.0] * 30})
    model = fit(nodes, ring(ids)[1])
    made = model.predict(coverage=0.999)
    made.write(tmp_path / "o.csv")
    names = set(model.mixture.classes)
    sizes = set()
    for row in read(tmp_path / "o.csv"):
        (held,) = csv.reader([row["set"]], delimiter=";")
        assert set(held) <= names
        assert held[0] == row["predicted"]
        sizes.add(len(held))
    assert max(sizes) > 1

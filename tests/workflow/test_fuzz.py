"""Any tables at all: a clean run, or one sentence and nothing left behind; and a count of both."""

import codecs
import csv
import gzip
import io
import random
import re
import shutil
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from graphmix.errors import GraphMixError
from graphmix.tables.ids import id_text
from graphmix.tables.kinds import KINDS
from graphmix.workflow.columns import Columns
from graphmix.workflow.fitting import fit_tables
from graphmix.workflow.links import LinkProblem
from graphmix.workflow.model import load_model
from graphmix.workflow.options import CANDIDATES, FitOptions

ODD = [
    "",
    " ",
    "NA",
    "nan",
    "None",
    "=1+1",
    "-x",
    "+1",
    "@a",
    "\u00e9",
    "\u4e2d\u6587",
    "\U0001f600",
    "a,b",
    'say "x"',
    "a;b",
    "x\ty",
]
ODD += [
    "l\nb",
    "c\rd",
    "1e308",
    "-1e400",
    "inf",
    "1.0",
    "01",
    "true",
    "FALSE",
    "[1, 2]",
    "['a', \"b\"]",
    "[",
    "\u202e",
    "\x01",
    "x" * 300,
    "'q",
]
ENCODINGS = ["utf-8", "utf-8", "utf-16", "latin-1"]
SEPARATORS = {"csv": ",;\t", "tsv": "\t", "txt": "\t,;"}
CELLS = ["number", "huge", "mixed", "category", "text", "tokens", "list", "empty", "constant", "garbage"]
counts: Counter[str] = Counter()
reasons: Counter[str] = Counter()


def _listed(cell):
    words = re.findall(r"[^][, ]+", cell)
    try:
        return [float(word) for word in words]
    except ValueError:
        return words


class Fuzzer:
    """Tables drawn at random, most of them sound: `odds` is how often each thing that can be odd is."""

    def __init__(self, seed, odds):
        self.rng, self.odds = random.Random(seed), odds
        self.encoding = self.rng.choice(ENCODINGS)

    def odd(self):
        return self.rng.random() < self.odds

    def ids(self, count, prefix=""):
        style = self.rng.choice(["text", "number", "point", "odd"])
        made = [f"{prefix}{number}" if style == "text" or prefix else str(number) for number in range(count)]
        if style == "point":
            made = [f"{name}.0" if self.rng.random() < 0.5 else name for name in made]
        if style == "odd" or self.odd():
            for place in range(0, count, 5):
                made[place] = f"{self.rng.choice(ODD)}{made[place]}"
        if self.odd():
            made[self.rng.randrange(count)] = made[0]
        return made

    def labels(self, count):
        classes = self.rng.sample(["A", "B", "10", "9", *ODD], self.rng.randint(1 if self.odd() else 2, 4))
        share = self.rng.choice([0.3, 0.7, 1.0])
        return [classes[number % len(classes)] if self.rng.random() < share else "" for number in range(count)]

    def column(self, kind, count):
        rng = self.rng
        draw = {
            "number": lambda: f"{rng.gauss(0, 3):.3f}",
            "huge": lambda: rng.choice(["1e308", "-1e308", "1e-320", "inf", "0", "7", "nan", "1e31", ""]),
            "mixed": lambda: rng.choice(["1", "2.5", *ODD]),
            "category": lambda: rng.choice("abc"),
            "text": lambda: " ".join(rng.choices(["graph", "node", "\u00e9t\u00e9", "mix", "--"], k=rng.randint(0, 6))),
            "tokens": lambda: rng.choice(["|", ";"]).join(rng.choices("abcde", k=rng.randint(0, 4))),
            "list": lambda: str([round(rng.gauss(0, 1), 2) for _ in range(3 if not self.odd() else 2)]),
            "empty": lambda: "",
            "constant": lambda: "same",
            "garbage": lambda: "".join(chr(rng.randrange(1, 0x2FF)) for _ in range(rng.randint(0, 6))),
        }[kind]  # fmt: skip
        return ["" if self.odd() else draw() for _ in range(count)]

    def table(self, columns, path):
        """Write columns by name in the form that a path's name tells."""
        if path.suffix == ".parquet":
            self.parquet(columns, path)
            return
        ending = path.name.removesuffix(".gz").rpartition(".")[2]
        text = io.StringIO()
        quoting = self.rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
        ends = self.rng.choice(["\n", "\r\n"])
        writer = csv.writer(text, delimiter=self.rng.choice(SEPARATORS[ending]), lineterminator=ends, quoting=quoting)
        writer.writerow(columns)
        ragged = self.rng.randrange(40) if self.odd() else -1
        for number, row in enumerate(zip(*columns.values(), strict=True)):
            writer.writerow(row[:-1] if number == ragged else row)
            if self.odd():
                text.write(ends)
        content = text.getvalue()
        encoding = self.rng.choice(ENCODINGS) if self.odd() else self.encoding
        raw = content.encode(encoding, errors="replace")
        if encoding == "utf-8" and self.rng.random() < 0.3:
            raw = codecs.BOM_UTF8 + raw
        if self.odd() and self.odd():
            place = self.rng.randrange(len(raw))
            raw = raw[:place] + self.rng.randbytes(self.rng.randint(1, 3)) + raw[place + 1 :]
        if self.odd() and self.odd():
            raw = raw[: self.rng.randrange(len(raw))]
        path.write_bytes(gzip.compress(raw) if path.suffix == ".gz" else raw)

    def parquet(self, columns, path):
        arrays = {}
        for name, cells in columns.items():
            try:
                values = [None if cell == "" else float(cell) for cell in cells]
            except ValueError:
                values = [None if cell == "" else cell for cell in cells]
                if all(cell is None or cell.startswith("[") for cell in values):
                    values = [None if cell is None else _listed(cell) for cell in values]
            try:
                arrays[name] = pa.array(values)
            except pa.ArrowException:
                arrays[name] = pa.array([None if value is None else str(value) for value in values])
        parquet.write_table(pa.table(arrays), path)

    def name(self, what):
        return f"{what}.{self.rng.choice(['csv', 'csv', 'tsv', 'txt', 'csv.gz', 'parquet'])}"

    def nodes(self, count, kinds, prefix=""):
        columns = {"id": self.ids(count, prefix), "y": self.labels(count)}
        columns |= {name: self.column(kind, count) for name, kind in kinds.items()}
        return columns

    def edges(self, ids, count, kind):
        ids = [*ids, "elsewhere"] if self.odd() else ids
        columns = {"source": self.rng.choices(ids, k=count), "target": self.rng.choices(ids, k=count)}
        if kind == "weighted":
            drawn = ["1", "2.5", "0", "1e-40", "1e29"]
            columns["weight"] = [
                self.rng.choice(["nan", "-1", "x", ""]) if self.odd() and self.odd() else self.rng.choice(drawn)
                for _ in range(count)
            ]
        if kind == "links":
            columns |= {"y": self.labels(count), "amount": self.column("number", count)}
        return columns


@st.composite
def fuzzers(draw):
    return Fuzzer(draw(st.integers(0, 2**32 - 1)), draw(st.sampled_from([0.0, 0.0, 0.03, 0.2])))


def one_sentence(error):
    lines = str(error).splitlines()
    assert len(lines) == 1, lines
    assert lines[0].strip()
    assert len(lines[0]) < 2000
    return re.sub(r"'.*?'|\d+|[\w-]+\.(csv|tsv|txt|parquet)(\.gz)?|/\S+", "…", lines[0])[:70]


def check_predictions(probabilities, path, names):
    """Finite, of sum 1, and every id once and in order in a file that reads back."""
    assert np.isfinite(probabilities).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    with path.open(newline="", encoding="utf-8") as file:
        read = list(csv.DictReader(file))
    assert len(read) == len(probabilities)
    for name, values in names.items():
        assert [row[name] for row in read] == [id_text(value) for value in values]
    for row in read:
        assert 0 <= float(row["probability"]) <= 1
        assert row["abstain"] in ("true", "false")
        assert row["set"]


def fit(fuzzer, folder):
    rng = fuzzer.rng
    kinds = {f"f{place}": rng.choice(CELLS) for place in range(rng.randint(0, 3))}
    link = rng.random() < 0.2
    count = rng.randint(1 if fuzzer.odd() else 8, 24)
    nodes = fuzzer.nodes(count, kinds)
    if rng.random() < 0.2 and not link:
        nodes["part"] = rng.choices(["train", "val", "test", "Valid"], k=count)
        if fuzzer.odd():
            nodes["part"][0] = "tarin"
    edge_kind = "links" if link else rng.choice(["plain", "plain", "weighted"])
    edges = fuzzer.edges(nodes["id"], rng.randint(0 if fuzzer.odd() else 10, 40), edge_kind)
    paths = [folder / fuzzer.name("nodes"), folder / fuzzer.name("edges")]
    for table, path in zip((nodes, edges), paths, strict=True):
        fuzzer.table(table, path)
    features = {}
    if kinds and fuzzer.odd():
        name = rng.choice(list(kinds))
        features[name] = rng.choice([None, *KINDS])
    columns = Columns(
        label=None if link else "y",
        link_label="y" if link else None,
        split="part" if "part" in nodes else None,
        features=features,
        encoding=fuzzer.encoding,
    )
    options = FitOptions(
        methods=tuple(rng.sample(CANDIDATES, rng.choice([1, 2]))),
        target_accuracy=rng.choice([0.5, 0.9]),
        ignore_unknown=not link and rng.random() < 0.5,
        device="cpu",
    )
    fitted = fit_tables(
        None if link and rng.random() < 0.5 else paths[0],
        paths[1],
        out=folder / "model",
        columns=columns,
        options=options,
        trials=rng.choice([1, 2]),
        epochs=2,
        hidden=4,
        backbone=rng.choice(["gcn", "gcn", "gcn", "gat"]),
    )
    return fitted, kinds


def predict(fuzzer, folder, stored, kinds):
    """Predict what has grown, from tables as odd as those it was trained on."""
    problem = stored.problem
    nodes = fuzzer.nodes(fuzzer.rng.randint(1, 4), kinds, prefix="new")
    link = isinstance(problem, LinkProblem)
    edges = fuzzer.edges([*nodes["id"], *problem.ids], fuzzer.rng.randint(1, 6), "links" if link else "plain")
    paths = [folder / "new.parquet", folder / "new_edges.parquet"]
    for table, path in zip((nodes, edges), paths, strict=True):
        fuzzer.table(table, path)
    grown = stored.problem.grow(*paths)
    probabilities = stored.ensemble.probabilities(grown.graph)
    stored.predict(*paths, everything=True).write(folder / "out.csv")
    check_predictions(probabilities, folder / "out.csv", grown.names)


def walk(fuzzer):
    """The whole way from two tables to predictions of a graph that has grown."""
    folder = Path(tempfile.mkdtemp())
    try:
        try:
            fitted, kinds = fit(fuzzer, folder)
        except GraphMixError as error:
            reasons[one_sentence(error)] += 1
            left = [str(path) for path in folder.rglob("model*")]
            assert left == []
            return "clean error"
        stored = load_model(folder / "model")
        probabilities = stored.ensemble.probabilities(stored.problem.learned)
        np.testing.assert_array_equal(probabilities, fitted.ensemble.probabilities(fitted.problem.learned))
        names = stored.problem.grow(None, None).names
        check_predictions(probabilities, folder / "model" / "predictions.csv", names)
        assert not list((folder / "model").rglob(".*"))
        try:
            predict(fuzzer, folder, stored, kinds)
        except GraphMixError as error:
            reasons[f"predict: {one_sentence(error)}"] += 1
            assert not (folder / "out.csv").exists()
            return "clean run, clean error in predict"
        return "clean run"
    finally:
        shutil.rmtree(folder)


@pytest.fixture(scope="module", autouse=True)
def shown(request):
    """Say at the end how the runs came out."""
    yield
    plugins = request.config.pluginmanager
    reporter, capture = plugins.get_plugin("terminalreporter"), plugins.get_plugin("capturemanager")
    if reporter is None or capture is None:
        return
    with capture.global_and_fixture_disabled():
        said = "; ".join(f"{count} {outcome}" for outcome, count in counts.most_common())
        reporter.write_line(f"\nfuzzed tables: {said}")
        for reason, count in reasons.most_common(60) if request.config.getoption("verbose") > 0 else ():
            reporter.write_line(f"{count:6d} {reason}")


def judge(fuzzer):
    outcome = walk(fuzzer)
    counts[outcome] += 1
    event(outcome)


@settings(max_examples=40)
@given(fuzzers())
def test_any_tables_come_to_a_clean_run_or_one_sentence(fuzzer):
    judge(fuzzer)


@pytest.mark.slow
@settings(max_examples=2000)
@given(fuzzers())
def test_two_thousand_tables_come_to_a_clean_run_or_one_sentence(fuzzer):
    judge(fuzzer)


def test_the_fuzzer_draws_sound_tables_and_unsound_ones():
    outcomes = Counter(walk(Fuzzer(seed, odds)) for seed in range(8) for odds in (0.0, 0.3))
    assert outcomes["clean run"] >= 2
    assert outcomes["clean error"] >= 2

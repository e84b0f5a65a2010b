"""Predictions that are written piece by piece are those of one table."""

import io
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from graphmix.errors import RunError
from graphmix.tables.texts import Texts
from graphmix.workflow import pieces
from graphmix.workflow.mixture import Decisions
from graphmix.workflow.options import FitOptions
from graphmix.workflow.output import formula_notes
from graphmix.workflow.pieces import PredictionPieces
from graphmix.workflow.places import write_predictions
from graphmix.workflow.predictions import Predictions, tabulate
from graphmix.workflow.rows import RowIds

ROWS, CLASSES = 100, ("a", "=b", 'c "d"')
IDS = {
    "text": RowIds(Texts(pa.array([f"-n{row}" for row in range(ROWS)]))),
    "integer": RowIds([str(row) for row in range(ROWS)], "integer"),
    "large integer": RowIds([*map(str, range(ROWS - 1)), str(2**63 + 5)], "integer"),
    "float": RowIds([str(row / 4) for row in range(ROWS)], "float"),
}


@pytest.fixture
def both(request, monkeypatch):
    """The same predictions in pieces of 16 rows, and as one table."""
    monkeypatch.setattr(pieces, "PIECE", 16)
    rng = np.random.default_rng(0)
    probabilities = rng.dirichlet(np.ones(3), ROWS)
    order = np.argsort(-probabilities, axis=1)
    decisions = Decisions(order, probabilities, probabilities.max(axis=1) < 0.5, probabilities > 0.2, 0.5, 0.8)
    # The first pieces have no label at all.
    y = np.where(np.arange(ROWS) > 40, np.arange(ROWS) % 3, -1)
    labels = [None if label < 0 else CLASSES[label] for label in y]
    ids = IDS[request.param]
    whole = Predictions(tabulate({"id": ids.values}, decisions, CLASSES, labels), ("id",))
    return PredictionPieces({"id": ids}, decisions, CLASSES, y), whole


@pytest.mark.parametrize("both", IDS, indirect=True)
def test_every_format_has_the_same_content(both):
    made, whole = both
    for name in ("p.csv", "p.tsv"):
        for escape in (False, True):
            content = list(made.content(Path(name), escape_formulas=escape))
            assert len(content) == 7
            assert b"".join(content) == whole.content(Path(name), escape_formulas=escape)
    stored = io.BytesIO(b"".join(made.content(Path("p.parquet"))))
    assert parquet.read_table(stored).equals(whole.to_arrow())
    assert made.formula_notes(Path("p.csv")) == formula_notes("p.csv", whole)
    assert made.formula_notes(Path("p.parquet")) == made.formula_notes(Path("p.csv"), escape_formulas=True) == []


@pytest.mark.parametrize("both", ["text"], indirect=True)
def test_another_file_is_not_replaced(both, tmp_path):
    made, whole = both
    path = tmp_path / "p.csv"
    options = FitOptions(predictions=path)
    write_predictions(made, path, options)
    write_predictions(made, path, options)  # the same bytes
    assert path.read_bytes() == whole.content(path)
    for other in (path.read_bytes() + b"x", path.read_bytes()[:-1], b""):
        path.write_bytes(other)
        with pytest.raises(RunError, match="holds something else than the predictions of this fit"):
            write_predictions(made, path, options)
        assert path.read_bytes() == other
    write_predictions(made, path, FitOptions(predictions=path, force=True))
    assert path.read_bytes() == whole.content(path)

"""Every results file in the repository is read into the schema and written back as it was."""

import json
from pathlib import Path
from typing import Any

import pytest

from graphmix.results import formats
from graphmix.results.details import Details
from graphmix.results.fit import FitMetrics, ModelFile
from graphmix.results.reader import load, read_file
from graphmix.results.record import Outcome, Record
from graphmix.results.run import RunResult
from graphmix.results.writer import to_json

ROOT = Path(__file__).parents[2]
OLD = ROOT / "tests" / "old_files"
RECORDS = [*sorted((ROOT / "results").glob("*.json")), *sorted(OLD.glob("select/*.json"))]
RUN_FILES = {"results.json": RunResult, "details.json": Details}
RUNS = [path for path in sorted(OLD.rglob("*.json")) if path.name in RUN_FILES]
METRICS = sorted(OLD.rglob("metrics.json"))


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def same(value: Any, path: Path) -> bool:
    """Whether an object is written as its file: the same values, keys and order of the keys."""
    return json.dumps(to_json(value)) == json.dumps(json.loads(path.read_text(encoding="utf-8")))


def test_there_are_files() -> None:
    assert (len(RECORDS) > 10, len(RUNS) > 10, len(METRICS) >= 3) == (True, True, True)


@pytest.mark.parametrize("path", RECORDS, ids=name)
def test_a_record(path: Path) -> None:
    assert same(read_file(Record, path, formats.RECORD), path)


@pytest.mark.parametrize("path", RUNS, ids=name)
def test_a_run(path: Path) -> None:
    assert same(read_file(RUN_FILES[path.name], path), path)


@pytest.mark.parametrize("path", METRICS, ids=name)
def test_a_fit(path: Path) -> None:
    assert same(read_file(FitMetrics, path, formats.METRICS), path)
    model = path.with_name("model.json")
    # Its other fields are not a result, so their order is not this schema's.
    assert to_json(read_file(ModelFile, model, formats.MODEL)) == load(model)


def test_a_stored_cell(tmp_path: Path) -> None:
    record = load(RECORDS[0])
    stored = {key: value for key, value in record["cells"][0].items() if key in ("key", "command", "code", "commit")}
    path = tmp_path / "cell.json"
    path.write_text(json.dumps(stored | {"run": record["cells"][0]["run"], "details": None}))
    assert same(read_file(Outcome, path), path)

"""What a report reads, and what it refuses and how."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graphmix.errors import RunError
from graphmix.report import read, render
from repeats import repeats

WHOLE_FOLDER = settings(max_examples=repeats(30, 300), suppress_health_check=[HealthCheck.function_scoped_fixture])


def write_json(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value))
    return path


def test_a_run_folder(run_folder: Path) -> None:
    contents = read(run_folder)
    assert contents.of_runs
    (record,) = contents.records
    (cell,) = record.cells
    assert (cell.row, cell.column) == ("GraphMix(GCN)", "cora")
    assert cell.run is not None
    assert len(cell.run.test_accuracy.values) == 5
    assert cell.details is not None
    assert cell.details.embedding is not None
    assert len(cell.details.embedding.x) == 60
    command = cell.outcome.command
    assert command is not None
    assert command.startswith("graphmix train cora --method graphmix")
    assert "--trials 5" in command
    # What Config.for_dataset fills in by itself is left out.
    for name in ("bias", "pool-ratios", "predictor"):
        assert name not in command


def test_a_demo_tells_first_without_and_then_with(demo_folder: Path) -> None:
    (record,) = read(demo_folder).records
    assert record.rows == ("GCN", "GraphMix(GCN)")
    assert record.columns == ("citeseer",)


def test_a_record(tmp_path: Path, record: dict[str, Any]) -> None:
    (drawn,) = read(write_json(tmp_path / "standard-split.json", record)).records
    assert [cell.status for cell in drawn.cells] == [cell["status"] for cell in record["cells"]]


def test_a_folder_of_records_without_what_is_kept_beside_them(results_folder: Path) -> None:
    names = [record.name for record in read(results_folder).records]
    assert names == ["standard-split", "selection", "figure-curves", "figure-embedding", "figure-soft-rank", "bound"]


def test_a_folder_of_one_record_is_called_after_it(tmp_path: Path, record: dict[str, Any]) -> None:
    write_json(tmp_path / "r.json", record)
    assert read(tmp_path).title == record["title"]


def test_tables_are_in_the_order_of_their_numbers(tmp_path: Path, record: dict[str, Any]) -> None:
    for number in (10, 9, 1):
        write_json(tmp_path / f"{number}.json", record | {"source": f"Table {number}", "name": str(number)})
    assert [one.name for one in read(tmp_path).records] == ["1", "9", "10"]


def test_two_runs_of_one_method_are_told_apart_by_their_folders(tmp_path: Path, demo_folder: Path) -> None:
    second = demo_folder / "again"
    second.mkdir()
    (second / "results.json").write_text((demo_folder / "graphmix" / "results.json").read_text())
    assert read(demo_folder).records[0].rows == ("GCN", "GraphMix(GCN) [again]", "GraphMix(GCN) [graphmix]")


def test_a_run_selected_by_macro_f1_is_read_by_it(run_folder: Path) -> None:
    run = json.loads((run_folder / "results.json").read_text())
    write_json(run_folder / "results.json", run | {"select_by": "macro-f1", "test_macro_f1_mean": 12.3})
    (record,) = read(run_folder).records
    assert record.metric == "test_macro_f1"
    assert record.cells[0].run is not None
    assert record.cells[0].run.test_macro_f1.mean == 12.3


def test_a_method_of_tomorrow_keeps_its_own_name(run_folder: Path) -> None:
    run = json.loads((run_folder / "results.json").read_text())
    write_json(run_folder / "results.json", run | {"method": "hypermix"})
    assert read(run_folder).records[0].rows == ("hypermix (gcn)",)


def test_an_older_run_has_no_details(run_folder: Path) -> None:
    (run_folder / "details.json").unlink()
    contents = read(run_folder)
    assert contents.records[0].cells[0].details is None
    assert "GraphMix(GCN) on cora kept no details" in render(contents)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", r"line 1, column 1"),
        (b'{"format": 1,', r"line 1, column 14"),
        (b'{"format": 1\n "x": 2}', r"line 2, column 2"),
        (b"[]", "JSON object"),
        (b"\xff\xfe", "byte 0.*UTF-8"),
        (b'{"format": NaN}', "NaN"),
        (b'{"format": 1e999}', "1e999"),
        (b"[" * 100_000, "JSON"),
        (b"{}", "'format'"),
        (b'{"format": 2}', "format.*2.*newer.*1"),
        (b'{"format": "1"}', "format.*number"),
        (b'{"format": 1, "kind": "poem"}', "no field 'name'"),
    ],
)
def test_a_file_that_is_no_record(tmp_path: Path, content: bytes, problem: str) -> None:
    path = tmp_path / "broken.json"
    path.write_bytes(content)
    with pytest.raises(RunError, match=problem) as caught:
        read(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == content


def test_what_is_wrong_with_a_cell_is_said_with_its_place(tmp_path: Path, record: dict[str, Any]) -> None:
    def problem(change: Any, *parts: str) -> None:
        broken = copy.deepcopy(record)
        change(broken["cells"][3])
        with pytest.raises(RunError) as caught:
            read(write_json(tmp_path / "r.json", broken))
        said = str(caught.value).removeprefix(str(tmp_path / "r.json"))
        assert said != str(caught.value)
        assert all(part in said for part in parts), said

    def at(*keys: Any) -> Any:
        *way, last, value = keys

        def change(cell: Any) -> None:
            for key in way:
                cell = cell[key]
            cell[last] = value

        return change

    problem(lambda cell: cell["run"].pop("trials"), "cells[3].run", "'trials'")
    problem(at("run", None), "cells[3]", "done", "run")
    problem(at("run", "test_accuracy", [1, 2]), "cells[3].run.test_accuracy", "2", "5")
    problem(at("run", "test_accuracy", 2, "x"), "cells[3].run.test_accuracy[2]", "number")
    problem(at("run", "diverged", [7]), "cells[3].run.diverged[0]", "7")
    problem(at("row", "SVM"), "cells[3]", "row")
    problem(at("reading", "mine"), "cells[3].reading")
    problem(at("details", "embedding", "label", 0, 4), "cells[3].details.embedding.label[0]", "4")
    problem(at("details", "embedding", "role", 0, "boss"), "embedding.role[0]", "train, val, test, none")
    problem(at("details", "confusion", [[1]]), "cells[3].details.confusion", "1", "4")
    problem(at("details", "curves", "val_accuracy", "low", None), "cells[3].details.curves.val_accuracy.low", "list")
    problem(at("verdict", "word", "great"), "cells[3].verdict.word", "'great'")
    problem(at("paper", []), "cells[3].paper", "object")


def test_a_kind_that_does_not_exist(tmp_path: Path, record: dict[str, Any]) -> None:
    with pytest.raises(RunError, match=r"r\.json: kind is 'poem', not one of table, figure, selection, bound"):
        read(write_json(tmp_path / "r.json", record | {"kind": "poem"}))


def test_a_cell_twice(tmp_path: Path, record: dict[str, Any]) -> None:
    record["cells"].append(record["cells"][0])
    with pytest.raises(RunError, match=r"cells\[11\].*another cell"):
        read(write_json(tmp_path / "r.json", record))


def test_folders_that_hold_no_results(tmp_path: Path, demo_folder: Path) -> None:
    with pytest.raises(RunError, match="nothing"):
        read(tmp_path / "nothing")
    (tmp_path / "empty").mkdir()
    with pytest.raises(RunError, match="empty"):
        read(tmp_path / "empty")
    (demo_folder / "graphmix" / "results.json").unlink()
    with pytest.raises(RunError, match="graphmix holds an unfinished run"):
        read(demo_folder)
    with pytest.raises(RunError, match="unfinished run"):
        read(demo_folder / "graphmix")


def test_half_written_details(run_folder: Path) -> None:
    details = run_folder / "details.json"
    details.write_text(details.read_text()[:200])
    with pytest.raises(RunError, match=r"details\.json.*line 1, column"):
        read(run_folder)


def places(value: Any, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where anything is in a JSON value; of a list only the ends."""
    found = [way]
    if isinstance(value, dict):
        for key in value:
            found += places(value[key], (*way, key))
    elif isinstance(value, list):
        for place in sorted({0, len(value) - 1}) if value else []:
            found += places(value[place], (*way, place))
    return found


STRANGE = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.just(10**400),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=5),
    st.just("\ud800"),
    st.lists(st.integers(), max_size=3),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)


@WHOLE_FOLDER
@given(st.data())
def test_whatever_is_changed_gives_a_report_or_one_sentence(results_folder: Path, data: st.DataObject) -> None:
    path = results_folder / data.draw(st.sampled_from(["standard-split.json", "selection.json", "bound.json"]))
    value = json.loads((results_folder / path.name).read_text())
    for _ in range(data.draw(st.integers(1, 2))):
        *way, last = data.draw(st.sampled_from(places(value)[1:]))
        holder = value
        for key in way:
            holder = holder[key]
        if data.draw(st.booleans()):
            holder[last] = data.draw(STRANGE)
        else:
            del holder[last]
    check_reads(write_json(results_folder.parent / "changed.json", value))


@WHOLE_FOLDER
@given(st.data())
def test_whatever_is_left_of_a_file_gives_one_sentence(run_folder: Path, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(["results.json", "details.json"]))
    whole = (run_folder / name).read_bytes()
    cut = run_folder.parent / "cut"
    cut.mkdir(exist_ok=True)
    for other in ("results.json", "details.json"):
        (cut / other).write_bytes((run_folder / other).read_bytes())
    (cut / name).write_bytes(whole[: data.draw(st.integers(0, len(whole) - 1))])
    with pytest.raises(RunError, match=name):
        read(cut)


def check_reads(path: Path) -> None:
    before = path.read_bytes()
    sentence = path.name
    try:
        render(read(path)).encode()
    except RunError as error:
        sentence = str(error)
    assert path.name in sentence
    assert "\n" not in sentence
    assert path.read_bytes() == before

"""Reproductions: nothing computed twice, nothing lost, nothing hidden."""

import json
import shlex
import signal
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

import graphmix
from command_line import graphmix as run_command
from command_line import graphmix_signalled
from graphmix.data import SourceUnavailable, make_split, synthetic
from graphmix.errors import ConfigError, RunError
from graphmix.experiments.cells import Asked, plan
from graphmix.experiments.records import assemble, kept, source_commit
from graphmix.experiments.runner import reproduce
from graphmix.experiments.spec import load_spec, names, parse
from graphmix.experiments.versions import COMPUTED
from graphmix.results.reader import parse as parse_json
from graphmix.results.record import CellResult
from graphmix.results.writer import to_json
from graphmix.storage import runs as engine

SMALL = Asked(trials=2)


ROWS = [
    {"name": "GCN", "method": "supervised", "paper": {"Cora": [81.3, 0.66], "Citeseer": [70.61, 0.22]}},
    {"name": "GraphMix(GCN)", "method": "graphmix", "paper": {"Cora": [83.94, 0.57]}},
    {"name": "BVAT", "quoted": True, "paper": {"Cora": [83.6, 0.5]}},
]


def spec(**changes):
    return parse(
        {
            "name": "mine",
            "title": "t",
            "source": "s",
            "about": "a",
            "kind": "table",
            "trials": 3,
            "settings": {"split": "public", "epochs": 4},
            "columns": [{"name": "Cora", "dataset": "cora"}, {"name": "Citeseer", "dataset": "citeseer"}],
            "rows": ROWS,
        }
        | changes,
        changes.get("name", "mine"),
    )


def graph_of(dataset):
    seed = {"cora": 1, "citeseer": 2}[dataset]
    graph, split = synthetic(nodes=90, classes=3, features=20, labels_per_class=5, seed=seed)
    return replace(graph, name=dataset), replace(split, name="public")


def tiny(cell):
    return graph_of(cell.dataset)


def run(folder, asked=SMALL, load=tiny, **changes):
    """A record, as its file holds it."""
    return to_json(reproduce([spec(**changes)], asked, folder, device="cpu", load=load)[0])


def places(record, status):
    return [(cell["row"], cell["column"]) for cell in record["cells"] if cell["status"] == status]


def entry_of(cell):
    """A cell of a record's file."""
    return parse_json(CellResult, cell, Path("mine.json"))


def without_times(value):
    """A record's bytes apart from times."""
    if isinstance(value, dict):
        return {name: without_times(inner) for name, inner in value.items() if name != "seconds"}
    return [without_times(inner) for inner in value] if isinstance(value, list) else value


def test_a_record_holds_every_cell_in_order(tmp_path):
    record = run(tmp_path)
    assert json.loads((tmp_path / "mine.json").read_text()) == record
    assert places(record, "done") == [
        ("GCN", "Cora"),
        ("GCN", "Citeseer"),
        ("GraphMix(GCN)", "Cora"),
        ("GraphMix(GCN)", "Citeseer"),
    ]
    assert places(record, "quoted") == [("BVAT", "Cora")]
    cell = record["cells"][0]
    assert cell["paper"] == {"mean": 81.3, "std": 0.66, "n": 3}
    assert cell["verdict"]["difference"] == pytest.approx(cell["run"]["test_accuracy_mean"] - 81.3)
    assert record["cells"][3]["verdict"] is None
    assert set(cell["details"]) == {"classes", "curves", "confusion", "reliability"}
    # Nothing of the work is left but the cells.
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cells", "mine.json"]
    assert len(list((tmp_path / "cells").iterdir())) == 4


def test_a_cell_is_its_run_of_train(tmp_path):
    from graphmix import Config, fit

    cell = run(tmp_path)["cells"][2]
    graph, split = graph_of("cora")
    alone = fit(graph, split, Config.for_dataset("cora", trials=2, epochs=4), device="cpu")
    assert cell["run"]["test_accuracy"] == [round(100 * value, 4) for value in alone.test_accuracy.tolist()]
    assert sum(map(sum, cell["details"]["confusion"])) == 2 * split.test.sum()
    assert cell["details"]["curves"]["epochs"] == [1, 2, 3, 4]


def test_what_is_there_is_not_computed_again(tmp_path, monkeypatch):
    first = run(tmp_path)
    monkeypatch.setattr(engine, "train", None)
    assert run(tmp_path) == first
    # Another table that asks for the same has it for nothing.
    other = run(tmp_path, name="other", rows=[{"name": "Ours", "method": "graphmix"}])
    assert other["cells"][0]["key"] == first["cells"][2]["key"]


def test_other_trials_epochs_and_seeds_are_other_cells(tmp_path):
    keys = [
        {cell["key"] for cell in run(tmp_path, asked)["cells"] if cell["key"]}
        for asked in (SMALL, Asked(trials=1), Asked(trials=2, epochs=5), Asked(trials=2, seed=7))
    ]
    assert len(set.union(*keys)) == 16


def test_numbers_of_another_version_are_computed_anew(tmp_path, monkeypatch):
    first = run(tmp_path)
    monkeypatch.setitem(COMPUTED, "bound", 2)
    assert [cell["key"] for cell in run(tmp_path)["cells"]] == [cell["key"] for cell in first["cells"]]
    monkeypatch.setitem(COMPUTED, "training", 2)
    again = run(tmp_path)
    assert not {cell["key"] for cell in again["cells"]} & {cell["key"] for cell in first["cells"] if cell["key"]}
    assert {cell["code"] for cell in first["cells"] if cell["run"]} == {"data 1, training 1"}
    assert {cell["code"] for cell in again["cells"] if cell["run"]} == {"data 1, training 2"}
    assert again["made"]["code"] == "data 1, training 2, graphsgan 1, baselines 1, measures 1, bound 2"


def test_a_record_keeps_cells_of_an_earlier_version_until_they_are_asked_for(tmp_path, monkeypatch):
    run(tmp_path)
    monkeypatch.setitem(COMPUTED, "training", 2)
    record = run(tmp_path, Asked(trials=2, only="GCN/Cora"))
    done = [cell for cell in record["cells"] if cell["status"] == "done"]
    assert [cell["code"] for cell in done] == ["data 1, training 2"] + ["data 1, training 1"] * 3


def test_only_computes_what_it_names_and_keeps_the_rest(tmp_path):
    record = run(tmp_path, Asked(trials=2, only="GCN/Cora"))
    assert places(record, "done") == [("GCN", "Cora")]
    assert len(places(record, "to do")) == 3
    record = run(tmp_path, Asked(trials=3, only="*/Citeseer"))
    assert [cell["run"]["trials"] for cell in record["cells"] if cell["run"]] == [2, 3, 3]
    with pytest.raises(ConfigError, match="has no cell 'MLP/Cora'"):
        run(tmp_path, Asked(only="MLP/Cora"))


def test_only_keeps_what_is_still_the_same_cell_and_judges_it_anew(tmp_path):
    run(tmp_path)
    rows = [dict(row) for row in ROWS]
    rows[0] |= {"hidden": 9}
    rows[1] |= {"paper": {"Cora": [50.0, 0.5]}}
    record = run(tmp_path, Asked(trials=2, only="GraphMix(GCN)/Citeseer"), rows=rows)
    # Another hidden layer makes it another cell; another number of the paper's another verdict.
    assert places(record, "to do") == [("GCN", "Cora"), ("GCN", "Citeseer")]
    assert record["cells"][2]["paper"]["mean"] == 50.0
    difference = record["cells"][2]["run"]["test_accuracy_mean"] - 50.0
    assert record["cells"][2]["verdict"]["difference"] == pytest.approx(difference, abs=1e-3)


def test_a_record_never_shows_less_than_before_a_kill(tmp_path):
    run(tmp_path)

    def killed(cell):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, Asked(trials=3), load=killed)
    record = json.loads((tmp_path / "mine.json").read_text())
    assert len(places(record, "done")) == 4
    whole = run(tmp_path, Asked(trials=3))
    assert {cell["run"]["trials"] for cell in whole["cells"] if cell["run"]} == {3}


def test_work_begun_with_other_versions_is_begun_anew(tmp_path, monkeypatch):
    def killed(*arguments, **options):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("graphmix.storage.where.fit_batches", killed)
        with pytest.raises(KeyboardInterrupt):
            run(tmp_path)
    (config,) = tmp_path.glob("work/*/config.json")
    begun = json.loads(config.read_text())
    config.write_text(json.dumps(begun | {"versions": begun["versions"] | {"torch": "0.1"}}))
    assert len(places(run(tmp_path), "done")) == 4


def test_another_grid_is_another_estimate(tmp_path):
    changes = {"kind": "bound", "splits": "each", "settings": {"split": "5-per-class", "epochs": 4}}
    changes |= {"rows": [{"name": "FCN", "method": "fcn-mixup"}], "columns": [{"name": "Cora", "dataset": "cora"}]}

    def drawn(cell):
        graph, public = graph_of("cora")
        return graph, make_split(cell.split, graph, cell.split_seeds, public=public)

    for alphas in ([1.0], [0.5, 1.0]):
        grid = {"alphas": alphas, "gammas": [1.0]}
        cell = run(tmp_path, Asked(trials=2), drawn, grid=grid, **changes)["cells"][0]
        assert len(cell["bound"]["points"]) == len(alphas)
    assert cell["bound"]["settings"]["epochs"] == 4
    assert cell["bound"]["device"] == "cpu"
    # Its record alone says whether it is still the same: by its settings, or by its points where it has none.
    mine = spec(grid=grid, **changes)
    (planned,) = plan(mine, SMALL)
    other = plan(spec(grid={"alphas": [0.5], "gammas": [1.0]}, **changes), SMALL)[0]
    unsaid = cell | {"bound": {name: value for name, value in cell["bound"].items() if name != "settings"}}
    for before in (entry_of(cell), entry_of(unsaid)):
        assert kept(mine, planned, before) == before
        assert kept(mine, other, before) is None
    assert kept(mine, planned.with_settings(epochs=5), entry_of(cell)) is None
    assert kept(mine, planned.with_settings(trials=9), entry_of(cell)) == entry_of(cell)


@pytest.mark.parametrize("kind", [RuntimeError, OSError, ValueError, MemoryError])
def test_a_failed_cell_is_shown_and_tried_again(tmp_path, kind):
    def failing(cell):
        if cell.dataset == "citeseer":
            raise kind("the lights went out\nand more")
        return tiny(cell)

    record = run(tmp_path, load=failing)
    assert places(record, "failed") == [("GCN", "Citeseer"), ("GraphMix(GCN)", "Citeseer")]
    # Whichever library runs out of memory, the reason is said in the same words.
    expected = "out of memory" if kind is MemoryError else f"{kind.__name__}: the lights went out"
    assert record["cells"][1]["error"].startswith(expected)
    assert "and more" not in record["cells"][1]["error"]
    assert record["cells"][1]["paper"]["mean"] == 70.61
    # Asked for another cell, the reason stays.
    again = run(tmp_path, Asked(trials=2, only="GCN/Cora"))
    assert again["cells"][1]["error"] == record["cells"][1]["error"]
    assert len(places(run(tmp_path), "done")) == 4


def test_data_that_is_not_to_be_had_is_said_without_naming_folders(tmp_path):
    def absent(cell):
        raise SourceUnavailable("Cora is not in /home/somebody/secret")

    record = run(tmp_path, load=absent)
    assert len(places(record, "unavailable")) == 4
    assert record["cells"][0]["error"] == "the files of cora are not here and could not be downloaded"


def test_a_trial_that_diverges_is_kept_and_named(tmp_path):
    rows = [{"name": "GCN", "method": "supervised", "learning_rate": 1e20, "paper": {"Cora": [81.3, 0.66]}}]
    cell = run(tmp_path, Asked(trials=2, epochs=8), rows=rows)["cells"][0]
    assert cell["status"] == "done"
    assert cell["run"]["diverged"] == [0, 1]
    assert len(cell["run"]["test_accuracy"]) == 2
    assert None in cell["details"]["curves"]["train_loss"]["mean"]


RESULTS = Path(__file__).parents[2] / "results"


@pytest.mark.parametrize("name", names())
def test_the_committed_records_survive(name, tmp_path, monkeypatch):
    """What was computed on a lent GPU is still what the code asks for: nothing is dropped, nothing judged otherwise."""
    monkeypatch.setattr(engine, "train", None)
    text = (RESULTS / f"{name}.json").read_text(encoding="utf-8")
    (tmp_path / f"{name}.json").write_text(text, encoding="utf-8")
    before = json.loads(text)
    after = to_json(reproduce([load_spec(name)], Asked(), tmp_path, device="cpu", stored_only=True)[0])
    assert after["cells"] == before["cells"]
    done = any(cell["status"] == "done" for cell in after["cells"])
    assert done or not load_spec(name).of_paper


@pytest.mark.parametrize("name", names())
def test_the_commands_of_the_committed_records_run(name):
    from typer.main import get_command

    from graphmix.cli.main import app

    words = shlex.split(json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))["command"])
    assert words[:2] == ["graphmix", "reproduce"]
    parsed = get_command(app).commands["reproduce"].make_context("reproduce", words[2:]).params
    asked = Asked(**{part: parsed[part] for part in ("trials", "epochs", "seed", "only")})
    assert plan(load_spec(parsed["spec"]), asked)


def test_other_epochs_than_the_papers_are_not_judged(tmp_path):
    cell = run(tmp_path, Asked(trials=2, epochs=5))["cells"][0]
    assert (cell["status"], cell["run"]["epochs"], cell["verdict"]) == ("done", 5, None)
    assert run(tmp_path, Asked(trials=2, epochs=4))["cells"][0]["verdict"] is not None


def test_the_command_makes_the_record_again_or_says_no_more_than_it_knows(tmp_path):
    asked = Asked(trials=2, epochs=5, only="*/Cora")
    assert run(tmp_path, asked)["command"] == "graphmix reproduce mine --only '*/Cora' --trials 2 --epochs 5"
    again = run(tmp_path, Asked(trials=2, epochs=5, only="*/Citeseer"))
    assert again["command"] == "graphmix reproduce mine"
    # A pattern that names no cell is refused by the command, so no record has it.
    entries = [entry_of(cell) for cell in again["cells"]]
    for cells in (entries, [cell for cell in entries if cell.status == "to do"], []):
        assert assemble(spec(), Asked(only="x"), cells, None).command == "graphmix reproduce mine"


def test_a_damaged_cell_is_named(tmp_path):
    record = run(tmp_path)
    path = tmp_path / "cells" / f"{record['cells'][0]['key']}.json"
    path.write_text(path.read_text()[:100])
    with pytest.raises(RunError, match=f"{path.name} is damaged .* delete the file to compute its cell again"):
        run(tmp_path)
    other = tmp_path / "cells" / f"{record['cells'][1]['key']}.json"
    path.write_text(other.read_text())
    with pytest.raises(RunError, match="contains another cell than its name says"):
        run(tmp_path)
    path.unlink()
    assert without_times(run(tmp_path)) == without_times(record)


@pytest.mark.parametrize("held", ['{"cells": 3', '{"name": "my own notes"}', "not JSON"])
def test_a_file_that_is_no_record_is_named_and_left_alone(tmp_path, held):
    (tmp_path / "mine.json").write_text(held)
    for asked in (Asked(trials=2, only="GCN/Cora"), Asked(trials=2)):
        with pytest.raises(RunError, match=r"mine\.json.* delete the file"):
            run(tmp_path, asked)
    assert (tmp_path / "mine.json").read_text() == held


def test_two_reproductions_into_one_folder_are_told_apart(tmp_path):
    def meanwhile(cell):
        with pytest.raises(RunError, match="another process is writing"):
            run(tmp_path)
        return tiny(cell)

    assert len(places(run(tmp_path, load=meanwhile), "done")) == 4


def test_a_folder_that_cannot_be_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="cannot be used as a results folder"):
        run(tmp_path / "file")


def test_selection_looks_at_validation_alone_and_judges_with_fresh_seeds(tmp_path):
    grid = {"alphas": [0.0, 1.0], "gammas": [0.1, 10.0]}
    columns = [{"name": "Cora", "dataset": "cora", "paper_chosen": {"alpha": 1.0, "gamma": 1.0}}]
    rows = [{"name": "GraphMix(GCN)", "method": "graphmix", "paper": {"Cora": [83.94, 0.57]}}]
    asked = Asked(trials=3, epochs=12)
    cell = run(tmp_path, asked, kind="selection", grid=grid, columns=columns, rows=rows)["cells"][0]
    points = {(point["alpha"], point["gamma"]): point["val_accuracy_mean"] for point in cell["grid"]}
    assert set(points) == {(0.0, 0.1), (0.0, 10.0), (1.0, 0.1), (1.0, 10.0)}
    chosen = (cell["chosen"]["alpha"], cell["chosen"]["gamma"])
    assert points[chosen] == max(points.values())
    assert (cell["run"]["alpha"], cell["run"]["gamma"]) == chosen
    assert (cell["run"]["seed"], cell["run"]["trials"]) == (3, 3)  # the search had seeds 0, 1 and 2
    assert not any("test" in name for point in cell["grid"] for name in point)
    assert cell["paper_chosen"] == {"alpha": 1.0, "gamma": 1.0}
    assert len(list((tmp_path / "cells").iterdir())) == 5


@pytest.mark.data
def test_killed_in_the_middle_it_goes_on_and_gives_the_same_bytes(tmp_path, data_root):
    options = ["reproduce", "ablation", "--trials", "4", "--epochs", "6", "--device", "cpu", "--no-report"]
    options += ["--only", "*/Cora/paper", "--data-root", data_root, "--out"]
    # The third cell is done but not yet kept.
    moment = {"send": signal.SIGKILL, "files": 3, "folder": "cells", "whole": False}
    killed = graphmix_signalled(*options, "broken", cwd=tmp_path, **moment)
    assert killed.returncode == -signal.SIGKILL
    partial = json.loads((tmp_path / "broken/ablation.json").read_text())
    assert len(places(partial, "done")) == 2
    kept = {path.name: path.stat().st_mtime_ns for path in tmp_path.glob("broken/cells/*.json")}
    assert len(kept) == 2
    for out in ("broken", "whole"):
        ended = run_command(*options, out, cwd=tmp_path)
        assert ended.returncode == 0, ended.stderr
    # What was done before the kill was not done again.
    assert all((tmp_path / "broken/cells" / name).stat().st_mtime_ns == at for name, at in kept.items())
    texts = [(tmp_path / out / "ablation.json").read_text() for out in ("broken", "whole")]
    first, second = (json.dumps(without_times(json.loads(text))) for text in texts)
    assert first == second
    assert len(places(json.loads(texts[0]), "done")) == 4


def test_the_commit_is_that_of_the_checkout():
    git = ["git", "-C", str(Path(graphmix.__file__).parent), "rev-parse", "HEAD"]
    head = subprocess.run(git, capture_output=True, text=True, check=False).stdout.strip()
    said = source_commit()
    assert said is None or head.startswith(said.removesuffix("-dirty"))
    assert said is not None or not (Path(graphmix.__file__).parents[2] / ".git").exists()

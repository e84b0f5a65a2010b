"""Nobody's file is lost: what every command may read and write, as people meet it."""

import os
import shutil

import pytest

from command_line import graphmix, refused, save
from graphmix.cli.report import write_report
from graphmix.errors import ConfigError, RunError
from small_tables import fit_tables, tree, write_edges, write_nodes

QUICK = ["--label", "topic", "--methods", "label-propagation", "--no-report"]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Tables, a model and a run."""
    folder = tmp_path_factory.mktemp("made")
    fit_tables(folder, write_nodes(folder / "n.csv"), write_edges(folder / "e.csv"), methods=("supervised", "fcn"))
    graphmix("train", "synthetic", "--trials", 1, "--epochs", 2, "--out", "run", "--no-report", cwd=folder)
    return folder


@pytest.fixture
def place(made, tmp_path):
    """A copy of them to work in."""
    return shutil.copytree(made, tmp_path / "place")


def unchanged(folder, before, *new):
    after = tree(folder)
    for name in new:
        after.pop(name, None)
    assert after == before


def links_to(place, target):
    """Names that lead to a file, all with the ending of a table."""
    (place / "link.csv").symlink_to(target)
    os.link(target, place / "hard.csv")
    (place / "sub").mkdir()
    return ["link.csv", "hard.csv", f"sub/../{target.name}", target]


@pytest.mark.parametrize("table", ["n.csv", "e.csv"])
@pytest.mark.parametrize("resume", [(), ("--resume",)], ids=["new", "resumed"])
def test_a_fit_never_replaces_its_tables(place, table, resume):
    fit = ["fit", "--nodes", "n.csv", "--edges", "e.csv", *QUICK, "-o", "new", *resume]
    if resume:
        # It is interrupted when all is trained.
        graphmix(*fit[:-1], cwd=place)
        (place / "new" / "model.json").unlink()
    names = links_to(place, place / table)
    before = tree(place)
    for name in names:
        for force in ((), ("--force",)):
            refused(graphmix(*fit, "--predictions", name, *force, cwd=place), "also read", "--predictions")
    unchanged(place, before)


def test_a_resumed_fit_may_replace_only_what_it_wrote(place):
    fit = ["fit", "--nodes", "n.csv", "--edges", "e.csv", *QUICK, "-o", "new"]
    assert graphmix(*fit, "--predictions", "p.csv", cwd=place).returncode == 0
    (place / "new" / "model.json").unlink()
    written = (place / "p.csv").read_bytes()
    (place / "mine.csv").write_text("mine")
    refused(graphmix(*fit, "--resume", "--predictions", "mine.csv", cwd=place), "mine.csv", "already", "--force")
    assert (place / "mine.csv").read_text() == "mine"
    again = graphmix(*fit, "--resume", "--predictions", "p.csv", cwd=place)
    assert again.returncode == 0, again.stderr
    assert (place / "p.csv").read_bytes() == written
    # Somebody put another file there after the fit was killed.
    (place / "new" / "model.json").unlink()
    (place / "p.csv").write_text("mine")
    again = graphmix(*fit, "--resume", "--predictions", "p.csv", cwd=place)
    assert again.returncode == 2
    assert "p.csv holds something else" in again.stderr
    assert (place / "p.csv").read_text() == "mine"
    assert graphmix(*fit, "--resume", "--predictions", "p.csv", "--force", cwd=place).returncode == 0
    assert (place / "p.csv").read_bytes() == written


def test_predictions_of_a_fit_replace_a_file_only_by_force(place):
    fit = ["fit", "--nodes", "n.csv", "--edges", "e.csv", *QUICK, "-o", "new", "--predictions", "p.csv"]
    (place / "p.csv").write_text("mine")
    refused(graphmix(*fit, cwd=place), "p.csv", "already", "--force")
    assert (place / "p.csv").read_text() == "mine"
    assert not (place / "new").exists()
    assert graphmix(*fit, "--force", cwd=place).returncode == 0
    assert (place / "p.csv").read_text() != "mine"


def test_predictions_never_replace_a_table_or_a_part_of_the_model(place):
    write_nodes(place / "new.csv", [{"id": "q", "topic": "", "year": "1", "venue": "venue0", "title": "a"}])
    predict = ["predict", "model", "--nodes", "new.csv", "--force"]
    for name in links_to(place, place / "new.csv"):
        refused(graphmix(*predict, "-o", name, cwd=place), "also read", "--out")
    (place / "part.csv").symlink_to(place / "model" / "weights.safetensors")
    before = tree(place)
    refused(graphmix(*predict, "-o", "part.csv", cwd=place), "also read")
    refused(graphmix(*predict, "-o", "model/weights.safetensors", cwd=place), ".csv")
    unchanged(place, before)


def test_advice_replaces_files_only_by_force(place):
    (place / "a").mkdir()
    (place / "a" / "suspects.csv").write_text("mine")
    refused(graphmix("advise", "model", "-o", "a", cwd=place), "suspects.csv", "already", "--force")
    assert [path.name for path in (place / "a").iterdir()] == ["suspects.csv"]
    assert (place / "a" / "suspects.csv").read_text() == "mine"
    assert graphmix("advise", "model", "-o", "a", "--force", cwd=place).returncode == 0
    assert (place / "a" / "suspects.csv").read_text() != "mine"


def test_advice_never_replaces_a_part_of_the_model_or_anything_but_files(place):
    (place / "a").mkdir()
    (place / "a" / "suspects.csv").symlink_to(place / "model" / "ids.json")
    os.mkfifo(place / "a" / "label_next.csv")
    before = tree(place)
    refused(graphmix("advise", "model", "-o", "a", "--force", cwd=place), "label_next.csv is a pipe")
    (place / "a" / "label_next.csv").unlink()
    refused(graphmix("advise", "model", "-o", "a", "--force", cwd=place), "suspects.csv", "also read")
    refused(graphmix("advise", "model", "-o", "n.csv/a", cwd=place), "n.csv is a file", "--out")
    (place / "link").symlink_to("model")
    for folder in ("model", "link", "a/../model"):
        refused(graphmix("advise", "model", "-o", folder, "--force", cwd=place), "also read", "--out")
    unchanged(place, before)


def test_a_report_replaces_a_page_only_by_force(place):
    (place / "run" / "report.html").write_text("mine")
    refused(graphmix("report", "run", cwd=place), "report.html", "already", "--force")
    assert (place / "run" / "report.html").read_text() == "mine"
    assert graphmix("report", "run", "--force", cwd=place).returncode == 0
    assert "GraphMix" in (place / "run" / "report.html").read_text()


@pytest.mark.parametrize("source", ["run", "model", "run/results.json"])
def test_a_report_never_replaces_what_it_shows(place, source):
    (place / "page.html").symlink_to(place / "run" / "results.json")
    os.link(place / "model" / "model.json", place / "hard.html")
    before = tree(place)
    page = "hard.html" if source == "model" else "page.html"
    refused(graphmix("report", source, "-o", page, "--force", cwd=place), page, "also read")
    for name in ("run/results.json", "model/predictions.csv", "n.csv", "page"):
        refused(graphmix("report", source, "-o", name, "--force", cwd=place), name, ".html")
    unchanged(place, before)


def test_devices_and_pipes_are_never_replaced(place):
    os.mkfifo(place / "pipe.html")
    os.mkfifo(place / "pipe.csv")
    (place / "null.csv").symlink_to("/dev/null")
    refused(graphmix("report", "run", "-o", "pipe.html", "--force", cwd=place), "is a pipe")
    for name, kind in (("pipe.csv", "pipe"), ("null.csv", "device")):
        refused(graphmix("predict", "model", "-o", name, "--force", cwd=place), f"is a {kind}")
        fit = ["fit", "--nodes", "n.csv", "--edges", "e.csv", *QUICK, "-o", "new"]
        refused(graphmix(*fit, "--predictions", name, "--force", cwd=place), f"is a {kind}")
    assert (place / "pipe.csv").is_fifo()


def test_a_page_of_somebody_else_in_a_folder_of_results_stays(place, capsys):
    page = place / "report.html"
    page.write_text("<title>mine</title>")
    write_report(place)
    assert page.read_text() == "<title>mine</title>"
    assert "not a page of graphmix" in capsys.readouterr().err
    # A page of its own is written again.
    page.unlink()
    write_report(place)
    page.write_text(page.read_text() + "old")
    write_report(place)
    assert not page.read_text().endswith("old")


def test_runs_and_experiments_leave_folders_of_others_alone(place):
    (place / "mine").mkdir()
    (place / "mine" / "thesis.tex").write_text("mine")
    (place / "file").write_text("mine")
    (place / "results").mkdir()
    (place / "results" / "theorem.json").write_text('{"my": "notes"}')
    (place / "results" / "select-synthetic-gcn.json").write_text('{"my": "notes"}')
    save(place / "g.npz")
    before = tree(place)
    small = ["--trials", 2, "--epochs", 2]
    for out in ("mine", "file", "run"):
        refused(graphmix("train", "synthetic", *small, "--out", out, cwd=place), out, "--out")
    (place / "demo").mkdir()
    (place / "demo" / "graphmix").write_text("mine")
    refused(graphmix("demo", *small, "--out", "demo", cwd=place), "demo/graphmix is a file")
    (place / "demo" / "graphmix").unlink()
    refused(graphmix("reproduce", "theorem", *small, "--out", "results", cwd=place), "theorem.json")
    refused(graphmix("reproduce", "theorem", *small, "--out", "file", cwd=place), "file is a file")
    select = ["select", "synthetic", "--trials", 2, "--alphas", "0", "--gammas", "0", "--out"]
    refused(graphmix(*select, "results", cwd=place), "select-synthetic-gcn.json")
    refused(graphmix(*select, "file/x", cwd=place), "file is a file")
    unchanged(place, before)


def test_every_command_says_what_the_folder_of_another_holds(place):
    before = tree(place)
    small = ["--trials", 2, "--epochs", 2, "--out"]
    select = ["select", "synthetic", "--alphas", "0", "--gammas", "0"]
    for command in (["train", "synthetic"], select, ["reproduce", "theorem"]):
        refused(graphmix(*command, *small, "model", cwd=place), "model holds a model; choose another --out")
    for command in (select, ["reproduce", "theorem"]):
        refused(graphmix(*command, *small, "run", cwd=place), "run holds a run; choose another --out")
    tables = ["--nodes", "n.csv", "--edges", "e.csv", "--label", "topic"]
    for resume in ([], ["--resume"]):
        refused(graphmix("fit", *tables, "-o", "run", *resume, cwd=place), "run holds a run, not a fit")
    unchanged(place, before)


def test_predictions_and_models_saved_from_python(place):
    from graphmix import FitOptions, fit_tables, load_model

    before = tree(place)
    with pytest.raises(ConfigError, match="also read"):
        fit_tables(place / "n.csv", place / "e.csv", label="topic", options=FitOptions(predictions=place / "n.csv"))
    with pytest.raises(ConfigError, match="already"):
        fit_tables(
            place / "n.csv", None, label="topic", options=FitOptions(predictions=place / "model" / "predictions.csv")
        )
    model = load_model(place / "model")
    write_nodes(place / "new.csv", [{"id": "q", "topic": "", "year": "1", "venue": "venue0", "title": "a"}])
    with pytest.raises(ConfigError, match="also read"):
        model.predict(place / "new.csv").write(place / "new.csv")
    (place / "new.csv").unlink()
    unchanged(place, before)
    # Other programs call their files so too.
    for name, content in (("weights.safetensors", "theirs"), ("model.json", '{"theirs": 1}'), ("ids.json", "[]")):
        (place / "other").mkdir()
        (place / "other" / name).write_text(content)
        with pytest.raises(RunError, match="holds other files"):
            model.save(place / "other")
        assert (place / "other" / name).read_text() == content
        shutil.rmtree(place / "other")


def test_a_save_that_is_interrupted_leaves_nothing(place, monkeypatch):
    from graphmix import load_model
    from graphmix.storage import parts

    model = load_model(place / "model")

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(parts, "write_description", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.save(place / "saved")
    assert not (place / "saved").exists()
    monkeypatch.undo()
    model.save(place / "saved")
    assert load_model(place / "saved").predict().columns == model.predict().columns


def test_folders_that_are_written_to_hold_no_links(place):
    outside = place / "outside"
    outside.mkdir()
    (outside / "file").write_text("mine")
    fit = ["fit", "--nodes", "n.csv", "--edges", "e.csv", *QUICK, "-o", "new"]
    assert graphmix(*fit, cwd=place).returncode == 0
    (place / "new" / "model.json").unlink()
    (place / "new" / "weights.safetensors").unlink()
    (place / "new" / "weights.safetensors").symlink_to(outside / "new")
    refused(graphmix(*fit, "--resume", cwd=place), "weights.safetensors is a link")
    (place / "lock").mkdir()
    (place / "lock" / ".lock").symlink_to(outside / "file")
    refused(graphmix("train", "synthetic", "--epochs", 1, "--trials", 1, "--out", "lock", cwd=place), ".lock is a link")
    assert {path.name: path.read_text() for path in outside.iterdir()} == {"file": "mine"}


def test_a_fit_into_a_finished_model_speaks_of_the_model(tmp_path):
    write_nodes(tmp_path / "nodes.csv")
    write_edges(tmp_path / "edges.csv")
    asked = ["fit", "--nodes", "nodes.csv", "--edges", "edges.csv", *QUICK, "--out", "model"]
    assert graphmix(*asked, cwd=tmp_path).returncode == 0
    before = tree(tmp_path / "model")
    for force in ([], ["--force"]):
        refused(graphmix(*asked, *force, cwd=tmp_path), "model", "finished model")
    assert tree(tmp_path / "model") == before

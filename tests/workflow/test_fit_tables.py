"""fit_tables: the same model from files and from memory, with or without a folder, watched or not."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import graphmix
from graphmix.errors import ConfigError, DataError, RunError
from graphmix.executors.local import Local
from graphmix.workflow import fitting, plan
from graphmix.workflow.columns import Columns
from graphmix.workflow.fitting import fit_tables
from graphmix.workflow.model import load_model
from graphmix.workflow.options import FitOptions
from graphmix.workflow.watching import Watcher
from small_tables import pairs, rows, tree, write_edges, write_nodes

pd = pytest.importorskip("pandas")
QUICK = {"trials": 3, "epochs": 3, "hidden": 4}
OPTIONS = FitOptions(methods=("supervised", "label-propagation"), device="cpu")


def frames():
    nodes = pd.DataFrame(rows()).replace("", None)
    return nodes, pd.DataFrame(pairs(), columns=["source", "target"])


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    return write_nodes(folder / "nodes.csv"), write_edges(folder / "edges.csv")


@pytest.fixture(scope="module")
def model(files):
    return fit_tables(*files, label="topic", options=OPTIONS, **QUICK)


def test_tables_in_memory_give_the_model_of_the_files(model):
    nodes, edges = frames()
    for tables in ((nodes, edges), (pa.Table.from_pandas(nodes), pa.Table.from_pandas(edges))):
        other = fit_tables(*tables, label="topic", options=OPTIONS, **QUICK)
        assert other.predict().columns == model.predict().columns
        assert other.problem.ids == model.problem.ids


def test_predictions_in_every_form(model, tmp_path):
    predictions = model.predict()
    frame = predictions.to_pandas()
    assert len(frame) == len(predictions) == 36
    assert frame["id"].tolist() == [f"p{number}" for number in range(36)]
    assert frame["predicted"].isin(["AI", "DB", "ML"]).all()
    assert frame["abstain"].sum() == predictions.abstained
    assert predictions.to_arrow().column_names == list(frame.columns)
    predictions.write(tmp_path / "out.csv")
    assert pd.read_csv(tmp_path / "out.csv")["probability"].tolist() == pytest.approx(frame["probability"].tolist())


def test_new_rows_from_memory(model):
    new = pd.DataFrame([{**rows()[0], "id": "q1"}, {**rows()[1], "id": "q2"}])
    edges = pd.DataFrame({"source": ["q1", "q2"], "target": ["p0", "q1"]})
    predictions = model.predict(new, edges)
    assert predictions.columns["id"] == ["q1", "q2"]
    assert len(model.predict(new, edges, everything=True)) == 38
    assert predictions.notes
    # No 18 labels can promise that: every class is in every set.
    assert {len(held.split(";")) for held in model.predict(coverage=0.999).columns["set"]} == {3}
    with pytest.raises(DataError, match="row 1 of nodes: node 'p0' was there at training"):
        model.predict(pd.DataFrame(rows()[:1]))


def test_it_is_shown_in_a_line(model):
    assert repr(model) == f"TableModel('nodes': {model.mixture.method}, 36 nodes, 3 classes)"


def test_advice_with_ids_and_reasons(model):
    advice = model.advise(4, device="cpu")
    assert len(advice.label_next) == 4
    unlabeled = {row["id"] for row in rows() if not row["topic"]}
    assert set(advice.label_next.columns["id"]) <= unlabeled
    assert all("its label informs" in reason for reason in advice.label_next.columns["reason"])
    assert set(advice.suspects.columns["id"]).isdisjoint(unlabeled)
    assert list(advice.suspects.to_pandas().columns)[:3] == ["id", "label", "suggested"]
    with pytest.raises(ConfigError, match="`count` must be at least 1"):
        model.advise(0)


def test_without_a_folder_nothing_is_left_and_it_can_be_saved(model, files, tmp_path):
    model.save(tmp_path / "saved")
    loaded = load_model(tmp_path / "saved")
    assert loaded.predict().columns == model.predict().columns
    assert loaded.metrics == model.metrics
    assert loaded.notes == model.notes == model.problem.notes
    failed = replace(model, stored_metrics=replace(model.metrics, failures=("fcn was left out",)))
    failed.save(tmp_path / "failed")
    assert load_model(tmp_path / "failed").failures == failed.failures == ("fcn was left out",)
    fit_tables(*files, label="topic", out=tmp_path / "fitted", options=OPTIONS, **QUICK)
    saved, fitted = tree(tmp_path / "saved"), tree(tmp_path / "fitted")
    # The folder of a fit has the files of a saved model, and what was tried besides. Times may differ, and may not.
    assert {name for name in saved if saved[name] != fitted[name]} <= {"metrics.json"}
    assert {name.split("/")[0] for name in fitted} - saved.keys() == {"candidates", "config.json", "predictions.csv"}
    with pytest.raises(RunError, match=r"holds other files \(candidates\)") as raised:
        model.save(tmp_path / "fitted")
    assert "another `folder`" in str(raised.value)
    with pytest.raises(RunError, match="is a file"):
        model.save(files[0])


def test_a_saved_model_is_replaced(model, files, tmp_path):
    model.save(tmp_path)
    before = load_model(tmp_path)
    other = fit_tables(*files, label="topic", options=FitOptions(methods=("fcn",), device="cpu"), **QUICK)
    other.save(tmp_path)
    loaded = load_model(tmp_path)
    assert loaded.mixture.method == "fcn"
    assert loaded.metrics.chosen == "fcn"
    # What was loaded before has its own metrics still.
    assert before.metrics == model.metrics
    np.testing.assert_array_equal(
        loaded.mixture.probabilities(loaded.problem.learned), other.mixture.probabilities(other.problem.learned)
    )
    assert len(list(tmp_path.iterdir())) == 7


def test_what_a_watcher_is_told(files):
    class Noting(Watcher):
        def __init__(self):
            self.told, self.done = [], []

        def stage(self, name):
            self.told.append(name)

        def understood(self, problem, survey):
            self.told.append((problem.task, survey.labeled))

        def begins(self, what, place, steps):
            self.told.append((what, place, steps))
            return lambda done, total: self.done.append((done, total))

    watch = Noting()
    fit_tables(*files, label="topic", options=OPTIONS, watch=watch, **QUICK)
    assert watch.told[:4] == ["reading", "encoding", ("nodes", 18), "training"]
    *training, last = watch.told[4:]
    assert last == "writing"
    # A network and label propagation, then the members of the mixture on all labels.
    assert [(place, steps) for _, place, steps in training] == [(0, 3), (1, 3)] + [(2, 3)] * (len(training) - 2)
    assert "on 18 labels" in training[2][0]
    # Three trials of three epochs, and label propagation's steps.
    assert {(done, total) for done, total in watch.done if total == 9} >= {(3, 9), (6, 9), (9, 9)}
    assert all(0 <= done <= total for done, total in watch.done)


def test_the_library_prints_nothing(files, capfd):
    fit_tables(*files, label="topic", options=OPTIONS, **QUICK).predict()
    assert capfd.readouterr() == ("", "")


def test_links_from_memory():
    links = pd.DataFrame(
        [{"from": f"u{n % 6}", "to": f"u{n * n % 5}", "sign": ("good", "bad", None)[n % 3]} for n in range(30)]
    )
    model = fit_tables(None, links, columns=Columns(link_label="sign"), options=OPTIONS, **QUICK)
    predictions = model.predict()
    assert list(predictions.columns)[:3] == ["from", "to", "label"]
    assert predictions.columns["from"][:2] == ["u0", "u1"]
    assert len(predictions) == 30


def test_a_balanced_fit_is_not_told_to_balance(files):
    class Noting(Watcher):
        def understood(self, problem, survey):
            self.survey = survey

    nodes, edges = frames()
    nodes["topic"] = ["AI" if number < 20 else "DB" if number < 23 else None for number in range(36)]
    told = []
    for balanced in (False, True):
        watch = Noting()
        options = FitOptions(methods=("label-propagation",), balanced=balanced, device="cpu")
        model = fit_tables(nodes, edges, label="topic", options=options, watch=watch)
        assert (model.mixture.config.class_weight == "balanced") is balanced
        assert model.metrics.chosen_by == ("macro-f1" if balanced else "accuracy")
        told.append([warning for warning in watch.survey.warnings if "so unequal" in warning])
    assert "try `balanced`" in told[0][0]
    assert "`balanced`" not in told[1][0]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"label": "topic", "epocs": 3}, "there is no hyperparameter 'epocs'; there are backbone"),
        ({"label": "topic", "method": "fcn"}, "`options` chooses the methods"),
        ({"label": "topic", "epochs": 0}, "`epochs` must be at least 1"),
        ({"label": "topic", "columns": Columns(label="venue")}, "`label` is 'topic', but the columns say 'venue'"),
        ({"label": "topic", "options": FitOptions(resume=True)}, "give that folder as `out`"),
        ({}, "`label`"),
        ({"label": "nothing"}, "has no column 'nothing'"),
    ],
    ids=str,
)
def test_what_cannot_be(files, given, message):
    with pytest.raises((ConfigError, DataError), match=message) as raised:
        fit_tables(*files, **given)
    assert "--" not in str(raised.value)


def test_a_method_is_tried_once():
    assert FitOptions(methods=("fcn", "graphmix", "fcn")).methods == ("fcn", "graphmix")
    assert FitOptions(methods=["fcn"]).methods == FitOptions(methods="fcn").methods == ("fcn",)
    with pytest.raises(ConfigError, match=r"`backbone` must be one of auto, gcn, .*, not 'nope'"):
        fit_tables("n.csv", "e.csv", label="topic", backbone="nope")
    with pytest.raises(ConfigError, match="there is no method 'gcn'"):
        FitOptions(methods="gcn")


def test_columns_of_another_type():
    with pytest.raises(ConfigError, match="`features` must be a dictionary"):
        Columns(features=["age"])
    with pytest.raises(ConfigError, match="`ignore` must be a list"):
        Columns(ignore="age")
    assert Columns.from_json(Columns(ignore=["age"]).to_json()).ignore == ("age",)


def test_it_is_exported():
    assert graphmix.fit_tables is fit_tables
    assert graphmix.load_model is load_model


def test_a_fit_in_mini_batches_says_so_and_predicts_every_row(files, tmp_path, monkeypatch):
    def smaller(graph, config, device):
        return replace(config, batch_nodes=12, target_every=1)

    monkeypatch.setattr(plan, "fitting", smaller)
    monkeypatch.setattr(plan, "fitting_note", lambda graph, config, device: "in mini-batches")
    options = FitOptions(methods=("supervised", "graphmix-steady"), device="cpu")
    fitted = fit_tables(*files, label="topic", out=tmp_path / "model", options=options, **QUICK)
    assert fitted.problem.notes.count("in mini-batches") == 1
    assert len(fitted.predict()) == 36
    again = load_model(tmp_path / "model")
    assert again.predict().columns == fitted.predict().columns


class Elsewhere(Local):
    """Runs jobs here, and says that other machines do."""

    here = False


class OnGpus(Elsewhere):
    """And that those have GPUs."""

    def device(self, name):
        return "cuda"


def test_a_plan_is_made_for_the_device_of_the_workers(files, monkeypatch):
    planned = []
    monkeypatch.setattr(plan, "MANY_PROPAGATED", 0)
    monkeypatch.setattr(fitting, "fit_problem", lambda problem, made, *_, **__: planned.append(made))
    for executor in (OnGpus(), Local()):
        fit_tables(*files, label="topic", options=OPTIONS, executor=executor)
    assert [each[0].config.batch_nodes for each in planned] == [0, 1024]


def test_minutes_between_checkpoints_have_no_effect_on_workers(files):
    def notes(executor, minutes):
        options = FitOptions(methods=("label-propagation",), device="cpu", checkpoint_minutes=minutes)
        return fit_tables(*files, label="topic", options=options, executor=executor, **QUICK).problem.notes

    told = [note for note in notes(Elsewhere(), 1) if "`checkpoint_minutes` has no effect with workers" in note]
    assert len(told) == 1
    for here in (notes(Elsewhere(), 5), notes(Local(), 1)):
        assert not any("checkpoint_minutes" in note for note in here)

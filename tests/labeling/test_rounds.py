"""Rounds: what they train, choose and say; and the process that does it."""

import io
import json
import threading

import numpy as np
import pytest

from graphmix.errors import DataError
from graphmix.labeling import rounds, worker
from graphmix.labeling.begin import own_model, read_matter, relabeled, stored
from graphmix.labeling.explaining import Reasons
from graphmix.labeling.places import lay_out
from graphmix.labeling.round import LOOK, QUICK, THOROUGH
from graphmix.labeling.trainer import spared
from graphmix.limits import Limits
from graphmix.results.evidence import interval
from graphmix.storage.files import read_tensors
from graphmix.training.methods import STEADY
from graphmix.workflow.model import load_model
from graphmix.workflow.next_labels import next_labels
from small_tables import TOPICS, rows


def truth():
    return [TOPICS[number % 3] for number in range(36)]


@pytest.fixture
def matter(begun):
    return begun([{**row, "topic": ""} for row in rows()], classes=TOPICS).matter


def test_without_labels_nodes_are_chosen_by_their_places(matter):
    result = rounds.look(matter, [None] * 36, 0)
    assert result.model is None
    assert result.round.needs is not None
    assert result.round.classes == TOPICS
    assert np.allclose(result.probabilities, 1 / 3)
    problem = relabeled(matter.problem, [None] * 36)
    expected = next_labels(problem.graph, np.ones((36, 1)), np.zeros(36, dtype=bool), rounds.QUEUE)
    assert [ask.node for ask in result.round.queue] == [problem.ids[each.node] for each in expected]
    assert "%" not in result.round.queue[0].reason


@pytest.mark.parametrize("labels", [{0: "AI"}, {0: "AI", 3: "AI", 6: "AI"}, {0: "AI", 1: "DB"}])
def test_few_labels_make_no_model_and_say_why(matter, labels):
    given = [labels.get(node) for node in range(36)]
    result = rounds.train(matter, given, QUICK, 3, folder=None)
    assert result.model is None
    assert "a model needs" in result.round.needs
    assert {ask.node for ask in result.round.queue}.isdisjoint(f"p{node}" for node in labels)


def test_a_round_counts_what_it_says(matter, tmp_path, monkeypatch):
    # Without the forest, which takes seconds.
    monkeypatch.setitem(rounds.METHODS, QUICK, ("label-propagation", "logistic-regression"))
    labels = [name if node < 18 else None for node, name in enumerate(truth())]
    first = rounds.train(matter, labels, QUICK, 18, folder=tmp_path / "a")
    made, mixture = first.round, first.model.mixture
    assert made.labels == made.held == 18
    assert made.unlabeled == 18
    right = 100 * mixture.held.right.mean()
    assert made.right == pytest.approx(right, abs=0.01)
    assert (made.low, made.high) == pytest.approx(interval(right, 18), abs=0.01)
    assert sum(share for _, share in made.members) == pytest.approx(100, abs=0.5)
    assert made.suspects is None
    assert made.changed == 0
    shifted = [None if name is None else TOPICS[(TOPICS.index(name) + 1) % 3] for name in labels]
    before = made.classes, first.probabilities
    other = rounds.train(matter, shifted, QUICK, 20, folder=tmp_path / "b", before=before)
    old, new = (np.array(TOPICS)[each.probabilities[18:].argmax(axis=1)] for each in (first, other))
    assert other.round.changed == int((old != new).sum()) > 0
    assert sum(count for *_, count in other.round.moves) == other.round.changed


def test_a_round_is_planned_for_its_device(matter, tmp_path, monkeypatch):
    def plan(graph, methods, settings, *, device):
        raise DataError(f"planned for {device}")

    monkeypatch.setattr(rounds, "make_plan", plan)
    with pytest.raises(DataError, match="planned for cuda:1"):
        rounds.train(matter, truth(), QUICK, 36, folder=tmp_path, device="cuda:1")


class Reports(io.StringIO):
    """Where a worker reports; says when there is something."""

    def __init__(self):
        super().__init__()
        self.reported = threading.Event()

    def flush(self):
        if '"step"' not in self.getvalue().splitlines()[-1]:
            self.reported.set()


def test_the_worker_trains_saves_and_draws(begun, tmp_path, monkeypatch):
    monkeypatch.setitem(rounds.METHODS, THOROUGH, ("label-propagation", STEADY))
    monkeypatch.setattr(rounds, "_SETTINGS", {"backbone": "gpr", "epochs": 10})
    each = begun()
    matter = read_matter(each.folder, stored(each.folder), Limits())
    (tmp_path / "scratch").mkdir()
    does = worker.Worker(each.folder, matter, tmp_path / "scratch", "cpu", 60.0)
    order = {"do": "round", "stage": THOROUGH, "answers": 2, "labels": {"p1": "DB", "p0": None}}
    reports = Reports()
    worker._serve(does, order, reports)
    report = json.loads(reports.getvalue().splitlines()[-1])
    assert report["wrong"] is None
    assert report["round"]["labels"] == 18
    assert report["round"]["suspects"] is not None
    model = load_model(own_model(each.folder, matter.begun))
    assert model.problem.labels[:2] == [None, "DB"]
    held = read_tensors(tmp_path / "scratch" / "round.safetensors")["probabilities"]
    assert np.allclose(held.numpy(), model.mixture.probabilities(model.problem.learned), atol=1e-6)
    told = Reasons(each.folder, matter)("p3")
    assert told["words"] == list(model.explain(["p3"])[0].sentences)
    assert all(len(row) == len(told["head"]) for row in told["rows"])
    # A thorough round finds what the quick one tried with the same labels.
    assert {path.name for path in (tmp_path / "scratch" / "tried-2").iterdir()} > {"label-propagation"}
    worker._serve(does, {"do": "map", "keep": []}, reports)
    places = read_tensors(tmp_path / "scratch" / "map.safetensors")["places"]
    assert places.shape == (36, 2)
    worker._serve(does, {"do": "round", "stage": LOOK, "answers": 2, "labels": {}}, reports)
    assert json.loads(reports.getvalue().splitlines()[-1])["round"]["stage"] == LOOK


def test_before_there_is_a_model_nothing_is_explained(begun):
    each = begun()
    with pytest.raises(DataError, match="no model yet"):
        Reasons(each.folder, each.matter)("p3")


def test_what_a_worker_cannot_do_is_one_sentence(begun, tmp_path, monkeypatch):
    each = begun()
    matter = read_matter(each.folder, stored(each.folder), Limits())
    does = worker.Worker(each.folder, matter, tmp_path, "cpu", None)

    def fail(*arguments, **options):
        raise MemoryError

    monkeypatch.setattr(worker, "train", fail)
    reports = Reports()
    worker._serve(does, {"do": "round", "stage": QUICK, "answers": 0, "labels": {}}, reports)
    assert json.loads(reports.getvalue()) == {"did": "failed", "why": "there is not enough memory"}


def test_a_map_keeps_what_must_be_on_it(begun):
    graph = begun().matter.problem.graph
    nodes, places = lay_out(graph, None, keep=[35, 1], most=10)
    assert len(nodes) == len(places) == 10
    assert {1, 35} <= set(nodes.tolist())
    assert np.abs(places).max() == pytest.approx(1)


def test_training_leaves_a_core_unless_somebody_chose():
    assert int(spared({})["OMP_NUM_THREADS"]) >= 1
    assert spared({"OMP_NUM_THREADS": "7", "A": "b"}) == {"OMP_NUM_THREADS": "7", "A": "b"}

"""The study of steady.py: how labels are drawn and folds dealt, and how it judges."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score

from graphmix import Streams, synthetic
from graphmix.streams import Purpose

HERE = Path(__file__).parents[2] / "benchmarks"


def import_script(name):
    spec = importlib.util.spec_from_file_location(name, HERE / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up.
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


steady = import_script("steady")


def test_every_label_is_held_out_once_and_the_last_trials_have_all():
    graph, _ = synthetic(nodes=200, features=30, labels_per_class=5, seed=2)
    split = steady.draw(graph, 7)
    shape = (steady.DRAWS, steady.TRIALS, graph.num_nodes)
    train, val, test = (mask.numpy().reshape(shape) for mask in (split.train, split.val, split.test))
    whole = train[:, -1]
    for label in range(graph.num_classes):
        assert (whole[:, graph.y.numpy() == label].sum(1) == 7).all()
    folds = val[:, : steady.FOLDS]
    assert (folds.sum(1) == whole).all()
    assert ((train[:, : steady.FOLDS] | folds) == whole[:, None]).all()
    assert np.ptp(folds.sum(2)) <= 1
    assert not (test & whole[:, None]).any()
    assert len({tuple(each) for each in whole.tolist()}) == steady.DRAWS


def test_the_area_under_the_curve_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    labels = rng.integers(-1, 2, (3, 80))
    scores = rng.random((3, 80))
    ours = steady.roc_auc(torch.from_numpy(scores), torch.from_numpy(labels))
    for row in range(3):
        known = labels[row] >= 0
        assert ours[row].item() == pytest.approx(roc_auc_score(labels[row, known], scores[row, known]))


def test_without_edges_the_nearest_hop_is_a_gpr_without_far_hops():
    graph, _ = synthetic(nodes=100, features=30, labels_per_class=5, seed=2)
    model = steady.NearestHop.create(Streams.from_seeds([0, 1]), (30, 8, graph.num_classes), hidden_dropout=0.5)
    noises = [None, Streams.from_seeds([0, 1]).at(Purpose.FCN_DROPOUT, 3)]
    for noise in noises:
        hidden = model.encode(graph.x, graph)
        ours = model.decode(hidden, graph.null(), noise)
        near = steady.GPR({**model.weights, "hops": model.weights["hops"][:, :1]}, hidden_dropout=0.5)
        again = None if noise is None else Streams.from_seeds([0, 1]).at(Purpose.FCN_DROPOUT, 3)
        torch.testing.assert_close(ours, near.decode(hidden, graph.null(), again))
    assert torch.equal(model(graph.x, graph), steady.GPR(model.weights)(graph.x, graph))


def test_a_row_of_the_study(tmp_path, monkeypatch, capsys):
    graph, _ = synthetic(nodes=200, features=30, classes=2, labels_per_class=5, seed=2)
    monkeypatch.setattr(steady, "readers", lambda data: {"acm": lambda: graph})
    out = tmp_path / "rows.json"
    words = ["steady.py", "--out", str(out), "--epochs", "20", "--device", "cpu", "--graphs", "acm", "--variants"]
    monkeypatch.setattr(sys, "argv", [*words, "gpr"])
    steady.main()
    first = out.read_text()
    monkeypatch.setattr(sys, "argv", [*words, "gpr", "gpr steady, null graph is hop 0"])
    steady.main()
    rows = steady.json.loads(out.read_text())["rows"]
    # What was there is not computed again.
    assert steady.json.loads(first)["rows"] == rows[:2]
    assert [(row["variant"], row["per_class"]) for row in rows] == [
        (name, count) for name in ("gpr", "gpr steady, null graph is hop 0") for count in (20, 5)
    ]
    for row in rows:
        assert len(row["draws"]) == steady.DRAWS
        for draw in row["draws"]:
            assert draw["last"]["epoch"] == 20
            assert draw["loss"]["epoch"] % steady.EVERY == 0
            assert all(0 <= draw["last"][name] <= 100 for name in ("accuracy", "together", "auc"))
    assert len(capsys.readouterr().out.splitlines()) == 4

"""Thousands of classes: every slow step tells how far it is, and pieces give what the whole gives."""

import importlib

import numpy as np
import pandas as pd
import pytest
import torch

from graphmix import FitOptions, fit_tables, synthetic
from graphmix.baselines import propagate
from graphmix.evaluation import calibration
from graphmix.workflow import mixture
from graphmix.workflow.watching import Watcher

# Not by its name: the package exports a function of the same name.
spreading = importlib.import_module("graphmix.baselines.label_propagation")


class Recorder(Watcher):
    """Keeps what it is told."""

    def __init__(self):
        self.steps, self.done = [], {}

    def step(self, what):
        self.steps.append(what)

    def begins(self, what, place, steps):
        self.steps.append(what)
        return lambda done, total: self.done.setdefault(what, []).append((done, total))


@pytest.fixture(scope="module")
def told():
    """What a fit with 400 classes tells."""
    rng = np.random.default_rng(0)
    nodes = pd.DataFrame({"id": range(1600), "topic": [f"c{row % 400}" for row in range(1600)], "x": rng.random(1600)})
    edges = pd.DataFrame({"source": range(1600), "target": rng.integers(0, 1600, 1600)})
    recorder = Recorder()
    options = FitOptions(methods=("label-propagation", "fcn"), device="cpu")
    fit_tables(nodes, edges, label="topic", options=options, watch=recorder, trials=3, epochs=1)
    return recorder


def test_every_slow_step_of_a_fit_is_told(told):
    members = [what for what in told.steps if " on 1,600 labels" in what]
    assert members
    assert told.steps == [
        "looking at the graph",
        "Label propagation",
        "Features only (FCN)",
        "choosing the weights of the candidates",
        *members,
        "predicting every row",
        "measuring the calibration",
        "writing the model",
    ]


def test_label_propagation_counts_its_steps(told):
    *steps, last = told.done["Label propagation"]
    # It may end early, so the end is told as such.
    assert last == (1, 1)
    assert steps == [(step, spreading.MOST_STEPS) for step in range(1, len(steps) + 1)]
    assert len(steps) > 3


@pytest.mark.parametrize("entries", [1, 3000, 2**30])
def test_labels_spread_the_same_however_many_classes_at_a_time(monkeypatch, entries):
    graph, split = synthetic(nodes=300, classes=7)
    whole = propagate(graph, split.train)
    monkeypatch.setattr(spreading, "_ENTRIES", entries)
    assert torch.equal(propagate(graph, split.train), whole)


def test_a_temperature_does_not_depend_on_the_pieces(monkeypatch):
    rng = np.random.default_rng(0)
    probabilities, labels = rng.dirichlet(np.ones(9), 200), rng.integers(0, 9, 200)
    whole = calibration.fit_temperature(probabilities, labels)
    for entries in (1, 50, 2**30):
        monkeypatch.setattr(calibration, "_ENTRIES", entries)
        assert calibration.fit_temperature(probabilities, labels) == whole


def test_classes_are_sorted_row_by_row_and_ties_stay_in_order(monkeypatch):
    probabilities = np.array([[0.2, 0.5, 0.3], [0.4, 0.2, 0.4], [0.0, 0.0, 1.0]])
    for entries in (1, 6, 100):
        monkeypatch.setattr(mixture, "_SORTED", entries)
        assert mixture._sorted_classes(probabilities).tolist() == [[1, 2, 0], [0, 2, 1], [2, 0, 1]]

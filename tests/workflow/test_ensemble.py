"""What a model decides, by hand: calibrated, abstaining, as sets; and label propagation, which has no weights."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from graphmix.workflow.ensemble import Ensemble, can_calibrate

from graphmix.data import Graph, Split
from graphmix.errors import ConfigError
from graphmix.evaluation.heldout import HeldOut
from graphmix.models import BACKBONES
from graphmix.streams import Streams
from graphmix.training import Config
from graphmix.workflow.candidates import Candidate, try_method

LABELS = np.zeros(40, dtype=np.int64)
# Twenty sure and right, ten less sure and right, ten as sure and wrong.
CONFIDENT = np.array([[0.9, 0.1]] * 20 + [[0.6, 0.4]] * 10 + [[0.4, 0.6]] * 10)
NEW = np.array([[0.95, 0.05], [0.7, 0.3], [0.45, 0.55]])


def model(probabilities=CONFIDENT, labels=LABELS, temperature=1.0):
    right = (probabilities.argmax(axis=1) == labels).astype(float)
    held = HeldOut(np.arange(len(labels)), labels, probabilities, right)
    return Ensemble("label-propagation", Config(), ("a", "b"), {}, held, temperature)


@pytest.mark.parametrize(
    ("target", "level", "abstain"),
    [
        (0.7, 0, [False, False, False]),  # 30 of 40 are right
        (0.8, 0.9, [False, True, True]),  # only the sure ones meet it
        (0.99, 0.9, [False, True, True]),
    ],
)
def test_abstaining_below_the_level_that_meets_the_target(target, level, abstain):
    decisions = model().decide(NEW, target, 0.9)
    assert decisions.level == pytest.approx(level)
    assert decisions.abstain.tolist() == abstain


def test_where_no_level_meets_the_target_all_abstain():
    decisions = model(labels=np.ones(40, dtype=np.int64)).decide(NEW, 0.9, 0.9)
    assert decisions.level is None
    assert decisions.abstain.all()


def test_sets_hold_what_scores_no_worse_than_the_labels_do():
    # Scores of the labels: 0.1 twenty times, 0.4 and 0.6 ten times; the ⌈41 · 0.5⌉ = 21st smallest is 0.4.
    decisions = model().decide(NEW, 0.7, 0.5)
    assert decisions.threshold == pytest.approx(0.4)
    assert decisions.sets.tolist() == [[True, False], [True, False], [False, True]]
    # The 39th is 0.6; 1 - 0.3 is more, 1 - 0.45 is not.
    assert model().decide(NEW, 0.7, 0.95).sets.tolist() == [[True, False], [True, False], [True, True]]


def test_more_coverage_than_labels_can_promise_is_every_class():
    few = model(CONFIDENT[:5], LABELS[:5])
    assert few.decide(NEW, 0.9, 0.9).sets.all()


def test_classes_are_ordered_by_probability_and_equals_by_number():
    decisions = model().decide(np.array([[0.2, 0.8], [0.5, 0.5]]), 0.9, 0.9)
    assert decisions.order.tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize("value", [0, 1, -1, 1.5, float("nan"), float("inf")])
def test_targets_and_coverages_that_cannot_be(value):
    for given in ((value, 0.9), (0.9, value)):
        with pytest.raises(ConfigError, match="must be above 0 and below 1"):
            model().decide(NEW, *given)


def test_the_temperature_divides_the_logits():
    # Halved logits are square roots: 2 : 1 of 0.8 : 0.2.
    np.testing.assert_allclose(model(temperature=2.0).calibrate(np.array([[0.8, 0.2]])), [[2 / 3, 1 / 3]])
    np.testing.assert_allclose(model(temperature=0.5).calibrate(np.array([[0.8, 0.2]])), [[16 / 17, 1 / 17]])
    assert model(temperature=2.0).held_calibrated[0, 0] == pytest.approx(3 / 4)


def path_graph(y):
    return Graph.build(np.eye(5), [[0, 1, 2], [1, 2, 3]], y, 2)


def test_label_propagation_spreads_the_labels_of_the_graph_it_is_given():
    spread = model().probabilities(path_graph([0, -1, -1, 1, -1]))
    # A third of the way is two to one; a node without edges gets the labels' frequencies.
    np.testing.assert_allclose(spread, [[1, 0], [2 / 3, 1 / 3], [1 / 3, 2 / 3], [0, 1], [0.5, 0.5]], atol=1e-4)
    other = model().probabilities(path_graph([1, -1, -1, 0, -1]))
    np.testing.assert_allclose(other, spread[:, ::-1], atol=1e-12)


def test_a_model_is_made_of_a_candidate_and_calibrated_on_what_it_held_out():
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    x = np.eye(2)[y] + rng.normal(size=(40, 2))
    graph = Graph.build(x, rng.integers(0, 40, (2, 60)), y, 2, normalise=False)
    third = torch.arange(40) % 3
    split = Split.build(third == 0, third == 1, third == 2, "given")
    config = Config(trials=2, epochs=60, hidden=4)
    tried = try_method("supervised", graph, split, config, device="cpu")
    made = Ensemble.from_candidate(tried, config, ("a", "b"))
    assert (made.method, made.config.method, made.held) == ("supervised", "supervised", tried.held)
    np.testing.assert_array_equal(tried.held.nodes, np.flatnonzero(third == 1))
    # What the weights predict is the candidate's prediction, each logit divided by the temperature that fits best.
    mean = tried.probabilities.double().mean(dim=0).numpy()
    powers = mean ** (1 / made.temperature)
    np.testing.assert_allclose(made.probabilities(graph), powers / powers.sum(axis=1, keepdims=True), atol=1e-6)

    def loss(temperature):
        at = np.log(tried.held.probabilities) / temperature
        return -(at - np.log(np.exp(at).sum(axis=1, keepdims=True)))[np.arange(len(at)), tried.held.labels].mean()

    assert loss(made.temperature) <= min(loss(made.temperature * 1.01), loss(made.temperature / 1.01)) + 1e-9


@pytest.mark.parametrize("backbone", ["gcn", "gat", "unet"])
@pytest.mark.parametrize("sparse", [False, True])
def test_without_edges_a_row_does_not_depend_on_its_place(backbone, sparse):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(101, 37)) * (rng.random((101, 37)) < 0.3)
    config = Config(trials=2, backbone=backbone, hidden=5, heads=2)
    drawn = BACKBONES[backbone].create(Streams.from_seeds([0, 1]), (37, 5, 3), **config.options())
    weights = {name: weight.detach() for name, weight in drawn.weights.items()}
    held = HeldOut(*(np.zeros(1, dtype=np.int64),) * 2, np.full((1, 3), 1 / 3), np.zeros(1))
    ensemble = Ensemble("supervised", config, ("a", "b", "c"), weights, held, 1.0)

    def predicted(rows):
        given = sp.csr_array(x[rows]) if sparse else x[rows]
        return ensemble.probabilities(Graph.build(given, [[], []], np.full(len(rows), -1), 3, normalise=False))

    order, some = rng.permutation(101), np.arange(3, 20)
    expected = predicted(np.arange(101))
    np.testing.assert_allclose(predicted(order), expected[order], rtol=1e-12)
    np.testing.assert_allclose(predicted(some), expected[some], rtol=1e-12)


def test_what_few_labels_cannot_show_is_said_with_the_predictions():
    few = model(CONFIDENT[:8], LABELS[:8])
    sentences = few.doubts(few.decide(NEW, 0.9, 0.9), 0.9, 0.9)
    assert len(sentences) == 2
    assert "8 held-out labels are too few to tell which predictions reach 90 % accuracy" in sentences[0]
    assert "every set holds all 2 classes" in sentences[1]
    # All wrong: that the target is missed can be told, and all abstain.
    wrong = model(CONFIDENT[:8], 1 - LABELS[:8])
    assert wrong.decide(NEW, 0.9, 0.5).abstain.all()
    assert wrong.doubts(wrong.decide(NEW, 0.9, 0.5), 0.9, 0.5) == ()
    assert model().doubts(model().decide(NEW, 0.9, 0.9), 0.9, 0.9) == ()


@pytest.mark.parametrize(("labels", "enough"), [(12, False), (13, True), (40, True)])
def test_few_labels_do_not_calibrate(labels, enough):
    held = model(CONFIDENT[-labels:], LABELS[-labels:]).held
    assert can_calibrate(held) is enough
    tried = Candidate("label-propagation", torch.zeros(1, 1, 2), held, None, 0.0)
    made = Ensemble.from_candidate(tried, Config(), ("a", "b"))
    assert (made.temperature != 1) is enough

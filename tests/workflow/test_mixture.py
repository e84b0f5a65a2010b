"""What a model decides, by hand: calibrated, abstaining, as sets; and mixtures of members, stored and read back."""

import functools
import json

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from graphmix.baselines.tabular import TABULAR
from graphmix.data import Graph
from graphmix.errors import ConfigError, DataError
from graphmix.evaluation.calibration import fit_temperature
from graphmix.evaluation.heldout import HeldOut
from graphmix.models import BACKBONES
from graphmix.streams import Streams
from graphmix.training import Config
from graphmix.workflow.members import Member
from graphmix.workflow.mixture import Mixture, can_calibrate

LABELS = np.zeros(40, dtype=np.int64)
# Twenty sure and right, ten less sure and right, ten as sure and wrong.
CONFIDENT = np.array([[0.9, 0.1]] * 20 + [[0.6, 0.4]] * 10 + [[0.4, 0.6]] * 10)
NEW = np.array([[0.95, 0.05], [0.7, 0.3], [0.45, 0.55]])


def model(probabilities=CONFIDENT, labels=LABELS, temperature=1.0):
    member = Member("label-propagation", "label-propagation", Config(), {})
    return Mixture((member,), ("a", "b"), held_of(probabilities, labels), temperature)


def held_of(probabilities, labels):
    right = (probabilities.argmax(axis=1) == labels).astype(float)
    return HeldOut(np.arange(len(labels)), labels, probabilities, right)


@pytest.mark.parametrize(
    ("target", "level", "abstain"),
    [
        (0.67, 0, [False, False, False]),  # 30 of 40 are right, 75 %; the standard error of 67 % is 7.4 %
        (0.8, 0.9, [False, True, True]),  # only the sure ones meet it
        (0.95, 0.9, [False, True, True]),  # 20 of 20; the standard error of 95 % is 4.9 %
        (0.96, None, [True, True, True]),
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


def test_a_mixture_is_calibrated_on_what_was_held_out():
    rng = np.random.default_rng(0)
    probabilities = rng.dirichlet([1, 1, 1], 60)
    held = held_of(probabilities, np.array([rng.choice(3, p=row) for row in probabilities]))
    made = Mixture.calibrated(model().members, ("a", "b", "c"), held)
    assert made.temperature == fit_temperature(held.probabilities, held.labels) != 1

    def loss(temperature):
        at = np.log(held.probabilities) / temperature
        return -(at - np.log(np.exp(at).sum(axis=1, keepdims=True)))[np.arange(60), held.labels].mean()

    assert loss(made.temperature) <= min(loss(made.temperature * 1.01), loss(made.temperature / 1.01)) + 1e-9


@pytest.mark.parametrize("backbone", BACKBONES)
@pytest.mark.parametrize("sparse", [False, True])
def test_without_edges_a_row_does_not_depend_on_its_place(backbone, sparse):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(101, 37)) * (rng.random((101, 37)) < 0.3)
    config = Config(trials=2, backbone=backbone, hidden=5, heads=2)
    drawn = BACKBONES[backbone].create(Streams.from_seeds([0, 1]), (37, 5, 3), **config.options())
    weights = {name: weight.detach() for name, weight in drawn.weights.items()}
    held = HeldOut(*(np.zeros(1, dtype=np.int64),) * 2, np.full((1, 3), 1 / 3), np.zeros(1))
    member = Member("supervised", "supervised", Config(**config.to_dict() | {"method": "supervised"}), weights)
    mixture = Mixture((member,), ("a", "b", "c"), held, 1.0)

    def predicted(rows):
        given = sp.csr_array(x[rows]) if sparse else x[rows]
        return mixture.probabilities(Graph.build(given, [[], []], np.full(len(rows), -1), 3, normalise=False))

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
    made = Mixture.calibrated(model().members, ("a", "b"), held)
    assert (made.temperature != 1) is enough


def small_graph(nodes=12):
    rng = np.random.default_rng(1)
    y = np.where(np.arange(nodes) < 9, np.arange(nodes) % 2, -1)
    edges = rng.integers(0, nodes, (2, 20))
    return Graph.build(rng.normal(size=(nodes, 4)), edges, y, 2, class_names=["a", "b"], normalise=False)


def network(share, name="supervised-gcn", temperature=1.0, seed=0):
    config = Config(method="supervised", trials=2, hidden=3, epochs=5)
    drawn = BACKBONES["gcn"].create(Streams.from_seeds([seed, seed + 1]), (4, 3, 2), **config.options())
    weights = {key: weight.detach() for key, weight in drawn.weights.items()}
    return Member(name, "supervised", config, weights, share, temperature)


def tabular(share, method="logistic-regression"):
    graph = small_graph()
    (fitted,) = TABULAR[method].fit(graph, (graph.y >= 0).numpy(), TABULAR[method].points[:1], seed=0, balanced=False)
    return Member(method, method, Config(), fitted.tensors(), share)


def mixture(*members, temperature=1.5):
    return Mixture(members, ("a", "b"), held_of(CONFIDENT, LABELS), temperature)


def spreading(share):
    return Member("label-propagation", "label-propagation", Config(), {}, share)


def test_a_mixture_is_the_weighted_mean_of_its_members_at_their_temperatures():
    graph = small_graph()
    warm, plain = network(0.75, temperature=2.0), network(1.0)
    made = mixture(warm, spreading(0.25), temperature=1.0)
    # Halved logits are square roots.
    roots = np.sqrt(plain.probabilities(graph))
    first = roots / roots.sum(axis=1, keepdims=True)
    expected = 0.75 * first + 0.25 * spreading(1.0).probabilities(graph)
    np.testing.assert_allclose(made.probabilities(graph), expected, rtol=1e-9)
    squares = expected**2
    np.testing.assert_allclose(
        mixture(*made.members, temperature=0.5).probabilities(graph),
        squares / squares.sum(axis=1, keepdims=True),
        rtol=1e-9,
    )


def test_what_a_mixture_is_called_and_whose_hyperparameters_it_has():
    assert model().method == "label-propagation"
    assert mixture(network(1.0)).method == "supervised"
    several = mixture(spreading(0.6), network(0.4))
    assert several.method == "mixture"
    assert several.config == network(0.4).config
    assert mixture(spreading(0.5), tabular(0.5)).config == Config()


def test_on_another_graph_label_propagation_has_no_share():
    graph = small_graph()
    made = mixture(spreading(0.5), network(0.3), tabular(0.2))
    inductive = made.inductive()
    assert {each.name: each.share for each in inductive.members} == pytest.approx(
        {"supervised-gcn": 0.6, "logistic-regression": 0.4}
    )
    assert (inductive.temperature, inductive.classes) == (made.temperature, made.classes)
    expected = mixture(network(0.6), tabular(0.4)).probabilities(graph)
    np.testing.assert_allclose(inductive.probabilities(graph), expected)
    # The mixture itself stays what it is.
    assert len(made.members) == 3
    with pytest.raises(DataError, match="label propagation only knows the nodes of the fit"):
        mixture(spreading(1.0)).inductive()


def stored(made):
    """A mixture as its files have it."""
    return json.loads(json.dumps(made.describe())), {name: weight.clone() for name, weight in made.tensors().items()}


def read(described, tensors):
    return Mixture.from_parts(described, tensors, {"mixture": held_of(CONFIDENT, LABELS)}, small_graph())


@functools.cache
def everything():
    return network(0.4), tabular(0.3), tabular(0.2, "random-forest"), spreading(0.1)


def test_what_was_stored_is_read_back():
    made, graph = mixture(*everything()), small_graph()
    again = read(*stored(made))
    assert [(each.name, each.method, each.config, each.share, each.temperature) for each in again.members] == [
        (each.name, each.method, each.config, each.share, each.temperature) for each in everything()
    ]
    np.testing.assert_array_equal(again.probabilities(graph), made.probabilities(graph))
    assert (again.temperature, again.classes) == (made.temperature, made.classes)


def test_two_networks_of_one_method_keep_their_own_weights():
    graph = small_graph()
    first, second = network(0.5), network(0.5, "supervised-other", seed=7)
    again = read(*stored(mixture(first, second)))
    for found, given in zip(again.members, (first, second), strict=True):
        np.testing.assert_array_equal(found.probabilities(graph), given.probabilities(graph))


@pytest.mark.parametrize(
    ("place", "change", "message"),
    [
        (0, {"share": 0.5}, "the shares of the members do not sum to 1"),
        (0, {"share": 0.0}, "share is 0.0"),
        (0, {"share": "most"}, "share is not a finite number"),
        (0, {"temperature": -1.0}, "temperature is -1.0"),
        (0, {"method": "magic"}, "there is no method 'magic'"),
        (0, {"method": "random-forest"}, "missing"),
        (0, {"method": "label-propagation"}, "the weights are not those"),
        (0, {"name": 3}, "name"),
        (0, {"config": Config(method="supervised", trials=3, hidden=3).to_dict()}, "not those of 3 trials"),
        (0, {"config": Config(method="supervised", trials=2, hidden=4).to_dict()}, "not those of such a gcn"),
        (0, {"config": Config(method="supervised", trials=2, hidden=3, backbone="sage").to_dict()}, "such a sage"),
        (0, {"config": {}}, "is missing"),
        (1, {"method": "random-forest"}, "missing"),
        (3, {"method": "supervised"}, "not those of 10 trials"),
    ],
    ids=str,
)
def test_members_that_cannot_be_are_refused(place, change, message):
    described, tensors = stored(mixture(*everything()))
    described["members"][place] |= change
    with pytest.raises(ValueError, match=message):
        read(described, tensors)


@pytest.mark.parametrize("members", [None, [], {}, "all", 3])
def test_members_that_are_none(members):
    described, tensors = stored(mixture(*everything()))
    with pytest.raises(ValueError, match="missing or invalid: members"):
        read(described | {"members": members}, tensors)


def test_tensors_of_no_member_and_tensors_that_are_missing_are_refused():
    described, tensors = stored(mixture(*everything()))
    with pytest.raises(ValueError, match="weights of no member"):
        read(described, tensors | {"9.weight": torch.zeros(2)})
    for name in tensors:
        with pytest.raises((ValueError, KeyError)):
            read(described, {key: tensor for key, tensor in tensors.items() if key != name})
        with pytest.raises((ValueError, KeyError)):
            read(described, tensors | {name: tensors[name][..., :0]})


def test_a_model_of_one_method_as_older_versions_described_it():
    single, graph = network(1.0), small_graph()
    described = {"method": "supervised", "config": single.config.to_dict(), "temperature": 2.0}
    held = {"supervised": held_of(CONFIDENT, LABELS)}
    old = Mixture.from_parts(described, single.tensors, held, graph)
    np.testing.assert_allclose(old.probabilities(graph), mixture(single, temperature=2.0).probabilities(graph))
    assert old.held is held["supervised"]
    with pytest.raises(ValueError, match="there is no method 'magic'"):
        Mixture.from_parts(described | {"method": "magic"}, single.tensors, held, graph)

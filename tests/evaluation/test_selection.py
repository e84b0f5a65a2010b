"""The choice of a mixture by held-out labels: by hand, and that no label chooses what it judges."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmix.evaluation.calibration import apply_temperature
from graphmix.evaluation.selection import LEAST_WEIGHT, PARTS, average, choose, select_greedily


def rows(labels, right, classes=2):
    """Probabilities that give each label such a share, and the other classes the rest alike."""
    labels, right = np.asarray(labels), np.broadcast_to(right, len(labels))
    spread = np.repeat(((1 - right) / (classes - 1))[:, None], classes, axis=1)
    spread[np.arange(len(labels)), labels] = right
    return spread


def greedily(labels, weights=None, **candidates):
    labels = np.asarray(labels)
    counts = np.ones(len(labels)) if weights is None else np.asarray(weights, dtype=float)
    return select_greedily({name: rows(labels, right) for name, right in candidates.items()}, labels, counts)


def loss(probabilities, labels):
    return -np.log(probabilities[np.arange(len(labels)), labels]).mean()


def test_by_hand_the_best_few_count_once_and_each_ten_labels_add_one():
    # Four labels: two of three count once, and one round adds the best again.
    assert greedily([0, 1, 0, 1], poor=0.5, perfect=0.99, good=0.8) == pytest.approx({"perfect": 2 / 3, "good": 1 / 3})
    # Eleven labels are two rounds.
    assert greedily([0] * 11, poor=0.5, perfect=0.99, good=0.8) == {"perfect": 0.75, "good": 0.25}
    # Of five candidates the best three are the first, of nine the best four.
    found = greedily([0] * 4, a=0.5, b=0.6, worst=0.4, c=0.7, d=0.8)
    assert found == {"b": 0.25, "c": 0.25, "d": 0.5}
    many = greedily([0] * 4, **{f"c{number}": 0.1 * number for number in range(1, 10)})
    assert many == {"c6": 0.2, "c7": 0.2, "c8": 0.2, "c9": 0.4}


def test_with_many_labels_one_that_is_best_for_all_has_nearly_everything():
    shares = greedily([0, 1] * 250, poor=0.5, perfect=0.99, good=0.8)
    assert shares["perfect"] == pytest.approx(51 / 52)


def test_two_that_complement_each_other_have_halves():
    labels = [0, 1] * 100
    first = np.where(np.arange(200) < 100, 0.9, 0.1)
    shares = greedily(labels, first=first, second=1 - first)
    # Twenty rounds after the first: one of the two has eleven.
    assert shares == pytest.approx({"first": 11 / 21, "second": 10 / 21})


def test_of_equals_the_first_is_added():
    assert greedily([0, 1, 1], cheap=0.7, costly=0.7) == {"cheap": 1.0}
    assert greedily([0, 1, 1], costly=0.7, cheap=0.7) == {"costly": 1.0}
    # Which of five equals are the first three.
    assert greedily([0, 1, 1], a=0.7, b=0.7, c=0.7, d=0.7, e=0.7) == {"a": 0.5, "b": 0.25, "c": 0.25}


def test_with_many_labels_shares_are_near_the_best_there_are():
    # -2 log(0.6 p + 0.2) - log(0.9 - 0.6 p) is least where p is that of the grid.
    shares = greedily([0] * 600, first=[0.8, 0.8, 0.3] * 200, second=[0.2, 0.2, 0.9] * 200)
    grid = np.arange(1001) / 1000
    losses = [-(2 * np.log(0.6 * p + 0.2) + np.log(0.9 - 0.6 * p)) for p in grid]
    assert shares["first"] == pytest.approx(grid[int(np.argmin(losses))], abs=0.03)
    assert sum(shares.values()) == pytest.approx(1)


def test_a_label_that_counts_more_decides():
    both = {"first": [0.9, 0.2] * 100, "second": [0.2, 0.85] * 100}
    assert greedily([0, 1] * 100, [100, 1] * 100, **both)["first"] > 0.9
    assert greedily([0, 1] * 100, [1, 100] * 100, **both)["second"] > 0.9


def test_an_average_is_weighed_and_its_rows_sum_to_one():
    first, second = np.array([[0.9, 0.1], [0.5, 0.5]]), np.array([[0.1, 0.9], [0.5, 0.5]])
    mean = average({"first": first, "second": second, "third": second}, {"first": 0.75, "second": 0.25})
    np.testing.assert_allclose(mean, [[0.7, 0.3], [0.5, 0.5]])
    np.testing.assert_allclose(average({"first": first}, {"first": 0.2}), first)


@st.composite
def problems(draw):
    """Held-out predictions of a few candidates, some at several points."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    held, classes = draw(st.integers(2, 60)), draw(st.integers(2, 4))
    labels = rng.integers(0, classes, held)
    candidates = {}
    for number in range(draw(st.integers(1, 4))):
        points, skill = draw(st.integers(1, 6)), draw(st.floats(0, 4))
        logits = rng.normal(size=(points, held, classes)) + skill * np.eye(classes)[labels]
        exact = np.exp(logits)
        candidates[f"candidate {number}"] = exact / exact.sum(axis=2, keepdims=True)
    return candidates, labels


@given(problems(), st.integers(0, 5), st.booleans())
def test_what_is_chosen_is_a_mixture(problem, seed, weighed):
    candidates, labels = problem
    counts = np.linspace(1, 2, len(labels)) if weighed else None
    chosen = choose(candidates, labels, seed=seed, label_weights=counts)
    assert sum(chosen.weights.values()) == pytest.approx(1)
    assert list(chosen.weights.values()) == sorted(chosen.weights.values(), reverse=True)
    assert min(chosen.weights.values()) > 0
    assert chosen.temperatures.keys() == chosen.weights.keys() <= candidates.keys()
    assert chosen.points.keys() == chosen.alone.keys() == candidates.keys()
    for name, point in chosen.points.items():
        assert 0 <= point < len(candidates[name])
    for predicted in (chosen.nested, *chosen.alone.values()):
        assert predicted.shape == (len(labels), next(iter(candidates.values())).shape[2])
        np.testing.assert_allclose(predicted.sum(axis=1), 1)
        assert (predicted >= 0).all()


@given(problems(), st.integers(0, 5))
def test_the_same_is_chosen_again_and_another_seed_deals_otherwise(problem, seed):
    candidates, labels = problem
    one, two = (choose(candidates, labels, seed=seed) for _ in range(2))
    np.testing.assert_array_equal(one.nested, two.nested)
    assert (one.weights, one.temperatures, one.points) == (two.weights, two.temperatures, two.points)


@pytest.mark.parametrize("part", range(PARTS))
def test_nested_predictions_of_a_part_do_not_depend_on_its_labels(part):
    rng = np.random.default_rng(3)
    labels = rng.integers(0, 3, 80)
    logits = {name: rng.normal(size=(4, 80, 3)) + skill * np.eye(3)[labels] for name, skill in {"a": 1, "b": 2}.items()}
    candidates = {name: np.exp(each) / np.exp(each).sum(axis=2, keepdims=True) for name, each in logits.items()}
    before = choose(candidates, labels, seed=7)
    # A label whose change leaves its own prediction as it is finds its part: all that stay with it belong to it.
    dealt = np.random.Generator(np.random.PCG64(7)).permutation(80) % PARTS
    own = dealt == part
    after = choose(candidates, np.where(own, (labels + 1) % 3, labels), seed=7)
    np.testing.assert_array_equal(after.nested[own], before.nested[own])
    for name in candidates:
        np.testing.assert_array_equal(after.alone[name][own], before.alone[name][own])
    # The labels of the others chose otherwise, as they should.
    assert not np.allclose(after.nested[~own], before.nested[~own])


def test_every_label_is_predicted_by_a_choice_that_it_had_no_part_in():
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 2, 12)
    candidates = {"a": rng.dirichlet([1, 1], (3, 12)), "b": rng.dirichlet([1, 1], (1, 12))}
    before = choose(candidates, labels)
    for label in range(12):
        changed = labels.copy()
        changed[label] = 1 - changed[label]
        np.testing.assert_array_equal(choose(candidates, changed).nested[label], before.nested[label])


def test_a_candidate_of_little_weight_is_left_out():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 400)
    # Right about nearly every label, and one that is right about a few of the others.
    good, other = np.full(400, 0.95), np.full(400, 0.02)
    good[:8], other[:8] = 0.05, 0.98
    chosen = choose({"good": rows(labels, good)[None], "other": rows(labels, other)[None]}, labels)
    assert chosen.weights == {"good": 1.0}
    assert chosen.alone["other"].shape == (400, 2)
    assert LEAST_WEIGHT == 0.05


def test_of_many_candidates_with_little_weight_each_the_largest_stay():
    # Each knows one label in thirty and all others badly: no share reaches the least weight.
    labels = np.zeros(60, dtype=np.int64)
    candidates = {}
    for number in range(30):
        right = np.full(60, 0.1)
        right[[2 * number, 2 * number + 1]] = 0.99
        candidates[f"c{number}"] = rows(labels, right)[None]
    chosen = choose(candidates, labels)
    assert chosen.weights
    assert sum(chosen.weights.values()) == pytest.approx(1)


def test_temperatures_mend_what_is_too_sure_or_not_sure_enough():
    rng = np.random.default_rng(5)
    true = rng.dirichlet([0.6, 0.6, 0.6], 3000)
    labels = np.array([rng.choice(3, p=row) for row in true])
    for temperature in (0.5, 2.0):
        # Sharpened by a temperature, it takes the inverse to undo it.
        sharper = apply_temperature(true, temperature)
        chosen = choose({"only": sharper[None]}, labels)
        assert chosen.temperatures["only"] == pytest.approx(1 / temperature, rel=0.1)
        # Few labels move it less far from 1.
        few = choose({"only": sharper[None, :60]}, labels[:60]).temperatures["only"]
        assert 1 < few ** np.sign(1 - temperature) < chosen.temperatures["only"] ** np.sign(1 - temperature)
        assert loss(chosen.nested, labels) < loss(sharper, labels)
        np.testing.assert_allclose(chosen.nested, chosen.alone["only"])


def test_the_point_is_where_held_out_labels_are_predicted_best():
    rng = np.random.default_rng(2)
    labels = rng.integers(0, 2, 500)
    # Better and better, then ever worse.
    skills = [0.0, 1.0, 3.0, 3.0, 1.0, 0.0, 0.0]
    logits = np.stack([rng.normal(size=(500, 2)) + skill * np.eye(2)[labels] for skill in skills])
    candidates = {"only": np.exp(logits) / np.exp(logits).sum(axis=2, keepdims=True)}
    assert choose(candidates, labels).points["only"] in (2, 3)


def test_label_weights_choose_the_candidate_of_the_rare_class():
    labels = np.array([0] * 90 + [1] * 10)
    frequent = rows(labels, np.where(labels == 0, 0.95, 0.1))
    rare = rows(labels, np.where(labels == 0, 0.3, 0.9))
    candidates = {"frequent": frequent[None], "rare": rare[None]}
    balanced = np.where(labels == 0, 1 / 90, 1 / 10) * 50
    plain, weighed = choose(candidates, labels), choose(candidates, labels, label_weights=balanced)
    assert weighed.weights.get("rare", 0) > plain.weights.get("rare", 0)


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_few_labels_choose_something(count):
    labels = np.arange(count) % 2
    candidates = {"a": rows(labels, 0.6)[None], "b": np.stack([rows(labels, 0.9), rows(labels, 0.8)])}
    chosen = choose(candidates, labels)
    assert np.isfinite(chosen.nested).all()
    np.testing.assert_allclose(chosen.nested.sum(axis=1), 1)
    assert sum(chosen.weights.values()) == pytest.approx(1)


def test_probabilities_of_exactly_0_and_1_break_nothing():
    labels = np.array([0, 1] * 200)
    sure = np.eye(2)[labels]
    wrong = sure[:, ::-1].copy()
    chosen = choose({"wrong": wrong[None], "sure": np.stack([wrong, sure])}, labels)
    assert chosen.weights == {"sure": 1.0}
    assert chosen.points["sure"] == 1
    assert (chosen.nested.argmax(axis=1) == labels).all()
    assert np.isfinite(chosen.nested).all()

"""Trying the candidates of a plan: what fails is left out and named, and a time limit is kept."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file

from graphmix.data import Graph
from graphmix.data.folds import fold_split
from graphmix.errors import DataError, RunError
from graphmix.evaluation.selection import choose
from graphmix.training.trace import OutOfTimeError
from graphmix.workflow import trying as module
from graphmix.workflow.candidates import DivergedError, Tried
from graphmix.workflow.plan import Candidate, make_plan, usual_config
from graphmix.workflow.trying import Budget, choose_members, train_members, try_all
from graphmix.workflow.watching import Watcher


def graph(nodes=40, classes=3):
    rng = np.random.default_rng(0)
    y = np.where(np.arange(nodes) < 30, np.arange(nodes) % classes, -1)
    x = rng.normal(size=(nodes, 5)) + np.eye(5)[np.arange(nodes) % classes]
    edges = np.stack([np.arange(nodes), (np.arange(nodes) + classes) % nodes])
    return Graph.build(x, edges, y, classes, normalise=False)


def plan(*methods, **given):
    return make_plan(graph(), methods, {"trials": 5, "epochs": 10, "hidden": 4, "backbone": "gcn"} | given)


def test_every_candidate_is_tried_in_order(tmp_path):
    candidates = plan("label-propagation", "fcn", "supervised", "graphmix-steady", backbone=None)
    trials = try_all(candidates, graph(), fold_split(graph(), 5), tmp_path, device="cpu")
    assert trials.failures == ()
    names = [each.candidate.name for each in trials.tried]
    assert names == [candidate.name for candidate in candidates]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names)
    assert all(each.nodes.tolist() == list(range(30)) for each in trials.tried)


def test_what_diverges_is_left_out_and_said(tmp_path):
    wild = plan("supervised", "label-propagation", learning_rate=1e29)
    trials = try_all(wild, graph(), fold_split(graph(), 5), tmp_path, device="cpu")
    assert [each.candidate.name for each in trials.tried] == ["label-propagation"]
    (said,) = trials.failures
    assert said.startswith("GCN was left out: the loss of supervised became infinite")
    with pytest.raises(RunError, match="GCN was left out"):
        try_all(wild[:1], graph(), fold_split(graph(), 5), tmp_path, device="cpu")


class Clock:
    """A clock that only moves when something is trained; each method takes as long as is said."""

    def __init__(self, monkeypatch, **seconds):
        self.now, self.seconds, self.began = 1000.0, seconds, []
        monkeypatch.setattr(module.time, "monotonic", lambda: self.now)
        monkeypatch.setattr(module, "hold_out", self.hold_out)

    def hold_out(self, candidate, graph, split, *, deadline, **named):
        self.began.append(candidate.name)
        took = self.seconds[candidate.name]
        if isinstance(took, Exception):
            raise took
        if deadline is not None and self.now + took > deadline:
            self.now = max(self.now, deadline)
            raise OutOfTimeError("the time limit was reached")
        self.now += took
        return Tried(candidate, np.zeros(1), np.arange(30), np.full((1, 30, 3), 1 / 3), None, took)


class Named(Candidate):
    """A candidate of any name."""

    name = title = property(lambda self: self.method)


def named(*names):
    config = usual_config(graph(), "fcn")
    return [Named(name, config) for name in names]


A, B, C, D = "ABCD"


def run(budget, *names):
    return try_all(named(*names), graph(), fold_split(graph(), 5), budget=budget)


def test_a_candidate_may_take_half_of_what_is_left_for_it(monkeypatch):
    clock = Clock(monkeypatch, **{A: 10, B: 20, C: 30, D: 5})
    trials = run(Budget(100), A, B, C, D)
    # After A and B, 30 s are gone and 30 are kept for them: C has until 30 + 40 / 2, which is not enough, and D has
    # until 50 + (100 - 50 - 30) / 2.
    assert [each.candidate.name for each in trials.tried] == [A, B, D]
    assert clock.now == 1000 + 55
    (said,) = trials.failures
    assert said == f"{C} was left out: the time limit of 100 s leaves no time for it"


def test_nothing_is_begun_once_the_time_is_spent(monkeypatch):
    clock = Clock(monkeypatch, **{A: 4, B: 1, C: 1})
    budget = Budget(10)
    # A ends after 6 s, and 4 are kept for it.
    clock.now += 2
    trials = run(budget, A, B, C)
    assert clock.began == [A]
    assert budget.is_spent
    assert trials.failures == (f"the time limit of 10 s leaves no time for {B}, {C}",)


def test_a_limit_that_is_over_before_anything_is_tried(monkeypatch):
    clock = Clock(monkeypatch, **{A: 1, B: 1})
    budget = Budget(10)
    clock.now += 20
    with pytest.raises(RunError, match="the time limit of 10 s leaves no time for it"):
        run(budget, A, B)


def test_without_a_limit_everything_is_tried(monkeypatch):
    Clock(monkeypatch, **{A: 1e6, B: 1e6, C: 1e6})
    budget = Budget()
    trials = run(budget, A, B, C)
    assert len(trials.tried) == 3
    assert trials.failures == ()
    assert budget.deadline() is None
    assert not budget.is_spent


@given(
    st.lists(st.floats(0.01, 100), min_size=1, max_size=8),
    st.floats(0.1, 200),
    st.floats(0, 50),
)
def test_a_limit_leaves_time_for_the_second_training(seconds, limit, reading):
    names = [f"candidate {number}" for number in range(len(seconds))]
    with pytest.MonkeyPatch.context() as monkeypatch:
        clock = Clock(monkeypatch, **dict(zip(names, seconds, strict=True)))
        budget = Budget(limit)
        # Tables were read meanwhile.
        clock.now += reading
        left = limit - reading
        # While nothing is tried, every candidate has half of what is left.
        possible = any(took <= left / 2 ** (place + 1) for place, took in enumerate(seconds))
        if not possible:
            with pytest.raises(RunError, match="the time limit of"):
                run(budget, *names)
            assert clock.now <= 1000 + max(limit, reading) + 1e-6
            return
        trials = run(budget, *names)
        again = sum(each.seconds for each in trials.tried)
        assert clock.now + again <= 1000 + limit + 1e-6
        said = " ".join(trials.failures)
        left_out = set(names) - {each.candidate.name for each in trials.tried}
        assert all(name in said for name in left_out)
        assert all("time limit" in failure for failure in trials.failures)


def test_errors_that_nobody_expects_are_not_hidden(monkeypatch):
    Clock(monkeypatch, **{A: ZeroDivisionError("a fault"), B: 1})
    with pytest.raises(ZeroDivisionError):
        run(None, A, B)


def test_failures_of_every_kind_are_named_and_others_go_on(monkeypatch):
    Clock(monkeypatch, **{A: DataError("too many links"), B: DivergedError("not finite"), C: 1})
    trials = run(None, A, B, C)
    assert [each.candidate.name for each in trials.tried] == [C]
    assert trials.failures == (f"{A} was left out: too many links", f"{B} was left out: not finite")


def test_if_all_fail_the_reasons_are_said(monkeypatch):
    Clock(monkeypatch, **{A: DataError("too many links"), B: DivergedError("not finite")})
    with pytest.raises(RunError) as raised:
        run(None, A, B)
    assert "too many links" in str(raised.value)
    assert "not finite" in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_watcher_hears_of_every_candidate_and_of_the_members():
    class Noting(Watcher):
        def __init__(self):
            self.told = []

        def begins(self, what, place, steps):
            self.told.append((what, place, steps))
            return lambda done, total: None

    watch, candidates = Noting(), plan("label-propagation", "fcn")
    trials = try_all(candidates, graph(), fold_split(graph(), 5), device="cpu", watch=watch)
    assert watch.told == [(candidate.title, place, 3) for place, candidate in enumerate(candidates)]
    chosen = choose_members(trials.tried, graph(), seed=0, balanced=False)
    train_members(trials.tried, chosen, graph(), graph().y >= 0, device="cpu", watch=watch, steps=3)
    titles = {candidate.name: candidate.title for candidate in candidates}
    assert len(watch.told) == 2 + len(chosen.weights)
    for (what, step, steps), name in zip(watch.told[2:], chosen.weights, strict=True):
        assert what.startswith(f"{titles[name]} on 30 labels")
        assert (step, steps) == (2, 3)


def tried_of(**probabilities):
    nodes = np.arange(30)
    return [
        Tried(*named(name), np.arange(len(each), dtype=float), nodes, each, None, 1.0)
        for name, each in probabilities.items()
    ]


def test_members_are_chosen_by_the_held_out_labels_alone():
    rng = np.random.default_rng(0)
    held = {A: rng.dirichlet([1] * 3, (1, 30)), B: rng.dirichlet([1] * 3, (4, 30))}
    labels = graph().y[:30].numpy()
    expected = choose(held, labels, seed=3)
    chosen = choose_members(tried_of(**held), graph(), seed=3, balanced=False)
    assert (chosen.weights, chosen.points) == (expected.weights, expected.points)
    np.testing.assert_array_equal(chosen.nested, expected.nested)


def test_balanced_gives_each_class_the_same_weight():
    unequal = np.array([0] * 24 + [1] * 6 + [-1] * 10)
    whole = Graph.build(np.ones((40, 1)), [[0], [1]], unequal, 3)
    rng = np.random.default_rng(0)
    held = {A: rng.dirichlet([1] * 3, (1, 30)), B: rng.dirichlet([1] * 3, (1, 30))}
    # 30 labels of two classes that occur: 15 for each.
    weights = np.where(unequal[:30] == 0, 15 / 24, 15 / 6)
    expected = choose(held, unequal[:30], seed=0, label_weights=weights)
    chosen = choose_members(tried_of(**held), whole, seed=0, balanced=True)
    np.testing.assert_allclose(chosen.nested, expected.nested)
    assert chosen.weights == pytest.approx(expected.weights)


@pytest.fixture
def trained(tmp_path):
    """The members of a small plan, and what is needed to train them again."""
    trials = try_all(plan("supervised", "fcn"), graph(), fold_split(graph(), 5), tmp_path, device="cpu")
    chosen = choose_members(trials.tried, graph(), seed=0, balanced=False)
    given = (trials.tried, chosen, graph(), graph().y >= 0, tmp_path)
    return train_members(*given, device="cpu"), given


def test_members_have_the_shares_points_and_temperatures_that_were_chosen(trained):
    members, (tried, chosen, *_) = trained
    points = {each.candidate.name: each.points for each in tried}
    assert [member.name for member in members] == list(chosen.weights)
    for member in members:
        assert member.share == chosen.weights[member.name]
        assert member.temperature == chosen.temperatures[member.name]
        assert member.config.epochs == points[member.name][chosen.points[member.name]]


def test_weights_in_the_folder_are_used_and_those_of_another_network_are_refused(trained):
    members, given = trained
    again = train_members(*given, device="cpu")
    for one, other in zip(members, again, strict=True):
        assert all(torch.equal(one.tensors[name], other.tensors[name]) for name in one.tensors)
    path = given[-1] / members[0].name / "weights.safetensors"
    save_file({name: tensor[:1].clone() for name, tensor in load_file(path).items()}, path)
    with pytest.raises(RunError, match=f"{members[0].name} is not what a fit wrote") as raised:
        train_members(*given, device="cpu")
    assert "\n" not in str(raised.value)

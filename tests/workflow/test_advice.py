"""Advice on graphs small enough to see that it is good, and its scores against matrices written out."""

import numpy as np
import pytest

from graphmix import Graph, dual, synthetic
from graphmix.data.structure import Edges
from graphmix.errors import ConfigError, DataError
from graphmix.evaluation.heldout import HeldOut
from graphmix.workflow import advice, plan
from graphmix.workflow.advice import held_pair
from graphmix.workflow.next_labels import next_labels
from graphmix.workflow.suspects import suspect_labels
from small_tables import fit_tables, write_edges, write_nodes


def stars(*sizes):
    """Stars, one after the other: a middle and its leaves; all in one of two classes."""
    edges, middle = [], 0
    for size in sizes:
        edges += [(middle, middle + leaf) for leaf in range(1, size + 1)]
        middle += size + 1
    return Graph.build(np.ones((middle, 1)), np.array(edges).T, np.zeros(middle, dtype=int), num_classes=2)


def even(graph):
    return np.full((graph.num_nodes, graph.num_classes), 1 / graph.num_classes)


def none(graph):
    return np.zeros(graph.num_nodes, dtype=bool)


def test_middles_of_stars_come_first_and_each_star_once():
    graph = stars(8, 6, 4)
    nodes = [suggestion.node for suggestion in next_labels(graph, even(graph), none(graph), 3)]
    assert nodes == [0, 9, 16]
    # A label in the largest star leaves little to say there.
    labeled = none(graph)
    labeled[0] = True
    assert [suggestion.node for suggestion in next_labels(graph, even(graph), labeled, 2)] == [9, 16]


def test_where_the_network_is_sure_a_label_is_worth_less():
    graph = stars(8, 6, 4)
    probabilities = even(graph)
    probabilities[:9] = [0.999, 0.001]
    suggestions = next_labels(graph, probabilities, none(graph), 2)
    assert [suggestion.node for suggestion in suggestions] == [9, 16]
    assert suggestions[0].uncertainty == pytest.approx(1.0)


def test_only_candidates_are_suggested_and_no_more_than_there_are():
    graph = stars(8, 6, 4)
    leaves = none(graph)
    leaves[[3, 12]] = True
    assert [suggestion.node for suggestion in next_labels(graph, even(graph), none(graph), 9, leaves)] == [12, 3]
    assert next_labels(graph, even(graph), ~none(graph), 5) == []
    assert leaves.sum() == 2


def test_scores_are_those_of_the_formula():
    graph, split = synthetic(nodes=80, classes=3, features=10, labels_per_class=4, seed=3)
    probabilities = np.random.default_rng(0).dirichlet(np.ones(3), size=80)
    labeled = split.train[0].numpy().copy()
    joined = np.eye(80)
    joined[tuple(graph.edge_index.numpy())] = 1
    walk = joined / joined.sum(axis=1, keepdims=True)
    twice = walk @ walk
    entropy = -(probabilities * np.log(probabilities)).sum(axis=1) / np.log(3)
    suggestions = next_labels(graph, probabilities, labeled, 10)
    for suggestion in suggestions:
        left = np.exp(-10 * twice[:, labeled].sum(axis=1)) * ~labeled
        score = np.where(labeled, -1, twice.T @ (left * (1 + entropy) / 2))
        node = suggestion.node
        assert node == score.argmax()
        # The propagation matrix is float32.
        assert suggestion.score == pytest.approx(score.max(), rel=1e-5)
        assert suggestion.informs == pytest.approx(twice[:, node] @ left, rel=1e-5)
        assert suggestion.uncertainty == pytest.approx(entropy[node])
        assert suggestion.predicted == probabilities[node].argmax()
        labeled[node] = True
    scores = [suggestion.score for suggestion in suggestions]
    assert scores == sorted(scores, reverse=True)


def test_a_dual_graph_is_advised_on_like_its_listed_edges():
    rng = np.random.default_rng(5)
    graph = dual(rng.integers(12, size=(2, 30)), 12, np.arange(30) % 2)
    listed = graph.with_structure(Edges(graph.edge_index, 30))
    probabilities = rng.dirichlet(np.ones(2), size=30)
    ours, theirs = (next_labels(form, probabilities, np.arange(30) < 4, 5) for form in (graph, listed))
    assert [suggestion.node for suggestion in ours] == [suggestion.node for suggestion in theirs]
    assert [suggestion.reason for suggestion in ours] == [suggestion.reason for suggestion in theirs]
    # Without edges the most uncertain come first.
    alone = next_labels(graph.null(), probabilities, none(graph), 30)
    nearest = np.argsort(np.abs(probabilities[:, 0] - 0.5), kind="stable")
    assert [suggestion.node for suggestion in alone] == nearest.tolist()
    assert alone[0].reason.startswith("its label informs no other node")


def test_a_suggestion_says_why():
    # 0 in the middle of 1, 2 and 3, and 4 behind 3.
    edges = [[0, 0, 0, 3], [1, 2, 3, 4]]
    graph = Graph.build(np.ones((6, 1)), edges, [0, 1, 0, 1, 0, 0], class_names=["Theory", "AI"])
    probabilities = np.array([[0.45, 0.55], [0.6, 0.4], [0.6, 0.4], [0.9, 0.1], [0.9, 0.1], [0.9, 0.1]])
    labeled, middle = np.arange(6) == 1, np.arange(6) == 0
    [suggestion] = next_labels(graph, probabilities, labeled, 1, middle)
    # 2, 3 and 4 have no label; 2 is unsure, and 4 is three steps from 1.
    assert suggestion.reason == (
        "its label informs 3 nodes within two steps that have none; of these 1 is unsure (below 70%) and 1 has no "
        "other label within two steps; its own class is unsure (55% AI, 45% Theory)"
    )


def test_a_suggestion_that_is_certain_says_whom_it_helps_or_that_it_only_checks():
    graph = stars(3, 2)
    sure = np.array([[0.999, 0.001]] * 7)
    first, second, third = next_labels(graph, sure, none(graph), 3, thing="link")
    assert (first.node, second.node) == (0, 4)
    for suggestion, leaves in ((first, 3), (second, 2)):
        assert f"informs {leaves} links within two steps that have none" in suggestion.reason
        assert f"of these {leaves} have no other label within two steps" in suggestion.reason
        assert suggestion.reason.endswith("its own class seems clear (99% class 0)")
    # The rows before count as labeled: a leaf has nothing to add.
    assert "all of these are sure and have labels within two steps" in third.reason
    assert third.reason.endswith("so it would only check the model")


def test_a_suggestion_that_helps_only_itself_says_so():
    pair = Graph.build(np.ones((2, 1)), [[0], [1]], [0, 0], num_classes=2)
    unsure = np.array([[0.9, 0.1], [0.697, 0.303]])
    [suggestion] = next_labels(pair, unsure, np.array([True, False]), 1)
    assert suggestion.reason == (
        "its label informs no other node: none within two steps lacks one; its own class is unsure (69% class 0, 30% "
        "class 1), so it would settle its own class"
    )


def test_probabilities_that_are_no_numbers_are_uncertain():
    graph = stars(3, 3)
    probabilities = np.array([[0.9, 0.1]] * 8)
    probabilities[4] = np.nan
    assert next_labels(graph, probabilities, none(graph), 1)[0].node == 4


def test_wrong_arguments_are_named():
    graph = stars(3)
    with pytest.raises(DataError, match=r"must be \[4, 2\]"):
        next_labels(graph, np.ones((4, 3)), none(graph), 1)
    with pytest.raises(ConfigError, match="at least 1"):
        next_labels(graph, even(graph), none(graph), 0)
    with pytest.raises(ConfigError, match="at least 1"):
        suspect_labels(even(graph), even(graph), np.zeros(4, dtype=int), np.arange(4), 0)


def test_only_labels_that_both_networks_contradict_are_suspect():
    labels = np.array([0, 0, 0, 0, -1])
    gnn = np.array([[0.1, 0.9], [0.2, 0.8], [0.9, 0.1], [0.3, 0.7], [0.5, 0.5]])
    fcn = np.array([[0.3, 0.7], [0.6, 0.4], [0.1, 0.9], [0.05, 0.95], [0.5, 0.5]])
    found = suspect_labels(gnn, fcn, labels, np.arange(4), count=3)
    # Node 1 has the FCN on its side, node 2 the GNN; of equals the first.
    assert [suspect.node for suspect in found] == [0, 3]
    assert found[0].score == pytest.approx(0.7)
    assert (found[0].given, found[0].suggested) == (0, 1)
    assert (found[1].gnn_given, found[1].gnn_suggested) == (0.3, 0.7)
    assert (found[1].fcn_given, found[1].fcn_suggested) == (0.05, 0.95)
    assert [suspect.node for suspect in suspect_labels(gnn, fcn, labels, np.array([2, 3]), count=3)] == [3]
    assert len(suspect_labels(gnn, fcn, labels, np.arange(4), count=1)) == 1
    assert suspect_labels(gnn, fcn, labels, np.array([2]), count=3) == []


NAMES = ["AI", "Theory", "HCI"]


def star_of(*predicted):
    """Node 0 with label AI and neighbours predicted to be of these classes; both networks find it to be Theory."""
    count = len(predicted)
    edges = [[0] * count, list(range(1, count + 1))]
    graph = Graph.build(np.ones((count + 2, 1)), edges, [0] * (count + 2), num_classes=3, class_names=NAMES)
    gnn = np.array([[0.05, 0.9, 0.05], *(0.1 + 0.7 * np.eye(3)[list(predicted)]), [1.0, 0.0, 0.0]])
    fcn = np.array([[0.2, 0.35, 0.45], *gnn[1:]])
    return gnn, fcn, np.zeros(count + 2, dtype=int), np.array([0]), 5, graph


def test_a_suspect_says_why():
    networks = "held out, the GNN gives Theory 90% and AI 5%, its features alone Theory 35% and AI 20%"
    for predicted, said in (
        ((1, 1, 0), "2 of its 3 neighbours are predicted Theory, 1 AI"),
        ((1, 2), "1 of its 2 neighbours is predicted Theory, none AI"),
        ((2, 2), "its 2 neighbours are predicted to be of other classes"),
        ((2,), "its 1 neighbour is predicted to be of other classes"),
    ):
        [suspect] = suspect_labels(*star_of(*predicted))
        assert suspect.reason == f"{networks}; {said}"
    *rest, graph = star_of(1, 0)
    [bare] = suspect_labels(*rest)
    assert bare.reason.startswith("held out, the GNN gives class 1 90%")
    gnn, fcn, labels, _, count, graph = star_of(1, 1)
    labels[3] = 1
    [alone] = suspect_labels(gnn, fcn, labels, np.array([3]), count, graph)
    assert alone.reason.endswith("its features alone AI 100% and Theory 0%; it has no neighbours")
    # Nobody predicts HCI, so nobody can doubt it.
    labels[3] = 2
    assert not suspect_labels(gnn, fcn, labels, np.array([3]), count, graph)


def test_a_label_that_its_neighbours_support_is_not_suspect():
    assert suspect_labels(*star_of(0, 0, 0, 0, 0)) == []
    assert suspect_labels(*star_of(0, 0, 1)) == []
    assert len(suspect_labels(*star_of(0, 1))) == 1


def test_networks_that_contradict_a_label_differently_are_no_suspicion():
    # The GNN says 1, the FCN says 2, and each finds the given class likelier than what the other says.
    gnn = np.array([[0.3, 0.5, 0.2], [0.9, 0.1, 0.0]])
    fcn = np.array([[0.3, 0.2, 0.5], [0.9, 0.1, 0.0]])
    labels = np.zeros(2, dtype=int)
    assert suspect_labels(gnn, fcn, labels, np.arange(2), 5) == []
    # Class 1 is not the FCN's first, but likelier than the given one for both.
    [found] = suspect_labels(gnn, np.array([[0.2, 0.3, 0.5], [0.9, 0.1, 0.0]]), labels, np.arange(2), 5)
    assert found.suggested == 1
    assert found.gnn_suggested > found.gnn_given
    assert found.fcn_suggested > found.fcn_given


def test_probabilities_that_round_alike_are_told_apart():
    gnn = np.array([[0.496, 0.504], [0.9, 0.1]])
    [found] = suspect_labels(gnn, gnn, np.zeros(2, dtype=int), np.arange(1), 5)
    assert found.reason.startswith("a weak case: held out, the GNN gives class 1 50.40% and class 0 49.60%")
    # One and a half times as probable is no weak case; a probability of 0 breaks nothing.
    for more, weak in ((0.59, True), (0.61, False), (1.0, False)):
        gnn = np.array([[1 - more, more], [0.9, 0.1]])
        [found] = suspect_labels(gnn, gnn, np.zeros(2, dtype=int), np.arange(1), 5)
        assert found.reason.startswith("a weak case") is weak


def test_flipped_labels_of_a_graph_that_tells_its_classes_are_found():
    # Networks that are right nine times in ten, each with errors of its own.
    rng = np.random.default_rng(0)
    truth = rng.integers(4, size=200)
    given = truth.copy()
    given[:10] = (truth[:10] + 1) % 4

    def network():
        seen = np.where(rng.random(200) < 0.9, truth, rng.integers(4, size=200))
        return 0.1 + 0.6 * np.eye(4)[seen]

    gnn, fcn = network(), network()
    named = [suspect.node for suspect in suspect_labels(gnn, fcn, given, np.arange(200), 10)]
    seen = [node for node in range(10) if gnn[node].argmax() == fcn[node].argmax() == truth[node]]
    assert len(seen) >= 6
    assert set(named) == set(seen)


def test_with_weights_what_a_node_informs_is_what_two_weighted_steps_carry():
    edges, weights = [[0, 1, 2, 3], [1, 2, 3, 4]], [5.0, 1.0, 2.0, 0.5]
    graph = Graph.build(np.ones((5, 1)), edges, [0, 1, 0, 1, 0], 2, weights=weights)
    adjacency = np.eye(5)
    for (source, target), weight in zip(np.array(edges).T, weights, strict=True):
        adjacency[source, target] = adjacency[target, source] = weight
    walk = adjacency / adjacency.sum(axis=1, keepdims=True)
    labeled = np.array([True, False, False, False, False])
    told = (walk @ walk)[:, 0]
    left = np.exp(-10 * told) * ~labeled
    even = np.full((5, 2), 0.5)
    (first,) = next_labels(graph, even, labeled, 1)
    expected = left @ (walk @ walk)
    assert first.node == int(np.where(labeled, -1, expected).argmax())
    assert first.informs == pytest.approx(expected[first.node], rel=1e-5)


def test_the_networks_that_judge_labels_do_not_depend_on_the_order_of_a_file():
    def right(share):
        return HeldOut(np.arange(4), np.zeros(4, dtype=int), np.full((4, 2), 0.5), np.arange(4) < 4 * share)

    held = {"graphmix-steady-sage": right(0.75), "graphmix-steady-sage-fcn": right(0.25), "fcn": right(1)}
    held |= {"graphmix-steady-gpr": right(0.75), "graphmix-steady-gpr-fcn": right(0.5), "supervised-gpr": right(1)}
    for names in (list(held), list(held)[::-1]):
        gnn, fcn = held_pair({name: held[name] for name in names})
        # Equals: the first by name.
        assert gnn is held["graphmix-steady-gpr"]
        assert fcn is held["graphmix-steady-gpr-fcn"]
    held["graphmix-steady-sage"] = right(1)
    assert held_pair(held) == (held["graphmix-steady-sage"], held["graphmix-steady-sage-fcn"])
    alone = {"supervised-sage": right(0.5), "supervised-gpr": right(0.25), "fcn": right(0)}
    assert held_pair(alone) == (alone["supervised-sage"], alone["fcn"])
    assert held_pair({"supervised-gpr": right(1)}) is None


def test_folds_of_a_very_large_graph_are_held_out_in_parts(tmp_path, monkeypatch):
    tables = write_nodes(tmp_path / "n.csv"), write_edges(tmp_path / "e.csv")
    model = fit_tables(tmp_path, *tables, methods=("label-propagation",))

    def hold_out(candidate, *_, **__):
        raise DataError(f"{candidate.config.batch_nodes} nodes")

    monkeypatch.setattr(advice, "hold_out", hold_out)
    monkeypatch.setattr(plan, "MANY_PROPAGATED", 0)
    with pytest.raises(DataError, match="1024 nodes"):
        model.advise(2, device="cpu")

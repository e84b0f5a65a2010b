import numpy as np
import torch

from graphmix import Graph
from graphmix.baselines.contexts import Classes, Walks, graph_pairs
from graphmix.streams import Purpose, Streams
from graphmix.training.task import Picks


def noise(*seeds):
    return Streams.from_seeds(seeds).at(Purpose.UNLABELED_SUBSET)


def test_walks_follow_edges_and_stay_where_there_are_none():
    graph = Graph.build(np.eye(4), [[0, 1], [1, 2]], [0, 1, 0, 1])
    paths = Walks.of(graph).draw(noise(0, 1), 100, 6)
    assert paths.shape == (2, 100, 7)
    steps = set(zip(paths[:, :, :-1].flatten().tolist(), paths[:, :, 1:].flatten().tolist(), strict=True))
    assert steps == {(0, 1), (1, 0), (1, 2), (2, 1), (3, 3)}
    # Both neighbours of node 1 are equally likely, and so are the four starts.
    after = paths[:, :, 1:][paths[:, :, :-1] == 1]
    assert 0.4 < (after == 0).float().mean() < 0.6
    assert (paths[:, :, 0].flatten().bincount(minlength=4) > 30).all()


def test_pairs_within_the_window_are_found_both_ways():
    paths = torch.tensor([[[5, 6, 7, 8]]])
    pairs = graph_pairs(paths, 2, noise(0), nodes=3, positive=5 / 6)
    good = pairs.sign[0] == 1
    found = sorted(zip(pairs.node[0, good].tolist(), pairs.context[0, good].tolist(), strict=True))
    near = [(5, 6), (5, 7), (6, 7), (6, 8), (7, 8)]
    assert found == sorted(near + [(second, first) for first, second in near])
    # Ten positive pairs in a share of 5/6, so two negative ones, with any of the three nodes.
    assert (pairs.sign[0] == -1).sum() == 2
    assert (pairs.context[0, ~good] < 3).all()


def test_labeled_nodes_meet_their_own_class_and_another():
    y = torch.tensor([2, 0, 1, 0, 2, 0, 1, 0])
    masks = torch.tensor([[1, 1, 1, 1, 1, 0, 0, 0], [0, 1, 0, 1, 1, 0, 0, 0]]).bool()
    classes = Classes.of(Picks.build(masks, y), 3)
    assert classes.count.tolist() == [[2, 1, 2], [2, 0, 1]]
    pairs = classes.draw(noise(0, 1), 200)
    for trial in range(2):
        same = pairs.sign[trial] == 1
        node, context = pairs.node[trial], pairs.context[trial]
        assert same.sum() == (pairs.sign[trial] == -1).sum() == 200
        assert torch.equal(y[node] == y[context], same)
        labeled = set(masks[trial].nonzero()[:, 0].tolist())
        assert set(node.tolist()) == set(context[same].tolist()) == set(context[~same].tolist()) == labeled


def test_with_one_class_negative_pairs_do_not_count():
    classes = Classes.of(Picks.build(torch.tensor([[True, True, False]]), torch.tensor([1, 1, 0])), 2)
    assert classes.draw(noise(0), 3).sign.tolist() == [[1, 1, 1, 0, 0, 0]]


def test_pairs_of_a_trial_depend_on_its_seed_alone():
    y = torch.tensor([0, 1, 0, 1])
    classes = Classes.of(Picks.build(torch.tensor([[True] * 4]), y), 2)
    both, alone = classes.draw(noise(3, 4), 20), classes.draw(noise(4), 20)
    assert torch.equal(both.node[1], alone.node[0])
    assert torch.equal(both.context[1], alone.context[0])

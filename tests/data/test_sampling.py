"""Drawing neighbours: by hand, against scipy, and by counting."""

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from graphmix import Graph, Streams, synthetic
from graphmix.data.parts import PartEdges, induced, rows_of, sample, surroundings
from graphmix.data.sampling import Adjacency, draw_distinct, shuffled
from graphmix.sparse import SparseMatrix
from graphmix.streams import Purpose

# 0 is joined to 1, 2, 3 and 4, and 4 to 5.
STAR = [[0, 0, 0, 0, 4], [1, 2, 3, 4, 5]]


def star(**options):
    return Graph.build(torch.eye(6), STAR, [0, 1, 0, 1, 0, 1], **options)


def noise(epoch=0, seed=0):
    return Streams.from_seeds([seed]).at(Purpose.PARTS, epoch)


def dense_part(part, name):
    return getattr(part.edges, name).to_dense()


def large(nodes=400, seed=3):
    return synthetic(nodes=nodes, features=30, seed=seed)[0]


def test_the_neighbours_of_a_star_by_hand():
    adjacency = Adjacency.of(star())
    assert adjacency.crow.tolist() == [0, 4, 5, 6, 7, 9, 10]
    place, entry = adjacency.all_of(torch.tensor([4, 1]))
    assert place.tolist() == [0, 0, 1]
    assert adjacency.col[entry].tolist() == [0, 5, 0]
    assert adjacency.strengths.tolist() == [4, 1, 1, 1, 2, 1]


def test_every_set_of_distinct_numbers_is_equally_likely():
    drawn = draw_distinct(torch.full((12_000,), 5), 3, noise()).sort(dim=1).values
    assert drawn.min() == 0
    assert drawn.max() == 4
    assert (drawn.diff(dim=1) > 0).all(), "no number twice"
    sets, counts = drawn.unique(dim=0, return_counts=True)
    assert len(sets) == 10
    # 1,200 of each are expected, with a deviation of 33.
    assert (counts - 1200).abs().max() < 5 * 33


def test_counts_may_differ_from_row_to_row():
    drawn = draw_distinct(torch.tensor([2, 3, 100]), 2, noise())
    assert sorted(drawn[0].tolist()) == [0, 1]
    assert drawn[1].max() < 3
    assert drawn[2].max() < 100
    assert draw_distinct(torch.empty(0, dtype=torch.int64), 2, noise()).shape == (0, 2)


@pytest.mark.parametrize("fanout", [1, 3, 7])
def test_each_node_draws_its_own_neighbours_and_as_many_as_it_can(fanout):
    graph = large()
    adjacency = Adjacency.of(graph)
    nodes = torch.arange(0, 400, 3)
    place, entry = adjacency.some_of(nodes, fanout, noise())
    assert len(entry.unique()) == len(entry)
    degrees = torch.from_numpy(graph.structure.degrees)[nodes]
    assert torch.equal(torch.bincount(place, minlength=len(nodes)), degrees.clamp_max(fanout))
    pairs = set(zip(*graph.edge_index.tolist(), strict=True))
    assert all(pair in pairs for pair in zip(nodes[place].tolist(), adjacency.col[entry].tolist(), strict=True))


def test_every_neighbour_is_drawn_equally_often():
    adjacency = Adjacency.of(star())
    drawn = [adjacency.col[adjacency.some_of(torch.tensor([0]), 2, noise(epoch))[1]] for epoch in range(2000)]
    counts = torch.bincount(torch.cat(drawn), minlength=6)
    assert counts.sum() == 4000
    assert (counts[1:5] - 1000).abs().max() < 5 * 22.4
    assert counts[0] == counts[5] == 0


def test_the_same_seed_and_epoch_give_the_same_sample_and_others_another():
    adjacency, seeds = Adjacency.of(large()), torch.arange(0, 400, 10)
    first, again, later, other = (
        sample(adjacency, seeds, (3, 2), noise(*key)) for key in ((5, 1), (5, 1), (6, 1), (5, 2))
    )
    assert torch.equal(first.nodes, again.nodes)
    assert torch.equal(first.edges.edge_index, again.edges.edge_index)
    for each in (later, other):
        assert not torch.equal(first.nodes, each.nodes)


def test_a_fanout_as_large_as_the_degrees_gives_the_whole_neighbourhood():
    graph = large()
    seeds = torch.tensor([3, 50, 211])
    part = sample(Adjacency.of(graph), seeds, (400, 400), noise())
    joined = graph.propagation.to_scipy()
    near = np.unique(joined[seeds.numpy()].indices)
    far = np.unique(joined[near].indices)
    assert part.nodes.tolist() == far.tolist()
    whole = torch.from_numpy(joined[far][:, far].toarray())
    inner = part.places(torch.from_numpy(near).long())
    assert_close(dense_part(part, "propagation")[inner], whole[inner])


def test_the_nodes_of_the_last_hop_read_only_themselves():
    part = sample(Adjacency.of(star()), torch.tensor([1]), (4,), noise())
    assert part.nodes.tolist() == [0, 1]
    # 1 / sqrt(5 · 2) and 1 / 2 for node 1, 1 / 5 for node 0.
    assert_close(dense_part(part, "propagation"), torch.tensor([[0.2, 0.0], [10**-0.5, 0.5]]))


def test_a_node_draws_once_however_often_it_is_reached():
    part = sample(Adjacency.of(star()), torch.tensor([0, 4]), (1, 1, 1), noise())
    assert torch.bincount(part.edges.edge_index[0]).max() == 1


@pytest.mark.parametrize("weights", [None, [1.0, 2.0, 3.0, 4.0, 5.0]])
@pytest.mark.parametrize("name", ["propagation", "neighbour_mean", "normalised_adjacency"])
def test_with_all_neighbours_the_rows_are_those_of_the_whole(name, weights):
    graph = star(weights=weights)
    part = surroundings(Adjacency.of(graph), torch.tensor([4, 1]))
    assert part.nodes.tolist() == [0, 1, 4, 5]
    whole = getattr(graph, name).to_dense()[part.nodes][:, part.nodes]
    assert_close(dense_part(part, name)[[1, 2]], whole[[1, 2]])


@pytest.mark.parametrize("name", ["propagation", "neighbour_mean", "normalised_adjacency"])
def test_surroundings_of_many_nodes_are_sorted_rows_of_the_whole(name):
    graph = large()
    seeds = torch.randperm(400, generator=torch.Generator().manual_seed(0))[:60]
    part = surroundings(Adjacency.of(graph), seeds)
    places = part.places(seeds)
    assert torch.equal(part.nodes[places], seeds)
    whole = getattr(graph, name).to_dense()[seeds][:, part.nodes]
    assert_close(dense_part(part, name)[places], whole)
    matrix = getattr(part.edges, name)
    row = torch.arange(len(part.nodes)).repeat_interleave(matrix.crow.diff())
    assert (row * 1000 + matrix.col).diff().min() > 0, "sorted by row, and then by column, each once"


def test_drawn_neighbours_stand_for_the_others_so_that_the_mean_is_the_row_of_the_whole():
    graph = star()
    adjacency = Adjacency.of(graph)
    totals = {name: torch.zeros(6) for name in ("propagation", "neighbour_mean", "normalised_adjacency")}
    for epoch in range(3000):
        part = sample(adjacency, torch.tensor([0]), (2,), noise(epoch))
        for name, total in totals.items():
            total[part.nodes] += dense_part(part, name)[0]
    for name, total in totals.items():
        assert_close(total / 3000, getattr(graph, name).to_dense()[0], rtol=0.1, atol=0, msg=name)


def test_induced_edges_by_hand_and_rows_are_raised_to_their_sum_in_the_whole():
    part = induced(Adjacency.of(star()), torch.tensor([0, 1, 2, 5]))
    assert part.edges.edge_index.tolist() == [[0, 0, 1, 2], [1, 2, 0, 0]]
    # Node 0 has 2 of its 4 neighbours; node 5 has none, and keeps its own entry.
    expected = torch.zeros(4, 4)
    expected[0, 1] = expected[0, 2] = 2 * 10**-0.5
    expected[1, 0] = expected[2, 0] = 10**-0.5
    expected += torch.diag(torch.tensor([0.2, 0.5, 0.5, 0.5]))
    assert_close(dense_part(part, "propagation"), expected)


def test_a_part_is_a_graph_with_its_own_rows():
    graph = star()
    part = surroundings(Adjacency.of(graph), torch.tensor([5]))
    own = part.of(graph)
    assert own.num_nodes == 2
    assert own.num_edges == 1, "one entry is an edge"
    assert own.y.tolist() == [0, 1]
    assert own.null().num_edges == 0
    assert isinstance(own.to("cpu").structure, PartEdges)


def test_rows_of_sparse_dense_and_memory_mapped_features_are_the_same(tmp_path):
    graph = large()
    assert isinstance(graph.x, SparseMatrix)
    rows = torch.tensor([7, 0, 399, 7])
    picked = rows_of(graph.x, rows)
    assert isinstance(picked, SparseMatrix)
    dense = graph.x.to_dense()
    assert torch.equal(picked.to_dense(), dense[rows])
    dense.numpy().tofile(tmp_path / "x.bin")
    mapped = torch.from_numpy(np.memmap(tmp_path / "x.bin", np.float32, "r+", shape=(400, 30)))
    assert torch.equal(rows_of(mapped, rows), dense[rows])


def test_an_order_is_a_permutation_by_seed_and_epoch():
    first = shuffled(1000, noise(1))
    assert sorted(first.tolist()) == list(range(1000))
    assert torch.equal(first, shuffled(1000, noise(1)))
    assert not torch.equal(first, shuffled(1000, noise(2)))


@pytest.mark.gpu
def test_a_gpu_draws_the_same_sample():
    graph, seeds = large(), torch.arange(0, 400, 10)
    here = sample(Adjacency.of(graph), seeds, (3, 2), noise())
    streams = Streams.from_seeds([0], "cuda")
    there = sample(Adjacency.of(graph.to("cuda")), seeds.cuda(), (3, 2), streams.at(Purpose.PARTS, 0))
    assert torch.equal(here.nodes, there.nodes.cpu())
    assert torch.equal(here.edges.edge_index, there.edges.edge_index.cpu())

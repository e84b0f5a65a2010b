"""Counts by hand on a list of edges, a dual graph against its listed edges, and both through a file and back."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from graphmix.data.dual_graph import SharedEnds
from graphmix.data.packed import unpack_structure
from graphmix.data.structure import Edges
from graphmix.errors import DataError

# A triangle 0-1-2 with a tail 2-3, and node 4 alone.
TRIANGLE = Edges.build([[0, 1, 2, 2], [1, 2, 0, 3]], 5)
WEIGHTED = Edges.build([[0, 1, 2, 2], [1, 2, 0, 3]], 5, [1.0, 2.0, 3.0, 0.5])


def test_a_list_of_edges_by_hand():
    assert TRIANGLE.degrees.tolist() == [2, 2, 3, 1, 0]
    assert TRIANGLE.strengths.tolist() == [2.0, 2.0, 3.0, 1.0, 0.0]
    assert WEIGHTED.degrees.tolist() == [2, 2, 3, 1, 0]
    assert WEIGHTED.strengths.tolist() == [4.0, 3.0, 5.5, 0.5, 0.0]
    assert TRIANGLE.neighbours_of(2).tolist() == [0, 1, 3]
    assert TRIANGLE.neighbours_of(4).tolist() == []
    assert TRIANGLE.with_neighbours(np.arange(5) == 3).tolist() == [False, False, True, True, False]
    assert TRIANGLE.with_neighbours(np.arange(5) == 4).tolist() == [False, False, False, False, True]
    assert TRIANGLE.count_components() == 2


def test_edges_between_labeled_nodes_by_hand():
    # Of 0-1, 0-2, 1-2 and 2-3, the last has an end that is not counted.
    counts = TRIANGLE.edges_between(np.arange(5) < 3, np.array([0, 0, 1, -1, -1]), 3)
    assert (counts.edges, counts.same, counts.ends.tolist()) == (3, 1, [4, 2, 0])


@pytest.mark.parametrize("empty", [Edges.none(3, torch.device("cpu")), Edges.build([[0], [1]], 3, [0.0])])
def test_no_edges(empty):
    assert empty.degrees.tolist() == empty.strengths.tolist() == [0, 0, 0]
    assert empty.strengths.dtype == np.float64
    assert empty.count_components() == 3
    assert empty.edges_between(np.ones(3, bool), np.zeros(3, int), 2).ends.tolist() == [0, 0]


@given(st.integers(0, 10_000), st.integers(1, 12), st.integers(1, 5))
def test_a_dual_graph_is_counted_as_if_its_edges_were_listed(seed, links, users):
    rng = np.random.default_rng(seed)
    shared = SharedEnds(torch.from_numpy(rng.integers(users, size=(2, links))))
    listed = Edges(shared.edge_index, links)
    labels, mask = rng.integers(3, size=links), rng.random(links) < 0.6
    assert shared.num_edges == listed.num_edges
    assert shared.degrees.tolist() == listed.degrees.tolist()
    assert shared.strengths.tolist() == listed.strengths.tolist()
    assert (shared.with_neighbours(mask) == listed.with_neighbours(mask)).all()
    assert shared.count_components() == listed.count_components()
    ours, theirs = (form.edges_between(mask, labels, 3) for form in (shared, listed))
    assert (ours.edges, ours.same, ours.ends.tolist()) == (theirs.edges, theirs.same, theirs.ends.tolist())
    for node in range(links):
        assert shared.neighbours_of(node).tolist() == listed.neighbours_of(node).tolist()


@pytest.mark.parametrize("form", [TRIANGLE, WEIGHTED, SharedEnds(torch.tensor([[0, 1, 4, 4, 2], [1, 0, 1, 4, 3]]))])
def test_a_structure_comes_back(form):
    back = unpack_structure(form.packed() | {"y": torch.zeros(5)}, 5)
    assert type(back) is type(form)
    assert len(back.tensors) == len(form.tensors)
    assert all(map(torch.equal, back.tensors, form.tensors))


ENDS = torch.tensor([[0, 1], [1, 2]])


@pytest.mark.parametrize(
    "packed",
    [
        {},
        {"ends": ENDS, "edges": ENDS},
        {"edges": torch.tensor([[0], [2]])},
        {"edges": ENDS[:, :1], "weights": torch.tensor([-1.0])},
        {"ends": ENDS[:, :1]},
        {"ends": -ENDS},
        {"ends": ENDS.float()},
    ],
    ids=["none", "two forms", "edge beyond", "weight below 0", "too few ends", "end below 0", "ends that are floats"],
)
def test_a_damaged_structure_is_refused(packed):
    with pytest.raises(DataError):
        unpack_structure(packed, 2)

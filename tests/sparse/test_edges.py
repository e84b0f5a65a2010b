"""Sums and comparisons along edges against dense formulas, values and gradients."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch.testing import assert_close

from graphmix import ConfigError
from graphmix.sparse import Neighbours, SparseMatrix, at_edges, attend_by, compare, weigh
from graphmix.sparse.ops import unpack
from graphmix.streams import Purpose, Streams

BLOCKS, NODES, HEADS, WIDTH = 3, 9, 2, 4
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]


def some(device="cpu", *, full=False):
    """Edges in both directions or in one; row 4 is empty unless every node is its own neighbour."""
    rng = np.random.default_rng(0)
    dense = rng.random((NODES, NODES)) < 0.3
    dense[4] = False
    dense = dense | np.eye(NODES, dtype=bool) if full else dense
    return Neighbours(SparseMatrix.from_scipy(sp.csr_array(dense.astype(float))).to(device))


def ends(neighbours):
    row, col = neighbours.matrix.to_scipy().tocoo().coords
    return torch.from_numpy(np.asarray(row)).long(), torch.from_numpy(np.asarray(col)).long()


def drawn(*shape, device="cpu", seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(device).requires_grad_()


def same(ours, theirs, inputs):
    """The values agree, and so do the gradients of some weighted sum."""
    assert_close(ours.cpu(), theirs.cpu(), rtol=1e-4, atol=1e-5)
    upstream = torch.randn(ours.shape, generator=torch.Generator().manual_seed(9)).to(ours.device)
    for one, two in zip(
        torch.autograd.grad((ours * upstream).sum(), inputs),
        torch.autograd.grad((theirs * upstream).sum(), inputs),
        strict=True,
    ):
        assert_close(one, two, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("device", DEVICES)
def test_weigh(device):
    neighbours = some(device)
    row, col = (end.to(device) for end in ends(neighbours))
    weights = drawn(BLOCKS, len(row), HEADS, device=device)
    values = drawn(BLOCKS, NODES, HEADS, WIDTH, device=device, seed=1)
    sent = weights[..., None] * values[:, col]
    theirs = torch.zeros_like(values).index_add(1, row, sent)
    ours = weigh(neighbours, weights, values)
    same(ours, theirs, (weights, values))
    assert torch.equal(ours[:, 4], torch.zeros_like(ours[:, 4]))


@pytest.mark.parametrize("device", DEVICES)
def test_compare(device):
    neighbours = some(device)
    row, col = (end.to(device) for end in ends(neighbours))
    left, right = (drawn(BLOCKS, NODES, HEADS, WIDTH, device=device, seed=seed) for seed in (0, 1))
    same(compare(neighbours, left, right), (left[:, row] * right[:, col]).sum(-1), (left, right))


@pytest.mark.parametrize("device", DEVICES)
def test_at_edges(device):
    neighbours = some(device)
    row, col = (end.to(device) for end in ends(neighbours))
    target, source = (drawn(BLOCKS, NODES, WIDTH, device=device, seed=seed) for seed in (0, 1))
    same(at_edges(neighbours, target, source), target[:, row] + source[:, col], (target, source))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("rate", [0.0, 0.4])
def test_attend_by(device, rate):
    neighbours = some(device, full=True)
    row, col = (end.to(device) for end in ends(neighbours))
    scores = drawn(BLOCKS, len(row), HEADS, device=device)
    values = drawn(BLOCKS, NODES, HEADS, WIDTH, device=device, seed=1)
    keep, factor = None, torch.ones_like(scores)
    if rate:
        keep = Streams.from_seeds(range(BLOCKS), device).at(Purpose.GNN_DROPOUT).keep(len(row) * HEADS, rate)
        factor = (unpack(keep.words, len(row) * HEADS) * keep.scale).view(scores.shape)
    table = torch.full((BLOCKS, NODES, NODES, HEADS), -torch.inf, device=device)
    table = table.index_put((torch.arange(BLOCKS)[:, None], row.cpu()[None], col.cpu()[None]), scores)
    shares = table.softmax(2)[:, row, col] * factor
    theirs = torch.zeros_like(values).index_add(1, row, shares[..., None] * values[:, col])
    same(attend_by(neighbours, scores, values, keep), theirs, (scores, values))


def test_scores_of_any_size_leave_numbers():
    neighbours = some(full=True)
    scores = (1e4 * torch.randn(BLOCKS, neighbours.matrix.nonzeros, HEADS)).requires_grad_()
    out = attend_by(neighbours, scores, torch.randn(BLOCKS, NODES, HEADS, WIDTH))
    out.sum().backward()
    assert out.isfinite().all()
    assert scores.grad.isfinite().all()


def test_a_block_has_the_same_bits_alone():
    neighbours = some(full=True)
    edges = neighbours.matrix.nonzeros
    weights, values = torch.randn(BLOCKS, edges, 1), torch.randn(BLOCKS, NODES, 1, 7)
    for block in range(BLOCKS):
        alone = weights[block : block + 1], values[block : block + 1]
        assert torch.equal(weigh(neighbours, weights, values)[block], weigh(neighbours, *alone)[0])
        assert torch.equal(attend_by(neighbours, weights, values)[block], attend_by(neighbours, *alone)[0])


def test_too_many_heads_are_refused():
    neighbours = some()
    with pytest.raises(ConfigError, match="attention heads"):
        weigh(
            neighbours, torch.empty(1, 1, 1).expand(1, neighbours.matrix.nonzeros, 2**31), torch.empty(1, NODES, 1, 1)
        )

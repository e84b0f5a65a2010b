"""The native products against plain torch, with the same dropout bits."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from graphmix.sparse import SparseMatrix, dropout_matmul, matmul, ops, per_trial
from graphmix.streams import Keep, Purpose, Streams

numba = pytest.importorskip("numba")
numba_kernels = pytest.importorskip("graphmix.sparse.numba_kernels")
numba_ops = pytest.importorskip("graphmix.sparse.numba_ops")

SHAPES = {
    "shape": st.tuples(st.integers(1, 40), st.integers(1, 150)),
    "density": st.sampled_from([0.0, 0.1, 0.9]),
    "trials": st.integers(1, 3),
    "copies": st.integers(1, 3),
    # Below, at and above whole vectors of 8, 16 and 32.
    "width": st.sampled_from([1, 3, 7, 8, 9, 15, 16, 17, 24, 31, 32, 40, 61]),
    "seed": st.integers(0, 1000),
}


@pytest.fixture
def plain(monkeypatch):
    """Turn the native kernels off."""
    return lambda: monkeypatch.setattr(ops, "native", lambda name: None)


def whole_numbers(*shape, seed):
    # Sums of small whole numbers have no rounding: any order gives the same float.
    return torch.randint(-4, 5, shape, generator=torch.Generator().manual_seed(seed)).float()


def matrix_of(shape, density, seed):
    rng = np.random.default_rng(seed)
    return SparseMatrix.from_scipy(
        sp.random(*shape, density=density, random_state=rng, data_rvs=lambda n: rng.integers(1, 5, n))
    )


def keep_of(matrix, trials, copies, seed):
    return Streams.from_seeds(range(trials)).copies(0, copies).at(Purpose.GNN_DROPOUT, seed).keep(matrix.nonzeros, 0.5)


@given(**SHAPES)
def test_products_are_those_of_plain_torch(shape, density, trials, copies, width, seed):
    matrix = matrix_of(shape, density, seed)
    dense = whole_numbers(trials, shape[1], width, seed=seed)
    assert torch.equal(numba_ops.product(matrix, dense), matrix.to_dense() @ dense)
    keep = keep_of(matrix, trials, copies, seed)
    values = ops.unpack(keep.words, matrix.nonzeros) * (matrix.values * keep.scale)
    assert torch.equal(numba_ops.product(matrix, dense, keep.words, keep.scale), ops._bag(matrix, values, dense))


@given(**SHAPES)
def test_transposed_products_are_those_of_plain_torch(shape, density, trials, copies, width, seed):
    matrix = matrix_of(shape, density, seed)
    grad = whole_numbers(trials * copies, shape[0], width, seed=seed)
    assert torch.equal(numba_ops.transposed_product(matrix, grad), matrix.to_dense().T @ grad)
    keep = keep_of(matrix, trials, copies, seed)
    # Small enough a matrix for `ops` not to take the native path.
    expected = ops._dropout_transposed(matrix, keep.words, keep.scale, grad)
    assert torch.equal(numba_ops.transposed_product(matrix, grad, keep.words, keep.scale), expected)


@given(
    nodes=st.sampled_from([1, 7, 40, 1100]),
    powers=st.integers(1, 4),
    **{name: SHAPES[name] for name in ("trials", "width", "seed")},
)
def test_sums_of_powers_are_those_of_plain_products(nodes, powers, trials, width, seed):
    matrix = matrix_of((nodes, nodes), min(0.5, 2 / nodes), seed)
    weights = whole_numbers(trials, powers, seed=seed)
    dense, other = (whole_numbers(trials, nodes, width, seed=seed + more) for more in (1, 2))
    hops = [dense]
    while len(hops) < powers:
        hops.append(matmul(matrix, hops[-1]))
    together = torch.stack(hops, dim=1).double()
    expected = (weights[..., None, None].double() * together).sum(dim=1)
    agreed = (together * other[:, None].double()).flatten(2).sum(dim=2)
    summed, products = numba_ops.sum_of_powers(matrix, weights, dense, other)
    # Powers of whole numbers may outgrow a float's digits.
    size = expected.abs().max().item()
    assert_close(summed.double(), expected, rtol=1e-5, atol=1e-6 * size)
    assert_close(products.double(), agreed, rtol=1e-5, atol=1e-6 * agreed.abs().max().item() + 1e-5 * size)
    alone, none = numba_ops.sum_of_powers(matrix, weights, dense)
    assert torch.equal(alone, summed)
    assert none is None


@pytest.mark.parametrize("width", [3, 7, 16, 32, 40])
def test_sums_of_powers_of_a_trial_in_a_batch_are_those_of_the_trial_alone(width):
    matrix = SparseMatrix.from_scipy(sp.random(2100, 2100, density=0.004, random_state=0))
    draw = torch.Generator().manual_seed(0)
    weights = torch.randn(5, 6, generator=draw)
    dense, other = (torch.randn(5, 2100, width, generator=draw) for _ in range(2))
    together = numba_ops.sum_of_powers(matrix, weights, dense, other)
    for trial in range(5):
        own = (each[trial : trial + 1] for each in (weights, dense, other))
        for one, all_trials in zip(numba_ops.sum_of_powers(matrix, *own), together, strict=True):
            assert torch.equal(one[0], all_trials[trial])


def test_narrower_vectors_give_the_same_sums_of_powers(monkeypatch):
    matrix = SparseMatrix.from_scipy(sp.random(300, 300, density=0.1, random_state=0))
    draw = torch.Generator().manual_seed(0)
    weights, dense = torch.randn(2, 4, generator=draw), torch.randn(2, 300, 35, generator=draw)
    wide, _ = numba_ops.sum_of_powers(matrix, weights, dense)
    monkeypatch.setattr(numba_ops, "_LARGE", 300)
    assert torch.equal(numba_ops.sum_of_powers(matrix, weights, dense)[0], wide)


@given(**{name: SHAPES[name] for name in ("trials", "copies", "width", "seed")}, rows=st.integers(1, 9))
def test_weights_per_trial(trials, copies, rows, width, seed):
    values = whole_numbers(trials * copies, rows, 5, seed=seed)
    weight = whole_numbers(trials, 5, width, seed=seed + 1)
    expected = values @ weight.repeat_interleave(copies, dim=0)
    assert torch.equal(numba_ops.per_trial(values, weight), expected)
    summed = (values.mT @ expected).unflatten(0, (trials, copies)).sum(dim=1)
    assert torch.equal(numba_ops.per_trial_weights(values, expected, weight.shape), summed)


@given(**SHAPES, hidden=st.sampled_from([1, 8, 13, 16, 33]), bias=st.booleans(), masked=st.booleans())
def test_two_layers_in_one_pass(shape, density, trials, copies, width, seed, hidden, bias, masked):
    x, graph = matrix_of(shape, density, seed), matrix_of((shape[0], shape[0]), 0.3, seed + 1)
    sizes = (shape[1], hidden, width)
    weights = [whole_numbers(trials, *pair, seed=seed + 2) for pair in pairwise(sizes)]
    biases = [whole_numbers(trials, 1, size, seed=seed + 3) if bias else None for size in sizes[1:]]
    copies = copies if masked else 1
    keep = keep_of(x, trials, copies, seed) if masked else Keep(torch.full((trials, x.nonzeros // 64 + 1), -1), 1.0)
    mapped = numba_ops.product(x, weights[0], keep.words, keep.scale)
    first, second = (0 if b is None else b.repeat_interleave(copies, dim=0) for b in biases)
    state = (numba_ops.product(graph, mapped) + first).relu()
    expected = numba_ops.product(graph, numba_ops.per_trial(state, weights[1])) + second
    layers = tuple(zip(weights, biases, strict=True))
    got = numba_ops.two_layers(x, graph, layers, keep.words if masked else None, keep.scale)
    # Two products of whole numbers may outgrow a float's digits.
    assert_close(got, expected, rtol=1e-5, atol=1e-5)


def test_results_with_and_without_numba_agree_but_for_rounding(plain):
    matrix = SparseMatrix.from_scipy(sp.random(300, 200, density=0.3, random_state=0))
    keep = keep_of(matrix, 2, 3, 0)

    def results():
        dense = torch.randn(2, 200, 16, generator=torch.Generator().manual_seed(0), requires_grad=True)
        weight = torch.randn(2, 16, 7, generator=torch.Generator().manual_seed(1), requires_grad=True)
        out = per_trial(dropout_matmul(matrix, keep, dense), weight)
        (out.square().sum() + matmul(matrix, dense).square().sum()).backward()
        return out, dense.grad, weight.grad

    fast = results()
    plain()
    for one, other in zip(fast, results(), strict=True):
        assert_close(one, other, rtol=1e-4, atol=1e-3)


def test_a_trial_in_a_batch_is_the_trial_alone():
    matrix = SparseMatrix.from_scipy(sp.random(300, 200, density=0.3, random_state=0))
    keep, dense = keep_of(matrix, 5, 2, 0), torch.randn(5, 200, 7)
    together, alone = numba_ops.product(matrix, dense, keep.words, keep.scale), slice(6, 8)
    assert torch.equal(together[alone], numba_ops.product(matrix, dense[3:4], keep.words[alone], keep.scale))
    back = numba_ops.transposed_product(matrix, together, keep.words, keep.scale)
    assert torch.equal(back[6], numba_ops.transposed_product(matrix, together[6:7], keep.words[6:7], keep.scale)[0])
    weight = torch.randn(5, 7, 3)
    assert torch.equal(numba_ops.per_trial(together, weight)[alone], numba_ops.per_trial(together[alone], weight[3:4]))


def test_what_is_not_finite_stays_so():
    matrix = SparseMatrix.from_scipy(sp.eye(8))
    layers = ((torch.full((1, 8, 4), torch.nan), None), (torch.ones(1, 4, 2), None))
    assert numba_ops.two_layers(matrix, matrix, layers, None).isnan().all()


def test_a_folder_that_cannot_be_written_needs_no_cache(monkeypatch):
    real = numba.njit

    def refusing(*args, cache=False, **options):
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return real(*args, **options)

    monkeypatch.setattr(numba, "njit", refusing)
    kernel = numba_kernels.compiled.__wrapped__(numba_kernels.gather, 8, True)
    matrix = SparseMatrix.from_scipy(sp.eye(3))
    out = np.zeros(3, np.float32)
    kernel(*matrix.arrays, np.arange(3, dtype=np.float32), out, (1, 3, 1, 0))
    assert out.tolist() == [0, 1, 2]

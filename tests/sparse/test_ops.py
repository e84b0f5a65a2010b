import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from graphmix.sparse import SparseMatrix, distinct_rows, dropout, dropout_matmul, matmul, rows
from graphmix.sparse.ops import unpack
from graphmix.streams import Purpose, Streams

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]


def random_matrix(shape, density, seed):
    # Rows without non-zeros, and columns, appear at these sizes and densities.
    return SparseMatrix.from_scipy(
        sp.random(*shape, density=density, format="csr", dtype=np.float32, random_state=seed)
    )


def masked(matrix, keep):
    """The dropped-out matrices written out, from the same bits: `[trials * copies, rows, columns]`."""
    bits = unpack(keep.words, matrix.nonzeros).cpu().numpy()
    held = matrix.to_scipy()
    copies = [sp.csr_array((held.data * row * keep.scale, held.indices, held.indptr), held.shape) for row in bits]
    return torch.tensor(np.stack([copy.toarray() for copy in copies]), dtype=torch.float32)


@pytest.mark.parametrize("device", DEVICES)
@settings(deadline=None, max_examples=30)
@given(
    shape=st.tuples(st.integers(1, 40), st.integers(1, 30)),
    density=st.floats(0, 0.5),
    trials=st.integers(1, 4),
    copies=st.integers(1, 3),
    width=st.integers(1, 70),
    rate=st.sampled_from([0.1, 0.5, 0.8]),
    seed=st.integers(0, 10_000),
)
def test_sparse_input_dropout_equals_dense_dropout_with_the_same_mask(
    device, shape, density, trials, copies, width, rate, seed
):
    matrix = random_matrix(shape, density, seed).to(device)
    streams = Streams.from_seeds(range(trials), device).copies(0, copies)
    keep = streams.at(Purpose.GNN_DROPOUT, seed).keep(matrix.nonzeros, rate)
    generator = torch.Generator().manual_seed(seed)
    dense = torch.randn(trials, shape[1], width, generator=generator).to(device)
    upstream = torch.randn(trials * copies, shape[0], width, generator=generator).to(device)
    ours, theirs = dense.clone().requires_grad_(), dense.clone().requires_grad_()
    got = dropout_matmul(matrix, keep, ours)
    expected = masked(matrix, keep).to(device) @ theirs.repeat_interleave(copies, dim=0)
    assert_close(got, expected, rtol=1e-4, atol=1e-4)
    got.backward(upstream)
    expected.backward(upstream)
    assert_close(ours.grad, theirs.grad, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("device", DEVICES)
def test_shared_product_values_and_gradient(device):
    matrix = random_matrix((50, 40), 0.1, 0).to(device)
    dense = torch.randn(3, 40, 6, device=device)
    ours, theirs = dense.clone().requires_grad_(), dense.clone().requires_grad_()
    got, expected = matmul(matrix, ours), matrix.to_dense() @ theirs
    assert_close(got, expected, rtol=1e-4, atol=1e-5)
    got.square().sum().backward()
    expected.square().sum().backward()
    assert_close(ours.grad, theirs.grad, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("device", DEVICES)
def test_products_of_a_trial_do_not_depend_on_the_batch(device):
    matrix = random_matrix((60, 50), 0.2, 1).to(device)
    dense = torch.randn(8, 50, 16, device=device)
    streams = Streams.from_seeds(range(8), device)
    keep = streams.at(Purpose.GNN_DROPOUT).keep(matrix.nonzeros, 0.5)
    alone = streams.select(torch.tensor([5], device=device)).at(Purpose.GNN_DROPOUT).keep(matrix.nonzeros, 0.5)
    assert torch.equal(matmul(matrix, dense)[5], matmul(matrix, dense[5:6])[0])
    assert torch.equal(dropout_matmul(matrix, keep, dense)[5], dropout_matmul(matrix, alone, dense[5:6])[0])


@pytest.mark.gpu
def test_random_bits_are_the_same_on_every_device():
    on_host, on_device = (Streams.from_seeds(range(9), device).at(Purpose.WEIGHTS, 3) for device in ("cpu", "cuda"))
    assert torch.equal(on_host.words(1000), on_device.words(1000).cpu())
    assert torch.equal(on_host.keep(5000, 0.3).words, on_device.keep(5000, 0.3).words.cpu())


def test_dense_features_are_served():
    x = torch.randn(20, 6)
    keep = Streams.from_seeds([0, 1]).at(Purpose.GNN_DROPOUT).keep(x.numel(), 0.5)
    weight = torch.randn(2, 6, 3)
    mask = unpack(keep.words, x.numel()).view(2, 20, 6)
    assert_close(dropout_matmul(x, keep, weight), (mask * x * keep.scale) @ weight)
    assert_close(matmul(x, weight), x @ weight)


def test_dropout_of_a_dense_tensor():
    hidden = torch.ones(2, 30, 5)
    keep = Streams.from_seeds([0, 1]).at(Purpose.GNN_DROPOUT).keep(150, 0.8)
    dropped = dropout(hidden, keep)
    assert dropped.unique().tolist() == [0.0, pytest.approx(keep.scale)]
    assert not torch.equal(dropped[0], dropped[1])


@pytest.mark.parametrize("device", DEVICES)
def test_rows_picks_per_trial_and_sums_the_gradient_of_repeats(device):
    values = torch.arange(12.0, device=device).view(2, 3, 2).requires_grad_()
    index = torch.tensor([[2, 2, 0], [1, 0, 1]], device=device)
    picked = rows(values, index)
    assert picked[0, :, 0].tolist() == [4, 4, 0]
    assert picked[1, :, 1].tolist() == [9, 7, 9]
    picked.sum().backward()
    assert values.grad[..., 0].tolist() == [[1, 0, 2], [1, 2, 0]]


@pytest.mark.parametrize("device", DEVICES)
def test_distinct_rows_are_rows_without_repeats(device):
    values = torch.randn(3, 6, 4, device=device)
    index = torch.stack([torch.randperm(6, device=device)[:4] for _ in range(3)])
    upstream = torch.randn(3, 4, 4, device=device)
    copied, summed = values.clone().requires_grad_(), values.clone().requires_grad_()
    first, second = distinct_rows(copied, index), rows(summed, index)
    assert torch.equal(first, second)
    first.backward(upstream)
    second.backward(upstream)
    assert torch.equal(copied.grad, summed.grad)


def test_tilings_are_block_diagonal_and_sliced_from_the_largest():
    matrix = random_matrix((7, 5), 0.4, 2)
    matrix.tiled(6)
    tiling = matrix.tiled(2)
    parts = (tiling.values.numpy(), tiling.col.numpy(), tiling.crow.numpy())
    written_out = sp.csr_array(parts, shape=(14, 10)).toarray()
    block = matrix.to_dense().numpy()
    assert np.array_equal(written_out, np.kron(np.eye(2), block))
    assert tiling.col.data_ptr() == matrix.tiled(6).col.data_ptr()
    assert matrix.tiled(7).values.numel() == 7 * matrix.nonzeros


def test_scipy_round_trip_sums_repeats_and_drops_zeros():
    source = sp.coo_array(([1.0, 2.0, 0.0, 5.0], ([0, 0, 1, 2], [1, 1, 0, 2])), shape=(3, 3))
    matrix = SparseMatrix.from_scipy(source)
    assert matrix.nonzeros == 2
    assert matrix.to_dense().tolist() == [[0, 3, 0], [0, 0, 0], [0, 0, 5]]
    assert torch.equal(matrix.transposed.to_dense(), matrix.to_dense().T)
    assert torch.equal(matrix.values[matrix.origin.long()], matrix.transposed.values)

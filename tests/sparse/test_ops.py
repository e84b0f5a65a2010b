from unittest.mock import patch

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from graphmix.sparse import SparseMatrix, dropout, dropout_matmul, matmul, per_trial, product
from graphmix.sparse.ops import unpack
from graphmix.streams import Keep, Purpose, Streams

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


def products(values, weight, upstream):
    """The product of each trial, and both gradients."""
    values, weight = values.detach().requires_grad_(), weight.detach().requires_grad_()
    result = product(values, weight)
    return result.detach(), *torch.autograd.grad(result, (values, weight), upstream)


# Processors differ in which shapes torch's batched product rounds otherwise: narrow ones on Intel's, odd ones on AMD's.
SHAPES = [(1, 1, 1), (1170, 4, 1), (7, 33, 3), (200, 50, 16), (301, 129, 5), (64, 64, 64), (1, 500, 7), (2, 3, 40)]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("rows", "columns", "width"), SHAPES)
@pytest.mark.parametrize("lies", ["in rows", "in columns", "in wider rows"])
def test_a_dense_product_of_a_trial_does_not_depend_on_the_batch(device, rows, columns, width, lies):
    generator = torch.Generator().manual_seed(rows)
    values = torch.randn(3, rows, columns, generator=generator).to(device)
    weight = torch.randn(3, columns, width, generator=generator).to(device)
    upstream = torch.randn(3, rows, width, generator=generator).to(device)
    if lies == "in columns":
        values, weight, upstream = (each.mT.contiguous().mT for each in (values, weight, upstream))
    if lies == "in wider rows":
        values, weight, upstream = (
            torch.nn.functional.pad(each, (0, 5))[..., :-5] for each in (values, weight, upstream)
        )
    together = products(values, weight, upstream)
    for got, expected in zip(together, (values @ weight, upstream @ weight.mT, values.mT @ upstream), strict=True):
        assert_close(got, expected, rtol=1e-4, atol=1e-4)
    for trial in range(3):
        own = [each[trial : trial + 1] for each in (values, weight, upstream)]
        own = own if lies == "in wider rows" else [each.clone() for each in own]
        for batch, alone in zip(together, products(*own), strict=True):
            assert torch.equal(batch[trial], alone[0])


@pytest.mark.parametrize(("rows", "columns", "width"), SHAPES)
def test_a_product_of_a_copy_does_not_depend_on_how_many_there_are(rows, columns, width):
    generator = torch.Generator().manual_seed(width)
    values = torch.randn(6, rows, columns, generator=generator)
    weight = torch.randn(2, columns, width, generator=generator)
    together = per_trial(values, weight)
    assert_close(together, values @ weight.repeat_interleave(3, dim=0), rtol=1e-4, atol=1e-4)
    for copy in range(6):
        alone = per_trial(values[copy : copy + 1], weight[copy // 3 : copy // 3 + 1])
        assert torch.equal(together[copy], alone[0])


def test_a_matrix_that_all_trials_share_is_not_copied():
    # As features that begin somewhere in a mapped file.
    matrix = torch.randn(4001)[1:].view(80, 50)
    weight = torch.randn(3, 50, 64)
    with patch.object(torch.Tensor, "clone", side_effect=AssertionError("copied")):
        result = product(matrix, weight.detach())
    assert_close(result, matrix @ weight)
    results, upstream = [], torch.randn(3, 80, 64)
    for multiply in (product, torch.matmul):
        operands = matrix.clone().requires_grad_(), weight.clone().requires_grad_()
        results.append(torch.autograd.grad(multiply(*operands), operands, upstream))
    assert_close(*results, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("device", DEVICES)
def test_dense_features_are_served(device):
    x = torch.randn(20, 6, device=device)
    keep = Streams.from_seeds([0, 1], device).at(Purpose.GNN_DROPOUT).keep(x.numel(), 0.5)
    weight = torch.randn(2, 6, 3, device=device)
    mask = unpack(keep.words, x.numel()).view(2, 20, 6)
    assert_close(dropout_matmul(x, keep, weight), (mask * x * keep.scale) @ weight)
    assert_close(matmul(x, weight), x @ weight)


@pytest.mark.gpu
@pytest.mark.parametrize(("copies", "width"), [(3, 5), (10, 16), (17, 40), (2, 200)])
def test_copies_read_the_operand_together_on_cuda(copies, width):
    matrix = random_matrix((40, 300), 0.2, 3)
    streams = Streams.from_seeds(range(3), "cuda")
    keep = streams.copies(0, copies).at(Purpose.GNN_DROPOUT, 2).keep(matrix.nonzeros, 0.4)
    dense = torch.randn(3, 300, width, device="cuda")
    together = dropout_matmul(matrix.to("cuda"), keep, dense)
    on_host = dropout_matmul(matrix, Keep(keep.words.cpu(), keep.scale), dense.cpu())
    assert_close(together.cpu(), on_host, rtol=1e-5, atol=1e-5)
    alone = dropout_matmul(matrix.to("cuda"), Keep(keep.words[copies : 2 * copies], keep.scale), dense[1:2])
    assert torch.equal(alone, together[copies : 2 * copies])


@pytest.mark.gpu
@pytest.mark.parametrize(("rows", "columns", "width"), [(1500, 16, 7), (513, 70, 130)])
def test_the_gradient_of_a_weight_with_many_rows_on_cuda(rows, columns, width):
    values = torch.randn(4, rows, columns, device="cuda", requires_grad=True)
    weight = torch.randn(4, columns, width, device="cuda", requires_grad=True)
    upstream = torch.randn(4, rows, width, device="cuda")
    found = torch.autograd.grad(per_trial(values, weight), (values, weight), upstream)
    exact = torch.autograd.grad(values.double() @ weight.double(), (values, weight), upstream.double())
    for ours, theirs in zip(found, exact, strict=True):
        assert_close(ours, theirs, rtol=1e-4, atol=1e-3)
    (alone,) = torch.autograd.grad(per_trial(values[2:3], weight[2:3]), weight, upstream[2:3])
    assert torch.equal(alone[2], found[1][2])


@pytest.mark.gpu
def test_a_tiling_that_a_larger_one_replaces_stays_in_place_for_captured_graphs():
    matrix = random_matrix((6, 8), 0.4, 2).to("cuda")
    before = matrix.tiled(3)
    address, expected = before.col.data_ptr(), before.col.cpu()
    del before
    matrix.tiled(5)
    others = [torch.zeros(len(expected), dtype=torch.int32, device="cuda") for _ in range(50)]
    assert all(other.data_ptr() != address for other in others)


@pytest.mark.parametrize("device", DEVICES)
def test_dropout_of_a_dense_tensor(device):
    hidden = torch.ones(2, 30, 5, device=device, requires_grad=True)
    keep = Streams.from_seeds([0, 1], device).at(Purpose.GNN_DROPOUT).keep(150, 0.8)
    dropped = dropout(hidden, keep)
    assert torch.equal(dropped, (unpack(keep.words, 150) * keep.scale).view(2, 30, 5))
    (slope,) = torch.autograd.grad(dropped, hidden, torch.full_like(dropped, 2.0))
    assert torch.equal(slope, 2 * dropped)
    # One tensor that all trials share.
    shared = torch.randn(30, 5, device=device).expand(2, -1, -1)
    assert torch.equal(dropout(shared, keep), shared * dropped.detach())
    assert dropped.unique().tolist() == [0.0, pytest.approx(keep.scale)]
    assert not torch.equal(dropped[0], dropped[1])


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

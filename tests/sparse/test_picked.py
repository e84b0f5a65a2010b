import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from graphmix.sparse import PickedRows, SparseMatrix, dropout_matmul, picked_dropout_matmul
from graphmix.streams import Purpose, Streams

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]


def random_matrix(shape, density, seed):
    return SparseMatrix.from_scipy(
        sp.random(*shape, density=density, format="csr", dtype=np.float32, random_state=seed)
    )


@pytest.mark.parametrize("device", DEVICES)
@settings(deadline=None, max_examples=20)
@given(
    shape=st.tuples(st.integers(1, 40), st.integers(1, 30)),
    density=st.floats(0, 0.5),
    copies=st.integers(1, 3),
    rate=st.sampled_from([0.3, 0.5]),
    seed=st.integers(0, 10_000),
)
def test_picked_rows_are_those_of_the_whole_product(device, shape, density, copies, rate, seed):
    matrix = random_matrix(shape, density, seed).to(device)
    generator = torch.Generator().manual_seed(seed)
    rows = torch.randperm(shape[0], generator=generator)[: 1 + shape[0] // 2].to(device)
    keep = Streams.from_seeds([4, 5], device).copies(0, copies).at(Purpose.GNN_DROPOUT).keep(matrix.nonzeros, rate)
    dense = torch.randn(2, shape[1], 5, generator=generator).to(device)
    whole, part = dense.clone().requires_grad_(), dense.clone().requires_grad_()
    expected = dropout_matmul(matrix, keep, whole)[:, rows]
    got = picked_dropout_matmul(PickedRows.of(matrix, rows), keep, part)
    assert_close(got, expected, rtol=1e-5, atol=1e-5)
    upstream = torch.randn(expected.shape, generator=generator).to(device)
    expected.backward(upstream)
    got.backward(upstream)
    assert_close(part.grad, whole.grad, rtol=1e-5, atol=1e-5)


def test_picked_rows_keep_values_and_positions():
    matrix = random_matrix((6, 9), 0.5, 3)
    picked = PickedRows.of(matrix, torch.tensor([4, 1]))
    assert torch.equal(picked.to_dense(), matrix.to_dense()[[4, 1]])
    assert picked.entries == matrix.nonzeros
    assert torch.equal(matrix.values[picked.bits.long()], picked.values)
    assert torch.equal(picked.values[picked.origin.long()], picked.transposed.values)
    assert picked.to("cpu") is picked

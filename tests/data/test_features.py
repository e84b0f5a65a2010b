"""Normalising and binarising, sparse against dense."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from graphmix.data import binarise, row_normalise
from graphmix.sparse import SparseMatrix

matrices = arrays(
    np.float32,
    array_shapes(min_dims=2, max_dims=2, max_side=6),
    elements=st.floats(-100, 100, width=32, allow_subnormal=False),
)


def sparse(x):
    return SparseMatrix.from_scipy(sp.csr_array(x))


def test_a_bag_of_words_is_divided_by_its_plain_sum_and_a_zero_row_stays():
    x = torch.tensor([[1.0, 3.0], [0.0, 0.0], [0.0, 2.0]])
    expected = torch.tensor([[0.25, 0.75], [0.0, 0.0], [0.0, 1.0]])
    assert torch.equal(row_normalise(x), expected)
    assert torch.equal(row_normalise(sparse(x.numpy())).to_dense(), expected)


def test_a_row_with_negative_entries_is_divided_by_its_absolute_sum():
    x = torch.tensor([[1.0, -3.0], [-1.0, 1.0]])
    expected = torch.tensor([[0.25, -0.75], [-0.5, 0.5]])
    assert torch.equal(row_normalise(x), expected)
    assert torch.equal(row_normalise(sparse(x.numpy())).to_dense(), expected)


@given(matrices)
def test_sparse_and_dense_agree_and_rows_sum_to_one(x):
    normal = row_normalise(torch.from_numpy(x))
    torch.testing.assert_close(row_normalise(sparse(x)).to_dense(), normal)
    sums = normal.abs().sum(dim=1)
    torch.testing.assert_close(sums, torch.from_numpy((x != 0).any(axis=1)).float())


@given(matrices)
def test_binarised_features_are_zero_or_one(x):
    expected = torch.from_numpy((x != 0).astype(np.float32))
    assert torch.equal(binarise(torch.from_numpy(x)), expected)
    assert torch.equal(binarise(sparse(x)).to_dense(), expected)


@pytest.mark.parametrize("change", [row_normalise, binarise])
def test_the_input_is_left_alone_and_the_structure_shared(change):
    x = sparse(np.array([[2.0, 0.0, 2.0], [0.0, 5.0, 0.0]]))
    before = x.values.clone()
    changed = change(x)
    assert torch.equal(x.values, before)
    assert changed.col is x.col
    assert changed.values.dtype == torch.float32

"""Chain: a product of sparse matrices that is never written out."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given
from hypothesis import strategies as st

from graphmix.errors import ConfigError
from graphmix.sparse import Chain, SparseMatrix, matmul


def sparse(values):
    return SparseMatrix.from_scipy(sp.csr_array(np.array(values, dtype=np.float32)))


def test_a_chain_by_hand():
    chain = Chain((sparse([[1, 0], [2, 3]]), sparse([[0, 1, 0], [4, 0, 5]])))
    assert chain.shape == (2, 3)
    assert chain.to_dense().tolist() == [[0, 1, 0], [12, 2, 15]]
    assert matmul(chain, torch.tensor([[[1.0], [0], [2]]])).tolist() == [[[0], [42]]]
    assert chain.to("cpu").factors == chain.factors


def test_factors_that_do_not_fit_are_refused():
    with pytest.raises(ConfigError, match=r"matrices \[1, 2\] and \[3, 1\] cannot be multiplied"):
        Chain((sparse([[1, 2]]), sparse([[1], [2], [3]])))


@given(st.integers(0, 10**6), st.lists(st.integers(1, 5), min_size=2, max_size=4), st.integers(1, 3))
def test_values_and_gradients_are_those_of_the_dense_product(seed, sizes, trials):
    rng = np.random.default_rng(seed)
    shapes = list(itertools.pairwise(sizes))
    chain = Chain(tuple(sparse(rng.integers(-2, 3, size=shape)) for shape in shapes))
    dense = torch.from_numpy(rng.standard_normal((trials, sizes[-1], 2)).astype(np.float32)).requires_grad_()
    weight = torch.from_numpy(rng.standard_normal((trials, sizes[0], 2)).astype(np.float32))
    product = matmul(chain, dense)
    (gradient,) = torch.autograd.grad((product * weight).sum(), dense)
    written = torch.linalg.multi_dot([f.to_dense() for f in chain.factors]) if len(sizes) > 2 else chain.to_dense()
    torch.testing.assert_close(chain.to_dense(), written)
    torch.testing.assert_close(product.detach(), written @ dense.detach())
    torch.testing.assert_close(gradient, written.T @ weight)

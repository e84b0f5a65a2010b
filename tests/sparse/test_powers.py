"""Σₖ γₖ Mᵏ Z against dense products and their gradients."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from graphmix.sparse import Chain, SparseMatrix, sum_of_powers

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]


def matrices(seed, nodes=7):
    rng = np.random.default_rng(seed)
    first, second = (
        SparseMatrix.from_scipy(sp.random(*shape, density=0.5, random_state=rng)) for shape in ((nodes, 4), (4, nodes))
    )
    return SparseMatrix.from_scipy(sp.random(nodes, nodes, density=0.4, random_state=rng)), Chain((first, second))


def agrees_with_dense_powers(matrix, weights, dense, upstream, inexact=1):
    """Compare the sum and its gradients; `inexact` is a factor for the errors that large sums may have."""
    written, powers = matrix.to_dense(), weights.shape[1]
    plain = sum(weights[:, k, None, None] * (torch.linalg.matrix_power(written, k) @ dense) for k in range(powers))
    wanted = torch.autograd.grad((plain * upstream).sum(), (weights, dense))
    summed = sum_of_powers(matrix, weights, dense)
    assert_close(summed, plain, rtol=1e-4, atol=1e-5 * inexact)
    for ours, theirs in zip(torch.autograd.grad((summed * upstream).sum(), (weights, dense)), wanted, strict=True):
        assert_close(ours, theirs, rtol=1e-4, atol=1e-4 * inexact)


def test_by_hand():
    turn = SparseMatrix.from_scipy(sp.csr_array(np.array([[0.0, 2.0], [1.0, 0.0]])))
    weights = torch.tensor([[1.0, 10.0, 100.0], [0.0, 0.0, 1.0]])
    summed = sum_of_powers(turn, weights, torch.tensor([[[1.0], [3.0]], [[1.0], [3.0]]]))
    # M Z = (6, 1) and M² Z = (2, 6).
    assert summed.tolist() == [[[261.0], [613.0]], [[2.0], [6.0]]]


@pytest.mark.parametrize("device", DEVICES)
@given(seed=st.integers(0, 10**6), powers=st.integers(1, 5), chained=st.booleans())
def test_values_and_gradients_are_those_of_dense_powers(device, seed, powers, chained):
    matrix = matrices(seed)[chained].to(device)
    draw = torch.Generator().manual_seed(seed)
    weights = torch.randn(3, powers, generator=draw).to(device).requires_grad_()
    dense, upstream = (torch.randn(3, 7, 2, generator=draw).to(device) for _ in range(2))
    agrees_with_dense_powers(matrix, weights, dense.requires_grad_(), upstream)


def test_a_large_matrix_gives_the_gradients_of_plain_products():
    # Large enough for native code, and not symmetric: the gradient needs the transpose.
    matrix = SparseMatrix.from_scipy(sp.random(300, 300, density=0.1, random_state=0))
    draw = torch.Generator().manual_seed(0)
    weights = torch.randn(2, 4, generator=draw, requires_grad=True)
    dense = torch.randn(2, 300, 5, generator=draw, requires_grad=True)
    agrees_with_dense_powers(matrix, weights, dense, torch.randn(2, 300, 5, generator=draw), inexact=10)


def test_weights_without_a_gradient_cost_none():
    draw = torch.Generator().manual_seed(0)
    matrix, weights = matrices(0)[0], torch.randn(3, 4, generator=draw)
    dense = torch.randn(3, 7, 2, generator=draw, requires_grad=True)
    summed = sum_of_powers(matrix, weights, dense)
    assert [kept is None for kept in summed.grad_fn.saved_tensors] == [False, True]
    (grad,) = torch.autograd.grad(summed.sum(), dense)
    constant = sum_of_powers(matrix.transposed, weights, torch.ones_like(dense))
    assert_close(grad, constant)

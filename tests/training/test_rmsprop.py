"""RMSprop against torch's, and trials against their batch."""

import torch
from torch.testing import assert_close

from graphmix.training.adam import group
from graphmix.training.rmsprop import RMSprop


def steps(weights, optimizer):
    generator = torch.Generator().manual_seed(1)
    for _ in range(5):
        for weight in weights:
            weight.grad = torch.randn(weight.shape, generator=generator)
        optimizer.step()
    return [weight.detach() for weight in weights]


def drawn():
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(size, generator=generator).requires_grad_() for size in ((2, 5, 16), (2, 1, 3))]


def test_steps_are_those_of_torch():
    ours, theirs = drawn(), drawn()
    expected = steps(theirs, torch.optim.RMSprop(theirs, lr=0.05, weight_decay=5e-4))
    assert_close(steps(ours, RMSprop(group(ours, [5e-4, 5e-4]), 0.05)), expected)


def test_a_weight_without_a_gradient_only_decays():
    (weight,) = drawn()[:1]
    before = weight.detach().clone()
    RMSprop(group([weight], [0.0]), 0.05).step()
    assert torch.equal(weight, before)
    RMSprop(group([weight], [0.1]), 0.05).step()
    assert not torch.equal(weight, before)


def test_gradients_are_forgotten():
    (weight,) = drawn()[:1]
    optimizer = RMSprop(group([weight], [0.0]), 0.05)
    weight.grad = torch.ones_like(weight)
    optimizer.zero_grad()
    assert weight.grad is None

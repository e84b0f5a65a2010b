import pytest
import torch
from torch.testing import assert_close

from graphmix.method import mix
from graphmix.sparse import distinct_rows, mixed_rows, rows

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]


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


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("per", ["pair", "trial"])
def test_mixed_rows_are_rows_mixed_with_their_partners(per, device):
    partner = torch.stack([torch.randperm(40) for _ in range(3)]).to(device)
    lam = torch.rand(3, 40 if per == "pair" else 1, device=device)
    values = torch.randn(3, 40, 5, device=device, dtype=torch.float32, requires_grad=True)
    upstream = torch.randn(3, 40, 5, device=device)
    expected = mix(values, values.gather(1, partner[..., None].expand(-1, -1, 5)), lam)
    mixed = mixed_rows(values, partner, lam)
    assert_close(mixed, expected, rtol=1e-5, atol=1e-6)
    (slope,), (wanted,) = (torch.autograd.grad(each, values, upstream) for each in (mixed, expected))
    assert_close(slope, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("device", DEVICES)
def test_mixed_rows_of_targets_that_all_trials_share(device):
    partner = torch.stack([torch.randperm(9) for _ in range(4)]).to(device)
    shared, lam = torch.randn(1, 9, 3, device=device), torch.rand(4, 1, device=device)
    spread = shared.expand(4, -1, -1)
    assert_close(mixed_rows(spread, partner, lam), mixed_rows(spread.contiguous(), partner, lam), rtol=0, atol=0)


@pytest.mark.parametrize("device", DEVICES)
def test_lambda_one_leaves_rows_as_they_are(device):
    values = torch.randn(2, 7, 3, device=device)
    partner = torch.stack([torch.randperm(7) for _ in range(2)]).to(device)
    assert torch.equal(mixed_rows(values, partner, torch.ones(2, 1, device=device)), values)

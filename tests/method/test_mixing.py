import pytest
import torch
from scipy import stats
from torch.testing import assert_close

from graphmix.method import draw_lambda, draw_partners, draw_positions, mix
from graphmix.streams import Purpose, Streams


def noise(trials=2, epoch=0):
    return Streams.from_seeds(range(trials)).at(Purpose.MIXING_LABELED, epoch)


@pytest.mark.parametrize("alpha", [0.1, 0.3, 0.5, 1.0, 2.0, 8.0])
def test_lambda_follows_the_beta_distribution(alpha):
    count = 20_000
    drawn = draw_lambda(alpha, noise(), count)
    assert drawn.isfinite().all()
    assert 0 <= drawn.min() <= drawn.max() <= 1
    # Compared inside (0.001, 0.999): float32 cannot tell apart the λ within 1e-7 of 1 that a small α draws.
    points = torch.linspace(0.001, 0.999, 500, dtype=torch.float64)
    expected = torch.from_numpy(stats.beta(alpha, alpha).cdf(points.numpy()))
    for trial in range(2):
        share = (drawn[trial].double()[:, None] <= points).double().mean(0)
        assert (share - expected).abs().max() < 1.95 / count**0.5  # Kolmogorov-Smirnov, p = 0.001


def test_a_tiny_alpha_still_gives_numbers():
    drawn = draw_lambda(0.001, noise(), 10_000)
    assert drawn.isfinite().all()
    assert drawn.mean().item() == pytest.approx(0.5, abs=0.05)


def test_alpha_zero_mixes_nothing():
    hidden, other = torch.randn(2, 5, 3), torch.randn(2, 5, 3)
    assert torch.equal(mix(hidden, other, draw_lambda(0.0, noise(), 5)), hidden)


def test_lambda_one_mixes_nothing_and_zero_swaps():
    hidden, other = torch.randn(2, 5, 3), torch.randn(2, 5, 3)
    assert torch.equal(mix(hidden, other, torch.ones(2, 1)), hidden)
    assert torch.equal(mix(hidden, other, torch.zeros(2, 1)), other)


def test_mix_interpolates_per_node():
    lam = torch.tensor([[0.25, 0.5]])
    mixed = mix(torch.tensor([[[4.0], [4.0]]]), torch.tensor([[[0.0], [8.0]]]), lam)
    assert_close(mixed, torch.tensor([[[1.0], [6.0]]]))


def test_partners_are_a_permutation_of_the_real_nodes():
    partner = draw_partners(noise(3), torch.tensor([3, 10, 7]), 10)
    for trial, count in enumerate((3, 10, 7)):
        assert sorted(partner[trial].tolist()) == list(range(10))
        assert sorted(partner[trial, :count].tolist()) == list(range(count))


def test_partners_do_not_depend_on_the_padding():
    tight, padded = draw_partners(noise(1), torch.tensor([6]), 6), draw_partners(noise(1), torch.tensor([6]), 9)
    assert torch.equal(tight, padded[:, :6])


def test_every_partner_is_equally_likely():
    partners = torch.cat([draw_partners(noise(50, epoch), torch.tensor([5]), 5) for epoch in range(100)])
    for position in range(5):
        assert stats.chisquare(torch.bincount(partners[:, position]).numpy()).pvalue > 1e-3


def test_positions_stay_below_each_trials_count_and_are_uniform():
    count = torch.tensor([3, 10])
    drawn = draw_positions(noise(), count, 30_000)
    assert drawn.min() == 0
    assert drawn.max(dim=1).values.tolist() == [2, 9]
    for trial in range(2):
        assert stats.chisquare(torch.bincount(drawn[trial]).numpy()).pvalue > 1e-3

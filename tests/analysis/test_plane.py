"""t-SNE: its affinities and gradient by definition, and both layouts on states whose picture we know."""

import math
import subprocess
import sys

import numpy as np
import pytest
import torch

from graphmix.analysis.plane import affinities, gradient, project, sketch

LAYOUTS = pytest.mark.parametrize("layout", [project, sketch])


def states(nodes: int, width: int = 8, groups: int = 5) -> np.ndarray:
    rng = np.random.default_rng(3)
    return rng.normal(size=(groups, width))[rng.integers(groups, size=nodes)] + 0.3 * rng.normal(size=(nodes, width))


def divergence(affinity: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    """KL(P | Q) by its definition."""
    apart = (places[:, None] - places).square().sum(2)
    kernel = (1 / (1 + apart)) * (1 - torch.eye(len(places), dtype=places.dtype))
    q = (kernel / kernel.sum()).clamp_min(1e-300)
    return torch.where(affinity > 0, affinity * (affinity.clamp_min(1e-300) / q).log(), 0.0).sum()


@LAYOUTS
def test_groups_far_apart_stay_apart(layout):
    rng = np.random.default_rng(0)
    hidden = np.concatenate([rng.normal(centre, 0.1, (40, 5)) for centre in (0, 20)])
    points = layout(hidden)
    within = np.linalg.norm(points[:40] - points[:40].mean(0), axis=1).max()
    assert np.linalg.norm(points[:40].mean(0) - points[40:].mean(0)) > within


@LAYOUTS
@pytest.mark.parametrize(
    "hidden",
    [
        np.zeros((5, 3)),
        np.ones((2, 3)),
        np.arange(8.0)[:, None],
        np.eye(4)[[0] * 60 + [1]],
        1e300 * np.eye(4),
        # The same states everywhere, exactly and but for rounding.
        np.tile([0.0, 1.0, 3.0], (40, 1)),
        np.outer(1 + 1e-15 * np.arange(6), [0.1, 0.7, 3.0]),
    ],
    ids=["zeros", "two", "one column", "copies", "huge", "same", "almost the same"],
)
def test_degenerate_states_are_laid_out_all_the_same(layout, hidden):
    points = layout(hidden)
    assert points.shape == (len(hidden), 2)
    assert np.isfinite(points).all()


def test_affinities_are_symmetric_shares_of_nearby_nodes():
    affinity = affinities(torch.from_numpy(states(200)).float(), 20.0)
    assert torch.equal(affinity, affinity.T)
    assert affinity.sum().item() == pytest.approx(1, abs=1e-5)
    assert (affinity >= 0).all()
    assert affinity.diagonal().eq(0).all()


def test_a_node_has_as_many_neighbours_as_the_perplexity_says():
    # On a ring all nodes are alike, so P is its rows' distribution as it was before it was made symmetric.
    angle = 2 * math.pi * torch.arange(120) / 120
    affinity = affinities(torch.stack([angle.cos(), angle.sin()], dim=1), 10.0)
    row = 120 * affinity[0]
    assert (-(row[row > 0] * row[row > 0].log()).sum()).exp().item() == pytest.approx(10, rel=0.02)


def test_the_gradient_is_that_of_the_divergence():
    affinity = affinities(torch.from_numpy(states(60)).float(), 10.0).double()
    places = torch.randn(60, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(1), requires_grad=True)
    (expected,) = torch.autograd.grad(divergence(affinity, places), places)
    single = affinity.float()
    room = torch.empty_like(single), torch.empty_like(single)
    got = gradient(places.detach().float(), single, room)
    torch.testing.assert_close(got.double(), expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("nodes", [12, 30, 100, 400])
def test_a_sketch_is_nearly_as_good_as_the_long_way(nodes):
    hidden = states(nodes)
    affinity = affinities(torch.from_numpy(hidden).float(), min(30.0, (nodes - 1) / 3))
    quick, long = (
        divergence(affinity, torch.from_numpy(np.asarray(layout(hidden), float))) for layout in (sketch, project)
    )
    assert quick < 1.1 * long


def test_a_sketch_is_the_same_every_time_and_imports_no_scikit_learn():
    code = (
        "import sys, numpy as np; from graphmix.analysis.plane import sketch\n"
        "hidden = np.random.default_rng(0).normal(size=(50, 4))\n"
        "assert (sketch(hidden) == sketch(hidden)).all()\n"
        "print(sorted({'sklearn', 'pandas', 'pyarrow', 'sympy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

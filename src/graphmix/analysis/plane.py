"""Two layouts of hidden states in the plane by t-SNE (van der Maaten and Hinton, 2008).

`project` is scikit-learn's, in 1,000 steps; the paper's figures are made with it. `sketch` is for the page of a run,
for which nobody wants to wait: the same objective and the same start, in 250 longer steps, and without the import of
scikit-learn. Its objective ends within a few percent of the other's.
"""

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

SKETCH_POINTS = 1000
_PERPLEXITY = 30.0
# Number of steps, how much nearer neighbours want to be, and momentum: neighbours first find each other, then spread.
_STAGES = ((60, 12.0, 0.5), (190, 1.0, 0.8))
_BISECTIONS = 40

_LEAST_RATE = 1.0
Array = np.ndarray[Any, Any]


def project(hidden: Array) -> Array:
    """Map states `[nodes, hidden]` to a plane by scikit-learn: `[nodes, 2]`, the same every time on one machine."""
    if _is_one_place(hidden):
        return np.zeros((len(hidden), 2))
    from sklearn.manifold import TSNE

    hidden = _scaled(hidden)
    layout = TSNE(2, perplexity=_perplexity(len(hidden)), init=_start(hidden), random_state=0)
    result: Array = layout.fit_transform(hidden)
    return result


def sketch(hidden: Array, device: torch.device | str = "cpu") -> Array:
    """Map states `[nodes, hidden]` to a plane in fewer steps: `[nodes, 2]`, the same every time on one machine.

    Time and memory grow with the square of the nodes; about 1,000 take half a second.
    """
    if _is_one_place(hidden):
        return np.zeros((len(hidden), 2))
    hidden = _scaled(hidden)
    affinity = affinities(torch.from_numpy(hidden).float().to(device), _perplexity(len(hidden)))
    places = torch.from_numpy(_start(hidden)).float().to(device)
    rate = max(len(hidden) / 8, _LEAST_RATE)
    moved, gains = torch.zeros_like(places), torch.ones_like(places)
    room = torch.empty_like(affinity), torch.empty_like(affinity)
    for steps, exaggeration, momentum in _STAGES:
        attracted = exaggeration * affinity
        for _ in range(steps):
            slope = gradient(places, attracted, room)
            # Larger steps along a coordinate while it keeps its direction (Jacobs, 1988), as in other implementations.
            gains = torch.where(moved * slope < 0, gains + 0.2, gains * 0.8).clamp_min_(0.01)
            moved = momentum * moved - rate * gains * slope
            places = places + moved
    result: Array = (places - places.mean(dim=0)).double().cpu().numpy()
    return result


def affinities(hidden: Tensor, perplexity: float) -> Tensor:
    """P of t-SNE: `[nodes, nodes]`, symmetric, sums to 1; a node has no affinity beyond its nearest 3 * perplexity."""
    nodes = len(hidden)
    near, index = (
        _squared_distances(hidden).fill_diagonal_(math.inf).topk(min(nodes - 1, int(3 * perplexity) + 1), largest=False)
    )
    near = near - near[:, :1]  # the nearest first; a common distance cancels
    # Bisect for the precision at which a node's distribution over its neighbours has the perplexity.
    low = near.new_zeros(nodes, 1)
    high = torch.full_like(low, math.inf)
    precision = 1 / near.mean(dim=1, keepdim=True).clamp_min(1e-12)
    for _ in range(_BISECTIONS):
        weight = (-precision * near).exp()
        total = weight.sum(dim=1, keepdim=True)
        entropy = total.log() + precision * (near * weight).sum(dim=1, keepdim=True) / total
        wide = entropy > math.log(perplexity)
        low, high = torch.where(wide, precision, low), torch.where(wide, high, precision)
        precision = torch.where(high.isinf(), 2 * precision, (low + high) / 2).clamp_max(1e30)
    share = (-precision * near).softmax(dim=1)
    directed = near.new_zeros(nodes, nodes).scatter_(1, index, share)
    return (directed + directed.T) / (2 * nodes)


def gradient(places: Tensor, affinity: Tensor, room: tuple[Tensor, Tensor]) -> Tensor:
    """Gradient of KL(P | Q) by the places: `[nodes, 2]`. Both tensors of `room`, `[nodes, nodes]`, are overwritten."""
    kernel, force = room
    one = places.new_ones(len(places), 1)
    length = (places * places).sum(dim=1, keepdim=True)
    # 1 + |a - b|^2 as one product; q is its inverse over the sum of all.
    torch.mm(torch.cat([-2 * places, length + 1, one], 1), torch.cat([places, one, length], 1).T, out=kernel)
    kernel.reciprocal_().fill_diagonal_(0)
    torch.addcdiv(affinity, kernel, kernel.sum(), value=-1, out=force).mul_(kernel)
    # Forces are symmetric. With the narrow factor first, the product takes an eighth of the time.
    pulled = (torch.cat([places, one], dim=1).T @ force).T
    return 4 * (pulled[:, 2:] * places - pulled[:, :2])


def _squared_distances(points: Tensor) -> Tensor:
    length = (points * points).sum(dim=1)
    return (length[:, None] + length - 2 * points @ points.T).clamp_min_(0)


def _is_one_place(hidden: Array) -> bool:
    """Whether all nodes have the same states, up to the rounding of float32."""
    return len(hidden) < 3 or bool(np.ptp(hidden, axis=0).max() <= np.finfo(np.float32).eps * np.abs(hidden).max())


def _perplexity(nodes: int) -> float:
    return min(_PERPLEXITY, (nodes - 1) / 3)


def _scaled(hidden: Array) -> Array:
    # t-SNE does not depend on the scale of the states, but they must fit into its float32.
    scaled: Array = hidden / np.abs(hidden).max()
    return scaled


def _start(hidden: Array) -> Array:
    # The two directions of largest variance. scikit-learn's default depends on its solver's random state.
    centred = hidden - hidden.mean(axis=0)
    directions = np.linalg.svd(centred, full_matrices=False)[2][:2]
    start = centred @ directions.T
    if start.shape[1] < 2:
        start = np.hstack([start, np.zeros((len(hidden), 1))])
    placed: Array = 1e-4 * start / max(start[:, 0].std(), np.finfo(np.float64).tiny)
    return placed

"""Accuracy and loss on several lists of nodes on CUDA, by one kernel: a program per trial and list."""

import torch
import triton
import triton.language as tl
from torch import Tensor

from graphmix.cuda_grid import check_grid

_ENTRIES = 4096  # logits that a program holds at a time


def measure(logits: Tensor, index: Tensor, labels: Tensor, weight: Tensor, bounds: Tensor) -> tuple[Tensor, Tensor]:
    """Count right predictions, and sum up the weighted cross-entropy of the labels, list by list.

    Args:
        logits: `[trials, nodes, classes]`.
        index: int64 `[trials or 1, picks]`, the nodes of all lists, one list after the other.
        labels: int64 `[trials or 1, picks]`; nodes with the label -1 are never right, and must have weight 0.
        weight: `[trials or 1, picks]`, of the nodes in the loss.
        bounds: int64 `[lists + 1]`, where each list begins, and the last one ends.

    Returns:
        How many predictions are right, int64 `[lists, trials]`, and the losses `[lists, trials]`.
    """
    logits = logits.contiguous()
    trials, nodes, classes = logits.shape
    lists = bounds.shape[0] - 1
    right = torch.empty(lists, trials, device=logits.device, dtype=torch.int64)
    loss = torch.empty(lists, trials, device=logits.device)
    width = triton.next_power_of_2(classes)
    grid = (trials, lists)
    check_grid(*grid)
    with torch.cuda.device_of(logits):
        _measure_kernel[grid](
            logits,
            index,
            labels,
            weight,
            bounds,
            right,
            loss,
            nodes,
            classes,
            0 if index.shape[0] == 1 else index.stride(0),
            WIDTH=width,
            NODES=max(16, _ENTRIES // width),
            num_warps=8,
        )
    return right, loss


@triton.jit
def _measure_kernel(  # type: ignore[no-untyped-def]
    logits,
    index,
    labels,
    weight,
    bounds,
    right,
    loss,
    nodes,
    classes,
    stride,
    WIDTH: tl.constexpr,  # noqa: N803
    NODES: tl.constexpr,  # noqa: N803
):
    trial = tl.program_id(0).to(tl.int64)
    column = tl.arange(0, WIDTH)
    logits += trial * nodes * classes
    right_so_far = tl.zeros([NODES], dtype=tl.int64)
    loss_so_far = tl.zeros([NODES], dtype=tl.float32)
    end = tl.load(bounds + tl.program_id(1) + 1)
    for first in range(tl.load(bounds + tl.program_id(1)), end, NODES):
        pick = first + tl.arange(0, NODES)
        here = pick < end
        place = trial * stride + pick
        node = tl.load(index + place, mask=here, other=0)
        label = tl.load(labels + place, mask=here, other=-1)
        there = node[:, None] * classes + column[None, :]
        inside = (column < classes)[None, :] & here[:, None]
        found = tl.load(logits + there, mask=inside, other=float("-inf"))
        found = tl.where(here[:, None], found, 0.0)
        # As torch.argmax: the first of the largest, and NaN is larger than any number.
        ranked = tl.where(found == found, found, float("inf"))
        right_so_far += ((tl.argmax(ranked, axis=1).to(tl.int64) == label) & here).to(tl.int64)
        largest = tl.max(found, axis=1)
        power = tl.where((column < classes)[None, :], tl.exp(found - largest[:, None]), 0.0)
        total = tl.log(tl.sum(power, axis=1)) + largest
        wanted = tl.where(label > 0, label, 0)
        own = tl.sum(tl.where(column[None, :] == wanted[:, None], found, 0.0), axis=1)
        share = tl.load(weight + place, mask=here, other=0.0)
        loss_so_far += tl.where(here, (total - own) * share, 0.0)
    goal = tl.program_id(1) * tl.num_programs(0) + trial
    tl.store(right + goal, tl.sum(right_so_far, axis=0))
    tl.store(loss + goal, tl.sum(loss_so_far, axis=0))

"""w(t), the weight of the unsupervised loss over the epochs."""

import math


def ramp_up(epoch: int, start: int, end: int, peak: float, before: float = 0.0) -> float:
    """Ramp w(t) up to its peak γ: γ exp(-5 (1 - φ)²), φ going from 0 at `start` to 1 at `end` (Mean Teacher, 2017).

    Args:
        epoch: the epoch t.
        start: where the ramp begins.
        end: where it reaches its peak and stays.
        peak: γ.
        before: the share of the peak before the ramp begins: 0 in the paper, exp(-5) in the released code.

    Example:
        >>> [round(ramp_up(t, 500, 1000, peak=1.0), 3) for t in (0, 500, 750, 1000, 2000)]
        [0.0, 0.007, 0.287, 1.0, 1.0]
    """
    if epoch < start:
        return peak * before
    phase = min(1.0, (epoch - start) / (end - start)) if end > start else 1.0
    return peak * math.exp(-5.0 * (1.0 - phase) ** 2)

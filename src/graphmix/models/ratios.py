"""The shares of nodes that the poolings of a Graph U-Net keep, checked without importing torch."""

from collections.abc import Sequence
from typing import Any

from graphmix.errors import ConfigError

_MOST_POOLINGS = 2


def check_ratios(ratios: Any) -> tuple[float, ...]:
    """Return one or two ratios as a tuple.

    Raises:
        ConfigError: they are not a sequence of one or two numbers above 0 and at most 1.
    """
    if not isinstance(ratios, Sequence) or isinstance(ratios, str) or not 1 <= len(ratios) <= _MOST_POOLINGS:
        raise ConfigError(f"`pool_ratios` must be a list of one or two ratios, one per pooling, not {ratios!r}")
    for ratio in ratios:
        if not isinstance(ratio, int | float) or isinstance(ratio, bool) or not 0 < ratio <= 1:
            raise ConfigError(f"each of `pool_ratios` must be a number above 0 and at most 1, not {ratio!r}")
    return tuple(float(ratio) for ratio in ratios)

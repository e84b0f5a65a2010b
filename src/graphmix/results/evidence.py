"""How far a share of few labels can be believed: an interval, and how many labels a claim needs."""

import math

# With fewer labels a temperature depends more on the labels than on the network. The error after calibration is
# measured with temperatures fitted to four fifths of them, which must be 10 or more.
FEWEST_CALIBRATED = 13
# A confidence level for abstention that fewer labels choose would be due to chance.
FEWEST_KEPT = 20
_STANDARD_ERRORS = 1.959964


def interval(percent: float, labels: int, errors: float = _STANDARD_ERRORS) -> tuple[float, float]:
    """The interval of a percentage of so many labels (Wilson, 1927); unlike ±, it suits few labels and 100 %.

    It reaches `errors` standard errors to either side, by default as many as make it a 95 % interval.

    Example:
        >>> [round(end, 1) for end in interval(100.0, 8)]
        [67.6, 100.0]
    """
    share, spread = min(max(percent / 100, 0.0), 1.0), errors**2 / labels
    middle = (share + spread / 2) / (1 + spread)
    reach = math.sqrt(spread * share * (1 - share) + spread**2 / 4) / (1 + spread)
    return 100 * max(middle - reach, 0.0), 100 * min(middle + reach, 1.0)


def most_coverage(labels: int) -> float:
    """The largest coverage, in percent, that conformal sets can promise with so many labels: n of n + 1."""
    return 100 * labels / (labels + 1)


def fewest_for_coverage(percent: float) -> int:
    """How many labels conformal sets need to promise a coverage.

    Example:
        >>> fewest_for_coverage(90.0), fewest_for_coverage(99.5)
        (9, 199)
    """
    # Slightly less, because 0.9 / 0.1 is 9.000000000000002 in floating point.
    return max(math.ceil(percent / max(100 - percent, 1e-9) - 1e-9), 1)

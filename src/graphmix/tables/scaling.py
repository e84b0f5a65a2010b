"""Numbers made comparable: skewed columns by a logarithm, all by mean and standard deviation."""

import numpy as np
from numpy.typing import NDArray

# Scaled values beyond this are cut, so that one wild cell does not outweigh everything else.
MOST = 10.0
# A standard deviation below this share of the mean is rounding error.
ROUNDING = 1e-12
# A column whose skewness is larger is skewed; that of an exponential distribution is 2.
SKEWED = 2.0
LOWERED = 0.9
# Skewness says nothing of fewer numbers.
FEWEST = 20
# The unit of the logarithm is this quantile of the numbers' sizes.
_LARGE = 0.9
# Missing cells are marked if they are at least this share: a mark that hardly any row has says nothing.
MARKED = 0.01

Floats = NDArray[np.float64]


def skewness(values: Floats) -> float:
    """Return the third standardised moment of values `[values]`; 0 if they are all the same."""
    away = values - values.mean()
    farthest = float(np.abs(away).max(initial=0))
    if farthest <= ROUNDING * float(np.abs(values).max(initial=0)):
        return 0.0
    away /= farthest
    squares = away * away
    return float(squares @ away / len(away) / squares.mean() ** 1.5)


def bent_unit(values: Floats) -> float:
    """Return the unit of the signed logarithm that suits values `[values]`, or 0 if they are better as they are.

    The rule: of at least 20 numbers, the skewness is above 2 or below -2, and the logarithm lowers it by a tenth or
    more. The unit is the size that a tenth of the numbers other than 0 exceed: below it, numbers hardly change; beyond
    it, the factor between them counts and not the difference. A smaller unit would bend the whole column: on US
    counties, the size that a tenth do not reach costs a linear model almost a point of ROC AUC.
    """
    if len(values) < FEWEST:
        return 0.0
    before = abs(skewness(values))
    if not before > SKEWED:
        return 0.0
    unit = float(np.quantile(np.abs(values[values != 0]), _LARGE))
    # A unit that is rounding error beside the numbers is none.
    if not unit > ROUNDING * float(np.abs(values).max()):
        return 0.0
    return unit if abs(skewness(bent(values, unit))) <= LOWERED * before else 0.0


def bent(values: Floats, unit: float) -> Floats:
    """Return sign(v) ln(1 + |v| / unit) of values of any shape; the values themselves if the unit is 0."""
    if not unit:
        return values
    with np.errstate(over="ignore"):
        found: Floats = np.sign(values) * np.log1p(np.abs(values) / unit)
    return found


def are_marked(missing: int, rows: int) -> bool:
    """Whether so many missing cells get a feature that marks them."""
    return missing > 0 and missing >= MARKED * rows


def scale(values: Floats) -> tuple[Floats, Floats]:
    """Return mean and standard deviation of each column of `[rows, columns]`, without missing values."""
    there = ~np.isnan(values)
    count = np.maximum(there.sum(axis=0), 1)
    mean = np.where(there, values, 0).sum(axis=0) / count
    std = np.sqrt((np.where(there, values - mean, 0) ** 2).sum(axis=0) / count)
    std[std <= ROUNDING * np.abs(mean)] = 0
    return mean, std


def scaled(values: Floats, mean: Floats, std: Floats) -> NDArray[np.float32]:
    """Return values `[rows, columns]` minus the mean, divided by the standard deviation; 0 where missing."""
    with np.errstate(over="ignore"):
        found = (values - mean) / np.where(std > 0, std, 1)
    found[:, std == 0] = 0
    return np.nan_to_num(np.clip(found, -MOST, MOST), copy=False, nan=0.0).astype(np.float32)

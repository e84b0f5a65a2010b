"""Whether our number agrees with the paper's: Welch's test, and the size of the difference."""

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean, stdev

# Only Student's t: importing scipy.stats takes a second.
from scipy.special import stdtr, stdtrit

from graphmix.results.record import Quoted, Verdict, Word

# The significance level, and the difference in points above which it matters.
LEVEL = 0.05
MARGIN = 0.5


def judge_trials(values: Sequence[float], split_seeds: Sequence[int] | None, paper: Quoted, splits: int) -> Verdict:
    """Compare our trials with the paper's mean, standard deviation and number of trials.

    Trials that share a split are not independent. If there are fewer splits than trials, and more than one, the means
    of the splits are compared, and the paper's number is taken to be over as many splits as its table says.

    Args:
        values: our scores, one per trial, in percent.
        split_seeds: the seed of each trial's split; None if all share the public split.
        paper: the paper's number.
        splits: number of different splits in the paper; 1 for the public split.
    """
    values = independent(values, split_seeds)
    if splits > 1 and paper.n is not None:
        paper = replace(paper, n=min(paper.n, splits))
    return judge_mean(fmean(values), stdev(values) if len(values) > 1 else None, len(values), paper)


def independent(values: Sequence[float], split_seeds: Sequence[int] | None) -> list[float]:
    """Return the values of trials, or the means of splits if several trials share each of several splits."""
    if split_seeds is None or not 1 < len(set(split_seeds)) < len(values):
        return list(values)
    pairs = list(zip(split_seeds, values, strict=True))
    return [fmean(value for own, value in pairs if own == seed) for seed in dict.fromkeys(split_seeds)]


def judge_mean(mean: float, std: float | None, n: int, paper: Quoted) -> Verdict:
    """Compare our mean and standard deviation over n trials with the paper's.

    If the paper gives no standard deviation, its number counts as exact. With one trial, ours or the paper's, nobody
    knows how far the means may be apart by chance.

    Example:
        >>> judge_mean(84.27, 0.54, 100, Quoted(83.94, 0.57, 100)).word  # higher, but by a third of a point
        'reproduced'
        >>> judge_mean(78.45, 0.41, 100, Quoted(80.98, 0.55, 100)).word
        'lower'
    """
    difference = mean - paper.mean
    if std is None or n < 2 or (paper.std and paper.n == 1):
        return Verdict("undecided", difference, None, None, n)
    ours = std**2 / n
    theirs = paper.std**2 / paper.n if paper.std is not None and paper.n else 0.0
    error = math.sqrt(ours + theirs)
    if error == 0:
        # All trials give the same number, here and in the paper.
        p, interval = (1.0 if difference == 0 else 0.0), (difference, difference)
    else:
        # The Welch-Satterthwaite equation.
        freedom = error**4 / (ours**2 / (n - 1) + (theirs**2 / (paper.n - 1) if theirs and paper.n else 0.0))
        p = 2 * float(stdtr(freedom, -abs(difference) / error))
        half = float(stdtrit(freedom, 1 - LEVEL / 2)) * error
        interval = (difference - half, difference + half)
    return Verdict(_word(difference, interval, p, paper), difference, interval, p, n)


def _word(difference: float, interval: tuple[float, float], p: float, paper: Quoted) -> Word:
    if p < LEVEL:
        return "reproduced" if abs(difference) <= MARGIN else "higher" if difference > 0 else "lower"
    # A difference that is not significant is not enough: two trials of 53 are not significantly below the paper's 84.
    most = max(paper.std or 0.0, MARGIN)
    return "reproduced" if -most <= interval[0] and interval[1] <= most else "undecided"

"""Whether our number agrees with the paper's: Welch's test, and the size of the difference."""

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean, stdev

# Student's t alone: scipy.stats takes a second to import.
from scipy.special import stdtr, stdtrit

from graphmix.results.record import Quoted, Verdict, Word

# A difference is significant at this level, and matters above so many points.
LEVEL = 0.05
MARGIN = 0.5


def judge_trials(values: Sequence[float], split_seeds: Sequence[int] | None, paper: Quoted, splits: int) -> Verdict:
    """Compare our trials with the paper's mean, standard deviation and number of trials.

    Trials that share a split are not independent. Where there are fewer splits than trials, and more than one, the
    splits' means are compared, and the paper is taken to have as many splits as its table says.

    Args:
        values: one per trial, in percent.
        split_seeds: one per trial, of its split; None where all share the public one.
        paper: the paper's number.
        splits: how many different splits the paper's trials had; 1 for the public one.
    """
    if split_seeds is not None and 1 < len(set(split_seeds)) < len(values):
        pairs = list(zip(split_seeds, values, strict=True))
        values = [fmean(value for own, value in pairs if own == seed) for seed in dict.fromkeys(split_seeds)]
    if splits > 1 and paper.n is not None:
        paper = replace(paper, n=min(paper.n, splits))
    return judge_mean(fmean(values), stdev(values) if len(values) > 1 else None, len(values), paper)


def judge_mean(mean: float, std: float | None, n: int, paper: Quoted) -> Verdict:
    """Compare our mean and standard deviation over n trials with the paper's.

    Where the paper gives no standard deviation, its number counts as exact.

    Example:
        >>> judge_mean(84.27, 0.54, 100, Quoted(83.94, 0.57, 100)).word  # higher, but by a third of a point
        'reproduced'
        >>> judge_mean(78.45, 0.41, 100, Quoted(80.98, 0.55, 100)).word
        'lower'
    """
    difference = mean - paper.mean
    if std is None or n < 2:
        return Verdict("undecided", difference, None, None, n)
    ours = std**2 / n
    theirs = paper.std**2 / paper.n if paper.std is not None and paper.n else 0.0
    error = math.sqrt(ours + theirs)
    if error == 0:
        # Every trial gives the same number, on both sides.
        p, interval = (1.0 if difference == 0 else 0.0), (difference, difference)
    else:
        # Welch and Satterthwaite.
        freedom = error**4 / (ours**2 / (n - 1) + (theirs**2 / (paper.n - 1) if theirs and paper.n else 0.0))
        p = 2 * float(stdtr(freedom, -abs(difference) / error))
        half = float(stdtrit(freedom, 1 - LEVEL / 2)) * error
        interval = (difference - half, difference + half)
    return Verdict(_word(difference, interval, p, paper), difference, interval, p, n)


def _word(difference: float, interval: tuple[float, float], p: float, paper: Quoted) -> Word:
    if p < LEVEL:
        return "reproduced" if abs(difference) <= MARGIN else "higher" if difference > 0 else "lower"
    # No significant difference is not enough: two trials of 53 are not significantly below the paper's 84.
    most = max(paper.std or 0.0, MARGIN)
    return "reproduced" if -most <= interval[0] and interval[1] <= most else "undecided"

"""Whether a number of ours is the paper's: Welch's test, and how large the difference is."""

import math
from statistics import fmean, stdev
from typing import Any, NamedTuple

# Student's t alone: scipy.stats takes a second to import.
from scipy.special import stdtr, stdtrit

from graphmix.experiments.spec import Quoted

# A difference is told from none at this level, and matters from so many points up.
LEVEL = 0.05
MARGIN = 0.5

WORDS = ("reproduced", "higher", "lower", "undecided")


class Verdict(NamedTuple):
    """How a cell compares with the paper.

    Attributes:
        word: "higher" or "lower" where the difference is above half a point and told from none at the 5 % level;
            "reproduced" where it is told from none but below that, or not told from none and surely no larger than the
            paper's own standard deviation; "undecided" where our numbers are too few or too spread to say.
        difference: ours minus the paper's, in points.
        interval: where it lies with 95 % confidence.
        p: of no difference.
        n: how many independent numbers of ours there are: trials, or splits where trials share them.
    """

    word: str
    difference: float
    interval: tuple[float, float] | None
    p: float | None
    n: int

    def to_dict(self) -> dict[str, Any]:
        """Plain values, rounded."""
        interval = None if self.interval is None else [round(end, 4) for end in self.interval]
        p = None if self.p is None else float(f"{self.p:.3g}")
        return self._asdict() | {"difference": round(self.difference, 4), "interval": interval, "p": p}


def judge_trials(values: list[float], split_seeds: list[int] | None, paper: Quoted, splits: int) -> Verdict:
    """Compare our trials with the paper's mean, standard deviation and number of trials.

    Trials that share a split are no independent draws of what a split gives. Where there are fewer splits than trials,
    and more than one, the splits' means are compared, and the paper is taken to have as many splits as its table says.

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
        paper = paper._replace(n=min(paper.n, splits))
    return judge_mean(fmean(values), stdev(values) if len(values) > 1 else None, len(values), paper)


def judge_mean(mean: float, std: float | None, n: int, paper: Quoted) -> Verdict:
    """Compare our mean and standard deviation over n trials with the paper's.

    Where the paper gives no spread its number counts as exact.

    Example:
        >>> judge_mean(84.27, 0.54, 100, Quoted(83.94, 0.57, 100)).word  # surely higher, but by a third of a point
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
        # Every trial alike, on both sides: nothing is left to chance.
        p, interval = (1.0 if difference == 0 else 0.0), (difference, difference)
    else:
        # Welch and Satterthwaite.
        freedom = error**4 / (ours**2 / (n - 1) + (theirs**2 / (paper.n - 1) if theirs and paper.n else 0.0))
        p = 2 * float(stdtr(freedom, -abs(difference) / error))
        half = float(stdtrit(freedom, 1 - LEVEL / 2)) * error
        interval = (difference - half, difference + half)
    return Verdict(_word(difference, interval, p, paper), difference, interval, p, n)


def _word(difference: float, interval: tuple[float, float], p: float, paper: Quoted) -> str:
    if p < LEVEL:
        return "reproduced" if abs(difference) <= MARGIN else "higher" if difference > 0 else "lower"
    # A test that cannot tell two trials of 53 from the paper's 84 has not shown them to be the same.
    most = max(paper.std or 0.0, MARGIN)
    return "reproduced" if -most <= interval[0] and interval[1] <= most else "undecided"

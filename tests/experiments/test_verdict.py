"""Verdicts against scipy's own Welch test, and the words they end in."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from graphmix.experiments.verdict import MARGIN, judge_mean, judge_trials
from graphmix.results.record import Quoted

numbers = st.floats(1, 99)
spreads = st.floats(0.05, 10)
counts = st.integers(2, 200)


@given(numbers, spreads, counts, numbers, spreads, counts)
def test_p_is_that_of_welchs_test(mean, std, n, paper_mean, paper_std, paper_n):
    verdict = judge_mean(mean, std, n, Quoted(paper_mean, paper_std, paper_n))
    oracle = stats.ttest_ind_from_stats(mean, std, n, paper_mean, paper_std, paper_n, equal_var=False)
    assert verdict.p == pytest.approx(oracle.pvalue, abs=1e-9)
    low, high = verdict.interval
    assert low <= verdict.difference <= high
    # The interval leaves out 0 just where the test tells the difference from none.
    assert (low > 0 or high < 0) == (verdict.p < 0.05)


@given(st.lists(numbers, min_size=3, max_size=30), numbers)
def test_a_number_without_spread_counts_as_exact(values, quoted):
    values = np.array(values) + np.arange(len(values)) * 1e-3
    verdict = judge_mean(values.mean(), values.std(ddof=1), len(values), Quoted(quoted))
    assert verdict.p == pytest.approx(stats.ttest_1samp(values, quoted).pvalue, abs=1e-6)


@given(numbers, spreads, counts, numbers, spreads, counts)
def test_the_word_says_what_the_numbers_say(mean, std, n, paper_mean, paper_std, paper_n):
    verdict = judge_mean(mean, std, n, Quoted(paper_mean, paper_std, paper_n))
    difference = mean - paper_mean
    if verdict.word in ("higher", "lower"):
        assert verdict.p < 0.05
        assert abs(difference) > MARGIN
        assert (difference > 0) == (verdict.word == "higher")
    if verdict.word == "reproduced":
        assert abs(difference) <= max(MARGIN, paper_std)
        low, high = verdict.interval
        assert verdict.p < 0.05 or max(-low, high) <= max(MARGIN, paper_std)


@pytest.mark.parametrize(
    ("ours", "paper", "word"),
    [
        ((84.27, 0.54, 100), Quoted(83.94, 0.57, 100), "reproduced"),  # told apart, but by a third of a point
        ((78.45, 0.41, 100), Quoted(80.98, 0.55, 100), "lower"),
        ((83.00, 0.50, 100), Quoted(80.00, 0.50, 100), "higher"),
        ((70.00, 6.00, 100), Quoted(71.00, 6.00, 100), "reproduced"),  # not told apart, and surely within the spread
        ((66.90, 6.00, 10), Quoted(71.99, 6.46, 10), "undecided"),  # ten trials leave room for eleven points
        ((53.00, 14.0, 2), Quoted(84.00, 0.60, 100), "undecided"),  # two trials tell nothing
        ((84.00, None, 1), Quoted(84.00, 0.60, 100), "undecided"),
        ((84.00, 0.50, 100), Quoted(84.00, 0.60, 1), "undecided"),
        ((84.00, 0.0, 5), Quoted(84.00, 0.0, 100), "reproduced"),
        ((80.00, 0.0, 5), Quoted(84.00, 0.0, 100), "lower"),
    ],
)
def test_known_cases(ours, paper, word):
    assert judge_mean(*ours, paper).word == word


def test_written_values_are_plain_and_round():
    written = judge_mean(84.0, 0.512345678, 7, Quoted(83.0, 0.6, 100)).rounded()
    assert (written.difference, written.n) == (1.0, 7)
    assert written.interval is not None
    assert all(end == round(end, 4) for end in written.interval)


def test_trials_that_share_splits_count_as_splits():
    # Two splits ten points apart, five trials on each: two numbers, not ten.
    values = [75.0, 85.0] * 5
    seeds = [0, 1] * 5
    paper = Quoted(77.0, 1.0, 100)
    shared = judge_trials(values, seeds, paper, splits=10)
    assert (shared.n, shared.word) == (2, "undecided")
    assert shared == judge_mean(80.0, np.std([75, 85], ddof=1), 2, Quoted(77.0, 1.0, 10))
    # Each on a split of its own, or all on the public one, they are ten.
    assert judge_trials(values, list(range(10)), paper, splits=1).n == 10
    assert judge_trials(values, None, paper, splits=1) == judge_mean(80.0, np.std(values, ddof=1), 10, paper)
    assert judge_trials([80.0], None, paper, splits=1).word == "undecided"

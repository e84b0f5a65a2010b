"""Words for claims."""

from dataclasses import replace

from graphmix.results.claim import Claim, Comparison, Finding
from graphmix.results.claim_wording import SIGNS, seen, summarise_claims, verdict

BETTER = Comparison(row="A", against="B", quantity="test_accuracy", expects="higher")
FOUND = Finding(asked=BETTER, column="Cora", word="holds", ours=84.0, other=82.0, difference=2.0, interval=(1.5, 2.5))
TO_DO = Finding(asked=BETTER, column="Pubmed")
HOLDS = Claim(says="A beats B", word="holds", findings=(FOUND,))


def test_what_was_not_run_is_not_called_undecided() -> None:
    assert verdict(FOUND) == "✓ holds"
    assert verdict(replace(FOUND, word="undecided")) == "? undecided"
    assert verdict(TO_DO) == "○ not run"
    assert verdict(Claim(says="", word="undecided", findings=(TO_DO, TO_DO))) == "○ not run"
    assert verdict(Claim(says="", word="holds in part", findings=(FOUND, TO_DO))) == "◐ holds in part"
    assert len(set(SIGNS.values())) == len(SIGNS)


def test_what_was_found() -> None:
    assert seen(FOUND) == "84.00 and 82.00: +2.00 [+1.50, +2.50]"
    assert seen(TO_DO) == "not run"
    times = replace(FOUND, asked=replace(BETTER, expects="at most", bound=1.5), estimated=True)
    assert seen(times) == "84.00 and 82.00 (estimated): 1.02 times"
    assert seen(replace(times, other=None)) == "84.00 (estimated)"


def test_claims_in_a_sentence() -> None:
    part = replace(HOLDS, word="holds in part", findings=(FOUND, TO_DO))
    assert summarise_claims([part]) == "1 claim: holds in part (Cora 1 of 1, Pubmed not run)"
    assert summarise_claims([Claim(says="", word="undecided")]) == "1 claim: not run"
    none = replace(HOLDS, findings=(TO_DO,))
    assert summarise_claims([part, HOLDS, HOLDS, none]) == "4 claims: 2 hold, 1 holds in part, 1 not run"

"""Verdicts on claims: the rule on made-up trials, and how records hold them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from graphmix import ConfigError
from graphmix.experiments.cells import Asked, plan
from graphmix.experiments.claims import QUANTITIES, compare, judge_claim, overall, within
from graphmix.experiments.records import assemble, entry, read_cells, write_record
from graphmix.experiments.spec import load_spec, names, paper_specs, parse
from graphmix.results import formats
from graphmix.results.claim import QUANTITIES as WORDS
from graphmix.results.claim import Comparison
from graphmix.results.claim_wording import by_column, expectation, seen
from graphmix.results.details import Details
from graphmix.results.reader import read_file
from graphmix.results.record import CellResult, GridPoint, Outcome, Record, Selection
from graphmix.results.run import RunResult, Score
from graphmix.results.wording import tally

CLAIMS = [name for name in names() if name.startswith("claim-")]
HIGHER = Comparison(row="A", against="B", quantity="test_accuracy", expects="higher")
LOWER = replace(HIGHER, expects="lower")


def run(values=(80.0, 81.0), **changes):
    values = tuple(map(float, values))
    return RunResult(
        dataset="cora",
        settings={"method": "graphmix", "backbone": "gcn", "trials": len(values)},
        test_accuracy=Score(values, float(np.mean(values)), None),
        versions={},
        **changes,
    )


def cell(row, column="Cora", details=None, selection=None, **changes):
    done = Outcome(run=run(**changes), details=details, selection=selection)
    return CellResult(row, column, "paper", "done", outcome=done)


def spec(*compares, **changes):
    table = {
        "name": "mine",
        "title": "t",
        "source": "Section 3",
        "about": "a",
        "kind": "table",
        "trials": 2,
        "says": "A beats B",
        "compares": list(compares),
        "settings": {"split": "public"},
        "columns": [{"name": "Cora", "dataset": "cora"}, {"name": "Citeseer", "dataset": "citeseer"}],
        "rows": [{"name": "A", "method": "graphmix"}, {"name": "B", "method": "supervised"}],
    }
    return parse(table | changes, "mine")


BEATS = {"row": "A", "against": "B", "quantity": "test_accuracy", "expects": "higher"}


@pytest.mark.parametrize(
    ("ours", "other", "higher", "lower"),
    [
        ([84.0, 84.1, 83.9, 84.0], [81.0, 81.2, 80.9, 81.0], "holds", "does not hold"),
        ([81.0, 81.2, 80.9, 81.0], [84.0, 84.1, 83.9, 84.0], "does not hold", "holds"),
        # A tenth of a point that is surely there.
        ([81.10, 81.11, 81.09, 81.10], [81.00, 81.01, 80.99, 81.00], "holds", "does not hold"),
        # Nothing, for sure, and nothing that two trials can tell.
        ([81.0, 81.2, 80.9, 81.1], [81.0, 81.1, 80.9, 81.2], "does not hold", "does not hold"),
        ([84.0, 78.0], [81.0, 76.0], "undecided", "undecided"),
        ([84.0], [81.0, 81.1], "undecided", "undecided"),
        ([84.0, 84.1], [81.0], "undecided", "undecided"),
    ],
)
def test_a_comparison_of_trials(ours, other, higher, lower):
    assert compare(HIGHER, ours, other)[0] == higher
    assert compare(LOWER, ours, other)[0] == lower


@given(
    st.lists(st.floats(60, 90), min_size=3, max_size=20, unique=True),
    st.lists(st.floats(60, 90), min_size=3, max_size=20, unique=True),
)
def test_the_word_is_that_of_scipys_welch_test(ours, other):
    oracle = stats.ttest_ind(ours, other, equal_var=False)
    word, verdict = compare(HIGHER, ours, other)
    assert verdict.p == pytest.approx(oracle.pvalue, abs=1e-6)
    if abs(oracle.pvalue - 0.05) > 1e-6:
        significant = oracle.pvalue < 0.05
        assert (word == "holds") == (significant and np.mean(ours) > np.mean(other))
        if significant:
            assert word != "undecided"


@pytest.mark.parametrize(
    ("words", "verdict"),
    [
        (["holds", "holds"], "holds"),
        (["holds", "does not hold"], "holds in part"),
        (["holds", "undecided"], "holds in part"),
        (["does not hold", "undecided"], "undecided"),
        (["does not hold", "does not hold"], "does not hold"),
        (["undecided"], "undecided"),
        ([], "undecided"),
    ],
)
def test_the_verdict_over_all(words, verdict):
    assert overall(words) == verdict


@pytest.mark.parametrize(("expects", "words"), [("at most", ("holds", "does not hold")), ("at least", None)])
def test_a_bound(expects, words):
    asked = Comparison(row="A", quantity="memory", expects=expects, bound=11.0)
    assert (within(asked, 10.9), within(asked, 11.1)) == (words or ("does not hold", "holds"))
    assert within(asked, 11.0) == "holds"


def test_a_claim_is_judged_in_every_column_and_what_was_not_run_is_undecided():
    cells = [
        cell("A", values=(84.0, 84.1, 83.9)),
        cell("B", values=(81.0, 81.2, 80.9)),
        cell("A", "Citeseer", values=(70.0, 70.1, 69.9)),
        CellResult("B", "Citeseer", "paper", "to do"),
    ]
    claim = judge_claim(spec(BEATS), cells)
    assert [(each.column, each.word, each.n) for each in claim.findings] == [
        ("Cora", "holds", (3, 3)),
        ("Citeseer", "undecided", None),
    ]
    assert claim.word == "holds in part"
    assert by_column(claim) == "Cora 1 of 1, Citeseer not run"
    first, second = claim.findings
    assert first.difference == pytest.approx(84.0 - 81.0333, abs=1e-3)
    assert seen(first).startswith("84.00 and 81.03: +2.97 [")
    assert seen(second) == "not run"
    assert expectation(first.asked) == "A: higher than B"


def test_trials_that_share_splits_count_as_splits():
    shared = {"split_seeds": (0, 1) * 3}
    cells = [
        cell("A", values=(80.0, 90.0) * 3, **shared),
        cell("B", values=(78.0, 88.0) * 3, **shared),
    ]
    (finding, _) = judge_claim(spec(BEATS), [*cells, cell("A", "Citeseer")]).findings
    assert (finding.word, finding.n) == ("undecided", (2, 2))


def test_memory_and_seconds_are_of_a_trial_and_estimates_say_so():
    ratio = BEATS | {"quantity": "memory", "expects": "at most", "bound": 1.1}
    measured = [
        cell("A", peak_memory=3 * 2**30, trials_at_once=2, seconds=6.0),
        cell("B", peak_memory=2 * 2**30, trials_at_once=2, seconds=2.0),
    ]
    finding = judge_claim(spec(ratio), measured).findings[0]
    assert (finding.ours, finding.other, finding.word, finding.estimated) == (1.5, 1.0, "does not hold", False)
    assert seen(finding) == "1.500 and 1.000: 1.50 times"
    guess = Details(classes=("a",), memory_estimate=2**29)
    other = Details(classes=("a",), memory_estimate=2**30)
    # The other side was measured, but an estimate is compared with an estimate.
    assert judge_claim(spec(ratio), [cell("A", details=guess), measured[1]]).findings[0].ours is None
    estimated = [cell("A", details=guess), replace(measured[1], outcome=replace(measured[1].outcome, details=other))]
    finding = judge_claim(spec(ratio), estimated).findings[0]
    assert (finding.ours, finding.word, finding.estimated) == (0.5, "holds", True)
    assert "(estimated)" in seen(finding)
    slow = judge_claim(spec(ratio | {"quantity": "seconds", "bound": 3.0}), measured).findings[0]
    assert (slow.ours, slow.other, slow.word) == (3.0, 1.0, "holds")


def test_the_range_of_a_grid():
    points = tuple(
        GridPoint(1.0, gamma, 2, val_accuracy_mean=mean) for gamma, mean in ((1, 80.0), (2, 81.5), (3, 81.0))
    )
    asked = {"row": "A", "quantity": "grid", "expects": "at most", "bound": 1.0}
    found = judge_claim(spec(asked), [cell("A", selection=Selection(points))])
    assert (found.findings[0].ours, found.word) == (1.5, "does not hold")
    assert judge_claim(spec(asked | {"bound": 1.5}), [cell("A", selection=Selection(points))]).word == "holds"


def test_measures_of_hidden_states():
    details = Details(
        classes=("a", "b"),
        soft_rank=((1.0, 3.0), (None, 2.0)),
        measured={"separation": (0.5, None), "train_loss": (1.0,)},
    )
    one = cell("A", details=details)
    assert QUANTITIES["soft_rank"](one) == [2.0, 2.0]
    assert QUANTITIES["separation"](one) == [0.5]
    assert QUANTITIES["train_loss"](one) == [1.0]
    assert QUANTITIES["centroid_accuracy"](one) == []
    assert set(QUANTITIES) == set(WORDS)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"compares": [BEATS | {"row": "C"}]}, "refers to 'C', which is not a row"),
        ({"compares": [BEATS | {"expects": "nicer"}]}, "expects must be one of higher"),
        ({"compares": [BEATS | {"bound": 1.0}]}, "need a bound, higher and lower have none"),
        ({"compares": [BEATS | {"expects": "at most"}]}, "need a bound"),
        ({"compares": [{"row": "A", "quantity": "memory", "expects": "lower"}]}, "need a row to compare with"),
        ({"compares": [BEATS | {"quantity": "beauty"}]}, "quantity must be one of test_accuracy"),
        ({"compares": [BEATS | {"colour": "red"}]}, "a comparison has no 'colour'"),
        ({"compares": []}, "a claim has both says and compares"),
        ({"columns": [{"name": "Cora", "dataset": "cora", "readings": ["released"]}]}, "Cora has a reading"),
    ],
)
def test_a_claim_that_means_nothing_is_refused(changes, message):
    with pytest.raises(ConfigError, match=r"^mine\.toml: ") as caught:
        spec(*([] if "compares" in changes else [BEATS]), **changes)
    assert message in str(caught.value)


def test_there_are_seven_claims_and_none_is_of_the_papers_tables():
    assert len(CLAIMS) == 7
    assert not set(CLAIMS) & {each.name for each in paper_specs()}


@pytest.mark.parametrize("name", CLAIMS)
def test_every_claim_compares_what_its_cells_measure(name):
    claim = load_spec(name)
    needed = {"soft_rank": "soft-rank", "separation": "separation", "centroid_accuracy": "separation"}
    needed |= {"train_loss": "training", "memory": "memory"}
    for asked in claim.compares:
        assert needed.get(asked.quantity, "") in {"", *claim.measures}
        assert asked.quantity != "grid" or claim.kind == "selection"
        assert asked.quantity != "soft_rank" or "soft-rank" in claim.charts
    assert all(cell.paper is None for cell in plan(claim, Asked()))


def test_a_record_holds_the_claim_and_counts_in_no_tally(tmp_path):
    claim = spec(BEATS)
    entries = [entry(claim, each, None, None) for each in plan(claim, Asked())]
    entries[0] = replace(entries[0], status="done", outcome=Outcome(run=run()))
    record = assemble(claim, Asked(), entries, None)
    assert record.claim.word == "undecided"
    assert not record.of_paper
    back = read_file(Record, write_record(tmp_path, record), formats.RECORD)
    assert back.claim == record.claim
    assert not assemble(claim, Asked(epochs=3), entries, None).claim.findings
    paper = replace(record, claim=None, source="Table 1", cells=(replace(entries[1], status="to do"),))
    assert tally([paper, record]) == tally([paper])


def test_a_claim_takes_the_cells_of_the_spec_it_shares_them_with(tmp_path):
    search, claim = load_spec("selection"), load_spec("claim-sensitivity")
    assert [each.config for each in plan(search, Asked())] == [each.config for each in plan(claim, Asked())]
    entries = [entry(search, each, None, None) for each in plan(search, Asked())]
    entries[0] = replace(entries[0], status="done", outcome=Outcome(run=run()))
    write_record(tmp_path, assemble(search, Asked(), entries, None))
    assert set(read_cells(tmp_path, claim)) == {("GraphMix(GCN)", "Cora", "paper")}

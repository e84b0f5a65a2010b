import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from graphmix.method import f1


def test_f1_by_hand():
    predicted = torch.tensor([[0, 0, 1, 1, 1], [1, 1, 1, 1, 1]])
    labels = torch.tensor([[0, 1, 1, 1, -1]])
    # Trial 0: class 0 has 1 hit, 1 false alarm; class 1 has 2 hits, 1 miss. Trial 1: class 0 is never predicted.
    expected = torch.tensor([[2 / 3, 4 / 5, torch.nan], [0.0, 6 / 7, torch.nan]])
    assert_close(f1(predicted, labels, classes=3), expected, equal_nan=True)


@given(seed=st.integers(0, 10_000), nodes=st.integers(1, 30), classes=st.integers(2, 5))
def test_macro_f1_is_scikit_learns(seed, nodes, classes):
    metrics = pytest.importorskip("sklearn.metrics")
    generator = torch.Generator().manual_seed(seed)
    predicted = torch.randint(classes, (3, nodes), generator=generator)
    labels = torch.randint(classes, (3, nodes), generator=generator)
    ours = f1(predicted, labels, classes).nanmean(dim=1)
    theirs = [metrics.f1_score(labels[trial], predicted[trial], average="macro") for trial in range(3)]
    assert_close(ours, torch.tensor(theirs, dtype=torch.float32))

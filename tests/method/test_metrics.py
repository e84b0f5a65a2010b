import pytest
import sklearn.metrics
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from graphmix.method import confusion, f1, label_loss, reliability


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


labels_and_guesses = st.lists(st.tuples(st.integers(-1, 3), st.integers(0, 3)), min_size=1, max_size=40)


@given(labels_and_guesses)
def test_confusion_is_scikit_learns(pairs):
    labels, guesses = torch.tensor(pairs).T
    known = labels >= 0
    expected = sklearn.metrics.confusion_matrix(labels[known], guesses[known], labels=range(4)) if known.any() else 0
    got = confusion(guesses[None], labels[None], 4)
    assert (got[0].numpy() == expected).all()
    # Trials do not mix, whether they share labels or not.
    both = confusion(torch.stack([guesses, guesses.flip(0)]), torch.stack([labels, labels.flip(0)]), 4)
    assert torch.equal(both[0], both[1])


def test_reliability_bins_confidence_and_counts_what_is_right():
    probabilities = torch.tensor([[[0.95, 0.05], [0.30, 0.70], [0.5, 0.5], [0.2, 0.8]]])
    counts = reliability(probabilities, torch.tensor([[0, 0, 0, -1]]), bins=10)[0]
    assert counts[:, 0].tolist() == [0, 0, 0, 0, 1, 0, 1, 0, 0, 1]
    assert counts[9].tolist() == pytest.approx([1, 0.95, 1], abs=1e-6)
    assert counts[6].tolist() == pytest.approx([1, 0.70, 0], abs=1e-6)
    assert reliability(torch.full((1, 2, 2), torch.nan), torch.tensor([[0, 1]]))[0, 0].tolist() == [2, 0, 1]


@given(st.lists(st.floats(0.01, 0.99), min_size=1, max_size=30))
def test_label_loss_is_torchs(values):
    logits = torch.tensor(values)[None, :, None] * torch.tensor([1.0, -2.0, 0.5])
    labels = torch.arange(len(values))[None] % 3
    weight = torch.full((1, len(values)), 1 / len(values))
    expected = torch.nn.functional.cross_entropy(logits[0], labels[0])
    assert label_loss(logits, labels, weight).item() == pytest.approx(expected.item(), rel=1e-4)
    padded = torch.cat([labels, torch.tensor([[-1]])], 1)
    more = torch.cat([logits, torch.zeros(1, 1, 3)], 1)
    assert label_loss(more, padded, torch.cat([weight, torch.zeros(1, 1)], 1)).item() == pytest.approx(
        expected.item(), rel=1e-4
    )

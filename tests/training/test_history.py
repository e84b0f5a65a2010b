import torch

from graphmix.training.history import Best


def run(accuracies, ties):
    best = Best.none(2)
    for epoch, (val, test) in enumerate(accuracies):
        best.update_(torch.tensor([epoch]), torch.tensor(val), torch.tensor(val), torch.tensor(test), ties=ties)
    return best


CURVE = [([0.5, 0.2], [0.1, 0.9]), ([0.7, 0.2], [0.2, 0.8]), ([0.7, 0.1], [0.3, 0.7])]


def test_the_first_of_equally_good_epochs_counts():
    best = run(CURVE, "first")
    assert best.epoch.tolist() == [1, 0]
    assert best.val.tolist() == torch.tensor([0.7, 0.2]).tolist()
    assert best.test.tolist() == torch.tensor([0.2, 0.9]).tolist()


def test_the_last_of_equally_good_epochs_counts():
    best = run(CURVE, "last")
    assert best.epoch.tolist() == [2, 1]
    assert best.test.tolist() == torch.tensor([0.3, 0.8]).tolist()
    assert best.improved.tolist() == [True, False]


def test_a_validation_accuracy_of_zero_still_counts():
    assert run([([0.0, 0.0], [0.0, 0.0])], "first").epoch.tolist() == [0, 0]


def test_epochs_are_chosen_by_the_score_whatever_the_accuracies():
    best = Best.none(1)
    for epoch, (score, val) in enumerate([(0.4, 0.9), (0.6, 0.8), (0.5, 0.95)]):
        best.update_(*(torch.tensor([value]) for value in (epoch, score, val, 0.0)), ties="first")
    assert (best.epoch.item(), round(best.score.item(), 3), round(best.val.item(), 3)) == (1, 0.6, 0.8)

import pytest

from graphmix import Config
from graphmix.training.expectations import few_epochs, unused_settings


@pytest.mark.parametrize("method", ["graphmix", "self-training", "fcn-self-training", "fcn-mixup"])
def test_few_epochs_with_predicted_targets_are_warned_of(method):
    note = few_epochs(Config(method=method, epochs=100))
    assert note is not None
    assert "\n" not in note
    for part in ("`epochs` 100", f"{method} trains", "epoch 25 ", "1,000 epochs"):
        assert part in note


def test_the_released_reading_has_targets_from_the_beginning():
    note = few_epochs(Config.for_dataset("cora", reading="released", epochs=999))
    assert note is not None
    assert "from the first epoch" in note


@pytest.mark.parametrize(
    "given",
    [
        {"epochs": 1000},
        {"gamma": 0, "epochs": 100},
        {"method": "supervised", "epochs": 5},
        {"method": "fcn"},
        {"method": "graphmix-steady", "epochs": 200},
    ],
)
def test_nothing_is_said_otherwise(given):
    assert few_epochs(Config(**given)) is None


@pytest.mark.parametrize(
    ("backbone", "given", "said"),
    [
        ("gcn", {"heads": 2}, "`heads` has no effect with the network gcn"),
        ("appnp", {"order": 2, "hops": 3, "kernels": 1}, "`order` and `kernels` have no effect with the network appnp"),
        ("gatv2", {"layers": 2, "order": 2, "hops": 3, "heads": 1}, "`layers`, `order` and `hops` have no effect"),
        ("gcn", {"heads": None, "hidden": 4, "bias": True, "input_dropout": 0.1}, None),
        ("gcn2", {"layers": 3, "teleport": 0.2, "layer_decay": 0.0}, None),
    ],
)
def test_settings_of_other_networks_are_named(backbone, given, said):
    note = unused_settings(Config(backbone=backbone), given)
    assert note is None if said is None else note.startswith(said)


def test_gmnn_without_a_second_turn_is_said_to_be_the_network_alone():
    config = Config.for_dataset("cora", method="gmnn")
    enough = config.pretraining + config.phase_epochs
    assert few_epochs(Config.for_dataset("cora", method="gmnn", epochs=enough + 1)) is None
    assert "gcn alone" in few_epochs(Config.for_dataset("cora", method="gmnn", epochs=enough))


def test_a_fanout_without_mini_batches_is_named():
    said = unused_settings(Config(batch_fanout=3), {"batch_fanout": 3})
    assert said is not None
    assert said.startswith("`batch_fanout` has no effect")
    assert unused_settings(Config(batch_fanout=3, batch_nodes=10), {"batch_fanout": 3, "batch_nodes": 10}) is None

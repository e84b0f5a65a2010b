"""Checkpoints: a batch that continues from its state ends as one that was never interrupted."""

import pytest
import torch
from torch.testing import assert_close

from graphmix import Config, ConfigError, RunError, Task, synthetic, train
from graphmix.storage.checkpoints import open_checkpoints
from graphmix.storage.files import read_tensors, write_tensors
from graphmix.training.batch import Batch
from graphmix.training.checkpoints import Begun, Checkpoints, Keeper
from graphmix.training.trace import OutOfTimeError, trace, train_for

EPOCHS = 12
KINDS = {
    "graphmix": {},
    "mini-batches": {"batch_nodes": 40, "batch_fanout": 3, "batch_parts": 2},
    "teacher": {"teacher": "gnn-average"},
    "kept targets": {"method": "graphmix-steady", "target_every": 4, "backbone": "gpr"},
    "gmnn": {"method": "gmnn", "pretraining": 3, "phase_epochs": 2},
    "gmnn, adam": {"method": "gmnn", "pretraining": 3, "phase_epochs": 2, "optimiser": "adam"},
    "graphsgan": {"method": "graphsgan", "epochs": 3},
    "grand": {"method": "grand"},
}


@pytest.fixture(scope="module")
def dataset():
    return synthetic(nodes=120, features=30, labels_per_class=4, seed=2)


def config_of(**choices):
    return Config.for_dataset("", **({"trials": 2, "epochs": EPOCHS, "hidden": 8} | choices))


def advance(batch, last):
    for epoch in range(batch.epochs_done, last):
        batch.advance(*batch.shape(epoch))


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_goes_on_from_a_copy_of_its_state_bit_by_bit(dataset, kind):
    config = config_of(**KINDS[kind])
    task = Task.build(*dataset, config)
    whole, begun, again = (Batch(task, config, [0, 1]) for _ in range(3))
    advance(whole, config.epochs)
    advance(begun, config.epochs // 2)
    again.restore({name: tensor.detach().clone() for name, tensor in begun.state().items()})
    advance(again, config.epochs)
    assert again.state().keys() == whole.state().keys()
    for name, tensor in whole.state().items():
        assert_close(again.state()[name], tensor, rtol=0, atol=0, equal_nan=True, msg=name)


def test_the_state_of_another_batch_is_refused(dataset):
    narrow, wide = (config_of(hidden=hidden) for hidden in (8, 16))
    batches = [Batch(Task.build(*dataset, config), config, [0, 1]) for config in (narrow, wide)]
    before = {name: tensor.detach().clone() for name, tensor in batches[1].state().items()}
    with pytest.raises(ValueError, match=r"weights\."):
        batches[1].restore(batches[0].state())
    assert all(torch.equal(tensor, before[name]) for name, tensor in batches[1].state().items())


def stop_in(epoch, error=KeyboardInterrupt):
    def watch(progress):
        if progress.epoch == epoch:
            raise error

    return watch


def test_an_interrupted_run_goes_on_within_a_batch(tmp_path, dataset):
    config = config_of(trials=3)
    whole = train(*dataset, config, tmp_path / "whole", device="cpu", chunk=3)
    with pytest.raises(KeyboardInterrupt):
        train(*dataset, config, tmp_path / "run", device="cpu", chunk=3, watch=stop_in(8), checkpoint_minutes=0)
    assert [path.name for path in (tmp_path / "run/parts").iterdir()] == ["running-000000-000002.safetensors"]
    epochs = []
    # With another number of trials at once those that were begun still continue together.
    given = {"chunk": 1, "watch": lambda progress: epochs.append((progress.trials, progress.epoch))}
    resumed = train(*dataset, config, tmp_path / "run", device="cpu", **given)
    assert epochs == [(3, epoch) for epoch in range(9, EPOCHS + 1)]
    assert resumed.results.seconds > 0
    for name in ("weights.safetensors", "curves.safetensors"):
        assert (tmp_path / "run" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    assert resumed.results.test_accuracy == whole.results.test_accuracy
    assert not (tmp_path / "run/parts").exists()


def test_the_checkpoint_of_trials_that_are_done_is_removed(tmp_path):
    write_tensors(tmp_path / "running-000000-000001.safetensors", {"trials": torch.tensor([0, 1])})
    write_tensors(tmp_path / "running-000002-000003.safetensors", {"trials": torch.tensor([2, 3])})
    found = open_checkpoints(tmp_path, "running", skip={0, 1})
    assert [each.trials for each in found.begun] == [(2, 3)]
    assert [path.name for path in tmp_path.iterdir()] == ["running-000002-000003.safetensors"]


def test_damage_is_one_sentence_that_names_the_file(tmp_path, dataset):
    config = config_of()
    with pytest.raises(KeyboardInterrupt):
        train(*dataset, config, tmp_path / "run", device="cpu", chunk=2, watch=stop_in(4), checkpoint_minutes=0)
    (path,) = (tmp_path / "run/parts").iterdir()
    tensors = read_tensors(path)
    write_tensors(path, {name: tensor for name, tensor in tensors.items() if name != "optimizer.0.steps.0"})
    with pytest.raises(RunError, match=r"running-.* does not fit .*optimizer\.0\.steps\.0"):
        train(*dataset, config, tmp_path / "run", device="cpu")
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(RunError, match=r"running-.* is damaged"):
        train(*dataset, config, tmp_path / "run", device="cpu")
    path.unlink()
    train(*dataset, config, tmp_path / "run", device="cpu")


def test_minutes_are_checked(tmp_path, dataset):
    with pytest.raises(ConfigError, match="checkpoint_minutes"):
        train(*dataset, config_of(), tmp_path / "run", checkpoint_minutes=-1)
    assert not (tmp_path / "run").exists()


def test_begun_batches_stay_together_and_the_others_are_divided():
    checkpoints = Checkpoints(print, [Begun((4, 5, 6), {}, "")])
    assert checkpoints.divide(range(9), 2) == [[4, 5, 6], [0, 1], [2, 3], [7, 8]]
    # If one of its trials is done, the others begin anew.
    assert checkpoints.divide([5, 6, 7], 2) == [[5, 6], [7]]


def test_a_keeper_waits_for_its_time(dataset):
    config = config_of()
    written = []
    keeper = Keeper((0, 1), None, Checkpoints(lambda trials, tensors: written.append(tensors), seconds=3600))
    batch = Batch(Task.build(*dataset, config), config, [0, 1])
    keeper.after_epoch(batch)
    assert written == []
    keeper._since -= 3601
    keeper.after_epoch(batch, lambda: {"more": torch.ones(1)})
    keeper.after_epoch(batch)
    assert len(written) == 1
    assert written[0]["trials"].tolist() == [0, 1]
    assert written[0].keys() >= {"more", *batch.state()}


class Kept:
    """Checkpoints after every epoch, in memory."""

    def __init__(self):
        self.held = {}

    def open(self):
        begun = [Begun(trials, tensors, "") for trials, tensors in self.held.items()]
        return Checkpoints(self.write, begun, seconds=0)

    def write(self, trials, tensors):
        self.held[tuple(trials)] = {name: tensor.clone() for name, tensor in tensors.items()}


def test_a_trace_goes_on_and_gives_the_same(dataset):
    config = config_of(epochs=45)
    kept, told = Kept(), []

    def tell(done, total):
        told.append(done)
        if len(told) == 24:
            raise OutOfTimeError("stop here")

    with pytest.raises(OutOfTimeError):
        trace(*dataset, config, device="cpu", tell=tell, checkpoints=kept.open())
    whole = trace(*dataset, config, device="cpu")
    told = [None] * 100
    resumed = trace(*dataset, config, device="cpu", tell=tell, checkpoints=kept.open())
    # Of 45 epochs 23 were kept, and at the end all are told once more.
    assert len(told) == 100 + 22 + 1
    assert torch.equal(resumed.points, whole.points)
    assert torch.equal(resumed.probabilities, whole.probabilities)
    assert torch.equal(resumed.fcn, whole.fcn)


def test_a_trace_that_stops_early_stops_where_it_would_have_stopped(dataset):
    config = config_of(epochs=200, method="supervised", learning_rate=0.2)
    kept = Kept()
    whole = trace(*dataset, config, device="cpu", patience=20, checkpoints=kept.open())
    assert len(whole.points) < 20
    resumed = trace(*dataset, config, device="cpu", patience=20, checkpoints=kept.open())
    assert torch.equal(resumed.probabilities, whole.probabilities)


def test_training_for_some_epochs_goes_on_and_gives_the_same(dataset):
    graph, split = dataset
    config = config_of()
    kept = Kept()

    def tell(done, total):
        if done >= 2 * 9:
            raise OutOfTimeError("stop here")

    with pytest.raises(OutOfTimeError):
        train_for(graph, split.train[0], config, device="cpu", tell=tell, checkpoints=kept.open())
    whole = train_for(graph, split.train[0], config, device="cpu")
    resumed = train_for(graph, split.train[0], config, device="cpu", checkpoints=kept.open())
    assert all(torch.equal(resumed[name], weight) for name, weight in whole.items())


@pytest.mark.gpu
@pytest.mark.parametrize("kind", ["graphmix", "mini-batches", "gmnn"])
def test_a_run_on_cuda_goes_on_and_gives_the_same(tmp_path, dataset, kind):
    # Epochs are captured as CUDA graphs, which read and write the tensors that are restored.
    config = config_of(epochs=60, **KINDS[kind])
    whole = train(*dataset, config, tmp_path / "whole", device="cuda")
    with pytest.raises(KeyboardInterrupt):
        train(*dataset, config, tmp_path / "run", device="cuda", watch=stop_in(35), checkpoint_minutes=0)
    resumed = train(*dataset, config, tmp_path / "run", device="cuda")
    assert torch.equal(resumed.fit.history.loss, whole.fit.history.loss)
    assert all(torch.equal(resumed.fit.weights[name], weight) for name, weight in whole.fit.weights.items())

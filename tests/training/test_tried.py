"""Epochs of custom models: captured if that works, otherwise run as they are, and the reason is told."""

import pytest
import torch
from torch import nn

from graphmix import Config, fit, synthetic, wrap
from graphmix.training import loop
from graphmix.training.tried import Tried


class Fake:
    """Stands in for a CUDA graph where there is no CUDA."""

    capturing = False

    def capture_begin(self, **options):
        Fake.capturing = True

    def capture_end(self):
        Fake.capturing = False

    def replay(self):
        self.work()


@pytest.fixture
def fake_graphs(monkeypatch):
    monkeypatch.setattr(Fake, "capturing", False)
    monkeypatch.setattr(torch.cuda, "CUDAGraph", Fake)
    monkeypatch.setattr(torch.cuda, "graph_pool_handle", lambda: (0, 0))
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)


def test_a_failed_capture_is_tried_once_and_its_reason_is_noted(fake_graphs):
    notes, runs, tries = {}, [], []

    def work(number):
        if Fake.capturing:
            tries.append(number)
            raise RuntimeError("operation not permitted when stream is capturing\nCUDA kernel errors might be …")
        runs.append(number)

    tried = Tried(work, notes)
    for number in (1, 1, 1, 2, 2, 2):
        tried(number)
    assert runs == [1, 1, 1, 2, 2, 2]
    assert tries == [1]
    reason = "operation not permitted when stream is capturing"
    assert notes == {"epochs": f"not captured as CUDA graphs ({reason})"}


def test_the_first_error_is_the_reason(fake_graphs, monkeypatch):
    def end(self):
        Fake.capturing = False
        raise RuntimeError("the capture was invalidated")

    def work():
        if Fake.capturing:
            raise RuntimeError("the module waits")

    monkeypatch.setattr(Fake, "capture_end", end)
    notes = {}
    tried = Tried(work, notes)
    tried()
    tried()
    assert notes == {"epochs": "not captured as CUDA graphs (the module waits)"}


def test_a_capture_that_works_is_noted(fake_graphs, monkeypatch):
    replays, notes = [], {}
    monkeypatch.setattr(Fake, "replay", lambda self: replays.append(1))
    tried = Tried(lambda: None, notes)
    for _ in range(3):
        tried()
    assert len(replays) == 2
    assert notes == {"epochs": "captured as CUDA graphs"}


def test_an_error_of_the_epoch_itself_is_raised(fake_graphs):
    def work():
        raise RuntimeError("out of memory")

    with pytest.raises(RuntimeError, match="out of memory"):
        Tried(work, {})()


class Net(nn.Module):
    def __init__(self, features, classes):
        super().__init__()
        self.one, self.two, self.drop = nn.Linear(features, 5), nn.Linear(5, classes), nn.Dropout(0.5)

    def forward(self, x, edge_index):
        return self.two(self.drop(self.one(self.drop(x)).relu()))


class Waiting(Net):
    """Its forward pass waits for the device, which a capture does not allow."""

    def forward(self, x, edge_index):
        return super().forward(self.wait(x), edge_index)

    class Wait(nn.Module):
        def forward(self, x):
            if Fake.capturing or (x.is_cuda and torch.cuda.is_current_stream_capturing()):
                raise RuntimeError("it waits")
            return x

    def __init__(self, features, classes):
        super().__init__(features, classes)
        self.wait = self.Wait()


def test_training_goes_on_after_a_failed_capture_and_the_progress_says_so(fake_graphs, monkeypatch):
    graph, split = synthetic(nodes=60, features=20, labels_per_class=4, seed=3)
    config = Config.for_dataset("", trials=2, epochs=8, perturbations=2)
    model = wrap(Waiting(20, graph.num_classes), mix_at="two")
    expected = fit(graph, split, config, model=model, device="cpu")
    assert "epochs" not in model.notes
    monkeypatch.setattr(loop, "capturable", lambda device: True)
    notes = []
    got = fit(graph, split, config, model=model, device="cpu", watch=lambda progress: notes.append(progress.note))
    assert torch.equal(got.history.loss, expected.history.loss)
    assert notes[0] == ""
    assert notes[-1] == "not captured as CUDA graphs (it waits)"
    assert "epochs: not captured as CUDA graphs (it waits)" in repr(model)


def cuda_fits(model, config, graph, split, monkeypatch):
    """Train on CUDA as users do, and without any captures."""
    tried = fit(graph, split, config, model=model, device="cuda")
    monkeypatch.setattr(loop, "capturable", lambda device: False)
    return tried, fit(graph, split, config, model=model, device="cuda")


def gcn(features, classes):
    nets = pytest.importorskip("torch_geometric.nn")
    return nets.GCN(features, 16, num_layers=2, out_channels=classes, dropout=0.5)


@pytest.mark.gpu
@pytest.mark.parametrize("build", [gcn, Net])
def test_cuda_captures_a_wrapped_module(build, monkeypatch):
    graph, split = synthetic(nodes=200, features=60, labels_per_class=6, seed=3)
    config = Config.for_dataset("", trials=4, epochs=60, perturbations=3, rampup_start=10, rampup_end=20)
    model = wrap(build(60, graph.num_classes), mix_at="convs.1" if build is gcn else "two")
    tried, plain = cuda_fits(model, config, graph, split, monkeypatch)
    assert model.notes["trials"] == "all in one call"
    assert model.notes["epochs"] == "captured as CUDA graphs"
    # PyG's sums over neighbours add in any order.
    torch.testing.assert_close(tried.history.loss[:, :20], plain.history.loss[:, :20], rtol=1e-3, atol=1e-4)


@pytest.mark.gpu
def test_cuda_trains_a_module_that_waits_for_the_device(monkeypatch):
    class Reads(Net):
        class Read(nn.Module):
            def forward(self, x):
                return x * (1.0 + 0.0 * x.sum().item())

        def __init__(self, features, classes):
            super().__init__(features, classes)
            self.read = self.Read()

        def forward(self, x, edge_index):
            return self.two(self.read(self.one(self.drop(x)).relu()))

    graph, split = synthetic(nodes=200, features=60, labels_per_class=6, seed=3)
    config = Config.for_dataset("", trials=3, epochs=30, perturbations=2, rampup_start=5, rampup_end=10)
    model = wrap(Reads(60, graph.num_classes), mix_at="two")
    tried, plain = cuda_fits(model, config, graph, split, monkeypatch)
    assert model.notes["trials"].startswith("one after the other (")
    assert model.notes["epochs"].startswith("not captured as CUDA graphs (")
    torch.testing.assert_close(tried.history.loss, plain.history.loss, rtol=1e-4, atol=1e-5)
    # Nothing of the failed capture remains: torch draws, and a built-in network is captured as ever.
    assert torch.randn(3, device="cuda").isfinite().all()
    assert len(fit(graph, split, Config.for_dataset("", trials=3, epochs=30), device="cuda").trials) == 3

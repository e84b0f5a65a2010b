"""Epochs as CUDA graphs do what epochs do."""

import gc
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from graphmix import Config, Streams, Task, build_model, build_optimizer, evaluate, fit, step_loss, synthetic
from graphmix.training.batch import Batch
from graphmix.training.capture import Captured, on_side_stream


class Recorded:
    """Stands in for a CUDA graph where there is no CUDA: notes what is asked of it."""

    calls: list

    def capture_begin(self, **options):
        self.calls.append(("begin", options["capture_error_mode"]))

    def capture_end(self):
        self.calls.append("end")

    def replay(self):
        self.calls.append("replay")


@pytest.fixture
def calls(monkeypatch):
    noted = []
    monkeypatch.setattr(Recorded, "calls", noted, raising=False)
    monkeypatch.setattr(torch.cuda, "CUDAGraph", Recorded)
    monkeypatch.setattr(torch.cuda, "graph_pool_handle", lambda: (0, 0))
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    return noted


def test_the_second_call_is_captured_and_other_threads_may_allocate_meanwhile(calls):
    captured = Captured(calls.append)
    for argument in (1, 1, 2, 1):
        captured(argument)
    assert calls == [1, ("begin", "thread_local"), 1, "end", "replay", 2, "replay"]


def test_a_capture_that_fails_is_ended(calls):
    def work():
        calls.append("work")
        assert gc.isenabled(), "the first call runs without a capture"

    captured = Captured(work)
    captured()
    with pytest.raises(AssertionError):
        captured()
    assert calls[-2:] == ["work", "end"]
    assert gc.isenabled()


@pytest.mark.gpu
def test_a_capture_survives_an_allocation_in_another_thread():
    device = torch.device("cuda:0")
    total = torch.zeros(1, device=device)
    held = []

    def allocate():
        # Larger than anything the allocator has kept: it must ask CUDA.
        held.append(torch.empty(2**28, device=device, dtype=torch.uint8))

    def work():
        total.add_(1)
        if torch.cuda.is_current_stream_capturing():
            other.submit(allocate).result(timeout=60)
        total.add_(1)

    torch.cuda.empty_cache()
    reserved = torch.cuda.memory_reserved(device)
    with ThreadPoolExecutor(1) as other, on_side_stream(device):
        captured = Captured(work)
        for _ in range(3):
            captured()
    assert len(held) == 1
    assert torch.cuda.memory_reserved(device) >= reserved + 2**28
    assert total.item() == 6


@pytest.mark.gpu
@pytest.mark.parametrize(
    "choices",
    [
        {},
        {"reading": "released"},
        {"method": "supervised"},
        {"hidden_dropout": 0.5, "bias": True, "unlabeled": 40},
        {"backbone": "gpr"},
        {"backbone": "sage"},
        {"backbone": "appnp"},
        {"backbone": "chebyshev"},
        {"backbone": "gcn2", "layers": 4},
        {"backbone": "gatv2"},
        {"backbone": "monet"},
        {"backbone": "disengcn", "layers": 2},
        {"backbone": "gpr", "method": "graphmix-steady", "target_every": 1},
        {"backbone": "sage", "method": "graphmix-steady", "perturbations": 0, "target_every": 1},
    ],
    ids=[
        "paper",
        "released",
        "supervised",
        "options",
        "gpr",
        "sage",
        "appnp",
        "chebyshev",
        "gcn2",
        "gatv2",
        "monet",
        "disengcn",
        "steady",
        "steady without passes",
    ],
)
def test_replayed_epochs_equal_a_plain_loop(choices):
    graph, split = synthetic(nodes=400, features=100, seed=5)
    config = Config.for_dataset("", **({"trials": 6, "epochs": 80} | choices))
    captured = fit(graph, split, config, device="cuda", chunk=6)
    task = Task.build(graph, split, config, "cuda")
    streams = Streams.from_seeds(range(6), "cuda")
    model = build_model(task, config, streams)
    optimizer = build_optimizer(model, config)
    val = torch.empty(config.epochs, 6)
    losses = torch.empty(config.epochs, 6)
    for epoch in range(config.epochs):
        loss = step_loss(model, task, config, streams, epoch)
        optimizer.zero_grad()
        loss.sum().backward()
        optimizer.step()
        losses[epoch] = loss.detach().cpu()
        val[epoch] = evaluate(model, task)[0].cpu()
    assert torch.equal(captured.history.val_accuracy, val.T)
    torch.testing.assert_close(captured.history.loss, losses.T, rtol=1e-3, atol=1e-4)


@pytest.mark.gpu
@pytest.mark.parametrize("perturbations", [0, 3])
def test_replayed_epochs_keep_their_targets_as_others_do(perturbations):
    graph, split = synthetic(nodes=400, features=100, seed=5)
    choices = {"backbone": "gpr", "method": "graphmix-steady", "target_every": 4, "perturbations": perturbations}
    config = Config.for_dataset("", trials=3, epochs=80, **choices)
    captured = fit(graph, split, config, device="cuda", chunk=3)
    plain = Batch(Task.build(graph, split, config, "cuda"), config, [0, 1, 2])
    for epoch in range(config.epochs):
        plain.advance(*plain.shape(epoch))
    assert torch.equal(captured.history.val_accuracy, plain.curves[1].T.cpu())
    torch.testing.assert_close(captured.history.loss, plain.curves[0].T.cpu(), rtol=1e-3, atol=1e-4)


@pytest.mark.gpu
def test_two_runs_give_the_same_bits():
    graph, split = synthetic(nodes=400, features=100, seed=5)
    config = Config.for_dataset("", trials=5, epochs=60, reading="released", gamma=1.0)
    first, second = (fit(graph, split, config, device="cuda") for _ in range(2))
    assert torch.equal(first.history.loss, second.history.loss)
    assert torch.equal(first.weights["conv1.weight"], second.weights["conv1.weight"])

"""Epochs as CUDA graphs do what epochs do."""

import pytest
import torch

from graphmix import Config, Streams, Task, build_model, build_optimizer, evaluate, fit, step_loss, synthetic

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize(
    "choices",
    [{}, {"reading": "released"}, {"method": "supervised"}, {"hidden_dropout": 0.5, "bias": True, "unlabeled": 40}],
    ids=["paper", "released", "supervised", "options"],
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


def test_two_runs_give_the_same_bits():
    graph, split = synthetic(nodes=400, features=100, seed=5)
    config = Config.for_dataset("", trials=5, epochs=60, reading="released", gamma=1.0)
    first, second = (fit(graph, split, config, device="cuda") for _ in range(2))
    assert torch.equal(first.history.loss, second.history.loss)
    assert torch.equal(first.weights["conv1.weight"], second.weights["conv1.weight"])

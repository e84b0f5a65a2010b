"""Our Adam is torch's, and training needs no compiler."""

import subprocess
import sys

import pytest
import torch

from graphmix import Config, Streams, Task, build_model, build_optimizer, step_loss, synthetic
from graphmix.training.adam import Adam, Group, weight_groups

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    "choices",
    [{}, {"backbone": "gpr"}, {"backbone": "gat"}, {"bias": True, "weight_decay": 0.0, "learning_rate": 0.3}],
    ids=["gcn", "undecayed weights", "unused weights", "options"],
)
def test_every_step_is_torchs_bit_for_bit(choices, device):
    graph, split = synthetic(nodes=120, features=30, labels_per_class=5, seed=1)
    # Few trials: in some steps all coins show heads, and the attention weights of a GAT have no gradient.
    config = Config(**({"trials": 2, "epochs": 12, "rampup_start": 4, "rampup_end": 6} | choices))
    task = Task.build(graph, split, config, device)
    streams = Streams.from_seeds(range(2), device)
    ours, theirs = (build_model(task, config, streams) for _ in range(2))
    optimizers = Adam(weight_groups(ours, config), config.learning_rate), build_optimizer(theirs, config)
    unused = 0
    for epoch in range(config.epochs):
        for model, optimizer in zip((ours, theirs), optimizers, strict=True):
            optimizer.zero_grad()
            step_loss(model, task, config, streams, epoch).sum().backward()
            unused += model is ours and any(weight.grad is None for weight in model.parameters())
            optimizer.step()
        for name, weight in ours.weights.items():
            assert torch.equal(weight, theirs.weights[name]), (epoch, name)
    assert bool(unused) == (choices.get("backbone") == "gat")


def test_gradients_of_one_step_are_forgotten_in_the_next():
    weight = torch.ones(3, requires_grad=True)
    optimizer = Adam([Group([weight], 0.0)], 0.1)
    weight.grad = torch.ones(3)
    optimizer.zero_grad()
    assert weight.grad is None


def test_training_imports_neither_torchs_compiler_nor_what_only_tables_need():
    code = (
        "import sys, graphmix\n"
        "graph, split = graphmix.synthetic(nodes=60, features=20, labels_per_class=5)\n"
        "graphmix.fit(graph, split, graphmix.Config(trials=2, epochs=3), device='cpu')\n"
        "print(sorted({'torch._dynamo', 'sympy', 'sklearn', 'pandas', 'pyarrow', 'matplotlib'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

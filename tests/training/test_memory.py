"""Peak memory: measured on CUDA, not at all on a CPU."""

import pytest
import torch

from graphmix import Config, synthetic
from graphmix.storage.runs import train
from graphmix.training.memory import Peak


def test_on_a_cpu_nobody_counts(tmp_path):
    assert Peak(torch.device("cpu")).bytes() is None
    graph, split = synthetic(nodes=120, features=60, labels_per_class=4, seed=3)
    results = train(graph, split, Config(trials=2, epochs=2), tmp_path / "run", device="cpu").results
    assert (results.peak_memory, results.trials_at_once) == (None, None)
    assert "peak_memory" not in (tmp_path / "run" / "results.json").read_text()


@pytest.mark.gpu
def test_a_tensor_that_comes_and_goes_is_counted():
    device = torch.device("cuda")
    held = torch.ones(2**20, device=device)
    peak = Peak(device)
    gone = torch.ones(2**22, device=device)
    del gone
    assert 2**24 <= peak.bytes() < 2**24 + 2**20
    assert held.sum() == 2**20


@pytest.mark.gpu
def test_a_run_says_how_much_it_took_and_for_how_many_trials(tmp_path):
    graph, split = synthetic(nodes=120, features=60, labels_per_class=4, seed=3)
    config = Config(trials=4, epochs=3)
    results = train(graph, split, config, tmp_path / "run", device="cuda", chunk=3).results
    assert results.trials_at_once == 3
    assert results.peak_memory > 3 * 4 * 60 * config.hidden

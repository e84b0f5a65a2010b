"""Processes that train together: what a follower does with what the leader sends."""

import pytest
import torch

from graphmix.training import team as module
from graphmix.training.team import Order, Team


@pytest.mark.parametrize("own", ["cpu", "cuda:1"])
@pytest.mark.parametrize(("leader", "expected"), [("cpu", "cpu"), ("cuda:0", "cuda:1")])
def test_a_follower_computes_where_its_leader_does(monkeypatch, own, leader, expected):
    def send(tensor, source):
        tensor.copy_(torch.tensor([Order.END, 0, leader != "cpu"]))

    monkeypatch.setattr(module.dist, "broadcast", send)
    monkeypatch.setattr(module, "local_gpu", lambda: torch.device("cuda:1"))
    follower = Team(None, 1, 2)
    follower.device = torch.device(own)
    assert follower.receive() == (Order.END, None)
    assert follower.device == torch.device(expected)

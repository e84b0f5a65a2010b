"""Every network gives on CUDA what it gives on the CPU: values, gradients, and the same bits twice."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch.testing import assert_close

from graphmix import Graph, Streams
from graphmix.models import BACKBONES
from graphmix.streams import Purpose

pytestmark = pytest.mark.gpu


def random_graph(nodes=80):
    rng = np.random.default_rng(8)
    x = sp.random(nodes, 9, density=0.4, format="csr", dtype=np.float32, random_state=rng)
    return Graph.build(x, rng.integers(0, nodes, (2, 2 * nodes)), rng.integers(0, 3, nodes), 3)


def outcome(name, device, *, null=False, seeds=(0, 1, 2)):
    """Logits and gradients of some trials, each with two dropout passes."""
    graph, streams = random_graph().to(device), Streams.from_seeds(seeds, device)
    options = {"layers": 3} if name in ("gcn2", "disengcn") else {}
    model = BACKBONES[name].create(streams, (9, 5, 3), bias=True, **options)
    logits = model(graph.x, graph.null() if null else graph, streams.copies(0, 2).at(Purpose.GNN_DROPOUT, 1))
    logits.square().mean().backward()
    return [logits.detach(), *(weight.grad for weight in model.parameters() if weight.grad is not None)]


# A Graph U-Net's pooling depends on the last digits of its scores.
@pytest.mark.parametrize("name", [name for name in BACKBONES if name != "unet"])
@pytest.mark.parametrize("null", [False, True])
def test_cuda_agrees_with_the_cpu(name, null):
    for on_host, on_device in zip(outcome(name, "cpu", null=null), outcome(name, "cuda", null=null), strict=True):
        assert_close(on_device.cpu(), on_host, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("name", [name for name in BACKBONES if name != "unet"])
def test_two_calls_give_the_same_bits(name):
    for first, second in zip(outcome(name, "cuda"), outcome(name, "cuda"), strict=True):
        assert torch.equal(first, second)

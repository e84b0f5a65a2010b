"""Sparse features in the form of a dense tensor: the first layer of a wrapped module."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
import torch
import torch.nn.functional as F
from torch import nn
from torch.testing import assert_close

from graphmix.data import Graph
from graphmix.models import GCN, wrap
from graphmix.models.features import Features
from graphmix.models.noise_mode import TrialNoise
from graphmix.sparse import SparseMatrix
from graphmix.streams import Purpose, Streams

NODES, FEATURES, CLASSES = 12, 9, 3


class Net(nn.Module):
    """Two linear layers; `start` is what the first one gets of the features."""

    def __init__(self, start, **parts):
        super().__init__()
        self.start, self.first, self.second = start, nn.Linear(FEATURES, 5), nn.Linear(5, CLASSES)
        for name, part in parts.items():
            setattr(self, name, part)

    def forward(self, x, edge_index):
        x = self.start(self, x)
        return self.second(F.dropout(x.relu(), 0.25, training=self.training))


class Own(nn.Module):
    """Reads the values without a call that could be answered, as an extension may."""

    def forward(self, x):
        with torch._C.DisableTorchFunctionSubclass():
            return torch.add(x, 0).as_subclass(torch.Tensor)


def dropped(net, x):
    return F.dropout(x, 0.3, training=net.training)


STARTS = {
    "linear": lambda net, x: net.first(x),
    "dropout and linear": lambda net, x: net.first(dropped(net, x)),
    "dropout module": lambda net, x: net.first(net.drop(x)),
    "dropout twice": lambda net, x: net.first(dropped(net, dropped(net, x))),
    "product": lambda net, x: dropped(net, x) @ net.first.weight.T + net.first.bias,
    "matmul": lambda net, x: torch.matmul(x, net.first.weight.T),
    "used twice": lambda net, x: (lambda y: net.first(y) + y.sum(1, keepdim=True))(dropped(net, x)),
    "shifted": lambda net, x: net.first(dropped(net, x) + 1),
    "product from the right": lambda net, x: F.linear(net.first.weight, dropped(net, x)).T,
}
WRITE_OUT = ("used twice", "shifted", "product from the right")


def graph(seed=0):
    rng = np.random.default_rng(seed)
    x = sp.random(NODES, FEATURES, density=0.4, format="csr", dtype=np.float32, random_state=rng)
    return Graph.build(x, rng.integers(0, NODES, (2, 2 * NODES)), rng.integers(0, CLASSES, NODES), CLASSES)


def noise(trials=2, copies=1):
    return Streams.from_seeds(range(trials)).copies(0, copies).at(Purpose.TARGET_DROPOUT, 3)


def results(model, x, place, given):
    """Logits, and the gradients of all weights."""
    logits = model(x, place, given)
    gradients = torch.autograd.grad(logits.square().sum(), list(model.parameters()), allow_unused=True)
    return [logits, *(torch.zeros(()) if gradient is None else gradient for gradient in gradients)]


@pytest.mark.parametrize("batched", [False, True])
@pytest.mark.parametrize("name", STARTS)
def test_sparse_and_dense_features_give_the_same_results_and_gradients(name, batched):
    module = Net(STARTS[name], drop=nn.Dropout(0.5))
    wrapped, place = wrap(module, mix_at="second"), graph()
    assert wrapped.network.sparse
    assert wrapped.stays_sparse == (name not in WRITE_OUT)
    model = wrapped.create(Streams.from_seeds(range(2)), (FEATURES, 0, CLASSES))
    model = replace(model, batched=batched)
    dense = place.x.to_dense()
    assert_close(results(model, place.x, place, None), results(model, dense, place, None))
    # The same bits, but dense products.
    eager = Features.of(place.x, eager=True)
    for copies in (1, 3):
        sparse = results(model, place.x, place, noise(copies=copies))
        assert_close(sparse, results(model, eager, place, noise(copies=copies)))
        assert len(sparse[0]) == 2 * copies


def test_dropout_of_sparse_features_keeps_their_mean_and_variance():
    module = Net(STARTS["dropout and linear"])
    with torch.no_grad():
        module.first.weight.copy_(torch.eye(5, FEATURES))
        module.first.bias.fill_(10.0)  # relu changes nothing
    model, place, trials = wrap(module, mix_at="second"), graph(), 4000
    many = replace(model.select(torch.zeros(trials, dtype=torch.int64)), batched=True)
    streams = Streams.from_seeds(range(trials)).at(Purpose.FCN_DROPOUT)
    for x in (place.x, place.x.to_dense()):
        drawn = many.encode(x, place.null(), streams)
        # The dropout before the cut belongs to the hidden state: kept with probability 3/4.
        value = place.x.to_dense()[:, :5]
        kept = drawn.where(drawn != 0, torch.nan).div(4 / 3) - 10
        assert_close(kept.nanmean(0), value, rtol=0, atol=0.03)
        spread = (kept - value).square().nanmean(0)
        assert_close(spread, value.square() * 3 / 7, rtol=0.15, atol=1e-4)


def test_a_wrapped_gcn_with_dropout_draws_the_bits_of_the_built_in_one():
    pyg = pytest.importorskip("torch_geometric.nn")

    class Theirs(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1 = pyg.GCNConv(FEATURES, 5, bias=False)
            self.conv2 = pyg.GCNConv(5, CLASSES, bias=False)

        def forward(self, x, edge_index):
            x = F.dropout(x, 0.5, training=self.training)
            return self.conv2(self.conv1(x, edge_index).relu(), edge_index)

    place = graph(1)
    theirs = wrap(Theirs(), mix_at="conv2").create(Streams.from_seeds(range(2)), (FEATURES, 0, CLASSES))
    names = {"conv1.weight": "conv1.lin.weight", "conv2.weight": "conv2.lin.weight"}
    ours = GCN({own: theirs.weights[name].detach().mT.clone() for own, name in names.items()})
    for where in (place, place.null()):
        assert_close(theirs(place.x, where, noise()), ours(place.x, where, noise()))


def test_code_that_reads_values_past_torch_gets_dense_features():
    wrapped, place = wrap(Net(lambda net, x: net.first(net.own(x)), own=Own()), mix_at="second"), graph()
    assert not wrapped.network.sparse
    assert not wrapped.stays_sparse
    assert "sparse features: written out (its results differ" in repr(wrapped)
    assert_close(wrapped(place.x, place), wrapped(place.x.to_dense(), place))


def test_the_form_is_told_and_nothing_is_written_out():
    features = Features.of(graph().x)
    assert (features.shape, features.size(1), len(features), features.dim()) == ((12, 9), 9, 12, 2)
    assert features.dtype == torch.float32
    assert features.numel() == 12 * 9
    assert not features.requires_grad
    assert features.written_out == []
    assert_close(features + 0, graph().x.to_dense())
    assert features.written_out == [False]


def test_every_bit_belongs_to_a_non_zero():
    matrix = SparseMatrix.from_scipy(sp.csr_array(np.array([[0, 2.0, 0], [3.0, 0, 4.0]])))
    given = Streams.from_seeds([0]).at(Purpose.FCN_DROPOUT)
    with TrialNoise(given.keys[0], given):
        kept = F.dropout(Features.of(matrix), 0.5)
    values = kept + 0
    assert set(values[matrix.to_dense() == 0].tolist()) == {0.0}
    bits = [(int(kept.words[0]) >> place) & 1 for place in range(3)]
    assert values[[0, 1, 1], [1, 0, 2]].tolist() == [
        2 * bit * value for bit, value in zip(bits, (2, 3, 4), strict=True)
    ]


def test_features_without_a_non_zero_are_welcome():
    model = wrap(Net(STARTS["dropout and linear"]), mix_at="second")
    empty = SparseMatrix.from_scipy(sp.csr_array((NODES, FEATURES)))
    hidden = model.encode(empty, graph().null())
    assert_close(hidden[0], model.weights["first.bias"][0].relu().expand(NODES, -1))
    noisy = model(empty, graph().null(), Streams.from_seeds([0]).at(Purpose.FCN_DROPOUT))
    assert noisy.isfinite().all()

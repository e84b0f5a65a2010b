"""What a half of a network computes from the edges alone is computed once."""

import copy

import pytest
import torch
from torch import nn
from torch.overrides import TorchFunctionMode
from torch.testing import assert_close

from graphmix.models import constants, wrap
from graphmix.models.constants import ChangedError, Constants
from graphmix.streams import Purpose, Streams

EDGES = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])


class Recorder(TorchFunctionMode):
    """Sends all calls through constants, and counts those that are run."""

    def __init__(self, kept):
        super().__init__()
        self.kept, self.run = kept, []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        def counted(*args, **kwargs):
            self.run.append(getattr(func, "__name__", ""))
            return func(*args, **kwargs)

        # Bound to the function, so that the same call compares equal.
        return self.kept.call(_Counted(func, counted), args, kwargs or {})


class _Counted:
    def __init__(self, func, call):
        self.func, self.call = func, call

    def __eq__(self, other):
        return isinstance(other, _Counted) and self.func == other.func

    def __hash__(self):
        return hash(self.func)

    def __call__(self, *args, **kwargs):
        return self.call(*args, **kwargs)


def passes(function, values, kept=None):
    """Run a function of (edges, value) with constants, once for each value; return results and what was run."""
    kept = kept or Constants([EDGES])
    results = []
    for value in values:
        recorder = Recorder(kept)
        kept.start()
        with recorder:
            result = function(EDGES, value)
        kept.finish()
        results.append((result, recorder.run))
    return results, kept


def normalise(edges, x):
    """As PyG does it: a mask whose size only the device knows, and degrees changed in place."""
    other = edges[:, edges[0] != edges[1]]
    degree = torch.zeros_like(edges[0], dtype=torch.float32).index_add(0, other[1], torch.ones_like(other[1]).float())
    degree = degree + 1
    root = degree.pow_(-0.5)
    root.masked_fill_(root == float("inf"), 0)
    return x * root[: len(x)] + float(root.sum())


def test_a_second_pass_runs_only_what_depends_on_other_values():
    values = [torch.ones(3), torch.full((3,), 2.0), torch.full((3,), 3.0)]
    results, kept = passes(normalise, values)
    assert kept.complete
    assert kept.usable
    for (result, _), value in zip(results, values, strict=True):
        assert_close(result, normalise(EDGES, value))
    assert "pow_" in results[0][1]
    for _, run in results[1:]:
        assert not {"pow_", "masked_fill_", "ne", "sum", "index_add"} & set(run)
        assert "mul" in run


def test_what_is_written_into_is_made_anew_in_every_pass():
    def function(edges, x):
        degree = torch.ones_like(edges[0]).float()
        out = torch.zeros_like(degree)
        out.add_(x)
        return out + degree

    results, kept = passes(function, [torch.ones(4) * value for value in (1, 2, 3, 4)])
    assert [result[0].item() for result, _ in results] == [2, 3, 4, 5]
    assert kept.complete
    assert "ones_like" not in results[-1][1]
    assert "zeros_like" in results[-1][1]
    assert kept._rewritten == {3}


@pytest.mark.parametrize(
    "function",
    [
        pytest.param(lambda edges, x: [c := edges.float()[0], x + c, c.add_(1)][1], id="changed after it was read"),
        pytest.param(lambda edges, x: x + edges.add_(0)[0], id="the edges changed"),
    ],
)
def test_what_cannot_be_kept_is_not(function):
    results, kept = passes(function, [torch.ones(4), torch.ones(4)])
    assert not kept.usable
    assert_close(results[0][0], results[1][0])
    assert len(results[0][1]) == len(results[1][1])


def test_a_pass_that_does_other_things_is_noticed():
    calls = []

    def function(edges, x):
        calls.append(None)
        return x + edges[0].float() * len(calls)

    with pytest.raises(ChangedError):
        passes(function, [torch.ones(4), torch.ones(4)])


def test_large_constants_are_not_kept(monkeypatch):
    monkeypatch.setattr(constants, "_MOST_BYTES", 10)
    results, kept = passes(normalise, [torch.ones(3)] * 2)
    assert not kept.usable
    assert_close(results[0][0], results[1][0])


class Graph:
    edge_index, edge_weights = EDGES, None


def test_a_half_that_changes_its_mind_runs_as_it_is():
    class Layer(nn.Module):
        calls = 0

        def forward(self, x, edge_index):
            type(self).calls += 1
            weight = edge_index[0].float() * 0 + (1.0 if self.calls < 100 else 2.0)
            return x.index_add(0, edge_index[1], x[edge_index[0]] * weight[:, None])

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.layer, self.second = nn.Linear(4, 3), Layer(), nn.Linear(3, 2)

        def forward(self, x, edge_index):
            return self.second(self.layer(self.first(x), edge_index))

    Layer.calls = 0
    wrapped = wrap(Net(), mix_at="second")
    assert Layer.calls < 100
    x = torch.randn(3, 4)
    before = wrapped(x, Graph)
    assert torch.equal(before, wrapped(x, Graph))
    Layer.calls = 100
    hidden = x @ wrapped.weights["first.weight"][0].T + wrapped.weights["first.bias"][0]
    expected = hidden.index_add(0, EDGES[1], hidden[EDGES[0]] * 2)
    assert_close(wrapped.encode(x, Graph)[0], expected)
    assert_close(wrapped.encode(x, Graph)[0], expected)


def test_constants_of_two_graphs_and_of_edited_weights_are_kept_apart():
    pyg = pytest.importorskip("torch_geometric.nn")
    module = pyg.GCN(4, 3, num_layers=2, out_channels=2).eval()
    wrapped, x = wrap(module, mix_at="convs.1"), torch.randn(3, 4)
    other = torch.tensor([[0, 2], [2, 0]])
    for edges in (EDGES, other, EDGES, other[:, :0], other):
        graph = type("Graph", (), {"edge_index": edges, "edge_weights": None})
        assert_close(wrapped(x, graph)[0], module(x, edges))
    with torch.inference_mode():
        assert_close(wrapped(x, Graph)[0], module(x, EDGES))
    assert all(kept.complete for kept in wrapped.network.evaluation._kept.values())


def test_a_copy_starts_without_constants():
    pyg = pytest.importorskip("torch_geometric.nn")
    wrapped = wrap(pyg.GCN(4, 3, num_layers=2, out_channels=2), mix_at="convs.1")
    x, noise = torch.randn(3, 4), Streams.from_seeds([0]).at(Purpose.FCN_DROPOUT)
    result = wrapped(x, Graph, noise)
    assert wrapped.network.training._kept
    copied = copy.deepcopy(wrapped)
    assert not copied.network.training._kept
    assert_close(copied(x, Graph, Streams.from_seeds([0]).at(Purpose.FCN_DROPOUT)), result)


def test_no_more_than_a_few_graphs_are_kept():
    pyg = pytest.importorskip("torch_geometric.nn")
    wrapped, x = wrap(pyg.GCN(4, 3, num_layers=2, out_channels=2), mix_at="convs.1"), torch.randn(3, 4)
    graphs = [type("Graph", (), {"edge_index": EDGES.clone(), "edge_weights": None}) for _ in range(30)]
    for graph in graphs:
        wrapped(x, graph)
    assert len(wrapped.network.evaluation._kept) <= 16

"""Somebody else's modules as backbones."""

import copy
import functools
import importlib.util
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close
from torch.utils._python_dispatch import TorchDispatchMode

from graphmix.data import Graph, synthetic
from graphmix.errors import ConfigError
from graphmix.models import GCN, wrap
from graphmix.models.tries import why_not_batched
from graphmix.sparse.ops import unpack
from graphmix.streams import Purpose, Streams
from graphmix.training import Config, Moment, Task, build_optimizer, fcn_loss, fit, gnn_loss

pyg = pytest.importorskip("torch_geometric.nn")
FEATURES, CLASSES = 9, 3
SIZES = (FEATURES, 0, CLASSES)


def load_examples():
    path = Path(__file__).parents[2] / "benchmarks" / "wrapped.py"
    spec = importlib.util.spec_from_file_location("wrapped_examples", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


NETWORKS = load_examples().NETWORKS
every_network = pytest.mark.parametrize("name", NETWORKS)


@functools.cache
def example(name):
    """A module and what `wrap` makes of it; making it takes half a second."""
    build, mix_at = NETWORKS[name]
    module = build(FEATURES, CLASSES)
    return module, wrap(module, mix_at)


def create(name, trials=2):
    return example(name)[1].create(Streams.from_seeds(range(trials)), SIZES)


def random_graph(seed, nodes=12):
    rng = np.random.default_rng(seed)
    x = sp.random(nodes, FEATURES, density=0.5, format="csr", dtype=np.float32, random_state=rng)
    return Graph.build(x, rng.integers(0, nodes, (2, 2 * nodes)), rng.integers(0, CLASSES, nodes), CLASSES)


def noise(trials=2, epoch=0, copies=None):
    streams = Streams.from_seeds(range(trials))
    return (streams if copies is None else streams.copies(0, copies)).at(Purpose.FCN_DROPOUT, epoch)


class Layers(nn.Module):
    """A network for one test: `forward` is any function of the module, features and edges."""

    def __init__(self, forward, **parts):
        super().__init__()
        self.steps = forward
        for name, part in parts.items():
            setattr(self, name, part)

    def forward(self, x, edge_index):
        return self.steps(self, x, edge_index)


def two_linear(**choices):
    def forward(self, x, edge_index):
        x = F.dropout(x, 0.5, training=self.training)
        x = F.dropout(self.first(x).relu(), 0.25, training=self.training)
        return F.dropout(self.second(x), 0.5, training=self.training)

    return Layers(forward, first=nn.Linear(FEATURES, 5), second=nn.Linear(5, CLASSES), **choices)


# What a wrapped module computes.


def test_pyg_gcn_equals_ours_in_values_gradients_and_halves():
    graph = random_graph(0)
    theirs = wrap(pyg.GCN(FEATURES, 16, num_layers=2, out_channels=CLASSES), mix_at="convs.1")
    theirs = theirs.create(Streams.from_seeds(range(2)), SIZES)
    names = {"convs.0.lin.weight": "conv1.weight", "convs.1.lin.weight": "conv2.weight"}
    biases = {"convs.0.bias": "conv1.bias", "convs.1.bias": "conv2.bias"}
    with torch.no_grad():
        for name in biases:
            theirs.weights[name].uniform_(-1, 1)
    weights = {own: theirs.weights[name].detach().mT.clone().requires_grad_() for name, own in names.items()}
    weights |= {own: theirs.weights[name].detach()[:, None].clone().requires_grad_() for name, own in biases.items()}
    ours = GCN(weights, input_dropout=0.0)
    upstream = torch.randn(2, 12, CLASSES)
    for place in (graph, graph.null()):
        hidden = ours.encode(graph.x, place)
        assert_close(theirs.encode(graph.x, place), hidden)
        assert_close(theirs.decode(hidden, place), ours.decode(hidden, place))
        for model in (theirs, ours):
            for weight in model.parameters():
                weight.grad = None
            model(graph.x, place).backward(upstream)
        for name, own in (names | biases).items():
            expected = ours.weights[own].grad
            assert_close(theirs.weights[name].grad, expected.mT if name in names else expected[:, 0])


def test_dropout_drops_what_the_stream_says_in_both_halves():
    graph = random_graph(1)
    model = wrap(two_linear(), mix_at="second").create(Streams.from_seeds(range(2)), SIZES)
    given = noise(epoch=4)
    hidden = model.encode(graph.x, graph, given)
    logits = model.decode(hidden, graph, given)

    def mask(first, entries, rate):
        fresh = noise(epoch=4)
        fresh._draws = first
        keep = fresh.keep(entries, rate)
        return unpack(keep.words, entries) * keep.scale

    # One bit for each non-zero of the features, as in the built-in networks.
    dropped = torch.zeros(2, 12, FEATURES)
    rows, columns = graph.x.to_dense().nonzero(as_tuple=True)
    dropped[:, rows, columns] = mask(0, graph.x.nonzeros, 0.5) * graph.x.values
    weights = model.weights
    mapped = (dropped @ weights["first.weight"].mT + weights["first.bias"][:, None]).relu()
    expected = mapped * mask(1, 12 * 5, 0.25).view(2, 12, 5)
    assert_close(hidden, expected)
    expected = expected @ weights["second.weight"].mT + weights["second.bias"][:, None]
    # The second half starts 1,024 draws on.
    assert_close(logits, expected * mask(1024, 12 * CLASSES, 0.5).view(2, 12, CLASSES))


@every_network
@pytest.mark.parametrize("null", [False, True])
def test_the_two_halves_are_the_whole_module(name, null):
    module, template = example(name)
    graph = random_graph(2)
    place = graph.null() if null else graph
    expected = copy.deepcopy(module).eval()(graph.x.to_dense(), place.edge_index)
    assert_close(template(graph.x, place)[0], expected)
    assert_close(template.decode(template.encode(graph.x.to_dense(), place), place)[0], expected)


@every_network
@settings(max_examples=10)
@given(seed=st.integers(0, 10_000), node=st.integers(0, 11), noisy=st.booleans())
def test_node_wise_on_the_null_graph(name, seed, node, noisy):
    graph = random_graph(seed)
    model = create(name)
    changed = graph.x.to_dense()
    changed[node] += 1.0
    first, second = (model(x, graph.null(), noise() if noisy else None) for x in (graph.x.to_dense(), changed))
    others = torch.arange(12) != node
    assert_close(first[:, others], second[:, others])
    assert not torch.equal(first[:, node], second[:, node]) or noisy


@every_network
def test_any_rows_can_be_decoded_on_the_null_graph(name):
    graph = random_graph(3)
    model = create(name)
    hidden, picks = model.encode(graph.x, graph.null()), torch.tensor([3, 0, 3])
    assert_close(model.decode(hidden[:, picks], graph.null()), model.decode(hidden, graph.null())[:, picks])


@pytest.mark.filterwarnings("ignore:'scale' is not set")
def test_all_that_crosses_the_cut_is_carried():
    template = example("gcn2")[1]
    assert template.encode(random_graph(1).x, random_graph(1)).shape == (1, 12, 64 + 64)

    def forward(self, x, edge_index):
        one = self.first(x)
        heads, number = one.view(-1, 2, 3), one.sum(1)
        return self.second(one.relu()) + heads.sum(1) * number[:, None] + self.scale

    module = Layers(forward, first=nn.Linear(FEATURES, 6), second=nn.Linear(6, 3), scale=nn.Parameter(torch.ones(3)))
    wrapped, graph = wrap(module, mix_at="second"), random_graph(1)
    assert wrapped.encode(graph.x, graph).shape == (1, 12, 6 + 2 * 3 + 1)
    assert_close(wrapped(graph.x, graph)[0], module(graph.x.to_dense(), graph.edge_index))


def test_the_size_of_the_features_may_be_read_before_the_cut_and_used_after_it():
    def forward(self, x, edge_index):
        nodes, features = x.shape
        rows = x.size(0)
        logits = self.second(self.first(x).relu())
        return logits.view(nodes, -1) * rows / nodes + features

    module, graph = two_linear(), random_graph(1)
    module.steps = forward
    wrapped = wrap(module, mix_at="second")
    assert_close(wrapped(graph.x, graph)[0], module(graph.x.to_dense(), graph.edge_index))
    hidden = wrapped.encode(graph.x, graph.null())
    assert hidden.shape == (1, 12, 5)
    # Three rows are other than the twelve that were encoded.
    assert_close(wrapped.decode(hidden[:, :3], graph.null()), wrapped.decode(hidden, graph.null())[:, :3])


@pytest.mark.filterwarnings("ignore:Sparse invariant checks")
def test_a_sparse_adjacency_may_be_passed_around_inside():
    def forward(self, x, edge_index):
        adjacency = self.adjacency(x.size(0), edge_index)
        x = self.spread(self.first(x).relu(), adjacency)
        return self.spread(self.second(x), adjacency)

    parts = {
        "adjacency": Gather(lambda n, edges: torch.sparse_coo_tensor(edges, torch.ones(edges.shape[1]), (n, n))),
        "spread": Gather(lambda x, adjacency: x + adjacency @ x),
    }
    module, graph = two_linear(**parts), random_graph(1)
    module.steps = forward
    wrapped = wrap(module, mix_at="second")
    assert_close(wrapped(graph.x, graph)[0], module(graph.x.to_dense(), graph.edge_index))

    def from_hidden(self, x, edge_index):
        x = self.first(x)
        adjacency = self.adjacency(x.size(0), edge_index)
        return self.spread(self.second(x), adjacency)

    module.steps = from_hidden
    with pytest.raises(
        ConfigError, match=r"of type sparse_coo, .* used after it \(test_wrap.py, line \d+: adjacency = "
    ):
        wrap(module, mix_at="second")


def test_edges_dropped_before_the_cut_are_dropped_alike_after_it():
    from torch_geometric.utils import dropout_edge

    def gather(x, edge_index):
        return torch.zeros_like(x).index_add(0, edge_index[1], x[edge_index[0]])

    def forward(self, x, edge_index):
        edges, _ = dropout_edge(edge_index, p=0.5, training=self.training)
        h = self.first(x)
        return self.second(torch.cat([h, self.gather(h, edges)], dim=1), edges)

    second = Gather(lambda both, edges: gather(both[:, :CLASSES], edges) - both[:, CLASSES:])
    wrapped = wrap(Layers(forward, first=nn.Linear(FEATURES, CLASSES), gather=Gather(gather), second=second), "second")
    graph = random_graph(1)
    model = wrapped.create(Streams.from_seeds(range(2)), SIZES)
    assert why_not_batched(wrapped, torch.device("cpu"))  # how many edges stay depends on the trial
    hidden = model.encode(graph.x, graph, noise())
    assert not torch.equal(hidden, model.encode(graph.x, graph))
    assert_close(model(graph.x, graph, noise()), torch.zeros(2, 12, CLASSES))


class Gather(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x, edge_index):
        return self.function(x, edge_index)


def test_weights_used_under_two_names_stay_one():
    shared = nn.Linear(5, 5)
    module = Layers(
        lambda self, x, _: self.out(self.two(self.one(self.into(x)).relu())),
        into=nn.Linear(FEATURES, 5),
        one=nn.Sequential(shared),
        two=nn.Sequential(shared),
        out=nn.Linear(5, CLASSES),
    )
    wrapped, graph = wrap(module, mix_at="two"), random_graph(1)
    assert [name for name in wrapped.weights if "0.weight" in name] == ["one.0.weight"]
    doubled = replace(wrapped, weights=wrapped.weights | {"one.0.weight": 2 * wrapped.weights["one.0.weight"]})
    with torch.no_grad():
        shared.weight *= 2
    assert_close(doubled(graph.x, graph)[0], module(graph.x.to_dense(), graph.edge_index))


def test_frozen_weights_and_buffers_are_shared_constants():
    module = two_linear()
    module.first.requires_grad_(False)
    model = wrap(module, mix_at="second").create(Streams.from_seeds(range(2)), SIZES)
    assert list(model.weights) == ["second.weight", "second.bias"]
    graph = random_graph(1)
    expected = module.first(graph.x.to_dense()).relu()
    assert_close(model.encode(graph.x, graph), expected.expand(2, -1, -1))


# Trials.


@every_network
@pytest.mark.parametrize("batched", [False, True])
def test_a_trial_in_a_batch_equals_the_trial_alone(name, batched):
    graph = random_graph(4)
    together = replace(create(name, trials=3), batched=batched)
    alone = replace(example(name)[1].create(Streams.from_seeds([2]), SIZES), batched=batched)
    assert_close({key: value[2:] for key, value in together.weights.items()}, alone.weights, rtol=0, atol=0)
    # In a loop a trial does what it does alone, bit for bit; products over several trials may round otherwise.
    rounding = {"rtol": 1e-5, "atol": 1e-5} if batched else {"rtol": 0, "atol": 0}
    streams = Streams.from_seeds([2]).at(Purpose.FCN_DROPOUT)
    for x in (graph.x, graph.x.to_dense()):
        quiet = together(x, graph)
        assert_close(quiet[2:], alone(x, graph), **rounding)
        assert_close(together(x, graph, noise(3))[2:], alone(x, graph, replace(streams)), **rounding)
    assert not torch.allclose(quiet[0], quiet[1])


@every_network
@pytest.mark.parametrize("null", [False, True])
def test_batched_and_looped_agree_in_values_and_gradients(name, null):
    assert not why_not_batched(example(name)[1], torch.device("cpu"))
    graph = random_graph(5)
    place = graph.null() if null else graph
    looped = create(name)
    batched = replace(looped, batched=True)
    found = []
    for model in (looped, batched):
        given, copies = noise(), noise(copies=3)
        hidden = model.encode(graph.x, place, given)
        logits = model.decode(hidden, place, given)
        gradients = torch.autograd.grad(logits.square().sum(), list(model.parameters()), allow_unused=True)
        several = model(graph.x, place, copies)
        assert several.shape == (6, 12, CLASSES)
        found.append([hidden, logits, several, model(graph.x, place), *(g for g in gradients if g is not None)])
    assert_close(found[0], found[1], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("batched", [False, True])
def test_a_trial_s_copies_equal_single_ones(batched, monkeypatch):
    # Found by name, since the package has a function of the same name; one trial at a time.
    monkeypatch.setattr(sys.modules["graphmix.models.wrapped"], "_AT_ONCE", 1)
    graph = random_graph(6)
    model = replace(create("gatv2"), batched=batched)
    several = model(graph.x, graph, noise(copies=3)).unflatten(0, (2, 3))
    for copy_ in range(3):
        streams = Streams.from_seeds(range(2)).copies(copy_, copy_ + 1)
        assert_close(several[:, copy_], model(graph.x, graph, streams.at(Purpose.FCN_DROPOUT)))


@every_network
def test_dropout_differs_between_trials_epochs_copies_and_halves_but_not_between_runs(name):
    graph = random_graph(7)
    model = create(name)
    same = model.select(torch.tensor([0, 0]))
    drawn = same(graph.x, graph, noise(epoch=1))
    assert torch.equal(drawn, same(graph.x, graph, noise(epoch=1)))
    assert torch.equal(drawn, same(graph.x, graph, noise(epoch=torch.tensor([1]))))
    assert not torch.allclose(drawn[0], drawn[1])
    assert not torch.allclose(drawn, same(graph.x, graph, noise(epoch=2)))
    copies = same(graph.x, graph, noise(copies=2))
    assert not torch.allclose(copies[0], copies[1])
    given = noise(epoch=1)
    first, second = (same.encode(graph.x, graph, given) for _ in range(2))
    assert not torch.allclose(first, second)


def test_other_random_numbers_come_from_the_streams_too():
    def forward(self, x, edge_index):
        x = self.first(x)
        if self.training:
            x = x + torch.rand_like(x) + torch.bernoulli(torch.full_like(x, 0.5))
            x = x * torch.empty_like(x).copy_(x * 0).bernoulli_(0.9) + self.noisy(x, edge_index)
        return self.second(x)

    noisy = Gather(lambda x, _: x + (torch.rand(x.size(0), 1) + torch.rand((x.size(0), 1))))
    module = Layers(forward, first=nn.Linear(FEATURES, 5), second=nn.Linear(5, CLASSES), noisy=noisy)
    graph = random_graph(1)
    model = wrap(module, mix_at="second").create(Streams.from_seeds(range(3)), SIZES)
    before = torch.random.get_rng_state()
    drawn = model(graph.x, graph, noise(3))
    assert torch.equal(torch.random.get_rng_state(), before)
    assert torch.equal(drawn, model(graph.x, graph, noise(3)))
    assert_close(drawn, replace(model, batched=True)(graph.x, graph, noise(3)))
    alone = model.select(torch.tensor([1]))
    assert_close(drawn[1:2], alone(graph.x, graph, Streams.from_seeds([1]).at(Purpose.FCN_DROPOUT)))


def test_select_sends_gradients_back_to_the_right_trials():
    graph = random_graph(1)
    model = create("sage", trials=4)
    model.select(torch.tensor([2, 0]))(graph.x, graph)[0].sum().backward()
    touched = model.weights["conv2.lin_l.weight"].grad.abs().sum((1, 2)) > 0
    assert touched.tolist() == [False, False, True, False]


# What is left alone.


def test_the_module_and_the_generator_stay_as_they_were():
    build, mix_at = NETWORKS["gin"]
    module = build(FEATURES, CLASSES).train()
    before = copy.deepcopy(module.state_dict())
    state = torch.random.get_rng_state()
    wrapped = wrap(module, mix_at)
    model = wrapped.create(Streams.from_seeds(range(2)), SIZES)
    graph = random_graph(1)
    model(graph.x, graph, noise()).sum().backward()
    with torch.no_grad():
        for weight in model.parameters():
            weight += 1
    assert torch.equal(torch.random.get_rng_state(), state)
    assert_close(module.state_dict(), before, rtol=0, atol=0)
    assert module.training
    assert all(weight.grad is None for weight in module.parameters())
    assert not any(part._forward_hooks or part._forward_pre_hooks for part in module.modules())


def test_initial_weights_are_reset_where_there_is_a_reset_and_given_elsewhere():
    module = two_linear(shift=nn.Parameter(torch.tensor([1.5])))
    with pytest.warns(UserWarning, match="'shift' is not set by any reset_parameters"):
        wrapped = wrap(module, mix_at="second")
    model = wrapped.create(Streams.from_seeds(range(3)), SIZES)
    assert model.weights["shift"].flatten().tolist() == [1.5] * 3
    weight = model.weights["first.weight"]
    assert weight.shape == (3, 5, FEATURES)
    assert weight.abs().max() <= FEATURES**-0.5  # torch's bound for a linear layer
    assert len({tuple(trial.flatten().tolist()) for trial in weight}) == 3
    module.reset_parameters = lambda: nn.init.zeros_(module.first.weight)
    assert not torch.equal(module.first.weight, torch.zeros(5, FEATURES))


def test_a_module_s_own_reset_wins():
    class Own(nn.Linear):
        def reset_parameters(self):
            nn.init.constant_(self.weight, 0.25)
            nn.init.zeros_(self.bias)

        def forward(self, x, edge_index):
            return self.act(super().forward(x))

    module = Own(FEATURES, CLASSES)
    module.act = nn.PReLU()
    nn.init.constant_(module.act.weight, 0.7)
    with pytest.warns(UserWarning, match=r"'act.weight' is not set by the module's reset_.*; let it set all weights"):
        wrapped = wrap(module, mix_at="act")
    model = wrapped.create(Streams.from_seeds(range(2)), SIZES)
    assert_close(model.weights["weight"], torch.full((2, CLASSES, FEATURES), 0.25))
    assert_close(model.weights["act.weight"], torch.full((2, 1), 0.7))


def test_weights_that_nothing_resets_are_named_at_the_caller():
    def forward(self, x, edge_index):
        return (self.second(self.first(x)) * self.w1 + self.w2) * self.w3 + self.w4 + self.frozen

    names = {name: nn.Parameter(torch.ones(CLASSES)) for name in ("w1", "w2", "w3", "w4")}
    module = two_linear(**names, frozen=nn.Parameter(torch.ones(CLASSES), requires_grad=False))
    module.steps = forward
    with pytest.warns(
        UserWarning, match="'w1', 'w2', 'w3' and 1 more are not set by any .*; give the module one"
    ) as told:
        wrap(module, mix_at="second")
    assert [Path(warning.filename).name for warning in told] == ["test_wrap.py"]


def test_a_reset_that_fails_is_named():
    module = two_linear()
    module.first.reset_parameters = lambda gain: None
    with pytest.raises(ConfigError, match=r"the reset_parameters\(\) of Linear fails \(.*'gain'\)"):
        wrap(module, mix_at="second")


def test_layers_of_open_size_are_settled_by_the_given_number_of_features():
    def build():
        return Layers(lambda s, x, e: s.two(s.one(x, e).relu(), e), one=pyg.SAGEConv(-1, 5), two=pyg.SAGEConv(-1, 3))

    with pytest.raises(ConfigError, match="layers without a size yet; pass wrap"):
        wrap(build(), mix_at="two")
    model = wrap(build(), mix_at="two", features=FEATURES).create(Streams.from_seeds(range(2)), SIZES)
    assert model.weights["one.lin_l.weight"].shape == (2, 5, FEATURES)
    unfit = Layers(lambda s, x, e: s.two(s.one(x)), one=nn.LazyLinear(5), two=nn.Linear(6, 3))
    with pytest.raises(ConfigError, match=r"fails on 7 nodes with 9 features .*; features=9 may be wrong"):
        wrap(unfit, mix_at="two", features=FEATURES)
    unused = two_linear(more=nn.LazyLinear(5))
    with pytest.raises(ConfigError, match=r"'more.weight' still has no size"):
        wrap(unused, mix_at="second", features=FEATURES)


def test_no_torch_geometric_is_needed():
    code = (
        "import sys; sys.modules['torch_geometric'] = None\n"
        "import torch; from torch import nn; from graphmix.models import wrap\n"
        "class Net(nn.Module):\n"
        "    def __init__(self): super().__init__(); self.a, self.b = nn.Linear(4, 3), nn.Linear(3, 2)\n"
        "    def forward(self, x, edge_index): return self.b(self.a(x).relu())\n"
        "assert list(wrap(Net(), 'b').weights) == ['a.weight', 'a.bias', 'b.weight', 'b.bias']\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


# Training.


@every_network
def test_steps_of_both_kinds_reduce_the_loss(name):
    graph, split = synthetic(nodes=60, features=20, labels_per_class=4, seed=3)
    config = Config.for_dataset("", trials=2, epochs=10, perturbations=2, learning_rate=0.02)
    task, streams = Task.build(graph, split, config), Streams.from_seeds(range(2))
    build, mix_at = NETWORKS[name]
    model = wrap(build(20, graph.num_classes), mix_at).create(streams, (20, 0, graph.num_classes))
    optimizer = build_optimizer(model, config)

    def losses(weight=None):
        moment = Moment(5, weight)
        return torch.stack([gnn_loss(model, task, streams, moment), fcn_loss(model, task, config, streams, moment)])

    before = losses().detach()
    for _ in range(15):
        optimizer.zero_grad()
        losses().sum().backward()
        optimizer.step()
    assert (losses() < before).all()
    optimizer.zero_grad()
    losses(weight=1.0).sum().backward()
    assert all(weight.grad.isfinite().all() for weight in model.parameters())


def test_a_trial_s_curves_do_not_depend_on_its_batch():
    graph, split = synthetic(nodes=60, features=20, labels_per_class=4, seed=3)
    build, mix_at = NETWORKS["sage"]
    wrapped = wrap(build(20, graph.num_classes), mix_at)
    config = Config.for_dataset("", trials=3, epochs=12, perturbations=2)
    together = fit(graph, split, config, model=wrapped, device="cpu", chunk=3)
    alone = fit(graph, split, replace(config, trials=1, seed=2), model=wrapped, device="cpu")
    assert torch.equal(together.history.val_accuracy[2], alone.history.val_accuracy[0])
    assert_close(together.history.loss[2], alone.history.loss[0])
    assert together.history.loss[0, -1] != together.history.loss[1, -1]


@pytest.mark.gpu
@every_network
def test_cuda_trains_batched_as_looped(name):
    graph, streams = random_graph(1).to("cuda"), Streams.from_seeds(range(3), "cuda")
    model = example(name)[1].create(streams, SIZES)
    assert model.batched
    epoch = torch.tensor([3], device="cuda")
    for when in (None, streams.at(Purpose.GNN_DROPOUT, epoch)):
        second = None if when is None else streams.at(Purpose.GNN_DROPOUT, epoch)
        looped = replace(model, batched=False)(graph.x, graph, second)
        assert_close(model(graph.x, graph, when), looped, rtol=1e-4, atol=1e-5)
    host = replace(model, weights={key: value.cpu() for key, value in model.weights.items()})
    again = host(random_graph(1).x, random_graph(1), noise(3, epoch=3))
    noisy = model(graph.x, graph, streams.at(Purpose.FCN_DROPOUT, epoch))
    assert_close(noisy.cpu(), again, rtol=1e-3, atol=1e-4)


# What is refused.


def norm_between(norm):
    # The same weights every time.
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return Layers(
            lambda self, x, e: self.two(self.norm(self.one(x, e)).relu(), e),
            one=pyg.GCNConv(FEATURES, 5),
            norm=norm,
            two=pyg.GCNConv(5, CLASSES),
        )


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (norm_between(nn.BatchNorm1d(5)), r"'norm' \(BatchNorm1d\) lets .* in training; use torch.nn.LayerNorm"),
        (norm_between(pyg.BatchNorm(5)), r"'norm.module' \(BatchNorm1d\) lets .* in training; use torch.nn.LayerNorm"),
        (norm_between(pyg.GraphNorm(5)), r"'norm' \(GraphNorm\) lets .* without edges; use torch.nn.LayerNorm"),
        (norm_between(pyg.PairNorm()), r"'norm' \(PairNorm\) lets .* without edges; use torch.nn.LayerNorm"),
        (norm_between(pyg.LayerNorm(5)), r"'norm' \(LayerNorm\) lets .* without edges; use torch.nn.LayerNorm"),
        (norm_between(nn.Softmax(dim=0)), r"'norm' \(Softmax\) lets .*; make it work on one node at a time"),
    ],
    ids=["batch norm", "pyg batch norm", "graph norm", "pair norm", "layer norm", "softmax"],
)
def test_a_submodule_that_mixes_nodes_is_named(module, message):
    with pytest.raises(ConfigError, match=message):
        wrap(module, mix_at="two")


def test_pooling_over_all_nodes_is_named():
    module = Layers(
        lambda self, x, e: self.two(self.one(x) + self.pool(x)),
        pool=pyg.MeanAggregation(),
        one=nn.Linear(FEATURES, FEATURES),
        two=nn.Linear(FEATURES, CLASSES),
    )
    with pytest.raises(ConfigError, match=r"'pool' \(MeanAggregation\) lets .*; remove the pooling"):
        wrap(module, mix_at="two")


def test_layer_norm_by_node_is_welcome():
    assert wrap(norm_between(nn.LayerNorm(5)), mix_at="two").network.classes == CLASSES
    assert wrap(norm_between(pyg.LayerNorm(5, mode="node")), mix_at="two").network.classes == CLASSES


@pytest.mark.parametrize(
    "layer",
    [
        pyg.GCNConv(5, 5, cached=True),
        pyg.SGConv(5, 5, cached=True),
        pyg.APPNP(2, 0.1, cached=True),
        pyg.GCN2Conv(5, 0.1, cached=True),
    ],
    ids=lambda layer: type(layer).__name__,
)
def test_a_layer_that_keeps_its_first_graph_is_named(layer):
    def forward(self, x, edge_index):
        x = self.one(x).relu()
        arguments = (x, x, edge_index) if isinstance(layer, pyg.GCN2Conv) else (x, edge_index)
        return self.two(self.keeps(*arguments))

    module = Layers(forward, one=nn.Linear(FEATURES, 5), keeps=layer, two=nn.Linear(5, CLASSES))
    with pytest.raises(ConfigError, match=r"'keeps' .* after a run on one with edges; pass it cached=False"):
        wrap(module, mix_at="two")


@pytest.mark.parametrize(
    ("forward", "message"),
    [
        (lambda s, x, e: s.two(s.one(x).softmax(dim=0)), r"before the submodule 'two' \(Linear\) lets"),
        (lambda s, x, e: s.two(s.one(x)) - x.mean(), r"the forward pass of Layers lets a node's result depend"),
        (lambda s, x, e: s.two(s.one(x)).mean(0), r"returns \[3\] for 7 nodes, not logits"),
        (lambda s, x, e: (s.two(s.one(x)), x), r"returns \[7, 3\], \[7, 9\] for 7 nodes, not logits"),
        (
            lambda s, x, e: s.two(s.two(s.one(x)) @ s.two.weight),
            "the module calls 'two' 2 times; `mix_at` must be one of one$",
        ),
        (
            lambda s, x, e: s.two(s.one(s.one(x) @ s.one.weight)) * 1 + s.two(s.one(x)),
            "cannot be cut anywhere else; let it call",
        ),
        (lambda s, x, e: s.two(s.one(x)).softmax(dim=1), "returns probabilities; return logits"),
        (lambda s, x, e: s.two(s.one(x.nodes)), r"14 edges \('Tensor' object has no attribute 'nodes'\)$"),
        (lambda s, x, e: s.two(s.one(x.long())), r"14 edges \(.* dtype.*\)$"),
        (lambda s, x, e: s.two(s.one(F.dropout(x))), "dropout is on in evaluation too"),
        (lambda s, x, e: s.two(s.one(x + torch.rand_like(x))), "calls torch.rand_like in evaluation too"),
        (
            lambda s, x, e: s.two(s.one(x + torch.randn_like(x) if s.training else x)),
            "draws random numbers with randn_like",
        ),
        (
            lambda s, x, e: s.two(s.one(x + torch.rand(FEATURES) if s.training else x)),
            "draws random numbers with rand, .* with a shape that follows from the features",
        ),
        (lambda s, x, e: s.two(s.one(x.add_(1))), "changes its features in place"),
        (lambda s, x, e: s.two(s.one(x) / e.shape[1]), "before the submodule 'two' .* not finite on a graph without"),
        (lambda s, x, e: s.two(s.one(x) + torch.arange(len(x))[:, None]), "depends on the node's position"),
        (lambda s, x, e: s.two(s.one(x)) if x.sum() > 1e9 else s.two(s.one(x)) + 1, "cannot be cut at 'two'"),
        (
            lambda s, x, e: s.one(x).size(0) * s.two(s.one(x)[:7]) / x.size(0),
            "'size', of type int, is computed before 'two'",
        ),
        (lambda s, x, e: s.one(x)[:, :3], "the module never calls 'two'; `mix_at` must be one of one$"),
    ],
    ids=lambda value: value[:30] if isinstance(value, str) else "",
)
def test_a_forward_pass_that_cannot_be_trained_is_refused_in_one_sentence(forward, message):
    module = Layers(forward, one=nn.Linear(FEATURES, 5), two=nn.Linear(5, CLASSES))
    with pytest.raises(ConfigError, match=message) as raised:
        wrap(module, mix_at="two")
    assert "\n" not in str(raised.value)


def test_the_line_that_cannot_be_cut_is_named():
    def decides(self, x, edge_index):
        x = self.first(x)
        if x.sum() > 1e9:
            x = x + 1
        return self.second(x)

    def measures(self, x, edge_index):
        x = self.first(x)
        rows = x.size(0)
        return self.second(x).view(rows, -1)

    for forward, code, remedy in (
        (decides, "if x.sum() > 1e9:", "move that code into a submodule"),
        (measures, "rows = x.size(0)", "compute it after 'second', or from x.shape alone"),
    ):
        module = two_linear()
        module.steps = forward
        with pytest.raises(ConfigError, match=re.escape(f": {code})") + f".*{remedy}") as raised:
            wrap(module, mix_at="second")
        line = int(re.search(r"test_wrap.py, line (\d+)", str(raised.value))[1])
        assert Path(__file__).read_text().splitlines()[line - 1].strip() == code


def with_forward(forward):
    """A module of a class of its own, since signatures belong to classes."""
    layers = two_linear()
    layers.__class__ = type("Own", (Layers,), {"forward": forward})
    return layers


@pytest.mark.parametrize(
    ("forward", "takes"),
    [
        (lambda self, data: self.second(self.first(data.x)), "(data)"),
        (lambda self, x: self.second(self.first(x)), "(x)"),
        (lambda self, x, edge_index, edge_weight: self.second(self.first(x)), "(x, edge_index, edge_weight)"),
        (lambda self, x, edge_index, *, batch: self.second(self.first(x)), "(x, edge_index, batch)"),
    ],
    ids=["data", "x", "edge_weight", "keyword"],
)
def test_a_forward_of_other_arguments_is_refused(forward, takes):
    with pytest.raises(ConfigError, match=re.escape(f"forward takes {takes}, but it is called with (x, edge_index);")):
        wrap(with_forward(forward), mix_at="second")


def test_other_arguments_keep_their_defaults():
    module = with_forward(lambda self, x, edge_index, scale=2.0, **more: self.second(self.first(x)) * scale)
    wrapped, graph = wrap(module, mix_at="second"), random_graph(1)
    assert_close(wrapped(graph.x, graph)[0], module(graph.x.to_dense(), graph.edge_index))


def test_log_probabilities_are_welcome():
    module = with_forward(lambda self, x, edge_index: self.second(self.first(x)).log_softmax(dim=1))
    assert wrap(module, mix_at="second").network.classes == CLASSES


@pytest.mark.parametrize("kind", ["float64", "float16", "bfloat16"])
def test_weights_of_other_precision_are_refused(kind):
    module = two_linear().to(getattr(torch, kind))
    with pytest.raises(ConfigError, match=rf"'first.weight' is of type {kind}, not float32; call .float\(\)"):
        wrap(module, mix_at="second")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("turn", [lambda m: torch.jit.trace(m, torch.ones(2, 4)), torch.jit.script, torch.compile])
def test_compiled_modules_are_refused(turn):
    for module in (turn(nn.Linear(4, 2)), two_linear(part=turn(nn.Linear(4, 2)))):
        with pytest.raises(ConfigError, match=r"by torch.jit or torch.compile cannot be cut; wrap the original"):
            wrap(module, mix_at="second")


def test_features_that_cannot_be_found_are_asked_for():
    def forward(self, x, edge_index):
        return self.second(self.first(torch.cat([x, torch.ones_like(x[:, :1])], dim=1)))

    module = with_forward(forward)
    with pytest.raises(ConfigError, match=r"\(7x10 and 9x5\)\); .* 9 features, pass wrap\(..., features=\)$"):
        wrap(module, mix_at="second")
    assert wrap(module, mix_at="second", features=FEATURES - 1).features == FEATURES - 1


@pytest.mark.parametrize("features", ["x", 0, 2.5])
def test_features_must_be_a_whole_number(features):
    with pytest.raises(ConfigError, match=f"`features` must be a whole number of at least 1, not {features!r}"):
        wrap(two_linear(), mix_at="second", features=features)


def test_a_layer_over_the_node_axis_is_named():
    module = Layers(lambda s, x, e: s.two(s.over(x.T).T), over=nn.Linear(40, 40), two=nn.Linear(FEATURES, CLASSES))
    with pytest.raises(ConfigError, match=r"'over' \(Linear\) fails on 7 nodes with 9 features .* any number"):
        wrap(module, mix_at="two", features=FEATURES)


def test_an_unknown_name_is_answered_with_the_known_ones():
    with pytest.raises(ConfigError, match=r"no submodule 'conv3'; `mix_at` must be one of conv1, conv2$"):
        wrap(NETWORKS["sage"][0](FEATURES, CLASSES), mix_at="conv3")
    with pytest.raises(ConfigError, match="`mix_at` must be the name of a submodule, not a Linear"):
        wrap(two_linear(), mix_at=nn.Linear(5, 3))


@pytest.mark.parametrize(
    ("module", "inner", "layer"),
    [
        (NETWORKS["sage"][0](FEATURES, CLASSES), "conv1.lin_l", r"'conv1' \(SAGEConv\)"),
        (NETWORKS["gin"][0](FEATURES, CLASSES), "conv2.nn.0", r"'conv2' \(GINConv\)"),
        (NETWORKS["pyg-gcn"][0](FEATURES, CLASSES), "convs.1.lin", r"'convs.1' \(GCNConv\)"),
    ],
    ids=["sage", "gin", "pyg-gcn"],
)
def test_a_name_inside_a_layer_is_answered_with_the_layer_s(module, inner, layer):
    with pytest.raises(
        ConfigError, match=f"{inner!r}, a part of the layer {layer}, .*; name the layer that contains it"
    ):
        wrap(module, mix_at=inner)


def test_a_layer_alone_cannot_be_cut():
    with pytest.raises(ConfigError, match=r"the module is a single layer \(GCNConv\)"):
        wrap(pyg.GCNConv(FEATURES, CLASSES), mix_at="lin")


def test_a_submodule_in_a_sequence_can_be_named():
    module = Layers(
        lambda s, x, e: s.all(x), all=nn.Sequential(nn.Linear(FEATURES, 5), nn.ReLU(), nn.Linear(5, CLASSES))
    )
    assert wrap(module, mix_at="all.2").encode(random_graph(1).x, random_graph(1)).shape == (1, 12, 5)


def test_what_is_no_module_or_has_no_weights_is_refused():
    with pytest.raises(ConfigError, match=r"only a torch.nn.Module can be wrapped, not a str"):
        wrap("gcn", mix_at="conv1")
    with pytest.raises(ConfigError, match="no weights to train"):
        wrap(Layers(lambda s, x, e: s.act(x), act=nn.ReLU()), mix_at="act", features=4)
    with pytest.raises(ConfigError, match="number of features cannot be found from the module"):
        wrap(Layers(lambda s, x, e: s.act(x), act=nn.ReLU()), mix_at="act")


def test_sizes_that_do_not_fit_are_refused():
    wrapped, streams = example("sage")[1], Streams.from_seeds([0])
    with pytest.raises(ConfigError, match="made for 9 features, but the graph has 8"):
        wrapped.create(streams, (8, 16, CLASSES))
    with pytest.raises(ConfigError, match="made for 3 classes, but the graph has 4"):
        wrapped.create(streams, (FEATURES, 16, 4))
    with pytest.raises(ConfigError, match="made for 9 features, but x has 5"):
        wrapped.encode(torch.zeros(12, 5), random_graph(1))


class Waits(TorchDispatchMode):
    """Notes the operations for which the host would have to wait for a GPU, so that an epoch could not be captured."""

    def __init__(self):
        super().__init__()
        self.found = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = func._schema.name.removeprefix("aten::")
        nested = [value for arg in args if isinstance(arg, list | tuple) for value in arg]
        masked = any(isinstance(value, torch.Tensor) and value.dtype == torch.bool for value in nested)
        if name in ("nonzero", "_local_scalar_dense", "masked_select", "_unique2", "repeat_interleave") or (
            masked and name.startswith("index")
        ):
            self.found.append(name)
        return func(*args, **(kwargs or {}))


@every_network
def test_only_the_first_pass_on_a_graph_waits_for_the_device(name):
    graph, model = random_graph(8), replace(create(name), batched=True)
    found = []
    for _ in range(2):
        with Waits() as waits:
            for place in (graph, graph.null()):
                given = noise()
                hidden = model.encode(graph.x, place, given)
                model.decode(hidden, place, given).sum().backward()
            model.decode(hidden[:, :5].detach(), graph.null(), given).sum().backward()
            with torch.no_grad():
                model(graph.x, graph, noise(copies=2))
                model(graph.x, graph)
        found.append(waits.found)
    assert found[1] == []
    if name in ("appnp", "gatv2", "pyg-gcn"):
        assert "index" in found[0]  # they take loops out of the edges


# What is told.


def test_without_a_place_to_mix_at_the_candidates_are_named():
    with pytest.raises(
        ConfigError, match=r"`mix_at` is missing: it names the submodule whose input is mixed"
    ) as raised:
        wrap(NETWORKS["sage"][0](FEATURES, CLASSES))
    assert "for this module one of conv1, conv2, often the last layer" in str(raised.value)
    assert "\n" not in str(raised.value)
    uncuttable = Layers(lambda s, x, e: s.two(s.two(s.one(s.one(x)))), one=nn.Linear(9, 9), two=nn.Linear(9, 9))
    with pytest.raises(ConfigError, match="for this module the name of one that it calls exactly once"):
        wrap(uncuttable)


def test_a_wrapped_module_prints_as_one_line():
    wrapped = wrap(NETWORKS["gcn2"][0](FEATURES, CLASSES), mix_at="convs.2")
    sizes = "9 features, 3 classes, 1 trial"
    assert repr(wrapped) == f"Wrapped(GCN2 mixed at 'convs.2': {sizes}; sparse features: multiplied as they are)"
    assert "2 trials" in repr(wrapped.create(Streams.from_seeds(range(2)), SIZES))
    assert "GCN2Conv" in wrapped.description


@every_network
def test_the_first_layer_stays_sparse_where_it_begins_with_a_product(name):
    # These read neighbours' features first, or both.
    assert example(name)[1].stays_sparse == (name not in ("sage", "gin", "chebyshev"))
    assert example(name)[1].network.sparse

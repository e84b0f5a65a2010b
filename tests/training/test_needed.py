"""Losses on labels read only the rows they depend on, with the same random bits and the same result.

A product of fewer rows may round differently, on some processors only, so results agree within rounding.
"""

from dataclasses import replace

import pytest
import scipy.sparse as sp
import torch
from torch.testing import assert_close

from graphmix import Config, Graph, Split, Streams, Task, build_model, synthetic
from graphmix.sparse import PickedRows
from graphmix.training import Moment
from graphmix.training.step import fcn_loss, gnn_loss, label_mixup_loss
from graphmix.training.task import Picks


def path_graph(nodes):
    """A path: two hops of a node are five nodes, so that the reach is known."""
    x = torch.eye(nodes)
    x[:, 0] = 1
    edges = torch.stack([torch.arange(nodes - 1), torch.arange(1, nodes)])
    masks = torch.zeros(3, 1, nodes, dtype=torch.bool)
    masks[0, 0, [3, 12]] = True
    masks[1, 0, 4] = True
    masks[2, 0, 5] = True
    return Graph.build(sp.csr_array(x.numpy()), edges, torch.arange(nodes) % 2), Split(*masks)


def setup(graph, split, **choices):
    config = Config.for_dataset("", **({"trials": 3, "epochs": 20, "method": "graphmix"} | choices))
    task = Task.build(graph, split, config)
    streams = Streams.from_seeds(range(3))
    return build_model(task, config, streams), task, config, streams


def gradients(model, loss):
    return torch.autograd.grad(loss.sum(), list(model.weights.values()))


def test_the_reach_of_two_nodes_on_a_path():
    _, task, _, _ = setup(*path_graph(30))
    assert task.reach is not None
    assert task.reach.inner.propagation.shape == (2, 6)
    assert task.reach.outer.propagation.shape == (6, 10)
    rows = [1, 2, 3, 4, 5, 10, 11, 12, 13, 14]
    assert torch.equal(task.reach.x.to_dense(), task.x.to_dense()[rows])


@pytest.mark.parametrize("choices", [{}, {"input_dropout": 0.0}, {"bias": True}, {"input_dropout": 0.3}])
def test_the_gnn_loss_is_the_one_of_the_whole_graph(choices):
    model, task, _, streams = setup(*path_graph(30), **choices)
    part, whole = (gnn_loss(model, each, streams, Moment(7, None)) for each in (task, replace(task, reach=None)))
    assert_close(part, whole, rtol=1e-6, atol=0)
    for got, expected in zip(gradients(model, part), gradients(model, whole), strict=True):
        assert_close(got, expected, rtol=1e-5, atol=1e-7)


def test_rows_outside_the_reach_are_not_read():
    model, task, _, streams = setup(*path_graph(30))
    before = gnn_loss(model, task, streams, Moment(7, None))
    damaged = replace(task, x=PickedRows.of(task.x, torch.zeros(30, dtype=torch.int64)))
    assert torch.equal(gnn_loss(model, damaged, streams, Moment(7, None)), before)


@pytest.mark.parametrize(
    "choices", [{"backbone": "gat"}, {"backbone": "gpr"}, {"hidden_dropout": 0.5}, {"method": "fcn"}]
)
def test_networks_that_read_more_of_the_graph_get_all_of_it(choices):
    _, task, _, _ = setup(*path_graph(30), **choices)
    assert task.reach is None


def test_a_reach_of_most_of_the_graph_is_left_out():
    graph, split = synthetic(nodes=100, features=40, labels_per_class=20, seed=3)
    assert setup(graph, split)[1].reach is None


def test_trials_with_splits_of_their_own_have_no_common_reach():
    graph, split = path_graph(30)
    own = Split(*(mask.repeat(3, 1) for mask in (split.train, split.val, split.test)))
    _, task, _, _ = setup(graph, own)
    assert task.reach is None


@pytest.mark.parametrize("backbone", ["gcn", "sage", "gpr"])
@pytest.mark.parametrize("rate", [0.5, 0.0])
def test_before_the_ramp_the_fcn_reads_labeled_rows_alone(backbone, rate):
    graph, split = synthetic(nodes=100, features=40, labels_per_class=4, seed=3)
    model, task, config, streams = setup(graph, split, backbone=backbone, input_dropout=rate)
    part = fcn_loss(model, task, config, streams, Moment(3, None))
    damaged = replace(task, x=PickedRows.of(task.x, torch.zeros(100, dtype=torch.int64)))
    assert torch.equal(fcn_loss(model, damaged, config, streams, Moment(3, None)), part)
    whole = label_mixup_loss(model, replace(task, labeled_rows=(task.x, task.labeled)), config, streams, 3)
    assert_close(part, whole, rtol=1e-6, atol=1e-6)
    weights = [weight for name, weight in model.weights.items() if "neighbours" not in name]
    got, expected = (torch.autograd.grad(loss.sum(), weights) for loss in (part, whole))
    for own, theirs in zip(got, expected, strict=True):
        assert_close(own, theirs, rtol=1e-5, atol=1e-7)


def test_a_trial_alone_has_the_loss_it_has_in_a_batch():
    graph, split = path_graph(30)
    model, task, _, streams = setup(graph, split)
    second = torch.tensor([1])
    alone = gnn_loss(model.select(second), task.select(second), streams.select(second), Moment(7, None))
    assert torch.equal(alone[0], gnn_loss(model, task, streams, Moment(7, None))[1])


def test_the_reach_keeps_the_order_of_the_labeled_nodes():
    graph, split = path_graph(30)
    _, task, _, _ = setup(graph, split)
    assert isinstance(task.labeled, Picks)
    assert task.labeled.index.tolist() == [[3, 12]]
    assert task.reach.inner.propagation.to_dense().gt(0).tolist() == [
        [True, True, True, False, False, False],
        [False, False, False, True, True, True],
    ]

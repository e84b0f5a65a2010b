"""Which labels a prediction rests on.

A model is made of its labels, and every kind of member says in its own way how far a label speaks for a class at a
node:

- Label propagation is a mean of labels: the weight of a label is the probability that a random walk from the node ends
  there.
- A random forest is a mean of labels, too: those in the same leaves.
- A logistic regression's score is a sum over the labels, each times how alike the rows are.
- Of networks there is an estimate: the gradient of the node's log probability and that of the label's are compared
  (TracIn, Pruthi et al., 2020, at the last step). If a step that lowers a label's loss raises the probability, training
  on the label raised it. The product of the two gradients is how fast the label's loss falls along the first.

What speaks for the class is scaled to sum to 1 for each member, and averaged by the members' shares.
"""

from dataclasses import replace

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from graphmix.baselines.label_propagation import mean_of_neighbours
from graphmix.baselines.tabular import TABULAR
from graphmix.data import Graph
from graphmix.models import Backbone
from graphmix.training.task import prepare
from graphmix.workflow.members import Member
from graphmix.workflow.mixture import Mixture

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Weights of all copies of the networks, and hidden units of all their nodes, at a time.
_ENTRIES = 2**25
# How far the weights are moved along a gradient, as a share of their length.
_STEP = 1e-3
_MOST_STEPS = 1000
_CLOSE = 1e-4


def supports(mixture: Mixture, graph: Graph, nodes: Ints, labels: Ints) -> Floats:
    """Return the share of each label in what a prediction rests on: `[n, labeled]`, rows sum to 1 or are 0.

    Args:
        mixture: the model.
        graph: the graph, with the labels that the model learned from; their nodes are in increasing order.
        nodes: int64 `[n]`, the nodes that are predicted.
        labels: int64 `[n]`, the classes that are predicted.
    """
    total = np.zeros((len(nodes), int((graph.y >= 0).sum())))
    for member in mixture.members:
        speaking = np.maximum(_of_member(member, graph, nodes, labels), 0)
        sums = speaking.sum(axis=1, keepdims=True)
        total += member.share * np.divide(speaking, sums, out=np.zeros_like(speaking), where=sums > 0)
    sums = total.sum(axis=1, keepdims=True)
    shares: Floats = np.divide(total, sums, out=np.zeros_like(total), where=sums > 0)
    return shares


def _of_member(member: Member, graph: Graph, nodes: Ints, labels: Ints) -> Floats:
    if member.method in TABULAR:
        model = TABULAR[member.method].from_tensors(member.tensors, graph.num_features, graph.num_classes)
        return model.support(graph, nodes, labels)
    if member.is_transductive:
        return np.where(graph.y[graph.y >= 0].numpy() == labels[:, None], walks(graph, nodes), 0)
    return _of_networks(member, graph, nodes, labels)


def walks(graph: Graph, nodes: Ints) -> Floats:
    """Return where random walks from nodes first meet a label: probabilities `[n, labeled]`, rows sum to at most 1."""
    walk = graph.derived(mean_of_neighbours).to_scipy().astype(np.float64)
    known = (graph.y >= 0).numpy()
    at, ended = np.zeros((graph.num_nodes, len(nodes))), np.zeros((graph.num_nodes, len(nodes)))
    at[nodes, np.arange(len(nodes))] = 1
    for _ in range(_MOST_STEPS):
        ended[known] += at[known]
        at[known] = 0
        if at.sum(axis=0).max(initial=0) < _CLOSE:
            break
        at = walk.T @ at
    met: Floats = ended[known].T
    return met


def _of_networks(member: Member, graph: Graph, nodes: Ints, labels: Ints) -> Floats:
    """Compare gradients: `[n, labeled]`. All networks, and several nodes, are side by side on the trial axis."""
    network = member.network()
    graph = prepare(graph, member.config)
    graph = graph if member.config.predicts_with_gnn else graph.null()
    entries = sum(weight.numel() for weight in member.tensors.values()) + (
        network.trials * graph.num_nodes * member.config.hidden
    )
    size = max(1, _ENTRIES // entries)
    parts = [slice(start, start + size) for start in range(0, len(nodes), size)]
    return np.concatenate([_compare(network, graph, nodes[part], labels[part]) for part in parts])


def _compare(network: Backbone, graph: Graph, nodes: Ints, labels: Ints) -> Floats:
    trials = network.trials
    copies = torch.arange(trials).repeat(len(nodes))
    weights = {name: weight.detach() for name, weight in network.select(copies).weights.items()}
    gradient = _gradient(network, weights, graph, np.repeat(nodes, trials), np.repeat(labels, trials))
    # Zero only if nothing the network does changes the prediction.
    step = _STEP * _lengths(weights) / _lengths(gradient).clamp_min(torch.finfo(torch.float32).tiny)
    before, after = (
        _losses(network, {name: each + sign * _along(step, gradient[name]) for name, each in weights.items()}, graph)
        for sign in (-1, 1)
    )
    falls = (before - after) / (2 * step.double()[:, None])
    compared: Floats = falls.view(len(nodes), trials, -1).mean(dim=1).numpy()
    return compared


def _gradient(
    network: Backbone, weights: dict[str, Tensor], graph: Graph, nodes: Ints, labels: Ints
) -> dict[str, Tensor]:
    """Return the gradient of each trial's log probability of a class at a node, by the names of the weights."""
    held = {name: weight.clone().requires_grad_() for name, weight in weights.items()}
    logits = replace(network, weights=held)(graph.x, graph)
    each = torch.arange(len(nodes))
    chosen = F.log_softmax(logits[each, torch.from_numpy(nodes)], dim=1)[each, torch.from_numpy(labels)]
    found = torch.autograd.grad(chosen.sum(), list(held.values()), allow_unused=True)
    # Of a network without its edges some weights have no use.
    return {
        name: torch.zeros_like(weight) if one is None else one
        for (name, weight), one in zip(weights.items(), found, strict=True)
    }


@torch.no_grad()
def _losses(network: Backbone, weights: dict[str, Tensor], graph: Graph) -> Tensor:
    """Return the loss of every label: `[trials, labeled]`."""
    known = graph.y >= 0
    logits = replace(network, weights=weights)(graph.x, graph)[:, known]
    return -F.log_softmax(logits.double(), dim=2)[:, torch.arange(int(known.sum())), graph.y[known]]


def _lengths(weights: dict[str, Tensor]) -> Tensor:
    """Return the length of all weights of each trial: `[trials]`."""
    squares = torch.stack([weight.double().square().flatten(1).sum(dim=1) for weight in weights.values()])
    return squares.sum(dim=0).sqrt().float()


def _along(step: Tensor, gradient: Tensor) -> Tensor:
    return step.view(-1, *[1] * (gradient.dim() - 1)) * gradient

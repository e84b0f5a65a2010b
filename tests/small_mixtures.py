"""Mixtures of members that are made at once, for tests of what is done with them."""

from dataclasses import replace

import numpy as np

from graphmix.baselines.tabular import TABULAR
from graphmix.evaluation.heldout import HeldOut
from graphmix.models import BACKBONES
from graphmix.streams import Streams
from graphmix.training import Config
from graphmix.workflow.members import Member
from graphmix.workflow.mixture import Mixture


def network(graph, backbone, **options):
    config = Config(backbone=backbone, trials=2, hidden=6, **options)
    streams = Streams.from_seeds([1, 2])
    sizes = (graph.num_features, 6, graph.num_classes)
    made = BACKBONES[backbone].create(streams, sizes, bias=config.bias, **config.options())
    # Larger weights make predictions that differ; a MoNet's kernels would then see no neighbour at all.
    factor = 1 if backbone == "monet" else 3
    tensors = {name: factor * weight.detach() for name, weight in made.weights.items()}
    return Member(backbone, config.method, config, tensors, temperature=1.5)


def tabular(graph, method):
    (model,) = TABULAR[method].fit(graph, (graph.y >= 0).numpy(), TABULAR[method].points[:1], seed=0, balanced=False)
    return Member(method, method, Config(), model.tensors())


def mixture(graph, *members):
    classes = tuple(map(str, range(graph.num_classes)))
    even = [replace(each, share=1 / len(members)) for each in members]
    none = np.empty((0, graph.num_classes))
    held = HeldOut(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), none, np.empty(0))
    return Mixture(tuple(even), classes, held, temperature=0.8)

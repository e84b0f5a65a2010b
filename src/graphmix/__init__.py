"""GraphMix: get the most out of graphs with few labels.

Example:
    >>> import graphmix
    >>> graph, split = graphmix.synthetic(nodes=300, seed=1)
    >>> fit = graphmix.fit(graph, split, graphmix.Config(trials=2, epochs=20), device="cpu")
    >>> fit.predict(graph).shape
    torch.Size([2, 300])
"""

from graphmix.data import DATASETS, Dataset, Graph, Split, load, synthetic
from graphmix.errors import ConfigError, DataError, GraphMixError, RunError
from graphmix.models import GCN, Backbone
from graphmix.streams import Streams
from graphmix.training import Config, Fit, Task, build_model, build_optimizer, evaluate, fit, step_loss
from graphmix.training.runs import Run, load_run, train

__all__ = [
    "DATASETS",
    "GCN",
    "Backbone",
    "Config",
    "ConfigError",
    "DataError",
    "Dataset",
    "Fit",
    "Graph",
    "GraphMixError",
    "Run",
    "RunError",
    "Split",
    "Streams",
    "Task",
    "build_model",
    "build_optimizer",
    "evaluate",
    "fit",
    "load",
    "load_run",
    "step_loss",
    "synthetic",
    "train",
]

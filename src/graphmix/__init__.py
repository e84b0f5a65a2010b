"""GraphMix: get the most out of graphs with few labels.

Example:
    >>> import graphmix
    >>> graph, split = graphmix.synthetic(nodes=300, seed=1)
    >>> fit = graphmix.fit(graph, split, graphmix.Config(trials=2, epochs=20), device="cpu")
    >>> fit.predict(graph).shape
    torch.Size([2, 300])
"""

from typing import TYPE_CHECKING, Any

from graphmix.data import DATASETS, Dataset, Graph, Split, dual, load, make_split, split_seeds, synthetic
from graphmix.errors import ConfigError, DataError, GraphMixError, RunError
from graphmix.models import GAT, GCN, Backbone, GraphUNet, Wrapped, wrap
from graphmix.storage.runs import Run, load_run, train
from graphmix.streams import Streams
from graphmix.training import Config, Fit, Task, build_model, build_optimizer, evaluate, fit, step_loss

if TYPE_CHECKING:
    from graphmix.estimator import GraphMixClassifier

__all__ = [
    "DATASETS",
    "GAT",
    "GCN",
    "Backbone",
    "Config",
    "ConfigError",
    "DataError",
    "Dataset",
    "Fit",
    "Graph",
    "GraphMixClassifier",
    "GraphMixError",
    "GraphUNet",
    "Run",
    "RunError",
    "Split",
    "Streams",
    "Task",
    "Wrapped",
    "build_model",
    "build_optimizer",
    "dual",
    "evaluate",
    "fit",
    "load",
    "load_run",
    "make_split",
    "split_seeds",
    "step_loss",
    "synthetic",
    "train",
    "wrap",
]


def __getattr__(name: str) -> Any:
    # By itself it would make every import of graphmix wait for scikit-learn's.
    if name == "GraphMixClassifier":
        from graphmix.estimator import GraphMixClassifier

        return GraphMixClassifier
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

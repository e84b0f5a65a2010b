"""GraphMix: get the most out of graphs with few labels.

Example:
    >>> import graphmix
    >>> graph, split = graphmix.synthetic(nodes=300, seed=1)
    >>> fit = graphmix.fit(graph, split, graphmix.Config(trials=2, epochs=20), device="cpu")
    >>> fit.predict(graph).shape
    torch.Size([2, 300])
"""

from typing import TYPE_CHECKING

from graphmix.errors import ConfigError, DataError, GraphMixError, RunError
from graphmix.lazy import attach

if TYPE_CHECKING:
    from graphmix.data import DATASETS, Dataset, Graph, Split, dual, load, make_split, split_seeds, synthetic
    from graphmix.estimator import GraphMixClassifier
    from graphmix.models import GAT, GCN, Backbone, GraphUNet, Wrapped, wrap
    from graphmix.storage.runs import Run, load_run, train
    from graphmix.streams import Streams
    from graphmix.training import Config, Fit, Task, build_model, build_optimizer, evaluate, fit, step_loss
    from graphmix.workflow.columns import Columns
    from graphmix.workflow.fitting import fit_tables
    from graphmix.workflow.model import TableModel, load_model
    from graphmix.workflow.options import FitOptions

__all__ = [
    "DATASETS",
    "GAT",
    "GCN",
    "Backbone",
    "Columns",
    "Config",
    "ConfigError",
    "DataError",
    "Dataset",
    "Fit",
    "FitOptions",
    "Graph",
    "GraphMixClassifier",
    "GraphMixError",
    "GraphUNet",
    "Run",
    "RunError",
    "Split",
    "Streams",
    "TableModel",
    "Task",
    "Wrapped",
    "build_model",
    "build_optimizer",
    "dual",
    "evaluate",
    "fit",
    "fit_tables",
    "load",
    "load_model",
    "load_run",
    "make_split",
    "split_seeds",
    "step_loss",
    "synthetic",
    "train",
    "wrap",
]

# Imported on first use: torch takes two seconds, and the command line answers much without it.
__getattr__, __dir__ = attach(
    __name__,
    {
        "DATASETS": "graphmix.data",
        "GAT": "graphmix.models",
        "GCN": "graphmix.models",
        "Backbone": "graphmix.models",
        "Columns": "graphmix.workflow.columns",
        "Config": "graphmix.training",
        "Dataset": "graphmix.data",
        "Fit": "graphmix.training",
        "FitOptions": "graphmix.workflow.options",
        "Graph": "graphmix.data",
        "GraphMixClassifier": "graphmix.estimator",
        "GraphUNet": "graphmix.models",
        "Run": "graphmix.storage.runs",
        "Split": "graphmix.data",
        "Streams": "graphmix.streams",
        "TableModel": "graphmix.workflow.model",
        "Task": "graphmix.training",
        "Wrapped": "graphmix.models",
        "build_model": "graphmix.training",
        "build_optimizer": "graphmix.training",
        "dual": "graphmix.data",
        "evaluate": "graphmix.training",
        "fit": "graphmix.training",
        "fit_tables": "graphmix.workflow.fitting",
        "load": "graphmix.data",
        "load_model": "graphmix.workflow.model",
        "load_run": "graphmix.storage.runs",
        "make_split": "graphmix.data",
        "split_seeds": "graphmix.data",
        "step_loss": "graphmix.training",
        "synthetic": "graphmix.data",
        "train": "graphmix.storage.runs",
        "wrap": "graphmix.models",
    },
    modules=("data", "method", "models", "sparse", "storage", "streams", "training"),
)

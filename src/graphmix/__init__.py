"""GraphMix: get the most out of graphs with few labels.

Example:
    >>> import graphmix
    >>> graph, split = graphmix.synthetic(nodes=300, seed=1)
    >>> fit = graphmix.fit(graph, split, graphmix.Config(trials=2, epochs=20), device="cpu")
    >>> fit.predict(graph).shape
    torch.Size([2, 300])
"""

from graphmix.lazy import attach

# Not from typing, and nothing else is imported here: until the command line's own first line, Ctrl-C is a traceback.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from graphmix.data import DATASETS, Dataset, Graph, Split, dual, load, make_split, split_seeds, synthetic
    from graphmix.distribution import __version__ as __version__
    from graphmix.errors import ConfigError, DataError, GraphMixError, RunError
    from graphmix.estimator import GraphMixClassifier
    from graphmix.limits import Limits
    from graphmix.models import (
        APPNP,
        GAT,
        GCN,
        GCN2,
        GPR,
        SAGE,
        Backbone,
        Chebyshev,
        DisenGCN,
        GATv2,
        GraphUNet,
        MoNet,
        Wrapped,
        wrap,
    )
    from graphmix.storage.runs import Run, load_run, train
    from graphmix.streams import Streams
    from graphmix.training import Config, Fit, Task, build_model, build_optimizer, evaluate, fit, step_loss
    from graphmix.training.config_file import read_config
    from graphmix.tuning.api import tune, tune_tables
    from graphmix.tuning.options import TuneOptions
    from graphmix.workflow.columns import Columns
    from graphmix.workflow.fitting import fit_tables
    from graphmix.workflow.model import TableModel, load_model
    from graphmix.workflow.options import FitOptions
    from graphmix.workflow.reasons import explain

__all__ = [
    "APPNP",
    "DATASETS",
    "GAT",
    "GCN",
    "GCN2",
    "GPR",
    "SAGE",
    "Backbone",
    "Chebyshev",
    "Columns",
    "Config",
    "ConfigError",
    "DataError",
    "Dataset",
    "DisenGCN",
    "Fit",
    "FitOptions",
    "GATv2",
    "Graph",
    "GraphMixClassifier",
    "GraphMixError",
    "GraphUNet",
    "Limits",
    "MoNet",
    "Run",
    "RunError",
    "Split",
    "Streams",
    "TableModel",
    "Task",
    "TuneOptions",
    "Wrapped",
    "build_model",
    "build_optimizer",
    "dual",
    "evaluate",
    "explain",
    "fit",
    "fit_tables",
    "load",
    "load_model",
    "load_run",
    "make_split",
    "read_config",
    "split_seeds",
    "step_loss",
    "synthetic",
    "train",
    "tune",
    "tune_tables",
    "wrap",
]

# Imported on first use: torch takes two seconds, and the command line answers much without it.
__getattr__, __dir__ = attach(
    __name__,
    {
        "graphmix.data": "DATASETS Dataset Graph Split dual load make_split split_seeds synthetic",
        "graphmix.distribution": "__version__",
        "graphmix.errors": "ConfigError DataError GraphMixError RunError",
        "graphmix.estimator": "GraphMixClassifier",
        "graphmix.limits": "Limits",
        "graphmix.models": "APPNP GAT GCN GCN2 GPR SAGE Backbone Chebyshev DisenGCN GATv2 GraphUNet MoNet Wrapped wrap",
        "graphmix.storage.runs": "Run load_run train",
        "graphmix.streams": "Streams",
        "graphmix.training": "Config Fit Task build_model build_optimizer evaluate fit step_loss",
        "graphmix.training.config_file": "read_config",
        "graphmix.tuning.api": "tune tune_tables",
        "graphmix.tuning.options": "TuneOptions",
        "graphmix.workflow.columns": "Columns",
        "graphmix.workflow.fitting": "fit_tables",
        "graphmix.workflow.model": "TableModel load_model",
        "graphmix.workflow.options": "FitOptions",
        "graphmix.workflow.reasons": "explain",
    },
    modules=("data", "method", "models", "sparse", "storage", "streams", "training"),
)

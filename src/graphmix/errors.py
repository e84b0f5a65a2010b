"""The errors a user can correct. A message is one sentence: what is wrong, where, and what to do.

Messages name parameters in backticks, `learning_rate`; the command line shows them as its options, --learning-rate.
"""


class GraphMixError(Exception):
    """An error that the user can correct. The command line prints its message and exits with code 2."""


class DataError(GraphMixError, ValueError):
    """An invalid dataset, file, graph or split; also a ValueError, as scikit-learn users expect."""


class ConfigError(GraphMixError, ValueError):
    """An invalid hyperparameter or option; also a ValueError."""


class RunError(GraphMixError):
    """A run or model folder that cannot be written or read."""


class WorkerLostError(RunError):
    """A worker of an executor died again and again at the same job."""

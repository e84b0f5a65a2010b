"""What can go wrong, said in one sentence: what the user did, where, and what to do about it."""


class GraphMixError(Exception):
    """Anything the user can put right. The command line prints it and exits with code 2."""


class DataError(GraphMixError, ValueError):
    """A dataset, file, graph or split that cannot be used as it is; a ValueError, as users of scikit-learn expect."""


class ConfigError(GraphMixError, ValueError):
    """A hyperparameter or option outside its range; a ValueError likewise."""


class RunError(GraphMixError):
    """A run folder that cannot be written to or read from."""

"""Values as bytes, between this process and its workers.

Ray could pickle them by itself, but its arrays are views of its store and cannot be written to. What is unpacked comes
from a worker of the cluster that the user named, never from a file.
"""

import pickle
from typing import Any


def pack(value: Any) -> bytes:
    """Return a value as bytes; functions and classes of the main program are sent whole."""
    from ray import cloudpickle

    packed: bytes = cloudpickle.dumps(value)
    return packed


def unpack(packed: bytes) -> Any:
    """Return the value, as a copy of its own."""
    return pickle.loads(packed)

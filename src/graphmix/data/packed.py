"""Reading back the structure of a stored graph, whichever form it has."""

from collections.abc import Mapping

from torch import Tensor

from graphmix.data.dual_graph import SharedEnds
from graphmix.data.structure import Edges, Structure
from graphmix.errors import DataError

# The forms, by a tensor that only that form stores.
STRUCTURES: dict[str, type[Structure]] = {"edges": Edges, "ends": SharedEnds}


def unpack_structure(packed: Mapping[str, Tensor], num_nodes: int) -> Structure:
    """Read back what a structure's `packed()` returned, among other tensors or not.

    Raises:
        DataError: tensors are missing or invalid.
    """
    stored = [name for name in STRUCTURES if name in packed]
    if len(stored) != 1:
        raise DataError(f"a stored graph must have exactly one of {', '.join(STRUCTURES)}, not {len(stored)} of them")
    return STRUCTURES[stored[0]].from_packed(packed, num_nodes)

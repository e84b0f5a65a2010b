"""Label propagation near one node, when something nearby is left out.

What label propagation gives a node is the mean of its neighbours' values. Far from a change the values hardly change:
the nodes at the rim of the surroundings keep theirs, and those inside are solved for.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from scipy.sparse.linalg import splu

from graphmix.baselines.label_propagation import harmonic, mean_of_neighbours, normalise_mass
from graphmix.data import Graph
from graphmix.workflow.surroundings import Mask, Surroundings

Floats = NDArray[np.float64]

# So far from the node values are solved for; the next ring keeps its values.
REACH = 3
# What a step loses: without it nodes that no label reaches would have no solution.
_LOST = 1e-9


@dataclass(frozen=True, eq=False)
class LocalLabels:
    """Spread labels of a whole graph.

    Attributes:
        spread: float64 `[nodes, classes]`, the harmonic function.
        labeled: bool `[nodes]`.
        frequencies: float64 `[classes]`, the shares of the classes among the labels.
    """

    spread: Floats
    labeled: Mask
    frequencies: Floats

    @classmethod
    def of(cls, graph: Graph) -> "LocalLabels":
        """Spread the labels of a graph; `graph.derived(LocalLabels.of)` does it once."""
        known = graph.y >= 0
        labels = torch.nn.functional.one_hot(graph.y.clamp_min(0), graph.num_classes).float() * known[:, None]
        spread = harmonic(graph.derived(mean_of_neighbours), labels[None], known[None, :, None])[0]
        frequencies = labels.double().sum(dim=0) / known.sum()
        return cls(spread.double().numpy(), known.numpy(), frequencies.numpy())

    def predict(self, around: Surroundings, gone: Mask) -> Floats:
        """Predict the first node of the surroundings when nodes are gone, bool `[copies, n]`: `[copies, classes]`."""
        held = np.stack([self._solve(around, one) for one in gone])
        mass = torch.from_numpy(self.spread.sum(axis=0))
        normal = normalise_mass(torch.from_numpy(held)[None], mass[None, None], torch.from_numpy(self.frequencies))
        probabilities: Floats = normal[0].numpy()
        return probabilities

    def _solve(self, around: Surroundings, gone: Mask) -> Floats:
        values = self.spread[around.nodes]
        # The rim is the last ring, where neighbours are missing.
        fixed = self.labeled[around.nodes] | (around.hops > REACH)
        if fixed[0]:
            own: Floats = values[0]
            return own
        edges = around.edges
        kept = ~(gone[edges.row] | gone[edges.col])
        joined = sp.csr_array((edges.data[kept], (edges.row[kept], edges.col[kept])), shape=(len(around),) * 2)
        strength = joined.sum(axis=1)
        walk = sp.diags_array((1 - _LOST) / np.where(strength > 0, strength, 1)) @ joined
        free = np.flatnonzero(~fixed)
        inner = sp.csc_array(sp.eye_array(len(free)) - walk[free][:, free])
        solved = splu(inner).solve(walk[free][:, np.flatnonzero(fixed)] @ values[fixed])
        found: Floats = solved[0]  # the node itself is the first of all
        return found

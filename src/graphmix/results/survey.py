"""What a graph and its labels look like before training."""

from dataclasses import dataclass
from typing import Annotated

from graphmix.results.schema import Count, Length


@dataclass(frozen=True)
class Survey:
    """A graph and its labels in numbers; shares, not percent.

    Attributes:
        nodes: how many nodes.
        labeled: how many of them have a label.
        class_names: `[classes]`, numbers as text where there are no names.
        class_counts: `[classes]`, labeled nodes.
        edges: how many undirected edges.
        isolated: nodes without an edge.
        components: connected components, isolated nodes included.
        features: how many features a node has.
        mean_degree: neighbours of a node, on average.
        labeled_edges: edges between two labeled nodes.
        homophily: the share of those that join one class; None without such edges.
        chance: what that share would be if the same edges' ends were joined at random; None without such edges.
        adjusted_homophily: (homophily - chance) / (1 - chance) (Platonov et al., 2023): 0 is chance, 1 is all; None
            without such edges or where they are all in one class.
        reached: the share of the unlabeled nodes within two steps of a labeled one; None where all are labeled.
        warnings: a sentence for each reason to expect little.
    """

    nodes: Count
    labeled: Count
    class_names: tuple[str, ...]
    class_counts: Annotated[tuple[Count, ...], Length("class_names")]
    edges: Count
    isolated: Count
    components: Count
    features: Count
    mean_degree: float
    labeled_edges: Count
    homophily: float | None
    chance: float | None
    adjusted_homophily: float | None
    reached: float | None
    warnings: tuple[str, ...] = ()

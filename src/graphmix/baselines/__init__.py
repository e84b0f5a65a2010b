"""Methods without a backbone, measured on the same splits as the networks."""

from graphmix.baselines.deepwalk import deepwalk
from graphmix.baselines.judge import BASELINES, judge
from graphmix.baselines.label_propagation import label_propagation, propagate
from graphmix.baselines.tabular import TABULAR, Tabular

__all__ = ["BASELINES", "TABULAR", "Tabular", "deepwalk", "judge", "label_propagation", "propagate"]

"""What any network should beat: methods that need no training loop, judged on the same splits."""

from graphmix.baselines.deepwalk import deepwalk
from graphmix.baselines.judge import BASELINES, judge
from graphmix.baselines.label_propagation import label_propagation, propagate

__all__ = ["BASELINES", "deepwalk", "judge", "label_propagation", "propagate"]

"""TuneWatcher: callbacks that tell how far a search is. Does not import torch."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from graphmix.results.tuned import Point

if TYPE_CHECKING:
    from graphmix.training.config import Config
    from graphmix.training.loop import Watch


class TuneWatcher:
    """Callbacks of a search, which do nothing; override those you need."""

    def begins(self, settings: Mapping[str, Any], config: "Config", tried: int, points: int) -> "Watch | None":
        """A point begins, or one of the two of the last comparison; the result is called after every epoch.

        Args:
            settings: what the point sets.
            config: all of its hyperparameters.
            tried: how many points are done or begun, this one included; 0 for the comparison.
            points: how many there will be.
        """
        return None

    def ended(self, point: Point, best: Point | None) -> None:
        """A point ended; `best` is the best so far."""

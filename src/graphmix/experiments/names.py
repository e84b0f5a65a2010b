"""The old place of `graphmix.results.names`."""

from graphmix.results.names import METRICS, NETWORKS, name_run, title

__all__ = ["METRICS", "NETWORKS", "name_run", "title"]

"""From a graph of one's own to a model that can be relied on: candidates judged alike, calibrated, kept in a folder."""

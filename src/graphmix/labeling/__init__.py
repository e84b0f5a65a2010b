"""graphmix label: a page to label nodes on, served to this machine alone (docs/design/0031-labeling.md)."""

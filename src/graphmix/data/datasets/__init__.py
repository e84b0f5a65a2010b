"""Datasets by name: what is known about them, where their files come from, and how they are read."""

"""Datasets by name: what is known of them, where their files come from, and how they are read."""

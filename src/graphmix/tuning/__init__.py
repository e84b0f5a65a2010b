"""Hyperparameters chosen by validation: spaces, points, studies (docs/design/0028-tuning.md)."""

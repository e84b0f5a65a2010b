"""How good predictions are: held-out labels, calibration, comparison of methods."""

"""From tables to a model: read a problem, try methods on the same labels, keep and calibrate the best."""

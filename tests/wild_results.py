"""Rows as benchmarks/wild.py writes them, made by hand."""

MADE = {"device": "cpu", "cores": 2, "versions": {"torch": "2"}, "command": "python benchmarks/wild.py"}
FIT = {"coverage": 90.0, "set_size": 1.2, "kept": 50.0, "kept_accuracy": 91.0, "members": {"gpr": 0.75, "fcn": 0.25}}


def row(graph, system, draw, accuracy, amount="many", drawn="class", **more):
    measured = {"accuracy": accuracy, "balanced_accuracy": accuracy, "roc_auc": None, "calibration_error": 5.0}
    key = {"graph": graph, "amount": amount, "drawn": drawn, "draw": draw, "system": system}
    return key | measured | {"seconds": 1.0, "commit": "abc"} | (FIT if system == "fit" else {}) | more

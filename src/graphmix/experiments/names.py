"""What the paper calls its methods, and what else to call a run."""

from typing import Any

from graphmix.models import registry
from graphmix.training.methods import METHODS

NETWORKS = {name: info.title for name, info in registry.NETWORKS.items()}
METRICS = {"test_macro_f1": "macro F1", "test_rarest_f1": "rarer F1", "test_accuracy": "accuracy"}


def name_run(run: dict[str, Any]) -> str:
    """What to call a run, by its results: what the paper calls its method, and what it does otherwise."""
    variants = []
    if run["method"] == "graphmix":
        variants += ["joint"] if run.get("optimisation") == "joint" else []
        variants += ["no mixup"] if run["alpha"] == 0 else []
        variants += ["no targets"] if run["gamma"] == 0 else []
    if run.get("predictor", "auto") != "auto":
        variants.append(f"{run['predictor'].upper()} predicts")
    variants += ["weighted classes"] if run.get("class_weight") == "balanced" else []
    variants += ["balanced targets"] if run.get("target_weight") == "balanced" else []
    return ", ".join([title(run["method"], run["backbone"]), *variants])


def title(method: str, backbone: str | None) -> str:
    """What the paper calls a method over a network."""
    info = registry.NETWORKS.get(backbone or "")
    network, fcn = ("", "FCN") if info is None else (info.title, info.fcn_title)
    return METHODS[method].title.format(network=network, fcn=fcn)

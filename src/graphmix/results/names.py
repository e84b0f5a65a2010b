"""What the paper calls its methods, and what to call a run."""

from graphmix.models.registry import NETWORKS
from graphmix.results.fit import MIXTURE, CandidateResult, FitMetrics
from graphmix.results.run import RunResult
from graphmix.training.method import FCN
from graphmix.training.methods import METHODS

METRICS = {"test_macro_f1": "macro F1", "test_rarest_f1": "rarer F1", "test_accuracy": "accuracy"}


def name_run(run: RunResult) -> str:
    """What to call a run: the paper's name of its method, and what else it does differently.

    A method or a network that this version does not know keeps its key.
    """
    settings = run.settings
    try:
        name = title(run.method, run.backbone)
    except KeyError:
        name = ""
    name = name or (run.method if run.backbone is None else f"{run.method} ({run.backbone})")
    variants = []
    if run.method in ("graphmix", "graphmix-steady"):
        variants += ["joint"] if settings.get("optimisation") == "joint" else []
        variants += ["no mixup"] if settings.get("alpha") == 0 else []
        variants += ["no targets"] if settings.get("gamma") == 0 else []
    if (predictor := settings.get("predictor") or "auto") != "auto":
        variants.append(f"{predictor.upper()} predicts")
    variants += ["weighted classes"] if settings.get("class_weight") == "balanced" else []
    variants += ["balanced targets"] if settings.get("target_weight") == "balanced" else []
    return ", ".join([name, *variants])


def candidate_title(candidate: CandidateResult, metrics: FitMetrics) -> str:
    """What to call a candidate of a fit, or its mixture."""
    return method_title(candidate.method, candidate.backbone or metrics.backbone)


def method_title(method: str, backbone: str) -> str:
    """What to call a method in a fit: `GraphMix(GCN)`, `Features only (FCN)`, `Mixture`."""
    if method == MIXTURE:
        return "Mixture"
    if method == FCN:
        return "Features only (FCN)"
    name = title(method, backbone)
    return name[:1].upper() + name[1:]


def title(method: str, backbone: str | None) -> str:
    """What the paper calls a method over a network."""
    info = NETWORKS.get(backbone or "")
    network, fcn = ("", "FCN") if info is None else (info.title, info.fcn_title)
    return METHODS[method].title.format(network=network, fcn=fcn)

"""What the paper and the authors' released code set, by dataset and network: data, no code but one look-up."""

import math
from fractions import Fraction
from typing import Any

from graphmix.training.method import KEPT
from graphmix.training.methods import METHODS
from graphmix.training.network_papers import NETWORK_SETTINGS
from graphmix.training.rule_papers import RULES

# Where the paper and the authors' released code differ (docs/design/0003-two-readings.md).
READINGS: dict[str, dict[str, Any]] = {
    "paper": {
        "fcn_loss": "cross-entropy",
        "unlabeled": "all",
        "lambda_per": "pair",
        "rampup_before": 0.0,
        "binarise": False,
        "ties": "first",
    },
    "released": {
        "fcn_loss": "binary-cross-entropy",
        "unlabeled": "labeled",
        "lambda_per": "batch",
        "rampup_before": math.exp(-5.0),
        "binarise": True,
        "ties": "last",
    },
}
# γ by reading and dataset: the paper's appendix and the released code's scripts give opposite values.
GAMMAS: dict[str, dict[str, float]] = {
    "paper": {"cora": 1.0, "citeseer": 1.0, "pubmed": 10.0},
    "released": {"cora": 10.0, "citeseer": 10.0, "pubmed": 1.0},
}
_COAUTHOR: dict[str, Any] = {"hidden": 64, "learning_rate": 0.001}
# The paper reports F1 there. Accuracy would choose an epoch that predicts "positive" for nearly every link.
_BITCOIN: dict[str, Any] = {
    "hidden": 128,
    "weight_decay": 0.0,
    "alpha": 0.1,
    "gamma": 0.1,
    "epochs": 150,
    "select_by": "macro-f1",
}
# What the appendix sets for a (dataset, backbone), where it differs from GraphMix(GCN) on the citation graphs, whose
# values are the defaults of `Config`. None stands for any. The last entry that applies wins: the dataset's, the
# backbone's, the backbone's on that dataset.
SETTINGS: dict[tuple[str | None, str | None], dict[str, Any]] = {
    ("coauthor-cs", None): _COAUTHOR,
    ("coauthor-physics", None): _COAUTHOR,
    ("cora-full", None): _COAUTHOR | {"input_dropout": 0.2, "weight_decay": 0.0, "gamma": 10.0, "epochs": 5000},
    ("bitcoin-alpha", None): _BITCOIN,
    ("bitcoin-otc", None): _BITCOIN,
    (None, "gat"): {"hidden": 8, "learning_rate": 0.005, "hidden_dropout": 0.5},
    ("pubmed", "gat"): {"alpha": 0.1, "input_dropout": 0.2, "hidden_dropout": 0.2, "attention_dropout": 0.2},
    # Networks that the paper does not train have the settings of their own papers.
    **NETWORK_SETTINGS,
}
# Where γ's ramp begins and ends, as shares of the epochs: 500 and 1,000 of 2,000, unless the appendix says otherwise.
USUAL_RAMP = (Fraction(1, 4), Fraction(1, 2))
RAMPS: dict[str, tuple[Fraction, Fraction]] = {
    "cora-full": (Fraction(1, 10), Fraction(1, 5)),
    "bitcoin-alpha": (Fraction(1, 2), Fraction(5, 6)),
    "bitcoin-otc": (Fraction(1, 2), Fraction(5, 6)),
}


def varies_by(name: str) -> tuple[str, ...]:
    """Return what a hyperparameter's default depends on in `Config.for_dataset`.

    Example:
        >>> varies_by("fcn_loss"), varies_by("temperature")
        (('reading',), ('dataset', 'method'))
    """
    owners = [owner for owner, values in SETTINGS.items() if name in values]
    ramp = name in ("rampup_start", "rampup_end")
    by_rule = [dataset for (dataset, _), values in RULES.items() if name in values]
    by_dataset = ramp or name == "gamma" or any(dataset for dataset, _ in owners) or any(by_rule)
    by_backbone = any(backbone for _, backbone in owners)
    # Readings differ in `unlabeled`, on which `Method.defaults_with` depends.
    by_reading = name in ("gamma", KEPT) or name in READINGS["paper"]
    by_method = bool(by_rule) or any(name in method.defaults for method in METHODS.values())
    found = {"dataset": by_dataset, "backbone": by_backbone, "reading": by_reading, "method": by_method}
    return tuple(what for what, holds in found.items() if holds)


def varies_text(name: str) -> str:
    """Return what a hyperparameter's default depends on, in words; "" if on nothing.

    Example:
        >>> varies_text("gamma")
        'dataset, reading and method'
    """
    *most, last = varies_by(name) or ("",)
    return f"{', '.join(most)} and {last}" if most else last

"""What the papers of training rules set, by dataset: data, no code but one look-up.

How long they train is left to us: runs here end after a fixed number of epochs, and the best one is chosen.
docs/design/0022-rules.md says what each paper leaves open.
"""

from typing import Any

_PLAIN_GCN: dict[str, Any] = {"epochs": 400, "input_dropout": 0.0}
# A rule's own settings on any dataset, then those on one, where they are not the defaults of `Config`; the last entry
# that applies wins.
RULES: dict[tuple[str | None, str], dict[str, Any]] = {
    # Feng et al. (2020), the released scripts run100_*.sh, which have the values of the appendix; those of the network
    # are in network_papers.py.
    (None, "grand"): {"epochs": 1000, "perturbations": 4, "temperature": 0.5, "gamma": 1.0, "select_by": "loss"},
    ("citeseer", "grand"): {"perturbations": 2, "temperature": 0.3, "gamma": 0.7},
    ("pubmed", "grand"): {"epochs": 500, "learning_rate": 0.2, "temperature": 0.2, "batch_norm": True},
    # GraphMix over GRAND's network: docs/design/0024-recipe.md.
    (None, "graphmix-grand"): {
        "epochs": 1000,
        "perturbations": 4,
        "temperature": 0.5,
        "gamma": 1.0,
        "rampup_start": 0,
        "rampup_end": 100,
        "joint_weight": 0.3,
        "input_dropout_at": "features",
    },
    # What recipe-search and recipe-search-wider chose: results/recipe-search.json, results/recipe-search-wider.json.
    ("cora", "graphmix-grand"): {
        "hidden": 64,
        "perturbations": 8,
        "hops": 6,
        "gamma": 2.0,
        "input_dropout": 0.6,
        "hidden_dropout": 0.2,
        "learning_rate": 0.1,
        "binarise": True,
    },
    ("citeseer", "graphmix-grand"): {
        "hidden": 64,
        "hops": 8,
        "temperature": 0.2,
        "gamma": 2.0,
        "joint_weight": 1.0,
        "input_dropout": 0.0,
        "hidden_dropout": 0.5,
        "learning_rate": 0.1,
    },
    ("pubmed", "graphmix-grand"): {
        "hops": 8,
        "temperature": 0.1,
        "gamma": 0.5,
        "joint_weight": 1.0,
        "input_dropout": 0.0,
        "hidden_dropout": 0.5,
        "learning_rate": 0.1,
        "binarise": True,
        "hop_weights": "learned",
    },
    # Rong et al. (2020), the released scripts semi-supervised/*_GCN.sh, of the GCN with two layers.
    (None, "dropedge"): {
        "epochs": 400,
        "hidden": 128,
        "bias": True,
        "input_dropout": 0.0,
        "hidden_dropout": 0.5,
    },
    ("cora", "dropedge"): {
        "learning_rate": 0.007,
        "weight_decay": 1e-5,
        "edge_dropout": 0.6,
        "hidden_dropout": 0.8,
    },
    ("citeseer", "dropedge"): {"edge_dropout": 0.8, "hidden_dropout": 0.3},
    ("pubmed", "dropedge"): {"learning_rate": 0.003, "weight_decay": 5e-3, "edge_dropout": 0.3},
    # Feng et al. (2019), the commands of GCN-VAT in the README of their code; on Pubmed as on Cora.
    (None, "vat"): _PLAIN_GCN | {"perturbation_size": 0.01, "perturbation_probe": 1e-3, "adversarial_weight": 1.0},
    ("citeseer", "vat"): {"perturbation_size": 0.05, "perturbation_probe": 1e-4, "adversarial_weight": 0.5},
    # Deng et al. (2019), the defaults and comments of their code, of the optimised form; on Pubmed as on Cora.
    (None, "bvat"): {
        "epochs": 200,
        "hidden_dropout": 0.5,
        "perturbation_size": 0.03,
        "perturbation_probe": 1e-6,
        "adversarial_weight": 1.4,
        "entropy_weight": 0.7,
    },
    ("citeseer", "bvat"): {"adversarial_weight": 0.8},
    # Feng et al. (2019), the commands in the README of their code; on Pubmed as on Cora.
    (None, "graphat"): _PLAIN_GCN,
    ("citeseer", "graphat"): {"graph_weight": 0.5},
    (None, "graphvat"): _PLAIN_GCN
    | {
        "perturbation_size": 1.0,
        "perturbation_probe": 1e-5,
        "adversarial_weight": 0.5,
    },
    ("citeseer", "graphvat"): {"graph_weight": 0.5, "perturbation_probe": 1e-6},
    # Qu et al. (2019), the released run_*.py: 100 epochs of each network after the pretraining.
    (None, "gmnn"): {
        "epochs": 400,
        "pretraining": 200,
        "temperature": 0.1,
        "binarise": True,
    },
    ("cora", "gmnn"): {"epochs": 300, "pretraining": 100, "optimiser": "rmsprop", "learning_rate": 0.05},
    ("citeseer", "gmnn"): {"optimiser": "rmsprop", "learning_rate": 0.05},
    # Ding et al. (2018), the defaults of the released code: 20 epochs of 100 batches.
    (None, "graphsgan"): {
        "epochs": 200,
        "hidden": 500,
        "learning_rate": 0.003,
        "weight_decay": 0.0,
        "input_dropout": 0.0,
    },
}


def rule_settings(dataset: str, method: str) -> dict[str, Any]:
    """Return what a rule's paper sets on a dataset; empty for a method without a rule.

    Example:
        >>> rule_settings("citeseer", "grand")["perturbations"]
        2
    """
    return RULES.get((None, method), {}) | RULES.get((dataset, method), {})

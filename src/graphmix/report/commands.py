"""The command that makes a run again."""

import shlex
from typing import Any

# What `graphmix train` can be told of a run, in the order of its help.
_OPTIONS = (
    "method",
    "backbone",
    "reading",
    "trials",
    "seed",
    "epochs",
    "learning_rate",
    "weight_decay",
    "hidden",
    "heads",
    "output_heads",
    "pool_ratios",
    "input_dropout",
    "hidden_dropout",
    "attention_dropout",
    "alpha",
    "gamma",
    "optimisation",
    "joint_weight",
    "predictor",
    "temperature",
    "perturbations",
    "rampup_start",
    "rampup_end",
    "rampup_before",
    "unlabeled",
    "fcn_loss",
    "lambda_per",
    "select_by",
    "ties",
    "class_weight",
    "target_weight",
    "bias",
    "binarise",
)
# The network's own choice, which the command line has no word for.
_UNSAID = {"predictor": "auto"}


def retrain(run: dict[str, Any]) -> str | None:
    """The `graphmix train` command that makes a run again, every setting named; None for a network of one's own."""
    if run.get("network") is not None:
        return None
    words = ["graphmix", "train", str(run.get("dataset")), *_split(run)]
    for name in _OPTIONS:
        value = run.get(name)
        if value is None or _UNSAID.get(name) == value:
            continue
        flag = name.replace("_", "-")
        if isinstance(value, bool):
            words.append(f"--{flag}" if value else f"--no-{flag}")
        else:
            words += [f"--{flag}", ",".join(map(str, value)) if isinstance(value, list) else str(value)]
    return shlex.join(words)


def _split(run: dict[str, Any]) -> list[str]:
    # A graph that comes with its own split names it after itself, and takes no other word for it.
    words = ["--split", str(run["split"])] if run.get("split") not in (None, run.get("dataset")) else []
    seeds = run.get("split_seeds")
    if isinstance(seeds, list) and seeds and all(isinstance(seed, int) for seed in seeds):
        words += ["--splits", str(len(set(seeds))), "--split-seed", str(min(seeds))]
    return words

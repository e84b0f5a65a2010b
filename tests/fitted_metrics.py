"""What metrics.json of a fit holds, made by hand: of an older version, and of a mixture."""

import json
from pathlib import Path
from typing import Any

CLASSES = ["Theory", "</script><b>Genetic</b>", "Rare"]
EVIL = "</script><b>"


def make_bins(ece: float) -> dict[str, Any]:
    share = [None, 40.0, 80.0]
    return {"count": [0, 10, 30], "confidence": share, "accuracy": [None, 50.0, 90.0], "ece": ece}


def make_metrics(**changes: Any) -> dict[str, Any]:
    """What metrics.json of an older version holds, which chose one method."""

    def place(method: str, accuracy: float, behind: list[float] | None, certain: bool | None) -> dict[str, Any]:
        scores = {"accuracy": accuracy, "macro_f1": accuracy - 2, "behind": behind, "certain": certain}
        return {"method": method, **scores, "seconds": 12.3}

    return {
        "format": 1,
        "dataset": "papers",
        "survey": {
            "nodes": 1000,
            "labeled": 40,
            "class_names": list(CLASSES),
            "class_counts": [20, 15, 5],
            "edges": 4000,
            "isolated": 7,
            "components": 12,
            "features": 500,
            "mean_degree": 8.0,
            "labeled_edges": 60,
            "homophily": 0.82,
            "chance": 0.31,
            "adjusted_homophily": 0.74,
            "reached": 0.64,
            "warnings": ["Labels are few."],
        },
        "judged_on": "held-out folds",
        "held": 40,
        "trials": 5,
        "epochs": 300,
        "backbone": "gcn",
        "chosen_by": "accuracy",
        "chosen": "graphmix",
        "candidates": [
            place("graphmix", 80.0, None, None),
            place("label-propagation", 77.5, [2.5, -1.5, 6.5], False),
            place("fcn", 55.0, [25.0, 15.0, 35.0], True),
        ],
        "calibration": {"temperature": 1.4, "before": make_bins(12.5), "after": make_bins(4.5)},
        "conformal": {"coverage": 90.0, "empirical": 91.5, "mean_size": 1.4, "threshold": 0.8, "sizes": [700, 250, 50]},
        "abstention": {
            "target": 90.0,
            "level": 0.55,
            "kept": 75.0,
            "accuracy": 91.0,
            "labels": 30,
            "curve": {
                "threshold": [99.0, 90.0, 60.0, 50.0, 40.0],
                "kept": [10.0, 30.0, 50.0, 70.0, 100.0],
                "accuracy": [75.0, 100.0, 92.0, 90.0, 80.0],
            },
        },
        "classes": list(CLASSES),
        "predicted": [600, 350, 50],
        "test": None,
        "notes": ["features: words (text)"],
        "failures": ["supervised was left out: its loss became infinite"],
        "seconds": {"reading": 1.5, "encoding": 0.5, "training": 40.0, "writing": 0.2},
        "peak_memory_gib": 0.75,
        **changes,
    }


def make_test() -> dict[str, Any]:
    shares = {"accuracy": 79.0, "macro_f1": 70.0, "trials": [76.0, 78.5, 80.0]}
    return {"nodes": 300, **shares, "before": make_bins(11.0), "after": make_bins(3.5)}


def make_model(folder: Path, metrics: dict[str, Any], **changes: Any) -> Path:
    """A model's folder, as far as a page needs one."""
    folder.mkdir(parents=True)
    model = {"format": 1, "versions": {"graphmix": "0.1.0"}, "task": "nodes", "config": {"alpha": 1.0}, **changes}
    (folder / "model.json").write_text(json.dumps(model))
    (folder / "metrics.json").write_text(json.dumps(metrics))
    (folder / "config.json").write_text(json.dumps({"wishes": {}}))
    (folder / "predictions.csv").write_text("id,label\n")
    return folder


def make_mixture(**changes: Any) -> dict[str, Any]:
    """What metrics.json of a mixture holds: two members of four candidates, one of which does better alone."""

    def place(method: str, accuracy: float, log_loss: float, share: float | None = None, **more: Any) -> dict[str, Any]:
        return {
            "method": method,
            "accuracy": accuracy,
            "macro_f1": accuracy - 2,
            "behind": None,
            "certain": None,
            "seconds": 12.3,
            "share": share,
            "log_loss": log_loss,
            **more,
        }

    curve = {"epochs": [10, 20, 30, 40], "loss": [2.0, 0.9, 0.7, 0.8], "accuracy": [40.0, 70.0, 80.0, 77.5]}
    gpr = {"backbone": "gpr", "epochs": 30, "curve": curve, "behind": [2.5, -1.5, 6.5], "certain": False}
    sage = {"backbone": "sage", "epochs": 40, "curve": curve, "behind": [7.5, 2.5, 12.5], "certain": True}
    # A mixture says of no network, no share and no curve that it has none by leaving the key out.
    model = {key: value for key, value in place("mixture", 80.0, 0.61).items() if key != "share"}
    return (
        make_metrics(
            format=2,
            backbone="gpr",
            chosen="mixture",
            candidates=[
                model,
                place("label-propagation", 82.5, 0.75, 35.0, behind=[-2.5, -6.5, 1.5], certain=False),
                place("supervised", 77.5, 0.7, 65.0, **gpr),
                place("supervised", 72.5, 0.9, 0.0, **sage),
                place(
                    "fcn",
                    55.0,
                    1.1,
                    0.0,
                    backbone="gcn",
                    epochs=10,
                    curve=curve,
                    behind=[25.0, 15.0, 35.0],
                    certain=True,
                ),
            ],
            confusion=[[18, 1, 1], [2, 12, 1], [2, 1, 2]],
        )
        | changes
    )

"""Write the models of format 2 in this folder, with the version before mixtures.

git worktree add ../before 352b930
PYTHONPATH=../before/src:tests python tests/old_files/make_format_2.py
"""

from pathlib import Path

import numpy as np
import pandas as pd

import graphmix
from graphmix.workflow.columns import Columns
from graphmix.workflow.options import FitOptions
from small_tables import pairs, rows

HERE = Path(__file__).parent
QUICK = {"trials": 2, "epochs": 20, "hidden": 3}


def save(name, model):
    """Save a model, and what it predicts."""
    model.save(HERE / name)
    model.predict(everything=True).write(HERE / f"{name}.predicted.csv")


def main():
    nodes, edges = pd.DataFrame(rows(24)).replace("", None), pd.DataFrame(pairs(24), columns=["source", "target"])
    for name, methods in {"networks": ("graphmix", "fcn"), "spread": ("label-propagation",)}.items():
        options = FitOptions(methods=methods, device="cpu")
        save(f"model2-{name}", graphmix.fit_tables(nodes, edges, label="topic", options=options, **QUICK))
    links = [{"from": f"u{n % 6}", "to": f"u{n * n % 5}", "sign": ("good", "bad", None)[n % 3]} for n in range(30)]
    options, columns = FitOptions(methods=("supervised",), device="cpu"), Columns(link_label="sign")
    save("model2-links", graphmix.fit_tables(None, pd.DataFrame(links), columns=columns, options=options, **QUICK))
    graph, _ = graphmix.synthetic(nodes=40, classes=2, features=5, labels_per_class=5, seed=3)
    classifier = graphmix.GraphMixClassifier(method="graphmix", device="cpu", **QUICK)
    known = np.where(np.arange(40) < 30, graph.y.numpy(), -1)
    classifier.fit(graph.x.to_dense().numpy(), known, graph.edge_index.numpy())
    classifier.save(HERE / "model2-classifier")
    np.save(HERE / "model2-classifier-expected.npy", classifier.predict_proba())


if __name__ == "__main__":
    main()

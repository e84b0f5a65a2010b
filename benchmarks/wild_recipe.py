"""Whether GraphMix + GRAND should be a candidate of `graphmix fit`: fits with it and without it on graphs of the suite.

    python benchmarks/wild_recipe.py --graphs acm cora-ml --device cpu --out benchmarks/results/wild-recipe-cpu.json

`fit` does not offer this method; the script lets it. Labels are drawn as in wild.py, 20 a class; all other nodes are
test nodes. Both fits have the same labels, folds and seeds. A row has the accuracy of the predictions of test nodes,
their log loss (a class that is not among the three most probable has a probability of 0.0001), the shares of the
members, the accuracy on held-out labels of the mixture and of the recipe alone, and seconds of processor time. Runs
that are in the file already are not run again.
"""

import argparse
import json
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from graphmix import FitOptions
from graphmix.experiments.records import source_commit
from graphmix.results.describe import device_name, versions
from graphmix.results.writer import to_json
from graphmix.storage.files import write_json
from graphmix.tables.ids import INTEGER
from graphmix.training.devices import choose_device
from graphmix.training.methods import METHODS
from graphmix.workflow import options as fit_options
from graphmix.workflow.fitting import fit_problem
from graphmix.workflow.nodes import NodeProblem
from graphmix.workflow.plan import Candidate, config_on, make_plan
from wild_fit import describe, ranked_probabilities
from wild_graphs import Draw, data_folder, hidden_labels, load_case
from wild_names import BY_CLASS, COUNTIES, GRAPHS, MANY

METHOD = "graphmix-grand"
WITHOUT, WITH = "without", "with"
# As long as the others of a fit; ours, and not searched for.
SETTINGS: dict[str, Any] = {"backbone": "grand", "epochs": 400, "rampup_end": 100, "learning_rate": 0.03}


def main() -> None:
    """Run what is missing, and write the results after each fit."""
    options = parse()
    commit = options.commit or source_commit()
    record: dict[str, Any] = {
        "command": "python benchmarks/wild_recipe.py",
        "device": device_name(choose_device(options.device)),
        "settings": SETTINGS,
        "versions": versions(),
        "rows": [],
    }
    METHODS[METHOD] = replace(METHODS[METHOD], for_fits=True)  # type: ignore[index]
    fit_options.CANDIDATES = (*fit_options.CANDIDATES, METHOD)
    if options.out.exists():
        record["rows"] = json.loads(options.out.read_text())["rows"]
    done = {(row["graph"], row["draw"], row["kind"]) for row in record["rows"]}
    for name in options.graphs:
        for number in range(options.draws):
            for kind in (WITHOUT, WITH):
                if (name, number, kind) in done:
                    continue
                row = {"graph": name, "draw": number, "kind": kind, "commit": commit}
                row |= run(name, number, kind, options)
                record["rows"].append(row)
                write_json(options.out, record)
                print(row, flush=True)


def run(name: str, number: int, kind: str, options: argparse.Namespace) -> dict[str, Any]:
    """Fit one draw, and measure the predictions of the nodes without a label."""
    case = load_case(name, data_folder(None))
    known = Draw(name, MANY, BY_CLASS, number).known(case.y)
    test = np.setdiff1d(np.flatnonzero(case.y >= 0), known)
    y = torch.from_numpy(hidden_labels(case, known))
    graph = replace(case.graph, y=y, class_names=case.classes)
    wanted = FitOptions(device=options.device)
    plan = make_plan(graph, wanted.methods, {}, device=options.device)
    if kind == WITH:
        plan = (*plan, Candidate(METHOD, config_on(options.device, graph, METHOD, **SETTINGS)))
    ids = [str(node) for node in range(graph.num_nodes)]
    problem = NodeProblem(graph=graph, split=None, ids=ids, id_columns={"id": INTEGER})
    began = time.process_time()
    with tempfile.TemporaryDirectory() as place:
        model = fit_problem(problem, plan, wanted, Path(place) / "model")
        columns = model.predict(everything=True).columns
    metrics = to_json(model.metrics)
    own = [each["accuracy"] for each in metrics["candidates"] if each["method"] == METHOD]
    share = ranked_probabilities(columns, case.classes)[test]
    right = share[np.arange(len(test)), case.y[test]]
    return {
        "accuracy": round(100 * float((share.argmax(axis=1) == case.y[test]).mean()), 3),
        "log_loss": round(float(-np.log(np.maximum(right, 1e-4)).mean()), 4),
        "processor_seconds": round(time.process_time() - began, 1),
        "recipe_held_out": own[0] if own else None,
    } | describe(metrics)


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", nargs="+", choices=[each for each in GRAPHS if each != COUNTIES], required=True)
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--commit", help="commit of the code, if git does not know it")
    parser.add_argument("--out", type=Path, required=True)
    return parser.parse_args()


if __name__ == "__main__":
    main()

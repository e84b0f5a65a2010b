"""graphmix predict: a trained model on nodes or links that are new."""

from pathlib import Path
from typing import Annotated

import typer

from graphmix.cli.screen import output, report
from graphmix.errors import ConfigError


def predict(
    model: Annotated[Path, typer.Argument(help="A folder that `graphmix fit` made.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Predictions: .csv, .tsv or .parquet.", show_default=False)],
    nodes: Annotated[
        Path | None, typer.Option(help="Table of new nodes, with the columns of the one trained on.")
    ] = None,
    edges: Annotated[
        Path | None, typer.Option(help="Table of new edges, to new nodes and old ones; of new links, for a link model.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Predict the old nodes too.")] = False,
    ignore_unknown: Annotated[
        bool, typer.Option("--ignore-unknown", help="Leave out edges to nodes that are neither old nor new.")
    ] = False,
    target_accuracy: Annotated[
        float | None, typer.Option(help="Abstain below this accuracy (default: the model's).", show_default=False)
    ] = None,
    coverage: Annotated[
        float | None, typer.Option(help="Of the prediction sets (default: the model's).", show_default=False)
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there already.")] = False,
) -> None:
    """Predict with a trained model: nodes that did not exist at training time, joined to the old graph.

    Without tables, predict the graph it was trained on anew, say for another target accuracy.
    """
    # Here, not on top: tables need pyarrow, which other commands do not wait for.
    from graphmix.workflow.folder import read_model
    from graphmix.workflow.growth import grow
    from graphmix.workflow.predictions import check_ending, tabulate, write_predictions

    check_ending(out)
    if out.exists() and not force:
        raise ConfigError(f"{out} is there already; choose another --out, or --force to replace it")
    report("reading the model")
    stored = read_model(model)
    report("reading the tables")
    grown = grow(stored, nodes, edges, ignore_unknown=ignore_unknown)
    report("predicting")
    first = 0 if everything else grown.first
    probabilities = stored.model.probabilities(grown.graph)[first:]
    target = stored.target if target_accuracy is None else target_accuracy
    decisions = stored.model.decide(probabilities, target, stored.coverage if coverage is None else coverage)
    names = {name: values[first:] for name, values in grown.names.items()}
    known = [None if label < 0 else stored.model.classes[label] for label in grown.graph.y.tolist()[first:]]
    write_predictions(out, tabulate(names, decisions, stored.model.classes, known))
    for note in grown.notes:
        output.print(f"· {note}", markup=False, soft_wrap=True)
    abstained = int(decisions.abstain.sum())
    output.print(
        f"{len(probabilities):,} predictions written to {out}, {abstained:,} of them abstain",
        markup=False,
        soft_wrap=True,
    )

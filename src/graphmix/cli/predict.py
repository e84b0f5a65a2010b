"""graphmix predict: a trained model on new nodes or links."""

from pathlib import Path
from typing import Annotated

import typer

from graphmix.cli.busy import busy
from graphmix.cli.options import EscapeFormulas, Limit, NoHeader
from graphmix.cli.paths import require_files, require_model
from graphmix.cli.screen import announce, tell
from graphmix.limits import Limits
from graphmix.workflow.columns import Columns
from graphmix.workflow.output import formula_notes
from graphmix.workflow.places import check_table, model_files


def predict(
    model: Annotated[Path, typer.Argument(help="Folder of a model, from `graphmix fit` or a `save` in Python.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Predictions: .csv, .tsv or .parquet.", show_default=False)],
    nodes: Annotated[
        Path | None, typer.Option(help="Table of new nodes, with the columns of the one trained on.")
    ] = None,
    edges: Annotated[
        Path | None, typer.Option(help="Table of new edges, to new and old nodes; of new links, for a link model.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Predict the old nodes too.")] = False,
    ignore_unknown: Annotated[
        bool, typer.Option("--ignore-unknown", help="Leave out edges to nodes that are neither old nor new.")
    ] = False,
    target_accuracy: Annotated[
        float | None, typer.Option(help="Abstain below this accuracy (default: the model's).", show_default=False)
    ] = None,
    coverage: Annotated[
        float | None, typer.Option(help="Coverage of the prediction sets (default: the model's).", show_default=False)
    ] = None,
    no_header: NoHeader = None,
    limit: Limit = None,
    escape_formulas: EscapeFormulas = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
) -> None:
    """Predict with a trained model: new nodes, joined to the graph it was trained on.

    Without tables, predict that graph again, for example for another target accuracy.
    """
    limits = Limits.parse(limit or ())
    Columns(no_header=no_header or ())  # checks the names
    require_model(model)
    require_files(nodes, edges)
    check_table(out, inputs=(nodes, edges, *model_files(model)), force=force)
    # Imported here: pyarrow and torch take seconds to import.
    with busy("starting"):
        from graphmix.workflow.model import load_model

    announce("reading the model")
    with busy("reading the model"):
        loaded = load_model(model)
    announce("predicting")
    with busy("predicting"):
        predictions = loaded.predict(
            nodes,
            edges,
            everything=everything,
            ignore_unknown=ignore_unknown,
            target_accuracy=target_accuracy,
            coverage=coverage,
            limit=limits,
            no_header=no_header or (),
        )
        predictions.write(out, escape_formulas=escape_formulas)
    for note in (*predictions.notes, *formula_notes(out, predictions, escape_formulas=escape_formulas)):
        tell(f"· {note}")
    tell(f"{len(predictions):,} predictions written to {out}, {predictions.abstained:,} of them abstain")

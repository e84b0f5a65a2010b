"""graphmix predict: a trained model on new nodes or links."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from graphmix.cli.explain import explaining
from graphmix.cli.models import read_model
from graphmix.cli.options import EscapeFormulas, Limit, NoHeader
from graphmix.cli.paths import require_files, require_model
from graphmix.cli.pipes import AS_CSV, DASH, standard_input, write_output
from graphmix.cli.screen import announce, say, tell
from graphmix.limits import Limits
from graphmix.text import counted
from graphmix.workflow.columns import Columns
from graphmix.workflow.output import formula_notes
from graphmix.workflow.places import check_table, model_files

if TYPE_CHECKING:
    from graphmix.workflow.predictions import Predictions


def predict(
    model: Annotated[Path, typer.Argument(help="Folder of a model, from `graphmix fit` or a `save` in Python.")],
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            help="Predictions: .csv, .tsv or .parquet; - for standard output, as CSV.",
            show_default=False,
        ),
    ],
    nodes: Annotated[
        Path | None,
        typer.Option(help="Table of new nodes, with the columns of the one trained on; - for standard input."),
    ] = None,
    edges: Annotated[
        Path | None,
        typer.Option(help="Table of new edges, to new and old nodes; of new links, for a link model; - likewise."),
    ] = None,
    reasons: Annotated[
        bool, typer.Option("--explain", help="Add a column of reasons; about a quarter of a second for each row.")
    ] = False,
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
    require_files(*(path for path in (nodes, edges) if path != DASH))
    if out != DASH:
        check_table(out, inputs=(nodes, edges, *model_files(model)), force=force)
    loaded = read_model(model)
    with standard_input(nodes, edges) as tables:
        announce("predicting")
        with explaining("predicting") as line:
            predictions = loaded.predict(
                *tables,
                everything=everything,
                ignore_unknown=ignore_unknown,
                target_accuracy=target_accuracy,
                coverage=coverage,
                limit=limits,
                no_header=no_header or (),
                reasons=line if reasons else False,
            )
            _write(predictions, out, escape_formulas)
    # Standard output may be the table itself.
    inform = say if out == DASH else tell
    named = AS_CSV if out == DASH else out
    for note in (*predictions.notes, *formula_notes(named, predictions, escape_formulas=escape_formulas)):
        inform(f"· {note}")
    where = "standard output" if out == DASH else out
    inform(f"{counted(len(predictions), 'prediction')} written to {where}, {predictions.abstained:,} of them abstain")


def _write(predictions: "Predictions", out: Path, escape_formulas: bool) -> None:
    if out == DASH:
        write_output(predictions.pieces(AS_CSV, escape_formulas=escape_formulas))
    else:
        predictions.write(out, escape_formulas=escape_formulas)

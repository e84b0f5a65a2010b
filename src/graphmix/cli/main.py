"""The `graphmix` command."""

import io
import sys
from typing import Annotated, NoReturn

import torch
import typer

from graphmix.cli import advise, data, demo, fit, predict, report, reproduce, select, train
from graphmix.cli.screen import say
from graphmix.errors import GraphMixError
from graphmix.results.runs import versions

# Typer's own parsing errors; their class is not exported, but a bad parameter is one.
UsageError: type[Exception] = typer.BadParameter.__bases__[0]

app = typer.Typer(
    help="GraphMix: get the most out of graphs with few labels.",
    no_args_is_help=True,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(demo.demo)
app.command()(fit.fit)
app.command()(predict.predict)
app.command()(advise.advise)
app.command()(train.train)
app.command()(select.select)
app.command()(reproduce.reproduce)
app.command()(report.report)
app.add_typer(data.app, name="data")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"graphmix {versions()['graphmix']}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True),
    ] = False,
) -> None:
    """GraphMix: get the most out of graphs with few labels."""


def run() -> None:
    """Run the command line; what the user can put right ends in one sentence and exit code 2."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show "±" gets a question mark, not a traceback after an hour's training.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        code = app(standalone_mode=False)
    except GraphMixError as error:
        _fail(str(error))
    except UsageError as error:
        _fail(error.format_message())  # type: ignore[attr-defined]
    except (MemoryError, torch.OutOfMemoryError):
        _fail("out of memory; train fewer trials at once with --chunk")
    except OSError as error:
        _fail(f"{error.filename or 'output'}: {error.strerror or error}")
    sys.exit(code if isinstance(code, int) else 0)


def _fail(message: str) -> NoReturn:
    if message:  # called without a command, typer has printed the help already
        say(f"graphmix: {message}")
    sys.exit(2)

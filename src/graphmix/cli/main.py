"""The `graphmix` command."""

import os
import sys
from typing import Annotated

import typer

from graphmix.cli import data, demo, train
from graphmix.cli.screen import errors
from graphmix.errors import GraphMixError
from graphmix.training.runs import versions

# Typer's own parsing errors; their class is not exported, but a bad parameter is one.
UsageError: type[Exception] = typer.BadParameter.__bases__[0]

app = typer.Typer(
    help="GraphMix: get the most out of graphs with few labels.",
    no_args_is_help=True,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(demo.demo)
app.command()(train.train)
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
    try:
        code = app(standalone_mode=False)
    except GraphMixError as error:
        _fail(str(error), 2)
    except UsageError as error:
        _fail(error.format_message(), 2)  # type: ignore[attr-defined]
    except (KeyboardInterrupt, typer.Abort):
        _fail("interrupted; the same command with the same --out goes on with the trials that are missing", 130)
    except BrokenPipeError:
        # The reader of our output is gone; point stdout elsewhere so that the interpreter's last flush is quiet.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    sys.exit(code if isinstance(code, int) else 0)


def _fail(message: str, code: int) -> None:
    errors.print(f"graphmix: {message}", markup=False, highlight=False, soft_wrap=True)
    sys.exit(code)

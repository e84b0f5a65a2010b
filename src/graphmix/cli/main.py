"""The `graphmix` command. No command imports torch before it runs: help and most errors appear at once."""

import io
import sys
from typing import Annotated, NoReturn

import typer

from graphmix.cli import advise, data, demo, fit, predict, report, reproduce, select, train
from graphmix.cli.flags import Command, forget, has_option, in_flags
from graphmix.cli.interrupts import INTERRUPTED
from graphmix.cli.screen import say
from graphmix.errors import GraphMixError

# Typer's own parsing errors; their class is not exported, but a bad parameter is one.
UsageError: type[Exception] = typer.BadParameter.__bases__[0]

app = typer.Typer(
    help="GraphMix: get the most out of graphs with few labels.",
    no_args_is_help=True,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command(cls=Command)(demo.demo)
app.command(cls=Command)(fit.fit)
app.command(cls=Command)(predict.predict)
app.command(cls=Command)(advise.advise)
app.command(cls=Command)(train.train)
app.command(cls=Command)(select.select)
app.command(cls=Command)(reproduce.reproduce)
app.command(cls=Command)(report.report)
app.add_typer(data.app, name="data")


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import PackageNotFoundError, version

        try:
            typer.echo(f"graphmix {version('graphmix')}")
        except PackageNotFoundError:  # run from a source tree that was not installed
            typer.echo("graphmix source")
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
    """Run the command line; an error that the user can correct ends in one sentence and exit code 2, Ctrl-C in 130."""
    forget()
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show "±" gets a question mark, not a traceback after an hour's training.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        code = app(standalone_mode=False)
    except typer.Abort:  # Ctrl-C; typer has ended the line on the terminal
        sys.exit(INTERRUPTED)
    except GraphMixError as error:
        _fail(in_flags(str(error)))
    except UsageError as error:
        _fail(error.format_message())  # type: ignore[attr-defined]
    except _memory_errors():
        _fail("out of memory" + ("; train fewer trials at once with --chunk" if has_option("--chunk") else ""))
    except OSError as error:
        _fail(f"{error.filename or 'output'}: {error.strerror or error}")
    sys.exit(code if isinstance(code, int) else 0)


def _memory_errors() -> tuple[type[BaseException], ...]:
    # Only a torch that was imported can have run out of memory.
    torch = sys.modules.get("torch")
    return (MemoryError, getattr(torch, "OutOfMemoryError", MemoryError))


def _fail(message: str) -> NoReturn:
    if message:  # called without a command, typer has printed the help already
        say(f"graphmix: {message}")
    sys.exit(2)

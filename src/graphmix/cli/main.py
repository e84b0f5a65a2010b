"""The `graphmix` command. No command imports torch before it runs: help and most errors appear at once."""

import contextlib
import sys
from collections.abc import Callable
from functools import partial
from typing import Annotated, NoReturn

import typer

from graphmix.cli import advise, data, demo, explain, fit, label, predict, report, reproduce, select, train, tune
from graphmix.cli.flags import Command, forget, in_flags
from graphmix.cli.internal_errors import INTERNAL, describe
from graphmix.cli.interrupts import INTERRUPTED, command_ends
from graphmix.cli.memory import out_of_memory
from graphmix.cli.processes import check_command, dismiss, follow, follows, is_first_to_fail
from graphmix.cli.screen import say, tell
from graphmix.cli.streams import OutputLost, guard_streams
from graphmix.distribution import __version__
from graphmix.errors import GraphMixError
from graphmix.machine import is_out_of_memory

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
app.command(cls=Command)(explain.explain)
app.command(cls=Command)(advise.advise)
app.command(cls=Command)(label.label)
app.command(cls=Command, epilog=train.methods_table())(train.train)
app.command(cls=Command)(select.select)
app.command(cls=Command)(tune.tune)
app.command(cls=Command)(reproduce.reproduce)
app.command(cls=Command)(report.report)
app.add_typer(data.app, name="data")


def _print_version(wanted: bool) -> None:
    if wanted:
        tell(f"graphmix {__version__}")
        raise typer.Exit


@app.callback()
def main(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True),
    ] = False,
) -> None:
    """GraphMix: get the most out of graphs with few labels."""
    check_command(context.invoked_subcommand)


def run() -> NoReturn:
    """Run the command line, and exit.

    Exit codes: 0; 1 if standard output cannot be written, or a command says so; 2 with one sentence for an error that
    the user can correct; 70 with the place of a log for an error that nobody foresaw; 130 after Ctrl-C; 128 plus
    its number after another signal.
    """
    guard_streams()
    forget()
    code = None
    try:
        command: Callable[[], object] = follow if follows() else partial(app, standalone_mode=False)
        given = command()
        sys.stdout.flush()
        code = given if isinstance(given, int) else 0
    except (typer.Abort, KeyboardInterrupt):
        _fail("interrupted", INTERRUPTED)
    except OutputLost as error:
        _fail(str(error), 1)
    except GraphMixError as error:
        _fail(in_flags(str(error)))
    except UsageError as error:
        _fail(error.format_message())  # type: ignore[attr-defined]
    except SystemExit:
        raise
    except BaseException as error:  # noqa: BLE001 - the one place for what nobody foresaw; Rust's panics are not Exceptions
        if is_out_of_memory(error):
            _fail(out_of_memory())
        if isinstance(error, OSError):
            _fail(f"{error.filename}: {_reason(error)}" if error.filename else _reason(error))
        _fail(describe(error), INTERNAL)
    finally:
        dismiss(succeeded=code == 0)
        command_ends()
    sys.exit(code)


def _reason(error: OSError) -> str:
    return error.strerror or str(error) or type(error).__name__


def _fail(message: str, code: int = 2) -> NoReturn:
    # Called without a command, typer has printed the help already.
    if message and is_first_to_fail():
        say(f"graphmix: {message}")
    # What a command printed before it failed may still be held back, and standard output may be closed.
    with contextlib.suppress(OutputLost):
        sys.stdout.flush()
    sys.exit(code)

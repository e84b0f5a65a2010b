"""From parameters to flags: the library's messages name parameters in backticks, the command line shows its options."""

import re
import shlex
from collections.abc import Collection
from contextvars import ContextVar
from typing import Any

import typer
from typer.core import TyperCommand

from graphmix.cli.environment import require_current_folder
from graphmix.cli.interrupts import command_begins, command_ends

# The values `{'zip code': 'category'}` and `['zip code']`: a column with its kind, and a column.
_COLUMN = re.compile(r"""\{(['"])(?P<name>.*)\1: '(?P<kind>\w+)'\}|\[(['"])(?P<alone>.*)\4\]""")
# A parameter in backticks, alone or with a value: `out`, `ignore_unknown=True`, `metric='macro-f1'`.
_PARAMETER = re.compile(r"`([a-z_][a-z0-9_]*)(?:=([^`]+))?`")
# Parameters that take several values, whose option takes one of them.
_SINGLE = {"--features": "--feature"}

_options: ContextVar[frozenset[str]] = ContextVar("_options", default=frozenset())
_running: ContextVar[str] = ContextVar("_running", default="")


def translate(message: str, options: Collection[str]) -> str:
    """Replace each parameter in backticks by the option of the same name, where there is one.

    Args:
        message: what the library says.
        options: the options of the running command, with their dashes.

    Example:
        >>> translate("`learning_rate` must be above 0; see `graphmix train`", {"--learning-rate"})
        '--learning-rate must be above 0; see `graphmix train`'
        >>> translate("or set `ignore_unknown=True`, `metric='accuracy'`", {"--ignore-unknown", "--metric"})
        'or set --ignore-unknown, --metric accuracy'
        >>> translate("`keep={'zip code': 'category'}` uses it", {"--keep"})
        "--keep 'zip code=category' uses it"
    """

    def replace(found: re.Match[str]) -> str:
        name, value = found[1].replace("_", "-"), found[2]
        flag = f"--no-{name}" if value == "False" else f"--{name}"
        # One option for each of several columns.
        flag = _SINGLE.get(flag, flag)
        if flag not in options:
            return found[0]
        if value in (None, "True", "False"):
            return flag
        column = _COLUMN.fullmatch(value)
        if column is None:
            return f"{flag} {value.strip(chr(39) + chr(34))}"
        return f"{flag} {shlex.quote(column['alone'] or column['name'] + '=' + column['kind'])}"

    return _PARAMETER.sub(replace, message)


def in_flags(message: str) -> str:
    """Translate a message with the options of the command that runs."""
    return translate(message, _options.get())


def running() -> str:
    """Return the name of the command that runs; empty if none does."""
    return _running.get()


def forget() -> None:
    """Start without a running command."""
    _options.set(frozenset())
    _running.set("")


class Command(TyperCommand):
    """A command that remembers its options, so that messages can name them."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command; its options stay known afterwards, for an error that ends it."""
        _options.set(frozenset(flag for param in self.params for flag in (*param.opts, *param.secondary_opts)))
        _running.set(str(ctx.info_name))
        require_current_folder()
        try:
            command_begins()
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            # Typer would turn it into an exit code without a word.
            raise typer.Abort from error
        finally:
            command_ends()

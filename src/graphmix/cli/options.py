"""Command-line options made from the fields of `Config`, and options that several commands share."""

import copy
import functools
import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from graphmix.limits import NAMES
from graphmix.training.config import HYPERPARAMETERS
from graphmix.training.paper import varies_text
from graphmix.training.settings import GROUPS, Setting

Command = Callable[..., None]

DatasetName = Annotated[str, typer.Argument(help="A name from `graphmix data list`, or a graph in an .npz file.")]
DataRoot = Annotated[
    Path | None,
    typer.Option("--data-root", help="Folder with the raw files (default: GRAPHMIX_DATA, then the user's cache)."),
]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:N.")]
CHECKPOINT_HELP = "Minutes between two checkpoints, from which a killed command goes on; 0 for one every epoch."
ESCAPE_HELP = "Put an apostrophe before cells that a spreadsheet would run as formulas."
EscapeFormulas = Annotated[bool, typer.Option("--escape-formulas", help=ESCAPE_HELP)]
CONFIG_HELP = "File of hyperparameters, such as best.toml of graphmix tune; options that are given win."
WritePage = Annotated[bool, typer.Option("--report/--no-report", help="Write report.html into the folder.")]

LIMIT_HELP = (
    f"How large files may be, NAME=VALUE, repeatable: {', '.join(NAMES)}, for example size=4G (see the docs on tables)."
)
NO_HEADER_HELP = (
    "A table whose file has no header, nodes or edges, repeatable; its columns are called `column 1`, `column 2`, …"
)
NoHeader = Annotated[
    list[str] | None, typer.Option("--no-header", metavar="TABLE", help=NO_HEADER_HELP, show_default=False)
]
Limit = Annotated[list[str] | None, typer.Option("--limit", metavar="NAME=VALUE", help=LIMIT_HELP, show_default=False)]

# Further names of options.
_ALSO = {"temperature": "-T", "perturbations": "-K", "learning_rate": "--lr"}


def option(help: str, panel: str, *names: str) -> Any:
    """Declare an option in a panel of the help, with its default in the text."""
    return typer.Option(*names, help=help, rich_help_panel=panel, show_default=False)


def settings_options(
    *names: str,
    before: str = "",
    panel: str | None = None,
    defaults: Mapping[str, str] | None = None,
    choices: Mapping[str, tuple[str, ...]] | None = None,
) -> Callable[[Command], Command]:
    """Decorate a command: give it an option for each of the named hyperparameters, or for all of them.

    The command receives them as `**given`, None for an option that was not given.

    Args:
        names: fields of `Config`; all if there are none.
        before: the command's parameter before which the options stand in the help; at the end if empty.
        panel: the panel of the help; that of the hyperparameter's group if None.
        defaults: defaults in words, for those that differ from the field's.
        choices: choices, for those that differ from the field's.
    """
    wanted = names or tuple(sorted(HYPERPARAMETERS, key=lambda name: GROUPS.index(HYPERPARAMETERS[name].group)))
    made = []
    for name in wanted:
        rules = HYPERPARAMETERS[name]
        help = describe(name, (defaults or {}).get(name), (choices or {}).get(name))
        made.append(_parameter(name, rules, help, panel or rules.group))

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def run(**values: Any) -> None:
            command(**{name: read(name, value) if name in wanted else value for name, value in values.items()})

        return _with_parameters(run, inspect.signature(command), made, before)

    return decorate


def options_of(other: Command, *names: str, before: str = "", panel: str | None = None) -> Callable[[Command], Command]:
    """Decorate a command: give it options of another command, none of them required.

    The command receives them as `**given`, with the other command's defaults, None for those that are required there.

    Args:
        other: the other command.
        names: its parameters.
        before: the command's parameter before which the options stand in the help; at the end if empty.
        panel: the panel of the help; the other command's if None.
    """
    theirs = inspect.signature(other).parameters
    made = [_in_panel(_optional(theirs[name]), panel) for name in names]

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def run(**values: Any) -> None:
            command(**values)

        return _with_parameters(run, inspect.signature(command), made, before)

    return decorate


def _optional(parameter: inspect.Parameter) -> inspect.Parameter:
    if parameter.default is not inspect.Parameter.empty:
        return parameter
    kind, *details = get_args(parameter.annotation)
    return parameter.replace(default=None, annotation=Annotated[(kind | None, *details)])


def _in_panel(parameter: inspect.Parameter, panel: str | None) -> inspect.Parameter:
    if panel is None:
        return parameter
    kind, declared = get_args(parameter.annotation)
    # A copy: the other command's option stays in its own panel.
    moved = copy.copy(declared)
    moved.rich_help_panel = panel
    return parameter.replace(annotation=Annotated[kind, moved])


def _with_parameters(run: Command, signature: inspect.Signature, made: list[inspect.Parameter], before: str) -> Command:
    """Give a command more parameters, before one of its own."""
    own = [each for each in signature.parameters.values() if each.kind is not inspect.Parameter.VAR_KEYWORD]
    place = next((place for place, each in enumerate(own) if each.name == before), len(own))
    merged = [*own[:place], *made, *own[place:]]
    keywords = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in merged]
    run.__signature__ = signature.replace(parameters=keywords)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in keywords}
    return run


def describe(name: str, default: str | None = None, choices: tuple[str, ...] | None = None) -> str:
    """Return the help of an option: symbol, meaning, choices and default.

    Example:
        >>> describe("rampup_before")
        'Share of gamma that applies before the rise (default: 0.0, varies by reading).'
    """
    rules = HYPERPARAMETERS[name]
    meaning = f"{rules.symbol}, {rules.help[0].lower()}{rules.help[1:]}" if rules.symbol else rules.help
    # Bounds are left to the messages; a switch needs no list of its two values.
    allowed = ", ".join(choices or ()) or (rules.values if rules.choices or rules.values_text else "")
    varying = varies_text(name)
    usual = default or rules.default_words + (f", varies by {varying}" if varying else "")
    return f"{meaning} ({f'{allowed}; ' if allowed else ''}default: {usual})."


def read(name: str, text: Any) -> Any:
    """Turn the text of an option into a hyperparameter's value; invalid text is left to the checks of `Config`."""
    rules = HYPERPARAMETERS[name]
    if isinstance(text, str) and rules.or_count and text.isdecimal():
        return int(text)
    if isinstance(text, str) and rules.kind is tuple:
        return [_number(part) for part in text.split(",")]
    return text


def _parameter(name: str, rules: Setting, help: str, panel: str) -> inspect.Parameter:
    flag = f"--{name.replace('_', '-')}"
    flags = [f"{flag}/--no-{flag.removeprefix('--')}" if rules.kind is bool else flag]
    flags += [_ALSO[name]] if name in _ALSO else []
    kind: Any = str if rules.kind is tuple else rules.kind
    option = typer.Option(*flags, help=help, rich_help_panel=panel, show_default=False)
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind | None, option]
    )


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text

"""What a hyperparameter is: type, default, bounds, choices and meaning, declared once as a field of `Config`.

Checks, command-line options, estimator parameters, the table in the documentation and rerun commands follow from it.
"""

import dataclasses
import math
import numbers
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeGuard

from graphmix.errors import ConfigError
from graphmix.text import clipped

METHOD, NETWORK, RUN, RULE = "The method", "The network", "The run", "Methods of other papers"
VARIANT = "Variants of GraphMix"
GROUPS = (METHOD, NETWORK, RUN, VARIANT, RULE)

# Counts are stored as int32 on devices.
LARGEST_COUNT = 2**31 - 1
_HUGE = 1e30
_KEY = "setting"


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A hyperparameter.

    Attributes:
        kind: int, float, bool, str (one of `choices`) or tuple (of numbers).
        default: the value if none is given; None if it follows from other settings, as `default_text` says.
        help: what it means, one sentence that begins with an upper-case letter and has no full stop.
        symbol: the paper's.
        group: of `GROUPS`.
        at_least: lower bound, allowed itself.
        above: lower bound, not allowed itself.
        at_most: upper bound, allowed itself.
        below: upper bound, not allowed itself.
        choices: the values of a str.
        unlisted: further choices, which only the library makes; neither help nor messages offer them.
        or_count: whether a whole number from 1 up is allowed beside the choices.
        default_text: the default in words.
        check: replaces the checks above for a kind they do not fit: returns the value or raises ConfigError.
        values_text: what `check` allows, in words.
        added: whether records from before this setting may lack it; its default is what those runs did.
    """

    kind: type
    default: Any
    help: str
    symbol: str = ""
    group: str = METHOD
    at_least: float | None = None
    above: float | None = None
    at_most: float | None = None
    below: float | None = None
    choices: tuple[str, ...] = ()
    unlisted: tuple[str, ...] = ()
    or_count: bool = False
    default_text: str = ""
    check: Callable[[Any], Any] | None = None
    values_text: str = ""
    added: bool = False

    @property
    def bounds(self) -> str:
        """The bounds in words: "at least 0 and below 1"; empty if there are none."""
        limits = (
            ("at least", self.at_least),
            ("above", self.above),
            ("at most", self.at_most),
            ("below", self.below),
        )
        return " and ".join(f"{word} {limit}" for word, limit in limits if limit is not None)

    @property
    def values(self) -> str:
        """The allowed values in words: choices or bounds."""
        if self.kind is bool:
            return "yes or no"
        count = (*self.choices, "or a whole number of at least 1") if self.or_count else self.choices
        return self.values_text or ", ".join(count) or self.bounds

    @property
    def default_words(self) -> str:
        """The default in words."""
        if self.kind is bool:
            return "yes" if self.default else "no"
        listed = ",".join(map(str, self.default)) if self.kind is tuple else str(self.default)
        return self.default_text or listed


class Parameter(NamedTuple):
    """A hyperparameter as a parameter of a function or an estimator."""

    name: str
    default: Any
    help: str


def setting(default: Any, *, help: str, kind: type | None = None, **rules: Any) -> Any:
    """Declare a hyperparameter: return a dataclass field that carries a `Setting`.

    Args:
        default: the value if none is given.
        help: what it means.
        kind: the type of its values; that of the default if not given.
        rules: further attributes of `Setting`.
    """
    declared = Setting(kind=kind or type(default), default=default, help=help, **rules)
    return dataclasses.field(default=default, metadata={_KEY: declared})


def settings_of(config: Any) -> dict[str, Setting]:
    """Return the settings of a dataclass or of an object of it by name: by groups, and in the order of its fields."""
    found: dict[str, Setting] = {field.name: field.metadata[_KEY] for field in dataclasses.fields(config)}
    return dict(sorted(found.items(), key=lambda each: GROUPS.index(each[1].group)))


def parameters(config: Any, *names: str) -> Iterator[Parameter]:
    """Yield name, default and help of hyperparameters: those named, or all."""
    settings = settings_of(config)
    for name in names or settings:
        held = settings[name]
        yield Parameter(name, held.default, f"{held.help}{f' [{held.symbol}]' if held.symbol else ''}.")


def check_value(name: str, value: Any, rules: Setting) -> Any:
    """Return a hyperparameter's value as a plain Python value, whatever numpy or others gave.

    Raises:
        ConfigError: the value is of another type, out of its bounds or not one of the choices.
    """
    if rules.check is not None:
        return rules.check(value)
    value = _CHECKS[rules.kind](name, value, rules)
    if rules.bounds and not _within(value, rules):
        raise ConfigError(f"`{name}` must be {rules.bounds}, not {value}")
    return value


def _within(value: float, rules: Setting) -> bool:
    return (
        (rules.at_least is None or value >= rules.at_least)
        and (rules.above is None or value > rules.above)
        and (rules.at_most is None or value <= rules.at_most)
        and (rules.below is None or value < rules.below)
    )


def _whole(name: str, value: Any, rules: Setting) -> int:
    if not _is_whole(value):
        raise ConfigError(f"`{name}` must be a whole number, not {_quoted(value)}")
    if rules.at_most is None and value > LARGEST_COUNT:
        raise ConfigError(f"`{name}` must be at most {LARGEST_COUNT}, not {value}")
    return int(value)


def _is_whole(value: Any) -> TypeGuard[int]:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def _number(name: str, value: Any, rules: Setting) -> float:
    fits = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not fits or not -math.inf < value < math.inf:
        raise ConfigError(f"`{name}` must be a finite number, not {_quoted(value)}")
    if not -_HUGE < value < _HUGE:
        raise ConfigError(f"`{name}` must be a number between {-_HUGE:g} and {_HUGE:g}, not {_quoted(value)}")
    return float(value)


def _truth(name: str, value: Any, rules: Setting) -> bool:
    if not isinstance(value, bool):
        raise ConfigError(f"`{name}` must be True or False, not {_quoted(value)}")
    return value


def _choice(name: str, value: Any, rules: Setting) -> str | int:
    if rules.or_count and _is_whole(value):
        if 1 <= value <= LARGEST_COUNT:
            return int(value)
    elif value in (*rules.choices, *rules.unlisted):
        return str(value)
    raise ConfigError(f"`{name}` must be one of {rules.values}, not {_quoted(value)}")


_CHECKS: dict[type, Callable[[str, Any, Setting], Any]] = {int: _whole, float: _number, bool: _truth, str: _choice}


def _quoted(value: Any) -> str:
    return clipped(repr(value), 200)

"""The space of a search: which hyperparameters, and which values of each. Needs neither torch nor Optuna."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphmix.errors import ConfigError
from graphmix.text import name_for_screen
from graphmix.training.config import HYPERPARAMETERS, Config
from graphmix.training.config_file import read_table, table_text
from graphmix.training.expectations import unused_settings
from graphmix.training.methods import METHODS
from graphmix.training.settings import check_value

TABLE = "space"
# What no search changes: what is compared, and by which score.
NOT_SEARCHED = ("method", "reading", "trials", "seed", "predictor", "select_by", "ties")
# Seeds of a search begin this far above those of the run of its choice.
SEARCH_SEEDS = 1_000_000
_KEYS = ("low", "high", "step", "log")


@dataclass(frozen=True)
class Choices:
    """Some values.

    Attributes:
        values: texts, numbers or truth values, each once.
    """

    values: tuple[Any, ...]

    def holds(self, value: Any) -> bool:
        """Whether a value is one of them."""
        return value in self.values

    def to_toml(self) -> Any:
        """Return it as a TOML value."""
        return list(self.values)


@dataclass(frozen=True)
class Interval:
    """All numbers from `low` to `high`, both included.

    Attributes:
        low: the smallest; its type is that of the hyperparameter.
        high: the largest.
        step: the distance between two of them; None for 1, or any number if they are not whole.
        log: whether small numbers are tried as often as large ones, on a logarithmic scale.
    """

    low: float
    high: float
    step: float | None = None
    log: bool = False

    def holds(self, value: Any) -> bool:
        """Whether a value is one of them."""
        if isinstance(value, str | bool) or not self.low <= value <= self.high:
            return False
        steps = 0.0 if self.step is None else float(value - self.low) / self.step
        return abs(steps - round(steps)) < 1e-8

    def to_toml(self) -> Any:
        """Return it as a TOML value."""
        more = ({} if self.step is None else {"step": self.step}) | ({"log": True} if self.log else {})
        return {"low": self.low, "high": self.high, **more}


Dimension = Choices | Interval
Space = Mapping[str, Dimension]
# Makes the config of a dataset or of tables from settings that are given; the rest have their usual values.
MakeConfig = Callable[..., Config]

# The networks are those that train fast on a CPU too.
USUAL: Space = {
    "backbone": Choices(("gcn", "gpr", "appnp", "sage")),
    "hidden": Choices((16, 32, 64, 128)),
    "input_dropout": Interval(0.0, 0.8, step=0.1),
    "hidden_dropout": Interval(0.0, 0.8, step=0.1),
    "attention_dropout": Interval(0.0, 0.8, step=0.1),
    "hops": Interval(2, 16),
    "teleport": Interval(0.05, 0.5),
    "learning_rate": Interval(0.001, 0.1, log=True),
    "weight_decay": Interval(1e-5, 0.02, log=True),
    "alpha": Interval(0.0, 2.0, step=0.1),
    "gamma": Interval(0.1, 20.0, log=True),
    "temperature": Interval(0.05, 1.0, log=True),
    "joint_weight": Interval(0.0, 2.0, step=0.1),
}


def usual_space(make: MakeConfig, fixed: Mapping[str, Any], suits: Callable[[Config], bool]) -> dict[str, Dimension]:
    """Return the usual space, without what is fixed and what has no effect.

    Args:
        make: makes a config.
        fixed: the settings that are not searched.
        suits: whether a config can be trained on the graph.
    """
    usual = make(**fixed)
    able = {**USUAL}
    names = dict.fromkeys((usual.backbone, *USUAL["backbone"].to_toml()))
    able["backbone"] = Choices(tuple(name for name in names if _works(make, {**fixed, "backbone": name}, suits)))
    space = {name: values for name, values in able.items() if name not in fixed}
    # Methods of other papers were made for their networks.
    if len(able["backbone"].to_toml()) < 2 or METHODS[usual.method].rule is not None:
        space.pop("backbone", None)
    return {name: values for name, values in space.items() if name not in idle(space, make, fixed)}


def _works(make: MakeConfig, settings: Mapping[str, Any], suits: Callable[[Config], bool]) -> bool:
    try:
        return suits(make(**settings))
    except ConfigError:  # a method may need its own network
        return False


def idle(space: Space, make: MakeConfig, fixed: Mapping[str, Any]) -> list[str]:
    """Return the names of a space that have no effect with any of its networks."""
    networks = space.get("backbone")
    backbones = networks.values if isinstance(networks, Choices) else (None,)
    configs = [make(**{**fixed, "backbone": name} if name else fixed) for name in backbones]
    return [name for name in space if not any(matters(name, config) for config in configs)]


def check_space(space: Space, make: MakeConfig, fixed: Mapping[str, Any]) -> None:
    """Raise ConfigError if a space varies what is fixed, or nothing that has an effect."""
    both = sorted(set(space) & set(fixed))
    if both:
        raise ConfigError(f"`{both[0]}` is given and also in the space; leave it out of one of them")
    if len(idle(space, make, fixed)) == len(space):
        raise ConfigError(f"the space is empty: nothing in it has an effect with the method {make(**fixed).method}")


def matters(name: str, config: Config) -> bool:
    """Whether a hyperparameter has an effect with a config's method and network.

    Example:
        >>> matters("alpha", Config()), matters("alpha", Config(method="supervised")), matters("hops", Config())
        (True, False, False)
    """
    method = METHODS[config.method]
    if method.rule is None:
        joint = method.trains_gnn_on_targets or config.optimisation == "joint"
        of_targets = method.predicts_targets
        used = {"alpha": method.mixes, "joint_weight": method.mixes and joint}
        used |= {"gamma": of_targets, "temperature": of_targets, "perturbations": of_targets}
        if not used.get(name, True):
            return False
    return unused_settings(config, {name: getattr(config, name)}) is None


def read_space(path: Path) -> dict[str, Dimension]:
    """Read the table `[space]` of a TOML file.

    Raises:
        ConfigError: the file is invalid; the message names the file and the entry.
    """
    return parse_space(read_table(path, TABLE), name_for_screen(str(path)))


def parse_space(entries: Mapping[str, Any], place: str = "space") -> dict[str, Dimension]:
    """Return a space from lists of values and intervals by name, as a TOML file has them.

    Raises:
        ConfigError: an entry is invalid, or there is none; the message begins with the place.

    Example:
        >>> parse_space({"hidden": [16, 32], "gamma": {"low": 0.1, "high": 10, "log": True}})["gamma"].high
        10.0
    """
    if not entries:
        raise ConfigError(f"{place}: the space is empty; give at least one hyperparameter with its values")
    try:
        return {name: _dimension(name, entry) for name, entry in entries.items()}
    except ConfigError as error:
        raise ConfigError(f"{place}: {error}") from error


def space_values(space: Space) -> dict[str, Any]:
    """Return a space as `parse_space` reads it: JSON and TOML values."""
    return {name: values.to_toml() for name, values in space.items()}


def space_text(space: Space, comments: tuple[str, ...] = ()) -> str:
    """Return a space as the text of a TOML file."""
    return table_text(TABLE, space_values(space), comments)


def check_values(name: str, values: Iterable[Any], left_alone: Collection[str] = NOT_SEARCHED) -> tuple[Any, ...]:
    """Return the values of a hyperparameter to try, each once.

    Raises:
        ConfigError: it cannot be searched, a value is invalid, or there is none.
    """
    _require_searched(name, left_alone)
    rules = HYPERPARAMETERS[name]
    found = tuple(dict.fromkeys(check_value(name, value, rules) for value in values))
    if not found:
        raise ConfigError(f"the search has no values of {name!r}")
    return found


def _require_searched(name: str, left_alone: Collection[str] = NOT_SEARCHED) -> None:
    if name not in HYPERPARAMETERS:
        raise ConfigError(f"there is no hyperparameter {name_for_screen(name)!r}")
    if name in left_alone or HYPERPARAMETERS[name].kind is tuple:
        raise ConfigError(f"{name!r} cannot be searched")


def _dimension(name: str, entry: Any) -> Dimension:
    if isinstance(entry, list | tuple):
        return Choices(check_values(name, entry))
    if not isinstance(entry, Mapping):
        raise ConfigError(f"{name!r} must be a list of values, or {{ low = …, high = … }}")
    _require_searched(name)
    return _interval(name, entry)


def _interval(name: str, entry: Mapping[str, Any]) -> Interval:
    rules = HYPERPARAMETERS[name]
    if rules.kind not in (int, float):
        raise ConfigError(f"{name!r} has no numbers between two others; list its values")
    unknown = sorted(set(entry) - set(_KEYS))
    if unknown or not {"low", "high"} <= set(entry):
        wrong = f"{name!r} has {name_for_screen(unknown[0])!r}" if unknown else f"{name!r} needs low and high"
        raise ConfigError(f"{wrong}; an interval has {', '.join(_KEYS)}")
    low, high = (check_value(name, entry[end], rules) for end in ("low", "high"))
    step, log = entry.get("step"), entry.get("log", False)
    if step is not None and (type(step) not in (int, rules.kind) or not 0 < step < float("inf")):
        raise ConfigError(f"the step of {name!r} must be a number above 0 of its kind, not {step!r}")
    if type(log) is not bool:
        raise ConfigError(f"log of {name!r} must be true or false, not {log!r}")
    if log and (low <= 0 or step is not None):
        raise ConfigError(f"{name!r} with log needs a low above 0, and no step")
    if not low < high:
        raise ConfigError(f"low of {name!r} ({low}) must be below high ({high})")
    return Interval(low, high, None if step is None else rules.kind(step), log)

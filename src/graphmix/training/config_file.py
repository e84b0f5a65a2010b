"""Hyperparameters in a TOML file, as `graphmix tune` writes them and `--config` reads them. Does not import torch."""

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from graphmix.errors import ConfigError, DataError
from graphmix.files import require_plain
from graphmix.text import name_for_screen
from graphmix.training.config import HYPERPARAMETERS
from graphmix.training.methods import METHODS
from graphmix.training.settings import check_value

TABLE = "config"
# A file of settings has a few hundred bytes.
_LARGEST = 2**20


def read_config(source: Path | str | Mapping[str, Any]) -> dict[str, Any]:
    """Return the hyperparameters in the table `[config]` of a TOML file, checked one by one; a mapping is checked too.

    `Config.for_dataset(dataset, **read_config(path))` is the config, and `graphmix.fit_tables` takes the path itself.

    Raises:
        ConfigError: the file is missing or not TOML, a name is unknown, or a value is invalid.
    """
    if isinstance(source, Mapping):
        return _checked(source, "config")
    path = Path(source)
    return _checked(read_table(path, TABLE), name_for_screen(str(path)))


def read_table(path: Path, table: str) -> dict[str, Any]:
    """Return the one table of a TOML file.

    Raises:
        ConfigError: the file cannot be read, is not TOML, lacks the table, or has anything else.
    """
    name = name_for_screen(str(path))
    try:
        require_plain(path)
        if path.stat().st_size > _LARGEST:
            raise ConfigError(f"{name} cannot be read: it is larger than any file of settings")
        content = tomllib.loads(path.read_bytes().decode())
    except OSError as error:
        raise ConfigError(f"{name} cannot be read: {error.strerror}") from error
    except DataError as error:
        raise ConfigError(str(error)) from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigError(f"{name} is not TOML: {name_for_screen(str(error))}") from error
    found = content.pop(table, None)
    if not isinstance(found, dict):
        raise ConfigError(f"{name} has no table [{table}]")
    if content:
        raise ConfigError(f"{name} has {name_for_screen(min(content))!r} beside the table [{table}]; leave it out")
    return found


def config_text(settings: Mapping[str, Any], comments: tuple[str, ...] = ()) -> str:
    """Return the text of a file that `read_config` reads; comments stand before the settings."""
    return table_text(TABLE, settings, comments)


def table_text(table: str, values: Mapping[str, Any], comments: tuple[str, ...] = ()) -> str:
    """Return a TOML file of one table.

    Example:
        >>> print(table_text("config", {"hidden": 32, "bias": True}, ("A comment.",)), end="")
        # A comment.
        [config]
        hidden = 32
        bias = true
    """
    lines = [f"# {name_for_screen(comment, 2000)}" for comment in comments]
    return "\n".join([*lines, f"[{table}]", *(f"{name} = {_toml(value)}" for name, value in values.items())]) + "\n"


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{name} = {_toml(item)}" for name, item in value.items()) + " }"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    # Numbers, words and truth values are written in TOML as in JSON.
    return json.dumps(value, allow_nan=False)


def _checked(settings: Mapping[str, Any], place: str) -> dict[str, Any]:
    checked = {}
    for name, value in settings.items():
        if name not in HYPERPARAMETERS:
            raise ConfigError(f"{place}: there is no hyperparameter {name_for_screen(str(name))!r}")
        try:
            # A fit can try methods without a network, too.
            known = name == "method" and value in METHODS
            checked[name] = value if known else check_value(name, value, HYPERPARAMETERS[name])
        except ConfigError as error:
            raise ConfigError(f"{place}: {error}") from error
    return checked

"""Durations as people write them: `90s`, `5m`, `1h30m`."""

import re

from graphmix.errors import ConfigError

_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0}
_DURATION = re.compile(r"(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m)?(?:(\d+(?:\.\d+)?)s?)?")


def parse_duration(text: str, parameter: str) -> float:
    """Return the seconds of a duration; a number without a unit is seconds.

    Args:
        text: hours, minutes and seconds in this order, at least one of them.
        parameter: the parameter, for the message.

    Raises:
        ConfigError: it is not a duration above 0.

    Example:
        >>> parse_duration("1h30m", "time_limit"), parse_duration("90", "time_limit")
        (5400.0, 90.0)
    """
    found = _DURATION.fullmatch(text.strip().lower())
    seconds = 0.0
    if found is not None:
        seconds = sum(float(part or 0) * unit for part, unit in zip(found.groups(), _UNITS.values(), strict=True))
    if not seconds > 0:
        raise ConfigError(f"`{parameter}` must be a time like 90s, 5m or 1h30m, not {text!r}")
    return seconds

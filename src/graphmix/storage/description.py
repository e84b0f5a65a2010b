"""A JSON file that describes a folder, and vouches for itself and for the files it names by their SHA-256."""

import hashlib
import json
from pathlib import Path
from typing import Any

from graphmix.errors import RunError
from graphmix.results.json_text import load
from graphmix.storage.files import write_json

# The field that holds the checksum of all others.
OWN = "sha256"


def write_description(path: Path, described: dict[str, Any]) -> None:
    """Write a description; it must have a "format"."""
    write_json(path, described | {OWN: description_checksum(described)})


def read_description(path: Path, newest: int, what: str) -> dict[str, Any]:
    """Read a description and check that it is what was written.

    Args:
        path: the file.
        newest: the newest format that can be read.
        what: what it describes, "a model" say.

    Raises:
        RunError: the file is damaged, changed, of a newer format, or describes something else.
    """
    described = load(path)
    version = described.get("format")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise RunError(f"{path} does not describe {what} of graphmix")
    if version > newest:
        raise RunError(
            f"{path} was written by a newer graphmix (format {version}; this one reads up to {newest}): upgrade it"
        )
    if described.get(OWN) != description_checksum(described):
        raise RunError(f"{path} was changed after it was written: its SHA-256 differs; fit again")
    return described


def is_description(path: Path) -> bool:
    """Whether a file is a description, damaged or not, rather than somebody else's file of that name."""
    try:
        described = load(path)
    except RunError:
        return False
    return "format" in described and OWN in described


def description_checksum(described: dict[str, Any]) -> str:
    """The SHA-256 of a description without its own checksum."""
    rest = {name: value for name, value in described.items() if name != OWN}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()

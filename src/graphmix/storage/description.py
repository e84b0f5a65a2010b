"""What a model is, in a JSON file that says so itself: its format, and its own SHA-256."""

import hashlib
import json
from pathlib import Path
from typing import Any

from graphmix.errors import RunError
from graphmix.storage.files import write_json

# What a description calls its own checksum.
OWN = "sha256"


def write_description(path: Path, described: dict[str, Any]) -> None:
    """Write a description; its "format" must be in it."""
    write_json(path, described | {OWN: description_checksum(described)})


def read_description(path: Path, newest: int, what: str) -> dict[str, Any]:
    """Read a description back, unless it was changed since or is of a newer format.

    Args:
        path: the file.
        newest: the newest format that can be read.
        what: what it describes, "a model" say.

    Raises:
        RunError: it is damaged, changed, newer, or something else.
    """
    try:
        described = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise RunError(f"{path} cannot be read: {error}") from error
    version = described.get("format") if isinstance(described, dict) else None
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise RunError(f"{path} does not describe {what} of graphmix")
    if version > newest:
        raise RunError(
            f"{path} was written by a newer graphmix (format {version}, this one reads {newest}); upgrade it"
        )
    if described.get(OWN) != description_checksum(described):
        raise RunError(f"{path} is not as it was written: its SHA-256 differs; fit again")
    return dict(described)


def description_checksum(described: dict[str, Any]) -> str:
    """The SHA-256 of what a description says, itself left out."""
    said = {name: value for name, value in described.items() if name != OWN}
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()

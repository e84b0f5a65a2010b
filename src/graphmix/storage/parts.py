"""A JSON description and the files it names, with their SHA-256: written whole or not at all, read back checked.

The description is written last. A file whose plain name is taken by other content gets a name of its own, so that the
description that is already there stays true until the new one replaces it. A crash at any moment leaves the old
description with all of its files, or the new one with all of its files.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from graphmix.errors import RunError
from graphmix.storage.description import write_description
from graphmix.storage.files import read_bytes, write_bytes

PARTS = "parts"


def write_parts(
    path: Path, described: Mapping[str, Any], contents: Mapping[str, bytes], obsolete: Iterable[Path] = ()
) -> None:
    """Write files and a description of them into one folder, and remove the files that it replaces.

    Args:
        path: the description; files of the description that is there are kept until it is replaced.
        described: what the description says; its "parts" are added.
        contents: plain file name to content, for example "weights.safetensors".
        obsolete: files about the old description, removed just before it is replaced.

    Raises:
        RunError: a file cannot be written; the description that was there still holds.
    """
    folder, fresh, parts = path.parent, [], {}
    try:
        for name, content in contents.items():
            digest = hashlib.sha256(content).hexdigest()
            file = _free_name(folder, name, digest)
            if not file.exists():
                fresh.append(file)
                write_bytes(file, content, _older(folder, name))
            parts[Path(name).stem] = {"file": file.name, "sha256": digest}
        for file in obsolete:
            file.unlink(missing_ok=True)
        write_description(path, {**described, PARTS: parts})
    except RunError:
        for file in fresh:
            file.unlink(missing_ok=True)
        raise
    named = {part["file"] for part in parts.values()}
    for file in list(folder.iterdir()):
        if file.name not in named and is_part(file.name, contents):
            file.unlink()


def read_parts(folder: Path, parts: Any, names: Iterable[str]) -> dict[str, bytes]:
    """Read the files that a description names, by their plain names.

    Args:
        folder: the folder of the description.
        parts: what the description has under "parts".
        names: the plain names of the files to read.

    Raises:
        RunError: a file is missing, or is not the one that was written with the description.
    """
    contents = {}
    for name in names:
        part = parts.get(Path(name).stem) if isinstance(parts, dict) else None
        file, digest = (part.get("file"), part.get("sha256")) if isinstance(part, dict) else (None, None)
        # The name comes from a file that anybody may have written: it must not lead out of the folder.
        if not isinstance(file, str) or not is_part(file, [name]):
            raise RunError(f"the description in {folder} does not name a valid file for {name}; fit again")
        path = folder / file
        contents[name] = read_bytes(path)
        if hashlib.sha256(contents[name]).hexdigest() != digest:
            raise RunError(f"{path} is not the file that was written with the model: its SHA-256 differs; fit again")
    return contents


def is_part(name: str, plain: Iterable[str]) -> bool:
    """Whether a file name is one of the plain names, or one of them with part of a SHA-256."""
    return any(_pattern(each).fullmatch(name) for each in plain)


def _free_name(folder: Path, name: str, digest: str) -> Path:
    """Return a file with this content, or else one that is not there yet."""
    plain = folder / name
    marked = folder / f"{plain.stem}-{digest[:16]}{plain.suffix}"
    for file in (plain, marked):
        if not file.exists():
            return file
        if file.is_file() and hashlib.sha256(file.read_bytes()).hexdigest() == digest:
            return file
    raise RunError(f"{marked} is in the way; delete it")


def _older(folder: Path, name: str) -> Path | None:
    """Return a file of this plain name that is there already."""
    return next((file for file in folder.glob("*") if is_part(file.name, [name])), None)


def _pattern(name: str) -> re.Pattern[str]:
    """Match a plain name, and the same name with part of a SHA-256: `weights-0123456789abcdef.safetensors`."""
    plain = Path(name)
    return re.compile(f"{re.escape(plain.stem)}(-[0-9a-f]{{16}})?{re.escape(plain.suffix)}")

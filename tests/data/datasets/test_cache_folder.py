"""Where downloads are kept, on each platform."""

import os
import sys
from pathlib import Path

import pytest

from graphmix.data.datasets.sources import cache_folder


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {"XDG_CACHE_HOME": "/var/xdg"}, "/var/xdg/graphmix"),
        ("linux", {"HOME": "/home/ada"}, "/home/ada/.cache/graphmix"),
        ("darwin", {"HOME": "/Users/ada"}, "/Users/ada/Library/Caches/graphmix"),
        ("win32", {"LOCALAPPDATA": "/ada/Local"}, "/ada/Local/graphmix"),
        ("linux", {"GRAPHMIX_CACHE": "/scratch/gm"}, "/scratch/gm"),
    ],
)
@pytest.mark.skipif(os.name != "posix", reason="the paths are written as on Linux and macOS")
def test_the_cache_is_where_the_platform_keeps_such_things(monkeypatch, platform, variables, expected):
    for name in ("GRAPHMIX_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "platform", platform)
    assert cache_folder() == Path(expected)

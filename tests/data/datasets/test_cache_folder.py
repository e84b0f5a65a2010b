"""Where downloads are kept, on each platform."""

import os
import sys
from pathlib import Path

import pytest

from graphmix.data.datasets.sources import cache_folder

platformdirs = pytest.importorskip("platformdirs")
for _platform in ("macos", "unix", "windows"):
    pytest.importorskip(f"platformdirs.{_platform}")

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the paths are written as on Linux and macOS")

UNIX, MACOS, WINDOWS = platformdirs.unix.Unix, platformdirs.macos.MacOS, platformdirs.windows.Windows


@pytest.fixture
def only(monkeypatch):
    """Set the variables that decide, and no others."""

    def set_variables(variables):
        for name in ("GRAPHMIX_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
            monkeypatch.delenv(name, raising=False)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)

    return set_variables


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        (UNIX, {"XDG_CACHE_HOME": "/var/xdg"}, "/var/xdg/graphmix"),
        (UNIX, {"HOME": "/home/ada"}, "/home/ada/.cache/graphmix"),
        (MACOS, {"HOME": "/Users/ada"}, "/Users/ada/Library/Caches/graphmix"),
        (WINDOWS, {"LOCALAPPDATA": "/ada/Local"}, "/ada/Local/graphmix"),
        (UNIX, {"GRAPHMIX_CACHE": "/scratch/gm", "XDG_CACHE_HOME": "/var/xdg"}, "/scratch/gm"),
    ],
)
def test_the_cache_is_in_the_platforms_cache_folder(monkeypatch, only, platform, variables, expected):
    only(variables)
    monkeypatch.setattr(platformdirs, "PlatformDirs", platform)
    # Windows itself is asked where it has a say; the variables are what is left on other systems.
    from_variables = platformdirs.windows.get_win_folder_from_env_vars
    monkeypatch.setattr(platformdirs.windows, "get_win_folder", from_variables)
    assert cache_folder() == Path(expected)


@pytest.mark.parametrize("variables", [{"XDG_CACHE_HOME": "/var/xdg"}, {"HOME": "/home/ada"}, {"XDG_CACHE_HOME": ""}])
@pytest.mark.skipif(sys.platform != "linux", reason="the fallback is for Linux")
def test_without_platformdirs_the_folder_on_linux_is_the_same(monkeypatch, only, variables):
    only(variables)
    expected = cache_folder()
    monkeypatch.setitem(sys.modules, "platformdirs", None)
    assert cache_folder() == expected

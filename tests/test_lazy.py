"""Names of a package are imported when they are first used."""

import sys
import types

import pytest

from graphmix.lazy import attach


@pytest.fixture
def package(monkeypatch):
    made = types.ModuleType("lazy_package")
    monkeypatch.setitem(sys.modules, "lazy_package", made)
    made.__getattr__, made.__dir__ = attach("lazy_package", {"lazy_words": "parse"})
    return made


def test_a_name_is_imported_once(package, monkeypatch):
    words = types.ModuleType("lazy_words")
    words.parse = object()
    assert "parse" in dir(package)
    assert "parse" not in vars(package)
    with pytest.raises(ModuleNotFoundError, match="lazy_words"):
        _ = package.parse
    monkeypatch.setitem(sys.modules, "lazy_words", words)
    assert package.parse is words.parse
    assert vars(package)["parse"] is words.parse


def test_a_name_that_is_not_there(package):
    with pytest.raises(AttributeError, match="'lazy_package' has no attribute 'prase'"):
        _ = package.prase
    assert not hasattr(package, "prase")


def test_a_name_that_is_also_a_module_is_refused():
    with pytest.raises(ValueError, match="'wrap'"):
        attach("graphmix.models", {"graphmix.models.wrap": "wrap"})

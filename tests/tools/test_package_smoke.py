"""What a README's blocks need, and when one may be skipped."""

import importlib.util
from pathlib import Path

import pytest

import graphmix
from graphmix.distribution import needs

TOOL = Path(__file__).parents[2] / "tools" / "package_smoke.py"
FENCE = "```"


def import_tool():
    spec = importlib.util.spec_from_file_location("package_smoke", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


smoke = import_tool()


def readme(*blocks):
    return "\n".join(f"{FENCE}python\n{block}\n{FENCE}" for block in blocks)


def test_blocks_run_in_order_in_one_namespace(capsys):
    smoke.try_blocks(readme("a = 1", "assert a == 1 and x.shape == (60, 8)"), whole=True)
    assert capsys.readouterr().out.count(": ran") == 2


def test_a_block_that_fails_is_not_skipped():
    with pytest.raises(NameError):
        smoke.try_blocks(readme("nobody_made_this"), whole=False)
    with pytest.raises(graphmix.RunError, match="elsewhere"):
        smoke.run("raise graphmix.RunError('elsewhere')", {"graphmix": graphmix}, after_skipped=True)


def test_blocks_that_load_datasets_are_skipped_and_those_that_build_on_them(monkeypatch, capsys):
    monkeypatch.delenv("GRAPHMIX_DATA", raising=False)
    smoke.try_blocks(readme('g = graphmix.load("cora")', "g.name", 'graphmix.load("synthetic")'), whole=True)
    told = capsys.readouterr().out.splitlines()
    assert [": ran" in line for line in told] == [False, False, True]


def test_a_missing_package_is_named_and_no_excuse_where_all_is_installed(capsys):
    block = "from nothing_of_the_kind.nn import Layer"
    smoke.try_blocks(readme(block), whole=False)
    assert "no nothing_of_the_kind" in capsys.readouterr().out
    with pytest.raises(AssertionError, match="nothing_of_the_kind"):
        smoke.try_blocks(readme(block), whole=True)
    missing = f"raise graphmix.RunError({needs('it', 'pandas')!r})"
    with pytest.raises(AssertionError, match="needs pandas"):
        smoke.try_blocks(readme(missing), whole=True)

"""The diagram of docs/architecture.md names every layer, and the page names files that exist."""

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text()
spec = importlib.util.spec_from_file_location("draw_layers", ROOT / "tools" / "draw_layers.py")
layers = importlib.util.module_from_spec(spec)
spec.loader.exec_module(layers)
NAMES = [name for row in layers.contract() for name in row]


@pytest.mark.parametrize("name", NAMES)
def test_the_diagram_names_every_layer(name):
    assert f">{name}</tspan>" in layers.PICTURE.read_text(), "run python tools/draw_layers.py"


def test_the_layers_are_in_the_order_of_the_contract():
    drawn = re.findall(r">(\w+)</tspan>", layers.PICTURE.read_text())
    assert [name for name in drawn if name in NAMES] == NAMES
    assert "_static/layers.svg" in PAGE


def test_siblings_share_a_row():
    picture = layers.draw([["cli"], ["data", "models"]])
    tops = re.findall(r'<rect x="\d+" y="(\d+)"', picture)
    assert len(set(tops)) == 2
    assert tops[1] == tops[2]


@pytest.mark.parametrize("name", re.findall(r"`(\w+/[\w/]*(?:\.py)?)`", PAGE))
def test_files_of_the_page_exist(name):
    bases = (ROOT / "src" / "graphmix", ROOT)
    assert any((base / name).exists() for base in bases), name

"""`graphmix data`: a list with one line for each dataset, on a narrow screen too, and the example tables."""

import shlex
from pathlib import Path

import pytest
from rich.console import Console

from graphmix.cli.data import datasets_table, notes
from graphmix.cli.main import app
from graphmix.data import DATASETS
from graphmix.errors import ConfigError

PLACES = {name: None if info.files is None else Path("/data") / info.files.folder for name, info in DATASETS.items()}


@pytest.mark.parametrize("width", [80, 120])
def test_every_dataset_has_one_line_with_its_sizes_and_split(width):
    console = Console(width=width)
    with console.capture() as capture:
        console.print(datasets_table(PLACES | {"cora": None}))
    header, _, *lines = capture.get().splitlines()
    assert header.split() == ["name", "nodes", "edges", "features", "classes", "split", "files"]
    assert len(lines) == len(DATASETS)
    for line, (name, info) in zip(lines, DATASETS.items(), strict=True):
        sizes = [f"{size:,}" for size in (info.nodes, info.edges, info.features, info.classes)]
        state = {"cora": "not here", "synthetic": "built in"}.get(name, "here")
        assert line.split() == [name, *sizes, info.split, *state.split()]


def test_the_folders_are_below_the_table():
    places = PLACES | {"cora": None, "pubmed": Path("/cache/PubMed/raw")}
    others = ", ".join(name for name in DATASETS if name not in ("cora", "pubmed", "synthetic"))
    told = notes(places)
    assert told[:2] == [f"In /data: {others}.", "In /cache: pubmed."]
    assert any("graphmix data get" in line for line in told)
    assert not any("graphmix data get" in line for line in notes(PLACES))


@pytest.mark.parametrize("place", ["/data/Wild", "Wild", "/"])
def test_a_file_in_another_folder_than_the_official_one_is_said_to_be_there(place):
    told = notes(PLACES | {"amazon-photo": Path(place)})
    assert f"In {place}: amazon-photo." in told


def test_the_example_is_written_and_the_next_command_works(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert app(["data", "example", "my tables"], standalone_mode=False) in (None, 0)
    printed = capsys.readouterr().out
    program, *words = shlex.split(printed.partition("Next: ")[2])
    assert program == "graphmix"
    assert {f"my tables/{name}" for name in ("nodes.csv", "edges.csv")} <= set(words)
    assert app([*words, "--methods", "label-propagation", "--no-report"], standalone_mode=False) in (None, 0)
    assert "588, 80 of them labeled" in capsys.readouterr().out
    with pytest.raises(ConfigError, match="exists already"):
        app(["data", "example", "my tables"], standalone_mode=False)

"""What `graphmix` and `graphmix.data` export is there, though it is imported on first use."""

import importlib
import subprocess
import sys

import pytest


@pytest.mark.parametrize("package", ["graphmix", "graphmix.data"])
def test_every_exported_name_can_be_used_and_is_listed(package):
    module = importlib.import_module(package)
    assert set(module.__all__) <= set(dir(module))
    for name in module.__all__:
        assert not isinstance(getattr(module, name), type(sys)), f"{name} is a module"
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        _ = module.nothing_of_the_kind


def test_names_stay_what_they_are_after_their_modules_are_imported():
    code = "import graphmix, graphmix.data.datasets.synthetic, graphmix.training.loop, graphmix.storage.runs; "
    code += "assert all(map(callable, (graphmix.synthetic, graphmix.data.synthetic, graphmix.fit, graphmix.train)))"
    subprocess.run([sys.executable, "-c", code], check=True)
    code = "import graphmix; graphmix.models.GCN, graphmix.data.Graph, graphmix.streams.Streams"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_catalogue_agrees_with_what_reads_and_draws():
    from graphmix.data import DATASETS
    from graphmix.data.datasets.loading import READERS
    from graphmix.data.split_names import DRAWN, REDRAWN, check_split_name
    from graphmix.data.splits import RULES

    assert {info.format for info in DATASETS.values()} == set(READERS)
    assert {*RULES, REDRAWN} == set(DRAWN)
    for info in DATASETS.values():
        check_split_name(info.split)

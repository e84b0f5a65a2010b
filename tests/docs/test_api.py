"""docs/api.md documents everything that `graphmix` exports, and what the commands call."""

import re
from pathlib import Path

import graphmix

PAGE = (Path(__file__).parents[2] / "docs" / "api.md").read_text()
DOCUMENTED = set(re.findall(r"^\.\. (?:auto\w+|py:data):: ([\w.]+)", PAGE, re.MULTILINE))


def test_nothing_that_is_exported_is_missing():
    missing = {name for name in graphmix.__all__ if f"graphmix.{name}" not in DOCUMENTED}
    assert missing == {"DATASETS"}
    assert "DATASETS" in DOCUMENTED


def test_nothing_is_documented_twice():
    every = re.findall(r"^\.\. (?:auto\w+|py:data):: ([\w.]+)", PAGE, re.MULTILINE)
    assert len(every) == len(set(every))


def test_what_the_commands_do_is_there():
    members = dict(re.findall(r"autoclass:: graphmix\.(\w+)\n   :members: ([^\n]+)", PAGE))
    assert {"predict", "advise", "save"} <= set(members["TableModel"].split(", "))
    assert {"fit", "predict", "predict_proba", "score"} <= set(members["GraphMixClassifier"].split(", "))
    wanted = {"experiments.runner.reproduce", "experiments.selection.search_spec", "results.run.RunResult"}
    assert {f"graphmix.{name}" for name in wanted} <= DOCUMENTED

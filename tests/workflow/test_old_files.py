"""Models that older versions wrote load, and predict what those versions predicted."""

import csv
import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from command_line import graphmix as command
from graphmix import GraphMixClassifier
from graphmix.errors import RunError
from graphmix.results.writer import to_json
from graphmix.workflow.links import LinkProblem
from graphmix.workflow.model import load_model
from graphmix.workflow.nodes import NodeProblem
from small_tables import fit_tables, rows, tree, write_edges, write_nodes

OLD = Path(__file__).parents[1] / "old_files"
FIRST = {"model-folds": NodeProblem, "model-split": NodeProblem, "model-links": LinkProblem}
# make_format_2.py wrote them.
SECOND = {"model2-networks": NodeProblem, "model2-spread": NodeProblem, "model2-links": LinkProblem}
MODELS = FIRST | SECOND

# Five of six held-out labels right do not reach 90 %. That made all predictions abstain; now six labels are too few.
NOW = {"model-folds": {"abstain": "false"}}


def read(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def same(found, expected):
    """Compare two tables of predictions; another machine may round the last of six digits otherwise."""
    assert [list(row) for row in found] == [list(row) for row in expected]
    for ours, theirs in zip(found, expected, strict=True):
        for name, cell in theirs.items():
            if name.endswith("probability"):
                assert float(ours[name]) == pytest.approx(float(cell), abs=2e-6)
            else:
                assert ours[name] == cell, (name, ours, theirs)


@pytest.mark.parametrize("name", MODELS)
def test_an_old_model_predicts_what_it_did(tmp_path, name):
    result = command("predict", OLD / name, "--all", "-o", tmp_path / "out.csv")
    assert result.returncode == 0, result.stderr
    expected = [row | NOW.get(name, {}) for row in read(OLD / f"{name}.predicted.csv")]
    # Older versions put an apostrophe before sets that begin with a sign.
    same(read(tmp_path / "out.csv"), [row | {"set": row["set"].removeprefix("'")} for row in expected])


@pytest.mark.parametrize(("name", "kind"), MODELS.items())
def test_an_old_model_is_saved_as_it_is_now(tmp_path, name, kind):
    model = load_model(OLD / name)
    assert type(model.problem) is kind
    (member,) = model.mixture.members
    assert (member.share, member.temperature) == (1, 1)
    assert to_json(model.metrics) == json.loads((OLD / name / "metrics.json").read_text())
    model.save(tmp_path / "new")
    assert json.loads((tmp_path / "new" / "model.json").read_text())["format"] == 3
    again = load_model(tmp_path / "new")
    assert again.predict().columns == model.predict().columns
    assert again.metrics == model.metrics
    assert again.notes == model.notes


@pytest.mark.parametrize("name", FIRST)
def test_files_of_format_1_are_checked(tmp_path, name):
    folder = shutil.copytree(OLD / name, tmp_path / "model")
    content = (folder / "ids.json").read_bytes()
    (folder / "ids.json").write_bytes(content.replace(b"a", b"b") + b" ")
    with pytest.raises(RunError, match=r"ids\.json is not the file that was written"):
        load_model(folder)


def test_an_old_classifier_predicts_what_it_did(tmp_path):
    classifier = GraphMixClassifier.load(OLD / "classifier")
    np.testing.assert_allclose(classifier.predict_proba(), np.load(OLD / "classifier-expected.npy"), rtol=1e-5)
    stored = json.loads((OLD / "classifier" / "classifier.json").read_text())
    assert classifier.classes_.tolist() == stored["classes"]
    parameters = classifier.get_params()
    assert {name: parameters[name] for name in stored["parameters"]} == stored["parameters"]
    model = load_model(OLD / "classifier")
    assert model.predict().columns["predicted"] == [str(label) for label in classifier.predict()]


def test_a_save_replaces_an_old_classifier(tmp_path):
    folder = shutil.copytree(OLD / "classifier", tmp_path / "model")
    expected = GraphMixClassifier.load(folder)
    expected.save(folder)
    held = tree(folder)
    assert "model.json" in held
    assert not [name for name in held if name.startswith(("classifier", "tensors"))]
    np.testing.assert_array_equal(GraphMixClassifier.load(folder).predict_proba(), expected.predict_proba())


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ({"tensors": "../../../etc/passwd"}, "does not name a valid file"),
        ({"tensors": "0" * 64}, "cannot be read"),
        ({"format": 2}, "written by a newer graphmix"),
        ({"temperature": -1.0}, "temperature is -1.0"),
    ],
)
def test_a_damaged_old_classifier_is_refused(tmp_path, damage, message):
    from graphmix.storage.description import OWN, description_checksum

    folder = shutil.copytree(OLD / "classifier", tmp_path / "model")
    described = json.loads((folder / "classifier.json").read_text()) | damage
    (folder / "classifier.json").write_text(json.dumps(described | {OWN: description_checksum(described)}))
    with pytest.raises(RunError, match=message):
        load_model(folder)


def test_a_classifier_of_format_2_predicts_what_it_did(tmp_path):
    classifier = GraphMixClassifier.load(OLD / "model2-classifier")
    np.testing.assert_allclose(classifier.predict_proba(), np.load(OLD / "model2-classifier-expected.npy"), rtol=1e-5)
    assert (classifier.method, classifier.trials, classifier.epochs) == ("graphmix", 2, 20)
    classifier.save(tmp_path / "new")
    again = GraphMixClassifier.load(tmp_path / "new")
    np.testing.assert_array_equal(again.predict_proba(), classifier.predict_proba())
    assert again.get_params() == classifier.get_params()


@pytest.mark.parametrize("name", ["model-folds", "model2-networks", "model2-links"])
def test_an_old_model_gives_advice_and_predicts_new_rows(name):
    model = load_model(OLD / name)
    advice = model.advise(2, device="cpu")
    assert len(advice.label_next) == 2
    if name == "model2-networks":
        new, edges = pd.DataFrame([rows(1)[0] | {"id": "new"}]), pd.DataFrame({"source": ["new"], "target": ["p3"]})
        assert model.predict(new, edges).columns["id"] == ["new"]


@pytest.mark.parametrize("name", FIRST)
def test_an_interrupted_fit_of_an_older_version_is_not_continued(tmp_path, name):
    """It trained other networks; what is asked for is still told apart by the names of config.json."""
    old = json.loads((OLD / name / "config.json").read_text())
    tables = write_nodes(tmp_path / "n.csv"), write_edges(tmp_path / "e.csv")
    folder = tmp_path / "old"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(old))
    before = tree(folder)
    with pytest.raises(RunError, match="a fit that was begun with graphmix 0") as raised:
        fit_tables(tmp_path, *tables, out="old", resume=True)
    assert "\n" not in str(raised.value)
    assert tree(folder) == before
    fit_tables(tmp_path, *tables)
    new = json.loads((tmp_path / "model" / "config.json").read_text())
    # The plan was one config, and the paths of the tables were not noted.
    assert new.keys() - {"plan", "files"} == old.keys() - {"config"}
    for part in ("wishes", "columns"):
        assert new[part].keys() == old[part].keys()
    assert [type(value) for value in new["tables"]] == [str, str]

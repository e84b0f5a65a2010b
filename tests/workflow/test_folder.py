"""A model's folder: read back as it was written, and refused in one sentence when anything in it is another."""

import copy
import hashlib
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file

from graphmix.errors import GraphMixError, RunError
from graphmix.storage.description import OWN, description_checksum
from graphmix.storage.lock import locked
from graphmix.training.config import ADDED, Config
from graphmix.workflow.folder import begin, check_folder
from graphmix.workflow.model import load_model
from graphmix.workflow.output import OutputTable
from graphmix.workflow.predictions import tabulate
from repeats import repeats
from small_tables import fit_tables, tree, write_edges, write_nodes

GONE = object()
NEEDED = ("weights.safetensors", "graph.safetensors", "heldout.safetensors", "encoders.json", "ids.json")


def sign(folder, described):
    """Write a description as if the program had."""
    described = described | {OWN: description_checksum(described)}
    (folder / "model.json").write_text(json.dumps(described))


def refused(folder, *parts):
    with pytest.raises(RunError) as raised:
        load_model(folder)
    assert "\n" not in str(raised.value)
    for part in parts:
        assert part in str(raised.value)


@pytest.mark.parametrize(
    ("methods", "held"),
    [
        (("graphmix",), {"graphmix-gpr", "graphmix-gpr-fcn"}),
        (("label-propagation",), {"label-propagation"}),
        (("fcn", "supervised"), {"fcn", "supervised-gpr"}),
        (("logistic-regression", "random-forest"), {"logistic-regression", "random-forest"}),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, tuple) else "",
)
def test_what_is_read_predicts_what_was_written(tmp_path, methods, held):
    nodes, edges = write_nodes(tmp_path / "nodes.csv"), write_edges(tmp_path / "edges.csv")
    written = fit_tables(tmp_path, nodes, edges, methods=methods, target_accuracy=0.8, coverage=0.7)
    read = load_model(tmp_path / "model")
    assert (read.mixture.method, read.mixture.classes) == (written.mixture.method, written.mixture.classes)
    assert (read.mixture.config, read.mixture.temperature) == (written.mixture.config, written.mixture.temperature)
    assert (read.target_accuracy, read.coverage, read.problem.columns) == (0.8, 0.7, written.problem.columns)
    assert set(read.held) == held | {"mixture"}
    for candidate, predictions in read.held.items():
        for name, values in vars(predictions).items():
            np.testing.assert_array_equal(values, getattr(written.held[candidate], name))
    np.testing.assert_array_equal(
        read.mixture.probabilities(read.problem.learned), written.mixture.probabilities(written.problem.learned)
    )


def test_a_model_is_json_and_safetensors_alone(fitted):
    endings = {Path(name).suffix for name in tree(fitted / "model")}
    assert endings == {".json", ".safetensors", ".csv"}


@pytest.mark.parametrize("name", NEEDED)
@pytest.mark.parametrize("damage", ["missing", "truncated", "flipped", "empty", "another"])
def test_every_file_is_the_one_that_was_written(model, name, damage):
    path = model / name
    content = path.read_bytes()
    match damage:
        case "missing":
            path.unlink()
        case "truncated":
            path.write_bytes(content[:-1])
        case "flipped":
            path.write_bytes(content[:-3] + bytes([content[-3] ^ 1]) + content[-2:])
        case "empty":
            path.write_bytes(b"")
        case "another":
            path.write_bytes((model / "metrics.json").read_bytes())
    refused(model, name, "No such file" if damage == "missing" else "SHA-256 differs")


def test_weights_of_another_fit_are_told_apart(model, fitted, tmp_path):
    tensors = load_file(model / "weights.safetensors")
    save_file({name: tensor + 1e-6 for name, tensor in tensors.items()}, model / "weights.safetensors")
    refused(model, "weights.safetensors", "SHA-256 differs")


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (b"", "is damaged"),
        (b"{", "is damaged"),
        (b"\xff\xfe", "cannot be read"),
        (b"[" * 100_000, "cannot be read"),
        (b"[]", "JSON object"),
        (b"{}", "does not describe a model"),
        (b'{"format": true}', "does not describe a model"),
        (b'{"format": "1"}', "does not describe a model"),
        (b'{"format": 0}', "does not describe a model"),
        (b'{"format": 4}', "was written by a newer graphmix (format 4"),
        (b'{"format": 3}', "its SHA-256 differs"),
        (b'{"format": 2}', "its SHA-256 differs"),
        (b'{"format": 1}', "its SHA-256 differs"),
    ],
)
def test_descriptions_that_are_none(model, content, part):
    (model / "model.json").write_bytes(content)
    refused(model, "model.json", part)


def test_an_edited_description_is_refused(model):
    path = model / "model.json"
    described = json.loads(path.read_text())
    described["temperature"] *= 2
    path.write_text(json.dumps(described))
    refused(model, "model.json was changed after")


def test_folders_that_hold_no_model(model, tmp_path):
    (model / "model.json").unlink()
    refused(model, "holds an unfinished fit")
    (model / "config.json").unlink()
    refused(model, "is not a model's folder")
    refused(tmp_path / "nowhere", "is not a model's folder")
    (tmp_path / "file").write_text("")
    refused(tmp_path / "file", "is not a model's folder")


def test_a_folder_in_place_of_a_file(model):
    (model / "ids.json").unlink()
    (model / "ids.json").mkdir()
    refused(model, "ids.json is a folder")


def test_names_that_climb_out_of_the_folder_are_not_followed(model, tmp_path):
    (tmp_path / "x").write_text("secret")
    described = json.loads((model / "model.json").read_text())
    digest = hashlib.sha256(b"secret").hexdigest()
    before = tree(tmp_path)
    for part in described["parts"]:
        for name in ("../x", str(tmp_path / "x"), f"{part}/../../x", "x", "model.json", f"{part}.json.part", None, 3):
            entry = {"file": name, "sha256": digest}
            sign(model, described | {"parts": described["parts"] | {part: entry}})
            refused(model, "does not name a valid file")
    (model / "model.json").unlink()
    del before["model/model.json"]
    assert tree(tmp_path) == before


ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.just(10**400),
    st.floats(),
    st.text(max_size=3),
    st.just("\ud800"),
    st.sampled_from(["gat", "unet", "fcn", "label-propagation", "links", "custom", "balanced"]),
    st.lists(st.one_of(st.text(max_size=2), st.integers()), max_size=3),
    st.dictionaries(st.text(max_size=2), st.none(), max_size=2),
)


def places(value, above=()):
    """The way to every value in a tree of JSON."""
    yield above
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from places(inner, (*above, name))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from places(inner, (*above, number))


def changed(described, way, value):
    """The tree with one value another, or left out where that is `GONE`."""
    tree = copy.deepcopy(described)
    inner = tree
    for step in way[:-1]:
        inner = inner[step]
    if value is GONE:
        del inner[way[-1]]
    else:
        inner[way[-1]] = value
    return tree


@pytest.fixture(scope="module")
def mutable(fitted, tmp_path_factory):
    return shutil.copytree(fitted / "model", tmp_path_factory.mktemp("mutated") / "model")


@settings(max_examples=repeats(60, 600))
@given(data=st.data())
def test_a_forged_description_is_refused_or_predicts(mutable, fitted, data):
    """Even signed, values of other kinds and sizes come to one sentence, or to a model that works."""
    original = json.loads((fitted / "model" / "model.json").read_text())
    way = data.draw(st.sampled_from([way for way in places(original) if way and way != (OWN,)]))
    sign(mutable, changed(original, way, data.draw(st.one_of(ODD, st.just(GONE)))))
    try:
        stored = load_model(mutable)
        probabilities = stored.mixture.probabilities(stored.problem.learned)
        decisions = stored.mixture.decide(probabilities, stored.target_accuracy, stored.coverage)
    except GraphMixError as error:
        lines = str(error).splitlines()
        assert len(lines) == 1, lines
        return
    assert np.isfinite(probabilities).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    columns = tabulate({"id": stored.problem.ids}, decisions, stored.mixture.classes, [None] * len(probabilities))
    OutputTable(columns).write(mutable.parent / "out.parquet")


@settings(max_examples=repeats(30, 300))
@given(data=st.data())
def test_an_unsigned_change_is_always_refused(mutable, fitted, data):
    original = json.loads((fitted / "model" / "model.json").read_text())
    way = data.draw(st.sampled_from([way for way in places(original) if way]))
    mutated = changed(original, way, data.draw(st.one_of(ODD, st.just(GONE))))
    (mutable / "model.json").write_text(json.dumps(mutated))
    if json.dumps(mutated, sort_keys=True) == json.dumps(original, sort_keys=True):
        load_model(mutable)
    else:
        refused(mutable)


def test_where_a_fit_may_begin(tmp_path, model):
    check_folder(tmp_path / "new")
    (tmp_path / "empty").mkdir()
    check_folder(tmp_path / "empty")
    # What a write that was killed left does not count.
    (tmp_path / "empty" / ".config.json.abc.graphmix.part").write_text("half")
    (tmp_path / "empty" / ".lock").write_text("")
    check_folder(tmp_path / "empty")
    (tmp_path / "file").write_text("")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.doc").write_text("")
    for name, part in (
        ("file", "is a file"),
        ("other", "holds other files"),
        ("model", "holds a finished model"),
    ):
        with pytest.raises(RunError, match=part):
            check_folder(tmp_path / name)
    (model / "model.json").unlink()
    with pytest.raises(RunError, match="holds an unfinished fit; use `resume` to continue"):
        check_folder(model)
    check_folder(model, resume=True)


def stop(folder, asked, *written):
    """Begin a fit that comes to an error after it wrote some files."""

    def work():
        with begin(folder, asked):
            for name in written:
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_text("")
            raise RunError("stopped")

    with pytest.raises(RunError, match="stopped"):
        work()


def test_an_error_leaves_nothing_but_what_was_trained(tmp_path):
    stop(tmp_path / "a" / "b", {}, "candidates/fcn/config.json", "candidates/fcn/.lock", "predictions.csv")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "mine").mkdir()
    stop(tmp_path / "mine", {})
    assert list((tmp_path / "mine").iterdir()) == []
    stop(tmp_path / "kept", {}, "candidates/fcn/weights.safetensors")
    assert {"config.json", "candidates/fcn/weights.safetensors"} <= set(tree(tmp_path / "kept"))


def test_going_on_takes_the_same_wishes(tmp_path):
    stop(tmp_path / "m", {"plums": 1}, "candidates/fcn/parts/trials.safetensors")
    with begin(tmp_path / "m", {"plums": 1}, resume=True):
        pass
    with (
        pytest.raises(RunError, match="holds another fit, with other plums;"),
        begin(tmp_path / "m", {"plums": 2}, resume=True),
    ):
        pass
    (tmp_path / "m" / "config.json").write_text("{")
    with pytest.raises(RunError, match=r"config\.json is damaged"), begin(tmp_path / "m", {"plums": 1}, resume=True):
        pass


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"columns": {"label": "kind"}}, "another `label`"),
        ({"columns": {"label": "topic", "no_weight": True}}, "another `no_weight`"),
        ({"wishes": {"target": 0.8, "metric": "accuracy"}}, "another `target_accuracy`"),
        ({"wishes": {"target": 0.9, "metric": "macro-f1"}}, "another `balanced`"),
        ({"tables": ["b", None], "columns": {"label": "kind"}}, "other tables"),
        ({}, "other methods or hyperparameters"),
    ],
)
def test_going_on_names_what_differs_as_the_user_calls_it(tmp_path, change, told):
    begun = {"columns": {"label": "topic"}, "tables": ["a", None], "wishes": {"target": 0.9, "metric": "accuracy"}}
    stop(tmp_path / "m", begun | {"plan": []}, "candidates/fcn/heldout.safetensors")
    # The plan follows from the rest, so it differs too.
    asked = begun | {"plan": [{"method": "fcn"}]} | change
    with pytest.raises(RunError) as raised, begin(tmp_path / "m", asked, resume=True):
        pass
    assert f"holds another fit, with {told};" in str(raised.value)


def test_what_another_build_leaves_out_is_no_difference(tmp_path):
    stop(tmp_path / "m", {"columns": {"label": "topic"}}, "candidates/fcn/heldout.safetensors")
    with begin(tmp_path / "m", {"columns": {"label": "topic", "id": None}}, resume=True):
        pass


def change_begun(folder, change):
    """Change what the folder of an unfinished fit says of it."""
    begun = json.loads((folder / "config.json").read_text())
    change(begun)
    (folder / "config.json").write_text(json.dumps(begun))


def test_a_fit_of_an_earlier_build_goes_on_with_the_defaults_of_newer_settings(tmp_path):
    config = Config(trials=2).to_dict()
    old = {name: value for name, value in config.items() if name not in ADDED}
    begun = {"plan": [{"method": "fcn", "config": old}], "wishes": {}}
    stop(tmp_path / "m", begun, "candidates/fcn/heldout.safetensors")
    with begin(tmp_path / "m", {"plan": [{"method": "fcn", "config": config}], "wishes": {}}, resume=True):
        pass
    newer = {"plan": [{"method": "fcn", "config": config | {"batch_nodes": 8}}], "wishes": {}}
    with pytest.raises(RunError, match="fit, with other methods or"), begin(tmp_path / "m", newer, resume=True):
        pass
    for plan in ("x", ["x"], [{"config": []}], [{}]):
        change_begun(tmp_path / "m", lambda begun, plan=plan: begun.update(plan=plan))
        with pytest.raises(RunError, match="fit, with other methods or"), begin(tmp_path / "m", newer, resume=True):
            pass


@pytest.mark.parametrize(
    ("versions", "told"),
    [
        ({"torch": "1.0"}, "was begun with torch 1.0, and this is torch "),
        ({"torch": None}, "was begun with torch None, and"),
        ({"torch": "\x1b[31m"}, r"was begun with torch \x1b[31m, and"),
    ],
)
def test_a_fit_of_other_versions_is_told_so_before_anything_else(tmp_path, versions, told):
    stop(tmp_path / "m", {"plan": []}, "candidates/fcn/heldout.safetensors")
    change_begun(tmp_path / "m", lambda begun: begun["versions"].update(versions))
    with pytest.raises(RunError) as raised, begin(tmp_path / "m", {"plan": [1]}, resume=True):
        pass
    assert told in str(raised.value)
    change_begun(tmp_path / "m", lambda begun: begun.update(versions=[]))
    with (
        pytest.raises(RunError, match="begun with graphmix of another version"),
        begin(tmp_path / "m", {"plan": [1]}, resume=True),
    ):
        pass


def test_one_fit_at_a_time(tmp_path):
    with (
        begin(tmp_path / "m", {}),
        pytest.raises(RunError, match="another process is writing"),
        begin(tmp_path / "m", {}, resume=True),
    ):
        pass


def test_a_save_that_finds_another_under_way_leaves_its_files(tmp_path, model):
    folder = tmp_path / "saved"
    folder.mkdir()
    with locked(folder):
        (folder / "weights.safetensors").write_bytes(b"of the other save")
        with pytest.raises(RunError, match="another process is writing"):
            load_model(model).save(folder)
        assert (folder / "weights.safetensors").read_bytes() == b"of the other save"


def test_a_report_and_predictions_beside_a_saved_model_do_not_keep_the_next_save_out(tmp_path, model):
    folder, loaded = tmp_path / "saved", load_model(model)
    loaded.save(folder)
    beside = [folder / "report.html", folder / "predictions.csv"]
    for file in beside:
        file.write_text("mine")
    loaded.save(folder)
    assert [file.read_text() for file in beside] == ["mine", "mine"]
    for file in beside:
        (tmp_path / "other").mkdir(exist_ok=True)
        file.rename(tmp_path / "other" / file.name)
        with pytest.raises(RunError, match="holds other files"):
            loaded.save(tmp_path / "other")

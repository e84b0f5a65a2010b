"""A classifier survives being saved, and nothing else is taken for one."""

import errno
import json
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

import graphmix
from command_line import graphmix as command
from command_line import refused
from graphmix import Columns, FitOptions, GraphMixClassifier, RunError
from graphmix.storage import parts as module
from graphmix.storage.description import OWN, description_checksum
from graphmix.training.methods import METHODS, possible_in_fits
from graphmix.workflow.model import load_model
from graphmix.workflow.parameters import OF_RULES
from graphmix.workflow.stored_estimator import stored_parameters
from small_tables import fit_tables, tree, write_edges, write_nodes


@pytest.fixture
def saved(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    return tmp_path / "model"


def rewrite(folder, **changed):
    """Change the description as if the program had; what belongs to the estimator or the first member, there."""
    path = folder / "model.json"
    described = json.loads(path.read_text())
    own = {name: changed.pop(name) for name in list(changed) if name in described["estimator"]}
    member = {name: changed.pop(name) for name in list(changed) if name in ("method", "config", "share")}
    (first, *others) = described["members"]
    described |= {"estimator": described["estimator"] | own, "members": [first | member, *others]} | changed
    path.write_text(json.dumps(described | {OWN: description_checksum(described)}))


def test_a_description_that_was_changed_is_refused(saved):
    path = saved / "model.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"temperature": 15.0}))
    with pytest.raises(RunError, match="was changed after"):
        GraphMixClassifier.load(saved)


def test_a_model_of_links_scores_and_names_their_ends(tmp_path):
    pd = pytest.importorskip("pandas")
    links = pd.DataFrame([{"from": f"u{n % 6}", "to": f"u{n * n % 5}", "sign": "+-"[n % 2]} for n in range(30)])
    options = FitOptions(methods=("label-propagation",), device="cpu")
    graphmix.fit_tables(None, links, columns=Columns(link_label="sign"), options=options).save(tmp_path / "model")
    loaded = GraphMixClassifier.load(tmp_path / "model")
    right = [each == other for each, other in zip(loaded.predict(), links["sign"], strict=True)]
    assert loaded.score(None, links["sign"]) == pytest.approx(np.mean(right))
    assert list(loaded.predict_frame().index[:2]) == [("u0", "u0"), ("u1", "u1")]


def test_it_comes_back_as_it_was(small, fitted, saved):
    loaded = GraphMixClassifier.load(str(saved))
    assert loaded.get_params() == fitted.get_params()
    np.testing.assert_array_equal(loaded.predict_proba(), fitted.predict_proba())
    np.testing.assert_array_equal(
        loaded.predict(small.x, small.edges[:, :50]), fitted.predict(small.x, small.edges[:, :50])
    )
    np.testing.assert_array_equal(loaded.transduction_, fitted.transduction_)
    names = ("temperature_", "held_out_accuracy_", "held_out_macro_f1_", "n_features_in_")
    assert [getattr(loaded, name) for name in names] == [getattr(fitted, name) for name in names]
    assert not hasattr(loaded, "feature_names_in_")
    assert {path.suffix for path in saved.iterdir()} == {".json", ".safetensors"}


@pytest.mark.parametrize(
    "classes",
    [
        np.array([3, 5, 9], np.int32),
        np.array([0.0, 1.0, 2.0]),
        np.array(["a", "bé", ""]),
        np.array([True, False, True]),
    ],
    ids=lambda classes: str(classes.dtype),
)
def test_classes_keep_their_type(small, quick, tmp_path, classes):
    classifier = quick(epochs=2).fit(small.x, classes[small.truth], small.edges)
    classifier.save(tmp_path)
    loaded = GraphMixClassifier.load(tmp_path)
    assert loaded.classes_.dtype == classifier.classes_.dtype
    np.testing.assert_array_equal(loaded.predict(), classifier.predict())


@pytest.mark.parametrize(
    "choices", [{"method": "label-propagation"}, {"backbone": "unet"}, {"normalise": True}], ids=str
)
def test_all_kinds_of_it(small, quick, tmp_path, choices):
    x, state = sp.csr_array(small.x), np.random.RandomState(1)
    weights = None if "backbone" in choices else np.linspace(0.1, 3, small.edges.shape[1])
    classifier = quick(epochs=2, random_state=state, alpha=np.float32(0.5), **choices)
    classifier.fit(x, small.y, small.edges, edge_weight=weights).save(tmp_path)
    loaded = GraphMixClassifier.load(tmp_path)
    np.testing.assert_array_equal(loaded.predict_proba(), classifier.predict_proba())
    # Of a stream of random numbers the seed is kept that was drawn from it.
    assert loaded.random_state == classifier.model_.config.seed
    again = loaded.fit(x, small.y, small.edges, edge_weight=weights)
    np.testing.assert_array_equal(again.predict_proba(), classifier.predict_proba())


def test_names_of_features_are_kept(small, quick, tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(small.x, columns=[f"word {number}" for number in range(30)])
    quick(epochs=2).fit(frame, small.y, small.edges).save(tmp_path)
    loaded = GraphMixClassifier.load(tmp_path)
    assert list(loaded.feature_names_in_) == list(frame.columns)
    assert loaded.predict(frame, small.edges).shape == (120,)


def test_another_takes_its_place(small, quick, fitted, saved):
    other = quick(epochs=3).fit(small.x, small.y, small.edges)
    other.save(saved)
    np.testing.assert_array_equal(GraphMixClassifier.load(saved).predict_proba(), other.predict_proba())
    # Six files, whichever their names.
    assert len(list(saved.iterdir())) == 6
    fitted.save(saved)
    np.testing.assert_array_equal(GraphMixClassifier.load(saved).predict_proba(), fitted.predict_proba())
    assert len(list(saved.iterdir())) == 6


@pytest.mark.parametrize("moment", range(1, 7))
def test_a_crash_at_any_moment_leaves_a_whole_model(small, quick, fitted, saved, monkeypatch, moment):
    """The process dies at the nth write or removal: nothing after it happens, not even cleaning up."""
    other = quick(epochs=3).fit(small.x, small.y, small.edges)
    calls = []

    def dying(act):
        def act_or_die(path, *given, **named):
            calls.append(path)
            if len(calls) >= moment:
                raise KeyboardInterrupt
            return act(path, *given, **named)

        return act_or_die

    monkeypatch.setattr(module, "write_bytes", dying(module.write_bytes))
    monkeypatch.setattr(module, "write_description", dying(module.write_description))
    monkeypatch.setattr(type(saved), "unlink", dying(type(saved).unlink))
    with pytest.raises(KeyboardInterrupt):
        other.save(saved)
    monkeypatch.undo()
    loaded = GraphMixClassifier.load(saved).predict_proba()
    assert any(np.array_equal(loaded, each.predict_proba()) for each in (fitted, other))
    # The next save clears up.
    other.save(saved)
    assert len(list(saved.iterdir())) == 6
    np.testing.assert_array_equal(GraphMixClassifier.load(saved).predict_proba(), other.predict_proba())


@pytest.mark.parametrize("failing", ["write_bytes", "write_description"])
def test_a_full_disk_leaves_what_was_there(small, quick, fitted, saved, monkeypatch, failing):
    before = sorted(path.name for path in saved.iterdir())

    def full(path, *_):
        raise RunError(f"{path} cannot be written: No space left on device") from OSError(errno.ENOSPC, "")

    monkeypatch.setattr(module, failing, full)
    with pytest.raises(RunError, match="No space left"):
        quick(epochs=3).fit(small.x, small.y, small.edges).save(saved)
    assert sorted(path.name for path in saved.iterdir()) == before
    np.testing.assert_array_equal(GraphMixClassifier.load(saved).predict_proba(), fitted.predict_proba())
    with pytest.raises(RunError, match="No space left"):
        fitted.save(saved.parent / "new")
    assert not (saved.parent / "new").exists()


def test_a_folder_of_something_else_is_left_alone(fitted, tmp_path):
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(RunError, match=r"holds other files \(thesis\.tex\)"):
        fitted.save(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
    with pytest.raises(RunError, match="is a file; choose another `folder`"):
        fitted.save(tmp_path / "thesis.tex")
    with pytest.raises(RunError, match="is not a model's folder"):
        GraphMixClassifier.load(tmp_path)


def test_parameters_of_methods_that_it_cannot_train_are_gone_and_not_read_from_older_folders():
    assert {"epochs", "hops"} < set(graphmix.GraphMixClassifier().get_params())
    assert not set(OF_RULES) & set(graphmix.GraphMixClassifier().get_params())
    assert all(METHODS[name].rule is None for name in possible_in_fits())
    older = SimpleNamespace(estimator={"parameters": {"epochs": 3, "bvat_form": None, "ties": None}})
    assert stored_parameters(older) == {"epochs": 3}


def test_changed_weights_are_refused(saved):
    path = saved / "weights.safetensors"
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)
    with pytest.raises(RunError, match="its SHA-256 differs"):
        GraphMixClassifier.load(saved)
    path.unlink()
    with pytest.raises(RunError, match="cannot be read: No such file"):
        GraphMixClassifier.load(saved)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"format": 4}, "written by a newer graphmix"),
        ({"format": "1"}, "does not describe a model"),
        ({"parts": None}, "does not name a valid file"),
        ({"estimator": 3}, "invalid: estimator"),
        ({"estimator": {}}, "does not hold a whole classifier"),
        ({"feature_names": ["a"]}, "1 names for 30 features"),
        ({"method": "magic"}, "there is no method 'magic'"),
        ({"classes": [0, 1]}, "does not hold a whole classifier"),
        ({"classes": [0, 2, 1]}, "does not hold a whole classifier"),
        ({"type_of_classes": "O"}, "does not hold a whole classifier"),
        ({"type_of_classes": "<U400000000"}, "classes are not of type"),
        ({"type_of_classes": "nothing"}, "does not hold a whole classifier"),
        ({"parameters": {"magic": 1}}, "does not hold a whole classifier"),
        ({"config": {}}, "method` is missing"),
        ({"share": 0.5}, "the shares of the members do not sum to 1"),
        ({"share": -1.0}, "share is -1.0"),
        ({"members": []}, "missing or invalid: members"),
        ({"members": [3]}, "does not hold a whole model"),
        ({"temperature": "warm"}, "temperature is not a finite number"),
        ({"temperature": None}, "temperature is not a finite number"),
        ({"temperature": float("nan")}, "it contains NaN"),
        ({"temperature": -1.0}, "temperature is -1.0"),
    ],
    ids=str,
)
def test_what_cannot_be_is_refused(saved, changed, message):
    rewrite(saved, **changed)
    with pytest.raises(RunError, match=message):
        GraphMixClassifier.load(saved)


def test_half_a_description_is_refused(saved):
    path = saved / "model.json"
    path.write_text(path.read_text()[:100])
    with pytest.raises(RunError, match="is damaged"):
        GraphMixClassifier.load(saved)
    path.write_text("[1]")
    with pytest.raises(RunError, match="JSON object"):
        GraphMixClassifier.load(saved)


def test_weights_of_another_network_are_refused(saved):
    config = json.loads((saved / "model.json").read_text())["members"][0]["config"]
    rewrite(saved, config=config | {"backbone": "gat"})
    with pytest.raises(RunError, match="does not hold a whole model: the weights are not those"):
        graphmix.GraphMixClassifier.load(saved)


def test_a_saved_classifier_is_a_model(small, fitted, saved, tmp_path):
    model = load_model(saved)
    predicted = model.predict()
    assert predicted.columns["id"] == list(range(small.nodes))
    assert predicted.columns["predicted"] == [str(label) for label in fitted.predict()]
    assert predicted.columns["label"][44:46] == [str(small.y[44]), None]
    assert model.metrics is None
    assert set(model.held) == {"graphmix-gcn", "graphmix-gcn-fcn", "mixture"}
    result = command("predict", saved, "-o", tmp_path / "out.csv")
    assert result.returncode == 0, result.stderr
    again = tmp_path / "again.csv"
    predicted.write(again)
    assert (tmp_path / "out.csv").read_bytes() == again.read_bytes()
    nodes = write_nodes(tmp_path / "n.csv")
    refused(command("predict", saved, "--nodes", nodes, "-o", tmp_path / "new.csv"), "saved by GraphMixClassifier")
    advice = model.advise(3)
    assert len(advice.label_next) == 3
    # All but the networks' own predictions is read from tables, and saved again without a change.
    model.save(tmp_path / "copy")
    assert tree(tmp_path / "copy") == tree(saved)


@pytest.mark.parametrize("methods", [("supervised",), ("label-propagation",), ("graphmix", "label-propagation")])
def test_a_model_of_tables_is_a_classifier(tmp_path, methods):
    tables = write_nodes(tmp_path / "n.csv"), write_edges(tmp_path / "e.csv")
    model = fit_tables(tmp_path, *tables, methods=methods)
    classifier = GraphMixClassifier.load(tmp_path / "model")
    assert classifier.predict().tolist() == model.predict().columns["predicted"]
    assert classifier.classes_.tolist() == ["AI", "DB", "ML"]
    config = model.mixture.config
    if len(methods) == 1:
        assert classifier.method == model.mixture.method == methods[0]
        chosen = (classifier.trials, classifier.epochs, classifier.hidden)
        assert chosen == (config.trials, config.epochs, config.hidden)
    else:
        # The hyperparameters of several members are not one network's: they are left to be chosen.
        assert (classifier.method, classifier.trials, classifier.epochs) == ("auto", None, None)
    if methods != ("label-propagation",):
        assert classifier.predict(classifier.graph_).shape == (36,)
    classifier.save(tmp_path / "saved")
    again = GraphMixClassifier.load(tmp_path / "saved")
    np.testing.assert_array_equal(again.predict_proba(), classifier.predict_proba())
    assert again.get_params() == classifier.get_params()

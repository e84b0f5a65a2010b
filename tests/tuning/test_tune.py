"""tune and tune_tables: the choice, the comparison with fresh seeds, time limits, and that test labels play no part."""

from dataclasses import replace

import pytest
import torch

import graphmix
from graphmix.errors import ConfigError, DataError, RunError
from graphmix.executors.local import Local
from graphmix.results import formats
from graphmix.results.reader import parse, read_file
from graphmix.results.tuned import TuneResult, compare
from graphmix.results.tuned_wording import config_comments, say_best, say_checked, say_counts
from graphmix.results.writer import to_json
from graphmix.training.trace import OutOfTimeError
from graphmix.tuning import api
from graphmix.tuning import search as searching
from graphmix.tuning.scoring import Score, score
from graphmix.tuning.space import SEARCH_SEEDS
from graphmix.tuning.watching import TuneWatcher
from graphmix.workflow import plan as planning
from graphmix.workflow.plan import make_plan
from small_tables import pairs, rows, write_edges, write_nodes

SPACE = {"hidden": [4, 8, 16], "learning_rate": {"low": 0.005, "high": 0.1, "log": True}}
FEW = graphmix.TuneOptions(points=4, trials=2, check_trials=3)


@pytest.fixture(scope="module")
def tiny():
    return graphmix.synthetic(nodes=120, classes=3, features=20, labels_per_class=5, seed=1)


def tune(data, options=FEW, space=SPACE, **settings):
    return graphmix.tune(*data, space=space, options=options, **{"epochs": 12} | settings)


@pytest.fixture(scope="module")
def found(tiny):
    return tune(tiny)


def without_times(result):
    return replace(result, points=tuple(replace(point, seconds=None) for point in result.points))


def test_the_best_point_is_that_with_the_best_mean_of_validation(tiny, found):
    assert [point.number for point in found.points] == [0, 1, 2, 3]
    scores = [point.score for point in found.points]
    assert found.best == scores.index(max(scores))
    best = found.best_point
    config = graphmix.Config.for_dataset("", **found.best_settings, trials=2, seed=SEARCH_SEEDS)
    again = graphmix.fit(*tiny, config)
    assert best.values == pytest.approx((100 * again.val_score).tolist(), abs=1e-3)


def test_the_first_point_is_the_defaults(found):
    usual = graphmix.Config.for_dataset("", epochs=12)
    assert found.start.settings == {"hidden": usual.hidden, "learning_rate": usual.learning_rate}
    assert found.start.number == 0


def test_the_comparison_has_seeds_and_splits_that_no_choice_depended_on(tiny, monkeypatch):
    seen = []

    def note(graph, split, config, *more, tell):
        seen.append((split, config))
        return Score((scores[len(seen) - 1],) * config.trials, (60.0,) * 10, 0.1)

    monkeypatch.setattr(searching, "score", note)
    # If the defaults are the best, they are not compared with themselves.
    scores = [60.0] * 4
    assert tune(tiny).checked is None
    assert len(seen) == 4
    seen.clear()
    scores = [60.0, 61.0, 60.0, 60.0, 63.0, 62.0]
    assert tune(tiny).checked == compare((63.0,) * 3, (62.0,) * 3)
    split = tiny[1]
    used = (split.train | split.val)[0]
    for own, config in seen[:4]:
        assert config.seed == SEARCH_SEEDS
        assert own.train.equal(split.train)
    for own, config in seen[4:]:
        assert (config.seed, config.trials) == (0, 3)
        assert not own.train.equal(split.train.expand_as(own.train))
        assert (own.train | own.val).equal(used.expand(3, -1))


def test_a_comparison_that_fails_says_why_and_loses_no_point(tiny, tmp_path, monkeypatch):
    def fails(graph, split, config, *more, tell):
        if config.seed == 0:
            raise error
        return Score((60.0 + config.hidden,) * config.trials, (60.0,) * 10, 0.1)

    monkeypatch.setattr(searching, "score", fails)
    error = DataError("this cannot be trained")
    found = tune(tiny, space={"hidden": [4, 16, 32]}, out=tmp_path / "tuned")
    assert found.checked is None
    assert found.check_error == "this cannot be trained"
    assert say_checked(found).endswith("failed: this cannot be trained")
    assert found == read_file(TuneResult, tmp_path / "tuned" / "tune.json", formats.TUNED)
    assert found.best_point.settings == {"hidden": 32}
    error = ValueError("a defect")
    with pytest.raises(ValueError, match="a defect"):
        tune(tiny, space={"hidden": [4, 16, 32]})
    error = OutOfTimeError("the time limit was reached")
    assert tune(tiny, space={"hidden": [4, 16, 32]}).checked is None


def test_test_labels_play_no_part(tiny, found):
    graph, split = tiny
    wrong = replace(graph, y=torch.where(split.test[0], (graph.y + 1) % graph.num_classes, graph.y))
    other = tune((wrong, split))
    assert without_times(other) == without_times(found)
    assert other.checked == found.checked


def test_without_test_nodes_the_search_is_the_same(tiny, found):
    graph, split = tiny
    assert without_times(tune((graph, replace(split, test=split.test & False)))) == without_times(found)


def test_validation_labels_do_play_a_part(tiny, found):
    graph, split = tiny
    wrong = replace(graph, y=torch.where(split.val[0], (graph.y + 1) % graph.num_classes, graph.y))
    assert [point.score for point in tune((wrong, split)).points] != [point.score for point in found.points]


def test_a_comparison_is_students_t_of_pairs():
    from scipy.stats import ttest_rel

    best, usual = (72.0, 74.5, 73.0, 75.0), (71.0, 72.0, 73.5, 72.5)
    ours, theirs = compare(best, usual), ttest_rel(best, usual).confidence_interval()
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=1e-3)
    assert compare((72.0,), (71.0,)).low is None


def test_what_was_found_is_read_back_and_told(tmp_path, found):
    assert parse(TuneResult, to_json(found), tmp_path) == found
    assert f"{found.best_point.score:.2f}" in say_best(found)
    assert "4 points of 4: 4 trained to the end" in say_counts(found)
    assert "3 fresh seeds" in say_checked(found)
    assert found.dataset in config_comments(found)[0]
    broken = to_json(found) | {"best": 99}
    with pytest.raises(RunError, match="best"):
        parse(TuneResult, broken, tmp_path)


@pytest.mark.parametrize(
    ("low", "high", "said"), [(0.5, 1.5, "more than"), (-0.5, 1.5, "may be luck"), (-2.0, -1.0, "defaults are better")]
)
def test_the_verdict_follows_the_interval(found, low, high, said):
    checked = replace(compare((70.0, 71.0), (69.0, 70.5)), low=low, high=high)
    assert said in say_checked(replace(found, checked=checked))


def test_a_search_goes_on_with_more_points_and_does_not_compute_any_again(tiny, tmp_path, found, monkeypatch):
    options = replace(FEW, storage=tmp_path / "study.log")
    assert [point.score for point in tune(tiny, options).points] == [point.score for point in found.points]
    counted = []
    monkeypatch.setattr(searching, "score", lambda *given, tell: counted.append(1) or score(*given, tell=tell))
    again = tune(tiny, options)
    assert not counted
    assert again.checked == found.checked
    assert len(tune(tiny, replace(options, points=5)).points) == 5
    assert len(counted) in (1, 3)  # the new point, and the comparison if it is the best


def test_what_is_asked_has_to_be_the_same(tiny, tmp_path):
    options = replace(FEW, points=1, storage=tmp_path / "study.log")
    tune(tiny, options)
    with pytest.raises(RunError, match="other hyperparameters"):
        tune(tiny, options, epochs=13)
    with pytest.raises(RunError, match="another `space`"):
        tune(tiny, options, space={"hidden": [4, 8]})
    other = graphmix.synthetic(nodes=120, classes=3, features=20, labels_per_class=5, seed=2)
    with pytest.raises(RunError, match="other features, edges"):
        tune(other, options)


def test_the_time_limit_ends_it_and_the_point_is_tried_later(tiny, tmp_path):
    options = replace(FEW, storage=tmp_path / "study.log")
    early = tune(tiny, replace(options, time_limit=1e-6))
    assert early.points == ()
    assert early.best is None
    assert len(tune(tiny, options).points) == 4


def test_an_error_gives_the_point_back(tiny, tmp_path):
    options = replace(FEW, storage=tmp_path / "study.log")

    class Impatient(TuneWatcher):
        def begins(self, settings, config, tried, points):
            if tried == 2:
                raise KeyboardInterrupt
            return

    with pytest.raises(KeyboardInterrupt):
        graphmix.tune(*tiny, space=SPACE, options=options, watch=Impatient(), epochs=12)
    assert [point.number for point in tune(tiny, options).points] == [0, 1, 2, 3]


def test_points_that_no_config_allows_are_refused_and_the_others_go_on(tiny):
    # Only one of the two methods of targets can do with none of its own passes.
    found = tune(tiny, replace(FEW, points=6), space={"perturbations": [0, 1, 2, 3]})
    failed = [point for point in found.points if point.state == "failed"]
    assert all(point.settings["perturbations"] == 0 and "perturbations" in point.error for point in failed)
    assert found.best_point.settings["perturbations"] > 0
    assert len(found.points) == 6


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"hidden": 8}, "`hidden` is given and also in the space"),
        ({"space": {"hops": [1, 2]}}, "nothing in it has an effect"),
        ({"space": {}}, "the space is empty"),
        ({"trials": 3}, "`trials` is an option of a search"),
        ({"nothing": 3}, "no hyperparameter 'nothing'"),
        ({"options": {"points": 0}}, "`points`"),
        ({"options": {"time_limit": 0}}, "`time_limit`"),
        ({"options": {"study": " "}}, "`study`"),
        ({"options": {"device": "tpu"}}, "`device` must be"),
    ],
)
def test_invalid_questions_are_refused(tiny, settings, said):
    options = settings.pop("options", {})
    with pytest.raises(ConfigError, match=said):
        tune(tiny, replace(FEW, **options), **settings)


def test_arguments_of_another_type_are_named(tiny):
    with pytest.raises(DataError, match="not NoneType; for masks"):
        tune((tiny[0], None))
    with pytest.raises(ConfigError, match=r"`options` must be a graphmix\.TuneOptions, not dict"):
        tune(tiny, options={"points": 2})
    with pytest.raises(ConfigError, match=r"space: .hidden. must be a list of values"):
        tune(tiny, space={"hidden": 16})


def test_a_split_without_validation_nodes_is_refused(tiny):
    graph, split = tiny
    with pytest.raises(DataError, match="validation"):
        tune((graph, replace(split, val=split.val & False)))


def test_tables_are_searched_by_folds_and_fit_takes_the_result(tmp_path):
    nodes, edges = write_nodes(tmp_path / "n.csv", rows(60)), write_edges(tmp_path / "e.csv", pairs(60))
    options = graphmix.TuneOptions(points=3, trials=5, check_trials=5)
    found = graphmix.tune_tables(
        nodes, edges, label="topic", space={"hidden": [4, 8]}, options=options, out=tmp_path / "found", epochs=20
    )
    assert (found.of_tables, found.method, found.split) == (True, "graphmix-steady", "folds")
    assert found.start.settings == {"hidden": 32}
    best = graphmix.read_config(tmp_path / "found" / "best.toml")
    assert best == found.best_settings
    fitted = graphmix.FitOptions(methods=("label-propagation", "graphmix-steady"))
    model = graphmix.fit_tables(nodes, edges, label="topic", options=fitted, config=best, trials=3, epochs=10)
    held = {member.name: member.config for member in model.mixture.members}
    for name in held:
        if name.startswith("graphmix-steady"):
            assert (held[name].hidden, held[name].trials) == (best["hidden"], 3)


def test_a_plan_tries_the_tuned_method_with_its_settings_and_others_with_theirs(tiny):
    graph, _ = tiny
    tuned = {"method": "graphmix-steady", "backbone": "appnp", "hidden": 7, "trials": 9, "seed": 4}
    plan = make_plan(graph, ("supervised", "graphmix-steady"), {"trials": 3}, tuned)
    assert [each.name for each in plan] == ["supervised-gpr", "graphmix-steady-appnp"]
    assert [each.config.hidden for each in plan] == [32, 7]
    assert {each.config.trials for each in plan} == {3}
    assert {each.config.seed for each in plan} == {0}
    # What is given wins, and a method that is not among the others is added.
    plan = make_plan(graph, ("supervised",), {"hidden": 5, "backbone": "auto"}, tuned)
    assert [(each.name, each.config.hidden) for each in plan] == [("supervised-gpr", 5), ("graphmix-steady-appnp", 5)]


class OnGpus(Local):
    """Says that jobs run on the GPUs of other machines."""

    def device(self, name):
        return "cuda"


def test_points_on_large_tables_train_in_parts_as_a_fit_does(tmp_path, monkeypatch):
    tables = write_nodes(tmp_path / "n.csv", rows(30)), write_edges(tmp_path / "e.csv", pairs(30))
    monkeypatch.setattr(planning, "MANY_PROPAGATED", 0)
    monkeypatch.setattr(api, "search", lambda target, *_, **__: target)
    options = replace(FEW, device="cpu")
    here, there = (
        graphmix.tune_tables(*tables, label="topic", options=options, executor=each) for each in (Local(), OnGpus())
    )
    assert [each.make(hidden=7).batch_nodes for each in (here, there)] == [1024, 0]
    assert here.make(backbone="unet").batch_nodes == 0
    assert here.make(batch_nodes=0).batch_nodes == 0

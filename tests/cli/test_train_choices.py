"""`graphmix train`: backbones, methods, splits and tasks."""

import json
from dataclasses import replace

import numpy as np
import pytest

from command_line import QUICK, graphmix, refused, save
from graphmix import Config, make_split, synthetic
from graphmix.baselines import BASELINES
from graphmix.training import devices
from graphmix.training.methods import METHODS
from small_tables import tree


def train(*arguments, cwd, **environment):
    result = graphmix("train", *arguments, "--json", "--no-report", "--out", "run", cwd=cwd, **environment)
    assert result.returncode == 0, result.stderr
    answer = json.loads(result.stdout)
    # The tests train for few epochs, which methods with predicted targets warn of.
    few = answer["method"] not in BASELINES and Config.from_dict(answer).predicts_targets
    assert [("epochs" in line) for line in result.stderr.splitlines()] == [True] * few
    return answer


@pytest.mark.usefixtures("quick_classics")
@pytest.mark.parametrize(
    "choices",
    [
        ["--backbone", "gat", "--heads", "2", "--output-heads", "2", "--attention-dropout", "0.1"],
        ["--backbone", "unet", "--pool-ratios", "0.5"],
        ["--backbone", "gpr", "--hops", "3", "--teleport", "0.2"],
        ["--backbone", "sage", "--hidden-dropout", "0.4"],
        ["--backbone", "appnp", "--hops", "3", "--propagation-dropout", "0.1"],
        ["--backbone", "chebyshev", "--order", "3"],
        ["--backbone", "gcn2", "--layers", "3", "--layer-strength", "0.4", "--layer-decay", "0.001"],
        ["--backbone", "gatv2", "--heads", "2"],
        ["--backbone", "monet", "--kernels", "2", "--coordinates", "3"],
        ["--backbone", "disengcn", "--channels", "3", "--layers", "2", "--routing-steps", "2"],
        ["--backbone", "grand", "--hops", "3", "--node-dropout", "0.3"],
        ["--method", "grand", "--perturbations", "2", "--temperature", "0.3"],
        ["--method", "dropedge", "--edge-dropout", "0.3"],
        ["--method", "vat", "--backbone", "chebyshev", "--power-iterations", "2"],
        ["--method", "bvat", "--bvat-form", "sampled", "--perturbed-nodes", "5"],
        ["--method", "graphat", "--graph-weight", "0.5", "--neighbour-draws", "3"],
        ["--method", "graphvat", "--perturbation-size", "0.1"],
        ["--method", "gmnn", "--pretraining", "1", "--phase-epochs", "1", "--optimiser", "rmsprop"],
        ["--method", "graphsgan", "--hidden", "10"],
        ["--method", "fcn"],
        ["--method", "self-training", "--predictor", "fcn"],
        ["--method", "fcn-self-training"],
        ["--optimisation", "joint", "--joint-weight", "0.5"],
        ["--alpha", "0", "--gamma", "0"],
        ["--batch-nodes", "50", "--batch-fanout", "3"],
        ["--batch-nodes", "40", "--method", "graphmix-steady", "--backbone", "gpr"],
        ["--split", "3-per-class-no-validation", "--select-by", "last"],
        ["--select-by", "macro-f1", "--class-weight", "balanced", "--target-weight", "balanced"],
    ],
    ids=lambda choices: " ".join(choices),
)
def test_choices_reach_the_run(choices, tmp_path):
    answer = train("synthetic", *QUICK, *choices, cwd=tmp_path)
    for option, value in zip(choices[::2], choices[1::2], strict=True):
        kept = answer[option.removeprefix("--").replace("-", "_")]
        assert str(kept) in (value, f"{value}.0", f"[{value}]")
    assert len(answer["test_macro_f1"]) == len(answer["test_f1"]) == 2


def test_options_of_other_networks_are_named_before_training(tmp_path):
    given = ["--method", "supervised", "--backbone", "sage", "--heads", "2", "--order", "3"]
    done = graphmix("train", "synthetic", *QUICK, *given, "--no-report", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stderr == "graphmix: --heads and --order have no effect with the network sage\n"


def test_options_that_a_rule_does_not_use_are_named_before_training(tmp_path):
    given = ["--method", "dropedge", "--alpha", "2", "--pretraining", "3", "--heads", "2"]
    done = graphmix("train", "synthetic", *QUICK, *given, "--no-report", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stderr == (
        "graphmix: --heads has no effect with the network gcn; --alpha and --pretraining have no effect with "
        "the method dropedge\n"
    )


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--method", "dropedge", "--backbone", "gat"], "dropedge needs the --backbone gcn"),
        (["--method", "vat", "--backbone", "grand"], "vat needs a --backbone that reads the features in one product"),
        (["--method", "graphsgan", "--backbone", "gat"], "graphsgan trains a network of its own"),
        (["--method", "grand", "--perturbations", "0"], "--perturbations must be at least 1 for grand"),
        (["--method", "dropedge", "--edge-dropout", "1"], "--edge-dropout must be at least 0 and below 1"),
        (["--method", "gmnn", "--phase-epochs", "0"], "--phase-epochs must be at least 1"),
        (["--method", "bvat", "--bvat-form", "other"], "--bvat-form must be one of optimised, sampled"),
        (["--backbone", "sgan"], "graphsgan trains a network of its own"),
        (["--backbone", "grand", "--batch-norm"], "--batch-norm needs a method"),
    ],
    ids=lambda given: " ".join(given) if isinstance(given, list) else "",
)
def test_what_a_rule_cannot_do_takes_one_sentence(given, said, tmp_path):
    refused(graphmix("train", "synthetic", *QUICK, *given, cwd=tmp_path), said)


def test_help_names_every_method():
    listed = " ".join(graphmix("train", "--help").stdout.split())
    for name in METHODS:
        assert f" {name}: " in listed


def test_few_epochs_are_warned_of_before_training(tmp_path):
    choices = ["--trials", "1", "--epochs", "40", "--device", "cpu", "--no-report"]
    note = graphmix("train", "synthetic", *choices, cwd=tmp_path).stderr
    assert ("graphmix" in note, "epoch 10 " in note, "1,000 epochs" in note) == (True, True, True)
    assert graphmix("train", "synthetic", *choices, "--gamma", "0", cwd=tmp_path).stderr == ""


def test_a_run_killed_before_its_details_gets_them_from_the_same_command(tmp_path):
    arguments = ["train", "synthetic", "--trials", "1", "--epochs", "3", "--no-report", "--out", "run"]
    assert graphmix(*arguments, cwd=tmp_path).returncode == 0
    before = tree(tmp_path / "run")
    (tmp_path / "run" / "details.json").unlink()
    (tmp_path / "run" / "parts").mkdir()
    assert graphmix(*arguments, cwd=tmp_path).returncode == 0
    assert tree(tmp_path / "run") == before
    assert not (tmp_path / "run" / "parts").exists()
    refused(graphmix(*arguments, cwd=tmp_path), "run", "finished")


@pytest.mark.usefixtures("quick_classics")
@pytest.mark.parametrize("method", BASELINES)
def test_baselines_are_reported_like_networks(method, tmp_path):
    answer = train("synthetic", "--method", method, "--trials", "2", cwd=tmp_path)
    assert (answer["method"], answer["trials"], answer["backbone"]) == (method, 2, None)
    # Of four classes.
    assert answer["test_accuracy_mean"] > 40
    assert json.loads((tmp_path / "run" / "results.json").read_text())["test_accuracy"] == answer["test_accuracy"]
    refused(graphmix("train", "synthetic", "--method", method, "--out", "run", cwd=tmp_path), "run", "finished")
    again = ["--method", method, "--trials", "1", "--no-report", "--out", "other"]
    table = graphmix("train", "synthetic", *again, cwd=tmp_path).stdout
    assert METHODS[method].title in table


def test_options_that_a_baseline_does_not_use_are_named(tmp_path):
    arguments = ["train", "synthetic", "--method", "label-propagation", "--trials", "2", "--no-report"]
    told = graphmix(*arguments, "--weight-decay", "0.1", "--hidden", "8", cwd=tmp_path)
    assert told.returncode == 0
    assert "--hidden" in told.stderr
    assert "--weight-decay" in told.stderr
    assert "--hidden" not in graphmix(*arguments, cwd=tmp_path).stderr
    refused(graphmix(*arguments, "--hidden", "0", cwd=tmp_path), "--hidden")


@pytest.mark.data
@pytest.mark.parametrize(
    ("choices", "name", "shown"),
    [
        ([], "GraphMix(GCN)", True),
        (["--optimisation", "joint"], "GraphMix(GCN), joint", False),
        (["--alpha", "0", "--gamma", "0"], "GraphMix(GCN), no mixup, no targets", False),
        (["--predictor", "fcn"], "GraphMix(GCN), FCN predicts", False),
    ],
)
def test_the_papers_number_stands_beside_the_papers_method_only(choices, name, shown, tmp_path, data_root):
    table = graphmix("train", "cora", *QUICK, *choices, cwd=tmp_path, GRAPHMIX_DATA=str(data_root)).stdout
    assert f"│ {name} │" in table
    assert ("83.94 ± 0.57" in table) == shown


def test_trials_take_splits_in_turn(tmp_path):
    choices = ["--split", "5-per-class", "--splits", "2", "--split-seed", "7"]
    answer = train("synthetic", *QUICK[2:], "--trials", "3", *choices, cwd=tmp_path)
    assert (answer["split"], answer["split_seeds"]) == ("5-per-class", [7, 8, 7])


def test_a_saved_split_can_be_trained_on(tmp_path):
    from graphmix import make_split, synthetic

    graph, _ = synthetic()
    make_split("10-per-class", graph, [4]).save(tmp_path / "mine.npz")
    answer = train("synthetic", *QUICK, "--split", "mine.npz", cwd=tmp_path)
    assert (answer["split"], answer["split_seeds"]) == ("10-per-class", [4])
    refused(graphmix("train", "synthetic", "--split", "none.npz", cwd=tmp_path), "none.npz")


@pytest.mark.parametrize(
    ("choices", "parts"),
    [
        (["--split", "300-per-class"], ["class 0", "250", "600"]),
        (["--split", "mine"], ["'mine'", "random", "benchmark", "5-per-class"]),
        (["--splits", "0"], ["splits", "at least 1", "0"]),
        (["--split", "5-per-class", "--split-seed", "-1"], ["seed", "-1"]),
        (["--backbone", "unet", "--pool-ratios", "1.5"], ["1.5"]),
        (["--backbone", "unet", "--pool-ratios", "0.5,0.5,0.5"], ["pool", "ratios"]),
        (["--backbone", "unet", "--pool-ratios", "half"], ["'half'"]),
        (["--method", "magic"], ["graphmix, supervised, fcn, self-training"]),
        (["--backbone", "custom"], ["custom", "model"]),
    ],
    ids=lambda value: " ".join(value),
)
def test_choices_that_cannot_be_get_one_sentence(choices, parts, tmp_path):
    refused(graphmix("train", "synthetic", *QUICK, *choices, cwd=tmp_path), *parts)
    assert not (tmp_path / "runs").exists()


def test_a_class_with_too_few_nodes_is_named(tmp_path):
    held = save(tmp_path / "mine.npz", y=np.array([2] + [0, 1] * 19 + [0]))
    refused(graphmix("train", held, *QUICK, "--split", "5-per-class", cwd=tmp_path), "class 2", " 1 ", " 10")


def test_signed_links_of_one_kind_only_are_refused(tmp_path):
    raw = tmp_path / "root" / "BitcoinAlpha" / "raw"
    raw.mkdir(parents=True)
    (raw / "soc-sign-bitcoinalpha.csv").write_text("1,2,5,100\n2,3,8,101\n")
    refused(graphmix("train", "bitcoin-alpha", "--data-root", "root", cwd=tmp_path), "negative")


@pytest.mark.data
def test_links_are_trained_like_nodes_and_judged_by_f1(tmp_path, data_root):
    arguments = ["bitcoin-alpha", "--trials", "2", "--epochs", "6", "--hidden", "8", "--device", "cpu"]
    answer = train(*arguments, cwd=tmp_path, GRAPHMIX_DATA=str(data_root))
    assert (answer["split"], answer["rarest_class"], answer["select_by"]) == ("random", "negative", "macro-f1")
    shown = graphmix(
        "train", *arguments, "--no-report", cwd=tmp_path, COLUMNS="140", GRAPHMIX_DATA=str(data_root)
    ).stdout
    # Ours, and the paper's number, which is of the same measure.
    assert shown.count("macro F1") == 2
    assert "rarer" in shown


def test_where_memory_is_short_the_run_is_in_mini_batches_and_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(devices, "fitting", lambda graph, config, device: replace(config, batch_nodes=50))
    result = graphmix("train", "synthetic", *QUICK, "--json", "--no-report", "--out", "run", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["batch_nodes"] == 50
    (line,) = [line for line in result.stderr.splitlines() if "memory" in line]
    assert "mini-batches of 50 nodes (--batch-nodes)" in line


@pytest.mark.parametrize(
    "choices",
    [
        ["--batch-nodes", "1"],
        ["--batch-nodes", "-5"],
        ["--batch-nodes", "9", "--batch-fanout", "0"],
        ["--batch-nodes", "9", "--backbone", "unet"],
        ["--batch-nodes", "9", "--method", "grand"],
    ],
    ids=lambda choices: " ".join(choices),
)
def test_mini_batches_that_cannot_be_are_refused(choices, tmp_path):
    refused(graphmix("train", "synthetic", *QUICK, *choices, "--out", "run", cwd=tmp_path), "--batch-")


def test_a_fanout_without_mini_batches_is_warned_of(tmp_path):
    result = graphmix(
        "train", "synthetic", *QUICK, "--gamma", "0", "--batch-fanout", "3", "--no-report", "--out", "run", cwd=tmp_path
    )
    assert result.returncode == 0
    assert "--batch-fanout has no effect" in result.stderr


def test_seeds_of_a_split_that_is_not_drawn_are_warned_of(tmp_path):
    graph, _ = synthetic(nodes=1000)
    make_split("5-per-class", graph, seeds=[0]).save(tmp_path / "saved.npz")
    command = ("train", "synthetic", *QUICK, "--method", "label-propagation", "--no-report", "--split-seed", "3")
    public = graphmix(*command, "--splits", "2", cwd=tmp_path)
    assert "--splits and --split-seed have no effect with the synthetic split\n" in public.stderr
    saved = graphmix(*command, "--split", "saved.npz", cwd=tmp_path)
    assert "--split-seed has no effect with the saved split\n" in saved.stderr
    assert "--split-seed" not in graphmix(*command, "--split", "random", cwd=tmp_path).stderr


def test_a_split_without_validation_nodes_needs_the_last_epoch(tmp_path):
    arguments = ("train", "synthetic", "--split", "1-per-class-no-validation", *QUICK, "--method", "supervised")
    result = graphmix(*arguments, cwd=tmp_path)
    assert result.returncode == 2
    assert "--select-by last" in result.stderr
    assert len(result.stderr.splitlines()) == 1
    kept = graphmix(*arguments, "--select-by", "last", "--ties", "last", cwd=tmp_path)
    assert kept.returncode == 0
    assert "--ties has no effect with the last epoch selected" in kept.stderr
    assert "nan" not in kept.stdout + kept.stderr

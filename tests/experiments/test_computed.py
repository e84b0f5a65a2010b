"""The versions in `COMPUTED` are true of the code, and of the records in results/."""

import copy
import json
from pathlib import Path

import pytest

from experiments import computed
from graphmix import data
from graphmix.experiments.versions import COMPUTED
from graphmix.results.describe import fingerprint

RESULTS = Path(__file__).parents[2] / "results"


@pytest.fixture(scope="module")
def stored():
    return computed.read()


@pytest.mark.parametrize("entry", COMPUTED)
def test_the_code_computes_what_its_version_says(entry, stored):
    said = computed.defect(entry, stored, computed.compute(entry), COMPUTED[entry])
    assert said is None, said


def test_every_entry_has_cases_and_numbers(stored):
    assert list(computed.CASES) == list(COMPUTED) == list(stored)
    for entry, cases in computed.CASES.items():
        assert list(stored[entry]["numbers"]) == list(cases)


# A little more or less of anything that training depends on.
@pytest.mark.parametrize(
    "change",
    [
        {"learning_rate": 0.101},
        {"weight_decay": 1e-3},
        {"input_dropout": 0.51},
        {"hidden": 7},
        {"alpha": 1.1},
        {"gamma": 1.05},
        {"temperature": 0.12},
        {"perturbations": 4},
        {"rampup_end": 5},
        {"rampup_before": 0.02},
        {"lambda_per": "batch"},
        {"unlabeled": "labeled"},
        {"fcn_loss": "binary-cross-entropy"},
        {"binarise": True},
        {"seed": 1},
        {"predictor": "fcn"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_small_change_of_training_is_seen(change, stored):
    before = stored["training"]["numbers"]["graphmix gcn"]
    assert list(computed.differences(before, computed.rounded(computed.run(**change))))


def test_changed_numbers_under_the_same_version_are_named_and_not_written(stored):
    now = {entry: copy.deepcopy(held["numbers"]) for entry, held in stored.items()}
    assert computed.written(stored, now, COMPUTED) == stored
    now["training"]["joint"]["loss"][0][2] *= 1.01
    version = COMPUTED["training"]
    said = computed.defect("training", stored, now["training"], version)
    assert 'raise COMPUTED["training"]' in said
    assert "joint/loss[0][2]" in said
    with pytest.raises(ValueError, match=r'raise COMPUTED\["training"\] first'):
        computed.written(stored, now, COMPUTED)
    # With the version raised they are written, and until then the test asks for it.
    raised = COMPUTED | {"training": version + 1}
    assert "--write" in computed.defect("training", stored, now["training"], version + 1)
    new = computed.written(stored, now, raised)
    assert new["training"] == {"version": version + 1, "numbers": now["training"]}
    assert new["data"] == stored["data"]
    with pytest.raises(ValueError, match="below"):
        computed.written(new, now, COMPUTED)


def test_a_case_may_be_added_but_not_removed_under_a_version(stored):
    now = {entry: dict(held["numbers"]) for entry, held in stored.items()}
    now["training"]["another"] = {"loss": [1.0]}
    assert computed.written(stored, now, COMPUTED)["training"]["numbers"]["another"] == {"loss": [1.0]}
    del now["training"]["joint"]
    with pytest.raises(ValueError, match="joint"):
        computed.written(stored, now, COMPUTED)


@pytest.mark.data
def test_the_datasets_are_those_of_the_records(data_root):
    held = {}
    for path in RESULTS.glob("*.json"):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            run = cell["run"] or {}
            if "data" in run:
                held.setdefault((run["dataset"], run["split"], tuple(run["split_seeds"] or ())), set()).add(run["data"])
    assert len(held) > 20
    for (dataset, split, seeds), hashes in held.items():
        graph, masks = data.load(dataset, split=split, seeds=seeds, data_root=data_root)
        assert hashes == {fingerprint(graph, masks)}, (
            f'{dataset}, {split}: not the graph and split of the records; if that is meant, raise COMPUTED["data"]'
        )

"""Problems and held-out predictions survive being packed, and are checked when they come back."""

import numpy as np
import pytest
import torch

from graphmix.errors import DataError
from graphmix.evaluation.heldout import HeldOut, pack_held, unpack_held
from graphmix.workflow.columns import Columns
from graphmix.workflow.problems import read_problem, stored_problem

NODES = "id,y,word,part\n" + "".join(f"n{n},{n % 2},k{n % 9},{('train', 'val', 'test')[n % 3]}\n" for n in range(18))
EDGES = "source,target,weight,sign\n" + "".join(f"n{n},n{n * 5 % 18},{n + 1},{'+-'[n % 2]}\n" for n in range(18))


def problem(folder, **chosen):
    (folder / "n.csv").write_text(NODES)
    (folder / "e.csv").write_text(EDGES)
    return read_problem(folder / "n.csv", folder / "e.csv", Columns(**chosen))


CHOICES = [
    {"label": "y"},
    {"label": "y", "split": "part"},
    {"label": "y", "ignore": ("word", "part")},
    {"link_label": "sign"},
    {"link_label": "sign", "ignore": ("weight", "word", "y", "part")},
]


@pytest.mark.parametrize("chosen", CHOICES)
def test_a_problem_comes_back(tmp_path, chosen):
    made = problem(tmp_path, **chosen)
    back = stored_problem(made.describe(), made.tensors(), made.encoders_json(), made.ids_json())
    assert type(back) is type(made)
    for name in vars(made).keys() - {"graph", "split", "notes", "uses", "user_x"}:
        assert getattr(back, name) == getattr(made, name), name
    assert (back.graph.num_classes, back.graph.class_names) == (made.graph.num_classes, made.graph.class_names)
    assert torch.equal(back.graph.y, made.graph.y)
    assert type(back.graph.x) is type(made.graph.x)
    dense = [
        x if isinstance(x, torch.Tensor) else torch.from_numpy(x.to_scipy().toarray())
        for x in (back.graph.x, made.graph.x)
    ]
    assert torch.equal(*dense)
    for one, other in zip(back.graph.structure.tensors, made.graph.structure.tensors, strict=True):
        assert torch.equal(one, other)
    if made.split is None:
        assert back.split is None
    else:
        assert torch.equal(back.split.test, made.split.test)
        assert back.split.name == made.split.name
    if getattr(made, "user_x", None) is not None:
        np.testing.assert_array_equal(back.user_x.toarray(), made.user_x.toarray())


@pytest.mark.parametrize(
    ("what", "value"),
    [
        ("task", "edges"),
        ("classes", "01"),
        ("classes", ["0", "0"]),
        ("classes", ["0", 1]),
        ("classes", ["0"]),
        ("name", 3),
        ("weight_scale", 0),
        ("weight_scale", float("nan")),
        ("weight_scale", "2"),
    ],
)
def test_a_description_is_checked(tmp_path, what, value):
    made = problem(tmp_path, label="y")
    told = made.describe() | {what: value}
    with pytest.raises((DataError, ValueError)):
        stored_problem(told, made.tensors(), made.encoders_json(), made.ids_json())


def change(tensor, value):
    changed = tensor.clone()
    changed.view(-1)[0] = value
    return changed


@pytest.mark.parametrize(
    ("chosen", "name", "value"),
    [
        (CHOICES[0], "y", 2),
        (CHOICES[0], "edges", 18),
        (CHOICES[0], "edges", -1),
        (CHOICES[0], "weights", float("nan")),
        (CHOICES[0], "x.col", 1000),
        (CHOICES[0], "x.crow", 3),
        (CHOICES[0], "x.values", float("inf")),
        (CHOICES[0], "x.shape", 5),
        (CHOICES[3], "ends", 18),
        (CHOICES[3], "ends", -1),
        (CHOICES[3], "users.col", -1),
    ],
)
def test_numbers_that_point_nowhere_are_refused(tmp_path, chosen, name, value):
    made = problem(tmp_path, **chosen)
    packed = made.tensors()
    packed[name] = change(packed[name], value)
    with pytest.raises((DataError, ValueError)):
        stored_problem(made.describe(), packed, made.encoders_json(), made.ids_json())


@pytest.mark.parametrize("ids", [["a"], ["n0"] * 18, list(range(18)), "n" * 18])
def test_ids_are_as_many_as_nodes_and_differ(tmp_path, ids):
    made = problem(tmp_path, label="y")
    with pytest.raises(ValueError, match="ids"):
        stored_problem(made.describe(), made.tensors(), made.encoders_json(), {"ids": ids})


def held():
    probabilities = np.array([[0.2, 0.8], [0.6, 0.4]])
    return HeldOut(np.array([3, 5]), np.array([1, 1]), probabilities, np.array([1.0, 0.5]))


def test_held_out_predictions_come_back():
    back = unpack_held(pack_held({"graphmix": held(), "graphmix-fcn": held()}), 2)
    assert set(back) == {"graphmix", "graphmix-fcn"}
    for name, values in vars(back["graphmix-fcn"]).items():
        np.testing.assert_array_equal(values, getattr(held(), name))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("labels", torch.tensor([1, 2])),
        ("labels", torch.tensor([1, -1])),
        ("labels", torch.tensor([1])),
        ("nodes", torch.tensor([3])),
        ("fcn.right", torch.tensor([1.0])),
        ("fcn.probabilities", torch.tensor([[float("nan"), 1.0], [0.5, 0.5]])),
        ("fcn.probabilities", torch.ones(2, 3)),
    ],
)
def test_held_out_predictions_are_checked(name, value):
    with pytest.raises(ValueError, match="held-out"):
        unpack_held(pack_held({"fcn": held()}) | {name: value}, 2)

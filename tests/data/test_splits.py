"""Rules that draw splits: how many of each class they take, and that a seed always draws the same."""

import hashlib

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from graphmix.data import DATASETS, Graph, Split, load, make_split, split_seeds, splits
from graphmix.errors import DataError

ROLES = ("train", "val", "test")


def labeled(*sizes, unknown=0, **options):
    """A graph without edges and with classes of these sizes, in a mixed order."""
    y = np.concatenate([np.full(size, label) for label, size in enumerate(sizes)] + [np.full(unknown, -1)])
    y = np.random.default_rng(0).permutation(y)
    return Graph.build(np.ones((len(y), 1)), [[], []], y, num_classes=len(sizes), name="toy", **options)


def per_class(graph, mask):
    return graph.y[mask].bincount(minlength=graph.num_classes).tolist()


@pytest.mark.parametrize(
    ("size", "train", "val"),
    [(2, 1, 1), (3, 1, 1), (5, 1, 1), (7, 1, 2), (10, 2, 3), (51, 10, 15), (99, 19, 29), (100, 20, 30), (101, 20, 30)],
)
def test_the_benchmark_takes_shares_of_small_classes(size, train, val):
    graph = labeled(150, size, unknown=7)
    split = make_split("benchmark", graph, seeds=[0, 1])
    for trial in range(2):
        assert per_class(graph, split.train[trial]) == [20, train]
        assert per_class(graph, split.val[trial]) == [30, val]
        assert per_class(graph, split.test[trial]) == [100, size - train - val]


@pytest.mark.parametrize("labels", [1, 5, 10, 12])
def test_so_many_per_class(labels):
    graph = labeled(24, 60, 25, unknown=3)
    split = make_split(f"{labels}-per-class", graph, seeds=range(3))
    assert (split.name, split.seeds, split.num_splits) == (f"{labels}-per-class", (0, 1, 2), 3)
    for trial in range(3):
        assert per_class(graph, split.train[trial]) == [labels] * 3
        assert per_class(graph, split.val[trial]) == [labels] * 3
        assert per_class(graph, split.test[trial]) == [size - 2 * labels for size in (24, 60, 25)]


@pytest.mark.parametrize(("validation", "val"), [("no", 0), ("1", 1), ("40", 40), ("100", 100)])
def test_so_many_per_class_with_validation_nodes_of_any_class(validation, val):
    graph = labeled(24, 60, 25, unknown=3)
    split = make_split(f"3-per-class-{validation}-validation", graph, seeds=range(3))
    for trial in range(3):
        assert per_class(graph, split.train[trial]) == [3] * 3
        assert int(split.val[trial].sum()) == val
        assert torch.equal((split.train | split.val | split.test)[trial], graph.y >= 0)
    # The training nodes do not depend on the validation nodes.
    assert torch.equal(split.train, make_split("3-per-class", graph, seeds=range(3)).train)


def test_validation_nodes_of_any_class_are_drawn_in_proportion():
    graph = labeled(30, 60, 30)
    many = make_split("10-per-class-45-validation", graph, seeds=range(300))
    shares = torch.tensor(per_class(graph, many.val.nonzero()[:, 1])) / 300
    assert shares.tolist() == pytest.approx([10, 25, 10], abs=0.5)


@pytest.mark.parametrize(("share", "train"), [("2", 16), ("2.5", 20), ("10", 80)])
def test_a_share_of_the_labels_has_all_classes(share, train):
    graph = labeled(400, 300, 100)
    split = make_split(f"{share}-percent", graph, seeds=range(50))
    val = (800 - train) // 10
    for mask, size in ((split.train, train), (split.val, val), (split.test, 800 - train - val)):
        assert (mask.sum(dim=1) == size).all()
    assert all(graph.y[mask].unique().tolist() == [0, 1, 2] for mask in split.train)
    assert not split.train[0].equal(split.train[1])


def test_a_share_is_drawn_again_until_all_classes_are_there():
    graph = labeled(970, 30)
    split = make_split("0.2-percent", graph, seeds=range(20))
    assert (split.train.sum(dim=1) == 2).all()
    assert all(graph.y[mask].unique().tolist() == [0, 1] for mask in split.train)
    # The draws do not settle on a few nodes of the rare class.
    assert len({int((mask & (graph.y == 1)).nonzero()[0, 0]) for mask in split.train}) > 5


def test_random_takes_sizes_or_those_of_the_public_split():
    graph = labeled(30, 20, unknown=10)
    split = make_split("random", graph, seeds=[4], sizes=(7, 11, 13))
    assert [int(getattr(split, role).sum()) for role in ROLES] == [7, 11, 13]
    like = make_split("random", graph, seeds=[4], public=split)
    assert torch.equal(like.test, split.test)
    # All labeled nodes may be used, and no other.
    whole = make_split("random", graph, seeds=[0], sizes=(1, 1, 48))
    assert torch.equal((whole.train | whole.val | whole.test)[0], graph.y >= 0)


def test_balanced_trains_on_equally_many_of_each_class():
    graph = labeled(30, 20, 50, unknown=10)
    split = make_split("balanced", graph, seeds=range(4), sizes=(12, 11, 70))
    for trial in range(4):
        assert per_class(graph, split.train[trial]) == [4, 4, 4]
        assert [int(getattr(split, role)[trial].sum()) for role in ROLES] == [12, 11, 70]
        assert (split.train.int() + split.val.int() + split.test.int()).max() == 1
        assert (graph.y[(split.train | split.val | split.test)[trial]] >= 0).all()
    # Validation nodes are of any class: over many draws in proportion to what is left, 26 : 16 : 46.
    many = make_split("balanced", graph, seeds=range(300), sizes=(12, 44, 10))
    shares = torch.tensor(per_class(graph, many.val.nonzero()[:, 1])) / 300
    assert shares.tolist() == pytest.approx([13, 8, 23], abs=0.5)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ((10, 5, 5), "10 training nodes cannot be divided equally among 3 classes"),
        ((63, 5, 5), "has 20 labeled nodes, but the split balanced needs 21"),
    ],
)
def test_balanced_says_what_it_cannot_do(sizes, message):
    with pytest.raises(DataError, match=message):
        make_split("balanced", labeled(30, 20, 50), seeds=[0], sizes=sizes)


@pytest.mark.data
@pytest.mark.parametrize("name", ["cora", "citeseer", "pubmed"])
def test_random_splits_of_citations_have_the_public_sizes(data_root, name):
    graph, public = load(name, data_root=data_root)
    split = load(name, split="random", seeds=[0, 1], data_root=data_root).split
    for role in ROLES:
        assert getattr(split, role).sum(dim=1).tolist() == 2 * getattr(public, role).sum(dim=1).tolist()
        assert (graph.y[getattr(split, role).any(dim=0)] >= 0).all()


@pytest.mark.data
@pytest.mark.parametrize("labels", [5, 10])
@pytest.mark.parametrize("name", ["citeseer", "coauthor-cs", "bitcoin-alpha"])
def test_few_labels_of_real_classes(data_root, name, labels):
    graph, split = load(name, split=f"{labels}-per-class", seeds=[0, 5], data_root=data_root)
    sizes = np.array(graph.y[graph.y >= 0].bincount().tolist())
    for trial in range(2):
        assert per_class(graph, split.train[trial]) == [labels] * graph.num_classes
        assert per_class(graph, split.val[trial]) == [labels] * graph.num_classes
        assert per_class(graph, split.test[trial]) == (sizes - 2 * labels).tolist()


rules = st.sampled_from(["benchmark", "2-per-class", "5-per-class", "random"])
seed_lists = st.lists(st.integers(0, 2**63 - 1), min_size=1, max_size=4)


@given(rules, seed_lists, st.lists(st.integers(10, 130), min_size=1, max_size=4), st.integers(0, 20))
def test_masks_are_disjoint_labeled_and_each_depends_on_its_seed_alone(rule, seeds, sizes, unknown):
    graph = labeled(*sizes, unknown=unknown)
    split = make_split(rule, graph, seeds, sizes=(3, 4, 3))
    masks = torch.stack([getattr(split, role) for role in ROLES])
    assert masks.sum(dim=0).max() == 1
    assert not masks.any(dim=0)[:, graph.y == -1].any()
    if rule != "random":
        assert masks.any(dim=0)[:, graph.y >= 0].all()
    for place, seed in enumerate(seeds):
        alone = make_split(rule, graph, [seed], sizes=(3, 4, 3))
        for role in ROLES:
            assert torch.equal(getattr(alone, role)[0], getattr(split, role)[place])


def test_seeds_and_rules_draw_differently_and_edges_and_features_do_not_matter():
    graph = labeled(200, 200)
    split = make_split("20-per-class", graph, seeds=range(20))
    assert len({tuple(mask.tolist()) for mask in split.train}) == 20
    # Both rules train on 20 nodes of each class.
    assert not torch.equal(make_split("benchmark", graph, seeds=[0]).train, split.train[:1])
    other = Graph.build(np.ones((400, 3)), [[0, 5], [1, 7]], graph.y, name="other")
    assert torch.equal(make_split("20-per-class", other, seeds=[3]).train, split.train[3:4])


def test_a_split_is_drawn_as_written_down():
    # The draw in plain words, on two nodes: the smaller key of PCG64 is trained on.
    graph = labeled(2)
    rule = int.from_bytes(hashlib.sha256(b"1-per-class").digest()[:8], "little")
    for seed in range(8):
        first, second = np.random.PCG64(np.random.SeedSequence((rule, seed))).random_raw(2)
        assert make_split("1-per-class", graph, [seed]).train.tolist() == [[first < second, second < first]]


def test_every_node_is_as_likely_as_another():
    graph = labeled(10, 30)
    share = make_split("2-per-class", graph, seeds=range(2000)).train.float().mean(dim=0)
    for label, size in enumerate((10, 30)):
        expected = 2 / size
        # Five standard deviations.
        room = 5 * (expected * (1 - expected) / 2000) ** 0.5
        assert (share[graph.y == label] - expected).abs().max() < room


def test_a_seed_that_is_repeated_is_drawn_once(monkeypatch):
    graph, drawn, draw = labeled(*[200] * 5), [], splits._masks
    monkeypatch.setattr(splits, "_masks", lambda *given: drawn.append(given[-1]) or draw(*given))
    split = make_split("benchmark", graph, seeds=[trial % 10 for trial in range(100)])
    assert drawn == list(range(10))
    assert torch.equal(split.train[3], split.train[93])
    assert split.seeds == tuple(range(10)) * 10


def test_public_is_what_comes_with_the_data_whatever_the_seeds():
    graph = labeled(3, 3)
    public = Split.build([True] + [False] * 5, [False, True] + [False] * 4, [False] * 6, name="public")
    assert make_split("public", graph, seeds=[5, 6, 7], public=public) is public


def test_the_public_labels_are_drawn_again_and_its_test_nodes_stay():
    graph = labeled(20, 12)
    masks = [np.zeros(32, dtype=bool) for _ in ROLES]
    classes = [np.flatnonzero(graph.y.numpy() == label) for label in (0, 1)]
    for label, (train, val) in enumerate([(3, 6), (2, 4)]):
        masks[0][classes[label][:train]] = True
        masks[1][classes[label][train : train + val]] = True
        masks[2][classes[label][-5:]] = True
    public = Split.build(*masks, name="public")
    drawn = make_split("public-redrawn", graph, seeds=range(40), public=public)
    pool = torch.from_numpy(masks[0] | masks[1])
    for train, val, test in zip(drawn.train, drawn.val, drawn.test, strict=True):
        assert per_class(graph, train) == [3, 2]
        assert per_class(graph, val) == [6, 4]
        assert torch.equal(train | val, pool)
        assert torch.equal(test, public.test[0])
    # Every node is trained on in some draw, and judged by in another.
    assert torch.equal(drawn.train.any(dim=0), pool)
    assert torch.equal(drawn.val.any(dim=0), pool)


NAMED = {"class_names": ("plain", "rare")}
WRONG = [
    ("5-per-class", labeled(20, 9), {}, "class 1 of toy has 9 labeled nodes, but the split 5-per-class needs 10"),
    ("10-per-class", labeled(20, 9, **NAMED), {}, "class 'rare' of toy has 9 labeled nodes, .* needs 20; choose"),
    ("benchmark", labeled(20, 1, **NAMED), {}, "class 'rare' of toy has 1 labeled nodes, .* benchmark needs 2"),
    ("benchmark", labeled(20, 0), {}, "class 1 of toy has 0 labeled nodes, but the split benchmark needs 2"),
    ("random", labeled(5, 5, unknown=9), {"sizes": (5, 5, 1)}, r"of \(5, 5, 1\) needs 11 labeled nodes; toy has 10"),
    (
        "random",
        labeled(5, 5),
        {},
        r"toy has no public split to take sizes from; choose .* benchmark, K-per-class or R-percent",
    ),
    ("random", labeled(5, 5), {"sizes": (0, 5, 1)}, r"needs training and validation nodes, but .* \(0, 5, 1\)"),
    ("public-redrawn", labeled(5, 5), {}, "toy has no public split to draw again; choose another split"),
    ("public", labeled(5, 5), {}, "toy has no public split; choose one of random, balanced, benchmark"),
    (
        "0-per-class",
        labeled(5, 5),
        {},
        "`split` must be one of public, random, balanced, .*, not '0-per-class'",
    ),
    ("per-class", labeled(5, 5), {}, "`split` must be one of .*, not 'per-class'"),
    ("0-per-class-no-validation", labeled(5, 5), {}, "`split` must be one of .*, not '0-per-class-no-validation'"),
    ("1-per-class-0-validation", labeled(5, 5), {}, "`split` must be one of .*, not '1-per-class-0-validation'"),
    ("1-per-class-9-validation", labeled(5, 5), {}, "1-per-class-9-validation of toy leaves 8 nodes to select by"),
    ("6-per-class-no-validation", labeled(9, 5), {}, "class 1 of toy has 5 labeled nodes, but the .* needs 6"),
    ("0-percent", labeled(5, 5), {}, "`split` must be one of .*, not '0-percent'"),
    ("100-percent", labeled(5, 5), {}, "`split` must be one of .*, not '100-percent'"),
    ("1-percent", labeled(50, 50), {}, "has 1 training and 9 validation nodes of 100 labeled ones, .* 2 classes"),
    ("5-per-class\n", labeled(50, 50), {}, "`split` must be one of"),
    ("1-per-class", labeled(5, 5), {"seeds": []}, "a split needs at least one seed"),
    ("1-per-class", labeled(5, 5), {"seeds": 3}, "`seeds` must be a list with a seed for each split, not 3"),
    ("random", labeled(5, 5), {"sizes": 4}, "`sizes` must be the numbers of training, .*, not 4"),
    ("1-per-class", labeled(5, 5), {"seeds": [0, -1]}, "a whole number of at least 0, not -1"),
    ("1-per-class", labeled(5, 5), {"seeds": [0.5]}, "a whole number of at least 0, not 0.5"),
]


@pytest.mark.parametrize(("rule", "graph", "options", "message"), WRONG, ids=[wrong[-1] for wrong in WRONG])
def test_what_cannot_be_split_is_named(rule, graph, options, message):
    with pytest.raises(DataError, match=message) as caught:
        make_split(rule, graph, **({"seeds": [0]} | options))
    assert "\n" not in str(caught.value)


def test_trials_take_splits_in_turn():
    assert split_seeds(3) == [0, 1, 2]
    assert split_seeds(12) == [*range(10), 0, 1]
    assert split_seeds(5, splits=2, first=7) == [7, 8, 7, 8, 7]
    with pytest.raises(DataError, match="`splits` must be at least 1, not 0"):
        split_seeds(5, splits=0)


def test_every_dataset_names_a_rule_that_there_is():
    graph = labeled(2000, 2000)
    for info in DATASETS.values():
        if info.split != "public":
            assert make_split(info.split, graph, [0], sizes=info.sizes and (5, 5, 5)).name == info.split

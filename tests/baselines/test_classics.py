"""What holds of every classic: manifold regularisation, iterative classification, embeddings."""

import pytest
import torch

from graphmix import Graph, Split, make_split, synthetic
from graphmix.baselines import BASELINES, judge
from graphmix.baselines.judge import TRAINED

pytestmark = pytest.mark.usefixtures("quick_classics")
NAMES = ["manireg", "ica", "semiemb", "planetoid", "planetoid-inductive"]


@pytest.fixture(scope="module")
def data():
    graph, _ = synthetic(nodes=150, classes=3, features=80, topic=0.5, seed=3)
    return graph, make_split("balanced", graph, [0, 1], sizes=(12, 30, 60))


@pytest.mark.parametrize("name", NAMES)
def test_rows_are_probabilities_and_better_than_chance(name, data):
    graph, split = data
    probabilities = BASELINES[name](graph, split, [0, 1], None)
    assert probabilities.shape == (2, graph.num_nodes, 3)
    assert probabilities.dtype == torch.float32
    torch.testing.assert_close(probabilities.sum(dim=2), torch.ones(2, graph.num_nodes))
    assert judge(name, graph, split, trials=2).test_accuracy.mean > 50


@pytest.mark.parametrize("name", NAMES)
def test_a_trial_in_a_batch_equals_the_trial_alone(name, data):
    graph, split = data
    both = BASELINES[name](graph, split, [7, 8], None)
    for trial in range(2):
        own = Split.build(*(mask[trial] for mask in (split.train, split.val, split.test)))
        assert torch.equal(both[trial], BASELINES[name](graph, own, [7 + trial], None)[0])


@pytest.mark.parametrize("name", NAMES)
def test_the_number_of_threads_changes_nothing(name, data):
    graph, split = data
    threads = torch.get_num_threads()
    results = []
    try:
        for number in (1, 2):
            torch.set_num_threads(number)
            results.append(BASELINES[name](graph, split, [7, 8], None))
    finally:
        torch.set_num_threads(threads)
    assert torch.equal(*results)


@pytest.mark.parametrize("name", NAMES)
def test_labels_of_test_nodes_are_not_used(name, data):
    graph, split = data
    one = Split.build(split.train[0], split.val[0], split.test[0])
    known = one.train[0] | one.val[0]
    masked = Graph.build(graph.x, graph.edge_index, torch.where(known, graph.y, -1), 3, normalise=False)
    assert torch.equal(BASELINES[name](graph, one, [5], None), BASELINES[name](masked, one, [5], None))


@pytest.mark.parametrize("name", NAMES)
def test_a_class_without_labels_and_dense_features_do_no_harm(name, data):
    graph, split = data
    train = split.train[0] & (graph.y != 2)
    one = Split.build(train, split.val[0], split.test[0])
    dense = Graph.build(graph.x.to_dense(), graph.edge_index, graph.y, 3, normalise=False)
    probabilities = BASELINES[name](dense, one, [0], None)
    assert probabilities.isfinite().all()
    assert ((probabilities[0].argmax(1) == 2).float().mean()) < 0.2


@pytest.mark.gpu
@pytest.mark.parametrize("name", TRAINED)
def test_on_cuda_a_trial_in_a_batch_equals_the_trial_alone(name, data):
    graph, split = data[0].to("cuda"), data[1]
    both = BASELINES[name](graph, split, [7, 8], None)
    own = Split.build(*(mask[1] for mask in (split.train, split.val, split.test)))
    torch.testing.assert_close(both[1], BASELINES[name](graph, own, [8], None)[0], atol=1e-3, rtol=0)
    assert judge(name, data[0], split, trials=2, device="cuda").device.startswith("cuda")

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from graphmix.data import Graph
from graphmix.errors import ConfigError
from graphmix.models import GraphUNet
from graphmix.models.pooling import choose, finest
from graphmix.models.unet import score, share
from graphmix.streams import Noise, Purpose, Streams

NODES, FEATURES, HIDDEN, CLASSES = 23, 9, 16, 3


def random_graph(seed, nodes=NODES, lonely=3):
    """Dense features, and a few nodes without neighbours."""
    rng = np.random.default_rng(seed)
    edges = rng.integers(0, nodes - lonely, (2, 2 * nodes))
    x = rng.normal(size=(nodes, FEATURES)).astype(np.float32)
    return Graph.build(x, edges, rng.integers(0, CLASSES, nodes), CLASSES, normalise=False)


def create(trials=2, **options):
    model = GraphUNet.create(Streams.from_seeds(range(trials)), (FEATURES, HIDDEN, CLASSES), **options)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for name, weight in model.weights.items():
            if name.endswith("bias"):
                weight.copy_(torch.randn(weight.shape, generator=generator))
    return model


def random_scores(seed, trials=2, nodes=NODES):
    return torch.randn(trials, nodes, generator=torch.Generator().manual_seed(seed))


def adjacency(graph):
    dense = torch.zeros(graph.num_nodes, graph.num_nodes)
    dense[tuple(graph.edge_index)] = 1
    return dense


def pool_densely(weights, kept):
    """Pool a weighted graph as the paper writes it: the two-step graph, its diagonal removed, between kept nodes."""
    loops = weights + torch.eye(len(weights))
    paths = (loops @ loops).fill_diagonal_(0)
    return paths[kept][:, kept]


def normalise_densely(weights):
    twice = weights + 2 * torch.eye(len(weights))
    scale = twice.sum(1).rsqrt()
    return scale[:, None] * twice * scale


def test_pooling_a_path_by_hand():
    graph = Graph.build(np.ones((3, 1)), [[0, 1], [1, 2]], [0, 0, 0])
    pooled = finest(graph).pool(torch.tensor([[5.0, 1.0, 3.0]]), 2)
    # The ends of the path are joined by one path of two steps, so their degree is 1 + 2.
    assert pooled.mask[0, :, 0].tolist() == [1, 0, 1]
    values = torch.tensor([[[1.0], [100.0], [7.0]]])
    assert_close(pooled.aggregate(values), torch.tensor([[[(2 * 1 + 7) / 3], [0.0], [(2 * 7 + 1) / 3]]]))


def test_equal_scores_are_kept_together():
    scores = torch.tensor([[1.0, 0.0, 0.0, -1.0], [3.0, 2.0, 1.0, 0.0]])
    assert choose(scores, 2)[..., 0].tolist() == [[1, 1, 1, 0], [1, 1, 0, 0]]


def test_a_second_pooling_chooses_among_the_nodes_of_the_first():
    place = finest(random_graph(1)).pool(random_scores(1), 10)
    again = place.pool(random_scores(2), 5)
    assert again.mask.sum(1).flatten().tolist() == [5, 5]
    assert (again.mask <= place.mask).all()
    best = random_scores(2).masked_fill(place.mask[..., 0] == 0, -9).argsort(descending=True)[:, :5]
    assert again.mask[..., 0].gather(1, best).all()


def test_a_third_pooling_is_refused():
    twice = finest(random_graph(1)).pool(random_scores(1), 10).pool(random_scores(2), 5)
    with pytest.raises(ConfigError, match="pooled at most twice"):
        twice.pool(random_scores(3), 2)


@settings(deadline=None, max_examples=40)
@given(
    seed=st.integers(0, 10_000),
    nodes=st.integers(5, 30),
    ratios=st.lists(st.sampled_from([0.2, 0.5, 0.9, 1.0]), min_size=1, max_size=2),
)
def test_masked_graphs_equal_pooled_graphs_built_for_each_trial(seed, nodes, ratios):
    graph = random_graph(seed, nodes)
    place, trials = finest(graph), 3
    explicit = [(adjacency(graph), torch.arange(nodes))] * trials
    count = nodes
    for level, ratio in enumerate(ratios):
        count = share(ratio, count)
        scores = random_scores(seed + level, trials, nodes)
        place = place.pool(scores, count)
        for trial, (weights, nodes_left) in enumerate(explicit):
            kept = scores[trial, nodes_left].topk(count).indices
            explicit[trial] = pool_densely(weights, kept), nodes_left[kept]
    values = torch.randn(trials, nodes, 4, generator=torch.Generator().manual_seed(seed), requires_grad=True)
    result = place.aggregate(values)
    upstream = torch.randn(result.shape, generator=torch.Generator().manual_seed(seed + 1))
    result.backward(upstream)
    for trial, (weights, kept) in enumerate(explicit):
        matrix = torch.zeros(nodes, nodes)
        matrix[kept[:, None], kept] = normalise_densely(weights)
        assert_close(result[trial], matrix @ values[trial], rtol=1e-4, atol=1e-5)
        assert_close(values.grad[trial], matrix.T @ upstream[trial], rtol=1e-4, atol=1e-5)


def test_gated_pooling_against_pyg_values_and_gradients():
    nn = pytest.importorskip("torch_geometric.nn")
    graph = random_graph(2)
    states = torch.randn(2, NODES, HIDDEN, requires_grad=True)
    vectors = torch.randn(2, HIDDEN, requires_grad=True)
    upstream = torch.randn(2, NODES, HIDDEN)
    scores = score(states, vectors)
    mask = finest(graph).pool(scores.detach(), share(0.6, NODES)).mask
    gated = mask * states * scores.tanh()[..., None]
    gated.backward(upstream)
    for trial in range(2):
        pool = nn.TopKPooling(HIDDEN, ratio=0.6)
        pool.select.weight.data = vectors[trial : trial + 1].detach().clone()
        x = states[trial].detach().clone().requires_grad_()
        theirs, _, _, _, kept, _ = pool(x, graph.edge_index)
        assert mask[trial].flatten().nonzero().flatten().tolist() == sorted(kept.tolist())
        assert_close(gated[trial, kept], theirs)
        theirs.backward(upstream[trial, kept])
        assert_close(states.grad[trial], x.grad)
        assert_close(vectors.grad[trial], pool.select.weight.grad[0], rtol=1e-4, atol=1e-5)


def copy_into_pyg(theirs, model, trial):
    """Give PyG's network a trial's weights, and return its parameters by our names."""
    depth = len(model.pool_ratios)
    layers = {f"down{level}": layer for level, layer in enumerate(theirs.down_convs)}
    layers |= {f"up{depth - 1 - place}": layer for place, layer in enumerate(theirs.up_convs)}
    parameters = {}
    for name, layer in layers.items():
        layer.lin.weight.data = model.weights[f"{name}.weight"][trial].detach().T.clone()
        parameters[f"{name}.weight"] = layer.lin.weight
        layer.bias.data.zero_()
        if f"{name}.bias" in model.weights:
            layer.bias.data = model.weights[f"{name}.bias"][trial, 0].detach().clone()
            parameters[f"{name}.bias"] = layer.bias
    for level, pool in enumerate(theirs.pools, 1):
        pool.select.weight.data = model.weights[f"pool{level}.weight"][trial : trial + 1].detach().clone()
        parameters[f"pool{level}.weight"] = pool.select.weight
    return parameters


# PyG squares the adjacency matrix as a torch CSR tensor, of which torch warns in several ways.
@pytest.mark.filterwarnings("ignore:Sparse")
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("ratios", [(0.6,), (0.8, 0.5)])
@pytest.mark.parametrize("seed", range(3))
def test_the_network_against_pyg_values_and_gradients(seed, ratios, bias):
    models = pytest.importorskip("torch_geometric.nn.models")
    graph = random_graph(seed)
    model = create(bias=bias, pool_ratios=ratios)
    upstream = torch.randn(2, NODES, CLASSES)
    logits = model(graph.x, graph)
    logits.backward(upstream)
    for trial in range(2):
        theirs = models.GraphUNet(FEATURES, HIDDEN, CLASSES, len(ratios), list(ratios))
        parameters = copy_into_pyg(theirs, model, trial)
        result = theirs(graph.x, graph.edge_index)
        assert_close(logits[trial], result, rtol=1e-4, atol=1e-4)
        result.backward(upstream[trial])
        assert set(parameters) == set(model.weights)
        for name, parameter in parameters.items():
            expected = parameter.grad.T if name.endswith("weight") and "pool" not in name else parameter.grad
            ours = model.weights[name].grad[trial].reshape(expected.shape)
            assert_close(ours, expected, rtol=1e-3, atol=1e-4, msg=lambda text, name=name: f"{name}: {text}")


def test_the_null_graph_written_out():
    graph = random_graph(3)
    model = create(bias=True)
    logits = model(graph.x, graph.null())
    for trial in range(2):
        weights = {name: weight[trial] for name, weight in model.weights.items()}

        def layer(name, state, weights=weights):
            return state @ weights[f"{name}.weight"] + weights[f"{name}.bias"]

        def gate(name, state, weights=weights):
            vector = weights[f"{name}.weight"]
            return state * torch.tanh(state @ vector / vector.norm())[:, None]

        fine = layer("down0", graph.x).relu()
        middle = layer("down1", gate("pool1", fine)).relu()
        coarse = layer("down2", gate("pool2", middle)).relu()
        up = layer("up1", middle + coarse).relu()
        assert_close(logits[trial], layer("up0", fine + up), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("null", [False, True])
def test_a_batch_equals_each_trial_alone_bit_for_bit(null):
    graph = random_graph(4)
    place = graph.null() if null else graph
    batch = create(trials=3, hidden_dropout=0.3)
    streams = Streams.from_seeds(range(3))
    logits = batch(graph.x, place, streams.at(Purpose.GNN_DROPOUT, 7))
    logits.square().sum().backward()
    for trial in range(3):
        alone = GraphUNet.create(Streams.from_seeds([trial]), (FEATURES, HIDDEN, CLASSES), hidden_dropout=0.3)
        own = alone(graph.x, place, Streams.from_seeds([trial]).at(Purpose.GNN_DROPOUT, 7))
        own.square().sum().backward()
        assert torch.equal(logits[trial], own[0])
        for name, weight in alone.weights.items():
            assert torch.equal(batch.weights[name].grad[trial], weight.grad[0]), name


def test_the_halves_are_the_whole_with_dropout_too():
    graph = random_graph(5)
    model = create(hidden_dropout=0.5)
    streams = Streams.from_seeds(range(2))
    whole = model(graph.x, graph, streams.at(Purpose.GNN_DROPOUT))
    noise = streams.at(Purpose.GNN_DROPOUT)
    assert torch.equal(model.decode(model.encode(graph.x, graph, noise), graph, noise), whole)


@pytest.mark.parametrize("rate", [0.0, 0.5])
def test_each_copy_is_a_pass_of_its_own(rate):
    graph = random_graph(6)
    model = create(input_dropout=rate, hidden_dropout=0.2, bias=True)
    keys = Streams.from_seeds(range(2)).copies(0, 3).keys
    together = model(graph.x, graph, Noise(keys, Purpose.TARGET_DROPOUT, 0))
    assert together.shape == (6, NODES, CLASSES)
    for copy in range(3):
        single = model(graph.x, graph, Noise(keys[copy::3], Purpose.TARGET_DROPOUT, 0))
        assert_close(together[copy::3], single, rtol=1e-4, atol=1e-5)
    assert not torch.equal(together[0], together[1])


def test_features_of_zeros_only_are_no_error():
    graph = random_graph(7).with_x(torch.zeros(NODES, FEATURES))
    model = create()
    logits = model(graph.x, graph)
    logits.sum().backward()
    assert torch.equal(logits, torch.zeros_like(logits))
    assert all(weight.grad.isfinite().all() for weight in model.parameters())


def test_every_weight_gets_a_gradient_on_both_graphs():
    graph = random_graph(8)
    for place in (graph, graph.null()):
        model = create(bias=True)
        model(graph.x, place).square().sum().backward()
        for name, weight in model.weights.items():
            assert weight.grad.abs().sum() > 0, name


def test_initial_weights_depend_on_the_seed_alone():
    batch, alone = create(trials=3), GraphUNet.create(Streams.from_seeds([2]), (FEATURES, HIDDEN, CLASSES))
    for name, weight in alone.weights.items():
        assert torch.equal(batch.weights[name][2], weight[0]), name
    vectors = GraphUNet.create(Streams.from_seeds(range(200)), (1, HIDDEN, 1)).weights["pool2.weight"]
    assert vectors.shape == (200, HIDDEN)
    assert vectors.abs().max() <= 0.25  # 1/sqrt(16)
    assert vectors.std().item() == pytest.approx(0.25 / 3**0.5, rel=0.05)


def test_shares_are_rounded_up_as_written():
    assert share(0.5, 5) == 3
    assert share(0.07, 100) == 7
    assert share(1.0, 9) == 9
    assert share(0.001, 9) == 1


def test_a_list_of_ratios_becomes_a_tuple():
    assert create(pool_ratios=[1, 0.5]).pool_ratios == (1.0, 0.5)


@pytest.mark.parametrize("ratios", [(), (0.5, 0.5, 0.5), 0.5, "ab", None])
def test_other_than_one_or_two_ratios_are_refused(ratios):
    with pytest.raises(ConfigError, match="one or two ratios"):
        create(pool_ratios=ratios)


@pytest.mark.parametrize("ratio", [0, 0.0, -0.5, 1.5, float("nan"), "half", None, True])
def test_a_ratio_out_of_range_is_refused(ratio):
    with pytest.raises(ConfigError, match="above 0 and at most 1"):
        create(pool_ratios=(0.5, ratio))

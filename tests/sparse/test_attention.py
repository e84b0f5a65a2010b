import math

import numpy as np
import pytest
import scipy.sparse as sp
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from graphmix.sparse import Neighbours, SparseMatrix, attend
from graphmix.sparse.ops import unpack
from graphmix.streams import Purpose, Streams

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]
SLOPE = 0.2


def random_neighbours(nodes, density, seed, device="cpu"):
    # Not symmetric: a mix-up of rows and columns shows.
    links = sp.random(nodes, nodes, density=density, format="csr", random_state=seed)
    return Neighbours(SparseMatrix.from_scipy(links + sp.eye_array(nodes)).to(device))


def random_inputs(blocks, nodes, heads, width, seed=0, device="cpu", dtype=torch.float32):
    generator = torch.Generator().manual_seed(seed)
    shapes = (blocks, nodes, heads), (blocks, nodes, heads), (blocks, nodes, heads, width)
    return [torch.randn(shape, generator=generator, dtype=dtype).to(device).requires_grad_() for shape in shapes]


def draw_keep(neighbours, heads, rate, seeds, device="cpu"):
    if rate == 0:
        return None
    return Streams.from_seeds(seeds, device).at(Purpose.GNN_DROPOUT).keep(neighbours.matrix.nonzeros * heads, rate)


def written_out(neighbours, source, target, values, keep=None):
    """The formula over all pairs of nodes, with the same dropout bits."""
    csr = neighbours.matrix.to_scipy()
    row, col = np.repeat(np.arange(csr.shape[0]), np.diff(csr.indptr)), csr.indices
    linked = torch.zeros(csr.shape, dtype=torch.bool, device=values.device)
    linked[row, col] = True
    score = F.leaky_relu(target[:, :, None] + source[:, None], SLOPE)
    weight = score.masked_fill(~linked[..., None], -torch.inf).softmax(dim=2)
    if keep is not None:
        blocks, _, heads = source.shape
        factor = torch.zeros_like(weight)
        factor[:, row, col] = unpack(keep.words, len(row) * heads).view(blocks, len(row), heads) * keep.scale
        weight = weight * factor
    return torch.einsum("bijh,bjhw->bihw", weight, values)


def test_two_nodes_by_hand():
    # Node 0 attends to both, node 1 to itself. Its scores are 0 and log 3: weights 1/4 and 3/4.
    neighbours = Neighbours(SparseMatrix.from_scipy(sp.csr_array([[1.0, 1.0], [0.0, 1.0]])))
    values = torch.tensor([[1.0, 0.0], [5.0, 4.0]])[None, :, None]
    target = torch.zeros(1, 2, 1)
    source = torch.tensor([0.0, math.log(3)]).view(1, 2, 1)
    assert_close(attend(neighbours, source, target, values, SLOPE)[0, :, 0], torch.tensor([[4.0, 3.0], [5.0, 4.0]]))
    # Below zero LeakyReLU takes a fifth: 0 and -log 3, weights 3/4 and 1/4.
    source = torch.tensor([0.0, -5 * math.log(3)]).view(1, 2, 1)
    assert_close(attend(neighbours, source, target, values, SLOPE)[0, :, 0], torch.tensor([[2.0, 1.0], [5.0, 4.0]]))


@pytest.mark.parametrize("device", DEVICES)
@settings(deadline=None, max_examples=30)
@given(
    nodes=st.integers(1, 25),
    density=st.floats(0, 0.6),
    blocks=st.integers(1, 4),
    heads=st.integers(1, 9),
    width=st.sampled_from([1, 3, 8, 17, 70]),
    rate=st.sampled_from([0, 0.3, 0.5]),
    seed=st.integers(0, 10_000),
)
def test_values_and_gradients_equal_the_formula(device, nodes, density, blocks, heads, width, rate, seed):
    neighbours = random_neighbours(nodes, density, seed, device)
    inputs = random_inputs(blocks, nodes, heads, width, seed, device)
    keep = draw_keep(neighbours, heads, rate, range(seed, seed + blocks), device)
    upstream = torch.randn(blocks, nodes, heads, width, generator=torch.Generator().manual_seed(seed)).to(device)
    got, expected = attend(neighbours, *inputs, SLOPE, keep), written_out(neighbours, *inputs, keep)
    assert_close(got, expected, rtol=1e-4, atol=1e-4)
    gradients = torch.autograd.grad(got, inputs, upstream), torch.autograd.grad(expected, inputs, upstream)
    for ours, theirs in zip(*gradients, strict=True):
        assert_close(ours, theirs, rtol=1e-4, atol=2e-4)


@pytest.mark.parametrize("rate", [0, 0.5])
def test_gradients_in_double_precision(rate):
    neighbours = random_neighbours(6, 0.4, 0)
    inputs = random_inputs(2, 6, 3, 2, dtype=torch.float64)
    keep = draw_keep(neighbours, 3, rate, range(2))
    assert torch.autograd.gradcheck(lambda *given: attend(neighbours, *given, SLOPE, keep), inputs)


@pytest.mark.parametrize("device", DEVICES)
def test_a_block_does_not_depend_on_the_batch(device):
    neighbours = random_neighbours(50, 0.1, 1, device)
    inputs = random_inputs(8, 50, 4, 6, device=device)
    upstream = torch.randn(8, 50, 4, 6, device=device)
    out = attend(neighbours, *inputs, SLOPE, draw_keep(neighbours, 4, 0.5, range(8), device))
    gradients = torch.autograd.grad(out, inputs, upstream)
    alone = [given[5:6].detach().requires_grad_() for given in inputs]
    single = attend(neighbours, *alone, SLOPE, draw_keep(neighbours, 4, 0.5, [5], device))
    assert torch.equal(out[5], single[0])
    for together, own in zip(gradients, torch.autograd.grad(single, alone, upstream[5:6]), strict=True):
        assert torch.equal(together[5], own[0])


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("size", [1e2, 1e4, 1e30])
def test_huge_scores_stay_numbers(device, size):
    neighbours = random_neighbours(30, 0.2, 2, device)
    source, target, values = (given.detach() for given in random_inputs(2, 30, 3, 4, device=device))
    source, target = source * size, target * size
    # Far below the others everywhere: a maximum over all nodes would leave this neighbourhood with nothing.
    source[:, neighbours.matrix.col[: neighbours.matrix.crow[1]].long()] -= 10 * size
    inputs = [given.requires_grad_() for given in (source, target, values)]
    out = attend(neighbours, *inputs, SLOPE)
    assert_close(out, written_out(neighbours, *inputs), rtol=1e-3, atol=1e-4)
    assert all(gradient.isfinite().all() for gradient in torch.autograd.grad(out.sum(), inputs))


@pytest.mark.parametrize("device", DEVICES)
def test_a_hub_of_many_neighbours(device):
    nodes = 700
    star = sp.lil_array(sp.eye_array(nodes))
    star[0, :], star[:, 0] = 1.0, 1.0
    neighbours = Neighbours(SparseMatrix.from_scipy(star).to(device))
    inputs = random_inputs(2, nodes, 2, 3, device=device)
    keep = draw_keep(neighbours, 2, 0.5, range(2), device)
    got, expected = attend(neighbours, *inputs, SLOPE, keep), written_out(neighbours, *inputs, keep)
    assert_close(got, expected, rtol=1e-4, atol=1e-5)
    gradients = torch.autograd.grad(got.square().sum(), inputs), torch.autograd.grad(expected.square().sum(), inputs)
    for ours, theirs in zip(*gradients, strict=True):
        assert_close(ours, theirs, rtol=1e-3, atol=1e-3)


@pytest.mark.gpu
@pytest.mark.parametrize(("heads", "width", "rate"), [(8, 8, 0.5), (1, 7, 0.5), (8, 8, 0), (2, 300, 0.3)])
def test_cuda_agrees_with_the_cpu(heads, width, rate):
    results = []
    for device in ("cpu", "cuda"):
        neighbours = random_neighbours(200, 0.03, 3, device)
        inputs = random_inputs(5, 200, heads, width, device=device)
        out = attend(neighbours, *inputs, SLOPE, draw_keep(neighbours, heads, rate, range(5), device))
        upstream = torch.randn(out.shape, generator=torch.Generator().manual_seed(1)).to(device)
        results.append([out, *torch.autograd.grad(out, inputs, upstream)])
    for on_host, on_device in zip(*results, strict=True):
        assert_close(on_device.cpu(), on_host, rtol=1e-4, atol=2e-4)


@pytest.mark.gpu
def test_an_epoch_with_attention_can_be_captured():
    neighbours = random_neighbours(100, 0.05, 4, "cuda")
    inputs = random_inputs(3, 100, 8, 8, device="cuda")
    keep = draw_keep(neighbours, 8, 0.5, range(3), "cuda")

    def step():
        return torch.autograd.grad(attend(neighbours, *inputs, SLOPE, keep).square().sum(), inputs)

    expected = step()
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = step()
    graph.replay()
    for replayed, plain in zip(captured, expected, strict=True):
        assert torch.equal(replayed, plain)


@pytest.mark.gpu
def test_offsets_beyond_32_bits():
    if torch.cuda.mem_get_info()[0] < 72 * 2**30:
        pytest.skip("needs 72 GiB of free GPU memory")
    blocks, nodes, heads, width = 1030, 16_384, 8, 16
    neighbours = random_neighbours(nodes, 4 / nodes, 5, "cuda")
    last = [given.detach() for given in random_inputs(1, nodes, heads, width, device="cuda")]
    inputs = [torch.zeros(blocks, *given.shape[1:], device="cuda") for given in last]
    for whole, part in zip(inputs, last, strict=True):
        whole[-1:] = part
    assert inputs[2].numel() > 2**31
    results = []
    for inputs_of, seeds in ((inputs, range(blocks)), (last, [blocks - 1])):
        leaves = [given.requires_grad_() for given in inputs_of]
        out = attend(neighbours, *leaves, SLOPE, draw_keep(neighbours, heads, 0.5, seeds, "cuda"))
        results.append([part[-1].clone() for part in (out.detach(), *torch.autograd.grad(out, leaves, out.detach()))])
    for together, alone in zip(*results, strict=True):
        assert torch.equal(together, alone)

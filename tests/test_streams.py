import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from graphmix import streams as module
from graphmix.sparse.ops import unpack
from graphmix.streams import Purpose, Streams, binary_digits


def test_hash_is_splitmix64():
    # The first three outputs of SplitMix64 from state 0, as published with Vigna's reference implementation.
    published = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    ours = module._mix(torch.arange(1, 4) * module._GOLDEN)
    assert [word % 2**64 for word in ours.tolist()] == published


@given(st.integers(0, 2**62))
def test_hash_on_the_host_is_the_same(number):
    assert module._mix_number(number) == int(module._mix(torch.tensor(number)))


def test_a_trial_draws_the_same_alone_and_in_a_batch():
    batch, alone = Streams.from_seeds(range(5)), Streams.from_seeds([3])
    for draw in (
        lambda noise: noise.words(9),
        lambda noise: noise.uniform(9),
        lambda noise: noise.keep(99, 0.3).words,
    ):
        together, single = (draw(streams.at(Purpose.COIN, epoch=7)) for streams in (batch, alone))
        assert torch.equal(together[3], single[0])
    assert torch.equal(batch.coins(50)[:, 3], alone.coins(50)[:, 0])
    assert torch.equal(batch.select(torch.tensor([3])).keys, alone.keys)


def test_purposes_epochs_parts_draws_and_seeds_differ():
    streams = Streams.from_seeds([0, 1])
    noise = streams.at(Purpose.COIN)
    drawn = [noise.words(4), noise.words(4)]
    drawn += [streams.at(Purpose.WEIGHTS).words(4), streams.at(Purpose.COIN, epoch=1).words(4)]
    drawn += [streams.copies(0, 3).at(Purpose.COIN).words(4)]
    words = torch.cat([block.flatten() for block in drawn])
    assert len(words.unique()) == len(words)


def test_copies_belong_to_their_trial_and_number_alone():
    both = Streams.from_seeds([4, 9]).copies(0, 5).keys.view(2, 5)
    assert torch.equal(both[1, 2:], Streams.from_seeds([9]).copies(2, 5).keys)


@pytest.mark.gpu
def test_a_draw_beyond_a_grids_second_dimension_has_the_cpus_bits():
    # A grid's second dimension ends at 65,535 blocks of 256 words.
    count = 65_536 * 256 + 300
    try:
        on_host, on_device = (Streams.from_seeds([3, 8], device).at(Purpose.WEIGHTS, 5) for device in ("cpu", "cuda"))
        assert torch.equal(on_host.words(count), on_device.words(count).cpu())
        entries = 67_200_000
        on_host, on_device = (Streams.from_seeds([3], device).at(Purpose.WEIGHTS, 5) for device in ("cpu", "cuda"))
        assert torch.equal(on_host.keep(entries, 0.2).words, on_device.keep(entries, 0.2).words.cpu())
    finally:
        module._steps.cache_clear()


def test_uniform_numbers_are_uniform_and_below_one():
    numbers = Streams.from_seeds([0, 1]).at(Purpose.WEIGHTS).uniform(100_000)
    assert 0 <= numbers.min() < numbers.max() < 1
    counts = torch.histc(numbers, bins=20, min=0, max=1)
    expected = numbers.numel() / 20
    assert (((counts - expected) ** 2) / expected).sum() < 43.8  # chi-square, 19 degrees, p = 0.001


@pytest.mark.parametrize("rate", [0.1, 0.2, 0.5, 0.6, 0.75, 0.9])
def test_dropout_keeps_the_right_share_and_rescales(rate):
    entries = 200_000
    keep = Streams.from_seeds([4]).at(Purpose.GNN_DROPOUT).keep(entries, rate)
    kept = unpack(keep.words, entries).mean().item()
    assert kept == pytest.approx(1 - rate, abs=5 * (rate * (1 - rate) / entries) ** 0.5 + 2**-16)
    assert keep.scale == pytest.approx(1 / (1 - rate), rel=2e-3)


@given(st.floats(0.001, 0.999))
def test_binary_digits_spell_the_probability(probability):
    digits, value = binary_digits(probability)
    assert value == sum(2.0 ** -(place + 1) for place, digit in enumerate(digits) if digit)
    assert value == pytest.approx(probability, abs=2**-16)
    assert digits[-1]


def test_coins_are_fair_and_independent_between_trials():
    coins = Streams.from_seeds(range(50)).coins(2000).float()
    assert coins.mean().item() == pytest.approx(0.5, abs=5 * 0.5 / 100_000**0.5)
    correlation = torch.corrcoef(coins.T)
    assert (correlation - torch.eye(50)).abs().max() < 0.12  # 1,225 pairs at a standard error of 0.022

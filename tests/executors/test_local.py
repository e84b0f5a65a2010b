"""Batches side by side on the cores."""

import threading
import time

import pytest
import torch

from graphmix import Config, Fit, Task, fit, synthetic
from graphmix.executors import check_stop, side_by_side
from graphmix.sparse import SparseMatrix
from graphmix.training.loop import fit_batches


@pytest.fixture
def two_threads():
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(1)


def test_batches_side_by_side_equal_batches_one_by_one(two_threads):
    graph, split = synthetic(nodes=300, features=80, labels_per_class=5, seed=1)
    config = Config.for_dataset("", trials=7, epochs=40)
    seen = set()
    together = fit(graph, split, config, device="cpu", chunk=2, watch=lambda _: seen.add(threading.get_ident()))
    assert len(seen) == 2
    assert torch.get_num_threads() == 2
    torch.set_num_threads(1)
    apart = fit(graph, split, config, device="cpu", chunk=7)
    assert together.trials == apart.trials
    assert torch.equal(together.history.val_accuracy, apart.history.val_accuracy)


def test_a_run_that_goes_on_with_its_last_batch_rounds_as_before(two_threads):
    # Large enough for torch to divide an operation between its threads, which changes the last bits.
    graph, split = synthetic(nodes=3000, features=80, labels_per_class=5, seed=1)
    config = Config.for_dataset("", trials=4, epochs=12, hidden=16)
    task, threads = Task.build(graph, split, config, "cpu"), []
    whole = Fit.join(list(fit_batches(task, config, chunk=2)))
    (rest,) = fit_batches(task, config, chunk=2, skip=[0, 1], watch=lambda _: threads.append(torch.get_num_threads()))
    assert set(threads) == {1}
    assert torch.equal(rest.history.loss, whole.history.loss[2:])
    list(fit_batches(task, config, chunk=4, watch=lambda _: threads.append(torch.get_num_threads())))
    assert threads[-1] == 2, "a batch of all trials has all threads"


def test_seconds_are_the_clocks(two_threads):
    graph, split = synthetic(nodes=200, features=60, seed=1)
    config = Config.for_dataset("", trials=3, epochs=60)
    epochs = []
    started = time.perf_counter()
    watch = lambda _: epochs.append(time.perf_counter())  # noqa: E731
    seconds = fit(graph, split, config, device="cpu", chunk=1, watch=watch).seconds
    wall = time.perf_counter() - started
    assert max(epochs) - min(epochs) <= seconds <= wall


def test_results_come_in_order():
    jobs = [lambda number=number: (time.sleep(0.02 * (4 - number)), number)[1] for number in range(4)]
    assert list(side_by_side(jobs, 3)) == [0, 1, 2, 3]


def endless():
    while True:
        check_stop()
        time.sleep(0.005)


def test_one_failure_stops_the_others_and_is_the_one_raised():
    def failing():
        raise ValueError("this one")

    with pytest.raises(ValueError, match="this one"):
        list(side_by_side([endless, failing], 2))


def test_the_others_stop_when_nobody_asks_any_more():
    running = side_by_side([lambda: 1, endless], 2)
    assert next(running) == 1
    running.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("graphmix")]


def test_an_interrupt_in_a_watcher_ends_the_fit(two_threads):
    graph, split = synthetic(nodes=200, features=60, seed=1)

    def watch(progress):
        if progress.epoch == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(graph, split, Config.for_dataset("", trials=4, epochs=10_000), device="cpu", chunk=1, watch=watch)
    assert torch.get_num_threads() == 2


def test_tilings_asked_for_by_many_threads_at_once():
    graph, _ = synthetic(nodes=100, features=30, seed=1)
    failures = []

    def ask(matrix, order):
        try:
            for trials in order:
                assert matrix.tiled(trials).col.numel() == trials * matrix.nonzeros
        except (KeyError, AssertionError) as error:
            failures.append(error)

    for _ in range(60):
        x = graph.x
        matrix = SparseMatrix(x.crow, x.col, x.values, x.shape)
        threads = [threading.Thread(target=ask, args=(matrix, order)) for order in ([8, 1, 9, 3], [2, 9, 4, 8], [5, 7])]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not failures

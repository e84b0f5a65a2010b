"""The profile: bytes of operations, kernels matched with what started them, and a clock without double counting."""

import importlib
import json
import sys
from pathlib import Path

import pytest
import torch

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"

sys.path.insert(0, str(BENCHMARKS))
try:
    cold_start, profile_cuda, profile_ops, profile_trace = (
        importlib.import_module(name) for name in ("cold_start", "profile_cuda", "profile_ops", "profile_trace")
    )
finally:
    sys.path.remove(str(BENCHMARKS))

Kernel, Op = profile_trace.Kernel, profile_ops.Op


def test_an_expanded_tensor_is_stored_once():
    assert profile_ops.tensor_bytes(torch.zeros(5, 4)) == 80
    assert profile_ops.tensor_bytes(torch.zeros(1, 4).expand(5, 4)) == 16


def test_operations_are_logged_with_their_bytes():
    log = profile_ops.OpLog()
    table, index = torch.zeros(100, 4), torch.tensor([1, 2, 3])
    with log.watching():
        picked = table.index_select(0, index)
        picked += 1
    assert [op.name for op in log.ops] == ["index_select", "add_.Tensor"]
    # Three rows are read and written, and three positions read; then the rows are read and written.
    assert [op.moved for op in log.ops] == [2 * 48 + 24, 2 * 48]


def test_a_kernel_reads_a_tensor_given_twice_once():
    col, dense = torch.zeros(6, dtype=torch.int32), torch.zeros(2, 3, 4)
    named = {"col": col, "words": col, "dense": dense, "width": 4, "blocks": 2, "MASKED": True}
    assert profile_ops.kernel_bytes(named) == 6 * 4 + 24 * 4
    assert profile_ops.kernel_gathers(named) == 6 * 2 * 4 * 4 // 2
    assert profile_ops.kernel_name("_product_kernel", named) == "_product_kernel masked nnz=6 width=4"


def test_a_kernel_belongs_to_the_operation_that_was_running():
    events = [
        {"cat": "user_annotation", "name": "graphmix-op-0", "ts": 0, "dur": 10},
        {"cat": "user_annotation", "name": "graphmix-op-1", "ts": 20, "dur": 10},
        {"cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": 25, "dur": 1, "args": {"correlation": 7}},
        {"cat": "cuda_driver", "name": "cuLaunchKernelEx", "ts": 5, "dur": 1, "args": {"correlation": 8}},
        {"cat": "kernel", "name": "second", "ts": 50, "dur": 3, "args": {"correlation": 7}},
        {"cat": "kernel", "name": "first", "ts": 40, "dur": 4, "args": {"correlation": 8}},
    ]
    assert profile_trace.kernels(events) == [Kernel("first", 4, 0, None), Kernel("second", 3, 1, None)]


def test_names_lose_their_templates():
    assert profile_trace.short_name("void at::native::(anonymous namespace)::cat<float, X<int>, 4>(Y<Z>, int)") == "cat"
    assert profile_trace.short_name("_product_kernel") == "_product_kernel"


@pytest.mark.parametrize("extra", [False, True])
def test_replayed_kernels_take_the_operations_of_a_normal_run(extra: bool):
    ops = [Op("gnn", "mm", 1_000_000), Op("targets", "mm", 3_000_000)]
    once = [Kernel("gemm", 9, 0, None), Kernel("gemm", 9, 1, None)]
    replayed = [Kernel("gemm", 1, None, 50), Kernel("gemm", 2, None, 50)] * 3
    if extra:  # a kernel that only the replays have does not shift the others
        replayed = [Kernel("fill", 5, None, None), *replayed[:2]] * 3
    rows, same = profile_trace.join(replayed, once, 3, ops)
    found = {row["phase"]: (row["us"], row["mb"], row["launches"]) for row in rows}
    assert same is not extra
    assert found["gnn"] == (1, 1, 1)
    assert found["targets"] == (2, 3, 1)
    assert ("unknown" in found) is extra


def test_the_clock_charges_every_moment_once(monkeypatch: pytest.MonkeyPatch):
    moments = iter([1, 3, 8, 9, 13])
    monkeypatch.setattr(cold_start.time, "time", lambda: next(moments))
    clock = cold_start.Clock(0)
    with clock.spent_on("outer"), clock.spent_on("inner"):
        pass
    clock.finish()
    assert clock.seconds == {"rest": 1 + 4, "outer": 2 + 1, "inner": 5}


def test_a_profile_on_the_cpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    out = tmp_path / "profile.json"
    command = "--device cpu --datasets synthetic --trials 2 --networks gat --no-cold --commit none --out"
    monkeypatch.setattr("sys.argv", ["profile_cuda.py", *command.split(), str(out)])
    profile_cuda.main()
    found = json.loads(out.read_text())
    assert found["skipped"] == []
    assert len(found["parts"]) == 4
    for part in found["parts"].values():
        assert "error" not in part
        assert part["launches"] == sum(row["launches"] for row in part["rows"]) > 0
        assert part["phases"].keys() >= {"backward", "evaluation", "optimizer"}
    assert "targets" in found["parts"]["synthetic gat graphmix paper 2"]["phases"]
    assert "synthetic gcn supervised paper 2" in capsys.readouterr().out


def test_without_time_every_part_is_named_as_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    out = tmp_path / "profile.json"
    command = "--device cpu --limit 1 --datasets synthetic --trials 2 --no-cold --commit none --out"
    monkeypatch.setattr("sys.argv", ["profile_cuda.py", *command.split(), str(out)])
    profile_cuda.main()
    found = json.loads(out.read_text())
    assert len(found["skipped"]) == 5
    assert found["parts"] == {}


def test_a_cold_command_is_divided(tmp_path: Path):
    found = cold_start.timed_run(
        ["train", "synthetic", "--trials", "1", "--epochs", "2", "--no-report"], tmp_path, "run", 120
    )
    assert found["calls"]["normal epochs"] == 2
    assert found["seconds"]["import torch"] > 0
    assert sum(found["seconds"].values()) == pytest.approx(found["wall"])

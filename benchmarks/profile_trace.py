"""Kernels of a profiler's trace, and the operations that started them."""

import json
import re
import statistics
import tempfile
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from profile_ops import MARK, Op

_ON_DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")
_UNKNOWN = Op("unknown", "unknown", 0)


@dataclass(frozen=True)
class Kernel:
    """A kernel that ran.

    Attributes:
        name: short name, without template arguments.
        microseconds: how long it ran.
        op: the operation that started it; None if the trace does not say.
        occupancy: estimated share of the device's warps in percent, or None.
    """

    name: str
    microseconds: float
    op: int | None
    occupancy: float | None


def trace(run: Callable[[], None], device: str) -> list[dict[str, Any]]:
    """Run something under the profiler and return the events of its trace."""
    activities = [torch.profiler.ProfilerActivity.CPU]
    if device == "cuda":
        activities.append(torch.profiler.ProfilerActivity.CUDA)
    with torch.profiler.profile(activities=activities) as profile:
        run()
        if device == "cuda":
            torch.cuda.synchronize()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        profile.export_chrome_trace(str(path))
        found: list[dict[str, Any]] = json.loads(path.read_text())["traceEvents"]
    return found


def kernels(events: list[dict[str, Any]]) -> list[Kernel]:
    """The kernels of a trace in the order in which they ran; on a CPU, the operations."""
    marks = sorted((e["ts"], e["ts"] + e["dur"], int(e["name"][len(MARK) :])) for e in events if _is_mark(e))
    launches = {
        e["args"]["correlation"]: e["ts"]
        for e in events
        if e.get("cat") in ("cuda_runtime", "cuda_driver") and "correlation" in e.get("args", {})
    }
    ran = sorted((e for e in events if e.get("cat") in _ON_DEVICE), key=lambda e: e["ts"])
    if not ran:
        return [Kernel("cpu", end - start, number, None) for start, end, number in marks]
    numbers = _find_marks([launches.get(e["args"].get("correlation")) for e in ran], marks)
    return [
        Kernel(short_name(e["name"]), e["dur"], number, e["args"].get("est. achieved occupancy %"))
        for e, number in zip(ran, numbers, strict=True)
    ]


def _is_mark(event: dict[str, Any]) -> bool:
    return event.get("cat") == "user_annotation" and event.get("name", "").startswith(MARK)


def _find_marks(times: list[float | None], marks: list[tuple[float, float, int]]) -> list[int | None]:
    """The mark during which each launch happened: one epoch's launches follow one another, whatever their thread."""
    found: list[int | None] = []
    for time in times:
        inside = [number for start, end, number in marks if time is not None and start <= time <= end]
        found.append(inside[-1] if inside else None)
    return found


def short_name(name: str) -> str:
    """A kernel's name without its return type, namespaces, templates and arguments.

    Example:
        >>> short_name("void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float> >(int, float)")
        'vectorized_elementwise_kernel'
    """
    while (shorter := re.sub(r"<[^<>]*>", "", name)) != name:
        name = shorter
    name = re.sub(r"\(anonymous namespace\)::", "", name).split("(")[0].strip()
    return name.split("::")[-1].removeprefix("void ")[:48]


def join(replayed: list[Kernel], once: list[Kernel], epochs: int, ops: list[Op]) -> tuple[list[dict[str, Any]], bool]:
    """Give the kernels of replayed epochs the operations of the same kernels in an epoch that ran normally.

    Returns:
        Rows of (phase, operation, kernel) with launches, microseconds and bytes per epoch, longest first; and whether
        both sequences have the same kernels in the same order.
    """
    per_epoch = len(replayed) // epochs
    same = [k.name for k in replayed[:per_epoch]] == [k.name for k in once]
    # If they differ, the n-th kernel of a name is the n-th of that name.
    by_name: dict[str, list[Kernel]] = defaultdict(list)
    for kernel in once:
        by_name[kernel.name].append(kernel)
    seen: dict[str, int] = defaultdict(int)
    rows: dict[tuple[str, str, str], list[tuple[float, float, float | None]]] = defaultdict(list)
    counts = _kernels_per_op(once)
    for place in range(per_epoch):
        name = replayed[place].name
        twin = once[place] if same else _nth(by_name[name], seen[name])
        seen[name] += 1
        op = _UNKNOWN if twin is None or twin.op is None else ops[twin.op]
        shared = 1 if twin is None or twin.op is None else counts[twin.op]
        time = statistics.median(replayed[place + epoch * per_epoch].microseconds for epoch in range(epochs))
        rows[op.phase, op.name, name].append((time, op.moved / shared, op.gathered / shared, replayed[place].occupancy))
    return _table(rows), same


def _nth(kernels_of_name: list[Kernel], place: int) -> Kernel | None:
    return kernels_of_name[place] if place < len(kernels_of_name) else None


def _kernels_per_op(once: list[Kernel]) -> dict[int | None, int]:
    counts: dict[int | None, int] = defaultdict(int)
    for kernel in once:
        counts[kernel.op] += 1
    return counts


def _table(rows: dict[tuple[str, str, str], list[Any]]) -> list[dict[str, Any]]:
    table = []
    for (phase, op, kernel), found in rows.items():
        occupancies = [occupancy for *_, occupancy in found if occupancy is not None]
        table.append(
            {
                "phase": phase,
                "op": op,
                "kernel": kernel,
                "launches": len(found),
                "us": round(sum(entry[0] for entry in found), 2),
                "mb": round(sum(entry[1] for entry in found) / 1e6, 3),
                "gathered_mb": round(sum(entry[2] for entry in found) / 1e6, 3),
                "occupancy": round(statistics.mean(occupancies)) if occupancies else None,
            }
        )
    return sorted(table, key=lambda row: -row["us"])

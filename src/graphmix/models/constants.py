"""Values that a module computes from the edges alone, computed once.

A layer normalises the edges in every pass: it adds self-loops, counts degrees, takes roots. The results are the same in
every pass, and to find out how many edges there are the host must wait for the device, which a CUDA graph does not
allow. So the first pass records all calls of torch whose arguments follow from the edges, and later passes are answered
from the recording. Calls are compared one by one with the recorded ones; where one differs, nothing is recorded again.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

# Recordings larger than this many bytes are not kept.
_MOST_BYTES = 2**28
# A half is recorded anew if it writes into one of its constants. After so many attempts it is not recorded.
_ATTEMPTS = 8
_PLAIN = (type(None), bool, int, float, str, torch.dtype, torch.device, torch.layout, type(Ellipsis))
# Functions without tensors as arguments whose results are always the same.
_FACTORIES = {torch.ones, torch.zeros, torch.full, torch.arange, torch.eye, torch.tensor}


class ChangedError(Exception):
    """A pass does not do what the recorded pass did."""


class _Step(NamedTuple):
    """A recorded call, its arguments and what it returned; `again`: it is called in every pass nevertheless."""

    func: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    result: Any
    again: bool


class Constants:
    """The constants of half a network on one graph.

    Attributes:
        usable: False if they cannot be recorded; the half then runs without.
        complete: whether a pass has been recorded.
    """

    def __init__(self, given: Sequence[Tensor], rewritten: set[int] | None = None):
        """Start from given tensors, which do not change.

        Args:
            given: the edges, and their weights if there are any.
            rewritten: numbers of steps whose results the half writes into, so that they are called in every pass. The
                set grows when another one is found, and may be shared with other graphs.
        """
        self._given = given
        self._rewritten = set() if rewritten is None else rewritten
        self.usable = True
        self._reset()

    def _reset(self) -> None:
        self._known: dict[int, Tensor] = {id(tensor): tensor for tensor in self._given}
        self._steps: list[_Step] = []
        self._read: set[int] = set()
        self._changed: int | None = None
        self.complete = False
        self._next = 0

    def start(self) -> None:
        """Begin a pass, which records or is answered."""
        if not self.complete:
            self._reset()
        self._next = 0

    def finish(self) -> None:
        """End a pass that did not fail."""
        if self.complete:
            return
        if self._changed is not None:
            # The next pass records anew.
            self._rewritten.add(self._changed)
            self.usable = self.usable and len(self._rewritten) <= _ATTEMPTS
        else:
            self.complete = True
            self.usable = self.usable and self._bytes() <= _MOST_BYTES
        if not self.usable:
            self._reset()

    def give_up(self) -> None:
        """Record nothing from now on."""
        self.usable = False
        self._reset()

    def call(self, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], fixed: bool = True) -> Any:
        """Call a function, or return what it returned in the recorded pass; not fixed: its results are random."""
        if not self.complete:
            return self._record(func, args, kwargs, fixed) if self.usable else func(*args, **kwargs)
        if self._next < len(self._steps):
            step = self._steps[self._next]
            if step.func == func and _all_same(step.args, args) and _same(step.kwargs, kwargs):
                self._next += 1
                return func(*args, **kwargs) if step.again else step.result
        if fixed and self._is_constant(func, args, kwargs):
            raise ChangedError
        return func(*args, **kwargs)

    def _is_constant(self, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        for value in args:
            if isinstance(value, Tensor) and id(value) not in self._known:
                return False
        tensors: list[Tensor] = []
        plain = _find_tensors((args, kwargs), tensors)
        return plain and all(id(tensor) in self._known for tensor in tensors) and bool(tensors or func in _FACTORIES)

    def _record(self, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], fixed: bool) -> Any:
        constant = fixed and self._is_constant(func, args, kwargs)
        tensors: list[Tensor] = []
        _find_tensors((args, kwargs), tensors)
        known = [(tensor, tensor._version) for tensor in tensors if id(tensor) in self._known]
        result = func(*args, **kwargs)
        changed = {_memory(tensor) for tensor, version in known if tensor._version != version}
        results: list[Tensor] = []
        if constant:
            kept = _find_tensors((result,), results) and not any(value.requires_grad for value in results)
            constant = kept and len(self._steps) not in self._rewritten
            self._steps.append(_Step(func, args, kwargs, result if constant else None, again=not constant))
        if constant:
            # An earlier call may have read other values than it would find in later passes, and the edges are not ours.
            self.usable = self.usable and not changed & (self._read | set(map(_memory, self._given)))
            self._known.update((id(value), value) for value in results)
        else:
            self._read.update(_memory(tensor) for tensor, _ in known)
            self._find_rewritten(changed)
        return result

    def _find_rewritten(self, changed: set[int]) -> None:
        """Note the first step whose result a call has changed that is no constant itself."""
        if not changed or self._changed is not None:
            return
        for number, step in enumerate(self._steps):
            results: list[Tensor] = []
            _find_tensors((step.result,), results)
            if changed & set(map(_memory, results)):
                self._changed = number
                return
        # The edges themselves.
        self.usable = False

    def _bytes(self) -> int:
        given = set(map(_memory, self._given))
        sizes = {_memory(value): _size(value) for value in self._known.values()}
        return sum(size for memory, size in sizes.items() if memory not in given)


def _memory(tensor: Tensor) -> int:
    """Tell memory apart: views of one tensor have the same."""
    # A sparse tensor has several storages. An empty one has none, and nothing can be written into it.
    return (tensor.untyped_storage().data_ptr() if tensor.layout == torch.strided else 0) or -id(tensor)


def _size(tensor: Tensor) -> int:
    if tensor.layout == torch.strided:
        return tensor.untyped_storage().nbytes()
    # A value and two int64 indices.
    return tensor._nnz() * (tensor.element_size() + 16)


def _find_tensors(values: Iterable[Any], tensors: list[Tensor]) -> bool:
    """List the tensors in nested arguments; return whether all else among them is plain values."""
    plain = True
    for value in values:
        if isinstance(value, Tensor):
            tensors.append(value)
        elif isinstance(value, list | tuple):
            plain = _find_tensors(value, tensors) and plain
        elif isinstance(value, dict):
            plain = _find_tensors(value.values(), tensors) and plain
        elif isinstance(value, slice):
            plain = _find_tensors((value.start, value.stop, value.step), tensors) and plain
        else:
            plain = plain and isinstance(value, _PLAIN)
    return plain


def _all_same(one: Sequence[Any], two: Sequence[Any]) -> bool:
    if len(one) != len(two):
        return False
    # Most are the same object, and this runs for every call of every pass.
    return all(mine is other or _same(mine, other) for mine, other in zip(one, two, strict=True))


def _same(one: Any, two: Any) -> bool:
    """Whether arguments are the same: tensors as objects, plain values by value."""
    if one is two:
        return True
    if type(one) is not type(two) or isinstance(one, Tensor):
        return False
    if isinstance(one, list | tuple):
        return _all_same(one, two)
    if isinstance(one, dict):
        return one.keys() == two.keys() and all(_same(value, two[key]) for key, value in one.items())
    if isinstance(one, slice):
        return _same((one.start, one.stop, one.step), (two.start, two.stop, two.step))
    return bool(one == two)

"""Vectors of float32 inside numba's kernels: what a kernel adds up stays in registers.

Numba has no type for them, and its loops over a few lanes are not always vectorised. A vector has 8, 16 or 32 lanes;
LLVM maps it to the registers that the CPU has. Only `numba_ops` imports this module, which needs numba.
"""

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, models, register_model

_FLOAT, _INT = ir.FloatType(), ir.IntType(32)
_WORD = ir.IntType(64)


class Vector(types.Type):
    """Numba's type of a vector of float32."""

    def __init__(self, lanes: int):
        super().__init__(f"float32x{lanes}")
        self.lanes = lanes


@register_model(Vector)
class _VectorModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, vector: Vector):
        super().__init__(manager, vector, _form(vector))


@intrinsic(prefer_literal=True)
def zeros(context: Any, lanes: Any) -> Any:
    """Return a vector of `lanes` zeros; `lanes` is a constant."""
    vector = Vector(lanes.literal_value)
    return vector(lanes), lambda context, builder, signature, given: ir.Constant(_form(vector), None)


@intrinsic(prefer_literal=True)
def load(context: Any, array: Any, start: Any, count: Any, lanes: Any) -> Any:
    """Return entries `start` … of a flat float32 array, and 0 from lane `count` on; `lanes` is a constant."""
    vector = Vector(lanes.literal_value)

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        place, spare, whole = _place(context, builder, signature, given, vector)
        found = cgutils.alloca_once(builder, _form(vector))
        with builder.if_else(whole, likely=True) as (all_lanes, some):
            with all_lanes:
                builder.store(builder.load(place, align=_ALIGNED), found)
            with some:
                builder.store(ir.Constant(_form(vector), None), spare)
                cgutils.raw_memcpy(builder, spare, place, given[2], _BYTES)
                builder.store(builder.load(spare), found)
        return builder.load(found)

    return vector(array, types.int64, types.int64, lanes), generate


@intrinsic(prefer_literal=True)
def store(context: Any, array: Any, start: Any, count: Any, vector: Any) -> Any:
    """Write a vector's first `count` lanes, or all if it has fewer, to entries `start` … of a flat float32 array."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        place, spare, whole = _place(context, builder, signature, given, vector)
        with builder.if_else(whole, likely=True) as (all_lanes, some):
            with all_lanes:
                builder.store(given[3], place, align=_ALIGNED)
            with some:
                builder.store(given[3], spare)
                cgutils.raw_memcpy(builder, place, spare, given[2], _BYTES)
        return context.get_dummy_value()

    return types.void(array, types.int64, types.int64, vector), generate


@intrinsic(prefer_literal=True)
def at(context: Any, array: Any, place: Any) -> Any:
    """Return an entry of a flat array; quicker than `array[place]`, which numba lets count from the end."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        held = context.make_array(signature.args[0])(context, builder, given[0])
        return builder.load(builder.gep(held.data, [given[1]]))

    return array.dtype(array, types.int64), generate


@intrinsic(prefer_literal=True)
def add_product(context: Any, factor: Any, vector: Any, total: Any) -> Any:
    """Return total + factor · vector, for a float32 factor; rounded once where the CPU can."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        form = _form(vector)
        name = f"llvm.fmuladd.v{vector.lanes}f32"
        function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(form, [form] * 3), name)
        undefined = ir.Constant(form, ir.Undefined)
        first = builder.insert_element(undefined, given[0], ir.Constant(_INT, 0))
        everywhere = ir.Constant(ir.VectorType(_INT, vector.lanes), [0] * vector.lanes)
        return builder.call(function, [builder.shuffle_vector(first, undefined, everywhere), given[1], given[2]])

    return vector(types.float32, vector, vector), generate


@intrinsic(prefer_literal=True)
def multiply(context: Any, first: Any, second: Any) -> Any:
    """Multiply two vectors lane by lane."""
    return first(first, second), lambda context, builder, signature, given: builder.fmul(*given)


@intrinsic(prefer_literal=True)
def lowest_bit(context: Any, word: Any) -> Any:
    """Return the position of the lowest 1 in a uint64 that is not 0."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        form = ir.FunctionType(_WORD, [_WORD, ir.IntType(1)])
        function = builder.module.declare_intrinsic("llvm.cttz", [_WORD], form)
        return builder.call(function, [given[0], ir.Constant(ir.IntType(1), 1)])

    return types.int64(types.uint64), generate


_BYTES = 4
# A row of an operand may start at any float.
_ALIGNED = _BYTES


def _form(vector: Vector) -> ir.VectorType:
    return ir.VectorType(_FLOAT, vector.lanes)


def _place(context: Any, builder: Any, signature: Any, given: Any, vector: Vector) -> tuple[Any, Any, Any]:
    """Return where in an array a vector begins, a spare vector in memory, and whether all lanes are wanted."""
    array = context.make_array(signature.args[0])(context, builder, given[0])
    place = builder.bitcast(builder.gep(array.data, [given[1]]), _form(vector).as_pointer())
    whole = builder.icmp_signed(">=", given[2], ir.Constant(_WORD, vector.lanes))
    return place, cgutils.alloca_once(builder, _form(vector)), whole

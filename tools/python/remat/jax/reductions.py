"""Rules of reductions, scans along a dimension, and sorts.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import math

import jax.numpy as jnp
import numpy as np

from ..mlir import Body, Value, affine_map, identity
from ..scans import scan
from ..sorting import order, sort_keys, take_in_order
from .elementwise import Scalars, convert, working
from .rules import rule
from .types import element_of, is_float, is_unsigned


def lowest(dtype):
    if np.dtype(dtype) == np.bool_:
        return 0
    return -math.inf if is_float(dtype) else jnp.iinfo(dtype).min


def highest(dtype):
    if np.dtype(dtype) == np.bool_:
        return 1
    return math.inf if is_float(dtype) else jnp.iinfo(dtype).max


COMBINE = {"sum": lambda s, x, y: s.add(x, y), "prod": lambda s, x, y: s.mul(x, y),
           "max": lambda s, x, y: s.maximum(x, y), "min": lambda s, x, y: s.minimum(x, y),
           "or": lambda s, x, y: s.op("arith.ori", x, y), "and": lambda s, x, y: s.op("arith.andi", x, y),
           "xor": lambda s, x, y: s.op("arith.xori", x, y)}
START = {"sum": lambda t: 0, "prod": lambda t: 1, "max": lowest, "min": highest, "or": lambda t: 0,
         "and": lambda t: 1 if np.dtype(t) == np.bool_ else -1, "xor": lambda t: 0}


def change(l, value, source, target):
    """The value as another type."""
    if np.dtype(source) == np.dtype(target):
        return value
    return l.function.generic([(value, identity(value.rank))], value.shape, element_of(target),
                              lambda b, x: convert(b, x, source, target))


def reduced(l, kind, a, axes, shape, dtype):
    """A reduction along `axes`."""
    if not axes:
        return a
    inner = working(dtype)
    kept = [i for i in range(a.rank) if i not in axes]
    total = l.function.generic(
        [(a, identity(a.rank))], shape, element_of(inner),
        lambda b, x, acc: COMBINE[kind](Scalars(b, inner), acc, convert(b, x, dtype, inner)), loops=a.rank,
        reductions=set(axes), out_map=["d%d" % i for i in kept],
        init=l.function.constant(START[kind](inner), shape, element_of(inner)))
    return change(l, total, inner, dtype)


def _reduction(kind):
    @rule("reduce_" + kind)
    def lower(l, a, *_, axes, **__):
        shape, dtype, _ = l.result()
        return reduced(l, kind, a, axes, shape, dtype)


for _kind in COMBINE:
    _reduction(_kind)


def _collective(kind):
    """Of jax.vmap with an axis_name, which makes the axis a dimension of the array. Other axes are those of a mesh of
    one device."""
    @rule("p" + kind)
    def lower(l, *arrays, axes, axis_index_groups, **_):
        axes = [axis for axis in axes if isinstance(axis, int)]
        if axis_index_groups is not None and axes:
            l.refuse("groups are not supported, got %s" % (axis_index_groups,))
        if not axes:
            return list(arrays) if l.eqn.primitive.multiple_results else arrays[0]
        found = []
        for number, a in enumerate(arrays):
            shape, dtype, _ = l.result(number)
            found.append(reduced(l, kind, a, axes, shape, dtype))
        return found if l.eqn.primitive.multiple_results else found[0]


for _kind in ("sum", "max", "min"):
    _collective(_kind)


def first_extremum(f, read, window_reads, shape, element, dtype, loops, reductions, out, number, largest, first=None):
    """The greatest or least elements that a loop sees, and `number` of the first of each, as two values. `read` is the
    tensor and its map; `window_reads` are further operands that give loops their extents. `first` are the numbers where
    no element is greater than the least one that there is, 0 if they are not given."""
    best = f.constant(lowest(dtype) if largest else highest(dtype), shape, element)
    where = first or f.constant(0, shape, "i64")
    inputs = [read] + window_reads
    names = [f.fresh() for _ in inputs]
    old, old_index, name = f.fresh(), f.fresh(), f.fresh()
    b = Body(f)
    s = Scalars(b, dtype)
    index = number(b)
    better = s.compare("gt" if largest else "lt", names[0], old)
    if s.floats:
        nan = b.compare("uno", names[0], names[0], element)
        was_number = b.compare("ord", old, old, element)
        better = b.binary("arith.ori", better, b.binary("arith.andi", nan, was_number, "i1"), "i1")
    picked, place = b.select(better, names[0], old, element), b.select(better, index, old_index, "i64")
    maps = [m for _, m in inputs] + [out, out]
    iterators = ['"reduction"' if i in reductions else '"parallel"' for i in range(loops)]
    f.emit("%s:2 = linalg.generic {indexing_maps = [%s], iterator_types = [%s]} ins(%s : %s) "
           "outs(%s, %s : %s, %s) %s{" % (
        name, ", ".join(affine_map(loops, m) for m in maps), ", ".join(iterators),
        ", ".join(v.name for v, _ in inputs), ", ".join(v.type for v, _ in inputs), best.name, where.name, best.type,
        where.type, f.policy_of(name, "attrs")), False)
    f.emit("^bb0(%s, %s: %s, %s: i64):" % (
        ", ".join("%s: %s" % (n, v.element) for n, (v, _) in zip(names, inputs)), old, element, old_index), False)
    f.lines += b.lines
    f.emit("  linalg.yield %s, %s : %s, i64" % (picked, place, element))
    f.emit("} -> (%s, %s)" % (best.type, where.type))
    return Value(name + "#0", shape, element), Value(name + "#1", shape, "i64")


def _arg(name, largest):
    @rule(name)
    def lower(l, a, axes, index_dtype):
        shape, dtype, _ = l.result()
        source = l.aval()[1]
        axis, = axes
        kept = ["d%d" % i for i in range(a.rank) if i != axis]
        _, index = first_extremum(
            l.function, (a, identity(a.rank)), [], shape, a.element, source, a.rank, {axis}, kept,
            lambda b: b.cast("arith.index_cast", b.index(axis), "index", "i64"), largest)
        return change(l, index, np.dtype("int64"), dtype)


_arg("argmax", True)
_arg("argmin", False)


def _cumulative(name, start, combine):
    @rule(name)
    def lower(l, a, axis, reverse):
        shape, dtype, _ = l.result()
        inner = working(dtype)
        value = scan(l.function, change(l, a, dtype, inner), axis, start(inner),
                     lambda b, x, y: combine(Scalars(b, inner), x, y), reverse)
        return change(l, value, inner, dtype)


def _log_sum(s, x, y):
    high, low = s.maximum(x, y), s.minimum(x, y)
    total = s.add(high, s.op("math.log1p", s.op("math.exp", s.sub(low, high))))
    # Differences of infinities are no numbers.
    return s.select(s.compare("eq", s.op("math.absf", high), s.const(math.inf)), high, total)


_cumulative("cumsum", START["sum"], COMBINE["sum"])
_cumulative("cumprod", START["prod"], COMBINE["prod"])
_cumulative("cummax", lowest, COMBINE["max"])
_cumulative("cummin", highest, COMBINE["min"])
_cumulative("cumlogsumexp", lambda t: -math.inf, _log_sum)


@rule("sort")
def _sort(l, *operands, dimension, num_keys, is_stable):
    f, keys = l.function, []
    for number, operand in enumerate(operands[:num_keys]):
        keys += sort_keys(f, operand, is_unsigned(l.aval(number)[1]))
    places = order(f, keys, dimension, operands[0].shape[dimension])
    return [take_in_order(f, operand, places, dimension) for operand in operands]


def _first(l, a, k, dim, largest, is_total):
    """The largest or least elements and their places, the first one first."""
    f, dtype = l.function, l.aval()[1]
    places = order(f, sort_keys(f, a, is_unsigned(dtype), largest, is_total), dim, k)
    return [take_in_order(f, a, places, dim), change(l, places, np.dtype("int64"), l.result(1)[1])]


@rule("top_k")
def _top_k(l, a, k, **params):
    return _first(l, a, k, params.get("axis", params.get("dimension", -1)) % a.rank, True, is_total=True)


@rule("approx_top_k")
def _approx_top_k(l, a, k, reduction_dimension, is_max_k, **_):
    """As JAX on a CPU: the exact ones. XLA makes a `top_k` of it for the largest numbers of this type."""
    dim = reduction_dimension % a.rank
    if l.result()[0][dim] != k:
        l.refuse("aggregate_to_topk=False is not supported")
    return _first(l, a, k, dim, is_max_k, is_max_k and l.aval()[1].name == "float32")

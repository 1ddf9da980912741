"""Rules of primitives that make tensors or move elements.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import math

from ..mlir import identity
from .elementwise import Scalars, convert
from .rules import rule
from .types import element_of, is_unsigned


@rule("broadcast_in_dim")
def _broadcast(l, a, *_, shape, broadcast_dimensions, **__):
    shape, dtype, element = l.result()
    if a.shape == shape:
        return a
    extra = len(shape) - len(l.eqn.outvars[0].aval.shape)  # words of keys
    dims = tuple(broadcast_dimensions) + tuple(range(len(shape) - extra, len(shape)))
    reads = ["0" if a.shape[i] == 1 and shape[d] != 1 else "d%d" % d for i, d in enumerate(dims)]
    return l.function.generic([(a, reads)], shape, element, lambda b, x: x)


@rule("reshape", "squeeze", "expand_dims")
def _reshape(l, a, *_, **__):
    order = __.get("dimensions") if l.eqn.primitive.name == "reshape" else None
    if order is not None and list(order) != list(range(a.rank)):
        a = l.function.transpose(a, order)
    value = l.function.reshape(a, l.result()[0])
    if a.name in l.known and value.rank == 0:
        l.known[value.name] = l.known[a.name]
    return value


@rule("transpose")
def _transpose(l, a, permutation):
    rank = len(l.result()[0])
    return l.function.transpose(a, list(permutation) + list(range(len(permutation), rank)))


@rule("concatenate")
def _concatenate(l, *parts, dimension):
    return l.function.concat(list(parts), dimension)


@rule("stack")
def _stack(l, *parts, axis=0, **params):
    axis = params.get("dimension", axis) % (parts[0].rank + 1)
    one = parts[0].shape[:axis] + (1,) + parts[0].shape[axis:]
    return l.function.concat([l.function.reshape(p, one) for p in parts], axis)


@rule("split")
def _split(l, a, sizes, axis):
    parts, start = [], 0
    for size in sizes:
        offsets, shape = [0] * a.rank, list(a.shape)
        offsets[axis], shape[axis] = start, size
        parts.append(l.function.slice(a, offsets, shape, [1] * a.rank))
        start += size
    return parts


@rule("slice")
def _slice(l, a, start_indices, limit_indices, strides):
    shape = l.result()[0]
    extra = a.rank - len(start_indices)
    return l.function.slice(a, list(start_indices) + [0] * extra, shape,
                            list(strides or [1] * len(start_indices)) + [1] * extra)


@rule("rev")
def _rev(l, a, dimensions):
    def body(b):
        places = []
        for dim, extent in enumerate(a.shape):
            index = b.index(dim)
            places.append(b.binary("arith.subi", b.constant(extent - 1, "index"), index, "index")
                          if dim in dimensions else index)
        return b.extract(a, places)

    return l.function.generic([], a.shape, a.element, body)


def pad(l, a, number, low, high, interior):
    """Padding by a value of rank 0, also in between, also negative."""
    f = l.function
    rank = a.rank
    dilated = [e + max(e - 1, 0) * i for e, i in zip(a.shape, interior)]
    whole = [max(p, 0) + e + max(q, 0) for p, e, q in zip(low, dilated, high)]
    if math.prod(a.shape) == 0:
        value = f.generic([(number, [])], whole, a.element, lambda b, x: x)
    elif whole == list(a.shape):
        value = a
    else:
        frame = f.generic([(number, [])], whole, a.element, lambda b, x: x)
        value = f.insert(a, frame, [max(p, 0) for p in low], [i + 1 for i in interior])
    sizes = [w - max(-p, 0) - max(-q, 0) for w, p, q in zip(whole, low, high)]
    return f.slice(value, [max(-p, 0) for p in low], sizes, [1] * rank)


@rule("pad")
def _pad(l, a, number, padding_config):
    low, high, interior = zip(*padding_config) if padding_config else ((), (), ())
    return pad(l, a, number, low, high, interior)


@rule("iota")
def _iota(l, *_, dimension, **__):
    import numpy as np
    shape, dtype, element = l.result()
    return l.function.generic([], shape, element, lambda b: convert(
        b, b.cast("arith.index_cast", b.index(dimension), "index", "i64"), np.dtype("int64"), dtype))


@rule("empty", "empty2")
def _empty(l, *_, **__):
    shape, _, element = l.result()
    return l.function.constant(0, shape, element)


def widened(b, a, dtype):
    """An integer as one of i64, whose type holds all extents. Of those without a sign that it does not hold, it is the
    largest."""
    element = element_of(dtype)
    if element != "i64":
        return b.cast("arith.extui" if is_unsigned(dtype) else "arith.extsi", a, element, "i64")
    return b.binary("arith.minui", a, b.constant(2 ** 63 - 1, "i64"), "i64") if is_unsigned(dtype) else a


def clamped(b, start, dtype, extent, size):
    """A start index, moved so that `size` elements are within `extent`."""
    low = b.binary("arith.maxsi", widened(b, start, dtype), b.constant(0, "i64"), "i64")
    return b.to_index(b.binary("arith.minsi", low, b.constant(extent - size, "i64"), "i64"), "i64")


def _type_of(starts, l, first):
    """The type that all start indices have. A tensor of rank 0 has none."""
    return l.aval(first)[1] if starts else None


@rule("dynamic_slice")
def _dynamic_slice(l, a, *starts, slice_sizes):
    dtype = _type_of(starts, l, 1)
    numbers = [l.integer(s, dtype) for s in starts]
    if None not in numbers:
        offsets = [min(max(n, 0), e - s) for n, e, s in zip(numbers, a.shape, slice_sizes)]
        return l.function.slice(a, offsets, slice_sizes, [1] * a.rank)

    def body(b, *given):
        return b.extract(a, [b.binary("arith.addi", clamped(b, g, dtype, e, n), b.index(i), "index")
                             for i, (g, e, n) in enumerate(zip(given, a.shape, slice_sizes))])

    return l.function.generic([(s, []) for s in starts], slice_sizes, a.element, body)


@rule("dynamic_update_slice")
def _dynamic_update_slice(l, a, update, *starts):
    if 0 in update.shape:
        return a
    dtype = _type_of(starts, l, 2)
    numbers = [l.integer(s, dtype) for s in starts]
    if None not in numbers:
        offsets = [min(max(n, 0), e - s) for n, e, s in zip(numbers, a.shape, update.shape)]
        return l.function.insert(update, a, offsets, [1] * a.rank)

    def body(b, x, *given):
        inside, places = b.constant(1, "i1"), []
        for i, g in enumerate(given):
            first = clamped(b, g, dtype, a.shape[i], update.shape[i])
            place = b.binary("arith.subi", b.index(i), first, "index")
            # As numbers without a sign, those below zero are large.
            hit = b.op("arith.cmpi ult, %s, %s : index" % (place, b.constant(update.shape[i], "index")))
            inside = b.binary("arith.andi", inside, hit, "i1")
            places.append(b.select(hit, place, b.constant(0, "index"), "index"))
        return b.select(inside, b.extract(update, places), x, a.element)

    return l.function.generic([(a, identity(a.rank))] + [(s, []) for s in starts], a.shape, a.element, body)


@rule("dot_general")
def _dot_general(l, a, b, dimension_numbers, preferred_element_type=None, **_):
    (contract_a, contract_b), (batch_a, batch_b) = dimension_numbers
    shape, dtype, element = l.result()

    def widened(value, number):
        source = l.aval(number)[1]
        return value if element_of(source) == element else l.function.generic(
            [(value, identity(value.rank))], value.shape, element, lambda body, x: convert(body, x, source, dtype))

    free_a = [d for d in range(a.rank) if d not in contract_a and d not in batch_a]
    free_b = [d for d in range(b.rank) if d not in contract_b and d not in batch_b]
    loops = len(shape)
    map_a, map_b = [None] * a.rank, [None] * b.rank
    for i, (x, y) in enumerate(zip(batch_a, batch_b)):
        map_a[x] = map_b[y] = "d%d" % i
    for i, d in enumerate(free_a):
        map_a[d] = "d%d" % (len(batch_a) + i)
    for i, d in enumerate(free_b):
        map_b[d] = "d%d" % (len(batch_a) + len(free_a) + i)
    for i, (x, y) in enumerate(zip(contract_a, contract_b)):
        map_a[x] = map_b[y] = "d%d" % (loops + i)
    a, b = widened(a, 0), widened(b, 1)
    total = loops + len(contract_a)
    if not contract_a:
        return l.function.generic([(a, map_a), (b, map_b)], shape, element,
                                  lambda body, x, y: Scalars(body, dtype).mul(x, y))
    return l.function.contract(a, map_a, b, map_b, shape, total, identity(loops))

"""Rules of operations that make tensors or move elements: views, slices, concatenation, constants.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import math

import torch

from ..mlir import broadcast_map, identity
from .pointwise import lower_pointwise, lower_power
from .rules import rule
from .strides import dense_order
from .types import convert, element_of, highest, is_float, lowest


def wrap(dim, rank):
    return dim + rank if dim < 0 else dim


@rule("alias", "detach", "clone", "lift_fresh_copy", "lift_fresh", "view_of", "contiguous", "positive",
      "copy_strided")
def _same(l, node, a, *_, **__):
    return l.value(a)


@rule("_to_copy", "convert_element_type", "to")
def _to_copy(l, node, a, *_, **__):
    return l.converted(a, l.result()[1], discard=True)


@rule("copy")
def _copy(l, node, a, source, *_):
    shape, dtype = l.result()
    return l.broadcast(l.converted(source, dtype, discard=True), shape)


@rule("view", "reshape", "_unsafe_view", "_reshape_alias", "squeeze", "unsqueeze", "squeeze_copy", "flatten")
def _view(l, node, a, *_, **__):
    return l.function.reshape(l.value(a), l.result()[0])


@rule("permute")
def _permute(l, node, a, dims):
    return l.function.transpose(l.value(a), [wrap(d, len(dims)) for d in dims])


@rule("transpose")
def _transpose(l, node, a, x, y):
    rank = l.value(a).rank
    order = list(range(rank))
    if rank:
        x, y = wrap(x, rank), wrap(y, rank)
        order[x], order[y] = y, x
    return l.function.transpose(l.value(a), order)


@rule("t")
def _t(l, node, a):
    return l.function.transpose(l.value(a), reversed(range(l.value(a).rank)))


@rule("expand", "broadcast_in_dim")
def _expand(l, node, a, *rest, **__):
    shape = l.result()[0]
    value = l.value(a)
    if node.target.namespace == "prims":
        dims = rest[1]
        return l.function.generic(
            [(value, ["0" if value.shape[i] == 1 and shape[d] != 1 else "d%d" % d for i, d in enumerate(dims)])],
            shape, value.element, lambda b, x: x)
    return l.broadcast(value, shape)


@rule("slice")
def _slice(l, node, a, dim=0, start=None, end=None, step=1):
    value = l.value(a)
    dim = wrap(dim, value.rank)
    extent = value.shape[dim]
    start = min(max(wrap(start or 0, extent), 0), extent)
    offsets, strides = [0] * value.rank, [1] * value.rank
    offsets[dim], strides[dim] = start, step
    return l.function.slice(value, offsets, l.result()[0], strides)


@rule("select")
def _select(l, node, a, dim, index):
    value = l.value(a)
    dim = wrap(dim, value.rank)
    offsets, sizes = [0] * value.rank, list(value.shape)
    offsets[dim], sizes[dim] = wrap(index, value.shape[dim]), 1
    part = l.function.slice(value, offsets, sizes, [1] * value.rank)
    return l.function.reshape(part, l.result()[0])


def _split(l, value, dim, sizes):
    parts, start = [], 0
    for size in sizes:
        offsets, extents = [0] * value.rank, list(value.shape)
        offsets[dim], extents[dim] = start, size
        parts.append(l.function.slice(value, offsets, extents, [1] * value.rank))
        start += size
    return parts


@rule("split", "split_with_sizes", "chunk")
def _split_rule(l, node, a, sizes, dim=0):
    dim = wrap(dim, l.value(a).rank)
    return _split(l, l.value(a), dim, [part.shape[dim] for part in node.meta["val"]])


@rule("unbind")
def _unbind(l, node, a, dim=0):
    value = l.value(a)
    dim = wrap(dim, value.rank)
    shape = value.shape[:dim] + value.shape[dim + 1:]
    return [l.function.reshape(part, shape) for part in _split(l, value, dim, [1] * value.shape[dim])]


@rule("cat")
def _cat(l, node, tensors, dim=0):
    shape, dtype = l.result()
    # Empty tensors of one dimension count as nothing, whatever the others are.
    tensors = [t for t in tensors if l.value(t).shape != (0,) or len(shape) == 1]
    return l.function.concat([l.converted(t, dtype) for t in tensors], wrap(dim, len(shape)))


@rule("stack")
def _stack(l, node, tensors, dim=0):
    shape, dtype = l.result()
    dim = wrap(dim, len(shape))
    one = shape[:dim] + (1,) + shape[dim + 1:]
    return l.function.concat([l.function.reshape(l.converted(t, dtype), one) for t in tensors], dim)


@rule("constant_pad_nd")
def _pad(l, node, a, padding, number=0):
    value = l.value(a)
    low, high = [0] * value.rank, [0] * value.rank
    for i in range(len(padding) // 2):
        low[-1 - i], high[-1 - i] = padding[2 * i], padding[2 * i + 1]
    # Negative padding cuts.
    offsets = [max(-p, 0) for p in low]
    sizes = [e - max(-p, 0) - max(-q, 0) for e, p, q in zip(value.shape, low, high)]
    value = l.function.slice(value, offsets, sizes, [1] * value.rank)
    return l.function.pad(value, [max(p, 0) for p in low], [max(q, 0) for q in high], number)


@rule("flip", "rev")
def _flip(l, node, a, dims):
    value = l.value(a)
    dims = {wrap(d, value.rank) for d in dims}

    def body(b):
        indices = []
        for dim, extent in enumerate(value.shape):
            index = b.index(dim)
            if dim in dims:
                index = b.binary("arith.subi", b.constant(extent - 1, "index"), index, "index")
            indices.append(index)
        return b.extract(value, indices)

    return l.function.generic([], value.shape, value.element, body)


@rule("repeat")
def _repeat(l, node, a, repeats):
    value, shape = l.value(a), l.result()[0]
    padded = (1,) * (len(repeats) - value.rank) + value.shape
    split = [e for pair in zip(repeats, padded) for e in pair]
    wide = l.function.reshape(value, [e for extent in padded for e in (1, extent)])
    return l.function.reshape(l.broadcast(wide, split), shape)


@rule("diagonal")
def _diagonal(l, node, a, offset=0, dim1=0, dim2=1):
    value, shape = l.value(a), l.result()[0]
    dim1, dim2 = wrap(dim1, value.rank), wrap(dim2, value.rank)

    def body(b):
        others = iter(range(len(shape) - 1))
        last = b.index(len(shape) - 1)
        shifted = b.binary("arith.addi", last, b.constant(abs(offset), "index"), "index") if offset else last
        indices = []
        for dim in range(value.rank):
            if dim == dim1:
                indices.append(shifted if offset < 0 else last)
            elif dim == dim2:
                indices.append(shifted if offset > 0 else last)
            else:
                indices.append(b.index(next(others)))
        return b.extract(value, indices)

    return l.function.generic([], shape, value.element, body)


@rule("unfold")
def _unfold(l, node, a, dim, size, step):
    value, shape = l.value(a), l.result()[0]
    if value.rank == 0:
        return l.function.reshape(value, shape)
    dim = wrap(dim, value.rank)

    def body(b):
        indices = [b.index(i) for i in range(value.rank)]
        scaled = b.binary("arith.muli", indices[dim], b.constant(step, "index"), "index")
        indices[dim] = b.binary("arith.addi", scaled, b.index(value.rank), "index")
        return b.extract(value, indices)

    return l.function.generic([], shape, value.element, body)


@rule("slice_scatter")
def _slice_scatter(l, node, a, source, dim=0, start=None, end=None, step=1):
    value = l.value(a)
    dim = wrap(dim, value.rank)
    extent = value.shape[dim]
    start = min(max(wrap(start or 0, extent), 0), extent)
    source = l.converted(source, l.dtype(a))
    sizes = list(value.shape)
    end = extent if end is None else min(max(wrap(end, extent), start), extent)
    sizes[dim] = -(-(end - start) // step)
    offsets, strides = [0] * value.rank, [1] * value.rank
    offsets[dim], strides[dim] = start, step
    return l.function.insert(l.broadcast(source, sizes), value, offsets, strides)


@rule("select_scatter")
def _select_scatter(l, node, a, source, dim, index):
    value = l.value(a)
    dim = wrap(dim, value.rank)
    sizes, offsets = list(value.shape), [0] * value.rank
    sizes[dim], offsets[dim] = 1, wrap(index, value.shape[dim])
    source = l.function.reshape(l.converted(source, l.dtype(a)), sizes)
    return l.function.insert(source, value, offsets, [1] * value.rank)


def check_addressed(l, fake):
    """Strides and offsets count elements of the memory, which must be those of the tensor. Returns the order of its
    dimensions there, or None if it is the usual one."""
    order = dense_order(fake)
    if order is None and not fake.is_contiguous() or \
            fake.untyped_storage().nbytes() != fake.numel() * fake.element_size():
        l.refuse("elements of a tensor that is not dense, or is a part of another one, are not supported")
    return order


@rule("as_strided")
def _as_strided(l, node, a, size, stride, offset=None):
    fake, value, shape = l.fake(a), l.value(a), l.result()[0]
    order = check_addressed(l, fake)
    value = l.function.transpose(value, order) if order else value
    flat = l.function.reshape(value, (fake.numel(),))

    def body(b):
        place = b.constant(offset or 0, "index")
        for dim, step in enumerate(stride):
            part = b.binary("arith.muli", b.index(dim), b.constant(step, "index"), "index")
            place = b.binary("arith.addi", place, part, "index")
        return b.extract(flat, [place])

    dense, expected = True, 1
    for extent, step in zip(reversed(size), reversed(stride)):
        dense, expected = dense and (extent == 1 or step == expected), expected * extent
    if dense and not offset and expected == fake.numel():
        return l.function.reshape(value, shape)
    return l.function.generic([], shape, value.element, body)


@rule("diagonal_scatter")
def _diagonal_scatter(l, node, a, source, offset=0, dim1=0, dim2=1):
    value, part = l.value(a), l.converted(source, l.dtype(a))
    dim1, dim2 = wrap(dim1, value.rank), wrap(dim2, value.rank)

    def body(b, x):
        row, column = b.index(dim1), b.index(dim2)
        moved = b.binary("arith.addi", row, b.constant(offset, "index"), "index")
        hit = b.op("arith.cmpi eq, %s, %s : index" % (moved, column))
        last = row if offset >= 0 else column
        # Elsewhere any place that there is does.
        last = b.op("arith.minui %s, %s : index" % (last, b.constant(part.shape[-1] - 1, "index")))
        places = [b.index(d) for d in range(value.rank) if d not in (dim1, dim2)] + [last]
        return b.select(hit, b.extract(part, places), x, value.element)

    if 0 in part.shape:
        return value
    return l.function.generic([(value, ["d%d" % i for i in range(value.rank)])], value.shape, value.element, body)


# Constants

@rule("full", "full_like", "new_full", "fill", "scalar_tensor")
def _full(l, node, *args, **kwargs):
    shape, dtype = l.result()
    number = args[0] if node.target.overloadpacket.__name__ == "scalar_tensor" else \
        args[2] if node.target.overloadpacket.__name__ == "new_full" else args[1]
    if l.is_tensor(number):
        return l.broadcast(l.converted(number, dtype), shape)
    if isinstance(number, float) and math.isinf(number) and not (is_float(dtype) or dtype.is_complex):
        # The maximum of no integers, which PyTorch makes where nothing has it.
        number = highest(dtype) if number > 0 else lowest(dtype)
    return l.function.constant(number, shape, element_of(dtype))


@rule("zeros", "zeros_like", "new_zeros", "empty", "empty_like", "new_empty", "empty_strided", "new_empty_strided",
      "empty_permuted", "zero", "_efficientzerotensor")
def _zeros(l, node, *_, **__):
    shape, dtype = l.result()
    return l.function.constant(0, shape, element_of(dtype))


@rule("ones", "ones_like", "new_ones")
def _ones(l, node, *_, **__):
    shape, dtype = l.result()
    return l.function.constant(1, shape, element_of(dtype))


def iota(l, length, start, step, dtype):
    element = element_of(dtype)

    def body(b):
        index = b.cast("arith.index_cast", b.index(0), "index", "i64")
        if is_float(dtype):
            number = convert(b, index, torch.int64, dtype)
            scaled = b.binary("arith.mulf", number, b.constant(step, element), element)
            return b.binary("arith.addf", scaled, b.constant(start, element), element)
        scaled = b.binary("arith.muli", index, b.constant(int(step), "i64"), "i64")
        return convert(b, b.binary("arith.addi", scaled, b.constant(int(start), "i64"), "i64"), torch.int64, dtype)

    return l.function.generic([], (length,), element, body)


@rule("arange")
def _arange(l, node, *args, **kwargs):
    start, step = 0, 1
    if len(args) >= 2:
        start = args[0]
    if len(args) == 3:
        step = args[2]
    elif "step" in kwargs:
        step = kwargs["step"]
    shape, dtype = l.result()
    return iota(l, shape[0], start, step, dtype)


@rule("iota")
def _iota(l, node, length, *, start, step, dtype, **_):
    return iota(l, length, start, step, dtype)


@rule("eye")
def _eye(l, node, *_, **__):
    shape, dtype = l.result()
    return l.function.generic([], shape, element_of(dtype), lambda b: convert(
        b, b.op("arith.cmpi eq, %s, %s : index" % (b.index(0), b.index(1))), torch.bool, dtype))


# Elementwise operations with operands of several types

@rule("where")
def _where(l, node, condition, a, b):
    shape, dtype = l.result()
    element = element_of(dtype)
    operands = [(condition, torch.bool), (a, dtype), (b, dtype)]
    inputs = [(l.value(o), broadcast_map(l.value(o).shape, shape)) for o, _ in operands if l.is_tensor(o)]

    def body(body, *names):
        names = list(names)
        given = [convert(body, names.pop(0), l.dtype(o), t) if l.is_tensor(o) else body.constant(o, element)
                 for o, t in operands]
        return body.select(*given, element)

    return l.function.generic(inputs, shape, element, body)


@rule("pow")
def _pow(l, node, a, exponent):
    shape, dtype = l.result()
    if l.is_tensor(a) and not l.is_tensor(exponent):
        return lower_power(l, a, exponent, shape, dtype)
    return lower_pointwise(l, "pow", node.target, (a, exponent), {}, shape, dtype)


@rule("div")
def _div(l, node, a, b, rounding_mode=None):
    shape, dtype = l.result()
    name = "div" if rounding_mode is None else "div_" + rounding_mode
    return lower_pointwise(l, name, node.target, (a, b), {}, shape, dtype)


@rule("clamp")
def _clamp(l, node, a, min=None, max=None):
    shape, dtype = l.result()
    return lower_pointwise(l, "clamp", node.target, (a, min, max), {}, shape, dtype)



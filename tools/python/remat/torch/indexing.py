"""Rules of operations that read or write at computed places.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import math

import torch

from ..mlir import broadcast_map, identity
from .pointwise import Scalars, floor_divide
from .rules import rule
from .shapes import check_addressed, wrap
from .strides import inverse
from .types import convert, element_of, is_float, working


def to_place(body, index, element, extent):
    """An index as a place in a dimension: negative ones count from its end."""
    zero = body.constant(0, element)
    negative = body.compare("slt", index, zero, element)
    shifted = body.binary("arith.addi", index, body.constant(extent, element), element)
    return body.to_index(body.select(negative, shifted, index, element), element)


class Selection:
    """What `x[i, :, j]` selects: which dimension of the result each part comes from."""

    def __init__(self, l, value, indices):
        self.value = value
        given = [(dim, i) for dim, i in enumerate(indices) if i is not None]
        for _, index in given:
            if l.dtype(index) in (torch.bool, torch.uint8):
                l.refuse("a mask as an index takes as many elements as it holds, which is not known; use torch.where")
        self.shape_of_indices = tuple(torch.broadcast_shapes(*(tuple(l.value(i).shape) for _, i in given)))
        dims = [dim for dim, _ in given]
        rest = [dim for dim in range(value.rank) if dim not in dims]
        adjacent = dims == list(range(dims[0], dims[-1] + 1))
        before = dims[0] if adjacent else 0
        count = len(self.shape_of_indices)
        # Dimensions of the result: those of the indices stand where the first index does, or in front.
        self.loop_of = {dim: (i if i < before else i + count) for i, dim in enumerate(rest)}
        self.shape = [0] * (len(rest) + count)
        for dim, loop in self.loop_of.items():
            self.shape[loop] = value.shape[dim]
        for i, extent in enumerate(self.shape_of_indices):
            self.shape[before + i] = extent
        self.inputs, self.dims = [], dims
        for _, index in given:
            index = l.value(index)
            map_ = [m if m == "0" else "d%d" % (before + int(m[1:]))
                    for m in broadcast_map(index.shape, self.shape_of_indices)]
            self.inputs.append((index, map_))

    def places(self, body, points, names):
        """The indices into the tensor, from the point and the elements of the index tensors."""
        out = [None] * self.value.rank
        for dim, loop in self.loop_of.items():
            out[dim] = points[loop]
        for dim, name, (index, _) in zip(self.dims, names, self.inputs):
            out[dim] = to_place(body, name, index.element, self.value.shape[dim])
        return out


@rule("index", "_unsafe_index")
def _index(l, node, a, indices):
    selection = Selection(l, l.value(a), indices)
    rank = len(selection.shape)
    return l.function.generic(
        selection.inputs, selection.shape, selection.value.element,
        lambda b, *names: b.extract(selection.value, selection.places(b, [b.index(i) for i in range(rank)], names)))


@rule("index_put", "_unsafe_index_put")
def _index_put(l, node, a, indices, values, accumulate=False):
    shape, dtype = l.result()
    given = [i for i in indices if i is not None]
    if len(given) == 1 and l.dtype(given[0]) == torch.bool and not accumulate and math.prod(l.value(values).shape) == 1:
        # x[mask] = number
        mask = l.value(given[0])
        first = indices.index(given[0])
        where = ["d%d" % (first + i) for i in range(mask.rank)]
        number = l.function.reshape(l.converted(values, dtype), ())
        return l.function.generic([(l.value(a), identity(len(shape))), (mask, where), (number, [])], shape,
                                  element_of(dtype), lambda b, x, m, y: b.select(m, y, x, element_of(dtype)))
    selection = Selection(l, l.value(a), indices)
    if l.dtype(values) != dtype:
        l.refuse("values of %s are written into a tensor of %s; convert them" % (l.dtype(values), dtype))
    values = l.value(values)
    inputs = selection.inputs + [(values, broadcast_map(values.shape, selection.shape))]
    if accumulate:
        return _added(l, inputs, selection.shape, l.value(a), lambda b, points, names: (
            selection.places(b, points, names[:-1]), names[-1]))
    return _put(l, l.value(a), inputs, selection.shape, lambda b, points, names: selection.places(
        b, points, names[:-1]))


def _put(l, value, inputs, sizes, places):
    """Updates that overwrite. The last input is the update; of several to one place, the last counts."""
    if 0 in sizes:
        return value
    return _take(l, value, inputs[-1], sizes, _find_last(l, value.shape, inputs[:-1], sizes, places),
                 lambda b, x, y: y)


def _take(l, value, update, sizes, numbers, combine):
    """Each element combined with its update of the number that `numbers` has, from 1 on; as it is for 0."""
    f = l.function
    flat = f.generic([update], tuple(sizes), update[0].element, lambda b, x: x)
    flat = f.reshape(flat, (math.prod(sizes),))

    def body(b, x, number):
        zero, one = b.constant(0, "i64"), b.constant(1, "i64")
        written = b.compare("sgt", number, zero, "i64")
        place = b.select(written, b.binary("arith.subi", number, one, "i64"), zero, "i64")
        y = b.extract(flat, [b.to_index(place, "i64")])
        return b.select(written, combine(b, x, y), x, value.element)

    return f.generic([(value, identity(value.rank)), (numbers, identity(value.rank))], value.shape, value.element,
                     body)


def _find_last(l, shape, inputs, sizes, places):
    """For each element, the greatest of the numbers, from 1 on, of its updates; 0 if there is none."""
    return l.function.scatter(
        inputs, sizes, l.function.constant(0, shape, "i64"), lambda b, points, names: (
            places(b, points, list(names) + [None]), _number(b, points, sizes)), maximum=True)


def _number(b, points, sizes):
    """The number of a point in row-major order, from 1 on."""
    number = b.constant(0, "index")
    for point, size in zip(points, sizes):
        number = b.binary("arith.addi", b.binary("arith.muli", number, b.constant(size, "index"), "index"), point,
                          "index")
    return b.binary("arith.addi", b.cast("arith.index_cast", number, "index", "i64"), b.constant(1, "i64"), "i64")


@rule("embedding")
def _embedding(l, node, weight, indices, *_, **__):
    weight, ids = l.value(weight), l.value(indices)
    shape = l.result()[0]
    rank = len(shape)

    def body(b, index):
        return b.extract(weight, [b.to_index(index, ids.element), b.index(rank - 1)])

    return l.function.generic([(ids, identity(ids.rank))], shape, weight.element, body)


@rule("embedding_dense_backward")
def _embedding_backward(l, node, grad, indices, count, padding_idx, scale_by_frequency):
    shape, dtype = l.result()
    given, ids = l.dtype(grad), l.value(indices)
    inner = working(dtype)
    element, grad = element_of(inner), l.value(grad)
    loops = grad.rank
    if scale_by_frequency:
        times = l.function.scatter(
            [(ids, identity(ids.rank))], ids.shape, l.function.constant(0, (count,), element),
            lambda b, points, names: ([b.to_index(names[0], ids.element)], b.constant(1.0, element)))
        grad, given = l.function.generic(
            [(ids, identity(loops - 1)), (l.convert(grad, given, inner), identity(loops))], grad.shape, element,
            lambda b, i, x: b.binary("arith.divf", x, b.extract(times, [b.to_index(i, ids.element)]), element)), inner

    def body(b, points, names):
        row, update = b.to_index(names[0], ids.element), convert(b, names[1], given, inner)
        if padding_idx >= 0:
            is_padding = b.compare("eq", names[0], b.constant(padding_idx, ids.element), ids.element)
            update = b.select(is_padding, b.constant(0.0, element_of(inner)), update, element_of(inner))
        return [row, points[-1]], update

    total = l.function.scatter([(ids, identity(loops - 1)), (grad, identity(loops))], grad.shape,
                               l.function.constant(0, shape, element_of(inner)), body)
    return l.convert(total, inner, dtype)


def _with_dimensions(l, value):
    """Indices see a number as a tensor of one element."""
    return value if value.rank else l.function.reshape(value, (1,))


def _gather_body(l, value, dim, element):
    def body(b, index):
        places = [b.index(i) for i in range(value.rank)]
        places[dim] = b.to_index(index, element)
        return b.extract(value, places)

    return body


@rule("gather")
def _gather(l, node, a, dim, index, sparse_grad=False):
    value, index = _with_dimensions(l, l.value(a)), l.value(index)
    dim = wrap(dim, value.rank)
    shape = index.shape
    if 0 in shape:  # Such an index may have fewer dimensions.
        return l.function.constant(0, shape, value.element)
    index = index if index.rank else l.function.reshape(index, (1,) * value.rank)  # One element may be a number.
    picked = l.function.generic([(index, identity(index.rank))], index.shape, value.element,
                                _gather_body(l, value, dim, index.element))
    return l.function.reshape(picked, shape)


@rule("index_select")
def _index_select(l, node, a, dim, index):
    value, index = l.value(a), l.value(index)
    shape = l.result()[0]
    if value.rank == 0:
        return value
    dim = wrap(dim, value.rank)
    index = index if index.rank else l.function.reshape(index, (1,))
    return l.function.generic([(index, ["d%d" % dim])], shape, value.element,
                              _gather_body(l, value, dim, index.element))


def _added(l, inputs, sizes, value, body):
    """A scatter that adds. Of booleans, that is whether any of them is true."""
    if value.element != "i1":
        return l.function.scatter(inputs, sizes, value, body)
    wide = lambda v: l.convert(v, torch.bool, torch.int64)
    inputs = inputs[:-1] + [(wide(inputs[-1][0]), inputs[-1][1])]
    return l.convert(l.function.scatter(inputs, sizes, wide(value), body), torch.int64, torch.bool)


def _scatter_inputs(l, value, dim, index, source, dtype):
    """Index and update as inputs of a loop over all of the index, and the places that they go to."""
    index_value = l.value(index)
    extents = (1,) * value.rank if index_value.rank == 0 else index_value.shape[:value.rank]
    index_value = l.function.reshape(index_value, extents)  # One element may be a number or a row.
    sizes = index_value.shape
    if l.is_tensor(source):
        update = l.converted(source, dtype)
        if update.rank == 0:
            update = l.function.reshape(update, (1,) * value.rank)
        if update.shape != sizes:
            update = l.function.slice(update, [0] * len(sizes), sizes, [1] * len(sizes))
    else:
        update = l.function.constant(source, sizes, element_of(dtype))

    def places(b, points, names):
        out = list(points)
        out[dim] = b.to_index(names[0], index_value.element)
        return out

    loops = identity(len(sizes))
    return [(index_value, loops), (update, loops)], sizes, places


@rule("scatter_add")
def _scatter_add(l, node, a, dim, index, source):
    shape, dtype = l.result()
    if 0 in l.value(index).shape:
        return l.value(a)
    inner = working(dtype)
    value = _with_dimensions(l, l.converted(a, inner))
    inputs, sizes, places = _scatter_inputs(l, value, wrap(dim, value.rank), index, source, inner)
    total = _added(l, inputs, sizes, value, lambda b, points, names: (places(b, points, names), names[1]))
    return l.function.reshape(l.convert(total, inner, dtype), shape)


@rule("scatter")
def _scatter(l, node, a, dim, index, source, reduce=None):
    shape, dtype = l.result()
    dim = wrap(dim, max(len(shape), 1))
    if reduce == "add":
        return _scatter_add(l, node, a, dim, index, source)
    if reduce is not None:
        l.refuse("reduce='%s' is not supported, expected 'add'" % reduce)
    if 0 in l.value(index).shape:
        return l.value(a)
    value = _with_dimensions(l, l.value(a))
    inputs, sizes, places = _scatter_inputs(l, value, dim, index, source, dtype)
    if sizes[dim] == 1 and all(s == e for i, (s, e) in enumerate(zip(sizes, shape)) if i != dim):
        return l.function.reshape(_scatter_one(l, node, value, dim, inputs), shape)
    return l.function.reshape(_put(l, value, inputs, sizes, places), shape)


def _scatter_one(l, node, value, dim, inputs):
    """One update along the dimension: each element compares its place. That the labels of a loss are in bounds, the
    loss has found out, and its gradient is a simple kernel."""
    (index, _), (update, _) = inputs
    is_of_loss = "nll_loss" in str(node.meta.get("original_aten"))
    where = ["0" if i == dim and value.shape[dim] != 1 else "d%d" % i for i in range(value.rank)]

    def body(b, x, i, u):
        place = b.to_index(i, index.element)
        if not is_of_loss:
            place = b.op("remat.check_index %s, %s : index" % (place, b.constant(value.shape[dim], "index")))
        hit = b.op("arith.cmpi eq, %s, %s : index" % (place, b.index(dim)))
        return b.select(hit, u, x, value.element)

    return l.function.generic([(value, identity(value.rank)), (index, where), (update, where)], value.shape,
                              value.element, body)


@rule("scatter_reduce")
def _scatter_reduce(l, node, a, dim, index, source, reduce, include_self=True):
    shape, dtype = l.result()
    if reduce == "sum" and include_self or 0 in l.value(index).shape:
        return _scatter_add(l, node, a, dim, index, source)
    inner = working(dtype)
    value = _with_dimensions(l, l.converted(a, inner))
    reduced = _reduced_updates(l, value, inner, wrap(dim, value.rank), index, source, reduce, include_self)
    return l.function.reshape(l.convert(reduced, inner, dtype), shape)


def _reduced_updates(l, value, inner, dim, index, source, reduce, include_self):
    shape = value.shape
    inputs, sizes, places = _scatter_inputs(l, value, dim, index, source, inner)
    f, element = l.function, element_of(inner)
    if reduce in ("amax", "amin"):
        numbers = _find_extremes(l, shape, inner, inputs, sizes, places, reduce == "amax")
        pick = Scalars.maximum if reduce == "amax" else Scalars.minimum
        return _take(l, value, inputs[1], sizes, numbers,
                     lambda b, x, y: pick(Scalars(b, inner), x, y) if include_self else y)
    counts = f.scatter(inputs[:1], sizes, f.constant(0, shape, "i64"), lambda b, points, names: (
        places(b, points, names), b.constant(1, "i64")))
    if reduce in ("sum", "mean"):
        start = value if include_self else f.generic(
            [(value, identity(len(shape))), (counts, identity(len(shape)))], shape, element,
            lambda b, x, n: b.select(b.compare("eq", n, b.constant(0, "i64"), "i64"), x, b.constant(0, element),
                                     element))
        total = f.scatter(inputs, sizes, start, lambda b, points, names: (places(b, points, names), names[1]))
        if reduce == "sum":
            return total

        def divide(b, x, n):
            n = b.binary("arith.addi", n, b.constant(1, "i64"), "i64") if include_self else n
            n = b.op("arith.maxsi %s, %s : i64" % (n, b.constant(1, "i64")))
            s, n = Scalars(b, inner), convert(b, n, torch.int64, inner)
            return s.div(x, n) if s.floats else floor_divide(s, x, n)

        return f.generic([(total, identity(len(shape))), (counts, identity(len(shape)))], shape, element, divide)
    return _multiplied_updates(l, value, inner, dim, inputs, sizes, include_self, counts)


def _order(b, x, dtype, largest):
    """An integer whose order is that of numbers, or the reverse; that of a nan is the greatest either way."""
    if not is_float(dtype):
        x = convert(b, x, dtype, torch.int64)
        return x if largest else b.binary("arith.xori", x, b.constant(-1, "i64"), "i64")
    element = element_of(dtype)
    word, digits = ("i64", 63) if element == "f64" else ("i32", 31)
    bits = b.cast("arith.bitcast", x, element, word)
    greatest = b.constant(2 ** digits - 1, word)
    # All bits of a negative number but its sign count the other way.
    key = b.binary("arith.xori", bits, b.binary("arith.andi", b.binary("arith.shrsi", bits, b.constant(digits, word),
                                                                        word), greatest, word), word)
    if not largest:
        key = b.binary("arith.xori", key, b.constant(-1, word), word)
    key = b.select(b.compare("uno", x, x, element), greatest, key, word)
    return key if word == "i64" else b.cast("arith.extsi", key, word, "i64")


def _find_extremes(l, shape, dtype, inputs, sizes, places, largest):
    """For each element the number, from 1 on, of its greatest update, or its least; 0 if there is none."""
    f, loops = l.function, range(len(sizes))
    best = f.scatter(inputs, sizes, f.constant(-2 ** 63, shape, "i64"), lambda b, points, names: (
        places(b, points, names), _order(b, names[1], dtype, largest)), maximum=True)

    def find(b, *names):
        points = [b.index(i) for i in loops]
        is_best = b.compare("eq", _order(b, names[1], dtype, largest), b.extract(best, places(b, points, names)), "i64")
        return b.select(is_best, _number(b, points, sizes), b.constant(0, "i64"), "i64")

    numbers = f.generic(inputs, tuple(sizes), "i64", find)
    return f.scatter([inputs[0], (numbers, identity(len(sizes)))], sizes, f.constant(0, shape, "i64"),
                     lambda b, points, names: (places(b, points, names), names[1]), maximum=True)


def _multiplied_updates(l, value, dtype, dim, inputs, sizes, include_self, counts):
    """Each element looks at all updates of its line, so the work is the product of both lengths."""
    f, rank, element = l.function, value.rank, element_of(dtype)
    lines = tuple(e if i == dim else s for i, (s, e) in enumerate(zip(sizes, value.shape)))
    if lines != value.shape:  # There is nothing for the other lines.
        part, number = (f.slice(v, [0] * rank, lines, [1] * rank) for v in (value, counts))
        found = _multiplied_updates(l, part, dtype, dim, inputs, sizes, include_self, number)
        return f.insert(found, value, [0] * rank, [1] * rank)
    line = identity(rank)
    line[dim] = "d%d" % rank
    index = inputs[0][0]

    def body(b, i, u, acc):
        s = Scalars(b, dtype)
        hit = b.op("arith.cmpi eq, %s, %s : index" % (b.to_index(i, index.element), b.index(dim)))
        return b.select(hit, s.mul(acc, u), acc, element)

    total = f.generic([(inputs[0][0], line), (inputs[1][0], line)], value.shape, element, body, loops=rank + 1,
                     reductions={rank}, out_map=identity(rank), init=f.constant(1, value.shape, element))

    def finish(b, x, y, n):
        empty = b.compare("eq", n, b.constant(0, "i64"), "i64")
        return b.select(empty, x, Scalars(b, dtype).mul(x, y) if include_self else y, element)

    return f.generic([(v, identity(rank)) for v in (value, total, counts)], value.shape, element, finish)


@rule("index_add")
def _index_add(l, node, a, dim, index, source, alpha=1):
    shape, dtype = l.result()
    dim = wrap(dim, max(len(shape), 1))
    source, index = l.converted(source, dtype), l.value(index)
    index = index if index.rank else l.function.reshape(index, (1,))
    source = source if source.rank else l.function.reshape(source, (1,))
    base = l.value(a) if shape else l.function.reshape(l.value(a), (1,))

    def body(b, points, names):
        # Booleans are added as integers.
        is_bool = dtype == torch.bool
        s, factor = Scalars(b, torch.int64 if is_bool else dtype), int(bool(alpha)) if is_bool else alpha
        out = list(points)
        out[dim] = b.to_index(names[0], index.element)
        return out, names[1] if factor == 1 else s.mul(names[1], s.const(factor))

    total = _added(l, [(index, ["d%d" % dim]), (source, identity(source.rank))], source.shape, base, body)
    return l.function.reshape(total, shape)


@rule("index_copy")
def _index_copy(l, node, a, dim, index, source):
    value = l.value(a)
    if value.rank == 0:  # The last of the copies counts, as every one is to the same place.
        source = l.function.reshape(l.value(source), (math.prod(l.value(source).shape),))
        last = l.function.slice(source, [source.shape[0] - 1], (1,), [1]) if source.shape[0] else value
        return l.function.reshape(last, ())
    dim = wrap(dim, value.rank)
    source, index = l.converted(source, l.dtype(a)), l.value(index)
    index = index if index.rank else l.function.reshape(index, (1,))
    source = source if source.rank else l.function.reshape(source, (1,))

    def places(b, points, names):
        out = list(points)
        out[dim] = b.to_index(names[0], index.element)
        return out

    return _put(l, value, [(index, ["d%d" % dim]), (source, identity(source.rank))], source.shape, places)


@rule("as_strided_scatter")
def _as_strided_scatter(l, node, a, source, size, stride, offset=None):
    fake, value = l.fake(a), l.value(a)
    order = check_addressed(l, fake)
    value = l.function.transpose(value, order) if order else value
    back = (lambda v: l.function.transpose(v, inverse(order))) if order else (lambda v: v)
    part = l.converted(source, l.dtype(a))
    expected, dense = 1, not offset
    for extent, step in zip(reversed(size), reversed(stride)):
        dense, expected = dense and (extent == 1 or step == expected), expected * extent
    if dense and expected == fake.numel():
        return back(l.function.reshape(part, value.shape))

    def places(b, points, names):
        place = b.constant(offset or 0, "index")
        for point, step in zip(points, stride):
            place = b.binary("arith.addi", place, b.binary("arith.muli", point, b.constant(step, "index"), "index"),
                             "index")
        return [place]

    flat = l.function.reshape(value, (fake.numel(),))
    whole = ["d%d" % i for i in range(part.rank)]
    return back(l.function.reshape(_put(l, flat, [(part, whole)], part.shape, places), value.shape))

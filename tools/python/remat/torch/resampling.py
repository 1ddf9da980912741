"""Rules of resampling: products with a matrix along each dimension.

What is not finite stays where it is, since only elements that have a weight are read.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import math

import torch

from ..mlir import identity
from .pointwise import Scalars
from .rules import rule
from .types import element_of, working

# Sums of so many products are written out; longer ones are loops.
LONGEST_BAND = 32


def along_axes(l, value, matrices, dtype):
    """Multiplies the last dimensions by `matrices`, each of (new extent, old extent)."""
    first = value.rank - len(matrices)
    for dim, matrix in enumerate(matrices, first):
        parts = _equal_parts(matrix)
        if parts:
            value = _means_of_parts(l, value, dim, *parts, dtype)
            continue
        repeated = _equal_parts(_transposed(matrix))
        if repeated:
            value = _repeated(l, value, dim, *repeated, dtype)
            continue
        bands = [[(k, number) for k, number in enumerate(row) if number] for row in matrix]
        longest = max(map(len, bands))
        # What a row has no weight for is read once more, with a weight of 0.
        bands = [band + [(band[-1][0] if band else 0, 0.0)] * (longest - len(band)) for band in bands]
        value = (_written_sums if longest <= LONGEST_BAND else _looped_sums)(l, value, dim, bands, dtype)
    return value


def _weighted(s, element, weight):
    """A product that is 0 where the weight is, also with an element that is not finite."""
    return s.select(s.compare("eq", weight, s.const(0.0)), s.const(0.0), s.mul(element, weight))


def _written_sums(l, value, dim, bands, dtype):
    """For each row of `bands`, the sum of the products of its elements, places and numbers."""
    f, element = l.function, value.element
    tables, numbers = [], []
    for term in zip(*bands):
        tables.append((f.dense([place for place, _ in term], "i64"), ["d%d" % dim]))
        numbers.append([number for _, number in term])
        if set(numbers[-1]) != {1.0}:
            tables.append((f.dense(numbers[-1], element), ["d%d" % dim]))

    def body(b, *given):
        s, given, total = Scalars(b, dtype), list(given), None
        index = [b.index(j) for j in range(value.rank)]
        for weights in numbers:
            index[dim] = b.to_index(given.pop(0), "i64")
            part = b.extract(value, index)
            if set(weights) != {1.0}:
                weight = given.pop(0)
                part = _weighted(s, part, weight) if 0.0 in weights else s.mul(part, weight)
            total = part if total is None else s.add(total, part)
        return total

    return f.generic(tables, value.shape[:dim] + (len(bands),) + value.shape[dim + 1:], element, body)


def _looped_sums(l, value, dim, bands, dtype):
    f, shape = l.function, value.shape[:dim] + (len(bands),) + value.shape[dim + 1:]
    places = f.dense([[place for place, _ in band] for band in bands], "i64")
    numbers = f.dense([[number for _, number in band] for band in bands], value.element)
    table = ["d%d" % dim, "d%d" % value.rank]

    def body(b, place, weight, total):
        index = [b.index(j) for j in range(value.rank)]
        index[dim] = b.to_index(place, "i64")
        s = Scalars(b, dtype)
        return s.add(total, _weighted(s, b.extract(value, index), weight))

    return f.generic([(places, table), (numbers, table)], shape, value.element, body, loops=value.rank + 1,
                     reductions={value.rank}, out_map=identity(value.rank), init=f.constant(0, shape, value.element))


def _transposed(matrix):
    return [list(row) for row in zip(*matrix)]


def _equal_parts(matrix):
    """If each row has one number everywhere in a part of its own, of as many places as all others: how many they are,
    and the number. Without products with zeros, what is not finite stays where it is."""
    size, rest = divmod(len(matrix[0]), len(matrix))
    if rest or not size:
        return None
    number = matrix[0][0]
    expected = [[number if i // size == o else 0.0 for i in range(len(row))] for o, row in enumerate(matrix)]
    return (size, number) if matrix == expected else None


def _scaled(l, value, number, dtype):
    if number == 1.0:
        return value
    return l.function.generic([(value, identity(value.rank))], value.shape, value.element,
                              lambda b, x: Scalars(b, dtype).mul(x, Scalars(b, dtype).const(number)))


def _means_of_parts(l, value, dim, size, number, dtype):
    f, shape = l.function, value.shape[:dim] + (value.shape[dim] // size,) + value.shape[dim + 1:]
    if size > 1:
        value = f.reshape(value, shape[:dim + 1] + (size,) + shape[dim + 1:])
        loops = identity(value.rank)
        value = f.generic([(value, loops)], shape, value.element, lambda b, x, total: Scalars(b, dtype).add(total, x),
                          loops=value.rank, reductions={dim + 1}, out_map=loops[:dim + 1] + loops[dim + 2:],
                          init=f.constant(0, shape, value.element))
    return _scaled(l, value, number, dtype)


def _repeated(l, value, dim, size, number, dtype):
    f, value = l.function, _scaled(l, value, number, dtype)
    shape, loops = value.shape[:dim + 1] + (size,) + value.shape[dim + 1:], identity(value.rank + 1)
    value = f.generic([(value, loops[:dim + 1] + loops[dim + 2:])], shape, value.element, lambda b, x: x)
    return f.reshape(value, shape[:dim] + (shape[dim] * size,) + shape[dim + 2:])


def _adaptive_matrix(old, new):
    rows = []
    for o in range(new):
        start, end = o * old // new, -(-(o + 1) * old // new)
        rows.append([1.0 / (end - start) if start <= i < end else 0.0 for i in range(old)])
    return rows


def _resampled(l, a, shape, old, new, matrix, transpose):
    """`matrix` of an old and a new extent, for each dimension."""
    dtype = l.result()[1]
    inner = working(dtype)
    if 0 in shape or 0 in l.value(a).shape:
        return l.function.constant(0, shape, element_of(dtype))
    matrices = [matrix(i, o, n) for i, (o, n) in enumerate(zip(old, new))]
    if transpose:
        matrices = [_transposed(m) for m in matrices]
    return l.convert(along_axes(l, l.converted(a, inner), matrices, inner), inner, dtype)


@rule("_adaptive_avg_pool2d", "_adaptive_avg_pool3d", "adaptive_avg_pool1d", "adaptive_avg_pool2d")
def _adaptive(l, node, a, size):
    shape, n = l.result()[0], len(size)
    return _resampled(l, a, shape, l.value(a).shape[-n:], shape[-n:], lambda i, o, m: _adaptive_matrix(o, m), False)


@rule("_adaptive_avg_pool2d_backward", "_adaptive_avg_pool3d_backward")
def _adaptive_backward(l, node, grad, a):
    shape = l.result()[0]
    n = 2 if "2d" in node.target.overloadpacket.__name__ else 3
    return _resampled(l, grad, shape, shape[-n:], l.value(grad).shape[-n:], lambda i, o, m: _adaptive_matrix(o, m),
                      True)


def _scale(old, new, align_corners, scale):
    if align_corners:
        return (old - 1) / (new - 1) if new > 1 else 0.0
    return 1.0 / scale if scale else old / new


def _nearest_matrix(old, new, align_corners, scale, is_exact):
    step = _scale(old, new, align_corners, scale)
    rows = []
    for o in range(new):
        source = min(int((o + 0.5) * step) if is_exact else int(o * step), old - 1)
        rows.append([1.0 if i == source else 0.0 for i in range(old)])
    return rows


def _linear_matrix(old, new, align_corners, scale):
    step = _scale(old, new, align_corners, scale)
    rows = []
    for o in range(new):
        source = o * step if align_corners else max((o + 0.5) * step - 0.5, 0.0)
        low = min(int(source), old - 1)
        high, part = min(low + 1, old - 1), min(max(source - int(source), 0.0), 1.0)
        row = [0.0] * old
        row[low] += 1.0 - part
        row[high] += part
        rows.append(row)
    return rows


def _cubic_matrix(old, new, align_corners, scale):
    """Beyond the ends are the elements there."""
    step = _scale(old, new, align_corners, scale)
    rows = []
    for o in range(new):
        source = o * step if align_corners else (o + 0.5) * step - 0.5
        low, row = math.floor(source), [0.0] * old
        for i in range(low - 1, low + 3):
            row[min(max(i, 0), old - 1)] += _keys(abs(source - i), -0.75)
        rows.append(row)
    return rows


def _keys(t, a):
    if t < 1.0:
        return ((a + 2.0) * t - (a + 3.0)) * t * t + 1.0
    return ((a * t - 5.0 * a) * t + 8.0 * a) * t - 4.0 * a if t < 2.0 else 0.0


def _sinc(t):
    return math.sin(math.pi * t) / (math.pi * t) if t else 1.0


# Filters of antialias: how far they reach, and their weights.
LINEAR = 1.0, lambda t: max(1.0 - t, 0.0)
CUBIC = 2.0, lambda t: _keys(t, -0.5)
LANCZOS = 3.0, lambda t: _sinc(t) * _sinc(t / 3.0) if t < 3.0 else 0.0


def _antialias_matrix(old, new, align_corners, scale, reach, weight):
    """A filter as wide as the elements that become one."""
    step = _scale(old, new, align_corners, scale)
    width = max(step, 1.0)
    rows = []
    for o in range(new):
        center, half = (o + 0.5) * step, reach * width
        begin, end = max(int(center - half + 0.5), 0), min(int(center + half + 0.5), old)
        weights = [weight(abs(i - center + 0.5) / width) for i in range(begin, end)]
        rows.append([0.0] * begin + [w / sum(weights) for w in weights] + [0.0] * (old - end))
    return rows


def _resampled_bytes(l, a, shape, old, new, matrix):
    """As PyTorch does it in integers: weights are multiples of a power of 2, and what there is between the axes, from
    the last to the first, are bytes again."""
    if 0 in shape:
        return l.function.constant(0, shape, "i8")
    value = l.converted(a, torch.int32)
    for i in reversed(range(len(old))):
        rows = matrix(i, old[i], new[i])
        most = max(map(max, rows))
        digits = next((d for d in range(22) if int(0.5 + most * 2 ** (d + 1)) >= 2 ** 15), 22)
        whole = [[int(math.copysign(0.5, w) + w * 2 ** digits) for w in row] for row in rows]
        others = [[[int(k == j) for k in range(n)] for j in range(n)] for n in new[i + 1:]]
        value = along_axes(l, value, [whole] + others, torch.int32)
        value = l.function.generic([(value, identity(value.rank))], value.shape, value.element,
                                   lambda b, x, digits=digits: _nearest_byte(Scalars(b, torch.int32), x, digits))
    return l.convert(value, torch.int32, torch.uint8)


def _nearest_byte(s, x, digits):
    """A sum of products with weights that have so many binary digits."""
    half = s.const(1 << digits - 1)
    return s.maximum(s.minimum(s.op("arith.shrsi", s.add(x, half), s.const(digits)), s.const(255)), s.const(0))


def _resample_rule(name, spatial, matrix, *more, has_corners=True):
    """`matrix` is a function of the extents, align_corners, the scale and `more`."""
    def matrices(options):
        corners = options[0] if has_corners else False
        scales = (list(options[has_corners:]) + [None] * spatial)[:spatial]
        return lambda i, old, new: matrix(old, new, corners, scales[i], *more)

    @rule(name)
    def forward(l, node, a, size, *options):
        shape, dtype = l.result()
        extents = l.value(a).shape[-spatial:], shape[-spatial:]
        if dtype == torch.uint8 and has_corners:
            return _resampled_bytes(l, a, shape, *extents, matrices(options))
        return _resampled(l, a, shape, *extents, matrices(options), False)

    @rule(name + "_backward")
    def backward(l, node, grad, size, input_size, *options):
        shape = l.result()[0]
        return _resampled(l, grad, shape, shape[-spatial:], l.value(grad).shape[-spatial:], matrices(options), True)


for _spatial, _name in (1, "linear1d"), (2, "bilinear2d"), (3, "trilinear3d"):
    _resample_rule("upsample_" + _name, _spatial, _linear_matrix)
    _resample_rule("upsample_nearest%dd" % _spatial, _spatial, _nearest_matrix, False, has_corners=False)
    _resample_rule("_upsample_nearest_exact%dd" % _spatial, _spatial, _nearest_matrix, True, has_corners=False)
_resample_rule("upsample_bicubic2d", 2, _cubic_matrix)
for _name, _filter in ("bilinear", LINEAR), ("bicubic", CUBIC), ("lanczos", LANCZOS):
    _resample_rule("_upsample_%s2d_aa" % _name, 2, _antialias_matrix, *_filter)


@rule("reflection_pad1d", "reflection_pad2d", "reflection_pad3d", "replication_pad1d", "replication_pad2d",
      "replication_pad3d")
def _mirror(l, node, a, padding):
    reflects = node.target.overloadpacket.__name__.startswith("reflection")
    value = l.value(a)
    return _resampled_exactly(l, value, node, padding, reflects)


def _mirror_sources(old, low, high, reflects):
    def source(i):
        if not reflects:
            return min(max(i, 0), old - 1)
        i = abs(i)
        return i if i < old else 2 * (old - 1) - i
    return [source(i) for i in range(-low, old + high)]


def _resampled_exactly(l, value, node, padding, reflects):
    for i in range(len(padding) // 2):
        dim = value.rank - 1 - i
        sources = _mirror_sources(value.shape[dim], padding[2 * i], padding[2 * i + 1], reflects)
        table = l.function.dense(sources, "i64")
        shape = value.shape[:dim] + (len(sources),) + value.shape[dim + 1:]

        def body(b, place, value=value, dim=dim):
            index = [b.index(j) for j in range(value.rank)]
            index[dim] = b.to_index(place, "i64")
            return b.extract(value, index)

        value = l.function.generic([(table, ["d%d" % dim])], shape, value.element, body)
    return value


@rule("reflection_pad1d_backward", "reflection_pad2d_backward", "reflection_pad3d_backward",
      "replication_pad1d_backward", "replication_pad2d_backward", "replication_pad3d_backward")
def _mirror_backward(l, node, grad, a, padding):
    reflects = node.target.overloadpacket.__name__.startswith("reflection")
    shape, dtype = l.result()
    inner = working(dtype)
    value = l.converted(grad, inner)
    f = l.function
    for i in range(len(padding) // 2):
        dim = value.rank - 1 - i
        sources = _mirror_sources(shape[dim], padding[2 * i], padding[2 * i + 1], reflects)
        out = value.shape[:dim] + (shape[dim],) + value.shape[dim + 1:]

        def body(b, points, names, dim=dim):
            index = list(points)
            index[dim] = b.to_index(names[0], "i64")
            return index, names[1]

        value = f.scatter([(f.dense(sources, "i64"), ["d%d" % dim]), (value, identity(value.rank))], value.shape,
                          f.constant(0, out, element_of(inner)), body)
    return l.convert(value, inner, dtype)



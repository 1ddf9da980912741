"""Rules of pooling and resampling.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from ..mlir import Body, Value, affine_map, identity
from .pointwise import Scalars
from .products import conv
from .rules import rule
from .types import element_of, is_float, lowest, working


def _numbers(given, spatial, default=None):
    given = default if given is None or given == [] else given
    given = [given] if isinstance(given, int) else list(given)
    return given * spatial if len(given) == 1 else given


class Window:
    """Windows over the last dimensions of a tensor."""

    def __init__(self, x_shape, y_shape, spatial, kernel, stride, padding, dilation):
        self.spatial = spatial
        self.kernel = _numbers(kernel, spatial)
        self.stride = _numbers(stride, spatial, self.kernel)
        self.low = _numbers(padding, spatial)
        self.dilation = _numbers(dilation, spatial)
        self.extents, self.outputs = x_shape[-spatial:], y_shape[-spatial:]
        # With ceil_mode the last window may reach beyond the padding.
        self.high = [max((o - 1) * s + d * (k - 1) + 1 - e - p, 0) for o, s, d, k, e, p in zip(
            self.outputs, self.stride, self.dilation, self.kernel, self.extents, self.low)]


def _first_places(f, w, shape):
    """For each window the number in its plane of the first element that is not padding."""
    tables, scale, lead = [], 1, len(shape) - w.spatial
    for i in reversed(range(w.spatial)):
        starts = [o * w.stride[i] - w.low[i] for o in range(w.outputs[i])]
        places = [s if s >= 0 else s + -(s // w.dilation[i]) * w.dilation[i] for s in starts]
        tables.append((f.dense([p * scale for p in places], "i64"), ["d%d" % (lead + i)]))
        scale *= w.extents[i]

    def body(b, *numbers):
        total = numbers[0]
        for number in numbers[1:]:
            total = b.binary("arith.addi", total, number, "i64")
        return total

    return f.generic(tables, shape, "i64", body)


def _max_pool(l, node, a, spatial, kernel, stride, padding, dilation):
    """Greatest elements and where they are: the number of the element in its plane, the first one of equal ones."""
    f, value, dtype = l.function, l.value(a), l.dtype(a)
    shape = tuple(node.meta["val"][0].shape)
    w = Window(value.shape, shape, spatial, kernel, stride, padding, dilation)
    lead = value.rank - spatial
    padded = f.pad(value, [0] * lead + w.low, [0] * lead + w.high, lowest(dtype))
    element, loops = value.element, value.rank + spatial
    reads = identity(lead) + ["d%d * %d + d%d * %d" % (lead + i, w.stride[i], value.rank + i, w.dilation[i])
                              for i in range(spatial)]
    window = f.empty(w.kernel, element)
    # What no element is greater than: the first element of the window.
    best, where = f.constant(lowest(dtype), shape, element), _first_places(f, w, shape)
    x, unused, old, old_index, name = (f.fresh() for _ in range(5))
    b = Body(f)
    s = Scalars(b, dtype)
    number = b.constant(0, "index")
    for i in range(spatial):
        o, k = b.index(lead + i), b.index(value.rank + i)
        place = b.binary("arith.addi", b.binary("arith.muli", o, b.constant(w.stride[i], "index"), "index"), b.binary(
            "arith.muli", k, b.constant(w.dilation[i], "index"), "index"), "index")
        place = b.binary("arith.subi", place, b.constant(w.low[i], "index"), "index")
        number = b.binary("arith.addi", b.binary("arith.muli", number, b.constant(w.extents[i], "index"), "index"),
                          place, "index")
    number = b.cast("arith.index_cast", number, "index", "i64")
    better = s.compare("gt", x, old)
    if is_float(dtype):
        better = b.binary("arith.ori", better, s.is_nan(x), "i1")
    picked, picked_index = b.select(better, x, old, element), b.select(better, number, old_index, "i64")
    maps = [reads, ["d%d" % (value.rank + i) for i in range(spatial)], identity(value.rank), identity(value.rank)]
    iterators = ['"parallel"'] * value.rank + ['"reduction"'] * spatial
    f.emit("%s:2 = linalg.generic {indexing_maps = [%s], iterator_types = [%s]} ins(%s, %s : %s, %s) "
           "outs(%s, %s : %s, %s) %s{" % (
               name, ", ".join(affine_map(loops, m) for m in maps), ", ".join(iterators), padded.name, window.name,
               padded.type, window.type, best.name, where.name, best.type, where.type,
                f.policy_of(name, "attrs")), False)
    f.emit("^bb0(%s: %s, %s: %s, %s: %s, %s: i64):" % (x, element, unused, element, old, element, old_index), False)
    f.lines += b.lines
    f.emit("  linalg.yield %s, %s : %s, i64" % (picked, picked_index, element))
    f.emit("} -> (%s, %s)" % (best.type, where.type))
    return [Value(name + "#0", shape, element), Value(name + "#1", shape, "i64")]


@rule("max_pool2d_with_indices", "max_pool3d_with_indices")
def _max_pool_rule(l, node, a, kernel, stride=(), padding=0, dilation=1, ceil_mode=False):
    spatial = 2 if "2d" in node.target.overloadpacket.__name__ else 3
    return _max_pool(l, node, a, spatial, kernel, list(stride), padding, dilation)


@rule("max_pool2d_with_indices_backward", "max_pool3d_with_indices_backward")
def _max_pool_backward(l, node, grad, a, kernel, stride, padding, dilation, ceil_mode, indices):
    spatial = 2 if "2d" in node.target.overloadpacket.__name__ else 3
    shape, dtype = l.result()
    f, inner = l.function, working(dtype)
    grad, indices = l.converted(grad, inner), l.value(indices)
    lead = shape[:-spatial]
    plane = 1
    for extent in shape[-spatial:]:
        plane *= extent

    def body(b, points, names):
        return points[:len(lead)] + [b.to_index(names[0], "i64")], names[1]

    total = f.scatter([(indices, identity(indices.rank)), (grad, identity(grad.rank))], grad.shape,
                      f.constant(0, lead + (plane,), element_of(inner)), body)
    return l.convert(f.reshape(total, shape), inner, dtype)


# Averages are depthwise convolutions with a filter of ones.

def _counts(w, count_include_pad, divisor):
    """For each window, the number that its sum is divided by, as nested lists."""
    def axis(i):
        out = []
        for o in range(w.outputs[i]):
            start = o * w.stride[i] - w.low[i]
            end = min(start + w.kernel[i], w.extents[i] + w.low[i])
            if not count_include_pad:
                start, end = max(start, 0), min(end, w.extents[i])
            out.append(end - start)
        return out

    def nest(axes, number):
        return [nest(axes[1:], number * n) for n in axes[0]] if axes else float(divisor or number)

    return nest([axis(i) for i in range(w.spatial)], 1)


def _depthwise(l, x, w, kind, dtype, full):
    channels = full[1]
    ones = l.function.constant(1, (channels, 1) + tuple(w.kernel), element_of(dtype))
    return conv(l, kind, x, ones, full, w.spatial, w.stride, [1] * w.spatial, w.low, w.high, channels)


def _divide_by_counts(l, value, counts, dtype):
    element = element_of(dtype)
    spatial = identity(value.rank)[2:]
    flat = {n for n in _leaves(counts)}
    if len(flat) == 1:
        number = flat.pop()
        return l.function.generic([(value, identity(value.rank))], value.shape, element,
                                  lambda b, x: b.binary("arith.divf", x, b.constant(number, element), element))
    return l.function.generic([(value, identity(value.rank)), (l.function.dense(counts, element), spatial)],
                              value.shape, element, lambda b, x, n: b.binary("arith.divf", x, n, element))


def _leaves(nested):
    return [x for part in nested for x in _leaves(part)] if isinstance(nested, list) else [nested]


def _batched(shape, spatial):
    """The shape with one batch dimension and one of features."""
    lead = shape[:-spatial]
    return ((1, 1) if not lead else (1,) + lead if len(lead) == 1 else lead) + shape[-spatial:]


@rule("avg_pool1d", "avg_pool2d", "avg_pool3d")
def _avg_pool(l, node, a, kernel, stride=(), padding=0, ceil_mode=False, count_include_pad=True,
              divisor_override=None):
    spatial = int(node.target.overloadpacket.__name__[8])
    shape, dtype = l.result()
    inner = working(dtype)
    if not is_float(dtype):
        l.refuse("averages of %s are not supported" % dtype)
    x = l.converted(a, inner)
    w = Window(x.shape, shape, spatial, kernel, list(stride), padding, 1)
    y = _depthwise(l, l.function.reshape(x, _batched(x.shape, spatial)), w, "forward", inner, _batched(shape, spatial))
    y = _divide_by_counts(l, y, _counts(w, count_include_pad, divisor_override), inner)
    return l.convert(l.function.reshape(y, shape), inner, dtype)


@rule("avg_pool2d_backward", "avg_pool3d_backward")
def _avg_pool_backward(l, node, grad, a, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override):
    spatial = int(node.target.overloadpacket.__name__[8])
    shape, dtype = l.result()
    inner = working(dtype)
    g = l.converted(grad, inner)
    w = Window(shape, g.shape, spatial, kernel, list(stride), padding, 1)
    g = _divide_by_counts(l, l.function.reshape(g, _batched(g.shape, spatial)),
                          _counts(w, count_include_pad, divisor_override), inner)
    x = _depthwise(l, g, w, "input_grad", inner, _batched(shape, spatial))
    return l.convert(l.function.reshape(x, shape), inner, dtype)


# Resampling is a product with a matrix along each dimension.

def along_axes(l, value, matrices, dtype):
    """Multiplies the last dimensions by `matrices`, each of (new extent, old extent)."""
    f, element = l.function, element_of(dtype)
    first = value.rank - len(matrices)
    for i, matrix in enumerate(matrices):
        dim = first + i
        new = len(matrix)
        loops = identity(value.rank)
        k = "d%d" % value.rank
        reads = list(loops)
        reads[dim] = k
        shape = value.shape[:dim] + (new,) + value.shape[dim + 1:]
        value = f.contract(value, reads, f.dense(matrix, element), [loops[dim], k], shape, value.rank + 1, loops)
    return value


def _transposed(matrix):
    return [list(row) for row in zip(*matrix)]


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


def _nearest_matrix(old, new, scale, exact):
    step = _scale(old, new, False, scale)
    rows = []
    for o in range(new):
        source = min(int((o + 0.5) * step) if exact else int(o * step), old - 1)
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


def _resample_rule(name, spatial, linear, exact=False):
    @rule(name)
    def forward(l, node, a, size, *options):
        if node.target._overloadname == "vec":
            scales = (list(options[-1]) if options and options[-1] else []) or [None] * spatial
            corners = options[0] if linear else False
        else:
            corners = options[0] if linear else False
            scales = (list(options[1 if linear else 0:]) + [None] * spatial)[:spatial]
        shape = l.result()[0]
        return _resampled(l, a, shape, l.value(a).shape[-spatial:], shape[-spatial:], lambda i, o, n: (
            _linear_matrix(o, n, corners, scales[i]) if linear else _nearest_matrix(o, n, scales[i], exact)), False)

    @rule(name + "_backward")
    def backward(l, node, grad, size, input_size, *options):
        corners = options[0] if linear else False
        scales = (list(options[1 if linear else 0:]) + [None] * spatial)[:spatial]
        shape = l.result()[0]
        return _resampled(l, grad, shape, shape[-spatial:], l.value(grad).shape[-spatial:], lambda i, o, n: (
            _linear_matrix(o, n, corners, scales[i]) if linear else _nearest_matrix(o, n, scales[i], exact)), True)


for _spatial, _name in ((1, "linear1d"), (2, "bilinear2d"), (3, "trilinear3d")):
    _resample_rule("upsample_" + _name, _spatial, True)
    _resample_rule("upsample_nearest%dd" % _spatial, _spatial, False)
    _resample_rule("_upsample_nearest_exact%dd" % _spatial, _spatial, False, True)


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



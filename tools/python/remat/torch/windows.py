"""Rules of pooling.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import math
import operator

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

    def are_apart(self):
        """Whether no element is in two windows."""
        return all(s > d * (k - 1) for s, d, k in zip(self.stride, self.dilation, self.kernel))


class Places:
    """Where the greatest elements of windows are: their numbers in their windows, in the smallest integers that hold
    them."""

    def __init__(self, window):
        self.window = window
        self.count = math.prod(window.kernel)
        self.element = next((t for t, top in (("i8", 127), ("i16", 32767)) if self.count <= top), "i64")
        self.value = None

    def number(self, b, digits):
        """The number of an element in its window from its coordinates there."""
        return _join(b, digits, self.window.kernel)

    def is_first(self, b, windows, digits):
        """Whether an element is the first one of its window that is not padding."""
        found = None
        for i, (window, digit) in enumerate(zip(windows, digits)):
            is_here = b.compare("eq", digit, self._first(b, i, window), "index")
            found = is_here if found is None else b.binary("arith.andi", found, is_here, "i1")
        return found

    def coordinates(self, b, windows, place):
        """Those of the element in the tensor, from those of the window and the element of `value`."""
        w = self.window
        # No place is larger: this is a bound that others can see.
        number = b.binary("arith.minui", b.cast("arith.index_castui", place, self.element, "index"),
                          b.constant(self.count - 1, "index"), "index")
        found = []
        for i in reversed(range(w.spatial)):
            extent, digit = b.constant(w.kernel[i], "index"), number
            if i:
                digit = b.binary("arith.remui", number, extent, "index")
                number = b.binary("arith.divui", number, extent, "index")
            found.insert(0, self._coordinate(b, i, windows[i], digit))
        return found

    def _coordinate(self, b, i, window, digit):
        w = self.window
        found = b.binary("arith.addi", b.binary("arith.muli", window, b.constant(w.stride[i], "index"), "index"),
                         b.binary("arith.muli", digit, b.constant(w.dilation[i], "index"), "index"), "index")
        # Nothing is found in the padding: these are bounds that import can see.
        if w.low[i]:
            found = b.binary("arith.subi", found, b.constant(w.low[i], "index"), "index")
            found = b.binary("arith.maxsi", found, b.constant(0, "index"), "index")
        if w.high[i]:
            found = b.binary("arith.minsi", found, b.constant(w.extents[i] - 1, "index"), "index")
        return found

    def _first(self, b, i, window):
        """The first coordinate in the window whose element is not padding."""
        w = self.window
        start = b.binary("arith.muli", window, b.constant(w.stride[i], "index"), "index")
        missing = b.binary("arith.subi", b.constant(w.low[i], "index"), start, "index")
        missing = b.binary("arith.maxsi", missing, b.constant(0, "index"), "index")
        missing = b.binary("arith.addi", missing, b.constant(w.dilation[i] - 1, "index"), "index")
        return b.binary("arith.divui", missing, b.constant(w.dilation[i], "index"), "index")


def _join(b, digits, extents):
    number = digits[0]
    for digit, extent in zip(digits[1:], extents[1:]):
        number = b.binary("arith.addi", b.binary("arith.muli", number, b.constant(extent, "index"), "index"), digit,
                          "index")
    return number


def _max_pool(l, node, a, spatial, kernel, stride, padding, dilation):
    """Greatest elements and where they are: the number of the element in its plane, the first one of equal ones."""
    f, value, dtype = l.function, l.value(a), l.dtype(a)
    shape = tuple(node.meta["val"][0].shape)
    w = Window(value.shape, shape, spatial, kernel, stride, padding, dilation)
    lead = value.rank - spatial
    padded = f.pad(value, [0] * lead + w.low, [0] * lead + w.high, lowest(dtype))
    element, loops, places = value.element, value.rank + spatial, Places(w)
    reads = identity(lead) + ["d%d * %d + d%d * %d" % (lead + i, w.stride[i], value.rank + i, w.dilation[i])
                              for i in range(spatial)]
    window = f.empty(w.kernel, element)
    # What no element is greater than. The first element that is not padding is taken in any case.
    best, where = f.constant(lowest(dtype), shape, element), f.constant(0, shape, places.element)
    x, unused, old, old_place, name = (f.fresh() for _ in range(5))
    b = Body(f)
    s = Scalars(b, dtype)
    digits = [b.index(value.rank + i) for i in range(spatial)]
    number = b.cast("arith.index_cast", places.number(b, digits), "index", places.element)
    better = s.compare("gt", x, old)
    if is_float(dtype):
        better = b.binary("arith.ori", better, s.is_nan(x), "i1")
    if any(w.low):
        windows = [b.index(lead + i) for i in range(spatial)]
        better = b.binary("arith.ori", better, places.is_first(b, windows, digits), "i1")
    picked, picked_place = b.select(better, x, old, element), b.select(better, number, old_place, places.element)
    maps = [reads, ["d%d" % (value.rank + i) for i in range(spatial)], identity(value.rank), identity(value.rank)]
    iterators = ['"parallel"'] * value.rank + ['"reduction"'] * spatial
    f.emit("%s:2 = linalg.generic {indexing_maps = [%s], iterator_types = [%s]} ins(%s, %s : %s, %s) "
           "outs(%s, %s : %s, %s) %s{" % (
               name, ", ".join(affine_map(loops, m) for m in maps), ", ".join(iterators), padded.name, window.name,
               padded.type, window.type, best.name, where.name, best.type, where.type,
                f.policy_of(name, "attrs")), False)
    f.emit("^bb0(%s: %s, %s: %s, %s: %s, %s: %s):" % (x, element, unused, element, old, element, old_place,
                                                      places.element), False)
    f.lines += b.lines
    f.emit("  linalg.yield %s, %s : %s, %s" % (picked, picked_place, element, places.element))
    f.emit("} -> (%s, %s)" % (best.type, where.type))
    places.value = Value(name + "#1", shape, places.element)
    l.places[node] = places

    def in_plane(b, place):
        found = places.coordinates(b, [b.index(lead + i) for i in range(spatial)], place)
        return b.cast("arith.index_cast", _join(b, found, w.extents), "index", "i64")

    return [Value(name + "#0", shape, element),
            f.generic([(places.value, identity(value.rank))], shape, "i64", in_plane)]


@rule("max_pool2d_with_indices", "max_pool3d_with_indices")
def _max_pool_rule(l, node, a, kernel, stride=(), padding=0, dilation=1, ceil_mode=False):
    spatial = 2 if "2d" in node.target.overloadpacket.__name__ else 3
    return _max_pool(l, node, a, spatial, kernel, list(stride), padding, dilation)


def _find_places(l, indices, window):
    """What the pooling that `indices` are of found, if its windows are those of `window`."""
    if indices.target is not operator.getitem or indices.args[1] != 1:
        return None
    places = l.places.get(indices.args[0])
    return places if places and vars(places.window) == vars(window) else None


@rule("max_pool2d_with_indices_backward", "max_pool3d_with_indices_backward")
def _max_pool_backward(l, node, grad, a, kernel, stride, padding, dilation, ceil_mode, indices):
    spatial = 2 if "2d" in node.target.overloadpacket.__name__ else 3
    shape, dtype = l.result()
    f, lead = l.function, shape[:-spatial]
    w = Window(shape, l.value(grad).shape, spatial, kernel, list(stride), padding, dilation)
    # Where no windows overlap, nothing is added up.
    inner = dtype if w.are_apart() else working(dtype)
    grad = l.converted(grad, inner)
    places = _find_places(l, indices, w)
    if places:

        def in_window(b, points, names):
            return points[:len(lead)] + places.coordinates(b, points[len(lead):], names[0]), names[1]

        total = f.scatter([(places.value, identity(grad.rank)), (grad, identity(grad.rank))], grad.shape,
                          f.constant(0, shape, element_of(inner)), in_window)
        return l.convert(total, inner, dtype)

    def in_plane(b, points, names):
        return points[:len(lead)] + [b.to_index(names[0], "i64")], names[1]

    total = f.scatter([(l.value(indices), identity(grad.rank)), (grad, identity(grad.rank))], grad.shape,
                      f.constant(0, lead + (math.prod(w.extents),), element_of(inner)), in_plane)
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
        return [nest(axes[1:], number * n) for n in axes[0]] if axes else (divisor or number)

    return nest([axis(i) for i in range(w.spatial)], 1)


def _depthwise(l, x, w, kind, dtype, full):
    channels = full[1]
    ones = l.function.constant(1, (channels, 1) + tuple(w.kernel), element_of(dtype))
    return conv(l, kind, x, ones, full, w.spatial, w.stride, [1] * w.spatial, w.low, w.high, channels)


def _divide_by_counts(l, value, counts, dtype):
    element = element_of(dtype)
    spatial = identity(value.rank)[2:]
    flat = {n for n in _leaves(counts)}
    # Quotients of integers are rounded to zero, as PyTorch rounds them.
    division = "arith.divf" if is_float(dtype) else "arith.divsi"
    if len(flat) == 1:
        number = flat.pop()
        return l.function.generic([(value, identity(value.rank))], value.shape, element,
                                  lambda b, x: b.binary(division, x, b.constant(number, element), element))
    return l.function.generic([(value, identity(value.rank)), (l.function.dense(counts, element), spatial)],
                              value.shape, element, lambda b, x, n: b.binary(division, x, n, element))


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

"""Rules of reductions, scans and sorts.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import math

import torch

from ..mlir import Body, Value, affine_map, identity
from ..scans import scan
from ..sorting import order, sort_keys, take_in_order
from .pointwise import Scalars, lower_pointwise
from .rules import rule
from .shapes import wrap
from .types import convert, element_of, highest, is_float, lowest, working


def normalized_dims(dims, rank):
    if dims is None or dims == []:
        return list(range(rank))
    dims = [dims] if isinstance(dims, int) else dims
    return sorted(wrap(d, max(rank, 1)) for d in dims) if rank else []


def reduce(l, a, dims, dtype, initial, combine, keepdim_shape):
    """The elements of `a` along `dims`, combined in `dtype`."""
    value, source = l.value(a), l.dtype(a)
    dims = set(normalized_dims(dims, value.rank))
    kept = [i for i in range(value.rank) if i not in dims]
    shape = [value.shape[i] for i in kept]
    element = element_of(dtype)
    init = l.function.constant(initial, shape, element)
    if not dims:
        result = l.convert(value, source, dtype)
    else:
        result = l.function.generic(
            [(value, identity(value.rank))], shape, element,
            # An imaginary part is discarded where the program asks for another type.
            lambda b, x, acc: combine(Scalars(b, dtype), acc, convert(b, x, source, dtype, l.node.kwargs.get("dtype"))),
            loops=value.rank, reductions=dims, out_map=["d%d" % i for i in kept], init=init)
    return l.function.reshape(result, keepdim_shape)


def _reduction(l, a, dims, initial, combine, through=None):
    """A reduction whose result has the type of the node, computed in the type for that."""
    shape, dtype = l.result()
    inner = through or working(dtype)
    return l.convert(reduce(l, a, dims, inner, initial(inner), combine, shape), inner, dtype)


def _add(s, acc, x):
    return s.add(acc, x)


@rule("sum")
def _sum(l, node, a, dim=None, keepdim=False, dtype=None, **_):
    return _reduction(l, a, dim, lambda t: 0, _add)


@rule("mean")
def _mean(l, node, a, dim=None, keepdim=False, dtype=None, **_):
    shape, result = l.result()
    inner = working(result)
    value = l.value(a)
    count = math.prod(value.shape[d] for d in normalized_dims(dim, value.rank))
    total = reduce(l, a, dim, inner, 0, _add, shape)

    def body(b, x):
        s = Scalars(b, inner)
        return convert(b, s.div(x, s.const(count)), inner, result)

    return l.function.generic([(total, identity(total.rank))], shape, element_of(result), body)


@rule("prod")
def _prod(l, node, a, dim=None, keepdim=False, dtype=None, **_):
    return _reduction(l, a, dim, lambda t: 1, lambda s, acc, x: s.mul(acc, x))


@rule("amax")
def _amax(l, node, a, dim=(), keepdim=False):
    return _reduction(l, a, list(dim), lowest, lambda s, acc, x: s.maximum(acc, x))


@rule("amin")
def _amin(l, node, a, dim=(), keepdim=False):
    return _reduction(l, a, list(dim), highest, lambda s, acc, x: s.minimum(acc, x))


@rule("any")
def _any(l, node, a, dim=None, keepdim=False):
    return _reduction(l, a, dim, lambda t: 0, lambda s, acc, x: s.op("arith.ori", acc, x), torch.bool)


@rule("all")
def _all(l, node, a, dim=None, keepdim=False):
    return _reduction(l, a, dim, lambda t: 1, lambda s, acc, x: s.op("arith.andi", acc, x), torch.bool)


def select_extremum(l, a, dim, largest):
    """The greatest or least elements along a dimension, and where the first of them is; a nan counts as both."""
    value, dtype = l.value(a), l.dtype(a)
    f, element, rank = l.function, value.element, value.rank
    kept = [i for i in range(rank) if i != dim]
    shape = [value.shape[i] for i in kept]
    best = f.constant(lowest(dtype) if largest else highest(dtype), shape, element)
    where = f.constant(0, shape, "i64")
    x, old, old_index, name = f.fresh(), f.fresh(), f.fresh(), f.fresh()
    out = affine_map(rank, ["d%d" % i for i in kept])
    b = Body(f)
    s = Scalars(b, dtype)
    index = b.cast("arith.index_cast", b.index(dim), "index", "i64")
    better = s.compare("gt" if largest else "lt", x, old)
    if is_float(dtype):
        new_nan = b.binary("arith.andi", s.is_nan(x), b.compare("ord", old, old, element), "i1")
        better = b.binary("arith.ori", better, new_nan, "i1")
    picked, picked_index = b.select(better, x, old, element), b.select(better, index, old_index, "i64")
    iterators = ", ".join('"reduction"' if i == dim else '"parallel"' for i in range(rank))
    f.emit("%s:2 = linalg.generic {indexing_maps = [%s, %s, %s], iterator_types = [%s]} ins(%s : %s) "
           "outs(%s, %s : %s, %s) %s{" % (name, affine_map(rank, identity(rank)), out, out, iterators, value.name,
                                        value.type, best.name, where.name, best.type, where.type,
                f.policy_of(name, "attrs")), False)
    f.emit("^bb0(%s: %s, %s: %s, %s: i64):" % (x, element, old, element, old_index), False)
    f.lines += b.lines
    f.emit("  linalg.yield %s, %s : %s, i64" % (picked, picked_index, element))
    f.emit("} -> (%s, %s)" % (best.type, where.type))
    return Value(name + "#0", shape, element), Value(name + "#1", shape, "i64")


def _extremum(l, node, a, dim, largest):
    if dim is None:
        flat = (math.prod(l.value(a).shape),)
        whole = l.function.reshape(l.value(a), flat)
        l.values["whole"] = whole
        return select_extremum(_Flat(l, a, whole), a, 0, largest)
    rank = l.value(a).rank
    if rank == 0:
        return l.value(a), l.function.constant(0, (), "i64")
    return select_extremum(l, a, wrap(dim, rank), largest)


class _Flat:
    """A lowering in which one operand has another shape."""

    def __init__(self, lowering, operand, value):
        self._lowering, self._operand, self._value = lowering, operand, value
        self.function = lowering.function

    def value(self, operand):
        return self._value if operand is self._operand else self._lowering.value(operand)

    def dtype(self, operand):
        return self._lowering.dtype(operand)


@rule("argmax")
def _argmax(l, node, a, dim=None, keepdim=False):
    return l.function.reshape(_extremum(l, node, a, dim, True)[1], l.result()[0])


@rule("argmin")
def _argmin(l, node, a, dim=None, keepdim=False):
    return l.function.reshape(_extremum(l, node, a, dim, False)[1], l.result()[0])


def _max_or_min(l, node, a, args, largest):
    if isinstance(node.meta["val"], torch.Tensor):
        if args and l.is_tensor(args[0]):
            return lower_pointwise(l, "maximum" if largest else "minimum", node.target, (a, args[0]), {}, *l.result())
        return _reduction(l, a, None, lowest if largest else highest,
                          lambda s, acc, x: s.maximum(acc, x) if largest else s.minimum(acc, x))
    values, indices = _extremum(l, node, a, args[0], largest)
    shape = node.meta["val"][0].shape
    return [l.function.reshape(values, shape), l.function.reshape(indices, shape)]


@rule("max")
def _max(l, node, a, *args, **_):
    return _max_or_min(l, node, a, args, True)


@rule("min")
def _min(l, node, a, *args, **_):
    return _max_or_min(l, node, a, args, False)


# Scans

def _scan(l, a, dim, initial, combine):
    shape, dtype = l.result()
    inner = working(dtype)
    if not shape:
        return l.converted(a, dtype)
    value = scan(l.function, l.converted(a, inner), wrap(dim, len(shape)), initial,
                 lambda b, x, y: combine(Scalars(b, inner), x, y))
    return l.convert(value, inner, dtype)


@rule("cumsum")
def _cumsum(l, node, a, dim, dtype=None, **_):
    return _scan(l, a, dim, 0, _add)


@rule("cumprod")
def _cumprod(l, node, a, dim, dtype=None, **_):
    return _scan(l, a, dim, 1, lambda s, acc, x: s.mul(acc, x))


@rule("logcumsumexp")
def _logcumsumexp(l, node, a, dim):
    if l.result()[1].is_complex:
        l.refuse("it is not supported for complex numbers; use x.exp().cumsum(dim).log()")

    def combine(s, x, y):
        high, low = s.maximum(x, y), s.minimum(x, y)
        # Differences of infinities are no numbers.
        both = s.compare("eq", s.op("math.absf", high), s.const(math.inf))
        total = s.add(high, s.op("math.log1p", s.op("math.exp", s.sub(low, high))))
        return s.select(both, high, total)

    return _scan(l, a, dim, -math.inf, combine)


# Sorts

def _sort(l, a, dim, descending, count):
    value = l.value(a)
    keys = sort_keys(l.function, value, not l.dtype(a).is_signed, descending)
    places = order(l.function, keys, dim, count)
    return [take_in_order(l.function, value, places, dim), places]


@rule("sort")
def _sort_rule(l, node, a, *args, **kwargs):
    if node.target._overloadname == "stable":
        stable, dim, descending = (list(args) + [None] * 3)[:3] if args else (None, None, None)
        dim = kwargs.get("dim", -1 if dim is None else dim)
        descending = kwargs.get("descending", bool(descending))
    else:
        dim, descending = (list(args) + [-1, False][len(args):])[:2]
        dim, descending = kwargs.get("dim", dim), kwargs.get("descending", descending)
    rank = l.value(a).rank
    if rank == 0:
        return [l.value(a), l.function.constant(0, (), "i64")]
    dim = wrap(dim, rank)
    return _sort(l, a, dim, descending, l.value(a).shape[dim])


@rule("topk")
def _topk(l, node, a, k, dim=-1, largest=True, sorted=True):
    rank = l.value(a).rank
    if rank == 0:
        return [l.value(a), l.function.constant(0, (), "i64")]
    return _sort(l, a, wrap(dim, rank), largest, k)


# Variances, from the differences to the mean.

def _variance(l, a, dims, correction, keep_shape, dtype, with_mean):
    value, source = l.value(a), l.dtype(a)
    inner = working(source)
    dims = normalized_dims(dims, value.rank)
    count = math.prod(value.shape[d] for d in dims)
    short = [1 if i in dims else e for i, e in enumerate(value.shape)]
    reads = ["0" if i in dims and e != 1 else "d%d" % i for i, e in enumerate(value.shape)]
    total = reduce(l, a, dims, inner, 0, _add, tuple(short))

    def divide(number):
        return lambda b, x: Scalars(b, inner).div(x, b.constant(number, element_of(inner)))

    mean = l.function.generic([(total, identity(value.rank))], short, total.element, divide(count))
    kept = [i for i in range(value.rank) if i not in dims]
    shape = [value.shape[i] for i in kept]

    def square(b, x, m):
        s = Scalars(b, inner)
        difference = s.sub(convert(b, x, source, inner), m)
        return s.mul(difference, difference)

    if dims:
        squared = l.function.generic(
            [(value, identity(value.rank)), (mean, reads)], shape, total.element,
            lambda b, x, m, acc: Scalars(b, inner).add(acc, square(b, x, m)), loops=value.rank,
            reductions=set(dims), out_map=["d%d" % i for i in kept],
            init=l.function.constant(0, shape, total.element))
    else:  # It is 0, or NaN.
        squared = l.function.generic([(value, []), (mean, [])], shape, total.element, square)
    variance = l.function.generic([(squared, identity(squared.rank))], shape, total.element,
                                  divide(max(count - correction, 0)))
    out = lambda v: l.convert(l.function.reshape(v, keep_shape), inner, dtype)
    return [out(variance), out(mean)] if with_mean else out(variance)


def _correction(args, options):
    """`dim`, then `unbiased` or `correction`."""
    dim = options.get("dim", args[0] if args and not isinstance(args[0], bool) else None)
    correction = options.get("correction", args[1] if len(args) > 1 else args[0] if args and isinstance(
        args[0], bool) else None)
    correction = 1 if correction is None or correction is True else 0 if correction is False else correction
    return dim, correction


@rule("var")
def _var(l, node, a, *args, **options):
    shape, dtype = l.result()
    return _variance(l, a, *_correction(args, options), shape, dtype, False)


@rule("var_mean")
def _var_mean(l, node, a, *args, **options):
    val = node.meta["val"][0]
    return _variance(l, a, *_correction(args, options), tuple(val.shape), val.dtype, True)

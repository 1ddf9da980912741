"""Rules of complex numbers and of Fourier transforms. Sums, products and functions of complex numbers are formulas of
pointwise.py.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import math

from ..mlir import broadcast_map, identity
from .pointwise import Scalars
from .rules import rule
from .shapes import wrap
from .types import convert, element_of, working

# Operations that have a rule, or a formula, for real numbers, and this one for complex ones.
COMPLEX_RULES = {}


def complex_rule(*names):
    def register(function):
        for name in names:
            COMPLEX_RULES[name] = function
        return function
    return register


def take_part(l, value, name):
    """The real or the imaginary part, `complex.re` or `complex.im`, of all elements; `complex.abs` and the angle."""
    real = value.element[len("complex<"):-1]
    return l.function.generic([(value, identity(value.rank))], value.shape, real,
                              lambda b, a: b.op("%s %s : %s" % (name, a, value.element)))


def join(l, re, im, shape):
    element = "complex<%s>" % re.element
    inputs = [(v, broadcast_map(v.shape, shape)) for v in (re, im)]
    return l.function.generic(inputs, shape, element, lambda b, x, y: b.op(
        "complex.create %s, %s : %s" % (x, y, element)))


@rule("complex")
def _complex(l, node, re, im):
    return join(l, l.value(re), l.value(im), l.result()[0])


@rule("polar")
def _polar(l, node, size, angle):
    shape, dtype = l.result()
    element, real = element_of(dtype), l.dtype(size)

    def body(b, r, a):
        s = Scalars(b, real)
        return b.op("complex.create %s, %s : %s" % (
            s.mul(r, s.op("math.cos", a)), s.mul(r, s.op("math.sin", a)), element))

    inputs = [(l.value(x), broadcast_map(l.value(x).shape, shape)) for x in (size, angle)]
    return l.function.generic(inputs, shape, element, body)


@rule("real")
def _real(l, node, a):
    return take_part(l, l.value(a), "complex.re") if l.dtype(a).is_complex else l.value(a)


@rule("imag")
def _imag(l, node, a):
    return take_part(l, l.value(a), "complex.im")


def parts_in_rows(l, value):
    """Real and imaginary parts in turn, along the last dimension."""
    parts = [take_part(l, value, name) for name in ("complex.re", "complex.im")]
    pairs = l.function.concat([l.function.reshape(p, value.shape + (1,)) for p in parts], value.rank)
    return l.function.reshape(pairs, value.shape[:-1] + (2 * value.shape[-1],))


@rule("view_as_real", "view_as_real_copy")
def _view_as_real(l, node, a):
    value = l.value(a)
    parts = [take_part(l, value, name) for name in ("complex.re", "complex.im")]
    return l.function.concat([l.function.reshape(p, value.shape + (1,)) for p in parts], value.rank)


@rule("view_as_complex", "view_as_complex_copy")
def _view_as_complex(l, node, a):
    value = l.value(a)
    shape = value.shape[:-1]
    begin = lambda i: [0] * (value.rank - 1) + [i]
    parts = [l.function.reshape(l.function.slice(value, begin(i), shape + (1,), [1] * value.rank), shape)
             for i in range(2)]
    return join(l, *parts, shape)


@rule("_conj", "conj", "_conj_physical", "conj_physical", "_conj_copy")
def _conj(l, node, a):
    if not l.is_tensor(a):  # A number that the program multiplies by.
        shape, dtype = l.result()
        return l.function.constant(complex(a).conjugate(), shape, element_of(dtype))
    value = l.value(a)
    if not l.dtype(a).is_complex:
        return value
    return l.function.generic([(value, identity(value.rank))], value.shape, value.element,
                              lambda b, x: b.op("complex.conj %s : %s" % (x, value.element)))


@complex_rule("vdot")
def _vdot(l, node, a, b):
    return l.function.contract(_conj(l, node, a), ["d0"], l.value(b), ["d0"], (), 1, [])


@rule("resolve_conj", "resolve_neg")
def _resolve(l, node, a):
    return l.value(a)


@rule("_neg_view", "_neg_view_copy")
def _neg_view(l, node, a):
    value = l.value(a)
    return l.function.generic([(value, identity(value.rank))], value.shape, value.element,
                              lambda b, x: Scalars(b, l.dtype(a)).neg(x))


@complex_rule("abs")
def _abs(l, node, a):
    """It is infinite where one part is, also if the other one is NaN."""
    value = l.value(a)
    real, element = value.element[len("complex<"):-1], value.element

    def body(b, x):
        size = b.op("complex.abs %s : %s" % (x, element))
        infinity = b.constant(math.inf, real)
        for name in ("complex.re", "complex.im"):
            part = b.unary("math.absf", b.op("%s %s : %s" % (name, x, element)), real)
            size = b.select(b.compare("oeq", part, infinity, real), infinity, size, real)
        return size

    return l.function.generic([(value, identity(value.rank))], value.shape, real, body)


@rule("angle")
def _angle(l, node, a):
    value, dtype = l.value(a), l.dtype(a)
    if dtype.is_complex:
        return take_part(l, value, "complex.angle")
    result = l.result()[1]
    inner = working(result)

    def body(b, x):
        s, x = Scalars(b, inner), convert(b, x, dtype, inner)
        angle = s.select(s.less(x, s.const(0.0)), s.const(math.pi), s.const(0.0))
        return convert(b, s.select(s.is_nan(x), x, angle), inner, result)

    return l.function.generic([(value, identity(value.rank))], value.shape, element_of(result), body)


@complex_rule("isinf")
def _isinf(l, node, a):
    """Whether a part is."""
    value = l.value(a)
    real = value.element[len("complex<"):-1]

    def body(b, x):
        infinite = [b.compare("oeq", b.unary("math.absf", b.op("%s %s : %s" % (part, x, value.element)), real),
                              b.constant(math.inf, real), real) for part in ("complex.re", "complex.im")]
        return b.binary("arith.ori", *infinite, "i1")

    return l.function.generic([(value, identity(value.rank))], value.shape, "i1", body)


@complex_rule("sgn")
def _sgn(l, node, a):
    """a / |a|, and 0 for 0."""
    value = l.value(a)
    real, element = value.element[len("complex<"):-1], value.element

    def body(b, x):
        size = b.op("complex.abs %s : %s" % (x, element))
        zero = b.constant(0.0, real)
        is_zero = b.compare("oeq", size, zero, real)
        divisor = b.select(is_zero, b.constant(1.0, real), size, real)
        parts = [b.binary("arith.divf", b.op("%s %s : %s" % (name, x, element)), divisor, real)
                 for name in ("complex.re", "complex.im")]
        return b.op("complex.create %s, %s : %s" % (*parts, element))

    return l.function.generic([(value, identity(value.rank))], value.shape, element, body)


@complex_rule("reciprocal")
def _reciprocal(l, node, a):
    value = l.value(a)
    return l.function.generic([(value, identity(value.rank))], value.shape, value.element, lambda b, x: b.binary(
        "complex.div", b.constant(1.0, value.element), x, value.element))


# Fourier transforms. Each dimension is transformed on its own, as the last one.


def transform(l, value, dim, kind, length, shape):
    """The transform of one dimension, not normalized. `shape` is that of the result. The inverse ones of StableHLO are
    divided by the length."""
    last = value.rank - 1
    order = list(range(value.rank))
    order[dim], order[last] = last, dim
    real = value.element[len("complex<"):-1] if value.element.startswith("complex") else value.element
    element = real if kind == "IRFFT" else "complex<%s>" % real
    moved = l.function.transpose(value, order)
    result = [shape[d] for d in order]
    out = l.function.op('"stablehlo.fft"(%s) <{fft_length = array<i64: %d>, fft_type = #stablehlo<fft_type %s>}> : '
                        "(%s) -> tensor<%s>" % (moved.name, length, kind, moved.type, "x".join(
                            [str(extent) for extent in result] + [element])), result, element)
    return l.function.transpose(out, order)


def _scaled(l, value, factor):
    if factor == 1:
        return value
    if value.element.startswith("complex"):
        op = "complex.mul"
    else:
        op = "arith.mulf"
    return l.function.generic([(value, identity(value.rank))], value.shape, value.element,
                              lambda b, x: b.binary(op, x, b.constant(factor, value.element), value.element))


def _normalized(l, value, count, normalization, done=1):
    """`normalization` is 0 for none, 1 for the root of the number of elements and 2 for their number; the result was
    divided by `done` already."""
    factor = {0: 1.0, 1: 1 / math.sqrt(count), 2: 1.0 / count}[int(normalization)]
    return _scaled(l, value, factor * done)


@rule("_fft_r2c")
def _fft_r2c(l, node, a, dims, normalization, onesided):
    value = l.value(a)
    dims = [wrap(d, value.rank) for d in dims]
    count = math.prod(value.shape[d] for d in dims)
    length = value.shape[dims[-1]]
    if onesided:
        shape = list(value.shape)
        shape[dims[-1]] = length // 2 + 1
        value = transform(l, value, dims[-1], "RFFT", length, shape)
    else:
        value = transform(l, l.convert(value, l.dtype(a), l.result()[1]), dims[-1], "FFT", length, value.shape)
    for d in dims[:-1]:
        value = transform(l, value, d, "FFT", value.shape[d], value.shape)
    return _normalized(l, value, count, normalization)


@rule("_fft_c2c")
def _fft_c2c(l, node, a, dims, normalization, forward):
    value = l.value(a)
    dims = [wrap(d, value.rank) for d in dims]
    count = math.prod(value.shape[d] for d in dims)
    for d in dims:
        value = transform(l, value, d, "FFT" if forward else "IFFT", value.shape[d], value.shape)
    return _normalized(l, value, count, normalization, 1 if forward else count)


@rule("_fft_c2r")
def _fft_c2r(l, node, a, dims, normalization, last_dim_size):
    value = l.value(a)
    dims = [wrap(d, value.rank) for d in dims]
    for d in dims[:-1]:
        value = transform(l, value, d, "IFFT", value.shape[d], value.shape)
    shape = list(value.shape)
    shape[dims[-1]] = last_dim_size
    count = math.prod(shape[d] for d in dims)
    half = last_dim_size // 2 + 1
    if value.shape[dims[-1]] != half:
        l.refuse("a spectrum of %d elements for %d real numbers is not supported, expected %d" % (
            value.shape[dims[-1]], last_dim_size, half))
    value = transform(l, value, dims[-1], "IRFFT", last_dim_size, shape)
    return _normalized(l, value, count, normalization, count)

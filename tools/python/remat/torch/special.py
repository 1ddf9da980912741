"""Rules of special functions, by operations of CHLO, which remat reads.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import math

import torch

from ..mlir import identity
from .complex import complex_rule, join, take_part
from .pointwise import Scalars
from .rules import rule
from .types import is_float


def _digamma_at_zero(s, x, y):
    return s.select(s.compare("eq", x, s.const(0.0)), s.op("math.copysign", s.const(math.inf), s.neg(x)), y)


def _special(name):
    @rule(name, "special_" + name)
    def lower(l, node, a):
        """Of narrow numbers in f32, of integers in the type of the result."""
        dtype = l.result()[1]
        inner = dtype if dtype == torch.float64 else torch.float32
        if not is_float(dtype):
            l.refuse("it is not supported for %s" % dtype)
        value = l.converted(a, inner)
        result = l.function.op('"chlo.%s"(%s) : (%s) -> %s' % (name, value.name, value.type, value.type), value.shape,
                               value.element)
        if name == "digamma":  # At 0 there is a pole with two sides.
            result = l.function.generic([(value, identity(value.rank)), (result, identity(value.rank))], value.shape,
                                        value.element, lambda b, x, y: _digamma_at_zero(Scalars(b, inner), x, y))
        return l.convert(result, inner, dtype)


for _name in ("lgamma", "digamma", "erf_inv"):
    _special(_name)


def _signed_parts(l, value, re, im):
    """`value`, whose parts have the signs of `re` and `im`, or their own if that is None."""
    parts = []
    for part, sign in (("complex.re", re), ("complex.im", im)):
        size = take_part(l, value, part)
        parts.append(size if sign is None else l.function.generic(
            [(size, identity(size.rank)), (sign, identity(size.rank))], size.shape, size.element,
            lambda b, x, y, size=size: b.binary("math.copysign", x, y, size.element)))
    return join(l, *parts, value.shape)


def _complex_special(name):
    @complex_rule(name)
    def lower(l, node, a):
        """At the branch cuts, the sign of zero says which side is meant, as in C; CHLO's functions take it as +0, so
        they get what is on the upper side."""
        value = l.value(a)
        re, im = (take_part(l, value, part) for part in ("complex.re", "complex.im"))
        positive = l.function.generic([(im, identity(im.rank))], im.shape, im.element,
                                      lambda b, x: b.unary("math.absf", x, im.element))
        if name in ("asin", "asinh", "atan", "atanh"):  # These are odd functions.
            size = l.function.generic([(re, identity(re.rank))], re.shape, re.element,
                                      lambda b, x: b.unary("math.absf", x, re.element))
            value, signs = join(l, size, positive, value.shape), (re, im)
        elif name in ("acos", "acosh"):
            value = join(l, re, positive, value.shape)
            sign = im if name == "acosh" else l.function.generic(
                [(im, identity(im.rank))], im.shape, im.element, lambda b, x: b.unary("arith.negf", x, im.element))
            signs = (None, sign)
        else:
            signs = None
        result = l.function.op('"chlo.%s"(%s) : (%s) -> %s' % (name, value.name, value.type, value.type), value.shape,
                               value.element)
        return _signed_parts(l, result, *signs) if signs else result


for _name in ("acos", "acosh", "asin", "asinh", "atan", "atanh", "cosh", "sinh"):
    _complex_special(_name)


def _complex_logarithm(name, base):
    @complex_rule(name)
    def lower(l, node, a):
        value = l.value(a)
        real, element = value.element[len("complex<"):-1], value.element

        def body(b, x):
            y = b.op("complex.log %s : %s" % (x, element))
            parts = [b.binary("arith.mulf", b.op("%s %s : %s" % (part, y, element)),
                              b.constant(1 / math.log(base), real), real) for part in ("complex.re", "complex.im")]
            return b.op("complex.create %s, %s : %s" % (*parts, element))

        return l.function.generic([(value, identity(value.rank))], value.shape, element, body)


_complex_logarithm("log2", 2)
_complex_logarithm("log10", 10)


@complex_rule("exp2")
def _complex_exp2(l, node, a):
    value = l.value(a)
    real, element = value.element[len("complex<"):-1], value.element

    def body(b, x):
        parts = [b.binary("arith.mulf", b.op("%s %s : %s" % (part, x, element)), b.constant(math.log(2), real), real)
                 for part in ("complex.re", "complex.im")]
        return b.op("complex.exp %s : %s" % (b.op("complex.create %s, %s : %s" % (*parts, element)), element))

    return l.function.generic([(value, identity(value.rank))], value.shape, element, body)

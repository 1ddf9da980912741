"""Rules of special functions, by operations of CHLO, which remat reads.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import math

import torch

from ..mlir import identity
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

"""Elementwise operations of ATen: one formula each, in the body of one structured operation.

A formula gets a `Scalars`, which knows the type that the operation computes in, and the names of its operands.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import math

import torch
from torch._prims_common import ELEMENTWISE_TYPE_PROMOTION_KIND as KIND
from torch._prims_common import elementwise_dtypes

from ..errors import ExportError
from ..mlir import broadcast_map
from .types import convert, element_of, is_float, working

# Name of the operation -> (formula, kind of promotion).
FORMULAS = {}
DEFAULT, NO_OPMATH = KIND.DEFAULT, KIND.NO_OPMATH
INT_TO_FLOAT, ALWAYS_BOOL = KIND.INT_TO_FLOAT, KIND.ALWAYS_BOOL


def formula(*names, kind=DEFAULT):
    def register(function):
        for name in names:
            FORMULAS[name] = (function, kind)
        return function
    return register


# What operations of floating-point numbers are called for complex ones.
COMPLEX_NAMES = {"arith.addf": "complex.add", "arith.subf": "complex.sub", "arith.mulf": "complex.mul",
                 "arith.divf": "complex.div", "arith.negf": "complex.neg", "math.powf": "complex.pow",
                 **{"math." + name: "complex." + name for name in (
                     "exp", "expm1", "log", "log1p", "sqrt", "rsqrt", "sin", "cos", "tan", "tanh")}}


class Scalars:
    """Scalar arithmetic in one type."""

    def __init__(self, body, dtype):
        self.body, self.dtype = body, dtype
        self.element = element_of(dtype)
        self.floats = is_float(dtype) or dtype.is_complex
        self.complex = dtype.is_complex
        self.unsigned = dtype in (torch.uint8, torch.bool)
        self.numbers = {}  # of constants, by their names

    def const(self, number):
        name = self.body.constant(number, self.element)
        self.numbers[name] = number
        return name

    def op(self, name, *operands):
        if self.complex:
            if name not in COMPLEX_NAMES:
                raise ExportError("%s of complex numbers is not supported" % name)
            name = COMPLEX_NAMES[name]
        return self.body.op("%s %s : %s" % (name, ", ".join(operands), self.element))

    def add(self, a, b):
        if self.dtype == torch.bool:
            return self.op("arith.ori", a, b)
        return self.op("arith.addf" if self.floats else "arith.addi", a, b)

    def sub(self, a, b):
        return self.op("arith.subf" if self.floats else "arith.subi", a, b)

    def mul(self, a, b):
        if self.dtype == torch.bool:
            return self.op("arith.andi", a, b)
        return self.op("arith.mulf" if self.floats else "arith.muli", a, b)

    def div(self, a, b):
        return self.op("arith.divf", a, b) if self.floats else self.divide(a, b)[0]

    def divide(self, a, b):
        """Quotient, rounded to zero, and remainder of integers. As in PyTorch, a division by zero is an error."""
        number = int(self.numbers.get(b, 0))
        if number in (0, -1):
            if number == 0:
                is_some = self.compare("ne", b, self.const(0))
                self.body.check(is_some, "ZeroDivisionError: integer division or modulo by zero")
            return self.body.divide(a, b, self.element, self.unsigned)
        return (self.op("arith.divui" if self.unsigned else "arith.divsi", a, b),
                self.op("arith.remui" if self.unsigned else "arith.remsi", a, b))

    def neg(self, a):
        return self.op("arith.negf", a) if self.floats else self.sub(self.const(0), a)

    def less(self, a, b):
        return self.compare("lt", a, b)

    def compare(self, relation, a, b):
        """Comparisons with nan are false, but for `ne`."""
        if self.complex and relation not in ("eq", "ne"):
            raise ExportError("complex numbers have no order")
        if self.floats and not self.complex:
            predicate = "une" if relation == "ne" else "o" + relation
        elif relation in ("eq", "ne"):
            predicate = relation
        else:
            predicate = ("u" if self.unsigned else "s") + relation
        return self.body.compare(predicate, a, b, self.element)

    def select(self, condition, a, b):
        return self.body.select(condition, a, b, self.element)

    def maximum(self, a, b):
        return self.op("arith.maximumf" if self.floats else "arith.maxui" if self.unsigned else "arith.maxsi", a, b)

    def minimum(self, a, b):
        return self.op("arith.minimumf" if self.floats else "arith.minui" if self.unsigned else "arith.minsi", a, b)

    def is_nan(self, a):
        return self.body.compare("uno", a, a, self.element)


def _unary(names, kind=INT_TO_FLOAT):
    for name, op in names.items():
        formula(name, kind=kind)(lambda s, a, op=op: s.op(op, a))


_unary({"exp": "math.exp", "exp2": "math.exp2", "expm1": "math.expm1", "log": "math.log", "log2": "math.log2",
        "log10": "math.log10", "log1p": "math.log1p", "sqrt": "math.sqrt", "rsqrt": "math.rsqrt", "sin": "math.sin",
        "cos": "math.cos", "tan": "math.tan", "tanh": "math.tanh", "asin": "math.asin", "acos": "math.acos",
        "atan": "math.atan", "sinh": "math.sinh", "cosh": "math.cosh", "asinh": "math.asinh", "acosh": "math.acosh",
        "atanh": "math.atanh", "erf": "math.erf", "erfc": "math.erfc"})


def _rounding(name, op):
    @formula(name)
    def lower(s, a):
        return s.op(op, a) if s.floats else a


for _name, _op in (("floor", "math.floor"), ("ceil", "math.ceil"), ("trunc", "math.trunc")):
    _rounding(_name, _op)


@formula("round")
def _round(s, a, decimals=0):
    if not s.floats:
        if decimals:
            raise ExportError("integers have no decimals")
        return a
    if decimals == 0:
        return s.op("math.roundeven", a)
    # As PyTorch, with a power of ten that is whole.
    power = s.const(10.0 ** abs(decimals))
    if decimals < 0:
        return s.mul(s.op("math.roundeven", s.div(a, power)), power)
    return s.div(s.op("math.roundeven", s.mul(a, power)), power)


@formula("add")
def _add(s, a, b, alpha=1):
    return s.add(a, b if alpha == 1 else s.mul(b, s.const(alpha)))


@formula("sub")
def _sub(s, a, b, alpha=1):
    return s.sub(a, b if alpha == 1 else s.mul(b, s.const(alpha)))


@formula("rsub")
def _rsub(s, a, b, alpha=1):
    return s.sub(b, a if alpha == 1 else s.mul(a, s.const(alpha)))


@formula("mul")
def _mul(s, a, b):
    return s.mul(a, b)


@formula("fma")
def _fma(s, a, b, c):
    """What PyTorch traces the updates of optimizers to. Its own kernel for the CPU rounds the product, too."""
    return s.add(s.mul(a, b), c)


def floor_divide(s, a, b):
    """The quotient, rounded down."""
    if not s.floats:
        quotient, remainder = s.divide(a, b)
        if s.unsigned:
            return quotient
        zero = s.const(0)
        differs = s.body.binary("arith.andi", s.compare("ne", remainder, zero), s.body.binary(
            "arith.xori", s.less(remainder, zero), s.less(b, zero), "i1"), "i1")
        return s.select(differs, s.sub(quotient, s.const(1)), quotient)
    # As PyTorch: from the remainder, so that the result is exact where the quotient is not.
    remainder = s.op("arith.remf", a, b)
    zero = s.const(0.0)
    quotient = s.div(s.sub(a, remainder), b)
    differs = s.body.binary("arith.andi", s.compare("ne", remainder, zero), s.body.binary(
        "arith.xori", s.less(remainder, zero), s.less(b, zero), "i1"), "i1")
    quotient = s.select(differs, s.sub(quotient, s.const(1.0)), quotient)
    whole = s.op("math.floor", quotient)
    whole = s.select(s.compare("gt", s.sub(quotient, whole), s.const(0.5)), s.add(whole, s.const(1.0)), whole)
    whole = s.select(s.compare("eq", quotient, zero), s.op("math.copysign", zero, s.div(a, b)), whole)
    return s.select(s.compare("eq", b, zero), s.div(a, b), whole)


@formula("div", kind=INT_TO_FLOAT)
def _true_div(s, a, b):
    return s.div(a, b)


@formula("div_trunc")
def _trunc_div(s, a, b):
    return s.op("math.trunc", s.div(a, b)) if s.floats else s.div(a, b)


formula("div_floor", "floor_divide")(floor_divide)


@formula("reciprocal", kind=INT_TO_FLOAT)
def _reciprocal(s, a):
    return s.div(s.const(1.0), a)


@formula("fmod")
def _fmod(s, a, b):
    return s.op("arith.remf", a, b) if s.floats else s.divide(a, b)[1]


@formula("remainder")
def _remainder(s, a, b):
    remainder = _fmod(s, a, b)
    if s.unsigned:
        return remainder
    zero = s.const(0)
    differs = s.body.binary("arith.andi", s.compare("ne", remainder, zero), s.body.binary(
        "arith.xori", s.less(remainder, zero), s.less(b, zero), "i1"), "i1")
    return s.select(differs, s.add(remainder, b), remainder)


@formula("neg")
def _neg(s, a):
    return s.neg(a)


@formula("abs")
def _abs(s, a):
    return s.op("math.absf", a) if s.floats else a if s.unsigned else s.op("math.absi", a)


@formula("sign", "sgn")
def _sign(s, a):
    zero, one = s.const(0), s.const(1)
    if s.dtype == torch.bool:
        return a
    negative = zero if s.unsigned else s.select(s.less(a, zero), s.const(-1), zero)
    result = s.select(s.less(zero, a), one, negative)
    return result  # PyTorch's sign of nan is 0, too.


@formula("sigmoid", kind=INT_TO_FLOAT)
def _sigmoid(s, a):
    one = s.const(1.0)
    return s.div(one, s.add(one, s.op("math.exp", s.neg(a))))


@formula("relu")
def _relu(s, a):
    zero = s.const(0)
    return s.maximum(a, zero)


@formula("square")
def _square(s, a):
    return s.mul(a, a)


@formula("maximum")
def _maximum(s, a, b):
    return s.maximum(a, b)


@formula("minimum")
def _minimum(s, a, b):
    return s.minimum(a, b)


@formula("fmax")
def _fmax(s, a, b):
    return s.op("arith.maxnumf", a, b) if s.floats else s.maximum(a, b)


@formula("fmin")
def _fmin(s, a, b):
    return s.op("arith.minnumf", a, b) if s.floats else s.minimum(a, b)


def _bound(s, bound):
    """A number beyond what an integer type has is the last one that it has."""
    number = s.numbers.get(bound)
    if s.floats or s.dtype == torch.bool or number is None:
        return bound
    info = torch.iinfo(s.dtype)
    return bound if info.min <= number <= info.max else s.const(min(max(number, info.min), info.max))


@formula("clamp")
def _clamp(s, a, low=None, high=None):
    if low is not None:
        a = s.maximum(a, _bound(s, low))
    return a if high is None else s.minimum(a, _bound(s, high))


@formula("clamp_min")
def _clamp_min(s, a, low):
    return s.maximum(a, _bound(s, low))


@formula("clamp_max")
def _clamp_max(s, a, high):
    return s.minimum(a, _bound(s, high))


def _power(s, a, exponent):
    """A power whose exponent is a number."""
    if s.complex:
        exponent = complex(exponent)
        if exponent.imag:
            return _complex_power(s, a, s.const(exponent))
        exponent = exponent.real
    whole = float(exponent).is_integer()
    if not s.floats and not whole:
        raise ExportError("an integer to the power of %s is not supported" % exponent)
    if whole and 0 <= exponent <= 4:
        result = None
        for _ in range(int(exponent)):
            result = a if result is None else s.mul(result, a)
        return result or s.const(1)
    if s.floats:
        if exponent == 0.5:
            return s.op("math.sqrt", a)
        if exponent == -0.5:
            return s.op("math.rsqrt", a)
        if exponent in (-1, -2):
            return s.div(s.const(1.0), a if exponent == -1 else s.mul(a, a))
        return (_complex_power if s.complex else _real_power)(s, a, s.const(exponent))
    if exponent < 0:
        raise ExportError("integers to negative integer powers are not supported, as in PyTorch")
    return _integer_power(s, a, s.const(exponent), int(exponent).bit_length())


def _integer_power(s, a, exponent, bits):
    """By squares. `bits` is how many digits the exponent has, which is not negative."""
    zero, one = s.const(0), s.const(1)
    result, square = one, a
    for bit in range(bits):
        digit = s.op("arith.andi", exponent, s.const(1 << bit))
        result = s.select(s.compare("ne", digit, zero), s.mul(result, square), result)
        square = s.mul(square, square)
    return result


def _real_power(s, a, b):
    return s.op("math.powf", a, b)


def _complex_power(s, a, b):
    """exp(b log(a)), also where the angle is no number, as in PyTorch: 0 for the size 0, an infinite real part for an
    infinite size. `complex.pow` has XLA's results there."""
    real, part = s.element[len("complex<"):-1], lambda name, x: s.body.op("complex.%s %s : %s" % (name, x, s.element))
    logarithm = s.mul(b, s.op("math.log", a))
    re, im = part("re", logarithm), part("im", logarithm)
    zero, infinity = (s.body.constant(number, real) for number in (0.0, math.inf))
    size = s.body.unary("math.exp", re, real)
    is_none = s.body.compare("oeq", size, zero, real)
    is_angle = s.body.compare("olt", s.body.unary("math.absf", im, real), infinity, real)
    re, im = (s.body.select(is_none, zero, s.body.binary("arith.mulf", size, s.body.unary(name, im, real), real), real)
              for name in ("math.cos", "math.sin"))
    is_endless = s.body.compare("oeq", size, infinity, real)
    re = s.body.select(is_angle, re, s.body.select(is_endless, infinity, re, real), real)
    return s.body.op("complex.create %s, %s : %s" % (re, im, s.element))


@formula("pow")
def _pow(s, a, b):
    if s.floats:
        return (_complex_power if s.complex else _real_power)(s, a, b)
    zero, one, width = s.const(0), s.const(1), int(s.element[1:])
    if s.unsigned:
        return _integer_power(s, a, b, width)
    power = _integer_power(s, a, s.maximum(b, zero), width - 1)
    # A negative power is 0 but for 1 and -1.
    odd = s.compare("eq", s.op("arith.andi", b, one), one)
    sign = s.select(odd, s.const(-1), one)
    inverse = s.select(s.compare("eq", a, one), one, s.select(s.compare("eq", a, s.const(-1)), sign, zero))
    return s.select(s.less(b, zero), inverse, power)


@formula("atan2", kind=INT_TO_FLOAT)
def _atan2(s, a, b):
    """MLIR takes the angle of a zero that is a constant for nan; that of 1 with its sign is the same."""
    zero = s.const(0.0)
    is_zero = s.body.binary("arith.andi", s.compare("eq", a, zero), s.compare("eq", b, zero), "i1")
    return s.op("math.atan2", a, s.select(is_zero, s.op("math.copysign", s.const(1.0), b), b))


@formula("copysign", kind=INT_TO_FLOAT)
def _copysign(s, a, b):
    return s.op("math.copysign", a, b)


@formula("hypot")
def _hypot(s, a, b):
    """Of the quotient of both, as squares of large and small numbers do not exist. With an infinite one it is
    infinite."""
    a, b, infinity = s.op("math.absf", a), s.op("math.absf", b), s.const(math.inf)
    size = s.maximum(a, b)
    ratio = s.div(s.minimum(a, b), size)
    value = s.mul(size, s.op("math.sqrt", s.add(s.mul(ratio, ratio), s.const(1.0))))
    value = s.select(s.compare("eq", size, s.const(0.0)), size, value)
    for part in (a, b):
        value = s.select(s.compare("eq", part, infinity), infinity, value)
    return value


def _logic(name, op):
    @formula("bitwise_" + name)
    def bitwise(s, a, b):
        return s.op(op, a, b)


for _name, _op in (("and", "arith.andi"), ("or", "arith.ori"), ("xor", "arith.xori")):
    _logic(_name, _op)


def _shift(op):
    def lower(s, a, b):
        """Distances of the width and more, or less than 0, shift all bits out."""
        width = int(s.element[1:])
        inside = s.body.compare("ult", b, s.const(width), s.element)
        shifted = s.op(op, a, s.select(inside, b, s.const(0)))
        outside = s.op(op, a, s.const(width - 1)) if op == "arith.shrsi" else s.const(0)
        return s.select(inside, shifted, outside)

    return lower


formula("bitwise_left_shift", "__lshift__")(_shift("arith.shli"))
formula("bitwise_right_shift", "__rshift__")(
    lambda s, a, b: _shift("arith.shrui" if s.unsigned else "arith.shrsi")(s, a, b))


@formula("bitwise_not")
def _bitwise_not(s, a):
    return s.op("arith.xori", a, s.const(1 if s.dtype == torch.bool else -1))


# What gives booleans computes in the common type of its operands.
for _relation in ("eq", "ne", "lt", "le", "gt", "ge"):
    formula(_relation, kind=ALWAYS_BOOL)(lambda s, a, b, relation=_relation: s.compare(relation, a, b))


def _truth(s, a):
    return s.compare("ne", a, s.const(0))


formula("logical_not", kind=ALWAYS_BOOL)(lambda s, a: s.compare("eq", a, s.const(0)))
formula("logical_and", kind=ALWAYS_BOOL)(
    lambda s, a, b: s.body.binary("arith.andi", _truth(s, a), _truth(s, b), "i1"))
formula("logical_or", kind=ALWAYS_BOOL)(
    lambda s, a, b: s.body.binary("arith.ori", _truth(s, a), _truth(s, b), "i1"))
formula("logical_xor", kind=ALWAYS_BOOL)(
    lambda s, a, b: s.body.binary("arith.xori", _truth(s, a), _truth(s, b), "i1"))


@formula("isnan", kind=ALWAYS_BOOL)
def _isnan(s, a):
    return s.is_nan(a) if s.floats else s.body.constant(0, "i1")


@formula("isinf", kind=ALWAYS_BOOL)
def _isinf(s, a):
    return s.compare("eq", s.op("math.absf", a), s.const(math.inf)) if s.floats else s.body.constant(0, "i1")


@formula("signbit", kind=ALWAYS_BOOL)
def _signbit(s, a):
    return s.less(s.op("math.copysign", s.const(1.0), a) if s.floats else a, s.const(0))


def lower_pointwise(lowering, name, target, operands, options, shape, result_dtype):
    """`operands` are values or numbers, `options` keyword arguments that are numbers."""
    function, kind = FORMULAS[name]
    tensors = [operand for operand in operands if lowering.is_tensor(operand)]
    fakes = [lowering.fake(operand) if lowering.is_tensor(operand) else operand
             for operand in operands if operand is not None]
    dtype, _ = elementwise_dtypes(*fakes, type_promotion_kind=kind)
    dtype = working(dtype)
    inputs = [(lowering.value(t), broadcast_map(lowering.value(t).shape, shape)) for t in tensors]

    def body(b, *names):
        scalars, names = Scalars(b, dtype), list(names)
        given = []
        for operand in operands:
            if operand is None:
                given.append(None)
            elif lowering.is_tensor(operand):
                given.append(convert(b, names.pop(0), lowering.dtype(operand), dtype))
            else:
                given.append(scalars.const(operand))
        result = function(scalars, *given, **options)
        return convert(b, result, torch.bool if kind == ALWAYS_BOOL else dtype, result_dtype)

    return lowering.function.generic(inputs, shape, element_of(result_dtype), body)


def lower_power(lowering, operand, exponent, shape, result_dtype):
    value, source = lowering.value(operand), lowering.dtype(operand)
    dtype = working(result_dtype)
    return lowering.function.generic(
        [(value, broadcast_map(value.shape, shape))], shape, element_of(result_dtype),
        lambda b, a: convert(b, _power(Scalars(b, dtype), convert(b, a, source, dtype), exponent), dtype,
                             result_dtype))

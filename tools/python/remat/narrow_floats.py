"""Floating-point numbers of eight bits and fewer, which the IR has as bytes: how bodies make them and read them.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import dataclasses
import struct


@dataclasses.dataclass(frozen=True)
class Narrow:
    """A type with a sign, an exponent and `mantissa` bits. The byte `beyond` stands for what is not less than the
    number `limit`, and `nan` for NaN. A type may have an infinity, `beyond`, whose mantissa is zero; then all greater
    bytes are NaN. One without a negative zero has NaN there."""
    mantissa: int
    bias: int
    limit: float
    beyond: int
    nan: int
    has_infinity: bool = False
    has_negative_zero: bool = True
    bits: int = 8

    @property
    def has_nan(self):
        return self.bits == 8


@dataclasses.dataclass(frozen=True)
class Exponent:
    """Powers of two without a sign: the exponents of f32. There is no zero."""
    nan: int = 0xFF


def bits_of(number):
    """Those of a number of f32."""
    return struct.unpack("<I", struct.pack("<f", number))[0]


class _Words:
    """Arithmetic of words in a body."""

    def __init__(self, body):
        self.body = body

    def number(self, value):
        return self.body.constant(value, "i32") if isinstance(value, int) else value

    def op(self, name, x, y):
        return self.body.binary("arith." + name, self.number(x), self.number(y), "i32")

    def pick(self, predicate, a, b, x, y):
        """`x` where the comparison holds, else `y`."""
        return self.body.select(self.body.compare(predicate, self.number(a), self.number(b), "i32"), self.number(x),
                                self.number(y), "i32")

    def bits(self, x):
        return self.body.cast("arith.bitcast", x, "f32", "i32")

    def floats(self, x):
        return self.body.cast("arith.bitcast", x, "i32", "f32")


def narrow(body, a, kind):
    """The byte of the f32 `a`, rounded to the nearest number, of two to the even one; powers of two as XLA does it."""
    w = _Words(body)
    bits = w.bits(a)
    size = w.op("andi", bits, 0x7FFFFFFF)
    if isinstance(kind, Exponent):
        # Between two numbers is the greater one, but below the normal numbers of f32.
        up = w.pick("ult", size, 1 << 23, (1 << 22) - 1, 1 << 22)
        result = w.op("shrui", w.op("addi", size, up), 23)
        result = w.pick("ugt", size, 0x7F800000, kind.nan, result)
        # Zero has no exponent, and no number a sign.
        result = w.pick("sle", bits, 0, kind.nan, result)
        return body.cast("arith.trunci", result, "i32", "i8")
    lost = 23 - kind.mantissa
    odd = w.op("andi", w.op("shrui", size, lost), 1)
    rounded = w.op("addi", w.op("addi", size, odd), (1 << (lost - 1)) - 1)
    sign = w.op("shli", w.op("shrui", bits, 31), kind.bits - 1)
    normal = w.op("shrui", w.op("subi", rounded, (127 - kind.bias) << 23), lost)
    # The sum with a number whose last place is the least number of the type is rounded there.
    magic = 127 + 1 - kind.bias + lost
    total = body.binary("arith.addf", w.floats(size), body.constant(2.0 ** (magic - 127), "f32"), "f32")
    small = w.op("subi", w.bits(total), magic << 23)
    least = (127 + 1 - kind.bias) << 23  # the bits of the least normal number
    result = w.pick("ult", size, least, small, normal)
    result = w.pick("uge", size, bits_of(kind.limit), kind.beyond, result)
    result = w.pick("ugt", size, 0x7F800000, kind.nan, result)
    signed = w.op("ori", result, sign)
    if not kind.has_negative_zero:
        signed = w.pick("eq", result, 0, result, signed)
    if not kind.has_nan:
        signed = w.pick("ugt", size, 0x7F800000, kind.nan, signed)
    return body.cast("arith.trunci", signed, "i32", "i8")


def widen(body, a, kind):
    """The f32 that the byte `a` stands for."""
    w = _Words(body)
    nan = 0x7FC00000
    bits = body.cast("arith.extui", a, "i8", "i32")
    if isinstance(kind, Exponent):
        result = w.pick("eq", bits, 0, 1 << 22, w.op("shli", bits, 23))  # 2^-127 is a subnormal number of f32.
        return w.floats(w.pick("eq", bits, kind.nan, nan, result))
    size = w.op("andi", bits, (1 << (kind.bits - 1)) - 1)
    sign = w.op("shli", w.op("shrui", bits, kind.bits - 1), 31)
    normal = w.op("addi", w.op("shli", size, 23 - kind.mantissa), (127 - kind.bias) << 23)
    small = body.binary("arith.mulf", body.cast("arith.uitofp", size, "i32", "f32"),
                        body.constant(2.0 ** (1 - kind.bias - kind.mantissa), "f32"), "f32")
    result = w.pick("ult", size, 1 << kind.mantissa, w.bits(small), normal)
    if not kind.has_negative_zero:
        return w.floats(w.pick("eq", bits, kind.nan, nan, w.op("ori", result, sign)))
    if kind.has_infinity:
        result = w.pick("eq", size, kind.beyond, 0x7F800000, result)
        result = w.pick("ugt", size, kind.beyond, nan, result)
    elif kind.has_nan:
        result = w.pick("eq", size, kind.nan, nan, result)
    return w.floats(w.op("ori", result, sign))


def round_to_odd(body, a):
    """The f64 `a` as an f32 that rounds to a narrower type as `a` itself does: of the two numbers around what f32 does
    not hold, it is the odd one."""
    w = _Words(body)
    near = body.cast("arith.truncf", a, "f64", "f32")
    back = body.cast("arith.extf", near, "f32", "f64")
    size = lambda x: body.op("math.absf %s : f64" % x)
    bits = w.bits(near)
    toward_zero = body.select(body.compare("ogt", size(back), size(a), "f64"), w.op("subi", bits, 1), bits, "i32")
    odd = body.select(body.compare("one", back, a, "f64"), w.op("ori", toward_zero, 1), bits, "i32")
    return w.floats(odd)

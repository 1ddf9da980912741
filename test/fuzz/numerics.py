"""The functions of `math` that random programs use, for numbers and for dual numbers.

A dual number is a value with its derivative in one direction. Parts of one may be dual numbers again: derivatives of
derivatives. They are how the interpreter computes what a program differentiates itself."""

import math


class Dual:
    __slots__ = ("value", "tangent")

    def __init__(self, value, tangent):
        self.value, self.tangent = value, tangent

    def __add__(self, other):
        return Dual(self.value + value_of(other), self.tangent + tangent_of(other))

    def __sub__(self, other):
        return Dual(self.value - value_of(other), self.tangent - tangent_of(other))

    def __mul__(self, other):
        return Dual(self.value * value_of(other), self.tangent * value_of(other) + self.value * tangent_of(other))

    def __truediv__(self, other):
        quotient = self.value / value_of(other)
        return Dual(quotient, (self.tangent - quotient * tangent_of(other)) / value_of(other))

    def __rsub__(self, other):
        return Dual(other - self.value, -self.tangent)

    def __rtruediv__(self, other):
        return Dual(other, 0.0) / self

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self):
        return Dual(-self.value, -self.tangent)

    def __abs__(self):
        return self if self.value > 0 else -self

    def __lt__(self, other):
        return self.value < value_of(other)

    def __gt__(self, other):
        return self.value > value_of(other)


def value_of(number):
    return number.value if isinstance(number, Dual) else number


def tangent_of(number):
    return number.tangent if isinstance(number, Dual) else 0.0


def lift(function, derivative):
    """`function` for dual numbers as well."""

    def apply(x):
        if isinstance(x, Dual):
            return Dual(apply(x.value), derivative(x.value) * x.tangent)
        return function(x)

    return apply


sin = lift(math.sin, lambda x: cos(x))
cos = lift(math.cos, lambda x: -sin(x))
tanh = lift(math.tanh, lambda x: 1.0 - tanh(x) * tanh(x))
atan = lift(math.atan, lambda x: 1.0 / (x * x + 1.0))
erf = lift(math.erf, lambda x: 2.0 / math.sqrt(math.pi) * exp(-(x * x)))
exp = lift(math.exp, lambda x: exp(x))
log = lift(math.log, lambda x: 1.0 / x)
log1p = lift(math.log1p, lambda x: 1.0 / (x + 1.0))
sqrt = lift(math.sqrt, lambda x: 0.5 / sqrt(x))
prod = math.prod


def push(function, values, tangents):
    """The values of a function of lists of numbers, and their derivatives in the direction of `tangents`."""
    numbers = function([[Dual(x, t) for x, t in zip(*pair)] for pair in zip(values, tangents)])
    return [value_of(number) for number in numbers], [tangent_of(number) for number in numbers]


def pull(function, values, cotangents):
    """The values of such a function, and the derivatives of their products with `cotangents`, for each list."""
    result, gradients = function(values), []
    for number, numbers in enumerate(values):
        gradient = []
        for place in range(len(numbers)):
            tangents = [[float((i, j) == (number, place)) for j in range(len(other))]
                        for i, other in enumerate(values)]
            moved = push(function, values, tangents)[1]
            gradient.append(sum((c * t for c, t in zip(cotangents, moved)), 0.0))
        gradients.append(gradient)
    return result, gradients

"""Special functions by others. Decompositions, as in decompositions.py, by the formulas of Cephes.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import math

import torch

from ..cephes import I0E_FAR, I0E_NEAR, I1E_FAR, I1E_NEAR, hurwitz_zeta


def _in(least):
    """A function that computes in `least` if its first argument is narrower."""
    def wrap(function):
        def wide(x, *others):
            inner = torch.promote_types(x.dtype, least)
            return function(x.to(inner), *(o.to(inner) for o in others)).to(x.dtype)

        return wide

    return wrap


def _chebyshev(x, coefficients):
    """Clenshaw's sum; the coefficient of order 0 is the last one."""
    b0 = b1 = b2 = torch.zeros_like(x)
    for coefficient in coefficients:
        b0, b1, b2 = x * b0 - b1 + coefficient, b0, b1
    return (b0 - b2) / 2


def _scaled_bessel(x, near, far):
    size = x.abs()
    beyond = size.clamp(min=8)
    return torch.where(size <= 8, _chebyshev(size.clamp(max=8) / 2 - 2, near),
                       _chebyshev(32 / beyond - 2, far) / beyond.sqrt())


@_in(torch.float32)
def _i0e(x):
    return _scaled_bessel(x, I0E_NEAR, I0E_FAR)


@_in(torch.float32)
def _i1e(x):
    # Up to 8, the coefficients are those of a quotient by x.
    return torch.where(x.abs() <= 8, x, x.sign()) * _scaled_bessel(x, I1E_NEAR, I1E_FAR)


@_in(torch.float32)
def _i0(x):
    return x.abs().exp() * _i0e(x)


@_in(torch.float32)
def _i1(x):
    return x.abs().exp() * _i1e(x)


# So many terms of Hurwitz's zeta function are added before Euler and Maclaurin's formula.
ZETA_TERMS = 20


@_in(torch.float32)
def _zeta(x, q):
    """Hurwitz's zeta function. Below -10 it is nan, where the formula would need more terms."""
    total = hurwitz_zeta(x, q, ZETA_TERMS)
    is_whole = q.floor() == q
    total = torch.where((q < 0) & (x.floor() != x) & ~is_whole | (q < -10), float("nan"), total)
    total = torch.where((q <= 0) & is_whole, float("inf"), total)
    return torch.where(x == 1, float("inf"), torch.where(x < 1, float("nan"), total))


def _polygamma(n, x):
    """The derivative of order n + 1 of the logarithm of the gamma function."""
    if not x.is_floating_point():
        x = x.to(torch.get_default_dtype())
    if n == 0:
        return torch.digamma(x)
    if n == 1:  # Euler's reflection formula: zeta is that of positive numbers.
        is_low = x < 0.5
        sine = torch.sin(math.pi * torch.where(is_low, x, 0.5))
        value = _zeta(torch.full_like(x, 2), torch.where(is_low, 1 - x, x))
        return torch.where(is_low, (math.pi / sine) ** 2 - value, value)
    return (1 if n % 2 else -1) * math.factorial(n) * _zeta(torch.full_like(x, n + 1), x)


@_in(torch.float64)
def _erfcx(x):
    """exp(x^2) erfc(x); an asymptotic series where the first factor grows large."""
    far = x.clamp(min=10)
    total, term = torch.ones_like(far), torch.ones_like(far)
    for k in range(1, 13):
        term = term * (1 - 2 * k) / (2 * far * far)
        total = total + term
    near = x.clamp(max=10)
    return torch.where(x > 10, total / (far * math.sqrt(math.pi)), (near * near).exp() * torch.erfc(near))


def special_functions():
    prims = torch.ops.prims
    return {prims.bessel_i0.default: _i0, prims.bessel_i0e.default: _i0e, prims.bessel_i1.default: _i1,
            prims.bessel_i1e.default: _i1e, prims.zeta.default: _zeta, prims.erfcx.default: _erfcx,
            torch.ops.aten.polygamma.default: _polygamma}

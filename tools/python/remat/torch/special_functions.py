"""Special functions by others. Decompositions, as in decompositions.py, by the formulas of Cephes.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import math

import torch

from ..cephes import I0E_FAR, I0E_NEAR, I1E_FAR, I1E_NEAR, hurwitz_zeta
from .bessel import bessel_functions, in_double
from .incomplete_gamma import incomplete_gamma


def _in(least):
    """A function that computes in `least` if its first tensor is narrower. Others may be numbers. Of integers, the
    result is of the default type."""
    def wrap(function):
        def wide(*args):
            first = next(a for a in args if isinstance(a, torch.Tensor))
            dtype = first.dtype if first.is_floating_point() else torch.get_default_dtype()
            inner = torch.promote_types(dtype, least)
            return function(*(a.to(inner) if isinstance(a, torch.Tensor) else
                              torch.full((), a, dtype=inner, device=first.device) for a in args)).to(dtype)

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
    limit = torch.where(q > 1, 0.0, torch.where(q == 1, 1.0, float("inf")))  # Of terms, only that of 1 is between.
    total = torch.where(x == float("inf"), limit, total)
    total = torch.where((q < 0) & (x.floor() != x) & ~is_whole | (q < -10), float("nan"), total)
    total = torch.where((q <= 0) & is_whole, float("inf"), total)
    return torch.where(x == 1, float("inf"), torch.where(x < 1, float("nan"), total))


def _polygamma(n, x):
    """The derivative of order n + 1 of the logarithm of the gamma function."""
    return _in(torch.float32)(lambda x: torch.digamma(x) if n == 0 else _trigamma(x) if n == 1 else
                              (1 if n % 2 else -1) * math.factorial(n) * _zeta(torch.full_like(x, n + 1), x))(x)


def _trigamma(x):
    """By Euler's reflection formula: zeta is that of positive numbers."""
    is_low = x < 0.5
    sine = torch.sin(math.pi * torch.where(is_low, x, 0.5))
    value = _zeta(torch.full_like(x, 2), torch.where(is_low, 1 - x, x))
    return torch.where(is_low, (math.pi / sine) ** 2 - value, value)


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


@in_double
def _ndtri(p):
    """Newton's method for the logarithm of the normal distribution, which is concave, from a place that is lower: it
    comes nearer from there. Of large numbers, the other side's is taken."""
    is_high = p > 0.5
    low = torch.where(is_high, 1 - p, p).clamp(5e-324, 0.5)
    target = low.log()
    x = -(-2 * target).sqrt()
    for _ in range(8):
        share = torch.erfc(-x / math.sqrt(2)) / 2
        density = (-x * x / 2).exp() / math.sqrt(2 * math.pi)
        x = x - (share.log() - target) * share / density
    x = torch.where(p == 0, -math.inf, torch.where(p == 1, math.inf, torch.where(is_high, -x, x)))
    return torch.where((p >= 0) & (p <= 1), x, math.nan)


def _polynomial(first, following):
    """Polynomials by order: that of order 1, and that of order k + 1 by those of the orders k and k - 1."""
    def lower(x, n):
        if not x.is_floating_point():
            x = x.to(torch.get_default_dtype())
        before, now = torch.ones_like(x), first(x)
        if n < 1:
            return before if n > -1 else torch.zeros_like(x)
        for k in range(1, int(n)):
            before, now = now, following(k, x, now, before)
        return now

    return lower


def _polynomials():
    """Those of a tensor whose order is a number."""
    chebyshev = lambda k, x, p, q: 2 * x * p - q
    shifted = lambda k, x, p, q: 2 * (2 * x - 1) * p - q
    return {
        "chebyshev_polynomial_t": (lambda x: x, chebyshev), "chebyshev_polynomial_u": (lambda x: 2 * x, chebyshev),
        "chebyshev_polynomial_v": (lambda x: 2 * x - 1, chebyshev),
        "chebyshev_polynomial_w": (lambda x: 2 * x + 1, chebyshev),
        "shifted_chebyshev_polynomial_t": (lambda x: 2 * x - 1, shifted),
        "shifted_chebyshev_polynomial_u": (lambda x: 4 * x - 2, shifted),
        "shifted_chebyshev_polynomial_v": (lambda x: 4 * x - 3, shifted),
        "shifted_chebyshev_polynomial_w": (lambda x: 4 * x - 1, shifted),
        "hermite_polynomial_h": (lambda x: 2 * x, lambda k, x, p, q: 2 * x * p - 2 * k * q),
        "hermite_polynomial_he": (lambda x: x, lambda k, x, p, q: x * p - k * q),
        "laguerre_polynomial_l": (lambda x: 1 - x, lambda k, x, p, q: ((2 * k + 1 - x) * p - k * q) / (k + 1)),
        "legendre_polynomial_p": (lambda x: x, lambda k, x, p, q: ((2 * k + 1) * x * p - k * q) / (k + 1))}


def special_functions():
    aten, prims = torch.ops.aten, torch.ops.prims
    found = {getattr(aten, "special_" + name).n_scalar: _polynomial(*formulas)
             for name, formulas in _polynomials().items()}
    found.update(bessel_functions())
    found.update(incomplete_gamma())
    found.update({aten.special_modified_bessel_i0.default: _i0, aten.special_modified_bessel_i1.default: _i1})
    found.update({prims.bessel_i0.default: _i0, prims.bessel_i0e.default: _i0e,
                  prims.bessel_i1.default: _i1, prims.bessel_i1e.default: _i1e, prims.zeta.default: _zeta,
                  prims.erfcx.default: _erfcx, prims.ndtri.default: _ndtri, aten.polygamma.default: _polygamma})
    return found

"""Bessel functions by others. Decompositions, as in decompositions.py. PyTorch has no derivatives of them.

Integrals of periodic functions, and of those that decay on both sides, are sums over places at equal distances, whose
error falls exponentially with their number. Far from zero, Hankel's asymptotic series takes over.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import math

import torch

EULER = 0.57721566490153286
# From here on, as many terms of Hankel's series have all digits of f64, and up to here so many places have.
FAR, TERMS, PLACES = 25.0, 13, 32


def in_double(function):
    """A function that computes in f64. Of integers, the result is of the default type."""
    def wide(x):
        dtype = x.dtype if x.is_floating_point() else torch.get_default_dtype()
        return function(x.double()).to(dtype)

    return wide


def _places():
    """In the middle of parts of (0, pi / 2)."""
    return [(i + 0.5) * math.pi / (2 * PLACES) for i in range(PLACES)]


def _integral(x, order, weight):
    """The mean of weight(t) cos(x sin t), or of sin if the order is odd, over t. With the weight cos(n t), or sin, it
    is J of order n."""
    wave, total = torch.sin if order % 2 else torch.cos, torch.zeros_like(x)
    for t in _places():
        total = total + weight(t) / PLACES * wave(x * math.sin(t))
    return total


def _near_j(x, order):
    return _integral(x, order, math.sin if order else lambda t: 1.0)


def _near_y(x, order):
    """Neumann's series of J, whose terms are added before the integral is taken."""
    if order:
        weight = lambda t: sum((-1) ** k * (2 * k + 1) / (k * (k + 1)) * math.sin((2 * k + 1) * t)
                               for k in range(1, PLACES))
        start = _near_j(x, 1) * ((x / 2).log() + EULER - 1) - _near_j(x, 0) / x
    else:
        weight = lambda t: sum((-1) ** k * 2 / k * math.cos(2 * k * t) for k in range(1, PLACES))
        start = _near_j(x, 0) * ((x / 2).log() + EULER)
    return 2 / math.pi * (start - _integral(x, order, weight))


def _hankel(x, order):
    """The two sums of Hankel's series, and the cosine and the sine that they belong to."""
    sums, factor, power = [torch.ones_like(x), torch.zeros_like(x)], 1.0, torch.ones_like(x)
    for k in range(1, 2 * TERMS):
        factor *= (4 * order ** 2 - (2 * k - 1) ** 2) / (8 * k)
        power = power / x
        sums[k % 2] = sums[k % 2] + (-1) ** (k // 2) * factor * power
    cosine, sine = x.cos(), x.sin()
    turned = (cosine + sine) / math.sqrt(2), (sine - cosine) / math.sqrt(2)
    return (*sums, *(turned if not order else (turned[1], -turned[0])))


def _far_scale(x):
    return (2 / (math.pi * x)).sqrt()


def _bessel_j(order):
    @in_double
    def function(x):
        size = x.abs()
        p, q, cosine, sine = _hankel(size.clamp(min=FAR), order)
        far = _far_scale(size.clamp(min=FAR)) * (p * cosine - q * sine)
        value = torch.where(size <= FAR, _near_j(size.clamp(max=FAR), order), far)
        return torch.where(x < 0, -value, value) if order else value

    return function


def _bessel_y(order):
    @in_double
    def function(x):
        p, q, cosine, sine = _hankel(x.clamp(min=FAR), order)
        far = _far_scale(x.clamp(min=FAR)) * (p * sine + q * cosine)
        value = torch.where(x <= FAR, _near_y(torch.where(x > 0, x, 1).clamp(max=FAR), order), far)
        return torch.where(x > 0, value, torch.where(x == 0, -math.inf, math.nan))

    return function


def _near_k(x, order):
    """The power series, up to 2."""
    square, harmonic = x * x / 4, 0.0
    i_term, i_sum, rest = torch.ones_like(x), torch.zeros_like(x), torch.zeros_like(x)
    for k in range(18):
        harmonic += 1 / k if k else 0
        # Of the derivatives of the gamma functions in the terms.
        psi = 2 * (harmonic - EULER) + 1 / (k + 1) if order else harmonic
        i_sum, rest = i_sum + i_term, rest + psi * i_term
        i_term = i_term * square / ((k + 1) * (k + 1 + order))
    if order:
        return 1 / x + x / 2 * ((x / 2).log() * i_sum - rest / 2)
    return rest - ((x / 2).log() + EULER) * i_sum


def _far_scaled_k(x, order):
    """exp(x) K(x) from 2 on: the integral of exp(x - x cosh t) over t = s / sqrt(x), with cosh t for the order 1."""
    root, step = x.sqrt(), 0.34
    total = torch.full_like(x, 0.5)
    for j in range(1, 27):
        half = (j * step / 2 / root).sinh()
        part = (-2 * x * half * half).exp()
        total = total + (part * (1 + 2 * half * half) if order else part)
    return step / root * total


def _bessel_k(order, is_scaled):
    @in_double
    def function(x):
        near = torch.where(x > 0, x, 1).clamp(max=2)
        near, far = (_near_k(near, order), near), x.clamp(2, 1e300)
        near = near[0] * near[1].exp() if is_scaled else near[0]
        far = _far_scaled_k(far, order) if is_scaled else _far_scaled_k(far, order) * (-far).exp()
        value = torch.where(x <= 2, near, far)
        return torch.where(x > 0, value, torch.where(x == 0, math.inf, math.nan))

    return function


@in_double
def _spherical_j0(x):
    return torch.where(x.isinf(), 0.0, torch.where(x == 0, 1.0, x.sin() / torch.where(x == 0, 1.0, x)))


def bessel_functions():
    aten, prims = torch.ops.aten, torch.ops.prims
    found = {prims.bessel_j0.default: _bessel_j(0), prims.bessel_j1.default: _bessel_j(1),
             prims.spherical_bessel_j0.default: _spherical_j0}
    for order in (0, 1):
        found[getattr(aten, "special_bessel_y%d" % order).default] = _bessel_y(order)
        found[getattr(aten, "special_modified_bessel_k%d" % order).default] = _bessel_k(order, False)
        found[getattr(aten, "special_scaled_modified_bessel_k%d" % order).default] = _bessel_k(order, True)
    return found

"""The incomplete gamma functions. Decompositions, as in decompositions.py.

The function's integrand is smooth and falls from x on, to the left where x is less than a, and to the right elsewhere.
So the smaller one of both functions is an integral over the part of it that matters.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import math

import torch

# So many places; so many terms of the series before them, which raise small `a`; and the logarithm of what is left out.
PLACES, TERMS, LEFT_OUT = 96, 24, 40.0
# From there on, exponents of the integrals are differences of numbers that are too large for f64.
HUGE = 1e13
STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360)


def _integral(like, function):
    """Of a function over (0, 1), by Fejer's first rule, whose places and weights are cosines."""
    options = dict(dtype=torch.float64, device=like.device)
    angles = (torch.arange(PLACES, **options) + 0.5) * (math.pi / PLACES)
    orders = torch.arange(1, PLACES // 2 + 1, **options)
    waves = (2 * angles.unsqueeze(-1) * orders).cos() / (4 * orders * orders - 1)
    weights = (1 - 2 * waves.sum(-1)) / PLACES
    return (function((1 - angles.cos()) / 2) * weights).sum(-1)


def _log_density(a, x):
    """The logarithm of x^a exp(-x) / gamma(a), by Stirling's series where its terms would be large."""
    far = a.clamp(min=16)
    correction = sum(c / far ** (2 * i + 1) for i, c in enumerate(STIRLING))
    offset = (x - far) / far
    logarithm = torch.where(offset < -0.5, (x / far).log(), offset.log1p())
    large = 0.5 * (far / (2 * math.pi)).log() - correction + far * (logarithm - offset)
    return torch.where(a < 16, a * x.log() - x - torch.lgamma(a), large)


def _lower(a, x):
    """For x up to a, or up to 1: terms of the series, then the integral for a larger `a`."""
    start, total, term = _log_density(a, x).exp(), torch.zeros_like(a), 1 / a
    for k in range(1, TERMS + 1):
        total, term = total + term, term * x / (a + k)
    a = a + TERMS
    power = a - 1
    length = torch.minimum(x * (2 * LEFT_OUT / power).sqrt(), LEFT_OUT / (power / x - 1).clamp(min=1e-300))
    share = torch.minimum(length / x, torch.ones_like(x)).unsqueeze(-1)
    wide, power = x.unsqueeze(-1), power.unsqueeze(-1)
    integral = share.squeeze(-1) * _integral(a, lambda t: (power * torch.log1p(-share * t) + wide * share * t).exp())
    return start * total + _log_density(a, x).exp() * integral


def _upper(a, x):
    """For x not less than a and 1. The place is a square, so that what is near x has more of them."""
    power = a - 1
    length = torch.minimum(LEFT_OUT + 5 + 10 * x.sqrt(), LEFT_OUT / (1 - power / x).clamp(min=1e-300))
    wide, power, long = x.unsqueeze(-1), power.unsqueeze(-1), length.unsqueeze(-1)
    integral = _integral(a, lambda t: 2 * t * (power * torch.log1p(long * t * t / wide) - long * t * t).exp())
    return _log_density(a, x).exp() * (length / x) * integral


def _both(a, x):
    dtype = torch.promote_types(a.dtype, x.dtype)
    a, x = torch.broadcast_tensors(a.double(), x.double())
    is_low = (x < a) | (x < 1)
    # Of each branch, elements of the other one are computed where it is well-behaved.
    plain = (a > 0) & (x > 0) & (a < HUGE) & x.isfinite()
    low = _lower(torch.where(plain, a, 1), torch.where(plain & is_low, x, 0.5))
    high = _upper(torch.where(plain & ~is_low, a, 1), torch.where(plain & ~is_low, x, 2))
    below, above = torch.where(is_low, low, 1 - high), torch.where(is_low, 1 - low, high)
    # The distribution of a large `a` is the normal one with the mean and the variance `a`, but for the skewness, the
    # first term of Edgeworth's series.
    is_huge = a.isfinite() & (a >= HUGE)
    deviation = torch.where(is_huge, a, 1).sqrt()
    distance = (x - a) / deviation / math.sqrt(2)
    skewed = (1 - 2 * distance ** 2) * (-distance ** 2).exp() / (3 * math.sqrt(2 * math.pi) * deviation)
    skewed = torch.where(distance.abs() > 30, 0.0, skewed)
    below = torch.where(is_huge, 0.5 * torch.erfc(-distance) + skewed, below)
    above = torch.where(is_huge, 0.5 * torch.erfc(distance) - skewed, above)
    is_zero = (x == 0) | a.isinf()
    is_one = (a == 0) | x.isinf()
    is_bad = (a < 0) | (x < 0) | (is_zero & is_one) | (a == 0) & x.isnan()

    def out(value, zero, one):
        value = torch.where(a.isnan() | x.isnan(), math.nan, value)
        value = torch.where(is_zero, zero, torch.where(is_one, one, value))
        return torch.where(is_bad, math.nan, value).to(dtype)

    return out(below, 0.0, 1.0), out(above, 1.0, 0.0)


def incomplete_gamma():
    """Decompositions, by operation."""
    prims = torch.ops.prims
    return {prims.igamma.default: lambda a, x: _both(a, x)[0], prims.igammac.default: lambda a, x: _both(a, x)[1]}

"""Draws from gamma, Dirichlet, Poisson and binomial distributions, and their derivatives. Decompositions, as in
decompositions.py.

Rejection makes as many attempts as leave a chance of less than 1e-12 that all are rejected, and takes the first that is
not. So a draw is made by operations without a loop, and its numbers depend on its place alone, as all others do.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import math

import torch

from .decompositions import refuse_generator

# Of an attempt, 95 % and 75 % are taken where that is least likely.
GAMMA_ATTEMPTS, COUNT_ATTEMPTS = 10, 20

# Expectations below this are drawn by adding up probabilities, of which the last is below 1e-25.
SMALL_EXPECTATION, LARGEST_SMALL_COUNT = 10.0, 64


def _first(values, accepted, default):
    """Along the first dimension, the first of the values that is accepted."""
    place = accepted.to(torch.int64).argmax(0, keepdim=True)
    return torch.where(accepted.any(0), values.gather(0, place).squeeze(0), default)


def _attempts(count, like):
    return torch.rand((count, *like.shape), dtype=torch.float64, device=like.device)


def _gamma(shape):
    """Marsaglia and Tsang's. Below 1, it is one of a shape that is larger by 1, times a power of a uniform number."""
    boosted = torch.where(shape < 1, shape + 1, shape)
    d = boosted - 1 / 3
    normal = torch.randn((GAMMA_ATTEMPTS, *shape.shape), dtype=torch.float64, device=shape.device)
    cube = (1 + normal / (3 * d.sqrt())) ** 3
    log_uniform = torch.log1p(-_attempts(GAMMA_ATTEMPTS, shape))
    accepted = (cube > 0) & (log_uniform < normal * normal / 2 + d * (1 - cube + cube.clamp(min=1e-300).log()))
    drawn = _first(d * cube, accepted, d)
    power = (torch.log1p(-torch.rand_like(shape)) / shape).exp()
    return torch.where(shape < 1, drawn * power, drawn)


def _standard_gamma(shape, generator=None):
    refuse_generator("_standard_gamma", generator)
    return _gamma(shape.double()).to(shape.dtype).clamp(min=torch.finfo(shape.dtype).tiny)


def _sample_dirichlet(shape, generator=None):
    refuse_generator("_sample_dirichlet", generator)
    info = torch.finfo(shape.dtype)
    drawn = _gamma(shape.double()).clamp(min=torch.finfo(torch.float64).tiny)
    return (drawn / drawn.sum(-1, keepdim=True)).to(shape.dtype).clamp(info.tiny, 1 - info.eps / 2)


def _poisson(rate, generator=None):
    refuse_generator("poisson", generator)
    mean = rate.double()

    # Few: how many sums of probabilities a uniform number exceeds.
    few = mean.clamp(max=SMALL_EXPECTATION).unsqueeze(-1)
    counts = torch.arange(LARGEST_SMALL_COUNT, dtype=torch.float64, device=rate.device)
    sums = (torch.xlogy(counts, few) - few - torch.lgamma(counts + 1)).exp().cumsum(-1)
    small = (torch.rand_like(mean).unsqueeze(-1) >= sums).sum(-1).to(mean.dtype)

    # Many: Hörmann's transformed rejection.
    many = mean.clamp(min=SMALL_EXPECTATION)
    b = 0.931 + 2.53 * many.sqrt()
    a = 0.02483 * b - 0.059
    u, v = _attempts(COUNT_ATTEMPTS, mean) - 0.5, 1 - _attempts(COUNT_ATTEMPTS, mean)
    away = 0.5 - u.abs()
    number = ((2 * a / away + b) * u + many + 0.43).floor()
    ratio = v * (1.1239 + 1.1328 / (b - 3.4)) / (a / (away * away) + b)
    counted = number.clamp(min=0)
    accepted = (number >= 0) & (ratio.log() <= counted * many.log() - many - torch.lgamma(counted + 1))
    large = _first(number, accepted, many.floor())

    drawn = torch.where(mean < SMALL_EXPECTATION, small, large)
    return torch.where(mean >= 0, drawn, math.nan).to(rate.dtype)


def _binomial(count, prob, generator=None):
    refuse_generator("binomial", generator)
    dtype = prob.dtype
    n, prob = torch.broadcast_tensors(count.double(), prob.double())
    n = n.floor()
    p = torch.minimum(prob, 1 - prob).clamp(min=0)
    mean, log_odds = n * p, p.log() - torch.log1p(-p)

    # Few, as for Poisson's.
    few, p_few = n.unsqueeze(-1), torch.where(mean < SMALL_EXPECTATION, p, 0).unsqueeze(-1)
    counts = torch.arange(LARGEST_SMALL_COUNT, dtype=torch.float64, device=prob.device)
    rest = (few - counts).clamp(min=0)
    logs = torch.lgamma(few + 1) - torch.lgamma(counts + 1) - torch.lgamma(rest + 1)
    logs = logs + torch.xlogy(counts, p_few) + rest * torch.log1p(-p_few)
    sums = torch.where(counts <= few, logs.exp(), 0).cumsum(-1)
    small = (torch.rand_like(mean).unsqueeze(-1) >= sums).sum(-1).to(mean.dtype)
    small = torch.minimum(small, n)

    # Many, as for Poisson's.
    is_large = mean >= SMALL_EXPECTATION
    m, q = torch.where(is_large, n, 40), torch.where(is_large, p, 0.5)
    log_odds = torch.where(is_large, log_odds, 0)
    spread = (m * q * (1 - q)).sqrt()
    b = 1.15 + 2.53 * spread
    a = 0.0248 * b - 0.0873 + 0.01 * q
    u, v = _attempts(COUNT_ATTEMPTS, mean) - 0.5, 1 - _attempts(COUNT_ATTEMPTS, mean)
    away = 0.5 - u.abs()
    number = ((2 * a / away + b) * u + m * q + 0.5).floor()
    ratio = v * (2.83 + 5.1 / b) * spread / (a / (away * away) + b)
    counted, mode = torch.minimum(number.clamp(min=0), m), ((m + 1) * q).floor()
    log_likelihood = (torch.lgamma(mode + 1) + torch.lgamma(m - mode + 1) - torch.lgamma(counted + 1) -
                      torch.lgamma(m - counted + 1) + (counted - mode) * log_odds)
    large = _first(number, (number == counted) & (ratio.log() <= log_likelihood), mode)

    drawn = torch.where(is_large, large, small)
    drawn = torch.where(prob > 0.5, n - drawn, drawn)
    return torch.where((n >= 0) & (prob >= 0) & (prob <= 1), drawn, math.nan).to(dtype)


# Derivatives of draws: how a draw moves with a parameter where its probability stays, which is the derivative of the
# cumulative probability by that of the place, with a minus. It is an integral over those on one side of the draw.


def _integral(function, scale, points=64):
    """Of a smooth function that decays like an exponential over about `scale`, from 0 to infinity, by the
    trapezoid rule in s of scale * exp(s - exp(-s)). `function` takes places in a last dimension."""
    first, last = -3.6, 4.4
    s = torch.linspace(first, last, points, dtype=torch.float64, device=scale.device)
    place = (s - (-s).exp()).exp()
    weight = place * (1 + (-s).exp()) * ((last - first) / (points - 1))
    return (function(scale.unsqueeze(-1) * place) * weight).sum(-1) * scale


def _scale(slope, curvature):
    """Where a parabola that begins at 0 with this slope and second derivative is 1."""
    return 2 / (slope + (slope * slope + 2 * curvature).sqrt())


def _standard_gamma_grad(shape, draw):
    a, x = shape.double(), draw.double()
    is_low = x <= a
    slope = torch.where(is_low, a - x, (1 - (a - 1) / x).clamp(0, 1))
    scale = _scale(slope, torch.where(is_low, x, (a - 1).clamp(min=0) / (x * x)))
    scale = torch.where(is_low & (scale >= 1), torch.maximum(scale, (1 + x) / a), scale)
    log_x = (x.log() - a.digamma()).unsqueeze(-1)
    a_, x_, low_ = a.unsqueeze(-1), x.unsqueeze(-1), is_low.unsqueeze(-1)

    def density(v):
        """Relative to that at the draw, times the derivative of its logarithm by the shape: at x exp(-v) below the
        draw, at x + v above it."""
        step = torch.log1p(v / x_)
        below = (log_x - v) * (-a_ * v - x_ * torch.expm1(-v)).exp()
        return torch.where(low_, below, (log_x + step) * ((a_ - 1) * step - v).exp())

    total = _integral(density, scale)
    return torch.where(is_low, -x * total, total).to(shape.dtype)


def _dirichlet_grad(draw, shape, total):
    """Of the beta distribution of one number against the others, divided by one minus the draw."""
    x, a, total = (t.double() for t in torch.broadcast_tensors(draw, shape, total))
    is_low = x < a / total
    near, far = torch.where(is_low, a, total - a), torch.where(is_low, total - a, a)
    y = torch.where(is_low, x, 1 - x)
    pull = (far - 1).clamp(min=0) * y / (1 - y)
    scale = _scale((near - pull).clamp(min=0), pull / (1 - y))
    scale = torch.where(scale < 1, scale, torch.maximum(scale, 1 / near))
    offset = (total.digamma() - a.digamma()).unsqueeze(-1)
    near, far, y_, low_ = near.unsqueeze(-1), far.unsqueeze(-1), y.unsqueeze(-1), is_low.unsqueeze(-1)

    def density(v):
        other = torch.log1p(-y_ * (-v).exp())
        log_x = torch.where(low_, y_.log() - v, other)
        return (log_x + offset) * ((far - 1) * (other - torch.log1p(-y_)) - near * v).exp()

    result = y * _integral(density, scale)
    return (torch.where(is_low, -result, result) / (1 - x)).to(draw.dtype)


def draws():
    aten = torch.ops.aten
    return {aten._standard_gamma.default: _standard_gamma, aten._standard_gamma_grad.default: _standard_gamma_grad,
            aten._sample_dirichlet.default: _sample_dirichlet, aten._dirichlet_grad.default: _dirichlet_grad,
            aten.poisson.default: _poisson, aten.binomial.default: _binomial}

"""Rules of special functions and of rounding, by programs of JAX that are traced in place of the primitive.

Where JAX has such a program for XLA, it is that one. Others are computed as Cephes does, by whose formulas XLA computes
them, too.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax._src.lax import special as own

from ..cephes import I1E_FAR, I1E_NEAR, hurwitz_zeta
from .control import inline
from .rules import rule


def _widened(function):
    """A rule that computes in f32 at least. Arguments of JAX may be of rank 0 beside others."""
    def lower(l, *operands, **_):
        shape, dtype, _ = l.result()
        inner = dtype if dtype == np.float64 else np.dtype("float32")

        def wide(*args):
            return function(*(jnp.broadcast_to(a.astype(inner), shape) for a in args)).astype(dtype)

        return inline(l, wide, *((v, l.aval(i)[1]) for i, v in enumerate(operands)))

    return lower


def _with_dtype(function):
    return lambda *args: function(*args, dtype=args[0].dtype)


def _zeta(x, q):
    """Hurwitz's zeta function: ten terms, and Euler and Maclaurin's formula for the others."""
    total = hurwitz_zeta(x, q, 10)
    total = jnp.where((q < 0) & (jnp.floor(x) != x), jnp.nan, total)
    is_even = jnp.floor(x / 2) * 2 == x
    total = jnp.where((q <= 0) & (jnp.floor(q) == q), jnp.where(is_even, jnp.inf, jnp.nan), total)
    return jnp.where(x == 1, jnp.inf, jnp.where(x < 1, jnp.nan, total))


def _polygamma(n, x):
    """The derivative of order n + 1 of the logarithm of the gamma function."""
    sign = jnp.where(jnp.floor(n / 2) * 2 == n, -1, 1)
    value = sign * jnp.exp(jax.lax.lgamma(n + 1)) * _zeta(n + 1, x)
    value = jnp.where(n == 0, jax.lax.digamma(x), value)
    return jnp.where((n < 0) | (jnp.floor(n) != n), jnp.nan, value)


def _chebyshev(x, coefficients):
    """Clenshaw's sum; the coefficient of order 0 is the last one."""
    b0 = b1 = b2 = jnp.zeros_like(x)
    for coefficient in coefficients:
        b0, b1, b2 = x * b0 - b1 + coefficient, b0, b1
    return (b0 - b2) / 2


def _i1e(x):
    size = jnp.abs(x)
    far = jnp.maximum(size, 8)
    value = jnp.where(size <= 8, size * _chebyshev(size / 2 - 2, I1E_NEAR),
                      _chebyshev(32 / far - 2, I1E_FAR) / jnp.sqrt(far))
    return jnp.where(x < 0, -value, value)


for _name, _function in {
        "igamma": _with_dtype(own.igamma_impl), "igammac": _with_dtype(own.igammac_impl),
        "igamma_grad_a": _with_dtype(own.igamma_grad_a_impl),
        "regularized_incomplete_beta": _with_dtype(own.regularized_incomplete_beta_impl),
        "bessel_i0e": own.bessel_i0e_impl, "bessel_i1e": _i1e, "zeta": _zeta, "polygamma": _polygamma}.items():
    rule(_name)(_widened(_function))


@rule("reduce_precision")
def _reduce_precision(l, a, exponent_bits, mantissa_bits):
    """Rounds to the nearest number with so many bits, of two to the even one; what is too small for a normal number
    becomes 0."""
    dtype = l.result()[1]
    info = jnp.finfo(dtype)
    if exponent_bits >= info.nexp and mantissa_bits >= info.nmant:
        return a
    # Of what is wider than the type, there is nothing to round.
    exponent_bits, mantissa_bits = min(exponent_bits, info.nexp), min(mantissa_bits, info.nmant)
    integer = np.dtype("uint%d" % info.bits)

    def rounded(x):
        one = jnp.array(1, integer)
        bits = jax.lax.bitcast_convert_type(x, integer)
        lost = info.nmant - mantissa_bits
        if lost:
            is_odd = (bits >> lost) & one
            bits = (bits + ((one << (lost - 1)) - 1) + is_odd) & ~((one << lost) - one)
        exponents = ((one << info.nexp) - 1) << info.nmant
        sign, exponent = bits & (one << (info.bits - 1)), bits & exponents
        bias, least = (1 << (info.nexp - 1)) - 1, (1 << (exponent_bits - 1)) - 1
        if exponent_bits < info.nexp:
            bits = jnp.where(exponent > jnp.array((bias + least) << info.nmant, integer), sign | exponents, bits)
            bits = jnp.where(exponent <= jnp.array((bias - least) << info.nmant, integer), sign, bits)
        return jnp.where(jnp.isnan(x), x, jax.lax.bitcast_convert_type(bits, x.dtype))

    return inline(l, rounded, (a, dtype))

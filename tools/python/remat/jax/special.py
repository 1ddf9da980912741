"""Rules of special functions and of rounding, by programs of JAX that are traced in place of the primitive.

Where JAX has such a program for XLA, it is that one. Others are computed as Cephes does, by whose formulas XLA computes
them, too.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax._src.lax import special as own

from .control import inline
from .rules import rule

# Euler and Maclaurin's formula: (2k)! / B(2k) for k = 1, 2, ..., with Bernoulli's numbers B.
ZETA_DIVISORS = (12.0, -720.0, 30240.0, -1209600.0, 47900160.0, -1.8924375803183791606e9, 7.47242496e10,
                 -2.950130727918164224e12, 1.1646782814350067249e14, -4.5979787224074726105e15,
                 1.8152105401943546773e17, -7.1661652561756670113e18)

# Chebyshev's coefficients of exp(-x) I1(x) / x up to 8, and of exp(-x) sqrt(x) I1(x) beyond.
I1E_NEAR = (
    2.77791411276104639959e-18, -2.11142121435816608115e-17, 1.55363195773620046921e-16, -1.10559694773538630805e-15,
    7.60068429473540693410e-15, -5.04218550472791168711e-14, 3.22379336594557470981e-13, -1.98397439776494371520e-12,
    1.17361862988909016308e-11, -6.66348972350202774223e-11, 3.62559028155211703701e-10, -1.88724975172282928790e-9,
    9.38153738649577178388e-9, -4.44505912879632808065e-8, 2.00329475355213526229e-7, -8.56872026469545474066e-7,
    3.47025130813767847674e-6, -1.32731636560394358279e-5, 4.78156510755005422638e-5, -1.61760815825896745588e-4,
    5.12285956168575772895e-4, -1.51357245063125314899e-3, 4.15642294431288815669e-3, -1.05640848946261981558e-2,
    2.47264490306265168283e-2, -5.29459812080949914269e-2, 1.02643658689847095384e-1, -1.76416518357834055153e-1,
    2.52587186443633654823e-1)
I1E_FAR = (
    7.51729631084210481353e-18, 4.41434832307170791151e-18, -4.65030536848935832153e-17, -3.20952592199342395980e-17,
    2.96262899764595013876e-16, 3.30820231092092828324e-16, -1.88035477551078244854e-15, -3.81440307243700780478e-15,
    1.04202769841288027642e-14, 4.27244001671195135429e-14, -2.10154184277266431302e-14, -4.08355111109219731823e-13,
    -7.19855177624590851209e-13, 2.03562854414708950722e-12, 1.41258074366137813316e-11, 3.25260358301548823856e-11,
    -1.89749581235054123450e-11, -5.58974346219658380687e-10, -3.83538038596423702205e-9, -2.63146884688951950684e-8,
    -2.51223623787020892529e-7, -3.88256480887769039346e-6, -1.10588938762623716291e-4, -9.76109749136146840777e-3,
    7.78576235018280120474e-1)


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
    place, last = q, q ** -x
    total = last
    for _ in range(9):
        place = place + 1
        last = place ** -x
        total = total + last
    total = total + last * place / (x - 1) - last / 2
    factor = x * last / place
    for k, divisor in enumerate(ZETA_DIVISORS):
        total = total + factor / divisor
        factor = factor * (x + 2 * k + 1) * (x + 2 * k + 2) / (place * place)
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
    if (exponent_bits, mantissa_bits) == (info.nexp, info.nmant):
        return a
    if exponent_bits > info.nexp or mantissa_bits > info.nmant:
        l.refuse("a precision of %d and %d bits is more than that of %s" % (exponent_bits, mantissa_bits, dtype))
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

"""Rules of linear algebra, by operations of StableHLO, which remat reads.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import jax
import jax.numpy as jnp

from .control import inline, run_closed
from .rules import rule


def _check_real(l, a):
    if a.element.startswith("complex"):
        l.refuse("factorizations of complex matrices are not supported; write the problem in real and imaginary parts")


@rule("cholesky")
def _cholesky(l, a, **_):
    _check_real(l, a)
    return l.function.op('"stablehlo.cholesky"(%s) {lower = true} : (%s) -> %s' % (a.name, a.type, a.type), a.shape,
                         a.element)


@rule("triangular_solve")
def _triangular_solve(l, a, b, left_side, lower, transpose_a, conjugate_a, unit_diagonal):
    _check_real(l, a)
    # JAX takes 0 and 1 as well.
    flags = {"left_side": left_side, "lower": lower, "unit_diagonal": unit_diagonal}
    flags = ", ".join("%s = %s" % (name, "true" if value else "false") for name, value in flags.items())
    return l.function.op('"stablehlo.triangular_solve"(%s, %s) {%s, transpose_a = #stablehlo<transpose %s>} : '
                         "(%s, %s) -> %s" % (
                             a.name, b.name, flags, "TRANSPOSE" if transpose_a else "NO_TRANSPOSE", a.type, b.type,
                             b.type), b.shape, b.element)


@rule("custom_linear_solve")
def _custom_linear_solve(l, *operands, const_lengths, jaxprs):
    """How a system is solved. Its derivatives, which JAX has taken, are systems of their own."""
    first = const_lengths.matvec + const_lengths.vecmat
    consts = operands[first:first + const_lengths.solve]
    right = operands[first + const_lengths.solve + const_lengths.transpose_solve:]
    return run_closed(l, jaxprs.solve, [*consts, *right])


def _solve_tridiagonal(below, diagonal, above, right):
    """Elimination from row to row, which exchanges two rows where the lower one has the larger number, as LAPACK's
    `gtsv`. Rows have up to two numbers behind the diagonal then. A singular matrix has nan."""
    rows_first = lambda x: jnp.moveaxis(x, diagonal.ndim - 1, 0)
    below, diagonal, above, right = map(rows_first, (below, diagonal, above, right))

    def eliminate(row, lower):
        (d, u, r), (next_l, next_d, next_u, next_r) = row, lower
        stays = jnp.abs(d) >= jnp.abs(next_l)
        pivot = jnp.where(stays, d, next_l)
        factor = jnp.where(stays, next_l, d) / jnp.where(pivot == 0, 1, pivot)
        upper = (pivot, jnp.where(stays, u, next_d), jnp.where(stays, 0, next_u),
                 jnp.where(stays[..., None], r, next_r))
        rest = (jnp.where(stays, next_d - factor * u, u - factor * next_d),
                jnp.where(stays, next_u, -factor * next_u),
                jnp.where(stays[..., None], next_r - factor[..., None] * r, r - factor[..., None] * next_r))
        return rest, upper

    last, uppers = jax.lax.scan(eliminate, (diagonal[0], above[0], right[0]),
                                (below[1:], diagonal[1:], above[1:], right[1:]))

    def substitute(found, row):
        x1, x2 = found
        d, u, v, r = row
        x = (r - u[..., None] * x1 - v[..., None] * x2) / d[..., None]
        return (x, x1), x

    end = last[2] / last[0][..., None]
    _, others = jax.lax.scan(substitute, (end, jnp.zeros_like(end)), uppers, reverse=True)
    is_regular = jnp.all(uppers[0] != 0, 0) & (last[0] != 0)
    found = jnp.where(is_regular[..., None], jnp.concatenate([others, end[None]]), jnp.nan)
    return jnp.moveaxis(found, 0, -2)


@rule("tridiagonal_solve")
def _tridiagonal_solve(l, below, diagonal, above, right, *, perturb_singular=False, **_):
    _check_real(l, diagonal)
    if perturb_singular:
        l.refuse("perturb_singular=True is not supported")
    dtype = l.result()[1]
    return inline(l, _solve_tridiagonal, *((v, dtype) for v in (below, diagonal, above, right)))

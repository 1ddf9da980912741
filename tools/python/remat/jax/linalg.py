"""Rules of linear algebra, by operations of StableHLO, which remat reads.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from .control import run_closed
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
    flags = {"left_side": left_side, "lower": lower, "unit_diagonal": unit_diagonal}
    return l.function.op('"stablehlo.triangular_solve"(%s, %s) {%s, transpose_a = #stablehlo<transpose %s>} : '
                         "(%s, %s) -> %s" % (
                             a.name, b.name, ", ".join("%s = %s" % (k, str(v).lower()) for k, v in flags.items()),
                             "TRANSPOSE" if transpose_a else "NO_TRANSPOSE", a.type, b.type, b.type), b.shape,
                         b.element)


@rule("custom_linear_solve")
def _custom_linear_solve(l, *operands, const_lengths, jaxprs):
    """How a system is solved. Its derivatives, which JAX has taken, are systems of their own."""
    first = const_lengths.matvec + const_lengths.vecmat
    consts = operands[first:first + const_lengths.solve]
    right = operands[first + const_lengths.solve + const_lengths.transpose_solve:]
    return run_closed(l, jaxprs.solve, [*consts, *right])

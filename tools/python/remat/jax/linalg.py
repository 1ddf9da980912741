"""Rules of linear algebra, by operations of StableHLO, which remat reads.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from .lower import rule


@rule("cholesky")
def _cholesky(l, a, **_):
    return l.function.op('"stablehlo.cholesky"(%s) {lower = true} : (%s) -> %s' % (a.name, a.type, a.type), a.shape,
                         a.element)


@rule("triangular_solve")
def _triangular_solve(l, a, b, left_side, lower, transpose_a, conjugate_a, unit_diagonal):
    flags = {"left_side": left_side, "lower": lower, "unit_diagonal": unit_diagonal}
    return l.function.op('"stablehlo.triangular_solve"(%s, %s) {%s, transpose_a = #stablehlo<transpose %s>} : '
                         "(%s, %s) -> %s" % (
                             a.name, b.name, ", ".join("%s = %s" % (k, str(v).lower()) for k, v in flags.items()),
                             "TRANSPOSE" if transpose_a else "NO_TRANSPOSE", a.type, b.type, b.type), b.shape,
                         b.element)

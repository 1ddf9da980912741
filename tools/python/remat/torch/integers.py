"""Formulas of integers that need several steps.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from .pointwise import FORMULAS, formula


def _euclid_steps(bits):
    """How often Euclid's algorithm divides at most, for numbers of so many bits: neighbours among Fibonacci's numbers
    take longest."""
    steps, low, high = 1, 1, 1
    while high < 1 << bits:
        steps, low, high = steps + 1, high, low + high
    return steps


@formula("gcd")
def _gcd(s, a, b):
    """Euclid's algorithm, which stays where it is at the end."""
    zero, one = s.const(0), s.const(1)
    a, b = (FORMULAS["abs"][0](s, x) for x in (a, b))
    for _ in range(_euclid_steps(int(s.element[1:]))):
        is_done = s.compare("eq", a, zero)
        rest = s.op("arith.remui" if s.unsigned else "arith.remsi", b, s.select(is_done, one, a))
        a, b = rest, s.select(is_done, b, a)
    return b

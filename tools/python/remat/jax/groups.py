"""Rules of products of groups of rows, jax.lax.ragged_dot and its derivatives.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from .. import groups
from .elementwise import convert, working
from .rules import rule
from .shapes import widened
from .types import element_of


def _ends(l, sizes, dtype):
    """Where groups end, from how many rows they have."""
    def body(b, size, total):
        before = b.op("arith.cmpi ule, %s, %s : index" % (b.index(1), b.index(0)))
        rows = b.select(before, widened(b, size, dtype), b.constant(0, "i64"), "i64")
        return b.binary("arith.addi", total, rows, "i64")

    return l.function.generic([(sizes, ["d1"])], sizes.shape, "i64", body, loops=2, reductions={1}, out_map=["d0"],
                              init=l.function.constant(0, sizes.shape, "i64"))


@rule("ragged_dot_general")
def _ragged_dot(l, a, b, sizes, *, ragged_dot_dimension_numbers, group_offset=None, **_):
    numbers = ragged_dot_dimension_numbers
    (contract_a, contract_b), (batch_a, _) = numbers.dot_dimension_numbers
    ragged, group = tuple(numbers.lhs_ragged_dimensions), tuple(numbers.rhs_group_dimensions)
    if batch_a or len(contract_a) != 1 or len(ragged) != 1 or sizes.rank != 1 or group_offset is not None or \
            a.rank != 2 or b.rank != 2 + len(group):
        l.refuse("of its forms, those of matrices with one ragged dimension are supported; got %s" % (numbers,))
    _, dtype, _ = l.result()

    def conversion(old, new):
        return groups.Conversion(element_of(new), lambda body, x: convert(body, x, old, new))

    source, ends = l.aval(0)[1], _ends(l, sizes, l.aval(2)[1])
    if not group:
        lhs = l.function.transpose(a, (1 - ragged[0], ragged[0]))
        rhs = l.function.transpose(b, (contract_b[0], 1 - contract_b[0]))
        sums = working(dtype)
        return groups.grouped_sums(l.function, lhs, rhs, ends, conversion(source, sums), conversion(sums, dtype))
    lhs = l.function.transpose(a, (ragged[0], contract_a[0]))
    columns, = set(range(3)) - {group[0], contract_b[0]}
    return groups.grouped_rows(l.function, lhs, l.function.transpose(b, (group[0], contract_b[0], columns)), ends,
                               conversion(source, dtype))

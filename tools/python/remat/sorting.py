"""Sorts: an order by integer keys, in which values are read.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from .mlir import identity, tensor_type


def _ordered(b, x, element, total):
    """A signed integer in the order of floating-point numbers: -nan, -inf, ..., -0, 0, ..., inf, nan, and its type. But
    for a total order, both zeros are one, and all nans are the greatest."""
    width = int(element.lstrip("bf"))
    word = "i%d" % width
    bits = b.cast("arith.bitcast", x, element, word)
    if not total:
        zero = b.compare("oeq", x, b.constant(0, element), element)
        bits = b.select(zero, b.constant(0, word), bits, word)
    digits = b.binary("arith.shrsi", bits, b.constant(width - 1, word), word)
    digits = b.binary("arith.andi", digits, b.constant((1 << width - 1) - 1, word), word)
    key = b.binary("arith.xori", bits, digits, word)
    if not total:
        key = b.select(b.compare("uno", x, x, element), b.constant((1 << width - 1) - 1, word), key, word)
    return key, word


def sort_keys(f, value, unsigned=False, descending=False, total=False):
    """Signed integers in the order of the elements of `value`; two for complex numbers, whose real parts count
    first."""
    parts = [value]
    if value.element.startswith("complex"):
        inner = value.element[len("complex<"):-1]
        parts = [f.generic([(value, identity(value.rank))], value.shape, inner,
                           lambda b, x, name=name: b.op("%s %s : %s" % (name, x, value.element)))
                 for name in ("complex.re", "complex.im")]
    keys = []
    for part in parts:
        width = 8 if part.element == "i1" else int(part.element.lstrip("bfi"))
        word = "i%d" % width

        def body(b, x, part=part, width=width, word=word):
            if part.element[0] in "fb":
                x, _ = _ordered(b, x, part.element, total)
            elif part.element == "i1":
                x = b.cast("arith.extui", x, "i1", word)
            elif unsigned:
                x = b.binary("arith.xori", x, b.constant(-1 << width - 1, word), word)
            return b.binary("arith.xori", x, b.constant(-1, word), word) if descending else x

        keys.append(f.generic([(part, identity(part.rank))], part.shape, word, body))
    return keys


def order(f, keys, dim, count):
    """The numbers of the first `count` elements along `dim` in the order of their keys; equal ones keep theirs."""
    shape = list(keys[0].shape)
    shape[dim] = count
    return f.op("remat.order %s along %d : %s -> %s" % (
        ", ".join(k.name for k in keys), dim, ", ".join(k.type for k in keys), tensor_type(shape, "i64")), shape, "i64")


def take_in_order(f, value, order, dim):
    """The elements of `value` along `dim` that `order` numbers."""
    def body(b, place):
        index = [b.index(i) for i in range(value.rank)]
        index[dim] = b.to_index(place, "i64")
        return b.extract(value, index)

    return f.generic([(order, identity(order.rank))], order.shape, value.element, body)

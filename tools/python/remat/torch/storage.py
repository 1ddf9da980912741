"""Types whose tensors are moved and converted, but not computed with: numbers of eight bits, which the IR has as
bytes, and integers without a sign that are wider than a byte.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import dataclasses

import torch


@dataclasses.dataclass(frozen=True)
class Narrow:
    """A type of eight bits: a sign, an exponent, and `mantissa` bits. What is not less than the f32 with the bits `limit`
    becomes `beyond`, and NaN becomes `nan`. Types without a negative zero have NaN there."""
    mantissa: int
    bias: int
    limit: int
    beyond: int
    nan: int
    has_negative_zero: bool = True


NARROW = {
    torch.float8_e4m3fn: Narrow(3, 7, 0x43E80000, 0x7E, 0x7F),
    torch.float8_e5m2: Narrow(2, 15, 0x47800000, 0x7C, 0x7F),
    torch.float8_e4m3fnuz: Narrow(3, 8, 0x43800000, 0x80, 0x80, False),
    torch.float8_e5m2fnuz: Narrow(2, 16, 0x47800000, 0x80, 0x80, False),
}
UNSIGNED = {torch.uint16: "i16", torch.uint32: "i32", torch.uint64: "i64"}
STORED = {**{dtype: "i8" for dtype in NARROW}, **UNSIGNED}

# What only moves elements, or converts them.
MOVES = {
    "alias", "detach", "clone", "lift_fresh_copy", "lift_fresh", "view_of", "contiguous", "copy_strided", "_to_copy",
    "convert_element_type", "to", "copy", "view", "view_dtype", "reshape", "_unsafe_view", "_reshape_alias", "squeeze",
    "unsqueeze", "squeeze_copy", "flatten", "permute", "transpose", "t", "expand", "broadcast_in_dim", "slice",
    "select", "split", "split_with_sizes", "chunk", "unbind", "cat", "stack", "flip", "rev", "repeat", "diagonal",
    "unfold", "slice_scatter", "select_scatter", "as_strided", "zeros", "zeros_like", "new_zeros", "empty",
    "empty_like", "new_empty", "empty_strided", "new_empty_strided", "index", "_unsafe_index", "embedding", "gather",
    "index_select", "where"}


def moves_only(node):
    """Why an operation is refused: one of its tensors is stored in a type that it cannot compute with. None, if all is
    well."""
    if node.target.overloadpacket.__name__ in MOVES:
        return None
    for value in [n.meta.get("val") for n in node.all_input_nodes] + [node.meta.get("val")]:
        for tensor in value if isinstance(value, (list, tuple)) else [value]:
            if isinstance(tensor, torch.Tensor) and tensor.dtype in STORED:
                return "%s is supported as a type of storage, whose tensors are moved and converted; convert them to %s " \
                    "to compute with them" % (tensor.dtype, "int64" if tensor.dtype in UNSIGNED else "float32")
    return None


def as_bytes(tensor):
    """A tensor with the elements that the IR has in its place."""
    if tensor.dtype not in STORED:
        return tensor
    return tensor.view(getattr(torch, "int" + STORED[tensor.dtype][1:]))


def narrow(body, a, dtype):
    """The byte of the f32 `a`, rounded to the nearest number, of two to the even one."""
    kind = NARROW[dtype]
    number = lambda n: body.constant(n, "i32")
    op = lambda name, x, y: body.binary("arith." + name, x, y, "i32")
    bits = body.cast("arith.bitcast", a, "f32", "i32")
    size = op("andi", bits, number(0x7FFFFFFF))
    sign = op("shli", op("shrui", bits, number(31)), number(7))
    lost = 23 - kind.mantissa
    odd = op("andi", op("shrui", size, number(lost)), number(1))
    normal = op("shrui", op("addi", op("addi", size, odd), number(
        (1 << (lost - 1)) - 1 - ((127 - kind.bias) << 23))), number(lost))
    # The sum with a number whose last place is the least number of the type is rounded there.
    magic = 127 + 1 - kind.bias + lost
    total = body.binary("arith.addf", body.cast("arith.bitcast", size, "i32", "f32"),
                        body.constant(2.0 ** (magic - 127), "f32"), "f32")
    small = op("subi", body.cast("arith.bitcast", total, "f32", "i32"), number(magic << 23))
    pick = lambda condition, x, y: body.select(condition, x, y, "i32")
    least = (127 + 1 - kind.bias) << 23  # the bits of the least normal number
    result = pick(body.compare("ult", size, number(least), "i32"), small, normal)
    result = pick(body.compare("uge", size, number(kind.limit), "i32"), number(kind.beyond), result)
    result = pick(body.compare("ugt", size, number(0x7F800000), "i32"), number(kind.nan), result)
    signed = op("ori", result, sign)
    if not kind.has_negative_zero:
        signed = pick(body.compare("eq", result, number(0), "i32"), result, signed)
    return body.cast("arith.trunci", signed, "i32", "i8")


def widen(body, a, dtype):
    """The f32 that the byte `a` stands for."""
    kind = NARROW[dtype]
    number = lambda n: body.constant(n, "i32")
    op = lambda name, x, y: body.binary("arith." + name, x, y, "i32")
    floats = lambda x: body.cast("arith.bitcast", x, "i32", "f32")
    bits = body.cast("arith.extui", a, "i8", "i32")
    size = op("andi", bits, number(0x7F))
    sign = op("shli", op("shrui", bits, number(7)), number(31))
    normal = op("addi", op("shli", size, number(23 - kind.mantissa)), number((127 - kind.bias) << 23))
    small = body.binary("arith.mulf", body.cast("arith.uitofp", size, "i32", "f32"),
                        body.constant(2.0 ** (1 - kind.bias - kind.mantissa), "f32"), "f32")
    is_small = body.compare("ult", size, number(1 << kind.mantissa), "i32")
    result = body.select(is_small, body.cast("arith.bitcast", small, "f32", "i32"), normal, "i32")
    nan = number(0x7FC00000)
    if not kind.has_negative_zero:
        return floats(body.select(body.compare("eq", bits, number(kind.nan), "i32"), nan,
                                  op("ori", result, sign), "i32"))
    if dtype == torch.float8_e4m3fn:  # There is no infinity, so the largest number is in its place.
        result = body.select(body.compare("eq", size, number(kind.nan), "i32"), nan, result, "i32")
    else:
        result = body.select(body.compare("eq", size, number(kind.beyond), "i32"), number(0x7F800000), result, "i32")
        result = body.select(body.compare("ugt", size, number(kind.beyond), "i32"), nan, result, "i32")
    return floats(op("ori", result, sign))

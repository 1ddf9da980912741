"""Types whose tensors are moved and converted, but not computed with: numbers of eight bits, which the IR has as
bytes, and integers without a sign that are wider than a byte.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import torch

from ..narrow_floats import Narrow


NARROW = {
    torch.float8_e4m3fn: Narrow(3, 7, 464.0, 0x7E, 0x7F),
    torch.float8_e5m2: Narrow(2, 15, 2.0 ** 16, 0x7C, 0x7F, has_infinity=True),
    torch.float8_e4m3fnuz: Narrow(3, 8, 256.0, 0x80, 0x80, has_negative_zero=False),
    torch.float8_e5m2fnuz: Narrow(2, 16, 2.0 ** 16, 0x80, 0x80, has_negative_zero=False),
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
                return "%s is supported as a type of storage, whose tensors are moved and converted; convert them to " \
                    "%s to compute with them" % (tensor.dtype, "int64" if tensor.dtype in UNSIGNED else "float32")
    return None


def as_bytes(tensor):
    """A tensor with the elements that the IR has in its place."""
    if tensor.dtype not in STORED:
        return tensor
    return tensor.view(getattr(torch, "int" + STORED[tensor.dtype][1:]))

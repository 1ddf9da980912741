"""Products of groups of rows, each with a matrix of its own, as mixtures of experts have them.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import torch

from .. import groups
from .rules import rule
from .types import convert, element_of, working


def _histc(x, bins=100, min=0, max=0):
    """How many elements there are in each bin; those outside of the range are not counted. An empty range is that of
    the elements, and 1 beside both ends if they are equal."""
    flat = x.reshape(-1)
    low, high = (torch.full((), v, dtype=x.dtype, device=x.device) for v in (min, max))
    if min == max and flat.numel():
        low, high = flat.amin(), flat.amax()
    equal = low == high
    low, high = torch.where(equal, low - 1, low), torch.where(equal, high + 1, high)
    number = ((flat - low) / (high - low) * bins).floor().clamp(0, bins - 1)  # The end belongs to the last bin.
    bin_ = torch.arange(bins, device=x.device)
    is_hit = (number.unsqueeze(1) == bin_) & ((flat >= low) & (flat <= high)).unsqueeze(1)
    return is_hit.sum(0).to(x.dtype)


# A product whose loops the lowering makes. PyTorch's own operation is for some types and alignments only.
_library = torch.library.Library("remat", "FRAGMENT")
_library.define("grouped_mm(Tensor a, Tensor b, Tensor ends, ScalarType dtype) -> Tensor")


@torch.library.register_fake("remat::grouped_mm", lib=_library)
def _grouped_mm_fake(a, b, ends, dtype):
    lead = ends.shape if a.dim() == b.dim() else ()
    return a.new_empty(*lead, a.shape[-2], b.shape[-1], dtype=dtype)


@rule("grouped_mm")
def _grouped_mm_rule(l, node, a, b, ends, dtype):
    """Of two matrices, columns of one and rows of the other form the groups, whose products are a matrix each. Of a
    matrix and a stack of matrices, rows of the first one, or columns of the second one, form the groups."""
    source = l.dtype(a)
    a, b, ends = (l.value(x) for x in (a, b, ends))

    def conversion(old, new):
        return groups.Conversion(element_of(new), lambda body, x: convert(body, x, old, new))

    if a.rank == b.rank:
        sums = working(dtype)
        return groups.grouped_sums(l.function, a, b, ends, conversion(source, sums), conversion(sums, dtype))
    if a.rank == 2:
        return groups.grouped_rows(l.function, a, b, ends, conversion(source, dtype))
    a, b = l.function.transpose(a, (0, 2, 1)), l.function.transpose(b, (1, 0))
    return l.function.transpose(groups.grouped_rows(l.function, b, a, ends, conversion(source, dtype)), (1, 0))


def _grouped_mm(a, b, offs=None, bias=None, out_dtype=None):
    """Rows of no group, which PyTorch leaves as they are in memory, are zeros."""
    dtype = out_dtype or a.dtype
    if offs is None or a.dim() == b.dim() == 3:
        result = torch.bmm(a, b, out_dtype=dtype) if dtype != a.dtype else torch.bmm(a, b)
    else:
        result = torch.ops.remat.grouped_mm(a, b, offs, dtype)
    return result if bias is None else result + bias


def _fallback(a, b, offs):
    return _grouped_mm(a, b, offs)


def _fallback_backward(a, b, offs, grad):
    return _grouped_mm(grad, b.transpose(1, 2), offs), _grouped_mm(a.t(), grad, offs)


def grouped_products():
    """The decompositions. transformers has operations of its own for types that PyTorch's is not for."""
    table = {torch.ops.aten.histc.default: _histc, torch.ops.aten._grouped_mm.default: _grouped_mm}
    for name, function in (("grouped_mm_fallback", _fallback), ("grouped_mm_fallback_backward", _fallback_backward)):
        if hasattr(torch.ops.transformers, name):
            table[getattr(torch.ops.transformers, name).default] = function
    return table

"""Products of groups of rows, each with a matrix of its own, as mixtures of experts have them.

Which rows belong to a group depends on data, so each group is a product of all rows, of which its own are kept.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import torch


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


def _members(offsets, extent):
    """A mask of groups and rows: group g has the rows from offset g - 1 up to offset g. Further ones have no group."""
    place = torch.arange(extent, device=offsets.device)
    begin = torch.cat([torch.zeros_like(offsets[:1]), offsets[:-1]])
    return (place >= begin.unsqueeze(1)) & (place < offsets.unsqueeze(1))


def _grouped_mm(a, b, offs=None, bias=None, out_dtype=None):
    """Rows of no group, which PyTorch leaves as they are in memory, are zeros."""
    if offs is None:
        result = torch.bmm(a, b)
    elif a.dim() == 2 and b.dim() == 3:  # Groups of rows of `a`
        mine = _members(offs, a.shape[0]).unsqueeze(2)
        result = torch.where(mine, torch.matmul(a.unsqueeze(0), b), 0).sum(0)
    elif a.dim() == 3 and b.dim() == 2:  # Groups of columns of `b`
        mine = _members(offs, b.shape[1]).unsqueeze(1)
        result = torch.where(mine, torch.matmul(a, b.unsqueeze(0)), 0).sum(0)
    elif a.dim() == 2:  # Groups of what is summed, so there is a result for each
        mine = _members(offs, a.shape[1])
        result = torch.bmm(torch.where(mine.unsqueeze(1), a, 0), torch.where(mine.unsqueeze(2), b, 0))
    else:
        result = torch.bmm(a, b)
    if bias is not None:
        result = result + bias
    return result if out_dtype is None else result.to(out_dtype)


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

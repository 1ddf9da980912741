"""Tensors that are written where a mask holds, by operations of static shapes.

PyTorch's derivative with respect to what is written takes the elements of the mask, and how many these are depends on
data. So assignments are changed before autograd sees them.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import math
import operator

import torch

from ..errors import ExportError

INDEX_PUTS = {torch.index_put, torch.Tensor.index_put, torch.Tensor.index_put_, "index_put", "index_put_"}


def write_by_selection(graph_module):
    """Changes assignments such as `x[mask] = values` and `x[mask, i] = values` in a graph of Dynamo, and calls of
    index_put with masks."""
    for node in graph_module.graph.nodes:
        if node.op not in ("call_function", "call_method"):
            continue
        if node.target is operator.setitem:
            _, key, values = node.args
            number_of_one = _has_one_mask(key) and not isinstance(_example(values), torch.Tensor)
            if _has_mask(key) and not number_of_one:
                node.target = _set_item
        elif node.target in INDEX_PUTS and len(node.args) > 1 and _has_mask(node.args[1]):
            name = node.target if isinstance(node.target, str) else node.target.__name__
            node.op, node.target = "call_function", _index_put_in_place if name.endswith("_") else _index_put


def _example(value):
    return value.meta.get("example_value") if isinstance(value, torch.fx.Node) else value


def _is_mask(value):
    return isinstance(value, torch.Tensor) and value.dtype == torch.bool and value.dim() > 0


def _tensors(key):
    """What of an index is a tensor, or a list in the place of one."""
    return [x for x in map(_example, key if isinstance(key, (tuple, list)) else (key,))
            if isinstance(x, (torch.Tensor, list, tuple))]


def _has_mask(key):
    return any(map(_is_mask, _tensors(key)))


def _has_one_mask(key):
    """Whether a mask is the only tensor in an index."""
    return len(_tensors(key)) == 1 and _has_mask(key)


def _ranks(mask):
    """The number of each place where the mask holds, from 0 on, and how many there are."""
    held = mask.reshape(-1)
    return (held.cumsum(0) - 1).reshape(mask.shape), held.sum()


def _list_places(mask, count):
    """Indices of `count` places where the mask holds: as many as there are, or all of the only one."""
    ranks, held = _ranks(mask)
    torch.ops.aten._assert_async.msg((held == count) | (held == 1), "a mask holds at another number of places than the "
                                     "%d of the other indices" % count)
    numbers = torch.arange(mask.numel(), device=mask.device)
    # Those where it does not hold go behind the others.
    found = torch.zeros(count + 1, dtype=torch.int64, device=mask.device).index_put(
        (torch.where(mask, ranks, count).clamp(max=count).reshape(-1),), numbers)
    flat = found[torch.arange(count, device=mask.device).minimum(held - 1)]
    strides = [math.prod(mask.shape[dim + 1:]) for dim in range(mask.dim())]
    return [flat // stride % size for stride, size in zip(strides, mask.shape)]


def _join_masks(masks):
    """The mask of pairs, or of more, of places where masks hold: the first of each, the second of each and so on. Where
    one holds at a single place, that belongs to all places of the others."""
    joined, known_ranks, known_count = masks[0], *_ranks(masks[0])
    for mask in masks[1:]:
        ranks, count = _ranks(mask)
        torch.ops.aten._assert_async.msg(
            (count == known_count) | (count == 1) | (known_count == 1),
            "masks that index together hold at different numbers of places")
        behind = (1,) * mask.dim()
        same = (known_ranks.reshape(known_ranks.shape + behind) == ranks) | (count == 1) | (known_count == 1)
        joined = joined.reshape(joined.shape + behind) & mask & same
        known_ranks, known_count = _ranks(joined)
    return joined


def _mask_of_one(index, size):
    """The mask of the place that an index of one element is, in a dimension of `size`."""
    index = index.reshape(())
    torch.ops.aten._assert_async.msg((index >= -size) & (index < size), "an index is out of bounds for size %d" % size)
    return torch.arange(size, device=index.device) == torch.where(index < 0, index + size, index)


def _consumed(key):
    """How many dimensions an index stands for, beside those of an ellipsis."""
    return sum(k.dim() if _is_mask(k) else k is not None and k is not Ellipsis for k in key)


def _selected(part, mask, first, values, start):
    """The elements of `values` where the mask holds, which has the dimensions of `part` from `first` on, and those of
    `start` elsewhere. `values` have one dimension in the place of those of the mask, or fewer dimensions."""
    behind = part.dim() - first - mask.dim()
    whole = mask.reshape(mask.shape + (1,) * behind)
    if values.dtype != part.dtype and values.numel() != 1:
        raise ExportError("values of %s are written into a tensor of %s; convert them" % (values.dtype, part.dtype))
    values = values.to(part.dtype)
    rows = values.shape[-1 - behind] if values.dim() > behind else 1
    if values.dim() > part.dim() - mask.dim() + 1:
        raise ExportError("values of %s do not fit where a mask of %s holds in a tensor of %s" % (
            list(values.shape), list(mask.shape), list(part.shape)))
    if values.dim() > behind:
        before = values.dim() - 1 - behind
        if rows == 1:
            values = values.reshape(values.shape[:before] + (1,) * mask.dim() + values.shape[before + 1:])
        else:
            ranks, held = _ranks(mask)
            torch.ops.aten._assert_async.msg(
                held == rows, "a mask holds at another number of places than the %d of the values" % rows)
            if rows:
                place = ranks.reshape(-1).clamp(0, rows - 1)
                values = values.index_select(before, place).reshape(
                    values.shape[:before] + mask.shape + values.shape[before + 1:])
    return torch.where(whole, values, start) if rows else start


def _without_several(x, key):
    """An index in which a mask is the only tensor, or in which there is none."""
    key = [torch.tensor(k, device=x.device) if isinstance(k, list) else k for k in key]
    places = [at for at, k in enumerate(key) if isinstance(k, torch.Tensor)]
    if len(places) == 1:
        return key
    tensors, first = [key[at] for at in places], places[0]
    shape = torch.broadcast_shapes(*(t.shape for t in tensors if not _is_mask(t)))
    count = shape[-1] if shape else 1
    if count == 1 and math.prod(shape) != 1:
        raise ExportError("an index of shape %s beside a mask is not supported, as what both stand for has a shape "
                          "that depends on the mask; flatten it" % list(shape))
    if count != 1:
        return [i for k in key for i in (_list_places(k, count) if _is_mask(k) else [k])]
    if places != list(range(first, first + len(places))):
        raise ExportError("masks with a slice or a number between them are not supported as an index to write at; use "
                          "torch.where")
    dim = _consumed(key[:first])
    if any(k is Ellipsis for k in key[:first]):
        dim += x.dim() - _consumed(key)
    masks = []
    for tensor in tensors:
        masks.append(tensor if _is_mask(tensor) else _mask_of_one(tensor, x.shape[dim]))
        dim += masks[-1].dim()
    return key[:first] + [_join_masks(masks)] + key[first + len(places):]


def _set_item(x, key, values):
    """x[key] = values"""
    key = list(key) if isinstance(key, (tuple, list)) else [key]
    key = _without_several(x, key)
    if not any(map(_is_mask, key)):
        x[tuple(key)] = values
        return
    values = torch.as_tensor(values, dtype=None if isinstance(values, torch.Tensor) else x.dtype, device=x.device)
    static, first, mask = [], 0, None
    for k in key:
        if _is_mask(k):
            mask, place = k, first
            static += [slice(None)] * k.dim()
        elif k is Ellipsis:
            static += [slice(None)] * (x.dim() - _consumed(key))
            first += x.dim() - _consumed(key)
        else:
            static.append(k)
            first += k is None or isinstance(k, slice)
    part = x[tuple(static)]
    part.copy_(_selected(part, mask, place, values, part))


def _index_put(x, indices, values, accumulate=False):
    indices = _without_several(x, [slice(None) if index is None else index for index in indices])
    if not any(map(_is_mask, indices)):
        return torch.index_put(x, [None if isinstance(i, slice) else i for i in indices], values, accumulate)
    indices = [None if isinstance(i, slice) else i for i in indices]
    first = next(i for i, index in enumerate(indices) if index is not None)
    if not accumulate:
        return _selected(x, indices[first], first, values, x)
    return x + _selected(x, indices[first], first, values, torch.zeros((), dtype=x.dtype, device=x.device))


def _index_put_in_place(x, indices, values, accumulate=False):
    return x.copy_(_index_put(x, indices, values, accumulate))

"""Tensors that are written where a mask holds, by operations of static shapes.

PyTorch's derivative with respect to what is written takes the elements of the mask, and how many these are depends on
data. So assignments are changed before autograd sees them.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import operator

import torch

from ..errors import ExportError

INDEX_PUTS = {torch.index_put, torch.Tensor.index_put, torch.Tensor.index_put_, "index_put", "index_put_"}


def write_by_selection(graph_module):
    """Changes assignments such as `x[mask] = values` in a graph of Dynamo, and calls of index_put with one mask."""
    for node in graph_module.graph.nodes:
        if node.op not in ("call_function", "call_method"):
            continue
        if node.target is operator.setitem:
            _, key, values = node.args
            if _has_one_mask(key) and isinstance(_example(values), torch.Tensor):
                node.target = _set_item
        elif node.target in INDEX_PUTS and len(node.args) > 1 and _has_one_mask(node.args[1]):
            name = node.target if isinstance(node.target, str) else node.target.__name__
            node.op, node.target = "call_function", _index_put_in_place if name.endswith("_") else _index_put


def _example(value):
    return value.meta.get("example_value") if isinstance(value, torch.fx.Node) else value


def _is_mask(value):
    return isinstance(value, torch.Tensor) and value.dtype == torch.bool and value.dim() > 0


def _has_one_mask(key):
    """Whether a mask is the only tensor in an index."""
    tensors = [x for x in map(_example, key if isinstance(key, (tuple, list)) else (key,))
               if isinstance(x, (torch.Tensor, list, tuple))]
    return len(tensors) == 1 and _is_mask(tensors[0])


def _selected(part, mask, first, values, start):
    """The elements of `values` where the mask holds, which has the dimensions of `part` from `first` on, and those of
    `start` elsewhere. `values` have one dimension in the place of those of the mask, or fewer dimensions."""
    behind = part.dim() - first - mask.dim()
    whole = mask.reshape(mask.shape + (1,) * behind)
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
            held = mask.reshape(-1)
            torch.ops.aten._assert_async.msg(
                held.sum() == rows, "a mask holds at another number of places than the %d of the values" % rows)
            if rows:
                place = (held.cumsum(0) - 1).clamp(0, rows - 1)
                values = values.index_select(before, place).reshape(
                    values.shape[:before] + mask.shape + values.shape[before + 1:])
    return torch.where(whole, values, start) if rows else start


def _set_item(x, key, values):
    """x[key] = values"""
    key = list(key) if isinstance(key, (tuple, list)) else [key]
    consumed = sum(k.dim() if _is_mask(k) else k is not None and k is not Ellipsis for k in key)
    static, first, mask = [], 0, None
    for k in key:
        if _is_mask(k):
            mask, place = k, first
            static += [slice(None)] * k.dim()
        elif k is Ellipsis:
            static += [slice(None)] * (x.dim() - consumed)
            first += x.dim() - consumed
        else:
            static.append(k)
            first += k is None or isinstance(k, slice)
    part = x[tuple(static)]
    part.copy_(_selected(part, mask, place, values, part))


def _index_put(x, indices, values, accumulate=False):
    first = next(i for i, index in enumerate(indices) if index is not None)
    if not accumulate:
        return _selected(x, indices[first], first, values, x)
    return x + _selected(x, indices[first], first, values, torch.zeros((), dtype=x.dtype, device=x.device))


def _index_put_in_place(x, indices, values, accumulate=False):
    return x.copy_(_index_put(x, indices, values, accumulate))

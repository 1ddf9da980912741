"""Reductions of segments of different lengths, and their derivatives. Decompositions, as in decompositions.py.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import math

import torch

# What a reduction begins with, and the name that it has among scatters.
STARTS = {"sum": (0.0, "sum"), "mean": (0.0, "sum"), "prod": (1.0, "prod"), "max": (-math.inf, "amax"),
          "min": (math.inf, "amin")}


class _Segments:
    """For each element along `axis`, the number of its segment; what is in none belongs to one more behind them."""

    def __init__(self, data, lengths, offsets, axis):
        if offsets is None and lengths is None:
            raise NotImplementedError("segment_reduce: segments by 'indices' are not supported; give 'lengths' or "
                                      "'offsets'")
        if offsets is None:
            ends = lengths.cumsum(-1)
            offsets = torch.cat([torch.zeros_like(ends[..., :1]), ends], -1)
        self.axis, self.rank, self.extent, self.count = axis, data.dim(), data.shape[axis], offsets.shape[-1] - 1
        self.lengths, self.covered = offsets.diff(dim=-1), offsets[..., -1]
        place = torch.arange(self.extent, device=data.device)
        number = (place.unsqueeze(-1) >= offsets[..., None, 1:]).sum(-1)
        number = torch.where(place >= offsets[..., :1], number, self.count)
        self.number = self.along(number).expand(data.shape)

    def along(self, x):
        """`x` with dimensions of one element behind the axis, as those of the data."""
        return x.view(*x.shape, *[1] * (self.rank - x.dim()))

    def reduced(self, data, start, name):
        shape = list(data.shape)
        shape[self.axis] = self.count + 1
        total = data.new_full(shape, start).scatter_reduce(self.axis, self.number, data, name)
        return total.narrow(self.axis, 0, self.count)

    def spread(self, x):
        """What each element's segment has; what is in none has 0."""
        shape = list(x.shape)
        shape[self.axis] = 1
        return torch.cat([x, x.new_zeros(shape)], self.axis).gather(self.axis, self.number)


def _start(reduce, initial):
    start, name = STARTS[reduce]
    return start if initial is None else float(initial), name


def _segment_reduce(data, reduce, *, lengths=None, indices=None, offsets=None, axis=0, unsafe=False, initial=None):
    segments = _Segments(data, lengths, offsets, axis)
    if not unsafe and offsets is None:
        torch.ops.aten._assert_async.msg((segments.covered == segments.extent).all(), (
            "segment_reduce: the lengths of the segments add up to another number than the extent of the data, %d"
            % segments.extent))
    start, name = _start(reduce, initial)
    result = segments.reduced(data, start, name)
    if reduce == "mean":
        size = segments.along(segments.lengths)
        mean = result / size.clamp(min=1).to(data.dtype)
        result = torch.where(size > 0, mean, math.nan if initial is None else result)
    return result


def _segment_reduce_backward(grad, output, data, reduce, *, lengths=None, offsets=None, axis=0, initial=None):
    segments = _Segments(data, lengths, offsets, axis)
    if reduce == "sum":
        return segments.spread(grad)
    if reduce == "mean":
        return segments.spread(grad / segments.along(segments.lengths).clamp(min=1).to(grad.dtype))
    if reduce == "prod":
        return segments.spread(grad) * _product_of_others(segments, data, _start(reduce, initial)[0])
    # Elements that are equal to the extremum share its gradient.
    best = segments.spread(output)
    is_best = (data == best) | data.isnan()
    times = segments.reduced(is_best.to(grad.dtype), 0.0, "sum")
    return torch.where(is_best, segments.spread(grad / times.clamp(min=1)), 0)


def _product_of_others(segments, data, start):
    """A product without one element is the whole one divided by it, unless it is 0 or nan."""
    is_nan = data.isnan()
    is_plain = ~((data == 0) | is_nan)
    product = segments.spread(segments.reduced(torch.where(is_plain, data, 1), start, "prod"))
    count = lambda which: segments.spread(segments.reduced(which.to(data.dtype), 0.0, "sum")) - which.to(data.dtype)
    rest = torch.where(count(is_nan) > 0, math.nan, torch.where(count(~is_plain) > 0, 0, product))
    return rest / torch.where(is_plain, data, 1)


def segments():
    aten = torch.ops.aten
    return {aten.segment_reduce.default: _segment_reduce, aten._segment_reduce_backward.default:
            _segment_reduce_backward}

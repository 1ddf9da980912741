"""Operations of PyTorch by others, where PyTorch itself has no decomposition. Their derivatives are traced with them,
or are operations that are here, too.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import itertools

import torch
from torch._decomp.decompositions import pw_cast_for_opmath

from ..scans import BLOCK

# Scans and searches


def _scan(parts, dim, initial, merge):
    """Each element along a dimension, of which there are several parts, merged with all before it, as in scans.py."""
    extent = parts[0].shape[dim]
    if extent <= 1:
        return parts
    width = min(BLOCK, extent)
    count = -(-extent // width)

    def make(part, number, size):
        return part.new_full([*part.shape[:dim], size, *part.shape[dim + 1:]], number)

    if extent != count * width:
        parts = [torch.cat([part, make(part, 0, count * width - extent)], dim) for part in parts]
    columns = list(zip(*(part.unflatten(dim, (count, width)).unbind(dim + 1) for part in parts)))
    for place in range(1, width):
        columns[place] = merge(columns[place - 1], columns[place])
    if count > 1:
        totals = _scan(columns[-1], dim, initial, merge)
        before = [torch.cat([make(total, number, 1), total.narrow(dim, 0, count - 1)], dim)
                  for total, number in zip(totals, initial)]
        columns = [merge(before, column) for column in columns]
    return [torch.stack(part, dim + 1).flatten(dim, dim + 1).narrow(dim, 0, extent) for part in zip(*columns)]


def _scan_extremum(x, dim, initial, comes_before):
    """The largest, or smallest, elements so far and where they are, the last of equal ones; nan is one from where it
    is on."""
    if x.dim() == 0:
        return x.clone(), torch.zeros((), dtype=torch.int64, device=x.device)
    dim = dim % x.dim()
    shape = [1] * x.dim()
    shape[dim] = x.shape[dim]
    places = torch.arange(x.shape[dim], device=x.device).view(shape).expand(x.shape)

    def merge(before, after):
        taken = ~comes_before(after[0], before[0])
        if x.is_floating_point():
            taken = after[0].isnan() | (taken & ~before[0].isnan())
        return [torch.where(taken, *pair) for pair in zip(after, before)]

    return tuple(_scan([x, places], dim, [initial, 0], merge))


def _extreme_numbers(x):
    """What nothing is below, and what nothing is above."""
    if x.is_floating_point():
        return float("-inf"), float("inf")
    return (False, True) if x.dtype == torch.bool else (torch.iinfo(x.dtype).min, torch.iinfo(x.dtype).max)


def _cummax(x, dim):
    return _scan_extremum(x, dim, _extreme_numbers(x)[0], lambda a, b: a < b)


def _cummin(x, dim):
    return _scan_extremum(x, dim, _extreme_numbers(x)[1], lambda a, b: a > b)


def _kthvalue(x, k, dim=-1, keepdim=False):
    if x.dim() == 0:
        return x.clone(), torch.zeros((), dtype=torch.int64, device=x.device)
    values, places = torch.sort(x, dim=dim, stable=True)
    found = [v.narrow(dim, k - 1, 1) for v in (values, places)]
    return tuple(v if keepdim else v.squeeze(dim) for v in found)


def _median(x, dim, keepdim=False):
    """The lower one of two, or nan if there is one."""
    if x.dim() == 0:
        return x.clone(), torch.zeros((), dtype=torch.int64, device=x.device)
    values, places = _kthvalue(x, (x.shape[dim] + 1) // 2, dim, True)
    if x.is_floating_point():
        is_nan = x.isnan()
        has_nan = is_nan.any(dim, keepdim=True)
        values = torch.where(has_nan, float("nan"), values)
        places = torch.where(has_nan, is_nan.long().argmax(dim, keepdim=True), places)
    return tuple(v if keepdim else v.squeeze(dim) for v in (values, places))


def _searchsorted(ordered, x, *, out_int32=False, right=False, side=None, sorter=None):
    """The first element that is not less, or larger; a number that is nan goes behind all, as one that is larger."""
    if sorter is not None:
        ordered = ordered.gather(-1, sorter)
    if side is not None:
        right = side == "right"
    left = ordered if ordered.dim() == 1 else ordered.unsqueeze(-2)
    each, count = x.unsqueeze(-1), ordered.shape[-1]
    if count == 0:
        return torch.zeros_like(x, dtype=torch.int32 if out_int32 else torch.int64)
    number = torch.arange(count, device=x.device)
    found = torch.where(left > each if right else left >= each, number, count).amin(-1)
    return found.to(torch.int32 if out_int32 else torch.int64)


def _searchsorted_scalar(ordered, x, **options):
    dtype = ordered.dtype if isinstance(x, int) or ordered.is_floating_point() else torch.get_default_dtype()
    return _searchsorted(ordered, torch.full((), x, dtype=dtype, device=ordered.device), **options)


def _masked_scatter(x, mask, source):
    mask, x = torch.broadcast_tensors(mask, x)
    torch.ops.aten._assert_async.msg(mask.sum() <= source.numel(), "masked_scatter: a mask holds at more places than "
                                     "the %d of the source" % source.numel())
    if source.numel() == 0:
        return x.clone()
    number = (mask.reshape(-1).cumsum(0) - 1).clamp(0, source.numel() - 1)
    return torch.where(mask, source.reshape(-1)[number].view(x.shape), x)


def _zeros_of_tangent(x, other, *, self_num_batch_dims=0):
    """The tangent of what does not depend on the input: `x` has the type, and the dimensions of `vmap` in front."""
    return x.new_zeros((*x.shape[:self_num_batch_dims], *other.shape))


def _masked_scatter_backward(grad, mask, sizes):
    mask = mask.expand(grad.shape).reshape(-1)
    count = 1
    for extent in sizes:
        count *= extent
    if count == 0:
        return grad.new_zeros(sizes)
    number = (mask.cumsum(0) - 1).clamp(0, count - 1)
    return grad.new_zeros(count).index_add(0, number, torch.where(mask, grad.reshape(-1), 0)).view(sizes)


def _repeat_interleave(repeats, *, output_size=None):
    if output_size is None:
        raise NotImplementedError("repeat_interleave: the shape of the result depends on data; give 'output_size'")
    return _searchsorted(repeats.cumsum(0), torch.arange(output_size, device=repeats.device), right=True).to(
        repeats.dtype)


def refuse_generator(name, generator):
    if generator is not None:
        raise NotImplementedError("%s: a generator of its own is not supported; numbers are drawn by the default "
                                  "generator" % name)


def _randperm(count, *, dtype=None, layout=None, device=None, pin_memory=None):
    """The order of random numbers; those of 53 bits are hardly ever equal."""
    order = torch.rand(count, dtype=torch.float64, device=device).argsort(stable=True)
    return order if dtype is None else order.to(dtype)


def _normal(shape, *, mean, std, dtype, device, requires_grad, generator=None):
    refuse_generator("normal", generator)
    return torch.randn(shape, dtype=dtype, device=device) * std + mean


def _rrelu(x, noise, lower=0.125, upper=1 / 3, training=False, generator=None):
    refuse_generator("rrelu", generator)
    if not training:
        return torch.where(x > 0, x, x * ((lower + upper) / 2)), noise
    noise = torch.where(x > 0, 1, torch.rand_like(x) * (upper - lower) + lower)
    return x * noise, noise


def _put(x, index, source, accumulate=False):
    places = (index.reshape(-1),)
    return x.reshape(-1).index_put(places, source.reshape(-1), accumulate).view(x.shape)


def _index_fill(x, dim, index, value):
    """Places may count from the end here, which those of a copy may not."""
    if x.dim() == 0:
        return _index_fill(x.reshape(1), 0, index, value).reshape(())
    index = index.reshape(-1)
    places = torch.where(index < 0, index + x.shape[dim], index)
    shape = [index.numel() if i == dim % x.dim() else extent for i, extent in enumerate(x.shape)]
    source = value.to(x.dtype).expand(shape) if isinstance(value, torch.Tensor) else x.new_full(shape, value)
    return x.index_copy(dim, places, source)


def _index_reduce(x, dim, index, source, reduce, *, include_self=True):
    """A scatter whose places along `dim` are the same for all lines."""
    if source.dim() == 0:
        return _index_reduce(x.reshape(1), 0, index.reshape(1), source.reshape(1), reduce,
                             include_self=include_self).reshape(x.shape)
    lines = [1] * source.dim()
    lines[dim] = index.numel()
    places = index.reshape(lines).expand(source.shape)
    return x.scatter_reduce(dim, places, source, reduce, include_self=include_self)


# Distances


def _differences(a, b):
    return a.unsqueeze(-2) - b.unsqueeze(-3)


def _cdist(a, b, p, mode=None):
    difference = _differences(a, b).abs()
    if p == 0:
        return (difference != 0).to(a.dtype).sum(-1)
    if p == 1:
        return difference.sum(-1)
    if p == float("inf"):
        return difference.amax(-1) if a.shape[-1] else difference.sum(-1)
    if p == 2:
        return (difference * difference).sum(-1).sqrt()
    return difference.pow(p).sum(-1).pow(1 / p)


def _cdist_backward(grad, a, b, p, distance):
    """With respect to `a`. Where the distance is 0, the gradient is 0."""
    difference, grad, distance = _differences(a, b), grad.unsqueeze(-1), distance.unsqueeze(-1)
    if p == 0:
        return torch.zeros_like(a)
    if p == 1:
        slope = difference.sign()
    elif p == float("inf"):
        slope = difference.sign() * (difference.abs() == distance)
    else:
        divisor = torch.where(distance == 0, 1, distance).pow(p - 1)
        if p < 2:  # 0 to a negative power is not needed: its factor is 0.
            size = torch.where(difference == 0, 1, difference.abs()).pow(p - 1)
            slope = difference.sign() * size / divisor
        else:
            slope = difference * (1 if p == 2 else difference.abs().pow(p - 2)) / divisor
        slope = torch.where(distance == 0, 0, slope)
    return (grad * slope).sum(-2)


def _pairs(x):
    """The rows of all pairs, in the order of torch.pdist."""
    first, second = torch.triu_indices(x.shape[0], x.shape[0], 1, device=x.device)
    return first, second


def _pdist(x, p=2.0):
    first, second = _pairs(x)
    return _cdist(x[first].unsqueeze(1), x[second].unsqueeze(1), p).reshape(-1)


def _pdist_backward(grad, x, p, distance):
    first, second = _pairs(x)
    each = lambda v: v.view(-1, 1, 1)
    slope = _cdist_backward(each(grad), x[first].unsqueeze(1), x[second].unsqueeze(1), p, each(distance)).squeeze(1)
    return torch.zeros_like(x).index_add(0, first, slope).index_add(0, second, -slope)


# Bags of embeddings


def _bags(indices, offsets, include_last_offset):
    """The bag of each index, and how many bags there are."""
    count = offsets.shape[0] - int(include_last_offset)
    place = torch.arange(indices.shape[0], device=indices.device)
    return (place.unsqueeze(1) >= offsets[:count].unsqueeze(0)).sum(1) - 1, count


def _largest_of_bags(weight, indices, bag, count, padding_idx):
    """Each feature is that of the first row that has the largest; an empty bag has zeros."""
    counted, features = indices != padding_idx, weight.shape[1]
    size = torch.zeros(count, dtype=torch.int64, device=indices.device).index_add(0, bag, counted.long())
    if indices.shape[0] == 0:
        empty = weight.new_zeros(count, features)
        return empty, bag, size, empty.long()
    rows = torch.where(counted.unsqueeze(1), weight.index_select(0, indices), float("-inf"))
    to = bag.unsqueeze(1).expand(rows.shape)
    largest = weight.new_full((count, features), float("-inf")).scatter_reduce(0, to, rows, "amax")
    is_hit = counted.unsqueeze(1) & ((rows == largest[bag]) | rows.isnan())
    place = torch.arange(indices.shape[0], device=indices.device).unsqueeze(1)
    last = indices.shape[0] - 1
    first = torch.full((count, features), last, device=indices.device).scatter_reduce(
        0, to, torch.where(is_hit, place, last), "amin")
    is_filled = (size != 0).unsqueeze(1)
    return torch.where(is_filled, largest, 0), bag, size, torch.where(is_filled, indices[first], 0)


def _embedding_bag(weight, indices, offsets, scale_grad_by_freq=False, mode=0, sparse=False, per_sample_weights=None,
                   include_last_offset=False, padding_idx=-1):
    indices, offsets = indices.long(), offsets.long()
    bag, count = _bags(indices, offsets, include_last_offset)
    if mode == 2:
        return _largest_of_bags(weight, indices, bag, count, padding_idx)
    counted = (indices != padding_idx).to(weight.dtype)
    factor = counted if per_sample_weights is None else counted * per_sample_weights
    rows = weight.index_select(0, indices) * factor.unsqueeze(1)
    sums = weight.new_zeros(count, weight.shape[1]).index_add(0, bag, rows)
    size = torch.zeros(count, dtype=torch.int64, device=indices.device)
    size = size.index_add(0, bag, (indices != padding_idx).long())
    if mode == 1:
        sums = sums / size.clamp(min=1).to(sums.dtype).unsqueeze(1)
    return sums, bag, size, torch.zeros_like(size)


def _embedding_bag_dense_backward(grad, indices, bag, size, most, num_weights, scale_grad_by_freq, mode,
                                  per_sample_weights, padding_idx=-1):
    if mode == 2:
        kept = torch.where((size != 0).unsqueeze(1), grad, 0)
        return grad.new_zeros(num_weights, grad.shape[1]).scatter_add(0, most, kept)
    if mode == 1:
        grad = grad / size.clamp(min=1).to(grad.dtype).unsqueeze(1)
    factor = (indices != padding_idx).to(grad.dtype)
    factor = factor if per_sample_weights is None else factor * per_sample_weights
    indices = indices.long()
    if scale_grad_by_freq:
        times = torch.zeros(num_weights, dtype=torch.int64, device=indices.device)
        factor = factor / times.index_add(0, indices, torch.ones_like(indices))[indices]
    rows = grad[bag.long()] * factor.unsqueeze(1)
    return grad.new_zeros(num_weights, grad.shape[1]).index_add(0, indices, rows)


def _embedding_bag_backward(grad, indices, offsets, bag, size, most, num_weights, scale_grad_by_freq, mode, sparse,
                            per_sample_weights, padding_idx=-1):
    if sparse:
        raise NotImplementedError("embedding_bag: sparse gradients are not supported")
    return _embedding_bag_dense_backward(grad, indices, bag, size, most, num_weights, scale_grad_by_freq, mode,
                                         per_sample_weights, padding_idx)


def _embedding_bag_weights_backward(grad, weight, indices, offsets, bag, mode, padding_idx=-1):
    products = (grad[bag.long()] * weight.index_select(0, indices.long())).sum(1)
    return torch.where(indices != padding_idx, products, 0)


# Sampling and pooling


def _places(grid, extent, align_corners):
    """Where the numbers of a grid lie in an image of `extent` elements, and their slope."""
    if align_corners:
        place, slope = (grid + 1) / 2 * (extent - 1), (extent - 1) / 2
    else:
        place, slope = ((grid + 1) * extent - 1) / 2, extent / 2
    return place, torch.full_like(place, slope)


def _padded(place, slope, extent, padding_mode, align_corners):
    """Places in an image that goes on beyond its border, and their slopes. `padding_mode` is 0 for zeros, which are no
    places of the image, 1 for the border, 2 for reflections."""
    if padding_mode == 2:
        low, high = (0.0, extent - 1.0) if align_corners else (-0.5, extent - 0.5)
        span = high - low
        if span == 0:
            return torch.zeros_like(place), torch.zeros_like(place)
        away = place - low
        slope = torch.where(away < 0, -slope, slope)
        away = away.abs()
        extra, is_odd = torch.fmod(away, span), torch.floor(away / span) % 2 != 0
        place = torch.where(is_odd, span - extra, extra) + low
        slope = torch.where(is_odd, -slope, slope)
    if padding_mode != 0:
        slope = torch.where((place <= 0) | (place >= extent - 1), 0, slope)
        place = place.clamp(0, extent - 1)
    return place, slope


def _cubic_weights(t):
    """Keys' weights, with a = -0.75, of the four elements around a place `t` behind the second one, and their
    slopes."""
    a = -0.75

    def near(x):
        return ((a + 2) * x - (a + 3)) * x * x + 1, (3 * (a + 2) * x - 2 * (a + 3)) * x

    def far(x):
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a, (3 * a * x - 10 * a) * x + 8 * a

    left, right = [far(t + 1), near(t)], [near(1 - t), far(2 - t)]
    return left + [(weight, -slope) for weight, slope in right]


def _neighbors(place, interpolation_mode):
    """The elements along an axis that a place is interpolated of: where they are, their weights, and the slopes of
    these."""
    if interpolation_mode == 1:
        return [(place.round(), torch.ones_like(place), torch.zeros_like(place))]
    first = place.floor()
    t, one = place - first, torch.ones_like(place)
    if interpolation_mode == 2:
        return [(first - 1 + i, *weight) for i, weight in enumerate(_cubic_weights(t))]
    return [(first, 1 - t, -one), (first + 1, t, one)]


def _sampled_corners(x, grid, interpolation_mode, padding_mode, align_corners):
    """The elements that each place is interpolated of: their numbers in an image, whether they are in it, their weight,
    and its slopes along the axes, the last one first. Bicubic sampling pads for each of its elements, the others for
    the place itself."""
    extents, along = x.shape[:1:-1], []
    for axis, extent in enumerate(extents):
        place, slope = _places(grid[..., axis], extent, align_corners)
        if interpolation_mode != 2:
            place, slope = _padded(place, slope, extent, padding_mode, align_corners)
        neighbors = _neighbors(place, interpolation_mode)
        if interpolation_mode == 2:
            neighbors = [(_padded(n, slope, extent, padding_mode, align_corners)[0], *rest) for n, *rest in neighbors]
        along.append([(*n, slope) for n in neighbors])
    for corner in itertools.product(*reversed(along)):
        corner = corner[::-1]
        number, inside, weight = 0, True, 1
        for (place, part, _, _), extent in zip(reversed(corner), reversed(extents)):
            is_there = (place >= 0) & (place < extent)  # NaN is nowhere.
            number, inside = number * extent + torch.where(is_there, place, 0).long(), is_there & inside
            weight = part * weight
        slopes = []
        for axis, (_, _, slope, scale) in enumerate(corner):
            for other, (_, part, _, _) in enumerate(corner):
                slope = slope if other == axis else slope * part
            slopes.append(slope * scale)
        number = number.reshape(x.shape[0], 1, -1)
        yield number.expand(-1, x.shape[1], -1), inside.unsqueeze(1), weight.unsqueeze(1), slopes


@pw_cast_for_opmath
def _grid_sampler(x, grid, interpolation_mode, padding_mode, align_corners):
    flat, total = x.flatten(2), x.new_zeros(*x.shape[:2], *grid.shape[1:-1])
    for number, inside, weight, _ in _sampled_corners(x, grid, interpolation_mode, padding_mode, align_corners):
        total = total + torch.where(inside, flat.gather(2, number).view(total.shape) * weight, 0)
    return total


@pw_cast_for_opmath
def _grid_sampler_backward(grad, x, grid, interpolation_mode, padding_mode, align_corners, output_mask):
    flat = x.flatten(2)
    of_x, sums = torch.zeros_like(flat), [torch.zeros_like(grid[..., 0])] * grid.shape[-1]
    for number, inside, weight, slopes in _sampled_corners(x, grid, interpolation_mode, padding_mode, align_corners):
        kept = torch.where(inside, grad, 0)
        of_x = of_x.scatter_add(2, number, (kept * weight).flatten(2))
        if interpolation_mode != 1:
            products = (kept * flat.gather(2, number).view(grad.shape)).sum(1)
            sums = [total + products * slope for total, slope in zip(sums, slopes)]
    return of_x.view(x.shape) if output_mask[0] else None, torch.stack(sums, -1) if output_mask[1] else None


def _to_places(grad, x, places, spatial):
    """Each element of a pooling's result is one of the image, whose number in it is known."""
    flat = lambda v: v.flatten(-spatial)
    return torch.zeros_like(flat(x)).scatter_add(-1, flat(places), flat(grad)).view(x.shape)


def _adaptive_max_pool2d_backward(grad, x, places):
    return _to_places(grad, x, places, 2)


def _adaptive_max_pool3d_backward(grad, x, places):
    return _to_places(grad, x, places, 3)


def _fractional_max_pool2d_backward(grad, x, kernel_size, output_size, places):
    return _to_places(grad, x, places, 2)


def _fractional_max_pool3d_backward(grad, x, kernel_size, output_size, places):
    return _to_places(grad, x, places, 3)


def more_decompositions():
    aten = torch.ops.aten
    return {aten.repeat_interleave.Tensor: _repeat_interleave, aten.put.default: _put,
            aten.index_fill.int_Scalar: _index_fill, aten.index_fill.int_Tensor: _index_fill,
            aten.randperm.default: _randperm, torch.ops.prims.normal.default: _normal,
            aten.rrelu_with_noise_functional.default: _rrelu,
            aten._pdist_forward.default: _pdist, aten._pdist_backward.default: _pdist_backward,
            aten.cummax.default: _cummax, aten.cummin.default: _cummin, aten.kthvalue.default: _kthvalue,
            aten.searchsorted.Tensor: _searchsorted, aten.searchsorted.Scalar: _searchsorted_scalar,
            aten._new_zeros_with_same_feature_meta.default: _zeros_of_tangent,
            aten.masked_scatter.default: _masked_scatter, aten.index_reduce.default: _index_reduce,
            aten.masked_scatter_backward.default: _masked_scatter_backward, aten._cdist_forward.default: _cdist,
            aten._cdist_backward.default: _cdist_backward, aten._embedding_bag.default: _embedding_bag,
            aten._embedding_bag_forward_only.default: _embedding_bag,
            aten._embedding_bag_backward.default: _embedding_bag_backward, aten.median.dim: _median,
            aten._embedding_bag_dense_backward.default: _embedding_bag_dense_backward,
            aten._embedding_bag_per_sample_weights_backward.default: _embedding_bag_weights_backward,
            aten.adaptive_max_pool2d_backward.default: _adaptive_max_pool2d_backward,
            aten.adaptive_max_pool3d_backward.default: _adaptive_max_pool3d_backward,
            aten.fractional_max_pool2d_backward.default: _fractional_max_pool2d_backward,
            aten.fractional_max_pool3d_backward.default: _fractional_max_pool3d_backward,
            aten.grid_sampler_2d_backward.default: _grid_sampler_backward,
            aten.grid_sampler_2d.default: _grid_sampler, aten.grid_sampler_3d.default: _grid_sampler,
            aten.grid_sampler_3d_backward.default: _grid_sampler_backward}

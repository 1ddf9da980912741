"""Elements that are chosen: by chance, by their order, by their number, or by windows. Decompositions, as in
decompositions.py.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import math

import torch

from .decompositions import _kthvalue, _median, refuse_generator, _searchsorted


def _multinomial(weights, count, replacement=False, generator=None):
    """With replacement, by where random numbers lie among the sums of the weights. Without, those that come first if
    each waits for an exponential time at the rate of its weight (Efraimidis and Spirakis). What has no weight is not
    drawn, as long as there is something else."""
    refuse_generator("multinomial", generator)
    p = weights if weights.dtype == torch.float64 else weights.float()
    total = p.sum(-1)
    torch.ops.aten._assert_async.msg(((p >= 0) & p.isfinite()).all() & (total > 0).all(),
                                     "multinomial: weights must be finite, not negative, and not all of them 0")
    if not replacement or count == 1:
        wait = -torch.log1p(-torch.rand_like(p))
        first = p / wait.clamp(min=torch.finfo(p.dtype).tiny)
        return first.argmax(-1, keepdim=True) if count == 1 else first.topk(count).indices
    place = torch.rand(*p.shape[:-1], count, dtype=p.dtype, device=p.device) * total.unsqueeze(-1)
    found = _searchsorted(p.cumsum(-1), place, right=True)
    # Sums are rounded, so a number may lie beyond the last one.
    last = torch.where(p > 0, torch.arange(p.shape[-1], device=p.device), 0).amax(-1, keepdim=True)
    return torch.minimum(found, last)


def _median_of_all(x):
    return _median(x.reshape(-1), 0)[0] if x.numel() else x.new_full((), float("nan"))


def _nanmedian(x, dim, keepdim=False):
    """The lower one of two; those that are nan come last."""
    if x.dim() == 0 or not x.is_floating_point():
        return _median(x, dim, keepdim)
    values, places = torch.sort(x, dim=dim, stable=True)
    middle = ((~x.isnan()).sum(dim, keepdim=True) - 1).clamp(min=0) // 2
    found = [v.gather(dim, middle) for v in (values, places)]
    return tuple(v if keepdim else v.squeeze(dim) for v in found)


def _nanmedian_of_all(x):
    return _nanmedian(x.reshape(-1), 0)[0] if x.numel() else x.new_full((), float("nan"))


def _mode(x, dim=-1, keepdim=False):
    """The least one of the most frequent elements, and the last place of it."""
    if x.dim() == 0:
        return _kthvalue(x, 1)
    values, places = (v.movedim(dim, -1) for v in torch.sort(x, dim=dim, stable=True))
    number = torch.arange(x.shape[dim], device=x.device).expand(values.shape)
    is_new = torch.cat([torch.ones_like(values[..., :1], dtype=torch.bool), values[..., 1:] != values[..., :-1]], -1)
    begin = torch.cummax(torch.where(is_new, number, 0), -1).values
    most = (number - begin).argmax(-1, keepdim=True)
    found = [v.gather(-1, most).movedim(-1, dim) for v in (values, places)]
    return tuple(v if keepdim else v.squeeze(dim) for v in found)


def _nonzero_static(x, *, size, fill_value=-1):
    """The coordinates of the first elements that are not zero, in the order of memory."""
    count = (x != 0).reshape(-1).long().cumsum(0)
    number = torch.arange(size, device=x.device)
    if x.numel() == 0:
        return torch.full((size, x.dim()), fill_value, device=x.device)
    place, columns = _searchsorted(count, number, right=True), []
    for extent in reversed(x.shape):
        columns.append(place % extent)
        place = place // extent
    found = torch.stack(columns[::-1], 1) if columns else number.new_zeros(size, 0)
    return torch.where((number < count[-1]).unsqueeze(1), found, fill_value)


def _window_places(extent, size, device):
    """The elements of each window of an adaptive pooling; a narrow one has its last element again."""
    width = max((-(-(i + 1) * extent // size) - i * extent // size for i in range(size)), default=1)
    number = torch.arange(size, device=device).unsqueeze(1)
    begin, end = number * extent // size, ((number + 1) * extent + size - 1) // size
    return torch.minimum(begin + torch.arange(width, device=device), end - 1)


def _window_maxima(x, places):
    """The greatest element of each window and its number in the image, the first of equal ones; nan is one. `places`
    has for each dimension of the image the elements of each window there, (windows, width), before which it may have
    the dimensions of `x`."""
    spatial = len(places)
    lead, image = x.shape[:-spatial], x.shape[-spatial:]
    number, size = 0, 1
    for axis in reversed(range(spatial)):
        part = places[axis] * size
        windows, width = part.shape[-2:]
        shape = [1] * (2 * spatial)
        shape[axis], shape[spatial + axis] = windows, width
        number = number + part.reshape(*part.shape[:-2], *shape)
        size *= image[axis]
    number, flat = number.flatten(-spatial), x.flatten(-spatial)
    shape = lead + number.shape[-1 - spatial:]
    if number.dim() == spatial + 1:  # The same of all images
        elements = flat[..., number.reshape(-1)].view(shape)
    else:
        elements = flat.gather(-1, number.flatten(len(lead))).view(shape)
    values, best = elements.max(-1)
    return values, number.expand(shape).gather(-1, best.unsqueeze(-1)).squeeze(-1)


def _adaptive_max_pool(x, output_size):
    return _window_maxima(x, [_window_places(extent, size, x.device)
                              for extent, size in zip(x.shape[-len(output_size):], output_size)])


def _fractional_places(extent, size, width, samples):
    """The elements of windows that begin at random distances, (..., size, width), by a number of each of `samples`."""
    number = torch.arange(size, device=samples.device)
    samples = samples.unsqueeze(-1)
    step = (extent - width) / (size - 1) if size > 1 else 0.0
    begin = ((number + samples) * step).long() - (samples * step).long()
    begin = torch.where(number == size - 1, extent - width, begin)
    return begin.unsqueeze(-1) + torch.arange(width, device=samples.device)


def _fractional_max_pool(x, kernel_size, output_size, samples):
    """Graham's pooling. `samples` has a number for each image and feature and each dimension: of two, the last one's is
    the first."""
    spatial = len(output_size)
    samples = samples.to(x.dtype).reshape(*x.shape[:-spatial], spatial)
    columns = reversed(range(2)) if spatial == 2 else range(spatial)
    return _window_maxima(x, [_fractional_places(extent, size, width, samples[..., column])
                              for extent, size, width, column in zip(x.shape[-spatial:], output_size, kernel_size,
                                                                     columns)])


def _embedding_renorm(weight, indices, max_norm, norm_type):
    """Rows that are named and are longer are shortened."""
    is_named = torch.zeros(weight.shape[0], dtype=torch.int64, device=weight.device).index_add(
        0, indices.reshape(-1).long(), torch.ones_like(indices.reshape(-1), dtype=torch.int64)) > 0
    norm = torch.linalg.vector_norm(weight, norm_type, 1)
    factor = torch.where(is_named & (norm > max_norm), max_norm / (norm + 1e-7), 1)
    return weight * factor.unsqueeze(1)


def _window(formula):
    """A window of `count` elements, of which a periodic one has one more that is left out."""
    def decomposition(count, periodic=True, *args, dtype=None, layout=None, device=None, pin_memory=None):
        last = max(count - (not periodic), 1)
        place = torch.arange(count, dtype=torch.float64, device=device) / last
        window = formula(place, *args) if count > 1 else torch.ones_like(place)
        return window.to(dtype or torch.get_default_dtype())

    return decomposition


def _hamming(place, alpha=0.54, beta=0.46):
    return alpha - beta * torch.cos(2 * math.pi * place)


def _bartlett(place):
    return 1 - (2 * place - 1).abs()


def _blackman(place):
    return 0.42 - 0.5 * torch.cos(2 * math.pi * place) + 0.08 * torch.cos(4 * math.pi * place)


def _kaiser(place, beta=12.0):
    return torch.special.i0(beta * (1 - (2 * place - 1) ** 2).clamp(min=0).sqrt()) / torch.special.i0(
        torch.full_like(place, beta))


def choices():
    aten = torch.ops.aten
    windows = {getattr(packet, overload): _window(formula)
               for packet, formula in ((aten.hamming_window, _hamming), (aten.kaiser_window, _kaiser),
                                       (aten.bartlett_window, _bartlett), (aten.blackman_window, _blackman))
               for overload in packet.overloads() if not overload.endswith("out")}
    return {aten.multinomial.default: _multinomial, aten.median.default: _median_of_all,
            aten.nanmedian.default: _nanmedian_of_all, aten.nanmedian.dim: _nanmedian, aten.mode.default: _mode,
            aten.nonzero_static.default: _nonzero_static, aten.adaptive_max_pool2d.default: _adaptive_max_pool,
            aten.adaptive_max_pool3d.default: _adaptive_max_pool,
            aten.fractional_max_pool2d.default: _fractional_max_pool,
            aten.fractional_max_pool3d.default: _fractional_max_pool,
            aten.embedding_renorm.default: _embedding_renorm, **windows}

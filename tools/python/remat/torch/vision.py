"""Operations of torchvision that read images at places which are computed.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import functools
import math
import sys

import torch
from torch.utils._pytree import tree_map


def _sampled(images, y, x):
    """Pixels of (batch, groups, channels, height, width) at places of (batch, groups, places), between four of them,
    of which those beyond the image are 0: (batch, groups, channels, places)."""
    height, width = images.shape[-2:]
    flat = images.flatten(-2)
    top, left = y.detach().floor(), x.detach().floor()
    total = 0
    for down in (0, 1):
        for right in (0, 1):
            row, column = top + down, left + right
            share = (y - top if down else 1 - (y - top)) * (x - left if right else 1 - (x - left))
            inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
            number = row.clamp(0, height - 1).long() * width + column.clamp(0, width - 1).long()
            shape = (*images.shape[:3], number.shape[-1])
            pixels = flat.gather(-1, number.unsqueeze(2).expand(shape))
            total = total + pixels * torch.where(inside, share, 0).unsqueeze(2)
    return total


def _deformable(images, weight, offset, mask, bias, stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w, groups,
                offset_groups, use_mask):
    batch, channels = images.shape[:2]
    kernel_h, kernel_w = weight.shape[-2:]
    count, (height, width) = kernel_h * kernel_w, offset.shape[-2:]
    numbers = lambda n, step: torch.arange(n, dtype=images.dtype, device=images.device) * step
    moved = offset.view(batch, offset_groups, count, 2, height, width)
    rows = numbers(kernel_h, dilation_h).view(-1, 1, 1, 1) + numbers(height, stride_h).view(-1, 1) - pad_h
    columns = numbers(kernel_w, dilation_w).view(-1, 1, 1) + numbers(width, stride_w) - pad_w
    y = moved[:, :, :, 0] + rows.expand(kernel_h, kernel_w, height, width).reshape(count, height, width)
    x = moved[:, :, :, 1] + columns.expand(kernel_h, kernel_w, height, width).reshape(count, height, width)
    found = _sampled(images.unflatten(1, (offset_groups, -1)), y.flatten(2), x.flatten(2))
    if use_mask:
        found = found * mask.view(batch, offset_groups, 1, -1)
    found = found.reshape(batch, groups, channels // groups * count, height * width)
    product = weight.view(groups, -1, channels // groups * count) @ found
    return product.view(batch, -1, height, width) + bias.view(1, -1, 1, 1)


def _samples(start, bin_size, count, ratio, extent):
    """Along one dimension, for each region, bin and sample: the two pixels around it, and what they count. Beyond the
    image by more than a pixel is nothing; at its border is the last pixel."""
    steps = torch.arange(count * ratio, dtype=start.dtype, device=start.device)
    place = start[:, None] + (steps + 0.5) * (bin_size / ratio)[:, None]
    inside = (place >= -1) & (place <= extent)
    place = place.clamp(0, extent - 1)
    low = place.floor()
    share = place - low
    low = low.long()
    return [(low, torch.where(inside, 1 - share, 0)), ((low + 1).clamp(max=extent - 1), torch.where(inside, share, 0))]


def _roi_align(images, rois, scale, pooled_height, pooled_width, ratio, aligned):
    """Means of `ratio` times `ratio` samples in each bin of a region. Regions have no derivative."""
    (batch, channels, height, width), count = images.shape, len(rois)
    rois = rois.detach()
    x, y, end_x, end_y = (rois[:, 1:] * scale - (0.5 if aligned else 0.0)).unbind(1)
    least = (lambda size: size) if aligned else (lambda size: size.clamp(min=1))
    bin_height, bin_width = least(end_y - y) / pooled_height, least(end_x - x) / pooled_width
    if ratio <= 0:
        of_rows = _bin_weights(y, bin_height, pooled_height, height)
        of_columns = _bin_weights(x, bin_width, pooled_width, width)
        return of_rows.unsqueeze(1) @ images[rois[:, 0].long()] @ of_columns.transpose(1, 2).unsqueeze(1)
    rows = _samples(y, bin_height, pooled_height, ratio, height)
    columns = _samples(x, bin_width, pooled_width, ratio, width)
    flat, first = images.transpose(0, 1).flatten(1), rois[:, 0].long() * (height * width)
    total = 0
    for row, row_share in rows:
        for column, column_share in columns:
            number = first[:, None, None] + row[:, :, None] * width + column[:, None, :]
            total = total + flat[:, number] * (row_share[:, :, None] * column_share[:, None, :])
    means = total.view(channels, count, pooled_height, ratio, pooled_width, ratio).mean((3, 5))
    return means.transpose(0, 1).contiguous()


def _bin_weights(start, bin_size, count, extent, ratio=0):
    """Along one dimension, what each pixel counts in each bin of each region: (regions, bins, pixels). Without a
    `ratio`, a bin has as many samples as it has pixels. They lie half a pixel apart or more, unless there is one alone,
    so only so many can be where the image is."""
    samples = torch.full_like(bin_size, ratio) if ratio > 0 else bin_size.ceil()
    step = bin_size / samples.clamp(min=1)
    begin = start[:, None] + torch.arange(count, dtype=start.dtype, device=start.device) * bin_size[:, None]
    first = torch.zeros_like(begin)
    most = ratio
    if ratio <= 0:
        most = 2 * extent + 4
        is_several = (samples > 1)[:, None]
        first = torch.where(is_several, ((-1 - begin) / torch.where(is_several, step[:, None], 1)).floor() - 1, 0)
    number = first.clamp(min=0)[..., None] + torch.arange(most, dtype=start.dtype, device=start.device)
    place = begin[..., None] + (number + 0.5) * step[:, None, None]
    counted = (place >= -1) & (place <= extent) & (number < samples[:, None, None])
    place = place.clamp(0, extent - 1)
    pixels = torch.arange(extent, dtype=start.dtype, device=start.device)
    share = (1 - (place[..., None] - pixels).abs()).clamp(min=0)
    return torch.where(counted[..., None], share, 0).sum(2) / samples.clamp(min=1)[:, None, None]


def _of_positions(images, numbers, height, width):
    """A channel for each place of the grid: (regions, channels, height, width, rows, columns), and its number."""
    channels = images.shape[1] // (height * width)
    by_place = images[numbers].unflatten(1, (channels, height, width))
    mapping = torch.arange(images.shape[1], dtype=torch.int32, device=images.device).view(channels, height, width)
    return by_place, mapping.expand(len(numbers), channels, height, width).contiguous()


def _ps_roi_align(images, rois, scale, pooled_height, pooled_width, ratio):
    """The same, where each place of the grid has channels of its own. Without samples it is nan."""
    rois = rois.detach()
    x, y, end_x, end_y = (rois[:, 1:] * scale - 0.5).unbind(1)
    bin_height, bin_width = (end_y - y) / pooled_height, (end_x - x) / pooled_width
    of_rows = _bin_weights(y, bin_height, pooled_height, images.shape[2], ratio)
    of_columns = _bin_weights(x, bin_width, pooled_width, images.shape[3], ratio)
    found, mapping = _of_positions(images, rois[:, 0].long(), pooled_height, pooled_width)
    rows = (found * of_rows[:, None, :, None, :, None]).sum(-2)
    means = (rows * of_columns[:, None, None, :, :]).sum(-1)
    if ratio <= 0:
        is_empty = bin_height.ceil() * bin_width.ceil() == 0
        means = torch.where(is_empty[:, None, None, None], math.nan, means)
    return means, mapping


def _whole_bins(begin, size, count, extent, end):
    """Which pixels before `end` belong to each bin, where bins begin and end at whole pixels: (regions, bins,
    pixels)."""
    bins = torch.arange(count, dtype=size.dtype, device=size.device)
    first = ((bins * size[:, None]).floor() + begin[:, None]).clamp(0, end)
    last = (((bins + 1) * size[:, None]).ceil() + begin[:, None]).clamp(0, end)
    pixels = torch.arange(extent, dtype=size.dtype, device=size.device)
    return (pixels >= first[..., None]) & (pixels < last[..., None])


def _rounded(x):
    """Halves away from zero."""
    return x.sign() * (x.abs() + 0.5).floor()


def _roi_pool(images, rois, scale, pooled_height, pooled_width):
    """The largest pixel of each bin, the first of equal ones row by row, and its number; 0 and -1 for an empty bin."""
    rois = rois.detach()
    x, y, end_x, end_y = _rounded(rois[:, 1:] * scale).unbind(1)
    height, width = images.shape[2:]
    of_rows = _whole_bins(y, (end_y - y + 1).clamp(min=1) / pooled_height, pooled_height, height, height)
    of_columns = _whole_bins(x, (end_x - x + 1).clamp(min=1) / pooled_width, pooled_width, width, width)
    found = images[rois[:, 0].long()]
    along, columns = torch.where(of_columns[:, None, None], found[:, :, :, None], -math.inf).max(-1)
    along, columns = along.transpose(2, 3).unsqueeze(3), columns.transpose(2, 3)
    largest, rows = torch.where(of_rows[:, None, None], along, -math.inf).max(-1)
    number = rows * width + columns.gather(-1, rows)
    is_some = (of_rows.any(-1)[:, None, :, None] & of_columns.any(-1)[:, None, None, :])
    largest, number = largest.transpose(2, 3), number.transpose(2, 3)
    return torch.where(is_some, largest, 0), torch.where(is_some, number, -1).to(torch.int32)


def _ps_roi_pool(images, rois, scale, pooled_height, pooled_width):
    """Means of the pixels of each bin, where each place of the grid has channels of its own."""
    rois = rois.detach()
    x, y, end_x, end_y = _rounded(rois[:, 1:] * scale).unbind(1)
    height, width = images.shape[2:]
    # As torchvision has it, no bin has pixels of the last row and the last column.
    of_rows = _whole_bins(y, (end_y - y).clamp(min=1) / pooled_height, pooled_height, height, height - 1)
    of_columns = _whole_bins(x, (end_x - x).clamp(min=1) / pooled_width, pooled_width, width, width - 1)
    of_rows, of_columns = of_rows.to(images.dtype), of_columns.to(images.dtype)
    found, mapping = _of_positions(images, rois[:, 0].long(), pooled_height, pooled_width)
    rows = (found * of_rows[:, None, :, None, :, None]).sum(-2)
    total = (rows * of_columns[:, None, None, :, :]).sum(-1)
    size = of_rows.sum(-1)[:, None, :, None] * of_columns.sum(-1)[:, None, None, :]
    return total / size.clamp(min=1), mapping


def _in_f32(function):
    """Computes with f16 and bf16 in f32, as torchvision does under autocast: they have not all places of an image, nor
    sums of many pixels."""

    @functools.wraps(function)
    def run(images, *others):
        if images.dtype not in (torch.float16, torch.bfloat16):
            return function(images, *others)
        cast = lambda source, target: lambda x: (
            x.to(target) if isinstance(x, torch.Tensor) and x.dtype == source else x)
        widen, narrow = cast(images.dtype, torch.float32), cast(torch.float32, images.dtype)
        return tree_map(narrow, function(widen(images), *map(widen, others)))

    return run


def vision():
    """Functions that autograd sees through, by operation, if torchvision was imported."""
    if "torchvision" not in sys.modules or not hasattr(torch.ops.torchvision, "deform_conv2d"):
        return {}
    operations = torch.ops.torchvision
    found = {operations.deform_conv2d: _deformable, operations.roi_align: _roi_align, operations.roi_pool: _roi_pool,
             operations.ps_roi_align: _ps_roi_align, operations.ps_roi_pool: _ps_roi_pool}
    found = {packet: _in_f32(function) for packet, function in found.items()}
    return {**found, **{packet.default: function for packet, function in found.items()}}

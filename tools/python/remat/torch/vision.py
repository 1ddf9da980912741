"""Operations of torchvision that read images at places which are computed.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import sys

import torch

from ..errors import ExportError


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
    if ratio <= 0:
        raise ExportError("torchvision.roi_align: the number of samples depends on the data of the boxes, since "
                          "sampling_ratio is %d; give a positive one" % ratio)
    (batch, channels, height, width), count = images.shape, len(rois)
    rois = rois.detach()
    x, y, end_x, end_y = (rois[:, 1:] * scale - (0.5 if aligned else 0.0)).unbind(1)
    least = (lambda size: size) if aligned else (lambda size: size.clamp(min=1))
    rows = _samples(y, least(end_y - y) / pooled_height, pooled_height, ratio, height)
    columns = _samples(x, least(end_x - x) / pooled_width, pooled_width, ratio, width)
    flat, first = images.transpose(0, 1).flatten(1), rois[:, 0].long() * (height * width)
    total = 0
    for row, row_share in rows:
        for column, column_share in columns:
            number = first[:, None, None] + row[:, :, None] * width + column[:, None, :]
            total = total + flat[:, number] * (row_share[:, :, None] * column_share[:, None, :])
    means = total.view(channels, count, pooled_height, ratio, pooled_width, ratio).mean((3, 5))
    return means.transpose(0, 1).contiguous()


def vision():
    """Functions that autograd sees through, by operation, if torchvision was imported."""
    if "torchvision" not in sys.modules or not hasattr(torch.ops.torchvision, "deform_conv2d"):
        return {}
    operations = torch.ops.torchvision
    found = {operations.deform_conv2d: _deformable, operations.roi_align: _roi_align}
    return {**found, **{packet.default: function for packet, function in found.items()}}

"""Fake quantization, and products of integers. Decompositions, as in decompositions.py.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import torch


def _fake_quantized(x, scale, zero_point, low, high):
    """What x is after it was rounded to a multiple of the scale, and where it is not beyond the range, outside of which
    its derivative is 0."""
    scale = scale.float()
    number = (x * scale.reciprocal()).round() + zero_point
    rounded = (number.clamp(low, high) - zero_point) * scale
    return rounded.to(x.dtype), (number >= low) & (number <= high)


def _per_tensor(x, scale, zero_point, quant_min, quant_max):
    return _fake_quantized(x, torch.full((), scale, device=x.device), zero_point, quant_min, quant_max)


def _per_tensor_of_tensors(x, scale, zero_point, enabled, quant_min, quant_max):
    rounded, mask = _fake_quantized(x, scale, zero_point, quant_min, quant_max)
    return torch.where(enabled != 0, rounded, x), torch.where(enabled != 0, mask, True)


def _per_channel(x, scale, zero_point, axis, quant_min, quant_max):
    shape = [-1 if d == axis % x.dim() else 1 for d in range(x.dim())]
    return _fake_quantized(x, scale.view(shape), zero_point.view(shape), quant_min, quant_max)


def _int_mm(a, b):
    return torch.mm(a.to(torch.int32), b.to(torch.int32))


def quantized():
    aten = torch.ops.aten
    return {aten.fake_quantize_per_tensor_affine_cachemask.default: _per_tensor,
            aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams.default: _per_tensor_of_tensors,
            aten.fake_quantize_per_channel_affine_cachemask.default: _per_channel, aten._int_mm.default: _int_mm}

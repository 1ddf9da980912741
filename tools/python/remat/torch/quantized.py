"""Fake quantization, and products of integers. Decompositions, as in decompositions.py.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import torch


def _wide(x):
    return x if x.dtype == torch.float64 else x.float()


def _fake_quantized(x, scale, zero_point, low, high, digits=torch.float32):
    """What x is after it was rounded to a multiple of the scale, and where it is not beyond the range, outside of which
    its derivative is 0. NaN becomes the lowest number. As in PyTorch, narrow numbers are divided in f32, and multiples
    of the scale are computed in the type `digits`."""
    scale = scale.float()
    number = (_wide(x) * scale.reciprocal()).round() + zero_point
    rounded = (torch.where(number >= low, number.clamp(max=high), low) - zero_point).to(digits) * scale
    return rounded.to(x.dtype), (number >= low) & (number <= high)


def _per_tensor(x, scale, zero_point, quant_min, quant_max):
    return _fake_quantized(x, torch.full((), scale, device=x.device), zero_point, quant_min, quant_max)


def _per_tensor_of_tensors(x, scale, zero_point, enabled, quant_min, quant_max):
    rounded, mask = _fake_quantized(x, scale, zero_point, quant_min, quant_max)
    return torch.where(enabled != 0, rounded, x), torch.where(enabled != 0, mask, True)


def _per_channel(x, scale, zero_point, axis, quant_min, quant_max):
    shape = [-1 if d == axis % x.dim() else 1 for d in range(x.dim())]
    return _fake_quantized(x, scale.view(shape), zero_point.view(shape), quant_min, quant_max, _wide(x).dtype)


def _learnable(x, scale, zero_point, low, high):
    """Of numbers that are trained: the zero point is rounded and in the range."""
    return _fake_quantized(x, scale, zero_point.round().clamp(low, high), low, high)


def _learnable_gradients(grad, x, scale, zero_point, low, high, factor, dims, shape):
    """Of x, and of scale and zero point, summed over `dims`."""
    dtype, grad, x = x.dtype, _wide(grad), _wide(x)
    zero_point = zero_point.round().clamp(low, high)
    rounded, mask = _fake_quantized(x, scale, zero_point, low, high)
    above = (x * scale.reciprocal()).round() + zero_point > high
    end = torch.where(above, high - zero_point, low - zero_point)
    of_scale = grad * torch.where(mask, (rounded - x) / scale, end)
    of_zero_point = grad * torch.where(mask, 0, -scale)
    total = lambda values: (values.sum(dims) * factor).view(shape)
    return torch.where(mask, grad, 0).to(dtype), total(of_scale), total(of_zero_point)


def _learnable_per_tensor(x, scale, zero_point, quant_min, quant_max, grad_factor=1.0):
    return _learnable(x, scale, zero_point, quant_min, quant_max)[0]


def _learnable_per_tensor_backward(grad, x, scale, zero_point, quant_min, quant_max, grad_factor=1.0):
    return _learnable_gradients(grad, x, scale, zero_point, quant_min, quant_max, grad_factor, list(range(x.dim())),
                                scale.shape)


def _learnable_per_channel(x, scale, zero_point, axis, quant_min, quant_max, grad_factor=1.0):
    shape = [-1 if d == axis % x.dim() else 1 for d in range(x.dim())]
    return _learnable(x, scale.view(shape), zero_point.view(shape), quant_min, quant_max)[0]


def _learnable_per_channel_backward(grad, x, scale, zero_point, axis, quant_min, quant_max, grad_factor=1.0):
    shape = [-1 if d == axis % x.dim() else 1 for d in range(x.dim())]
    return _learnable_gradients(grad, x, scale.view(shape), zero_point.view(shape), quant_min, quant_max, grad_factor,
                                [d for d in range(x.dim()) if d != axis % x.dim()], scale.shape)


def _int_mm(a, b):
    return torch.mm(a.to(torch.int32), b.to(torch.int32))


def quantized():
    aten = torch.ops.aten
    return {aten.fake_quantize_per_tensor_affine_cachemask.default: _per_tensor,
            aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams.default: _per_tensor_of_tensors,
            aten.fake_quantize_per_channel_affine_cachemask.default: _per_channel, aten._int_mm.default: _int_mm,
            aten._fake_quantize_learnable_per_tensor_affine.default: _learnable_per_tensor,
            aten._fake_quantize_learnable_per_tensor_affine_backward.default: _learnable_per_tensor_backward,
            aten._fake_quantize_learnable_per_channel_affine.default: _learnable_per_channel,
            aten._fake_quantize_learnable_per_channel_affine_backward.default: _learnable_per_channel_backward}

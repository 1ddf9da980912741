"""Attention of the CPU that is called by its own name, and its derivative, by matrix products.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import math

import torch
from torch._decomp.decompositions import scaled_dot_product_flash_attention_for_cpu as _flash_output


def _widened(*tensors):
    """In the type in which the kernel computes: float32 for narrower ones."""
    return tuple(t.double() if t.dtype == torch.float64 else t.float() for t in tensors)


def _heads_of(query, x):
    """The heads of keys or values, as many as those of the queries: each one for a group of queries' heads."""
    return x.repeat_interleave(query.shape[1] // x.shape[1], 1)


def _scale(query, scale):
    return 1 / math.sqrt(query.shape[-1]) if scale is None else scale


def _scores(query, key, is_causal, attn_mask, scale):
    scores = query @ _heads_of(query, key).mT * _scale(query, scale)
    if is_causal:
        hidden = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1)
        scores = scores.masked_fill(hidden, -math.inf)
    if attn_mask is None:
        return scores
    return scores.masked_fill(~attn_mask, -math.inf) if attn_mask.dtype == torch.bool else scores + attn_mask


def _flash(query, key, value, dropout_p=0.0, is_causal=False, *, attn_mask=None, scale=None):
    """PyTorch's decomposition has the weights as its second result; the operation has the logarithms of their sums,
    which lie as (batch, query, head). That of a query that sees no key is 0, so that its weights are, too."""
    output, _ = _flash_output(query, key, value, dropout_p, is_causal, attn_mask=attn_mask, scale=scale)
    sums = _scores(*_widened(query, key), is_causal, attn_mask, scale).logsumexp(-1)
    sums = sums.masked_fill(sums == -math.inf, 0)
    return output, sums.transpose(1, 2).contiguous().transpose(1, 2)


def _flash_backward(grad, query, key, value, out, logsumexp, dropout_p, is_causal, *, attn_mask=None, scale=None):
    types = [x.dtype for x in (query, key, value)]
    grad, query, key, value, out = _widened(grad, query, key, value, out)
    weights = (_scores(query, key, is_causal, attn_mask, scale) - logsumexp.unsqueeze(-1)).exp()
    of_weights = grad @ _heads_of(query, value).mT
    of_scores = weights * (of_weights - (grad * out).sum(-1, keepdim=True)) * _scale(query, scale)
    in_groups = lambda g, x: g.unflatten(1, (x.shape[1], -1)).sum(2)
    gradients = (of_scores @ _heads_of(query, key), in_groups(of_scores.mT @ query, key),
                 in_groups(weights.mT @ grad, value))
    return tuple(g.to(t) for g, t in zip(gradients, types))


def attention():
    aten = torch.ops.aten
    return {aten._scaled_dot_product_flash_attention_for_cpu.default: _flash,
            aten._scaled_dot_product_flash_attention_for_cpu_backward.default: _flash_backward}

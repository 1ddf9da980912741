"""What PyTorch calls in the place of a layer of attention where no gradient is asked for, such as in evaluation: one
operation for the whole layer. Here it is what the layer computes otherwise.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import math

import torch
import torch.nn.functional as F

# What a mask says, by its number: whether a query may see a key, for all of a batch; which keys of an element of the
# batch are there; either for each element and head.
QUERIES_AND_KEYS, KEYS = 0, 1


def _hidden(mask, mask_type):
    """Where a mask hides a key, for scores of (batch, heads, queries, keys). A mask of numbers hides where it is not
    zero, as in these operations of PyTorch."""
    mask = mask.to(torch.bool)
    return mask[:, None, None, :] if mask_type == KEYS and mask.dim() == 2 else mask


def _softmax(scores, hidden):
    """A query that sees nothing has nan, as PyTorch's."""
    return scores.masked_fill(hidden, -math.inf).softmax(-1)


def _attention(query, key, value, embed_dim, num_head, qkv_weight, qkv_bias, proj_weight, proj_bias, mask=None,
               need_weights=True, average_attn_weights=True, mask_type=None):
    weights, biases = qkv_weight.chunk(3), qkv_bias.chunk(3)
    q, k, v = (F.linear(x, weight, bias).unflatten(-1, (num_head, -1)).transpose(1, 2)
               for x, weight, bias in zip((query, key, value), weights, biases))
    scores = (q * (1.0 / math.sqrt(q.shape[-1]))) @ k.transpose(-2, -1)
    shares = scores.softmax(-1) if mask is None else _softmax(scores, _hidden(mask, mask_type))
    result = F.linear((shares @ v).transpose(1, 2).flatten(-2), proj_weight, proj_bias)
    if not need_weights:
        return result, None
    return result, shares.mean(1) if average_attn_weights else shares


def _encoder_layer(src, embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias, use_gelu, norm_first, eps,
                   norm_weight_1, norm_bias_1, norm_weight_2, norm_bias_2, ffn_weight_1, ffn_bias_1, ffn_weight_2,
                   ffn_bias_2, mask=None, mask_type=None):
    def attended(x):
        return _attention(x, x, x, embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias, mask, False,
                          mask_type=mask_type)[0]

    def fed_forward(x):
        x = F.linear(x, ffn_weight_1, ffn_bias_1)
        return F.linear(F.gelu(x) if use_gelu else F.relu(x), ffn_weight_2, ffn_bias_2)

    def norm_1(x):
        return F.layer_norm(x, (embed_dim,), norm_weight_1, norm_bias_1, eps)

    def norm_2(x):
        return F.layer_norm(x, (embed_dim,), norm_weight_2, norm_bias_2, eps)

    if norm_first:
        src = src + attended(norm_1(src))
        return src + fed_forward(norm_2(src))
    src = norm_1(src + attended(src))
    return norm_2(src + fed_forward(src))


def fast_paths():
    """Decompositions, by operation."""
    aten = torch.ops.aten
    return {aten._native_multi_head_attention.default: _attention, aten._transformer_encoder_layer_fwd.default:
            _encoder_layer}

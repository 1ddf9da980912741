"""What a GradScaler does with gradients and with its scale: they are divided by it unless some are not finite, where it
becomes smaller; after a number of good steps it becomes larger.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import torch


def _unscale(gradients, found_inf, inverse):
    """Products are rounded once. `found_inf` becomes 1 where an element is not finite, and stays as it is otherwise."""
    results = []
    for gradient in gradients:
        found_inf = torch.where(gradient.isfinite().all(), found_inf, 1.0)
        wide = gradient.float() if gradient.dtype in (torch.bfloat16, torch.float16) else gradient
        results.append((wide * inverse).to(gradient.dtype))
    return results, found_inf


def _update_scale(scale, good_steps, found_inf, growth_factor, backoff_factor, growth_interval):
    is_bad, grown = found_inf.reshape(scale.shape) != 0, scale * growth_factor
    good_steps = good_steps + 1
    is_time = good_steps == growth_interval
    larger = torch.where(is_time.reshape(scale.shape) & grown.isfinite(), grown, scale)
    good_steps = torch.where(is_time | is_bad.reshape(good_steps.shape), 0, good_steps)
    return torch.where(is_bad, scale * backoff_factor, larger), good_steps


def loss_scaling():
    """Decompositions, by operation. Those that change their arguments arrive as these and copies."""
    aten = torch.ops.aten
    return {aten._amp_foreach_non_finite_check_and_unscale.default: _unscale,
            aten._amp_update_scale.default: _update_scale}

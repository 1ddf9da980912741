"""The loss of connectionist temporal classification, by operations whose shapes do not depend on data.

Graves and others, "Connectionist temporal classification" (ICML 2006): states of a target are its labels with blanks
around them. Its probability is that of all ways through the states, one of which is taken at each time. The gradient is
PyTorch's: meant for results of `log_softmax`, it has the derivative of that in it.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import contextlib

import torch

NEVER = -float("inf")
MEAN, SUM = 1, 2


def _lengths(lengths, batch, device):
    lengths = torch.as_tensor(lengths, device=device).to(torch.int64)
    return lengths.reshape(-1).expand(batch)


def _states(targets, target_lengths, longest, blank):
    """For each sequence of the batch a blank, and each label with a blank behind it."""
    batch = target_lengths.shape[0]
    if targets.dim() == 1:  # one target after the other
        begin = target_lengths.cumsum(0) - target_lengths
        places = begin[:, None] + torch.arange(longest, device=targets.device)
        targets = targets[places.clamp(max=targets.shape[0] - 1)] if longest else targets.new_zeros(batch, 0)
    blanks = torch.full((batch, longest, 1), blank, dtype=torch.int64, device=targets.device)
    pairs = torch.cat([targets.to(torch.int64)[:, :longest, None], blanks], 2).reshape(batch, 2 * longest)
    return torch.cat([blanks.new_full((batch, 1), blank), pairs], 1)


def _shifted(values, by, fill):
    """The values `by` states before, or behind if it is negative."""
    filled = torch.nn.functional.pad(values, (max(by, 0), max(-by, 0)), value=fill)
    begin = max(-by, 0)
    return filled[:, begin:begin + values.shape[1]]


def _steps(first, emissions, states, blank, by):
    """What the ways to each state come to, from `first` on; `by` is 1 if they go to later states, and -1 if not."""
    skips = (states != blank) & (states != _shifted(states, 2 * by, blank)) if by > 0 else (
        (_shifted(states, -2, blank) != blank) & (_shifted(states, -2, blank) != states))
    ways = torch.stack([first, _shifted(first, by, NEVER),
                        torch.where(skips, _shifted(first, 2 * by, NEVER), NEVER)])
    return emissions + torch.logsumexp(ways, 0)


class _Loss(torch.autograd.Function):
    @staticmethod
    def forward(ctx, log_probs, states, input_lengths, target_lengths, blank, zero_infinity):
        times, batch, _ = log_probs.shape
        emissions = log_probs.gather(2, states.expand(times, *states.shape))
        place = torch.arange(states.shape[1], device=states.device)
        may_begin = (place == 0) | ((place == 1) & (target_lengths[:, None] > 0))
        alphas = [torch.where(may_begin, emissions[0], NEVER)]
        for time in range(1, times):
            alphas.append(_steps(alphas[-1], emissions[time], states, blank, 1))
        alphas = torch.stack(alphas)
        last = (input_lengths - 1).clamp(min=0)[None, :, None].expand(1, batch, states.shape[1])
        ends = alphas.gather(0, last)[0]
        blanks = ends.gather(1, 2 * target_lengths[:, None])[:, 0]
        labels = ends.gather(1, (2 * target_lengths[:, None] - 1).clamp(min=0))[:, 0]
        labels = torch.where(target_lengths > 0, labels, NEVER)
        loss = -torch.logsumexp(torch.stack([blanks, labels]), 0)
        empty = torch.where(target_lengths == 0, 0.0, -NEVER).to(loss.dtype)
        loss = torch.where(input_lengths > 0, loss, empty)
        ctx.save_for_backward(log_probs, states, input_lengths, target_lengths, alphas, loss)
        ctx.blank, ctx.zero_infinity = blank, zero_infinity
        return torch.where(torch.isinf(loss), 0.0, loss) if zero_infinity else loss.clone()

    @staticmethod
    def backward(ctx, grad):
        log_probs, states, input_lengths, target_lengths, alphas, loss = ctx.saved_tensors
        times = log_probs.shape[0]
        emissions = log_probs.gather(2, states.expand(times, *states.shape))
        place = torch.arange(states.shape[1], device=states.device)
        ends = 2 * target_lengths[:, None]
        may_end = (place == ends) | ((place == ends - 1) & (target_lengths[:, None] > 0))
        beta, betas = torch.full_like(emissions[0], NEVER), []
        for time in reversed(range(times)):
            is_last = (input_lengths == time + 1)[:, None]
            beta = torch.where(is_last, torch.where(may_end, emissions[time], NEVER),
                               _steps(beta, emissions[time], states, ctx.blank, -1))
            betas.append(beta)
        both = alphas + torch.stack(betas[::-1])
        ways = torch.where(both == NEVER, 0.0, torch.exp(both - emissions + loss[:, None]))
        taken = torch.zeros_like(log_probs).scatter_add(2, states.expand(times, *states.shape), ways)
        slope = (torch.exp(log_probs) - taken) * grad[:, None]
        slope = torch.where(torch.isinf(loss)[:, None], torch.nan, slope)  # as PyTorch has it
        inside = torch.arange(times, device=states.device)[:, None] < input_lengths
        if ctx.zero_infinity:
            inside = inside & ~torch.isinf(loss)
        return torch.where(inside[..., None], slope, 0.0), None, None, None, None, None


def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction=MEAN, zero_infinity=False):
    """`torch.ctc_loss`: targets are padded or one after the other, lengths are tensors or numbers."""
    is_batch = log_probs.dim() == 3
    if not is_batch:
        log_probs = log_probs[:, None]
        targets = targets[None] if targets.dim() == 1 else targets
    batch = log_probs.shape[1]
    # Lengths that are data say nothing of the longest target.
    longest = targets.shape[-1]
    if targets.dim() == 1 and not isinstance(target_lengths, torch.Tensor):
        longest = max(target_lengths, default=0)
    target_lengths = _lengths(target_lengths, batch, log_probs.device)
    states = _states(targets.to(log_probs.device), target_lengths, longest, blank)
    loss = _Loss.apply(log_probs, states, _lengths(input_lengths, batch, log_probs.device), target_lengths, blank,
                       zero_infinity)
    if reduction == MEAN:
        return (loss / target_lengths.clamp(min=1).to(loss.dtype)).mean()
    if reduction == SUM:
        return loss.sum()
    return loss if is_batch else loss[0]


@contextlib.contextmanager
def ctc_loss_of_tensors():
    """Without it, PyTorch's own has results whose shapes depend on the lengths."""
    own = torch.ctc_loss
    torch.ctc_loss = ctc_loss
    try:
        yield
    finally:
        torch.ctc_loss = own

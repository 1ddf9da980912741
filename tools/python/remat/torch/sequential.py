"""Checkpoints of a sequence of layers, which PyTorch does not trace.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import contextlib

import torch
from torch.utils.checkpoint import checkpoint


def _chain(functions):
    def run(value):
        for function in functions:
            value = function(value)
        return value

    return run


def _checkpoint_sequential(functions, segments, input, use_reentrant=None, **kwargs):
    """All segments but the last one, which also has what remains, are checkpoints of as many layers each."""
    functions = list(functions.children()) if isinstance(functions, torch.nn.Sequential) else list(functions)
    kwargs["use_reentrant"] = use_reentrant is None or use_reentrant
    size = len(functions) // segments
    last = size * (segments - 1)
    for first in range(0, last, size):
        input = checkpoint(_chain(functions[first:first + size]), input, **kwargs)
    return _chain(functions[last:])(input)


def trace_sequences():
    """Makes Dynamo trace torch.utils.checkpoint.checkpoint_sequential, for other backends, too."""
    with contextlib.suppress(ValueError):  # Another library did so.
        torch._dynamo.substitute_in_graph(torch.utils.checkpoint.checkpoint_sequential)(_checkpoint_sequential)

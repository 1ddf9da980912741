"""remat for PyTorch: `torch.compile(model, backend="remat")` and `remat.torch.export`.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import torch

from .backend import backend, compiled_steps
from .export import export
from .sequential import trace_sequences

# Where the package is not installed, there is no entry point by which PyTorch would find the backend.
if "remat" not in torch._dynamo.list_backends(exclude_tags=()):
    torch._dynamo.register_backend(backend, name="remat")

trace_sequences()


def __getattr__(name):
    # It imports Inductor, which takes its time.
    if name == "Partitioner":
        from .partitioner import Partitioner
        return Partitioner
    raise AttributeError("module 'remat.torch' has no attribute '%s'" % name)


__all__ = ["Partitioner", "backend", "compiled_steps", "export"]

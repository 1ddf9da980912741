"""remat for PyTorch.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from .backend import backend, compiled_steps

__all__ = ["backend", "compiled_steps"]

"""remat for JAX: `remat.jax.export` and `remat.jax.compile`.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from .export import compile, export

__all__ = ["compile", "export"]

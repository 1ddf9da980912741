"""remat for JAX: `remat.jax.export`, `remat.jax.compile` and `remat.jax.call`.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from .call import call
from .compile import compile
from .export import export

__all__ = ["call", "compile", "export"]

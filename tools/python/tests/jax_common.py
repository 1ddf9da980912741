"""What the tests of JAX share.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import unittest

try:
    import jax
    import jax.numpy as jnp
    import numpy as np
    import remat.jax as rj
except ImportError:
    jax = jnp = np = rj = None

needs_jax = unittest.skipIf(jax is None, "JAX is not installed")


def random(*shape):
    return np.random.default_rng(sum(shape) * 7 + len(shape)).standard_normal(shape).astype("f4")

"""All rules of primitives: whoever imports this module has registered them.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from . import (control, elementwise, groups, linalg, loops, meshes, places, random, reductions,  # noqa: F401
               shapes, special, stable, whiles)

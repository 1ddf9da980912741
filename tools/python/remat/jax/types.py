"""The types that arrays of JAX have in remat.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import jax
import numpy as np

from ..errors import ExportError

ELEMENTS = {"float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16", "bool": "i1", "int8": "i8",
            "uint8": "i8", "int16": "i16", "uint16": "i16", "int32": "i32", "uint32": "i32", "int64": "i64",
            "uint64": "i64", "complex64": "complex<f32>", "complex128": "complex<f64>"}


def is_key(dtype):
    return jax.dtypes.issubdtype(dtype, jax.dtypes.prng_key)


def element_of(dtype):
    name = np.dtype(dtype).name
    if name not in ELEMENTS:
        raise ExportError("%s is not supported, expected one of %s" % (name, ", ".join(ELEMENTS)))
    return ELEMENTS[name]


def is_unsigned(dtype):
    return np.dtype(dtype).name.startswith(("uint", "bool"))


def is_float(dtype):
    return element_of(dtype)[0] in "fb"


def is_integer(dtype):
    return element_of(dtype)[0] == "i"


def physical(aval):
    """Shape and dtype of what an abstract value is stored as: keys are arrays of words."""
    if is_key(aval.dtype):
        return tuple(aval.shape) + tuple(aval.dtype._impl.key_shape), np.dtype("uint32")
    return tuple(aval.shape), np.dtype(aval.dtype)

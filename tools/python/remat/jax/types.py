"""The types that arrays of JAX have in remat.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import jax
import numpy as np

from ..errors import ExportError
from .stored import FLOATS, INTEGERS, STORED, bytes_of

ELEMENTS = {"float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16", "bool": "i1", "int8": "i8",
            "uint8": "i8", "int16": "i16", "uint16": "i16", "int32": "i32", "uint32": "i32", "int64": "i64",
            "uint64": "i64", "complex64": "complex<f32>", "complex128": "complex<f64>", **STORED}


def is_key(dtype):
    return jax.dtypes.issubdtype(dtype, jax.dtypes.prng_key)


def is_supported(dtype):
    return np.dtype(dtype).name in ELEMENTS


def unsupported(dtype):
    return "elements of %s are not supported, expected one of %s" % (np.dtype(dtype).name, ", ".join(ELEMENTS))


def element_of(dtype):
    if not is_supported(dtype):
        raise ExportError(unsupported(dtype))
    return ELEMENTS[np.dtype(dtype).name]


def is_unsigned(dtype):
    return np.dtype(dtype).name.startswith(("uint", "bool"))


def is_float(dtype):
    return element_of(dtype)[0] in "fb" or np.dtype(dtype).name in FLOATS


def is_integer(dtype):
    return element_of(dtype)[0] == "i" and not is_float(dtype)


def encoded(number, dtype):
    """What the IR has for a number of `dtype`."""
    return bytes_of(np.asarray(number, np.float32).astype(dtype)).item() if np.dtype(dtype).name in STORED else number


def wrapped(number, dtype):
    """What a type has of an integer, which is its lowest bits; of bool, whether it is another one than 0."""
    dtype = np.dtype(dtype)
    if dtype == np.bool_:
        return int(number != 0)
    bits = INTEGERS.get(dtype.name, 8 * dtype.itemsize)
    number &= (1 << bits) - 1
    return number - (1 << bits) if not is_unsigned(dtype) and number >> (bits - 1) else number


def physical(aval):
    """Shape and dtype of what an abstract value is stored as: keys are arrays of words."""
    if is_key(aval.dtype):
        return tuple(aval.shape) + tuple(aval.dtype._impl.key_shape), np.dtype("uint32")
    return tuple(aval.shape), np.dtype(aval.dtype)

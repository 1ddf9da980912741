"""Types that JAX computes with in wider ones: numbers of at most eight bits and integers of less. The IR has their
elements as bytes, integers with their sign.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import jax
import numpy as np
from jax.extend import core as jax_core

from ..narrow_floats import Exponent, Narrow

FLOATS = {
    "float4_e2m1fn": Narrow(1, 1, 7.0, 0x7, 0x8, bits=4),
    "float8_e3m4": Narrow(4, 3, 16.0, 0x70, 0x78, has_infinity=True),
    "float8_e4m3": Narrow(3, 7, 256.0, 0x78, 0x7C, has_infinity=True),
    "float8_e4m3b11fnuz": Narrow(3, 11, 32.0, 0x80, 0x80, has_negative_zero=False),
    "float8_e4m3fn": Narrow(3, 7, 480.0, 0x7F, 0x7F),
    "float8_e4m3fnuz": Narrow(3, 8, 256.0, 0x80, 0x80, has_negative_zero=False),
    "float8_e5m2": Narrow(2, 15, 2.0 ** 16, 0x7C, 0x7E, has_infinity=True),
    "float8_e5m2fnuz": Narrow(2, 16, 2.0 ** 16, 0x80, 0x80, has_negative_zero=False),
    "float8_e8m0fnu": Exponent(),
}
INTEGERS = {"int2": 2, "int4": 4, "uint2": 2, "uint4": 4}
STORED = {name: "i8" for name in [*FLOATS, *INTEGERS]}


def name_of(dtype):
    return np.dtype(dtype).name


def is_stored(dtype):
    return name_of(dtype) in STORED


def is_packed(dtype):
    """Whether XLA may keep several elements in a byte."""
    name = name_of(dtype)
    return name in INTEGERS or name in FLOATS and getattr(FLOATS[name], "bits", 8) < 8


def bytes_of(array):
    """The bytes of the elements of an array of NumPy."""
    if not is_stored(array.dtype):
        return array
    name = name_of(array.dtype)
    if name in INTEGERS:
        return array.astype("uint8" if name[0] == "u" else "int8").view("int8")
    return np.ascontiguousarray(array).view("int8").reshape(array.shape)


def packed_as_bytes(array):
    """An array of JAX with a byte for each element."""
    if not is_packed(array.dtype):
        return array
    if name_of(array.dtype) in FLOATS:
        array = jax.lax.bitcast_convert_type(array, "uint4")
    return array.astype("uint8" if name_of(array.dtype)[0] == "u" else "int8")


def from_bytes(array, dtype):
    """The array of JAX with such bytes."""
    if not is_stored(dtype) or array.dtype == dtype:
        return array
    if not is_packed(dtype):
        return jax.lax.bitcast_convert_type(array, dtype)
    if name_of(dtype) in FLOATS:
        return jax.lax.bitcast_convert_type(array.astype("uint4"), dtype)
    return array.astype(dtype)


def wrap(body, a, dtype):
    """The byte of a small integer with the lowest bits of the byte `a`."""
    name = name_of(dtype)
    bits = INTEGERS[name]
    if name[0] == "u":
        return body.binary("arith.andi", a, body.constant((1 << bits) - 1, "i8"), "i8")
    unused = body.constant(8 - bits, "i8")
    return body.binary("arith.shrsi", body.binary("arith.shli", a, unused, "i8"), unused, "i8")


# Operations that move elements, whatever these stand for, and those that have rules for all types.
MOVES = {
    "all_gather", "all_to_all", "bitcast_convert_type", "broadcast_in_dim", "concatenate", "convert_element_type",
    "copy", "copy_p", "device_put", "dynamic_slice", "dynamic_update_slice", "empty", "empty2", "expand_dims", "gather",
    "mesh_cast", "name", "optimization_barrier", "pad", "ppermute", "pvary", "reshape", "reshard", "rev", "scatter",
    "select_n", "sharding_constraint", "slice", "split", "squeeze", "stack", "stop_gradient", "tile", "transpose",
    "unstack"}
# Those that have the same results on wider types, but for rounding.
COMPUTES = {
    "abs", "acos", "acosh", "add", "add_any", "argmax", "argmin", "asin", "asinh", "atan", "atan2", "atanh", "cbrt",
    "ceil", "clamp", "conv_general_dilated", "copysign", "cos", "cosh", "cummax", "cummin", "cumsum", "div",
    "dot_general", "eq", "erf", "erf_inv", "erfc", "exp", "exp2", "expm1", "floor", "ge", "gt", "integer_pow",
    "iota", "is_finite", "le", "log", "log1p", "logistic", "lt", "max", "min", "mul", "ne", "neg", "pow",
    "reduce_max", "reduce_min", "reduce_sum", "reduce_window_max", "reduce_window_min", "reduce_window_sum", "rem",
    "round", "rsqrt", "scatter-add", "scatter_add", "scatter-max", "scatter_max", "scatter-min", "scatter_min",
    "scatter-mul", "scatter_mul", "scatter-sub", "scatter_sub", "sign", "sin", "sinh", "sort", "sqrt", "square",
    "sub", "tan", "tanh", "top_k"}
COMPUTES_INTEGERS = {"and", "not", "or", "reduce_and", "reduce_or", "reduce_xor", "shift_left", "xor"}


def wider(dtype):
    """The type that elements are computed in."""
    if not is_stored(dtype):
        return np.dtype(dtype)
    name = name_of(dtype)
    return np.dtype("float32" if name in FLOATS else "uint8" if name[0] == "u" else "int8")


def extremes(dtype):
    """The least and the greatest number of a type."""
    name = name_of(dtype)
    if name in INTEGERS:
        info = jax.numpy.iinfo(dtype)
        return int(info.min), int(info.max)
    info = jax.numpy.finfo(dtype)
    return (-np.inf, np.inf) if getattr(FLOATS[name], "has_infinity", False) else (float(info.min), float(info.max))


def computes_wide(eqn):
    """Whether an operation computes with elements that are stored only, so that these have to be converted."""
    if any(isinstance(p, tuple) and any(isinstance(part, jax_core.ClosedJaxpr) for part in p)
           for p in eqn.params.values()):
        return False  # of branches
    dtypes = [getattr(v.aval, "dtype", None) for v in [*eqn.invars, *eqn.outvars]]
    stored = [d for d in dtypes if isinstance(d, np.dtype) and is_stored(d)]
    # The rule of products converts what it takes.
    is_product = eqn.primitive.name == "dot_general" and not is_stored(eqn.outvars[0].aval.dtype)
    # So is a scatter that computes what it writes.
    moves = eqn.primitive.name in MOVES and eqn.params.get("update_jaxpr") is None
    return bool(stored) and not moves and not is_product


def through_wider(l, *operands, **params):
    """Computes in wider types, and rounds each result."""
    eqn, name = l.eqn, l.eqn.primitive.name
    dtypes = [v.aval.dtype for v in eqn.invars]
    stored = [d for d in dtypes + [v.aval.dtype for v in eqn.outvars] if is_stored(d)]
    integers = all(name_of(d) in INTEGERS for d in stored)
    is_empty = name in ("reduce_max", "reduce_min") and 0 in eqn.invars[0].aval.shape
    if name not in COMPUTES and not (integers and name in COMPUTES_INTEGERS) or is_empty:
        l.refuse("there is no rule for elements of %s; convert them to %s to compute with them" % (
            name_of(stored[0]), wider(stored[0])))
    if params.get("preferred_element_type") is not None or name == "dot_general":
        params["preferred_element_type"] = np.dtype("int32" if integers else "float32")
    for key in ("dtype", "out_dtype"):
        if params.get(key) is not None:
            params[key] = wider(params[key])

    bind = eqn.primitive.bind
    if name.startswith("scatter"):
        # How elements are combined is written anew, for the wider type.
        bind = getattr(jax.lax, name.replace("-", "_"))
        params = {k: v for k, v in params.items() if not k.startswith("update_")}

    def compute(*arrays):
        results = bind(*(a.astype(wider(a.dtype)) for a in arrays), **params)
        results = results if eqn.primitive.multiple_results else [results]
        if name in ("reduce_window_max", "reduce_window_min"):
            # A window of nothing but padding has the wider type's extreme.
            results = [jax.numpy.clip(r, *extremes(v.aval.dtype)) for r, v in zip(results, eqn.outvars)]
        return [r.astype(v.aval.dtype) for r, v in zip(results, eqn.outvars)]

    traced = jax.make_jaxpr(compute)(*(jax.ShapeDtypeStruct(v.aval.shape, d) for v, d in zip(eqn.invars, dtypes)))
    backward = l.backward
    results = l.run(traced.jaxpr, [l.constant(c, name) for c in traced.consts], list(operands))
    l.backward = backward
    results = [l.whole(r) for r in results]
    return results if eqn.primitive.multiple_results else results[0]

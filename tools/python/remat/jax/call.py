"""A step as an operation of JAX: one custom call of XLA, by jax.ffi.

Its handlers are in libRemat, so nothing of Python runs while an executable does. An executable holds the step itself;
what JAX keeps before that, its own form of the program, holds the step's object.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import ctypes
import functools
import threading

import jax
import numpy as np
from jax.extend import core
from jax.interpreters import ad, batching, mlir

from .. import _library as lib
from ..arrays import BY_NUMPY, NUMPY
from ..errors import ArgumentError, Error
from .stored import is_packed, is_stored, packed_as_bytes

NAME = "remat_step"
# The platforms of JAX that have handlers, with the names that XLA has for them, and how their functions begin.
PLATFORMS = {"cpu": ("cpu", "rematXla"), "cuda": ("CUDA", "rematXlaCuda")}
_lock = threading.Lock()


@functools.lru_cache(maxsize=None)
def _register(platform):
    """Makes the handlers known to XLA."""
    library = lib.library()
    name, prefix = PLATFORMS[platform]

    def capsule(function):
        return jax.ffi.pycapsule(ctypes.cast(getattr(library, prefix + function), ctypes.c_void_p).value)

    try:
        jax.ffi.register_ffi_type(NAME, {
            "type_id": jax.ffi.pycapsule(getattr(library, prefix + "GetTypeId")()),
            "type_info": jax.ffi.pycapsule(library.rematXlaGetTypeInfo())}, platform=name)
        jax.ffi.register_ffi_target(NAME, {"instantiate": capsule("Instantiate"), "execute": capsule("Execute")},
                                    platform=name)
    except Exception as error:
        raise Error("JAX %s does not take remat's custom call, which needs version 0.3 of XLA's FFI: %s" % (
            jax.__version__, error)) from error


def _name_of(dtype):
    dtype = np.dtype(dtype)
    if is_stored(dtype) and not is_packed(dtype):
        return "i8"
    return "bf16" if dtype == jax.numpy.bfloat16 else BY_NUMPY.get(dtype.str)


def _check(step, avals):
    """Refuses what XLA would refuse when the program runs."""
    if len(avals) != len(step.arguments):
        raise ArgumentError("the step takes %d arguments, got %d; its signature is %s" % (
            len(step.arguments), len(avals), step.signature()))
    for number, (info, aval) in enumerate(zip(step.arguments, avals)):
        if _name_of(aval.dtype) != info.dtype or tuple(aval.shape) != info.shape:
            raise ArgumentError("argument %d is %s, got %s[%s]" % (
                number, info, aval.dtype, "x".join(map(str, aval.shape))))


def _abstract(*avals, step, dtypes):
    _check(step, avals)
    return [jax.core.ShapedArray(info.shape, dtype) for info, dtype in zip(step.results, dtypes)]


def _lower(platform, context, *operands, step, dtypes):
    target = "cpu" if step.device is None else "cuda"
    if target != platform:
        raise ArgumentError("the step was compiled for target='%s', and the program is for %s; compile the step with "
                            "target='%s'" % (target, platform, platform))
    if getattr(getattr(context.module_context, "lowering_parameters", None), "for_export", False):
        raise ArgumentError("jax.export cannot keep a step of remat, which is of this process; export the function "
                            "that the step was compiled from, or keep its program with remat.jax.export")
    with _lock:
        _register(platform)
        key = step.share()
    # JAX may make the executable when its form of the program, which has the step, is gone.
    context.module_context.add_keepalive(step)
    aliases = {n: info.donation for n, info in enumerate(step.arguments) if info.donation is not None}
    return jax.ffi.ffi_lowering(NAME, operand_output_aliases=aliases)(context, *operands, key=np.int64(key))


def _run(*args, **params):
    """Outside of jit, such as under jax.disable_jit, or where JAX looks for the operation that made a nan: it would
    look into this one forever."""
    with jax.disable_jit(False), jax.debug_nans(False), jax.debug_infs(False):
        return jax.jit(functools.partial(primitive.bind, **params))(*args)


def _batch(args, dims, **params):
    """A step has one shape, so elements of a batch are computed one after the other."""
    batched = [dim is not None for dim in dims]
    moved = [jax.numpy.moveaxis(a, dim, 0) for a, dim, b in zip(args, dims, batched) if b]

    def one(elements):
        elements = iter(elements)
        return primitive.bind(*[next(elements) if b else a for a, b in zip(args, batched)], **params)

    results = jax.lax.map(one, moved)
    return results, [0] * len(results)


def _refuse(primals, tangents, **params):
    raise ArgumentError("a step of remat has no derivative; compile the function that takes it, or differentiate the "
                        "`loss` of what remat.jax.compile returns")


primitive = core.Primitive(NAME)
primitive.multiple_results = True
primitive.def_impl(_run)
primitive.def_abstract_eval(_abstract)
for _platform in PLATFORMS:
    mlir.register_lowering(primitive, functools.partial(_lower, _platform), platform=_platform)
batching.primitive_batchers[primitive] = _batch
ad.primitive_jvps[primitive] = _refuse


def call(step, *arrays):
    """Runs a step that `remat.compile` made, also inside of `jax.jit`: its arguments in order, its results in order."""
    arrays = [packed_as_bytes(jax.numpy.asarray(a)) for a in arrays]
    dtypes = [jax.numpy.bfloat16 if info.dtype == "bf16" else np.dtype(NUMPY[info.dtype]) for info in step.results]
    return tuple(primitive.bind(*arrays, step=step, dtypes=tuple(map(np.dtype, dtypes))))

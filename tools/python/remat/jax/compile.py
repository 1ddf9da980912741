"""Functions of JAX that remat runs, at once and as parts of programs of JAX.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import inspect
import threading

import jax
import numpy as np
from jax.custom_derivatives import SymbolicZero

from ..errors import ArgumentError, RunError
from ..exported import NOT_IN_JAX, ExportedStep, is_given
from .call import primitive
from .export import export, numbers_of, plain
from .stored import from_bytes, is_packed, packed_as_bytes
from .types import is_key


# Settings of JAX that a program depends on: the same function is another one under another of them.
SETTINGS = ("jax_enable_x64", "jax_threefry_partitionable", "jax_random_seed_offset", "jax_numpy_dtype_promotion",
            "jax_numpy_rank_promotion", "jax_default_matmul_precision")


class CompiledFunction:
    """A function of JAX that remat runs: `jax.value_and_grad` of what was given, or with `differentiate=False` that
    itself. It is compiled for the shapes of each call once. Inside of `jax.jit` it is one custom call."""

    def __init__(self, function, export_options, options):
        self.function, self.export_options, self.options = function, export_options, options
        self.steps, self._calls = {}, {}
        self._lock = threading.RLock()

    def _key(self, args):
        leaves, tree = jax.tree_util.tree_flatten(args)
        # A number of Python has a weak type, which gives way to others: the program may be another one.
        settings = tuple(getattr(jax.config, name, None) for name in SETTINGS)
        return tree, settings, _device(leaves, self.options), tuple(_kind(leaf) for leaf in leaves)

    def _by_place(self, args, keywords):
        """The arguments without keywords: a step knows them by their places."""
        if not keywords:
            return args
        try:
            bound = inspect.signature(self.function).bind(*args, **keywords)
        except ValueError:  # of what has no signature
            bound = None
        if bound is None or bound.kwargs:
            raise ArgumentError("the keywords %s are not those of arguments that have a place, behind others that are "
                                "given; bind them with functools.partial" % ", ".join(keywords))
        return bound.args

    def step_for(self, *args, **keywords):
        """The step for arguments like these."""
        args = self._by_place(args, keywords)
        key = self._key(args)
        with self._lock:
            if key not in self.steps:
                exported = export(self.function, *args, **self.export_options)
                self.steps[key] = ExportedStep(exported, dict(self.options, **dict(key[2])))
            return self.steps[key]

    def __call__(self, *args, **keywords):
        args = self._by_place(args, keywords)
        step = self.step_for(*args)
        leaves = [plain(leaf) for leaf in jax.tree_util.tree_leaves(args)]
        if any(isinstance(leaf, jax.core.Tracer) for leaf in leaves):
            flat = _bind(step, leaves)
        else:
            flat = self._run(self._key(args), step, leaves)
        dtypes = step.exported.result_dtypes
        flat = [jax.random.wrap_key_data(a, impl=t._impl) if is_key(t) else a for a, t in zip(flat, dtypes)]
        return jax.tree_util.tree_unflatten(step.exported.tree, flat)

    def _run(self, key, step, leaves):
        """A call outside of jit, which has its errors at once."""
        if key not in self._calls:
            donated = [a.leaf for a, info in zip(step.exported.arguments, step.step.arguments)
                       if info.donation is not None]
            self._calls[key] = jax.jit(lambda *leaves: _bind(step, leaves), donate_argnums=donated)
        try:
            return jax.block_until_ready(self._calls[key](*leaves))
        except (jax.errors.JaxRuntimeError, ValueError) as error:
            # Of JAX 0.10, what fails by a check is a ValueError.
            if not isinstance(error, jax.errors.JaxRuntimeError) and "remat: " not in str(error):
                raise
            raise RunError(str(error), "error of XLA") from error

    def loss(self, *args, **keywords):
        """What the function gives, the loss alone, as JAX may differentiate it with respect to `argnums`, such as in a
        larger function. The step computes the gradients with it, for whatever cotangent the loss will have."""
        if not self.export_options["differentiate"]:
            raise ArgumentError("the function was compiled with differentiate=False, so its loss is not known")
        args = self._by_place(args, keywords)
        argnums, has_aux = self.export_options["argnums"], self.export_options["has_aux"]
        numbers = numbers_of("argnums", argnums, len(args))

        def values(*args):
            return self(*args)[0]

        def forward(*args):
            for number, arg in enumerate(args):
                if number not in numbers and any(leaf.perturbed for leaf in jax.tree_util.tree_leaves(arg)):
                    raise ArgumentError("the loss has gradients with respect to argnums=%s, but is differentiated with "
                                        "respect to argument %d" % (argnums, number))
            return self(*jax.tree_util.tree_map(lambda leaf: leaf.value, args))

        def backward(gradients, cotangent):
            if has_aux:
                cotangent, others = cotangent
                if not all(map(_is_zero, jax.tree_util.tree_leaves(others))):
                    raise ArgumentError("what comes with the loss (has_aux=True) has no gradients, but is "
                                        "differentiated")
            if _is_zero(cotangent):
                return (None,) * len(args)
            scaled = jax.tree_util.tree_map(lambda g: (g * cotangent).astype(g.dtype), gradients)
            found = dict(zip(numbers, [scaled] if isinstance(argnums, int) else scaled))
            return tuple(found.get(n) for n in range(len(args)))

        loss = jax.custom_vjp(values)
        loss.defvjp(forward, backward, symbolic_zeros=True)
        return loss(*args)

    @property
    def step(self):
        """The step that was compiled last, an ExportedStep: what it does is seen by its `report`, `profile`, `explain`
        and so on."""
        if not self.steps:
            raise ArgumentError("no step is compiled yet: call the function, or its `step_for` with the arguments of a "
                                "call")
        return list(self.steps.values())[-1]

    @property
    def memory(self):
        """Of the step that was compiled last."""
        return self.step.memory

    def __repr__(self):
        name = getattr(self.function, "__name__", repr(self.function))
        return "remat.jax.compile(%s): %s" % (name, repr(self.step) if self.steps else "no step compiled yet")


def _device(leaves, options):
    """The options that say what runs the step, unless the caller does: where JAX would compute."""
    if options.get("target") or options.get("device"):
        return ()
    arrays = [leaf for leaf in leaves if isinstance(leaf, jax.Array) and not isinstance(leaf, jax.core.Tracer)]
    # What was put somewhere stays there; the rest follows.
    arrays.sort(key=lambda array: not getattr(array, "committed", True))
    default = jax.config.jax_default_device
    if arrays:
        device = min(arrays[0].devices(), key=lambda device: device.id)
    elif default is not None and not isinstance(default, str):
        device = default
    else:
        device = jax.local_devices(backend=default)[0]
    if device.platform == "cpu":
        return ()
    if device.client.platform_version.lower().find("cuda") < 0:
        raise ArgumentError("the arrays are on %s, expected the CPU or a CUDA device" % device)
    return (("target", "cuda"), ("device", "cuda:%d" % device.local_hardware_id))


def _is_zero(cotangent):
    """Integers have only such cotangents."""
    return isinstance(cotangent, SymbolicZero) or cotangent.dtype == jax.dtypes.float0


def _bind(step, leaves):
    exported = step.exported
    arrays = [packed_as_bytes(leaves[a.leaf]) if a.leaf is not None else jax.numpy.asarray(exported.weights[a.name])
              for a in exported.arguments]
    results = primitive.bind(*arrays, step=step.step, dtypes=tuple(map(_stored, exported.result_dtypes)))
    results = [result if is_key(t) else from_bytes(result, t) for result, t in zip(results, exported.result_dtypes)]
    return [_weak(result) if is_weak else result for result, is_weak in zip(results, exported.results_are_weak)]


def _weak(result):
    """A result whose type gives way to those of others, as that of a number of Python does."""
    return jax.lax.convert_element_type_p.bind(result, new_dtype=result.dtype, weak_type=True, sharding=None)


def _kind(leaf):
    """All that a program depends on of an argument."""
    aval = jax.api_util.shaped_abstractify(leaf)
    return aval.shape, str(aval.dtype), aval.weak_type


def _stored(dtype):
    """The type of NumPy that elements of a result are stored as."""
    if is_key(dtype):
        return np.dtype("uint32")
    return np.dtype("int8") if is_packed(dtype) else np.dtype(dtype)


def compile(function, budget=None, policy=None, argnums=0, differentiate=True, has_aux=False, donate_argnums=(),
            **options):
    """`jax.value_and_grad(function, argnums, has_aux)` as one step of remat under a budget; see remat.compile for the
    options. With `differentiate=False`, the function itself. Where JAX computes on a GPU, so does the step. As with
    `jax.jit`, results may have the buffers of the arguments `donate_argnums`; inside of a `jax.jit` that does not
    donate them, they are copied."""
    if options.get("optimizer"):
        raise ArgumentError("optimizer: " + NOT_IN_JAX)
    if str(options.get("microbatches") or 1) != "1":
        raise ArgumentError("microbatches: the function is given whole batches; split_batch does one in parts, and "
                            "what remat.jax.export makes of one part takes several with remat.compile(..., "
                            "microbatches=M)")
    for name in ("static_argnums", "static_argnames"):
        if is_given(options, name):
            raise ArgumentError("%s: a step is compiled for one value of such arguments; bind them by functools.partial"
                                % name)
    for name in ("accumulate", "cotangents", "tangents", "wrt", "result", "narrow", "widen"):
        if is_given(options, name):
            raise ArgumentError("the option '%s' is not one of a function of JAX, which says itself what it computes, "
                                "from what and in which types" % name)
    export_options = {"argnums": argnums, "differentiate": differentiate, "has_aux": has_aux,
                      "donate_argnums": donate_argnums}
    for name in ("unroll_limit", "max_trip_count"):
        limit = str(options.get(name))
        if limit.isdigit():  # The compiler refuses other values.
            export_options[name] = int(limit)
    return CompiledFunction(function, export_options, dict(options, budget=budget, policy=policy))

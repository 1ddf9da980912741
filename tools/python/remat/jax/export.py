"""From a function of JAX to IR, weights and a manifest.

What is exported is the jaxpr of the function with its gradient, which JAX itself has made: stop_gradient, custom_vjp,
custom_jvp and the policies of checkpoint have had their effect on it.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import functools
import inspect

import jax

from ..errors import ArgumentError, ExportError
from ..exported import Argument, Exported, Result, unique_name
from . import primitives  # noqa: F401
from .loops import scan_sizes
from .lower import UNROLL_LIMIT, Lowering, scope_of
from .stored import from_bytes, is_stored, packed_as_bytes
from .types import element_of, is_key, is_supported, physical, unsupported
from .whiles import with_gradients


def _names_of(function, args):
    """A name for each leaf of the arguments: that of the parameter, then the path. No two are the same."""
    try:
        parameters = [p.name for p in inspect.signature(function).parameters.values()
                      if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    except (TypeError, ValueError):
        parameters = []
    names, taken = [], set()
    for number, arg in enumerate(args):
        first = parameters[number] if number < len(parameters) else "arg%d" % number
        for path, _ in jax.tree_util.tree_flatten_with_path(arg)[0]:
            keys = [str(getattr(k, "key", getattr(k, "idx", getattr(k, "name", k)))) for k in path]
            names.append(unique_name(".".join([first] + keys), taken))
    return names


def _without_references(closed, names):
    """The program without references that it makes (`jax.new_ref`): what it writes to them are values that it hands on,
    as under jax.jit."""
    from jax._src.interpreters import pxla
    jaxpr = closed.jaxpr
    kinds = ["argument " + name for name in names] + ["a constant"] * len(jaxpr.constvars)
    for var, name in zip([*jaxpr.invars, *jaxpr.constvars], kinds):
        if type(var.aval).__name__ == "AbstractRef":
            raise ExportError("%s is a reference, %s: a step writes to none of the caller; give it the value, "
                              "reference[...], and return the new one" % (name, var.aval.str_short()))
    has_references = any(type(effect).__name__ == "InternalMutableArrayEffect" for effect in closed.jaxpr.effects)
    return pxla._discharge_internal_refs(closed) if has_references else closed


def _without_dead_code(closed):
    from jax._src.interpreters import partial_eval
    jaxpr, used = partial_eval.dce_jaxpr(closed.jaxpr, [True] * len(closed.jaxpr.outvars), instantiate=True)
    return jaxpr, closed.consts


def _donations(jaxpr, donated):
    """Each donated argument with the first result of its type that has no buffer yet, as jax.jit does."""
    free = [physical(v.aval) for v in jaxpr.outvars]
    pairs = {}
    for number, (var, is_donated) in enumerate(zip(jaxpr.invars, donated)):
        if is_donated and physical(var.aval) in free:
            result = free.index(physical(var.aval))
            free[result] = None
            pairs[number] = result
    return pairs


def numbers_of(name, numbers, count):
    """The numbers of the arguments that are meant. Those below zero count from the end, as in JAX."""
    given = (numbers,) if isinstance(numbers, int) else tuple(numbers)
    if any(not -count <= n < count for n in given):
        raise ExportError("%s %s are not those of %d arguments" % (name, given, count))
    return tuple(n % count for n in given)


def export(function, *args, argnums=0, differentiate=True, has_aux=False, donate_argnums=(),
           unroll_limit=UNROLL_LIMIT, max_trip_count=0):
    """Exports a call of `function`, which gives a loss, with the gradients with respect to `argnums`.

    With `has_aux`, the loss is the first of the two results of `function`, as in `jax.value_and_grad`. With
    `differentiate=False` the function is taken as it is; it may have computed gradients itself. `donate_argnums` are
    arguments whose buffers results may have. Loops that unroll to more than `unroll_limit` operations of JAX stay
    loops. Loops that run as often as is known at run time only may run up to `max_trip_count` iterations, or any number
    if that is 0; only with a maximum they have gradients. What cannot be exported whole is an ExportError with the line
    of the program.
    """
    numbers = numbers_of("argnums", argnums, len(args)) if differentiate else ()
    donated_numbers = numbers_of("donate_argnums", donate_argnums, len(args))
    names = _names_of(function, args)
    called = getattr(function, "__name__", "function")
    if differentiate and max_trip_count:
        function = with_gradients(function, args, max_trip_count)
    whole = jax.value_and_grad(function, argnums=argnums, has_aux=has_aux) if differentiate else function
    closed, shapes = jax.make_jaxpr(whole, return_shape=True)(*args)
    jaxpr, consts = _without_dead_code(_without_references(closed, names))
    for value in consts:
        if isinstance(value, jax.core.Tracer):
            raise ExportError("'%s' uses a value of shape %s that a transformation of JAX around it traces, such as "
                              "jax.jit, jax.grad or jax.vmap; give it the value as an argument" % (
                                  called, tuple(value.shape)))

    owner = [n for n, arg in enumerate(args) for _ in jax.tree_util.tree_leaves(arg)]
    lowering = Lowering(unroll_limit=unroll_limit, max_trip_count=max_trip_count)
    lowering.scan_sizes = scan_sizes(jaxpr)
    lowering.constants, lowering.taken = [], set(names)
    donations = _donations(jaxpr, [n in donated_numbers for n in owner])
    values, arguments, weights = [], [], {}
    leaves = jax.tree_util.tree_leaves(args)
    for number, (var, name) in enumerate(zip(jaxpr.invars, names)):
        shape, dtype = physical(var.aval)
        if not is_supported(dtype):
            raise ExportError("argument %s: %s" % (name, unsupported(dtype)))
        values.append(lowering.function.argument(shape, element_of(dtype), name, donations.get(number)))
        is_parameter = differentiate and owner[number] in numbers
        arguments.append(Argument(name, "param" if is_parameter else "data", element_of(dtype), shape, number))
        if is_parameter:
            weights[name] = packed_as_bytes(plain(leaves[number]))
    constants = [lowering.constant(c, "constant%d" % i) for i, c in enumerate(consts)]
    results = lowering.run(jaxpr, constants, values)
    results = [lowering.whole(v) for v in results]
    lowering.apply_regions()
    for name, array in lowering.constants:
        weights[name] = array
        arguments.append(Argument(name, "constant", element_of(array.dtype), array.shape))
    infos = _results(shapes, names, owner, numbers, differentiate, has_aux)
    for info, var in zip(infos, jaxpr.outvars):
        dtype = physical(var.aval)[1]
        info.unsigned = dtype.kind == "u"
        if is_stored(dtype):
            info.restore = functools.partial(from_bytes, dtype=dtype)
    numbers = {a.name: number for number, a in enumerate(arguments)}
    gradients = {n: numbers[r.of] for n, r in enumerate(infos) if r.role == "gradient"}
    text = lowering.function.text(results, [r.name for r in infos], gradients=gradients)
    exported = Exported(text, arguments, infos, weights, _layers(jaxpr), called,
                        leaf_map(jax.tree_util.tree_structure(args), names))
    exported.examples = {a.name: packed_as_bytes(plain(leaves[a.leaf])) for a in arguments if a.role == "data"}
    exported.donated.update(arguments[number].name for number in donations)
    exported.tree = jax.tree_util.tree_structure(shapes)
    exported.result_dtypes = [leaf.dtype for leaf in jax.tree_util.tree_leaves(shapes)]
    exported.results_are_weak = [getattr(aval, "weak_type", False) for aval in closed.out_avals]
    return exported


def leaf_map(structure, names):
    """Takes the arguments of a call to their leaves, if they are in containers like those of the exported call."""
    def leaves_of(args, kwargs):
        if kwargs:
            raise ArgumentError("arguments are given by their places, got the keywords %s" % ", ".join(sorted(kwargs)))
        found, given = jax.tree_util.tree_flatten(tuple(args))
        if given != structure:
            raise ArgumentError("the arguments behind the weights, which may be None, are %s, expected %s with the "
                                "leaves %s" % (given, structure, ", ".join(names)))
        return [packed_as_bytes(plain(leaf)) for leaf in found]

    return leaves_of


def _results(shapes, names, owner, numbers, differentiate, has_aux):
    if not differentiate:
        paths = jax.tree_util.tree_flatten_with_path(shapes)[0]
        return [Result("result" + "".join(map(str, path)), "output") for path, _ in paths]
    infos = [Result("loss", "loss")]
    if has_aux:
        infos += [Result("aux" + "".join(map(str, path)), "output")
                  for path, _ in jax.tree_util.tree_flatten_with_path(shapes[0][1])[0]]
    for number in numbers:
        infos += [Result(name + ".grad", "gradient", name) for name, n in zip(names, owner) if n == number]
    return infos


def _layers(jaxpr):
    """The scopes of the program, with the first line of each."""
    from jax._src import source_info_util
    layers = {}
    for eqn in jaxpr.eqns:
        stack = scope_of(eqn.source_info.name_stack)
        frame = source_info_util.user_frame(eqn.source_info.traceback)
        if stack and stack not in layers:
            layers[stack] = {"name": stack, **({"file": frame.file_name, "line": frame.start_line} if frame else {})}
    return list(layers.values())


def plain(leaf):
    """A leaf as what the step takes: keys are their words, and what is no array of JAX becomes one, by JAX's own rules
    for its type."""
    leaf = _typed(leaf)
    return jax.random.key_data(leaf) if is_key(leaf.dtype) else leaf


def _typed(leaf):
    """JAX makes f32 of f64, and i32 of i64, unless it was told to have these."""
    return leaf if isinstance(leaf, jax.Array) else jax.numpy.asarray(leaf)

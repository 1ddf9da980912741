"""Rules of calls and branches. Calls are inlined, and of branches that are chosen while the step runs all are computed.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import warnings

import jax
from jax.extend import core as jax_core

from ..mlir import identity
from .rules import rule, takes_stacks


def inner_jaxprs(value):
    """The jaxprs in a parameter of an operation."""
    for part in value if isinstance(value, (tuple, list)) else (value,):
        if isinstance(part, jax_core.ClosedJaxpr):
            yield part.jaxpr
        elif isinstance(part, jax_core.Jaxpr):
            yield part


def has_while(jaxpr):
    return any(eqn.primitive.name == "while" or any(has_while(j) for p in eqn.params.values() for j in inner_jaxprs(p))
               for eqn in jaxpr.eqns)


def run_closed(l, closed, arguments):
    """Inlines a jaxpr, closed or with constants as its first arguments."""
    if isinstance(closed, jax_core.ClosedJaxpr):
        consts = [l.constant(c, "constant%d" % len(l.constants)) for c in closed.consts]
        return l.run(closed.jaxpr, consts, arguments)
    return l.run(closed, [], arguments)


def inline(l, function, *operands):
    """The first result of a function of JAX, traced for operands, which are values with their dtypes."""
    traced = jax.make_jaxpr(function)(*(jax.ShapeDtypeStruct(v.shape, d) for v, d in operands))
    backward = l.backward
    results = l.run(traced.jaxpr, [l.constant(c, l.eqn.primitive.name) for c in traced.consts],
                    [v for v, _ in operands])
    l.backward = backward
    return l.whole(results[0])


@rule("jit", "pjit", "closed_call", "core_call", "remat", "remat2", "checkpoint", "custom_lin", "custom_vmap_call",
      "eval_jaxpr", "composite")
@takes_stacks
def _call(l, *arguments, **params):
    return run_closed(l, params.get("jaxpr", params.get("call_jaxpr", params.get("call"))), arguments)


@rule("custom_jvp_call")
@takes_stacks
def _custom_jvp(l, *arguments, call_jaxpr, **_):
    return run_closed(l, call_jaxpr, arguments)


@rule("custom_vjp_call", "custom_vjp_call_jaxpr")
@takes_stacks
def _custom_vjp(l, *arguments, **params):
    return run_closed(l, params.get("call_jaxpr", params.get("fun_jaxpr")), arguments)


@rule("linear_call")
@takes_stacks
def _linear_call(l, *arguments, callee, **_):
    """JAX has transposed it where a derivative needs that."""
    return run_closed(l, callee, arguments)


@rule("remat_step")
def _step(l, *_, **__):
    l.refuse("a step cannot be a part of another one; compile the function that it is made of")


def _run_branch(l, index, number, branches, arguments):
    """A branch that may not be taken, which loops in it have to know."""
    last = len(branches) - 1

    def is_taken(b, *names):
        limit = b.constant(number, index.element)
        if number in (0, last):
            return b.compare("sle" if number == 0 else "sge", names[0], limit, index.element)
        return b.compare("eq", names[0], limit, index.element)

    if last == 0 or not has_while(branches[number].jaxpr):
        return run_closed(l, branches[number], arguments)
    l.conditions.append(l.function.generic([(index, [])], (), "i1", is_taken))
    results = run_closed(l, branches[number], arguments)
    l.conditions.pop()
    return results


@rule("cond")
@takes_stacks
def _cond(l, index, *arguments, branches, **_):
    known = l.integer(index, l.aval()[1])
    if known is not None:
        return run_closed(l, branches[min(max(known, 0), len(branches) - 1)], arguments)
    results = [[l.whole(v) for v in _run_branch(l, index, number, branches, arguments)]
               for number in range(len(branches))]
    chosen = []
    for cases in zip(*results):
        def body(b, number, *names, element=cases[0].element):
            found = names[-1]
            for i in reversed(range(len(names) - 1)):
                # Below the first branch and above the last one are these.
                hit = b.compare("sle", number, b.constant(i, index.element), index.element)
                found = b.select(hit, names[i], found, element)
            return found

        inputs = [(index, [])] + [(v, identity(v.rank)) for v in cases]
        chosen.append(l.function.generic(inputs, cases[0].shape, cases[0].element, body))
    return chosen


@rule("platform_index")
def _platform_index(l, *, platforms):
    """Which branch of jax.lax.platform_dependent is for the CPU; None is for all platforms that no other names."""
    named = [i for i, names in enumerate(platforms) if names and "cpu" in names]
    found = named or [i for i, names in enumerate(platforms) if names is None]
    if not found:
        l.refuse("none of its branches is for the CPU, got %s" % (platforms,))
    value = l.function.constant(found[0], (), "i32")
    l.known[value.name] = found[0]
    return value


@rule("debug_print", "debug_callback")
def _debug(l, *_, **__):
    """JAX promises nothing about how often these run."""
    where = "%s:%d: " % (l.frame.file_name, l.frame.start_line) if l.frame else ""
    warnings.warn("%s%s: a step does not call functions of Python, so this is left out" % (
        where, l.eqn.primitive.name), stacklevel=2)
    return []


@rule("pure_callback", "io_callback")
def _callback(l, *_, **__):
    l.refuse("a step does not call functions of Python; write this one with jax.numpy, or call it before the step and "
             "give its result as an argument")

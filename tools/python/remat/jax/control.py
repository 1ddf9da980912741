"""Rules of calls, loops and branches. Calls are inlined, loops unrolled, and of branches that are chosen while the step
runs all are computed.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from jax.extend import core as jax_core

from ..mlir import identity
from .lower import Stack, rule

LONGEST_LOOP = 4096


def takes_stacks(function):
    function.takes_stacks = True
    return function


def run_closed(l, closed, arguments):
    """Inlines a jaxpr, closed or with constants as its first arguments."""
    if isinstance(closed, jax_core.ClosedJaxpr):
        consts = [l.constant(c, "constant%d" % len(l.constants)) for c in closed.consts]
        return l.run(closed.jaxpr, consts, arguments)
    return l.run(closed, [], arguments)


@rule("jit", "pjit", "closed_call", "core_call", "remat", "remat2", "checkpoint", "custom_lin", "custom_vmap_call")
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


def _parts(l, value, length):
    """The elements along the first dimension, without stacking what was just unstacked."""
    if isinstance(value, Stack):
        return value.parts
    parts = []
    for i in range(length):
        part = l.function.slice(value, [i] + [0] * (value.rank - 1), (1,) + value.shape[1:], [1] * value.rank)
        parts.append(l.function.reshape(part, value.shape[1:]))
    return parts


@rule("scan")
@takes_stacks
def _scan(l, *arguments, jaxpr, length, num_carry, reverse, num_consts=0, **_):
    if length > LONGEST_LOOP:
        l.refuse("a scan over %d elements is not supported, expected at most %d" % (length, LONGEST_LOOP))
    constants, carry = arguments[:num_consts], list(arguments[num_consts:num_consts + num_carry])
    stacks = [_parts(l, xs, length) for xs in arguments[num_consts + num_carry:]]
    outputs = [[None] * length for _ in range(len(jaxpr.out_avals) - num_carry)]
    for i in reversed(range(length)) if reverse else range(length):
        results = run_closed(l, jaxpr, list(constants) + carry + [xs[i] for xs in stacks])
        carry = results[:num_carry]
        for ys, y in zip(outputs, results[num_carry:]):
            ys[i] = y
    if length == 0:
        outputs = [l.function.constant(0, *l.result(num_carry + i)[::2]) for i in range(len(outputs))]
        return carry + outputs
    return carry + [Stack(ys) for ys in outputs]


@rule("while")
@takes_stacks
def _while(l, *arguments, cond_jaxpr, body_jaxpr, cond_nconsts, body_nconsts):
    """A loop whose number of iterations follows from numbers of the program."""
    for_cond, for_body = arguments[:cond_nconsts], arguments[cond_nconsts:cond_nconsts + body_nconsts]
    carry = list(arguments[cond_nconsts + body_nconsts:])
    for _ in range(LONGEST_LOOP + 1):
        go_on, = run_closed(l, cond_jaxpr, list(for_cond) + carry)
        known = l.known.get(go_on.name)
        if known is None:
            l.refuse("how often the loop runs depends on data; shapes and loops must be static")
        if not known:
            return carry
        carry = run_closed(l, body_jaxpr, list(for_body) + carry)
    l.refuse("a loop of more than %d iterations is not supported" % LONGEST_LOOP)


@rule("cond")
@takes_stacks
def _cond(l, index, *arguments, branches, **_):
    known = l.known.get(index.name)
    if known is not None:
        return run_closed(l, branches[min(max(known, 0), len(branches) - 1)], arguments)
    results = [[l.whole(v) for v in run_closed(l, branch, arguments)] for branch in branches]
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

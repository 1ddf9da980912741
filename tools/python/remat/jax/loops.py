"""Loops of known length, and the rule of scans. Short ones are unrolled; a long one is a remat.loop, whose body is a
function of its own.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from jax.extend import core as jax_core

from ..errors import ExportError
from ..mlir import Function
from .control import inner_jaxprs, run_closed
from .lower import Lowering, Stack
from .rules import rule, takes_stacks
from .tags import OFFLOADED, in_host_memory, tagged
from .types import element_of

LONGEST_UNROLLED = 4096


class RunTimeCount(ExportError):
    """How often a loop runs is not known where it is lowered."""


# How long loops are


def _jaxprs(eqn):
    for param in eqn.params.values():
        yield from inner_jaxprs(param)


def size_of(jaxpr, scans=None):
    """How many operations a jaxpr has when calls are inlined and scans unrolled. With `scans`, adds up there for each
    length what scans of this length have."""
    size = 0
    for eqn in jaxpr.eqns:
        inner = [size_of(j, scans) for j in _jaxprs(eqn)]
        own = sum(inner) if inner else 1
        if eqn.primitive.name == "scan":
            length = eqn.params["length"]
            own = length * max(own, 1)
            if scans is not None:
                scans[length] = scans.get(length, 0) + own
        size += own
    return size


def scan_sizes(jaxpr):
    """By lengths, to how many operations the scans of a program unroll. Those of one length stay loops together: a
    derivative reads what its scan has stacked."""
    scans = {}
    size_of(jaxpr, scans)
    return scans


def _open(closed):
    return closed.jaxpr if isinstance(closed, jax_core.ClosedJaxpr) else closed


def _stays(l, closed, length):
    size = length * max(size_of(_open(closed)), 1)
    return length > 1 and max(size, l.scan_sizes.get(length, 0)) > l.unroll_limit


# Unrolled loops


def _parts(l, value, length):
    """The elements along the first dimension, without stacking what was just unstacked."""
    if isinstance(value, Stack):
        return value.parts
    parts = []
    for i in range(length):
        part = l.function.slice(value, [i] + [0] * (value.rank - 1), (1,) + value.shape[1:], [1] * value.rank)
        parts.append(l.function.reshape(part, value.shape[1:]))
    return parts


def _unroll(l, closed, constants, carry, stacks, length, reverse):
    stacks = [_parts(l, xs, length) for xs in stacks]
    outputs = [[None] * length for _ in range(len(_open(closed).outvars) - len(carry))]
    count = len(carry)
    for i in reversed(range(length)) if reverse else range(length):
        results = run_closed(l, closed, constants + carry + [xs[i] for xs in stacks])
        carry = results[:count]
        for ys, y in zip(outputs, results[count:]):
            ys[i] = y
    if length == 0:
        return carry + [l.function.constant(0, *l.result(count + i)[::2]) for i in range(len(outputs))]
    return carry + [Stack(ys) for ys in outputs]


# Loops that stay


class LoopBody(Lowering):
    """The body of a loop: a function of its own. What it reads of the function around it becomes an invariant."""

    def __init__(self, outer):
        name = "%s_loop%d" % (outer.function.name, len(outer.function.private))
        super().__init__(Function(name), outer.unroll_limit, outer.max_trip_count)
        self.outer, self.scan_sizes = outer, outer.scan_sizes
        self.eqn, self.frame, self.backward = outer.eqn, outer.frame, outer.backward
        self.scope = outer.scope
        # Pairs of a value of the body and a function that gives the one outside. Constants are made outside only when
        # the body is whole: its lowering may fail, and then the loop is unrolled.
        self.invariants = []
        self.conditions = [self.take(value) for value in outer.conditions]
        self.refuses_run_time = outer.refuses_run_time

    def like(self, value, drop=0):
        return self.function.argument(value.shape[drop:], value.element)

    def offloads(self, number):
        """What an iteration offloads is a part of a stack, which is offloaded."""
        return False

    def take(self, value):
        """A value from outside. The body makes constants itself, so it knows their numbers."""
        number = self.outer.function.splats.get(value.name)
        if number is not None:
            inner = self.function.constant(number, value.shape, value.element)
        else:
            inner = self.like(value)
            self.invariants.append((inner, lambda: value))
        if value.name in self.outer.known:
            self.known[inner.name] = self.outer.known[value.name]
        return inner

    def large_constant(self, array, name):
        inner = self.function.argument(array.shape, element_of(array.dtype))
        self.invariants.append((inner, lambda: self.outer.large_constant(array, name)))
        return inner

    def arrange(self, carried, elements):
        """Brings the arguments into the order that remat.loop has."""
        values = carried + [inner for inner, _ in self.invariants] + elements
        self.function.arguments = [(value, None) for value in values]
        return [outside() for _, outside in self.invariants]


def _keep(l, closed, constants, carry, stacks, length, reverse, refuses_run_time):
    body, jaxpr = LoopBody(l), _open(closed)
    body.refuses_run_time = refuses_run_time
    count = len(carry)
    outside, carry, stacks = constants, [l.whole(v) for v in carry], [l.whole(v) for v in stacks]
    changes = [jaxpr.outvars[i] is not jaxpr.invars[len(constants) + i] for i in range(count)]
    inner_carry = [body.like(v) if changed else body.take(v) for v, changed in zip(carry, changes)]
    elements = [body.like(v, drop=1) for v in stacks]
    constants = [body.take(l.whole(v)) for v in constants]
    results = [body.whole(v) for v in run_closed(body, closed, constants + inner_carry + elements)]
    body.apply_regions()

    def changing(values):
        return [v for v, changed in zip(values, changes) if changed]

    invariants = body.arrange(changing(inner_carry), elements)
    if not l.in_region:
        l.save(list(outside) + carry + stacks)
    # What is stacked twice, such as for the caller and for the derivative, is one stack.
    stacked = {v.name: v for v in results[count:]}
    made = changing(results) + list(stacked.values())
    if not made:
        return carry
    found = iter(l.function.loop(body.function, length, reverse, changing(carry), invariants, stacks, made))
    carry = [next(found) if changed else v for v, changed in zip(carry, changes)]
    found = dict(zip(stacked, found))
    stacks = [found[v.name] for v in results[count:]]
    for number, var in enumerate(jaxpr.outvars[count:]):
        if in_host_memory(var.aval) and not isinstance(l, LoopBody):
            stacks[number] = tagged(l, stacks[number], OFFLOADED)
    return carry + stacks


def iterate(l, closed, constants, carry, stacks, length, reverse=False):
    arguments = closed, list(constants), list(carry), list(stacks), length, reverse
    if _stays(l, closed, length):
        try:
            return _keep(l, *arguments, refuses_run_time=True)
        except RunTimeCount:
            return _iterate_around(l, *arguments)
        except ExportError:
            # What depends on the number of an iteration may be known when the loop is unrolled.
            if length > LONGEST_UNROLLED:
                raise
    return _unroll(l, *arguments)


def _iterate_around(l, *arguments):
    """A long loop around one of which nothing says how often it runs. It may be known when the outer loop is unrolled;
    else it is known at run time only."""
    if arguments[4] <= LONGEST_UNROLLED:
        refuses, l.refuses_run_time = l.refuses_run_time, True
        try:
            return _unroll(l, *arguments)
        except RunTimeCount:
            if refuses:
                raise
        finally:
            l.refuses_run_time = refuses
    return _keep(l, *arguments, refuses_run_time=False)


def _groups(arguments, num_consts=0, num_carry=None, ft_in=None, **_):
    """The constants, the carried values and the stacks of a scan. Before JAX 0.11 it has the numbers of the first two,
    since then a tree of all three."""
    if ft_in is not None:
        num_consts, num_carry, _ = (len(group) for group in ft_in.unpack())
    first = num_consts + num_carry
    return arguments[:num_consts], arguments[num_consts:first], arguments[first:]


@rule("scan")
@takes_stacks
def _scan(l, *arguments, jaxpr, length, reverse, **params):
    return iterate(l, jaxpr, *_groups(arguments, **params), length, reverse)

"""Rules of scans and of loops that count. Short ones are unrolled; a long one is a remat.loop, whose body is a function
of its own.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from jax.extend import core as jax_core

from ..errors import ExportError
from ..mlir import Function
from .control import inner_jaxprs, run_closed
from .counts import MOST_ITERATIONS, TooManyIterations, count_iterations
from .lower import Lowering, Stack, element_of, is_float, physical, rule, takes_stacks

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
    return carry + [found[v.name] for v in results[count:]]


def _iterate(l, closed, constants, carry, stacks, length, reverse=False):
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


@rule("scan")
@takes_stacks
def _scan(l, *arguments, jaxpr, length, num_carry, reverse, num_consts=0, **_):
    first = num_consts + num_carry
    return _iterate(l, jaxpr, arguments[:num_consts], arguments[num_consts:first], arguments[first:], length, reverse)


@rule("while")
@takes_stacks
def _while(l, *arguments, cond_jaxpr, body_jaxpr, cond_nconsts, body_nconsts):
    """A loop whose number of iterations follows from numbers of the program, or is known at run time only."""
    from .whiles import run_while
    for_cond, for_body = arguments[:cond_nconsts], arguments[cond_nconsts:cond_nconsts + body_nconsts]
    carry = list(arguments[cond_nconsts + body_nconsts:])
    try:
        counted = count_iterations(cond_jaxpr, body_jaxpr, *([l.number(v) for v in values]
                                                             for values in (for_cond, for_body, carry)))
    except TooManyIterations:
        l.refuse("a loop of more than %d iterations is not supported" % MOST_ITERATIONS)
    if counted:
        length, numbers = counted
        results = _iterate(l, body_jaxpr, for_body, carry, [], length)
        return [_final(l, i, numbers[i]) if i in numbers else v for i, v in enumerate(results)]
    for _ in range(LONGEST_UNROLLED + 1):
        go_on, = run_closed(l, cond_jaxpr, list(for_cond) + carry)
        known = l.known.get(go_on.name)
        if known is None and l.refuses_run_time:
            raise RunTimeCount("how often the loop runs depends on data")
        if known is None:
            return run_while(l, cond_jaxpr, body_jaxpr, for_cond, for_body, carry)[1]
        if not known:
            return carry
        carry = run_closed(l, body_jaxpr, list(for_body) + carry)
    l.refuse("a loop of more than %d iterations is not supported" % LONGEST_UNROLLED)


def _final(l, index, number):
    """What is counted has a known value in the end."""
    _, dtype = physical(l.eqn.outvars[index].aval)
    value = l.function.constant(number, (), element_of(dtype))
    if not is_float(dtype):
        l.known[value.name] = int(number)
    return value

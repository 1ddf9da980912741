"""How often a loop runs whose end depends on numbers of the program alone: its counters are followed, in the arithmetic
of their types.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import operator

import numpy as np
from jax._src.interpreters import partial_eval
from jax.extend import core as jax_core

MOST_ITERATIONS = 1 << 20
CALLS = ("jit", "pjit", "closed_call", "core_call", "custom_jvp_call", "eval_jaxpr")
OPERATIONS = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "lt": operator.lt, "le": operator.le,
    "gt": operator.gt, "ge": operator.ge, "eq": operator.eq, "ne": operator.ne, "and": operator.and_,
    "or": operator.or_, "xor": operator.xor, "not": operator.invert, "neg": operator.neg, "abs": operator.abs,
    "max": np.maximum, "min": np.minimum, "square": lambda a: a * a, "copy": lambda a: a, "stop_gradient": lambda a: a,
    "select_n": lambda which, *cases: cases[int(which)]}


class TooManyIterations(Exception):
    pass


class _Unknown(Exception):
    """An operation that numbers are not followed through."""


def _operation(eqn):
    name = eqn.primitive.name
    if any(v.aval.shape for v in list(eqn.invars) + list(eqn.outvars)):
        raise _Unknown
    if name == "convert_element_type":
        return np.dtype(eqn.params["new_dtype"]).type
    # Quotients of integers have rules of their own.
    if name == "div" and np.issubdtype(eqn.outvars[0].aval.dtype, np.floating):
        return operator.truediv
    if name not in OPERATIONS:
        raise _Unknown
    return OPERATIONS[name]


def _program(jaxpr, consts):
    """A function of the jaxpr's arguments, numbers of NumPy."""
    places, start, lines = {}, [], []

    def place(var, value=None):
        places[var] = len(start)
        start.append(value)
        return places[var]

    def read(var):
        if isinstance(var, jax_core.Literal):
            start.append(_number(var.val, var.aval))
            return len(start) - 1
        return places[var]

    inputs = [place(v) for v in jaxpr.invars]
    for var, const in zip(jaxpr.constvars, consts):
        place(var, _number(const, var.aval) if not np.shape(const) else None)
    for eqn in jaxpr.eqns:
        if eqn.primitive.name in CALLS:
            closed = eqn.params.get("jaxpr", eqn.params.get("call_jaxpr"))
            inner = _program(*((closed.jaxpr, closed.consts) if isinstance(closed, jax_core.ClosedJaxpr)
                               else (closed, ())))
        else:
            inner = lambda *numbers, function=_operation(eqn): (function(*numbers),)
        operands = [read(v) for v in eqn.invars]
        lines.append((inner, operands, [place(v) for v in eqn.outvars]))
    outputs = [read(v) for v in jaxpr.outvars]

    def run(*numbers):
        values = start[:]
        for i, number in zip(inputs, numbers):
            values[i] = number
        for function, operands, results in lines:
            for i, number in zip(results, function(*[values[o] for o in operands])):
                values[i] = number
        return [values[o] for o in outputs]

    return run


def _number(number, aval):
    return np.asarray(number).astype(aval.dtype)[()]


def _needed(jaxpr, outputs):
    """The jaxpr without what these results do not need, and the numbers of the arguments that it has then."""
    jaxpr, used = partial_eval.dce_jaxpr(jaxpr, outputs)
    return jaxpr, [i for i, is_used in enumerate(used) if is_used]


def count_iterations(cond, body, for_cond, for_body, carry):
    """How often a `while` runs, and by their places the values that numbers among what it carries have in the end. The
    last three arguments are the numbers of its operands, None where they are not known. None if it depends on
    others."""
    test, test_inputs = _needed(cond.jaxpr, [True])
    counters, more = set(), {i - len(for_cond) for i in test_inputs if i >= len(for_cond)}
    while more - counters:
        counters |= more
        step, step_inputs = _needed(body.jaxpr, [i in counters for i in range(len(carry))])
        more = {i - len(for_body) for i in step_inputs if i >= len(for_body)}
    if not counters:
        return None
    given = [list(for_cond) + list(carry), list(for_body) + list(carry)]
    if any(given[0][i] is None for i in test_inputs) or any(given[1][i] is None for i in step_inputs):
        return None
    try:
        test_program, step_program = _program(test, cond.consts), _program(step, body.consts)
    except _Unknown:
        return None

    counters = sorted(counters)
    first = len(for_body)
    values = {i: _number(carry[i], body.jaxpr.invars[first + i].aval) for i in counters}

    def operands(inputs, jaxpr, constants):
        """Constants as numbers, and the places of counters."""
        return [(None, i - len(constants)) if i >= len(constants) else (_number(constants[i], jaxpr.invars[n].aval), 0)
                for n, i in enumerate(inputs)]

    tested = operands(test_inputs, test, for_cond)
    stepped = operands(step_inputs, step, for_body)
    with np.errstate(all="ignore"):
        for count in range(MOST_ITERATIONS + 1):
            go_on, = test_program(*[values[i] if n is None else n for n, i in tested])
            if not go_on:
                return count, {i: v.item() for i, v in values.items()}
            values = dict(zip(counters, step_program(*[values[i] if n is None else n for n, i in stepped])))
    raise TooManyIterations

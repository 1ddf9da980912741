"""The rule of `while`. A loop that counts is one of known length. Another is unrolled where all is known that it
depends on; else it carries whether there is another iteration, and how many have run.

JAX has no gradient of a `while`, since it does not know how much to save. With a maximum, remat gives it one: the loop
stacks what it carries, as far as it gets, and a loop that runs as often in the other direction has the derivative of an
iteration as its body. It makes again what the iteration computes.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import jax
import numpy as np
from jax._src import core, source_info_util
from jax.extend import core as jax_core

from .control import has_while, inner_jaxprs, run_closed
from .counts import MOST_ITERATIONS, TooManyIterations, count_iterations
from .loops import LONGEST_UNROLLED, LoopBody, RunTimeCount, iterate
from .rules import rule, takes_stacks
from .types import element_of, is_float, physical

WHILE, REVERSE = "remat_while", "remat_reverse_while"


# Loops of remat


def _add_one(function, number):
    one = function.constant(1, (), "i64")
    return function.generic([(number, []), (one, [])], (), "i64",
                            lambda b, *names: b.op("arith.addi %s, %s : i64" % names[:2]))


def _convert(function, value, element, name):
    return function.generic([(value, [])], (), element,
                            lambda b, *names: b.op("%s %s : %s to %s" % (name, names[0], value.element, element)))


def _gate(l, flag):
    """Whether a loop begins: in a branch that is not taken, nothing says that it would end."""
    for condition in l.conditions:
        flag = l.function.generic([(flag, []), (condition, [])], (), "i1",
                                  lambda b, *names: b.op("arith.andi %s, %s : i1" % names[:2]))
    return flag


def of_one_condition(cond_jaxpr, body_jaxpr, cond_nconsts, body_nconsts, **params):
    """The parameters of a `while` with one condition, and whether they are others. jax.vmap makes loops with a
    condition for each element: such a loop runs as long as one of them holds, and then changes only the elements for
    which it does. Its body takes the constants of the condition, too."""
    shape = cond_jaxpr.out_avals[0].shape
    given = dict(params, cond_jaxpr=cond_jaxpr, body_jaxpr=body_jaxpr, cond_nconsts=cond_nconsts,
                 body_nconsts=body_nconsts)
    if not shape:
        return given, False

    def holds(*values):
        return core.eval_jaxpr(cond_jaxpr.jaxpr, cond_jaxpr.consts, *values)[0]

    def choose(flags, new, old):
        return jax.lax.select(jax.lax.broadcast_in_dim(flags, old.shape, range(len(shape))), new, old)

    def iterate(*values):
        for_cond, for_body = values[:cond_nconsts], values[cond_nconsts:cond_nconsts + body_nconsts]
        carry = values[cond_nconsts + body_nconsts:]
        flags = holds(*for_cond, *carry)
        after = core.eval_jaxpr(body_jaxpr.jaxpr, body_jaxpr.consts, *for_body, *carry)
        return [choose(flags, new, old) for new, old in zip(after, carry)]

    trace = lambda function, avals: jax.make_jaxpr(function)(*(jax.ShapeDtypeStruct(a.shape, a.dtype) for a in avals))
    condition = trace(lambda *values: holds(*values).any(), cond_jaxpr.in_avals)
    body = trace(iterate, cond_jaxpr.in_avals[:cond_nconsts] + body_jaxpr.in_avals)
    return dict(given, cond_jaxpr=condition, body_jaxpr=body, body_nconsts=cond_nconsts + body_nconsts), True


def run_while(l, cond_jaxpr, body_jaxpr, for_cond, for_body, carry, stacked=0):
    """How often a `while` runs, what it carries in the end, and what each iteration begins with, for `stacked` of them,
    which are the most."""
    carry = [l.whole(v) for v in carry]
    for_cond, for_body = ([l.whole(v) for v in values] for values in (for_cond, for_body))
    goes_on, = run_closed(l, cond_jaxpr, for_cond + carry)
    first = len(for_body)
    changes = [body_jaxpr.jaxpr.outvars[i] is not body_jaxpr.jaxpr.invars[first + i] for i in range(len(carry))]

    def changing(values):
        return [v for v, changed in zip(values, changes) if changed]

    body = LoopBody(l)
    flag, number = body.function.argument((), "i1"), body.function.argument((), "i64")
    inner = [body.like(v) if changed else body.take(v) for v, changed in zip(carry, changes)]
    inner_cond, inner_body = ([body.take(v) for v in values] for values in (for_cond, for_body))
    after = [body.whole(v) for v in run_closed(body, body_jaxpr, inner_body + inner)]
    after = [v if changed else given for v, given, changed in zip(after, inner, changes)]
    again, = run_closed(body, cond_jaxpr, inner_cond + after)
    results = [again, _add_one(body.function, number)] + changing(after)
    if stacked:
        results += changing(inner)
    body.apply_regions()
    invariants = body.arrange([flag, number] + changing(inner), [])
    if not l.in_region:
        l.save(for_cond + for_body + carry)
    inits = [_gate(l, goes_on), l.function.constant(0, (), "i64")] + changing(carry)
    found = l.function.loop(body.function, stacked or l.max_trip_count, False, inits, invariants, [], results,
                            conditional=True)
    count, found = found[1], iter(found[2:])
    finals = [next(found) if changed else v for v, changed in zip(carry, changes)]
    return count, finals, list(found)


@rule(WHILE)
@takes_stacks
def _bounded_while(l, *arguments, cond_jaxpr, body_jaxpr, cond_nconsts, body_nconsts, most):
    first = cond_nconsts + body_nconsts
    count, finals, stacks = run_while(l, cond_jaxpr, body_jaxpr, arguments[:cond_nconsts],
                                      arguments[cond_nconsts:first], arguments[first:], most)
    return [_convert(l.function, count, "i32", "arith.trunci")] + finals + stacks


@rule(REVERSE)
def _reverse_while(l, count, *arguments, jaxpr, num_consts, num_carry, most):
    constants, carry = list(arguments[:num_consts]), list(arguments[num_consts:num_consts + num_carry])
    stacks = list(arguments[num_consts + num_carry:])
    body = LoopBody(l)
    inner = [body.like(v) for v in carry]
    elements = [body.like(v, drop=1) for v in stacks]
    results = [body.whole(v) for v in run_closed(body, jaxpr, [body.take(v) for v in constants] + inner + elements)]
    body.apply_regions()
    invariants = body.arrange(inner, elements)
    if not l.in_region:
        l.save(list(arguments))
    trips = _convert(l.function, count, "i64", "arith.extsi")
    return l.function.loop(body.function, most, True, carry, invariants, stacks, results, trips=trips)


@rule("while")
@takes_stacks
def _while(l, *arguments, cond_jaxpr, body_jaxpr, cond_nconsts, body_nconsts):
    """A loop whose number of iterations follows from numbers of the program, or is known at run time only."""
    params, several = of_one_condition(cond_jaxpr, body_jaxpr, cond_nconsts, body_nconsts)
    if several:
        return _while(l, *arguments[:cond_nconsts], *arguments, **params)
    for_cond, for_body = arguments[:cond_nconsts], arguments[cond_nconsts:cond_nconsts + body_nconsts]
    carry = list(arguments[cond_nconsts + body_nconsts:])
    try:
        counted = count_iterations(cond_jaxpr, body_jaxpr, *([l.number(v) for v in values]
                                                             for values in (for_cond, for_body, carry)))
    except TooManyIterations:
        l.refuse("a loop of more than %d iterations is not supported" % MOST_ITERATIONS)
    if counted:
        length, numbers = counted
        results = iterate(l, body_jaxpr, for_body, carry, [], length)
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


# Gradients


while_p, reverse_p = jax_core.Primitive(WHILE), jax_core.Primitive(REVERSE)
while_p.multiple_results = reverse_p.multiple_results = True


def _changing(body_jaxpr, body_nconsts):
    """The numbers of what changes among what a loop carries."""
    jaxpr = body_jaxpr.jaxpr
    return [i for i, v in enumerate(jaxpr.outvars) if v is not jaxpr.invars[body_nconsts + i]]


@while_p.def_abstract_eval
def _while_avals(*avals, cond_jaxpr, body_jaxpr, cond_nconsts, body_nconsts, most):
    carry = [core.ShapedArray(a.shape, a.dtype) for a in avals[cond_nconsts + body_nconsts:]]
    stacks = [core.ShapedArray((most,) + carry[i].shape, carry[i].dtype) for i in _changing(body_jaxpr, body_nconsts)]
    return [core.ShapedArray((), np.dtype("int32"))] + carry + stacks


@reverse_p.def_abstract_eval
def _reverse_avals(*avals, jaxpr, num_consts, num_carry, most):
    return [core.ShapedArray(a.shape, a.dtype) for a in avals[1 + num_consts:1 + num_consts + num_carry]]


def _is_active(aval):
    return jax.numpy.issubdtype(aval.dtype, np.floating)


def _run_differentiable(most, values, cond_jaxpr, body_jaxpr, cond_nconsts, body_nconsts, **params):
    """A `while` with a gradient."""
    first = cond_nconsts + body_nconsts
    names = {"cond_jaxpr": cond_jaxpr, "body_jaxpr": body_jaxpr, "cond_nconsts": cond_nconsts,
             "body_nconsts": body_nconsts}

    @jax.custom_vjp
    def run(*values):
        return jax.lax.while_p.bind(*values, **names, **params)

    def forward(*values):
        results = while_p.bind(*values, most=most, **names)
        count, finals, stacks = results[0], results[1:1 + len(values) - first], results[1 + len(values) - first:]
        return list(finals), (count, values, stacks)

    def backward(saved, cotangents):
        count, values, stacks = saved
        constants, carry = values[cond_nconsts:first], values[first:]
        changing = _changing(body_jaxpr, body_nconsts)
        # What does not change is a constant of the body, which is summed over.
        places = {i: n for n, i in enumerate(changing)}
        active_constants = [i for i, v in enumerate(constants) if _is_active(v)]
        active_fixed = [i for i, v in enumerate(carry) if i not in places and _is_active(v)]
        active = [i for i in changing if _is_active(carry[i])]

        def step(*parts):
            parts = list(parts)
            take = lambda n: [parts.pop(0) for _ in range(n)]
            constants_here, fixed = take(len(constants)), take(len(carry) - len(changing))
            now, sums, elements = take(len(active)), take(len(active_constants) + len(active_fixed)), parts
            begin, rest = [], iter(fixed)
            for i in range(len(carry)):
                begin.append(elements[places[i]] if i in places else next(rest))

            def iterate(some_constants, some_fixed, some):
                all_constants, all_begin = list(constants_here), list(begin)
                for i, v in zip(active_constants, some_constants):
                    all_constants[i] = v
                for i, v in zip(active_fixed + active, list(some_fixed) + list(some)):
                    all_begin[i] = v
                results = core.eval_jaxpr(body_jaxpr.jaxpr, body_jaxpr.consts, *all_constants, *all_begin)
                return [results[i] for i in active]

            _, pull = jax.vjp(iterate, [constants_here[i] for i in active_constants],
                              [begin[i] for i in active_fixed], [begin[i] for i in active])
            of_constants, of_fixed, of_begin = pull(now)
            return [*of_begin, *(a + b for a, b in zip(sums, [*of_constants, *of_fixed]))]

        fixed = [v for i, v in enumerate(carry) if i not in places]
        inits = [cotangents[i] for i in active]
        inits += [jax.numpy.zeros_like(constants[i]) for i in active_constants]
        inits += [jax.numpy.zeros_like(carry[i]) for i in active_fixed]
        elements = [jax.ShapeDtypeStruct(v.shape[1:], v.dtype) for v in stacks]
        jaxpr = jax.make_jaxpr(step)(*constants, *fixed, *inits, *elements)
        found = reverse_p.bind(count, *constants, *fixed, *inits, *stacks, jaxpr=jaxpr,
                               num_consts=len(constants) + len(fixed), num_carry=len(inits), most=most)
        gradients = [None] * len(values)
        for i in active_fixed:
            gradients[first + i] = cotangents[i]
        for place, gradient in zip([first + i for i in active] + [cond_nconsts + i for i in active_constants] +
                                   [first + i for i in active_fixed], found):
            gradients[place] = gradient if gradients[place] is None else gradients[place] + gradient
        return tuple(gradients)

    run.defvjp(forward, backward)
    return run(*values)


def _rewritten(part, most):
    """A jaxpr, closed or not, whose loops have gradients."""
    if isinstance(part, (tuple, list)):
        return type(part)(_rewritten(p, most) for p in part)
    if not any(has_while(j) for j in inner_jaxprs(part)):
        return part
    closed = part if isinstance(part, jax_core.ClosedJaxpr) else jax_core.ClosedJaxpr(part, ())
    made = jax.make_jaxpr(lambda *values: evaluate(closed, values, most))(*[v.aval for v in closed.jaxpr.invars])
    return made if isinstance(part, jax_core.ClosedJaxpr) or made.consts else made.jaxpr


def evaluate(closed, arguments, most):
    """The results of a jaxpr. Its loops have gradients, for up to `most` iterations; those in rules of a derivative are
    as they are."""
    jaxpr, env = closed.jaxpr, {}
    read = lambda v: v.val if isinstance(v, jax_core.Literal) else env[v]
    env.update(zip(jaxpr.constvars, closed.consts))
    env.update(zip(jaxpr.invars, arguments))
    for eqn in jaxpr.eqns:
        values = [read(v) for v in eqn.invars]
        stack = source_info_util.current_name_stack() + eqn.source_info.name_stack
        with source_info_util.user_context(eqn.source_info.traceback, name_stack=stack), eqn.ctx.manager:
            if eqn.primitive.name == "while":
                params, several = of_one_condition(**eqn.params)
                values = values[:eqn.params["cond_nconsts"]] * several + values
                results = _run_differentiable(most, values, **params)
            else:
                params = dict(eqn.params)
                if not eqn.primitive.name.startswith("custom_"):
                    params = {key: _rewritten(p, most) if any(map(has_while, inner_jaxprs(p))) else p
                              for key, p in params.items()}
                params, functions = eqn.primitive.get_bind_params(params), ()
                if isinstance(params, tuple):  # before JAX 0.10
                    functions, params = params
                results = eqn.primitive.bind(*functions, *values, **params)
        env.update(zip(eqn.outvars, results if eqn.primitive.multiple_results else [results]))
    return [read(v) for v in jaxpr.outvars]


def with_gradients(function, args, most):
    """`function`, whose loops have gradients."""
    closed, shapes = jax.make_jaxpr(function, return_shape=True)(*args)
    if not has_while(closed.jaxpr):
        return function
    tree = jax.tree_util.tree_structure(shapes)
    return lambda *args: jax.tree_util.tree_unflatten(tree, evaluate(closed, jax.tree_util.tree_leaves(args), most))


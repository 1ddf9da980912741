"""A jaxpr as a function of remat.

Calls are inlined, and loops unrolled as far as they are short. Each primitive has a rule in one of the modules beside
this one; one without a rule is an error that names it and the line of the program.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import re

import jax
import numpy as np
from jax._src import source_info_util
from jax.extend import core as jax_core

from ..errors import ExportError
from ..exported import unique_name
from ..mlir import Function, Value, quote
from .keys import on_words
from .rules import RULES
from .stable import REAL_ONLY, by_own_lowering, through_stablehlo
from .stored import bytes_of, computes_wide, through_wider
from .tags import in_host_memory
from .types import element_of, is_integer, is_key, is_supported, physical, unsupported, wrapped

LARGEST_CONSTANT = 256
UNROLL_LIMIT = 4096  # as the option of the compiler


def scope_of(stack):
    """The scopes in a name stack, without what JAX adds of its own: "head" of "transpose(jvp(head))"."""
    text, before = str(stack), None
    while text != before:
        text, before = re.sub(r"\b(?:jvp|transpose|vmap)\(([^()]*)\)", r"\1", text), text
    return "/".join(part for part in text.split("/") if part not in ("", "checkpoint", "rematted_computation"))


class Stack:
    """The values that a scan stacks, as long as nobody needs them in one piece."""

    def __init__(self, parts):
        self.parts = parts


class Lowering:
    """Builds the function."""

    def __init__(self, function=None, unroll_limit=UNROLL_LIMIT, max_trip_count=0):
        self.function = function or Function()
        self.unroll_limit = unroll_limit
        self.max_trip_count = max_trip_count  # of loops that run as often as is known at run time only; 0 is any number
        self.refuses_run_time = False  # whether a loop may run as often as is known at run time only
        self.conditions = []  # whether the branches are taken that what is lowered is in
        self.scan_sizes = {}  # to how many operations scans of a length unroll together
        self.known = {}  # numbers of rank 0 that are known, by the names of their values
        self.backward = False
        # That of the equation around a jaxpr, whose name stacks begin anew.
        self.scope = ""
        self.eqn = self.frame = None  # what is lowered, and the innermost line of the program that is known of it
        self.recomputes = self.in_region = False
        self.first_runs = {}  # results of forward operations by operation, operands and parameters
        self.run_again, self.saved = set(), set()
        self.taken = set()  # names of arguments

    # Values

    def read(self, env, var):
        if isinstance(var, jax_core.Literal):
            return self.literal(var.val, var.aval)
        return self.whole(env[var])

    def whole(self, value):
        if not isinstance(value, Stack):
            return value
        parts = [self.function.reshape(p, (1,) + p.shape) for p in map(self.whole, value.parts)]
        return self.function.concat(parts, 0)

    def literal(self, number, aval):
        shape, dtype = physical(aval)
        number = bytes_of(np.asarray(number, dtype))
        value = self.function.constant(number.reshape(-1)[0].item(), shape, element_of(dtype))
        if not shape and is_integer(dtype):
            self.known[value.name] = int(number)
        return value

    def constant(self, array, name):
        if is_key(getattr(array, "dtype", np.dtype("f4"))):
            array = jax.random.key_data(array)
        array = np.asarray(array)
        dtype, element = array.dtype, element_of(array.dtype)
        array = bytes_of(array)
        if array.size and _are_equal(array):
            value = self.function.constant(array.reshape(-1)[0].item(), array.shape, element)
            if not array.shape and is_integer(dtype):
                self.known[value.name] = int(array)
            return value
        if array.size <= LARGEST_CONSTANT:
            return self.function.dense(array.astype(np.float64 if element == "bf16" else array.dtype).tolist(), element)
        return self.large_constant(array, name)

    def large_constant(self, array, name):
        name = unique_name(name, self.taken)
        self.constants.append((name, array))
        return self.function.argument(array.shape, element_of(array.dtype), name)

    constants = ()

    def number(self, value):
        """The number that a value of rank 0 is known to be, or None."""
        if not isinstance(value, Value) or value.rank:
            return None
        return self.known.get(value.name, self.function.splats.get(value.name))

    def integer(self, value, dtype):
        """The integer of `dtype` that a value of rank 0 is known to be, or None. Types with and without a sign share
        their values."""
        number = self.known.get(value.name)
        return None if number is None else wrapped(number, dtype)

    def refuse(self, why):
        where = "%s:%d: " % (self.frame.file_name, self.frame.start_line) if self.frame else ""
        raise ExportError("%s%s: %s" % (where, self.eqn.primitive.name, why))

    def aval(self, number=0):
        """Shape, dtype and element of an operand."""
        return self.described(self.eqn.invars[number].aval)

    def described(self, aval):
        shape, dtype = physical(aval)
        if not is_supported(dtype):
            self.refuse(unsupported(dtype))
        return shape, dtype, element_of(dtype)

    def offloads(self, number):
        """Whether a result of the operation is in the memory of the host, but not what it is made of."""
        return in_host_memory(self.eqn.outvars[number].aval) and not in_host_memory(self.eqn.invars[number].aval)

    def result(self, number=0):
        return self.described(self.eqn.outvars[number].aval)

    # The graph

    def locate(self, eqn):
        """Says where an equation is: in a function of JAX itself, that is the line that calls it."""
        frame = self.frame
        stack = str(eqn.source_info.name_stack)
        text = "%s:%d:0" % (quote(frame.file_name), frame.start_line) if frame else "unknown"
        self.scope = "/".join(filter(None, (self.scope, scope_of(stack))))
        if self.scope:
            # With the separator at its end, a name is a scope and no operation.
            text = "%s(%s)" % (quote(self.scope + "/"), text) if frame else quote(self.scope + "/")
        if self.backward or "transpose(" in stack:
            text = "%s(%s)" % (quote("remat:phase=backward"), text if text != "unknown" else '"backward"')
        self.function.location = text

    def run(self, jaxpr, consts, arguments):
        """The results of a jaxpr, whose constants and arguments are values."""
        env = dict(zip(jaxpr.constvars, consts))
        env.update(zip(jaxpr.invars, arguments))
        for eqn in jaxpr.eqns:
            outer, frame, backward, location = self.eqn, self.frame, self.backward, self.function.location
            scope = self.scope
            try:
                env.update(zip(eqn.outvars, self.lower(eqn, frame, env)))
            finally:
                # What fails may be lowered in another way.
                self.eqn, self.frame, self.backward, self.function.location = outer, frame, backward, location
                self.scope = scope
        return [self.literal(v.val, v.aval) if isinstance(v, jax_core.Literal) else env[v] for v in jaxpr.outvars]

    def lower(self, eqn, frame, env):
        self.eqn = eqn
        self.frame = source_info_util.user_frame(eqn.source_info.traceback) or frame
        self.locate(eqn)
        self.backward = self.backward or "transpose(" in str(eqn.source_info.name_stack)
        operands = [env[v] if not isinstance(v, jax_core.Literal) else self.literal(v.val, v.aval) for v in eqn.invars]
        recomputes, in_region = self.recomputes, self.in_region
        try:
            results = self.apply(eqn, operands)
        finally:
            self.recomputes, self.in_region = recomputes, in_region
        self.check(results)
        return results

    def find_rule(self, eqn):
        """The rule of the primitive. Rules compute with real numbers; what does so with complex ones is lowered by JAX,
        but for what runs a jaxpr, whose primitives are met one by one."""
        name, rule = eqn.primitive.name, RULES.get(eqn.primitive.name)
        if leaf_primitive(eqn) and computes_wide(eqn):
            return through_wider
        if leaf_primitive(eqn) and name not in REAL_ONLY and not getattr(rule, "takes_complex", False) and any(
                getattr(getattr(v.aval, "dtype", None), "kind", None) == "c" for v in [*eqn.invars, *eqn.outvars]):
            return through_stablehlo
        if rule is not None:
            return rule
        if not leaf_primitive(eqn) or eqn.effects:
            self.refuse("there is no rule for it")
        return by_own_lowering

    def check(self, results):
        for number, value in enumerate(results):
            if isinstance(value, Value):
                shape, _, element = self.result(number)
                if value.shape != shape or value.element != element:
                    self.refuse("its rule gives %s, expected %s of %s" % (value.type, element, shape))

    # Checkpoint regions. JAX has decided by the policies what is saved, and has written out what is computed again. The
    # second computation of a value is the first one here, which is marked: remat makes the second one.

    def apply(self, eqn, operands):
        rule = self.find_rule(eqn)
        outer = self.recomputes
        self.recomputes = outer or "rematted_computation" in str(eqn.source_info.name_stack)
        is_leaf = leaf_primitive(eqn)
        if is_leaf and not self.in_region or eqn.primitive.name in REGIONS:
            self.save(operands)
        key = None
        if is_leaf:
            # Types with and without a sign share their values.
            names = tuple((v.name, str(var.aval.dtype)) if isinstance(v, Value) else None
                          for v, var in zip(operands, eqn.invars))
            key = (eqn.primitive.name, names, str(eqn.params)) if None not in names else None
        if self.recomputes and key in self.first_runs:
            results = self.first_runs[key]
            self.run_again.update(self.function.root(v) for v in flatten(results))
        else:
            if not getattr(rule, "takes_stacks", False):
                operands = [self.whole(v) for v in operands]
            in_region = self.in_region
            self.in_region = in_region or self.backward and eqn.primitive.name in REGIONS
            params = eqn.params
            if eqn.invars and is_key(getattr(eqn.invars[0].aval, "dtype", np.dtype("f4"))):
                operands, params = on_words(self, eqn, operands)
            results = rule(self, *operands, **params)
            results = list(results) if eqn.primitive.multiple_results else [results]
            self.in_region = in_region
            if key and not self.backward:
                self.first_runs[key] = results
        self.recomputes = outer
        return results

    def save(self, operands):
        """Takes down what the backward computation reads that is not computed a second time."""
        if self.backward and not self.recomputes:
            self.saved.update(self.function.root(v) for v in flatten(operands))

    def apply_regions(self):
        """Marks what JAX computes a second time and does not save."""
        for name in self.function.computed:
            if name in self.run_again and name not in self.saved:
                self.function.policies[name] = "must_recompute"


def _are_equal(array):
    """Whether all elements have the same bits. Zeros of both signs are equal numbers, and nans are not."""
    elements = np.ascontiguousarray(array).reshape(-1, 1).view(np.uint8)
    return (elements == elements[0]).all()


REGIONS = ("remat", "remat2", "checkpoint")


# Their jaxprs say how two elements are combined: it is not run for itself.
COMBINES = {"reduce", "reduce_window", "select_and_scatter", "scatter"} | {
    "scatter" + sign + name for sign in "-_" for name in ("add", "sub", "mul", "min", "max")}


def leaf_primitive(eqn):
    return eqn.primitive.name in COMBINES or not any(
        isinstance(p, (jax_core.Jaxpr, jax_core.ClosedJaxpr)) for p in eqn.params.values())


def flatten(values):
    for value in values:
        if isinstance(value, Stack):
            yield from flatten(value.parts)
        elif isinstance(value, Value):
            yield value

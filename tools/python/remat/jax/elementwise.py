"""Rules of primitives that compute element by element.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import math

import jax
import jax.numpy as jnp
import numpy as np

from ..mlir import broadcast_map, identity, quote
from ..narrow_floats import narrow, round_to_odd, widen
from .control import inline
from .rules import RULES, rule
from .stored import FLOATS, INTEGERS, is_packed, is_stored, name_of, wider, wrap
from .tags import OFFLOADED, tagged
from .types import element_of, is_float, is_integer, is_key, is_unsigned

NARROW = ("f16", "bf16")


class Scalars:
    """Scalar arithmetic in a body, in one type."""

    def __init__(self, body, dtype):
        self.body, self.dtype, self.element = body, dtype, element_of(dtype)
        self.floats, self.unsigned = is_float(dtype), is_unsigned(dtype)

    def const(self, number):
        return self.body.constant(number, self.element)

    def op(self, name, *operands):
        return self.body.op("%s %s : %s" % (name, ", ".join(operands), self.element))

    def pick(self, floats, signed, unsigned, *operands):
        return self.op(floats if self.floats else unsigned if self.unsigned else signed, *operands)

    def add(self, a, b):
        if self.element == "i1":
            return self.op("arith.ori", a, b)
        return self.pick("arith.addf", "arith.addi", "arith.addi", a, b)

    def sub(self, a, b):
        return self.pick("arith.subf", "arith.subi", "arith.subi", a, b)

    def mul(self, a, b):
        return self.pick("arith.mulf", "arith.muli", "arith.muli", a, b)

    def div(self, a, b):
        """Of integers, as XLA: what is divided by zero is -1, all bits set."""
        if self.floats:
            return self.op("arith.divf", a, b)
        return self.body.divide(a, b, self.element, self.unsigned)[0]

    def rem(self, a, b):
        if self.floats:
            return self.op("arith.remf", a, b)
        return self.body.divide(a, b, self.element, self.unsigned)[1]

    def maximum(self, a, b):
        return self.pick("arith.maximumf", "arith.maxsi", "arith.maxui", a, b)

    def minimum(self, a, b):
        return self.pick("arith.minimumf", "arith.minsi", "arith.minui", a, b)

    def neg(self, a):
        return self.op("arith.negf", a) if self.floats else self.sub(self.const(0), a)

    def compare(self, relation, a, b):
        if self.floats:
            predicate = "une" if relation == "ne" else "o" + relation
        else:
            predicate = relation if relation in ("eq", "ne") else ("u" if self.unsigned else "s") + relation
        return self.body.compare(predicate, a, b, self.element)

    def select(self, condition, a, b):
        return self.body.select(condition, a, b, self.element)


def working(dtype):
    """What bodies compute elements of `dtype` in: f32 for narrower types."""
    return np.dtype("float32") if element_of(dtype) in NARROW else dtype


def convert(body, a, source, target):
    """As jax.lax.convert_element_type."""
    old, new = element_of(source), element_of(target)
    if np.dtype(source) == np.dtype(target):
        return a
    if is_stored(source):
        inner = wider(source)
        kind = FLOATS.get(name_of(source))
        return convert(body, a if kind is None else widen(body, a, kind), inner, target)
    if is_stored(target):
        return _convert_to_stored(body, a, source, target)
    if new == "i1":
        return body.compare("une" if is_float(source) else "ne", a, body.constant(0, old), old)
    if is_float(source) and is_float(target):
        bits = {"f64": 64, "f32": 32, "f16": 16, "bf16": 16}
        if bits[old] == bits[new]:
            return body.cast("arith.truncf", body.cast("arith.extf", a, old, "f32"), "f32", new)
        return body.cast("arith.extf" if bits[new] > bits[old] else "arith.truncf", a, old, new)
    if is_float(target):
        return body.cast("arith.uitofp" if is_unsigned(source) else "arith.sitofp", a, old, new)
    if is_float(source):
        return _saturate(body, a, source, target)
    width = lambda element: int(element[1:])
    if width(old) == width(new):
        return a
    if width(new) > width(old):
        return body.cast("arith.extui" if is_unsigned(source) else "arith.extsi", a, old, new)
    return body.cast("arith.trunci", a, old, new)


def _convert_to_stored(body, a, source, target):
    kind = FLOATS.get(name_of(target))
    if kind is not None:
        if np.dtype(source) == np.float64:
            return narrow(body, round_to_odd(body, a), kind)
        return narrow(body, convert(body, a, source, np.dtype("float32")), kind)
    if is_float(source):
        return _saturate(body, a, source, target)
    return wrap(body, convert(body, a, source, wider(target)), target)


def _saturate(body, a, source, target):
    """A number as an integer as XLA makes it: the nearest that the type holds, and zero for what is not a number. The
    conversion itself yields any bits for what the type cannot hold, which are not selected then."""
    old, new, unsigned = element_of(source), element_of(target), is_unsigned(target)
    bits = INTEGERS.get(name_of(target), int(new[1:]))
    below, above = (0, 2 ** bits) if unsigned else (-2 ** (bits - 1), 2 ** (bits - 1))
    limit = lambda number: float("inf") * number if old == "f16" and abs(number) > 65504 else number
    found = body.cast("arith.fptoui" if unsigned else "arith.fptosi", a, old, new)
    # Constants of the IR have a sign.
    most = above - 1 if bits < 8 or not unsigned else -1
    for predicate, bound, chosen in (("ole", limit(below), below), ("oge", limit(above), most), ("uno", 0, 0)):
        found = body.select(body.compare(predicate, a, body.constant(bound, old), old),
                            body.constant(chosen, new), found, new)
    return found


def pointwise(l, operands, dtypes, function, computed=None):
    """`function` of Scalars in the type of the first operand, element by element."""
    shape, dtype, element = l.result()
    inner = working(computed if computed is not None else dtypes[0])

    def body(b, *names):
        s = Scalars(b, inner)
        given = [convert(b, n, t, inner) for n, t in zip(names, dtypes)]
        found = function(s, *given)
        bool_result = element == "i1"
        return found if bool_result and inner != dtype else convert(b, found, inner, dtype)

    inputs = [(v, broadcast_map(v.shape, shape) if v.rank else []) for v in operands]
    return l.function.generic(inputs, shape, element, body)


def elementwise(*names):
    def register(function):
        @rule(*names)
        def lower(l, *operands, **params):
            dtypes = [l.aval(i)[1] for i in range(len(operands))]
            value = pointwise(l, operands, dtypes, lambda s, *given: function(s, *given))
            _fold(l, names[0], operands, value)
            return value
        return function
    return register


FOLDS = {"add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "lt": lambda a, b: a < b,
         "le": lambda a, b: a <= b, "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b, "eq": lambda a, b: a == b,
         "ne": lambda a, b: a != b, "and": lambda a, b: a & b, "or": lambda a, b: a | b, "max": max, "min": min}


def _fold(l, name, operands, value):
    """Counters of loops are known."""
    numbers = [l.integer(v, l.aval(i)[1]) for i, v in enumerate(operands)]
    if value.rank == 0 and name in FOLDS and None not in numbers:
        l.known[value.name] = int(FOLDS[name](*numbers))


for _name, _op in {
        "exp": "math.exp", "exp2": "math.exp2", "expm1": "math.expm1", "log": "math.log", "log1p": "math.log1p",
        "log2": "math.log2", "sqrt": "math.sqrt", "rsqrt": "math.rsqrt", "sin": "math.sin", "cos": "math.cos",
        "tan": "math.tan", "tanh": "math.tanh", "asin": "math.asin", "acos": "math.acos", "atan": "math.atan",
        "sinh": "math.sinh", "cosh": "math.cosh", "asinh": "math.asinh", "acosh": "math.acosh", "atanh": "math.atanh",
        "erf": "math.erf", "erfc": "math.erfc", "cbrt": "math.cbrt", "floor": "math.floor",
        "ceil": "math.ceil"}.items():
    elementwise(_name)(lambda s, a, op=_op: s.op(op, a))

elementwise("add", "add_any")(lambda s, a, b: s.add(a, b))
elementwise("sub")(lambda s, a, b: s.sub(a, b))
elementwise("mul")(lambda s, a, b: s.mul(a, b))
elementwise("div")(lambda s, a, b: s.div(a, b))
elementwise("rem")(lambda s, a, b: s.rem(a, b))
elementwise("max")(lambda s, a, b: s.maximum(a, b))
elementwise("min")(lambda s, a, b: s.minimum(a, b))
elementwise("neg")(lambda s, a: s.neg(a))
elementwise("square")(lambda s, a: s.mul(a, a))
# As JAX lowers it: near 1, 1 - a * a would lose half of the digits.
elementwise("one_minus_square")(lambda s, a: s.mul(s.add(s.const(1), a), s.sub(s.const(1), a)))
elementwise("abs")(lambda s, a: s.op("math.absf", a) if s.floats else a if s.unsigned else s.op("math.absi", a))


@elementwise("atan2")
def _atan2(s, a, b):
    """MLIR takes the angle of a zero that is a constant for nan; that of 1 with its sign is the same."""
    is_zero = s.body.binary("arith.andi", s.compare("eq", a, s.const(0)), s.compare("eq", b, s.const(0)), "i1")
    return s.op("math.atan2", a, s.select(is_zero, s.op("math.copysign", s.const(1), b), b))


elementwise("copysign")(lambda s, a, b: s.op("math.copysign", a, b))
elementwise("and")(lambda s, a, b: s.op("arith.andi", a, b))
elementwise("or")(lambda s, a, b: s.op("arith.ori", a, b))
elementwise("xor")(lambda s, a, b: s.op("arith.xori", a, b))
elementwise("not")(lambda s, a: s.op("arith.xori", a, s.const(1 if s.element == "i1" else -1)))
elementwise("population_count")(lambda s, a: s.op("math.ctpop", a))
elementwise("clz")(lambda s, a: s.op("math.ctlz", a))


def _shift(name, op):
    @elementwise(name)
    def lower(s, a, b):
        width = s.const(int(s.element[1:]))
        inside = s.body.compare("ult", b, width, s.element)
        shifted = s.op(op, a, s.select(inside, b, s.const(0)))
        outside = s.op(op, a, s.const(int(s.element[1:]) - 1)) if op == "arith.shrsi" else s.const(0)
        return s.select(inside, shifted, outside)


_shift("shift_left", "arith.shli")
_shift("shift_right_logical", "arith.shrui")
_shift("shift_right_arithmetic", "arith.shrsi")


@elementwise("logistic")
def _logistic(s, a):
    one = s.const(1.0)
    return s.div(one, s.add(one, s.op("math.exp", s.neg(a))))


@elementwise("sign")
def _sign(s, a):
    zero, one = s.const(0), s.const(1)
    positive = s.compare("gt", a, zero)
    if s.unsigned:
        return s.select(positive, one, zero)
    found = s.select(positive, one, s.select(s.compare("lt", a, zero), s.const(-1), zero))
    # Of a nan, and of zeros, it is the number itself.
    if s.floats:
        return s.select(s.body.binary("arith.ori", positive, s.compare("lt", a, zero), "i1"), found, a)
    return found


@elementwise("is_finite")
def _is_finite(s, a):
    return s.compare("lt", s.op("math.absf", a), s.const(math.inf))


for _relation in ("eq", "ne", "lt", "le", "gt", "ge"):
    elementwise(_relation)(lambda s, a, b, relation=_relation: s.compare(relation, a, b))


def _comparing_keys(name, of_words):
    """Keys are equal if all of their words are."""
    of_numbers = RULES[name]

    @rule(name)
    def lower(l, a, b, **params):
        aval = l.eqn.invars[0].aval
        if not is_key(aval.dtype):
            return of_numbers(l, a, b, **params)
        _, dtype, _ = l.aval()
        words = tuple(range(len(aval.shape), a.rank))
        return inline(l, lambda x, y: of_words(x, y, words), (a, dtype), (b, dtype))


_comparing_keys("eq", lambda x, y, words: jnp.all(x == y, axis=words))
_comparing_keys("ne", lambda x, y, words: jnp.any(x != y, axis=words))


@rule("pow")
def _pow(l, a, b):
    (_, base, _), (_, exponent, _) = l.aval(0), l.aval(1)
    if is_float(exponent):
        return pointwise(l, [a, b], [base, exponent], lambda s, x, y: s.op("math.powf", x, y), base)
    return pointwise(l, [a, b], [base, exponent], lambda s, x, y: s.op("math.powf" if s.floats else "math.ipowi", x, y),
                     base)


@rule("integer_pow")
def _integer_pow(l, a, y):
    def function(s, x):
        power, square, n = None, x, abs(y)
        while n:
            if n & 1:
                power = square if power is None else s.mul(power, square)
            n >>= 1
            square = s.mul(square, square) if n else square
        power = power or s.const(1)
        return power if y >= 0 else s.div(s.const(1), power)

    return pointwise(l, [a], [l.aval()[1]], function)


@rule("round")
def _round(l, a, rounding_method):
    op = "math.round" if int(rounding_method) == 0 else "math.roundeven"
    return pointwise(l, [a], [l.aval()[1]], lambda s, x: s.op(op, x))


@rule("erf_inv")
def _erf_inv(l, a):
    """By the polynomials of Giles (2010); for f64 with two steps of Newton's method."""
    near = [2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503,
            -0.00417768164, 0.246640727, 1.50140941]
    far = [-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613,
           0.00943887047, 1.00167406, 2.83297682]

    def function(s, x):
        one = s.const(1.0)
        w = s.neg(s.op("math.log1p", s.neg(s.mul(x, x))))
        small = s.compare("lt", w, s.const(5.0))
        # What is not selected has a finite slope, for those who differentiate this.
        root = s.op("math.sqrt", s.select(small, s.const(5.0), w))
        t = s.select(small, s.sub(w, s.const(2.5)), s.sub(root, s.const(3.0)))
        p = s.select(small, s.const(near[0]), s.const(far[0]))
        for a, b in zip(near[1:], far[1:]):
            p = s.add(s.select(small, s.const(a), s.const(b)), s.mul(p, t))
        found = s.mul(p, x)
        if s.element == "f64":
            for _ in range(2):
                slope = s.mul(s.const(2 / math.sqrt(math.pi)), s.op("math.exp", s.neg(s.mul(found, found))))
                found = s.sub(found, s.div(s.sub(s.op("math.erf", found), x), slope))
        edge = s.compare("eq", s.op("math.absf", x), one)
        infinity = s.select(s.compare("lt", x, s.const(0.0)), s.const(-math.inf), s.const(math.inf))
        return s.select(edge, infinity, found)

    return pointwise(l, [a], [l.aval()[1]], function)


@rule("clamp")
def _clamp(l, low, a, high):
    dtypes = [l.aval(i)[1] for i in range(3)]
    return pointwise(l, [low, a, high], dtypes, lambda s, x, y, z: s.minimum(s.maximum(y, x), z))


@rule("select_n")
def _select_n(l, which, *cases):
    shape, dtype, element = l.result()
    kind = l.aval(0)[2]

    def body(b, index, *given):
        if kind == "i1":
            return b.select(index, given[1], given[0], element)
        found = given[-1]
        for number in reversed(range(len(given) - 1)):
            hit = b.compare("eq", index, b.constant(number, kind), kind)
            found = b.select(hit, given[number], found, element)
        return found

    if len(cases) == 1:
        return cases[0]
    # Of keys, which are several words, all have one selector.
    inputs = [(v, identity(v.rank)) for v in (which,) + cases]
    return l.function.generic(inputs, shape, element, body)


@rule("convert_element_type")
def _convert(l, a, new_dtype, **_):
    shape, dtype, element = l.result()
    source = l.aval()[1]
    if source == dtype:
        return a
    same = element_of(source) == element and element != "i1" and not is_float(dtype)
    value = a if same and not is_stored(source) and not is_stored(dtype) else l.function.generic(
        [(a, identity(len(shape)))], shape, element, lambda b, x: convert(b, x, source, dtype))
    if a.name in l.known and not is_float(dtype):
        l.known[value.name] = l.integer(a, source)
    return value


def _regroup_bits(l, a, source, target):
    """The bits as elements of another width: the last dimension has the narrow ones, from the lowest bits."""
    for kind in (source, target):
        if not is_float(kind) and not is_integer(kind) or element_of(kind) == "i1" or is_packed(kind):
            l.refuse("reading bits of %s as %s is not supported" % (source, target))
    narrow, wide = sorted((np.dtype("uint%d" % (8 * t.itemsize)) for t in (source, target)), key=lambda t: t.itemsize)
    places = jnp.arange(wide.itemsize // narrow.itemsize, dtype=wide) * (8 * narrow.itemsize)
    bits = jax.lax.bitcast_convert_type

    def regroup(x):
        if source.itemsize > target.itemsize:
            return bits((bits(x, wide)[..., None] >> places).astype(narrow), target)
        return bits(jnp.sum(bits(x, narrow).astype(wide) << places, axis=-1, dtype=wide), target)

    return inline(l, regroup, (a, source))


@rule("bitcast_convert_type")
def _bitcast(l, a, new_dtype):
    shape, dtype, element = l.result()
    old, source = l.aval()[1:]
    if a.shape != shape:
        return _regroup_bits(l, a, old, dtype)
    if name_of(dtype) in INTEGERS:
        return l.function.generic([(a, identity(a.rank))], shape, element, lambda b, x: wrap(b, x, dtype))
    if name_of(old) in INTEGERS and name_of(old)[0] == "i":  # The bytes of others have no sign.
        unsigned = np.dtype(getattr(jnp, "u" + name_of(old)))
        return l.function.generic([(a, identity(a.rank))], shape, element, lambda b, x: wrap(b, x, unsigned))
    if source == element:
        return a
    return l.function.generic([(a, identity(len(shape)))], shape, element,
                              lambda b, x: b.cast("arith.bitcast", x, source, element))


@rule("stop_gradient", "copy", "copy_p", "pvary", "sharding_constraint", "mesh_cast", "reshard")
def _identity(l, a, **_):
    return a


@rule("optimization_barrier")
def _identities(l, *operands, **_):
    return operands


@rule("device_put")
def _device_put(l, *operands, **_):
    """What a policy of jax.checkpoint offloads goes to the host. All else is where the step is."""
    return [tagged(l, a, OFFLOADED) if l.offloads(number) else a for number, a in enumerate(operands)]


@rule("name")
def _name(l, a, name):
    return tagged(l, a, "name = %s" % quote(name))

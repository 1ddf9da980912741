"""MLIR as text: a function on tensors of static shapes, operation by operation.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import json
import math
import re


def quote(text):
    """A string attribute."""
    out = []
    for byte in text.encode():
        char = chr(byte)
        out.append(char if 32 <= byte < 127 and char not in '"\\' else "\\%02X" % byte)
    return '"%s"' % "".join(out)


def dtype_of(element):
    """The name that the run time has for the type of elements."""
    return {"complex<f32>": "c64", "complex<f64>": "c128"}.get(element, element)


def tensor_type(shape, element):
    return "tensor<%s>" % "x".join([str(extent) for extent in shape] + [element])


def float_literal(value, element):
    """A floating-point constant of type `element`; hexadecimal where decimals would not do."""
    import struct
    if math.isfinite(value):
        text = repr(float(value))
        mantissa, e, exponent = text.partition("e")
        return (mantissa if "." in mantissa else mantissa + ".0") + e + exponent
    if element == "bf16":
        bits = struct.unpack("<I", struct.pack("<f", value))[0] >> 16
        return "0x%04X" % bits
    code, number = {"f16": ("<e", "<H"), "f32": ("<f", "<I"), "f64": ("<d", "<Q")}[element]
    bits = struct.unpack(number, struct.pack(code, value))[0]
    return "0x%0*X" % (struct.calcsize(number) * 2, bits)


def literal(value, element):
    if element.startswith("complex"):
        inner = element[len("complex<"):-1]
        return "(%s, %s)" % (float_literal(complex(value).real, inner), float_literal(complex(value).imag, inner))
    if element == "i1":
        return "true" if value else "false"
    if element[0] == "i" and element != "index":
        half = 1 << int(element[1:]) - 1  # Bits that there are not fall off.
        return str((int(value) + half) % (2 * half) - half)
    if element == "index":
        return str(int(value))
    return float_literal(float(value), element)


def scalar_constant(number, element):
    """The operation whose result is a number."""
    if element == "i1":
        return "arith.constant %s" % literal(number, element)
    if not element.startswith("complex"):
        return "arith.constant %s : %s" % (literal(number, element), element)
    inner = element[len("complex<"):-1]
    return "complex.constant [%s] : %s" % (", ".join("%s : %s" % (float_literal(part, inner), inner) for part in (
        complex(number).real, complex(number).imag)), element)


class Value:
    """An SSA value: its name, its extents and the MLIR type of its elements."""

    __slots__ = ("name", "shape", "element")

    def __init__(self, name, shape, element):
        self.name, self.shape, self.element = name, tuple(map(int, shape)), element

    @property
    def type(self):
        return tensor_type(self.shape, self.element)

    @property
    def rank(self):
        return len(self.shape)


def identity(rank):
    return ["d%d" % i for i in range(rank)]


def affine_map(loops, results):
    return "affine_map<(%s) -> (%s)>" % (", ".join(identity(loops)), ", ".join(results))


def broadcast_map(shape, result_shape):
    """How an operand is read that is broadcast to `result_shape`: its last dimensions are aligned."""
    offset = len(result_shape) - len(shape)
    return ["0" if extent == 1 and result_shape[offset + i] != 1 else "d%d" % (offset + i)
            for i, extent in enumerate(shape)]


class Function:
    """A function that is built. Operations are located by `location`, which the caller sets."""

    def __init__(self, name="main"):
        self.name = name
        self.lines = []
        self.arguments = []  # value, attributes
        self.counter = 0
        self.location = "unknown"
        self._constants = {}
        self.splats = {}  # the number that all elements of a result are, by names
        self.private = []  # texts of the functions that this one runs
        self.policies = {}  # by the name of a result
        self.computed = []  # names of results that take time, in order
        self.donated = {}
        self.calls = {}  # of arguments that no earlier call of a step is given, by names
        self.views = {}  # the value that a result is a view of, by names

    def policy_of(self, name, form):
        """Stands for the policy of the operation with this result, which may be set later. `form` says how attributes
        are written there."""
        self.computed.append(name)
        return "\0%s %s\0" % (name, form)

    def _policy_text(self, match):
        policy = self.policies.get(match[1])
        attribute = "remat.policy = #remat.policy<%s>" % policy
        return {"attrs": "attrs = {%s} ", "more": ", %s", "alone": "{%s} "}[match[2]] % attribute if policy else ""

    def root(self, value):
        name = value.name
        while name in self.views:
            name = self.views[name]
        return name.partition("#")[0]

    def fresh(self):
        self.counter += 1
        return "%%v%d" % self.counter

    def argument(self, shape, element, name=None, donated=None, call=0):
        """`donated` is the number of the result that has the argument's buffer, `call` that of the first call of a step
        that is given the argument."""
        value = Value("%%a%d" % len(self.arguments), shape, element)
        self.arguments.append((value, name))
        if donated is not None:
            self.donated[value.name] = donated
        if call:
            self.calls[value.name] = call
        return value

    def _attributes(self, value, name):
        attributes = ["remat.name = %s" % quote(name)] if name else []
        if value.name in self.donated:
            attributes.append("remat.donated = %d" % self.donated[value.name])
        if value.name in self.calls:
            attributes.append("remat.phase = %d" % self.calls[value.name])
        return " {%s}" % ", ".join(attributes) if attributes else ""

    def emit(self, text, location=True):
        self.lines.append("  %s loc(%s)" % (text, self.location) if location else "  " + text)

    def op(self, text, shape, element):
        value = Value(self.fresh(), shape, element)
        self.emit("%s = %s" % (value.name, text))
        return value

    def call(self, name, operands, operand_types, results, result_types):
        """A call of another function. `results` are pairs of a shape and an element; types are as that function has
        them."""
        base = self.fresh()
        count = len(results)
        names = [base] if count == 1 else ["%s#%d" % (base, i) for i in range(count)]
        self.emit("%s = func.call @%s(%s) %s: (%s) -> (%s)" % (
            base if count == 1 else "%s:%d" % (base, count), quote(name), ", ".join(v.name for v in operands),
            self.policy_of(base, "alone"), ", ".join(operand_types), ", ".join(result_types)))
        return [Value(n, shape, element) for n, (shape, element) in zip(names, results)]

    # Constants and new tensors

    def constant(self, number, shape, element):
        """A tensor of equal elements."""
        key = (literal(number, element), tuple(shape), element)
        if key not in self._constants:
            location, self.location = self.location, "unknown"
            self._constants[key] = self.op("arith.constant dense<%s> : %s" % (
                key[0], tensor_type(shape, element)), shape, element)
            self.location = location
            self.splats[self._constants[key].name] = number
        return self._constants[key]

    def dense(self, array, element):
        """A tensor of the elements of `array`, nested lists."""
        shape, inner = [], array
        while isinstance(inner, list):
            shape.append(len(inner))
            inner = inner[0] if inner else None
        text = lambda part: "[%s]" % ", ".join(map(text, part)) if isinstance(part, list) else literal(part, element)
        body = text(array) if 0 not in shape else ""
        return self.op("arith.constant dense<%s> : %s" % (body, tensor_type(shape, element)), shape, element)

    def empty(self, shape, element):
        return self.op("tensor.empty() : %s" % tensor_type(shape, element), shape, element)

    # Structured operations

    def generic(self, inputs, shape, element, body, loops=None, reductions=(), out_map=None, init=None):
        """A linalg.generic with one result. `inputs` are pairs of a value and the results of its indexing map; `body`
        gets a Body, the names of the elements and of the accumulator, and returns the name of the result."""
        rank = len(shape) if loops is None else loops
        out_map = identity(len(shape)) if out_map is None else out_map
        init = init or self.empty(shape, element)
        maps = [affine_map(rank, m) for _, m in inputs] + [affine_map(rank, out_map)]
        iterators = ["\"reduction\"" if i in reductions else "\"parallel\"" for i in range(rank)]
        names = [self.fresh() for _ in inputs]
        accumulator = self.fresh()
        arguments = ["%s: %s" % (n, v.element) for n, (v, _) in zip(names, inputs)]
        arguments.append("%s: %s" % (accumulator, element))
        inner = Body(self)
        result = body(inner, *names, accumulator) if reductions else body(inner, *names)
        ins = "ins(%s : %s) " % (", ".join(v.name for v, _ in inputs), ", ".join(v.type for v, _ in inputs)) \
            if inputs else ""
        value = Value(self.fresh(), shape, element)
        self.emit("%s = linalg.generic {indexing_maps = [%s], iterator_types = [%s]} %souts(%s : %s) %s{" % (
            value.name, ", ".join(maps), ", ".join(iterators), ins, init.name, init.type,
            self.policy_of(value.name, "attrs")), False)
        self.emit("^bb0(%s):" % ", ".join(arguments), False)
        self.lines += inner.lines
        self.emit("  linalg.yield %s : %s" % (result, element))
        self.emit("} -> %s" % value.type)
        return value

    def scatter(self, inputs, sizes, init, body, maximum=False):
        """A remat.scatter, of sums or of the greatest updates. `body` gets a Body, the names of the coordinates and of
        the elements, and returns the names of the indices and of the update."""
        points = [self.fresh() for _ in sizes]
        names = [self.fresh() for _ in inputs]
        arguments = ["%s: index" % p for p in points] + ["%s: %s" % (n, v.element) for n, (v, _) in zip(names, inputs)]
        inner = Body(self)
        indices, update = body(inner, points, names)
        value = Value(self.fresh(), init.shape, init.element)
        ins = "ins(%s : %s) " % (", ".join(v.name for v, _ in inputs), ", ".join(v.type for v, _ in inputs)) \
            if inputs else ""
        self.emit("%s = remat.scatter {indexing_maps = [%s]%s, sizes = array<i64%s>%s} %souts(%s : %s) {" % (
            value.name, ", ".join(affine_map(len(sizes), m) for _, m in inputs), ", maximum" if maximum else "",
            (": " if sizes else "") + ", ".join(map(str, sizes)), self.policy_of(value.name, "more"), ins,
            init.name, init.type), False)
        self.emit("^bb0(%s):" % ", ".join(arguments), False)
        self.lines += inner.lines
        self.emit("  remat.yield %s : %s" % (", ".join(indices + [update]), ", ".join(
            ["index"] * len(indices) + [init.element])))
        self.emit("} -> %s" % value.type)
        return value

    def contract(self, lhs, lhs_map, rhs, rhs_map, shape, loops, out_map, element=None):
        """Sums of products; `loops` is how many, and the maps say what they index. They have the type of the factors,
        or `element`."""
        element = element or lhs.element
        if lhs.element.startswith("complex"):
            product = lambda b, x, y, acc: b.binary("complex.add", acc, b.binary("complex.mul", x, y, lhs.element),
                                                    lhs.element)
            kept = {int(d[1:]) for d in out_map}
            return self.generic([(lhs, lhs_map), (rhs, rhs_map)], shape, lhs.element, product, loops,
                                [i for i in range(loops) if i not in kept], out_map,
                                self.constant(0, shape, lhs.element))
        zero = self.constant(0, shape, element)
        maps = ", ".join(affine_map(loops, m) for m in (lhs_map, rhs_map, out_map))
        value = Value(self.fresh(), shape, element)
        self.emit("%s = linalg.contract indexing_maps = [%s] %sins(%s, %s : %s, %s) outs(%s : %s) -> %s" % (
            value.name, maps, self.policy_of(value.name, "alone"), lhs.name, rhs.name, lhs.type, rhs.type, zero.name,
            zero.type, zero.type))
        return value

    def convolve(self, kind, lhs, rhs, attributes, shape):
        value = Value(self.fresh(), shape, lhs.element)
        self.emit("%s = remat.conv %s(%s, %s) {%s%s} : (%s, %s) -> %s" % (
            value.name, kind, lhs.name, rhs.name, attributes, self.policy_of(value.name, "more"), lhs.type, rhs.type,
            value.type))
        return value

    def loop(self, body, count, reverse, carried, invariants, slices, results, trips=None, conditional=False):
        """A remat.loop of the function `body`, whose `results` are what is carried and then what is stacked. With
        `trips`, or `conditional`, `count` is the most iterations, or 0 for any number."""
        self.private.append(body.text(results, visibility="private "))
        shapes = [v.shape if i < len(carried) else (count,) + v.shape for i, v in enumerate(results)]
        trips = [] if trips is None else [trips]
        name, operands = self.fresh(), list(carried) + list(invariants) + list(slices) + trips
        names = lambda values: "(%s)" % ", ".join(v.name for v in values)
        how = (["count %d" % count] * bool(count) + ["trips(%s)" % v.name for v in trips] +
               ["while"] * conditional + ["reverse"] * reverse)
        self.emit("%s:%d = remat.loop @%s %s carried%s invariant%s sliced%s : (%s) -> (%s)" % (
            name, len(results), body.name, " ".join(how), names(carried), names(invariants), names(slices),
            ", ".join(v.type for v in operands),
            ", ".join(tensor_type(s, v.element) for s, v in zip(shapes, results))))
        return [Value("%s#%d" % (name, i), s, v.element) for i, (s, v) in enumerate(zip(shapes, results))]

    def _view(self, text, value, shape):
        view = self.op(text, shape, value.element)
        self.views[view.name] = value.name
        return view

    # Shapes

    def transpose(self, value, permutation):
        permutation = list(permutation)
        if permutation == list(range(value.rank)):
            return value
        shape = [value.shape[p] for p in permutation]
        out = self.empty(shape, value.element)
        return self.op("linalg.transpose ins(%s : %s) outs(%s : %s) permutation = [%s]" % (
            value.name, value.type, out.name, out.type, ", ".join(map(str, permutation))), shape, value.element)

    def reshape(self, value, shape):
        shape = tuple(shape)
        if shape == value.shape:
            return value
        if math.prod(shape) == 0:
            return self.empty(shape, value.element)
        groups = _common_groups(value.shape, shape)
        middle = [math.prod(value.shape[i] for i in old) for old, _ in groups]
        if len(middle) != value.rank:
            value = self._view("tensor.collapse_shape %s %s : %s into %s" % (
                value.name, json.dumps([old for old, _ in groups]), value.type, tensor_type(middle, value.element)),
                value, middle)
        if len(middle) != len(shape):
            value = self._view("tensor.expand_shape %s %s output_shape [%s] : %s into %s" % (
                value.name, json.dumps([new for _, new in groups]), ", ".join(map(str, shape)), value.type,
                tensor_type(shape, value.element)), value, shape)
        return value

    def slice(self, value, offsets, sizes, strides):
        text = lambda numbers: "[%s]" % ", ".join(map(str, numbers))
        if tuple(sizes) == value.shape and not any(offsets) and all(s == 1 for s in strides):
            return value
        if math.prod(sizes) == 0:  # Its offset may be that of no element.
            return self.empty(sizes, value.element)
        return self._view("tensor.extract_slice %s%s %s %s : %s to %s" % (
            value.name, text(offsets), text(sizes), text(strides), value.type, tensor_type(sizes, value.element)),
            value, sizes)

    def insert(self, part, whole, offsets, strides):
        if math.prod(part.shape) == 0:  # Its offset may be that of no element.
            return whole
        text = lambda numbers: "[%s]" % ", ".join(map(str, numbers))
        return self.op("tensor.insert_slice %s into %s%s %s %s : %s into %s" % (
            part.name, whole.name, text(offsets), text(part.shape), text(strides), part.type, whole.type),
            whole.shape, whole.element)

    def concat(self, values, dim):
        filled = [value for value in values if math.prod(value.shape)]
        if len(filled) == 1:
            return filled[0]
        like = filled or [value for value in values if value.rank == max(v.rank for v in values)]
        shape = list(like[0].shape)
        shape[dim] = sum(value.shape[dim] for value in like)
        if not filled:
            return self.empty(shape, like[0].element)
        values = filled
        return self.op("tensor.concat dim(%d) %s : (%s) -> %s" % (
            dim, ", ".join(v.name for v in values), ", ".join(v.type for v in values),
            tensor_type(shape, values[0].element)), shape, values[0].element)

    def pad(self, value, low, high, number):
        if not any(low) and not any(high):
            return value
        shape = [l + e + h for l, e, h in zip(low, value.shape, high)]
        if math.prod(value.shape) == 0:
            return self.constant(number, shape, value.element)
        result, scalar = Value(self.fresh(), shape, value.element), self.fresh()
        self.emit("%s = %s" % (scalar, scalar_constant(number, value.element)))
        self.emit("%s = tensor.pad %s low[%s] high[%s] {" % (
            result.name, value.name, ", ".join(map(str, low)), ", ".join(map(str, high))), False)
        self.emit("^bb0(%s):" % ", ".join("%s: index" % self.fresh() for _ in shape), False)
        self.emit("  tensor.yield %s : %s" % (scalar, value.element))
        self.emit("} : %s to %s" % (value.type, result.type))
        return result

    def text(self, results, names=None, visibility="", gradients=None, data_gradients=None):
        """The function and those that it runs. `results` are values, `names` theirs, if they have any. `gradients` says
        by numbers of results of which argument, by its number, they are the gradients that an optimizer uses, and
        `data_gradients` the same of those that it does not."""
        arguments = ", ".join("%s: %s%s" % (value.name, value.type, self._attributes(value, name))
                              for value, name in self.arguments)
        names = names or [None] * len(results)
        types = []
        for number, (value, name) in enumerate(zip(results, names)):
            attributes = ["remat.name = %s" % quote(name)] if name else []
            for name, of in (("gradient", gradients), ("data_gradient", data_gradients)):
                if number in (of or {}):
                    attributes.append("remat.%s = %d" % (name, of[number]))
            types.append(value.type + (" {%s}" % ", ".join(attributes) if attributes else ""))
        types = ", ".join(types)
        end = "  return %s : %s" % (", ".join(v.name for v in results), ", ".join(v.type for v in results)) \
            if results else "  return"
        return "func.func %s@%s(%s) -> (%s) {\n%s\n%s\n}\n%s" % (
            visibility, self.name, arguments, types,
            re.sub("\0(\\S+) (\\S+)\0", self._policy_text, "\n".join(self.lines)), end, "".join(self.private))


def _common_groups(old, new):
    """Pairs of dimensions of two shapes that have equal products, as fine as they can be. Both must be of the same,
    nonzero number of elements."""
    groups, i, j = [], 0, 0
    while i < len(old) and j < len(new):
        left, right = [i], [j]
        a, b = old[i], new[j]
        i, j = i + 1, j + 1
        while a != b:
            if a < b:
                a *= old[i]
                left.append(i)
                i += 1
            else:
                b *= new[j]
                right.append(j)
                j += 1
        groups.append((left, right))
    # What is left has extents 1.
    if not groups:
        return []
    groups[-1][0].extend(range(i, len(old)))
    groups[-1][1].extend(range(j, len(new)))
    return groups


class Body:
    """Scalar operations in the body of a structured operation."""

    def __init__(self, function):
        self.function, self.lines = function, []

    def op(self, text):
        name = self.function.fresh()
        self.lines.append("    %s = %s loc(%s)" % (name, text, self.function.location))
        return name

    def constant(self, number, element):
        if element == "index":
            return self.op("arith.constant %d : index" % number)
        return self.op(scalar_constant(number, element))

    def unary(self, name, a, element):
        return self.op("%s %s : %s" % (name, a, element))

    def binary(self, name, a, b, element):
        return self.op("%s %s, %s : %s" % (name, a, b, element))

    def compare(self, predicate, a, b, element):
        if element.startswith("complex"):
            return self.op("complex.%s %s, %s : %s" % ("eq" if predicate == "eq" else "neq", a, b, element))
        kind = "arith.cmpf" if element[0] in "fb" else "arith.cmpi"
        return self.op("%s %s, %s, %s : %s" % (kind, predicate, a, b, element))

    def select(self, condition, a, b, element):
        return self.op("arith.select %s, %s, %s : %s" % (condition, a, b, element))

    def index(self, loop):
        return self.op("linalg.index %d : index" % loop)

    def cast(self, name, a, source, target):
        return self.op("%s %s : %s to %s" % (name, a, source, target))

    def check(self, condition, message):
        """Ends the step with an error where the condition does not hold."""
        self.lines.append("    cf.assert %s, %s loc(%s)" % (condition, quote(message), self.function.location))

    def divide(self, a, b, element, unsigned, divide_by_zero=-1):
        """Quotient, rounded to zero, and remainder of integers. A division by zero, which ends a process, does not
        happen: its quotient is `divide_by_zero`, and its remainder is `a`. The least number divided by -1 is itself."""
        zero, one = self.constant(0, element), self.constant(1, element)
        by_zero = self.compare("eq", b, zero, element)
        unsafe = by_zero
        if not unsigned:
            by_minus_one = self.compare("eq", b, self.constant(-1, element), element)
            unsafe = self.binary("arith.ori", by_zero, by_minus_one, "i1")
        divisor = self.select(unsafe, one, b, element)
        quotient = self.binary("arith.divui" if unsigned else "arith.divsi", a, divisor, element)
        if not unsigned:
            negated = self.binary("arith.subi", zero, a, element)
            quotient = self.select(by_minus_one, negated, quotient, element)
        quotient = self.select(by_zero, self.constant(divide_by_zero, element), quotient, element)
        remainder = self.binary("arith.remui" if unsigned else "arith.remsi", a, divisor, element)
        return quotient, self.select(by_zero, a, remainder, element)

    def to_index(self, a, element):
        return a if element == "index" else self.cast("arith.index_cast", a, element, "index")

    def extract(self, tensor, indices):
        return self.op("tensor.extract %s[%s] : %s" % (tensor.name, ", ".join(indices), tensor.type))

"""Random statements without a body that compute: elementwise operations, contractions, reductions, cumulative ones,
windows, convolutions, complex numbers, random numbers, casts and tags. Each is written for the compiler and for the
interpreter."""

import cmath

import numerics as math
from interpreter import at, build, contract, convolve, points, size_of, softmax, uniform

# Operations of one element: the text, of %0 and the constants, and the value.
UNARY = {
    "tanh": ("math.tanh", math.tanh), "sin": ("math.sin", math.sin), "cos": ("math.cos", math.cos),
    "atan": ("math.atan", math.atan), "erf": ("math.erf", math.erf), "negf": ("arith.negf", lambda a: -a),
}
# With the zero of the kink, if there is one.
BODIES = {
    "sigmoid": (["%a = arith.negf %0 : E", "%b = math.exp %a : E", "%c = arith.addf %b, %one : E",
                 "%r = arith.divf %one, %c : E"], lambda x: 1 / (1 + math.exp(-x)), False),
    "bell": (["%a = arith.mulf %0, %0 : E", "%b = arith.negf %a : E", "%r = math.exp %b : E"],
             lambda x: math.exp(-x * x), False),
    "root": (["%a = arith.mulf %0, %0 : E", "%b = arith.addf %a, %one : E", "%r = math.sqrt %b : E"],
             lambda x: math.sqrt(x * x + 1), False),
    "rsqrt": (["%a = arith.mulf %0, %0 : E", "%b = arith.addf %a, %one : E", "%r = math.rsqrt %b : E"],
              lambda x: 1 / math.sqrt(x * x + 1), False),
    "log": (["%a = arith.mulf %0, %0 : E", "%b = arith.addf %a, %one : E", "%r = math.log %b : E"],
            lambda x: math.log(x * x + 1), False),
    "log1p": (["%a = arith.mulf %0, %0 : E", "%r = math.log1p %a : E"], lambda x: math.log1p(x * x), False),
    "pow": (["%a = math.absf %0 : E", "%b = arith.addf %a, %one : E", "%r = math.powf %b, %half : E"],
            lambda x: math.sqrt(abs(x) + 1), True),
    "relu": (["%r = arith.maximumf %0, %zero : E"], lambda x: max(x, 0.0), True),
    "leaky": (["%p = arith.cmpf ogt, %0, %zero : E", "%a = arith.mulf %0, %half : E",
               "%r = arith.select %p, %0, %a : E"], lambda x: x if x > 0 else x / 2, True),
    "abs": (["%r = math.absf %0 : E"], abs, True),
}
BINARY = {
    "addf": lambda a, b: a + b, "subf": lambda a, b: a - b, "mulf": lambda a, b: a * b,
    "maximumf": max, "minimumf": min,
}
# The operation, its meaning for a list, and the number that it starts from.
REDUCTIONS = {
    "sum": ("addf", sum, "0.0"), "product": ("mulf", math.prod, "1.0"),
    "maximum": ("maximumf", max, "-1.0e30"), "minimum": ("minimumf", min, "1.0e30"),
}
# Of a complex number %z: the text, of E for its parts and C for itself, and the value.
COMPLEX = {
    "square": (["%y = complex.mul %z, %z : C"], lambda z: z * z),
    "conjugate": (["%y = complex.conj %z : C"], lambda z: z.conjugate()),
    "power": (["%q = complex.conj %z : C", "%y = complex.mul %q, %z : C"], lambda z: z * z.conjugate()),
    "exp": (["%s = complex.create %eighth, %zero : C", "%q = complex.mul %s, %z : C", "%y = complex.exp %q : C"],
            lambda z: cmath.exp(z / 8)),
    "sin": (["%s = complex.create %eighth, %zero : C", "%q = complex.mul %s, %z : C", "%y = complex.sin %q : C"],
            lambda z: cmath.sin(z / 8)),
    "quotient": (["%p = complex.conj %z : C", "%q = complex.mul %p, %z : C", "%o = complex.create %one, %zero : C",
                  "%d = complex.add %q, %o : C", "%y = complex.div %z, %d : C"],
                 lambda z: z / (z * z.conjugate() + 1)),
}
PARTS = {
    "re": (["%r = complex.re %y : C"], lambda y: y.real), "im": (["%r = complex.im %y : C"], lambda y: y.imag),
    "sum": (["%u = complex.re %y : C", "%v = complex.im %y : C", "%r = arith.addf %u, %v : E"],
            lambda y: y.real + y.imag),
    "abs": (["%r = complex.abs %y : C"], abs),
}
POLICIES = ["must_save", "prefer_save", "must_recompute", "prefer_recompute", "must_cpu_offload", "prefer_cpu_offload"]


def affine(loops, dims):
    names = [f"d{i}" for i in range(loops)]
    return f"affine_map<({', '.join(names)}) -> ({', '.join(names[d] for d in dims)})>"


class Operations:
    """The part of a generator that makes them. Each returns False if nothing fits."""

    def generic(self, name, shape, inputs, maps, out_map, kinds, body, init="0.0"):
        """Text of a linalg.generic of named inputs; the body reads %0, %1 ... and %out and ends with %r."""
        t, element = self.program.type_of, self.program.element
        loops = len(kinds)
        args = ", ".join(f"%{name}i{i}: {element}" for i in range(len(inputs)))
        lines = [self.zero(name, shape, init)] + self.constants(name, body)
        text = ", ".join([affine(loops, dims) for dims in maps + [out_map]])
        iterators = ", ".join(f'"{kind}"' for kind in kinds)
        ins = ""
        if inputs:
            ins = f"ins({', '.join('%' + n for n, _ in inputs)} : {', '.join(t(s) for _, s in inputs)}) "
        lines.append(f"%{name} = linalg.generic {{indexing_maps = [{text}], iterator_types = [{iterators}]}} {ins}"
                     f"outs(%{name}z : {t(shape)}) {{")
        lines.append(f"^bb0({args + ', ' if args else ''}%{name}out: {element}):")
        lines += ["  " + self.spell(name, line) for line in body + ["linalg.yield %r : E"]]
        lines.append(f"}} -> {t(shape)}")
        return lines

    def constants(self, name, body):
        """Text of the numbers that a body reads."""
        used = {word.rstrip(",") for line in body for word in line.split(" ")}
        return [f"%{name}{constant} = arith.constant {value} : {self.program.element}"
                for constant, value in (("zero", "0.0"), ("one", "1.0"), ("half", "0.5"), ("eighth", "0.125"))
                if "%" + constant in used]

    def spell(self, name, line):
        """A line of a body with the names and types of a statement."""
        element = self.program.element
        words = []
        for word in line.split(" "):
            if word.startswith("%"):
                local = word[1:].rstrip(",)]")
                tail = word[1 + len(local):]
                local = f"i{local}" if local.isdigit() else local
                word = f"%{name}{local}{tail}"
            words.append({"E": element, "C": f"complex<{element}>"}.get(word, word))
        return " ".join(words)

    def map_named(self, source, shape, kind):
        text, function = UNARY[kind]
        name = self.name()
        t = self.program.type_of(shape)
        self.add([(name, shape)], {source}, [f"%{name} = {text} %{source} : {t}"],
                 lambda env: [[function(value) for value in env[source]]])
        return name

    def repeat(self, shape):
        """A smaller value, repeated along further dimensions and then changed element by element."""
        dims = sorted(self.random.sample(range(len(shape)), self.random.randint(0, len(shape) - 1)))
        small, name, t = [shape[d] for d in dims], self.name(), self.program.type_of
        source = self.pick_or_make(small)
        added = [d for d in range(len(shape)) if d not in dims]
        lines = [self.zero(name, shape), f"%{name} = linalg.broadcast ins(%{source} : {t(small)}) "
                 f"outs(%{name}z : {t(shape)}) dimensions = {added}"]
        self.add([(name, shape)], {source}, lines, lambda env: [build(
            shape, lambda *p: env[source][at(small, [p[d] for d in dims])])])
        for _ in range(self.random.randint(0, 3)):
            name = self.map_named(name, shape, self.random.choice(list(UNARY)))
        return name

    def gen_unary(self):
        source, shape = self.pick()
        if self.random.random() < 0.4:
            self.map_named(source, shape, self.random.choice(list(UNARY)))
            return True
        kind = self.random.choice(list(BODIES))
        body, function, kink = BODIES[kind]
        if kink and any(abs(value) < self.margin for value in self.env[source]):
            return False
        name, dims = self.name(), list(range(len(shape)))
        lines = self.generic(name, shape, [(source, shape)], [dims], dims, ["parallel"] * len(shape), body)
        self.add([(name, shape)], {source}, lines, lambda env: [[function(value) for value in env[source]]])
        return True

    def gen_binary(self):
        """Equal shapes by name, or broadcast by an indexing map."""
        source, shape = self.pick()
        kind = self.random.choice(list(BINARY))
        function, name = BINARY[kind], self.name()
        dims = sorted(self.random.sample(range(len(shape)), self.random.randint(0, len(shape))))
        if self.random.random() < 0.5:
            dims = list(range(len(shape)))
        small = [shape[d] for d in dims]
        other = self.pick_or_make(small)
        values = self.env
        gap = [abs(values[source][at(shape, p)] - values[other][at(small, [p[d] for d in dims])])
               for p in points(shape)]
        if kind in ("maximumf", "minimumf") and min(gap, default=1) < self.margin:
            return False

        def evaluate(env):
            a, b = env[source], env[other]
            return [build(shape, lambda *p: function(a[at(shape, p)], b[at(small, [p[d] for d in dims])]))]

        t = self.program.type_of(shape)
        if small == shape:
            lines = [f"%{name} = arith.{kind} %{source}, %{other} : {t}"]
        else:
            all_dims = list(range(len(shape)))
            lines = self.generic(name, shape, [(source, shape), (other, small)], [all_dims, dims], all_dims,
                                 ["parallel"] * len(shape), [f"%r = arith.{kind} %0, %1 : E"])
        self.add([(name, shape)], {source, other}, lines, evaluate)
        return True

    def gen_quotient(self):
        source, shape = self.pick()
        other, name, dims = self.pick_or_make(shape), self.name(), list(range(len(shape)))
        body = ["%a = arith.mulf %1, %1 : E", "%b = arith.addf %a, %one : E", "%r = arith.divf %0, %b : E"]
        lines = self.generic(name, shape, [(source, shape), (other, shape)], [dims, dims], dims,
                             ["parallel"] * len(shape), body)
        self.add([(name, shape)], {source, other}, lines,
                 lambda env: [[a / (b * b + 1) for a, b in zip(env[source], env[other])]])
        return True

    def gen_product(self):
        """A contraction over the last dimension, with or without batches, operands in any order of dimensions."""
        value = self.pick(lambda shape: 2 <= len(shape) <= 3)
        if not value:
            return False
        a, shape = value
        n, k, batch = self.random.choice(self.dims), shape[-1], shape[:-2]
        t = self.program.type_of
        name = self.name()
        out = batch + [shape[-2], n]
        rank = len(batch)
        row, column, inner = rank, rank + 1, rank + 2
        loops = batch + [shape[-2], n, k]
        a_dims, b_dims = list(range(rank)) + [row, inner], list(range(rank)) + [inner, column]
        permuted = self.random.random() < 0.4
        if permuted:
            self.random.shuffle(b_dims)
        b_shape = [loops[d] for d in b_dims]
        b = self.repeat(b_shape) if self.random.random() < 0.25 else self.pick_or_make(b_shape)
        if permuted or self.random.random() < 0.3:
            maps = ", ".join(affine(rank + 3, dims) for dims in (a_dims, b_dims, list(range(rank + 2))))
            op = f"linalg.contract indexing_maps = [{maps}]"
        else:
            op = "linalg.batch_matmul" if rank else "linalg.matmul"
        lines = [self.zero(name, out), f"%{name} = {op} ins(%{a}, %{b} : {t(shape)}, {t(b_shape)}) "
                 f"outs(%{name}z : {t(out)}) -> {t(out)}"]
        self.add([(name, out)], {a, b}, lines, lambda env: [contract(
            out, loops, list(range(rank + 2)), [(env[a], shape, a_dims), (env[b], b_shape, b_dims)])])
        return True

    def short_product(self, shape):
        """A contraction over one or two terms, as the gradient of a weight from one step of a recurrent net."""
        (rows, columns), name, t = shape, self.name(), self.program.type_of
        depth = self.random.randint(1, 2)
        a_shape, b_shape = [rows, depth], [depth, columns]
        a, b = self.pick_or_make(a_shape), self.pick_or_make(b_shape)
        lines = [self.zero(name, shape), f"%{name} = linalg.matmul ins(%{a}, %{b} : {t(a_shape)}, {t(b_shape)}) "
                 f"outs(%{name}z : {t(shape)}) -> {t(shape)}"]
        self.add([(name, shape)], {a, b}, lines, lambda env: [contract(
            shape, [rows, columns, depth], [0, 1], [(env[a], a_shape, [0, 2]), (env[b], b_shape, [2, 1])])])
        return name

    def gen_terms(self):
        """Several terms that one operation adds up, which may be contractions."""
        source, shape = self.pick()
        name, dims, terms = self.name(), list(range(len(shape))), [source]
        makes_products = len(shape) == 2 and self.random.random() < 0.7
        for _ in range(self.random.randint(2, 9)):
            terms.append(self.short_product(shape) if makes_products and self.random.random() < 0.7 else
                         self.pick_or_make(shape))
        self.random.shuffle(terms)
        body = [f"%s{number} = arith.addf {f'%s{number - 1}' if number > 1 else '%0'}, %{number} : E"
                for number in range(1, len(terms) - 1)]
        body.append(f"%r = arith.addf {f'%s{len(terms) - 2}' if len(terms) > 2 else '%0'}, %{len(terms) - 1} : E")
        lines = self.generic(name, shape, [(term, shape) for term in terms], [dims] * len(terms), dims,
                             ["parallel"] * len(shape), body)
        self.add([(name, shape)], set(terms), lines,
                 lambda env: [[sum(values) for values in zip(*(env[term] for term in terms))]])
        return True

    def gen_reduction(self):
        value = self.pick(lambda shape: len(shape) > 0)
        if not value:
            return False
        source, shape = value
        reduced = sorted(self.random.sample(range(len(shape)), self.random.randint(1, len(shape))))
        kept = [d for d in range(len(shape)) if d not in reduced]
        out, name = [shape[d] for d in kept], self.name()
        kinds = ["reduction" if d in reduced else "parallel" for d in range(len(shape))]
        kind = self.random.choice(["sum"] * 5 + ["maximum", "maximum", "minimum", "product"])

        def groups(env):
            parts = [[] for _ in range(size_of(out))]
            for value, p in zip(env[source], points(shape)):
                parts[at(out, [p[d] for d in kept])].append(value)
            return parts

        parts = [sorted(part) for part in groups(self.env) if len(part) > 1]
        if (kind == "maximum" and any(part[-1] - part[-2] < self.margin for part in parts) or
                kind == "minimum" and any(part[1] - part[0] < self.margin for part in parts) or
                kind == "product" and any(max(map(abs, part)) > self.limit ** (2.7 / len(part)) for part in parts)):
            return False
        text, combine, start = self.reduction(kind)
        body = [f"%r = arith.{text} %0, %out : E"]
        lines = self.generic(name, out, [(source, shape)], [list(range(len(shape)))], kept, kinds, body, start)
        self.add([(name, out)], {source}, lines, lambda env: [[combine(part) for part in groups(env)]])
        return True

    def reduction(self, kind):
        """What is in the table, with a start that is a number of the element type."""
        text, combine, start = REDUCTIONS[kind]
        return text, combine, start.replace("1.0e30", "6.0e4") if self.program.element == "f16" else start

    def gen_window(self):
        """Sums or extrema of the windows along the last dimension."""
        value = self.pick(lambda shape: len(shape) > 0 and shape[-1] > 1)
        if not value:
            return False
        source, shape = value
        size, stride, dilation = (self.random.randint(1, 3), self.random.randint(1, 2), self.random.randint(1, 2))
        room = shape[-1] - dilation * (size - 1) - 1
        if room < 0:
            return False
        outer, name, t, e = shape[:-1], self.name(), self.program.type_of, self.program.element
        out = outer + [room // stride + 1]
        kind = self.random.choice(["sum", "maximum", "minimum"])
        text, combine, start = self.reduction(kind)

        def windows(env):
            return [[env[source][at(shape, [*p[:-1], p[-1] * stride + k * dilation])] for k in range(size)]
                    for p in points(out)]

        if kind != "sum" and any(b - a < self.margin for part in windows(self.env) for a, b in
                                 zip(sorted(part), sorted(part)[1:])):
            return False
        rank = len(out)
        dims = [f"d{i}" for i in range(rank + 1)]
        place = ", ".join(dims[:rank - 1] + [f"{dims[rank - 1]} * {stride} + {dims[rank]} * {dilation}"])
        read = f"affine_map<({', '.join(dims)}) -> ({place})>"
        maps = ", ".join([read, affine(rank + 1, [rank]), affine(rank + 1, list(range(rank)))])
        kinds = ", ".join(['"parallel"'] * rank + ['"reduction"'])
        lines = [self.zero(name, out, start), f"%{name}w = tensor.empty() : {t([size])}",
                 f"%{name} = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}} "
                 f"ins(%{source}, %{name}w : {t(shape)}, {t([size])}) outs(%{name}z : {t(out)}) {{",
                 f"^bb0(%{name}i: {e}, %{name}u: {e}, %{name}o: {e}):",
                 f"  %{name}r = arith.{text} %{name}i, %{name}o : {e}", f"  linalg.yield %{name}r : {e}",
                 f"}} -> {t(out)}"]
        self.add([(name, out)], {source}, lines, lambda env: [[combine(part) for part in windows(env)]])
        return True

    def gen_complex(self):
        """A function of complex numbers, made of two tensors, and a part of what it gives."""
        if self.differentiating or self.narrow:
            return False  # There are no complex dual numbers, and no complex numbers of such parts.
        source, shape = self.pick()
        other, name, t, e = self.pick_or_make(shape), self.name(), self.program.type_of, self.program.element
        kind, part = self.random.choice(list(COMPLEX)), self.random.choice(list(PARTS))
        (text, function), (last, take) = COMPLEX[kind], PARTS[part]
        numbers = [function(complex(a, b)) for a, b in zip(self.env[source], self.env[other])]
        if part == "abs" and any(abs(number) < self.margin for number in numbers):
            return False
        number = f"complex<{e}>"
        dims = list(range(len(shape)))
        lines, kinds = self.constants(name, text), ", ".join(['"parallel"'] * len(shape))

        def elementwise(result, inputs, from_element, to_element, body):
            maps = ", ".join([affine(len(shape), dims)] * (len(inputs) + 1))
            names = ", ".join("%" + i for i in inputs)
            types = ", ".join([t(shape, from_element)] * len(inputs))
            args = ", ".join(f"%{result}a{i}: {from_element}" for i in range(len(inputs)))
            return [f"%{result}t = tensor.empty() : {t(shape, to_element)}",
                    f"%{result} = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}} "
                    f"ins({names} : {types}) outs(%{result}t : {t(shape, to_element)}) {{",
                    f"^bb0({args}, %{result}o: {to_element}):", *body, f"}} -> {t(shape, to_element)}"]

        lines += elementwise(name + "c", [source, other], e, number,
                             [f"  %{name}x = complex.create %{name}ca0, %{name}ca1 : {number}",
                              f"  linalg.yield %{name}x : {number}"])
        made = name + "c"
        if self.random.random() < 0.3:
            made = name + "g"
            policy = self.random.choice(["prefer_save", "must_recompute", "must_cpu_offload"])
            lines.append(f"%{made} = remat.tag %{name}c {{policy = #remat.policy<{policy}>}} : {t(shape, number)}")

        def rename(line, old, new):
            return " ".join(new + word[len(old):] if word.rstrip(",") == old else word for word in line.split(" "))

        lines += elementwise(name + "d", [made], number, number,
                             ["  " + self.spell(name, rename(line, "%z", "%da0")) for line in text] +
                             [f"  linalg.yield %{name}y : {number}"])
        lines += elementwise(name, [name + "d"], number, e,
                             ["  " + self.spell(name, rename(line, "%y", "%a0")) for line in last] +
                             [f"  linalg.yield %{name}r : {e}"])
        self.add([(name, shape)], {source, other}, lines, lambda env: [
            [take(function(complex(a, b))) for a, b in zip(env[source], env[other])]])
        self.program.features.add("complex")
        return True

    def gen_softmax(self):
        value = self.pick(lambda shape: len(shape) > 0)
        if not value:
            return False
        source, shape = value
        rows, all_dims, outer = shape[:-1], list(range(len(shape))), list(range(len(shape) - 1))
        name = self.name()
        kinds = ["parallel"] * len(outer) + ["reduction"]
        flat = ["parallel"] * len(shape)
        lines = self.generic(name + "m", rows, [(source, shape)], [all_dims], outer, kinds,
                             ["%r = arith.maximumf %0, %out : E"], "-1.0e30")
        lines += self.generic(name + "e", shape, [(source, shape), (name + "m", rows)], [all_dims, outer], all_dims,
                              flat, ["%a = arith.subf %0, %1 : E", "%r = math.exp %a : E"])
        lines += self.generic(name + "s", rows, [(name + "e", shape)], [all_dims], outer, kinds,
                              ["%r = arith.addf %0, %out : E"])
        lines += self.generic(name, shape, [(name + "e", shape), (name + "s", rows)], [all_dims, outer], all_dims, flat,
                              ["%r = arith.divf %0, %1 : E"])
        self.add([(name, shape)], {source}, lines, lambda env: [softmax(env[source], shape[-1])])
        return True

    def gen_cumulative(self):
        """Sums, products and logarithms of sums of exponentials of what stands before along a dimension, as exporters
        write them: a loop inserts slice after slice."""
        value = self.pick(lambda shape: len(shape) > 0)
        if not value:
            return False
        source, shape = value
        d, name, t = self.random.randrange(len(shape)), self.name(), self.program.type_of
        kind = self.random.choice(["sum", "product", "logcumsumexp"])
        dims, flat = list(range(len(shape))), ["parallel"] * len(shape)
        rest, extent = shape[:d] + shape[d + 1:], shape[d]
        terms = name + "e" if kind == "logcumsumexp" else source
        lines = []
        if terms != source:
            lines += self.generic(terms, shape, [(source, shape)], [dims], dims, flat, ["%r = math.exp %0 : E"])
        scan = name + "s" if terms != source else name

        def place(at_d):
            return (f"[{', '.join(at_d if i == d else '0' for i in dims)}] {shape[:d] + [1] + shape[d + 1:]} "
                    f"{[1] * len(shape)}")

        n, op = f"%{name}", "arith.mulf" if kind == "product" else "arith.addf"
        lines += [
            self.zero(scan, shape),
            f"{n}lo = arith.constant 1 : index", f"{n}hi = arith.constant {extent} : index",
            f"{n}f = tensor.extract_slice %{terms}{place('0')} : {t(shape)} to {t(rest)}",
            f"{n}g = tensor.insert_slice {n}f into %{scan}z{place('0')} : {t(rest)} into {t(shape)}",
            f"%{scan}, {n}t = scf.for {n}i = {n}lo to {n}hi step {n}lo iter_args({n}a = {n}g, {n}b = {n}f) "
            f"-> ({t(shape)}, {t(rest)}) {{",
            f"  {n}c = tensor.extract_slice %{terms}{place(n + 'i')} : {t(shape)} to {t(rest)}",
            f"  {n}d = {op} {n}b, {n}c : {t(rest)}",
            f"  {n}k = tensor.insert_slice {n}d into {n}a{place(n + 'i')} : {t(rest)} into {t(shape)}",
            f"  scf.yield {n}k, {n}d : {t(shape)}, {t(rest)}", "}"]
        if terms != source:
            lines += self.generic(name, shape, [(scan, shape)], [dims], dims, flat, ["%r = math.log %0 : E"])

        def element(values, p):
            before = [values[at(shape, list(p[:d]) + [i] + list(p[d + 1:]))] for i in range(p[d] + 1)]
            if kind == "product":
                return math.prod(before)
            return sum(before) if kind == "sum" else math.log(sum(map(math.exp, before)))

        self.add([(name, shape)], {source}, lines, lambda env: [build(shape, lambda *p: element(env[source], p))])
        return True

    def gen_convolution(self):
        value = self.pick(lambda shape: len(shape) >= 2)
        if not value:
            return False
        source, shape = value
        t, name = self.program.type_of, self.name()
        if len(shape) == 2:  # A batch of one.
            wide = [1] + shape
            x = name + "x"
            lead = [f"%{x} = tensor.expand_shape %{source} [[0, 1], [2]] output_shape {wide} : "
                    f"{t(shape)} into {t(wide)}"]
        else:
            wide, x, lead = shape, source, []
        order = list(range(len(wide)))  # Logical dimension to dimension of the tensor.
        self.random.shuffle(order)
        logical = [wide[d] for d in order]
        groups = self.random.choice([g for g in (1, 1, 2, 3) if logical[1] % g == 0])
        features = groups * self.random.randint(1, 3)
        spatial = len(logical) - 2
        strides = [self.random.randint(1, 2) for _ in range(spatial)]
        dilations = [self.random.randint(1, 2) for _ in range(spatial)]
        padding = [self.random.randint(0, 2) for _ in range(2 * spatial)]
        window = [self.random.randint(1, 3) for _ in range(spatial)]
        outs = []
        for d in range(spatial):
            room = logical[2 + d] + padding[2 * d] + padding[2 * d + 1] - dilations[d] * (window[d] - 1) - 1
            if room < 0:
                return False
            outs.append(room // strides[d] + 1)
        out = [logical[0], features] + outs
        w_shape = [features, logical[1] // groups] + window
        w = self.pick_or_make(w_shape)
        array = lambda values: f"array<i64: {', '.join(map(str, values))}>"
        plain = array(range(len(wide)))
        attributes = (f"strides = {array(strides)}, dilations = {array(dilations)}, padding = {array(padding)}, "
                      f"groups = {groups} : i64, input_layout = {array(order)}, filter_layout = {plain}, "
                      f"output_layout = {plain}")
        lines = lead + [f"%{name} = remat.conv forward(%{x}, %{w}) {{{attributes}}} : "
                        f"({t(wide)}, {t(w_shape)}) -> {t(out)}"]

        def evaluate(env):
            def element(*p):
                place = [0] * len(wide)
                for logical_dim, d in enumerate(order):
                    place[d] = p[logical_dim]
                return env[source][at(wide, place)]

            return [convolve(build(logical, element), logical, env[w], w_shape, out, strides, dilations, padding,
                             groups)]

        self.add([(name, out)], {source, w}, lines, evaluate)
        return True

    def gen_random(self):
        source, shape = self.pick()
        name, t = self.name(), self.program.type_of
        key, offset = self.random.getrandbits(40), self.random.getrandbits(20)
        # Widened programs draw numbers of f64, too, which have all digits of the words.
        numbers = uniform(key, offset, size_of(shape), 32)
        lines = [f"%{name}k = arith.constant dense<{key}> : tensor<i64>",
                 f"%{name}o = arith.constant dense<{offset}> : tensor<i64>",
                 f"%{name}u = remat.random %{name}k, %{name}o : (tensor<i64>, tensor<i64>) -> {t(shape)}",
                 f"%{name} = arith.mulf %{source}, %{name}u : {t(shape)}"]
        self.add([(name, shape)], {source}, lines, lambda env: [[a * b for a, b in zip(env[source], numbers)]])
        self.program.features.add("random")
        return True

    def gen_cast(self):
        if self.program.element == "f64":
            return False
        source, shape = self.pick()
        name, t = self.name(), self.program.type_of
        other = "f32" if self.narrow else self.random.choice(["bf16", "f16"])
        there, back = ("extf", "truncf") if self.narrow else ("truncf", "extf")
        lines = [f"%{name}n = arith.{there} %{source} : {t(shape)} to {t(shape, other)}"]
        inner = name + "n"
        if self.random.random() < 0.5:
            lines.append(f"%{name}m = arith.addf %{inner}, %{inner} : {t(shape, other)}")
            inner, scale = name + "m", 2.0
        else:
            scale = 1.0
        lines.append(f"%{name} = arith.{back} %{inner} : {t(shape, other)} to {t(shape)}")
        self.add([(name, shape)], {source}, lines, lambda env: [[scale * value for value in env[source]]])
        self.program.features.add("casts")
        return True

    def gen_tag(self):
        source, shape = self.pick()
        if source in self.policies:
            return False
        name, t = self.name(), self.program.type_of
        # Two MUSTs on one buffer are an error: they are only put on what is computed here.
        fresh = name + "p"
        attributes = [f'name = "{name}"'] if self.random.random() < 0.5 else []
        if self.random.random() < 0.8:
            attributes.append(f"policy = #remat.policy<{self.random.choice(POLICIES)}>")
        elif self.random.random() < 0.7 and not self.differentiating:
            codec = self.random.choice(['"bf16"', '"int8"', "[@pack, @unpack]"])
            if "@" in codec:
                codec = self.codec(self.program.type_of(shape) if self.random.random() < 0.5 else None)
            self.program.lossy |= "@" not in codec
            attributes.append(f"codec = {codec}")
        if not attributes:
            return False
        body, function, _ = BODIES["bell"]
        dims = list(range(len(shape)))
        lines = self.generic(fresh, shape, [(source, shape)], [dims], dims, ["parallel"] * len(shape), body)
        lines.append(f"%{name} = remat.tag %{fresh} {{{', '.join(attributes)}}} : {t(shape)}")
        self.policies.add(name)
        self.add([(name, shape)], {source}, lines, lambda env: [[function(value) for value in env[source]]])
        return True

    def codec(self, t=None):
        """A pair of functions that lose nothing, for one type or for all shapes."""
        t = t or f"tensor<{self.random.choice('?*')}x{self.program.element}>"
        number = self.name("codec")
        for kind in ("pack", "unpack"):
            self.program.functions.append(f"func.func private @{number}{kind}(%x: {t}) -> {t} {{\n"
                                          f"  %y = arith.negf %x : {t}\n  return %y : {t}\n}}")
        return f"[@{number}pack, @{number}unpack]"

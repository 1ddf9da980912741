"""Random statements without a body: elementwise operations, contractions, reductions, views, gathers, scatters,
convolutions, random numbers, casts and tags. Each is written for the compiler and for the interpreter."""

import math

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
POLICIES = ["must_save", "prefer_save", "must_recompute", "prefer_recompute", "must_cpu_offload", "prefer_cpu_offload"]
MARGIN = 1e-3  # Between candidates of a choice.


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
        lines = [self.zero(name, shape, init)]
        for constant, value in (("zero", "0.0"), ("one", "1.0"), ("half", "0.5")):
            if any(f"%{constant} " in line + " " or f"%{constant}," in line for line in body):
                lines.append(f"%{name}{constant} = arith.constant {value} : {element}")
        text = ", ".join([affine(loops, dims) for dims in maps + [out_map]])
        iterators = ", ".join(f'"{kind}"' for kind in kinds)
        ins = ""
        if inputs:
            ins = f"ins({', '.join('%' + n for n, _ in inputs)} : {', '.join(t(s) for _, s in inputs)}) "
        lines.append(f"%{name} = linalg.generic {{indexing_maps = [{text}], iterator_types = [{iterators}]}} {ins}"
                     f"outs(%{name}z : {t(shape)}) {{")
        lines.append(f"^bb0({args + ', ' if args else ''}%{name}out: {element}):")
        for line in body + ["linalg.yield %r : E"]:
            words = []
            for word in line.replace(" E", " " + element).split(" "):
                if word.startswith("%"):
                    local = word[1:].rstrip(",)]")
                    tail = word[1 + len(local):]
                    local = f"i{local}" if local.isdigit() else local
                    word = f"%{name}{local}{tail}"
                words.append(word)
            lines.append("  " + " ".join(words))
        lines.append(f"}} -> {t(shape)}")
        return lines

    def map_named(self, source, shape, kind):
        text, function = UNARY[kind]
        name = self.name()
        t = self.program.type_of(shape)
        self.add([(name, shape)], {source}, [f"%{name} = {text} %{source} : {t}"],
                 lambda env: [[function(value) for value in env[source]]])

    def gen_unary(self):
        source, shape = self.pick()
        if self.random.random() < 0.4:
            self.map_named(source, shape, self.random.choice(list(UNARY)))
            return True
        kind = self.random.choice(list(BODIES))
        body, function, kink = BODIES[kind]
        if kink and any(abs(value) < MARGIN for value in self.env[source]):
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
        gap = [abs(values[source][at(shape, p)] - values[other][at(small, [p[d] for d in dims])]) for p in points(shape)]
        if kind in ("maximumf", "minimumf") and min(gap, default=1) < MARGIN:
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
        b = self.pick_or_make(b_shape)
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

    def gen_reduction(self):
        value = self.pick(lambda shape: len(shape) > 0)
        if not value:
            return False
        source, shape = value
        reduced = sorted(self.random.sample(range(len(shape)), self.random.randint(1, len(shape))))
        kept = [d for d in range(len(shape)) if d not in reduced]
        out, name = [shape[d] for d in kept], self.name()
        kinds = ["reduction" if d in reduced else "parallel" for d in range(len(shape))]
        greatest = self.random.random() < 0.3

        def groups(env):
            parts = [[] for _ in range(size_of(out))]
            for value, p in zip(env[source], points(shape)):
                parts[at(out, [p[d] for d in kept])].append(value)
            return parts

        if greatest and any(len(part) > 1 and sorted(part)[-1] - sorted(part)[-2] < MARGIN for part in groups(self.env)):
            return False
        combine = max if greatest else sum
        body = ["%r = arith.maximumf %0, %out : E" if greatest else "%r = arith.addf %0, %out : E"]
        lines = self.generic(name, out, [(source, shape)], [list(range(len(shape)))], kept, kinds, body,
                             "-1.0e30" if greatest else "0.0")
        self.add([(name, out)], {source}, lines, lambda env: [[combine(part) for part in groups(env)]])
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
        lines += self.generic(name + "e", shape, [(source, shape), (name + "m", rows)], [all_dims, outer], all_dims, flat,
                              ["%a = arith.subf %0, %1 : E", "%r = math.exp %a : E"])
        lines += self.generic(name + "s", rows, [(name + "e", shape)], [all_dims], outer, kinds,
                              ["%r = arith.addf %0, %out : E"])
        lines += self.generic(name, shape, [(name + "e", shape), (name + "s", rows)], [all_dims, outer], all_dims, flat,
                              ["%r = arith.divf %0, %1 : E"])
        self.add([(name, shape)], {source}, lines, lambda env: [softmax(env[source], shape[-1])])
        return True

    def gen_view(self):
        value = self.pick(lambda shape: len(shape) > 0)
        if not value:
            return False
        source, shape = value
        kind = self.random.choice(["slice", "pad", "transpose", "reshape", "broadcast", "insert", "concat"])
        return getattr(self, "view_" + kind)(source, shape)

    def view_slice(self, source, shape):
        name, t = self.name(), self.program.type_of
        offsets = [self.random.randrange(extent) for extent in shape]
        strides = [self.random.choice([1, 1, 2]) for _ in shape]
        sizes = [self.random.randint(1, (extent - offset + stride - 1) // stride)
                 for extent, offset, stride in zip(shape, offsets, strides)]
        lines = [f"%{name} = tensor.extract_slice %{source}{offsets} {sizes} {strides} : {t(shape)} to {t(sizes)}"]
        self.add([(name, sizes)], {source}, lines, lambda env: [build(sizes, lambda *p: env[source][at(
            shape, [offset + i * stride for offset, i, stride in zip(offsets, p, strides)])])])
        return True

    def view_pad(self, source, shape):
        name, t = self.name(), self.program.type_of
        low = [self.random.randint(0, 2) for _ in shape]
        high = [self.random.randint(0, 2) for _ in shape]
        out = [a + extent + b for a, extent, b in zip(low, shape, high)]
        if size_of(out) > 300:
            return False
        args = ", ".join(f"%{name}i{i}: index" for i in range(len(shape)))
        lines = [f"%{name}c = arith.constant 0.25 : {self.program.element}",
                 f"%{name} = tensor.pad %{source} low{low} high{high} {{", f"^bb0({args}):",
                 f"  tensor.yield %{name}c : {self.program.element}", f"}} : {t(shape)} to {t(out)}"]

        def element(values, p):
            place = [i - a for i, a in zip(p, low)]
            return values[at(shape, place)] if all(0 <= i < e for i, e in zip(place, shape)) else 0.25

        self.add([(name, out)], {source}, lines, lambda env: [build(out, lambda *p: element(env[source], p))])
        return True

    def view_transpose(self, source, shape):
        name, t, order = self.name(), self.program.type_of, list(range(len(shape)))
        self.random.shuffle(order)
        out = [shape[d] for d in order]
        lines = [self.zero(name, out), f"%{name} = linalg.transpose ins(%{source} : {t(shape)}) outs(%{name}z : {t(out)}) "
                 f"permutation = {order}"]

        def element(values, p):
            place = [0] * len(shape)
            for i, d in zip(p, order):
                place[d] = i
            return values[at(shape, place)]

        self.add([(name, out)], {source}, lines, lambda env: [build(out, lambda *p: element(env[source], p))])
        return True

    def view_reshape(self, source, shape):
        """To one dimension, and on to a factorization of it."""
        name, count = self.name(), size_of(shape)
        factor = self.random.choice([f for f in range(1, count + 1) if count % f == 0])
        out = self.random.choice([[count], [factor, count // factor], [1, count]])
        lines, flat = [], source
        if len(shape) != 1:
            flat = name + "f" if len(out) != 1 else name
            lines.append(self.reshape_text(flat, source, shape, [count]))
        if len(out) != 1 or flat == source:
            lines.append(self.reshape_text(name, flat, [count], out))
        self.add([(name, out)], {source}, lines, lambda env: [env[source]])
        return True

    def view_broadcast(self, source, shape):
        extent, place = self.random.choice(self.dims), self.random.randint(0, len(shape))
        out, name, t = shape[:place] + [extent] + shape[place:], self.name(), self.program.type_of
        if len(out) > 3 or size_of(out) > 300:
            return False
        lines = [self.zero(name, out), f"%{name} = linalg.broadcast ins(%{source} : {t(shape)}) outs(%{name}z : {t(out)}) "
                 f"dimensions = [{place}]"]
        self.add([(name, out)], {source}, lines, lambda env: [build(
            out, lambda *p: env[source][at(shape, p[:place] + p[place + 1:])])])
        return True

    def view_insert(self, source, shape):
        """Overwrites a slice of another value."""
        target = self.pick(lambda other: len(other) == len(shape) and all(a >= b for a, b in zip(other, shape)))
        if not target:
            return False
        into, out = target
        name, t = self.name(), self.program.type_of
        offsets = [self.random.randint(0, a - b) for a, b in zip(out, shape)]
        ones = [1] * len(shape)
        lines = [f"%{name} = tensor.insert_slice %{source} into %{into}{offsets} {shape} {ones} : {t(shape)} into {t(out)}"]

        def element(env, p):
            place = [i - offset for i, offset in zip(p, offsets)]
            inside = all(0 <= i < e for i, e in zip(place, shape))
            return env[source][at(shape, place)] if inside else env[into][at(out, p)]

        self.add([(name, out)], {source, into}, lines, lambda env: [build(out, lambda *p: element(env, p))])
        return True

    def view_concat(self, source, shape):
        d = self.random.randrange(len(shape))
        other = self.pick(lambda o: len(o) == len(shape) and all(a == b for i, (a, b) in enumerate(zip(o, shape)) if i != d))
        second, extents = other
        out = list(shape)
        out[d] += extents[d]
        if size_of(out) > 300:
            return False
        name, t = self.name(), self.program.type_of
        lines = [f"%{name} = tensor.concat dim({d}) %{source}, %{second} : ({t(shape)}, {t(extents)}) -> {t(out)}"]

        def element(env, p):
            if p[d] < shape[d]:
                return env[source][at(shape, p)]
            return env[second][at(extents, [i - shape[d] * (j == d) for j, i in enumerate(p)])]

        self.add([(name, out)], {source, second}, lines, lambda env: [build(out, lambda *p: element(env, p))])
        return True

    def gen_gather(self):
        """Rows that indices select."""
        value = self.pick(lambda shape: 1 <= len(shape) <= 2)
        if not value:
            return False
        source, shape = value
        count, name, t = self.random.choice(self.dims), self.name(), self.program.type_of
        ids = self.argument([count], "i8", shape[0])
        out = [count] + shape[1:]
        loops = len(out)
        maps = f"{affine(loops, [0])}, {affine(loops, list(range(loops)))}"
        column = [f"  %{name}j = linalg.index 1 : index"] if loops > 1 else []
        place = f"%{name}k, %{name}j" if loops > 1 else f"%{name}k"
        kinds = ", ".join(['"parallel"'] * loops)
        lines = [self.zero(name, out), f"%{name} = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}} "
                 f"ins(%{ids} : {t([count], 'i64')}) outs(%{name}z : {t(out)}) {{",
                 f"^bb0(%{name}i: i64, %{name}o: {self.program.element}):",
                 f"  %{name}k = arith.index_cast %{name}i : i64 to index", *column,
                 f"  %{name}e = tensor.extract %{source}[{place}] : {t(shape)}",
                 f"  linalg.yield %{name}e : {self.program.element}", f"}} -> {t(out)}"]
        self.add([(name, out)], {source, ids}, lines, lambda env: [build(
            out, lambda i, *rest: env[source][at(shape, [env[ids][i], *rest])])])
        return True

    def gen_scatter(self):
        """Adds rows to the rows that indices select, or overwrites these in a loop."""
        value = self.pick(lambda shape: len(shape) == 2)
        if not value:
            return False
        source, shape = value
        rows, name, t, e = self.random.choice(self.dims), self.name(), self.program.type_of, self.program.element
        ids = self.argument([shape[0]], "i8", rows)
        out = [rows, shape[1]]
        into = self.pick_or_make(out)
        adds = self.random.random() < 0.6
        if adds:
            maps = f"{affine(2, [0])}, {affine(2, [0, 1])}"
            lines = [f"%{name} = remat.scatter {{indexing_maps = [{maps}], sizes = array<i64: {shape[0]}, {shape[1]}>}} "
                     f"ins(%{ids}, %{source} : {t([shape[0]], 'i64')}, {t(shape)}) outs(%{into} : {t(out)}) {{",
                     f"^bb0(%{name}p: index, %{name}q: index, %{name}i: i64, %{name}v: {e}):",
                     f"  %{name}r = arith.index_cast %{name}i : i64 to index",
                     f"  remat.yield %{name}r, %{name}q, %{name}v : index, index, {e}", f"}} -> {t(out)}"]
        else:
            lines = [f"%{name}a = arith.constant 0 : index", f"%{name}b = arith.constant {shape[0]} : index",
                     f"%{name}c = arith.constant 1 : index",
                     f"%{name} = scf.for %{name}i = %{name}a to %{name}b step %{name}c iter_args(%{name}t = %{into}) -> "
                     f"({t(out)}) {{", f"  %{name}x = tensor.extract %{ids}[%{name}i] : {t([shape[0]], 'i64')}",
                     f"  %{name}k = arith.index_cast %{name}x : i64 to index",
                     f"  %{name}s = tensor.extract_slice %{source}[%{name}i, 0] [1, {shape[1]}] [1, 1] : {t(shape)} to "
                     f"{t([1, shape[1]])}",
                     f"  %{name}w = tensor.insert_slice %{name}s into %{name}t[%{name}k, 0] [1, {shape[1]}] [1, 1] : "
                     f"{t([1, shape[1]])} into {t(out)}", f"  scf.yield %{name}w : {t(out)}", "}"]

        def evaluate(env):
            result = list(env[into])
            for p in points(shape):
                place = at(out, [env[ids][p[0]], p[1]])
                result[place] = env[source][at(shape, p)] + (result[place] if adds else 0.0)
            return [result]

        self.add([(name, out)], {source, ids, into}, lines, evaluate)
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
            lead = [f"%{x} = tensor.expand_shape %{source} [[0, 1], [2]] output_shape {wide} : {t(shape)} into {t(wide)}"]
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
        lines = lead + [f"%{name} = remat.conv forward(%{x}, %{w}) {{{attributes}}} : ({t(wide)}, {t(w_shape)}) -> {t(out)}"]

        def evaluate(env):
            def element(*p):
                place = [0] * len(wide)
                for logical_dim, d in enumerate(order):
                    place[d] = p[logical_dim]
                return env[source][at(wide, place)]

            return [convolve(build(logical, element), logical, env[w], w_shape, out, strides, dilations, padding, groups)]

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
        if self.program.element != "f32":
            return False
        source, shape = self.pick()
        name, narrow, t = self.name(), self.random.choice(["bf16", "f16"]), self.program.type_of
        lines = [f"%{name}n = arith.truncf %{source} : {t(shape)} to {t(shape, narrow)}"]
        inner = name + "n"
        if self.random.random() < 0.5:
            lines.append(f"%{name}m = arith.addf %{inner}, %{inner} : {t(shape, narrow)}")
            inner, scale = name + "m", 2.0
        else:
            scale = 1.0
        lines.append(f"%{name} = arith.extf %{inner} : {t(shape, narrow)} to {t(shape)}")
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
        elif self.random.random() < 0.7:
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

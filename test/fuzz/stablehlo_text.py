# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations of StableHLO with drawn attributes, as text, for stablehlo_raw.py.

A draw is a function of a Draft, to which it adds arguments and operations, and which it says the results of. It draws
what the specification allows, also what JAX never writes. A draw that raises Skip has drawn what it cannot use."""

import ml_dtypes
import numpy as np

INTEGERS = ["i8", "ui8", "i16", "ui16", "i32", "ui32", "i64", "ui64"]
FLOATS = ["f64", "f64", "f32", "f16", "bf16"]
NUMPY = {"i1": np.bool_, "bf16": ml_dtypes.bfloat16, "f16": np.float16, "f32": np.float32, "f64": np.float64,
         "complex<f32>": np.complex64, "complex<f64>": np.complex128,
         **{t: np.dtype(t.replace("ui", "uint") if t[0] == "u" else t.replace("i", "int"))
            for t in INTEGERS}}
BITS = {"i1": 1, "f16": 16, "bf16": 16, "f32": 32, "f64": 64, **{t: int(t.strip("ui")) for t in INTEGERS}}

DRAWS = {}


class Skip(Exception):
    """What was drawn is no program."""


def draws(make):
    DRAWS[make.__name__] = make
    return make


def is_float(kind):
    return kind in FLOATS


def tensor(dims, kind):
    return f"tensor<{''.join(f'{n}x' for n in dims)}{kind}>"


def array(numbers):
    return "array<i64" + (": " + ", ".join(map(str, numbers)) if len(numbers) else "") + ">"


def pairs(numbers):
    """What a two-dimensional attribute is written as, such as a padding."""
    return f"dense<{[list(pair) for pair in numbers]}> : tensor<{len(numbers)}x2xi64>" if len(numbers) else (
        "dense<> : tensor<0x2xi64>")


class Draft:
    """The text of a function, whose values have names and types."""

    def __init__(self, draw, rng):
        self.draw, self.rng = draw, rng
        self.arguments, self.lines, self.results = [], [], []
        self.count = 0
        self.smooth = True  # Whether gradients agree with differences.

    def dims(self, low=0, high=3, least=1, most=5):
        return [self.draw.randint(least, most) for _ in range(self.draw.randint(low, high))]

    def element(self, *groups):
        return self.draw.choice([kind for group in groups or (FLOATS, INTEGERS) for kind in group])

    def numbers(self, dims, kind):
        if kind == "i1":
            return self.rng.random(dims) < 0.5
        if kind.startswith("complex"):
            return (self.rng.normal(size=dims) + 1j * self.rng.normal(size=dims)).astype(NUMPY[kind])
        if is_float(kind):
            return np.asarray(self.rng.normal(size=dims)).astype(NUMPY[kind])
        info = np.iinfo(NUMPY[kind])
        wide = self.rng.integers(info.min, info.max, dims, NUMPY[kind], endpoint=True)
        small = self.rng.integers(-3 if info.min else 0, 4, dims).astype(NUMPY[kind])
        return np.asarray(np.where(self.rng.random(dims) < 0.3, wide, small), NUMPY[kind])

    def argument(self, dims, kind, values=None):
        """A new argument, a pair of its name and its type."""
        values = self.numbers(dims, kind) if values is None else np.asarray(values).astype(NUMPY[kind])
        self.arguments.append((f"%arg{len(self.arguments)}", dims, kind, values))
        return self.arguments[-1][0], dims, kind

    def op(self, name, operands, types, attributes="", regions=()):
        """Adds an operation; `types` are pairs of dimensions and elements. Returns its results."""
        names = [f"%{self.count + n}" for n in range(len(types))]
        self.count += len(types)
        text = f'{", ".join(names)} = "{name}"({", ".join(o[0] for o in operands)})'
        if attributes:
            text += " <{" + attributes + "}>"
        if regions:
            text += " ({\n" + "\n}, {\n".join(regions) + "\n})"
        text += f' : ({", ".join(tensor(*o[1:]) for o in operands)}) -> ({", ".join(tensor(*t) for t in types)})'
        self.lines.append(text)
        return [(name, *t) for name, t in zip(names, types)]

    def region(self, kinds, build, dims=()):
        """A region with an argument for each of `kinds`; build(draft, arguments) returns what it hands on."""
        inner = Draft(self.draw, self.rng)
        inner.count = self.count
        arguments = [(f"%{inner.count + n}", list(dims), kind) for n, kind in enumerate(kinds)]
        inner.count += len(kinds)
        results = build(inner, arguments)
        self.count = inner.count
        head = ", ".join(f"{a[0]}: {tensor(*a[1:])}" for a in arguments)
        names, types = ", ".join(r[0] for r in results), ", ".join(tensor(*r[1:]) for r in results)
        return "\n".join([f"^bb0({head}):" if arguments else "^bb0:", *inner.lines,
                          f'"stablehlo.return"({names}) : ({types}) -> ()'])

    def binary(self, name, a, b):
        return self.op("stablehlo." + name, [a, b], [a[1:]])[0]

    def compare(self, direction, a, b, kind=""):
        attributes = f"comparison_direction = #stablehlo<comparison_direction {direction}>"
        if kind:
            attributes += f", compare_type = #stablehlo<comparison_type {kind}>"
        return self.op("stablehlo.compare", [a, b], [(a[1], "i1")], attributes)[0]

    def returns(self, values):
        self.results += values


def combiner(draft, kind):
    """The name of an operation that orders and groupings do not matter for, and its neutral element or None."""
    if kind == "i1":
        return draft.draw.choice([("and", 1), ("or", 0), ("xor", 0), ("maximum", 0), ("minimum", 1), ("add", 0)])
    if is_float(kind):
        return draft.draw.choice([("add", 0), ("multiply", 1), ("maximum", -np.inf), ("minimum", np.inf)])
    info = np.iinfo(NUMPY[kind])
    return draft.draw.choice([("add", 0), ("multiply", 1), ("maximum", info.min), ("minimum", info.max),
                              ("and", info.max if info.min == 0 else -1), ("or", 0), ("xor", 0)])


def initial(draft, kind, neutral):
    """A scalar that a reduction begins with."""
    values = np.asarray(neutral) if draft.draw.random() < 0.7 else draft.numbers((), kind)
    return draft.argument([], kind, values)


# Gathers and scatters

def index_values(draft, dims, kind, sizes, vector):
    """Indices, of which some are outside. `sizes` are those of what is indexed, in the order of the index vector."""
    info = np.iinfo(NUMPY[kind])
    values = np.zeros(dims, np.int64)
    for number, size in enumerate(sizes):
        place = tuple(slice(None) for _ in dims)
        if vector < len(dims):
            place = place[:vector] + (number,) + place[vector + 1:]
        low, high = max(info.min, -2), min(info.max, size + 1)
        drawn = draft.rng.integers(low, high, np.shape(values[place]), endpoint=True)
        far = draft.draw.choice([info.min, info.max]) if info.max < 2 ** 63 else info.max
        if info.max < 2 ** 63:
            drawn = np.where(draft.rng.random(drawn.shape) < 0.05, far, drawn)
        values[place] = drawn
    return values


def indexed(draft):
    """What gather and scatter have in common: an operand, its indices, and how they belong together."""
    draw = draft.draw
    operand = draft.dims(1, 4)
    rank = len(operand)
    order = draw.sample(range(rank), rank)
    batching = sorted(order[:draw.choice([0, 0, 1, min(2, rank - 1)])]) if rank > 1 else []
    free = [d for d in range(rank) if d not in batching]
    mapped = draw.sample(free, draw.randint(0, len(free)))
    window = [1 if d in batching else draw.randint(1, operand[d]) for d in range(rank)]
    for d in free:
        if draw.random() < 0.4:
            window[d] = 1
    dropped = sorted(d for d in free if window[d] == 1 and draw.random() < 0.6)
    # Dimensions of the indices beside the vector: those that go with batching ones among others.
    batch = [("free", draw.randint(1, 4)) for _ in range(draw.randint(0, 2))]
    for d in draw.sample(batching, len(batching)):
        batch.insert(draw.randint(0, len(batch)), (d, operand[d]))
    vector = draw.randint(0, len(batch))
    implicit = len(mapped) == 1 and draw.random() < 0.3
    dims = [size for _, size in batch]
    where = list(range(len(batch)))
    if implicit:
        vector = len(batch)
    else:
        dims.insert(vector, len(mapped))
        where = [n if n < vector else n + 1 for n in where]
    batching_of_indices = [next(w for w, (d, _) in zip(where, batch) if d == own) for own in batching]
    kind = draft.element(INTEGERS)
    indices = draft.argument(dims, kind, index_values(draft, dims, kind, [operand[d] for d in mapped], vector))
    kept = [window[d] for d in range(rank) if d not in dropped and d not in batching]
    result_rank = len(batch) + len(kept)
    offsets = sorted(draw.sample(range(result_rank), len(kept)))
    shape, sizes, others = [], iter(kept), iter(size for _, size in batch)
    for d in range(result_rank):
        shape.append(next(sizes) if d in offsets else next(others))
    return operand, indices, mapped, window, dropped, batching, batching_of_indices, vector, offsets, shape


@draws
def gather(draft):
    operand, indices, mapped, window, dropped, batching, of_indices, vector, offsets, shape = indexed(draft)
    kind = draft.element(FLOATS, INTEGERS, ["i1", "complex<f32>"])
    x = draft.argument(operand, kind)
    numbers = (f"offset_dims = {offsets}, collapsed_slice_dims = {dropped}, operand_batching_dims = {batching}, "
               f"start_indices_batching_dims = {of_indices}, start_index_map = {mapped}, index_vector_dim = {vector}")
    draft.returns(draft.op("stablehlo.gather", [x, indices], [(shape, kind)],
                           f"dimension_numbers = #stablehlo.gather<{numbers}>, slice_sizes = {array(window)}, "
                           "indices_are_sorted = false"))


@draws
def scatter(draft):
    operand, indices, mapped, window, dropped, batching, of_indices, vector, offsets, shape = indexed(draft)
    draw = draft.draw
    kinds = [draft.element(FLOATS, INTEGERS, ["i1"])] + [draft.element(INTEGERS)] * draw.choice([0, 0, 0, 1])
    xs = [draft.argument(operand, kind) for kind in kinds]
    us = [draft.argument(shape, kind) for kind in kinds]
    how = draw.choice(["write", "combine", "combine", "function"])

    def body(inner, arguments):
        old, new = arguments[:len(kinds)], arguments[len(kinds):]
        if how == "write":
            return new
        if how == "combine":
            return [inner.binary(combiner(inner, a[2])[0], a, b) for a, b in zip(old, new)]
        # Differs by the order, which is that of the updates.
        return [inner.binary("subtract" if a[2] != "i1" else "xor", b, inner.binary("xor", a, a))
                if not is_float(a[2]) else inner.binary("subtract", b, a) for a, b in zip(old, new)]

    numbers = (f"update_window_dims = {offsets}, inserted_window_dims = {dropped}, input_batching_dims = {batching}, "
               f"scatter_indices_batching_dims = {of_indices}, scatter_dims_to_operand_dims = {mapped}, "
               f"index_vector_dim = {vector}")
    draft.smooth = how == "combine"
    draft.returns(draft.op("stablehlo.scatter", [*xs, indices, *us], [(operand, kind) for kind in kinds],
                           f"scatter_dimension_numbers = #stablehlo.scatter<{numbers}>, indices_are_sorted = false, "
                           "unique_indices = false", [draft.region(kinds + kinds, body)]))


@draws
def dynamic_slice(draft):
    dims, kind, place = draft.dims(1), draft.element(), draft.element(INTEGERS)
    sizes = [draft.draw.randint(1, n) for n in dims]
    x = draft.argument(dims, kind)
    starts = [draft.argument([], place, index_values(draft, [], place, [n], 0)) for n in dims]
    draft.returns(draft.op("stablehlo.dynamic_slice", [x, *starts], [(sizes, kind)], f"slice_sizes = {array(sizes)}"))


@draws
def dynamic_update_slice(draft):
    dims, kind, place = draft.dims(), draft.element(), draft.element(INTEGERS)
    x = draft.argument(dims, kind)
    update = draft.argument([draft.draw.randint(1, n) for n in dims], kind)
    starts = [draft.argument([], place, index_values(draft, [], place, [n], 0)) for n in dims]
    draft.returns(draft.op("stablehlo.dynamic_update_slice", [x, update, *starts], [(dims, kind)]))


# Shapes

@draws
def pad(draft):
    dims, kind = draft.dims(), draft.element(FLOATS, INTEGERS, ["i1", "complex<f64>"])
    draw = draft.draw
    low, high = ([draw.randint(-2, 3) for _ in dims] for _ in range(2))
    interior = [draw.choice([0, 0, 1, 2]) for _ in dims]
    shape = [n + (n - 1) * i + a + b for n, i, a, b in zip(dims, interior, low, high)]
    if any(n < 1 for n in shape):
        raise Skip
    x, value = draft.argument(dims, kind), draft.argument([], kind)
    draft.returns(draft.op("stablehlo.pad", [x, value], [(shape, kind)],
                           f"edge_padding_low = {array(low)}, edge_padding_high = {array(high)}, "
                           f"interior_padding = {array(interior)}"))


@draws
def shapes(draft):
    draw, dims, kind = draft.draw, draft.dims(1, 3), draft.element(FLOATS, INTEGERS, ["i1", "complex<f32>"])
    x = draft.argument(dims, kind)
    order = draw.sample(range(len(dims)), len(dims))
    draft.returns(draft.op("stablehlo.transpose", [x], [([dims[d] for d in order], kind)],
                           f"permutation = {array(order)}"))
    some = draw.sample(range(len(dims)), draw.randint(0, len(dims)))
    draft.returns(draft.op("stablehlo.reverse", [x], [(dims, kind)], f"dimensions = {array(some)}"))
    start = [draw.randint(0, n - 1) for n in dims]
    limit = [draw.randint(s + 1, n) for s, n in zip(start, dims)]
    strides = [draw.randint(1, 3) for _ in dims]
    draft.returns(draft.op("stablehlo.slice", [x],
                           [([-((s - l) // k) for s, l, k in zip(start, limit, strides)], kind)],
                           f"start_indices = {array(start)}, limit_indices = {array(limit)}, "
                           f"strides = {array(strides)}"))
    wide = [draw.randint(1, 4) for _ in range(len(dims) + draw.randint(0, 2))]
    where = draw.sample(range(len(wide)), len(dims))
    for d, w in enumerate(where):
        wide[w] = dims[d] if dims[d] != 1 else wide[w]
    draft.returns(draft.op("stablehlo.broadcast_in_dim", [x], [(wide, kind)],
                           f"broadcast_dimensions = {array(where)}"))
    d = draw.randrange(len(dims))
    parts = [x] + [draft.argument(dims[:d] + [draw.randint(1, 3)] + dims[d + 1:], kind)
                   for _ in range(draw.randint(0, 2))]
    total = sum(p[1][d] for p in parts)
    draft.returns(draft.op("stablehlo.concatenate", parts, [(dims[:d] + [total] + dims[d + 1:], kind)],
                           f"dimension = {d} : i64"))
    if kind != "i1":
        draft.returns(draft.op("stablehlo.iota", [], [(dims, kind)], f"iota_dimension = {d} : i64"))


# Reductions

def pick(inner, better, values, others):
    """Selects one of two lists of values as a whole."""
    return [inner.op("stablehlo.select", [better, a, b], [a[1:]])[0] for a, b in zip(values, others)]


@draws
def reduce(draft):
    draw, dims = draft.draw, draft.dims(1, 4)
    some = draw.sample(range(len(dims)), draw.randint(0, len(dims)))
    kinds = [draft.element(FLOATS, INTEGERS, ["i1"]) for _ in range(draw.choice([1, 1, 2, 3]))]
    how = [combiner(draft, kind) for kind in kinds]
    xs = [draft.argument(dims, kind) for kind in kinds]
    # XLA reads no number to begin with where nothing is reduced.
    inits = [initial(draft, kind, neutral) if some else draft.argument([], kind, neutral)
             for kind, (_, neutral) in zip(kinds, how)]
    swapped = draw.random() < 0.3

    def body(inner, arguments):
        old, new = arguments[:len(kinds)], arguments[len(kinds):]
        if swapped:
            old, new = new, old
        return [inner.binary(name, a, b) for (name, _), a, b in zip(how, old, new)]

    shape = [n for d, n in enumerate(dims) if d not in some]
    draft.returns(draft.op("stablehlo.reduce", [*xs, *inits], [(shape, kind) for kind in kinds],
                           f"dimensions = {array(some)}", [draft.region(kinds + kinds, body)]))


@draws
def reduce_places(draft):
    """The element that is first by an order, with what belongs to it."""
    draw, dims = draft.draw, draft.dims(1, 3)
    some = draw.sample(range(len(dims)), draw.randint(1, len(dims)))
    kinds = [draft.element(["f32", "f64", "bf16"], INTEGERS), draw.choice(["i32", "ui32", "i64"])]
    draft.smooth = False
    x = draft.argument(dims, kinds[0])
    places = draft.op("stablehlo.iota", [], [(dims, kinds[1])], f"iota_dimension = {draw.randrange(len(dims))} : i64")
    largest = draw.random() < 0.5
    if is_float(kinds[0]):
        begin = -np.inf if largest else np.inf
    else:
        info = np.iinfo(NUMPY[kinds[0]])
        begin = info.min if largest else info.max
    inits = [draft.argument([], kinds[0], begin), draft.argument([], kinds[1], 0)]

    def body(inner, arguments):
        old, new = arguments[:2], arguments[2:]
        better = inner.compare("GT" if largest else "LT", old[0], new[0])
        same = inner.compare("EQ", old[0], new[0])
        first = inner.compare("LT", old[1], new[1])
        return pick(inner, inner.binary("or", better, inner.binary("and", same, first)), old, new)

    shape = [n for d, n in enumerate(dims) if d not in some]
    draft.returns(draft.op("stablehlo.reduce", [x, *places, *inits], [(shape, kind) for kind in kinds],
                           f"dimensions = {array(some)}", [draft.region(kinds + kinds, body)]))


def slide(sizes, window, strides, base, dilations, padding):
    """How often a window fits into each dimension, whose elements and its own are dilated."""
    counts = []
    for d, size in enumerate(sizes):
        whole = (size - 1) * base[d] + 1 + sum(padding[d])
        spans = (window[d] - 1) * dilations[d] + 1
        if whole < spans:
            raise Skip
        counts.append((whole - spans) // strides[d] + 1)
    return counts


def windowed(draft, dims, dilated):
    """Attributes of windows, and the shape of what they give."""
    draw = draft.draw
    window = [draw.randint(1, 4) for _ in dims]
    strides = [draw.randint(1, 3) for _ in dims]
    base = [draw.choice([1, 1, 2, 3]) if dilated else 1 for _ in dims]
    dilations = [draw.choice([1, 1, 2, 3]) if dilated else 1 for _ in dims]
    padding = [(draw.randint(0, 3), draw.randint(0, 3)) if draw.random() < 0.6 else (0, 0) for _ in dims]
    if dilated and draw.random() < 0.2:
        padding[0] = (draw.randint(-1, 2), draw.randint(-1, 2))
    shape = slide(dims, window, strides, base, dilations, padding)
    text = (f"window_dimensions = {array(window)}, window_strides = {array(strides)}, padding = {pairs(padding)}")
    if dilated:
        text += f", base_dilations = {array(base)}, window_dilations = {array(dilations)}"
    return text, shape


@draws
def reduce_window(draft):
    draw, dims = draft.draw, draft.dims(1, 3, 1, 6)
    kinds = [draft.element(FLOATS, INTEGERS, ["i1"]) for _ in range(draw.choice([1, 1, 2]))]
    how = [combiner(draft, kind) for kind in kinds]
    text, shape = windowed(draft, dims, True)
    xs = [draft.argument(dims, kind) for kind in kinds]
    # How often a number that is not neutral counts, each implementation may say.
    inits = [draft.argument([], kind, neutral) if name in ("add", "multiply", "xor") else initial(draft, kind, neutral)
             for kind, (name, neutral) in zip(kinds, how)]

    def body(inner, arguments):
        return [inner.binary(name, a, b) for (name, _), a, b in
                zip(how, arguments[:len(kinds)], arguments[len(kinds):])]

    draft.returns(draft.op("stablehlo.reduce_window", [*xs, *inits], [(shape, kind) for kind in kinds], text,
                           [draft.region(kinds + kinds, body)]))


@draws
def select_and_scatter(draft):
    draw, dims, kind = draft.draw, draft.dims(1, 3, 1, 6), draft.element(FLOATS, ["i32", "ui8"])
    text, shape = windowed(draft, dims, False)
    values = draft.numbers(dims, kind)
    has_equal = draw.random() < 0.4 and is_float(kind)
    values = np.round(values) if has_equal else values
    x = draft.argument(dims, kind, values)
    source, init = draft.argument(shape, kind), draft.argument([], kind, draw.choice([0, 0, 1]))
    direction = draw.choice(["GE", "GT", "LE", "LT"])
    combine = draw.choice(["add", "add", "add", "maximum", "multiply"])
    draft.smooth = combine == "add" and not has_equal
    draft.returns(draft.op(
        "stablehlo.select_and_scatter", [x, source, init], [(dims, kind)], text,
        [draft.region([kind] * 2, lambda inner, a: [inner.compare(direction, *a)]),
         draft.region([kind] * 2, lambda inner, a: [inner.binary(combine, *a)])]))


@draws
def sort(draft):
    draw, dims = draft.draw, draft.dims(1, 3, 1, 7)
    kinds = [draft.element(FLOATS, INTEGERS, ["i1"]) for _ in range(draw.choice([1, 1, 2, 3]))]
    d = draw.randint(-len(dims), len(dims) - 1)
    keys = draw.randint(1, len(kinds))
    xs = []
    for kind in kinds:
        values = draft.numbers(dims, kind)
        if is_float(kind) and draw.random() < 0.5:
            values = np.round(values * 2)  # Also zeros of both signs, and equal numbers.
            values = np.where(draft.rng.random(dims) < 0.1, np.nan, values)
        xs.append(draft.argument(dims, kind, values))
    draft.smooth = False
    directions = [draw.choice(["LT", "GT"]) for _ in range(keys)]
    total = draw.random() < 0.6

    def body(inner, arguments):
        """By the first key, and among equal ones by the next."""
        result = None
        for number in reversed(range(keys)):
            a, b = arguments[2 * number:2 * number + 2]
            kind = ("TOTALORDER" if total else "FLOAT") if is_float(a[2]) else ""
            before = inner.compare(directions[number], a, b, kind)
            if result is not None:
                same = inner.compare("EQ", a, b, kind)
                before = inner.binary("or", before, inner.binary("and", same, result))
            result = before
        return [result]

    if not total:  # An order without NaN.
        for number, (name, shape, kind, values) in enumerate(draft.arguments):
            if is_float(kind):
                draft.arguments[number] = (name, shape, kind, np.where(np.isnan(values.astype(np.float64)),
                                                                       np.ones_like(values), values))
    draft.returns(draft.op("stablehlo.sort", xs, [(dims, kind) for kind in kinds],
                           f"dimension = {d} : i64, is_stable = true",
                           [draft.region([kind for kind in kinds for _ in range(2)], body)]))


# Products

@draws
def dot_general(draft):
    draw = draft.draw
    batch, contracted = draft.dims(0, 2, 1, 3), draft.dims(0, 2, 1, 4)
    sides = []
    kind = draft.element(["f64", "f32", "bf16", "i8", "ui8", "i32", "ui32", "complex<f64>"])
    for _ in range(2):
        free = draft.dims(0, 2, 1, 4)
        labels = [("b", n) for n in range(len(batch))] + [("c", n) for n in range(len(contracted))] + [
            ("f", n) for n in range(len(free))]
        draw.shuffle(labels)
        sizes = {"b": batch, "c": contracted, "f": free}
        sides.append((draft.argument([sizes[k][n] for k, n in labels], kind), labels, free))
    wide = {"bf16": ["bf16", "f32"], "i8": ["i8", "i32"], "ui8": ["ui8", "ui32"], "f32": ["f32"]}.get(kind, [kind])
    result = draw.choice(wide)
    where = lambda side, letter, count: [side[1].index((letter, n)) for n in range(count)]
    numbers = ", ".join(f"{name}_{what}_dimensions = {where(side, letter, count)}"
                        for what, letter, count in (("batching", "b", len(batch)),
                                                    ("contracting", "c", len(contracted)))
                        for name, side in zip(("lhs", "rhs"), sides))
    frees = [[side[2][n] for k, n in side[1] if k == "f"] for side in sides]
    shape = batch + frees[0] + frees[1]
    draft.returns(draft.op("stablehlo.dot_general", [side[0] for side in sides], [(shape, result)],
                           f"dot_dimension_numbers = #stablehlo.dot<{numbers}>"))


@draws
def convolution(draft):
    draw, spatial = draft.draw, draft.draw.randint(0, 3)
    kind = draft.element(["f64", "f64", "f32", "bf16", "i32"])
    groups, batch_groups = draw.choice([(1, 1), (1, 1), (2, 1), (1, 2)])
    batch, inputs = batch_groups * draw.randint(1, 2), groups * draw.randint(1, 3)
    outputs = groups * batch_groups * draw.randint(1, 2)
    size, window = ([draw.randint(1, 6) for _ in range(spatial)], [draw.randint(1, 3) for _ in range(spatial)])
    strides, left, right = ([draw.choice([1, 1, 2, 3]) for _ in range(spatial)] for _ in range(3))
    padding = [(draw.randint(-1, 3), draw.randint(-1, 3)) for _ in range(spatial)]
    reversal = [draw.random() < 0.3 for _ in range(spatial)]
    out = slide(size, window, strides, left, right, padding)

    def layout(first, second):
        labels = [first, second, *map(str, range(spatial))]
        draw.shuffle(labels)
        return labels

    orders = layout("b", "f"), layout("i", "o"), layout("b", "f")
    numbered = lambda sizes: {str(d): n for d, n in enumerate(sizes)}
    x = {"b": batch, "f": inputs, **numbered(size)}
    w = {"i": inputs // groups, "o": outputs, **numbered(window)}
    y = {"b": batch // batch_groups, "f": outputs, **numbered(out)}
    args = [draft.argument([s[label] for label in order], kind) for s, order in zip((x, w), orders)]
    spell = lambda order: "[" + ", ".join(order) + "]"
    text = (f"window_strides = {array(strides)}, padding = {pairs(padding)}, lhs_dilation = {array(left)}, "
            f"rhs_dilation = {array(right)}, feature_group_count = {groups} : i64, "
            f"batch_group_count = {batch_groups} : i64, "
            f"dimension_numbers = #stablehlo.conv<{spell(orders[0])}x{spell(orders[1])}->{spell(orders[2])}>")
    if spatial:
        text += ", window_reversal = array<i1: " + ", ".join(str(r).lower() for r in reversal) + ">"
    draft.returns(draft.op("stablehlo.convolution", args, [([y[label] for label in orders[2]], kind)], text))


# Control flow

@draws
def choice(draft):
    """A choice among several regions, which read values from outside."""
    draw, dims, kind = draft.draw, draft.dims(), draft.element(["f64", "i32", "ui8"])
    x, count = draft.argument(dims, kind), draw.randint(1, 4)
    other = draft.argument(dims, "i64")
    name, begin = "stablehlo.case", [draft.argument([], "i32", draw.randint(-1, count + 1))]
    if draw.random() < 0.3:
        name, count, begin = "stablehlo.if", 2, [draft.argument([], "i1")]
    draft.smooth = kind == "f64"
    branch = lambda inner, _: [inner.binary(draw.choice(["add", "multiply", "subtract"]), x, x), other]
    regions = [draft.region([], branch) for _ in range(count)]
    draft.returns(draft.op(name, begin, [(dims, kind), (dims, "i64")], "", regions))


@draws
def while_loop(draft):
    """A loop whose counter may be unsigned, that reads values from outside."""
    draw, dims, kind = draft.draw, draft.dims(), draft.element(["f64", "i32", "ui8"])
    counter = draft.element(INTEGERS)
    least = 0 if counter[0] == "u" else -3
    low, steps, stride = draw.randint(least, 4), draw.randint(0, 4), draw.randint(1, 3)
    known = draw.random() < 0.5
    constant = lambda target, value, of: target.op("stablehlo.constant", [], [([], of)],
                                                   f"value = dense<{value}> : tensor<{of}>")[0]
    scalar = (lambda value: constant(draft, value, counter)) if known else (
        lambda value: draft.argument([], counter, value))
    begin, end = scalar(low), scalar(low + steps * stride)
    x, w = draft.argument(dims, kind), draft.argument(dims, kind)
    kinds = [counter, kind]

    def with_shape(make):
        inner = Draft(draw, draft.rng)
        inner.count = draft.count + 2
        names = [(f"%{draft.count}", [], counter), (f"%{draft.count + 1}", dims, kind)]
        results = make(inner, names)
        draft.count = inner.count
        head = ", ".join(f"{a[0]}: {tensor(*a[1:])}" for a in names)
        return "\n".join([f"^bb0({head}):", *inner.lines,
                          f'"stablehlo.return"({", ".join(r[0] for r in results)}) : '
                          f'({", ".join(tensor(*r[1:]) for r in results)}) -> ()'])

    regions = [with_shape(lambda inner, a: [inner.compare(draw.choice(["LT", "NE"]), a[0], end)]),
               with_shape(lambda inner, a: [inner.binary("add", a[0], constant(inner, stride, counter)),
                                            inner.binary(draw.choice(["add", "multiply"]), a[1], w)])]
    del kinds
    # Loops whose number of iterations depends on data have no gradient without a bound.
    draft.smooth = known
    draft.needs_bound = not known
    draft.returns(draft.op("stablehlo.while", [begin, x], [([], counter), (dims, kind)], "", regions))


# Element by element

@draws
def conversions(draft):
    """Also by way of types that no argument has."""
    kinds = ["i1", *INTEGERS, "f16", "bf16", "f32", "f64"]
    draft.smooth = False
    for _ in range(6):
        a, b = draft.draw.choice(kinds), draft.draw.choice(kinds)
        values = draft.numbers([20], a)
        if is_float(a):
            special = [np.nan, np.inf, -np.inf, 3e9, -3e9, 1e19, 0.5, -0.5, 300.7]
            with np.errstate(over="ignore"):
                values = np.concatenate([values * 100, np.array(special).astype(values.dtype)])
        x = draft.argument([len(values)], a, values)
        draft.returns(draft.op("stablehlo.convert", [x], [(x[1], b)]))
    narrow = draft.draw.choice(["i4", "ui4", "i2", "ui2"])
    x = draft.argument([20], draft.element(INTEGERS))
    inner = draft.op("stablehlo.convert", [x], [([20], narrow)])[0]
    draft.returns(draft.op("stablehlo.convert", [inner], [([20], "i32")]))


@draws
def narrow_floats(draft):
    draft.smooth = False
    narrow = draft.draw.choice(["f8E4M3FN", "f8E5M2", "f8E4M3FNUZ", "f8E5M2FNUZ", "f8E4M3B11FNUZ", "f8E4M3", "f8E3M4"])
    x = draft.argument([20], "f32")
    inner = draft.op("stablehlo.convert", [x], [([20], narrow)])[0]
    draft.returns(draft.op("stablehlo.convert", [inner], [([20], "f32")]))


@draws
def narrow_integers(draft):
    """Arithmetic of four bits."""
    kind = draft.draw.choice(["i4", "ui4"])
    draft.smooth = False
    a, b = (draft.op("stablehlo.convert", [draft.argument([30], "i8")], [([30], kind)])[0] for _ in range(2))
    for name in ("add", "subtract", "multiply", "divide", "remainder", "maximum", "minimum", "and", "or", "xor",
                 "shift_left", "shift_right_logical", "shift_right_arithmetic"):
        draft.returns(draft.op("stablehlo.convert", [draft.binary(name, a, b)], [([30], "i32")]))
    # XLA counts more bits than there are.
    for name in ("negate", "not", "sign") if kind == "i4" else ("not",):
        draft.returns(draft.op("stablehlo.convert", draft.op("stablehlo." + name, [a], [([30], kind)]),
                               [([30], "i32")]))
    draft.returns([draft.compare("LT", a, b), draft.compare("GE", a, b)])


@draws
def integers(draft):
    kind = draft.element(INTEGERS)
    a, b = draft.argument([40], kind), draft.argument([40], kind)
    draft.returns([draft.binary(name, a, b) for name in (
        "add", "subtract", "multiply", "divide", "remainder", "maximum", "minimum", "and", "or", "xor", "shift_left",
        "shift_right_logical", "shift_right_arithmetic")])
    # XLA reads six bits of an exponent.
    exponents = draft.rng.integers(0 if kind[0] == "u" else -9, 64, 40)
    draft.returns([draft.binary("power", a, draft.argument([40], kind, exponents))])
    for name in ("not", "popcnt", "count_leading_zeros", "negate", *(["abs", "sign"] if kind[0] == "i" else [])):
        draft.returns(draft.op("stablehlo." + name, [a], [([40], kind)]))
    draft.returns([draft.compare(d, a, b, draft.draw.choice(["", "SIGNED" if kind[0] == "i" else "UNSIGNED"]))
                   for d in ("EQ", "NE", "LT", "LE", "GT", "GE")])
    low, high = draft.argument([], kind, 1), draft.argument([40], kind)
    draft.returns(draft.op("stablehlo.clamp", [low, a, low], [([40], kind)]))
    draft.returns(draft.op("stablehlo.clamp", [b, a, high], [([40], kind)]))


@draws
def orders(draft):
    """Comparisons of floating-point numbers, also by their total order."""
    kind = draft.element(["f64", "f32", "f16"])
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, 1, -1, 2.5], NUMPY[kind])
    a, b = np.meshgrid(special, special)
    draft.smooth = False
    a, b = draft.argument([81], kind, a.reshape(-1)), draft.argument([81], kind, b.reshape(-1))
    for order in ("", "FLOAT", "TOTALORDER"):
        draft.returns([draft.compare(d, a, b, order) for d in ("EQ", "NE", "LT", "LE", "GT", "GE")])
    draft.returns([draft.binary(name, a, b) for name in ("maximum", "minimum", "remainder", "power", "atan2")])
    for name in ("sign", "abs", "round_nearest_afz", "round_nearest_even", "floor", "ceil", "cbrt", "sqrt", "rsqrt",
                 "logistic", "exponential_minus_one", "log_plus_one", "tanh", "negate"):
        draft.returns(draft.op("stablehlo." + name, [a], [([81], kind)]))
    draft.returns(draft.op("stablehlo.is_finite", [a], [([81], "i1")]))


@draws
def booleans(draft):
    a, b = draft.argument([20], "i1"), draft.argument([20], "i1")
    draft.returns([draft.binary(name, a, b) for name in ("add", "multiply", "maximum", "minimum", "and", "or", "xor")])
    draft.returns([draft.compare(d, a, b) for d in ("EQ", "NE", "LT", "LE", "GT", "GE")])
    draft.returns(draft.op("stablehlo.not", [a], [([20], "i1")]))
    scalar = draft.argument([], "i1")
    draft.returns(draft.op("stablehlo.select", [scalar, a, b], [([20], "i1")]))


@draws
def complexes(draft):
    kind, part = draft.draw.choice([("complex<f32>", "f32"), ("complex<f64>", "f64")])
    a, b = draft.argument([20], kind), draft.argument([20], kind)
    draft.returns([draft.binary(name, a, b) for name in ("add", "subtract", "multiply", "divide", "power")])
    draft.returns([draft.compare(d, a, b) for d in ("EQ", "NE")])
    for name in ("negate", "exponential", "log", "sqrt", "rsqrt", "tanh", "sine", "cosine", "sign", "logistic",
                 "exponential_minus_one", "log_plus_one"):
        draft.returns(draft.op("stablehlo." + name, [a], [([20], kind)]))
    for name in ("real", "imag", "abs"):
        draft.returns(draft.op("stablehlo." + name, [a], [([20], part)]))


@draws
def bitcasts(draft):
    kinds = [kind for kind in BITS if kind != "i1"]
    draft.smooth = False
    for _ in range(4):
        a, b = draft.draw.choice(kinds), draft.draw.choice(kinds)
        wide, narrow = max(BITS[a], BITS[b]), min(BITS[a], BITS[b])
        dims = draft.dims(0, 2)
        more = [wide // narrow] if wide != narrow else []
        source = dims + more if BITS[a] < BITS[b] else dims
        target = dims + more if BITS[a] > BITS[b] else dims
        if b in ("bf16", "f16", "f32", "f64"):  # Signaling nans do not pass through arithmetic.
            x = draft.argument(source, a, draft.rng.integers(0, 64, source)) if not is_float(a) else (
                draft.argument(source, a))
        else:
            x = draft.argument(source, a)
        y = draft.op("stablehlo.bitcast_convert", [x], [(target, b)])[0]
        if is_float(b):
            y = draft.op("stablehlo.bitcast_convert", [y], [(target, f"ui{BITS[b]}")])[0]
        draft.returns([y])


@draws
def random_bits(draft):
    state, kind = draft.argument([2], "ui64"), draft.element(INTEGERS, ["f32", "f64", "f16", "bf16"])
    draft.smooth = False
    dims = draft.dims(0, 3, 1, 5)
    # Which one DEFAULT is, each implementation may say.
    algorithm = draft.draw.choice(["PHILOX", "THREE_FRY"])
    draft.returns(draft.op("stablehlo.rng_bit_generator", [state], [([2], "ui64"), (dims, kind)],
                           f"rng_algorithm = #stablehlo<rng_algorithm {algorithm}>")[:2])


@draws
def maps(draft):
    dims, kind = draft.dims(), draft.element(FLOATS)
    a, b = draft.argument(dims, kind), draft.argument(dims, kind)

    def body(inner, arguments):
        return [inner.binary("multiply", inner.op("stablehlo.sine", arguments[:1], [([], kind)])[0], arguments[1])]

    draft.returns(draft.op("stablehlo.map", [a, b], [(dims, kind)], f"dimensions = {array(range(len(dims)))}",
                           [draft.region([kind] * 2, body)]))

"""Rules of gathers, scatters, windows and convolutions.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import math

import jax
import numpy as np

from ..mlir import identity
from .elementwise import Scalars, working
from .reductions import COMBINE, START, change, first_extremum, highest, lowest
from .rules import rule, takes_complex
from .shapes import pad, widened
from .stable import through_stablehlo
from .types import element_of, encoded, is_float, is_unsigned


MODES = {"CLIP": "clip", "FILL_OR_DROP": "fill", "PROMISE_IN_BOUNDS": "promise"}


def _mode(l, mode):
    """What happens to indices that are out of bounds. Numbers of modes are not the same in all versions of JAX."""
    name = jax.lax.GatherScatterMode.from_any(mode).name
    if name not in MODES:
        l.refuse("the mode %s is not supported, expected one of %s" % (name, ", ".join(MODES)))
    return MODES[name]


class Starts:
    """The start indices of a gather or scatter, as operands of a loop over the batch dimensions."""

    def __init__(self, indices, dtype, batch_loops, dims):
        self.dims, self.dtype = dims, dtype
        # The last dimension holds the components.
        self.inputs = [(indices, batch_loops + [str(i)]) for i in range(len(dims))]

    def numbers(self, b, names):
        return {dim: widened(b, n, self.dtype) for dim, n in zip(self.dims, names)}


@rule("gather")
def _gather(l, a, indices, *_, dimension_numbers, slice_sizes, mode, fill_value=None, **__):
    shape, dtype, element = l.result()
    d = dimension_numbers
    rank = len(shape)
    batch = [i for i in range(rank) if i not in d.offset_dims]
    starts = Starts(indices, l.aval(1)[1], ["d%d" % i for i in batch], d.start_index_map)
    collapsed = set(d.collapsed_slice_dims) | set(d.operand_batching_dims)
    window = dict(zip([i for i in range(a.rank) if i not in collapsed], d.offset_dims))
    # A batching dimension of the operand goes along with one of the indices.
    batching = {o: batch[i] for o, i in zip(d.operand_batching_dims, d.start_indices_batching_dims)}
    mode = _mode(l, mode)
    # What is read where nothing is.
    number = fill_value
    if number is None:
        number = math.nan if is_float(dtype) else highest(dtype) if is_unsigned(dtype) else lowest(dtype)
    number = encoded(number, dtype)

    def body(b, *names):
        numbers = starts.numbers(b, names)
        inside = b.constant(1, "i1")
        places = []
        for dim in range(a.rank):
            if dim in batching:
                places.append(b.index(batching[dim]))
                continue
            offset = b.index(window[dim]) if dim in window else None
            if dim in numbers:
                limit = b.constant(a.shape[dim] - slice_sizes[dim], "i64")
                start, zero = numbers[dim], b.constant(0, "i64")
                if mode == "fill":
                    fits = b.binary("arith.andi", b.compare("sge", start, zero, "i64"),
                                    b.compare("sle", start, limit, "i64"), "i1")
                    inside = b.binary("arith.andi", inside, fits, "i1")
                start = b.op("arith.minsi %s, %s : i64" % (b.op("arith.maxsi %s, %s : i64" % (start, zero)), limit))
                start = b.to_index(start, "i64")
                offset = start if offset is None else b.binary("arith.addi", start, offset, "index")
            places.append(b.constant(0, "index") if offset is None else offset)
        found = b.extract(a, places)
        if mode != "fill":
            return found
        return b.select(inside, found, b.constant(number, element), element)

    if 0 in a.shape:
        return l.function.constant(number if mode == "fill" else 0, shape, element)
    return l.function.generic(starts.inputs, shape, element, body)


class Updates:
    """Where the updates of a scatter go."""

    def __init__(self, l, a, indices, updates, d, mode):
        self.operand, self.updates = a, updates
        batch = [i for i in range(updates.rank) if i not in d.update_window_dims]
        self.starts = Starts(indices, l.aval(1)[1], ["d%d" % i for i in batch], d.scatter_dims_to_operand_dims)
        inserted = set(d.inserted_window_dims) | set(d.operand_batching_dims)
        self.window = dict(zip([i for i in range(a.rank) if i not in inserted], d.update_window_dims))
        self.batching = {o: batch[i] for o, i in zip(d.operand_batching_dims, d.scatter_indices_batching_dims)}
        self.mode = _mode(l, mode)

    @property
    def inputs(self):
        return self.starts.inputs + [(self.updates, identity(self.updates.rank))]

    def places(self, b, points, names):
        """The place of an update, and whether there is one. Where there is none, the place is any that exists."""
        numbers = self.starts.numbers(b, names)
        inside, places = b.constant(1, "i1"), []
        for dim in range(self.operand.rank):
            if dim in self.batching:
                places.append(points[self.batching[dim]])
                continue
            offset = points[self.window[dim]] if dim in self.window else None
            if dim in numbers:
                size = self.updates.shape[self.window[dim]] if dim in self.window else 1
                limit = b.constant(self.operand.shape[dim] - size, "i64")
                start, zero = numbers[dim], b.constant(0, "i64")
                fits = b.binary("arith.andi", b.compare("sge", start, zero, "i64"),
                                b.compare("sle", start, limit, "i64"), "i1")
                if self.mode != "clip":
                    inside = b.binary("arith.andi", inside, fits, "i1")
                start = b.op("arith.minsi %s, %s : i64" % (b.op("arith.maxsi %s, %s : i64" % (start, zero)), limit))
                start = b.to_index(start, "i64")
                offset = start if offset is None else b.binary("arith.addi", start, offset, "index")
            places.append(b.constant(0, "index") if offset is None else offset)
        return places, inside


@rule("scatter-add", "scatter_add")
@takes_complex
def _scatter_add(l, a, indices, updates, *, dimension_numbers, mode, **_):
    if 0 in updates.shape or 0 in l.result()[0]:
        return a
    dtype, element = l.result()[1:]
    inner = working(dtype)
    where = Updates(l, a, indices, change(l, updates, dtype, inner), dimension_numbers, mode)

    def body(b, points, names):
        places, inside = where.places(b, points, names[:-1])
        return places, b.select(inside, names[-1], b.constant(0, element_of(inner)), element_of(inner))

    total = l.function.scatter(where.inputs, updates.shape, change(l, a, dtype, inner), body)
    return change(l, total, inner, dtype)


def _greatest(l, where, inputs, bits, number):
    """For each element the greatest `number`, of a body, of the updates that go there, 0 if there is none. Numbers have
    no sign, and `bits` digits."""
    f, a, count = l.function, where.operand, len(where.starts.inputs)
    # The order of numbers with a sign is that of those without one whose highest bit is the other.
    lowest = SIGNS["i64"] if bits == 64 else 0

    def body(b, points, names):
        places, inside = where.places(b, points, names[:count])
        own = b.binary("arith.xori", number(b, points, names), b.constant(lowest, "i64"), "i64")
        return places, b.select(inside, own, b.constant(lowest, "i64"), "i64")

    found = f.scatter(inputs, where.updates.shape, f.constant(lowest, a.shape, "i64"), body, maximum=True)
    return f.generic([(found, identity(a.rank))], a.shape, "i64",
                     lambda b, x: b.binary("arith.xori", x, b.constant(lowest, "i64"), "i64")) if lowest else found


@rule("scatter")
@takes_complex
def _scatter(l, a, indices, updates, *, dimension_numbers, mode, update_jaxpr=None, **other):
    """Of several updates to one place, the last one counts."""
    if update_jaxpr is not None:
        return through_stablehlo(l, a, indices, updates, dimension_numbers=dimension_numbers, mode=mode,
                                 update_jaxpr=update_jaxpr, **other)
    if 0 in updates.shape or 0 in l.result()[0]:
        return a
    f = l.function
    where = Updates(l, a, indices, updates, dimension_numbers, mode)
    sizes, count = updates.shape, math.prod(updates.shape)

    def flat_number(b, points, _):
        number = b.constant(0, "index")
        for point, size in zip(points, sizes):
            number = b.binary("arith.addi", b.binary("arith.muli", number, b.constant(size, "index"), "index"), point,
                              "index")
        return b.binary("arith.addi", b.cast("arith.index_cast", number, "index", "i64"), b.constant(1, "i64"), "i64")

    found = _greatest(l, where, where.starts.inputs, max(count.bit_length(), 1), flat_number)
    flat = f.reshape(updates, (count,))

    def body(b, x, last):
        zero, one = b.constant(0, "i64"), b.constant(1, "i64")
        written = b.compare("sgt", last, zero, "i64")
        place = b.select(written, b.binary("arith.subi", last, one, "i64"), zero, "i64")
        return b.select(written, b.extract(flat, [b.to_index(place, "i64")]), x, a.element)

    return f.generic([(a, identity(a.rank)), (found, identity(a.rank))], a.shape, a.element, body)


SIGNS = {"i32": -1 << 31, "i64": -1 << 63}  # the highest bits of words
WORDS = {"f32": "i32", "f64": "i64"}


def _ordered(b, x, element, unsigned):
    """A word whose order, without a sign, is that of numbers; that of a nan is the greatest, and none is that of 0."""
    word = WORDS.get(element, element)
    sign = b.constant(SIGNS[word], word)
    if element not in WORDS:
        return x if unsigned else b.binary("arith.xori", x, sign, word)
    bits = b.cast("arith.bitcast", x, element, word)
    digits = b.constant(31 if word == "i32" else 63, word)
    flipped = b.binary("arith.ori", b.binary("arith.shrsi", bits, digits, word), sign, word)
    return b.select(b.compare("uno", x, x, element), b.constant(-1, word), b.binary("arith.xori", bits, flipped, word),
                    word)


def _from_ordered(b, x, element, unsigned):
    word = WORDS.get(element, element)
    sign = b.constant(SIGNS[word], word)
    if element not in WORDS:
        return x if unsigned else b.binary("arith.xori", x, sign, word)
    negative = b.compare("sge", x, b.constant(0, word), word)
    flipped = b.select(negative, b.constant(-1, word), sign, word)
    return b.cast("arith.bitcast", b.binary("arith.xori", x, flipped, word), word, element)


def _scatter_extremum(name, largest):
    @rule(name)
    @takes_complex
    def lower(l, a, indices, updates, *, dimension_numbers, mode, **_):
        if 0 in updates.shape or 0 in l.result()[0]:
            return a
        dtype, element = l.result()[1:]
        if element.startswith("complex"):
            l.refuse("elements of %s are not supported" % dtype)
        unsigned, bits = is_unsigned(dtype), 64 if dtype.itemsize > 4 else 32
        inner = np.dtype("%s%d" % ("float" if is_float(dtype) else "uint" if unsigned else "int", bits))
        wide, word = element_of(inner), "i%d" % bits
        where = Updates(l, a, indices, change(l, updates, dtype, inner), dimension_numbers, mode)

        def reverse(b, own, x):
            """For the least number, the order is the other way round, but for nans."""
            if largest:
                return own
            other = b.binary("arith.xori", own, b.constant(-1, word), word)
            return b.select(b.compare("uno", x, x, wide), own, other, word) if x and wide in WORDS else other

        def number(b, _, names):
            own = reverse(b, _ordered(b, names[-1], wide, unsigned), names[-1])
            return own if word == "i64" else b.cast("arith.extui", own, word, "i64")

        found = _greatest(l, where, where.inputs, bits, number)

        def body(b, x, best):
            # 0 is what an element has that no update goes to. An integer of this word changes nothing.
            own = best if word == "i64" else b.cast("arith.trunci", best, "i64", word)
            update = _from_ordered(b, reverse(b, own, None), wide, unsigned)
            s = Scalars(b, inner)
            better = s.maximum(x, update) if largest else s.minimum(x, update)
            return b.select(b.compare("eq", best, b.constant(0, "i64"), "i64"), x, better, wide)

        a = change(l, a, dtype, inner)
        total = l.function.generic([(a, identity(a.rank)), (found, identity(a.rank))], a.shape, wide, body)
        return change(l, total, inner, dtype)


_scatter_extremum("scatter-max", True)
_scatter_extremum("scatter-min", False)
_scatter_extremum("scatter_max", True)
_scatter_extremum("scatter_min", False)


# Windows

class Window:
    """Windows over all dimensions of a padded tensor."""

    def __init__(self, l, a, start, dims, strides, padding, base, dilation):
        base = base or [1] * a.rank
        low, high = zip(*padding) if padding else ((), ())
        number = l.function.constant(start, (), a.element)
        self.padded = pad(l, a, number, low, high, [b - 1 for b in base])
        self.strides, self.dilation = list(strides), list(dilation or [1] * a.rank)
        self.low, self.base = low, base
        self.wide = [i for i, d in enumerate(dims) if d > 1]
        self.loops = a.rank + len(self.wide)
        self.reads = ["d%d * %d" % (i, s) if s != 1 else "d%d" % i for i, s in enumerate(self.strides)]
        for j, i in enumerate(self.wide):
            self.reads[i] = "d%d * %d + d%d * %d" % (i, self.strides[i], a.rank + j, self.dilation[i])
        self.frame = (l.function.empty([dims[i] for i in self.wide], a.element),
                      ["d%d" % (a.rank + j) for j in range(len(self.wide))])


def _window_rule(name, kind):
    @rule(name)
    def lower(l, a, *_, window_dimensions, window_strides, padding, base_dilation=None, window_dilation=None):
        shape, dtype, element = l.result()
        w = Window(l, a, START[kind](dtype), window_dimensions, window_strides, padding, base_dilation,
                   window_dilation)
        if not w.wide:
            return l.function.slice(w.padded, [0] * a.rank, shape, w.strides)
        return l.function.generic(
            [(w.padded, w.reads), w.frame], shape, element,
            lambda b, x, _, acc: COMBINE[kind](Scalars(b, dtype), acc, x), loops=w.loops,
            reductions=set(range(a.rank, w.loops)), out_map=identity(a.rank),
            init=l.function.constant(START[kind](dtype), shape, element))


_window_rule("reduce_window_sum", "sum")
_window_rule("reduce_window_max", "max")
_window_rule("reduce_window_min", "min")


@rule("select_and_scatter_add")
def _select_and_scatter(l, source, operand, select_prim, window_dimensions, window_strides, padding):
    """Each element of the source goes to the first extremum of its window."""
    shape, dtype, element = l.result()
    f, largest = l.function, select_prim.name in ("ge", "gt")
    w = Window(l, operand, lowest(dtype) if largest else highest(dtype), window_dimensions, window_strides, padding,
               None, None)
    rank = operand.rank

    def number(b):
        flat = b.constant(0, "index")
        for dim in range(rank):
            place = b.binary("arith.muli", b.index(dim), b.constant(w.strides[dim], "index"), "index")
            if dim in w.wide:
                place = b.binary("arith.addi", place, b.index(rank + w.wide.index(dim)), "index")
            place = b.binary("arith.subi", place, b.constant(w.low[dim], "index"), "index")
            flat = b.binary("arith.addi", b.binary("arith.muli", flat, b.constant(shape[dim], "index"), "index"), place,
                            "index")
        return b.cast("arith.index_cast", flat, "index", "i64")

    def first(b, *firsts):
        """The number of the first element of a window, -1 if that is padding."""
        flat, lost = b.constant(0, "i64"), b.constant(0, "i1")
        for dim, place in enumerate(firsts):
            flat = b.binary("arith.muli", flat, b.constant(shape[dim], "i64"), "i64")
            flat = b.binary("arith.addi", flat, place, "i64")
            lost = b.binary("arith.ori", lost, b.compare("slt", place, b.constant(0, "i64"), "i64"), "i1")
        return b.select(lost, b.constant(-1, "i64"), flat, "i64")

    def put(b, points, names):
        """As in JAX, padding has its share where no element is greater than the least number, which is lost."""
        zero = b.constant(0, "i64")
        lost = b.compare("slt", names[0], zero, "i64")
        place = b.to_index(b.select(lost, zero, names[0], "i64"), "i64")
        return [place], b.select(lost, b.constant(0, element), names[1], element)

    tables = [(f.dense([o * s - low for o in range(extent)], "i64"), ["d%d" % dim])
              for dim, (extent, s, low) in enumerate(zip(source.shape, w.strides, w.low))]
    frames = [w.frame] if w.wide else []
    _, where = first_extremum(f, (w.padded, w.reads), frames, source.shape, element, dtype, w.loops,
                              set(range(rank, w.loops)), identity(rank), number, largest,
                              f.generic(tables, source.shape, "i64", first))
    total = f.scatter([(where, identity(rank)), (source, identity(rank))], source.shape,
                      f.constant(0, (math.prod(shape),), element), put)
    return f.reshape(total, shape)


# Convolutions

@rule("conv_general_dilated")
def _conv(l, x, w, window_strides, padding, lhs_dilation, rhs_dilation, dimension_numbers, feature_group_count,
          batch_group_count, preferred_element_type=None, **_):
    shape, dtype, element = l.result()
    spec = dimension_numbers
    x, w = (change(l, v, l.aval(i)[1], dtype) for i, v in enumerate((x, w)))
    f, spatial = l.function, len(window_strides)
    low, high = [p for p, _ in padding], [q for _, q in padding]
    if any(d != 1 for d in lhs_dilation) or any(p < 0 for p in low + high):
        lows, highs, interior = [0] * x.rank, [0] * x.rank, [0] * x.rank
        for i, dim in enumerate(spec.lhs_spec[2:]):
            lows[dim], highs[dim], interior[dim] = low[i], high[i], lhs_dilation[i] - 1
        x = pad(l, x, f.constant(0, (), x.element), lows, highs, interior)
        low = high = [0] * spatial
    groups = feature_group_count
    if batch_group_count > 1:
        # A group of the batch becomes a group of features.
        batch, feature = spec.lhs_spec[:2]
        n = x.shape[batch] // batch_group_count
        split = list(x.shape[:batch]) + [batch_group_count, n] + list(x.shape[batch + 1:])
        x = f.reshape(x, split)
        target = feature + (feature > batch)
        order = [d for d in range(x.rank) if d != batch]
        order.insert(order.index(target), batch)
        x = f.transpose(x, order)
        merged, at = list(x.shape), order.index(batch)
        merged[at:at + 2] = [merged[at] * merged[at + 1]]
        x = f.reshape(x, merged)
        groups = batch_group_count
    array = lambda numbers: "array<i64: %s>" % ", ".join(map(str, numbers))
    if spatial == 0:
        l.refuse("a convolution without spatial dimensions is not supported")
    pads = [p for pair in zip(low, high) for p in pair]
    return f.convolve("forward", x, w, "strides = %s, dilations = %s, padding = %s, groups = %d : i64, "
                      "input_layout = %s, filter_layout = %s, output_layout = %s" % (
                          array(window_strides), array(rhs_dilation), array(pads), groups, array(spec.lhs_spec),
                          array(spec.rhs_spec), array(spec.out_spec)), shape)

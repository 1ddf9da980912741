"""Products of groups of rows, each with a matrix of its own, as mixtures of experts have them.

Rows of a group follow each other, and where a group ends depends on data. So a group is cut into blocks of a fixed
number of rows, the last of which may be filled in part: a loop runs once for each block, and so as often as the groups
have rows. There are no more than `rows / block + groups` blocks.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from .mlir import Function, identity

SMALLEST_BLOCK, LARGEST_BLOCK = 8, 128


def block_of(rows, groups):
    """How many rows a block has: few enough that what is filled in part is at most half of the rows, if these are
    many."""
    block = SMALLEST_BLOCK
    while block < LARGEST_BLOCK and 2 * block * groups <= rows:
        block *= 2
    return block


class _Scalars:
    """Arithmetic on i64 in the body of an operation."""

    def __init__(self, body):
        self.body = body

    def const(self, number):
        return self.body.constant(number, "i64")

    def op(self, name, a, b):
        return self.body.binary("arith." + name, a, b if isinstance(b, str) else self.const(b), "i64")

    def less(self, a, b):
        return self.body.compare("slt", a, b if isinstance(b, str) else self.const(b), "i64")

    def loop(self, number):
        return self.body.cast("arith.index_cast", self.body.index(number), "index", "i64")

    def within(self, place, extent):
        """The nearest index that a dimension has."""
        place = self.op("minsi", self.op("maxsi", place, 0), extent - 1)
        return self.body.to_index(place, "i64")

    def element(self, vector, number):
        return self.body.extract(vector, [self.within(number, vector.shape[0])])


class _Groups:
    """Where groups begin and end, as vectors of i64."""

    def __init__(self, function, ends, rows):
        self.function, self.rows, self.count = function, rows, ends.shape[0]
        self.block = block_of(rows, self.count)
        self.most = rows // self.block + min(rows, self.count)
        self.ends = self.vector(lambda s, g: s.op("minsi", s.op("maxsi", self._wide(s, ends, g), 0), rows))
        self.begins = self.vector(lambda s, g: s.body.select(
            s.less(g, 1), s.const(0), s.element(self.ends, s.op("subi", g, 1)), "i64"))
        self.blocks = self.vector(lambda s, g: s.op("divsi", s.op("addi", s.op("maxsi", s.op(
            "subi", s.element(self.ends, g), s.element(self.begins, g)), 0), self.block - 1), self.block))
        # Of each group and those before it.
        self.all_blocks = self.sum(self.blocks, self.count, lambda s, g, h, blocks: s.body.select(
            s.less(g, h), s.const(0), blocks, "i64"))

    def _wide(self, s, ends, number):
        end = s.body.extract(ends, [s.body.to_index(number, "i64")])
        return end if ends.element == "i64" else s.body.cast("arith.extsi", end, ends.element, "i64")

    def vector(self, element, extent=None):
        """A vector of what `element` gives for each number."""
        def body(b):
            s = _Scalars(b)
            return element(s, s.loop(0))

        return self.function.generic([], (self.count if extent is None else extent,), "i64", body)

    def sum(self, vector, extent, term):
        """A vector of sums. `term` gets the number of the sum, and that of an element of `vector` with the element."""
        def body(b, element, total):
            s = _Scalars(b)
            return s.op("addi", total, term(s, s.loop(0), s.loop(1), element))

        return self.function.generic([(vector, ["d1"])], (extent,), "i64", body, loops=2, reductions={1},
                                     out_map=["d0"], init=self.function.constant(0, (extent,), "i64"))

    def first_block(self, s, group):
        return s.op("subi", s.element(self.all_blocks, group), s.element(self.blocks, group))

    def not_larger(self, vector, extent):
        """For each number below `extent`, how many elements of the vector are not larger."""
        return self.sum(vector, extent, lambda s, n, _, element: s.body.cast("arith.extui", s.body.compare(
            "sle", element, n, "i64"), "i1", "i64"))


def _scalar(function, vector, number):
    """An element of a vector as a tensor."""
    return function.generic([], (), "i64", lambda b: b.extract(vector, [b.constant(number, "index")]))


def _body(function):
    body = Function("%s_loop%d" % (function.name, len(function.private)))
    body.location = function.location
    return body


def _arguments(body, carried, invariants, slices):
    """Arguments of the body of a loop, for its operands."""
    make = lambda values, drop=0: [body.argument(v.shape[drop:], v.element) for v in values]
    return make(carried), make(invariants), make(slices, 1)


def _block_of_rows(body, values, begin, end, block, dim, convert, zeros):
    """Rows along `dim` from `begin` on. Those from `end` on are others, or `zeros`."""
    shape = tuple(block if i == dim else extent for i, extent in enumerate(values.shape))

    def element(b, begin, end):
        s = _Scalars(b)
        place = s.op("addi", begin, s.loop(dim))
        places = [s.within(place, extent) if i == dim else b.index(i) for i, extent in enumerate(values.shape)]
        found = convert(b, b.extract(values, places))
        return b.select(s.less(place, end), found, b.constant(0, convert.element), convert.element) if zeros else found

    return body.generic([(begin, []), (end, [])], shape, convert.element, element)


class Conversion:
    """How elements of one type become those of another: `convert` takes a Body and the name of an element."""

    def __init__(self, element, convert=lambda body, a: a):
        self.element, self.convert = element, convert

    def __call__(self, body, a):
        return self.convert(body, a)


def grouped_rows(function, a, b, ends, to=None):
    """Row i of the result (m, n) is row i of `a` (m, k), times the matrix of its group in `b` (groups, k, n). Group g
    has the rows from `ends[g - 1]`, or 0, up to `ends[g]`. Rows behind the last group are zeros. `to` converts elements
    before they are multiplied."""
    (rows, inner), columns = a.shape, b.shape[2]
    to = to or Conversion(a.element)
    if 0 in (rows, inner, columns, b.shape[0]):
        return function.constant(0, (rows, columns), to.element)
    groups = _Groups(function, ends, rows)
    # Of each block: its group, and the rows.
    group = groups.not_larger(groups.all_blocks, groups.most)
    begin = groups.vector(lambda s, t: s.op("addi", s.element(groups.begins, s.element(group, t)), s.op("muli", s.op(
        "subi", t, groups.first_block(s, s.element(group, t))), groups.block)), groups.most)

    body = _body(function)
    _, (all_rows, matrices), (its_group, its_begin) = _arguments(body, [], [a, b], [group, begin])
    some = _block_of_rows(body, all_rows, its_begin, its_begin, groups.block, 0, to, zeros=False)
    matrix = body.generic([(its_group, [])], (inner, columns), to.element, lambda b, g: to(b, b.extract(
        matrices, [_Scalars(b).within(g, matrices.shape[0]), b.index(0), b.index(1)])))
    product = body.contract(some, ["d0", "d2"], matrix, ["d2", "d1"], (groups.block, columns), 3, ["d0", "d1"])
    products, = function.loop(body, groups.most, False, [], [a, b], [group, begin], [product],
                              trips=_scalar(function, groups.all_blocks, groups.count - 1))

    of_row = groups.not_larger(groups.ends, rows)

    def element(b, number):
        s = _Scalars(b)
        row = s.op("subi", s.loop(0), s.element(groups.begins, number))
        block = s.op("addi", groups.first_block(s, number), s.op("divsi", row, groups.block))
        found = b.extract(products, [s.within(block, groups.most), s.within(s.op("remsi", row, groups.block),
                                                                            groups.block), b.index(1)])
        return b.select(s.less(number, groups.count), found, b.constant(0, to.element), to.element)

    return function.generic([(of_row, ["d0"])], (rows, columns), to.element, element)


def grouped_sums(function, a, b, ends, to=None, back=None):
    """Matrix g of the result (groups, k, n) is the product of columns of `a` (k, m) and rows of `b` (m, n), those of
    the group as in `grouped_rows`. Sums are of the type that `to` converts to; `back` converts what they are in the
    end."""
    (inner, rows), columns = a.shape, b.shape[1]
    to = to or Conversion(a.element)
    back = back or Conversion(to.element)
    shape = (ends.shape[0], inner, columns)
    if rows == 0 or 0 in shape:
        return function.constant(0, shape, back.element)
    groups = _Groups(function, ends, rows)

    body = _body(function)
    _, (lhs, rhs), (begin, end, blocks) = _arguments(body, [], [a, b], [groups.begins, groups.ends, groups.blocks])
    step = _body(body)
    (total, place), (some_lhs, some_rhs, its_end), _ = _arguments(
        step, [body.constant(0, shape[1:], to.element), begin], [lhs, rhs, end], [])
    parts = [_block_of_rows(step, v, place, its_end, groups.block, dim, to, zeros=True)
             for v, dim in ((some_lhs, 1), (some_rhs, 0))]
    product = step.contract(parts[0], ["d0", "d2"], parts[1], ["d2", "d1"], shape[1:], 3, ["d0", "d1"])
    add = "arith.addf" if to.element[0] in "fb" else "arith.addi"
    total = step.generic([(total, identity(2)), (product, identity(2))], shape[1:], to.element,
                         lambda b, x, y: b.binary(add, x, y, to.element))
    place = step.generic([(place, [])], (), "i64", lambda b, x: _Scalars(b).op("addi", x, groups.block))
    found = body.loop(step, -(-rows // groups.block), False, [body.constant(0, shape[1:], to.element), begin],
                      [lhs, rhs, end], [], [total, place], trips=blocks)[0]
    if back.element != to.element:
        found = body.generic([(found, identity(2))], shape[1:], back.element, back)
    result, = function.loop(body, shape[0], False, [], [a, b], [groups.begins, groups.ends, groups.blocks], [found])
    return result

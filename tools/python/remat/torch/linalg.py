"""Rules of factorizations of matrices and of triangular systems, by operations and calls that remat reads. The
derivatives are PyTorch's: they are in the graph already.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from ..mlir import Value, identity, tensor_type
from .rules import rule

LARGEST = 512  # as in the compiler


def _matrices(l, a):
    value, dtype = l.value(a), l.dtype(a)
    if str(dtype) not in ("torch.float32", "torch.float64"):
        l.refuse("matrices of %s are not supported, expected torch.float32 or torch.float64" % dtype)
    if max(value.shape[-2:]) > LARGEST:
        l.refuse("matrices of %d by %d elements are not supported, expected at most %d rows and columns" % (
            *value.shape[-2:], LARGEST))
    return value


def _call(l, routine, operands, results, **letters):
    """A call of LAPACK, by its name without the type. `results` are pairs of a shape and an element. Of matrices
    without elements, bases are those of the space."""
    if 0 in operands[0].shape:
        return [_unit(l, *result) for result in results]
    element = operands[0].element
    target = "lapack_%s%s_ffi" % ("d" if element == "f64" else "s", routine)
    return _custom_call(l, target, operands, results, letters)


def _custom_call(l, target, operands, results, letters=()):
    config = ", ".join("%s = %d : ui8" % (name, ord(letter)) for name, letter in dict(letters).items())
    name = l.function.fresh()
    l.function.emit('%s%s = "stablehlo.custom_call"(%s) <{call_target_name = "%s"}> {mhlo.backend_config = {%s}} : '
                    "(%s) -> (%s)" % (
                        name, ":%d" % len(results) if len(results) > 1 else "", ", ".join(v.name for v in operands),
                        target, config, ", ".join(v.type for v in operands),
                        ", ".join(tensor_type(*r) for r in results)))
    return [Value("%s#%d" % (name, i) if len(results) > 1 else name, *r) for i, r in enumerate(results)]


def _triangle(l, value, keep, diagonal=None):
    """The elements for which `keep` compares row and column; those of the diagonal are `diagonal`, if it is given."""
    rank = value.rank

    def body(b, x):
        row, column = b.index(rank - 2), b.index(rank - 1)
        zero = b.constant(0, value.element)
        result = b.select(b.compare(keep, row, column, "index"), x, zero, value.element)
        if diagonal is not None:
            is_diagonal = b.compare("eq", row, column, "index")
            result = b.select(is_diagonal, b.constant(diagonal, value.element), result, value.element)
        return result

    return l.function.generic([(value, identity(rank))], value.shape, value.element, body)


def _unit(l, shape, element):
    """Matrices with ones on the diagonal."""
    if 0 in shape:
        return l.function.empty(shape, element)
    rank = len(shape)
    return l.function.generic([], shape, element, lambda b: b.select(
        b.compare("eq", b.index(rank - 2), b.index(rank - 1), "index"), b.constant(1, element),
        b.constant(0, element), element))


def _leading(l, value, rows, columns):
    """The first rows and columns."""
    shape = value.shape[:-2] + (rows, columns)
    return l.function.slice(value, [0] * value.rank, shape, [1] * value.rank)


def _transposed(l, value):
    order = list(range(value.rank))
    order[-2:] = order[-1], order[-2]
    return l.function.transpose(value, order)


# Triangular systems and Cholesky's factor


def _solve(l, a, b, upper, left, unit):
    flags = {"left_side": left, "lower": not upper, "unit_diagonal": unit}
    return l.function.op('"stablehlo.triangular_solve"(%s, %s) {%s, transpose_a = #stablehlo<transpose NO_TRANSPOSE>} '
                         ": (%s, %s) -> %s" % (
                             a.name, b.name, ", ".join("%s = %s" % (k, str(v).lower()) for k, v in flags.items()),
                             a.type, b.type, b.type), b.shape, b.element)


@rule("linalg_solve_triangular")
def _solve_triangular(l, node, a, b, *, upper, left=True, unitriangular=False):
    a, b = _matrices(l, a), l.value(b)
    shape = l.result()[0]
    return _solve(l, l.broadcast(a, shape[:-2] + a.shape[-2:]), l.broadcast(b, shape), upper, left, unitriangular)


@rule("triangular_solve")
def _triangular_solve(l, node, b, a, upper=True, transpose=False, unitriangular=False):
    a, b = _matrices(l, a), l.value(b)
    shape = tuple(node.meta["val"][0].shape)
    full = l.broadcast(a, tuple(node.meta["val"][1].shape))
    system = _transposed(l, full) if transpose else full
    return [_solve(l, system, l.broadcast(b, shape), upper != transpose, True, unitriangular), full]


@rule("linalg_cholesky_ex")
def _cholesky_ex(l, node, a, *, upper=False, check_errors=False):
    a = _matrices(l, a)
    a = _transposed(l, a) if upper else a
    factor = l.function.op('"stablehlo.cholesky"(%s) {lower = true} : (%s) -> %s' % (a.name, a.type, a.type), a.shape,
                           a.element)
    factor = _transposed(l, factor) if upper else factor
    return [factor, _info_of(l, factor, lambda b, x: b.compare("uno", x, x, factor.element))]


@rule("cholesky")
def _cholesky(l, node, a, upper=False):
    a = _matrices(l, a)
    a = _transposed(l, a) if upper else a
    factor = l.function.op('"stablehlo.cholesky"(%s) {lower = true} : (%s) -> %s' % (a.name, a.type, a.type), a.shape,
                           a.element)
    return _transposed(l, factor) if upper else factor


def _info_of(l, matrices, is_bad):
    """The number, from 1, of the first element of the diagonal that is bad, or 0, as an i32."""
    size = min(matrices.shape[-2:])
    batch = matrices.shape[:-2]
    loops = len(batch) + 1
    d = "d%d" % len(batch)

    if size == 0:
        return l.function.constant(0, batch, "i32")
    square = _leading(l, matrices, size, size)
    diagonal = l.function.generic([(square, identity(len(batch)) + [d, d])], batch + (size,), matrices.element,
                                  lambda b, x: x)
    bad = l.function.generic([(diagonal, identity(loops))], batch + (size,), "i32", lambda b, x: b.select(
        is_bad(b, x), b.op("arith.addi %s, %s : i32" % (
            b.cast("arith.index_cast", b.index(loops - 1), "index", "i32"), b.constant(1, "i32"))),
        b.constant(size + 1, "i32"), "i32"))
    least = l.function.generic([(bad, identity(loops))], batch, "i32",
                               lambda b, x, acc: b.binary("arith.minsi", acc, x, "i32"), loops=loops,
                               reductions=[loops - 1], out_map=identity(len(batch)),
                               init=l.function.constant(size + 1, batch, "i32"))
    return l.function.generic([(least, identity(len(batch)))], batch, "i32", lambda b, x: b.select(
        b.compare("eq", x, b.constant(size + 1, "i32"), "i32"), b.constant(0, "i32"), x, "i32"))


# LU


@rule("linalg_lu_factor_ex")
def _lu_factor_ex(l, node, a, *, pivot=True, check_errors=False):
    if not pivot:
        l.refuse("LU factors without pivots are not supported")
    a = _matrices(l, a)
    batch, count = a.shape[:-2], min(a.shape[-2:])
    factors, pivots = _call(l, "getrf", [a], [(a.shape, a.element), (batch + (count,), "i32")])
    is_zero = lambda b, x: b.compare("oeq", x, b.constant(0, factors.element), factors.element)
    return [factors, pivots, _info_of(l, factors, is_zero)]


@rule("lu_unpack")
def _lu_unpack(l, node, factors, pivots, unpack_data=True, unpack_pivots=True):
    """P, L and U of A = P L U."""
    factors, pivots = _matrices(l, factors), l.value(pivots)
    batch, (rows, columns) = factors.shape[:-2], factors.shape[-2:]
    count, element = min(rows, columns), factors.element
    empty = l.function.empty((0,), element)
    permutation, lower, upper = empty, empty, empty
    if unpack_pivots and 0 in pivots.shape:
        permutation = _unit(l, batch + (rows, rows), element)
    elif unpack_pivots:
        order, = _custom_call(l, "remat.row_order", [pivots], [(batch + (rows,), "i64")])
        loops = len(batch) + 2

        def body(b, number):
            here = b.cast("arith.index_cast", number, "i64", "index")
            is_here = b.compare("eq", here, b.index(loops - 2), "index")
            return b.select(is_here, b.constant(1, element), b.constant(0, element), element)

        permutation = l.function.generic([(order, identity(len(batch)) + ["d%d" % (loops - 1)])],
                                         batch + (rows, rows), element, body)
    if unpack_data:
        lower = _triangle(l, _leading(l, factors, rows, count), "ugt", diagonal=1)
        upper = _triangle(l, _leading(l, factors, count, columns), "ule")
    return [permutation, lower, upper]


# QR


@rule("geqrf")
def _geqrf(l, node, a):
    a = _matrices(l, a)
    return _call(l, "geqrf", [a], [(a.shape, a.element), (a.shape[:-2] + (min(a.shape[-2:]),), a.element)])


@rule("linalg_householder_product")
def _householder_product(l, node, a, tau):
    a, tau = _matrices(l, a), l.value(tau)
    return _call(l, "orgqr", [a, tau], [(a.shape, a.element)])[0]


@rule("linalg_qr")
def _qr(l, node, a, mode="reduced"):
    a = _matrices(l, a)
    rows, columns = a.shape[-2:]
    count = min(rows, columns)
    reflectors, factors = _geqrf(l, node, node.args[0])
    kept = rows if mode == "complete" else count
    upper = _triangle(l, _leading(l, reflectors, count, columns), "ule")
    if kept > count:
        upper = l.function.pad(upper, [0] * a.rank, [0] * (a.rank - 2) + [kept - count, 0], 0)
    if mode == "r":
        return [l.function.empty((0,), a.element), upper]
    if kept > columns:
        reflectors = l.function.pad(reflectors, [0] * a.rank, [0] * (a.rank - 1) + [kept - columns], 0)
    reflectors = _leading(l, reflectors, rows, kept)
    basis, = _call(l, "orgqr", [reflectors, factors], [(reflectors.shape, a.element)])
    return [basis, upper]


# Eigenvalues and singular values


@rule("_linalg_eigh")
def _eigh(l, node, a, UPLO="L", compute_v=True):
    a = _matrices(l, a)
    vectors, values = _call(l, "syevd", [a], [(a.shape, a.element), (a.shape[:-1], a.element)], mode="V", uplo=UPLO)
    return [values, vectors if compute_v else l.function.empty((0,), a.element)]


@rule("_linalg_svd")
def _svd(l, node, a, full_matrices=False, compute_uv=True, *, driver=None):
    a = _matrices(l, a)
    batch, (rows, columns) = a.shape[:-2], a.shape[-2:]
    count = min(rows, columns)
    left, right = (rows, columns) if full_matrices and compute_uv else (count, count)
    _, values, u, vh = _call(
        l, "gesdd", [a], [(a.shape, a.element), (batch + (count,), a.element), (batch + (rows, left), a.element),
                          (batch + (right, columns), a.element)],
        mode="N" if not compute_uv else "A" if full_matrices else "S")
    none = l.function.empty((0,), a.element)
    return [u, values, vh] if compute_uv else [none, values, none]


@rule("linalg_ldl_factor_ex", "linalg_ldl_solve")
def _other(l, node, *args, **_):
    l.refuse("it is not supported; use torch.linalg.eigh or torch.linalg.solve")

"""Operations of linear algebra by others: what solves systems, by LU factors; determinants and inverses, too.
Exponentials are products.

As decompositions they are traced, so only the factorizations themselves have rules, in linalg.py.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import math

import torch


def _lu_solve(factors, pivots, right, *, left=True, adjoint=False):
    """P L U x = b, or its adjoint; x P L U = b if not `left`."""
    aten = torch.ops.aten
    if factors.is_complex():
        raise NotImplementedError("systems with complex numbers are not supported")
    if not left:
        return _lu_solve(factors, pivots, right.mT, adjoint=not adjoint).mT
    batch = torch.broadcast_shapes(factors.shape[:-2], right.shape[:-2])
    permutation, lower, upper = (x.expand(batch + x.shape[-2:]) for x in aten.lu_unpack(factors, pivots))
    right = right.expand(batch + right.shape[-2:])
    solve = aten.linalg_solve_triangular
    if adjoint:
        inner = solve(lower.mT, solve(upper.mT, right, upper=False), upper=True, unitriangular=True)
        return permutation @ inner
    return solve(upper, solve(lower, permutation.mT @ right, upper=False, unitriangular=True), upper=True)


def _solve_ex(a, b, *, left=True, check_errors=False):
    is_vector = b.dim() == 1 or a.dim() - 1 == b.dim() and b.shape == a.shape[:-1]
    factors, pivots, info = torch.ops.aten.linalg_lu_factor_ex(a)
    x = _lu_solve(factors, pivots, b.unsqueeze(-1) if is_vector else b, left=left or is_vector)
    return x.squeeze(-1) if is_vector else x, factors, pivots, info


def _inverse(a, *, check_errors=False):
    factors, pivots, info = torch.ops.aten.linalg_lu_factor_ex(a)
    unit = torch.eye(a.shape[-1], dtype=a.dtype, device=a.device)
    return _lu_solve(factors, pivots, unit.expand(a.shape)), info


def _signed(factors, pivots):
    """The sign of the rows' order, and the diagonal of U."""
    rows = torch.arange(1, pivots.shape[-1] + 1, device=pivots.device, dtype=pivots.dtype)
    exchanges = (pivots != rows).sum(-1)
    return (1 - 2 * (exchanges % 2)).to(factors.dtype), factors.diagonal(dim1=-2, dim2=-1)


def _factors_of_either(a):
    """PyTorch factors the transposed matrix if the matrix is contiguous, and its derivative counts on that."""
    return torch.ops.aten.linalg_lu_factor_ex(a.mT if a.is_contiguous() else a)[:2]


def _determinant(a):
    factors, pivots = _factors_of_either(a)
    sign, diagonal = _signed(factors, pivots)
    return sign * diagonal.prod(-1), factors, pivots


def _log_determinant(a):
    factors, pivots = _factors_of_either(a)
    sign, diagonal = _signed(factors, pivots)
    return sign * diagonal.sign().prod(-1), diagonal.abs().log().sum(-1), factors, pivots


def _lu(a, *, pivot=True):
    if not pivot:
        raise NotImplementedError("LU factors without pivots are not supported")
    factors, pivots, _ = torch.ops.aten.linalg_lu_factor_ex(a)
    return torch.ops.aten.lu_unpack(factors, pivots)


def _cholesky_solve(b, factor, upper=False):
    lower = factor.mT if upper else factor
    batch = torch.broadcast_shapes(lower.shape[:-2], b.shape[:-2])
    lower, b = lower.expand(batch + lower.shape[-2:]), b.expand(batch + b.shape[-2:])
    solve = torch.ops.aten.linalg_solve_triangular
    return solve(lower.mT, solve(lower, b, upper=False), upper=True)


def _cholesky_inverse(factor, upper=False):
    unit = torch.eye(factor.shape[-1], dtype=factor.dtype, device=factor.device)
    return _cholesky_solve(unit.expand(factor.shape), factor, upper)


def _pseudo_inverse(a, *, atol=None, rtol=None, hermitian=False):
    """As PyTorch: singular values that are not larger than a bound count as zeros. Without bounds, it is the type's
    precision times the larger extent, times the largest singular value."""
    if a.numel() == 0:
        return a.mT.clone()
    zero = torch.zeros((), dtype=a.dtype, device=a.device)
    if rtol is None:
        rtol = zero + torch.finfo(a.dtype).eps * max(a.shape[-2:])
        if atol is not None:
            rtol = torch.where(atol > 0, zero, rtol)
    atol = zero if atol is None else atol
    if hermitian:
        values, vectors = torch.linalg.eigh(a)
        sizes = values.abs()
        left, right = vectors, vectors
    else:
        left, values, vh = torch.linalg.svd(a, full_matrices=False)
        sizes, right = values, vh.mT
    bound = torch.maximum(atol.unsqueeze(-1), rtol.unsqueeze(-1) * sizes.amax(-1, keepdim=True))
    kept = sizes > bound
    inverse = torch.where(kept, 1 / torch.where(kept, values, torch.ones_like(values)), torch.zeros_like(values))
    return (right * inverse.unsqueeze(-2)) @ left.mT


# Taylor's polynomial of this degree is exact to the last digit for matrices with this norm (Al-Mohy and Higham, 2009).
EXP_DEGREE = 18
EXP_NORM = {torch.float32: 3.01, torch.float64: 1.09}
# A matrix is halved this often at most; a larger one has nan as its exponential.
EXP_HALVINGS = 20


def _matrix_exp(a):
    """By halving the matrix until its norm is small, and squaring what comes of it as often."""
    if a.dtype in (torch.float16, torch.bfloat16):
        return _matrix_exp(a.float()).to(a.dtype)
    if a.dtype not in EXP_NORM:
        raise NotImplementedError("exponentials of matrices of %s are not supported, expected real numbers" % a.dtype)
    if a.numel() == 0:
        return a.clone()
    norm = a.abs().sum(-2).amax(-1)[..., None, None]
    halvings = (norm / EXP_NORM[a.dtype]).clamp(min=1).log2().ceil()
    a = a * torch.exp2(-halvings)
    # The polynomial as one in the fourth power, whose coefficients are polynomials (Paterson and Stockmeyer, 1973).
    unit = torch.eye(a.shape[-1], dtype=a.dtype, device=a.device)
    square = a @ a
    powers = [unit, a, square, square @ a]
    fourth = square @ square
    x = None
    for first in range(EXP_DEGREE // 4 * 4, -1, -4):
        part = sum(powers[i] / math.factorial(first + i) for i in range(4) if first + i <= EXP_DEGREE)
        x = part if x is None else x @ fourth + part
    for step in range(EXP_HALVINGS):
        x = torch.where(halvings > step, x @ x, x)
    return torch.where(halvings <= EXP_HALVINGS, x, torch.full_like(x, math.nan))


def _eigenvalues(a):
    """Refused here, since the derivative is traced before any rule is asked."""
    raise NotImplementedError("eigenvalues of matrices that are not symmetric are not supported; use torch.linalg.eigh "
                              "where they are")


def _square_root(a):
    values, vectors = torch.ops.aten._linalg_eigh(a)
    return (vectors * values.sqrt().unsqueeze(-2)) @ vectors.mH


def _polar(a):
    u, values, vh = torch.ops.aten._linalg_svd(a)
    return u @ vh, (vh.mH * values.unsqueeze(-2)) @ vh


def _product_with_reflectors(reflectors, factors, other, left=True, transpose=False):
    """With the whole basis: the reflectors that are missing change nothing."""
    rows, count = reflectors.shape[-2], factors.shape[-1]
    reflectors = torch.nn.functional.pad(reflectors[..., :count], (0, rows - count))
    basis = torch.ops.aten.linalg_householder_product(reflectors, torch.nn.functional.pad(factors, (0, rows - count)))
    basis = basis.mH if transpose else basis
    return basis @ other if left else other @ basis


def linear_algebra():
    """The decompositions, by operations of ATen."""
    aten = torch.ops.aten
    return {aten.linalg_lu_solve.default: _lu_solve, aten._linalg_solve_ex.default: _solve_ex,
            aten.linalg_inv_ex.default: _inverse, aten._linalg_det.default: _determinant,
            aten._linalg_slogdet.default: _log_determinant, aten.linalg_lu.default: _lu,
            aten.linalg_pinv.atol_rtol_tensor: _pseudo_inverse, aten.cholesky_solve.default: _cholesky_solve,
            aten.cholesky_inverse.default: _cholesky_inverse, aten.linalg_matrix_exp.default: _matrix_exp,
            aten.linalg_matrix_sqrth.default: _square_root, aten.linalg_polar.default: _polar,
            aten.ormqr.default: _product_with_reflectors, aten.linalg_eig.default: _eigenvalues,
            aten._linalg_eigvals.default: _eigenvalues, aten.linalg_eigvals.default: _eigenvalues}

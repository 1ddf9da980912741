# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fourier transforms and factorizations of matrices in JAX for stablehlo.py, as cases like those of
stablehlo_cases.py."""

import jax.numpy as jnp
import numpy as np
from jax import lax

from stablehlo_cases import case, normal, shape

# Fourier transforms


def spectrum(draw, rng, length):
    x = normal(rng, (2, length)) + 1j * normal(rng, (2, length))
    w = normal(rng, (length,))

    def run(x, w):
        y, z = jnp.fft.fft(x * w), jnp.fft.ifft(x + w)
        half = jnp.fft.rfft(w)
        return [jnp.real(y), jnp.imag(y), jnp.abs(z), jnp.real(half * half), jnp.fft.irfft(y, length) * w,
                jnp.fft.irfft(half, length)]

    return run, [x, w], {"factor": 10}


@case
def fourier(draw, rng):
    """Products of one to three factors; none of 67 and 134 are short."""
    return spectrum(draw, rng, draw.choice([1, 2, 3, 12, 64, 66, 67, 96, 128, 134, 255]))


@case
def fourier_long(draw, rng):
    return spectrum(draw, rng, draw.choice([1024, 64 * 66, 1009, 3 * 67 * 71]))


@case
def fourier_chirp(draw, rng):
    """A prime longer than any matrix, and one with a single short factor."""
    return spectrum(draw, rng, draw.choice([67, 2 * 67]))


@case
def fourier_dims(draw, rng):
    x = normal(rng, (2, 3, 4, 5))
    return lambda x: [jnp.abs(jnp.fft.fft2(x)), jnp.real(jnp.fft.ifftn(x + 1j * x * x, axes=(1, 2, 3))),
                      jnp.fft.irfftn(jnp.fft.rfftn(x, axes=(1, 2, 3)) ** 2, s=(3, 4, 5), axes=(1, 2, 3)),
                      jnp.imag(jnp.fft.fft(x, axis=1)),
                      jnp.abs(jnp.fft.fftshift(jnp.fft.rfft2(x)))], [x], {"factor": 10}


@case
def fourier_f32(draw, rng):
    x = normal(rng, (3, draw.choice([12, 96, 67])), np.float32)
    return lambda x: [jnp.abs(jnp.fft.fft(x)), jnp.fft.irfft(jnp.fft.rfft(x) * 2)], [x]


# Factorizations, as XLA calls LAPACK for them. Signs of vectors are anybody's, so results do not depend on them.


def well_conditioned(draw, rng, rows, columns, dtype=np.float64, batches=None):
    lead = shape(draw, draw.randint(0, 2), 1, 2) if batches is None else batches
    return normal(rng, (*lead, rows, columns), dtype)


@case
def linear_systems(draw, rng):
    n = draw.randint(1, 12)
    a = well_conditioned(draw, rng, n, n)
    b = normal(rng, (*a.shape[:-1], 2))
    return lambda a, b: [jnp.linalg.solve(a, b), jnp.linalg.inv(a), jnp.linalg.det(a), *jnp.linalg.slogdet(a)], [
        a, b], {"factor": 1000}


@case
def lu_factors(draw, rng):
    a = well_conditioned(draw, rng, draw.randint(1, 7), draw.randint(1, 7))
    return lambda a: list(lax.linalg.lu(a)), [a], {"factor": 1000}


@case
def lu_of_singular(draw, rng):
    """A pivot that is 0 is not divided by."""
    a = np.array([[1.0, 2, 3], [2, 4, 6], [0, 0, 5]])
    return lambda a: list(lax.linalg.lu(a)), [a], {"gradient": False}


@case
def qr_factors(draw, rng):
    rows = draw.randint(1, 8)
    a = well_conditioned(draw, rng, rows, draw.randint(1, rows))
    return lambda a: list(jnp.linalg.qr(a)), [a], {"factor": 1000}


@case
def qr_complete(draw, rng):
    a = well_conditioned(draw, rng, draw.randint(1, 6), draw.randint(1, 6))
    return lambda a: list(jnp.linalg.qr(a, mode="complete")), [a], {"gradient": False, "factor": 100}


@case
def eigenvalues(draw, rng):
    n = draw.randint(1, 9)
    a = well_conditioned(draw, rng, n, n)
    c = normal(rng, (n, n))

    def run(a):
        values, vectors = jnp.linalg.eigh(a)
        return [values, vectors ** 2, jnp.einsum("...ij,...j,...kj->...ik", vectors, jnp.exp(values), vectors) * c,
                jnp.linalg.eigvalsh(a @ jnp.swapaxes(a, -1, -2))]

    return run, [a], {"factor": 1000}


@case
def eigenvalues_f32(draw, rng):
    a = well_conditioned(draw, rng, 12, 12, np.float32)
    return lambda a: jnp.linalg.eigvalsh(a), [a], {"factor": 10}


@case
def graded_eigenvalues(draw, rng):
    """Eigenvalues of many sizes take the most sweeps."""
    n = draw.choice([15, 32, 40])
    q = np.linalg.qr(normal(rng, (n, n)))[0]
    a = (q * 10.0 ** (-np.arange(n) * 12 / n)) @ q.T
    return lambda a: jnp.linalg.eigvalsh(a), [a], {"gradient": False}


@case
def singular_values(draw, rng):
    a = well_conditioned(draw, rng, draw.randint(1, 7), draw.randint(1, 7))

    def run(a):
        u, s, vt = jnp.linalg.svd(a, full_matrices=False)
        return [s, u ** 2, vt ** 2, jnp.einsum("...ik,...k,...kj->...ij", u, jnp.sin(s), vt),
                jnp.linalg.svd(a, compute_uv=False) ** 2, jnp.linalg.norm(a, ord="nuc", axis=(-2, -1))]

    return run, [a], {"factor": 1000}


@case
def whole_singular_bases(draw, rng):
    a = well_conditioned(draw, rng, draw.randint(1, 6), draw.randint(1, 6))
    a[..., :, -1] = a[..., :, 0]

    def run(a):
        u, s, vt = jnp.linalg.svd(a)
        whole = jnp.zeros(a.shape).at[..., jnp.arange(s.shape[-1]), jnp.arange(s.shape[-1])].set(s)
        return [s, u @ whole @ vt, u @ jnp.swapaxes(u, -1, -2), vt @ jnp.swapaxes(vt, -1, -2)]

    return run, [a], {"gradient": False}


@case
def least_squares(draw, rng):
    rows = draw.randint(3, 7)
    a = well_conditioned(draw, rng, rows, draw.randint(1, 3), batches=())
    b = normal(rng, (rows, 2))
    return lambda a, b: [jnp.linalg.pinv(a), jnp.linalg.lstsq(a, b)[0]], [a, b], {"factor": 1000}


@case
def lapack_triangles(draw, rng):
    """Triangular systems and Cholesky's factor, as calls of LAPACK."""
    n = draw.randint(1, 12)
    a = well_conditioned(draw, rng, n, n)
    b = normal(rng, (*a.shape[:-1], 2))
    options = {"lower": draw.random() < 0.5, "unit_diagonal": draw.random() < 0.5, "transpose_a": draw.random() < 0.5}

    def f(a, b):
        factor = jnp.linalg.cholesky(a @ jnp.swapaxes(a, -1, -2) / n + jnp.eye(n))
        return [factor,
                lax.linalg.triangular_solve(factor + jnp.swapaxes(factor, -1, -2), b, left_side=True, **options)]

    return f, [a, b], {"factor": 1000}

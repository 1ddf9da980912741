"""Factorizations, Fourier transforms and complex numbers in JAX: gradients are JAX's, in f64 and f32.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import unittest

import remat
from jax_common import jax, jnp, needs_jax, np, rj


@needs_jax
class LinearAlgebraTest(unittest.TestCase):
    def check(self, function, narrow=True):
        """Signs of vectors are anybody's, so functions do not depend on them."""
        x = np.random.default_rng(0).normal(size=(6, 6))
        for dtype, error in (("float64", 1e-9), ("float32", 2e-3))[:1 + narrow]:
            with jax.enable_x64(dtype == "float64"):
                given = jnp.asarray(x, dtype)
                loss, expected = jax.value_and_grad(function)(given)
                found_loss, found = rj.compile(function, threads=1)(given)
                self.assertEqual(found.dtype, expected.dtype)
                scale = np.abs(expected).max()
                self.assertLess(np.abs(np.asarray(found) - np.asarray(expected)).max(), error * scale)
                self.assertAlmostEqual(float(loss), float(found_loss), delta=error * max(1, abs(float(loss))))

    def test_systems(self):
        self.check(lambda x: jnp.sum(jnp.sin(jnp.linalg.solve(x, x.T @ x))) + jnp.sum(jnp.linalg.inv(x)))
        self.check(lambda x: jnp.linalg.det(x) + jnp.linalg.slogdet(x)[1] + jnp.linalg.det(x[:3, :3]), narrow=False)
        self.check(lambda x: jnp.sum(jax.vmap(jnp.linalg.solve)(jnp.stack([x, x.T]), jnp.stack([x, x])) ** 2),
                   narrow=False)
        self.check(lambda x: jnp.sum(jax.scipy.linalg.cho_solve(jax.scipy.linalg.cho_factor(x @ x.T + jnp.eye(6)), x)),
                   narrow=False)

    def test_tridiagonal_systems(self):
        """The diagonal is small somewhere, so that rows are exchanged; one matrix is singular."""
        def solved(x):
            above, below = (jnp.concatenate(parts) for parts in ((x[0, :5], x[:1, 0] * 0), (x[:1, 0] * 0, x[1, :5])))
            diagonal = x[2].at[jnp.array([0, 3])].multiply(1e-3)
            matrix = jnp.diag(diagonal) + jnp.diag(x[0, :5], 1) + jnp.diag(x[1, :5], -1)
            return jax.lax.linalg.tridiagonal_solve(below, diagonal, above, x[3:].T), matrix

        self.check(lambda x: jnp.sum(jnp.sin(solved(x)[0])))
        x = jnp.asarray(np.random.default_rng(0).normal(size=(6, 6)), "float32")
        found, matrix = rj.compile(solved, differentiate=False)(x)
        np.testing.assert_allclose(matrix @ found, x[3:].T, atol=1e-5)
        solve = lambda d: jax.vmap(lambda d: jax.lax.linalg.tridiagonal_solve(d * 0, d, d * 0, d[:, None]))(d)
        found = rj.compile(solve, differentiate=False)(jnp.array([[1.0, 2.0, 3.0], [1.0, 0.0, 3.0]]))
        np.testing.assert_array_equal(found[..., 0], [[1, 1, 1], [np.nan] * 3])

    def test_gradients_of_tridiagonal_systems(self):
        """Of four right sides, whose sum of a row goes with what is written over the row."""
        def loss(below, diagonal, above):
            return jnp.sum(jax.lax.linalg.tridiagonal_solve(below, diagonal, above, right))

        with jax.enable_x64(True):
            below, diagonal, above, *right = np.random.default_rng(0).normal(size=(7, 5))
            right = np.array(right).T
            numbers = (0, 1)
            expected = jax.grad(loss, numbers)(below, diagonal + 9, above)
            _, found = rj.compile(loss, argnums=numbers)(below, diagonal + 9, above)
            for a, b in zip(expected, found):
                np.testing.assert_allclose(a, b, atol=1e-12)

    def test_qr(self):
        self.check(lambda x: jnp.sum(jnp.linalg.qr(x)[0] ** 3) + jnp.sum(jnp.linalg.qr(x[:, :3])[1] ** 2))

    def test_eigenvalues(self):
        self.check(lambda x: jnp.sum(jnp.linalg.eigh(x)[1] ** 4) + jnp.sum(jnp.sin(jnp.linalg.eigvalsh(x))))

    def test_singular_values(self):
        self.check(lambda x: jnp.sum(jnp.linalg.svd(x[:, :4], full_matrices=False)[0] ** 4) + jnp.sum(
            jnp.linalg.svd(x, compute_uv=False)))
        self.check(lambda x: jnp.sum(jnp.linalg.pinv(x[:, :3]) ** 3) + jnp.linalg.norm(x, 2), narrow=False)

    def test_fourier_transforms(self):
        self.check(lambda x: jnp.sum(jnp.abs(jnp.fft.fft2(x)) ** 3) + jnp.sum(jnp.fft.irfft(jnp.fft.rfft(x) * jnp.exp(
            1j * jnp.arange(4))) ** 2))
        self.check(lambda x: jnp.sum(jax.scipy.signal.fftconvolve(x, x[:3, :3]) ** 2), narrow=False)

    def test_complex_numbers(self):
        self.check(lambda x: jnp.sum(jnp.real(jnp.exp(1j * x) * (x + 2j)) + jnp.angle(x + 1j) + jnp.abs(
            (x + 1j) @ (x.T - 2j))))
        self.check(lambda x: jax.lax.scan(lambda c, a: (jnp.real(jnp.fft.ifft(jnp.fft.fft(c) * a)), jnp.sum(c)), x[0],
                                          x)[0].sum(), narrow=False)

    def test_what_the_compiler_refuses_is_at_its_line(self):
        for function in (jnp.linalg.cholesky, lambda x: jax.scipy.linalg.solve_triangular(x, x)):
            with self.assertRaisesRegex(remat.CompileError, r"test_jax_linalg.py:\d+:.*600 rows is not supported"):
                rj.compile(lambda x: function(x * 2), differentiate=False)(jnp.eye(600))

    def test_complex_arguments(self):
        z = jnp.asarray([1 + 2j, -0.5j], "complex64")
        found = rj.compile(lambda z: (z * jnp.conj(z) + 1j, jnp.sum(z)), differentiate=False)(z)
        np.testing.assert_allclose(found[0], [5 + 1j, 0.25 + 1j])
        np.testing.assert_allclose(found[1], 1 + 1.5j)
        self.assertEqual(found[0].dtype, jnp.complex64)

    def test_other_primitives(self):
        self.check(lambda x: jnp.sum(jnp.tile(x, (2, 3)) ** 2) + jnp.sum(jax.scipy.special.gammaln(jnp.abs(x) + 1)),
                   narrow=False)

    def test_refusals(self):
        x = jnp.ones((4, 4))
        for function, message in (
                (lambda x: jnp.sum(jnp.abs(jnp.linalg.eig(x)[0])),
                 r"linalg.py:\d+: eig: matrices that are not symmetric"),
                (lambda x: jnp.linalg.det(jnp.tile(x, (200, 200))), r"linalg.py:\d+: lu: matrices of 800 by 800"),
                (lambda x: jnp.sum(jnp.abs(jnp.linalg.inv(x + 1j))), r"linalg.py:\d+: lu: factorizations of complex")):
            with self.assertRaisesRegex(remat.ExportError, message):
                rj.export(function, x, differentiate=False)


if __name__ == "__main__":
    unittest.main()

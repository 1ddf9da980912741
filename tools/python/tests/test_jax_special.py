"""Special functions of JAX, and rounding to fewer bits: values and derivatives are those of JAX.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import unittest
import warnings

from jax_common import jax, jnp, needs_jax, np, rj

if jax is not None:
    from jax import lax


@needs_jax
class SpecialTest(unittest.TestCase):
    def check(self, function, *args, tolerance=1e-10, gradient=True):
        """Values, and the gradient with respect to the last argument, in f64."""
        with jax.enable_x64(True):
            args = [jnp.asarray(a, "f8") for a in args]
            for f in [function] + [jax.grad(lambda *a: jnp.sum(function(*a)), len(args) - 1)] * gradient:
                expected = np.asarray(jax.jit(f)(*args))
                found = np.asarray(rj.compile(f, differentiate=False, threads=1)(*args))
                np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)

    def setUp(self):
        random = np.random.default_rng(0)
        self.a, self.x = random.uniform(0.1, 20, 40), random.uniform(0.05, 30, 40)

    def test_sizes_of_infinite_numbers(self):
        inf, nan = np.inf, np.nan
        x = np.array([complex(inf, nan), complex(nan, -inf), complex(-inf, 0), complex(1, -inf), complex(nan, 1),
                      3 - 4j])
        for dtype in ("c8", "c16"):
            with jax.enable_x64(dtype == "c16"):
                found = rj.compile(lambda x: (jnp.abs(x), jnp.real(jnp.log(x))), differentiate=False)(x.astype(dtype))
                np.testing.assert_allclose(found[0], [inf, inf, inf, inf, nan, 5])
                np.testing.assert_allclose(found[1], [inf, inf, inf, inf, nan, np.log(5)], rtol=1e-6)

    def test_cube_roots(self):
        """Rounded to the closest number."""
        x = np.concatenate([np.logspace(-45, 38, 4001), np.arange(100)**3, [np.inf, np.nan]])
        x = np.concatenate([x, -x]).astype(np.float32)
        found = np.asarray(rj.compile(jnp.cbrt, differentiate=False)(x))
        np.testing.assert_array_equal(found, np.cbrt(x.astype(np.float64)).astype(np.float32))
        np.testing.assert_array_equal(np.signbit(found[x == 0]), np.signbit(x[x == 0]))

    def test_inverse_of_erf_has_finite_slopes(self):
        """Also where remat itself differentiates what was exported."""
        import remat
        for dtype in ("f4", "f8"):
            with jax.enable_x64(dtype == "f8"):
                x = jnp.asarray([0.1, -0.3, 0.0, 0.99, -0.9999, 0.5], dtype)
                function = lambda x: jax.scipy.special.erfinv(x).sum()
                text = rj.export(function, x, differentiate=False).text
                value, gradient = remat.compile(text, threads=1)(np.asarray(x))
                np.testing.assert_allclose(value, function(x), rtol=1e-5)
                np.testing.assert_allclose(gradient, jax.grad(function)(x), rtol=1e-4)
        edges = rj.compile(jax.scipy.special.erfinv, differentiate=False)(jnp.array([1.0, -1.0, 1.5, jnp.nan]))
        np.testing.assert_array_equal(edges, [np.inf, -np.inf, np.nan, np.nan])

    def test_incomplete_gamma_and_beta_functions(self):
        edges = [0, 1, -1, 0, 2, np.nan, 1, 3], [0, 0, 1, 2, -1, 1, np.inf, np.nan]
        for f in (lax.igamma, lax.igammac):
            self.check(f, self.a, self.x)
            self.check(lambda x, a: f(a, x), self.x, self.a)
            self.check(f, *edges)
        self.check(lambda x: lax.betainc(2.0, 3.0, x), self.x / 31)
        self.check(lax.betainc, self.a, self.x, self.x / 31)

    def test_logarithms_of_complex_exponentials(self):
        """The imaginary part wraps, which upstream's fold would leave out."""
        def f(x, y):
            z = jnp.log(jnp.exp(lax.complex(x, y)))
            return z.real * z.imag

        self.check(f, self.a, self.x)

    def test_zeta_and_polygamma(self):
        self.check(lax.zeta, self.a + 1.05, self.x, gradient=False)
        self.check(lax.zeta, [1, 0.5, 2, 3, 2, 2.5, 4, 3, 2], [1, 1, 0, -1, -1.5, -1.5, np.nan, -2.5, 1e10],
                   gradient=False)
        order = np.arange(40) % 5
        self.check(lambda x: lax.polygamma(order.astype("f8"), x), self.x)
        orders, places = [0, 1, 2, 1.5, -1, 3, 0, 1, 20], [0.3, 0, -1, 2, 1, -1.5, -2.2, np.inf, 1]
        self.check(lambda x: lax.polygamma(jnp.asarray(orders), x), places)

    def test_bessel_functions(self):
        edges = [0, -0.0, 8, -8, np.inf, np.nan, 1e-30, 600]
        for f in (lax.bessel_i0e, lax.bessel_i1e):
            self.check(f, self.x - 10)
            self.check(f, edges)

    def test_complex_functions(self):
        """Values, also where a part is 0; gradients are in test/Import/Foreign."""
        parts = [0.0, 1e-3, -0.3, 1.0, -1.0, 1.5, -3.0, 30.0]
        z = np.array([complex(x, y) for x in parts for y in parts], np.complex64)
        near = np.array([-1, -1 + 1e-10j, -1.001 + 1e-5j, -1 + 2j, 0], np.complex64)
        bounds = np.complex64(-0.5 - 1j), np.complex64(0.5)
        checks = [(getattr(lax, name), z) for name in (
            "acos", "acosh", "asin", "asinh", "atan", "atanh", "cosh", "sinh")]
        # Not the arguments, whose imaginary parts need not be angles.
        checks.append((lambda z: lax.log(lax.exp(z)), z))
        for f, x in checks + [(lambda z: lax.clamp(bounds[0], z, bounds[1]), z)]:
            found = np.asarray(rj.compile(f, differentiate=False, threads=1)(x))
            expected = np.asarray(f(x))
            np.testing.assert_allclose(found.real, expected.real, rtol=3e-6, atol=1e-6)
            np.testing.assert_allclose(found.imag, expected.imag, rtol=3e-6, atol=1e-6)
        found = np.asarray(rj.compile(lax.log1p, differentiate=False, threads=1)(near))
        np.testing.assert_allclose(found, np.log1p(near.astype(np.complex128)), rtol=1e-6)

    def test_narrow_numbers(self):
        for dtype in ("f4", "f2", jnp.bfloat16):
            a, x = jnp.asarray(self.a, dtype), jnp.asarray(self.x, dtype)

            def f(a, x):
                return [lax.igamma(a, x), lax.zeta(a + 1.5, x), lax.polygamma(jnp.ones_like(x), x), lax.bessel_i1e(x)]

            for found, expected in zip(rj.compile(f, differentiate=False)(a, x), f(a, x)):
                self.assertEqual(found.dtype, expected.dtype)
                error = 1e-4 if dtype == "f4" else 4 * float(jnp.finfo(dtype).eps)
                np.testing.assert_allclose(np.asarray(found, "f8"), np.asarray(expected, "f8"), rtol=error)

    def test_rounding_to_fewer_bits(self):
        random = np.random.default_rng(1)
        # Among them are halves, the least and the largest numbers of narrow types, and what is beside these.
        x = np.concatenate([random.standard_normal(50), 10.0 ** random.integers(-12, 12, 60) * random.standard_normal(
            60), [0, -0.0, np.inf, -np.inf, np.nan, 1e-40, 65504, 65519, 65520, 6.1e-5, 6.09e-5, 5.9e-8, 448,
                  1.9999999]])
        for dtype, formats in (("f4", ((5, 10), (8, 7), (4, 3), (5, 2), (8, 20), (8, 0))),
                               ("f2", ((5, 2), (4, 3), (8, 7), (8, 12))), (jnp.bfloat16, ((8, 3), (5, 2), (5, 10)))):
            for exponent, mantissa in formats:
                round_ = lambda x: lax.reduce_precision(x, exponent, mantissa)
                given = jnp.asarray(x, dtype)
                found = rj.compile(round_, differentiate=False)(given)
                np.testing.assert_array_equal(np.asarray(found, "f8"), np.asarray(jax.jit(round_)(given), "f8"))

    def test_integers_from_numbers_that_they_cannot_hold(self):
        """XLA takes the nearest that the type holds, and zero for what is not a number."""
        x = [300.7, -200.2, 127.9, 128, -128.9, -129.5, 255.5, 256, 4294967295, -1.5, -0.5, 1e20, -1e20, np.inf,
             -np.inf, np.nan, 60000]
        with jax.enable_x64(True), np.errstate(over="ignore"):
            for dtype in ("f8", "f4", "f2", jnp.bfloat16):
                given = jnp.asarray(np.float64(x), dtype)
                integers = lambda x: [x.astype("%s%d" % (kind, size)) for kind in "iu" for size in (1, 2, 4, 8)]
                found = rj.compile(integers, differentiate=False, threads=1)(given)
                for one, expected in zip(found, jax.jit(integers)(given)):
                    self.assertEqual(one.dtype, expected.dtype)
                    np.testing.assert_array_equal(np.asarray(one), np.asarray(expected))

    def test_bits_as_elements_of_another_width(self):
        with jax.enable_x64(True):
            bits, x = lax.bitcast_convert_type, jnp.asarray(self.a[:24].reshape(3, 2, 4))

            def regrouped(x):
                halves = x.astype("f2")
                return [bits(x, t) for t in ("u1", "i2", "f4", "f2")] + [bits(halves, "u1"), bits(halves, "f8"), bits(
                    bits(x, "u1"), "f8"), bits(x[:, :, :2].astype(jnp.bfloat16), "i4"), bits(x[:0], "i1"), bits(
                        x.astype("f4")[0, 0, 0], "i2")]

            found = rj.compile(regrouped, differentiate=False, threads=1)(x)
            for one, expected in zip(found, jax.jit(regrouped)(x)):
                self.assertEqual((one.dtype, one.shape), (expected.dtype, expected.shape))
                self.assertEqual(np.asarray(one).tobytes(), np.asarray(expected).tobytes())

    def test_approximate_extrema_are_exact(self):
        x = np.random.default_rng(2).standard_normal((4, 9)).astype("f4")

        def f(x):
            return lax.approx_max_k(x, 3), lax.approx_min_k(x, 2, reduction_dimension=0)

        for found, expected in zip(*map(jax.tree_util.tree_leaves, (rj.compile(f, differentiate=False)(x), f(x)))):
            np.testing.assert_array_equal(found, expected)

    def test_debugging_is_left_out_with_a_warning(self):
        seen = []

        def f(x):
            jax.debug.callback(seen.append, x.sum())
            jax.debug.print("{}", x)
            return (x * x).sum()

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            _, gradient = rj.compile(f)(jnp.arange(3.0))
        np.testing.assert_array_equal(gradient, [0, 2, 4])
        texts = [str(w.message) for w in caught if "left out" in str(w.message)]
        self.assertEqual(len(texts), 2)
        self.assertTrue(all("test_jax_special.py:" in text for text in texts), texts)


if __name__ == "__main__":
    unittest.main()

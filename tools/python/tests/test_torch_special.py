"""Functions of PyTorch where they are special: of complex numbers, at zeros, and of what is not finite.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import math
import unittest

from common import needs_torch, torch

inf, nan = math.inf, math.nan


@needs_torch
class SpecialTest(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)

    def check(self, function, *args, tolerance=1e-6):
        """Values and types. PyTorch computes each element alone, as its vectors have fewer special numbers."""
        expected = function(*args)
        if expected.dim() and expected.is_complex():
            rows = [[a[i:i + 1] if a.dim() else a for a in args] for i in range(len(expected))]
            expected = torch.cat([function(*row) for row in rows])
        torch._dynamo.reset()
        found = torch.compile(function, backend="remat", fullgraph=True)(*args)
        self.assertEqual(found.dtype, expected.dtype)
        if expected.is_complex():
            # Each part may be infinite or nan on its own.
            found, expected = torch.view_as_real(found), torch.view_as_real(expected)
        torch.testing.assert_close(found, expected, rtol=tolerance, atol=tolerance, equal_nan=True)

    def test_complex_functions(self):
        """Also at their branch cuts, on both sides, and for large and small numbers."""
        parts = [0.0, -0.0, 1e-3, -0.3, 1.0, -1.0, 1.5, -3.0, 40.0, -1e5, 1e18]
        functions = ("acos", "acosh", "asin", "asinh", "atan", "atanh", "cosh", "sinh", "log2", "log10", "exp2")
        for dtype, tolerance in ((torch.complex64, 2e-6), (torch.complex128, 1e-12)):
            z = torch.tensor([complex(x, y) for x in parts for y in parts], dtype=dtype)
            for name in functions:
                with self.subTest(name, dtype=dtype):
                    # Where eager subtracts numbers that are close, it has fewer digits.
                    edges = z[z.abs() < 1e4] if name in ("cosh", "sinh", "exp2") else z
                    self.check(getattr(torch, name), edges, tolerance=max(tolerance, 1e-9))

    def test_complex_roots(self):
        """A root of a real number has a part that is 0, and parts of any size have all digits."""
        parts = [0.0, -0.0, 1.0, -1.0, 0.5, -3.0, 1e-30, 1e30, -1e30, inf, -inf, nan]
        for dtype, tolerance in ((torch.complex64, 2e-6), (torch.complex128, 1e-12)):
            z = torch.tensor([complex(x, y) for x in parts for y in parts], dtype=dtype)
            self.check(torch.sqrt, z, tolerance=tolerance)
            real = torch.complex(*torch.tensor([[-1.0, -0.5, -3.0, -1e30], [0.0, -0.0, 0.0, -0.0]], dtype=z.real.dtype))
            for root in (torch.sqrt, torch.rsqrt):
                found = torch.compile(root, backend="remat", fullgraph=True)(real)
                self.assertEqual(found.real.tolist(), [0.0] * 4)
                torch.testing.assert_close(found.imag, root(real).imag, rtol=tolerance, atol=0.0)
            small = torch.tensor([complex(-2e-38, 1e-38), complex(1e-38, -3e-38), complex(3e38, 3e38)], dtype=dtype)
            found = torch.compile(torch.sqrt, backend="remat", fullgraph=True)(small).to(torch.complex128)
            expected = torch.sqrt(small.to(torch.complex128))
            torch.testing.assert_close(torch.view_as_real(found), torch.view_as_real(expected), rtol=tolerance,
                                       atol=0.0)

    def test_hyperbolic_functions(self):
        """To about three units in the last place, over all sizes."""
        sizes = torch.cat([torch.logspace(-30, 18, 4001), torch.linspace(0, 89.41, 4001), torch.linspace(0, 1.1, 4001),
                           torch.tensor([float("inf"), float("nan"), 1.0, 0.0])])
        x = torch.cat([sizes, -sizes])
        functions = torch.sinh, torch.cosh, torch.asinh, torch.acosh, torch.atanh
        compiled = torch.compile(lambda x: [f(x) for f in functions], backend="remat", fullgraph=True)
        for name, found in zip(functions, compiled(x)):
            expected = name(x.double())
            overflows = expected.abs() > torch.finfo(torch.float32).max
            expected = torch.where(overflows, expected * float("inf"), expected)
            torch.testing.assert_close(found.double(), expected, rtol=4e-7, atol=0, equal_nan=True, msg=str(name))
            self.assertTrue(torch.equal(found[x == 0].signbit(), expected[x == 0].signbit()))

    def check_closely(self, functions, tolerance, *arguments):
        """Against f64, with the signs of zeros."""
        compiled = torch.compile(lambda *arguments: [f(*arguments) for f in functions], backend="remat", fullgraph=True)
        for function, found in zip(functions, compiled(*arguments)):
            expected = function(*(a.double() for a in arguments))
            expected = torch.where(expected.abs() < 2.0**-149 / 2, expected * 0, expected)
            expected = torch.where(expected.abs() > torch.finfo(torch.float32).max, expected * inf, expected)
            torch.testing.assert_close(found.double(), expected, rtol=tolerance, atol=2e-45, equal_nan=True,
                                       msg=lambda text: f"{function}: {text}")
            self.assertTrue(torch.equal(found[expected == 0].signbit(), expected[expected == 0].signbit()), function)

    def test_inverse_trigonometric_functions(self):
        sizes = torch.cat([torch.logspace(-40, 38, 4001), torch.linspace(0, 1.1, 4001), torch.tensor([inf, nan, 0.5])])
        x = torch.cat([sizes, -sizes])
        self.check_closely([torch.asin, torch.acos, torch.atan], 3e-7, x)
        special = torch.tensor([0.0, -0.0, 1.0, -1.0, inf, -inf, nan])
        y = torch.cat([x, x.flip(0), special.repeat_interleave(7)])
        x = torch.cat([x, torch.roll(x, 1234), special.repeat(7)])
        self.check_closely([torch.atan2], 3e-7, y, x)

    def test_sines_and_tangents(self):
        sizes = torch.cat([torch.logspace(-40, 38, 4001), torch.linspace(0, 20, 4001), torch.tensor([inf, nan])])
        x = torch.cat([sizes, -sizes, torch.arange(1, 9999) * (torch.pi / 2)])
        self.check_closely([torch.sin, torch.cos], 1e-7, x)
        self.check_closely([torch.tan], 2.5e-7, x)

    def test_functions_of_doubles(self):
        """To two or three units in the last place, over all sizes."""
        sizes = torch.cat([torch.logspace(-320, 308, 4001, dtype=torch.float64),
                           torch.linspace(0, 750, 4001, dtype=torch.float64),
                           torch.linspace(0, 2, 4001, dtype=torch.float64), torch.tensor([inf, nan, 1074, 1024])])
        x = torch.cat([sizes, -sizes])
        functions = torch.exp, torch.exp2, torch.log, torch.tanh, torch.log1p, torch.expm1
        compiled = torch.compile(lambda x: [f(x) for f in functions], backend="remat", fullgraph=True)
        for function, found in zip(functions, compiled(x)):
            expected = function(x)
            torch.testing.assert_close(found, expected, rtol=8e-16, atol=5e-324, equal_nan=True,
                                       msg=lambda text: f"{function}: {text}")
            self.assertTrue(torch.equal(found[expected == 0].signbit(), expected[expected == 0].signbit()), function)

    def test_powers(self):
        """Rounded to the closest number but for few, with the results of the C library in special cases."""
        special = torch.tensor([0, 1, 2, 3, 0.5, 2.5, 1e9, 16777215, 3e38, 1e-45, 1e-38, inf, nan])
        special = torch.cat([special, -special])
        x, y = torch.cartesian_prod(special, special).unbind(1)
        few = torch.cat([torch.logspace(-37, 37, 2001), torch.linspace(0.5, 2, 2001)])
        x = torch.cat([x, few, -few])
        y = torch.cat([y, torch.linspace(-3, 3, len(few)), torch.arange(len(few)).float() % 9 - 4])
        self.check_closely([torch.pow], 7e-8, x, y)
        self.check_closely([lambda x: x**2.5, lambda x: x**-1.25, lambda x: 1.5**x, torch.log10], 7e-8, x)

    def test_remainders(self):
        """Exact, whatever the quotient, in all types."""
        sizes = torch.cat([torch.logspace(-44, 38, 301), torch.arange(1, 40) / 4,
                           torch.tensor([inf, nan, 0.0, 1e-45, 3e38, 16777215.0, 1.0])])
        x, y = torch.cartesian_prod(torch.cat([sizes, -sizes]), torch.cat([sizes, -sizes])).unbind(1)
        for dtype in (torch.float32, torch.bfloat16, torch.float16):
            a, b = x.to(dtype), y.to(dtype)
            found = torch.compile(torch.fmod, backend="remat", fullgraph=True)(a, b)
            expected = torch.fmod(a.double(), b.double()).to(dtype)
            self.assertTrue(torch.equal(found.nan_to_num(77), expected.nan_to_num(77)), dtype)
            self.assertTrue(torch.equal(found[found == 0].signbit(), expected[expected == 0].signbit()), dtype)

    def test_powers_of_two(self):
        x = torch.cat([torch.linspace(-125.9, 127.99, 20001), torch.arange(-126.0, 128), torch.logspace(-30, 0, 101),
                       torch.tensor([inf, -inf, nan, 128.0, 200.0, 1e30, -128.0, -1e30])])
        found = torch.compile(torch.exp2, backend="remat", fullgraph=True)(x)
        expected = torch.exp2(x.double())
        expected = torch.where(expected > torch.finfo(torch.float32).max, inf, expected)
        torch.testing.assert_close(found.double(), expected, rtol=2e-7, atol=2e-38, equal_nan=True)

    def test_logarithms_of_exponentials(self):
        """The imaginary part wraps, and sums are rounded: upstream's folds would leave both out."""
        z = torch.tensor([1 + 8j, -2 - 7.5j, 0.5 + 3j, 4j, -700 - 4j], dtype=torch.complex128)
        self.check(lambda z: torch.log(torch.exp(z)), z, tolerance=1e-12)
        self.check(lambda z: torch.log10(torch.exp(z)), z, tolerance=1e-12)
        self.check(lambda z: torch.logsumexp(z, 0), z[0], tolerance=1e-12)
        large = torch.full_like(z, 1e17)
        self.check(lambda z, b: (z - b) + b, z, large, tolerance=0)
        self.check(lambda z, b: (z + b) - b, z, large, tolerance=0)

    def test_gradients_of_complex_functions(self):
        z = torch.randn(20, dtype=torch.complex128, requires_grad=True)
        for name in ("acos", "acosh", "asin", "asinh", "atan", "atanh", "cosh", "sinh", "log2", "log10"):
            with self.subTest(name):
                run = lambda z: getattr(torch, name)(z).abs().square().sum()
                torch._dynamo.reset()
                expected, found = (torch.autograd.grad(f(z), z)[0] for f in (run, torch.compile(run, backend="remat")))
                torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-9)

    def test_complex_powers(self):
        z = torch.tensor([0, 1, -1, 2j, complex(inf, 0), complex(-inf, 0), complex(0, inf), complex(nan, 0), 1 + 1j],
                         dtype=torch.complex64)
        for exponent in (0, 1.5, 2.5j, 1 + 1j, 0j):
            self.check(lambda z: z ** exponent, z)
        for exponent in (-1 + 0j, 1 + 1j, 2j, 1 + 0j, complex(inf, 0)):
            self.check(lambda z: z ** torch.full_like(z, exponent), z)
        for base in (0.0, 2.0):
            self.check(lambda z: base ** z, z)

    def test_log1p_of_complex_numbers_near_minus_one(self):
        z = torch.tensor([-1, -1 + 1e-10j, -1.001 + 1e-5j, -0.6 - 0.3j, -1 + 2j, 1e-6 + 1e-7j, 0],
                         dtype=torch.complex64)
        self.check(torch.log1p, z)
        self.check(torch.log1p, z.to(torch.complex128), tolerance=1e-12)

    def test_logarithm_of_the_gamma_function_at_its_zeros(self):
        for dtype in (torch.float32, torch.float64):
            x = torch.tensor([1.0, 2.0, 1.0001, 1.9999, 0.51, 0.74, 2.4, 2.6, 1.5, 3.0, 7.5], dtype=dtype)
            torch._dynamo.reset()
            found = torch.compile(torch.lgamma, backend="remat")(x)
            self.assertEqual(found[:2].tolist(), [0.0, 0.0])
            tolerance = 1e-14 if dtype == torch.float64 else 2e-6
            torch.testing.assert_close(found, torch.lgamma(x), rtol=tolerance, atol=0)

    def test_greatest_common_divisors(self):
        for dtype in (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8):
            low, high = torch.iinfo(dtype).min, torch.iinfo(dtype).max
            a, b = (torch.randint(low, high, (500,), dtype=dtype) for _ in range(2))
            a[:8] = torch.tensor([0, 0, 12, low, low, high, 1, 100])
            b[:8] = torch.tensor([0, 5, 18, 0, 6, low, high, 75])
            a[8:10], b[8:10] = torch.tensor([89, 55]), torch.tensor([55, 89])
            self.check(torch.gcd, a, b)
            self.check(torch.lcm, a % 13, b % 11)
        a = torch.tensor([7540113804746346429])  # Neighbours among Fibonacci's numbers.
        self.check(torch.gcd, a, torch.tensor([4660046610375530309]))

    def test_bessel_functions(self):
        """On both sides of where their formulas change, at zeros, and of what is not finite. PyTorch's have fewer
        digits of f64."""
        import mpmath  # PyTorch itself needs it.
        y0, k0 = mpmath.bessely, mpmath.besselk
        exact = {"bessel_j0": (mpmath.besselj, 0), "bessel_j1": (mpmath.besselj, 1), "bessel_y0": (y0, 0),
                 "bessel_y1": (y0, 1), "modified_bessel_i0": (mpmath.besseli, 0),
                 "modified_bessel_i1": (mpmath.besseli, 1),
                 "modified_bessel_k0": (k0, 0), "modified_bessel_k1": (k0, 1), "scaled_modified_bessel_k0": (k0, 0),
                 "scaled_modified_bessel_k1": (k0, 1), "spherical_bessel_j0": (None, 0)}
        x = torch.tensor([1e-30, 0.01, 0.7, 1.9999, 2.0, 2.1, 5.0, 12.5, 24.9, 25.0, 25.1, 90.0], dtype=torch.float64)
        special = torch.tensor([0.0, -3.0, -40.0, nan])
        for name, (function, order) in exact.items():
            with self.subTest(name):
                run = getattr(torch.special, name)
                values = [function(order, number) if function else mpmath.sin(number) / number for number in x.tolist()]
                if name.startswith("scaled"):
                    values = [value * mpmath.exp(number) for value, number in zip(values, x.tolist())]
                torch._dynamo.reset()
                found = torch.compile(run, backend="remat", fullgraph=True)(x)
                torch.testing.assert_close(found, torch.tensor([float(v) for v in values], dtype=torch.float64),
                                           rtol=1e-13, atol=1e-15)
                self.check(run, torch.cat([x.float(), special]), tolerance=2e-6)
        for name in ("scaled_modified_bessel_k1", "modified_bessel_k0", "spherical_bessel_j0"):
            self.check(getattr(torch.special, name), torch.tensor([inf]))
        self.check(torch.special.bessel_j0, torch.arange(4))

    def test_sizes(self):
        """Whose squares are too large or too small, and of what is not finite."""
        numbers = [0.0, -0.0, 1.0, -3.0, 1e30, 2e30, -1e-30, 3e-30, 1e-44, inf, -inf, nan]
        for dtype in (torch.float32, torch.float64):
            x = torch.tensor(numbers, dtype=dtype)
            pairs = torch.cartesian_prod(x, x)
            torch._dynamo.reset()
            found = torch.compile(torch.hypot, backend="remat")(*pairs.unbind(1))
            torch.testing.assert_close(found, torch.hypot(*pairs.unbind(1)), rtol=1e-6, atol=0, equal_nan=True)
            z = torch.view_as_complex(pairs)
            self.check(torch.abs, z[(z.real.abs() < 1e10) | (z.imag.isinf())])

    def test_incomplete_gamma_functions(self):
        """On both sides of where the formulas change, and of what is not finite or 0. From 1e4 on, PyTorch has fewer
        digits."""
        a = torch.tensor([1e-3, 0.5, 1.0, 2.5, 15.9, 16.0, 30.0, 250.0, 1e4], dtype=torch.float64)
        x = torch.cat([a[:, None] * torch.tensor([1e-7, 0.1, 0.7, 0.97, 1.0, 1.03, 1.5, 9.0]),
                       torch.tensor([1e-7, 0.3, 0.99, 1.0, 1.1, 5.0, 80.0]).expand(9, 7)], 1)
        edges = torch.tensor([0.0, 1.0, -1.0, inf, nan, 0.3])
        for run in (torch.special.gammainc, torch.special.gammaincc):
            self.check(run, a[:, None], x, tolerance=1e-9)
            self.check(run, edges[:, None], edges)
            self.check(run, a[1:6, None].float(), x[1:6].float(), tolerance=2e-6)
            x0 = x[1:6].clone().requires_grad_()
            torch._dynamo.reset()
            own, found = (torch.autograd.grad(f(a[1:6, None], x0).sum(), x0)[0]
                          for f in (run, torch.compile(run, backend="remat")))
            torch.testing.assert_close(found, own, rtol=1e-9, atol=1e-12)
        # Five standard deviations from the mean of a distribution that is nearly normal.
        torch._dynamo.reset()
        found = torch.compile(torch.special.gammainc, backend="remat")(
            torch.tensor(1e8, dtype=torch.float64), torch.tensor(99950000, dtype=torch.float64))
        self.assertAlmostEqual(found.item() / 2.85464213995863e-7, 1, delta=1e-9)
        # Of larger ones, PyTorch has fewer digits than scipy's gammainc.
        a = torch.tensor([1e38, 1e17, 2e13], dtype=torch.float64)
        found = torch.compile(torch.special.gammainc, backend="remat")(a, a + torch.tensor([0, 3e8, 2e6]).double())
        expected = torch.tensor([0.5, 0.8286091444528579, 0.6726395985152747], dtype=torch.float64)
        torch.testing.assert_close(found, expected, rtol=1e-12, atol=0)
        self.check(torch.special.zeta, torch.tensor([inf] * 3), torch.tensor([1.0, 0.5, -0.5]))

    def test_polynomials(self):
        x = torch.linspace(-1.5, 1.5, 7, dtype=torch.float64)
        for name in ("chebyshev_polynomial_t", "chebyshev_polynomial_u", "chebyshev_polynomial_v",
                     "chebyshev_polynomial_w", "shifted_chebyshev_polynomial_t", "shifted_chebyshev_polynomial_w",
                     "hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p"):
            for order in (-1, 0, 1, 4, 9):
                with self.subTest(name, order=order):
                    self.check(lambda x: getattr(torch.special, name)(x, order), x, tolerance=1e-10)

    def test_places_of_the_normal_distribution(self):
        p = torch.tensor([0.0, 1e-300, 1e-20, 1e-3, 0.3, 0.5, 0.7, 0.999, 1 - 1e-12, 1.0, -0.1, 1.1, nan],
                         dtype=torch.float64)
        self.check(torch.special.ndtri, p, tolerance=1e-12)
        self.check(torch.special.ndtri, p.float())
        run = lambda p: torch.special.ndtri(p).sum()
        p = p[1:9].requires_grad_()
        expected, found = (torch.autograd.grad(f(p), p)[0] for f in (run, torch.compile(run, backend="remat")))
        torch.testing.assert_close(found, expected, rtol=1e-11, atol=0)

    def test_zeta_of_a_number(self):
        self.check(lambda x: torch.special.zeta(2.5, x), torch.tensor([0.3, 1.0, 7.5]))
        self.check(lambda x: torch.special.zeta(x, 1), torch.tensor([1.5, 2.0, 7.5]))

    def test_gradient_of_a_loss_that_is_no_number(self):
        target = torch.tensor([0.0, 0.0, 0.25, nan, -1.0, 2.0])
        for reduction in ("none", "mean", "sum"):
            for beta in (0.5, 1.0):
                run = lambda x: torch.nn.functional.smooth_l1_loss(x, target, reduction=reduction, beta=beta).sum()
                x = torch.tensor([nan, 1.0, 0.5, 0.0, -inf, 1.0], requires_grad=True)
                torch._dynamo.reset()
                expected, found = (torch.autograd.grad(f(x), x)[0] for f in (run, torch.compile(run, backend="remat")))
                torch.testing.assert_close(found, expected, equal_nan=True)

    def test_numbers_that_a_type_does_not_have_in_tensors_without_elements(self):
        self.check(lambda x: torch.softmax(x, 0), torch.zeros(0, 3, dtype=torch.uint8))

    def test_constants_that_are_no_numbers(self):
        """They are known when code is made, and nothing may be left out for it."""
        x = torch.arange(5.0)
        for function in (torch.exp, torch.sigmoid, torch.expm1, torch.tanh, torch.nn.functional.silu,
                         torch.nn.functional.softplus, torch.sin):
            self.check(lambda x: function(x * nan), x)
        self.check(lambda x: x + torch.atan2(torch.zeros(5), torch.zeros(5)), x)
        self.check(lambda x: x + torch.atan2(torch.zeros(5), torch.full((5,), -0.0)), x)

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
        z = torch.tensor([-1, -1 + 1e-10j, -1.001 + 1e-5j, -0.6 - 0.3j, -1 + 2j, 1e-6 + 1e-7j, 0], dtype=torch.complex64)
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

    def test_constants_that_are_no_numbers(self):
        """They are known when code is made, and nothing may be left out for it."""
        x = torch.arange(5.0)
        for function in (torch.exp, torch.sigmoid, torch.expm1, torch.tanh, torch.nn.functional.silu,
                         torch.nn.functional.softplus, torch.sin):
            self.check(lambda x: function(x * nan), x)
        self.check(lambda x: x + torch.atan2(torch.zeros(5), torch.zeros(5)), x)
        self.check(lambda x: x + torch.atan2(torch.zeros(5), torch.full((5,), -0.0)), x)

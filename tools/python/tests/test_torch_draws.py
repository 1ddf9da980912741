"""Draws of PyTorch that need rejection, compared by their moments and cumulative probabilities, and their gradients
with PyTorch's for the same draws; reductions of segments.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import unittest

from common import needs_torch, rt, torch


def compiled(function):
    torch._dynamo.reset()
    return torch.compile(function, backend=rt.backend, options={"threads": 1})


@needs_torch
class DrawsTest(unittest.TestCase):
    COUNT = 4000

    def setUp(self):
        torch.manual_seed(0)

    def check_distribution(self, draws, cumulative):
        """Kolmogorov's distance, which is larger for one of 3e6 samples of the distribution."""
        place = cumulative(draws.detach().double().sort(0).values)
        steps = torch.arange(self.COUNT, dtype=torch.float64).unsqueeze(1) / self.COUNT
        self.assertLess(float(torch.maximum(place - steps, steps + 1 / self.COUNT - place).max()),
                        2.75 / self.COUNT ** 0.5)

    def check_counts(self, draws, probabilities):
        """The relative frequencies of 0, 1, and so on: within six standard deviations."""
        for column, expected in zip(draws.unbind(1), probabilities):
            found = torch.bincount(column.long(), minlength=len(expected)).double() / self.COUNT
            self.assertEqual(found[len(expected):].sum(), 0)
            allowed = 6 * (expected * (1 - expected) / self.COUNT).sqrt() + 2 / self.COUNT
            self.assertTrue(bool(((found[:len(expected)] - expected).abs() <= allowed).all()))

    def test_gamma(self):
        shape = torch.tensor([0.05, 0.5, 1.0, 2.5, 30.0, 1000.0], dtype=torch.float64, requires_grad=True)
        draws = compiled(lambda a: torch._standard_gamma(a.expand(self.COUNT, 6)))(shape)
        self.check_distribution(draws, lambda x: torch.special.gammainc(shape.detach().expand(x.shape), x))
        draws.sum().backward()
        # PyTorch's own is an approximation.
        expected = torch._standard_gamma_grad(shape.detach().expand(draws.shape), draws.detach()).sum(0)
        torch.testing.assert_close(shape.grad, expected, rtol=2e-4, atol=0)

    def test_dirichlet(self):
        shape = torch.tensor([0.3, 1.0, 1.7], dtype=torch.float64, requires_grad=True)
        draws = compiled(lambda a: torch.distributions.Dirichlet(a, validate_args=False).rsample((self.COUNT,)))(shape)
        torch.testing.assert_close(draws.sum(-1), torch.ones(self.COUNT, dtype=torch.float64))
        # The number whose shape is 1 has the cumulative probability 1 - (1 - x)^2.
        self.check_distribution(draws[:, 1:2], lambda x: 1 - (1 - x) ** 2)
        weight = torch.tensor([1.0, -2.0, 3.0], dtype=torch.float64)
        (draws * weight).pow(2).sum().backward()
        x, a = draws.detach(), shape.detach()
        gradient = 2 * x * weight * weight
        slope = torch._dirichlet_grad(x, a.expand(x.shape).contiguous(), a.sum().expand(x.shape).contiguous())
        expected = (slope * (gradient - (x * gradient).sum(-1, keepdim=True))).sum(0)
        torch.testing.assert_close(shape.grad, expected, rtol=1e-3, atol=0)

    def test_poisson(self):
        rate = torch.tensor([0.0, 0.3, 9.9, 10.0, 60.0], requires_grad=True)
        draws = compiled(lambda a: torch.poisson(a.expand(self.COUNT, 5)) + 0 * a)(rate)
        number = torch.arange(200.0, dtype=torch.float64)
        wide = rate.detach().double()
        self.check_counts(draws.detach(), [(torch.xlogy(number, r) - r - torch.lgamma(number + 1)).exp() for r in wide])
        draws.sum().backward()
        torch.testing.assert_close(rate.grad, torch.zeros(5))

    def test_binomial(self):
        count = torch.tensor([0.0, 3.0, 20.0, 100.0, 100.0, 40.0])
        chance = torch.tensor([0.5, 0.3, 0.9, 0.03, 0.4, 1.0])
        draws = compiled(lambda n, p: torch.binomial(n.expand(self.COUNT, 6), p))(count, chance)
        number = torch.arange(101.0, dtype=torch.float64)
        expected = []
        for n, p in zip(count.double(), chance.double()):
            rest = (n - number).clamp(min=0)
            choose = torch.lgamma(n + 1) - torch.lgamma(number + 1) - torch.lgamma(rest + 1)
            chances = (choose + torch.xlogy(number, p) + torch.xlogy(rest, 1 - p)).exp()
            expected.append(torch.where(number <= n, chances, 0))
        self.check_counts(draws, expected)

    def test_complex_numbers(self):
        """Both parts of numbers in [0, 1) are such. Of normal ones, each has half of the variance, and the mean."""
        one = torch.ones(self.COUNT, 2)
        normal = lambda x: torch.special.ndtr(x * 2 ** 0.5)
        filled = lambda x: torch.empty(x.shape, dtype=torch.complex64).normal_(2.0, 3.0) * x
        for run, cumulative in ((lambda x: x * torch.rand(x.shape, dtype=torch.complex64), lambda x: x),
                                (lambda x: x * torch.randn(x.shape, dtype=torch.complex128), normal),
                                (lambda x: torch.randn_like(torch.complex(x, x)), normal),
                                (lambda x: (filled(x) - 2 - 2j) / 3, normal)):
            draws = torch.view_as_real(compiled(run)(one))
            self.check_distribution(draws.flatten(1), cumulative)
            self.assertLess(float(torch.corrcoef(draws.flatten(0, 1).T)[0, 1].abs()), 0.05)

    def test_a_seed_repeats_them(self):
        function = compiled(lambda a: (torch._standard_gamma(a), torch.poisson(a)))
        shape = torch.rand(20) * 20
        found = []
        for _ in range(2):
            torch.manual_seed(3)
            found.append(function(shape))
        torch.testing.assert_close(found[0], found[1], rtol=0, atol=0)
        self.assertFalse(torch.equal(function(shape)[0], found[0][0]))


@needs_torch
class SegmentsTest(unittest.TestCase):
    def test_reductions(self):
        """Empty segments, equal elements, zeros, elements in no segment, and segments along a later axis."""
        values = torch.tensor([1.0, 3, 2, 2, 0.5, 0, 0, 5, 7, -1, 0], dtype=torch.float64)
        lengths, offsets = torch.tensor([2, 0, 2, 1, 2, 1, 3]), torch.tensor([0, 2, 2, 4, 9])
        for reduce in ("sum", "mean", "max", "min", "prod"):
            for segments, initial in (({"lengths": lengths}, None), ({"offsets": offsets}, 0.75)):
                with self.subTest(reduce, **segments):
                    self.check(values, reduce=reduce, unsafe=True, initial=initial, **segments)
        self.check(values[:8].view(2, 2, 2), reduce="mean", axis=1, unsafe=True, lengths=torch.tensor([[1, 1], [2, 0]]))

    def check(self, values, **options):
        def function(x):
            return torch.segment_reduce(x, **options)

        found = []
        for run in (compiled(function), function):
            x = values.clone().requires_grad_()
            result = run(x)
            weight = torch.arange(1.0, result.numel() + 1).view(result.shape)
            torch.where(result.isfinite(), result * weight, 0).sum().backward()
            found.append((result.detach(), x.grad))
        torch.testing.assert_close(found[0], found[1], equal_nan=True)

    def test_wrong_lengths(self):
        function = compiled(lambda x, lengths: torch.segment_reduce(x, "sum", lengths=lengths))
        function(torch.randn(5), torch.tensor([2, 3]))
        with self.assertRaisesRegex(Exception, "add up to another number than the extent of the data, 5"):
            function(torch.randn(5), torch.tensor([2, 2]))


if __name__ == "__main__":
    unittest.main()

"""What a step cannot have is left to PyTorch, and what is around it is compiled.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import unittest
import warnings

from common import needs_torch, rt, torch

if torch is not None:
    from torch.utils.checkpoint import checkpoint

    def odd(x):
        """An operation without a rule, of which PyTorch has no derivative."""
        return torch.special.chebyshev_polynomial_t(x.detach(), torch.tensor(3))

    def spectrum(x):
        """One that is refused while its derivative is traced."""
        return torch.linalg.eigvals(x[:4, :4]).abs().sum()

    class OddDerivative(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * odd(ctx.saved_tensors[0])

    @torch.library.custom_op("remat_fallback_test::twice_", mutates_args={"x"})
    def twice_(x: torch.Tensor) -> None:
        x.mul_(2)


@needs_torch
class FallbackTest(unittest.TestCase):
    def check(self, function, count=1, rtol=1e-5, dynamic=None):
        """Loss, gradient of the weights, and what becomes of the input, twice; and how many operations were left."""
        torch.manual_seed(0)
        x, w = torch.randn(8, 8), torch.randn(8, 8, requires_grad=True)

        def run(function):
            own, w.grad = x.clone(), None
            loss = function(own, w)
            loss.backward()
            return loss.detach(), w.grad, own

        expected = run(function)
        torch._dynamo.reset()
        rt.compiled_steps.clear()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            compiled = torch.compile(function, backend=rt.backend, dynamic=dynamic)
            for _ in range(2):
                for found, value in zip(run(compiled), expected):
                    torch.testing.assert_close(found, value, rtol=rtol, atol=rtol * float(value.abs().max()))
        left = [str(w.message) for w in caught if "left to PyTorch" in str(w.message)]
        self.assertEqual(len(left), count, left)
        self.assertTrue(rt.compiled_steps)
        return left

    def test_first_between_and_last(self):
        self.check(lambda x, w: (odd(x) @ w).sum())
        self.check(lambda x, w: ((x @ w).sin() * odd(x @ w.detach())).sum())
        self.check(lambda x, w: spectrum(x @ w))

        def many(x, w):
            for _ in range(3):
                x = torch.relu(x @ w) + odd(x) * 1e-3
            return x.sum()
        self.check(many, 3)

    def test_message(self):
        message, = self.check(lambda x, w: (x @ w).sum() + spectrum(x @ w))
        self.assertRegex(message, r"test_torch_fallback.py:\d+: aten.linalg_eig.default: eigenvalues of .* are\. It is "
                                  r"left to PyTorch, .*; with the option 'fallback': False it is an error$")

    def test_several_results(self):
        def function(x, w):
            counts, edges = torch.histogram((x @ w).detach(), 5)
            return (x @ w).sum() * counts.sum() + edges.sum()
        self.check(function)

    def test_in_place(self):
        def views(x, w):
            y = x @ w
            z = y.view(-1)
            y.mul_(2)
            e = spectrum(y)
            return (z * y.view(-1)).sum() * e
        self.check(views)

        def arguments(x, w):
            x.add_(odd(x))
            return (x @ w).sum()
        self.check(arguments)

        def custom(x, w):
            y = (x @ w).detach().clone()
            twice_(y)
            return (y * (x @ w)).sum()
        self.check(custom)

    def test_regions(self):
        def autocast(x, w):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                y = x @ w
                e = odd(y.float())
                z = y @ w.T
            return z.float().sum() + e.sum()
        self.check(autocast, rtol=2e-2)

        def no_grad(x, w):
            with torch.no_grad():
                e = odd(x @ w)
            return ((x @ w) * e).sum()
        self.check(no_grad)

        def vmap(x, w):
            return ((x @ w) * torch.vmap(lambda row: odd(row.sin()).cos())(x)).sum()
        self.check(vmap)

        def grad(x, w):
            of_loss = torch.func.grad(lambda w: (odd(x @ w) * (x @ w)).sum())
            return of_loss(w.detach()).sum() + (x @ w).sum()
        self.check(grad)

    def test_checkpoints(self):
        def with_odd(x, w):
            return (x @ w).sin() * odd(x)

        def without(x, w):
            return (x @ w).cos()

        def function(x, w):
            for region in (with_odd, without, with_odd):
                x = checkpoint(region, x, w, use_reentrant=False)
            return x.sum()
        self.check(function, 2)
        self.check(function, 2, dynamic=True)

    def test_backward(self):
        self.check(lambda x, w: (OddDerivative.apply(x @ w) * x).sum())

    def test_shapes_come_again(self):
        def function(x, w):
            return (odd(x).tanh() @ w).sum()
        torch._dynamo.reset()
        compiled = torch.compile(function, backend=rt.backend, dynamic=True)
        w = torch.randn(8, 8, requires_grad=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for rows in (3, 5, 3):
                x = torch.randn(rows, 8)
                torch.testing.assert_close(compiled(x, w), function(x, w))

    def test_without(self):
        torch._dynamo.reset()
        with self.assertRaisesRegex(Exception, "ExportError: .*aten.special_chebyshev.*: there is no rule for it"):
            torch.compile(odd, backend=rt.backend, options={"fallback": False})(torch.randn(3))


if __name__ == "__main__":
    unittest.main()

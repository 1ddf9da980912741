"""What a step cannot have is left to PyTorch, and what is around it is compiled.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import copy
import unittest
import warnings
from concurrent.futures import ThreadPoolExecutor

from common import needs_torch, rt, torch

if torch is not None:
    from torch.nn.functional import dropout
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
        self.check(many)

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
        self.check(function)
        self.check(function, dynamic=True)

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

    def test_random_numbers_of_checkpoints(self):
        """What runs again draws the same numbers: a loss that is linear in the weights is their product with its
        gradient."""
        def block(x, w):
            return dropout(x @ w, 0.5) * odd(x).sum()

        def nested(x, w):
            return checkpoint(block, dropout(x, 0.5), w, use_reentrant=False)

        for region in (block, nested):
            torch._dynamo.reset()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                compiled = torch.compile(lambda x, w: checkpoint(region, x, w, use_reentrant=False).sum(),
                                         backend=rt.backend)
                x, w = torch.rand(8, 8) + 1, torch.ones(8, 8, requires_grad=True)
                loss = compiled(x, w)
                loss.backward()
            torch.testing.assert_close((w * w.grad).sum(), loss)

    def test_state_of_checkpoints(self):
        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.linear, self.norm = torch.nn.Linear(8, 8), torch.nn.BatchNorm1d(8)

            def block(self, x):
                y = self.norm(self.linear(x))
                return y * odd(y)

            def forward(self, x):
                return self.block(x) if self.is_plain else checkpoint(self.block, x, use_reentrant=False)

        torch._dynamo.reset()
        model, found = Model(), []
        state, x = copy.deepcopy(model.state_dict()), torch.randn(4, 8)
        for model.is_plain in (True, False):
            model.load_state_dict(state)
            model.zero_grad()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                run = model if model.is_plain else torch.compile(model, backend=rt.backend)
                for _ in range(2):
                    run(x).pow(2).sum().backward()
            found.append([p.grad for p in model.parameters()] + [b.clone() for b in model.buffers()])
        torch.testing.assert_close(*found, rtol=1e-4, atol=1e-3)

    def test_numbers_that_change(self):
        def function(x, scale):
            y = (x * scale).sin()
            return (y * odd(y)).cos() * scale, 1 / (y.abs().sum() * scale)
        torch._dynamo.reset()
        compiled, x = torch.compile(function, backend=rt.backend), torch.randn(8, 8)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for scale in (2.5, 3.25, 0.0, -0.0):
                torch.testing.assert_close(compiled(x, scale), function(x, scale))

    def test_threads(self):
        def function(x, w):
            for _ in range(3):
                x = (x @ w).sin() * odd(x.tanh())
            return x
        torch._dynamo.reset()
        compiled = torch.compile(function, backend=rt.backend)
        x, w = torch.randn(8, 8), torch.randn(8, 8)
        with warnings.catch_warnings(), ThreadPoolExecutor(4) as pool:
            warnings.simplefilter("ignore")
            for result in pool.map(lambda _: compiled(x, w), range(4)):
                torch.testing.assert_close(result, function(x, w))

    def test_views_across_a_cut(self):
        def function(x, w):
            y = x @ w
            view = y[1:3]
            e = odd(y)
            view.mul_(e[1:3])
            y.add_(1)
            return (y * w).sum() + view.sum()
        self.check(function)

        def detached(x, w):
            y = x @ w
            view = y.detach()
            view.add_(odd(y))
            return (y * w).sum()
        self.check(detached)

        def rows(x, w):
            jacobian = torch.func.jacrev(lambda w: ((x @ w).sin() * odd(x @ w)).sum(1))(w.detach())
            return jacobian.sum() + (x @ w).sum()
        self.check(rows)

    def test_shapes_that_depend_on_data(self):
        def function(x, w):
            picked = torch.masked_select(x @ w, x > 0)
            return (picked.sin() * w.sum()).sum()
        with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
            self.check(function)
            self.check(lambda x, w: function(x, w) * x[0, 0].detach().item())
        with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True, recompile_limit=2), \
                warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            torch._dynamo.reset()
            compiled, w = torch.compile(function, backend=rt.backend), torch.randn(8, 8, requires_grad=True)
            for count in (3, 5, 7, 3, 9):
                x, w.grad = torch.where(torch.arange(64) < count, 1.0, -1.0).reshape(8, 8), None
                compiled(x, w).backward()
                torch.testing.assert_close(w.grad, torch.autograd.grad(function(x, w), w)[0])
        self.assertEqual(sum("was compiled for 2 shapes" in str(w.message) for w in caught), 2)

    def test_like_ones_are_left_at_once(self):
        def function(x, w):
            x = x.tanh()
            for _ in range(6):
                x = (x @ w / 8).tanh() * odd(x)
            return x.sum()
        self.check(function)

    def test_without(self):
        torch._dynamo.reset()
        with self.assertRaisesRegex(Exception, "ExportError: .*aten.special_chebyshev.*: there is no rule for it"):
            torch.compile(odd, backend=rt.backend, options={"fallback": False})(torch.randn(3))


if __name__ == "__main__":
    unittest.main()

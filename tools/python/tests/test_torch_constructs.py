"""What a PyTorch model says about derivatives, memory and random numbers is what remat computes: for each construct,
the gradients are PyTorch's.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import copy
import unittest

import remat
from common import compare, needs_torch, rt, torch

if torch is not None:
    import torch.nn as nn
    import torch.nn.functional as F

    class Net(nn.Module):
        """Two layers and what a test does with them."""

        def __init__(self, run, **layers):
            super().__init__()
            self.a, self.b = nn.Linear(6, 8), nn.Linear(8, 6)
            for name, layer in layers.items():
                setattr(self, name, layer)
            self.run = run

        def forward(self, *args):
            return self.run(self, *args)

    class Cube(torch.autograd.Function):
        """Its derivative is deliberately another one than that of what it computes."""

        @staticmethod
        def forward(ctx, x, factor):
            ctx.save_for_backward(x)
            ctx.factor = factor
            return x.pow(3) * factor

        @staticmethod
        def backward(ctx, g):
            x, = ctx.saved_tensors
            return g * (x.cos() + ctx.factor), None

    class SetUp(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x.round(), x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(inputs[0], output[1])
            ctx.set_materialize_grads(True)

        @staticmethod
        def backward(ctx, g, h):
            x, twice = ctx.saved_tensors
            return g * x + h * twice


@needs_torch
class ConstructTest(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        self.x = torch.randn(5, 6)

    def check(self, run, *args, **layers):
        return compare(self, Net(run, **layers), args or (self.x,))

    def test_detach(self):
        self.check(lambda m, x: m.b(m.a(x).tanh()) * m.b(m.a(x)).detach())

    def test_no_grad(self):
        def run(m, x):
            with torch.no_grad():
                scale = m.a(x).norm()
            return m.b(m.a(x)) * scale

        self.check(run)

    def test_enable_grad_inside(self):
        def run(m, x):
            with torch.no_grad():
                frozen = m.a(x)
                with torch.enable_grad():
                    live = m.b(m.a(x) * 2)
            return live + m.b(frozen)

        self.check(run)

    def test_inference_of_frozen_parameters(self):
        model = Net(lambda m, x: m.b(m.a(x).relu()))
        model.a.weight.requires_grad_(False)
        compare(self, model, (self.x,))

    def test_straight_through(self):
        def run(m, x):
            h = m.a(x)
            return m.b(h + (h.round() - h).detach())

        self.check(run)

    def test_autograd_function(self):
        self.check(lambda m, x: m.b(Cube.apply(m.a(x), 0.5)))

    def test_autograd_function_with_setup_context(self):
        def run(m, x):
            rounded, twice = SetUp.apply(m.a(x))
            return m.b(rounded) + m.b(twice)

        self.check(run)

    def test_tensor_hook(self):
        def run(m, x):
            h = m.a(x)
            h.register_hook(lambda g: g * 3)
            return m.b(h)

        self.check(run)

    def test_padding_idx(self):
        ids = torch.tensor([[0, 3, 2], [3, 3, 1]])
        model = Net(lambda m, i: m.b(m.a(m.e(i))), e=nn.Embedding(5, 6, padding_idx=3))
        compare(self, model, (ids,))
        self.assertEqual(model.e.weight.grad[3].abs().sum(), 0)
        self.assertGreater(model.e.weight.grad[0].abs().sum(), 0)
        compare(self, Net(lambda m, i: m.b(m.a(m.e(i))), e=nn.Embedding(5, 6, padding_idx=2, scale_grad_by_freq=True)),
                (ids,))

    def test_sparse_gradients(self):
        """Indices and values are results of the step, and an optimizer for them takes what comes of it. The gradient of
        an embedding that is used several times is a sum."""
        model = Net(lambda m, i, j: m.b(m.a(m.e(i) * m.f(j) + m.e(j).sin() * m.e(i + 1))),
                    e=nn.Embedding(9, 6, sparse=True), f=nn.Embedding(7, 6, sparse=True))
        inputs = torch.randint(0, 8, (4, 5)), torch.randint(0, 7, (4, 5))
        optimizer = torch.optim.SparseAdam([model.e.weight, model.f.weight])
        torch._dynamo.reset()
        for run in (torch.compile(model, backend=rt.backend),
                    torch.compile(model, backend=rt.backend, options={"budget": "min"})):
            model.zero_grad()
            model(*inputs).square().sum().backward()
            expected = {name: p.grad for name, p in model.named_parameters()}
            model.zero_grad()
            run(*inputs).square().sum().backward()
            for name, p in model.named_parameters():
                self.assertEqual(p.grad.is_sparse, expected[name].is_sparse)
                torch.testing.assert_close(p.grad.to_dense(), expected[name].to_dense())
            optimizer.step()

    def test_rows_that_are_shortened(self):
        """Those that a call names, in place."""
        indices = torch.tensor([[1, 2], [4, 1]])
        model = Net(lambda m, i: m.b(m.a(m.e(i))), e=nn.Embedding(5, 6, max_norm=1.0))
        own = copy.deepcopy(model)
        compare(self, model, (indices,))
        own(indices)
        torch.testing.assert_close(model.e.weight, own.e.weight)
        self.assertTrue((own.e.weight[[1, 2, 4]].norm(dim=1) < 1 + 1e-6).all())

    def test_tied_weights(self):
        model = Net(lambda m, i: m.e(i) @ m.e.weight.t(), e=nn.Embedding(9, 6))
        steps = compare(self, model, (torch.tensor([1, 2, 1]),))
        # One argument, not two.
        self.assertEqual([info.shape for info in steps[0].arguments].count((9, 6)), 1)

    def test_in_place_write_of_a_detached_value(self):
        def run(m, x):
            cache = x.new_zeros(10, 8)
            h = m.a(x)
            cache[2:7] = h.detach()
            cache[0] = h[0]
            return m.b(cache)

        self.check(run)

    def test_what_an_input_was_before_it_was_changed(self):
        class Scaled(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(6, 6)
                self.register_buffer("scale", torch.rand(6) + 1)

            def forward(self, x):
                h = self.layer(x)
                old = self.scale.clone()
                with torch.no_grad():
                    self.scale.mul_(0.5).add_(h.detach().mean(0))
                return (h * old).sin() * self.scale

        steps = compare(self, Scaled(), (self.x,))
        self.assertEqual(len(steps), 1)
        for norm in (nn.utils.spectral_norm, nn.utils.parametrizations.spectral_norm):
            torch.manual_seed(0)
            compare(self, norm(nn.Linear(6, 6)), (self.x,))

    def test_other_shapes(self):
        def run(m, x, scale, count):
            h = m.a(x) * scale
            torch._dynamo.graph_break()
            y = h.view(x.shape[0] * 2, 4)[:count]
            return m.b(y.reshape(-1, 8)), x.shape[0]

        model = Net(run)
        torch._dynamo.reset()
        rt.compiled_steps.clear()
        # Dynamo leaves the extents and numbers open that have changed; steps are made for each.
        compiled = torch.compile(model, backend="remat")
        for size, scale, count in ((4, 1.5, 2), (6, 2.5, 4), (8, 0.5, 4), (1, 0.5, 2), (6, 2.5, 4)):
            x = torch.randn(size, 6)
            found, expected = compiled(x, scale, count), model(x, scale, count)
            self.assertEqual(found[1], size)
            torch.testing.assert_close(found[0], expected[0])
            gradients = [torch.autograd.grad(y.sum(), list(model.parameters())) for y, _ in (found, expected)]
            torch.testing.assert_close(*gradients)
            with torch.no_grad():
                torch.testing.assert_close(compiled(x, scale, count)[0], expected[0])
        self.assertGreater(len(rt.compiled_steps), 4)

    def test_shapes_that_are_marked(self):
        """As dynamic: a step is compiled for each all the same. What is marked as unbacked has no step."""
        model = Net(lambda m, x: m.b(m.a(x).tanh()) * x.shape[0])
        for mark in (torch._dynamo.mark_dynamic, torch._dynamo.maybe_mark_dynamic):
            torch._dynamo.reset()
            rt.compiled_steps.clear()
            compiled = torch.compile(model, backend=rt.backend)
            for size in (4, 7, 4):
                x = torch.randn(size, 6)
                mark(x, 0)
                gradients = [torch.autograd.grad(run(x).pow(2).sum(), list(model.parameters()))
                             for run in (compiled, model)]
                torch.testing.assert_close(*gradients, rtol=1e-5, atol=1e-4)
            self.assertEqual(len(rt.compiled_steps), 2)
        torch._dynamo.reset()
        x = torch.randn(4, 6)
        torch._dynamo.decorators.mark_unbacked(x, 0)
        with self.assertRaisesRegex(Exception, "an extent of an argument is marked as unbacked .*; without "):
            torch.compile(model, backend=rt.backend)(x)

    def test_results_that_are_views_of_what_was_changed_in_place(self):
        def run(m, x):
            h = m.a(x)
            h.diagonal().mul_(3.0)
            # PyTorch traces the view behind the backward computation.
            return h[:3].exp(), h.as_strided((2, 3), (8, 2), 1)

        self.check(run)

    def test_batch_norm_updates_its_statistics(self):
        model = Net(lambda m, x: m.b(m.n(m.a(x))), n=nn.BatchNorm1d(8))
        reference = nn.BatchNorm1d(8)
        reference(model.a(self.x))
        compare(self, model, (self.x,))
        torch.testing.assert_close(model.n.running_mean, reference.running_mean)
        torch.testing.assert_close(model.n.running_var, reference.running_var)
        self.assertEqual(model.n.num_batches_tracked, 1)

    def test_gradient_of_a_gradient_inside(self):
        def run(m, x):
            return m.b(torch.func.grad(lambda y: m.a(y).tanh().sum())(x) @ x.new_ones(6, 8))

        self.check(run)

    def test_derivatives_of_second_order_inside(self):
        self.check(lambda m, x: torch.func.hessian(lambda y: m.a(y).sin().sum())(x[0]))
        self.check(lambda m, x: torch.func.hessian(lambda y: (m.a.weight @ y).sin().sum())(x[0]))
        self.check(lambda m, x: torch.func.jacfwd(lambda y: m.a(y).sin())(x[0]) * m.b.weight.t())
        self.check(lambda m, x: torch.func.vmap(torch.func.grad(lambda y: m.a(y).tanh().sum()))(x))
        with torch._dynamo.config.patch(trace_autograd_ops=True):
            def run(m, x):
                y = m.b(m.a(x).tanh()).pow(2).mean()
                gradients = torch.autograd.grad(y, [m.a.weight, m.b.weight], create_graph=True)
                return y + sum(g.pow(2).sum() for g in gradients)

            self.assertEqual(len(self.check(run)), 1)

    def test_saved_tensor_hooks(self):
        def run(m, x):
            with torch.autograd.graph.saved_tensors_hooks(lambda t: t * 1, lambda t: t):
                h = m.a(x).tanh()
            return m.b(h)

        self.check(run)

    def test_hooks_that_convert_what_is_saved(self):
        """What a step keeps is bytes, which a conversion would destroy."""
        model = nn.Linear(4, 4)
        compiled = torch.compile(nn.Sequential(model, nn.Tanh(), nn.Linear(4, 2)), backend=rt.backend, dynamic=False)
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t.half(), lambda t: t.float()):
            loss = compiled(torch.randn(3, 4)).sum()
        with self.assertRaisesRegex(remat.Error, "a hook of saved tensors gave torch.float32 of .* not convert it"):
            loss.backward()

    def test_graph_breaks(self):
        def run(m, x):
            h = m.a(x).tanh()
            torch._dynamo.graph_break()
            return m.b(h)

        self.assertEqual(len(self.check(run)), 2)

    def test_gradients_that_need_no_backward_computation(self):
        class Cut(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def backward(ctx, gradient):
                return torch.zeros_like(gradient)

        def check(function, *inputs):
            torch._dynamo.reset()
            compiled = torch.compile(function, backend="remat", dynamic=False)
            copies = [x.detach().clone().requires_grad_() for x in inputs]
            for run, given in ((function, inputs), (compiled, copies)):
                sum(y.square().sum() for y in run(*given)).backward()
            for x, copy in zip(inputs, copies):
                self.assertTrue(torch.equal(x.grad, copy.grad))

        x, y = (torch.arange(4.0).requires_grad_() for _ in range(2))
        check(lambda x: (x + 1,), x)  # The tangent as it is.
        check(lambda x: (Cut.apply(x),), torch.ones(4).requires_grad_())
        check(lambda x, y: (x + y, Cut.apply(x).exp()), x.detach().requires_grad_(), y)

    def test_outputs_that_are_not_computed(self):
        def run(m, x):  # The forward call gives them, also where the backward call begins with them.
            h = m.a(x).tanh()
            return m.b(h), torch.ones(2, 16), torch.arange(5), h, h

        torch._dynamo.reset()
        model = Net(run)
        for found, expected in zip(torch.compile(model, backend="remat", dynamic=False)(self.x), model(self.x)):
            torch.testing.assert_close(found, expected)

    def test_assertions(self):
        def checked(x):
            torch._assert_async((x > 0).all(), "not positive")
            return x.log().sum()

        compiled = torch.compile(checked, backend="remat", dynamic=False)
        x = torch.tensor([1.0, 4.0], requires_grad=True)
        compiled(x).backward()
        self.assertEqual(x.grad.tolist(), [1.0, 0.25])
        with self.assertRaisesRegex(remat.RunError, "not positive"):
            compiled(torch.tensor([1.0, -4.0], requires_grad=True))

    def test_gradient_of_an_input(self):
        model = Net(lambda m, x: m.b(m.a(x).tanh()))
        x = self.x.clone().requires_grad_()
        y = self.x.clone().requires_grad_()
        torch._dynamo.reset()
        torch.compile(model, backend=rt.backend)(x).sum().backward()
        model(y).sum().backward()
        torch.testing.assert_close(x.grad, y.grad)

    def test_inference(self):
        model = Net(lambda m, x: (m.b(m.a(x).tanh()), x.argmax(1), x > 0, x.to(torch.uint8))).eval()
        torch._dynamo.reset()
        with torch.no_grad():
            for a, b in zip(torch.compile(model, backend=rt.backend)(self.x), model(self.x)):
                torch.testing.assert_close(a, b)
                self.assertEqual(a.dtype, b.dtype)

    def test_inputs_that_are_not_dense(self):
        model = Net(lambda m, x: m.b(m.a(x)))
        compare(self, model, (torch.randn(6, 5).t(),))

    def test_several_forwards_before_their_backwards(self):
        model = Net(lambda m, x: m.b(m.a(x).tanh()))
        torch._dynamo.reset()
        compiled = torch.compile(model, backend=rt.backend)
        inputs = [torch.randn(5, 6) for _ in range(3)]
        losses = [compiled(x).pow(2).sum() for x in inputs]
        for loss in reversed(losses):
            loss.backward()
        found = model.a.weight.grad.clone()
        model.zero_grad()
        sum(model(x).pow(2).sum() for x in inputs).backward()
        torch.testing.assert_close(found, model.a.weight.grad)


@needs_torch
class DropoutTest(unittest.TestCase):
    def run_once(self, compiled, model, x, seed):
        torch.manual_seed(seed)
        model.zero_grad()
        out = compiled(x)
        out.sum().backward()
        return out.detach().clone(), model.weight.grad.clone()

    def test_masks(self):
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = nn.Parameter(torch.ones(64, 64))

            def forward(self, x):
                return F.dropout(x * self.weight, 0.25) + F.dropout(x * self.weight, 0.25)

        model, x = Model(), torch.ones(64, 64)
        outs = {}
        for budget in (None, "min"):
            torch._dynamo.reset()
            compiled = torch.compile(model, backend=rt.backend, options={"budget": budget})
            out, gradient = self.run_once(compiled, model, x, 1)
            # The gradient has the masks of the result.
            torch.testing.assert_close(gradient, out)
            # Two draws differ, and keep three of four.
            values = {round(v * 0.75) for v in out.unique().tolist()}
            self.assertEqual(values, {0, 1, 2})
            self.assertAlmostEqual(out.mean().item(), 2.0, delta=0.1)
            again, _ = self.run_once(compiled, model, x, 1)
            other, _ = self.run_once(compiled, model, x, 2)
            torch.testing.assert_close(out, again)
            self.assertGreater((out != other).float().mean().item(), 0.2)
            outs[budget] = out
        torch.testing.assert_close(outs[None], outs["min"])

    def test_draws_of_other_kinds(self):
        x = torch.linspace(-1, 1, 1000).requires_grad_()
        draws = {"randperm": lambda x: (torch.randperm(x.shape[0]), x[torch.randperm(x.shape[0])]),
                 "normal": lambda x: (torch.normal(3.0, 0.5, x.shape) * x.detach().abs(), x),
                 "rrelu": lambda x: (x.detach(), F.rrelu(x, 0.25, 0.5, training=True))}
        for name, function in draws.items():
            with self.subTest(name=name):
                torch._dynamo.reset()
                torch.manual_seed(1)
                first, second = torch.compile(function, backend=rt.backend)(x)
                gradient, = torch.autograd.grad((second * second).sum() / 2, x)
                if name == "randperm":
                    self.assertEqual(sorted(first.tolist()), list(range(1000)))
                    self.assertNotEqual(first.tolist(), list(range(1000)))
                    self.assertEqual(sorted(second.tolist()), sorted(x.tolist()))
                    torch.testing.assert_close(gradient, x.detach())
                elif name == "normal":
                    numbers = first / x.detach().abs()
                    self.assertAlmostEqual(numbers.mean().item(), 3.0, delta=0.1)
                    self.assertAlmostEqual(numbers.std().item(), 0.5, delta=0.05)
                else:
                    slopes = second.detach() / x.detach()
                    self.assertTrue((slopes[500:] == 1).all())
                    self.assertAlmostEqual(slopes[:500].mean().item(), 0.375, delta=0.02)
                    self.assertTrue(((slopes[:500] > 0.2499) & (slopes[:500] < 0.5001)).all())
                    torch.testing.assert_close(gradient, second.detach() * slopes)

    def test_state_goes_on(self):
        model = nn.Dropout(0.5)
        torch._dynamo.reset()
        compiled = torch.compile(model, backend=rt.backend)
        x = torch.ones(100)
        self.assertFalse(torch.equal(compiled(x), compiled(x)))

    def test_other_generators_are_refused(self):
        generator = torch.Generator()
        torch._dynamo.reset()
        try:
            torch.compile(lambda x: x + torch.rand(3, generator=generator), backend=rt.backend)(torch.zeros(3))
        except Exception as error:
            self.assertIn("enerator", str(error))


@needs_torch
class RefusalTest(unittest.TestCase):
    def test_unknown_operations_have_their_line(self):
        message = r"constructs.py:\d+: aten.linalg_eig.default: eigenvalues of matrices that are not symmetric are not"
        with self.assertRaisesRegex(Exception, message):
            torch._dynamo.reset()
            torch.compile(lambda x: torch.linalg.eigvals(x).abs(), backend=rt.backend, options={"fallback": False})(
                torch.randn(4, 4))

    def test_infeasible_budgets(self):
        torch._dynamo.reset()
        with self.assertRaisesRegex(Exception, "smallest feasible budget found is"):
            torch.compile(Net(lambda m, x: m.b(m.a(x).tanh())), backend=rt.backend, options={"budget": 8})(
                torch.randn(5, 6))

    def test_compiled_autograd(self):
        def step(x):
            loss = model(x).sum()
            loss.backward()
            return loss

        model = nn.Linear(4, 4)
        torch._dynamo.reset()
        with torch._dynamo.config.patch(compiled_autograd=True), \
                self.assertRaisesRegex(Exception, "compiled autograd cannot take in a step; leave"):
            torch.compile(step, backend=rt.backend)(torch.randn(3, 4))

    def test_options_that_PyTorch_decides(self):
        for options in ({"wrt": [0]}, {"optimizer": "adamw:lr=1"}):
            torch._dynamo.reset()
            with self.assertRaisesRegex(Exception, "the option '%s' is not one of torch.compile" % list(options)[0]):
                torch.compile(nn.Linear(4, 4), backend=rt.backend, options=options)(torch.randn(3, 4))

    def test_collectives(self):
        torch._dynamo.reset()
        with torch.no_grad(), self.assertRaisesRegex(Exception, "collectives are not supported in a step; .* FSDP"):
            torch.compile(lambda x: torch.ops._c10d_functional.all_reduce(x.tanh(), "sum", "0"), backend=rt.backend,
                          options={"fallback": False})(torch.randn(5, 6))

    def test_percentages_of_small_graphs_say_what_to_do(self):
        def model(m, x):
            x = x.tanh()
            torch._dynamo.graph_break()
            return m.b(m.a(x).tanh())
        torch._dynamo.reset()
        message = (r"smallest feasible budget found is (.|\n)*\na budget of 60% is of what one graph takes without "
                   r"recomputation; .* a budget in bytes, such as '500MiB', or 'min' is one for all")
        with self.assertRaisesRegex(Exception, message):
            torch.compile(Net(model), backend=rt.backend, options={"budget": "60%"})(torch.randn(5, 6))
        for budget in ("1MiB", "min"):
            torch._dynamo.reset()
            torch.compile(Net(model), backend=rt.backend, options={"budget": budget})(torch.randn(5, 6))


if __name__ == "__main__":
    unittest.main()

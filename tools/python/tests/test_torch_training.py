"""What a training script does beside calling a model: optimizers that are compiled, evaluation, threads.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import copy
import math
import threading
import unittest

from common import needs_torch, rt, torch

if torch is not None:
    import torch.nn as nn


def compiled(model, **options):
    return torch.compile(model, backend=rt.backend, options=dict({"threads": 1}, **options))


@needs_torch
class TrainingTest(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        torch._dynamo.reset()
        rt.compiled_steps.clear()

    def check_updates(self, make_optimizer, steps=3):
        """The optimizer is compiled as well as the model. PyTorch then has powers of its decays in f32."""
        model = nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 2)).double()
        exact = copy.deepcopy(model)
        x = torch.randn(7, 6, dtype=torch.float64)
        for own, wrap in ((model, compiled), (exact, lambda f: f)):
            optimizer = make_optimizer(own.parameters())
            run, update = wrap(own), wrap(lambda optimizer=optimizer: optimizer.step())
            for _ in range(steps):
                optimizer.zero_grad()
                run(x).pow(2).mean().backward()
                update()
        for p, q in zip(model.parameters(), exact.parameters()):
            torch.testing.assert_close(p, q, rtol=1e-5, atol=1e-6)
        self.assertGreaterEqual(len(rt.compiled_steps), 2)

    def test_optimizers(self):
        for make in (lambda p: torch.optim.AdamW(p, lr=1e-2), lambda p: torch.optim.SGD(p, lr=1e-2, momentum=0.9),
                     lambda p: torch.optim.Adam(p, lr=1e-2, amsgrad=True, foreach=False),
                     lambda p: torch.optim.RMSprop(p, lr=1e-2, centered=True), lambda p: torch.optim.Adagrad(p),
                     lambda p: torch.optim.NAdam(p, lr=1e-2, foreach=True)):
            torch._dynamo.reset()
            rt.compiled_steps.clear()
            self.check_updates(make)

    def test_operations_on_lists(self):
        """They are what clips gradients and averages weights. Their results have the types, values and gradients of
        PyTorch's."""
        powers, factors = [2, 3.0], [0.5, 2]
        updates = (lambda a, b: torch.nn.utils.clip_grad_norm_(a, 0.1), lambda a, b: torch._foreach_lerp_(a, b, 0.1),
                   lambda a, b: torch._foreach_addcdiv_(a, b, b, factors), lambda a, b: torch._foreach_copy_(a, b),
                   lambda a, b: torch._foreach_zero_(b), lambda a, b: torch._foreach_maximum_(a, factors),
                   lambda a, b: torch._foreach_copy_(a, torch._foreach_addcmul(a, b, a, torch.tensor(factors))))
        functions = (lambda a, b: torch._foreach_norm(a, 1, dtype=torch.float64),
                     lambda a, b: torch._foreach_pow(a, powers), lambda a, b: torch._foreach_pow(2, a),
                     lambda a, b: torch._foreach_mul(a, b[0].sum()), lambda a, b: torch._foreach_sub(a, b, alpha=2))

        def in_place(update):
            def changed(a, b):
                for x in a:
                    x.grad = x.detach() * 2
                with torch.no_grad():
                    update(a, b)
                return [*a, *b, *(x.grad for x in a)]
            return changed

        def gradients(function):
            def found(a, b):
                results = function(a, b)
                return [*results, *torch.autograd.grad(sum(r.double().sum() for r in results), a, allow_unused=True)]
            return found

        cases = [(f, in_place) for f in updates] + [(f, gradients) for f in functions]
        for number, (function, wrap) in enumerate(cases):
            with self.subTest(number=number):
                torch._dynamo.reset()
                lists = [[torch.rand(3, 4, requires_grad=r), torch.rand(5, 2, requires_grad=r)] for r in (True, False)]
                of_each = lambda: [[x.detach().clone().requires_grad_(x.requires_grad) for x in xs] for xs in lists]
                expected = wrap(function)(*of_each())
                found = wrap(compiled(function))(*of_each())
                for one, other in zip(expected, found, strict=True):
                    torch.testing.assert_close(other, one)
        self.assertGreaterEqual(len(rt.compiled_steps), len(updates) + len(functions))

    def test_what_scales_a_loss(self):
        """It is what a GradScaler does, of which a program may compile parts."""
        def run(gradients, found_inf, inverse, scale, good_steps):
            torch._amp_foreach_non_finite_check_and_unscale_(gradients, found_inf, inverse)
            torch._amp_update_scale_(scale, good_steps, found_inf, 2.0, 0.5, 2)
            return [*gradients, found_inf, scale, good_steps]

        for element in (1.0, math.inf, math.nan):
            for scale, good_steps in ((4.0, 0), (4.0, 1), (3e38, 1)):
                arguments = lambda: (
                    [torch.tensor([0.7, element]), torch.tensor([3.0]).half()], torch.zeros(1), torch.tensor(0.3),
                    torch.tensor(scale), torch.tensor(good_steps, dtype=torch.int32))
                with self.subTest(element=element, scale=scale, good_steps=good_steps):
                    torch.testing.assert_close(compiled(run)(*arguments()), run(*arguments()), equal_nan=True)

    def test_one_model_in_several_threads(self):
        """Calls of a step wait for each other, and what each keeps for its backward call is its own."""
        model = compiled(nn.Sequential(nn.Linear(32, 128), nn.Tanh(), nn.Linear(128, 4)).double())
        parameters = list(model.parameters())
        inputs = torch.randn(4, 20, 8, 32, dtype=torch.float64)
        gradient = lambda x: torch.autograd.grad(model(x).pow(2).sum(), parameters)
        expected = [[gradient(x) for x in rows] for rows in inputs]
        found = [[] for _ in inputs]
        threads = [threading.Thread(target=lambda rows, out: out.extend(gradient(x) for x in rows), args=pair)
                   for pair in zip(inputs, found)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(rt.compiled_steps), 1)
        for one, other in zip(expected, found):
            self.assertEqual(len(one), len(other))
            for a, b in zip(one, other):
                torch.testing.assert_close(a, b, rtol=0, atol=0)


    def test_quantization_that_is_learned(self):
        """The zero points are rounded, some of them at the end of the range, and some numbers are beyond it."""
        def run(x, *numbers):
            per_channel, per_tensor = (torch._fake_quantize_learnable_per_channel_affine,
                                       torch._fake_quantize_learnable_per_tensor_affine)
            return per_channel(x, *numbers[:2], 1, -8, 7, 0.5) * per_tensor(x, *numbers[2:], -4, 3, 0.7)

        given = [torch.randn(5, 4), torch.tensor([0.1, 0.05, 0.2, 0.02]), torch.tensor([0.0, 1.3, -2.0, 9.0]),
                 torch.tensor([0.3]), torch.tensor([0.7])]
        results = []
        for function in (run, compiled(run)):
            inputs = [x.clone().requires_grad_() for x in given]
            y = function(*inputs)
            y.pow(2).sum().backward()
            results.append([y, *(x.grad for x in inputs)])
        torch.testing.assert_close(*results)


@needs_torch
class EvaluationTest(unittest.TestCase):
    """Layers of attention without gradients, for which PyTorch has operations of their own."""

    def setUp(self):
        torch.manual_seed(0)
        torch._dynamo.reset()
        self.x = torch.randn(2, 5, 16, dtype=torch.float64)
        self.padding = torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
        self.later = torch.triu(torch.ones(5, 5, dtype=torch.bool), 1)

    def check(self, model, *args, **kwargs):
        model.double().eval()
        with torch.no_grad():
            found, expected = compiled(model)(*args, **kwargs), model(*args, **kwargs)
        torch.testing.assert_close(found, expected, equal_nan=True)

    def test_encoders(self):
        for norm_first, activation in ((False, "relu"), (True, "gelu")):
            layer = nn.TransformerEncoderLayer(16, 4, 32, dropout=0.1, batch_first=True, norm_first=norm_first,
                                               activation=activation)
            for masks in ({}, {"src_key_padding_mask": self.padding}, {"src_mask": self.later},
                          {"src_mask": self.later, "src_key_padding_mask": self.padding}):
                self.check(layer, self.x, **masks)

    def test_queries_that_see_nothing(self):
        """They are nan in both."""
        layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
        self.check(layer, self.x, src_key_padding_mask=torch.tensor([[False] * 5, [True] * 5]))

    def test_attention(self):
        layer = nn.MultiheadAttention(16, 4, batch_first=True)
        self.check(layer, self.x, self.x, self.x)
        self.check(layer, self.x, self.x, self.x, need_weights=False, key_padding_mask=self.padding)
        self.check(layer, self.x, self.x, self.x, average_attn_weights=False, attn_mask=self.later)


@needs_torch
class OrderTest(unittest.TestCase):
    """Results have their elements in the order of PyTorch's, on which what follows may rely."""

    def setUp(self):
        torch.manual_seed(0)
        torch._dynamo.reset()

    def check(self, run, *shapes):
        """With and without a gradient. What the results are changed to in place is not what the backward call reads."""
        for differentiated in (False, True):
            found, expected = [], []
            inputs = [torch.randn(shape, dtype=torch.float64) for shape in shapes]
            for function, out in ((compiled(run), found), (run, expected)):
                given = [x.clone().requires_grad_(differentiated) for x in inputs]
                results = function(*given)
                out.extend([results, [y.stride() for y in results]])
                if differentiated:
                    sum((y * (y + 1)).sum() for y in results).backward()
                    out.append([x.grad for x in given])
                    results = function(*given)
                for y in results:
                    y += 1
                out.append(results)
            self.assertEqual(found.pop(1), expected.pop(1))
            torch.testing.assert_close(found, expected)

    def test_results(self):
        self.check(lambda x, y: ((x @ y).t().exp(), (x @ y).tanh().contiguous().t()), (3, 4), (4, 5))
        for shape in ((2, 3, 4, 5), (1, 3, 4, 5), (2, 3, 1, 5), (1, 3, 1, 5), (2, 1, 4, 5)):
            self.check(lambda x: (x.sin().contiguous(memory_format=torch.channels_last),), shape)
        self.check(lambda x: (x.sin().contiguous(memory_format=torch.channels_last_3d),), (1, 3, 4, 5, 2))
        self.check(lambda x: (x.exp(), x.exp()[:, None].expand(3, 2, 4).sum(1).t().exp()), (3, 4))

    def test_attention(self):
        def run(x):
            q = x.view(2, 5, 4, 8).transpose(1, 2)
            return (torch.nn.functional.scaled_dot_product_attention(q, q, q),)

        self.check(run, (2, 5, 32))
        compiled(run)(torch.randn(2, 5, 32))[0].transpose(1, 2).view(2, 5, 32)


if __name__ == "__main__":
    unittest.main()

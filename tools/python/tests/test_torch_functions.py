"""Operations on functions, and operations that a program has defined itself: gradients against f64.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import unittest
import warnings
from unittest import mock

import remat
from common import compare, needs_torch, rt, torch

if torch is not None:
    import torch.nn as nn
    from torch._higher_order_ops.map import map as map_rows
    from torch._higher_order_ops.scan import scan

    class Model(nn.Module):
        def __init__(self, run):
            super().__init__()
            self.a, self.b, self.run = nn.Linear(6, 6), nn.Linear(6, 6), run
            self.register_buffer("shift", torch.randn(6))

        def forward(self, *args):
            return self.run(self, *args)

    @torch.library.custom_op("remat_test::scaled", mutates_args=())
    def scaled(x: torch.Tensor, places: torch.Tensor, factor: float) -> tuple[torch.Tensor, torch.Tensor]:
        """Writes to what it has made, and says where the greatest elements are."""
        y = torch.empty_like(x)
        y.copy_(x)
        y[:, 0] = 1
        y.view(-1)[3:5].mul_(factor)
        y.index_add_(0, places, x[:2])
        return y, x.argmax(-1)

    @scaled.register_fake
    def _(x, places, factor):
        return torch.empty_like(x), x.new_empty(x.shape[:1], dtype=torch.int64)

    def _keep(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])

    # It is not the derivative of what is computed.
    scaled.register_autograd(lambda ctx, g, _: (7 * g * ctx.saved_tensors[0], None, None), setup_context=_keep)

    @torch.library.custom_op("remat_test::by_numpy", mutates_args=())
    def by_numpy(x: torch.Tensor) -> torch.Tensor:
        return torch.from_numpy(x.numpy() + 1)

    by_numpy.register_fake(torch.empty_like)
    by_numpy.register_autograd(lambda ctx, g: g)

    @torch.library.custom_op("remat_test::added", mutates_args=("x",))
    def added(x: torch.Tensor, y: torch.Tensor) -> None:
        x.add_(y)


@needs_torch
class HigherOrderTest(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)

    def check(self, run, *args):
        compare(self, Model(run), args)

    def test_branches(self):
        def run(m, x, limit):
            return torch.cond(m.a(x).abs().sum() > limit, lambda x: m.a(x).sin(), lambda x: m.b(x).cos() * 2, (x,))

        x = torch.randn(5, 6)
        for limit in (0.0, 1e9):
            self.check(run, x, torch.tensor(limit))

    def test_branches_within_branches(self):
        """What is not chosen has gradients that are not finite."""
        def run(m, x):
            h = m.a(x)

            def inner(h):
                is_large = (h.sum() > 1e3).reshape(1)
                return torch.cond(is_large, lambda h: h * 3, lambda h: (h.abs() + 1).log() + m.shift, (h,))

            first = lambda h: (inner(h).sin(), h * 2)
            y, z = torch.cond(h.abs().sum() > 0, first, lambda h: ((h * 0 - 1).sqrt(), m.b(h)), (h,))
            return y + z, torch.cond(x.sum() > 1e9, first, lambda h: (h.cos(), h + 1), (y,))[0]

        self.check(run, torch.randn(5, 6))

    def test_scans(self):
        def run(m, x):
            def step(carry, row):
                state = (carry["h"] @ m.a.weight).tanh() + row
                return {"h": state}, (state.sin(), row * 2)

            carry, (ys, zs) = scan(step, {"h": x[:, 0].clone()}, x, dim=1, reverse=True)
            return ys + zs, m.b(carry["h"])

        self.check(run, torch.randn(3, 5, 6))

    def test_maps(self):
        self.check(lambda m, x: map_rows(lambda row, w: (row @ w).sin() * m.shift, x, m.a.weight), torch.randn(4, 3, 6))

    def test_regions_that_are_compiled_once(self):
        """The whole graph is planned together, so their calls are put in their places."""
        inner = torch.compiler.nested_compile_region(lambda x, w: (x @ w).tanh())
        outer = torch.compiler.nested_compile_region(lambda x, w: (inner(x, w), x.sum() * w))

        def run(m, x):
            total = 0
            for w in (m.a.weight, m.b.weight, m.a.weight):
                x, y = outer(x, w)
                total = total + y
            return x, total

        self.check(run, torch.randn(5, 6))

    def test_flex_attention(self):
        """On the CPU, PyTorch has no derivative of it, but of what is exported."""
        from torch.nn.attention import flex_attention as flex
        from torch.nn.attention.flex_attention import create_block_mask, flex_attention

        class Attention(nn.Module):
            def __init__(self):
                super().__init__()
                self.qkv, self.bias = nn.Linear(16, 4 * 16), nn.Parameter(torch.randn(2, 8, 8))
                self.register_buffer("document", torch.arange(8) // 3)

            def forward(self, x):
                q, k, v = self.qkv(x).view(2, 8, 4, 16).transpose(1, 2).split((2, 1, 1), 1)
                mask = create_block_mask(lambda b, h, i, j: (i >= j) & (self.document[i] == self.document[j]), None,
                                         None, 8, 8, device=x.device.type)
                return flex_attention(q, k, v, lambda score, b, h, i, j: score + self.bias[h, i, j], mask,
                                      enable_gqa=True)

        model, x = Attention(), torch.randn(2, 8, 16)
        loss, gradients = rt.export(model, (x,), loss=lambda y: y.pow(2).sum()).compile_step()(None, x)
        with mock.patch.object(flex, "_validate_device", lambda *_: None):
            expected = model(x).pow(2).sum()
            expected.backward()
        torch.testing.assert_close(loss, expected.detach())
        for name, parameter in model.named_parameters():
            torch.testing.assert_close(gradients[name], parameter.grad, rtol=1e-4, atol=1e-5)

    def test_numbers_in_a_score(self):
        """PyTorch traces them as arguments that stand for tensors, which take part as numbers do: in no wider type."""
        from torch.nn.attention.flex_attention import flex_attention
        q = torch.randn(1, 2, 10, 16)
        for change in (lambda s, b, h, i, j: s + (i - j) * 0.1, lambda s, b, h, i, j: 20 * torch.tanh(s / 20),
                       lambda s, b, h, i, j: s - torch.exp2(-(h + 1) * 0.1) * (i - j)):
            for x in (q, q.bfloat16(), q.double()):
                torch._dynamo.reset()
                run = lambda x: flex_attention(x, x, x, change)
                found, wide = torch.compile(run, backend=rt.backend)(x), run(x.double())
                self.assertEqual(found.dtype, x.dtype)
                tolerance = {torch.bfloat16: 3e-2, torch.float32: 1e-5, torch.float64: 1e-12}[x.dtype]
                torch.testing.assert_close(found.double(), wide, rtol=tolerance, atol=tolerance)

    def test_flex_attention_with_a_mask_that_is_compiled(self):
        """The rows of a mask are filled up to whole blocks, by elements that are false."""
        from torch.nn.attention.flex_attention import create_block_mask, flex_attention

        def run(q):
            mask = create_block_mask(lambda b, h, i, j: i >= j, None, None, 10, 10, device="cpu")
            return flex_attention(q, q, q, lambda score, b, h, i, j: score + i - j, mask)

        q = torch.randn(1, 2, 10, 16)
        torch._dynamo.reset()
        torch.testing.assert_close(torch.compile(run, backend=rt.backend)(q), run(q), rtol=1e-4, atol=1e-5)


@needs_torch
class CustomOperationTest(unittest.TestCase):
    def test_derivatives_are_those_that_are_registered(self):
        torch.manual_seed(0)

        def run(m, x):
            y, places = scaled(m.a(x), torch.tensor([1, 3]), 2.0)
            return m.b(y) * places.unsqueeze(-1)

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            compare(self, Model(run), (torch.randn(5, 6),))
        self.assertTrue(any("'remat_test::scaled' is compiled as what its implementation does" in str(w.message)
                            for w in caught))

    def test_what_remat_has_a_decomposition_of_is_not_traced(self):
        """transformers defines products of groups so, for types that PyTorch has none for."""
        try:
            from transformers.integrations import moe  # noqa: F401
            operation = torch.ops.transformers.grouped_mm_fallback
        except (ImportError, AttributeError):
            self.skipTest("there is no such operation")
        a, b, ends = torch.randn(7, 6), torch.randn(2, 6, 6), torch.tensor([3, 7], dtype=torch.int32)
        expected = torch.cat([a[:3] @ b[0], a[3:] @ b[1]])
        torch._dynamo.reset()
        found = torch.compile(lambda a, b, ends: operation(a, b, ends), backend=rt.backend)(a, b, ends)
        torch.testing.assert_close(found, expected)

    def test_refusals(self):
        here = r"^\S*test_torch_functions.py:\d+: "
        for run, message in (
                (lambda m, x: by_numpy(m.a(x)).sum(),
                 here + "remat_test.by_numpy.default: PyTorch cannot trace what it is implemented by .*numpy.*; "
                        "implement it by operations of PyTorch$"),
                (lambda m, x: added(m.shift, x[0]) or (m.a(x) * m.shift).sum(),
                 here + "auto_functionalized.*: operations other than PyTorch's own are not supported, unless they")):
            with self.assertRaisesRegex(remat.ExportError, message):
                rt.export(Model(run), (torch.randn(5, 6),))


if __name__ == "__main__":
    unittest.main()

"""Operations of PyTorch, forward and backward: gradients against f64.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import math
import unittest

import remat
from common import compare, needs_torch, rt, torch

if torch is not None:
    import torch.nn as nn
    import torch.nn.functional as F

    class Model(nn.Module):
        """A function of a 6 x 6 parameter, a layer, and arguments."""

        def __init__(self, run, layer=None):
            super().__init__()
            self.w = nn.Parameter(torch.randn(6, 6))
            self.n, self.run = layer, run

        def forward(self, *args):
            return self.run(self, *args)

    def assigned(w, x):
        y = w.clone()
        y[1:3] = x[1:3] * 2
        y[:, 0] += w[0]
        y[5].mul_(3)
        return y

    def masked(y, x):
        y = y.clone()
        y[x > 0] = 0.5
        return y

    def written(y, index, values):
        y = y.clone()
        y[index] = values
        return y


@needs_torch
class OperationTest(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        torch._dynamo.config.allow_rnn = True

    def check(self, run, *args, layer=None, **options):
        for arg in args:
            self.assertIsInstance(arg, torch.Tensor)
        compare(self, Model(run, layer), args, **options)

    def x(self, *shape):
        return torch.randn(*(shape or (6, 6)))

    def test_sums_of_products_are_rounded_once(self):
        """Of narrow numbers, by whatever they are added to: their bits are those of PyTorch. Sums in f32 are exact."""
        def numbers(*shape):
            return torch.randint(-60, 60, shape) / 8

        a, b, long, square = numbers(3, 24, 8), numbers(3, 8, 16), numbers(16), numbers(24, 16)
        for dtype in (torch.bfloat16, torch.float16):
            for run in (lambda a, b, l, s: torch.addmm(l, a[0], b[0]), lambda a, b, l, s: torch.addmm(s, a[0], b[0]),
                        lambda a, b, l, s: torch.addmm(l[None], a[0], b[0], beta=2, alpha=0.5),
                        lambda a, b, l, s: torch.baddbmm(s, a, b),
                        lambda a, b, l, s: torch.addmv(s[:, 0], a[0], b[0, :, 0]),
                        lambda a, b, l, s: F.linear(a, b[0].t(), l).relu() + 1,
                        lambda a, b, l, s: F.linear(a, b[0].t(), l).view(3, 24, 2, 8).transpose(1, 2).contiguous()):
                given = [t.to(dtype) for t in (a, b, long, square)]
                compiled = torch.compile(run, backend="remat", dynamic=False)
                self.assertTrue(torch.equal(compiled(*given), run(*given)), dtype)

    def test_biases_of_convolutions_are_rounded_once(self):
        """Of narrow numbers, and of parameters in f32 under autocast. Sums in f32 are exact."""
        def numbers(*shape):
            return torch.randint(-60, 60, shape) / 8

        cases = [(F.conv1d, numbers(2, 4, 9), numbers(8, 4, 3), {}),
                 (F.conv1d, numbers(4, 9), numbers(8, 4, 3), {"padding": 1}),
                 (F.conv2d, numbers(2, 4, 6, 7), numbers(8, 4, 3, 3), {"stride": 2}),
                 (F.conv2d, numbers(2, 4, 6, 7), numbers(8, 2, 3, 2), {"groups": 2, "padding": 1, "dilation": 2}),
                 (F.conv2d, numbers(2, 8, 6, 7), numbers(8, 1, 3, 3), {"groups": 8}),
                 (F.conv2d, numbers(2, 4, 6, 7).contiguous(memory_format=torch.channels_last), numbers(8, 4, 1, 1), {}),
                 (F.conv3d, numbers(1, 2, 4, 5, 3), numbers(8, 2, 2, 3, 2), {}),
                 (F.conv_transpose1d, numbers(2, 4, 9), numbers(4, 8, 3), {"stride": 2}),
                 (F.conv_transpose2d, numbers(2, 4, 6, 7), numbers(4, 4, 3, 3), {"groups": 2, "output_padding": 1,
                                                                               "stride": 2}),
                 (F.conv_transpose3d, numbers(1, 2, 4, 5, 3), numbers(2, 8, 2, 3, 2), {})]
        for number, (convolve, x, w, options) in enumerate(cases):
            bias = torch.arange(8) / 3
            for dtype, autocast in ((torch.bfloat16, False), (torch.float16, False), (torch.bfloat16, True)):
                for last in (lambda y: y, lambda y: y.relu() + y.tanh().sum()):
                    def run(x, w, bias):
                        with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
                            return convolve(x, w, bias, **options)

                    given = [t if autocast else t.to(dtype) for t in (x, w, bias)]
                    exact = convolve(*(t.to(dtype).double() for t in (x, w, bias)), **options).to(dtype)
                    torch._dynamo.reset()
                    compiled = torch.compile(lambda *given: (run(*given), last(run(*given))), backend="remat",
                                             dynamic=False)
                    with self.subTest(number=number, dtype=dtype, autocast=autocast):
                        self.assertTrue(torch.equal(compiled(*given)[0], exact))

    def test_biases_are_rounded_once_under_autocast(self):
        """A parameter in f32 is rounded to what is added to the product before that is rounded."""
        x, w, bias = torch.randint(-60, 60, (4, 6, 8)) / 8, torch.randint(-60, 60, (16, 8)) / 8, torch.arange(16) / 3
        for run in (lambda x, w, b: F.linear(x[0], w, b), lambda x, w, b: F.linear(x, w, b).relu() + x[0, 0, 0]):
            def narrow(*given):
                with torch.autocast("cpu", torch.bfloat16):
                    return run(*given)

            self.assertTrue(torch.equal(torch.compile(narrow, backend="remat")(x, w, bias), narrow(x, w, bias)))

    def test_products(self):
        self.check(lambda m, x: torch.matmul(x, m.w), self.x(2, 3, 6))
        self.check(lambda m, x: torch.einsum("bij,jk->bik", x, m.w), self.x(2, 3, 6))
        self.check(lambda m, x: torch.addbmm(m.w[0], x, m.w.expand(2, 6, 6), beta=0.5, alpha=2), self.x(2, 3, 6))
        self.check(lambda m, x: m.n(x, x @ m.w), self.x(5, 6), layer=nn.Bilinear(6, 6, 3))
        self.check(lambda m, x: F.scaled_dot_product_attention(x @ m.w, x, x, is_causal=True), self.x(2, 2, 5, 6))

    def test_attention_by_its_own_name(self):
        """Both results, as they lie in memory, and the gradients, with fewer heads of keys than of queries, too."""
        attend = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
        # The second query sees no key.
        unseen = torch.zeros(5, 6).index_fill(0, torch.tensor([1]), -math.inf)
        for heads, options in ((2, {}), (1, {"scale": 0.3}), (2, {"is_causal": True}),
                               (2, {"attn_mask": torch.randn(2, 1, 5, 6)}), (2, {"attn_mask": unseen})):
            with self.subTest(heads=heads, **options):
                inputs = [torch.randn(2, h, n, 8, requires_grad=True) for h, n in ((2, 5), (heads, 6), (heads, 6))]
                run = lambda q, k, v: attend(q, k, v, **options)
                results = [f(*inputs) for f in (run, torch.compile(run, backend="remat"))]
                for expected, actual in zip(*results):
                    torch.testing.assert_close(actual, expected, check_stride=True)
                gradients = [torch.autograd.grad(r[0].square().sum(), inputs) for r in results]
                torch.testing.assert_close(gradients[1], gradients[0], rtol=1e-4, atol=1e-5)

    def test_indices(self):
        rows = torch.tensor([0, 4, 2, 4, 0])
        self.check(lambda m, x, i: m.w[i] * x, self.x(5, 6), torch.tensor([0, 1, -1, 1, 5]))
        self.check(lambda m, x, i, j: m.w[i, j] * x, self.x(5), rows, torch.tensor([0, 2, 2, 2, -1]))
        self.check(lambda m, x, i: m.w.clone().index_put((i,), x * 2) * m.w, self.x(5, 6), rows)
        self.check(lambda m, x, i: m.w.clone().index_put((i,), x * 2, accumulate=True) * m.w, self.x(5, 6), rows)
        self.check(lambda m, x, i: torch.zeros_like(x).index_add(0, i, x @ m.w), self.x(5, 6), rows)
        self.check(lambda m, x: assigned(m.w, x), self.x())
        self.check(lambda m, x: masked(m.w * x, x), self.x())

    def test_assignments_by_masks(self):
        """How many elements a mask has is not known, so what is written there is chosen for each element."""
        rows, columns = torch.tensor([True, False, True, True, False, False]), torch.tensor([False, True] * 3)
        self.check(lambda m, x, r: written(x @ m.w, r, m.w[0]), self.x(), rows)
        self.check(lambda m, x, r: written(x @ m.w, r, m.w[:3]) + written(x, r, m.w[:1]), self.x(), rows)
        self.check(lambda m, x, c: written(x @ m.w, (slice(None), c), m.w[:, :1]) * written(x, (..., c), m.w[:, 1:4]),
                   self.x(), columns)
        self.check(lambda m, x, r: written(x * m.w, (r, 2), m.w[:3, 0]) + written(x, (slice(1, 4), r), m.w.sum()),
                   self.x(), rows)
        self.check(lambda m, x, r: written(x @ m.w, (None, r), m.w[:3]), self.x(), rows)
        self.check(lambda m, x: written(x.view(2, 3, 6), (m.w > 0).view(2, 3, 6), m.w.mean()), self.x())
        self.check(lambda m, x, r: m.w.index_put((r,), x[0] * m.w[1]) + m.w.index_put((r,), x[:3] * m.w[:3], True),
                   self.x(), rows)
        self.check(lambda m, x, r: (m.w * 2).index_put_((r,), m.w[0] * x[0], accumulate=True), self.x(), rows)
        torch._dynamo.reset()
        run = torch.compile(written, backend="remat", dynamic=False)
        with self.assertRaisesRegex(remat.RunError, "a mask holds at another number of places than the 2 of the val"):
            run(self.x(), rows, self.x(2, 6))

    def test_assignments_by_masks_and_indices(self):
        """Masks stand for the indices of where they hold, as many as the other indices, or as the other masks have."""
        rows, columns = torch.tensor([True, False, True, False, False, True]), torch.tensor([False, True] * 3)
        one, index = torch.arange(6) == 4, torch.tensor([3, -1, 0])
        for key, values in (((rows, index), 3), ((index, columns), 3), ((rows, columns), 3), ((one, columns), 3),
                            ((one, index), 3), ((rows, torch.tensor(-2)), 3), ((rows, torch.tensor([1])), 1)):
            self.check(lambda m, x, key=key, n=values: written(x * m.w, key, m.w[0, :n]) * x, self.x())
            self.check(lambda m, x, key=key: written(x * m.w, key, 2.0) * m.w, self.x())
            self.check(lambda m, x, key=key, n=values: (x * m.w).index_put(key, m.w[0, :n], True) * x, self.x())
        for key, shape in (((slice(None), rows, index), (2, 6, 6)), ((rows, slice(None), index), (6, 2, 6)),
                           ((..., rows, columns), (2, 6, 6)), ((rows.view(2, 3), index), (2, 3, 12))):
            self.check(lambda m, x, key=key: written(x, key, m.w.mean()) * m.w.sum(), self.x(72).view(shape))
        torch._dynamo.reset()
        run = torch.compile(written, backend="remat", dynamic=False, options={"fallback": False})
        with self.assertRaisesRegex(remat.RunError, "a mask holds at another number of places than the 2 of the other"):
            run(self.x(), (rows, index[:2]), 1.0)
        with self.assertRaisesRegex(Exception, "values of torch.float64 are written into a tensor of torch.float32"):
            run(self.x(), index, self.x(3, 6).double())

    def test_places_in_front_of_the_first(self):
        """Some operations count such places from the end, and others refuse them, as PyTorch does."""
        i = torch.tensor([0, -1, 2])
        for run in (lambda x: x[i], lambda x: x.take(i), lambda x: x.take_along_dim(i[:, None], 1),
                    lambda x: x.index_fill(0, i, 2.0), lambda x: x.index_put((i,), x[0]), lambda x: x.put(i, x[0])):
            self.check(lambda m, x, run=run: run(m.w[:3, :3]) * x.sum(), self.x())
        for run in (lambda x: F.cross_entropy(x, i), lambda x: F.nll_loss(x, i), lambda x: F.multi_margin_loss(x, i),
                    lambda x: F.cross_entropy(x, i, label_smoothing=0.1), lambda x: x.gather(1, i[:, None]),
                    lambda x: x.index_select(0, i), lambda x: F.embedding(i, x), lambda x: F.embedding_bag(i[None], x),
                    lambda x: F.embedding_bag(i[None], x, mode="max"), lambda x: x.scatter(1, i[:, None], x),
                    lambda x: x.scatter_add(1, i[:, None], x), lambda x: x.index_add(0, i, x),
                    lambda x: x.index_copy(0, i, x), lambda x: x.scatter_reduce(0, i[None].expand(1, 3), x, "amax"),
                    lambda x: x.scatter_reduce(0, i[None].expand(1, 3), x, "prod")):
            torch._dynamo.reset()
            compiled = torch.compile(lambda x, run=run: run(x).sum(), backend="remat", dynamic=False)
            with self.assertRaisesRegex(remat.RunError, "-1 is out of bounds"):
                compiled(self.x(3, 3))

    def test_tensors_of_infinities(self):
        for dtype in (torch.float32, torch.bfloat16, torch.complex64, torch.bool):
            self.check(lambda m, x, t=dtype: (torch.full((6,), -math.inf, dtype=t).abs() if t.is_complex else
                                              torch.full((6,), math.inf, dtype=t)) + (m.w * x), self.x())

    def test_indices_without_elements(self):
        none = torch.zeros(2, 0, dtype=torch.int64)
        self.check(lambda m, x, i: m.w.gather(0, i).sum() + m.w[0].gather(0, i).sum() + m.w * x, self.x(), none)
        for reduce in ("sum", "amax"):
            self.check(lambda m, x, i: m.w.scatter_reduce(0, i, x[:2, :0], reduce) + m.w.scatter(0, i, x[:2, :0]),
                       self.x(), none)
        fewer = torch.zeros(0, 3, dtype=torch.int64)  # Dimensions than the tensor has.
        self.check(lambda m, x, i: (m.w * x).view(6, 2, 3).gather(-1, i).sum() + m.w.sum(), self.x(), fewer)
        self.check(lambda m, x: m.w.sum().index_copy(0, torch.tensor([0]), x.sum() * m.w[0, 0]), self.x())

    def test_gathers_and_scatters(self):
        index = torch.tensor([[0, 1], [2, 3], [5, 4], [0, 2], [1, 0], [3, 4]])
        self.check(lambda m, x, i: torch.gather(m.w * x, 1, i), self.x(), index)
        self.check(lambda m, x, i: m.w.scatter(1, i, x) ** 2, self.x(6, 2), index)
        many = torch.randint(0, 6, (6, 6))
        for reduce in ("sum", "mean", "amax", "prod"):
            self.check(lambda m, x, i, r=reduce: torch.ones_like(x).scatter_reduce(0, i, x @ m.w, r), self.x(), many)
        # One factor is 0 in some products, two are in others.
        sparse = torch.tensor([[0, 1, 0, 2, 1, 1]] * 6) * self.x()
        self.check(lambda m, x, i: torch.ones_like(x).scatter_reduce(0, i, x * m.w, "prod"), sparse, many)

    def test_indices_that_are_numbers(self):
        """One place of a row, by a tensor without dimensions."""
        place = torch.tensor(4)
        self.check(lambda m, x, i: m.w[0].gather(0, i) * x[0] + m.w[1].scatter(0, i, x[1, 2]), self.x(), place)
        self.check(lambda m, x, i: m.w[0].scatter(0, i, m.w[1, 2]) * x[0], self.x(), place)
        self.check(lambda m, x, i: m.w[0].index_copy(0, i, m.w[1, 2]) * x[0] + m.w[2].index_copy(0, i, x[0, :1]),
                   self.x(), place)
        self.check(lambda m, x, i: m.w.index_copy(1, i, x[:, :1]) + m.w.index_fill(0, i, 2.0) * x, self.x(), place)

    def test_indices_of_a_number(self):
        """As of a row of one element, by one place or by several."""
        for place in (torch.tensor(0), torch.zeros(3, dtype=torch.int64)):
            row = slice(3) if place.dim() else 0
            self.check(lambda m, x, i: m.w[1, 2].gather(0, i) * x[0, row] + m.w[1, 2].scatter(0, i, x[1, row]) +
                       m.w[1, 2].scatter_add(0, i, m.w[0, row]), self.x(), place)
            for reduce in ("amax", "mean", "prod"):
                for include_self in (True, False):
                    self.check(lambda m, x, i: m.w[1, 2].scatter_reduce(
                        0, i, m.w[0, row], reduce, include_self=include_self) * x[0, 0], self.x(), place)

    def test_reductions_by_index(self):
        rows = torch.tensor([0, 4, 2, 4, 0])
        for reduce in ("amax", "amin", "mean", "prod"):
            for include_self in (True, False):
                self.check(lambda m, x, i, r=reduce, s=include_self: torch.ones(6, 6, dtype=x.dtype).index_reduce(
                    0, i, x @ m.w, r, include_self=s), self.x(5, 6), rows)
                self.check(lambda m, x, i, r=reduce, s=include_self: m.w.index_reduce(
                    -1, i, x @ m.w[:, :5], r, include_self=s), self.x(), rows)
        self.check(lambda m, x: m.w.sum().index_reduce(0, torch.tensor([0]), x.sum() * m.w[0, 0], "prod"), self.x())

    def test_reductions(self):
        self.check(lambda m, x: torch.std(x @ m.w, 1) + torch.logsumexp(x @ m.w, 1) + torch.amax(x @ m.w, 1), self.x())
        self.check(lambda m, x: (x @ m.w).max(1).values * (x @ m.w).argmax(1) + torch.prod(x @ m.w, 1), self.x())
        self.check(lambda m, x: torch.linalg.vector_norm(x @ m.w, dim=1), self.x())

    def test_scans_and_sorts(self):
        self.check(lambda m, x: torch.cumsum(x @ m.w, 1) + torch.logcumsumexp(x @ m.w, 0), self.x())
        self.check(lambda m, x: torch.cumprod(x * m.w, 1), self.x())
        self.check(lambda m, x: torch.sort(x @ m.w, 1).values * torch.arange(6, dtype=x.dtype), self.x())
        self.check(lambda m, x: torch.topk(x @ m.w, 2).values, self.x())

    def test_normalizations(self):
        for layer in (nn.GroupNorm(2, 6), nn.InstanceNorm1d(6, affine=True), nn.LayerNorm(6)):
            self.check(lambda m, x: m.n(x) @ m.w, self.x(2, 6, 6), layer=layer)

    def test_convolutions(self):
        layers = [(nn.Conv1d(3, 4, 3, padding=1), (2, 3, 6)), (nn.Conv3d(2, 4, 3, padding=1), (2, 2, 4, 5, 4)),
                  (nn.Conv2d(4, 4, 3, groups=4, dilation=2), (2, 4, 7, 7)),
                  (nn.ConvTranspose2d(3, 4, 3, stride=2, padding=1, output_padding=1), (2, 3, 6, 6)),
                  # What is added behind is a stride or more.
                  (nn.ConvTranspose1d(3, 4, 3, stride=2, padding=1, output_padding=3, dilation=4), (2, 3, 6)),
                  (nn.ConvTranspose1d(4, 4, 3, padding=2, output_padding=2, dilation=3, groups=2), (2, 4, 6))]
        for layer, shape in layers:
            self.check(lambda m, x: m.n(x) * m.w.sum(), self.x(*shape), layer=layer)

    def test_pooling_and_resampling(self):
        for run in (lambda y: F.avg_pool2d(y, 3, 2, 1, count_include_pad=False),
                    lambda y: F.max_pool2d(y, 2, 2, ceil_mode=True), lambda y: F.adaptive_avg_pool2d(y, (3, 2)),
                    lambda y: F.adaptive_max_pool2d(y, (3, 5)), lambda y: F.adaptive_max_pool1d(y.flatten(2), 4),
                    lambda y: F.adaptive_max_pool3d(y.unflatten(2, (1, 7)), (1, 3, 5)),
                    lambda y: F.interpolate(y, scale_factor=2), lambda y: F.pad(y, (1, 1, 1, 1), mode="reflect"),
                    lambda y: F.interpolate(y, size=(9, 8), mode="bilinear"), lambda y: F.pixel_shuffle(y, 2),
                    lambda y: F.unfold(y, 3)):
            self.check(lambda m, x, run=run: run(m.n(x)), self.x(2, 3, 9, 9), layer=nn.Conv2d(3, 4, 3))

    def test_averages_of_integers(self):
        """They are rounded to zero, with and without what is added at the borders."""
        for run in (lambda x: F.avg_pool2d(x, 3, 2, 1), lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
                    lambda x: F.avg_pool1d(x[0], 2), lambda x: F.avg_pool3d(x, 2, divisor_override=3)):
            torch._dynamo.reset()
            x = torch.randint(-50, 50, (2, 3, 7, 8))
            self.assertTrue(torch.equal(torch.compile(run, backend="remat", dynamic=False)(x), run(x)))

    def test_results_in_another_order_that_gradients_read(self):
        """What orders a result of the forward call is none of the backward call's, which has the same transpose."""
        z = torch.randn(3, 4, dtype=torch.complex128)
        for run in (lambda z: (z @ z.mT.conj(), z.mT.conj()), lambda z: (z.t(), z @ z.H, z.H, z.conj().t())):
            torch._dynamo.reset()
            found = []
            for function in (run, torch.compile(run, backend="remat", options={"budget": "min"})):
                x = z.clone().requires_grad_()
                results = function(x)
                sum(y.abs().pow(2).sum() + y.real.sum() for y in results).backward()
                found.append((*(y.detach() for y in results), x.grad))
            for expected, value in zip(*found):
                torch.testing.assert_close(value, expected)

    def test_logarithms_of_exponentials_of_complex_numbers(self):
        """Their imaginary parts are angles between -pi and pi, whatever those of the arguments are."""
        z = torch.tensor([1 + 8j, -2 - 7.5j, 0.5 + 3j, complex(math.inf, math.nan)], dtype=torch.complex128)
        for run in (lambda z: z[:3].exp().log(), lambda z: z[:3].exp().log2() + z[:3].exp().log10(),
                    lambda z: z[0].logsumexp(0), lambda z: z.log()):
            torch._dynamo.reset()
            torch.testing.assert_close(torch.compile(run, backend="remat")(z), run(z), equal_nan=True)
        self.check(lambda m, x: torch.complex(m.w, 4 * m.w.cos() + x).exp().log().imag, self.x())

    def test_sums_of_booleans_at_places(self):
        for alpha in (True, False, 0, 2):
            run = lambda x, index, source: torch.index_add(x, 0, index, source, alpha=alpha)
            given = torch.tensor([True, False, True, False]), torch.tensor([0, 1, 1]), torch.tensor([True, True, False])
            torch._dynamo.reset()
            self.assertTrue(torch.equal(torch.compile(run, backend="remat")(*given), run(*given)))

    def test_products_of_integers(self):
        """They have the type of their factors, whatever the scalars are."""
        numbers = lambda *shape: torch.randint(-9, 9, shape, dtype=torch.int8)
        for run, *given in ((lambda s, a, b: torch.addbmm(s, a, b, beta=1.5, alpha=2.9),
                             numbers(5, 6), numbers(3, 5, 4), numbers(3, 4, 6)),
                            (F.bilinear, numbers(2, 4), numbers(2, 5), numbers(3, 4, 5), numbers(3))):
            torch._dynamo.reset()
            found, expected = torch.compile(run, backend="remat", dynamic=False)(*given), run(*given)
            self.assertEqual(found.dtype, torch.int8)
            self.assertTrue(torch.equal(found, expected))

    def test_gradients_of_dropout_of_integers(self):
        """They are floats."""
        run = lambda grad, mask: torch.ops.aten.native_dropout_backward(grad, mask, 2.0)
        given = torch.arange(12), torch.arange(12) % 3 > 0
        self.assertTrue(torch.equal(torch.compile(run, backend="remat")(*given), run(*given)))

    def test_resampling(self):
        """Of one, two and three dimensions, from few to more and from more to few."""
        for shape, mode in ((2, 3, 9), "linear"), ((2, 3, 5, 9), "bilinear"), ((2, 3, 5, 9), "bicubic"), (
                (1, 2, 4, 5, 6), "trilinear"):
            for options in {"scale_factor": 1.7}, {"scale_factor": 0.6}, {"size": 7, "align_corners": True}:
                self.check(lambda m, x: F.interpolate(x * m.w[0, 0], mode=mode, **options), self.x(*shape))

    def test_windows_at_random_distances(self):
        numbers = torch.tensor([[[0.1, 0.9], [0.3, 0.2], [0.7, 0.6]]] * 2)
        self.check(lambda m, x, n: F.fractional_max_pool2d(m.n(x), (2, 3), (3, 4), _random_samples=n) * m.w[0, 0],
                   self.x(2, 3, 9, 6), numbers, layer=nn.Conv2d(3, 3, 1))
        self.check(lambda m, x, n: F.fractional_max_pool3d(m.n(x), 2, (1, 4, 2), _random_samples=n),
                   self.x(2, 3, 4, 7, 6), torch.cat([numbers, numbers[..., :1]], 2), layer=nn.Conv3d(3, 3, 1))

    def test_gradients_of_greatest_elements(self):
        """Whatever the windows, the gradient is that of PyTorch: nothing is rounded where windows do not overlap, and
        elements are added in one order where they do."""
        for shape, run in (
            ((2, 3, 9, 10), lambda x: F.max_pool2d(x, 3, 2, 1)),
            ((2, 3, 9, 7), lambda x: F.max_pool2d(x, 2, 2, ceil_mode=True)),
            ((2, 3, 11, 12), lambda x: F.max_pool2d(x, 3, 2, 1, 2)),
            ((2, 3, 11, 12), lambda x: F.max_pool2d(x, 2, 3)),
            ((3, 8, 7), lambda x: F.max_pool2d(x, (3, 2), (2, 1), (1, 0))),
            ((1, 2, 14, 13), lambda x: F.max_pool2d(x, 12, 1, 6)),
            ((2, 3, 11), lambda x: F.max_pool1d(x, 3, 2, 1)),
            ((2, 2, 5, 6, 7), lambda x: F.max_pool3d(x, 3, 2, 1)),
            ((2, 9, 10, 8), lambda x: F.max_pool2d(x.permute(0, 3, 1, 2), 3, 2, 1)),
        ):
            x = torch.randint(-3, 4, shape).float()
            flat = x.view(-1)
            flat[3], flat[-40:] = float("nan"), -float("inf")
            model = Model(lambda m, w, run=run: (run(m.w) * w).sum())
            model.w = nn.Parameter(x)
            w = torch.randint(-8, 9, run(x).shape).float()
            _, gradients = rt.export(model, (w,)).compile_step(threads=1)(None, w)
            model(w).backward()
            self.assertTrue(torch.equal(gradients["w"], model.w.grad), shape)

    def test_recurrent_layers(self):
        self.check(lambda m, x: m.n(x)[0], self.x(2, 4, 5), layer=nn.LSTM(5, 6, 2, batch_first=True))
        self.check(lambda m, x: m.n(x)[0], self.x(4, 2, 5), layer=nn.GRU(5, 6, bidirectional=True))

    def test_activations_and_losses(self):
        self.check(lambda m, x: sum(f(x @ m.w) for f in (
            F.silu, F.elu, F.leaky_relu, F.softplus, F.hardswish, F.mish, F.gelu, F.hardtanh, F.selu, F.logsigmoid)),
            self.x())
        self.check(lambda m, x, y: F.smooth_l1_loss(x @ m.w, y) + F.binary_cross_entropy_with_logits(
            x @ m.w, y.sigmoid()) + F.kl_div(F.log_softmax(x @ m.w, 1), y.softmax(1), reduction="batchmean"),
            self.x(), self.x())
        self.check(lambda m, x, y: F.cross_entropy(x @ m.w, y, ignore_index=2, label_smoothing=0.1), self.x(5, 6),
                   torch.tensor([0, 2, 5, 1, 1]))

    def test_views(self):
        self.check(lambda m, x: torch.roll(m.w, 2, 0) * x + torch.flip(m.w, [1]) + m.w.repeat(2, 1)[3:9], self.x())
        self.check(lambda m, x: torch.stack([m.w, x], 1).unbind(0)[2] * torch.cat([m.w, x], 1)[0, :6], self.x())
        self.check(lambda m, x: torch.diagonal(m.w) * x + torch.diag_embed(m.w[0])[0] + torch.tril(m.w)[3], self.x(6))
        self.check(lambda m, x: (m.w[:, None, :].expand(6, 3, 6) * x).transpose(0, 2).contiguous().view(-1),
                   self.x(6, 3, 6))

    def test_stacks_of_no_elements(self):
        self.check(lambda m, x: torch.stack([x * 2, x], 1).sum() + torch.cat([x.view(2, 0), x.view(2, 0)], 1).sum() +
                   torch.cat([x[:, None].expand(0, 2), x[:, None].expand(0, 3)], 1).sum() + m.w, torch.ones(0))

    def test_views_of_no_elements(self):
        # As a rotary embedding of whole heads has it: what is not rotated is an empty slice at the end.
        self.check(lambda m, x: torch.cat([(x @ m.w)[..., :6] * 2, (x @ m.w)[..., 6:]], -1), self.x())
        self.check(lambda m, x: torch.split(x @ m.w, [6, 0])[1].sum() + (x @ m.w).narrow(0, 6, 0).sum() + m.w.sum(),
                   self.x())
        self.check(lambda m, x: torch.slice_scatter(x @ m.w, x[:, 6:], 1, 6), self.x())

    def test_arithmetic(self):
        self.check(lambda m, x: torch.atan2(m.w, x) + torch.sinh(m.w) + torch.fmod(m.w, 0.3) + torch.remainder(m.w, x)
                   + torch.lerp(m.w, x, 0.3) + torch.logaddexp(m.w, x) + torch.floor(m.w) * m.w, self.x())
        self.check(lambda m, x: (m.w.abs() + 1) ** x + torch.pow(m.w, 3) + m.w.abs().add(0.1) ** -1.5, self.x())
        self.check(lambda m, x, i: m.w * ((i // 2) % 3) + m.w[(i - 3).clamp(0)].sum() + torch.where(
            x > 0, m.w, m.w.sum()), self.x(), torch.arange(6))
        self.check(lambda m, x: torch.maximum(m.w, x) + torch.clamp(m.w, -0.5, 0.5) + torch.minimum(m.w, x * 2),
                   self.x())

    def test_sampling(self):
        grid = self.x(1, 4, 4, 2)
        for mode in ("bilinear", "nearest", "bicubic"):
            for padding in ("zeros", "border", "reflection"):
                for align in (False, True):
                    self.check(lambda m, x, g: F.grid_sample(
                        m.n(x), g * 1.3 + m.w[None, :4, :4, None], mode, padding, align), self.x(1, 2, 5, 4), grid,
                        layer=nn.Conv2d(2, 3, 1))
        grid = self.x(1, 2, 4, 4, 3)
        for mode, padding, align in (("bilinear", "zeros", False), ("nearest", "border", True),
                                     ("bilinear", "reflection", True)):
            self.check(lambda m, x, g: F.grid_sample(
                m.n(x), g * 1.3 + m.w[None, None, :4, :4, None], mode, padding, align), self.x(1, 2, 3, 5, 4), grid,
                layer=nn.Conv3d(2, 3, 1))
        self.check(lambda m, x: F.grid_sample(x, F.affine_grid(m.w[None, :2, :3], (1, 2, 4, 4), align_corners=False),
                                              align_corners=False), self.x(1, 2, 5, 5))
        self.check(lambda m, x: F.adaptive_max_pool2d(m.n(x), (3, 2)), self.x(1, 2, 6, 6), layer=nn.Conv2d(2, 3, 1))

    def test_bags_of_embeddings(self):
        indices, offsets = torch.tensor([1, 2, 4, 5, 4, 3, 2, 9]), torch.tensor([0, 3, 3, 5])
        for options in ({"mode": "sum"}, {"mode": "mean", "scale_grad_by_freq": True}, {"mode": "max"}):
            self.check(lambda m, i, o: m.n(i, o) @ m.w, indices, offsets, layer=nn.EmbeddingBag(
                10, 6, padding_idx=4, **options))
        # Of equal rows, the first one has the gradient.
        layer = nn.EmbeddingBag(10, 6, mode="max", _weight=torch.ones(10, 6))
        self.check(lambda m, i, o: m.n(i, o) @ m.w, indices, offsets, layer=layer)
        self.check(lambda m, i, o, w: m.n(i, o, w * m.w[0, 0]) @ m.w, indices, offsets, self.x(8),
                   layer=nn.EmbeddingBag(10, 6, mode="sum"))

    def test_groups_of_rows(self):
        """Mixtures of experts: rows are counted by group, and each group has a product of its own."""
        x, group = self.x(9, 6), torch.tensor([0, 0, 2, 2, 2, 3, 3, 3, 3])

        def run(m, x, group):
            offsets = torch.histc(group.float(), 4, 0, 3).cumsum(0).int()
            weights = torch.stack([m.w, m.w.sin(), m.w.cos(), m.w * 2])
            each = torch._grouped_mm(F.pad(x @ m.w, (0, 2)), F.pad(weights, (0, 2, 0, 2)), offsets)
            return each, torch.histc(x, 5), torch.histc(group.double(), 3, 1, 1)

        def exact(m, x, group):  # PyTorch has no such products of f64.
            weights = torch.stack([m.w, m.w.sin(), m.w.cos(), m.w * 2])
            return (F.pad(torch.bmm((x @ m.w).unsqueeze(1), weights[group]).squeeze(1), (0, 2)), torch.histc(x, 5),
                    torch.histc(group.double(), 3, 1, 1))

        model = Model(run)
        wide = Model(exact).double()
        wide.load_state_dict(model.state_dict())
        compare(self, model, (x, group), exact=wide)

    def grouped(self, a, b, ends):
        """The products of torch._grouped_mm, group by group."""
        parts = list(zip([0] + ends[:-1], ends))
        if a.dim() == b.dim():
            return torch.stack([a[:, i:j] @ b[i:j] for i, j in parts])
        if a.dim() == 2:
            return torch.cat([a[i:j] @ w for (i, j), w in zip(parts, b)])
        return torch.cat([w @ b[:, i:j] for (i, j), w in zip(parts, a)], 1)

    def test_groups_of_rows_have_products_of_their_own(self):
        """In all forms of the operation and for all lengths of groups; a step never holds all rows for each group."""
        rows, inner, columns = 200, 16, 24
        uneven = [0, 1, 1, 150, rows]
        for dtype, ends in ((torch.bfloat16, uneven), (torch.float32, uneven), (torch.float32, [rows]),
                            (torch.float32, list(range(0, rows + 1, 2))[1:])):
            for shapes in (((rows, inner), (len(ends), inner, columns)), ((len(ends), inner, columns),
                           (columns, rows)), ((inner, rows), (rows, columns))):
                given = [torch.randn(shape, dtype=dtype, requires_grad=True) for shape in shapes]
                torch._dynamo.reset()
                rt.compiled_steps.clear()
                found = torch.compile(torch._grouped_mm, backend=rt.backend, options={"threads": 1})(
                    *given, torch.tensor(ends, dtype=torch.int32))
                wide = [x.detach().double().requires_grad_() for x in given]
                expected = self.grouped(*wide, ends)
                cotangent = torch.randn_like(found)
                found.backward(cotangent)
                expected.backward(cotangent.double())
                tolerance = 1e-5 if dtype == torch.float32 else 1e-2
                for x, y in zip([found] + [x.grad for x in given], [expected] + [x.grad for x in wide]):
                    torch.testing.assert_close(x.double(), y, rtol=tolerance, atol=tolerance * 16)
        step, = rt.compiled_steps
        all_rows = len(ends) * rows * min(inner, columns) * given[0].element_size()
        self.assertLess(step.memory["planned"], all_rows / 2)

    def test_rows_of_no_group(self):
        """PyTorch leaves them as they are in memory."""
        torch._dynamo.reset()
        run = torch.compile(torch._grouped_mm, backend=rt.backend)
        x, w = torch.randn(12, 4), torch.randn(2, 4, 4)
        y = run(x, w, torch.tensor([3, 5], dtype=torch.int32))
        torch.testing.assert_close(y, torch.cat([x[:3] @ w[0], x[3:5] @ w[1], torch.zeros(7, 4)]))
        # Other numbers run the same step.
        y = run(x, w, torch.tensor([0, 12], dtype=torch.int32))
        torch.testing.assert_close(y, x @ w[1])

    def test_antialias(self):
        for options in ({"size": (3, 4)}, {"size": (9, 4), "align_corners": True}, {"scale_factor": (0.4, 1.7)}):
            for mode in ("bilinear", "bicubic") if "align_corners" in options else ("bilinear", "bicubic", "lanczos"):
                self.check(lambda m, x: F.interpolate(m.n(x), mode=mode, antialias=True, **options), self.x(2, 1, 7, 8),
                           layer=nn.Conv2d(1, 2, 1))

    def test_pairs_and_places(self):
        for p in (1.0, 2.0, 3.5):
            self.check(lambda m, x: F.pdist(x @ m.w, p), self.x(4, 6))
        self.check(lambda m, x, i: (m.w.put(i, x[0, :3] * m.w[0, :3]), m.w.put(i, x[0, :3], accumulate=True)),
                   self.x(), torch.tensor([1, 30, 7]))
        self.check(lambda m, r: m.w.repeat_interleave(r, 0, output_size=7), torch.tensor([2, 0, 1, 3, 0, 1]))

    def test_order_statistics(self):
        self.check(lambda m, x: torch.cummax(x * m.w, 1).values + torch.cummin(m.w, 0).values, self.x())
        self.check(lambda m, x: (x @ m.w).kthvalue(2).values + torch.median(m.w, 1).values + torch.quantile(
            m.w, 0.3, dim=1), self.x())
        self.check(lambda m, x, b: m.w[torch.searchsorted(b, x, right=True)], self.x(3, 4), torch.tensor([-1.0, 0, 1]))
        self.check(lambda m, x: torch.masked_scatter(m.w, x > 0.5, x * m.w), self.x())
        torch._dynamo.reset()
        run = torch.compile(lambda x, y: x.masked_scatter(x < 9, y), backend="remat", dynamic=False)
        with self.assertRaisesRegex(remat.RunError, "a mask holds at more places than the 5 of the source"):
            run(self.x(2, 4), self.x(5))
        self.check(lambda m, x, i: m.w[torch.searchsorted(x.flip(0), 1, sorter=i)], torch.arange(6.0),
                   torch.arange(5, -1, -1))
        self.check(lambda m, x: m.w.median() + torch.where(x > 0.5, float("nan"), m.w).nanmedian(1).values +
                   torch.where(x > 0.5, float("nan"), m.w).nanmedian(), self.x())
        self.check(lambda m, x: m.w.mode(0).values + torch.where(x > 0, 1.0, m.w).mode(1).values, self.x())

    def test_distances(self):
        for p in (1.0, 1.5, 2.0, 3.0, float("inf")):
            self.check(lambda m, x: torch.cdist(x, m.w, p) + torch.cdist(m.w, m.w, p)[:5], self.x(5, 6))

    def test_special_functions(self):
        self.check(lambda m, x: torch.lgamma(m.w.abs() + 1) * torch.digamma(x.abs() + 3) + torch.erfinv(
            m.w.tanh() * 0.9), self.x())
        for function in (torch.special.i0, torch.special.i0e, torch.special.i1, torch.special.i1e, torch.special.erfcx,
                         torch.special.log_ndtr, torch.digamma):
            self.check(lambda m, x: function(m.w * 4) * x, self.x())
        for order in range(4):
            self.check(lambda m, x: torch.polygamma(order, m.w.abs() + 0.1) + torch.polygamma(order, x * 3), self.x())
        self.check(lambda m, x: m.w * torch.special.zeta(x.abs() + 1.5, x.abs() + 0.2), self.x())

    def test_fake_quantization(self):
        """Its derivative is that of the identity within the range. Multiples of 1/2 are exact in both types."""
        x = torch.randint(-9, 9, (6, 6)) / 2
        self.check(lambda m, x: torch.fake_quantize_per_tensor_affine(x, 0.25, 3, -8, 7) * m.w, x)
        self.check(lambda m, x: torch.fake_quantize_per_tensor_affine(x + 0 * m.w, 0.25, 3, -8, 7) * m.w, x)

    def test_bfloat16(self):
        # Two roundings of 2^-9 each, of sums of six products.
        self.check(lambda m, x: torch.softmax((x @ m.w).bfloat16(), -1).float(), self.x(), factor=20, floor=1e-2)


@needs_torch
class OptionTest(unittest.TestCase):
    def test_batches_of_cotangents(self):
        w = torch.randn(3, requires_grad=True)
        y = torch.compile(lambda w: w.sin(), backend="remat")(w)
        with self.assertRaisesRegex(remat.ArgumentError, "a compiled step was called by a transformation of torch"):
            torch.autograd.grad(y, w, torch.eye(3), is_grads_batched=True)

    def test_options_of_others(self):
        for name, value in (("microbatches", 2), ("differentiate", True), ("separate_backward", False),
                            ("narrow", "bf16")):
            torch._dynamo.reset()
            with self.assertRaisesRegex(Exception, "option '%s' is not one of torch.compile" % name):
                torch.compile(torch.sin, backend="remat", options={name: value})(torch.ones(2))


@needs_torch
class SecondDerivativeTest(unittest.TestCase):
    def test_tangents_of_gradients(self):
        """Also where there is none: there they are those of torch.func.jvp, not those of the gradient of a gradient."""
        at = torch.tensor([0.0, 1.0, 2.0, 0.0], dtype=torch.float64)
        other = torch.tensor([0.0, 2.0, 0.0, 3.0], dtype=torch.float64)
        ones = torch.ones_like(at)
        for function in (torch.atan2, torch.logaddexp):
            step = remat.compile(rt.export(function, (at, other)).text, wrt=[0, 1], cotangents=True, tangents=True)
            found = step(at, other, ones, ones, ones)
            slopes = torch.func.grad(lambda *args: function(*args).sum(), (0, 1))
            expected = torch.func.jvp(slopes, (at, other), (ones, ones))[1]
            for mine, theirs in zip(found[-2:], expected):
                self.assertTrue(theirs.isfinite().all())
                torch.testing.assert_close(mine, theirs)


if __name__ == "__main__":
    unittest.main()

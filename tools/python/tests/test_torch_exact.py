"""Operations of PyTorch without gradients: results are PyTorch's own, bit by bit.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import math
import unittest

import remat
from common import needs_torch, rt, torch

if torch is not None:
    import torch.nn as nn
    import torch.nn.functional as F


@needs_torch
class ExactTest(unittest.TestCase):
    def run_compiled(self, function, *args):
        torch._dynamo.reset()
        return torch.compile(function, backend="remat", dynamic=False, options={"fallback": False})(*args)

    def check(self, function, *args):
        torch.testing.assert_close(self.run_compiled(function, *args), function(*args), rtol=0, atol=0, equal_nan=True)

    def test_integer_division(self):
        divisions = [lambda a, b: torch.div(a, b, rounding_mode="trunc"), lambda a, b: a // b, lambda a, b: a % b,
                     lambda a, b: torch.div(a, b, rounding_mode="floor"), torch.fmod]
        for dtype in (torch.int64, torch.int8, torch.uint8):
            info = torch.iinfo(dtype)
            a = torch.tensor([5, 7, 0, info.max, info.min, 3], dtype=dtype)
            b = torch.tensor([2, 3, info.max, 3, 5, -2 if info.min else 200], dtype=dtype)
            self.check(lambda a, b: [f(a, b) for f in divisions] + [f(a, 3) for f in divisions], a, b)
            for divide in divisions:
                with self.assertRaisesRegex(remat.RunError, "ZeroDivisionError"):
                    self.run_compiled(divide, a, b * 0)
        # The least number has no opposite; PyTorch itself ends the process here.
        least = torch.tensor([-2 ** 63], dtype=torch.int64)
        found = self.run_compiled(lambda a, b: [f(a, b) for f in divisions], least, torch.tensor([-1]))
        self.assertEqual([x.item() for x in found], [-2 ** 63, -2 ** 63, 0, -2 ** 63, 0])

    def test_forms_of_operations(self):
        x = torch.randn(4, 6) * 50
        self.check(lambda x: (torch.round(x, decimals=2), torch.round(x, decimals=-1), torch.round(x)), x)
        self.check(lambda x: (torch.ops.aten.rsub.Scalar(x, 2, 4), torch.ops.aten.sub.Scalar(x, 2, 4),
                              torch.rsub(x, 2, alpha=4)), x)
        self.check(lambda x: (x.view(torch.int32), x.half().view(torch.bfloat16), x.int().to(torch.uint8).view(
            torch.int8)), x.abs())
        a, b = torch.randn(3, 4).bfloat16(), torch.randn(4, 5).bfloat16()
        product = torch.mm(a.float(), b.float())
        for run in (lambda a, b: torch.mm(a, b, out_dtype=torch.float32),
                    lambda a, b: torch.bmm(a[None], b[None], out_dtype=torch.float32)[0],
                    lambda a, b: torch.addmm(torch.zeros(5), a, b, out_dtype=torch.float32, beta=2)):
            torch.testing.assert_close(self.run_compiled(run, a, b), product)

    def test_bits_of_other_types(self):
        x = torch.randn(2, 6)
        whole = torch.tensor([2 ** 31 - 1, -2 ** 31, 5, -7], dtype=torch.int32)
        for dtype in (torch.uint8, torch.int16, torch.int32, torch.int64, torch.float64, torch.complex64):
            self.check(lambda x: x.view(dtype), x)
            self.check(lambda x: x.view(dtype), whole)
        for dtype in (torch.uint8, torch.float32, torch.int64, torch.float64):
            self.check(lambda x: x.view(dtype), torch.randn(3, 2, dtype=torch.complex64))
        self.check(lambda x: x.view(torch.uint8), torch.tensor([True, False]))
        special = torch.tensor([0.0, -0.0, 1.0, -3.5, 5e-324, 1e308, math.inf, -math.inf, math.nan],
                               dtype=torch.float64)
        self.check(lambda x: tuple(torch.frexp(x)), special)
        for dtype in (torch.float32, torch.float64):
            self.check(lambda x: torch.nextafter(x, x.flip(0)), special.to(dtype))

    def test_results_that_are_views_of_inputs(self):
        """They share memory, with and without gradients, also where PyTorch has several views of one operation."""
        for requires_grad in (False, True):
            x = torch.randn(4, 3, requires_grad=requires_grad)
            torch._dynamo.reset()
            run = torch.compile(lambda x: (*x.chunk(2), x.unbind(1)[0], x * 2, x.chunk(2)[1].t()), backend=rt.backend,
                                options={"threads": 1})
            results = run(x)
            expected = (*x.chunk(2), x.unbind(1)[0], x * 2, x.chunk(2)[1].t())
            for number, (found, wanted) in enumerate(zip(results, expected)):
                torch.testing.assert_close(found, wanted)
                self.assertEqual(found.stride(), wanted.stride())
                self.assertEqual(found.data_ptr() == wanted.data_ptr(), number != 3)
            if requires_grad:
                sum(r.sum() for r in results).backward()
                gradient, x.grad = x.grad, None
                sum(r.sum() for r in expected).backward()
                torch.testing.assert_close(gradient, x.grad)

        # No view, though there is nothing to compute.
        x = torch.randn(2, 1, 3)
        self.assertNotEqual(self.run_compiled(
            lambda x: torch.cummax(x.transpose(0, 2), 1)[0], x).data_ptr(), x.data_ptr())

    def test_ordered_results_of_the_forward_call(self):
        """One that no gradient comes to is made by the forward call, in the order that it has in PyTorch."""
        def function(x):
            y = x.exp()
            return y.cumsum(-1), y.t() > 1

        x = torch.randn(2, 3, dtype=torch.float64, requires_grad=True)
        torch._dynamo.reset()
        results = torch.compile(function, backend=rt.backend, options={"threads": 1})(x)
        for found, wanted in zip(results, function(x)):
            torch.testing.assert_close(found, wanted)
            self.assertEqual(found.stride(), wanted.stride())

    def test_order_of_what_is_decomposed(self):
        """Results have the order that PyTorch gives them, and what follows in the graph may rely on it."""
        x = torch.randn(2, 3, 4)
        for x in (x.transpose(0, 2).contiguous().transpose(0, 2), x.transpose(1, 2).contiguous().transpose(1, 2)):
            for function in (lambda x: torch.kthvalue(x, 2, 1), lambda x: torch.cummax(x, 1),
                             lambda x: torch.cummin(x, 0),
                             lambda x: (torch.diag_embed(x),), lambda x: torch.median(x, 0)):
                torch._dynamo.reset()
                results = torch.compile(function, backend=rt.backend, options={"threads": 1})(x)
                for found, wanted in zip(results, function(x)):
                    torch.testing.assert_close(found, wanted)
                    self.assertEqual(found.stride(), wanted.stride())
            self.check(lambda x: torch.kthvalue(x, 2, 0)[0].view(-1) + torch.cummax(x, 0)[0].view(24)[:12], x)

    def test_reductions_of_nothing(self):
        for dtype in (torch.int64, torch.bool, torch.float32):
            self.check(lambda x: (F.pad(x, (1, 2)).prod(), F.pad(x, (1, 2)).prod(0), (x * 0).sum(0)),
                       torch.zeros(0, 3, dtype=dtype))
        self.check(lambda x: (F.adaptive_avg_pool2d(x, (0, 3)), F.adaptive_avg_pool1d(x[0, :, :0], 2)),
                   torch.ones(1, 2, 3, 4))

    def test_numbers_of_one_place(self):
        """Of sorted rows of one element. They are checked, and nothing else is made of them."""
        def function(x):
            y = x.index_copy(1, torch.tensor([0, 1]), x[:, 1:] + 1)
            return y, torch.sort(y, dim=-1, stable=True)[0]

        self.check(function, torch.ones(2, 3, 1, dtype=torch.int64))

    def test_sums_of_booleans(self):
        x, index = torch.tensor([True, True, False, False]), torch.tensor([0, 1, 1, 1])
        source = torch.tensor([True, True, True, False])
        self.check(lambda x: x.scatter_add(0, index, source), x)
        self.check(lambda x: x.index_add(0, index, source), x)
        self.check(lambda x: x.index_put((index,), source, accumulate=True), x)

    def test_digamma_of_zero(self):
        self.check(lambda x: torch.digamma(x), torch.tensor([0.0, -0.0]))

    def test_what_is_not_finite_stays_where_it_is(self):
        x = torch.arange(24.0).view(1, 4, 6)
        x[0, 1, 1], x[0, 3, 5] = math.inf, math.nan
        self.check(lambda x: F.adaptive_avg_pool2d(x, (2, 3)), x)
        self.check(lambda x: F.interpolate(x[None], scale_factor=2), x)
        self.check(lambda x: F.adaptive_avg_pool2d(x, (3, 4)), x)
        self.check(lambda x: F.interpolate(x[None], size=(3, 5), mode="area"), x)
        wide = torch.arange(160.0).view(1, 2, 80).index_fill(2, torch.tensor([3]), math.inf)
        for function, given in (
                (lambda x: F.adaptive_avg_pool1d(x, 3), wide),
                (lambda x: F.interpolate(x[None], size=(5, 9), mode="bilinear", antialias=True), x),
                (lambda x: F.interpolate(x[None], size=(5, 9), mode="bicubic", antialias=True), x),
                (lambda x: F.interpolate(x[None], size=(2, 3), mode="bicubic", antialias=True), wide)):
            torch.testing.assert_close(self.run_compiled(function, given), function(given), equal_nan=True)

    def test_resampling_of_bytes(self):
        """PyTorch computes in integers, and rounds between the axes."""
        x = torch.randint(0, 256, (1, 2, 7, 19), dtype=torch.uint8)
        for size in ((3, 4), (13, 5), (6, 40), (1, 1)):
            for mode in ("bilinear", "bicubic"):
                for antialias in (False, True):
                    self.check(lambda x: F.interpolate(x, size=size, mode=mode, antialias=antialias), x)

    def test_fake_quantization_of_nan(self):
        """NaN is the lowest number, whose derivative is 0."""
        x = torch.tensor([[math.nan, math.inf, -math.inf, 1e20, 0.33, -0.9]])
        scale, zero_point = torch.tensor([0.1]), torch.tensor([1], dtype=torch.int32)
        self.check(lambda x: torch.fake_quantize_per_tensor_affine(x, 0.1, 1, -8, 7), x)
        self.check(lambda x: torch.fake_quantize_per_tensor_affine(x, scale[0], zero_point[0], -8, 7), x)
        self.check(lambda x: torch.fake_quantize_per_channel_affine(x[:, ::5], scale, zero_point, 0, -8, 7), x)

    def test_places_among_numbers_of_which_the_last_are_nan(self):
        ordered = torch.tensor([0.5, 0.75, 1.5, math.inf, math.inf, math.inf, math.nan, math.nan])
        x = torch.tensor([[0.0, 0.75, 6.0, math.nan, 1.5]])
        for right in (False, True):
            self.check(lambda x: torch.searchsorted(ordered, x, right=right), x)
        self.check(lambda x: torch.searchsorted(ordered[:0], x), x)

    def test_scatters_to_a_part_of_the_lines(self):
        index = torch.tensor([[0, 1, 1, 5], [3, 3, 3, 0]])
        for reduce in ("amax", "amin", "prod"):
            for include_self in (True, False):
                self.check(lambda x, y: x.scatter_reduce(1, index, y, reduce, include_self=include_self),
                           torch.randint(-3, 4, (4, 6)).float(), torch.randint(-3, 4, (3, 4)).float())

    def test_fake_quantization_of_other_types(self):
        """Not one number is rounded to another multiple of the scale."""
        scale, zero_point = torch.tensor([0.1, 0.03]), torch.tensor([1, 0], dtype=torch.int32)
        for dtype in (torch.bfloat16, torch.float16, torch.float64):
            x = (2 * torch.randn(2, 500)).to(dtype)
            for quantize in (lambda x: torch.fake_quantize_per_tensor_affine(x, 0.1, 3, -128, 127),
                             lambda x: torch.fake_quantize_per_channel_affine(x, scale, zero_point, 0, -8, 7)):
                torch._dynamo.reset()
                self.assertTrue(torch.equal(torch.compile(quantize, backend="remat")(x), quantize(x)))

    def test_samples_of_narrow_numbers(self):
        """Places in an image are integers that the type of its elements does not have."""
        for shape, grid in ((1, 2, 40, 60), (1, 3, 3, 2)), ((1, 1, 9, 20, 20), (1, 2, 3, 3, 3)):
            x, grid = torch.randn(shape), 2 * torch.rand(grid) - 1
            function = lambda x, grid: torch.autograd.grad((F.grid_sample(x, grid, align_corners=True) ** 2).sum(),
                                                           x)[0]
            for dtype in (torch.bfloat16, torch.float16):
                x, grid = x.to(dtype).requires_grad_(), grid.to(dtype)
                torch._dynamo.reset()
                y = torch.compile(lambda x, grid: F.grid_sample(x, grid, align_corners=True), backend="remat")(x, grid)
                found, = torch.autograd.grad((y ** 2).sum(), x)
                exact = function(x.detach().double().requires_grad_(), grid.double())
                self.assertLess((found - exact).norm(), 0.02 * exact.norm())

    def test_scattered_sums_of_narrow_numbers(self):
        """They are rounded once, so there are more of a group than the type has integers."""
        x, index = torch.rand(1000).bfloat16(), torch.arange(1000) % 3
        for function in (lambda x: x.new_zeros(3).scatter_add(0, index, x),
                         lambda x: x.new_zeros(3).scatter_reduce(0, index, x, "mean")):
            exact_x = x.double().requires_grad_()
            x.requires_grad_()
            y, exact = self.run_compiled(function, x), function(exact_x)
            torch.testing.assert_close(y.double(), exact, rtol=2 ** -7, atol=0)
            found, exact = torch.autograd.grad(y.sum(), x)[0], torch.autograd.grad(exact.sum(), exact_x)[0]
            torch.testing.assert_close(found.double(), exact, rtol=2 ** -7, atol=0)
            x.requires_grad_(False)

    def test_polygamma_of_narrow_numbers(self):
        x = torch.tensor([-2.05, -0.9, -0.06, 0.01, 0.33, 3.0])
        for dtype in (torch.bfloat16, torch.float16):
            for order in (0, 1, 2):
                function = lambda x: torch.polygamma(order, x)
                torch.testing.assert_close(self.run_compiled(function, x.to(dtype)), function(x.to(dtype)))

    def test_bounds_that_a_type_has_not(self):
        for dtype in (torch.uint8, torch.int8, torch.int16):
            x = torch.tensor([0, 1, 5, 127, 3], dtype=dtype)
            self.check(lambda x: (x.clamp(-1, 2), x.clamp(min=-1), x.clamp(max=300), x.clamp(-200, 300)), x)

    def test_forms_with_numbers(self):
        """Numbers that a type cannot hold, scatters of one number to a row, angles of integers, and complex numbers."""
        self.check(lambda x: x + 2 ** 40, torch.tensor([1, -3], dtype=torch.int8))
        for reduce in ("sum", "mean", "amax"):
            self.check(lambda x: x.scatter_reduce(0, (x[0] > 9).long(), x[1], reduce, include_self=False),
                       torch.tensor([1.0, 2.0, 3.0]))
        self.check(lambda x: x.angle(), torch.tensor([-2, 0, 3]))
        self.check(lambda x: x.isinf(), torch.tensor([complex(1, math.inf), complex(-math.inf, 1), 2j]))
        self.check(lambda x: x.t().as_strided((2,), (2,), 1), torch.randn(3, 2))

    def test_unknown_forms_are_refused(self):
        x = torch.randn(4, 6)
        for run, argument, message in (
                (lambda x: F.avg_pool2d(x, 2), torch.arange(16).view(1, 4, 4), None),
                (lambda x: torch.as_strided_scatter(x, torch.zeros(3), (3,), (2,), 8), x[1:], "part of another one"),
                (lambda x: x ** 5.5, torch.arange(3), None),
                (lambda x: torch.randint_like(x, torch.tensor(5)), x,
                 r"aten.randint_like.Tensor: this form of it is not supported \(float32\[4, 6\]")):
            if message is None:
                self.check(run, argument)
                continue
            with self.assertRaisesRegex(Exception, "ExportError: .*test_torch_exact.py:.*" + message):
                self.run_compiled(run, argument)

    def test_tensors_that_are_not_dense_are_refused(self):
        rows = torch.nested.nested_tensor([torch.randn(2, 6), torch.randn(3, 6)], layout=torch.jagged)
        message = "is a nested tensor, expected a dense one; pad it by torch.nested.to_padded_tensor"
        with self.assertRaisesRegex(Exception, "ExportError: the input .*" + message):
            self.run_compiled(lambda x: torch.sin(x), rows)
        with self.assertRaisesRegex(remat.ExportError, message):
            rt.export(nn.Linear(6, 4), (rows,))
        with self.assertRaisesRegex(remat.ExportError, "sparse tensors are not supported, as .* leave out 'sparse'"):
            rt.export(nn.Embedding(5, 3, sparse=True), (torch.tensor([1, 2]),))

    def test_shapes_that_depend_on_data(self):
        """PyTorch computes these itself, unless that is refused."""
        def run(x):
            return torch.masked_select(x, x > 0).sum()

        x, whole = torch.randn(4, 6, requires_grad=True), {"fullgraph": True, "options": {"fallback": False}}
        for options in ({}, {"fullgraph": True}):
            torch._dynamo.reset()
            x.grad = None
            torch.compile(run, backend="remat", **options)(x).backward()
            torch.testing.assert_close(x.grad, (x > 0).to(x.dtype))
        message = r"test_torch_exact.py:\d+: masked_select: the shape of what it gives depends on the data"
        torch._dynamo.reset()
        with self.assertRaisesRegex(Exception, message):
            torch.compile(run, backend="remat", **whole)(x)
        with self.assertRaisesRegex(remat.ExportError, message):
            rt.export(run, (x,))
        message = message.replace("masked_select", "getitem")
        torch._dynamo.reset()
        with self.assertRaisesRegex(Exception, message):
            torch.compile(lambda x: x[x > 0], backend="remat", **whole)(x)

    def test_fake_quantization(self):
        x, scale = torch.randn(4, 6), torch.tensor([0.1, 0.3, 0.2, 0.5, 0.4, 0.7])
        places, is_on = torch.tensor([0, 1, -1, 2, 0, 0], dtype=torch.int32), torch.tensor([1])
        quantize = torch.ops.aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams
        self.check(lambda x: torch.ops.aten.fake_quantize_per_tensor_affine_cachemask(x, 0.1, 3, -8, 7), x)
        self.check(lambda x, s, z: torch.ops.aten.fake_quantize_per_channel_affine_cachemask(x, s, z, 1, -8, 7), x,
                   scale, places)
        for enabled in (is_on, 0 * is_on):
            self.check(lambda x, s, z, e: quantize(x, s, z, e, -8, 7), x, scale[:1], places[1:2], enabled)
        self.check(lambda a, b: torch._int_mm(a, b), torch.randint(-128, 127, (17, 8)).to(torch.int8),
                   torch.randint(-128, 127, (8, 8)).to(torch.int8))

    def test_numbers_of_elements(self):
        x = torch.tensor([[0.0, 2, 0, 3], [1, 0, 0, 4]])
        self.check(lambda x: [torch.nonzero_static(x, size=size, fill_value=7) for size in (0, 3, 9)], x)
        self.check(lambda x: torch.nonzero_static(x, size=3), x[0])
        self.check(lambda x: torch.combinations(x[0]), x)

    def test_windows_of_signals(self):
        for window in (torch.hamming_window, torch.kaiser_window, torch.bartlett_window, torch.blackman_window,
                       torch.hann_window):
            for count, periodic in ((1, True), (6, True), (7, False)):
                found, expected = (run(x := torch.ones(()), window) for run in (
                    lambda x, w: self.run_compiled(lambda x: x * w(count, periodic, dtype=torch.float64), x),
                    lambda x, w: x * w(count, periodic, dtype=torch.float64)))
                torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-15)
        found = self.run_compiled(lambda x: x * torch.hamming_window(5, True, 0.5, 0.5), torch.ones(()))
        torch.testing.assert_close(found, torch.hamming_window(5, True, 0.5, 0.5))

    def test_multinomial_draws(self):
        weights = torch.tensor([[0.0, 1, 2, 5, 0, 0], [3, 0, 0, 0, 0, 1]])
        for count, replacement in ((1, False), (2, False), (4000, True)):
            rows = weights.repeat(1 if replacement else 4000, 1)
            found = self.run_compiled(lambda w: torch.multinomial(w, count, replacement), rows)
            self.assertEqual((found.shape, found.dtype), ((rows.shape[0], count), torch.int64))
            if count == 2:
                self.assertTrue((found[:, 0] != found[:, 1]).all())
            drawn = found.view(2, -1) if replacement else found.view(-1, 2, count)[..., 0].t()
            shares = torch.stack([drawn == i for i in range(6)], -1).float().mean(1)
            expected = weights / weights.sum(1, keepdim=True)
            self.assertTrue((shares[expected == 0] == 0).all())
            torch.testing.assert_close(shares, expected, atol=0.04, rtol=0)
        self.assertEqual(self.run_compiled(lambda w: torch.multinomial(w, 3), weights[0]).sort().values.tolist(),
                         [1, 2, 3])
        for wrong in (weights * 0, -weights, weights * float("nan")):
            with self.assertRaisesRegex(remat.RunError, "multinomial: weights must be finite"):
                self.run_compiled(lambda w: torch.multinomial(w, 1), wrong)

    def test_scans_of_any_length(self):
        """Of one block, of whole ones, of parts, and of blocks of blocks; whole numbers have exact sums."""
        for length in (1, 7, 8, 9, 64, 67, 513):
            with self.subTest(length=length):
                x = (torch.randn(3, length) * 4).round()
                x[:, length // 3] = float("-inf")
                signs = torch.where(x > 0, 1.0, -1.0)
                self.check(lambda x, signs: (x.cumsum(1), x.t().cumsum(0), signs.cumprod(1), *torch.cummax(x, 1),
                                             *torch.cummin(x, 1)), x, signs)

    def test_order_with_nan(self):
        x = torch.tensor([[1.0, 3, float("nan"), 5], [2, 2, 1, 2], [4, 3, 3, 0]])
        self.check(lambda x: (*torch.cummax(x, 1), *torch.cummin(x, 0), *torch.median(x, 1), *x.kthvalue(3, 0),
                              x.median(), x.nanmedian(), x.nanmedian(0).values), x)
        self.check(lambda x, v: (torch.searchsorted(x, v), torch.searchsorted(x, v, right=True)),
                   torch.tensor([-1.0, 0, 0, 2]), torch.tensor([0.0, float("nan"), -5, 9]))

    def test_sorts_of_any_length(self):
        generator = torch.Generator().manual_seed(0)
        for dtype in (torch.float32, torch.bfloat16, torch.float64, torch.int64, torch.uint8, torch.bool):
            for length in (65, 300, 9001):
                high = 2 if dtype == torch.bool else 200
                x = torch.randint(0, high, (2, length), generator=generator).to(dtype)
                if dtype == torch.int64:
                    x = x * 2**40 - 2**46 + x % 3  # More bits than one pass sorts.
                self.check(lambda x: (*torch.sort(x, stable=True), *torch.sort(x, stable=True, descending=True),
                                      *(() if dtype == torch.bool else (torch.topk(x, 20).values,))), x)
        self.check(lambda x: (x.median(1).values, x.kthvalue(7000, 1).values), torch.randn(2, 9001))

    def test_infinite_sums(self):
        inf = float("inf")
        self.check(lambda x: torch.logcumsumexp(torch.stack([x, torch.tensor([-inf, -inf, inf, 1.0])]), 1),
                   torch.tensor([1.0, inf, inf, -inf]))

    def test_means_of_integers_are_rounded_down(self):
        index = torch.tensor([[0, 0, 1], [1, 1, 1]])
        for dtype in (torch.int64, torch.int8):
            for include_self in (True, False):
                self.check(lambda x: (x.scatter_reduce(1, index, x, "mean", include_self=include_self),
                                      x.index_reduce(0, index[0, :2], x, "mean", include_self=include_self)),
                           torch.tensor([[-5, 7, -2], [3, -8, 1]], dtype=dtype))

    def test_variance_of_one_number(self):
        for number in (2.0, float("inf"), float("nan")):
            self.check(lambda x: (x.var(0, unbiased=False), x.std(), *torch.var_mean(x, correction=0)),
                       torch.tensor(number))

    def test_windows_of_the_least_number(self):
        x = torch.randn(2, 3, 9, 9)
        x[0, 0, :4, :4] = x[1] = -float("inf")
        for options in (dict(kernel_size=2), dict(kernel_size=3, stride=2, padding=1),
                        dict(kernel_size=3, stride=2, padding=1, dilation=2),
                        dict(kernel_size=2, stride=2, ceil_mode=True)):
            self.check(lambda x: F.max_pool2d(x, return_indices=True, **options), x)

    def test_integer_powers_and_shifts(self):
        a, b = torch.tensor([0, 1, -1, 2, 0, 3, -7]), torch.tensor([-1, -3, -3, -2, 0, 70, 33])
        self.check(lambda a, b: (torch.pow(a, b), a ** 7), a, b)
        self.check(lambda a, b: (a << b, a >> b), torch.tensor([5, -5, 1, 7]), torch.tensor([70, 65, -1, 2]))

    def test_numbers_that_narrow_integers_cannot_hold(self):
        for dtype in (torch.int8, torch.uint8, torch.int16):
            self.check(lambda x: x.to(dtype), torch.tensor([300.7, -200.2, 5.9, 70000.0, -1.5, 0.0]))
        matrices = torch.arange(32, dtype=torch.uint8).view(2, 4, 4)
        self.check(lambda a: torch.addbmm(a[0], a, a, beta=3, alpha=2), matrices)


if __name__ == "__main__":
    unittest.main()

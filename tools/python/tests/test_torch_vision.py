"""Operations of torchvision: gradients against f64, and torchvision's own results.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import unittest

import remat
from common import compare, needs_torch, rt, torch

try:
    import torchvision
except ImportError:
    torchvision = None

if torch is not None:
    import torch.nn as nn

    class Regions(nn.Module):
        """Some are in part beyond the image, one is empty."""

        def __init__(self, ratio):
            super().__init__()
            self.c, self.ratio = nn.Conv2d(3, 4, 3, padding=1), ratio

        def forward(self, x, boxes):
            h, align = self.c(x), torchvision.ops.roi_align
            return (align(h, boxes, 3, 0.5, self.ratio, aligned=True),
                    align(h, [boxes[:2, 1:] * 3 - 6], (2, 4), sampling_ratio=self.ratio))

    class Deformed(nn.Module):
        def __init__(self):
            super().__init__()
            convolution = torchvision.ops.DeformConv2d
            self.offset, self.mask = nn.Conv2d(4, 36, 3, 2, padding=1), nn.Conv2d(4, 18, 3, 2, padding=1)
            self.a, self.other_offset = convolution(4, 6, 3, 2, padding=1, groups=2), nn.Conv2d(4, 18, 3, padding=1)
            self.b = convolution(4, 4, 3, padding=2, dilation=2, bias=False)

        def forward(self, x):
            return self.a(x, self.offset(x) * 3, self.mask(x).sigmoid()), self.b(x, self.other_offset(x) * 2)


@needs_torch
@unittest.skipIf(torchvision is None, "torchvision is not installed")
class VisionTest(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)

    def test_regions(self):
        boxes = torch.tensor([[0.0, 0, 0, 8, 8], [0, 2, 3, 25, 9], [1, 4, 4, 4, 4], [1, -9, -9, 5, 30]])
        compare(self, Regions(2), (torch.randn(2, 3, 10, 12), boxes), factor=4.0)
        # As many samples as a bin has pixels.
        compare(self, Regions(-1), (torch.randn(2, 3, 10, 12), boxes), factor=4.0)

    def test_other_pools(self):
        """Results and gradients are torchvision's, with regions that are in part beyond the image, empty or inverted,
        and pixels that are equal. The gradient of ps_roi_pool counts pixels of the last row and column in torchvision,
        which the result has not; no region is there."""
        ops = torchvision.ops
        inside = torch.tensor([[0, 1.3, 2.7, 9.1, 6.2], [1, 0.5, 1.5, 6.5, 7.5], [0, 5, 5, 2, 2]])
        some = torch.tensor([[0.0, 0, 0, 8, 8], [0, 2, 3, 25, 9], [1, 4, 4, 4, 4], [1, -9, -9, 5, 30],
                             [0, 3, 3, 3.2, 7.1], [1, -100, -100, 100, 200], [0, 5, 5, 2, 2]])
        pools = [("roi_pool", some, lambda x, boxes: ops.roi_pool(x.round(decimals=1), boxes, (2, 3), 0.7) + x.sum()),
                 ("ps_roi_pool", inside, lambda x, boxes: ops.ps_roi_pool(x, boxes, (2, 3), 1.0)),
                 ("ps_roi_align", some, lambda x, boxes: ops.ps_roi_align(x, boxes, (2, 3), 0.7, 2)),
                 ("ps_roi_align without samples", some, lambda x, boxes: ops.ps_roi_align(x, boxes, (2, 3), 0.7, -1)),
                 ("roi_align", some, lambda x, boxes: ops.roi_align(x, boxes, (2, 3), 0.3, 0, aligned=True))]
        images = torch.randn(2, 12, 10, 12, dtype=torch.float64)
        for name, boxes, pool in pools:
            with self.subTest(name):
                found = []
                torch._dynamo.reset()
                for run in (torch.compile(pool, backend=rt.backend, options={"threads": 1}), pool):
                    x = images.clone().requires_grad_()
                    result = run(x, boxes.double())
                    (result.nan_to_num() * torch.arange(result.numel()).view(result.shape).cos()).sum().backward()
                    found.append((result.detach(), x.grad))
                torch.testing.assert_close(found[0], found[1], rtol=1e-9, atol=1e-9, equal_nan=True)

    def test_deformable_convolutions(self):
        compare(self, Deformed(), (torch.randn(2, 4, 7, 6),), factor=4.0)

    def test_narrow_types(self):
        """Places are those that f32 has, in images of more pixels than f16 and bf16 have integers."""
        ops = torchvision.ops
        boxes = torch.tensor([[0, 150.25, 201.5, 290, 280], [0, 3, 260.75, 250, 305]])
        offset, weight = torch.randn(1, 18, 6, 40) * 3, torch.randn(2, 4, 3, 3)
        large, long = torch.randn(1, 4, 300, 310), torch.randn(1, 4, 6, 320)
        pools = [(lambda x, boxes: ops.roi_align(x, boxes, (2, 3), 0.9, 2), large, boxes),
                 (lambda x, boxes: ops.roi_align(x, boxes, (2, 3), 0.9, 0), large, boxes),
                 (lambda x, boxes: ops.ps_roi_align(x, boxes, 2, 0.9, 2), large, boxes),
                 (lambda x, boxes: ops.roi_pool(x, boxes, (2, 3), 0.9), large, boxes),
                 (lambda x, boxes: ops.ps_roi_pool(x, boxes, 2, 0.9), large, boxes),
                 (lambda x, offset, w: ops.deform_conv2d(x, offset, w, stride=(1, 8), padding=1), long, offset, weight)]
        for dtype, error in ((torch.bfloat16, 4e-3), (torch.float16, 5e-4)):
            for number, (pool, *given) in enumerate(pools):
                with self.subTest(dtype=dtype, number=number):
                    torch._dynamo.reset()
                    narrow = [x.to(dtype).requires_grad_(i == 0) for i, x in enumerate(given)]
                    exact = [x.detach().double().requires_grad_(i == 0) for i, x in enumerate(narrow)]
                    found = torch.compile(pool, backend=rt.backend, options={"threads": 1})(*narrow)
                    expected = pool(*exact)
                    self.assertEqual(found.dtype, dtype)
                    cotangent = torch.randn_like(expected).to(dtype)
                    found.backward(cotangent)
                    expected.backward(cotangent.double())
                    for a, b in ((found, expected), (narrow[0].grad, exact[0].grad)):
                        self.assertLess(((a - b).norm() / b.norm()).item(), error)

    def test_exports(self):
        model, x = Deformed(), torch.randn(2, 4, 7, 6)
        loss = lambda outputs: outputs[0].pow(2).sum() + outputs[1].sum()
        found, gradients = remat.compile(rt.export(model, (x,), loss=loss))(None, x)
        expected = loss(model(x))
        expected.backward()
        torch.testing.assert_close(found, expected.detach(), rtol=1e-4, atol=1e-4)
        for name, parameter in model.named_parameters():
            torch.testing.assert_close(gradients[name], parameter.grad, rtol=1e-3, atol=1e-3)


if __name__ == "__main__":
    unittest.main()

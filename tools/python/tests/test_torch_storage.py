"""Tensors of types that are moved and converted only: the bytes of PyTorch.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import unittest

import remat
from common import needs_torch, rt, torch

if torch is not None:
    import torch.nn as nn

    NARROW = (torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz)

    class Simulated(nn.Module):
        """Layers whose weights and inputs are rounded to eight bits, as in training that simulates them."""

        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Linear(6, 8), nn.Linear(8, 3)
            self.register_buffer("scales", torch.rand(8).to(torch.float8_e5m2))

        def forward(self, x):
            x = x.to(torch.float8_e4m3fn).to(x.dtype) * self.scales.to(x.dtype).sum()
            weight = self.first.weight.to(torch.float8_e4m3fn).to(x.dtype)
            return self.second(torch.relu(nn.functional.linear(x, weight, self.first.bias)).to(
                torch.float8_e5m2).to(x.dtype)).square().sum()


def raw(tensor):
    return tensor.contiguous().view(torch.uint8)


@needs_torch
class StorageTest(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        torch._dynamo.reset()

    def check(self, function, *args):
        found = torch.compile(function, backend="remat", fullgraph=True)(*args)
        for own, result in zip(function(*args), found):
            self.assertEqual((own.dtype, own.shape, own.stride()), (result.dtype, result.shape, result.stride()))
            same = raw(own) == raw(result)
            if own.dtype.is_floating_point:  # NaNs have many bytes.
                both = (own.float().isnan() & result.float().isnan()).contiguous().unsqueeze(-1)
                same = same.view(*own.shape, -1) | both
            self.assertTrue(bool(same.all()), (own, result))

    def test_all_numbers_of_eight_bits(self):
        numbers = torch.arange(-2 ** 15, 2 ** 15, dtype=torch.int32).to(torch.int16).view(torch.bfloat16)
        wide = numbers.float()
        wide = torch.cat([wide, wide * (1 + 2 ** -9), torch.randn(5000) * torch.randn(5000).exp()])
        for dtype in NARROW:
            torch._dynamo.reset()
            every = torch.arange(256, dtype=torch.int32).to(torch.uint8).view(dtype)
            self.check(lambda x, y, q: (x.to(dtype), y.to(dtype), y.double().to(dtype), q.float(), q.half(),
                                        q.bfloat16(), q.double(), q.bool()), numbers, wide, every)

    def test_moves(self):
        for dtype in NARROW:
            torch._dynamo.reset()
            q = torch.randn(4, 6).to(dtype)
            self.check(lambda q, i: (q.t(), q[1:, ::2], torch.cat([q, q]), q[i], q.view(torch.uint8), q.reshape(3, 8),
                                     q.view(torch.int16), q.t().contiguous(), torch.zeros_like(q), q.long()),
                       q, torch.tensor([2, 0]))

    def test_unsigned_integers(self):
        for dtype in (torch.uint16, torch.uint32, torch.uint64):
            torch._dynamo.reset()
            u = torch.tensor([0, 1, 300, 2 ** 15, -1, -7]).to(torch.int64).view(torch.uint64).to(dtype)
            self.check(lambda u, x, i: (u.to(torch.float32), u.double(), u.long(), u.to(torch.int32), x.to(dtype),
                                        i.to(dtype), u.to(torch.uint8), u.bool(), torch.cat([u, u]), u[i[:2]],
                                        u.view(torch.uint8), u.view(2, 3).t(), u.bfloat16()),
                       u, torch.tensor([0.0, 1.5, 40000.25]), torch.tensor([1, 5, 3]))

    def test_a_constant(self):
        q = torch.tensor([1.5, -448.0]).to(torch.float8_e4m3fn)
        u = torch.tensor([-1, 5]).view(torch.uint64)
        self.check(lambda x: (x * q.float(), x * u.double()), torch.tensor([2.0, 3.0]))

    def test_training(self):
        model, x = Simulated(), torch.randn(5, 6)
        own = Simulated()
        own.load_state_dict(model.state_dict())
        torch.compile(model, backend="remat", options={"budget": "min"})(x).backward()
        own(x).backward()
        for found, parameter in zip(model.parameters(), own.parameters()):
            torch.testing.assert_close(found.grad, parameter.grad)

    def test_an_exported_program(self):
        model, x = Simulated(), torch.randn(5, 6)
        own = model(x)
        own.backward()
        loss, gradients = remat.compile(rt.export(model, (x,)))(None, x)
        torch.testing.assert_close(loss, own.detach())
        torch.testing.assert_close(gradients["first.weight"], model.first.weight.grad)
        u = torch.tensor([5, 65535]).to(torch.uint16)
        found = remat.compile(rt.export(lambda u: (u.to(torch.int64) + 1, u.flip(0)), (u,)))(None, u)[0]
        self.assertEqual([(r.dtype, r.tolist()) for r in found],
                         [(torch.int64, [6, 65536]), (torch.uint16, [65535, 5])])
        with self.assertRaisesRegex(remat.ExportError, "is of torch.float8_e5m2, which .* do not give"):
            rt.export(lambda x: x.to(torch.float8_e5m2), (torch.randn(3),))

    def test_refusal(self):
        for function, dtype in ((lambda u: u * 3, torch.uint16), (lambda u: u.sum(), torch.uint32)):
            with self.assertRaisesRegex(Exception, "torch.uint.* is supported as a type of storage.* convert .* int64"):
                torch.compile(function, backend="remat", options={"fallback": False})(torch.tensor([1, 2]).to(dtype))


if __name__ == "__main__":
    unittest.main()

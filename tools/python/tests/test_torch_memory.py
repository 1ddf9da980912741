"""What a step of torch.compile takes of PyTorch's allocator.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import unittest

from common import needs_torch, rt, torch

if torch is not None:
    import torch.nn as nn
    from remat.arrays import _view_dlpack, view
    from remat.torch.backend import TorchStep
    from remat.torch.placement import SpareMemory, spare_memory
    from torch.profiler import ProfilerActivity, profile


def allocated_peak(run):
    """The most that PyTorch's allocator had given at once while `run` ran, in bytes."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        run()
    live = peak = 0
    events = [e for e in profiler.profiler.kineto_results.events() if e.name() == "[memory]"]
    for event in sorted(events, key=lambda e: e.start_ns()):
        live += event.nbytes()
        peak = max(peak, live)
    return peak


@needs_torch
class MemoryTest(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        torch._dynamo.reset()
        rt.compiled_steps.clear()

    def test_gradients_come_and_go(self):
        """Two layers with gradients of 1 MiB, and outputs of 4 MiB, whose gradient the second layer alone reads. It is
        gone before the gradient of the first layer is made, so the three never are there together."""
        model = nn.Sequential(nn.Linear(512, 512, bias=False), nn.ReLU(), nn.Linear(512, 512, bias=False))
        compiled = torch.compile(model, backend="remat", dynamic=False, options={"threads": 1})
        x = torch.randn(2048, 512)

        factor = torch.randn(2048, 512)
        (compiled(x) * factor).sum().backward()
        step, = rt.compiled_steps
        model.zero_grad(set_to_none=True)
        loss = (compiled(x) * factor).sum()
        mebibyte = 1 << 20
        self.assertLess(allocated_peak(loss.backward), 5.5 * mebibyte)
        self.assertEqual(step.backward_count, 1)
        for parameter in model.parameters():
            self.assertEqual(parameter.grad.shape, (512, 512))

    def test_gradients_are_not_copied(self):
        """A gradient of 4 MiB that nothing else holds when the backward call ends becomes the parameter's, without
        another 4 MiB for a copy."""
        model = nn.Linear(1024, 1024, bias=False)
        compiled = torch.compile(model, backend="remat", dynamic=False, options={"threads": 1})
        x = torch.randn(4, 1024)
        compiled(x).sum().backward()
        model.zero_grad(set_to_none=True)
        loss = compiled(x).sum()
        self.assertLess(allocated_peak(loss.backward), 5 << 20)
        self.assertLess((model.weight.grad - x.sum(0)).abs().max(), 1e-5)

    def test_what_a_step_keeps_is_given_again(self):
        """A step keeps 8 MiB, the argument of a cosine, and gets the same memory for it each time. Two calls whose
        backward calls are still to come have memory of their own, and their gradients are right in either order."""
        layer = nn.Linear(64, 1024, bias=False)
        compiled = torch.compile(lambda x: layer(x).sin(), backend="remat", dynamic=False, options={"threads": 1})
        xs = [torch.randn(2048, 64) for _ in range(2)]
        compiled(xs[0]).sum().backward()
        spare = list(spare_memory.spare)
        self.assertEqual(sum(len(memory) >= 8 << 20 for memory in spare), 1)
        for order in (0, 1):
            losses = [compiled(x).sum() for x in xs]
            self.assertFalse(any(memory in spare_memory.spare for memory in spare))
            for number in (order, 1 - order):
                layer.zero_grad(set_to_none=True)
                losses[number].backward()
                expected = (xs[number] @ layer.weight.T).cos().T @ xs[number]
                self.assertLess((layer.weight.grad - expected).abs().max(), 1e-3)
            losses = None
        self.assertEqual(sum(len(memory) >= 8 << 20 for memory in spare_memory.spare), 2)

    def test_spare_memory_does_not_add_up(self):
        """What is too small for the next tensor is freed, so that memory of 5 and 9 MiB is never there together."""
        spare, mebibyte = SpareMemory(), 1 << 20
        small = spare.get(5 * mebibyte)
        small.fill_(1)
        del small
        self.assertEqual([len(memory) for memory in spare.spare], [5 * mebibyte])
        large = spare.get(9 * mebibyte)
        self.assertEqual(spare.spare, [])
        address = large.data_ptr()
        view = large[:10]
        del large
        self.assertEqual(spare.spare, [])
        del view
        self.assertEqual(spare.get(6 * mebibyte).data_ptr(), address)

    def test_a_gradient_that_others_hold(self):
        """It stays what it was."""
        layer = nn.Linear(8, 8)
        compiled = torch.compile(layer, backend="remat", dynamic=False)
        given = torch.randn(4, 8)
        kept = given.clone()
        x = torch.randn(4, 8)
        compiled(x).backward(given)
        self.assertTrue(torch.equal(given, kept))
        expected = given.T @ x
        self.assertLess((layer.weight.grad - expected).abs().max(), 1e-5)

    def test_an_error_while_memory_is_asked_for(self):
        """The call ends with it, and the next one is not affected."""
        layer = nn.Linear(8, 8)
        compiled = torch.compile(layer, backend="remat", dynamic=False)
        x = torch.randn(4, 8)
        compiled(x).sum().backward()
        new_result, given = TorchStep.new_result, []

        def fail(self, number):
            if given:
                raise MemoryError("no memory for result %d" % number)
            return new_result(self, number)

        loss = compiled(x).sum()
        given.append(True)
        TorchStep.new_result = fail
        try:
            with self.assertRaisesRegex(MemoryError, "no memory for result"):
                loss.backward()
        finally:
            TorchStep.new_result = new_result
        layer.zero_grad()
        compiled(x).sum().backward()
        self.assertLess((layer.weight.grad - x.sum(0)).abs().max(), 1e-5)

    def test_tensors_are_seen_as_by_dlpack(self):
        """PyTorch is asked for the memory of a tensor, since DLPack takes longer; both say the same."""
        matrix = torch.arange(12).view(3, 4)
        tensors = [matrix.to(dtype) for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16,
                                                  torch.bool, torch.int8, torch.uint8, torch.int16, torch.int32,
                                                  torch.int64, torch.complex64, torch.complex128)]
        tensors += [matrix[1:], matrix.t(), matrix[:, 1:2], matrix[:, :0], torch.tensor(1.5), matrix[:1].t(),
                    nn.Parameter(torch.ones(2))]
        for tensor in tensors:
            found, plain = view(tensor), tensor.detach()
            by_dlpack = _view_dlpack(plain, plain.__dlpack__())
            for name in ("address", "dtype", "shape", "contiguous", "device", "stream"):
                if name != "address" or tensor.numel():
                    self.assertEqual(getattr(found, name), getattr(by_dlpack, name), (name, tensor))
        for tensor in (torch.ones(2, dtype=torch.complex64).conj(), torch.ones(2, device="meta"),
                       torch.eye(2).to_sparse()):
            with self.assertRaises(Exception):
                view(tensor)


if __name__ == "__main__":
    unittest.main()

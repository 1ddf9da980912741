"""What a step of torch.compile takes of PyTorch's allocator.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import unittest
import unittest.mock

from common import compare, needs_torch, rt, torch

if torch is not None:
    import torch.nn as nn
    from remat.arrays import _view_dlpack, view
    from remat.torch.backend import CallEvents, TorchStep
    from remat.torch.placement import OnCpu, SpareMemory, spare_memory
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
        spare_memory.spare.clear()

    def test_hidden_layers_in_slices(self):
        """Under a budget that what is wide in a feed-forward block does not fit, forward and backward."""
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(16, 640), nn.GELU(), nn.Linear(640, 16), nn.Tanh())
        step, = compare(self, model, (torch.randn(512, 16),), budget="min", slice_rows=64, effort=0.1)
        self.assertLess(step.memory["planned"], 512 * 640 * 4 // 2)

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
        layer.zero_grad(set_to_none=True)  # Gradients may be in the same memory.
        spare = list(spare_memory.spare)
        self.assertEqual(sum(len(memory) >= 8 << 20 for memory in spare), 1)
        for order in (0, 1):
            layer.zero_grad(set_to_none=True)
            losses = [compiled(x).sum() for x in xs]
            self.assertFalse(any(memory in spare_memory.spare for memory in spare))
            for number in (order, 1 - order):
                layer.zero_grad(set_to_none=True)
                losses[number].backward()
                expected = (xs[number] @ layer.weight.T).cos().T @ xs[number]
                self.assertLess((layer.weight.grad - expected).abs().max(), 1e-3)
            losses = None
        layer.zero_grad(set_to_none=True)
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

    def test_loss_of_sequences(self):
        """Of logits in bf16, as language models have it: nothing as large as they are is in f32."""
        model = nn.Sequential(nn.Embedding(4096, 64), nn.Linear(64, 4096, bias=False)).bfloat16()

        def run(tokens):
            labels = nn.functional.pad(tokens, (0, 1), value=-100)[..., 1:].contiguous()
            return nn.functional.cross_entropy(model(tokens).float().view(-1, 4096), labels.view(-1))

        torch.compile(run, backend="remat", dynamic=False)(torch.randint(4096, (2, 32))).backward()
        step, = rt.compiled_steps
        self.assertLess(step.memory["planned"], 3 * (64 * 4096 * 2))

    def test_gradient_of_windows_that_are_apart(self):
        """It has nothing to add up, and so is nowhere in f32. It has PyTorch's bits."""
        x = torch.randn(2, 8, 64, 64, dtype=torch.bfloat16, requires_grad=True)
        for kernel, stride in ((2, 2), (3, 4)):
            run = lambda x: nn.functional.max_pool2d(x, kernel, stride) * 3
            gradients = []
            for function in (run, torch.compile(run, backend="remat", dynamic=False)):
                x.grad = None
                function(x).float().square().sum().backward()
                gradients.append(x.grad)
            self.assertTrue(torch.equal(*gradients))
            self.assertLess(rt.compiled_steps[-1].memory["planned"], 2 * x.numel())

    def test_small_gradients_are_there_before_the_call(self):
        """Memory for the others is asked for while the step runs."""
        model = nn.Sequential(nn.Linear(256, 256), nn.LayerNorm(256), nn.Sigmoid(), nn.Linear(256, 8))
        loss = torch.compile(model, backend="remat", dynamic=False)(torch.randn(64, 256)).sum()
        within, call, empty, running = [], TorchStep.call, OnCpu.empty, []

        def call_step(step, *args):
            running.append(True)
            call(step, *args)
            running.clear()

        def make(place, shape, dtype):
            if running:
                within.append(shape.numel() * dtype.itemsize)
            return empty(place, shape, dtype)

        with unittest.mock.patch.object(TorchStep, "call", call_step), \
                unittest.mock.patch.object(OnCpu, "empty", make), \
                unittest.mock.patch.object(OnCpu, "state_part", return_value=None):
            loss.backward()
        self.assertEqual(within, [256 * 256 * 4])

    def test_gradients_are_where_the_state_is_dead(self):
        """Eight layers keep 8 MiB each for the backward call, which makes a gradient of 4 MiB of each, from the last
        one to the first. Most of them take the place of what is dead, and get no other memory. They have the bits that
        gradients elsewhere have, and stay when the step is called again."""
        layers = [nn.Linear(1024, 1024, bias=False) for _ in range(8)]
        model = nn.Sequential(*(part for layer in layers for part in (layer, nn.Sigmoid())))
        compiled = torch.compile(model, backend="remat", dynamic=False, options={"threads": 1})
        x, mebibyte = torch.randn(2048, 1024), 1 << 20
        gradients = lambda: [layer.weight.grad for layer in layers]
        with unittest.mock.patch.object(OnCpu, "state_part", return_value=None):
            compiled(x).sum().backward()
            expected = gradients()
        step, = rt.compiled_steps
        placed = [r for r in step.results if r.state_offset is not None and r.bytes == 4 * mebibyte]
        self.assertGreaterEqual(len(placed), 4)
        for result in placed:
            self.assertLessEqual(result.state_offset + result.bytes, step.state_bytes)
        model.zero_grad(set_to_none=True)
        loss = compiled(x).sum()
        # The gradients of the outputs and of the other layers.
        self.assertLess(allocated_peak(loss.backward), (8 + 4 * (8 - len(placed)) + 1) * mebibyte)
        for found, other in zip(gradients(), expected):
            self.assertTrue(torch.equal(found, other))
            self.assertLessEqual(found.untyped_storage().nbytes(), 4 * mebibyte)
            self.assertFalse(found._is_view())
        first, copies = gradients(), [gradient.clone() for gradient in gradients()]
        model.zero_grad(set_to_none=True)
        del loss
        compiled(2 * x).sum().backward()
        for kept, copy in zip(first, copies):
            self.assertTrue(torch.equal(kept, copy))
        # They add up in the memory of the first ones.
        for layer, kept in zip(layers, first):
            layer.weight.grad = kept
        compiled(x).sum().backward()
        for layer, copy in zip(layers, copies):
            self.assertTrue(torch.equal(layer.weight.grad, 2 * copy))

    def test_results_that_are_read_go(self):
        """The outputs, 8 MiB of a sigmoid, are read by the backward call, which then makes a gradient of 8 MiB."""
        layer = nn.Linear(1024, 2048, bias=False)
        compiled = torch.compile(lambda x: layer(x).sigmoid(), backend="remat", dynamic=False, options={"threads": 1})
        x, mebibyte = torch.randn(1024, 1024), 1 << 20

        def run():
            compiled(x).sum().backward()

        run()
        layer.zero_grad(set_to_none=True)
        released = []
        close = CallEvents.close

        def closing(self):
            released.append([number for number, kept in enumerate(self.given_results) if not kept])
            close(self)

        with unittest.mock.patch.object(CallEvents, "close", closing):
            self.assertLess(allocated_peak(run), 17 * mebibyte)
        step, = rt.compiled_steps
        outputs = [i for i, r in enumerate(step.results) if r.bytes == 8 * mebibyte and r.first_call == 0]
        self.assertEqual(released, [outputs])

    def test_a_graph_that_is_kept(self):
        """The backward call writes over what it is given, so it gets a copy where the graph is used again; here the
        state has memory of its own, or is small."""
        for rows in (2048, 8):
            with self.subTest(rows=rows):
                layers = [nn.Linear(512, 512) for _ in range(3)]
                model = nn.Sequential(*(part for layer in layers for part in (layer, nn.GELU())))
                compiled = torch.compile(model, backend="remat", dynamic=False, options={"threads": 1})
                loss = compiled(torch.randn(rows, 512)).square().sum()
                found = []
                for number in range(3):
                    model.zero_grad(set_to_none=True)
                    loss.backward(retain_graph=number < 2)
                    found.append([p.grad.clone() for p in model.parameters()])
                for gradients in found[1:]:
                    for gradient, first in zip(gradients, found[0]):
                        self.assertTrue(torch.equal(gradient, first))
                with self.assertRaises(RuntimeError):
                    loss.backward()

    def test_a_state_that_a_hook_has_moved(self):
        """To addresses at which steps take no state; they get a copy at others."""
        layers = [nn.Linear(512, 512) for _ in range(3)]
        model = nn.Sequential(*(part for layer in layers for part in (layer, nn.GELU())))
        compiled = torch.compile(model, backend="remat", dynamic=False, options={"threads": 1})

        def move(tensor):
            memory = torch.empty(tensor.numel() * tensor.itemsize + 64, dtype=torch.uint8)
            skew = -memory.data_ptr() % 64 + 16
            return memory[skew:skew + tensor.numel() * tensor.itemsize].view(tensor.dtype).view(
                tensor.shape).copy_(tensor)

        for rows in (2048, 8):
            x, found = torch.randn(rows, 512), []
            for pack in (lambda tensor: tensor, move):
                model.zero_grad(set_to_none=True)
                with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
                    loss = compiled(x).square().sum()
                loss.backward()
                found.append([p.grad.clone() for p in model.parameters()])
            for one, other in zip(*found):
                self.assertTrue(torch.equal(one, other))

    def test_parts_of_memory(self):
        """Memory is given again when all of its parts have ended, too."""
        spare, mebibyte = SpareMemory(), 1 << 20
        whole = spare.get(16 * mebibyte)
        part = spare.part(whole, 8 * mebibyte, 4 * mebibyte, torch.float32)
        self.assertEqual((part.numel(), part.data_ptr()), (mebibyte, whole.data_ptr() + 8 * mebibyte))
        self.assertIsNone(spare.part(torch.empty(8), 0, 8, torch.uint8))
        part.fill_(3)
        address = whole.data_ptr()
        del whole
        self.assertEqual(spare.spare, [])
        self.assertNotEqual(spare.get(16 * mebibyte).data_ptr(), address)
        self.assertTrue(part.eq(3).all())
        del part
        self.assertEqual([len(memory) for memory in spare.spare], [16 * mebibyte] * 2)

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

        def fail(self, number, state=None):
            if given:
                raise MemoryError("no memory for result %d" % number)
            return new_result(self, number, state)

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

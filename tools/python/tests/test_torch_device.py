"""The backend of torch.compile for a GPU, on a stand-in for the driver. PyTorch has no device here, so that tensors of
the CPU stand for those of the GPU: in memory of the host, or in that of the stand-in, which is memory of a GPU to the
driver.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import contextlib
import copy
import ctypes
import gc
import math
import sys
import unittest
import weakref
from unittest import mock

import remat
from common import loss_of, needs_torch, rt, torch
from device_common import needs_stand_in, stand_in

if torch is not None:
    import torch.nn as nn
    from remat.torch import placement
    backend = sys.modules["remat.torch.backend"]  # Not the function of this name.


def on_stand_in(shape, dtype, used=None):
    """A tensor in memory of the stand-in, which is freed with it, or goes to the list `used`."""
    size = max(math.prod(shape) * dtype.itemsize, 1)
    memory = remat.DeviceArray("i8", (size,))
    bytes_ = (ctypes.c_char * size).from_address(memory.address)
    # It lives as long as what PyTorch makes of it.
    weakref.finalize(bytes_, [].append if used is None else used.append, memory).atexit = False
    count = math.prod(shape)
    return torch.frombuffer(bytes_, dtype=dtype, count=count).view(shape) if count else torch.empty(shape, dtype=dtype)


class Gpu(placement.OnGpu if torch is not None else object):
    """Where tensors of the CPU stand for those of a GPU. PyTorch's operations on them are done at once, so that its
    stream has nothing but what steps let it wait for, which then is done at once, too."""

    def __init__(self):
        super().__init__(torch.device("cpu"))
        self.scratch, self.calls = placement.Scratch(), 0
        self.streams, self.waits = [stand_in().new_stream()], []
        self.used = []  # What is freed, and may still be used: PyTorch's allocator gives it out again in the stream.

    def options(self, options):
        return dict(options, target="cuda", device="cuda:0")

    def empty(self, shape, dtype):
        return on_stand_in(tuple(shape), dtype, self.used)

    def host_memory(self, size):
        return torch.empty(size, dtype=torch.uint8)

    def number(self, tensor):
        return on_stand_in((), tensor.dtype, self.used).copy_(tensor)

    def stream(self):
        self.calls += 1
        return self.streams[-1]

    @contextlib.contextmanager
    def call(self, step):
        before = stand_in().count("cuStreamSynchronize")
        with super().call(step):
            yield
        self.waits.append(stand_in().count("cuStreamSynchronize") - before)
        stand_in().drain(self.streams[-1])
        self.used.clear()


class Net(nn.Module if torch is not None else object):
    """Without products of matrices, which the stand-in for a library of PyTorch's own would have to do."""

    def __init__(self):
        super().__init__()
        self.conv1, self.norm = nn.Conv2d(2, 4, 3, padding=1), nn.BatchNorm2d(4)
        self.conv2, self.drop = nn.Conv2d(4, 3, 1), nn.Dropout(0.25)
        self.embedding = nn.Embedding(5, 4)

    def forward(self, x, tokens):
        x = torch.relu(self.norm(self.conv1(x))) + self.embedding(tokens).mean(0)[:, None, None]
        return self.conv2(x * torch.sigmoid(x)).softmax(1)


def moved(module):
    """The module with its tensors in memory of the stand-in."""
    for part in module.modules():
        for tensors in (part._parameters, part._buffers):
            for tensor in tensors.values():
                if tensor is not None:
                    place = on_stand_in(tuple(tensor.shape), tensor.dtype)
                    tensor.data = place.copy_(tensor.data)
    return module


@needs_torch
@needs_stand_in
class TorchDeviceTest(unittest.TestCase):
    def setUp(self):
        self.cuda = stand_in()
        torch.manual_seed(0)
        torch._dynamo.reset()
        rt.compiled_steps.clear()
        self.model = Net()
        self.args = torch.randn(2, 2, 5, 5), torch.randint(0, 5, (7,))

    def tearDown(self):
        gc.collect()
        self.assertEqual(self.cuda.complaints(), "")

    def train(self, model, args, options=None, steps=3):
        run = model if options is None else torch.compile(model, backend=rt.backend, options=options)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
        losses = []
        for _ in range(steps):
            optimizer.zero_grad()
            loss = loss_of(run(*args))
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses, {name: p.grad for name, p in model.named_parameters()}, dict(model.named_buffers())

    def compare(self, found, exact):
        for a, b in zip(found, exact):
            torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)

    def test_tensors_of_the_host_for_a_step_on_the_device(self):
        exact = self.train(copy.deepcopy(self.model), self.args)
        options = {"target": "cuda", "convolutions": "generated", "threads": 1, "budget": "80%"}
        self.compare(self.train(self.model, self.args, options), exact)
        step, = rt.compiled_steps
        self.assertEqual((step.device, step.backward_count), (0, 1))

    def test_a_state_of_the_host_for_a_step_on_the_device(self):
        """It is copied, so that gradients are elsewhere, also those that have a place in a state on the device."""
        layers = [torch.randn(64, requires_grad=True) for _ in range(6)]

        def run(x):
            for layer in layers:
                x = torch.sigmoid(x * layer)
            return x.sum()

        x = torch.randn(8, 64)
        exact = torch.autograd.grad(run(x), layers)
        with mock.patch.object(placement, "LARGE", 0), mock.patch.object(placement, "SMALL", 0):
            options = {"target": "cuda", "threads": 1}
            torch.compile(run, backend=rt.backend, options=options)(x).backward()
        self.compare([layer.grad for layer in layers], exact)
        step, = rt.compiled_steps
        self.assertTrue(any(result.state_offset is not None for result in step.results))

    def test_tensors_of_the_device(self):
        """Arguments, results, gradients, the state and the arena are in memory of the device: nothing is copied but the
        status of each call."""
        exact = self.train(copy.deepcopy(self.model), self.args)
        gpu = Gpu()
        with mock.patch.object(backend, "placement_of", lambda graph: gpu):
            model = moved(self.model)
            args = [on_stand_in(tuple(a.shape), a.dtype).copy_(a) for a in self.args]
            options = {"convolutions": "generated", "threads": 1}
            first = self.train(model, args, options, steps=1)
            copies, used = self.cuda.count("cuMemcpyAsync"), gpu.calls
            rest = self.train(model, args, options, steps=2)
        self.compare((first[0] + rest[0], *rest[1:]), exact)
        self.assertEqual((gpu.calls, used), (6, 2))
        # The gradient of the loss is the only tensor of the host.
        self.assertEqual(gpu.waits, [0, 1] * 3)
        # The status of four calls; the gradient of the loss, which PyTorch makes, twice.
        self.assertEqual(self.cuda.count("cuMemcpyAsync") - copies, 6)
        step, = rt.compiled_steps
        memory = step.memory
        self.assertEqual(memory["planned"], memory["measured"])

    def test_steps_of_several_graphs_share_memory(self):
        """What they use within a call: calls are one after the other."""
        class Both(nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.second = nn.Conv2d(2, 4, 3), nn.Conv2d(4, 3, 1)

            def forward(self, x):
                x = self.first(x).sigmoid().tanh()
                torch._dynamo.graph_break()
                return (self.second(x).softmax(1) * 2).sigmoid()

        model, x = Both(), self.args[0]
        exact = self.train(copy.deepcopy(model), [x])
        gpu, given = Gpu(), []
        arena = gpu.arena
        # Of a step that needs more.
        held = arena({})(1 << 16)

        def watched(options):
            give = arena(options)
            return lambda size: given.append(give(size)) or given[-1]

        with mock.patch.object(backend, "placement_of", lambda graph: gpu), mock.patch.object(gpu, "arena", watched):
            args = [on_stand_in(tuple(x.shape), x.dtype).copy_(x)]
            self.compare(self.train(moved(model), args, {"convolutions": "generated", "threads": 1}), exact)
        self.assertEqual(len(rt.compiled_steps), 2)
        for step in rt.compiled_steps:
            self.assertGreater(step.memory["arena"], step.memory["state"])
        self.assertEqual(given, [held, held])

    def test_calls_in_another_stream_wait_for_memory(self):
        """That steps share: only where streams change."""
        gpu = Gpu()
        with mock.patch.object(backend, "placement_of", lambda graph: gpu):
            x = on_stand_in((4,), torch.float32).fill_(2)
            run = torch.compile(lambda x: x.sigmoid() * x.tanh(), backend=rt.backend, options={"threads": 1})
            for new in (False, False, True, False):
                if new:
                    gpu.streams.append(stand_in().new_stream())
                torch.testing.assert_close(run(x), x.sigmoid() * x.tanh())
        self.assertEqual(gpu.waits, [0, 0, 1, 0])

    def test_memory_of_steps_is_freed_with_the_last(self):
        give = Gpu().arena({})
        first = give(5000)
        self.assertEqual(give(700)[0], first[0])
        second = give(9000)
        self.assertNotEqual(second[0], first[0])
        self.assertEqual(give(5000)[0], first[0])
        memory = weakref.ref(first[1].tensor)
        gc.collect()
        self.assertIsNotNone(memory())
        del first
        self.assertIsNone(memory())
        self.assertEqual(give(700)[0], second[0])

    def test_offloaded_values(self):
        """What is offloaded is in memory of the host of its own."""
        exact = self.train(copy.deepcopy(self.model), self.args)
        gpu = Gpu()
        options = {"convolutions": "generated", "threads": 1, "budget": "75%", "link_bandwidth": 10 ** 12}
        with mock.patch.object(backend, "placement_of", lambda graph: gpu):
            args = [on_stand_in(tuple(a.shape), a.dtype).copy_(a) for a in self.args]
            self.compare(self.train(moved(self.model), args, options), exact)
        step, = rt.compiled_steps
        self.assertGreater(step.host_bytes, 0)

    def test_exported_models(self):
        """Parameters and what the model updates may be on the device. Results are where the parameters are."""
        def loss(outputs):
            return outputs.square().mean()

        model = nn.Sequential(nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.Conv2d(4, 3, 1))
        x = self.args[0]
        exported = rt.export(model, (x,), loss=loss)
        before = {name: tensor.clone() for name, tensor in model.named_buffers()}
        exact, gradients = remat.compile(exported, threads=1)(None, x)
        updated = {name: tensor.clone() for name, tensor in model.named_buffers()}
        step = remat.compile(exported, target="cuda", convolutions="generated", threads=1)
        for put in (torch.clone, lambda tensor: on_stand_in(tuple(tensor.shape), tensor.dtype).copy_(tensor),
                    remat.device_put):
            named = {name: put(before.get(name, tensor.detach())) for name, tensor in
                     list(model.named_parameters()) + list(model.named_buffers())}
            found, others = step(named, x)
            host = lambda a: torch.from_numpy(a.numpy()) if isinstance(a, remat.DeviceArray) else a
            self.assertIsInstance(found, remat.DeviceArray if put is remat.device_put else torch.Tensor)
            torch.testing.assert_close(host(found), exact, rtol=1e-5, atol=1e-6)
            self.assertEqual(others.keys(), gradients.keys())
            for name, gradient in gradients.items():
                torch.testing.assert_close(host(others[name]), gradient, rtol=1e-4, atol=1e-5)
            for name, tensor in updated.items():
                torch.testing.assert_close(host(named[name]), tensor, rtol=1e-5, atol=1e-6)

    def test_inference(self):
        self.model.eval()
        exact = self.model(*self.args)
        gpu = Gpu()
        with mock.patch.object(backend, "placement_of", lambda graph: gpu), torch.no_grad():
            args = [on_stand_in(tuple(a.shape), a.dtype).copy_(a) for a in self.args]
            compiled = torch.compile(moved(self.model), backend=rt.backend, options={"convolutions": "generated"})
            torch.testing.assert_close(compiled(*args), exact, rtol=1e-4, atol=1e-5)

    def test_seeds_are_numbers_of_the_host(self):
        gpu = Gpu()
        with mock.patch.object(backend, "placement_of", lambda graph: gpu):
            x = on_stand_in((64, 64), torch.float32).fill_(1).requires_grad_()
            y = torch.compile(nn.Dropout(0.5), backend=rt.backend, options={"threads": 1})(x)
            y.sum().backward()
        torch.testing.assert_close(x.grad, y.detach())
        self.assertTrue(0.4 < (y == 0).float().mean() < 0.6)

    def test_the_target_is_where_the_tensors_are(self):
        """A graph of tensors on a GPU, which have no memory here."""
        from torch._subclasses.fake_tensor import FakeTensorMode
        with FakeTensorMode(), torch.no_grad():
            x = torch.empty(3, 4, device="cuda")
            graph = torch.fx.symbolic_trace(lambda x: (x * 2 + x.mean(),))
            with mock.patch.object(placement.OnGpu, "empty", lambda self, shape, dtype: on_stand_in(shape, dtype)):
                run = backend.compile_graph(graph, [x], {"threads": 1})
        step, = rt.compiled_steps
        self.assertEqual((step.device, step._values["target"], step._values["mcpu"]), (0, "cuda", "sm_90"))
        self.assertIsNotNone(run)

    def test_graphs_of_a_gpu_are_lowered(self):
        """What PyTorch makes of these on a GPU is not always what it makes of them on a CPU."""
        from torch._subclasses.fake_tensor import FakeTensorMode
        from torch.nn import functional as F
        f32, f16 = torch.float32, torch.float16
        cases = {
            "batch norm": (lambda x, w, m: (F.batch_norm(x, m, m, w, w, True),), (2, 4, 5, 5), (4,), (4,)),
            "convolution": (lambda x, w: (F.conv2d(x, w),), (2, 4, 5, 5), (4, 4, 3, 3)),
            "attention": (lambda q: (F.scaled_dot_product_attention(q, q, q, is_causal=True),), (2, 2, 8, 64)),
            "dropout": (lambda x: (F.dropout(x, 0.5, True),), (2, 8)),
            "rms norm": (lambda x, w: (F.rms_norm(x, (8,), w),), (2, 8), (8,)),
            "lstm": (lambda x, h, a, b, d: (torch.lstm(x, (h, h), [a, b, d, d], True, 1, 0.0, True, False, True)[0],),
                     (2, 3, 4), (1, 2, 5), (20, 4), (20, 5), (20,)),
            "lstm cell": (lambda x, h, a, b, d: (torch.lstm_cell(x, (h, h), a, b, d, d)[0],),
                          (2, 4), (2, 5), (20, 4), (20, 5), (20,)),
            "gru cell": (lambda x, h, a, b, d: (torch.gru_cell(x, h, a, b, d, d),),
                         (2, 4), (2, 5), (15, 4), (15, 5), (15,)),
        }
        for name, (function, *shapes) in cases.items():
            for dtype in (f32, f16):
                with self.subTest(name, dtype=dtype), FakeTensorMode(), torch.no_grad(), \
                        mock.patch.object(backend, "TorchStep") as made:
                    args = [torch.empty(shape, device="cuda", dtype=dtype) for shape in shapes]
                    backend.compile_graph(torch.fx.symbolic_trace(function), args, {})
                    program, _, where = made.call_args.args
                    self.assertEqual(str(where.device), "cuda:0")
                    self.assertIn("func.func", program.text)
        from remat.torch.joint import decompositions
        for op in ("cudnn_batch_norm_backward", "_thnn_fused_lstm_cell_backward_impl", "_thnn_fused_gru_cell_backward"):
            self.assertIn(getattr(torch.ops.aten, op).default, decompositions())

    def test_cells_of_recurrent_layers(self):
        """The decompositions of PyTorch's operations for GPUs, by the cells of a CPU and their gradients."""
        from remat.torch.recurrent import _gru_cell, _gru_cell_backward, _lstm_cell, _lstm_cell_backward
        randn = lambda *shape: torch.randn(*shape, dtype=torch.float64, requires_grad=True)
        h, c, bias, other = randn(2, 5), randn(2, 5), randn(20), randn(20)
        gates, hidden = randn(2, 20), randn(2, 20)
        eye = torch.eye(20, dtype=torch.float64)
        zero = torch.zeros(20, 5, dtype=torch.float64)
        hy, cy = torch.lstm_cell(gates, (h, c), eye, zero, bias, other)
        found = _lstm_cell(gates, torch.zeros_like(gates), c, bias, other)
        torch.testing.assert_close(found[:2], (hy, cy))
        grad_h, grad_c = torch.randn_like(hy), torch.randn_like(cy)
        for of_h, of_c in ((grad_h, grad_c), (grad_h, None), (None, grad_c)):
            outputs = [(y, g) for y, g in ((hy, of_h), (cy, of_c)) if g is not None]
            exact = torch.autograd.grad([y for y, _ in outputs], [gates, c, bias], [g for _, g in outputs],
                                        retain_graph=True)
            torch.testing.assert_close(_lstm_cell_backward(of_h, of_c, c, cy, found[2], True), exact)
        self.assertIsNone(_lstm_cell_backward(grad_h, None, c, cy, found[2], False)[2])

        w, bias, other = randn(15, 5), randn(15), randn(15)
        gates = randn(2, 15)
        hy = torch.gru_cell(gates, h, torch.eye(15, dtype=torch.float64), w, bias, other)
        products = h @ w.t()
        found = _gru_cell(gates, products, h, bias, other)
        torch.testing.assert_close(found[0], hy)
        exact = torch.autograd.grad(hy, [gates, h, w, bias, other], grad_h)
        of_input, of_hidden, of_h, *of_biases = _gru_cell_backward(grad_h, found[1], True)
        torch.testing.assert_close((of_input, of_h + of_hidden @ w, of_hidden.t() @ h, *of_biases), exact)

    def refuse(self, expected, function, *args, **options):
        from torch._subclasses.fake_tensor import FakeTensorMode
        with FakeTensorMode(), torch.no_grad():
            args = [torch.empty(shape, device=device) for shape, device in args]
            with self.assertRaisesRegex(remat.Error, expected):
                backend.compile_graph(torch.fx.symbolic_trace(function), args, options)

    def test_devices_that_do_not_go_together(self):
        self.refuse("'x' is on cuda:0 and 'y' on cpu; a graph is compiled for one device", lambda x, y: x + y,
                    ([3], "cuda"), ([3], "cpu"))
        self.refuse("'x' is on cuda:0 and 'y' on cuda:1; a graph", lambda x, y: x + y, ([3], "cuda:0"), ([3], "cuda:1"))
        self.refuse("input .* is on cpu and the result of .* on cuda:0; a graph is compiled for one device",
                    lambda x: (x.to("cuda") * 2,), ([3], "cpu"))
        self.refuse("is on meta, expected the CPU or a CUDA device", lambda x: (x * 2,), ([3], "meta"))
        self.refuse("are on cuda:0, but the step is to be compiled for target='cpu'", lambda x: (x * 2,), ([3], "cuda"),
                    target="cpu")
        self.refuse("are on cuda:0, but the step is to be compiled for device='sim'", lambda x: (x * 2,), ([3], "cuda"),
                    device="sim")
        # A number of the CPU is an input, but no result.
        self.refuse("a result of the graph, .* on cpu", lambda x, n: (x * n, n * 2), ([3], "cuda"), ([], "cpu"))


if __name__ == "__main__":
    unittest.main()

"""Steps for a GPU from Python, on a stand-in for the driver: tensors in and out by their pointers, streams, devices,
errors. Needs NumPy.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import contextlib
import gc
import io
import os
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import remat
from device_common import Foreign, ForeignInterface, needs_stand_in, stand_in
from test_step import GPT2, MODEL

try:
    import numpy as np
except ImportError:
    np = None


def setUpModule():
    if np is None:
        raise unittest.SkipTest("NumPy is not installed")


GATHER = """
func.func @main(%table: tensor<4xf32>, %indices: tensor<2xi64>) -> tensor<2xf32> {
  %init = tensor.empty() : tensor<2xf32>
  %found = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
                           iterator_types = ["parallel"]}
      ins(%indices : tensor<2xi64>) outs(%init : tensor<2xf32>) {
  ^bb0(%index: i64, %out: f32):
    %at = arith.index_cast %index : i64 to index
    %element = tensor.extract %table[%at] : tensor<4xf32>
    linalg.yield %element : f32
  } -> tensor<2xf32>
  return %found : tensor<2xf32>
}
"""


@needs_stand_in
class DeviceTest(unittest.TestCase):
    def setUp(self):
        self.cuda = stand_in(["libcublasLt.so.13"])
        rng = np.random.default_rng(0)
        self.w = rng.standard_normal((4, 4)).astype("f4")
        self.x = rng.standard_normal(4).astype("f4")
        t = np.tanh(self.w @ self.x)
        self.expected = t.sum(), np.outer(1 - t * t, self.x), self.w.T @ (1 - t * t)

    def tearDown(self):
        gc.collect()
        self.assertEqual(self.cuda.complaints(), "")

    def compile(self, **options):
        return remat.compile(MODEL, **dict({"target": "cuda", "threads": 1, "names": ["w", "x"]}, **options))

    def check(self, results):
        for found, exact in zip(results, self.expected):
            np.testing.assert_allclose(found, exact, rtol=1e-4, atol=1e-6)

    def test_tensors_of_the_host(self):
        step = self.compile()
        self.assertEqual(step.device, 0)
        for _ in range(3):  # The second run is recorded, the third repeats it.
            results = step(self.w, self.x)
            self.assertIsInstance(results[0], np.ndarray)
            self.check(results)
        memory = step.memory
        self.assertEqual(memory["planned"], memory["measured"])

    def test_tensors_of_the_device_stay_there(self):
        step = self.compile()
        w, x = Foreign(self.w), Foreign(self.x)
        copies = self.cuda.count("cuMemcpyAsync")
        results = step(w, x)
        # The status alone is copied.
        self.assertEqual(self.cuda.count("cuMemcpyAsync") - copies, 1)
        # Runs begin behind the default stream.
        self.assertEqual((w.asked, x.asked), ([1], [1]))
        self.assertTrue(all(isinstance(array, remat.DeviceArray) for array in results))
        self.check([array.numpy() for array in results])

    def test_results_are_tensors_of_the_device(self):
        step = self.compile()
        loss, dw, dx = step(Foreign(self.w), Foreign(self.x))
        self.assertEqual(dw.__dlpack_device__(), (2, 0))
        self.assertEqual(dw.__cuda_array_interface__["shape"], (4, 4))
        self.assertFalse(hasattr(dw, "__array_interface__"))
        self.assertEqual(remat.arrays.view(dw).device, 0)
        # They are arguments of the next call.
        again = step(dw, dx)
        np.testing.assert_allclose(again[0].numpy(), np.tanh(dw.numpy() @ dx.numpy()).sum(), rtol=1e-5)

    def test_given_results(self):
        step = self.compile()
        dw = Foreign(np.zeros((4, 4), "f4"))
        given = step.run([Foreign(self.w), Foreign(self.x)], [None, dw, None])
        self.assertIs(given[1], dw)
        np.testing.assert_allclose(dw.array.numpy(), self.expected[1], rtol=1e-4, atol=1e-6)

    def test_host_and_device(self):
        """Results are in the library of the first argument, and on the GPU if one of its tensors is there."""
        step = self.compile()
        self.check(step(self.w, Foreign(self.x)))
        self.assertIsInstance(step(self.w, Foreign(self.x))[0], np.ndarray)
        results = step(remat.device_put(self.w), self.x)
        self.assertIsInstance(results[0], remat.DeviceArray)
        self.check([array.numpy() for array in results])

    def test_runs_wait_for_producers(self):
        step = self.compile()
        for kind in (Foreign, ForeignInterface):
            for _ in range(3):
                w = kind(self.w, stream=self.cuda.new_stream())
                x = kind(self.x, stream=self.cuda.new_stream())
                self.check([array.numpy() for array in step(w, x)])

    def test_waits_for_a_stream_that_is_given(self):
        step = self.compile()
        stream = self.cuda.new_stream()
        w = Foreign(self.w, stream=stream)
        w.stream = None  # It does not say so.
        step.wait(stream)
        self.check([array.numpy() for array in step(w, Foreign(self.x))])
        with self.assertRaisesRegex(remat.ArgumentError, "runs on a CPU, which has no streams"):
            remat.compile(MODEL).wait(stream)

    def test_a_stream_goes_on_behind_a_call(self):
        step = self.compile()
        stream = self.cuda.new_stream()
        for _ in range(3):
            w, x = (Foreign(a, stream=stream).array for a in (self.w, self.x))
            waits = self.cuda.count("cuStreamSynchronize")
            step.follow(stream)
            results = step(w, x)
            self.assertEqual(self.cuda.count("cuStreamSynchronize"), waits)
            self.cuda.drain(stream)
            self.check([array.numpy() for array in results])
        step.synchronize()
        with self.assertRaisesRegex(remat.ArgumentError, "runs on a CPU, which has no streams"):
            remat.compile(MODEL).follow(stream)

    def test_tensors_in_the_order_of_a_stream_need_no_wait(self):
        """As those of PyTorch. With one that is not, a call waits."""
        step, stream, plain = self.compile(), self.cuda.new_stream(), remat.step.view

        def ordered(array):
            found = plain(array)
            if isinstance(array, remat.DeviceArray):
                found.stream, found.is_ordered = stream, True
            return found

        with mock.patch.object(remat.step, "view", ordered):
            w, x = (Foreign(a, stream=stream).array for a in (self.w, self.x))
            # The first one that waits does so for the call before, too.
            for x, expected in ((x, 0), (Foreign(self.x), 2), (self.x, 1)):
                waits = self.cuda.count("cuStreamSynchronize")
                results = step(w, x)
                self.assertEqual(self.cuda.count("cuStreamSynchronize") - waits, expected)
                self.cuda.drain(stream)
                self.check([array.numpy() for array in results])

    def gather(self, index):
        """A step and the result of a call that returns before its check has failed, or not, and what must stay."""
        step = remat.compile(GATHER, target="cuda", differentiate=False)
        stream = self.cuda.new_stream()
        table, indices = (remat.device_put(a) for a in (self.x, np.array([0, index], "i8")))
        step.follow(stream)
        return step, step(table, indices)[0], (table, indices, stream)

    def test_failures_are_told_by_a_later_call(self):
        step, result, held = self.gather(3)
        step.synchronize()
        np.testing.assert_equal(result.numpy(), self.x[[0, 3]])
        step, result, held = self.gather(4)
        with self.assertRaisesRegex(remat.RunError, "an earlier call of the step: .*index 4 is out of bounds"):
            step(self.x, np.array([0, 1], "i8"))
        np.testing.assert_equal(step(self.x, np.array([0, 1], "i8"))[0], self.x[:2])
        for wait_for in (remat.Step.synchronize, lambda step: remat.synchronize()):
            step, result, held = self.gather(4)
            with self.assertRaisesRegex(remat.RunError, "an earlier call of the step: .*index 4 is out of bounds"):
                wait_for(step)
            wait_for(step)

    def test_failures_that_nobody_asks_for_are_printed(self):
        step, result, held = self.gather(4)
        with contextlib.redirect_stderr(io.StringIO()) as printed:
            del step
            gc.collect()
        self.assertRegex(printed.getvalue(), "remat: a step is freed, and nobody was told .*index 4 is out of bounds")

    def test_memory_of_results_is_freed(self):
        step = self.compile()
        w, x = Foreign(self.w), Foreign(self.x)
        step(w, x)
        gc.collect()
        used = self.cuda.used()
        results = step(w, x)
        self.assertGreater(self.cuda.used(), used)
        del results
        gc.collect()
        self.assertEqual(self.cuda.used(), used)
        held = w.array.nbytes + x.array.nbytes
        del step
        gc.collect()
        self.assertEqual(self.cuda.used() - held, used - held - (used - self.cuda.used()))

    def test_devices(self):
        self.cuda.driver.fakecuda_set_devices(2, 9, 0)
        try:
            step = self.compile(device="cuda:1", target=None)
            self.assertEqual(step.device, 1)
            self.assertEqual(step.replan("min").device, 1)
            self.check(step(self.w, self.x))
            with self.assertRaisesRegex(remat.ArgumentError, r"argument 0 \(w\) is on cuda:0, but the step runs on "
                                        "cuda:1; pass a tensor that is there or on the host"):
                step(Foreign(self.w), self.x)
            # What does not say where it is, the driver knows.
            with self.assertRaisesRegex(remat.ArgumentError, "argument 0 'w' is in memory of device 0, expected memory "
                                        "of device 1, which runs the step, or of the host"):
                step(ForeignInterface(self.w), self.x)
            with self.assertRaisesRegex(remat.NoDeviceError, "the CUDA driver has no device 7, only those from 0 to 1"):
                self.compile(device="cuda:7")
            with self.assertRaisesRegex(remat.OptionError, "device is 'cuda:x', expected 'cuda' or a number"):
                self.compile(device="cuda:x")
            self.assertEqual(self.compile(device="cuda", target=None).device, 0)
            with self.assertRaisesRegex(remat.Error, "unknown device 'cuda' of target 'cpu'"):
                self.compile(device="cuda:1", target="cpu")
        finally:
            self.cuda.driver.fakecuda_set_devices(1, 9, 0)

    def test_code_is_for_the_device(self):
        self.assertEqual(self.compile()._values["mcpu"], "sm_90")
        self.assertEqual(self.compile(mcpu="sm_90")._values["mcpu"], "sm_90")
        self.cuda.driver.fakecuda_set_devices(1, 8, 6)
        try:
            self.assertEqual(self.compile()._values["mcpu"], "sm_80")
        finally:
            self.cuda.driver.fakecuda_set_devices(1, 9, 0)

    def test_errors(self):
        here = remat.compile(MODEL, names=["w", "x"])
        for kind in (Foreign, ForeignInterface):
            with self.assertRaisesRegex(remat.ArgumentError, r"argument 0 \(w\) is on (cuda:0|a GPU), but the step "
                                        "runs on the CPU; compile it with target='cuda'"):
                here(kind(self.w), self.x)
        step = self.compile()
        with self.assertRaisesRegex(remat.ArgumentError, r"argument 0 is w: f32\[4x4\], got f64\[4x4\]"):
            step(Foreign(self.w.astype("f8")), self.x)
        masked = ForeignInterface(self.w)
        masked.stream = 0
        with self.assertRaisesRegex(remat.ArgumentError, "the stream 0, which it must not"):
            step(masked, self.x)

    def test_no_memory(self):
        step = self.compile()
        self.cuda.driver.fakecuda_fail(b"cuMemAlloc_v2", 2, 0)
        with self.assertRaisesRegex(remat.RunError, "4 bytes: allocating memory of the device failed: "
                                    "CUDA_ERROR_OUT_OF_MEMORY"):
            step(Foreign(self.w), Foreign(self.x))
        self.check([array.numpy() for array in step(Foreign(self.w), Foreign(self.x))])

    def test_calls_with_a_state(self):
        step = self.compile(separate_backward=True, cotangents=True)
        g = np.ones((), "f4")
        state = remat.State(step)
        self.assertIsInstance(state.memory, remat.DeviceArray)
        loss, *_ = step.forward([Foreign(self.w), Foreign(self.x), None], state)
        results = step.backward(0, [Foreign(self.w), Foreign(self.x), Foreign(g)], [loss, None, None], state)
        self.check([array.numpy() for array in results])

    def test_the_callers_arena(self):
        """It has no room for the state, which each call is given."""
        asked = []

        def allocate(size):
            asked.append(size)
            array = remat.DeviceArray("i8", (size,))
            return array.address, array

        step = self.compile(separate_backward=True, cotangents=True, arena=allocate)
        self.assertEqual(asked, [step.memory["arena"] - step.memory["state"]])
        self.assertGreater(step.memory["state"], 0)
        state = remat.State(step)
        g = np.ones((), "f4")
        loss, *_ = step.forward([self.w, self.x, None], state)
        self.check(step.backward(0, [self.w, self.x, g], [loss, None, None], state))
        with self.assertRaisesRegex(remat.ArgumentError, "the call has no state in memory of the device"):
            step(self.w, self.x, g)
        with self.assertRaisesRegex(remat.ArgumentError, "the call has no state in memory of the device"):
            step.forward([self.w, self.x, None], remat.State(step, remat.Array("i8", (step.state_bytes,))))

    def test_reports(self):
        step = self.compile()
        w, x = Foreign(self.w), Foreign(self.x)
        self.assertEqual(sum(row["calls"] for row in step.profile(w, x)["rows"]), step.plan.tasks)
        self.assertEqual(step.anomalies(w, x), [])

    def test_files_of_tensors_on_the_device(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "weights.safetensors")
            remat.safetensors.save(path, {"w": remat.device_put(self.w), "x": self.x})
            loaded = remat.safetensors.load(path)
        np.testing.assert_array_equal(loaded["w"].numpy(), self.w)
        np.testing.assert_array_equal(loaded["x"].numpy(), self.x)

    def test_a_transformer(self):
        """Gradients of a tiny GPT-2 on the device, within a budget, are those of the simulator."""
        options = {"budget": "80%", "threads": 1, "wrt": [2, 3]}
        step = remat.compile(GPT2, target="cuda", **options)
        simulated = remat.compile(GPT2, target="cuda", device="sim", **options)
        self.assertIsNone(simulated.device)
        rng = np.random.default_rng(1)
        arrays = []
        for info in step.arguments:
            if info.dtype.startswith("i"):
                arrays.append(rng.integers(0, 2, info.shape).astype("i8"))
            else:
                arrays.append((rng.standard_normal(info.shape) / 8).astype("f4"))
        found = step(*map(remat.device_put, arrays))
        for a, b in zip(found, simulated(*arrays)):
            np.testing.assert_allclose(a.numpy(), b, rtol=1e-4, atol=1e-5)


class NoDeviceTest(unittest.TestCase):
    def run_without_driver(self, code):
        code = "import remat\ntry:\n  %s\nexcept remat.NoDeviceError as e:\n  print('NONE', e.status, e)\n" % code
        out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout
        return out if out.startswith("NONE") else self.skipTest("there is a driver")

    def test_no_driver(self):
        """One error that names the library, before anything is compiled."""
        out = self.run_without_driver("remat.compile('no such file.mlir', target='cuda')")
        self.assertRegex(out, "NONE no device .*libcuda.so.1.*; with device='sim', the step's code for a GPU runs")

    def test_no_driver_for_a_module(self):
        """Modules are compiled without one, and not loaded."""
        out = self.run_without_driver(
            "c = remat.Context(); o = remat.Options(c, {'target': 'cuda'}); "
            "remat.Module.parse(c, %r).compile(4, o).load(o)" % MODEL)
        self.assertRegex(out, "NONE no device there is no CUDA driver on this machine: libcuda.so.1")

    def test_pinned_memory_is_memory_of_the_host(self):
        class Pinned:
            def __init__(self, array):
                self.array = array

            def __dlpack_device__(self):
                return (3, 0)

            def __dlpack__(self, stream=None):
                assert stream is None
                return self.array.__dlpack__()

        w, x = np.eye(4, dtype="f4"), np.ones(4, "f4")
        loss, dw, dx = remat.compile(MODEL)(Pinned(w), Pinned(x))
        np.testing.assert_allclose(np.asarray(loss), 4 * np.tanh(1), rtol=1e-5)

    def test_the_simulator(self):
        rng = np.random.default_rng(0)
        w, x = rng.standard_normal((4, 4)).astype("f4"), rng.standard_normal(4).astype("f4")
        here, simulated = (remat.compile(MODEL, **options)(w, x) for options in (
            {}, {"target": "cuda", "device": "sim"}))
        for a, b in zip(here, simulated):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


if __name__ == "__main__":
    unittest.main()

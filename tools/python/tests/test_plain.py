"""The package by itself: steps, reports, errors and files without NumPy, PyTorch and JAX.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import ctypes
import os
import subprocess
import sys
import tempfile
import unittest

import remat
from remat import mlir, safetensors

MODEL = """
func.func @main(%x: tensor<4xf32>) -> tensor<f32> {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %y = arith.mulf %x, %x : tensor<4xf32>
  %loss = linalg.reduce { arith.addf } ins(%y : tensor<4xf32>) outs(%zero : tensor<f32>) dimensions = [0]
  return %loss : tensor<f32>
}
"""
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
MODELS = os.path.join(ROOT, "test", "Inputs", "models")


def array(dtype, shape, numbers):
    made = remat.Array(dtype, shape)
    kind = {"f32": ctypes.c_float, "f64": ctypes.c_double}[dtype]
    (kind * len(numbers)).from_address(made.address)[:] = numbers
    return made


def elements(made, kind=ctypes.c_float):
    return list((kind * (made.nbytes // ctypes.sizeof(kind))).from_address(made.address))


class StepTest(unittest.TestCase):
    def test_gradient(self):
        step = remat.compile(MODEL, names=["x"])
        loss, gradient = step.run([array("f32", (4,), [1, 2, 3, 4])])
        self.assertEqual(elements(loss), [30])
        self.assertEqual(elements(gradient), [2, 4, 6, 8])
        self.assertEqual([info.name for info in step.arguments], ["x"])
        self.assertEqual(step.memory["planned"], step.memory["measured"])

    def test_errors(self):
        with self.assertRaises(remat.InfeasibleBudget) as caught:
            remat.compile(os.path.join(MODELS, "mlp_tiny.mlir"), budget=1)
        self.assertGreater(caught.exception.smallest_budget, 1)
        with self.assertRaisesRegex(remat.CompileError, "model:2:8"):
            remat.compile('func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n  %y = "stablehlo.all_reduce"(%x) '
                          ": (tensor<2xf32>) -> tensor<2xf32>\n  return %y : tensor<2xf32>\n}")
        with self.assertRaisesRegex(remat.OptionError, "no_such_option|no-such-option"):
            remat.compile(MODEL, no_such_option=1)
        with self.assertRaises(remat.ArgumentError):
            remat.compile(MODEL).run([array("f32", (3,), [1, 2, 3])])

    def test_stablehlo(self):
        """Unsigned and complex numbers inside; foreign operations are read when the text is."""
        step = remat.compile("""
            func.func @main(%x: tensor<4xf32>) -> tensor<f32> {
              %zero = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
              %s = "stablehlo.fft"(%x) <{fft_length = array<i64: 4>, fft_type = #stablehlo<fft_type RFFT>}>
                  : (tensor<4xf32>) -> tensor<3xcomplex<f32>>
              %a = "stablehlo.abs"(%s) : (tensor<3xcomplex<f32>>) -> tensor<3xf32>
              %p = "stablehlo.dot"(%a, %a) : (tensor<3xf32>, tensor<3xf32>) -> tensor<f32>
              return %p : tensor<f32>
            }""")
        loss, _ = step.run([array("f32", (4,), [1, 0, 2, 1])])
        # The spectrum of (1, 0, 2, 1) begins 4, -1 + i, 2.
        self.assertAlmostEqual(elements(loss)[0], 16 + 2 + 4, places=4)


class TextTest(unittest.TestCase):
    def test_functions(self):
        function = mlir.Function()
        x = function.argument((2, 3), "f32", "x")
        y = function.generic([(x, mlir.identity(2))], (2, 3), "f32",
                             lambda b, a: b.binary("arith.mulf", a, b.constant(float("inf"), "f32"), "f32"))
        padded = function.pad(function.transpose(y, [1, 0]), [1, 0], [0, 0], 2.5)
        text = function.text([function.reshape(padded, (8,))], ["y"])
        step = remat.compile(text, differentiate=False)
        result, = step.run([array("f32", (2, 3), [1, -2, 3, 4, 5, 6])])
        inf = float("inf")
        self.assertEqual(elements(result), [2.5, 2.5, inf, inf, -inf, inf, inf, inf])

    def test_complex_constants(self):
        function = mlir.Function()
        x = function.argument((2,), "complex<f32>", "x")
        y = function.generic([(x, ["d0"]), (function.constant(2j, (2,), "complex<f32>"), ["d0"])], (2,), "complex<f32>",
                             lambda b, a, c: b.binary("complex.mul", a, b.binary(
                                 "complex.add", c, b.constant(1, "complex<f32>"), "complex<f32>"), "complex<f32>"))
        given = remat.Array("c64", (2,))
        (ctypes.c_float * 4).from_address(given.address)[:] = [1, 0, 0, 1]
        result, = remat.compile(function.text([y]), differentiate=False).run([given])
        self.assertEqual(elements(result), [1, 2, -2, 1])


class WaitingTest(unittest.TestCase):
    def find_spins(self, **variables):
        """How often threads look before they sleep, as libgomp says it in a process with these variables."""
        program = "import os, remat; remat.compile(%r); print(os.environ.get('GOMP_SPINCOUNT'))" % MODEL
        environment = {name: value for name, value in os.environ.items()
                       if name not in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")}
        environment.update(variables, OMP_DISPLAY_ENV="verbose")
        run = subprocess.run([sys.executable, "-S", "-c", program], env=environment, capture_output=True, text=True,
                             check=True)
        self.assertEqual(run.stdout.strip(), str(variables.get("GOMP_SPINCOUNT")))
        if "GOMP_SPINCOUNT" not in run.stderr:
            self.skipTest("the threads are not libgomp's")
        return int(run.stderr.split("GOMP_SPINCOUNT = '")[1].split("'")[0])

    def test_threads_sleep_soon(self):
        self.assertEqual(self.find_spins(), 10000)

    def test_the_environment_decides(self):
        self.assertEqual(self.find_spins(GOMP_SPINCOUNT="77"), 77)
        self.assertEqual(self.find_spins(OMP_WAIT_POLICY="passive"), 0)


class FileTest(unittest.TestCase):
    def test_safetensors(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "x.safetensors")
            safetensors.save(path, {"x": array("f32", (2,), [1, 2])})
            with open(path, "rb") as file:
                data = file.read()
        self.assertIn(b'"dtype": "F32", "shape": [2], "data_offsets": [0, 8]', data)
        self.assertTrue(data.endswith(b"\0\0\x80?\0\0\0@"))


if __name__ == "__main__":
    unittest.main()

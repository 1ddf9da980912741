"""Slices at places that are known while the step runs, with all strides: values, gradients and errors. Needs NumPy and
nothing else.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import unittest

import remat

try:
    import numpy as np
except ImportError:
    np = None

EXTRACT = """
func.func @main(%%x: tensor<6xf32>, %%i: tensor<i64>) -> tensor<2xf32> {
  %%e = tensor.extract %%i[] : tensor<i64>
  %%j = arith.index_cast %%e : i64 to index
  %%s = tensor.extract_slice %%x[%%j] [2] [%d] : tensor<6xf32> to tensor<2xf32>
  return %%s : tensor<2xf32>
}
"""
INSERT = """
func.func @main(%%x: tensor<6xf32>, %%y: tensor<2xf32>, %%i: tensor<i64>) -> tensor<6xf32> {
  %%e = tensor.extract %%i[] : tensor<i64>
  %%j = arith.index_cast %%e : i64 to index
  %%s = tensor.insert_slice %%y into %%x[%%j] [2] [%d] : tensor<2xf32> into tensor<6xf32>
  return %%s : tensor<6xf32>
}
"""
REPEATED = """
func.func @main(%x: tensor<6xf32>) -> tensor<2xf32> {
  %s = tensor.extract_slice %x[1] [2] [0] : tensor<6xf32> to tensor<2xf32>
  return %s : tensor<2xf32>
}
"""


@unittest.skipIf(np is None, "NumPy is not installed")
class SliceTest(unittest.TestCase):
    def setUp(self):
        self.x, self.y = np.arange(6, dtype="f4"), np.array([10, 20], "f4")
        self.cotangents = np.arange(1, 7, dtype="f4")

    def places(self, stride):
        """Offsets, with the places of both elements, or None if one is not in the tensor."""
        for offset in range(-1, 7):
            places = [offset, offset + stride]
            yield np.array(offset), places if all(0 <= p < 6 for p in places) else None

    def check(self, step, args, expected):
        if expected is None:
            with self.assertRaisesRegex(remat.RunError, "index"):
                step.run(args)
            return
        for found, own in zip(step.run(args), expected, strict=True):
            np.testing.assert_array_equal(found, own)

    def test_reading(self):
        for stride in (1, 2, 0, -1, -3):
            step = remat.compile(EXTRACT % stride, cotangents=True, wrt=[0])
            for offset, places in self.places(stride):
                gradient = np.zeros(6, "f4")
                np.add.at(gradient, places or [], self.y if places else [])
                self.check(step, [self.x, offset, self.y], places and [self.x[places], gradient])

    def test_writing(self):
        for stride in (1, 2, -1, -3):
            step = remat.compile(INSERT % stride, cotangents=True, wrt=[0, 1])
            for offset, places in self.places(stride):
                written, gradient = self.x.copy(), self.cotangents.copy()
                if places:
                    written[places], gradient[places] = self.y, 0
                self.check(step, [self.x, self.y, offset, self.cotangents],
                           places and [written, gradient, self.cotangents[places]])
        with self.assertRaisesRegex(remat.CompileError, "has stride 0 in dimension 0, where its 2 elements"):
            remat.compile(INSERT % 0)

    def test_repeated_elements(self):
        self.check(remat.compile(REPEATED, cotangents=True), [self.x, self.y], [[1, 1], [0, 30, 0, 0, 0, 0]])


if __name__ == "__main__":
    unittest.main()

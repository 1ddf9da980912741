# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints a planned graph of so many tasks, each with a result of 2^48 bytes, of which none is read: huge-graph.py COUNT"""
import sys

TENSOR = "tensor<70368744177664xf32>"
print(f"func.func private @k(%x: {TENSOR}) -> {TENSOR} attributes {{remat.kernel}} {{")
print(f"  return %x : {TENSOR}")
print("}")
# The results live one at a time.
print(f"remat.graph @main(%x: {TENSOR}) attributes {{planned_peak = {1 << 48} : i64}} {{", end="")
for number in range(int(sys.argv[1])):
    print(f"\n  %{number} = remat.task {number} @k(%x) : ({TENSOR}) -> {TENSOR}", end="")
print("\n  remat.return\n}")

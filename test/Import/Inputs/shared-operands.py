"""Writes a function with COUNT operations of which each reads the last one's result twice.

    shared-operands.py KIND COUNT

KIND says what looks at what they are made of: `constants` in front of a loop, `places` that a loop writes to, `rows` that
are zero but for one element, or `batch`, what has the rows of a batch without depending on it.
"""

import sys

CONSTANTS = """
func.func @main(%x: tensor<4xf64>) -> tensor<4xf64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 5000 : index
  %v0 = arith.constant 1.5 : f64
  @CHAIN
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> tensor<4xf64> {
    %t = tensor.splat %LAST : tensor<4xf64>
    %m = arith.mulf %a, %t : tensor<4xf64>
    %y = math.tanh %m : tensor<4xf64>
    scf.yield %y : tensor<4xf64>
  }
  return %r : tensor<4xf64>
}"""
PLACES = """
func.func @main(%x: tensor<64x4xf64>, %u: tensor<8x4xf64>, %ids: tensor<8xi64>) -> tensor<64x4xf64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 8 : index
  %k = arith.constant 63 : i64
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> tensor<64x4xf64> {
    %v0 = tensor.extract %ids[%i] : tensor<8xi64>
    @CHAIN
    %m = arith.andi %LAST, %k : i64
    %p = arith.index_cast %m : i64 to index
    %v = tensor.extract_slice %u[%i, 0] [1, 4] [1, 1] : tensor<8x4xf64> to tensor<1x4xf64>
    %y = tensor.insert_slice %v into %a[%p, 0] [1, 4] [1, 1] : tensor<1x4xf64> into tensor<64x4xf64>
    scf.yield %y : tensor<64x4xf64>
  }
  return %r : tensor<64x4xf64>
}"""
ROWS = """
#row = affine_map<(i, j) -> (i)>
#all = affine_map<(i, j) -> (i, j)>
func.func @main(%x: tensor<5xf64>, %ids: tensor<5xi64>, %w: tensor<5x7xf64>) -> tensor<5xf64> {
  %z = arith.constant dense<0.0> : tensor<5xf64>
  %e = tensor.empty() : tensor<5x7xf64>
  %p = linalg.generic {indexing_maps = [#row, #row, #all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%x, %ids, %w : tensor<5xf64>, tensor<5xi64>, tensor<5x7xf64>) outs(%e : tensor<5x7xf64>) {
  ^bb0(%v0: f64, %id: i64, %v: f64, %o: f64):
    %zero = arith.constant 0.0 : f64
    %j = linalg.index 1 : index
    %column = arith.index_cast %j : index to i64
    %c = arith.cmpi eq, %column, %id : i64
    @CHAIN
    %m = arith.mulf %LAST, %v : f64
    %q = arith.select %c, %m, %zero : f64
    linalg.yield %q : f64
  } -> tensor<5x7xf64>
  %r = linalg.reduce { arith.addf } ins(%p : tensor<5x7xf64>) outs(%z : tensor<5xf64>) dimensions = [1]
  return %r : tensor<5xf64>
}"""
BATCH = """
func.func @main(%x: tensor<8x4xf64>, %w: tensor<4xf64>) -> tensor<f64> {
  %z = arith.constant dense<0.0> : tensor<f64>
  %k = arith.constant dense<0.01> : tensor<4x4xf64>
  %v0 = arith.constant dense<0.5> : tensor<8x4xf64>
  @CHAIN
  %e = tensor.empty() : tensor<8x4xf64>
  %b = linalg.broadcast ins(%w : tensor<4xf64>) outs(%e : tensor<8x4xf64>) dimensions = [0]
  %m = arith.mulf %x, %LAST : tensor<8x4xf64>
  %n = arith.mulf %m, %b : tensor<8x4xf64>
  %r = linalg.reduce { arith.addf } ins(%n : tensor<8x4xf64>) outs(%z : tensor<f64>) dimensions = [0, 1]
  return %r : tensor<f64>
}"""
KINDS = {
    "constants": (CONSTANTS, "%v{1} = arith.mulf %v{0}, %v{0} : f64"),
    "places": (PLACES, "%u{1} = arith.addi %v{0}, %v{0} : i64 %v{1} = arith.xori %u{1}, %v{0} : i64"),
    "rows": (ROWS, "%s{1} = math.sin %v{0} : f64 %v{1} = arith.addf %v{0}, %s{1} : f64"),
    "batch": (BATCH, "%s{1} = linalg.matmul ins(%v{0}, %k : tensor<8x4xf64>, tensor<4x4xf64>) "
                     "outs(%v{0} : tensor<8x4xf64>) -> tensor<8x4xf64> %v{1} = math.tanh %s{1} : tensor<8x4xf64>"),
}

text, operation = KINDS[sys.argv[1]]
count = int(sys.argv[2])
chain = "\n    ".join(operation.format(i, i + 1) for i in range(count))
print(text.replace("@CHAIN", chain).replace("%LAST", f"%v{count}"))

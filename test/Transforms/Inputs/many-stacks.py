"""Prints a loop whose iterations keep COUNT values for the derivative: products with a matrix and their tanh."""
import sys

print("""func.func @main(%x: tensor<8xf32>, %w: tensor<8x8xf32>) -> tensor<8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 5 : index
  %z = arith.constant dense<0.0> : tensor<8xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%h0 = %x) -> tensor<8xf32> {""")
count = int(sys.argv[1])
for i in range(count):
    print(f"    %p{i} = linalg.matvec ins(%w, %h{i} : tensor<8x8xf32>, tensor<8xf32>) outs(%z : tensor<8xf32>) -> tensor<8xf32>")
    print(f"    %t{i} = math.tanh %p{i} : tensor<8xf32>\n    %h{i + 1} = arith.addf %t{i}, %h{i} : tensor<8xf32>")
print(f"    scf.yield %h{count} : tensor<8xf32>\n  }}\n  return %r : tensor<8xf32>\n}}")

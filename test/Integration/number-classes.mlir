// What kind of number a float is, of each kind: infinities, NaN, zero, the
// largest of those that are not normal, the smallest normal one, the largest. A
// shift by more bits than there are leaves open what it makes, but compiles.

// RUN: %python %S/../Import/Inputs/foreign_values.py remat-run %s %t
// RUN: %python %S/../Import/Inputs/foreign_values.py remat-run %s %t --target=cuda --device=sim

// tolerance 0
// arg 0 f4 7: inf -inf nan 0 1.1754942e-38 -1.17549435e-38 3.4028235e38
// result 0 i4 7: 1 1 0 0 0 0 0
// result 1 i4 7: 0 0 0 0 0 1 1

func.func @main(%x: tensor<7xf32>) -> (tensor<7xi32>, tensor<7xi32>, tensor<7xi32>) {
  %many = arith.constant dense<40> : tensor<7xi32>
  %inf = math.isinf %x : tensor<7xf32>
  %normal = math.isnormal %x : tensor<7xf32>
  %0 = arith.extui %inf : tensor<7xi1> to tensor<7xi32>
  %1 = arith.extui %normal : tensor<7xi1> to tensor<7xi32>
  %2 = arith.shli %0, %many : tensor<7xi32>
  return %0, %1, %2 : tensor<7xi32>, tensor<7xi32>, tensor<7xi32>
}

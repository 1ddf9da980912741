// RUN: remat-opt %s -split-input-file --remat-import-random-state | FileCheck %s

// The state is an argument and a result. A draw, whatever its arithmetic, is
// one of remat.random with the program's seed as the key; the second one has
// the next state.

// CHECK-LABEL: func.func @main
// CHECK-SAME:  (%[[X:.*]]: tensor<4x8xf32>, %[[STATE:.*]]: tensor<i64> {remat.initial_value = dense<7> : tensor<i64>, remat.name = "seed"})
// CHECK-SAME:  -> (tensor<4x8xf64>, tensor<4x8xf64>, tensor<i64> {remat.name = "seed"})
// CHECK:       %[[OLD:.*]] = tensor.extract %[[STATE]][]
// CHECK:       %[[NEXT:.*]] = arith.addi %[[OLD]]
// CHECK:       %[[AFTER:.*]] = tensor.insert %[[NEXT]] into %[[STATE]][]
// CHECK:       %[[KEY:.*]] = tensor.from_elements %[[NEXT]]
// CHECK:       %[[DRAW:.*]] = remat.random %[[KEY]], %{{.*}} -> tensor<4x8xf64>
// CHECK:       linalg.generic {{.*}} ins(%[[DRAW]] : tensor<4x8xf64>)
// CHECK:       %[[LAST:.*]] = tensor.insert {{.*}} into %[[AFTER]][]
// CHECK:       remat.random
// CHECK:       return %{{.*}}, %{{.*}}, %[[LAST]]
// CHECK-NOT:   ml_program.global
#id = affine_map<(d0, d1) -> (d0, d1)>
ml_program.global private mutable @seed(dense<7> : tensor<i64>) : tensor<i64>

func.func @main(%x: tensor<4x8xf32>) -> (tensor<4x8xf64>, tensor<4x8xf64>) {
  %c1 = arith.constant 1 : i64
  %c8 = arith.constant 8 : i64
  %scale = arith.constant 5.4210108624275222E-20 : f64
  %e = tensor.empty() : tensor<4x8xf64>
  %s0 = ml_program.global_load @seed : tensor<i64>
  %k0 = tensor.extract %s0[] : tensor<i64>
  %k1 = arith.addi %k0, %c1 : i64
  %s1 = tensor.insert %k1 into %s0[] : tensor<i64>
  ml_program.global_store @seed = %s1 : tensor<i64>
  %u = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<4x8xf64>) {
  ^bb0(%out: f64):
    %i = linalg.index 0 : index
    %i64 = arith.index_cast %i : index to i64
    %j = linalg.index 1 : index
    %j64 = arith.index_cast %j : index to i64
    %n = arith.muli %i64, %c8 : i64
    %m = arith.addi %n, %j64 : i64
    %p = arith.muli %m, %k1 : i64
    %q = arith.xori %p, %k1 : i64
    %f = arith.uitofp %q : i64 to f64
    %g = arith.mulf %f, %scale : f64
    linalg.yield %g : f64
  } -> tensor<4x8xf64>
  %s2 = ml_program.global_load @seed : tensor<i64>
  %k2 = tensor.extract %s2[] : tensor<i64>
  %k3 = arith.addi %k2, %c1 : i64
  %s3 = tensor.insert %k3 into %s2[] : tensor<i64>
  ml_program.global_store @seed = %s3 : tensor<i64>
  %v = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<4x8xf64>) {
  ^bb0(%out: f64):
    %i = linalg.index 0 : index
    %i64 = arith.index_cast %i : index to i64
    %q = arith.muli %i64, %k3 : i64
    %f = arith.uitofp %q : i64 to f64
    linalg.yield %f : f64
  } -> tensor<4x8xf64>
  return %u, %v : tensor<4x8xf64>, tensor<4x8xf64>
}

// -----

// Data that becomes numbers is no draw; a state that is only read is no result;
// what cannot change is a constant.

// CHECK-LABEL: func.func @main
// CHECK-SAME:  tensor<i64> {remat.initial_value = dense<0> : tensor<i64>, remat.name = "seed"}) -> tensor<4xf64> {
// CHECK:       arith.constant dense<3> : tensor<i64>
// CHECK-NOT:   remat.random
// CHECK-NOT:   ml_program.global
#one = affine_map<(d0) -> (d0)>
ml_program.global private mutable @seed(dense<0> : tensor<i64>) : tensor<i64>
ml_program.global private @three(dense<3> : tensor<i64>) : tensor<i64>

func.func @main(%x: tensor<4xi64>) -> tensor<4xf64> {
  %e = tensor.empty() : tensor<4xf64>
  %s0 = ml_program.global_load @seed : tensor<i64>
  %k0 = tensor.extract %s0[] : tensor<i64>
  %t0 = ml_program.global_load @three : tensor<i64>
  %k1 = tensor.extract %t0[] : tensor<i64>
  %k = arith.addi %k0, %k1 : i64
  %u = linalg.generic {indexing_maps = [#one, #one], iterator_types = ["parallel"]} ins(%x : tensor<4xi64>) outs(%e : tensor<4xf64>) {
  ^bb0(%in: i64, %out: f64):
    %q = arith.muli %in, %k : i64
    %f = arith.uitofp %q : i64 to f64
    linalg.yield %f : f64
  } -> tensor<4xf64>
  return %u : tensor<4xf64>
}

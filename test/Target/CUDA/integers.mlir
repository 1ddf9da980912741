// Functions of integers are instructions, of every width and of indices.
// RUN: remat-compile %s --no-gradients --target=cuda --mcpu=sm_90 -S -o - | FileCheck %s --implicit-check-not=__nv_ --implicit-check-not=call

// CHECK-DAG: abs.s16
// CHECK-DAG: clz.b32
// CHECK-DAG: popc.b32
// CHECK-DAG: popc.b64
func.func @main(%x: tensor<1024xi8>, %y: tensor<1024xi32>, %z: tensor<1024xindex>) -> (tensor<1024xi8>, tensor<1024xi8>, tensor<1024xi32>, tensor<1024xi32>, tensor<1024xindex>) {
  %0 = math.absi %x : tensor<1024xi8>
  %1 = math.ctlz %x : tensor<1024xi8>
  %2 = math.cttz %y : tensor<1024xi32>
  %3 = math.ctpop %y : tensor<1024xi32>
  %4 = math.ctpop %z : tensor<1024xindex>
  return %0, %1, %2, %3, %4 : tensor<1024xi8>, tensor<1024xi8>, tensor<1024xi32>, tensor<1024xi32>, tensor<1024xindex>
}

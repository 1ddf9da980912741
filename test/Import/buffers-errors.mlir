// RUN: remat-opt %s -split-input-file --remat-import-buffers -verify-diagnostics

// Behaviours 41 and 54: what is not a straight line of known operations.

func.func @loop(%x: memref<4xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %v = arith.constant 1.0 : f32
  scf.for %i = %c0 to %n step %c1 {
    // expected-error @+1 {{uses a memref in a region, expected a straight line of operations on memrefs}}
    memref.store %v, %x[%i] : memref<4xf32>
  }
  return
}

// -----

func.func @unknown(%x: memref<4xf32>) {
  // expected-error @+1 {{on memrefs is not supported}}
  %0 = memref.transpose %x (i) -> (i) : memref<4xf32> to memref<4xf32, strided<[1]>>
  return
}

// -----

// expected-error @+1 {{expected memrefs of static shape, got 'memref<?xf32>'}}
func.func @dynamic(%x: memref<?xf32>) {
  return
}

// -----

// expected-error @+1 {{uses memrefs in 2 blocks, expected 1}}
func.func @blocks(%x: memref<4xf32>) {
  cf.br ^bb1
^bb1:
  return
}

// RUN: remat-opt %s -split-input-file --remat-import-buffers -verify-diagnostics

// Regions and operations that the pass does not know are errors.

func.func @while(%x: memref<4xf32>, %c: i1) {
  %c0 = arith.constant 0 : index
  %v = arith.constant 1.0 : f32
  scf.while : () -> () {
    scf.condition(%c)
  } do {
    // expected-error @+1 {{uses a memref in a region of 'scf.while', expected 'scf.for', 'scf.if', 'remat.checkpoint' or 'remat.scope'}}
    memref.store %v, %x[%c0] : memref<4xf32>
    scf.yield
  }
  return
}

// -----

func.func @swap(%x: memref<4xf32>, %y: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  // expected-error @+1 {{passes memrefs on, expected it to write to ones from outside}}
  %a, %b = scf.for %i = %c0 to %c4 step %c1 iter_args(%p = %x, %q = %y) -> (memref<4xf32>, memref<4xf32>) {
    scf.yield %q, %p : memref<4xf32>, memref<4xf32>
  }
  return
}

// -----

// A value that a policy keeps must not be written to afterwards.
func.func @cached(%x: memref<4xf32>) -> memref<4xf32> {
  %y = memref.alloc() : memref<4xf32>
  remat.checkpoint {
    // expected-note @+1 {{the value's policy is to be kept}}
    linalg.exp {remat.policy = #remat.policy<must_save>} ins(%x : memref<4xf32>) outs(%y : memref<4xf32>)
    // expected-error @+1 {{overwrites a value that a checkpoint keeps, expected 'remat.allow_mutation_on_saved_tensors' on the function}}
    linalg.exp ins(%y : memref<4xf32>) outs(%y : memref<4xf32>)
    remat.yield
  }
  return %y : memref<4xf32>
}

// -----

func.func @branch(%x: memref<4xf32>, %c: i1) attributes {remat.allow_cache_entry_mutation} {
  %c0 = arith.constant 0 : index
  %v = arith.constant 1.0 : f32
  scf.if %c {
    // expected-error @+1 {{writes in a branch what the backward computation may read as written}}
    memref.store %v, %x[%c0] : memref<4xf32>
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

// RUN: remat-opt %s -split-input-file -verify-diagnostics

// What the verifier of a planned graph refuses of arguments that give their
// buffers to results.

func.func private @f(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
// expected-error @below {{argument 0 gives its buffer to result 2, but there are 1 results}}
remat.graph @range(%w: tensor<32xf32> {remat.donated = 2 : i64}) -> tensor<32xf32> {
  %0 = remat.task 0 @f(%w) : (tensor<32xf32>) -> tensor<32xf32>
  remat.return %0 : tensor<32xf32>
}

// -----

func.func private @f(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
// expected-error @below {{argument 0 gives its buffer to result 0, which has another type}}
remat.graph @type(%w: tensor<16xf32> {remat.donated = 0 : i64}, %x: tensor<32xf32>) -> tensor<32xf32> {
  %0 = remat.task 0 @f(%x) : (tensor<32xf32>) -> tensor<32xf32>
  remat.return %0 : tensor<32xf32>
}

// -----

func.func private @f(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
// expected-error @below {{argument 1 gives its buffer to result 0, which has that of argument 0}}
remat.graph @twice(%w: tensor<32xf32> {remat.donated = 0 : i64}, %x: tensor<32xf32> {remat.donated = 0 : i64}) -> tensor<32xf32> {
  %0 = remat.task 0 @f(%x) : (tensor<32xf32>) -> tensor<32xf32>
  remat.return %0 : tensor<32xf32>
}

// -----

func.func private @f(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
remat.graph @late(%w: tensor<32xf32> {remat.donated = 0 : i64}, %x: tensor<32xf32>) -> (tensor<32xf32>, tensor<32xf32>)
    attributes {planned_peak = 0 : i64} {
  %0 = remat.task 0 @f(%x) : (tensor<32xf32>) -> tensor<32xf32>
  // expected-error @below {{reads a value that another task has overwritten}}
  %1 = remat.task 1 @f(%w) : (tensor<32xf32>) -> tensor<32xf32>
  remat.return %0, %1 : tensor<32xf32>, tensor<32xf32>
}

// -----

func.func private @f(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
remat.graph @after(%w: tensor<32xf32> {remat.donated = 0 : i64}) -> (tensor<32xf32>, tensor<32xf32>)
    attributes {planned_peak = 0 : i64} {
  %0 = remat.task 0 @f(%w) at [operand 0] : (tensor<32xf32>) -> tensor<32xf32>
  // expected-error @below {{reads a value that another task has overwritten}}
  %1 = remat.task 1 @f(%w) : (tensor<32xf32>) -> tensor<32xf32>
  remat.return %0, %1 : tensor<32xf32>, tensor<32xf32>
}

// -----

func.func private @f(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
remat.graph @itself(%w: tensor<32xf32> {remat.donated = 0 : i64}) -> tensor<32xf32> attributes {planned_peak = 0 : i64} {
  // expected-error @below {{reads a value that another task has overwritten}}
  %0 = remat.task 0 @f(%w) : (tensor<32xf32>) -> tensor<32xf32>
  remat.return %0 : tensor<32xf32>
}

// -----

func.func private @f(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
remat.graph @kept(%w: tensor<32xf32>) -> tensor<32xf32> attributes {planned_peak = 0 : i64} {
  // expected-error @below {{result 0 is written over argument 0, which gives its buffer to no result}}
  %0 = remat.task 0 @f(%w) at [operand 0] : (tensor<32xf32>) -> tensor<32xf32>
  remat.return %0 : tensor<32xf32>
}

// -----

func.func private @f(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
remat.graph @other(%w: tensor<32xf32> {remat.donated = 1 : i64}, %x: tensor<32xf32>) -> (tensor<32xf32>, tensor<32xf32>)
    attributes {planned_peak = 0 : i64} {
  // expected-error @below {{result 0 is written over argument 0, which gives its buffer to result 1}}
  %0 = remat.task 0 @f(%w) at [operand 0] : (tensor<32xf32>) -> tensor<32xf32>
  %1 = remat.task 1 @f(%x) : (tensor<32xf32>) -> tensor<32xf32>
  remat.return %0, %1 : tensor<32xf32>, tensor<32xf32>
}

// -----

func.func private @f(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
remat.graph @reused(%w: tensor<32xf32> {remat.donated = 0 : i64}, %x: tensor<32xf32>) -> tensor<32xf32>
    attributes {planned_peak = 0 : i64} {
  // expected-error @below {{reuses the buffer of result 0, which argument 0 gives and occupies}}
  %0 = remat.task 0 @f(%x) at [reused 0:0] : (tensor<32xf32>) -> tensor<32xf32>
  %1 = remat.task 1 @f(%0) : (tensor<32xf32>) -> tensor<32xf32>
  remat.return %1 : tensor<32xf32>
}

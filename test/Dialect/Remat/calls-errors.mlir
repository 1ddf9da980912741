// RUN: remat-opt %s -split-input-file -verify-diagnostics

// Steps in several calls, and what regions may keep.

func.func private @k(%a: tensor<16xf32>) -> tensor<16xf32> attributes {remat.kernel} {
  return %a : tensor<16xf32>
}
remat.graph @order(%x: tensor<16xf32>) {
  %0 = remat.task 0 @k(%x) phase 1 : (tensor<16xf32>) -> tensor<16xf32>
  // expected-error @+1 {{is of phase 0 but stands behind one of phase 1}}
  %1 = remat.task 1 @k(%0) : (tensor<16xf32>) -> tensor<16xf32>
  remat.return
}

// -----

func.func private @k(%a: tensor<16xf32>) -> tensor<16xf32> attributes {remat.kernel} {
  return %a : tensor<16xf32>
}
remat.graph @negative(%x: tensor<16xf32>) {
  // expected-error @+1 {{'phase' must be between 0 and 65535, got -1}}
  %0 = remat.task 0 @k(%x) phase -1 : (tensor<16xf32>) -> tensor<16xf32>
  remat.return
}

// -----

func.func private @k(%a: tensor<16xf32>) -> tensor<16xf32> attributes {remat.kernel} {
  return %a : tensor<16xf32>
}
remat.graph @many_calls(%x: tensor<16xf32>) attributes {planned_peak = 64 : i64} {
  // expected-error @+1 {{'phase' must be between 0 and 65535, got 9223372036854775807}}
  %0 = remat.task 0 @k(%x) phase 9223372036854775807 : (tensor<16xf32>) -> tensor<16xf32>
  remat.return
}

// -----

// expected-error @+1 {{argument 0 has attribute 'remat.phase' "one", expected the number of a call}}
func.func @argument(%x: tensor<16xf32> {remat.phase = "one"}) {
  return
}

// -----

func.func private @k(%a: tensor<16xf32>) -> tensor<16xf32> attributes {remat.kernel} {
  return %a : tensor<16xf32>
}
remat.graph @early(%x: tensor<16xf32>, %g: tensor<16xf32> {remat.phase = 2}) attributes {planned_peak = 128 : i64} {
  %0 = remat.task 0 @k(%x) : (tensor<16xf32>) -> tensor<16xf32>
  // expected-error @+1 {{is of phase 1 but reads an argument that is given in phase 2}}
  %1 = remat.task 1 @k(%g) phase 1 : (tensor<16xf32>) -> tensor<16xf32>
  remat.return
}

// -----

func.func private @k(%a: tensor<16xf32>) -> tensor<16xf32> attributes {remat.kernel} {
  return %a : tensor<16xf32>
}
remat.graph @scratch(%x: tensor<16xf32>) attributes {planned_peak = 128 : i64, arena_bytes = 128 : i64, state_bytes = 64 : i64} {
  // expected-error @+1 {{is placed at bytes 64 to 128, expected it within the 64 bytes of state}}
  %0 = remat.task 0 @k(%x) at [arena 64] : (tensor<16xf32>) -> tensor<16xf32>
  %1 = remat.task 1 @k(%0) phase 1 at [arena 0] : (tensor<16xf32>) -> tensor<16xf32>
  remat.return
}

// -----

func.func private @k(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
remat.graph @across(%x: tensor<32xf32>) attributes {planned_peak = 128 : i64, arena_bytes = 192 : i64, state_bytes = 64 : i64} {
  // expected-error @+1 {{is placed at bytes 0 to 128, expected it within or behind the 64 bytes of state}}
  %0 = remat.task 0 @k(%x) at [arena 0] : (tensor<32xf32>) -> tensor<32xf32>
  remat.return
}

// -----

func.func private @k(%a: tensor<16xf32>) -> tensor<16xf32> attributes {remat.kernel} {
  return %a : tensor<16xf32>
}
// expected-error @+1 {{has a state of 128 bytes in an arena of 64}}
remat.graph @large(%x: tensor<16xf32>) attributes {planned_peak = 64 : i64, arena_bytes = 64 : i64, state_bytes = 128 : i64} {
  %0 = remat.task 0 @k(%x) at [arena 0] : (tensor<16xf32>) -> tensor<16xf32>
  remat.return
}

// -----

func.func private @k(%a: tensor<16xf32>) -> tensor<16xf32> attributes {remat.kernel} {
  return %a : tensor<16xf32>
}
remat.graph @reused(%x: tensor<16xf32>) -> tensor<16xf32> attributes {planned_peak = 0 : i64} {
  // expected-error @+1 {{reuses the buffer of result 0, which another call writes}}
  %0 = remat.task 0 @k(%x) at [reused 0:0] : (tensor<16xf32>) -> tensor<16xf32>
  %1 = remat.task 1 @k(%0) : (tensor<16xf32>) -> tensor<16xf32>
  %2 = remat.task 2 @k(%x) phase 1 : (tensor<16xf32>) -> tensor<16xf32>
  remat.return %2 : tensor<16xf32>
}

// -----

// A value that is kept only for a recomputation counts, too. No backward task
// reads task 0, but its value is kept for the clone of task 1.
func.func private @k(%a: tensor<16xf32>) -> tensor<16xf32> attributes {remat.kernel} {
  return %a : tensor<16xf32>
}
// expected-error @+1 {{keeps 64 bytes of region 'a', its budget is 63}}
remat.graph @region(%x: tensor<16xf32>) -> tensor<16xf32> attributes {planned_peak = 128 : i64, region_budgets = {a = 63 : i64}} {
  %0 = remat.task 0 @k(%x) {names = [["a"]]} : (tensor<16xf32>) -> tensor<16xf32>
  %1 = remat.task 1 @k(%0) {names = [["a"]]} : (tensor<16xf32>) -> tensor<16xf32>
  %2 = remat.task 1 copy 1 @k(%0) : (tensor<16xf32>) -> tensor<16xf32>
  %3 = remat.task 2 @k(%2) backward : (tensor<16xf32>) -> tensor<16xf32>
  remat.return %3 : tensor<16xf32>
}

// -----

// What comes back from the host before the backward computation begins is kept.
// Behind the last forward task, it would not be.
func.func private @k(%a: tensor<16xf32>) -> tensor<16xf32> attributes {remat.kernel} {
  return %a : tensor<16xf32>
}
// expected-error @+1 {{keeps 64 bytes of region 'a', its budget is 63}}
remat.graph @early(%x: tensor<16xf32>) -> tensor<16xf32> attributes {planned_peak = 128 : i64, region_budgets = {a = 63 : i64}} {
  %0 = remat.task 0 @k(%x) {names = [["a"]]} : (tensor<16xf32>) -> tensor<16xf32>
  %1 = remat.offload %0 : tensor<16xf32>
  %2 = remat.reload %1 : tensor<16xf32>
  %3 = remat.task 1 @k(%x) : (tensor<16xf32>) -> tensor<16xf32>
  %4 = remat.task 2 @k(%2) backward : (tensor<16xf32>) -> tensor<16xf32>
  remat.return %4 : tensor<16xf32>
}

// -----

func.func private @k(%a: tensor<16xf32>) -> tensor<16xf32> attributes {remat.kernel} {
  return %a : tensor<16xf32>
}
// expected-error @+1 {{region 'a' has budget "much", expected a number of bytes}}
remat.graph @words(%x: tensor<16xf32>) -> tensor<16xf32> attributes {planned_peak = 0 : i64, region_budgets = {a = "much"}} {
  %0 = remat.task 0 @k(%x) : (tensor<16xf32>) -> tensor<16xf32>
  remat.return %0 : tensor<16xf32>
}

// RUN: remat-opt %s -split-input-file -verify-diagnostics

func.func private @body(%a: tensor<4xf32>) -> tensor<4xf32>
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{carries ('tensor<4xf32>'), but ends with ('tensor<5x4xf32>')}}
  %r = remat.loop @body count 5 carried(%a) invariant() sliced() : (tensor<4xf32>) -> tensor<5x4xf32>
  return %a : tensor<4xf32>
}

// -----

func.func private @body(%a: tensor<4xf32>)
func.func @main(%a: tensor<4xf32>) {
  // expected-error@+1 {{has 0 results, expected 1 or more}}
  remat.loop @body count 5 carried(%a) invariant() sliced() : (tensor<4xf32>) -> ()
  return
}

// -----

func.func private @body(%a: tensor<4xf32>) -> tensor<4xf32>
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{has no iterations, expected a 'count' of 1 or more}}
  %r = remat.loop @body count 0 carried(%a) invariant() sliced() : (tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{runs 'body', which is no function}}
  %r = remat.loop @body count 5 carried(%a) invariant() sliced() : (tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

// What is sliced or stacked has an element for each iteration.

func.func private @body(%a: tensor<4xf32>, %x: tensor<4xf32>) -> tensor<4xf32>
func.func @main(%a: tensor<4xf32>, %x: tensor<4x4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{has a slice of type 'tensor<4x4xf32>', expected 5 elements in the first dimension}}
  %r = remat.loop @body count 5 carried(%a) invariant() sliced(%x) : (tensor<4xf32>, tensor<4x4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

func.func private @body(%a: tensor<f32>, %x: tensor<f32>) -> tensor<f32>
func.func @main(%a: tensor<f32>, %x: tensor<f32>) -> tensor<f32> {
  // expected-error@+1 {{has a slice of type 'tensor<f32>', expected 5 elements in the first dimension}}
  %r = remat.loop @body count 5 carried(%a) invariant() sliced(%x) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %r : tensor<f32>
}

// -----

func.func private @body(%a: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
func.func @main(%a: tensor<4xf32>) -> tensor<6x4xf32> {
  // expected-error@+1 {{has a stacked result of type 'tensor<6x4xf32>', expected 5 elements in the first dimension}}
  %r:2 = remat.loop @body count 5 carried(%a) invariant() sliced() : (tensor<4xf32>) -> (tensor<4xf32>, tensor<6x4xf32>)
  return %r#1 : tensor<6x4xf32>
}

// -----

func.func private @body(%a: tensor<4xf32>) -> tensor<4xf32>
func.func @main(%a: tensor<4xf32>, %w: tensor<2xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{runs 'body' with arguments ('tensor<4xf32>'), expected ('tensor<4xf32>', 'tensor<2xf32>')}}
  %r = remat.loop @body count 5 carried(%a) invariant(%w) sliced() : (tensor<4xf32>, tensor<2xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

func.func private @body(%a: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{runs 'body' with results ('tensor<4xf32>', 'tensor<4xf32>'), expected ('tensor<4xf32>')}}
  %r = remat.loop @body count 5 carried(%a) invariant() sliced() : (tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

func.func private @back(%d: tensor<4xf32>, %h: tensor<4xf32>) -> tensor<4xf32>
func.func private @next(%h: tensor<4xf32>) -> tensor<4xf32>
func.func @main(%d: tensor<4xf32>, %h: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{makes states again, expected 'advance' and 'slots'}}
  %r = "remat.loop"(%d, %h) {advance = @next, body = @back, count = 5 : i64, reverse, operandSegmentSizes = array<i32: 1, 0, 0, 1, 0, 0, 0>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

func.func private @back(%d: tensor<4xf32>, %h: tensor<4xf32>) -> tensor<4xf32>
func.func private @next(%h: tensor<4xf32>) -> tensor<4xf32>
func.func @main(%d: tensor<4xf32>, %h: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{attribute 'slots' failed to satisfy constraint: 64-bit signless integer attribute whose value is positive}}
  %r = remat.loop @back count 5 reverse carried(%d) invariant() sliced() again @next slots 0 carried(%h) invariant() sliced() : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

// The body gets the states behind the invariants.

func.func private @back(%d: tensor<4xf32>) -> tensor<4xf32>
func.func private @next(%h: tensor<2xf32>) -> tensor<2xf32>
func.func @main(%d: tensor<4xf32>, %h: tensor<2xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{runs 'back' with arguments ('tensor<4xf32>'), expected ('tensor<4xf32>', 'tensor<2xf32>')}}
  %r = remat.loop @back count 5 reverse carried(%d) invariant() sliced() again @next slots 2 carried(%h) invariant() sliced() : (tensor<4xf32>, tensor<2xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

func.func private @back(%d: tensor<4xf32>, %h: tensor<4xf32>) -> tensor<4xf32>
func.func private @next(%h: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
func.func @main(%d: tensor<4xf32>, %h: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{runs 'next' with results ('tensor<4xf32>', 'tensor<4xf32>'), expected ('tensor<4xf32>')}}
  %r = remat.loop @back count 5 reverse carried(%d) invariant() sliced() again @next slots 2 carried(%h) invariant() sliced() : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

func.func private @back(%d: tensor<4xf32>, %h: tensor<4xf32>) -> tensor<4xf32>
func.func private @next(%h: tensor<4xf32>, %x: tensor<2xf32>) -> tensor<4xf32>
func.func @main(%d: tensor<4xf32>, %h: tensor<4xf32>, %x: tensor<4x2xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{has a slice of type 'tensor<4x2xf32>', expected 5 elements in the first dimension}}
  %r = remat.loop @back count 5 reverse carried(%d) invariant() sliced() again @next slots 2 carried(%h) invariant() sliced(%x) : (tensor<4xf32>, tensor<4xf32>, tensor<4x2xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

// How many iterations run is a number, or what the body says in front of all
// else. Without a limit there is nothing that has an element for each.

func.func private @body(%a: tensor<4xf32>) -> tensor<4xf32>
func.func @main(%a: tensor<4xf32>, %n: tensor<i32>) -> tensor<4xf32> {
  // expected-error@+1 {{has trips of type 'tensor<i32>', expected 'tensor<i64>'}}
  %r = remat.loop @body count 5 trips(%n) carried(%a) invariant() sliced() : (tensor<4xf32>, tensor<i32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

func.func private @body(%a: tensor<4xf32>) -> tensor<4xf32>
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{with 'while' carries ('tensor<4xf32>'), expected 'tensor<i1>' and 'tensor<i64>' in front}}
  %r = remat.loop @body count 5 while carried(%a) invariant() sliced() : (tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

func.func private @body(%g: tensor<i1>, %n: tensor<i64>) -> (tensor<i1>, tensor<i64>)
func.func @main(%g: tensor<i1>, %n: tensor<i64>) -> tensor<i64> {
  // expected-error@+1 {{with 'while' has 'trips', 'reverse' or 'again', expected none of them}}
  %r:2 = remat.loop @body count 5 while reverse carried(%g, %n) invariant() sliced() : (tensor<i1>, tensor<i64>) -> (tensor<i1>, tensor<i64>)
  return %r#1 : tensor<i64>
}

// -----

func.func private @body(%a: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
func.func @main(%a: tensor<4xf32>, %n: tensor<i64>) -> tensor<0x4xf32> {
  // expected-error@+1 {{has slices, stacked results or 'again', expected a 'count' of 1 or more}}
  %r:2 = remat.loop @body trips(%n) carried(%a) invariant() sliced() : (tensor<4xf32>, tensor<i64>) -> (tensor<4xf32>, tensor<0x4xf32>)
  return %r#1 : tensor<0x4xf32>
}

// -----

func.func private @back(%d: tensor<4xf32>, %h: tensor<4xf32>) -> tensor<4xf32>
func.func private @next(%h: tensor<4xf32>) -> tensor<4xf32>
func.func @main(%d: tensor<4xf32>, %h: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{attribute 'host_slots' failed to satisfy constraint: 64-bit signless integer attribute whose value is positive}}
  %r = remat.loop @back count 5 reverse carried(%d) invariant() sliced() again @next slots 2 carried(%h) invariant() sliced() host 0 period 2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

func.func private @back(%d: tensor<4xf32>) -> tensor<4xf32>
func.func @main(%d: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{keeps states in host memory, expected 'host_slots', 'period' and 'advance'}}
  %r = remat.loop @back count 5 reverse carried(%d) invariant() sliced() host 2 period 2 : (tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

func.func private @body(%a: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{is recursive: it is in 'body', which its iterations run again}}
  %r = remat.loop @other count 2 carried(%a) invariant() sliced() : (tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}
func.func private @other(%a: tensor<4xf32>) -> tensor<4xf32> {
  %r = func.call @body(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

// Graphs and kernels are functions, too.
remat.graph @step(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = remat.task 0 @loop(%a) : (tensor<4xf32>) -> tensor<4xf32>
  remat.return %0 : tensor<4xf32>
}
func.func private @loop(%a: tensor<4xf32>) -> tensor<4xf32> attributes {remat.kernel} {
  // expected-error@+1 {{is recursive: it is in 'loop', which its iterations run again}}
  %0 = remat.loop @step count 3 carried(%a) invariant() sliced() : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

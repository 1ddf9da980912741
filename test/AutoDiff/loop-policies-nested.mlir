// RUN: remat-opt %s -split-input-file --remat-differentiate=mode=reverse -verify-diagnostics

// The derivative of a loop runs the loops in its body again, with what must be
// kept of these.

func.func private @inner(%h: tensor<4xf32>) -> tensor<4xf32> {
  %a = math.tanh %h : tensor<4xf32>
  %at = remat.tag %a {policy = #remat.policy<must_cpu_offload>} : tensor<4xf32>
  %b = math.sin %at : tensor<4xf32>
  return %b : tensor<4xf32>
}
func.func private @outer(%h: tensor<4xf32>) -> tensor<4xf32> {
  // expected-warning @below {{is in the body of another loop, whose derivative runs it again: what is MUST_CPU_OFFLOAD in it is made again by each iteration, and not sent to the host; if one of the loops is unrolled (unroll-limit), it is what it has to be}}
  %r = remat.loop @inner count 20 carried(%h) invariant() sliced() : (tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}
func.func @nested(%h: tensor<4xf32>) -> tensor<4xf32> {
  %r = remat.loop @outer count 5 carried(%h) invariant() sliced() : (tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

// What need not be kept is made again without a word, and one loop keeps it.

func.func private @inner(%h: tensor<4xf32>) -> tensor<4xf32> {
  %a = math.tanh %h : tensor<4xf32>
  %at = remat.tag %a {policy = #remat.policy<prefer_save>} : tensor<4xf32>
  %b = math.sin %at : tensor<4xf32>
  return %b : tensor<4xf32>
}
func.func private @outer(%h: tensor<4xf32>) -> tensor<4xf32> {
  %r = remat.loop @inner count 20 carried(%h) invariant() sliced() : (tensor<4xf32>) -> tensor<4xf32>
  %c = math.tanh %r : tensor<4xf32>
  %ct = remat.tag %c {policy = #remat.policy<must_cpu_offload>} : tensor<4xf32>
  %d = math.sin %ct : tensor<4xf32>
  return %d : tensor<4xf32>
}
func.func @nested(%h: tensor<4xf32>) -> tensor<4xf32> {
  %r = remat.loop @outer count 5 carried(%h) invariant() sliced() : (tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

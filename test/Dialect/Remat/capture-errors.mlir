// RUN: remat-opt %s -verify-diagnostics -split-input-file

func.func @unknown_policy(%x: tensor<4xf32>) {
  // expected-error @+2 {{expected ::remat::Policy to be one of: must_save, prefer_save, must_recompute, prefer_recompute, must_cpu_offload, prefer_cpu_offload}}
  // expected-error @+1 {{failed to parse Remat_PolicyAttr}}
  %0 = remat.tag %x {policy = #remat.policy<keep>} : tensor<4xf32>
  return
}

// -----

func.func @policy_of_wrong_kind(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{attribute 'remat.policy' must be a '#remat.policy', got "must_save"}}
  %0 = math.exp %x {remat.policy = "must_save"} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @name_of_wrong_kind(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{attribute 'remat.name' must be a string, got 1}}
  %0 = math.exp %x {remat.name = 1} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @backward_of_wrong_kind(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{attribute 'remat.backward' must be a unit attribute, got true}}
  %0 = math.exp %x {remat.backward = true} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @kernel_on_an_operation(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{attribute 'remat.kernel' belongs on a function}}
  %0 = math.exp %x {remat.kernel} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error @+1 {{attribute 'remat.form' must be "library" or "generated", got "slow"}}
func.func @unknown_form(%x: tensor<4xf32>) -> tensor<4xf32>
    attributes {remat.kernel, remat.form = "slow"} {
  return %x : tensor<4xf32>
}

// -----

// expected-error @+1 {{attribute 'remat.form' belongs on a kernel}}
func.func @form_of_no_kernel(%x: tensor<4xf32>) -> tensor<4xf32>
    attributes {remat.form = "library"} {
  return %x : tensor<4xf32>
}

// -----

func.func @unknown_attribute(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{unknown attribute 'remat.polcy', expected one of 'remat.policy', 'remat.name', 'remat.backward', 'remat.kernel'}}
  %0 = math.exp %x {remat.polcy = #remat.policy<must_save>} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @checkpoint_yields_other_types(%x: tensor<4xf32>) {
  // expected-error @+1 {{yields values of types ('tensor<4xf32>'), expected its result types ('tensor<8xf32>')}}
  %0 = remat.checkpoint {
    remat.yield %x : tensor<4xf32>
  } : tensor<8xf32>
  return
}

// -----

func.func @tag_without_content(%x: tensor<4xf32>) {
  // expected-error @+1 {{needs a 'name', a 'policy' or a 'codec'}}
  %0 = remat.tag %x : tensor<4xf32>
  return
}

// -----

func.func @tag_with_empty_name(%x: tensor<4xf32>) {
  // expected-error @+1 {{'name' must not be empty}}
  %0 = remat.tag %x {name = ""} : tensor<4xf32>
  return
}

// -----

func.func @checkpoint_with_arguments(%x: tensor<4xf32>) {
  // expected-error @+1 {{region must not have arguments, got 1}}
  %0 = "remat.checkpoint"() ({
  ^bb0(%a: tensor<4xf32>):
    remat.yield %a : tensor<4xf32>
  }) {early_stop = true} : () -> tensor<4xf32>
  return
}

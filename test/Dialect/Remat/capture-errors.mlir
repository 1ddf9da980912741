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
  // expected-error @+1 {{attribute 'remat.name' must be a string that is not empty, got 1}}
  %0 = math.exp %x {remat.name = 1} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @backward_of_wrong_kind(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{attribute 'remat.backward' must be a unit attribute, or a level from 2 to 255 of type i64, got true}}
  %0 = math.exp %x {remat.backward = true} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @backward_of_the_first_level(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{attribute 'remat.backward' must be a unit attribute, or a level from 2 to 255 of type i64, got 1}}
  %0 = math.exp %x {remat.backward = 1 : i64} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @level_of_no_derivative(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{attribute 'level' failed to satisfy constraint: 64-bit signless integer attribute whose value is positive}}
  %0 = remat.tag %x {name = "a", level = 0 : i64} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @kernel_on_an_operation(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{attribute 'remat.kernel' belongs on a function}}
  %0 = math.exp %x {remat.kernel} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error @+1 {{attribute 'remat.implementation' must be '#remat.implementation<library>', '#remat.implementation<generated>' or '#remat.implementation<either>', got "library"}}
func.func @implementation_of_wrong_kind(%x: tensor<4xf32>) -> tensor<4xf32>
    attributes {remat.kernel, remat.implementation = "library"} {
  return %x : tensor<4xf32>
}

// -----

// expected-error @+1 {{attribute 'remat.plans' must be an array of plans with 'device', 'plan', 'version' and 'workspace', got}}
func.func @plan_without_workspace(%x: tensor<4xf32>) -> tensor<4xf32>
    attributes {remat.kernel, remat.plans = [{device = "sm_90", plan = "", version = 1 : i64}]} {
  return %x : tensor<4xf32>
}

// -----

// expected-error @+1 {{attribute 'remat.plans' must be an array of plans with 'device', 'plan', 'version' and 'workspace', got}}
func.func @second_plan_with_a_value(%x: tensor<4xf32>) -> tensor<4xf32>
    attributes {remat.kernel, remat.plans = [{device = "sm_90", plan = "", second = true, version = 1 : i64, workspace = 0 : i64}]} {
  return %x : tensor<4xf32>
}

// -----

// expected-error @+1 {{attribute 'remat.plans' belongs on a kernel}}
func.func @plans_of_a_function(%x: tensor<4xf32>) -> tensor<4xf32> attributes {remat.plans = []} {
  return %x : tensor<4xf32>
}

// -----

func.func @unknown_implementation(%x: tensor<4xf32>) -> tensor<4xf32>
    // expected-error @+2 {{expected ::remat::Implementation to be one of: library, generated, either}}
    // expected-error @+1 {{failed to parse Remat_ImplementationAttr}}
    attributes {remat.kernel, remat.implementation = #remat.implementation<slow>} {
  return %x : tensor<4xf32>
}

// -----

// expected-error @+1 {{attribute 'remat.implementation' belongs on a kernel}}
func.func @implementation_of_no_kernel(%x: tensor<4xf32>) -> tensor<4xf32>
    attributes {remat.implementation = #remat.implementation<library>} {
  return %x : tensor<4xf32>
}

// -----

func.func @unknown_attribute(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{unknown attribute 'remat.polcy', expected one of 'remat.policy', 'remat.name', 'remat.backward', 'remat.kernel'}}
  %0 = math.exp %x {remat.polcy = #remat.policy<must_save>} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error @+1 {{argument 1 has the unknown attribute 'remat.nmae', expected one of 'remat.policy', 'remat.name', 'remat.phase', 'remat.donated', 'remat.host', 'remat.key', 'remat.initial_value'}}
func.func @unknown_attribute_of_argument(%x: tensor<4xf32>, %y: tensor<4xf32> {remat.nmae = "y"}) {
  return
}

// -----

// expected-error @+1 {{argument 0 has the unknown attribute 'remat.backward', expected one of 'remat.policy', 'remat.name', 'remat.phase', 'remat.donated', 'remat.host', 'remat.key', 'remat.initial_value'}}
func.func @attribute_of_operations_on_argument(%x: tensor<4xf32> {remat.backward}) {
  return
}

// -----

// expected-error @+1 {{argument 0 has attribute 'remat.name' 1 : i64, expected a string}}
func.func @name_of_argument(%x: tensor<4xf32> {remat.name = 1}) {
  return
}

// -----

// expected-error @+1 {{argument 0 has attribute 'remat.phase' 1 : ui32, expected the number of a call}}
func.func @phase_of_wrong_type(%x: tensor<4xf32> {remat.phase = 1 : ui32}) {
  return
}

// -----

// expected-error @+1 {{argument 0 has attribute 'remat.initial_value' 1 : i64, expected the elements of a tensor}}
func.func @initial_value_of_argument(%x: tensor<i64> {remat.initial_value = 1}) {
  return
}

// -----

// expected-error @+1 {{result 0 has attribute 'remat.name' true, expected a string}}
func.func @name_of_result(%x: tensor<4xf32>) -> (tensor<4xf32> {remat.name = true}) {
  return %x : tensor<4xf32>
}

// -----

// expected-error @+1 {{result 0 has the unknown attribute 'remat.phase', expected one of 'remat.name', 'remat.absent'}}
func.func @unknown_attribute_of_result(%x: tensor<4xf32>) -> (tensor<4xf32> {remat.phase = 1}) {
  return %x : tensor<4xf32>
}

// -----

func.func @phase_of_operation(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{attribute 'remat.phase' belongs on an argument of a function}}
  %0 = math.exp %x {remat.phase = 1} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @inits_of_wrong_kind(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{attribute 'remat.inits' must be an array of numbers and units, got ["zero"]}}
  %0 = math.exp %x {remat.inits = ["zero"]} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @rows_of_wrong_kind(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{attribute 'remat.rows' must be an array of loops, got [0]}}
  %0 = math.exp %x {remat.rows = [0]} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @block_of_wrong_type(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{attribute 'remat.block' must be a positive number of rows, got 8 : ui8}}
  %0 = math.exp %x {remat.block = 8 : ui8} : tensor<4xf32>
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

func.func @tag_for_readers_of_nothing(%x: tensor<4xf32>) {
  // expected-error @+1 {{'for_readers' says whom a 'codec' or a 'policy' is for, expected one of them}}
  %0 = remat.tag %x {name = "x", for_readers} : tensor<4xf32>
  return
}

// -----

func.func @tag_overwritten_by_name(%x: tensor<4xf32>) {
  // expected-error @+1 {{attribute 'overwritten' failed to satisfy constraint: location}}
  %0 = remat.tag %x {overwritten = "here"} : tensor<4xf32>
  return
}

// -----

func.func @overwritten_in_no_buffer(%x: tensor<4xf32>, %y: tensor<4xf32>) {
  // expected-error @+1 {{attribute 'buffer' failed to satisfy constraint: 64-bit signless integer attribute whose value is non-negative}}
  remat.overwritten %x by %y in buffer -1 : tensor<4xf32>
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

// -----

func.func @checkpoint_of_unknown_attribute(%x: tensor<4xf32>) {
  // expected-error @+1 {{'remat.checkpoint' op has the unknown attribute 'earlystop', expected one of 'early_stop', 'name', 'policy', 'preserve_rng_state'}}
  %0 = remat.checkpoint attributes {earlystop = false} {
    remat.yield %x : tensor<4xf32>
  } : tensor<4xf32>
  return
}

// -----

func.func @scope_of_unknown_attribute(%x: tensor<4xf32>) {
  // expected-error @+1 {{'remat.scope' op has the unknown attribute 'pinned', expected one of 'codec', 'forbid', 'offload'}}
  %0 = remat.scope attributes {offload, pinned} {
    remat.yield %x : tensor<4xf32>
  } : tensor<4xf32>
  return
}

// -----

func.func @tag_of_unknown_attribute(%x: tensor<4xf32>) {
  // expected-error @+1 {{'remat.tag' op has the unknown attribute 'polcy', expected one of 'codec', 'for_readers', 'keep_apart', 'level', 'name', 'of_region', 'overwritten', 'policy', 'whole_region'}}
  %0 = remat.tag %x {name = "x", polcy = #remat.policy<must_save>} : tensor<4xf32>
  return
}

// -----

func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32>
func.func @vjp_of_unknown_attribute(%x: tensor<4xf32>) {
  // expected-error @+1 {{'remat.vjp' op has the unknown attribute 'wtr', expected one of}}
  %0:2 = remat.vjp @f(%x) cotangents(%x) {wtr = array<i64: 0>} : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @hook_of_two_sums(%x: tensor<4xf32>) {
  // expected-error @+1 {{sees an accumulated gradient but has 2 operands, expected one}}
  %0:2 = remat.gradient_hook(%x, %x : tensor<4xf32>, tensor<4xf32>) accumulated {
  ^bb0(%g: tensor<4xf32>, %h: tensor<4xf32>):
    remat.yield %g, %h : tensor<4xf32>, tensor<4xf32>
  }
  return
}

// -----

func.func @hook_of_unknown_attribute(%x: tensor<4xf32>) {
  // expected-error @+1 {{'remat.gradient_hook' op has the unknown attribute 'name', expected 'accumulated'}}
  %0 = "remat.gradient_hook"(%x) ({
  ^bb0(%g: tensor<4xf32>):
    remat.yield %g : tensor<4xf32>
  }) {name = "x"} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// Attributes of other dialects are theirs, and those of this one are checked.
func.func @attributes_of_dialects(%x: tensor<4xf32>) {
  %0 = remat.checkpoint attributes {foreign.note = 1, remat.backward} {
    remat.yield %x : tensor<4xf32>
  } : tensor<4xf32>
  // expected-error @+1 {{unknown attribute 'remat.offlaod', expected one of 'remat.policy', }}
  %1 = remat.scope attributes {remat.offlaod} {
    remat.yield %x : tensor<4xf32>
  } : tensor<4xf32>
  return
}

// -----

// expected-error @+1 {{argument 0 has attribute 'remat.policy' 3 : i64, expected a '#remat.policy'}}
func.func @argument_policy_of_wrong_type(%x: tensor<4xf32> {remat.policy = 3}) {
  return
}

// -----

// expected-error @+1 {{argument 0 has the unknown attribute 'remat.phaze', expected one of 'remat.policy', 'remat.name', 'remat.phase'}}
func.func @argument_of_unknown_attribute(%x: tensor<4xf32> {remat.phaze = 1}) {
  return
}

// -----

func.func @stop_gradient_of_unknown_attribute(%x: tensor<4xf32>) {
  // expected-error @+1 {{'remat.stop_gradient' op has the unknown attribute 'name', expected none}}
  %0 = remat.stop_gradient %x {name = "x"} : tensor<4xf32>
  return
}

// -----

func.func @no_codec(%x: tensor<4xf32>) {
  // expected-error @+1 {{'codec' is an empty list, expected a codec}}
  %0 = remat.tag %x {codec = []} : tensor<4xf32>
  return
}

// -----

func.func @yield_of_unknown_attribute(%x: tensor<4xf32>) {
  %0 = remat.checkpoint {
    // expected-error @+1 {{'remat.yield' op has the unknown attribute 'policy', expected none}}
    remat.yield {policy = #remat.policy<must_save>} %x : tensor<4xf32>
  } : tensor<4xf32>
  return
}

// -----

func.func @half_a_codec(%x: tensor<4xf32>) {
  // expected-error @+1 {{'codec' must be a name, the symbols of two functions, a '#remat.callback' or a list of these, got ["bf16", @f]}}
  %0 = remat.tag %x {codec = ["bf16", @f]} : tensor<4xf32>
  return
}

// -----

func.func @unknown_codec_in_list(%x: tensor<4xf32>) {
  // expected-error @+1 {{has the unknown codec 'fp3', expected 'bf16', 'int8', 'fp8', 'int4', 'none', two functions or a '#remat.callback'}}
  %0 = remat.tag %x {codec = [[@f, @g], "fp3"]} : tensor<4xf32>
  return
}

// -----

func.func @callback_without_name(%x: tensor<4xf32>) {
  // expected-error @+1 {{callback has no name}}
  %0 = remat.tag %x {codec = #remat.callback<"", bytes = (n) -> (n)>} : tensor<4xf32>
  return
}

// -----

func.func @callback_of_two_sizes(%x: tensor<4xf32>) {
  // expected-error @+1 {{'bytes' of a callback must be a map of one dimension to one number, got affine_map<(d0, d1) -> (d0 + d1)>}}
  %0 = remat.tag %x {codec = #remat.callback<"zip", bytes = (n, m) -> (n + m)>} : tensor<4xf32>
  return
}

// -----

func.func @callback_of_strange_elements(%x: tensor<4xf32>) {
  // expected-error @+1 {{callback takes elements of type 'tensor<2xf32>', expected integers, indices or floats}}
  %0 = remat.tag %x {codec = #remat.callback<"zip", bytes = (n) -> (n), elements = [tensor<2xf32>]>} : tensor<4xf32>
  return
}

// -----

func.func @codec_of_large_scope(%x: tensor<9223372036854775807xf32>) {
  // expected-error @+1 {{'remat.scope' op has a codec for a value of type 'tensor<9223372036854775807xf32>', expected at most 281474976710656 bytes}}
  %0 = remat.scope attributes {codec = "int8"} {
    remat.yield %x : tensor<9223372036854775807xf32>
  } : tensor<9223372036854775807xf32>
  return
}

// -----

func.func @codec_of_large_tag(%x: tensor<4294967296x4294967296xf32>) {
  // expected-error @+1 {{'remat.tag' op has a codec for a value of type 'tensor<4294967296x4294967296xf32>', expected at most 281474976710656 bytes}}
  %0 = remat.tag %x {codec = #remat.callback<"zip", bytes = (n) -> (n)>} : tensor<4294967296x4294967296xf32>
  return
}

// -----

func.func @pack_of_dynamic_shape(%x: tensor<?xf32>) {
  // expected-error @+1 {{expected static shapes, got 'tensor<?xf32>'}}
  %0 = remat.pack %x by "zip" id 0 : tensor<?xf32> -> tensor<4xi8>
  return
}

// -----

func.func @demand_with_elements(%x: tensor<4xf32>) {
  // expected-error @+1 {{has a result of type 'tensor<1xi8>', expected one without elements}}
  %0 = remat.demand %x : (tensor<4xf32>) -> tensor<1xi8>
  return
}

// -----

// expected-error @+1 {{'remat.gradient'}}
func.func @gradient_of_no_bits(%x: tensor<4xf32>) -> (tensor<4xf32> {remat.gradient = 0 : i0}) {
  return %x : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{attribute 'remat.name' must be a string that is not empty, got ""}}
  %0 = math.exp %x {remat.name = ""} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

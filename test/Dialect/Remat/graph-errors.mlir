// RUN: remat-opt %s -allow-unregistered-dialect -verify-diagnostics -split-input-file

// One error for each rule of a graph. The kernel copies; a tensor<32xf32> takes
// 128 bytes.

// expected-error @+1 {{needs tensors of numbers with static shape and at most 2^48 bytes, got 'tensor<?xf32>'}}
remat.graph @dynamic_shape(%x: tensor<?xf32>) {
  remat.return
}

// -----

// expected-error @+1 {{has 'arena_bytes' but no 'planned_peak'}}
remat.graph @placed_but_not_planned() attributes {arena_bytes = 0 : i64} {
  remat.return
}

// -----

// expected-error @+1 {{"budget" must not be negative, got -1}}
remat.graph @negative_budget() attributes {budget = -1 : i64} {
  remat.return
}

// -----

remat.graph @foreign_operation(%x: tensor<32xf32>) {
  // expected-error @+1 {{may not stand in a 'remat.graph'}}
  %0 = math.exp %x : tensor<32xf32>
  remat.return
}

// -----

remat.graph @unknown_kernel(%x: tensor<32xf32>) {
  // expected-error @+1 {{calls 'nothing', which is not a function}}
  %0 = remat.task 0 @nothing(%x) : (tensor<32xf32>) -> tensor<32xf32>
  remat.return
}

// -----

func.func private @k(%a: tensor<32xf32>) -> tensor<32xf32> {
  return %a : tensor<32xf32>
}
remat.graph @unmarked_kernel(%x: tensor<32xf32>) {
  // expected-error @+1 {{calls 'k', which is not marked 'remat.kernel'}}
  %0 = remat.task 0 @k(%x) : (tensor<32xf32>) -> tensor<32xf32>
  remat.return
}

// -----

func.func private @k(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
remat.graph @kernel_of_other_type(%x: tensor<32xf32>) {
  // expected-error @+1 {{has type '(tensor<32xf32>) -> tensor<16xf32>', expected the kernel's '(tensor<32xf32>) -> tensor<32xf32>'}}
  %0 = remat.task 0 @k(%x) : (tensor<32xf32>) -> tensor<16xf32>
  remat.return
}

// -----

func.func private @k(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
remat.graph @duplicate_id(%x: tensor<32xf32>) {
  %0 = remat.task 0 @k(%x) : (tensor<32xf32>) -> tensor<32xf32>
  // expected-error @+1 {{has id 0 and copy 0, which another task has}}
  %1 = remat.task 0 @k(%x) : (tensor<32xf32>) -> tensor<32xf32>
  remat.return
}

// -----

func.func private @k(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
remat.graph @clone_without_original(%x: tensor<32xf32>) {
  // expected-error @+1 {{is copy 1 of task 0, which does not precede it}}
  %0 = remat.task 0 copy 1 @k(%x) : (tensor<32xf32>) -> tensor<32xf32>
  remat.return
}

// -----

func.func private @k(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
func.func private @other(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
remat.graph @clone_of_other_kernel(%x: tensor<32xf32>) {
  // expected-note @+1 {{the task it repeats}}
  %0 = remat.task 0 @k(%x) : (tensor<32xf32>) -> tensor<32xf32>
  // expected-error @+1 {{is a copy of task 0 but calls 'other', expected 'k'}}
  %1 = remat.task 0 copy 1 @other(%x) : (tensor<32xf32>) -> tensor<32xf32>
  remat.return
}

// -----

func.func private @k(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
remat.graph @clone_of_pinned(%x: tensor<32xf32>) {
  // expected-note @+1 {{the pinned task}}
  %0 = remat.task 0 @k(%x) pinned : (tensor<32xf32>) -> tensor<32xf32>
  // expected-error @+1 {{repeats a task that must not be repeated}}
  %1 = remat.task 0 copy 1 @k(%x) : (tensor<32xf32>) -> tensor<32xf32>
  remat.return
}

// -----

func.func private @k(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
remat.graph @policy_count(%x: tensor<32xf32>) {
  // expected-error @+1 {{has 2 policies, expected 1}}
  %0 = remat.task 0 @k(%x) {policies = [unit, unit]} : (tensor<32xf32>) -> tensor<32xf32>
  remat.return
}

// -----

func.func private @k(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
remat.graph @policy_kind(%x: tensor<32xf32>) {
  // expected-error @+1 {{has policy "must_save", expected a '#remat.policy' or 'unit'}}
  %0 = remat.task 0 @k(%x) {policies = ["must_save"]} : (tensor<32xf32>) -> tensor<32xf32>
  remat.return
}

// -----

remat.graph @returns_argument(%x: tensor<32xf32>) -> tensor<32xf32> {
  // expected-error @+1 {{operand 0 is an argument of the graph or a view of one}}
  remat.return %x : tensor<32xf32>
}

// -----

func.func private @k(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
remat.graph @returns_twice(%x: tensor<32xf32>) -> (tensor<32xf32>, tensor<4x8xf32>) {
  %0 = remat.task 0 @k(%x) : (tensor<32xf32>) -> tensor<32xf32>
  %1 = tensor.expand_shape %0 [[0, 1]] output_shape [4, 8] : tensor<32xf32> into tensor<4x8xf32>
  // expected-error @+1 {{operand 1 shares the buffer of another result}}
  remat.return %0, %1 : tensor<32xf32>, tensor<4x8xf32>
}

// -----

func.func private @k(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
remat.graph @must_save_repeated(%x: tensor<32xf32>) attributes {planned_peak = 128 : i64} {
  // expected-error @+1 {{result 0 has policy 'must_save' but the task is repeated}}
  %0 = remat.task 0 @k(%x) {policies = [#remat.policy<must_save>]} : (tensor<32xf32>) -> tensor<32xf32>
  // expected-note @+1 {{here}}
  %1 = remat.task 0 copy 1 @k(%x) : (tensor<32xf32>) -> tensor<32xf32>
  remat.return
}

// -----

func.func private @k(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
remat.graph @must_save_offloaded(%x: tensor<32xf32>) attributes {planned_peak = 128 : i64} {
  // expected-error @+1 {{result 0 has policy 'must_save' but it is offloaded}}
  %0 = remat.task 0 @k(%x) {policies = [#remat.policy<must_save>]} : (tensor<32xf32>) -> tensor<32xf32>
  // expected-note @+1 {{here}}
  %1 = remat.offload %0 : tensor<32xf32>
  remat.return
}

// -----

func.func private @k(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
remat.graph @must_recompute_read(%x: tensor<32xf32>) attributes {planned_peak = 256 : i64} {
  // expected-error @+1 {{result 0 has policy 'must_recompute' but the backward computation reads it}}
  %0 = remat.task 0 @k(%x) {policies = [#remat.policy<must_recompute>]} : (tensor<32xf32>) -> tensor<32xf32>
  %1 = tensor.expand_shape %0 [[0, 1]] output_shape [1, 32] : tensor<32xf32> into tensor<1x32xf32>
  %2 = tensor.collapse_shape %1 [[0, 1]] : tensor<1x32xf32> into tensor<32xf32>
  // expected-note @+1 {{here}}
  %3 = remat.task 1 @k(%2) backward : (tensor<32xf32>) -> tensor<32xf32>
  remat.return
}

// -----

// What is forward may read it behind the backward computation, too.
func.func private @k(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
remat.graph @must_recompute_read_at_last(%x: tensor<32xf32>) attributes {planned_peak = 256 : i64} {
  %0 = remat.task 0 @k(%x) {policies = [#remat.policy<must_recompute>]} : (tensor<32xf32>) -> tensor<32xf32>
  %1 = remat.task 1 @k(%x) backward : (tensor<32xf32>) -> tensor<32xf32>
  %2 = remat.task 2 @k(%0) : (tensor<32xf32>) -> tensor<32xf32>
  remat.return
}

// -----

func.func private @k(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
remat.graph @must_offload_read(%x: tensor<32xf32>) attributes {planned_peak = 256 : i64} {
  // expected-error @+1 {{result 0 has policy 'must_cpu_offload' but the backward computation reads it}}
  %0 = remat.task 0 @k(%x) {policies = [#remat.policy<must_cpu_offload>]} : (tensor<32xf32>) -> tensor<32xf32>
  // expected-note @+1 {{here}}
  %1 = remat.task 1 @k(%0) backward : (tensor<32xf32>) -> tensor<32xf32>
  remat.return
}

// -----

func.func private @k(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
// 128 for each of the two values while task 1 runs, and 64 of workspace.
// expected-error @+1 {{needs 320 bytes at its peak, expected the planned 256}}
remat.graph @wrong_peak(%x: tensor<32xf32>) attributes {planned_peak = 256 : i64} {
  // expected-note @+1 {{128 bytes are live}}
  %0 = remat.task 0 @k(%x) : (tensor<32xf32>) -> tensor<32xf32>
  // expected-note @+2 {{128 bytes are live}}
  // expected-note @+1 {{64 bytes are live as workspace}}
  %1 = remat.task 1 @k(%0) workspace 10 : (tensor<32xf32>) -> tensor<32xf32>
  remat.return
}

// -----

func.func private @k(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
// expected-error @+1 {{peak 128 bytes exceeds budget 100}}
remat.graph @over_budget(%x: tensor<32xf32>) attributes {planned_peak = 128 : i64, budget = 100 : i64, arena_bytes = 128 : i64} {
  // expected-note @+1 {{128 bytes are live}}
  %0 = remat.task 0 @k(%x) : (tensor<32xf32>) -> tensor<32xf32>
  remat.return
}

// -----

func.func private @k(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
// expected-error @+1 {{host peak 128 bytes exceeds host budget 64}}
remat.graph @over_host_budget(%x: tensor<32xf32>) attributes {planned_peak = 128 : i64, host_budget = 64 : i64} {
  %0 = remat.task 0 @k(%x) : (tensor<32xf32>) -> tensor<32xf32>
  %1 = remat.offload %0 : tensor<32xf32>
  remat.return
}

// -----

func.func private @k(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
// expected-error @+1 {{arena of 256 bytes exceeds budget 200}}
remat.graph @arena_over_budget(%x: tensor<32xf32>) attributes {planned_peak = 128 : i64, budget = 200 : i64, arena_bytes = 256 : i64} {
  %0 = remat.task 0 @k(%x) at [arena 0] : (tensor<32xf32>) -> tensor<32xf32>
  remat.return
}

// -----

func.func private @k(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
remat.graph @no_slot(%x: tensor<32xf32>) attributes {planned_peak = 128 : i64, arena_bytes = 128 : i64} {
  // expected-error @+1 {{has no placement in a placed graph}}
  %0 = remat.task 0 @k(%x) : (tensor<32xf32>) -> tensor<32xf32>
  remat.return
}

// -----

func.func private @k(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
remat.graph @slot_count(%x: tensor<32xf32>) attributes {planned_peak = 128 : i64, arena_bytes = 128 : i64} {
  // expected-error @+1 {{has 0 places, expected 1}}
  %0 = remat.task 0 @k(%x) {placement = []} : (tensor<32xf32>) -> tensor<32xf32>
  remat.return
}

// -----

func.func private @k(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
remat.graph @slot_of_other_size(%x: tensor<32xf32>) attributes {planned_peak = 128 : i64, arena_bytes = 128 : i64} {
  // expected-error @+1 {{has a slot of 64 bytes, expected 128}}
  %0 = remat.task 0 @k(%x) at [arena 0 bytes 64] : (tensor<32xf32>) -> tensor<32xf32>
  remat.return
}

// -----

func.func private @k(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
remat.graph @slot_in_other_space(%x: tensor<32xf32>) attributes {planned_peak = 128 : i64, arena_bytes = 128 : i64} {
  // expected-error @+1 {{is placed in 'host', expected 'arena'}}
  %0 = remat.task 0 @k(%x) at [host 0] : (tensor<32xf32>) -> tensor<32xf32>
  remat.return
}

// -----

func.func private @k(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
remat.graph @slot_outside(%x: tensor<32xf32>) attributes {planned_peak = 128 : i64, arena_bytes = 128 : i64} {
  // expected-error @+1 {{is placed at byte 64 with 128 bytes in an arena of 128}}
  %0 = remat.task 0 @k(%x) at [arena 64] : (tensor<32xf32>) -> tensor<32xf32>
  remat.return
}

// -----

func.func private @k(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
remat.graph @wrong_result(%x: tensor<32xf32>) -> tensor<32xf32> attributes {planned_peak = 0 : i64, arena_bytes = 0 : i64} {
  // expected-error @+1 {{is placed in result 1, expected result 0}}
  %0 = remat.task 0 @k(%x) at [result 1] : (tensor<32xf32>) -> tensor<32xf32>
  remat.return %0 : tensor<32xf32>
}

// -----

func.func private @k(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
remat.graph @overlap(%x: tensor<32xf32>) attributes {planned_peak = 256 : i64, arena_bytes = 256 : i64} {
  // expected-note @+1 {{the live value}}
  %0 = remat.task 0 @k(%x) at [arena 0] : (tensor<32xf32>) -> tensor<32xf32>
  // expected-error @+1 {{overlaps a live value at offset 0 of 128 bytes, its own offset is 64}}
  %1 = remat.task 1 @k(%0) at [arena 64] : (tensor<32xf32>) -> tensor<32xf32>
  remat.return
}

// -----

// expected-error @+1 {{slot bytes must be a multiple of 64, got 100}}
"test.op"() {slot = #remat.slot<arena, offset = 0, bytes = 100>} : () -> ()

// -----

// expected-error @+1 {{slot offset must be a multiple of 64, got 4}}
"test.op"() {slot = #remat.slot<arena, offset = 4, bytes = 64>} : () -> ()

// -----

// expected-error @+1 {{slot must not be negative, got offset -64 and 64 bytes}}
"test.op"() {slot = #remat.slot<arena, offset = -64, bytes = 64>} : () -> ()

// -----

func.func private @k(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
remat.graph @clone_of_other_operands(%x: tensor<32xf32>, %y: tensor<32xf32>) {
  // expected-note @+1 {{the task it repeats}}
  %0 = remat.task 0 @k(%x) : (tensor<32xf32>) -> tensor<32xf32>
  // expected-error @+1 {{is a copy of task 0 but reads another value as operand 0}}
  %1 = remat.task 0 copy 1 @k(%y) : (tensor<32xf32>) -> tensor<32xf32>
  remat.return
}

// -----

func.func private @k(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
remat.graph @must_save_offloaded_as_a_view(%x: tensor<32xf32>) attributes {planned_peak = 128 : i64} {
  // expected-error @+1 {{result 0 has policy 'must_save' but it is offloaded}}
  %0 = remat.task 0 @k(%x) {policies = [#remat.policy<must_save>]} : (tensor<32xf32>) -> tensor<32xf32>
  %1 = tensor.expand_shape %0 [[0, 1]] output_shape [4, 8] : tensor<32xf32> into tensor<4x8xf32>
  // expected-note @+1 {{here}}
  %2 = remat.offload %1 : tensor<4x8xf32>
  remat.return
}

// -----

func.func private @k(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
remat.graph @must_recompute_reloaded(%x: tensor<32xf32>) attributes {planned_peak = 256 : i64} {
  // expected-error @+1 {{result 0 has policy 'must_recompute' but the backward computation reads it}}
  %0 = remat.task 0 @k(%x) {policies = [#remat.policy<must_recompute>]} : (tensor<32xf32>) -> tensor<32xf32>
  %1 = remat.offload %0 : tensor<32xf32>
  %2 = remat.reload %1 : tensor<32xf32>
  // expected-note @+1 {{here}}
  %3 = remat.task 1 @k(%2) backward : (tensor<32xf32>) -> tensor<32xf32>
  remat.return
}

// -----

func.func private @k(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
remat.graph @workspace_offset(%x: tensor<32xf32>) {
  // expected-error @+1 {{'workspace_offset' must be a multiple of 64, got -3}}
  %0 = remat.task 0 @k(%x) workspace 64 at [workspace -3] : (tensor<32xf32>) -> tensor<32xf32>
  remat.return
}

// -----

func.func private @k(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
remat.graph @host_workspace_offset(%x: tensor<32xf32>) {
  // expected-error @+1 {{'host_workspace_offset' must be a multiple of 64, got 3}}
  %0 = remat.task 0 @k(%x) host_workspace 64 at [host_workspace 3] : (tensor<32xf32>) -> tensor<32xf32>
  remat.return
}

// -----

func.func private @k(%x: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %x : tensor<32xf32>
}
remat.graph @workspace_too_large(%x: tensor<32xf32>) {
  // expected-error @+1 {{'workspace' must be between 0 and 281474976710656, got 9223372036854775807}}
  %0 = remat.task 0 @k(%x) workspace 9223372036854775807 : (tensor<32xf32>) -> tensor<32xf32>
  remat.return
}

// -----

// 2^66 floats: the number of bytes would wrap to 0.
// expected-error @+1 {{needs tensors of numbers with static shape and at most 2^48 bytes, got 'tensor<8589934592x8589934592xf32>'}}
remat.graph @too_large(%x: tensor<8589934592x8589934592xf32>) {
  remat.return
}

// -----

// expected-error @+1 {{"arena_bytes" must not be negative, got -64}}
remat.graph @negative_arena() attributes {planned_peak = 0 : i64, arena_bytes = -64 : i64} {
  remat.return
}

// -----

func.func private @k(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
remat.graph @slot_beyond_all_numbers(%x: tensor<32xf32>) attributes {planned_peak = 128 : i64, arena_bytes = 128 : i64} {
  // expected-error @+1 {{is placed at byte 9223372036854775552 with 128 bytes in an arena of 128}}
  %0 = remat.task 0 @k(%x) at [arena 9223372036854775552] : (tensor<32xf32>) -> tensor<32xf32>
  remat.return
}

// -----

remat.graph @other_results(%x: tensor<32xf32>) -> tensor<32xf32> {
  // expected-error @+1 {{returns (), expected ('tensor<32xf32>')}}
  remat.return
}

// -----

func.func private @k(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
remat.graph @policy_about_itself(%x: tensor<32xf32>) {
  // expected-error @+1 {{has 'policy_level' 2, expected one above the level of the task, 2}}
  %0 = remat.task 0 @k(%x) backward 2 {policy_level = 2} : (tensor<32xf32>) -> tensor<32xf32>
  remat.return
}

// -----

func.func private @k(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
remat.graph @level_of_a_forward_task(%x: tensor<32xf32>) {
  // expected-error @+1 {{has a 'level' but is not 'backward'}}
  %0 = remat.task 0 @k(%x) {level = 2} : (tensor<32xf32>) -> tensor<32xf32>
  remat.return
}

// -----

// What a region around a derivative hides is read by that, and not by the
// derivative of the region; also where another level is planned.
func.func private @k(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
remat.graph @must_recompute_outer(%x: tensor<32xf32>) attributes {planned_peak = 256 : i64} {
  %0 = remat.task 0 @k(%x) {policies = [#remat.policy<must_recompute>], policy_level = 2} : (tensor<32xf32>) -> tensor<32xf32>
  // expected-error @+1 {{result 0 has policy 'must_recompute' but the backward computation reads it}}
  %1 = remat.task 1 @k(%0) backward {policies = [#remat.policy<must_recompute>]} : (tensor<32xf32>) -> tensor<32xf32>
  // expected-note @+1 {{here}}
  %2 = remat.task 2 @k(%1) backward 2 : (tensor<32xf32>) -> tensor<32xf32>
  remat.return
}

// -----

func.func private @k(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
remat.graph @negative_id(%x: tensor<32xf32>) {
  // expected-error @+1 {{'id' and 'copy' must not be negative}}
  %0 = remat.task -1 @k(%x) : (tensor<32xf32>) -> tensor<32xf32>
  remat.return
}

// -----

func.func private @k(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
remat.graph @negative_cost(%x: tensor<32xf32>) {
  // expected-error @+1 {{'cost' must not be negative}}
  %0 = remat.task 0 @k(%x) cost -1 : (tensor<32xf32>) -> tensor<32xf32>
  remat.return
}

// -----

func.func private @k(%a: tensor<32xf32>) -> tensor<?xf32> attributes {remat.kernel}
remat.graph @task_of_dynamic_shape(%x: tensor<32xf32>) {
  // expected-error @+1 {{needs tensors of numbers with static shape and at most 2^48 bytes, got 'tensor<?xf32>'}}
  %0 = remat.task 0 @k(%x) : (tensor<32xf32>) -> tensor<?xf32>
  remat.return
}

// -----

remat.graph @transfer_of_dynamic_shape(%x: tensor<32xf32>) {
  // expected-error @+1 {{needs a tensor of numbers with static shape and at most 2^48 bytes, got 'tensor<?xf32>'}}
  %0 = "remat.reload"(%h) : (!remat.host<tensor<?xf32>>) -> tensor<?xf32>
  %h = "remat.offload"(%0) : (tensor<?xf32>) -> !remat.host<tensor<?xf32>>
  remat.return
}

// -----

// Numbers of tasks may be any: no two of them mean something of their own.

func.func private @k(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
remat.graph @greatest_numbers(%x: tensor<32xf32>) -> tensor<32xf32> attributes {planned_peak = 256 : i64} {
  %0 = remat.task 9223372036854775807 @k(%x) : (tensor<32xf32>) -> tensor<32xf32>
  %1 = remat.task 9223372036854775806 @k(%0) : (tensor<32xf32>) -> tensor<32xf32>
  %2 = remat.task 9223372036854775807 copy 1 @k(%x) : (tensor<32xf32>) -> tensor<32xf32>
  // expected-error @+1 {{has id 9223372036854775806 and copy 0, which another task has}}
  %3 = remat.task 9223372036854775806 @k(%2) : (tensor<32xf32>) -> tensor<32xf32>
  remat.return %3 : tensor<32xf32>
}

// -----

func.func private @k(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
remat.graph @greatest_clone(%x: tensor<32xf32>) {
  // expected-error @+1 {{is copy 1 of task 9223372036854775807, which does not precede it}}
  %0 = remat.task 9223372036854775807 copy 1 @k(%x) : (tensor<32xf32>) -> tensor<32xf32>
  remat.return
}

// -----

func.func private @k(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
remat.graph @greatest_kept(%x: tensor<32xf32>) -> tensor<32xf32> attributes {planned_peak = 128 : i64} {
  // expected-error @+1 {{result 0 has policy 'must_save' but the task is repeated}}
  %0 = remat.task 9223372036854775807 @k(%x) {policies = [#remat.policy<must_save>]} : (tensor<32xf32>) -> tensor<32xf32>
  // expected-note @+1 {{here}}
  %1 = remat.task 9223372036854775807 copy 1 @k(%x) : (tensor<32xf32>) -> tensor<32xf32>
  remat.return %1 : tensor<32xf32>
}

// -----

func.func private @k(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
remat.graph @copy_number(%x: tensor<32xf32>) {
  // expected-error @+1 {{'copy' must be at most 4294967294, got 4294967295}}
  %0 = remat.task 0 copy 4294967295 @k(%x) : (tensor<32xf32>) -> tensor<32xf32>
  remat.return
}

// -----

// Ends that do not fit 64 bits.

// expected-error @+1 {{slot must end before 2^63 bytes, got offset 9223372036854775744 and 64 bytes}}
"test.op"() {slot = #remat.slot<arena, offset = 9223372036854775744, bytes = 64>} : () -> ()

// -----

remat.graph @place_beyond(%x: tensor<32xf32>) {
  // expected-error @+1 {{slot must end before 2^63 bytes, got offset 9223372036854775744 and 128 bytes}}
  %0 = remat.task 0 @k(%x) at [arena 9223372036854775744] : (tensor<32xf32>) -> tensor<32xf32>
  remat.return
}

// -----

func.func private @k(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
remat.graph @workspace_beyond(%x: tensor<32xf32>) attributes {planned_peak = 256 : i64, arena_bytes = 256 : i64} {
  // expected-error @+1 {{has a workspace that ends beyond 2^63 bytes, got 'workspace_offset' 9223372036854775744}}
  %0 = remat.task 0 @k(%x) workspace 128 at [arena 0, workspace 9223372036854775744] : (tensor<32xf32>) -> tensor<32xf32>
  remat.return
}

// -----

// Attributes of a step that are misspelled would be wishes that nobody hears.
// expected-error @+1 {{'remat.graph' op has the unknown attribute 'budgets', expected one of 'arena_bytes'}}
remat.graph @graph_of_unknown_attribute() attributes {budgets = 64 : i64} {
  remat.return
}

// -----

func.func private @k(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
remat.graph @task_of_unknown_attribute(%x: tensor<32xf32>) {
  // expected-error @+1 {{'remat.task' op has the unknown attribute 'policy', expected one of 'backward'}}
  %0 = remat.task 0 @k(%x) {policy = [unit]} : (tensor<32xf32>) -> tensor<32xf32>
  remat.return
}

// -----

remat.graph @return_of_unknown_attribute() {
  // expected-error @+1 {{'remat.return' op has the unknown attribute 'note', expected none}}
  remat.return {note}
}

// -----

func.func private @k(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
// Those of other dialects pass.
remat.graph @foreign_attributes(%x: tensor<32xf32>) attributes {foreign.note = 1 : i64} {
  %0 = remat.task 0 @k(%x) {foreign.note} : (tensor<32xf32>) -> tensor<32xf32>
  remat.return {foreign.note}
}

// -----

func.func private @k(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
remat.graph @release_before_offload(%x: tensor<32xf32>) {
  %0 = remat.task 0 @k(%x) : (tensor<32xf32>) -> tensor<32xf32>
  // expected-error @+1 {{'remat.release' op needs a value that was offloaded before, or it waits for nothing}}
  remat.release %0 : tensor<32xf32>
  %1 = remat.offload %0 : tensor<32xf32>
  remat.return
}

// -----

func.func private @k(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
remat.graph @read_after_release(%x: tensor<32xf32>) {
  %0 = remat.task 0 @k(%x) : (tensor<32xf32>) -> tensor<32xf32>
  %1 = remat.offload %0 : tensor<32xf32>
  // expected-note @+1 {{the release}}
  remat.release %0 : tensor<32xf32>
  %2 = tensor.expand_shape %0 [[0, 1]] output_shape [4, 8] : tensor<32xf32> into tensor<4x8xf32>
  %3 = tensor.collapse_shape %2 [[0, 1]] : tensor<4x8xf32> into tensor<32xf32>
  // expected-error @+1 {{'remat.task' op reads a value that was released before}}
  %4 = remat.task 1 @k(%3) : (tensor<32xf32>) -> tensor<32xf32>
  %5 = remat.task 2 @k(%0) : (tensor<32xf32>) -> tensor<32xf32>
  remat.return
}

// -----

func.func private @k(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
remat.graph @released_twice(%x: tensor<32xf32>) {
  %0 = remat.task 0 @k(%x) : (tensor<32xf32>) -> tensor<32xf32>
  %1 = tensor.expand_shape %0 [[0, 1]] output_shape [4, 8] : tensor<32xf32> into tensor<4x8xf32>
  %2 = remat.offload %1 : tensor<4x8xf32>
  // expected-note @+1 {{the release}}
  remat.release %0 : tensor<32xf32>
  // expected-error @+1 {{'remat.release' op reads a value that was released before}}
  remat.release %1 : tensor<4x8xf32>
  remat.return
}

// -----

func.func private @k(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
remat.graph @released_and_returned(%x: tensor<32xf32>) -> tensor<32xf32> {
  %0 = remat.task 0 @k(%x) : (tensor<32xf32>) -> tensor<32xf32>
  %1 = remat.offload %0 : tensor<32xf32>
  // expected-note @+1 {{the release}}
  remat.release %0 : tensor<32xf32>
  // expected-error @+1 {{'remat.return' op reads a value that was released before}}
  remat.return %0 : tensor<32xf32>
}

// -----

func.func private @k(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
// What is released stays up to there: beside tasks 1 and 2.
// expected-error @+1 {{needs 384 bytes at its peak, expected the planned 256}}
remat.graph @release_counts(%x: tensor<32xf32>) attributes {planned_peak = 256 : i64} {
  // expected-note @+1 {{128 bytes are live}}
  %0 = remat.task 0 @k(%x) : (tensor<32xf32>) -> tensor<32xf32>
  %h = remat.offload %0 : tensor<32xf32>
  // expected-note @+1 {{128 bytes are live}}
  %1 = remat.task 1 @k(%x) : (tensor<32xf32>) -> tensor<32xf32>
  // expected-note @+1 {{128 bytes are live}}
  %2 = remat.task 2 @k(%1) : (tensor<32xf32>) -> tensor<32xf32>
  remat.release %0 : tensor<32xf32>
  remat.return
}

// -----

func.func private @k(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
// In place of what is still to be released, nothing may be written.
remat.graph @release_of_overwritten(%x: tensor<32xf32>) attributes {planned_peak = 128 : i64} {
  %0 = remat.task 0 @k(%x) : (tensor<32xf32>) -> tensor<32xf32>
  %h = remat.offload %0 : tensor<32xf32>
  %1 = remat.task 1 @k(%0) at [operand 0] : (tensor<32xf32>) -> tensor<32xf32>
  // expected-error @+1 {{reads a value that another task has overwritten}}
  remat.release %0 : tensor<32xf32>
  remat.return
}

// -----

// What is kept of a name ends with its release: right behind the forward
// computation is early enough.
func.func private @k(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
// expected-error @+1 {{keeps 128 bytes of region 'late', its budget is 0}}
remat.graph @release_behind_forward(%x: tensor<32xf32>) attributes {planned_peak = 384 : i64, region_budgets = {early = 0 : i64, late = 0 : i64}} {
  %0 = remat.task 0 @k(%x) {names = [["early"]]} : (tensor<32xf32>) -> tensor<32xf32>
  %1 = remat.task 1 @k(%x) {names = [["late"]]} : (tensor<32xf32>) -> tensor<32xf32>
  %2 = remat.offload %0 : tensor<32xf32>
  remat.release %0 : tensor<32xf32>
  %3 = remat.offload %1 : tensor<32xf32>
  %4 = remat.task 2 @k(%x) backward : (tensor<32xf32>) -> tensor<32xf32>
  remat.release %1 : tensor<32xf32>
  remat.return
}

// -----

func.func private @k(tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel}

remat.graph @absorbs_nothing(%x: tensor<32xf32>) -> tensor<32xf32> {
  // expected-error @+1 {{absorbs task 7, expected one that precedes it}}
  %0 = remat.task 0 @k(%x) {remat.absorbed = array<i64: 7>} : (tensor<32xf32>) -> tensor<32xf32>
  remat.return %0 : tensor<32xf32>
}

// -----

func.func private @k(tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel}

remat.graph @absorbs_pinned(%x: tensor<32xf32>) -> tensor<32xf32> {
  // expected-note @+1 {{the pinned task}}
  %0 = remat.task 0 @k(%x) pinned : (tensor<32xf32>) -> tensor<32xf32>
  // expected-error @+1 {{absorbs a task that must not be repeated}}
  %1 = remat.task 1 @k(%x) {remat.absorbed = array<i64: 0>} : (tensor<32xf32>) -> tensor<32xf32>
  remat.return %1 : tensor<32xf32>
}

// -----

func.func private @k(tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel}
func.func private @both(tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel}

remat.graph @absorbing_clone(%x: tensor<32xf32>, %y: tensor<32xf32>) -> tensor<32xf32> {
  %0 = remat.task 0 @k(%x) : (tensor<32xf32>) -> tensor<32xf32>
  %1 = remat.task 1 @k(%0) : (tensor<32xf32>) -> tensor<32xf32>
  %2 = remat.task 1 copy 1 @both(%x) {remat.absorbed = array<i64: 0>} : (tensor<32xf32>) -> tensor<32xf32>
  // expected-error @+1 {{reads as operand 0 a value that neither it nor a task that it absorbs reads}}
  %3 = remat.task 1 copy 2 @both(%y) {remat.absorbed = array<i64: 0>} : (tensor<32xf32>) -> tensor<32xf32>
  remat.return %3 : tensor<32xf32>
}

// -----

func.func private @k(tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel}

// expected-error @+2 {{attribute 'remat.absorptions' must be an array of dictionaries with 'kernel', 'tasks', 'operands', 'cost' and 'workspace'}}
remat.graph @malformed_absorptions(%x: tensor<32xf32>) -> tensor<32xf32> {
  %0 = remat.task 0 @k(%x) {remat.absorptions = [{kernel = @k}]} : (tensor<32xf32>) -> tensor<32xf32>
  remat.return %0 : tensor<32xf32>
}

// -----

func.func private @k(tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel}
func.func private @both(tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel}

remat.graph @over_what_it_reads_twice(%x: tensor<32xf32>) -> tensor<32xf32> attributes {arena_bytes = 128 : i64, host_arena_bytes = 0 : i64, planned_peak = 128 : i64, save_all_peak = 128 : i64} {
  %0 = remat.task 0 @k(%x) cost 1 at [arena 0] : (tensor<32xf32>) -> tensor<32xf32>
  // expected-error @+1 {{result 0 is written over operand 0, which another operand is, too, or is a view of}}
  %1 = remat.task 1 @both(%0, %0) cost 1 at [operand 0] : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
  %2 = remat.task 2 @k(%1) cost 1 at [result 0] : (tensor<32xf32>) -> tensor<32xf32>
  remat.return %2 : tensor<32xf32>
}

// RUN: remat-opt %s --remat-import-pipeline | FileCheck %s

// The gradient of the sum of a scan with respect to what is carried and to what is scanned, jax.grad of
//
//   def f(h, xs):
//       def cell(h, x):
//           h = jnp.tanh(h * x)
//           return h, h
//       return jax.lax.scan(cell, h, xs)[1].sum()
//
// as JAX 0.10.2 lowers it. Both loops stay loops; the second goes from the last step to the first.

// CHECK-LABEL: func.func public @main(
// CHECK-SAME:    %[[H:.*]]: tensor<4xf32>, %[[XS:.*]]: tensor<2000x4xf32>)
// CHECK:         %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<4xf32>
// CHECK:         %[[F:.*]]:4 = remat.loop @main_loop count 2000 carried(%[[H]]) invariant() sliced(%[[XS]])
// CHECK:         %[[B:.*]]:2 = remat.loop @main_loop_0 count 2000 reverse carried(%[[ZERO]]) invariant() sliced(%[[XS]], %[[F]]#1, %[[F]]#2, %[[F]]#3)
// CHECK:         return %[[B]]#0, %[[B]]#1
// CHECK:       func.func private @main_loop(%{{.*}}: tensor<4xf32>, %{{.*}}: tensor<4xf32>)
// CHECK-SAME:      -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
// CHECK-NOT:     tensor.extract
// CHECK:         math.tanh
// CHECK:       func.func private @main_loop_0(%{{.*}}: tensor<4xf32>, %{{.*}}: tensor<4xf32>, %{{.*}}: tensor<4xf32>, %{{.*}}: tensor<4xf32>, %{{.*}}: tensor<4xf32>)
// CHECK-SAME:      -> (tensor<4xf32>, tensor<4xf32>)
// CHECK-NOT:     tensor.extract
// CHECK:         return

"builtin.module"() <{sym_name = "jit_f"}> ({
  "func.func"() <{arg_attrs = [{}, {}], function_type = (tensor<4xf32>, tensor<2000x4xf32>) -> (tensor<4xf32>, tensor<2000x4xf32>), res_attrs = [{jax.result_info = "result[0]"}, {jax.result_info = "result[1]"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg13: tensor<4xf32>, %arg14: tensor<2000x4xf32>):
    %17 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %18 = "stablehlo.broadcast_in_dim"(%17) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2000x4xf32>
    %19 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %20 = "stablehlo.broadcast_in_dim"(%19) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2000x4xf32>
    %21 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %22 = "stablehlo.broadcast_in_dim"(%21) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2000x4xf32>
    %23 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %24:6 = "stablehlo.while"(%arg14, %23, %arg13, %18, %20, %22) ({
    ^bb0(%arg37: tensor<2000x4xf32>, %arg38: tensor<i32>, %arg39: tensor<4xf32>, %arg40: tensor<2000x4xf32>, %arg41: tensor<2000x4xf32>, %arg42: tensor<2000x4xf32>):
      %55 = "stablehlo.constant"() <{value = dense<2000> : tensor<i32>}> : () -> tensor<i32>
      %56 = "stablehlo.compare"(%arg38, %55) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
      "stablehlo.return"(%56) : (tensor<i1>) -> ()
    }, {
    ^bb0(%arg31: tensor<2000x4xf32>, %arg32: tensor<i32>, %arg33: tensor<4xf32>, %arg34: tensor<2000x4xf32>, %arg35: tensor<2000x4xf32>, %arg36: tensor<2000x4xf32>):
      %48 = "func.call"(%arg31, %arg32) <{callee = @dynamic_index_in_dim}> : (tensor<2000x4xf32>, tensor<i32>) -> tensor<4xf32>
      %49:4 = "func.call"(%arg33, %48) <{callee = @closed_call}> : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
      %50 = "func.call"(%arg34, %49#1, %arg32) <{callee = @dynamic_update_index_in_dim}> : (tensor<2000x4xf32>, tensor<4xf32>, tensor<i32>) -> tensor<2000x4xf32>
      %51 = "func.call"(%arg35, %49#2, %arg32) <{callee = @dynamic_update_index_in_dim}> : (tensor<2000x4xf32>, tensor<4xf32>, tensor<i32>) -> tensor<2000x4xf32>
      %52 = "func.call"(%arg36, %49#3, %arg32) <{callee = @dynamic_update_index_in_dim}> : (tensor<2000x4xf32>, tensor<4xf32>, tensor<i32>) -> tensor<2000x4xf32>
      %53 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
      %54 = "stablehlo.add"(%arg32, %53) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%arg31, %54, %49#0, %50, %51, %52) : (tensor<2000x4xf32>, tensor<i32>, tensor<4xf32>, tensor<2000x4xf32>, tensor<2000x4xf32>, tensor<2000x4xf32>) -> ()
    }) : (tensor<2000x4xf32>, tensor<i32>, tensor<4xf32>, tensor<2000x4xf32>, tensor<2000x4xf32>, tensor<2000x4xf32>) -> (tensor<2000x4xf32>, tensor<i32>, tensor<4xf32>, tensor<2000x4xf32>, tensor<2000x4xf32>, tensor<2000x4xf32>)
    %25 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %26 = "stablehlo.broadcast_in_dim"(%25) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2000x4xf32>
    %27 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %28 = "stablehlo.broadcast_in_dim"(%27) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4xf32>
    %29 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %30 = "stablehlo.broadcast_in_dim"(%29) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2000x4xf32>
    %31 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %32:8 = "stablehlo.while"(%26, %arg14, %24#3, %24#4, %24#5, %31, %28, %30) ({
    ^bb0(%arg23: tensor<2000x4xf32>, %arg24: tensor<2000x4xf32>, %arg25: tensor<2000x4xf32>, %arg26: tensor<2000x4xf32>, %arg27: tensor<2000x4xf32>, %arg28: tensor<i32>, %arg29: tensor<4xf32>, %arg30: tensor<2000x4xf32>):
      %46 = "stablehlo.constant"() <{value = dense<2000> : tensor<i32>}> : () -> tensor<i32>
      %47 = "stablehlo.compare"(%arg28, %46) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
      "stablehlo.return"(%47) : (tensor<i1>) -> ()
    }, {
    ^bb0(%arg15: tensor<2000x4xf32>, %arg16: tensor<2000x4xf32>, %arg17: tensor<2000x4xf32>, %arg18: tensor<2000x4xf32>, %arg19: tensor<2000x4xf32>, %arg20: tensor<i32>, %arg21: tensor<4xf32>, %arg22: tensor<2000x4xf32>):
      %33 = "stablehlo.constant"() <{value = dense<2000> : tensor<i32>}> : () -> tensor<i32>
      %34 = "stablehlo.subtract"(%33, %arg20) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      %35 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
      %36 = "stablehlo.subtract"(%34, %35) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      %37 = "func.call"(%arg15, %36) <{callee = @dynamic_index_in_dim}> : (tensor<2000x4xf32>, tensor<i32>) -> tensor<4xf32>
      %38 = "func.call"(%arg16, %36) <{callee = @dynamic_index_in_dim}> : (tensor<2000x4xf32>, tensor<i32>) -> tensor<4xf32>
      %39 = "func.call"(%arg17, %36) <{callee = @dynamic_index_in_dim}> : (tensor<2000x4xf32>, tensor<i32>) -> tensor<4xf32>
      %40 = "func.call"(%arg18, %36) <{callee = @dynamic_index_in_dim}> : (tensor<2000x4xf32>, tensor<i32>) -> tensor<4xf32>
      %41 = "func.call"(%arg19, %36) <{callee = @dynamic_index_in_dim}> : (tensor<2000x4xf32>, tensor<i32>) -> tensor<4xf32>
      %42:2 = "func.call"(%arg21, %37, %38, %39, %40, %41) <{callee = @closed_call_0}> : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
      %43 = "func.call"(%arg22, %42#1, %36) <{callee = @dynamic_update_index_in_dim}> : (tensor<2000x4xf32>, tensor<4xf32>, tensor<i32>) -> tensor<2000x4xf32>
      %44 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
      %45 = "stablehlo.add"(%arg20, %44) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%arg15, %arg16, %arg17, %arg18, %arg19, %45, %42#0, %43) : (tensor<2000x4xf32>, tensor<2000x4xf32>, tensor<2000x4xf32>, tensor<2000x4xf32>, tensor<2000x4xf32>, tensor<i32>, tensor<4xf32>, tensor<2000x4xf32>) -> ()
    }) : (tensor<2000x4xf32>, tensor<2000x4xf32>, tensor<2000x4xf32>, tensor<2000x4xf32>, tensor<2000x4xf32>, tensor<i32>, tensor<4xf32>, tensor<2000x4xf32>) -> (tensor<2000x4xf32>, tensor<2000x4xf32>, tensor<2000x4xf32>, tensor<2000x4xf32>, tensor<2000x4xf32>, tensor<i32>, tensor<4xf32>, tensor<2000x4xf32>)
    "func.return"(%32#6, %32#7) : (tensor<4xf32>, tensor<2000x4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}], function_type = (tensor<2000x4xf32>, tensor<i32>) -> tensor<4xf32>, res_attrs = [{}], sym_name = "dynamic_index_in_dim", sym_visibility = "private"}> ({
  ^bb0(%arg11: tensor<2000x4xf32>, %arg12: tensor<i32>):
    %14 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %15 = "stablehlo.dynamic_slice"(%arg11, %arg12, %14) <{slice_sizes = array<i64: 1, 4>}> : (tensor<2000x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
    %16 = "stablehlo.reshape"(%15) : (tensor<1x4xf32>) -> tensor<4xf32>
    "func.return"(%16) : (tensor<4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>), res_attrs = [{}, {}, {}, {}], sym_name = "closed_call", sym_visibility = "private"}> ({
  ^bb0(%arg9: tensor<4xf32>, %arg10: tensor<4xf32>):
    %9 = "stablehlo.multiply"(%arg9, %arg10) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %10 = "stablehlo.tanh"(%9) : (tensor<4xf32>) -> tensor<4xf32>
    %11 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %12 = "stablehlo.broadcast_in_dim"(%11) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4xf32>
    %13 = "stablehlo.subtract"(%12, %10) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%10, %arg9, %10, %13) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}, {}], function_type = (tensor<2000x4xf32>, tensor<4xf32>, tensor<i32>) -> tensor<2000x4xf32>, res_attrs = [{}], sym_name = "dynamic_update_index_in_dim", sym_visibility = "private"}> ({
  ^bb0(%arg6: tensor<2000x4xf32>, %arg7: tensor<4xf32>, %arg8: tensor<i32>):
    %6 = "stablehlo.broadcast_in_dim"(%arg7) <{broadcast_dimensions = array<i64: 1>}> : (tensor<4xf32>) -> tensor<1x4xf32>
    %7 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %8 = "stablehlo.dynamic_update_slice"(%arg6, %6, %arg8, %7) : (tensor<2000x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<2000x4xf32>
    "func.return"(%8) : (tensor<2000x4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>), res_attrs = [{}, {}], sym_name = "closed_call_0", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<4xf32>, %arg1: tensor<4xf32>, %arg2: tensor<4xf32>, %arg3: tensor<4xf32>, %arg4: tensor<4xf32>, %arg5: tensor<4xf32>):
    %0 = "stablehlo.add"(%arg0, %arg1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %1 = "stablehlo.multiply"(%0, %arg5) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %2 = "stablehlo.multiply"(%1, %arg4) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %3 = "stablehlo.add"(%1, %2) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %4 = "stablehlo.multiply"(%arg3, %3) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %5 = "stablehlo.multiply"(%3, %arg2) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%5, %4) : (tensor<4xf32>, tensor<4xf32>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()

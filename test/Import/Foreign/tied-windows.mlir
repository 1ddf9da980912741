// RUN: %python %S/../Inputs/foreign_values.py remat-run %s %t

// From test/fuzz/stablehlo_cases.py, as JAX 0.10.2 lowers and computes it.

// tolerance 1e-09
// arg 0 f8 4x4x3: 0 -0 1 0 -1 0 1 1 -1 -1 -1 0 -2 -0 -1 -1 -1 -0 0 1 -0 1 -1 0 1 0 -1 -1 -0 0 -1 -0 -0 1 0 0 -1 -0 1 1 -1 2 1 1 0 -0 1 2
// result 0 f8 4x4x3: 0 0 -5.939954979602673 0 0 0 -2.9699774898013365 0 0 0 0 0 0 0 0 0 0 0 0 -2.9699774898013365 0 0 0 0 -5.939954979602673 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 5.761021719902196 0 0 0 0 0 0
// result 1 f8 4x4x3: 0 0 0 0 0 0 0 0 0 0 0 0 23.044086879608784 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
// result 2 f8 4x4x3: 12 0 -17.81986493880802 0 0 0 -44.54966234702005 0 0 0 0 0 0 0 0 0 0 0 0 -5.939954979602673 0 -5.939954979602673 0 0 -11.879909959205346 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 5.761021719902196 0 0 0 0 0 2.880510859951098
// result 3 f8 4x4x3: 3 0 0 0 -11.879909959205346 0 0 0 -8.909932469404009 -20.789842428609358 0 0 51.849195479119786 0 0 0 0 0 0 0 0 0 -5.939954979602673 0 0 0 0 0 0 0 -2.9699774898013365 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
// result 4 f8 4x4x3: 12 0 -11.879909959205346 0 0 0 -17.81986493880802 -5.939954979602673 0 0 0 0 0 3 0 0 0 0 3 -8.909932469404009 0 0 0 0 -17.81986493880802 0 0 0 0 0 0 0 0 0 0 0 -2.9699774898013365 3 -8.909932469404009 -11.879909959205346 0 11.522043439804392 0 0 0 0 0 0
// result 5 f8 4x4x3: 9 3 0 3 -17.81986493880802 0 0 0 0 0 0 0 17.283065159706588 0 -5.939954979602673 -11.879909959205346 -2.9699774898013365 0 0 0 0 0 0 0 0 0 -5.939954979602673 -8.909932469404009 0 0 0 0 0 0 0 0 -14.849887449006683 3 0 -2.9699774898013365 -11.879909959205346 0 0 0 0 0 0 0

"builtin.module"() <{sym_name = "jit__lambda"}> ({
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<4x4x3xf64>) -> (tensor<4x4x3xf64>, tensor<4x4x3xf64>, tensor<4x4x3xf64>, tensor<4x4x3xf64>, tensor<4x4x3xf64>, tensor<4x4x3xf64>), res_attrs = [{jax.result_info = "result[0]"}, {jax.result_info = "result[1]"}, {jax.result_info = "result[2]"}, {jax.result_info = "result[3]"}, {jax.result_info = "result[4]"}, {jax.result_info = "result[5]"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<4x4x3xf64>):
    %0 = "stablehlo.constant"() <{value = dense<0xFFF0000000000000> : tensor<f64>}> : () -> tensor<f64>
    %1 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<f64>
    %2 = "stablehlo.reduce_window"(%arg0, %1) <{base_dilations = array<i64: 1, 1, 1>, padding = dense<[[0, 0], [2, 1], [2, 0]]> : tensor<3x2xi64>, window_dilations = array<i64: 1, 1, 1>, window_dimensions = array<i64: 3, 4, 4>, window_strides = array<i64: 1, 2, 1>}> ({
    ^bb0(%arg47: tensor<f64>, %arg48: tensor<f64>):
      %149 = "stablehlo.maximum"(%arg47, %arg48) : (tensor<f64>, tensor<f64>) -> tensor<f64>
      "stablehlo.return"(%149) : (tensor<f64>) -> ()
    }) : (tensor<4x4x3xf64>, tensor<f64>) -> tensor<2x2x2xf64>
    %3 = "stablehlo.constant"() <{value = dense<3.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %4 = "stablehlo.broadcast_in_dim"(%3) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<2x2x2xf64>
    %5 = "stablehlo.multiply"(%4, %2) : (tensor<2x2x2xf64>, tensor<2x2x2xf64>) -> tensor<2x2x2xf64>
    %6 = "stablehlo.sine"(%5) : (tensor<2x2x2xf64>) -> tensor<2x2x2xf64>
    %7 = "stablehlo.cosine"(%5) : (tensor<2x2x2xf64>) -> tensor<2x2x2xf64>
    %8 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %9 = "stablehlo.reduce"(%6, %8) <{dimensions = array<i64: 0, 1, 2>}> ({
    ^bb0(%arg45: tensor<f64>, %arg46: tensor<f64>):
      %148 = "stablehlo.add"(%arg45, %arg46) : (tensor<f64>, tensor<f64>) -> tensor<f64>
      "stablehlo.return"(%148) : (tensor<f64>) -> ()
    }) : (tensor<2x2x2xf64>, tensor<f64>) -> tensor<f64>
    %10 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %11 = "stablehlo.broadcast_in_dim"(%10) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<2x2x2xf64>
    %12 = "stablehlo.multiply"(%11, %7) : (tensor<2x2x2xf64>, tensor<2x2x2xf64>) -> tensor<2x2x2xf64>
    %13 = "stablehlo.constant"() <{value = dense<3.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %14 = "stablehlo.broadcast_in_dim"(%13) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<2x2x2xf64>
    %15 = "stablehlo.multiply"(%14, %12) : (tensor<2x2x2xf64>, tensor<2x2x2xf64>) -> tensor<2x2x2xf64>
    %16 = "stablehlo.constant"() <{value = dense<0xFFF0000000000000> : tensor<f64>}> : () -> tensor<f64>
    %17 = "stablehlo.pad"(%arg0, %16) <{edge_padding_high = array<i64: 0, 1, 0>, edge_padding_low = array<i64: 0, 2, 2>, interior_padding = array<i64: 0, 0, 0>}> : (tensor<4x4x3xf64>, tensor<f64>) -> tensor<4x7x5xf64>
    %18 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %19 = "stablehlo.select_and_scatter"(%17, %15, %18) <{padding = dense<0> : tensor<3x2xi64>, window_dimensions = array<i64: 3, 4, 4>, window_strides = array<i64: 1, 2, 1>}> ({
    ^bb0(%arg43: tensor<f64>, %arg44: tensor<f64>):
      %147 = "stablehlo.compare"(%arg43, %arg44) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<f64>, tensor<f64>) -> tensor<i1>
      "stablehlo.return"(%147) : (tensor<i1>) -> ()
    }, {
    ^bb0(%arg41: tensor<f64>, %arg42: tensor<f64>):
      %146 = "stablehlo.add"(%arg41, %arg42) : (tensor<f64>, tensor<f64>) -> tensor<f64>
      "stablehlo.return"(%146) : (tensor<f64>) -> ()
    }) : (tensor<4x7x5xf64>, tensor<2x2x2xf64>, tensor<f64>) -> tensor<4x7x5xf64>
    %20 = "stablehlo.slice"(%19) <{limit_indices = array<i64: 4, 6, 5>, start_indices = array<i64: 0, 2, 2>, strides = array<i64: 1, 1, 1>}> : (tensor<4x7x5xf64>) -> tensor<4x4x3xf64>
    %21 = "stablehlo.constant"() <{value = dense<0x7FF0000000000000> : tensor<f64>}> : () -> tensor<f64>
    %22 = "stablehlo.broadcast_in_dim"(%21) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<f64>
    %23 = "stablehlo.reduce_window"(%arg0, %22) <{base_dilations = array<i64: 1, 1, 1>, padding = dense<[[0, 0], [2, 1], [2, 0]]> : tensor<3x2xi64>, window_dilations = array<i64: 1, 1, 1>, window_dimensions = array<i64: 3, 4, 4>, window_strides = array<i64: 1, 2, 1>}> ({
    ^bb0(%arg39: tensor<f64>, %arg40: tensor<f64>):
      %145 = "stablehlo.minimum"(%arg39, %arg40) : (tensor<f64>, tensor<f64>) -> tensor<f64>
      "stablehlo.return"(%145) : (tensor<f64>) -> ()
    }) : (tensor<4x4x3xf64>, tensor<f64>) -> tensor<2x2x2xf64>
    %24 = "stablehlo.constant"() <{value = dense<3.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %25 = "stablehlo.broadcast_in_dim"(%24) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<2x2x2xf64>
    %26 = "stablehlo.multiply"(%25, %23) : (tensor<2x2x2xf64>, tensor<2x2x2xf64>) -> tensor<2x2x2xf64>
    %27 = "stablehlo.sine"(%26) : (tensor<2x2x2xf64>) -> tensor<2x2x2xf64>
    %28 = "stablehlo.cosine"(%26) : (tensor<2x2x2xf64>) -> tensor<2x2x2xf64>
    %29 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %30 = "stablehlo.reduce"(%27, %29) <{dimensions = array<i64: 0, 1, 2>}> ({
    ^bb0(%arg37: tensor<f64>, %arg38: tensor<f64>):
      %144 = "stablehlo.add"(%arg37, %arg38) : (tensor<f64>, tensor<f64>) -> tensor<f64>
      "stablehlo.return"(%144) : (tensor<f64>) -> ()
    }) : (tensor<2x2x2xf64>, tensor<f64>) -> tensor<f64>
    %31 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %32 = "stablehlo.broadcast_in_dim"(%31) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<2x2x2xf64>
    %33 = "stablehlo.multiply"(%32, %28) : (tensor<2x2x2xf64>, tensor<2x2x2xf64>) -> tensor<2x2x2xf64>
    %34 = "stablehlo.constant"() <{value = dense<3.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %35 = "stablehlo.broadcast_in_dim"(%34) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<2x2x2xf64>
    %36 = "stablehlo.multiply"(%35, %33) : (tensor<2x2x2xf64>, tensor<2x2x2xf64>) -> tensor<2x2x2xf64>
    %37 = "stablehlo.constant"() <{value = dense<0x7FF0000000000000> : tensor<f64>}> : () -> tensor<f64>
    %38 = "stablehlo.pad"(%arg0, %37) <{edge_padding_high = array<i64: 0, 1, 0>, edge_padding_low = array<i64: 0, 2, 2>, interior_padding = array<i64: 0, 0, 0>}> : (tensor<4x4x3xf64>, tensor<f64>) -> tensor<4x7x5xf64>
    %39 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %40 = "stablehlo.select_and_scatter"(%38, %36, %39) <{padding = dense<0> : tensor<3x2xi64>, window_dimensions = array<i64: 3, 4, 4>, window_strides = array<i64: 1, 2, 1>}> ({
    ^bb0(%arg35: tensor<f64>, %arg36: tensor<f64>):
      %143 = "stablehlo.compare"(%arg35, %arg36) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction LE>}> : (tensor<f64>, tensor<f64>) -> tensor<i1>
      "stablehlo.return"(%143) : (tensor<i1>) -> ()
    }, {
    ^bb0(%arg33: tensor<f64>, %arg34: tensor<f64>):
      %142 = "stablehlo.add"(%arg33, %arg34) : (tensor<f64>, tensor<f64>) -> tensor<f64>
      "stablehlo.return"(%142) : (tensor<f64>) -> ()
    }) : (tensor<4x7x5xf64>, tensor<2x2x2xf64>, tensor<f64>) -> tensor<4x7x5xf64>
    %41 = "stablehlo.slice"(%40) <{limit_indices = array<i64: 4, 6, 5>, start_indices = array<i64: 0, 2, 2>, strides = array<i64: 1, 1, 1>}> : (tensor<4x7x5xf64>) -> tensor<4x4x3xf64>
    %42 = "stablehlo.constant"() <{value = dense<0xFFF0000000000000> : tensor<f64>}> : () -> tensor<f64>
    %43 = "stablehlo.broadcast_in_dim"(%42) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<f64>
    %44 = "stablehlo.reduce_window"(%arg0, %43) <{base_dilations = array<i64: 1, 1, 1>, padding = dense<[[2, 0], [2, 3], [2, 0]]> : tensor<3x2xi64>, window_dilations = array<i64: 1, 1, 1>, window_dimensions = array<i64: 3, 4, 3>, window_strides = array<i64: 1, 2, 1>}> ({
    ^bb0(%arg31: tensor<f64>, %arg32: tensor<f64>):
      %141 = "stablehlo.maximum"(%arg31, %arg32) : (tensor<f64>, tensor<f64>) -> tensor<f64>
      "stablehlo.return"(%141) : (tensor<f64>) -> ()
    }) : (tensor<4x4x3xf64>, tensor<f64>) -> tensor<4x3x3xf64>
    %45 = "stablehlo.constant"() <{value = dense<3.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %46 = "stablehlo.broadcast_in_dim"(%45) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<4x3x3xf64>
    %47 = "stablehlo.multiply"(%46, %44) : (tensor<4x3x3xf64>, tensor<4x3x3xf64>) -> tensor<4x3x3xf64>
    %48 = "stablehlo.sine"(%47) : (tensor<4x3x3xf64>) -> tensor<4x3x3xf64>
    %49 = "stablehlo.cosine"(%47) : (tensor<4x3x3xf64>) -> tensor<4x3x3xf64>
    %50 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %51 = "stablehlo.reduce"(%48, %50) <{dimensions = array<i64: 0, 1, 2>}> ({
    ^bb0(%arg29: tensor<f64>, %arg30: tensor<f64>):
      %140 = "stablehlo.add"(%arg29, %arg30) : (tensor<f64>, tensor<f64>) -> tensor<f64>
      "stablehlo.return"(%140) : (tensor<f64>) -> ()
    }) : (tensor<4x3x3xf64>, tensor<f64>) -> tensor<f64>
    %52 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %53 = "stablehlo.broadcast_in_dim"(%52) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<4x3x3xf64>
    %54 = "stablehlo.multiply"(%53, %49) : (tensor<4x3x3xf64>, tensor<4x3x3xf64>) -> tensor<4x3x3xf64>
    %55 = "stablehlo.constant"() <{value = dense<3.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %56 = "stablehlo.broadcast_in_dim"(%55) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<4x3x3xf64>
    %57 = "stablehlo.multiply"(%56, %54) : (tensor<4x3x3xf64>, tensor<4x3x3xf64>) -> tensor<4x3x3xf64>
    %58 = "stablehlo.constant"() <{value = dense<0xFFF0000000000000> : tensor<f64>}> : () -> tensor<f64>
    %59 = "stablehlo.pad"(%arg0, %58) <{edge_padding_high = array<i64: 0, 3, 0>, edge_padding_low = array<i64: 2, 2, 2>, interior_padding = array<i64: 0, 0, 0>}> : (tensor<4x4x3xf64>, tensor<f64>) -> tensor<6x9x5xf64>
    %60 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %61 = "stablehlo.select_and_scatter"(%59, %57, %60) <{padding = dense<0> : tensor<3x2xi64>, window_dimensions = array<i64: 3, 4, 3>, window_strides = array<i64: 1, 2, 1>}> ({
    ^bb0(%arg27: tensor<f64>, %arg28: tensor<f64>):
      %139 = "stablehlo.compare"(%arg27, %arg28) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<f64>, tensor<f64>) -> tensor<i1>
      "stablehlo.return"(%139) : (tensor<i1>) -> ()
    }, {
    ^bb0(%arg25: tensor<f64>, %arg26: tensor<f64>):
      %138 = "stablehlo.add"(%arg25, %arg26) : (tensor<f64>, tensor<f64>) -> tensor<f64>
      "stablehlo.return"(%138) : (tensor<f64>) -> ()
    }) : (tensor<6x9x5xf64>, tensor<4x3x3xf64>, tensor<f64>) -> tensor<6x9x5xf64>
    %62 = "stablehlo.slice"(%61) <{limit_indices = array<i64: 6, 6, 5>, start_indices = array<i64: 2, 2, 2>, strides = array<i64: 1, 1, 1>}> : (tensor<6x9x5xf64>) -> tensor<4x4x3xf64>
    %63 = "stablehlo.constant"() <{value = dense<0x7FF0000000000000> : tensor<f64>}> : () -> tensor<f64>
    %64 = "stablehlo.broadcast_in_dim"(%63) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<f64>
    %65 = "stablehlo.reduce_window"(%arg0, %64) <{base_dilations = array<i64: 1, 1, 1>, padding = dense<[[2, 0], [2, 3], [2, 0]]> : tensor<3x2xi64>, window_dilations = array<i64: 1, 1, 1>, window_dimensions = array<i64: 3, 4, 3>, window_strides = array<i64: 1, 2, 1>}> ({
    ^bb0(%arg23: tensor<f64>, %arg24: tensor<f64>):
      %137 = "stablehlo.minimum"(%arg23, %arg24) : (tensor<f64>, tensor<f64>) -> tensor<f64>
      "stablehlo.return"(%137) : (tensor<f64>) -> ()
    }) : (tensor<4x4x3xf64>, tensor<f64>) -> tensor<4x3x3xf64>
    %66 = "stablehlo.constant"() <{value = dense<3.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %67 = "stablehlo.broadcast_in_dim"(%66) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<4x3x3xf64>
    %68 = "stablehlo.multiply"(%67, %65) : (tensor<4x3x3xf64>, tensor<4x3x3xf64>) -> tensor<4x3x3xf64>
    %69 = "stablehlo.sine"(%68) : (tensor<4x3x3xf64>) -> tensor<4x3x3xf64>
    %70 = "stablehlo.cosine"(%68) : (tensor<4x3x3xf64>) -> tensor<4x3x3xf64>
    %71 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %72 = "stablehlo.reduce"(%69, %71) <{dimensions = array<i64: 0, 1, 2>}> ({
    ^bb0(%arg21: tensor<f64>, %arg22: tensor<f64>):
      %136 = "stablehlo.add"(%arg21, %arg22) : (tensor<f64>, tensor<f64>) -> tensor<f64>
      "stablehlo.return"(%136) : (tensor<f64>) -> ()
    }) : (tensor<4x3x3xf64>, tensor<f64>) -> tensor<f64>
    %73 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %74 = "stablehlo.broadcast_in_dim"(%73) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<4x3x3xf64>
    %75 = "stablehlo.multiply"(%74, %70) : (tensor<4x3x3xf64>, tensor<4x3x3xf64>) -> tensor<4x3x3xf64>
    %76 = "stablehlo.constant"() <{value = dense<3.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %77 = "stablehlo.broadcast_in_dim"(%76) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<4x3x3xf64>
    %78 = "stablehlo.multiply"(%77, %75) : (tensor<4x3x3xf64>, tensor<4x3x3xf64>) -> tensor<4x3x3xf64>
    %79 = "stablehlo.constant"() <{value = dense<0x7FF0000000000000> : tensor<f64>}> : () -> tensor<f64>
    %80 = "stablehlo.pad"(%arg0, %79) <{edge_padding_high = array<i64: 0, 3, 0>, edge_padding_low = array<i64: 2, 2, 2>, interior_padding = array<i64: 0, 0, 0>}> : (tensor<4x4x3xf64>, tensor<f64>) -> tensor<6x9x5xf64>
    %81 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %82 = "stablehlo.select_and_scatter"(%80, %78, %81) <{padding = dense<0> : tensor<3x2xi64>, window_dimensions = array<i64: 3, 4, 3>, window_strides = array<i64: 1, 2, 1>}> ({
    ^bb0(%arg19: tensor<f64>, %arg20: tensor<f64>):
      %135 = "stablehlo.compare"(%arg19, %arg20) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction LE>}> : (tensor<f64>, tensor<f64>) -> tensor<i1>
      "stablehlo.return"(%135) : (tensor<i1>) -> ()
    }, {
    ^bb0(%arg17: tensor<f64>, %arg18: tensor<f64>):
      %134 = "stablehlo.add"(%arg17, %arg18) : (tensor<f64>, tensor<f64>) -> tensor<f64>
      "stablehlo.return"(%134) : (tensor<f64>) -> ()
    }) : (tensor<6x9x5xf64>, tensor<4x3x3xf64>, tensor<f64>) -> tensor<6x9x5xf64>
    %83 = "stablehlo.slice"(%82) <{limit_indices = array<i64: 6, 6, 5>, start_indices = array<i64: 2, 2, 2>, strides = array<i64: 1, 1, 1>}> : (tensor<6x9x5xf64>) -> tensor<4x4x3xf64>
    %84 = "stablehlo.constant"() <{value = dense<0xFFF0000000000000> : tensor<f64>}> : () -> tensor<f64>
    %85 = "stablehlo.broadcast_in_dim"(%84) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<f64>
    %86 = "stablehlo.reduce_window"(%arg0, %85) <{base_dilations = array<i64: 1, 1, 1>, padding = dense<[[1, 1], [1, 0], [2, 1]]> : tensor<3x2xi64>, window_dilations = array<i64: 1, 1, 1>, window_dimensions = array<i64: 2, 2, 3>, window_strides = array<i64: 1, 2, 1>}> ({
    ^bb0(%arg15: tensor<f64>, %arg16: tensor<f64>):
      %133 = "stablehlo.maximum"(%arg15, %arg16) : (tensor<f64>, tensor<f64>) -> tensor<f64>
      "stablehlo.return"(%133) : (tensor<f64>) -> ()
    }) : (tensor<4x4x3xf64>, tensor<f64>) -> tensor<5x2x4xf64>
    %87 = "stablehlo.constant"() <{value = dense<3.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %88 = "stablehlo.broadcast_in_dim"(%87) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<5x2x4xf64>
    %89 = "stablehlo.multiply"(%88, %86) : (tensor<5x2x4xf64>, tensor<5x2x4xf64>) -> tensor<5x2x4xf64>
    %90 = "stablehlo.sine"(%89) : (tensor<5x2x4xf64>) -> tensor<5x2x4xf64>
    %91 = "stablehlo.cosine"(%89) : (tensor<5x2x4xf64>) -> tensor<5x2x4xf64>
    %92 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %93 = "stablehlo.reduce"(%90, %92) <{dimensions = array<i64: 0, 1, 2>}> ({
    ^bb0(%arg13: tensor<f64>, %arg14: tensor<f64>):
      %132 = "stablehlo.add"(%arg13, %arg14) : (tensor<f64>, tensor<f64>) -> tensor<f64>
      "stablehlo.return"(%132) : (tensor<f64>) -> ()
    }) : (tensor<5x2x4xf64>, tensor<f64>) -> tensor<f64>
    %94 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %95 = "stablehlo.broadcast_in_dim"(%94) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<5x2x4xf64>
    %96 = "stablehlo.multiply"(%95, %91) : (tensor<5x2x4xf64>, tensor<5x2x4xf64>) -> tensor<5x2x4xf64>
    %97 = "stablehlo.constant"() <{value = dense<3.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %98 = "stablehlo.broadcast_in_dim"(%97) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<5x2x4xf64>
    %99 = "stablehlo.multiply"(%98, %96) : (tensor<5x2x4xf64>, tensor<5x2x4xf64>) -> tensor<5x2x4xf64>
    %100 = "stablehlo.constant"() <{value = dense<0xFFF0000000000000> : tensor<f64>}> : () -> tensor<f64>
    %101 = "stablehlo.pad"(%arg0, %100) <{edge_padding_high = array<i64: 1, 0, 1>, edge_padding_low = array<i64: 1, 1, 2>, interior_padding = array<i64: 0, 0, 0>}> : (tensor<4x4x3xf64>, tensor<f64>) -> tensor<6x5x6xf64>
    %102 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %103 = "stablehlo.select_and_scatter"(%101, %99, %102) <{padding = dense<0> : tensor<3x2xi64>, window_dimensions = array<i64: 2, 2, 3>, window_strides = array<i64: 1, 2, 1>}> ({
    ^bb0(%arg11: tensor<f64>, %arg12: tensor<f64>):
      %131 = "stablehlo.compare"(%arg11, %arg12) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<f64>, tensor<f64>) -> tensor<i1>
      "stablehlo.return"(%131) : (tensor<i1>) -> ()
    }, {
    ^bb0(%arg9: tensor<f64>, %arg10: tensor<f64>):
      %130 = "stablehlo.add"(%arg9, %arg10) : (tensor<f64>, tensor<f64>) -> tensor<f64>
      "stablehlo.return"(%130) : (tensor<f64>) -> ()
    }) : (tensor<6x5x6xf64>, tensor<5x2x4xf64>, tensor<f64>) -> tensor<6x5x6xf64>
    %104 = "stablehlo.slice"(%103) <{limit_indices = array<i64: 5, 5, 5>, start_indices = array<i64: 1, 1, 2>, strides = array<i64: 1, 1, 1>}> : (tensor<6x5x6xf64>) -> tensor<4x4x3xf64>
    %105 = "stablehlo.constant"() <{value = dense<0x7FF0000000000000> : tensor<f64>}> : () -> tensor<f64>
    %106 = "stablehlo.broadcast_in_dim"(%105) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<f64>
    %107 = "stablehlo.reduce_window"(%arg0, %106) <{base_dilations = array<i64: 1, 1, 1>, padding = dense<[[1, 1], [1, 0], [2, 1]]> : tensor<3x2xi64>, window_dilations = array<i64: 1, 1, 1>, window_dimensions = array<i64: 2, 2, 3>, window_strides = array<i64: 1, 2, 1>}> ({
    ^bb0(%arg7: tensor<f64>, %arg8: tensor<f64>):
      %129 = "stablehlo.minimum"(%arg7, %arg8) : (tensor<f64>, tensor<f64>) -> tensor<f64>
      "stablehlo.return"(%129) : (tensor<f64>) -> ()
    }) : (tensor<4x4x3xf64>, tensor<f64>) -> tensor<5x2x4xf64>
    %108 = "stablehlo.constant"() <{value = dense<3.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %109 = "stablehlo.broadcast_in_dim"(%108) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<5x2x4xf64>
    %110 = "stablehlo.multiply"(%109, %107) : (tensor<5x2x4xf64>, tensor<5x2x4xf64>) -> tensor<5x2x4xf64>
    %111 = "stablehlo.sine"(%110) : (tensor<5x2x4xf64>) -> tensor<5x2x4xf64>
    %112 = "stablehlo.cosine"(%110) : (tensor<5x2x4xf64>) -> tensor<5x2x4xf64>
    %113 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %114 = "stablehlo.reduce"(%111, %113) <{dimensions = array<i64: 0, 1, 2>}> ({
    ^bb0(%arg5: tensor<f64>, %arg6: tensor<f64>):
      %128 = "stablehlo.add"(%arg5, %arg6) : (tensor<f64>, tensor<f64>) -> tensor<f64>
      "stablehlo.return"(%128) : (tensor<f64>) -> ()
    }) : (tensor<5x2x4xf64>, tensor<f64>) -> tensor<f64>
    %115 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %116 = "stablehlo.broadcast_in_dim"(%115) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<5x2x4xf64>
    %117 = "stablehlo.multiply"(%116, %112) : (tensor<5x2x4xf64>, tensor<5x2x4xf64>) -> tensor<5x2x4xf64>
    %118 = "stablehlo.constant"() <{value = dense<3.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %119 = "stablehlo.broadcast_in_dim"(%118) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<5x2x4xf64>
    %120 = "stablehlo.multiply"(%119, %117) : (tensor<5x2x4xf64>, tensor<5x2x4xf64>) -> tensor<5x2x4xf64>
    %121 = "stablehlo.constant"() <{value = dense<0x7FF0000000000000> : tensor<f64>}> : () -> tensor<f64>
    %122 = "stablehlo.pad"(%arg0, %121) <{edge_padding_high = array<i64: 1, 0, 1>, edge_padding_low = array<i64: 1, 1, 2>, interior_padding = array<i64: 0, 0, 0>}> : (tensor<4x4x3xf64>, tensor<f64>) -> tensor<6x5x6xf64>
    %123 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %124 = "stablehlo.select_and_scatter"(%122, %120, %123) <{padding = dense<0> : tensor<3x2xi64>, window_dimensions = array<i64: 2, 2, 3>, window_strides = array<i64: 1, 2, 1>}> ({
    ^bb0(%arg3: tensor<f64>, %arg4: tensor<f64>):
      %127 = "stablehlo.compare"(%arg3, %arg4) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction LE>}> : (tensor<f64>, tensor<f64>) -> tensor<i1>
      "stablehlo.return"(%127) : (tensor<i1>) -> ()
    }, {
    ^bb0(%arg1: tensor<f64>, %arg2: tensor<f64>):
      %126 = "stablehlo.add"(%arg1, %arg2) : (tensor<f64>, tensor<f64>) -> tensor<f64>
      "stablehlo.return"(%126) : (tensor<f64>) -> ()
    }) : (tensor<6x5x6xf64>, tensor<5x2x4xf64>, tensor<f64>) -> tensor<6x5x6xf64>
    %125 = "stablehlo.slice"(%124) <{limit_indices = array<i64: 5, 5, 5>, start_indices = array<i64: 1, 1, 2>, strides = array<i64: 1, 1, 1>}> : (tensor<6x5x6xf64>) -> tensor<4x4x3xf64>
    "func.return"(%20, %41, %62, %83, %104, %125) : (tensor<4x4x3xf64>, tensor<4x4x3xf64>, tensor<4x4x3xf64>, tensor<4x4x3xf64>, tensor<4x4x3xf64>, tensor<4x4x3xf64>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()

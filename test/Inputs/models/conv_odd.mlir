"builtin.module"() <{sym_name = "jit_loss"}> ({
  "func.func"() <{arg_attrs = [{}, {}, {}, {}, {}, {}, {}, {}, {}, {}], function_type = (tensor<9x3x3x5xf32>, tensor<9xf32>, tensor<14x9x5x3xf32>, tensor<14xf32>, tensor<14x1x3x3xf32>, tensor<17x14x1x1xf32>, tensor<17x5xf32>, tensor<5xf32>, tensor<2x3x13x11xf32>, tensor<2xi32>) -> tensor<f32>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg8: tensor<9x3x3x5xf32>, %arg9: tensor<9xf32>, %arg10: tensor<14x9x5x3xf32>, %arg11: tensor<14xf32>, %arg12: tensor<14x1x3x3xf32>, %arg13: tensor<17x14x1x1xf32>, %arg14: tensor<17x5xf32>, %arg15: tensor<5xf32>, %arg16: tensor<2x3x13x11xf32>, %arg17: tensor<2xi32>):
    %29 = "stablehlo.convolution"(%arg16, %arg8) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 1, 1>, padding = dense<[[1, 1], [2, 2]]> : tensor<2x2xi64>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>], rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, window_strides = array<i64: 1, 1>}> : (tensor<2x3x13x11xf32>, tensor<9x3x3x5xf32>) -> tensor<2x9x13x11xf32>
    %30 = "stablehlo.broadcast_in_dim"(%arg9) <{broadcast_dimensions = array<i64: 0>}> : (tensor<9xf32>) -> tensor<9x1x1xf32>
    %31 = "stablehlo.broadcast_in_dim"(%30) <{broadcast_dimensions = array<i64: 1, 2, 3>}> : (tensor<9x1x1xf32>) -> tensor<1x9x1x1xf32>
    %32 = "stablehlo.broadcast_in_dim"(%31) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x9x1x1xf32>) -> tensor<2x9x13x11xf32>
    %33 = "stablehlo.add"(%29, %32) : (tensor<2x9x13x11xf32>, tensor<2x9x13x11xf32>) -> tensor<2x9x13x11xf32>
    %34 = "func.call"(%33) <{callee = @relu}> : (tensor<2x9x13x11xf32>) -> tensor<2x9x13x11xf32>
    %35 = "stablehlo.convolution"(%34, %arg10) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 1, 1>, padding = dense<[[2, 2], [1, 1]]> : tensor<2x2xi64>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>], rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, window_strides = array<i64: 2, 2>}> : (tensor<2x9x13x11xf32>, tensor<14x9x5x3xf32>) -> tensor<2x14x7x6xf32>
    %36 = "stablehlo.broadcast_in_dim"(%arg11) <{broadcast_dimensions = array<i64: 0>}> : (tensor<14xf32>) -> tensor<14x1x1xf32>
    %37 = "stablehlo.broadcast_in_dim"(%36) <{broadcast_dimensions = array<i64: 1, 2, 3>}> : (tensor<14x1x1xf32>) -> tensor<1x14x1x1xf32>
    %38 = "stablehlo.broadcast_in_dim"(%37) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x14x1x1xf32>) -> tensor<2x14x7x6xf32>
    %39 = "stablehlo.add"(%35, %38) : (tensor<2x14x7x6xf32>, tensor<2x14x7x6xf32>) -> tensor<2x14x7x6xf32>
    %40 = "func.call"(%39) <{callee = @relu_0}> : (tensor<2x14x7x6xf32>) -> tensor<2x14x7x6xf32>
    %41 = "stablehlo.convolution"(%40, %arg12) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]>, feature_group_count = 14 : i64, lhs_dilation = array<i64: 1, 1>, padding = dense<1> : tensor<2x2xi64>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>], rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, window_strides = array<i64: 1, 1>}> : (tensor<2x14x7x6xf32>, tensor<14x1x3x3xf32>) -> tensor<2x14x7x6xf32>
    %42 = "stablehlo.tanh"(%41) : (tensor<2x14x7x6xf32>) -> tensor<2x14x7x6xf32>
    %43 = "stablehlo.add"(%40, %42) : (tensor<2x14x7x6xf32>, tensor<2x14x7x6xf32>) -> tensor<2x14x7x6xf32>
    %44 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %45 = "stablehlo.broadcast_in_dim"(%44) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<f32>
    %46 = "stablehlo.reduce_window"(%43, %45) <{base_dilations = array<i64: 1, 1, 1, 1>, padding = dense<[[0, 0], [0, 0], [1, 1], [0, 1]]> : tensor<4x2xi64>, window_dilations = array<i64: 1, 1, 1, 1>, window_dimensions = array<i64: 1, 1, 3, 3>, window_strides = array<i64: 1, 1, 2, 2>}> ({
    ^bb0(%arg24: tensor<f32>, %arg25: tensor<f32>):
      %87 = "stablehlo.maximum"(%arg24, %arg25) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%87) : (tensor<f32>) -> ()
    }) : (tensor<2x14x7x6xf32>, tensor<f32>) -> tensor<2x14x4x3xf32>
    %47 = "stablehlo.convolution"(%46, %arg13) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 1, 1>, padding = dense<0> : tensor<2x2xi64>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>], rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, window_strides = array<i64: 1, 1>}> : (tensor<2x14x4x3xf32>, tensor<17x14x1x1xf32>) -> tensor<2x17x4x3xf32>
    %48 = "stablehlo.multiply"(%47, %47) : (tensor<2x17x4x3xf32>, tensor<2x17x4x3xf32>) -> tensor<2x17x4x3xf32>
    %49 = "stablehlo.multiply"(%48, %47) : (tensor<2x17x4x3xf32>, tensor<2x17x4x3xf32>) -> tensor<2x17x4x3xf32>
    %50 = "stablehlo.constant"() <{value = dense<4.471500e-02> : tensor<f32>}> : () -> tensor<f32>
    %51 = "stablehlo.broadcast_in_dim"(%50) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x17x4x3xf32>
    %52 = "stablehlo.multiply"(%51, %49) : (tensor<2x17x4x3xf32>, tensor<2x17x4x3xf32>) -> tensor<2x17x4x3xf32>
    %53 = "stablehlo.add"(%47, %52) : (tensor<2x17x4x3xf32>, tensor<2x17x4x3xf32>) -> tensor<2x17x4x3xf32>
    %54 = "stablehlo.constant"() <{value = dense<0.797884583> : tensor<f32>}> : () -> tensor<f32>
    %55 = "stablehlo.broadcast_in_dim"(%54) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x17x4x3xf32>
    %56 = "stablehlo.multiply"(%55, %53) : (tensor<2x17x4x3xf32>, tensor<2x17x4x3xf32>) -> tensor<2x17x4x3xf32>
    %57 = "stablehlo.tanh"(%56) : (tensor<2x17x4x3xf32>) -> tensor<2x17x4x3xf32>
    %58 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %59 = "stablehlo.broadcast_in_dim"(%58) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x17x4x3xf32>
    %60 = "stablehlo.add"(%59, %57) : (tensor<2x17x4x3xf32>, tensor<2x17x4x3xf32>) -> tensor<2x17x4x3xf32>
    %61 = "stablehlo.constant"() <{value = dense<5.000000e-01> : tensor<f32>}> : () -> tensor<f32>
    %62 = "stablehlo.broadcast_in_dim"(%61) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x17x4x3xf32>
    %63 = "stablehlo.multiply"(%62, %60) : (tensor<2x17x4x3xf32>, tensor<2x17x4x3xf32>) -> tensor<2x17x4x3xf32>
    %64 = "stablehlo.multiply"(%47, %63) : (tensor<2x17x4x3xf32>, tensor<2x17x4x3xf32>) -> tensor<2x17x4x3xf32>
    %65 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %66 = "stablehlo.reduce"(%64, %65) <{dimensions = array<i64: 2, 3>}> ({
    ^bb0(%arg22: tensor<f32>, %arg23: tensor<f32>):
      %86 = "stablehlo.add"(%arg22, %arg23) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%86) : (tensor<f32>) -> ()
    }) : (tensor<2x17x4x3xf32>, tensor<f32>) -> tensor<2x17xf32>
    %67 = "stablehlo.constant"() <{value = dense<1.200000e+01> : tensor<f32>}> : () -> tensor<f32>
    %68 = "stablehlo.broadcast_in_dim"(%67) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x17xf32>
    %69 = "stablehlo.divide"(%66, %68) : (tensor<2x17xf32>, tensor<2x17xf32>) -> tensor<2x17xf32>
    %70 = "stablehlo.dot_general"(%69, %arg14) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x17xf32>, tensor<17x5xf32>) -> tensor<2x5xf32>
    %71 = "stablehlo.broadcast_in_dim"(%arg15) <{broadcast_dimensions = array<i64: 1>}> : (tensor<5xf32>) -> tensor<1x5xf32>
    %72 = "stablehlo.broadcast_in_dim"(%71) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x5xf32>) -> tensor<2x5xf32>
    %73 = "stablehlo.add"(%70, %72) : (tensor<2x5xf32>, tensor<2x5xf32>) -> tensor<2x5xf32>
    %74 = "func.call"(%73) <{callee = @log_softmax}> : (tensor<2x5xf32>) -> tensor<2x5xf32>
    %75 = "func.call"(%arg17) <{callee = @_one_hot}> : (tensor<2xi32>) -> tensor<2x5xf32>
    %76 = "stablehlo.multiply"(%74, %75) : (tensor<2x5xf32>, tensor<2x5xf32>) -> tensor<2x5xf32>
    %77 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %78 = "stablehlo.reduce"(%76, %77) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg20: tensor<f32>, %arg21: tensor<f32>):
      %85 = "stablehlo.add"(%arg20, %arg21) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%85) : (tensor<f32>) -> ()
    }) : (tensor<2x5xf32>, tensor<f32>) -> tensor<2xf32>
    %79 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %80 = "stablehlo.reduce"(%78, %79) <{dimensions = array<i64: 0>}> ({
    ^bb0(%arg18: tensor<f32>, %arg19: tensor<f32>):
      %84 = "stablehlo.add"(%arg18, %arg19) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%84) : (tensor<f32>) -> ()
    }) : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
    %81 = "stablehlo.constant"() <{value = dense<2.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %82 = "stablehlo.divide"(%80, %81) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %83 = "stablehlo.negate"(%82) : (tensor<f32>) -> tensor<f32>
    "func.return"(%83) : (tensor<f32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<2x9x13x11xf32>) -> tensor<2x9x13x11xf32>, res_attrs = [{}], sym_name = "relu", sym_visibility = "private"}> ({
  ^bb0(%arg7: tensor<2x9x13x11xf32>):
    %26 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %27 = "stablehlo.broadcast_in_dim"(%26) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x9x13x11xf32>
    %28 = "stablehlo.maximum"(%arg7, %27) : (tensor<2x9x13x11xf32>, tensor<2x9x13x11xf32>) -> tensor<2x9x13x11xf32>
    "func.return"(%28) : (tensor<2x9x13x11xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<2x14x7x6xf32>) -> tensor<2x14x7x6xf32>, res_attrs = [{}], sym_name = "relu_0", sym_visibility = "private"}> ({
  ^bb0(%arg6: tensor<2x14x7x6xf32>):
    %23 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %24 = "stablehlo.broadcast_in_dim"(%23) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x14x7x6xf32>
    %25 = "stablehlo.maximum"(%arg6, %24) : (tensor<2x14x7x6xf32>, tensor<2x14x7x6xf32>) -> tensor<2x14x7x6xf32>
    "func.return"(%25) : (tensor<2x14x7x6xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<2x5xf32>) -> tensor<2x5xf32>, res_attrs = [{}], sym_name = "log_softmax", sym_visibility = "private"}> ({
  ^bb0(%arg1: tensor<2x5xf32>):
    %6 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %7 = "stablehlo.reduce"(%arg1, %6) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg4: tensor<f32>, %arg5: tensor<f32>):
      %22 = "stablehlo.maximum"(%arg4, %arg5) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%22) : (tensor<f32>) -> ()
    }) : (tensor<2x5xf32>, tensor<f32>) -> tensor<2xf32>
    %8 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %9 = "stablehlo.broadcast_in_dim"(%8) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2xf32>
    %10 = "stablehlo.maximum"(%9, %7) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %11 = "stablehlo.broadcast_in_dim"(%10) <{broadcast_dimensions = array<i64: 0>}> : (tensor<2xf32>) -> tensor<2x1xf32>
    %12 = "stablehlo.broadcast_in_dim"(%11) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x1xf32>) -> tensor<2x5xf32>
    %13 = "stablehlo.subtract"(%arg1, %12) : (tensor<2x5xf32>, tensor<2x5xf32>) -> tensor<2x5xf32>
    %14 = "stablehlo.exponential"(%13) : (tensor<2x5xf32>) -> tensor<2x5xf32>
    %15 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %16 = "stablehlo.reduce"(%14, %15) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %21 = "stablehlo.add"(%arg2, %arg3) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%21) : (tensor<f32>) -> ()
    }) : (tensor<2x5xf32>, tensor<f32>) -> tensor<2xf32>
    %17 = "stablehlo.broadcast_in_dim"(%16) <{broadcast_dimensions = array<i64: 0>}> : (tensor<2xf32>) -> tensor<2x1xf32>
    %18 = "stablehlo.log"(%17) : (tensor<2x1xf32>) -> tensor<2x1xf32>
    %19 = "stablehlo.broadcast_in_dim"(%18) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x1xf32>) -> tensor<2x5xf32>
    %20 = "stablehlo.subtract"(%13, %19) : (tensor<2x5xf32>, tensor<2x5xf32>) -> tensor<2x5xf32>
    "func.return"(%20) : (tensor<2x5xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<2xi32>) -> tensor<2x5xf32>, res_attrs = [{}], sym_name = "_one_hot", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<2xi32>):
    %0 = "stablehlo.broadcast_in_dim"(%arg0) <{broadcast_dimensions = array<i64: 0>}> : (tensor<2xi32>) -> tensor<2x1xi32>
    %1 = "stablehlo.iota"() <{iota_dimension = 1 : i64}> : () -> tensor<1x5xi32>
    %2 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x1xi32>) -> tensor<2x5xi32>
    %3 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x5xi32>) -> tensor<2x5xi32>
    %4 = "stablehlo.compare"(%2, %3) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<2x5xi32>, tensor<2x5xi32>) -> tensor<2x5xi1>
    %5 = "stablehlo.convert"(%4) : (tensor<2x5xi1>) -> tensor<2x5xf32>
    "func.return"(%5) : (tensor<2x5xf32>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()


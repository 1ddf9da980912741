"builtin.module"() <{sym_name = "jit_loss"}> ({
  "func.func"() <{arg_attrs = [{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}], function_type = (tensor<29x45xf32>, tensor<45xf32>, tensor<45x45xf32>, tensor<45xf32>, tensor<45xf32>, tensor<45xf32>, tensor<45x77xf32>, tensor<77xf32>, tensor<77x7xf32>, tensor<19x29xf32>, tensor<19xi32>) -> tensor<f32>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg8: tensor<29x45xf32>, %arg9: tensor<45xf32>, %arg10: tensor<45x45xf32>, %arg11: tensor<45xf32>, %arg12: tensor<45xf32>, %arg13: tensor<45xf32>, %arg14: tensor<45x77xf32>, %arg15: tensor<77xf32>, %arg16: tensor<77x7xf32>, %arg17: tensor<19x29xf32>, %arg18: tensor<19xi32>):
    %46 = "stablehlo.dot_general"(%arg17, %arg8) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<19x29xf32>, tensor<29x45xf32>) -> tensor<19x45xf32>
    %47 = "stablehlo.broadcast_in_dim"(%arg9) <{broadcast_dimensions = array<i64: 1>}> : (tensor<45xf32>) -> tensor<1x45xf32>
    %48 = "stablehlo.broadcast_in_dim"(%47) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x45xf32>) -> tensor<19x45xf32>
    %49 = "stablehlo.add"(%46, %48) : (tensor<19x45xf32>, tensor<19x45xf32>) -> tensor<19x45xf32>
    %50 = "stablehlo.tanh"(%49) : (tensor<19x45xf32>) -> tensor<19x45xf32>
    %51 = "stablehlo.dot_general"(%50, %arg10) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<19x45xf32>, tensor<45x45xf32>) -> tensor<19x45xf32>
    %52 = "stablehlo.broadcast_in_dim"(%arg11) <{broadcast_dimensions = array<i64: 1>}> : (tensor<45xf32>) -> tensor<1x45xf32>
    %53 = "stablehlo.broadcast_in_dim"(%52) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x45xf32>) -> tensor<19x45xf32>
    %54 = "stablehlo.add"(%51, %53) : (tensor<19x45xf32>, tensor<19x45xf32>) -> tensor<19x45xf32>
    %55 = "func.call"(%54) <{callee = @softplus}> : (tensor<19x45xf32>) -> tensor<19x45xf32>
    %56 = "stablehlo.add"(%50, %55) : (tensor<19x45xf32>, tensor<19x45xf32>) -> tensor<19x45xf32>
    %57 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %58 = "stablehlo.reduce"(%56, %57) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg25: tensor<f32>, %arg26: tensor<f32>):
      %103 = "stablehlo.add"(%arg25, %arg26) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%103) : (tensor<f32>) -> ()
    }) : (tensor<19x45xf32>, tensor<f32>) -> tensor<19xf32>
    %59 = "stablehlo.broadcast_in_dim"(%58) <{broadcast_dimensions = array<i64: 0>}> : (tensor<19xf32>) -> tensor<19x1xf32>
    %60 = "stablehlo.constant"() <{value = dense<4.500000e+01> : tensor<f32>}> : () -> tensor<f32>
    %61 = "stablehlo.broadcast_in_dim"(%60) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<19x1xf32>
    %62 = "stablehlo.divide"(%59, %61) : (tensor<19x1xf32>, tensor<19x1xf32>) -> tensor<19x1xf32>
    %63 = "stablehlo.broadcast_in_dim"(%62) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<19x1xf32>) -> tensor<19x45xf32>
    %64 = "stablehlo.subtract"(%56, %63) : (tensor<19x45xf32>, tensor<19x45xf32>) -> tensor<19x45xf32>
    %65 = "stablehlo.multiply"(%64, %64) : (tensor<19x45xf32>, tensor<19x45xf32>) -> tensor<19x45xf32>
    %66 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %67 = "stablehlo.reduce"(%65, %66) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg23: tensor<f32>, %arg24: tensor<f32>):
      %102 = "stablehlo.add"(%arg23, %arg24) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%102) : (tensor<f32>) -> ()
    }) : (tensor<19x45xf32>, tensor<f32>) -> tensor<19xf32>
    %68 = "stablehlo.broadcast_in_dim"(%67) <{broadcast_dimensions = array<i64: 0>}> : (tensor<19xf32>) -> tensor<19x1xf32>
    %69 = "stablehlo.constant"() <{value = dense<4.500000e+01> : tensor<f32>}> : () -> tensor<f32>
    %70 = "stablehlo.broadcast_in_dim"(%69) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<19x1xf32>
    %71 = "stablehlo.divide"(%68, %70) : (tensor<19x1xf32>, tensor<19x1xf32>) -> tensor<19x1xf32>
    %72 = "stablehlo.constant"() <{value = dense<9.99999974E-6> : tensor<f32>}> : () -> tensor<f32>
    %73 = "stablehlo.broadcast_in_dim"(%72) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<19x1xf32>
    %74 = "stablehlo.add"(%71, %73) : (tensor<19x1xf32>, tensor<19x1xf32>) -> tensor<19x1xf32>
    %75 = "stablehlo.rsqrt"(%74) : (tensor<19x1xf32>) -> tensor<19x1xf32>
    %76 = "stablehlo.broadcast_in_dim"(%75) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<19x1xf32>) -> tensor<19x45xf32>
    %77 = "stablehlo.multiply"(%64, %76) : (tensor<19x45xf32>, tensor<19x45xf32>) -> tensor<19x45xf32>
    %78 = "stablehlo.broadcast_in_dim"(%arg12) <{broadcast_dimensions = array<i64: 1>}> : (tensor<45xf32>) -> tensor<1x45xf32>
    %79 = "stablehlo.broadcast_in_dim"(%78) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x45xf32>) -> tensor<19x45xf32>
    %80 = "stablehlo.multiply"(%77, %79) : (tensor<19x45xf32>, tensor<19x45xf32>) -> tensor<19x45xf32>
    %81 = "stablehlo.broadcast_in_dim"(%arg13) <{broadcast_dimensions = array<i64: 1>}> : (tensor<45xf32>) -> tensor<1x45xf32>
    %82 = "stablehlo.broadcast_in_dim"(%81) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x45xf32>) -> tensor<19x45xf32>
    %83 = "stablehlo.add"(%80, %82) : (tensor<19x45xf32>, tensor<19x45xf32>) -> tensor<19x45xf32>
    %84 = "stablehlo.dot_general"(%83, %arg14) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<19x45xf32>, tensor<45x77xf32>) -> tensor<19x77xf32>
    %85 = "stablehlo.broadcast_in_dim"(%arg15) <{broadcast_dimensions = array<i64: 1>}> : (tensor<77xf32>) -> tensor<1x77xf32>
    %86 = "stablehlo.broadcast_in_dim"(%85) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x77xf32>) -> tensor<19x77xf32>
    %87 = "stablehlo.add"(%84, %86) : (tensor<19x77xf32>, tensor<19x77xf32>) -> tensor<19x77xf32>
    %88 = "func.call"(%87) <{callee = @silu}> : (tensor<19x77xf32>) -> tensor<19x77xf32>
    %89 = "stablehlo.dot_general"(%88, %arg16) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<19x77xf32>, tensor<77x7xf32>) -> tensor<19x7xf32>
    %90 = "func.call"(%89) <{callee = @log_softmax}> : (tensor<19x7xf32>) -> tensor<19x7xf32>
    %91 = "func.call"(%arg18) <{callee = @_one_hot}> : (tensor<19xi32>) -> tensor<19x7xf32>
    %92 = "stablehlo.multiply"(%90, %91) : (tensor<19x7xf32>, tensor<19x7xf32>) -> tensor<19x7xf32>
    %93 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %94 = "stablehlo.reduce"(%92, %93) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg21: tensor<f32>, %arg22: tensor<f32>):
      %101 = "stablehlo.add"(%arg21, %arg22) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%101) : (tensor<f32>) -> ()
    }) : (tensor<19x7xf32>, tensor<f32>) -> tensor<19xf32>
    %95 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %96 = "stablehlo.reduce"(%94, %95) <{dimensions = array<i64: 0>}> ({
    ^bb0(%arg19: tensor<f32>, %arg20: tensor<f32>):
      %100 = "stablehlo.add"(%arg19, %arg20) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%100) : (tensor<f32>) -> ()
    }) : (tensor<19xf32>, tensor<f32>) -> tensor<f32>
    %97 = "stablehlo.constant"() <{value = dense<1.900000e+01> : tensor<f32>}> : () -> tensor<f32>
    %98 = "stablehlo.divide"(%96, %97) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %99 = "stablehlo.negate"(%98) : (tensor<f32>) -> tensor<f32>
    "func.return"(%99) : (tensor<f32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<19x45xf32>) -> tensor<19x45xf32>, res_attrs = [{}], sym_name = "softplus", sym_visibility = "private"}> ({
  ^bb0(%arg7: tensor<19x45xf32>):
    %32 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %33 = "stablehlo.broadcast_in_dim"(%32) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<19x45xf32>
    %34 = "stablehlo.maximum"(%arg7, %33) : (tensor<19x45xf32>, tensor<19x45xf32>) -> tensor<19x45xf32>
    %35 = "stablehlo.broadcast_in_dim"(%32) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<19x45xf32>
    %36 = "stablehlo.subtract"(%arg7, %35) : (tensor<19x45xf32>, tensor<19x45xf32>) -> tensor<19x45xf32>
    %37 = "stablehlo.compare"(%36, %36) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<19x45xf32>, tensor<19x45xf32>) -> tensor<19x45xi1>
    %38 = "stablehlo.broadcast_in_dim"(%32) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<19x45xf32>
    %39 = "stablehlo.add"(%arg7, %38) : (tensor<19x45xf32>, tensor<19x45xf32>) -> tensor<19x45xf32>
    %40 = "stablehlo.abs"(%36) : (tensor<19x45xf32>) -> tensor<19x45xf32>
    %41 = "stablehlo.negate"(%40) : (tensor<19x45xf32>) -> tensor<19x45xf32>
    %42 = "stablehlo.exponential"(%41) : (tensor<19x45xf32>) -> tensor<19x45xf32>
    %43 = "stablehlo.log_plus_one"(%42) : (tensor<19x45xf32>) -> tensor<19x45xf32>
    %44 = "stablehlo.add"(%34, %43) : (tensor<19x45xf32>, tensor<19x45xf32>) -> tensor<19x45xf32>
    %45 = "stablehlo.select"(%37, %39, %44) : (tensor<19x45xi1>, tensor<19x45xf32>, tensor<19x45xf32>) -> tensor<19x45xf32>
    "func.return"(%45) : (tensor<19x45xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<19x77xf32>) -> tensor<19x77xf32>, res_attrs = [{}], sym_name = "silu", sym_visibility = "private"}> ({
  ^bb0(%arg6: tensor<19x77xf32>):
    %23 = "stablehlo.negate"(%arg6) : (tensor<19x77xf32>) -> tensor<19x77xf32>
    %24 = "stablehlo.exponential"(%23) : (tensor<19x77xf32>) -> tensor<19x77xf32>
    %25 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %26 = "stablehlo.broadcast_in_dim"(%25) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<19x77xf32>
    %27 = "stablehlo.add"(%26, %24) : (tensor<19x77xf32>, tensor<19x77xf32>) -> tensor<19x77xf32>
    %28 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %29 = "stablehlo.broadcast_in_dim"(%28) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<19x77xf32>
    %30 = "stablehlo.divide"(%29, %27) : (tensor<19x77xf32>, tensor<19x77xf32>) -> tensor<19x77xf32>
    %31 = "stablehlo.multiply"(%arg6, %30) : (tensor<19x77xf32>, tensor<19x77xf32>) -> tensor<19x77xf32>
    "func.return"(%31) : (tensor<19x77xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<19x7xf32>) -> tensor<19x7xf32>, res_attrs = [{}], sym_name = "log_softmax", sym_visibility = "private"}> ({
  ^bb0(%arg1: tensor<19x7xf32>):
    %6 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %7 = "stablehlo.reduce"(%arg1, %6) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg4: tensor<f32>, %arg5: tensor<f32>):
      %22 = "stablehlo.maximum"(%arg4, %arg5) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%22) : (tensor<f32>) -> ()
    }) : (tensor<19x7xf32>, tensor<f32>) -> tensor<19xf32>
    %8 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %9 = "stablehlo.broadcast_in_dim"(%8) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<19xf32>
    %10 = "stablehlo.maximum"(%9, %7) : (tensor<19xf32>, tensor<19xf32>) -> tensor<19xf32>
    %11 = "stablehlo.broadcast_in_dim"(%10) <{broadcast_dimensions = array<i64: 0>}> : (tensor<19xf32>) -> tensor<19x1xf32>
    %12 = "stablehlo.broadcast_in_dim"(%11) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<19x1xf32>) -> tensor<19x7xf32>
    %13 = "stablehlo.subtract"(%arg1, %12) : (tensor<19x7xf32>, tensor<19x7xf32>) -> tensor<19x7xf32>
    %14 = "stablehlo.exponential"(%13) : (tensor<19x7xf32>) -> tensor<19x7xf32>
    %15 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %16 = "stablehlo.reduce"(%14, %15) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %21 = "stablehlo.add"(%arg2, %arg3) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%21) : (tensor<f32>) -> ()
    }) : (tensor<19x7xf32>, tensor<f32>) -> tensor<19xf32>
    %17 = "stablehlo.broadcast_in_dim"(%16) <{broadcast_dimensions = array<i64: 0>}> : (tensor<19xf32>) -> tensor<19x1xf32>
    %18 = "stablehlo.log"(%17) : (tensor<19x1xf32>) -> tensor<19x1xf32>
    %19 = "stablehlo.broadcast_in_dim"(%18) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<19x1xf32>) -> tensor<19x7xf32>
    %20 = "stablehlo.subtract"(%13, %19) : (tensor<19x7xf32>, tensor<19x7xf32>) -> tensor<19x7xf32>
    "func.return"(%20) : (tensor<19x7xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<19xi32>) -> tensor<19x7xf32>, res_attrs = [{}], sym_name = "_one_hot", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<19xi32>):
    %0 = "stablehlo.broadcast_in_dim"(%arg0) <{broadcast_dimensions = array<i64: 0>}> : (tensor<19xi32>) -> tensor<19x1xi32>
    %1 = "stablehlo.iota"() <{iota_dimension = 1 : i64}> : () -> tensor<1x7xi32>
    %2 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<19x1xi32>) -> tensor<19x7xi32>
    %3 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x7xi32>) -> tensor<19x7xi32>
    %4 = "stablehlo.compare"(%2, %3) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<19x7xi32>, tensor<19x7xi32>) -> tensor<19x7xi1>
    %5 = "stablehlo.convert"(%4) : (tensor<19x7xi1>) -> tensor<19x7xf32>
    "func.return"(%5) : (tensor<19x7xf32>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()


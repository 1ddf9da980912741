"builtin.module"() <{sym_name = "jit_loss"}> ({
  "func.func"() <{arg_attrs = [{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}], function_type = (tensor<53x36xf32>, tensor<21x36xf32>, tensor<36xf32>, tensor<36xf32>, tensor<36x36xf32>, tensor<36x12xf32>, tensor<36x12xf32>, tensor<36x36xf32>, tensor<36xf32>, tensor<36x50xf32>, tensor<36x50xf32>, tensor<50x36xf32>, tensor<36xf32>, tensor<36x36xf32>, tensor<36x12xf32>, tensor<36x12xf32>, tensor<36x36xf32>, tensor<36xf32>, tensor<36x50xf32>, tensor<36x50xf32>, tensor<50x36xf32>, tensor<3x21xi32>, tensor<3x21xi32>) -> tensor<f32>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg11: tensor<53x36xf32>, %arg12: tensor<21x36xf32>, %arg13: tensor<36xf32>, %arg14: tensor<36xf32>, %arg15: tensor<36x36xf32>, %arg16: tensor<36x12xf32>, %arg17: tensor<36x12xf32>, %arg18: tensor<36x36xf32>, %arg19: tensor<36xf32>, %arg20: tensor<36x50xf32>, %arg21: tensor<36x50xf32>, %arg22: tensor<50x36xf32>, %arg23: tensor<36xf32>, %arg24: tensor<36x36xf32>, %arg25: tensor<36x12xf32>, %arg26: tensor<36x12xf32>, %arg27: tensor<36x36xf32>, %arg28: tensor<36xf32>, %arg29: tensor<36x50xf32>, %arg30: tensor<36x50xf32>, %arg31: tensor<50x36xf32>, %arg32: tensor<3x21xi32>, %arg33: tensor<3x21xi32>):
    %45 = "func.call"(%arg32) <{callee = @_one_hot}> : (tensor<3x21xi32>) -> tensor<3x21x53xf32>
    %46 = "stablehlo.dot_general"(%45, %arg11) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<3x21x53xf32>, tensor<53x36xf32>) -> tensor<3x21x36xf32>
    %47 = "stablehlo.broadcast_in_dim"(%arg12) <{broadcast_dimensions = array<i64: 1, 2>}> : (tensor<21x36xf32>) -> tensor<1x21x36xf32>
    %48 = "stablehlo.broadcast_in_dim"(%47) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x21x36xf32>) -> tensor<3x21x36xf32>
    %49 = "stablehlo.add"(%46, %48) : (tensor<3x21x36xf32>, tensor<3x21x36xf32>) -> tensor<3x21x36xf32>
    %50 = "stablehlo.constant"() <{value = dense<true> : tensor<i1>}> : () -> tensor<i1>
    %51 = "stablehlo.broadcast_in_dim"(%50) <{broadcast_dimensions = array<i64>}> : (tensor<i1>) -> tensor<21x21xi1>
    %52 = "func.call"(%51) <{callee = @tril}> : (tensor<21x21xi1>) -> tensor<21x21xi1>
    %53 = "stablehlo.multiply"(%49, %49) : (tensor<3x21x36xf32>, tensor<3x21x36xf32>) -> tensor<3x21x36xf32>
    %54 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %55 = "stablehlo.reduce"(%53, %54) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg54: tensor<f32>, %arg55: tensor<f32>):
      %227 = "stablehlo.add"(%arg54, %arg55) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%227) : (tensor<f32>) -> ()
    }) : (tensor<3x21x36xf32>, tensor<f32>) -> tensor<3x21xf32>
    %56 = "stablehlo.broadcast_in_dim"(%55) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<3x21xf32>) -> tensor<3x21x1xf32>
    %57 = "stablehlo.constant"() <{value = dense<3.600000e+01> : tensor<f32>}> : () -> tensor<f32>
    %58 = "stablehlo.broadcast_in_dim"(%57) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<3x21x1xf32>
    %59 = "stablehlo.divide"(%56, %58) : (tensor<3x21x1xf32>, tensor<3x21x1xf32>) -> tensor<3x21x1xf32>
    %60 = "stablehlo.constant"() <{value = dense<9.99999997E-7> : tensor<f32>}> : () -> tensor<f32>
    %61 = "stablehlo.broadcast_in_dim"(%60) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<3x21x1xf32>
    %62 = "stablehlo.add"(%59, %61) : (tensor<3x21x1xf32>, tensor<3x21x1xf32>) -> tensor<3x21x1xf32>
    %63 = "stablehlo.rsqrt"(%62) : (tensor<3x21x1xf32>) -> tensor<3x21x1xf32>
    %64 = "stablehlo.broadcast_in_dim"(%63) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<3x21x1xf32>) -> tensor<3x21x36xf32>
    %65 = "stablehlo.multiply"(%49, %64) : (tensor<3x21x36xf32>, tensor<3x21x36xf32>) -> tensor<3x21x36xf32>
    %66 = "stablehlo.broadcast_in_dim"(%arg14) <{broadcast_dimensions = array<i64: 2>}> : (tensor<36xf32>) -> tensor<1x1x36xf32>
    %67 = "stablehlo.broadcast_in_dim"(%66) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x36xf32>) -> tensor<3x21x36xf32>
    %68 = "stablehlo.multiply"(%65, %67) : (tensor<3x21x36xf32>, tensor<3x21x36xf32>) -> tensor<3x21x36xf32>
    %69 = "stablehlo.dot_general"(%68, %arg15) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<3x21x36xf32>, tensor<36x36xf32>) -> tensor<3x21x36xf32>
    %70 = "stablehlo.reshape"(%69) : (tensor<3x21x36xf32>) -> tensor<3x21x3x12xf32>
    %71 = "stablehlo.dot_general"(%68, %arg16) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<3x21x36xf32>, tensor<36x12xf32>) -> tensor<3x21x12xf32>
    %72 = "stablehlo.dot_general"(%68, %arg17) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<3x21x36xf32>, tensor<36x12xf32>) -> tensor<3x21x12xf32>
    %73 = "stablehlo.dot_general"(%71, %70) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [3]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<3x21x12xf32>, tensor<3x21x3x12xf32>) -> tensor<3x21x21x3xf32>
    %74 = "stablehlo.transpose"(%73) <{permutation = array<i64: 0, 3, 2, 1>}> : (tensor<3x21x21x3xf32>) -> tensor<3x3x21x21xf32>
    %75 = "stablehlo.constant"() <{value = dense<3.46410155> : tensor<f32>}> : () -> tensor<f32>
    %76 = "stablehlo.broadcast_in_dim"(%75) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<3x3x21x21xf32>
    %77 = "stablehlo.divide"(%74, %76) : (tensor<3x3x21x21xf32>, tensor<3x3x21x21xf32>) -> tensor<3x3x21x21xf32>
    %78 = "stablehlo.constant"() <{value = dense<-1.000000e+09> : tensor<f32>}> : () -> tensor<f32>
    %79 = "func.call"(%52, %77, %78) <{callee = @_where}> : (tensor<21x21xi1>, tensor<3x3x21x21xf32>, tensor<f32>) -> tensor<3x3x21x21xf32>
    %80 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %81 = "stablehlo.reduce"(%79, %80) <{dimensions = array<i64: 3>}> ({
    ^bb0(%arg52: tensor<f32>, %arg53: tensor<f32>):
      %226 = "stablehlo.maximum"(%arg52, %arg53) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%226) : (tensor<f32>) -> ()
    }) : (tensor<3x3x21x21xf32>, tensor<f32>) -> tensor<3x3x21xf32>
    %82 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %83 = "stablehlo.broadcast_in_dim"(%82) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<3x3x21xf32>
    %84 = "stablehlo.maximum"(%83, %81) : (tensor<3x3x21xf32>, tensor<3x3x21xf32>) -> tensor<3x3x21xf32>
    %85 = "stablehlo.broadcast_in_dim"(%84) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<3x3x21xf32>) -> tensor<3x3x21x1xf32>
    %86 = "stablehlo.broadcast_in_dim"(%85) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<3x3x21x1xf32>) -> tensor<3x3x21x21xf32>
    %87 = "stablehlo.subtract"(%79, %86) : (tensor<3x3x21x21xf32>, tensor<3x3x21x21xf32>) -> tensor<3x3x21x21xf32>
    %88 = "stablehlo.exponential"(%87) : (tensor<3x3x21x21xf32>) -> tensor<3x3x21x21xf32>
    %89 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %90 = "stablehlo.reduce"(%88, %89) <{dimensions = array<i64: 3>}> ({
    ^bb0(%arg50: tensor<f32>, %arg51: tensor<f32>):
      %225 = "stablehlo.add"(%arg50, %arg51) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%225) : (tensor<f32>) -> ()
    }) : (tensor<3x3x21x21xf32>, tensor<f32>) -> tensor<3x3x21xf32>
    %91 = "stablehlo.broadcast_in_dim"(%90) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<3x3x21xf32>) -> tensor<3x3x21x1xf32>
    %92 = "stablehlo.broadcast_in_dim"(%91) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<3x3x21x1xf32>) -> tensor<3x3x21x21xf32>
    %93 = "stablehlo.divide"(%88, %92) : (tensor<3x3x21x21xf32>, tensor<3x3x21x21xf32>) -> tensor<3x3x21x21xf32>
    %94 = "stablehlo.dot_general"(%72, %93) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [3]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<3x21x12xf32>, tensor<3x3x21x21xf32>) -> tensor<3x12x3x21xf32>
    %95 = "stablehlo.transpose"(%94) <{permutation = array<i64: 0, 3, 2, 1>}> : (tensor<3x12x3x21xf32>) -> tensor<3x21x3x12xf32>
    %96 = "stablehlo.reshape"(%95) : (tensor<3x21x3x12xf32>) -> tensor<3x21x36xf32>
    %97 = "stablehlo.dot_general"(%96, %arg18) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<3x21x36xf32>, tensor<36x36xf32>) -> tensor<3x21x36xf32>
    %98 = "stablehlo.add"(%49, %97) : (tensor<3x21x36xf32>, tensor<3x21x36xf32>) -> tensor<3x21x36xf32>
    %99 = "stablehlo.multiply"(%98, %98) : (tensor<3x21x36xf32>, tensor<3x21x36xf32>) -> tensor<3x21x36xf32>
    %100 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %101 = "stablehlo.reduce"(%99, %100) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg48: tensor<f32>, %arg49: tensor<f32>):
      %224 = "stablehlo.add"(%arg48, %arg49) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%224) : (tensor<f32>) -> ()
    }) : (tensor<3x21x36xf32>, tensor<f32>) -> tensor<3x21xf32>
    %102 = "stablehlo.broadcast_in_dim"(%101) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<3x21xf32>) -> tensor<3x21x1xf32>
    %103 = "stablehlo.constant"() <{value = dense<3.600000e+01> : tensor<f32>}> : () -> tensor<f32>
    %104 = "stablehlo.broadcast_in_dim"(%103) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<3x21x1xf32>
    %105 = "stablehlo.divide"(%102, %104) : (tensor<3x21x1xf32>, tensor<3x21x1xf32>) -> tensor<3x21x1xf32>
    %106 = "stablehlo.constant"() <{value = dense<9.99999997E-7> : tensor<f32>}> : () -> tensor<f32>
    %107 = "stablehlo.broadcast_in_dim"(%106) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<3x21x1xf32>
    %108 = "stablehlo.add"(%105, %107) : (tensor<3x21x1xf32>, tensor<3x21x1xf32>) -> tensor<3x21x1xf32>
    %109 = "stablehlo.rsqrt"(%108) : (tensor<3x21x1xf32>) -> tensor<3x21x1xf32>
    %110 = "stablehlo.broadcast_in_dim"(%109) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<3x21x1xf32>) -> tensor<3x21x36xf32>
    %111 = "stablehlo.multiply"(%98, %110) : (tensor<3x21x36xf32>, tensor<3x21x36xf32>) -> tensor<3x21x36xf32>
    %112 = "stablehlo.broadcast_in_dim"(%arg19) <{broadcast_dimensions = array<i64: 2>}> : (tensor<36xf32>) -> tensor<1x1x36xf32>
    %113 = "stablehlo.broadcast_in_dim"(%112) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x36xf32>) -> tensor<3x21x36xf32>
    %114 = "stablehlo.multiply"(%111, %113) : (tensor<3x21x36xf32>, tensor<3x21x36xf32>) -> tensor<3x21x36xf32>
    %115 = "stablehlo.dot_general"(%114, %arg20) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<3x21x36xf32>, tensor<36x50xf32>) -> tensor<3x21x50xf32>
    %116 = "func.call"(%115) <{callee = @silu}> : (tensor<3x21x50xf32>) -> tensor<3x21x50xf32>
    %117 = "stablehlo.dot_general"(%114, %arg21) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<3x21x36xf32>, tensor<36x50xf32>) -> tensor<3x21x50xf32>
    %118 = "stablehlo.multiply"(%116, %117) : (tensor<3x21x50xf32>, tensor<3x21x50xf32>) -> tensor<3x21x50xf32>
    %119 = "stablehlo.dot_general"(%118, %arg22) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<3x21x50xf32>, tensor<50x36xf32>) -> tensor<3x21x36xf32>
    %120 = "stablehlo.add"(%98, %119) : (tensor<3x21x36xf32>, tensor<3x21x36xf32>) -> tensor<3x21x36xf32>
    %121 = "stablehlo.multiply"(%120, %120) : (tensor<3x21x36xf32>, tensor<3x21x36xf32>) -> tensor<3x21x36xf32>
    %122 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %123 = "stablehlo.reduce"(%121, %122) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg46: tensor<f32>, %arg47: tensor<f32>):
      %223 = "stablehlo.add"(%arg46, %arg47) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%223) : (tensor<f32>) -> ()
    }) : (tensor<3x21x36xf32>, tensor<f32>) -> tensor<3x21xf32>
    %124 = "stablehlo.broadcast_in_dim"(%123) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<3x21xf32>) -> tensor<3x21x1xf32>
    %125 = "stablehlo.constant"() <{value = dense<3.600000e+01> : tensor<f32>}> : () -> tensor<f32>
    %126 = "stablehlo.broadcast_in_dim"(%125) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<3x21x1xf32>
    %127 = "stablehlo.divide"(%124, %126) : (tensor<3x21x1xf32>, tensor<3x21x1xf32>) -> tensor<3x21x1xf32>
    %128 = "stablehlo.constant"() <{value = dense<9.99999997E-7> : tensor<f32>}> : () -> tensor<f32>
    %129 = "stablehlo.broadcast_in_dim"(%128) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<3x21x1xf32>
    %130 = "stablehlo.add"(%127, %129) : (tensor<3x21x1xf32>, tensor<3x21x1xf32>) -> tensor<3x21x1xf32>
    %131 = "stablehlo.rsqrt"(%130) : (tensor<3x21x1xf32>) -> tensor<3x21x1xf32>
    %132 = "stablehlo.broadcast_in_dim"(%131) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<3x21x1xf32>) -> tensor<3x21x36xf32>
    %133 = "stablehlo.multiply"(%120, %132) : (tensor<3x21x36xf32>, tensor<3x21x36xf32>) -> tensor<3x21x36xf32>
    %134 = "stablehlo.broadcast_in_dim"(%arg23) <{broadcast_dimensions = array<i64: 2>}> : (tensor<36xf32>) -> tensor<1x1x36xf32>
    %135 = "stablehlo.broadcast_in_dim"(%134) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x36xf32>) -> tensor<3x21x36xf32>
    %136 = "stablehlo.multiply"(%133, %135) : (tensor<3x21x36xf32>, tensor<3x21x36xf32>) -> tensor<3x21x36xf32>
    %137 = "stablehlo.dot_general"(%136, %arg24) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<3x21x36xf32>, tensor<36x36xf32>) -> tensor<3x21x36xf32>
    %138 = "stablehlo.reshape"(%137) : (tensor<3x21x36xf32>) -> tensor<3x21x3x12xf32>
    %139 = "stablehlo.dot_general"(%136, %arg25) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<3x21x36xf32>, tensor<36x12xf32>) -> tensor<3x21x12xf32>
    %140 = "stablehlo.dot_general"(%136, %arg26) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<3x21x36xf32>, tensor<36x12xf32>) -> tensor<3x21x12xf32>
    %141 = "stablehlo.dot_general"(%139, %138) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [3]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<3x21x12xf32>, tensor<3x21x3x12xf32>) -> tensor<3x21x21x3xf32>
    %142 = "stablehlo.transpose"(%141) <{permutation = array<i64: 0, 3, 2, 1>}> : (tensor<3x21x21x3xf32>) -> tensor<3x3x21x21xf32>
    %143 = "stablehlo.constant"() <{value = dense<3.46410155> : tensor<f32>}> : () -> tensor<f32>
    %144 = "stablehlo.broadcast_in_dim"(%143) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<3x3x21x21xf32>
    %145 = "stablehlo.divide"(%142, %144) : (tensor<3x3x21x21xf32>, tensor<3x3x21x21xf32>) -> tensor<3x3x21x21xf32>
    %146 = "stablehlo.constant"() <{value = dense<-1.000000e+09> : tensor<f32>}> : () -> tensor<f32>
    %147 = "func.call"(%52, %145, %146) <{callee = @_where}> : (tensor<21x21xi1>, tensor<3x3x21x21xf32>, tensor<f32>) -> tensor<3x3x21x21xf32>
    %148 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %149 = "stablehlo.reduce"(%147, %148) <{dimensions = array<i64: 3>}> ({
    ^bb0(%arg44: tensor<f32>, %arg45: tensor<f32>):
      %222 = "stablehlo.maximum"(%arg44, %arg45) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%222) : (tensor<f32>) -> ()
    }) : (tensor<3x3x21x21xf32>, tensor<f32>) -> tensor<3x3x21xf32>
    %150 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %151 = "stablehlo.broadcast_in_dim"(%150) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<3x3x21xf32>
    %152 = "stablehlo.maximum"(%151, %149) : (tensor<3x3x21xf32>, tensor<3x3x21xf32>) -> tensor<3x3x21xf32>
    %153 = "stablehlo.broadcast_in_dim"(%152) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<3x3x21xf32>) -> tensor<3x3x21x1xf32>
    %154 = "stablehlo.broadcast_in_dim"(%153) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<3x3x21x1xf32>) -> tensor<3x3x21x21xf32>
    %155 = "stablehlo.subtract"(%147, %154) : (tensor<3x3x21x21xf32>, tensor<3x3x21x21xf32>) -> tensor<3x3x21x21xf32>
    %156 = "stablehlo.exponential"(%155) : (tensor<3x3x21x21xf32>) -> tensor<3x3x21x21xf32>
    %157 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %158 = "stablehlo.reduce"(%156, %157) <{dimensions = array<i64: 3>}> ({
    ^bb0(%arg42: tensor<f32>, %arg43: tensor<f32>):
      %221 = "stablehlo.add"(%arg42, %arg43) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%221) : (tensor<f32>) -> ()
    }) : (tensor<3x3x21x21xf32>, tensor<f32>) -> tensor<3x3x21xf32>
    %159 = "stablehlo.broadcast_in_dim"(%158) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<3x3x21xf32>) -> tensor<3x3x21x1xf32>
    %160 = "stablehlo.broadcast_in_dim"(%159) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<3x3x21x1xf32>) -> tensor<3x3x21x21xf32>
    %161 = "stablehlo.divide"(%156, %160) : (tensor<3x3x21x21xf32>, tensor<3x3x21x21xf32>) -> tensor<3x3x21x21xf32>
    %162 = "stablehlo.dot_general"(%140, %161) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [3]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<3x21x12xf32>, tensor<3x3x21x21xf32>) -> tensor<3x12x3x21xf32>
    %163 = "stablehlo.transpose"(%162) <{permutation = array<i64: 0, 3, 2, 1>}> : (tensor<3x12x3x21xf32>) -> tensor<3x21x3x12xf32>
    %164 = "stablehlo.reshape"(%163) : (tensor<3x21x3x12xf32>) -> tensor<3x21x36xf32>
    %165 = "stablehlo.dot_general"(%164, %arg27) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<3x21x36xf32>, tensor<36x36xf32>) -> tensor<3x21x36xf32>
    %166 = "stablehlo.add"(%120, %165) : (tensor<3x21x36xf32>, tensor<3x21x36xf32>) -> tensor<3x21x36xf32>
    %167 = "stablehlo.multiply"(%166, %166) : (tensor<3x21x36xf32>, tensor<3x21x36xf32>) -> tensor<3x21x36xf32>
    %168 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %169 = "stablehlo.reduce"(%167, %168) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg40: tensor<f32>, %arg41: tensor<f32>):
      %220 = "stablehlo.add"(%arg40, %arg41) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%220) : (tensor<f32>) -> ()
    }) : (tensor<3x21x36xf32>, tensor<f32>) -> tensor<3x21xf32>
    %170 = "stablehlo.broadcast_in_dim"(%169) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<3x21xf32>) -> tensor<3x21x1xf32>
    %171 = "stablehlo.constant"() <{value = dense<3.600000e+01> : tensor<f32>}> : () -> tensor<f32>
    %172 = "stablehlo.broadcast_in_dim"(%171) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<3x21x1xf32>
    %173 = "stablehlo.divide"(%170, %172) : (tensor<3x21x1xf32>, tensor<3x21x1xf32>) -> tensor<3x21x1xf32>
    %174 = "stablehlo.constant"() <{value = dense<9.99999997E-7> : tensor<f32>}> : () -> tensor<f32>
    %175 = "stablehlo.broadcast_in_dim"(%174) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<3x21x1xf32>
    %176 = "stablehlo.add"(%173, %175) : (tensor<3x21x1xf32>, tensor<3x21x1xf32>) -> tensor<3x21x1xf32>
    %177 = "stablehlo.rsqrt"(%176) : (tensor<3x21x1xf32>) -> tensor<3x21x1xf32>
    %178 = "stablehlo.broadcast_in_dim"(%177) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<3x21x1xf32>) -> tensor<3x21x36xf32>
    %179 = "stablehlo.multiply"(%166, %178) : (tensor<3x21x36xf32>, tensor<3x21x36xf32>) -> tensor<3x21x36xf32>
    %180 = "stablehlo.broadcast_in_dim"(%arg28) <{broadcast_dimensions = array<i64: 2>}> : (tensor<36xf32>) -> tensor<1x1x36xf32>
    %181 = "stablehlo.broadcast_in_dim"(%180) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x36xf32>) -> tensor<3x21x36xf32>
    %182 = "stablehlo.multiply"(%179, %181) : (tensor<3x21x36xf32>, tensor<3x21x36xf32>) -> tensor<3x21x36xf32>
    %183 = "stablehlo.dot_general"(%182, %arg29) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<3x21x36xf32>, tensor<36x50xf32>) -> tensor<3x21x50xf32>
    %184 = "func.call"(%183) <{callee = @silu}> : (tensor<3x21x50xf32>) -> tensor<3x21x50xf32>
    %185 = "stablehlo.dot_general"(%182, %arg30) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<3x21x36xf32>, tensor<36x50xf32>) -> tensor<3x21x50xf32>
    %186 = "stablehlo.multiply"(%184, %185) : (tensor<3x21x50xf32>, tensor<3x21x50xf32>) -> tensor<3x21x50xf32>
    %187 = "stablehlo.dot_general"(%186, %arg31) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<3x21x50xf32>, tensor<50x36xf32>) -> tensor<3x21x36xf32>
    %188 = "stablehlo.add"(%166, %187) : (tensor<3x21x36xf32>, tensor<3x21x36xf32>) -> tensor<3x21x36xf32>
    %189 = "stablehlo.multiply"(%188, %188) : (tensor<3x21x36xf32>, tensor<3x21x36xf32>) -> tensor<3x21x36xf32>
    %190 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %191 = "stablehlo.reduce"(%189, %190) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg38: tensor<f32>, %arg39: tensor<f32>):
      %219 = "stablehlo.add"(%arg38, %arg39) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%219) : (tensor<f32>) -> ()
    }) : (tensor<3x21x36xf32>, tensor<f32>) -> tensor<3x21xf32>
    %192 = "stablehlo.broadcast_in_dim"(%191) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<3x21xf32>) -> tensor<3x21x1xf32>
    %193 = "stablehlo.constant"() <{value = dense<3.600000e+01> : tensor<f32>}> : () -> tensor<f32>
    %194 = "stablehlo.broadcast_in_dim"(%193) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<3x21x1xf32>
    %195 = "stablehlo.divide"(%192, %194) : (tensor<3x21x1xf32>, tensor<3x21x1xf32>) -> tensor<3x21x1xf32>
    %196 = "stablehlo.constant"() <{value = dense<9.99999997E-7> : tensor<f32>}> : () -> tensor<f32>
    %197 = "stablehlo.broadcast_in_dim"(%196) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<3x21x1xf32>
    %198 = "stablehlo.add"(%195, %197) : (tensor<3x21x1xf32>, tensor<3x21x1xf32>) -> tensor<3x21x1xf32>
    %199 = "stablehlo.rsqrt"(%198) : (tensor<3x21x1xf32>) -> tensor<3x21x1xf32>
    %200 = "stablehlo.broadcast_in_dim"(%199) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<3x21x1xf32>) -> tensor<3x21x36xf32>
    %201 = "stablehlo.multiply"(%188, %200) : (tensor<3x21x36xf32>, tensor<3x21x36xf32>) -> tensor<3x21x36xf32>
    %202 = "stablehlo.broadcast_in_dim"(%arg13) <{broadcast_dimensions = array<i64: 2>}> : (tensor<36xf32>) -> tensor<1x1x36xf32>
    %203 = "stablehlo.broadcast_in_dim"(%202) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x36xf32>) -> tensor<3x21x36xf32>
    %204 = "stablehlo.multiply"(%201, %203) : (tensor<3x21x36xf32>, tensor<3x21x36xf32>) -> tensor<3x21x36xf32>
    %205 = "stablehlo.transpose"(%arg11) <{permutation = array<i64: 1, 0>}> : (tensor<53x36xf32>) -> tensor<36x53xf32>
    %206 = "stablehlo.dot_general"(%204, %205) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<3x21x36xf32>, tensor<36x53xf32>) -> tensor<3x21x53xf32>
    %207 = "func.call"(%206) <{callee = @log_softmax}> : (tensor<3x21x53xf32>) -> tensor<3x21x53xf32>
    %208 = "func.call"(%arg33) <{callee = @_one_hot}> : (tensor<3x21xi32>) -> tensor<3x21x53xf32>
    %209 = "stablehlo.multiply"(%207, %208) : (tensor<3x21x53xf32>, tensor<3x21x53xf32>) -> tensor<3x21x53xf32>
    %210 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %211 = "stablehlo.reduce"(%209, %210) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg36: tensor<f32>, %arg37: tensor<f32>):
      %218 = "stablehlo.add"(%arg36, %arg37) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%218) : (tensor<f32>) -> ()
    }) : (tensor<3x21x53xf32>, tensor<f32>) -> tensor<3x21xf32>
    %212 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %213 = "stablehlo.reduce"(%211, %212) <{dimensions = array<i64: 0, 1>}> ({
    ^bb0(%arg34: tensor<f32>, %arg35: tensor<f32>):
      %217 = "stablehlo.add"(%arg34, %arg35) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%217) : (tensor<f32>) -> ()
    }) : (tensor<3x21xf32>, tensor<f32>) -> tensor<f32>
    %214 = "stablehlo.constant"() <{value = dense<6.300000e+01> : tensor<f32>}> : () -> tensor<f32>
    %215 = "stablehlo.divide"(%213, %214) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %216 = "stablehlo.negate"(%215) : (tensor<f32>) -> tensor<f32>
    "func.return"(%216) : (tensor<f32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<3x21xi32>) -> tensor<3x21x53xf32>, res_attrs = [{}], sym_name = "_one_hot", sym_visibility = "private"}> ({
  ^bb0(%arg10: tensor<3x21xi32>):
    %39 = "stablehlo.broadcast_in_dim"(%arg10) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<3x21xi32>) -> tensor<3x21x1xi32>
    %40 = "stablehlo.iota"() <{iota_dimension = 2 : i64}> : () -> tensor<1x1x53xi32>
    %41 = "stablehlo.broadcast_in_dim"(%39) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<3x21x1xi32>) -> tensor<3x21x53xi32>
    %42 = "stablehlo.broadcast_in_dim"(%40) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x53xi32>) -> tensor<3x21x53xi32>
    %43 = "stablehlo.compare"(%41, %42) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<3x21x53xi32>, tensor<3x21x53xi32>) -> tensor<3x21x53xi1>
    %44 = "stablehlo.convert"(%43) : (tensor<3x21x53xi1>) -> tensor<3x21x53xf32>
    "func.return"(%44) : (tensor<3x21x53xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<21x21xi1>) -> tensor<21x21xi1>, res_attrs = [{}], sym_name = "tril", sym_visibility = "private"}> ({
  ^bb0(%arg9: tensor<21x21xi1>):
    %30 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<21x21xi32>
    %31 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %32 = "stablehlo.broadcast_in_dim"(%31) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<21x21xi32>
    %33 = "stablehlo.add"(%30, %32) : (tensor<21x21xi32>, tensor<21x21xi32>) -> tensor<21x21xi32>
    %34 = "stablehlo.iota"() <{iota_dimension = 1 : i64}> : () -> tensor<21x21xi32>
    %35 = "stablehlo.compare"(%33, %34) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<21x21xi32>, tensor<21x21xi32>) -> tensor<21x21xi1>
    %36 = "stablehlo.constant"() <{value = dense<false> : tensor<i1>}> : () -> tensor<i1>
    %37 = "stablehlo.broadcast_in_dim"(%36) <{broadcast_dimensions = array<i64>}> : (tensor<i1>) -> tensor<21x21xi1>
    %38 = "stablehlo.select"(%35, %arg9, %37) : (tensor<21x21xi1>, tensor<21x21xi1>, tensor<21x21xi1>) -> tensor<21x21xi1>
    "func.return"(%38) : (tensor<21x21xi1>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}, {}], function_type = (tensor<21x21xi1>, tensor<3x3x21x21xf32>, tensor<f32>) -> tensor<3x3x21x21xf32>, res_attrs = [{}], sym_name = "_where", sym_visibility = "private"}> ({
  ^bb0(%arg6: tensor<21x21xi1>, %arg7: tensor<3x3x21x21xf32>, %arg8: tensor<f32>):
    %26 = "stablehlo.convert"(%arg8) : (tensor<f32>) -> tensor<f32>
    %27 = "stablehlo.broadcast_in_dim"(%arg6) <{broadcast_dimensions = array<i64: 2, 3>}> : (tensor<21x21xi1>) -> tensor<3x3x21x21xi1>
    %28 = "stablehlo.broadcast_in_dim"(%26) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<3x3x21x21xf32>
    %29 = "stablehlo.select"(%27, %arg7, %28) : (tensor<3x3x21x21xi1>, tensor<3x3x21x21xf32>, tensor<3x3x21x21xf32>) -> tensor<3x3x21x21xf32>
    "func.return"(%29) : (tensor<3x3x21x21xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<3x21x50xf32>) -> tensor<3x21x50xf32>, res_attrs = [{}], sym_name = "silu", sym_visibility = "private"}> ({
  ^bb0(%arg5: tensor<3x21x50xf32>):
    %17 = "stablehlo.negate"(%arg5) : (tensor<3x21x50xf32>) -> tensor<3x21x50xf32>
    %18 = "stablehlo.exponential"(%17) : (tensor<3x21x50xf32>) -> tensor<3x21x50xf32>
    %19 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %20 = "stablehlo.broadcast_in_dim"(%19) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<3x21x50xf32>
    %21 = "stablehlo.add"(%20, %18) : (tensor<3x21x50xf32>, tensor<3x21x50xf32>) -> tensor<3x21x50xf32>
    %22 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %23 = "stablehlo.broadcast_in_dim"(%22) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<3x21x50xf32>
    %24 = "stablehlo.divide"(%23, %21) : (tensor<3x21x50xf32>, tensor<3x21x50xf32>) -> tensor<3x21x50xf32>
    %25 = "stablehlo.multiply"(%arg5, %24) : (tensor<3x21x50xf32>, tensor<3x21x50xf32>) -> tensor<3x21x50xf32>
    "func.return"(%25) : (tensor<3x21x50xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<3x21x53xf32>) -> tensor<3x21x53xf32>, res_attrs = [{}], sym_name = "log_softmax", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<3x21x53xf32>):
    %0 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %1 = "stablehlo.reduce"(%arg0, %0) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %16 = "stablehlo.maximum"(%arg3, %arg4) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%16) : (tensor<f32>) -> ()
    }) : (tensor<3x21x53xf32>, tensor<f32>) -> tensor<3x21xf32>
    %2 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %3 = "stablehlo.broadcast_in_dim"(%2) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<3x21xf32>
    %4 = "stablehlo.maximum"(%3, %1) : (tensor<3x21xf32>, tensor<3x21xf32>) -> tensor<3x21xf32>
    %5 = "stablehlo.broadcast_in_dim"(%4) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<3x21xf32>) -> tensor<3x21x1xf32>
    %6 = "stablehlo.broadcast_in_dim"(%5) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<3x21x1xf32>) -> tensor<3x21x53xf32>
    %7 = "stablehlo.subtract"(%arg0, %6) : (tensor<3x21x53xf32>, tensor<3x21x53xf32>) -> tensor<3x21x53xf32>
    %8 = "stablehlo.exponential"(%7) : (tensor<3x21x53xf32>) -> tensor<3x21x53xf32>
    %9 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %10 = "stablehlo.reduce"(%8, %9) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %15 = "stablehlo.add"(%arg1, %arg2) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%15) : (tensor<f32>) -> ()
    }) : (tensor<3x21x53xf32>, tensor<f32>) -> tensor<3x21xf32>
    %11 = "stablehlo.broadcast_in_dim"(%10) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<3x21xf32>) -> tensor<3x21x1xf32>
    %12 = "stablehlo.log"(%11) : (tensor<3x21x1xf32>) -> tensor<3x21x1xf32>
    %13 = "stablehlo.broadcast_in_dim"(%12) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<3x21x1xf32>) -> tensor<3x21x53xf32>
    %14 = "stablehlo.subtract"(%7, %13) : (tensor<3x21x53xf32>, tensor<3x21x53xf32>) -> tensor<3x21x53xf32>
    "func.return"(%14) : (tensor<3x21x53xf32>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()


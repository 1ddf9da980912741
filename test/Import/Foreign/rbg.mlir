// RUN: %python %S/../Inputs/foreign_values.py remat-run %s %t

// From test/fuzz/stablehlo_cases.py, as JAX 0.10.2 lowers and computes it.

// tolerance 0.0001
// arg 0 i4 : 776
// result 0 f4 13: 0.10651231 0.09818292 0.48582363 0.581123 0.38115048 0.058353066 0.9865322 0.75757325 0.66539645 0.21056902 0.68529797 0.846208 0.89495516
// result 1 i4 13x3: -1841481808 -1418710991 1071357073 -1242301620 1347097919 1238468148 -871079372 -923574717 1346007471 -620283520 1432515457 -1907859667 692132101 1744285987 -757944903 -1202291564 -99809480 563306481 1321498392 -1412352270 -1146704307 -2035995081 916782422 1413554254 -1856810569 30409333 1545199617 483593248 731362962 -2069391334 -1233028330 581766370 1636707553 1660824525 1145088468 -1466507618 183928242 2083011338 -974180756
// result 2 i1 13: 17 52 -79 -100 -55 11 113 -8 -18 45 -125 37 -32
// result 3 i8 13: 1811155359486993425 -7726916248140844623 1076425231009256905 -4471982101124784015 3884314192808209646 -2836960839642140285 6084724152552114656 -1172540005253698718 6484721465119840971 -3105787685018891765 -1148289279734609432 -767375456966495606 -2217985460077407062
// result 4 i2 13: 25617 -31692 -3663 31388 5577 15115 24689 21496 27886 -9427 -20093 5925 -13856
// result 5 b1 13: 0 0 1 0 0 0 0 0 1 0 0 0 1

"builtin.module"() <{sym_name = "jit__lambda"}> ({
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<i32>) -> (tensor<13xf32>, tensor<13x3xui32>, tensor<13xui8>, tensor<13xui64>, tensor<13xui16>, tensor<13xi1>), res_attrs = [{jax.result_info = "result[0]"}, {jax.result_info = "result[1]"}, {jax.result_info = "result[2]"}, {jax.result_info = "result[3]"}, {jax.result_info = "result[4]"}, {jax.result_info = "result[5]"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg38: tensor<i32>):
    %132 = "stablehlo.constant"() <{value = dense<32> : tensor<i32>}> : () -> tensor<i32>
    %133 = "stablehlo.shift_right_logical"(%arg38, %132) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %134 = "stablehlo.convert"(%133) : (tensor<i32>) -> tensor<ui32>
    %135 = "stablehlo.broadcast_in_dim"(%134) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<1xui32>
    %136 = "stablehlo.convert"(%arg38) : (tensor<i32>) -> tensor<i64>
    %137 = "stablehlo.constant"() <{value = dense<4294967295> : tensor<i64>}> : () -> tensor<i64>
    %138 = "stablehlo.and"(%136, %137) : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %139 = "stablehlo.convert"(%138) : (tensor<i64>) -> tensor<ui32>
    %140 = "stablehlo.broadcast_in_dim"(%139) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<1xui32>
    %141 = "stablehlo.concatenate"(%135, %140) <{dimension = 0 : i64}> : (tensor<1xui32>, tensor<1xui32>) -> tensor<2xui32>
    %142 = "stablehlo.concatenate"(%141, %141) <{dimension = 0 : i64}> : (tensor<2xui32>, tensor<2xui32>) -> tensor<4xui32>
    %143 = "stablehlo.reshape"(%142) : (tensor<4xui32>) -> tensor<2x2xui32>
    %144 = "stablehlo.slice"(%143) <{limit_indices = array<i64: 2, 1>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 1>}> : (tensor<2x2xui32>) -> tensor<2x1xui32>
    %145 = "stablehlo.reshape"(%144) : (tensor<2x1xui32>) -> tensor<2xui32>
    %146 = "stablehlo.slice"(%143) <{limit_indices = array<i64: 2, 2>, start_indices = array<i64: 0, 1>, strides = array<i64: 1, 1>}> : (tensor<2x2xui32>) -> tensor<2x1xui32>
    %147 = "stablehlo.reshape"(%146) : (tensor<2x1xui32>) -> tensor<2xui32>
    %148 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<2xui64>
    %149 = "stablehlo.constant"() <{value = dense<1> : tensor<ui64>}> : () -> tensor<ui64>
    %150 = "stablehlo.broadcast_in_dim"(%149) <{broadcast_dimensions = array<i64>}> : (tensor<ui64>) -> tensor<2xui64>
    %151 = "stablehlo.multiply"(%150, %148) : (tensor<2xui64>, tensor<2xui64>) -> tensor<2xui64>
    %152 = "stablehlo.constant"() <{value = dense<32> : tensor<ui64>}> : () -> tensor<ui64>
    %153 = "stablehlo.broadcast_in_dim"(%152) <{broadcast_dimensions = array<i64>}> : (tensor<ui64>) -> tensor<2xui64>
    %154 = "stablehlo.shift_right_logical"(%151, %153) : (tensor<2xui64>, tensor<2xui64>) -> tensor<2xui64>
    %155 = "stablehlo.convert"(%151) : (tensor<2xui64>) -> tensor<2xui32>
    %156 = "stablehlo.convert"(%154) : (tensor<2xui64>) -> tensor<2xui32>
    %157 = "stablehlo.broadcast_in_dim"(%156) <{broadcast_dimensions = array<i64: 1>}> : (tensor<2xui32>) -> tensor<1x2xui32>
    %158 = "stablehlo.broadcast_in_dim"(%155) <{broadcast_dimensions = array<i64: 1>}> : (tensor<2xui32>) -> tensor<1x2xui32>
    %159 = "stablehlo.broadcast_in_dim"(%145) <{broadcast_dimensions = array<i64: 0>}> : (tensor<2xui32>) -> tensor<2x1xui32>
    %160 = "stablehlo.broadcast_in_dim"(%147) <{broadcast_dimensions = array<i64: 0>}> : (tensor<2xui32>) -> tensor<2x1xui32>
    %161:2 = "func.call"(%159, %160, %157, %158) <{callee = @threefry2x32}> : (tensor<2x1xui32>, tensor<2x1xui32>, tensor<1x2xui32>, tensor<1x2xui32>) -> (tensor<2x2xui32>, tensor<2x2xui32>)
    %162 = "stablehlo.broadcast_in_dim"(%161#0) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x2xui32>) -> tensor<2x2x1xui32>
    %163 = "stablehlo.broadcast_in_dim"(%161#1) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x2xui32>) -> tensor<2x2x1xui32>
    %164 = "stablehlo.concatenate"(%162, %163) <{dimension = 2 : i64}> : (tensor<2x2x1xui32>, tensor<2x2x1xui32>) -> tensor<2x2x2xui32>
    %165 = "stablehlo.transpose"(%164) <{permutation = array<i64: 1, 0, 2>}> : (tensor<2x2x2xui32>) -> tensor<2x2x2xui32>
    %166 = "stablehlo.reshape"(%165) : (tensor<2x2x2xui32>) -> tensor<2x4xui32>
    %167 = "stablehlo.slice"(%166) <{limit_indices = array<i64: 1, 4>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 1>}> : (tensor<2x4xui32>) -> tensor<1x4xui32>
    %168 = "stablehlo.reshape"(%167) : (tensor<1x4xui32>) -> tensor<4xui32>
    %169 = "stablehlo.slice"(%166) <{limit_indices = array<i64: 2, 4>, start_indices = array<i64: 1, 0>, strides = array<i64: 1, 1>}> : (tensor<2x4xui32>) -> tensor<1x4xui32>
    %170 = "stablehlo.reshape"(%169) : (tensor<1x4xui32>) -> tensor<4xui32>
    %171 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %172 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %173 = "func.call"(%168, %171, %172) <{callee = @_uniform}> : (tensor<4xui32>, tensor<f64>, tensor<f64>) -> tensor<13xf32>
    %174 = "stablehlo.reshape"(%170) : (tensor<4xui32>) -> tensor<2x2xui32>
    %175 = "stablehlo.bitcast_convert"(%174) : (tensor<2x2xui32>) -> tensor<2xui64>
    %176:2 = "stablehlo.rng_bit_generator"(%175) <{rng_algorithm = #stablehlo<rng_algorithm DEFAULT>}> : (tensor<2xui64>) -> (tensor<2xui64>, tensor<13x3xui32>)
    %177 = "stablehlo.bitcast_convert"(%176#0) : (tensor<2xui64>) -> tensor<2x2xui32>
    %178 = "stablehlo.reshape"(%177) : (tensor<2x2xui32>) -> tensor<4xui32>
    %179 = "stablehlo.reshape"(%168) : (tensor<4xui32>) -> tensor<2x2xui32>
    %180 = "stablehlo.bitcast_convert"(%179) : (tensor<2x2xui32>) -> tensor<2xui64>
    %181:2 = "stablehlo.rng_bit_generator"(%180) <{rng_algorithm = #stablehlo<rng_algorithm DEFAULT>}> : (tensor<2xui64>) -> (tensor<2xui64>, tensor<13xui8>)
    %182 = "stablehlo.bitcast_convert"(%181#0) : (tensor<2xui64>) -> tensor<2x2xui32>
    %183 = "stablehlo.reshape"(%182) : (tensor<2x2xui32>) -> tensor<4xui32>
    %184 = "stablehlo.reshape"(%168) : (tensor<4xui32>) -> tensor<2x2xui32>
    %185 = "stablehlo.bitcast_convert"(%184) : (tensor<2x2xui32>) -> tensor<2xui64>
    %186:2 = "stablehlo.rng_bit_generator"(%185) <{rng_algorithm = #stablehlo<rng_algorithm DEFAULT>}> : (tensor<2xui64>) -> (tensor<2xui64>, tensor<13xui64>)
    %187 = "stablehlo.bitcast_convert"(%186#0) : (tensor<2xui64>) -> tensor<2x2xui32>
    %188 = "stablehlo.reshape"(%187) : (tensor<2x2xui32>) -> tensor<4xui32>
    %189 = "stablehlo.reshape"(%168) : (tensor<4xui32>) -> tensor<2x2xui32>
    %190 = "stablehlo.bitcast_convert"(%189) : (tensor<2x2xui32>) -> tensor<2xui64>
    %191:2 = "stablehlo.rng_bit_generator"(%190) <{rng_algorithm = #stablehlo<rng_algorithm DEFAULT>}> : (tensor<2xui64>) -> (tensor<2xui64>, tensor<13xui16>)
    %192 = "stablehlo.bitcast_convert"(%191#0) : (tensor<2xui64>) -> tensor<2x2xui32>
    %193 = "stablehlo.reshape"(%192) : (tensor<2x2xui32>) -> tensor<4xui32>
    %194 = "stablehlo.constant"() <{value = dense<3.000000e-01> : tensor<f64>}> : () -> tensor<f64>
    %195 = "func.call"(%170, %194) <{callee = @_bernoulli}> : (tensor<4xui32>, tensor<f64>) -> tensor<13xi1>
    "func.return"(%173, %176#1, %181#1, %186#1, %191#1, %195) : (tensor<13xf32>, tensor<13x3xui32>, tensor<13xui8>, tensor<13xui64>, tensor<13xui16>, tensor<13xi1>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<2x1xui32>, tensor<2x1xui32>, tensor<1x2xui32>, tensor<1x2xui32>) -> (tensor<2x2xui32>, tensor<2x2xui32>), sym_name = "threefry2x32", sym_visibility = "private"}> ({
  ^bb0(%arg16: tensor<2x1xui32>, %arg17: tensor<2x1xui32>, %arg18: tensor<1x2xui32>, %arg19: tensor<1x2xui32>):
    %112 = "stablehlo.constant"() <{value = dense<[13, 15, 26, 6]> : tensor<4xui32>}> : () -> tensor<4xui32>
    %113 = "stablehlo.constant"() <{value = dense<[17, 29, 16, 24]> : tensor<4xui32>}> : () -> tensor<4xui32>
    %114 = "stablehlo.xor"(%arg16, %arg17) : (tensor<2x1xui32>, tensor<2x1xui32>) -> tensor<2x1xui32>
    %115 = "stablehlo.constant"() <{value = dense<466688986> : tensor<ui32>}> : () -> tensor<ui32>
    %116 = "stablehlo.broadcast_in_dim"(%115) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<2x1xui32>
    %117 = "stablehlo.xor"(%114, %116) : (tensor<2x1xui32>, tensor<2x1xui32>) -> tensor<2x1xui32>
    %118 = "stablehlo.broadcast_in_dim"(%arg18) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x2xui32>) -> tensor<2x2xui32>
    %119 = "stablehlo.broadcast_in_dim"(%arg16) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x1xui32>) -> tensor<2x2xui32>
    %120 = "stablehlo.add"(%118, %119) : (tensor<2x2xui32>, tensor<2x2xui32>) -> tensor<2x2xui32>
    %121 = "stablehlo.broadcast_in_dim"(%arg19) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x2xui32>) -> tensor<2x2xui32>
    %122 = "stablehlo.broadcast_in_dim"(%arg17) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x1xui32>) -> tensor<2x2xui32>
    %123 = "stablehlo.add"(%121, %122) : (tensor<2x2xui32>, tensor<2x2xui32>) -> tensor<2x2xui32>
    %124 = "stablehlo.constant"() <{value = dense<0> : tensor<i64>}> : () -> tensor<i64>
    %125 = "stablehlo.constant"() <{value = dense<0> : tensor<i64>}> : () -> tensor<i64>
    %126:9 = "stablehlo.while"(%125, %124, %120, %123, %arg17, %117, %arg16, %112, %113) ({
    ^bb0(%arg29: tensor<i64>, %arg30: tensor<i64>, %arg31: tensor<2x2xui32>, %arg32: tensor<2x2xui32>, %arg33: tensor<2x1xui32>, %arg34: tensor<2x1xui32>, %arg35: tensor<2x1xui32>, %arg36: tensor<4xui32>, %arg37: tensor<4xui32>):
      %130 = "stablehlo.constant"() <{value = dense<5> : tensor<i64>}> : () -> tensor<i64>
      %131 = "stablehlo.compare"(%arg29, %130) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i64>, tensor<i64>) -> tensor<i1>
      "stablehlo.return"(%131) : (tensor<i1>) -> ()
    }, {
    ^bb0(%arg20: tensor<i64>, %arg21: tensor<i64>, %arg22: tensor<2x2xui32>, %arg23: tensor<2x2xui32>, %arg24: tensor<2x1xui32>, %arg25: tensor<2x1xui32>, %arg26: tensor<2x1xui32>, %arg27: tensor<4xui32>, %arg28: tensor<4xui32>):
      %127:8 = "func.call"(%arg21, %arg22, %arg23, %arg24, %arg25, %arg26, %arg27, %arg28) <{callee = @closed_call}> : (tensor<i64>, tensor<2x2xui32>, tensor<2x2xui32>, tensor<2x1xui32>, tensor<2x1xui32>, tensor<2x1xui32>, tensor<4xui32>, tensor<4xui32>) -> (tensor<i64>, tensor<2x2xui32>, tensor<2x2xui32>, tensor<2x1xui32>, tensor<2x1xui32>, tensor<2x1xui32>, tensor<4xui32>, tensor<4xui32>)
      %128 = "stablehlo.constant"() <{value = dense<1> : tensor<i64>}> : () -> tensor<i64>
      %129 = "stablehlo.add"(%arg20, %128) : (tensor<i64>, tensor<i64>) -> tensor<i64>
      "stablehlo.return"(%129, %127#0, %127#1, %127#2, %127#3, %127#4, %127#5, %127#6, %127#7) : (tensor<i64>, tensor<i64>, tensor<2x2xui32>, tensor<2x2xui32>, tensor<2x1xui32>, tensor<2x1xui32>, tensor<2x1xui32>, tensor<4xui32>, tensor<4xui32>) -> ()
    }) : (tensor<i64>, tensor<i64>, tensor<2x2xui32>, tensor<2x2xui32>, tensor<2x1xui32>, tensor<2x1xui32>, tensor<2x1xui32>, tensor<4xui32>, tensor<4xui32>) -> (tensor<i64>, tensor<i64>, tensor<2x2xui32>, tensor<2x2xui32>, tensor<2x1xui32>, tensor<2x1xui32>, tensor<2x1xui32>, tensor<4xui32>, tensor<4xui32>)
    "func.return"(%126#2, %126#3) : (tensor<2x2xui32>, tensor<2x2xui32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<i64>, tensor<2x2xui32>, tensor<2x2xui32>, tensor<2x1xui32>, tensor<2x1xui32>, tensor<2x1xui32>, tensor<4xui32>, tensor<4xui32>) -> (tensor<i64>, tensor<2x2xui32>, tensor<2x2xui32>, tensor<2x1xui32>, tensor<2x1xui32>, tensor<2x1xui32>, tensor<4xui32>, tensor<4xui32>), res_attrs = [{}, {}, {}, {}, {}, {}, {}, {}], sym_name = "closed_call", sym_visibility = "private"}> ({
  ^bb0(%arg8: tensor<i64>, %arg9: tensor<2x2xui32>, %arg10: tensor<2x2xui32>, %arg11: tensor<2x1xui32>, %arg12: tensor<2x1xui32>, %arg13: tensor<2x1xui32>, %arg14: tensor<4xui32>, %arg15: tensor<4xui32>):
    %57 = "stablehlo.constant"() <{value = dense<1> : tensor<i64>}> : () -> tensor<i64>
    %58 = "stablehlo.add"(%arg8, %57) : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %59 = "stablehlo.slice"(%arg14) <{limit_indices = array<i64: 1>, start_indices = array<i64: 0>, strides = array<i64: 1>}> : (tensor<4xui32>) -> tensor<1xui32>
    %60 = "stablehlo.reshape"(%59) : (tensor<1xui32>) -> tensor<ui32>
    %61 = "stablehlo.add"(%arg9, %arg10) : (tensor<2x2xui32>, tensor<2x2xui32>) -> tensor<2x2xui32>
    %62 = "stablehlo.broadcast_in_dim"(%60) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<2x2xui32>
    %63 = "stablehlo.shift_left"(%arg10, %62) : (tensor<2x2xui32>, tensor<2x2xui32>) -> tensor<2x2xui32>
    %64 = "stablehlo.constant"() <{value = dense<32> : tensor<ui32>}> : () -> tensor<ui32>
    %65 = "stablehlo.subtract"(%64, %60) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %66 = "stablehlo.broadcast_in_dim"(%65) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<2x2xui32>
    %67 = "stablehlo.shift_right_logical"(%arg10, %66) : (tensor<2x2xui32>, tensor<2x2xui32>) -> tensor<2x2xui32>
    %68 = "stablehlo.or"(%63, %67) : (tensor<2x2xui32>, tensor<2x2xui32>) -> tensor<2x2xui32>
    %69 = "stablehlo.xor"(%61, %68) : (tensor<2x2xui32>, tensor<2x2xui32>) -> tensor<2x2xui32>
    %70 = "stablehlo.slice"(%arg14) <{limit_indices = array<i64: 2>, start_indices = array<i64: 1>, strides = array<i64: 1>}> : (tensor<4xui32>) -> tensor<1xui32>
    %71 = "stablehlo.reshape"(%70) : (tensor<1xui32>) -> tensor<ui32>
    %72 = "stablehlo.add"(%61, %69) : (tensor<2x2xui32>, tensor<2x2xui32>) -> tensor<2x2xui32>
    %73 = "stablehlo.broadcast_in_dim"(%71) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<2x2xui32>
    %74 = "stablehlo.shift_left"(%69, %73) : (tensor<2x2xui32>, tensor<2x2xui32>) -> tensor<2x2xui32>
    %75 = "stablehlo.constant"() <{value = dense<32> : tensor<ui32>}> : () -> tensor<ui32>
    %76 = "stablehlo.subtract"(%75, %71) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %77 = "stablehlo.broadcast_in_dim"(%76) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<2x2xui32>
    %78 = "stablehlo.shift_right_logical"(%69, %77) : (tensor<2x2xui32>, tensor<2x2xui32>) -> tensor<2x2xui32>
    %79 = "stablehlo.or"(%74, %78) : (tensor<2x2xui32>, tensor<2x2xui32>) -> tensor<2x2xui32>
    %80 = "stablehlo.xor"(%72, %79) : (tensor<2x2xui32>, tensor<2x2xui32>) -> tensor<2x2xui32>
    %81 = "stablehlo.slice"(%arg14) <{limit_indices = array<i64: 3>, start_indices = array<i64: 2>, strides = array<i64: 1>}> : (tensor<4xui32>) -> tensor<1xui32>
    %82 = "stablehlo.reshape"(%81) : (tensor<1xui32>) -> tensor<ui32>
    %83 = "stablehlo.add"(%72, %80) : (tensor<2x2xui32>, tensor<2x2xui32>) -> tensor<2x2xui32>
    %84 = "stablehlo.broadcast_in_dim"(%82) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<2x2xui32>
    %85 = "stablehlo.shift_left"(%80, %84) : (tensor<2x2xui32>, tensor<2x2xui32>) -> tensor<2x2xui32>
    %86 = "stablehlo.constant"() <{value = dense<32> : tensor<ui32>}> : () -> tensor<ui32>
    %87 = "stablehlo.subtract"(%86, %82) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %88 = "stablehlo.broadcast_in_dim"(%87) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<2x2xui32>
    %89 = "stablehlo.shift_right_logical"(%80, %88) : (tensor<2x2xui32>, tensor<2x2xui32>) -> tensor<2x2xui32>
    %90 = "stablehlo.or"(%85, %89) : (tensor<2x2xui32>, tensor<2x2xui32>) -> tensor<2x2xui32>
    %91 = "stablehlo.xor"(%83, %90) : (tensor<2x2xui32>, tensor<2x2xui32>) -> tensor<2x2xui32>
    %92 = "stablehlo.slice"(%arg14) <{limit_indices = array<i64: 4>, start_indices = array<i64: 3>, strides = array<i64: 1>}> : (tensor<4xui32>) -> tensor<1xui32>
    %93 = "stablehlo.reshape"(%92) : (tensor<1xui32>) -> tensor<ui32>
    %94 = "stablehlo.add"(%83, %91) : (tensor<2x2xui32>, tensor<2x2xui32>) -> tensor<2x2xui32>
    %95 = "stablehlo.broadcast_in_dim"(%93) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<2x2xui32>
    %96 = "stablehlo.shift_left"(%91, %95) : (tensor<2x2xui32>, tensor<2x2xui32>) -> tensor<2x2xui32>
    %97 = "stablehlo.constant"() <{value = dense<32> : tensor<ui32>}> : () -> tensor<ui32>
    %98 = "stablehlo.subtract"(%97, %93) : (tensor<ui32>, tensor<ui32>) -> tensor<ui32>
    %99 = "stablehlo.broadcast_in_dim"(%98) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<2x2xui32>
    %100 = "stablehlo.shift_right_logical"(%91, %99) : (tensor<2x2xui32>, tensor<2x2xui32>) -> tensor<2x2xui32>
    %101 = "stablehlo.or"(%96, %100) : (tensor<2x2xui32>, tensor<2x2xui32>) -> tensor<2x2xui32>
    %102 = "stablehlo.xor"(%94, %101) : (tensor<2x2xui32>, tensor<2x2xui32>) -> tensor<2x2xui32>
    %103 = "stablehlo.broadcast_in_dim"(%arg11) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x1xui32>) -> tensor<2x2xui32>
    %104 = "stablehlo.add"(%94, %103) : (tensor<2x2xui32>, tensor<2x2xui32>) -> tensor<2x2xui32>
    %105 = "stablehlo.broadcast_in_dim"(%arg12) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x1xui32>) -> tensor<2x2xui32>
    %106 = "stablehlo.add"(%102, %105) : (tensor<2x2xui32>, tensor<2x2xui32>) -> tensor<2x2xui32>
    %107 = "stablehlo.constant"() <{value = dense<1> : tensor<i64>}> : () -> tensor<i64>
    %108 = "stablehlo.add"(%arg8, %107) : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %109 = "stablehlo.convert"(%108) : (tensor<i64>) -> tensor<ui32>
    %110 = "stablehlo.broadcast_in_dim"(%109) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<2x2xui32>
    %111 = "stablehlo.add"(%106, %110) : (tensor<2x2xui32>, tensor<2x2xui32>) -> tensor<2x2xui32>
    "func.return"(%58, %104, %111, %arg12, %arg13, %arg11, %arg15, %arg14) : (tensor<i64>, tensor<2x2xui32>, tensor<2x2xui32>, tensor<2x1xui32>, tensor<2x1xui32>, tensor<2x1xui32>, tensor<4xui32>, tensor<4xui32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}, {}], function_type = (tensor<4xui32>, tensor<f64>, tensor<f64>) -> tensor<13xf32>, res_attrs = [{}], sym_name = "_uniform", sym_visibility = "private"}> ({
  ^bb0(%arg5: tensor<4xui32>, %arg6: tensor<f64>, %arg7: tensor<f64>):
    %31 = "stablehlo.convert"(%arg6) : (tensor<f64>) -> tensor<f32>
    %32 = "stablehlo.convert"(%arg7) : (tensor<f64>) -> tensor<f32>
    %33 = "stablehlo.broadcast_in_dim"(%31) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1xf32>
    %34 = "stablehlo.broadcast_in_dim"(%32) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1xf32>
    %35 = "stablehlo.reshape"(%arg5) : (tensor<4xui32>) -> tensor<2x2xui32>
    %36 = "stablehlo.bitcast_convert"(%35) : (tensor<2x2xui32>) -> tensor<2xui64>
    %37:2 = "stablehlo.rng_bit_generator"(%36) <{rng_algorithm = #stablehlo<rng_algorithm DEFAULT>}> : (tensor<2xui64>) -> (tensor<2xui64>, tensor<13xui32>)
    %38 = "stablehlo.bitcast_convert"(%37#0) : (tensor<2xui64>) -> tensor<2x2xui32>
    %39 = "stablehlo.reshape"(%38) : (tensor<2x2xui32>) -> tensor<4xui32>
    %40 = "stablehlo.constant"() <{value = dense<9> : tensor<ui32>}> : () -> tensor<ui32>
    %41 = "stablehlo.broadcast_in_dim"(%40) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<13xui32>
    %42 = "stablehlo.shift_right_logical"(%37#1, %41) : (tensor<13xui32>, tensor<13xui32>) -> tensor<13xui32>
    %43 = "stablehlo.constant"() <{value = dense<1065353216> : tensor<ui32>}> : () -> tensor<ui32>
    %44 = "stablehlo.broadcast_in_dim"(%43) <{broadcast_dimensions = array<i64>}> : (tensor<ui32>) -> tensor<13xui32>
    %45 = "stablehlo.or"(%42, %44) : (tensor<13xui32>, tensor<13xui32>) -> tensor<13xui32>
    %46 = "stablehlo.bitcast_convert"(%45) : (tensor<13xui32>) -> tensor<13xf32>
    %47 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %48 = "stablehlo.broadcast_in_dim"(%47) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<13xf32>
    %49 = "stablehlo.subtract"(%46, %48) : (tensor<13xf32>, tensor<13xf32>) -> tensor<13xf32>
    %50 = "stablehlo.subtract"(%34, %33) : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
    %51 = "stablehlo.broadcast_in_dim"(%50) <{broadcast_dimensions = array<i64: 0>}> : (tensor<1xf32>) -> tensor<13xf32>
    %52 = "stablehlo.multiply"(%49, %51) : (tensor<13xf32>, tensor<13xf32>) -> tensor<13xf32>
    %53 = "stablehlo.broadcast_in_dim"(%33) <{broadcast_dimensions = array<i64: 0>}> : (tensor<1xf32>) -> tensor<13xf32>
    %54 = "stablehlo.add"(%52, %53) : (tensor<13xf32>, tensor<13xf32>) -> tensor<13xf32>
    %55 = "stablehlo.broadcast_in_dim"(%33) <{broadcast_dimensions = array<i64: 0>}> : (tensor<1xf32>) -> tensor<13xf32>
    %56 = "stablehlo.maximum"(%55, %54) : (tensor<13xf32>, tensor<13xf32>) -> tensor<13xf32>
    "func.return"(%56) : (tensor<13xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}], function_type = (tensor<4xui32>, tensor<f64>) -> tensor<13xi1>, res_attrs = [{}], sym_name = "_bernoulli", sym_visibility = "private"}> ({
  ^bb0(%arg3: tensor<4xui32>, %arg4: tensor<f64>):
    %26 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %27 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %28 = "func.call"(%arg3, %26, %27) <{callee = @_uniform_0}> : (tensor<4xui32>, tensor<f64>, tensor<f64>) -> tensor<13xf64>
    %29 = "stablehlo.broadcast_in_dim"(%arg4) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<13xf64>
    %30 = "stablehlo.compare"(%28, %29) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<13xf64>, tensor<13xf64>) -> tensor<13xi1>
    "func.return"(%30) : (tensor<13xi1>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}, {}], function_type = (tensor<4xui32>, tensor<f64>, tensor<f64>) -> tensor<13xf64>, res_attrs = [{}], sym_name = "_uniform_0", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<4xui32>, %arg1: tensor<f64>, %arg2: tensor<f64>):
    %0 = "stablehlo.convert"(%arg1) : (tensor<f64>) -> tensor<f64>
    %1 = "stablehlo.convert"(%arg2) : (tensor<f64>) -> tensor<f64>
    %2 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<1xf64>
    %3 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<1xf64>
    %4 = "stablehlo.reshape"(%arg0) : (tensor<4xui32>) -> tensor<2x2xui32>
    %5 = "stablehlo.bitcast_convert"(%4) : (tensor<2x2xui32>) -> tensor<2xui64>
    %6:2 = "stablehlo.rng_bit_generator"(%5) <{rng_algorithm = #stablehlo<rng_algorithm DEFAULT>}> : (tensor<2xui64>) -> (tensor<2xui64>, tensor<13xui64>)
    %7 = "stablehlo.bitcast_convert"(%6#0) : (tensor<2xui64>) -> tensor<2x2xui32>
    %8 = "stablehlo.reshape"(%7) : (tensor<2x2xui32>) -> tensor<4xui32>
    %9 = "stablehlo.constant"() <{value = dense<12> : tensor<ui64>}> : () -> tensor<ui64>
    %10 = "stablehlo.broadcast_in_dim"(%9) <{broadcast_dimensions = array<i64>}> : (tensor<ui64>) -> tensor<13xui64>
    %11 = "stablehlo.shift_right_logical"(%6#1, %10) : (tensor<13xui64>, tensor<13xui64>) -> tensor<13xui64>
    %12 = "stablehlo.constant"() <{value = dense<4607182418800017408> : tensor<ui64>}> : () -> tensor<ui64>
    %13 = "stablehlo.broadcast_in_dim"(%12) <{broadcast_dimensions = array<i64>}> : (tensor<ui64>) -> tensor<13xui64>
    %14 = "stablehlo.or"(%11, %13) : (tensor<13xui64>, tensor<13xui64>) -> tensor<13xui64>
    %15 = "stablehlo.bitcast_convert"(%14) : (tensor<13xui64>) -> tensor<13xf64>
    %16 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %17 = "stablehlo.broadcast_in_dim"(%16) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<13xf64>
    %18 = "stablehlo.subtract"(%15, %17) : (tensor<13xf64>, tensor<13xf64>) -> tensor<13xf64>
    %19 = "stablehlo.subtract"(%3, %2) : (tensor<1xf64>, tensor<1xf64>) -> tensor<1xf64>
    %20 = "stablehlo.broadcast_in_dim"(%19) <{broadcast_dimensions = array<i64: 0>}> : (tensor<1xf64>) -> tensor<13xf64>
    %21 = "stablehlo.multiply"(%18, %20) : (tensor<13xf64>, tensor<13xf64>) -> tensor<13xf64>
    %22 = "stablehlo.broadcast_in_dim"(%2) <{broadcast_dimensions = array<i64: 0>}> : (tensor<1xf64>) -> tensor<13xf64>
    %23 = "stablehlo.add"(%21, %22) : (tensor<13xf64>, tensor<13xf64>) -> tensor<13xf64>
    %24 = "stablehlo.broadcast_in_dim"(%2) <{broadcast_dimensions = array<i64: 0>}> : (tensor<1xf64>) -> tensor<13xf64>
    %25 = "stablehlo.maximum"(%24, %23) : (tensor<13xf64>, tensor<13xf64>) -> tensor<13xf64>
    "func.return"(%25) : (tensor<13xf64>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()

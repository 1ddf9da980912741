// RUN: %python %S/../Inputs/foreign_values.py remat-run %s %t

// From test/fuzz/stablehlo_cases.py, as JAX 0.10.2 lowers and computes it.

// tolerance 1e-09
// arg 0 f8 4x3: 0.1257302210933933 -0.1321048632913019 0.6404226504432821 0.10490011715303971 -0.535669373161111 0.36159505490948474 1.3040000451301372 0.9470809631292422 -0.7037352358069926 -1.2654214710460525 -0.6232744625373522 0.0413259793472436
// arg 1 f8 3x3: -2.3250307746388343 -0.21879166393254573 -1.2459109472530652 -0.7322673547034516 -0.5442589828573099 -0.31630015636915454 0.4116305363741328 1.0425133694426776 -0.12853466294403426
// cotangent 0 f8 3: -0.7514334470008721 0.34124882938726064 0.2943790231485002
// cotangent 1 f8 4x3: 0.2307702229625077 -0.23264489147623313 0.994419871578422 0.9616706775524602 0.3710839689613894 0.3009185525356326 0.37689346114188016 -0.22215715204179243 -0.7298069899551776 0.4429766803881634 0.050708644951451776 -0.3795162488820887
// cotangent 2 f8 4x3: -0.028329282336421846 0.7789756686980005 0.8680870319124994 -0.28440960658185954 0.14305966145952187 -0.3562612178481157 0.1886000603993936 -0.3241775489857335 -0.21676199894367754 0.7805487040095846 -0.5456848129332406 0.24637428937208483
// cotangent 3 f8 4x3: -0.8319693128352303 0.6652882953067956 0.5741966149773667 -0.5212611140140957 0.7529684616214076 -0.8828639303896113 -0.32776587890867925 -0.6994410662103219 -0.09932126670142605 0.5926485405745885 -0.5387155820125051 -0.8959573978711808
// cotangent 4 f8 4x3: -0.1908963203569436 -0.6029739109814893 -0.8184939087617562 0.16066477197370133 -0.4026077343621548 0.34398975591271874 -0.6009691120635734 0.8842262210129956 -0.2697796635103429 -0.789009440859541 0.25821630307941845 0.8543091061357349
// cotangent 5 f8 4x3: -0.11924569056843204 0.9091809873814745 -0.00020837262470596585 -0.14954275030184894 0.24042690403075562 0.9901930104706482 0.8978873498755306 -0.07990972138180785 0.5154576906165829 -0.005154609024762058 0.05862432039354082 0.571571401427615
// result 0 f8 3: -0.9991509673894914 -0.9622137642221027 -0.7802101400696732
// result 1 f8 4x3: 0.2501437311266744 -0.26268341123399525 1.1303745239228198 0.2839286958688648 0.19471155982718208 0.3458182433956611 1.5007500117073935 1.5583707443712216 -1.4645624067414647 -1.9983019347789828 -1.9244275284442054 -1.5604202801393463
// result 2 f8 4x3: 0.1257302210933933 -0.1321048632913019 0.6404226504432821 0.10490011715303971 -0.535669373161111 0.36159505490948474 1.3040000451301372 0.9470809631292422 -0.7037352358069926 -1.2654214710460525 -0.6232744625373522 0.0413259793472436
// result 3 f8 4x3: 0.12539922374655885 -0.1317209561410422 0.5975343941403991 0.10470783555779078 -0.510416765897683 0.3537665913374827 0.9646204813213871 0.8117140873521485 -0.6470700524661566 -0.953734318931522 -0.5836970553339894 0.04131421734853721
// result 4 f8 4x3: 0.2514604421867866 -0.2642097265826038 1.2808453008865641 0.20980023430607941 -1.071338746322222 0.7231901098189695 2.6080000902602745 1.8941619262584843 -1.4074704716139852 -1.2654214710460525 -0.6232744625373522 0.0413259793472436
// result 5 f8 4x3: 24 24 24 24 24 24 24 24 24 24 24 24
// gradient 0 f8 4x3: -5.753827306602455 -2.0725628709035853 1.982990254875891 1.2627917495429033 0.7016829906937442 0.1797031144615816 -0.6747906691698904 0.8767134643655032 -1.4822141880336042 0.16994779374820357 -0.6920688850709553 0.023685005030015582
// gradient 1 f8 3x3: 0.2786593674394119 0.09164304343509165 -0.14445514794396833 -0.18754480916676483 -0.08399589067334319 -0.2934505121153198 1.0591501555293705 0.3533311412903701 0.4015122394413849

"builtin.module"() <{sym_name = "jit__lambda"}> ({
  "func.func"() <{arg_attrs = [{}, {}], function_type = (tensor<4x3xf64>, tensor<3x3xf64>) -> (tensor<3xf64>, tensor<4x3xf64>, tensor<4x3xf64>, tensor<4x3xf64>, tensor<4x3xf64>, tensor<4x3xf64>), res_attrs = [{jax.result_info = "result[0]"}, {jax.result_info = "result[1]"}, {jax.result_info = "result[2]"}, {jax.result_info = "result[3]"}, {jax.result_info = "result[4]"}, {jax.result_info = "result[5]"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg26: tensor<4x3xf64>, %arg27: tensor<3x3xf64>):
    %44 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %45 = "stablehlo.broadcast_in_dim"(%44) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<3xf64>
    %46 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %47 = "stablehlo.broadcast_in_dim"(%46) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<4x3xf64>
    %48 = "stablehlo.constant"() <{value = dense<0> : tensor<i64>}> : () -> tensor<i64>
    %49:5 = "stablehlo.while"(%arg26, %arg27, %48, %45, %47) ({
    ^bb0(%arg51: tensor<4x3xf64>, %arg52: tensor<3x3xf64>, %arg53: tensor<i64>, %arg54: tensor<3xf64>, %arg55: tensor<4x3xf64>):
      %83 = "stablehlo.constant"() <{value = dense<4> : tensor<i64>}> : () -> tensor<i64>
      %84 = "stablehlo.compare"(%arg53, %83) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i64>, tensor<i64>) -> tensor<i1>
      "stablehlo.return"(%84) : (tensor<i1>) -> ()
    }, {
    ^bb0(%arg46: tensor<4x3xf64>, %arg47: tensor<3x3xf64>, %arg48: tensor<i64>, %arg49: tensor<3xf64>, %arg50: tensor<4x3xf64>):
      %78 = "func.call"(%arg46, %arg48) <{callee = @dynamic_index_in_dim}> : (tensor<4x3xf64>, tensor<i64>) -> tensor<3xf64>
      %79:2 = "func.call"(%arg47, %arg49, %78) <{callee = @closed_call}> : (tensor<3x3xf64>, tensor<3xf64>, tensor<3xf64>) -> (tensor<3xf64>, tensor<3xf64>)
      %80 = "func.call"(%arg50, %79#1, %arg48) <{callee = @dynamic_update_index_in_dim}> : (tensor<4x3xf64>, tensor<3xf64>, tensor<i64>) -> tensor<4x3xf64>
      %81 = "stablehlo.constant"() <{value = dense<1> : tensor<i64>}> : () -> tensor<i64>
      %82 = "stablehlo.add"(%arg48, %81) : (tensor<i64>, tensor<i64>) -> tensor<i64>
      "stablehlo.return"(%arg46, %arg47, %82, %79#0, %80) : (tensor<4x3xf64>, tensor<3x3xf64>, tensor<i64>, tensor<3xf64>, tensor<4x3xf64>) -> ()
    }) : (tensor<4x3xf64>, tensor<3x3xf64>, tensor<i64>, tensor<3xf64>, tensor<4x3xf64>) -> (tensor<4x3xf64>, tensor<3x3xf64>, tensor<i64>, tensor<3xf64>, tensor<4x3xf64>)
    %50 = "stablehlo.constant"() <{value = dense<1> : tensor<i64>}> : () -> tensor<i64>
    %51 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %52 = "stablehlo.broadcast_in_dim"(%51) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<4x3xf64>
    %53 = "stablehlo.constant"() <{value = dense<0> : tensor<i64>}> : () -> tensor<i64>
    %54:3 = "stablehlo.while"(%arg26, %53, %52) ({
    ^bb0(%arg43: tensor<4x3xf64>, %arg44: tensor<i64>, %arg45: tensor<4x3xf64>):
      %76 = "stablehlo.constant"() <{value = dense<4> : tensor<i64>}> : () -> tensor<i64>
      %77 = "stablehlo.compare"(%arg44, %76) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i64>, tensor<i64>) -> tensor<i1>
      "stablehlo.return"(%77) : (tensor<i1>) -> ()
    }, {
    ^bb0(%arg40: tensor<4x3xf64>, %arg41: tensor<i64>, %arg42: tensor<4x3xf64>):
      %71 = "func.call"(%arg40, %arg41) <{callee = @dynamic_index_in_dim}> : (tensor<4x3xf64>, tensor<i64>) -> tensor<3xf64>
      %72 = "func.call"(%71) <{callee = @closed_call_0}> : (tensor<3xf64>) -> tensor<3xf64>
      %73 = "func.call"(%arg42, %72, %arg41) <{callee = @dynamic_update_index_in_dim}> : (tensor<4x3xf64>, tensor<3xf64>, tensor<i64>) -> tensor<4x3xf64>
      %74 = "stablehlo.constant"() <{value = dense<1> : tensor<i64>}> : () -> tensor<i64>
      %75 = "stablehlo.add"(%arg41, %74) : (tensor<i64>, tensor<i64>) -> tensor<i64>
      "stablehlo.return"(%arg40, %75, %73) : (tensor<4x3xf64>, tensor<i64>, tensor<4x3xf64>) -> ()
    }) : (tensor<4x3xf64>, tensor<i64>, tensor<4x3xf64>) -> (tensor<4x3xf64>, tensor<i64>, tensor<4x3xf64>)
    %55 = "stablehlo.constant"() <{value = dense<0> : tensor<i64>}> : () -> tensor<i64>
    %56 = "stablehlo.constant"() <{value = dense<0> : tensor<i64>}> : () -> tensor<i64>
    %57:3 = "stablehlo.while"(%56, %55, %arg26) ({
    ^bb0(%arg37: tensor<i64>, %arg38: tensor<i64>, %arg39: tensor<4x3xf64>):
      %69 = "stablehlo.constant"() <{value = dense<3> : tensor<i64>}> : () -> tensor<i64>
      %70 = "stablehlo.compare"(%arg37, %69) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i64>, tensor<i64>) -> tensor<i1>
      "stablehlo.return"(%70) : (tensor<i1>) -> ()
    }, {
    ^bb0(%arg34: tensor<i64>, %arg35: tensor<i64>, %arg36: tensor<4x3xf64>):
      %66:2 = "func.call"(%arg35, %arg36) <{callee = @closed_call_1}> : (tensor<i64>, tensor<4x3xf64>) -> (tensor<i64>, tensor<4x3xf64>)
      %67 = "stablehlo.constant"() <{value = dense<1> : tensor<i64>}> : () -> tensor<i64>
      %68 = "stablehlo.add"(%arg34, %67) : (tensor<i64>, tensor<i64>) -> tensor<i64>
      "stablehlo.return"(%68, %66#0, %66#1) : (tensor<i64>, tensor<i64>, tensor<4x3xf64>) -> ()
    }) : (tensor<i64>, tensor<i64>, tensor<4x3xf64>) -> (tensor<i64>, tensor<i64>, tensor<4x3xf64>)
    %58 = "stablehlo.constant"() <{value = dense<0> : tensor<i64>}> : () -> tensor<i64>
    %59 = "stablehlo.constant"() <{value = dense<0> : tensor<i64>}> : () -> tensor<i64>
    %60:3 = "stablehlo.while"(%59, %58, %arg26) ({
    ^bb0(%arg31: tensor<i64>, %arg32: tensor<i64>, %arg33: tensor<4x3xf64>):
      %64 = "stablehlo.constant"() <{value = dense<3> : tensor<i64>}> : () -> tensor<i64>
      %65 = "stablehlo.compare"(%arg31, %64) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i64>, tensor<i64>) -> tensor<i1>
      "stablehlo.return"(%65) : (tensor<i1>) -> ()
    }, {
    ^bb0(%arg28: tensor<i64>, %arg29: tensor<i64>, %arg30: tensor<4x3xf64>):
      %61:2 = "func.call"(%arg29, %arg30) <{callee = @closed_call_2}> : (tensor<i64>, tensor<4x3xf64>) -> (tensor<i64>, tensor<4x3xf64>)
      %62 = "stablehlo.constant"() <{value = dense<1> : tensor<i64>}> : () -> tensor<i64>
      %63 = "stablehlo.add"(%arg28, %62) : (tensor<i64>, tensor<i64>) -> tensor<i64>
      "stablehlo.return"(%63, %61#0, %61#1) : (tensor<i64>, tensor<i64>, tensor<4x3xf64>) -> ()
    }) : (tensor<i64>, tensor<i64>, tensor<4x3xf64>) -> (tensor<i64>, tensor<i64>, tensor<4x3xf64>)
    "func.return"(%49#3, %49#4, %arg26, %54#2, %57#2, %60#2) : (tensor<3xf64>, tensor<4x3xf64>, tensor<4x3xf64>, tensor<4x3xf64>, tensor<4x3xf64>, tensor<4x3xf64>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}], function_type = (tensor<4x3xf64>, tensor<i64>) -> tensor<3xf64>, res_attrs = [{}], sym_name = "dynamic_index_in_dim", sym_visibility = "private"}> ({
  ^bb0(%arg24: tensor<4x3xf64>, %arg25: tensor<i64>):
    %41 = "stablehlo.constant"() <{value = dense<0> : tensor<i64>}> : () -> tensor<i64>
    %42 = "stablehlo.dynamic_slice"(%arg24, %arg25, %41) <{slice_sizes = array<i64: 1, 3>}> : (tensor<4x3xf64>, tensor<i64>, tensor<i64>) -> tensor<1x3xf64>
    %43 = "stablehlo.reshape"(%42) : (tensor<1x3xf64>) -> tensor<3xf64>
    "func.return"(%43) : (tensor<3xf64>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<3x3xf64>, tensor<3xf64>, tensor<3xf64>) -> (tensor<3xf64>, tensor<3xf64>), res_attrs = [{}, {}], sym_name = "closed_call", sym_visibility = "private"}> ({
  ^bb0(%arg21: tensor<3x3xf64>, %arg22: tensor<3xf64>, %arg23: tensor<3xf64>):
    %35 = "stablehlo.dot_general"(%arg22, %arg21) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<3xf64>, tensor<3x3xf64>) -> tensor<3xf64>
    %36 = "stablehlo.add"(%arg23, %35) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
    %37 = "stablehlo.tanh"(%36) : (tensor<3xf64>) -> tensor<3xf64>
    %38 = "stablehlo.constant"() <{value = dense<2.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %39 = "stablehlo.broadcast_in_dim"(%38) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<3xf64>
    %40 = "stablehlo.multiply"(%37, %39) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
    "func.return"(%37, %40) : (tensor<3xf64>, tensor<3xf64>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}, {}], function_type = (tensor<4x3xf64>, tensor<3xf64>, tensor<i64>) -> tensor<4x3xf64>, res_attrs = [{}], sym_name = "dynamic_update_index_in_dim", sym_visibility = "private"}> ({
  ^bb0(%arg18: tensor<4x3xf64>, %arg19: tensor<3xf64>, %arg20: tensor<i64>):
    %32 = "stablehlo.broadcast_in_dim"(%arg19) <{broadcast_dimensions = array<i64: 1>}> : (tensor<3xf64>) -> tensor<1x3xf64>
    %33 = "stablehlo.constant"() <{value = dense<0> : tensor<i64>}> : () -> tensor<i64>
    %34 = "stablehlo.dynamic_update_slice"(%arg18, %32, %arg20, %33) : (tensor<4x3xf64>, tensor<1x3xf64>, tensor<i64>, tensor<i64>) -> tensor<4x3xf64>
    "func.return"(%34) : (tensor<4x3xf64>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<3xf64>) -> tensor<3xf64>, res_attrs = [{}], sym_name = "closed_call_0", sym_visibility = "private"}> ({
  ^bb0(%arg17: tensor<3xf64>):
    %31 = "stablehlo.sine"(%arg17) : (tensor<3xf64>) -> tensor<3xf64>
    "func.return"(%31) : (tensor<3xf64>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<i64>, tensor<4x3xf64>) -> (tensor<i64>, tensor<4x3xf64>), res_attrs = [{}, {}], sym_name = "closed_call_1", sym_visibility = "private"}> ({
  ^bb0(%arg13: tensor<i64>, %arg14: tensor<4x3xf64>):
    %18 = "stablehlo.constant"() <{value = dense<1> : tensor<i64>}> : () -> tensor<i64>
    %19 = "stablehlo.add"(%arg13, %18) : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %20 = "stablehlo.constant"() <{value = dense<0> : tensor<i64>}> : () -> tensor<i64>
    %21 = "stablehlo.compare"(%arg13, %20) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %22 = "stablehlo.constant"() <{value = dense<4> : tensor<i64>}> : () -> tensor<i64>
    %23 = "stablehlo.add"(%arg13, %22) : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %24 = "stablehlo.select"(%21, %23, %arg13) : (tensor<i1>, tensor<i64>, tensor<i64>) -> tensor<i64>
    %25 = "stablehlo.convert"(%24) : (tensor<i64>) -> tensor<i32>
    %26 = "stablehlo.broadcast_in_dim"(%25) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<1xi32>
    %27 = "stablehlo.constant"() <{value = dense<2.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %28 = "stablehlo.broadcast_in_dim"(%27) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<3xf64>
    %29 = "stablehlo.scatter"(%arg14, %26, %28) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0]>, unique_indices = true}> ({
    ^bb0(%arg15: tensor<f64>, %arg16: tensor<f64>):
      %30 = "stablehlo.multiply"(%arg15, %arg16) : (tensor<f64>, tensor<f64>) -> tensor<f64>
      "stablehlo.return"(%30) : (tensor<f64>) -> ()
    }) : (tensor<4x3xf64>, tensor<1xi32>, tensor<3xf64>) -> tensor<4x3xf64>
    "func.return"(%19, %29) : (tensor<i64>, tensor<4x3xf64>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<i64>, tensor<4x3xf64>) -> (tensor<i64>, tensor<4x3xf64>), res_attrs = [{}, {}], sym_name = "closed_call_2", sym_visibility = "private"}> ({
  ^bb0(%arg3: tensor<i64>, %arg4: tensor<4x3xf64>):
    %8 = "stablehlo.constant"() <{value = dense<1> : tensor<i64>}> : () -> tensor<i64>
    %9 = "stablehlo.add"(%arg3, %8) : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %10 = "stablehlo.constant"() <{value = dense<1> : tensor<i64>}> : () -> tensor<i64>
    %11 = "stablehlo.constant"() <{value = dense<0> : tensor<i64>}> : () -> tensor<i64>
    %12:4 = "stablehlo.while"(%arg3, %11, %10, %arg4) ({
    ^bb0(%arg9: tensor<i64>, %arg10: tensor<i64>, %arg11: tensor<i64>, %arg12: tensor<4x3xf64>):
      %16 = "stablehlo.constant"() <{value = dense<2> : tensor<i64>}> : () -> tensor<i64>
      %17 = "stablehlo.compare"(%arg10, %16) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i64>, tensor<i64>) -> tensor<i1>
      "stablehlo.return"(%17) : (tensor<i1>) -> ()
    }, {
    ^bb0(%arg5: tensor<i64>, %arg6: tensor<i64>, %arg7: tensor<i64>, %arg8: tensor<4x3xf64>):
      %13:2 = "func.call"(%arg5, %arg7, %arg8) <{callee = @closed_call_3}> : (tensor<i64>, tensor<i64>, tensor<4x3xf64>) -> (tensor<i64>, tensor<4x3xf64>)
      %14 = "stablehlo.constant"() <{value = dense<1> : tensor<i64>}> : () -> tensor<i64>
      %15 = "stablehlo.add"(%arg6, %14) : (tensor<i64>, tensor<i64>) -> tensor<i64>
      "stablehlo.return"(%arg5, %15, %13#0, %13#1) : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<4x3xf64>) -> ()
    }) : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<4x3xf64>) -> (tensor<i64>, tensor<i64>, tensor<i64>, tensor<4x3xf64>)
    "func.return"(%9, %12#3) : (tensor<i64>, tensor<4x3xf64>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<i64>, tensor<i64>, tensor<4x3xf64>) -> (tensor<i64>, tensor<4x3xf64>), res_attrs = [{}, {}], sym_name = "closed_call_3", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<i64>, %arg1: tensor<i64>, %arg2: tensor<4x3xf64>):
    %0 = "stablehlo.constant"() <{value = dense<1> : tensor<i64>}> : () -> tensor<i64>
    %1 = "stablehlo.add"(%arg1, %0) : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %2 = "stablehlo.convert"(%arg0) : (tensor<i64>) -> tensor<f64>
    %3 = "stablehlo.broadcast_in_dim"(%2) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<4x3xf64>
    %4 = "stablehlo.multiply"(%arg2, %3) : (tensor<4x3xf64>, tensor<4x3xf64>) -> tensor<4x3xf64>
    %5 = "stablehlo.convert"(%arg1) : (tensor<i64>) -> tensor<f64>
    %6 = "stablehlo.broadcast_in_dim"(%5) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<4x3xf64>
    %7 = "stablehlo.add"(%4, %6) : (tensor<4x3xf64>, tensor<4x3xf64>) -> tensor<4x3xf64>
    "func.return"(%1, %7) : (tensor<i64>, tensor<4x3xf64>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()

// RUN: %python %S/../Inputs/foreign_values.py remat-run %s %t

// From test/fuzz/stablehlo_cases.py, as JAX 0.10.2 lowers and computes it.

// tolerance 1e-09
// arg 0 c16 4x3: 0.2514604421867866 -4.650061549277669 -0.2642097265826038 -0.43758332786509146 1.2808453008865641 -2.4918218945061303 0.20980023430607941 -1.4645347094069032 -1.071338746322222 -1.0885179657146198 0.7231901098189695 -0.6326003127383091 2.6080000902602745 0.8232610727482657 1.8941619262584843 2.085026738885355 -1.4074704716139852 -0.2570693258880685 -2.530842942092105 2.7329269410993717 -1.2465489250747044 -1.330389346973227 0.0826519586944872 0.7030201401860394
// cotangent 0 f8 4x3: 0.2307702229625077 -0.23264489147623313 0.994419871578422 0.9616706775524602 0.3710839689613894 0.3009185525356326 0.37689346114188016 -0.22215715204179243 -0.7298069899551776 0.4429766803881634 0.050708644951451776 -0.3795162488820887
// cotangent 1 f8 4x3: -0.028329282336421846 0.7789756686980005 0.8680870319124994 -0.28440960658185954 0.14305966145952187 -0.3562612178481157 0.1886000603993936 -0.3241775489857335 -0.21676199894367754 0.7805487040095846 -0.5456848129332406 0.24637428937208483
// cotangent 2 f8 4x3: -0.8319693128352303 0.6652882953067956 0.5741966149773667 -0.5212611140140957 0.7529684616214076 -0.8828639303896113 -0.32776587890867925 -0.6994410662103219 -0.09932126670142605 0.5926485405745885 -0.5387155820125051 -0.8959573978711808
// cotangent 3 f8 4x3: -0.1908963203569436 -0.6029739109814893 -0.8184939087617562 0.16066477197370133 -0.4026077343621548 0.34398975591271874 -0.6009691120635734 0.8842262210129956 -0.2697796635103429 -0.789009440859541 0.25821630307941845 0.8543091061357349
// cotangent 4 f8 4x3: -0.11924569056843204 0.9091809873814745 -0.00020837262470596585 -0.14954275030184894 0.24042690403075562 0.9901930104706482 0.8978873498755306 -0.07990972138180785 0.5154576906165829 -0.005154609024762058 0.05862432039354082 0.571571401427615
// cotangent 5 f8 4x3: -0.17068830128865842 0.4689671435774587 0.4222857559794997 0.8641193732267565 -0.7701347334381896 0.4580302341526188 0.8548478572491198 0.9358523798492928 -0.9705873900692614 0.7272801804911515 0.9623900801326886 0.9144203592219271
// cotangent 6 f8 4x3: -0.7024719755350042 0.9452576276459099 0.7798711114410413 0.6447476550861408 -0.040024152384335654 -0.5352541607213923 0.6037611574366157 0.8470603195669391 -0.46773945541541484 0.07786881524437383 -0.114494342050937 0.86203463196231
// cotangent 7 f8 4x3: -0.9189785776231307 0.46401239131312155 0.22874649389799329 -0.9432692697729579 0.43843954565348064 -0.968016540952856 0.5159020047128562 0.025517446524156107 0.8582084415940123 -0.8678350065518505 0.6826345592247665 -0.8666199824657972
// result 0 f8 4x3: 6.003491006207662 2.6877111147390793 4.60512623934407 3.814178374950207 4.514049301895966 2.381834920845833 -3.015996317119404 -2.602172843738298 4.730117891067263 -1.7200812735590332 4.86397066103425 0.19026960862230746
// result 1 f8 4x3: 2.0939081191459485 2.757803765225294 2.572344465767712 2.6059629959166957 2.494189241300665 2.836525192601892 3.287648437318209 3.4771831053012967 2.648250567514928 3.4455404478997993 2.4093775902152292 3.0549428946022803
// result 2 f8 4x3: -4.432694679412766 -1.116914787944183 -3.034329912549173 -2.2433820481553104 -2.9432529751010685 -0.8110385940509366 4.5867926439143005 4.172969170533195 -3.159321564272367 3.2908776003539297 -3.293174334239353 1.3805267181725893
// result 3 f8 4x3: -0.8111419270982934 -1.1543835644168703 -0.431813141973995 -1.8052878366033371 -2.510256627241876 -0.26332405304715867 2.302076436055661 3.3308387070038155 -1.4480210558960152 -0.395762079316722 -2.7835664018356754 1.6614845454008333
// result 4 f8 4x3: 1.1230984672782425 -1.165845985662101 0.7544370364642667 -0.17836695262195978 -1.8445416132059744 -0.030173557860298073 1.4285779801172658 1.8266611181429648 -1.1338135517249168 -0.9979926883942237 -1.8780630399116558 1.8703362912417527
// result 5 f8 4x3: -2.708003036036907 -1.0929576164050383 -2.363612952783545 -1.890194454544492 -2.501672698063424 -1.021301693835781 3.2513155700100866 2.8264916918566816 -3.49239659286634 2.5628742084859857 -2.6173714542009123 1.2850949414709933
// result 6 f8 4x3: 0.4429841902986784 1.1641103924195653 -3.553419535709387 -0.3118967674867819 3.0392519656075523 0.09506627558569958 14.53748388739044 3.9846382956492103 3.0705596950628817 -10.762406919642093 3.5473748299625694 0.8724951359061863
// result 7 f8 4x3: 2.043731045928263 -1.119366191820347 -3.6683700686706455 -2.010232353498784 -3.487335021403908 -0.8699909610446876 14.59546407074987 4.320611851163477 -2.95830107196637 10.752626561480518 -4.037377252957067 1.3605949241536788
// gradient 0 c16 4x3: -2.1351814815776127 0.6694504472970167 1.1454094571335791 4.107486210142847 -4.2840981010423524 -1.7485331813397675 -1.2462747849902178 -0.7278868408459214 1.2132798818214658 0.08573047006907863 1.7731958507742605 -4.107882208912147 15.678771769479585 4.360444089624748 3.4615782121907874 -4.993557297606706 4.870005453728274 6.298628324792475 9.623208232894742 8.86763312440657 2.6866206557630283 -0.7658279143835636 2.179276374234155 3.506148172533208

"builtin.module"() <{sym_name = "jit__lambda"}> ({
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<4x3xcomplex<f64>>) -> (tensor<4x3xf64>, tensor<4x3xf64>, tensor<4x3xf64>, tensor<4x3xf64>, tensor<4x3xf64>, tensor<4x3xf64>, tensor<4x3xf64>, tensor<4x3xf64>), res_attrs = [{jax.result_info = "result[0]"}, {jax.result_info = "result[1]"}, {jax.result_info = "result[2]"}, {jax.result_info = "result[3]"}, {jax.result_info = "result[4]"}, {jax.result_info = "result[5]"}, {jax.result_info = "result[6]"}, {jax.result_info = "result[7]"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<4x3xcomplex<f64>>):
    %0 = "chlo.acos"(%arg0) : (tensor<4x3xcomplex<f64>>) -> tensor<4x3xcomplex<f64>>
    %1 = "stablehlo.real"(%0) : (tensor<4x3xcomplex<f64>>) -> tensor<4x3xf64>
    %2 = "chlo.acos"(%arg0) : (tensor<4x3xcomplex<f64>>) -> tensor<4x3xcomplex<f64>>
    %3 = "stablehlo.imag"(%2) : (tensor<4x3xcomplex<f64>>) -> tensor<4x3xf64>
    %4 = "stablehlo.constant"() <{value = dense<2.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %5 = "stablehlo.broadcast_in_dim"(%4) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<4x3xf64>
    %6 = "stablehlo.multiply"(%5, %3) : (tensor<4x3xf64>, tensor<4x3xf64>) -> tensor<4x3xf64>
    %7 = "stablehlo.add"(%1, %6) : (tensor<4x3xf64>, tensor<4x3xf64>) -> tensor<4x3xf64>
    %8 = "stablehlo.constant"() <{value = dense<(9.000000e+00,0.000000e+00)> : tensor<complex<f64>>}> : () -> tensor<complex<f64>>
    %9 = "stablehlo.broadcast_in_dim"(%8) <{broadcast_dimensions = array<i64>}> : (tensor<complex<f64>>) -> tensor<4x3xcomplex<f64>>
    %10 = "stablehlo.add"(%arg0, %9) : (tensor<4x3xcomplex<f64>>, tensor<4x3xcomplex<f64>>) -> tensor<4x3xcomplex<f64>>
    %11 = "chlo.acosh"(%10) : (tensor<4x3xcomplex<f64>>) -> tensor<4x3xcomplex<f64>>
    %12 = "stablehlo.real"(%11) : (tensor<4x3xcomplex<f64>>) -> tensor<4x3xf64>
    %13 = "stablehlo.constant"() <{value = dense<(9.000000e+00,0.000000e+00)> : tensor<complex<f64>>}> : () -> tensor<complex<f64>>
    %14 = "stablehlo.broadcast_in_dim"(%13) <{broadcast_dimensions = array<i64>}> : (tensor<complex<f64>>) -> tensor<4x3xcomplex<f64>>
    %15 = "stablehlo.add"(%arg0, %14) : (tensor<4x3xcomplex<f64>>, tensor<4x3xcomplex<f64>>) -> tensor<4x3xcomplex<f64>>
    %16 = "chlo.acosh"(%15) : (tensor<4x3xcomplex<f64>>) -> tensor<4x3xcomplex<f64>>
    %17 = "stablehlo.imag"(%16) : (tensor<4x3xcomplex<f64>>) -> tensor<4x3xf64>
    %18 = "stablehlo.constant"() <{value = dense<2.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %19 = "stablehlo.broadcast_in_dim"(%18) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<4x3xf64>
    %20 = "stablehlo.multiply"(%19, %17) : (tensor<4x3xf64>, tensor<4x3xf64>) -> tensor<4x3xf64>
    %21 = "stablehlo.add"(%12, %20) : (tensor<4x3xf64>, tensor<4x3xf64>) -> tensor<4x3xf64>
    %22 = "chlo.asin"(%arg0) : (tensor<4x3xcomplex<f64>>) -> tensor<4x3xcomplex<f64>>
    %23 = "stablehlo.real"(%22) : (tensor<4x3xcomplex<f64>>) -> tensor<4x3xf64>
    %24 = "chlo.asin"(%arg0) : (tensor<4x3xcomplex<f64>>) -> tensor<4x3xcomplex<f64>>
    %25 = "stablehlo.imag"(%24) : (tensor<4x3xcomplex<f64>>) -> tensor<4x3xf64>
    %26 = "stablehlo.constant"() <{value = dense<2.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %27 = "stablehlo.broadcast_in_dim"(%26) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<4x3xf64>
    %28 = "stablehlo.multiply"(%27, %25) : (tensor<4x3xf64>, tensor<4x3xf64>) -> tensor<4x3xf64>
    %29 = "stablehlo.add"(%23, %28) : (tensor<4x3xf64>, tensor<4x3xf64>) -> tensor<4x3xf64>
    %30 = "chlo.asinh"(%arg0) : (tensor<4x3xcomplex<f64>>) -> tensor<4x3xcomplex<f64>>
    %31 = "stablehlo.real"(%30) : (tensor<4x3xcomplex<f64>>) -> tensor<4x3xf64>
    %32 = "chlo.asinh"(%arg0) : (tensor<4x3xcomplex<f64>>) -> tensor<4x3xcomplex<f64>>
    %33 = "stablehlo.imag"(%32) : (tensor<4x3xcomplex<f64>>) -> tensor<4x3xf64>
    %34 = "stablehlo.constant"() <{value = dense<2.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %35 = "stablehlo.broadcast_in_dim"(%34) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<4x3xf64>
    %36 = "stablehlo.multiply"(%35, %33) : (tensor<4x3xf64>, tensor<4x3xf64>) -> tensor<4x3xf64>
    %37 = "stablehlo.add"(%31, %36) : (tensor<4x3xf64>, tensor<4x3xf64>) -> tensor<4x3xf64>
    %38 = "chlo.atan"(%arg0) : (tensor<4x3xcomplex<f64>>) -> tensor<4x3xcomplex<f64>>
    %39 = "stablehlo.real"(%38) : (tensor<4x3xcomplex<f64>>) -> tensor<4x3xf64>
    %40 = "chlo.atan"(%arg0) : (tensor<4x3xcomplex<f64>>) -> tensor<4x3xcomplex<f64>>
    %41 = "stablehlo.imag"(%40) : (tensor<4x3xcomplex<f64>>) -> tensor<4x3xf64>
    %42 = "stablehlo.constant"() <{value = dense<2.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %43 = "stablehlo.broadcast_in_dim"(%42) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<4x3xf64>
    %44 = "stablehlo.multiply"(%43, %41) : (tensor<4x3xf64>, tensor<4x3xf64>) -> tensor<4x3xf64>
    %45 = "stablehlo.add"(%39, %44) : (tensor<4x3xf64>, tensor<4x3xf64>) -> tensor<4x3xf64>
    %46 = "chlo.atanh"(%arg0) : (tensor<4x3xcomplex<f64>>) -> tensor<4x3xcomplex<f64>>
    %47 = "stablehlo.real"(%46) : (tensor<4x3xcomplex<f64>>) -> tensor<4x3xf64>
    %48 = "chlo.atanh"(%arg0) : (tensor<4x3xcomplex<f64>>) -> tensor<4x3xcomplex<f64>>
    %49 = "stablehlo.imag"(%48) : (tensor<4x3xcomplex<f64>>) -> tensor<4x3xf64>
    %50 = "stablehlo.constant"() <{value = dense<2.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %51 = "stablehlo.broadcast_in_dim"(%50) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<4x3xf64>
    %52 = "stablehlo.multiply"(%51, %49) : (tensor<4x3xf64>, tensor<4x3xf64>) -> tensor<4x3xf64>
    %53 = "stablehlo.add"(%47, %52) : (tensor<4x3xf64>, tensor<4x3xf64>) -> tensor<4x3xf64>
    %54 = "chlo.cosh"(%arg0) : (tensor<4x3xcomplex<f64>>) -> tensor<4x3xcomplex<f64>>
    %55 = "stablehlo.real"(%54) : (tensor<4x3xcomplex<f64>>) -> tensor<4x3xf64>
    %56 = "chlo.cosh"(%arg0) : (tensor<4x3xcomplex<f64>>) -> tensor<4x3xcomplex<f64>>
    %57 = "stablehlo.imag"(%56) : (tensor<4x3xcomplex<f64>>) -> tensor<4x3xf64>
    %58 = "stablehlo.constant"() <{value = dense<2.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %59 = "stablehlo.broadcast_in_dim"(%58) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<4x3xf64>
    %60 = "stablehlo.multiply"(%59, %57) : (tensor<4x3xf64>, tensor<4x3xf64>) -> tensor<4x3xf64>
    %61 = "stablehlo.add"(%55, %60) : (tensor<4x3xf64>, tensor<4x3xf64>) -> tensor<4x3xf64>
    %62 = "chlo.sinh"(%arg0) : (tensor<4x3xcomplex<f64>>) -> tensor<4x3xcomplex<f64>>
    %63 = "stablehlo.real"(%62) : (tensor<4x3xcomplex<f64>>) -> tensor<4x3xf64>
    %64 = "chlo.sinh"(%arg0) : (tensor<4x3xcomplex<f64>>) -> tensor<4x3xcomplex<f64>>
    %65 = "stablehlo.imag"(%64) : (tensor<4x3xcomplex<f64>>) -> tensor<4x3xf64>
    %66 = "stablehlo.constant"() <{value = dense<2.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %67 = "stablehlo.broadcast_in_dim"(%66) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<4x3xf64>
    %68 = "stablehlo.multiply"(%67, %65) : (tensor<4x3xf64>, tensor<4x3xf64>) -> tensor<4x3xf64>
    %69 = "stablehlo.add"(%63, %68) : (tensor<4x3xf64>, tensor<4x3xf64>) -> tensor<4x3xf64>
    "func.return"(%7, %21, %29, %37, %45, %53, %61, %69) : (tensor<4x3xf64>, tensor<4x3xf64>, tensor<4x3xf64>, tensor<4x3xf64>, tensor<4x3xf64>, tensor<4x3xf64>, tensor<4x3xf64>, tensor<4x3xf64>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()

// RUN: %python %S/../Inputs/foreign_values.py remat-run %s %t

// From test/fuzz/stablehlo_cases.py, as JAX 0.10.2 lowers and computes it.

// tolerance 1e-09
// arg 0 f8 5x3: 0.1257302210933933 -0.1321048632913019 0.6404226504432821 0.10490011715303971 -0.535669373161111 0.36159505490948474 1.3040000451301372 0.9470809631292422 -0.7037352358069926 -1.2654214710460525 -0.6232744625373522 0.0413259793472436 -2.3250307746388343 -0.21879166393254573 -1.2459109472530652
// arg 1 f8 6x3: -0.7322673547034516 -0.5442589828573099 -0.31630015636915454 0.4116305363741328 1.0425133694426776 -0.12853466294403426 1.3664634705496859 -0.6651946734866135 0.3515100700930197 0.9034701816518086 0.09401229776087457 -0.7434992493538084 -0.9217253762584194 -0.45772582566733916 0.2201951234700494 -1.009618183538736 -0.20917557487171307 -0.15922500991447772
// arg 2 i4 6: 1 3 5 0 -2 -3
// arg 3 i4 4: 3 4 2 1
// cotangent 0 f8 5x3: -0.28440960658185954 0.14305966145952187 -0.3562612178481157 0.1886000603993936 -0.3241775489857335 -0.21676199894367754 0.7805487040095846 -0.5456848129332406 0.24637428937208483 -0.8319693128352303 0.6652882953067956 0.5741966149773667 -0.5212611140140957 0.7529684616214076 -0.8828639303896113
// cotangent 1 f8 5x3: -0.32776587890867925 -0.6994410662103219 -0.09932126670142605 0.5926485405745885 -0.5387155820125051 -0.8959573978711808 -0.1908963203569436 -0.6029739109814893 -0.8184939087617562 0.16066477197370133 -0.4026077343621548 0.34398975591271874 -0.6009691120635734 0.8842262210129956 -0.2697796635103429
// cotangent 2 f8 5x3: -0.789009440859541 0.25821630307941845 0.8543091061357349 -0.11924569056843204 0.9091809873814745 -0.00020837262470596585 -0.14954275030184894 0.24042690403075562 0.9901930104706482 0.8978873498755306 -0.07990972138180785 0.5154576906165829 -0.005154609024762058 0.05862432039354082 0.571571401427615
// cotangent 3 f8 5x3: -0.17068830128865842 0.4689671435774587 0.4222857559794997 0.8641193732267565 -0.7701347334381896 0.4580302341526188 0.8548478572491198 0.9358523798492928 -0.9705873900692614 0.7272801804911515 0.9623900801326886 0.9144203592219271 -0.7024719755350042 0.9452576276459099 0.7798711114410413
// cotangent 4 f8 5x3: 0.6447476550861408 -0.040024152384335654 -0.5352541607213923 0.6037611574366157 0.8470603195669391 -0.46773945541541484 0.07786881524437383 -0.114494342050937 0.86203463196231 -0.9189785776231307 0.46401239131312155 0.22874649389799329 -0.9432692697729579 0.43843954565348064 -0.968016540952856
// cotangent 5 f8 5x3: 0.5159020047128562 0.025517446524156107 0.8582084415940123 -0.8678350065518505 0.6826345592247665 -0.8666199824657972 -0.31138004239174966 -0.1394025361043334 0.9321241615681404 0.12446368445691403 -0.4822708136581355 -0.5166485718113101 0.7762366413183597 -0.5482611431653512 -0.750890588329433
// cotangent 6 f8 5x3: -0.4233384859848448 0.1722461296254656 0.10818100434653566 0.6194215518255555 0.12095190401237166 -0.423157571137579 -0.1742073146382146 0.6362419419418208 0.253012924839507 0.9181552853948844 -0.26119117781663825 0.10522302104257442 0.18784840322633656 0.69658241655012 -0.7090529236269365
// cotangent 7 f8 5x3: -0.1869793265037467 0.8199179233245939 -0.9138662228635916 0.6454125603630039 -0.1692319252575507 0.6596079705562055 -0.9800908783854161 -0.2699076844834587 -0.8427399256687202 0.3052291526732769 -0.4523018028008856 0.4053041413195726 0.8876028538841816 -0.7463657954775045 0.7295565908015482
// cotangent 8 f8 5x3: -0.8810716967993231 -0.23845898337822113 -0.14045187764284672 -0.02230090633307147 0.9529246438720891 0.5513823762036567 -0.382285274561478 -0.4603264289983997 0.7262404083786356 0.7626143454753798 0.021413011087290545 -0.3114085380753495 0.9898346963218356 -0.3681129092645996 -0.6345752421468751
// cotangent 9 f8 5x3: 0.7601962426081394 0.624670796222508 0.33577881114270247 0.9168272635559038 0.8514291544288375 0.49649700660350815 0.7214028190953554 -0.505706519355785 -0.7175068861979368 0.3401236986298719 0.42923707330950545 -0.6658941424354556 -0.20888545379024803 0.8205115324321095 0.12280153510044589
// cotangent 10 f8 4x3: 0.15667182985254535 -0.6117404542184128 0.05204449723575033 0.04686945478983984 -0.822128719507456 0.9638853862534125 0.14279120091154884 -0.9871822346713797 0.5452984024507772 0.9565314276802914 0.17974005664190096 -0.36063672743467
// cotangent 11 f8 3x3: -0.6249845685444302 0.3450532678337386 -0.60978520308639 0.15537578503571847 0.20447835275925152 0.924846186248762 -0.8554694689402464 -5.4352682762992544e-05 0.4881949585652965
// cotangent 12 f8 5x3: -0.6455465190506824 -0.22386653643096155 -0.8742090030900573 0.4517617275515535 -0.8244642264810265 -0.20981658328406483 0.7470452622414643 -0.05539932649997703 0.8252438672817712 0.5318342354777448 0.8306479202235317 -0.7451939819021873 -0.8528741893387359 -0.8593474928615639 0.7377085886946386
// cotangent 13 f8 5x3: 0.2681399586948865 -0.00685661240229396 -0.6729131676070395 0.34746687545454735 -0.36396522430840395 0.42175972653188976 -0.07928934226535045 0.01493972108905428 0.5793314649197407 -0.8145090489532385 0.15751700664700508 -0.6055301054082629 0.6162735036271363 -0.02230792774148016 0.9773906667356393
// result 0 f8 5x3: 1.029200402745202 -0.03809256553042732 -0.10307659891052634 -0.6273672375504119 -1.0799283560184207 0.0452948985403302 0.29438186159140134 0.737905388257529 -0.8629602457214703 -1.7755163109303391 -0.038486918762013766 0.13298643987325875 -2.3250307746388343 -0.21879166393254573 -1.2459109472530652
// result 1 f8 5x3: 0.9034701816518086 0.09401229776087457 -0.7434992493538084 -0.7322673547034516 -0.5442589828573099 -0.31630015636915454 -1.009618183538736 -0.20917557487171307 -0.15922500991447772 -0.9217253762584194 -0.45772582566733916 0.2201951234700494 -2.3250307746388343 -0.21879166393254573 -1.2459109472530652
// result 2 f8 5x3: 0.9034701816518086 0.09401229776087457 0.6404226504432821 0.10490011715303971 -0.535669373161111 0.36159505490948474 1.3040000451301372 0.9470809631292422 -0.15922500991447772 0.4116305363741328 1.0425133694426776 0.2201951234700494 -2.3250307746388343 -0.21879166393254573 -1.2459109472530652
// result 3 f8 5x3: 0.1257302210933933 -0.1321048632913019 -0.7434992493538084 -0.7322673547034516 -0.5442589828573099 -0.31630015636915454 -1.009618183538736 -0.20917557487171307 -0.7037352358069926 -1.2654214710460525 -0.6232744625373522 -0.12853466294403426 -2.3250307746388343 -0.21879166393254573 -1.2459109472530652
// result 4 f8 5x3: 0.1257302210933933 -0.1321048632913019 0.6404226504432821 0.09477412789955279 -0.0503595086110034 -0.26884565189525106 1.7818684272654743 -0.6299932120341437 -0.24737002206544373 0.9266268331878432 0.3392227250215158 -0.013071413729641601 -0.9570536648509489 -0.2280932347722882 0.16014274366345518
// result 5 f8 5x3: 0.1257302210933933 -0.1321048632913019 0.6404226504432821 0.9034701816518086 0.09401229776087457 -0.7434992493538084 1.3664634705496859 -0.6651946734866135 0.3515100700930197 -0.7322673547034516 -0.5442589828573099 -0.31630015636915454 0.4116305363741328 1.0425133694426776 -0.12853466294403426
// result 6 f8 5x3: 1.029200402745202 -0.1321048632913019 0.6404226504432821 0.10490011715303971 -1.2679367278645626 0.36159505490948474 0.29438186159140134 0.9470809631292422 -0.7037352358069926 -0.8537909346719197 -1.5449998387957717 0.0413259793472436 -2.3250307746388343 -0.21879166393254573 -1.2459109472530652
// result 7 f8 5x3: 0.1257302210933933 -0.7322673547034516 0.6404226504432821 0.10490011715303971 0.4116305363741328 0.36159505490948474 1.3040000451301372 1.3664634705496859 -0.7037352358069926 -1.2654214710460525 0.9034701816518086 0.0413259793472436 -2.3250307746388343 -0.9217253762584194 -1.2459109472530652
// result 8 f8 5x3: 0.09401229776087457 -0.1321048632913019 0.6404226504432821 -0.5442589828573099 -0.535669373161111 0.36159505490948474 -0.20917557487171307 0.9470809631292422 -0.7037352358069926 -0.45772582566733916 -0.6232744625373522 0.0413259793472436 -2.3250307746388343 -0.21879166393254573 -1.2459109472530652
// result 9 f8 5x3: 0.1257302210933933 -0.1321048632913019 0.6404226504432821 0.026873554112471724 -0.173130977387767 0.1602459271533303 0.2986398612802271 0.40563594419391613 -0.20997556954601684 -0.5580117540181088 -0.2538030102467996 0.015398882794333898 -0.6815013378060181 -0.054122681593681284 -0.43389377931006584
// result 10 f8 4x3: 0.9034701816518086 0.09401229776087457 -0.7434992493538084 -0.7322673547034516 -0.5442589828573099 -0.31630015636915454 0 0 0 0.4116305363741328 1.0425133694426776 -0.12853466294403426
// result 11 f8 3x3: 0.9034701816518086 1.0425133694426776 -0.12853466294403426 -0.7322673547034516 -0.5442589828573099 -0.31630015636915454 1.3664634705496859 -0.45772582566733916 0.3515100700930197
// result 12 f8 5x3: 0.1257302210933933 -0.1321048632913019 0.6404226504432821 -0.6273672375504119 -0.535669373161111 -0.18266392794782516 1.71563058150427 0.9470809631292422 0.338778133635685 -1.2654214710460525 -0.6232744625373522 0.0413259793472436 -2.3250307746388343 -0.21879166393254573 -1.2459109472530652
// result 13 f8 5x3: 0.1257302210933933 -0.8643722179947535 0.6404226504432821 0.10490011715303971 -0.535669373161111 0.36159505490948474 1.3040000451301372 0.9470809631292422 -0.7037352358069926 -0.3619512893942439 -0.6232744625373522 0.0413259793472436 -2.3250307746388343 -1.1405170401909652 -1.2459109472530652
// gradient 0 f8 5x3: 0.4780236216922311 0.925254892813298 -1.3364782865540579 2.9137722119432925 0.82527071499506 1.3505991030286226 0.4160830126510948 -0.3102357006347738 0.9058048352383528 1.6589425420421267 2.298311450130093 -0.8978868166978875 -0.4506774329822032 2.747940447031975 1.4670164354329478
// gradient 1 f8 6x3: 4.604439920492599 -3.2099115763765007 0.7306678651237728 5.446058217188137 1.3022130202000137 0.9919228299801159 -1.3845558748043567 -0.15997934176323847 0.7687224272000172 -4.370459317173983 -1.5144437267149604 -1.0522633386000597 -1.701169441897152 1.0252405537372575 1.4336440615066683 1.2702929262635463 -0.5950916186269151 0.41807339108097685

"builtin.module"() <{sym_name = "jit__lambda"}> ({
  "func.func"() <{arg_attrs = [{}, {}, {}, {}], function_type = (tensor<5x3xf64>, tensor<6x3xf64>, tensor<6xi32>, tensor<4xi32>) -> (tensor<5x3xf64>, tensor<5x3xf64>, tensor<5x3xf64>, tensor<5x3xf64>, tensor<5x3xf64>, tensor<5x3xf64>, tensor<5x3xf64>, tensor<5x3xf64>, tensor<5x3xf64>, tensor<5x3xf64>, tensor<4x3xf64>, tensor<3x3xf64>, tensor<5x3xf64>, tensor<5x3xf64>), res_attrs = [{jax.result_info = "result[0]"}, {jax.result_info = "result[1]"}, {jax.result_info = "result[2]"}, {jax.result_info = "result[3]"}, {jax.result_info = "result[4]"}, {jax.result_info = "result[5]"}, {jax.result_info = "result[6]"}, {jax.result_info = "result[7]"}, {jax.result_info = "result[8]"}, {jax.result_info = "result[9]"}, {jax.result_info = "result[10]"}, {jax.result_info = "result[11]"}, {jax.result_info = "result[12]"}, {jax.result_info = "result[13]"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg5: tensor<5x3xf64>, %arg6: tensor<6x3xf64>, %arg7: tensor<6xi32>, %arg8: tensor<4xi32>):
    %22 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %23 = "stablehlo.broadcast_in_dim"(%22) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<6xi32>
    %24 = "stablehlo.compare"(%arg7, %23) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi1>
    %25 = "stablehlo.constant"() <{value = dense<5> : tensor<i32>}> : () -> tensor<i32>
    %26 = "stablehlo.broadcast_in_dim"(%25) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<6xi32>
    %27 = "stablehlo.add"(%arg7, %26) : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi32>
    %28 = "stablehlo.select"(%24, %27, %arg7) : (tensor<6xi1>, tensor<6xi32>, tensor<6xi32>) -> tensor<6xi32>
    %29 = "stablehlo.broadcast_in_dim"(%28) <{broadcast_dimensions = array<i64: 0>}> : (tensor<6xi32>) -> tensor<6x1xi32>
    %30 = "stablehlo.scatter"(%arg5, %29, %arg6) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%arg35: tensor<f64>, %arg36: tensor<f64>):
      %182 = "stablehlo.add"(%arg35, %arg36) : (tensor<f64>, tensor<f64>) -> tensor<f64>
      "stablehlo.return"(%182) : (tensor<f64>) -> ()
    }) : (tensor<5x3xf64>, tensor<6x1xi32>, tensor<6x3xf64>) -> tensor<5x3xf64>
    %31 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %32 = "stablehlo.broadcast_in_dim"(%31) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<6xi32>
    %33 = "stablehlo.compare"(%arg7, %32) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi1>
    %34 = "stablehlo.constant"() <{value = dense<5> : tensor<i32>}> : () -> tensor<i32>
    %35 = "stablehlo.broadcast_in_dim"(%34) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<6xi32>
    %36 = "stablehlo.add"(%arg7, %35) : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi32>
    %37 = "stablehlo.select"(%33, %36, %arg7) : (tensor<6xi1>, tensor<6xi32>, tensor<6xi32>) -> tensor<6xi32>
    %38 = "stablehlo.broadcast_in_dim"(%37) <{broadcast_dimensions = array<i64: 0>}> : (tensor<6xi32>) -> tensor<6x1xi32>
    %39 = "stablehlo.scatter"(%arg5, %38, %arg6) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%arg33: tensor<f64>, %arg34: tensor<f64>):
      "stablehlo.return"(%arg34) : (tensor<f64>) -> ()
    }) : (tensor<5x3xf64>, tensor<6x1xi32>, tensor<6x3xf64>) -> tensor<5x3xf64>
    %40 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %41 = "stablehlo.broadcast_in_dim"(%40) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<6xi32>
    %42 = "stablehlo.compare"(%arg7, %41) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi1>
    %43 = "stablehlo.constant"() <{value = dense<5> : tensor<i32>}> : () -> tensor<i32>
    %44 = "stablehlo.broadcast_in_dim"(%43) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<6xi32>
    %45 = "stablehlo.add"(%arg7, %44) : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi32>
    %46 = "stablehlo.select"(%42, %45, %arg7) : (tensor<6xi1>, tensor<6xi32>, tensor<6xi32>) -> tensor<6xi32>
    %47 = "stablehlo.broadcast_in_dim"(%46) <{broadcast_dimensions = array<i64: 0>}> : (tensor<6xi32>) -> tensor<6x1xi32>
    %48 = "stablehlo.scatter"(%arg5, %47, %arg6) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%arg31: tensor<f64>, %arg32: tensor<f64>):
      %181 = "stablehlo.maximum"(%arg31, %arg32) : (tensor<f64>, tensor<f64>) -> tensor<f64>
      "stablehlo.return"(%181) : (tensor<f64>) -> ()
    }) : (tensor<5x3xf64>, tensor<6x1xi32>, tensor<6x3xf64>) -> tensor<5x3xf64>
    %49 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %50 = "stablehlo.broadcast_in_dim"(%49) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<6xi32>
    %51 = "stablehlo.compare"(%arg7, %50) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi1>
    %52 = "stablehlo.constant"() <{value = dense<5> : tensor<i32>}> : () -> tensor<i32>
    %53 = "stablehlo.broadcast_in_dim"(%52) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<6xi32>
    %54 = "stablehlo.add"(%arg7, %53) : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi32>
    %55 = "stablehlo.select"(%51, %54, %arg7) : (tensor<6xi1>, tensor<6xi32>, tensor<6xi32>) -> tensor<6xi32>
    %56 = "stablehlo.broadcast_in_dim"(%55) <{broadcast_dimensions = array<i64: 0>}> : (tensor<6xi32>) -> tensor<6x1xi32>
    %57 = "stablehlo.scatter"(%arg5, %56, %arg6) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%arg29: tensor<f64>, %arg30: tensor<f64>):
      %180 = "stablehlo.minimum"(%arg29, %arg30) : (tensor<f64>, tensor<f64>) -> tensor<f64>
      "stablehlo.return"(%180) : (tensor<f64>) -> ()
    }) : (tensor<5x3xf64>, tensor<6x1xi32>, tensor<6x3xf64>) -> tensor<5x3xf64>
    %58 = "stablehlo.slice"(%arg6) <{limit_indices = array<i64: 4, 3>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 1>}> : (tensor<6x3xf64>) -> tensor<4x3xf64>
    %59 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %60 = "stablehlo.broadcast_in_dim"(%59) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<4xi32>
    %61 = "stablehlo.compare"(%arg8, %60) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
    %62 = "stablehlo.constant"() <{value = dense<5> : tensor<i32>}> : () -> tensor<i32>
    %63 = "stablehlo.broadcast_in_dim"(%62) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<4xi32>
    %64 = "stablehlo.add"(%arg8, %63) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
    %65 = "stablehlo.select"(%61, %64, %arg8) : (tensor<4xi1>, tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
    %66 = "stablehlo.broadcast_in_dim"(%65) <{broadcast_dimensions = array<i64: 0>}> : (tensor<4xi32>) -> tensor<4x1xi32>
    %67 = "stablehlo.scatter"(%arg5, %66, %58) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = true}> ({
    ^bb0(%arg27: tensor<f64>, %arg28: tensor<f64>):
      %179 = "stablehlo.multiply"(%arg27, %arg28) : (tensor<f64>, tensor<f64>) -> tensor<f64>
      "stablehlo.return"(%179) : (tensor<f64>) -> ()
    }) : (tensor<5x3xf64>, tensor<4x1xi32>, tensor<4x3xf64>) -> tensor<5x3xf64>
    %68 = "stablehlo.slice"(%arg6) <{limit_indices = array<i64: 4, 3>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 1>}> : (tensor<6x3xf64>) -> tensor<4x3xf64>
    %69 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %70 = "stablehlo.broadcast_in_dim"(%69) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<4xi32>
    %71 = "stablehlo.compare"(%arg8, %70) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
    %72 = "stablehlo.constant"() <{value = dense<5> : tensor<i32>}> : () -> tensor<i32>
    %73 = "stablehlo.broadcast_in_dim"(%72) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<4xi32>
    %74 = "stablehlo.add"(%arg8, %73) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
    %75 = "stablehlo.select"(%71, %74, %arg8) : (tensor<4xi1>, tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
    %76 = "stablehlo.broadcast_in_dim"(%75) <{broadcast_dimensions = array<i64: 0>}> : (tensor<4xi32>) -> tensor<4x1xi32>
    %77 = "stablehlo.scatter"(%arg5, %76, %68) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = true}> ({
    ^bb0(%arg25: tensor<f64>, %arg26: tensor<f64>):
      "stablehlo.return"(%arg26) : (tensor<f64>) -> ()
    }) : (tensor<5x3xf64>, tensor<4x1xi32>, tensor<4x3xf64>) -> tensor<5x3xf64>
    %78 = "stablehlo.constant"() <{value = dense<3> : tensor<i64>}> : () -> tensor<i64>
    %79 = "func.call"(%arg7, %78) <{callee = @remainder}> : (tensor<6xi32>, tensor<i64>) -> tensor<6xi32>
    %80 = "stablehlo.slice"(%arg6) <{limit_indices = array<i64: 6, 1>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 1>}> : (tensor<6x3xf64>) -> tensor<6x1xf64>
    %81 = "stablehlo.reshape"(%80) : (tensor<6x1xf64>) -> tensor<6xf64>
    %82 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %83 = "stablehlo.broadcast_in_dim"(%82) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<6xi32>
    %84 = "stablehlo.compare"(%arg7, %83) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi1>
    %85 = "stablehlo.constant"() <{value = dense<5> : tensor<i32>}> : () -> tensor<i32>
    %86 = "stablehlo.broadcast_in_dim"(%85) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<6xi32>
    %87 = "stablehlo.add"(%arg7, %86) : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi32>
    %88 = "stablehlo.select"(%84, %87, %arg7) : (tensor<6xi1>, tensor<6xi32>, tensor<6xi32>) -> tensor<6xi32>
    %89 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %90 = "stablehlo.broadcast_in_dim"(%89) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<6xi32>
    %91 = "stablehlo.compare"(%79, %90) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi1>
    %92 = "stablehlo.constant"() <{value = dense<3> : tensor<i32>}> : () -> tensor<i32>
    %93 = "stablehlo.broadcast_in_dim"(%92) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<6xi32>
    %94 = "stablehlo.add"(%79, %93) : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi32>
    %95 = "stablehlo.select"(%91, %94, %79) : (tensor<6xi1>, tensor<6xi32>, tensor<6xi32>) -> tensor<6xi32>
    %96 = "stablehlo.broadcast_in_dim"(%88) <{broadcast_dimensions = array<i64: 0>}> : (tensor<6xi32>) -> tensor<6x1xi32>
    %97 = "stablehlo.broadcast_in_dim"(%95) <{broadcast_dimensions = array<i64: 0>}> : (tensor<6xi32>) -> tensor<6x1xi32>
    %98 = "stablehlo.concatenate"(%96, %97) <{dimension = 1 : i64}> : (tensor<6x1xi32>, tensor<6x1xi32>) -> tensor<6x2xi32>
    %99 = "stablehlo.scatter"(%arg5, %98, %81) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%arg23: tensor<f64>, %arg24: tensor<f64>):
      %178 = "stablehlo.add"(%arg23, %arg24) : (tensor<f64>, tensor<f64>) -> tensor<f64>
      "stablehlo.return"(%178) : (tensor<f64>) -> ()
    }) : (tensor<5x3xf64>, tensor<6x2xi32>, tensor<6xf64>) -> tensor<5x3xf64>
    %100 = "stablehlo.slice"(%arg6) <{limit_indices = array<i64: 5, 1>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 1>}> : (tensor<6x3xf64>) -> tensor<5x1xf64>
    %101 = "stablehlo.reshape"(%100) : (tensor<5x1xf64>) -> tensor<5xf64>
    %102 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
    %103 = "stablehlo.broadcast_in_dim"(%102) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<1xi32>
    %104 = "stablehlo.scatter"(%arg5, %103, %101) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [1], scatter_dims_to_operand_dims = [1]>, unique_indices = true}> ({
    ^bb0(%arg21: tensor<f64>, %arg22: tensor<f64>):
      "stablehlo.return"(%arg22) : (tensor<f64>) -> ()
    }) : (tensor<5x3xf64>, tensor<1xi32>, tensor<5xf64>) -> tensor<5x3xf64>
    %105 = "stablehlo.slice"(%arg6) <{limit_indices = array<i64: 6, 2>, start_indices = array<i64: 0, 1>, strides = array<i64: 1, 1>}> : (tensor<6x3xf64>) -> tensor<6x1xf64>
    %106 = "stablehlo.reshape"(%105) : (tensor<6x1xf64>) -> tensor<6xf64>
    %107 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %108 = "stablehlo.broadcast_in_dim"(%107) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<6xi32>
    %109 = "stablehlo.compare"(%arg7, %108) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi1>
    %110 = "stablehlo.constant"() <{value = dense<5> : tensor<i32>}> : () -> tensor<i32>
    %111 = "stablehlo.broadcast_in_dim"(%110) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<6xi32>
    %112 = "stablehlo.add"(%arg7, %111) : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi32>
    %113 = "stablehlo.select"(%109, %112, %arg7) : (tensor<6xi1>, tensor<6xi32>, tensor<6xi32>) -> tensor<6xi32>
    %114 = "stablehlo.constant"() <{value = dense<0> : tensor<i64>}> : () -> tensor<i64>
    %115 = "stablehlo.broadcast_in_dim"(%114) <{broadcast_dimensions = array<i64>}> : (tensor<i64>) -> tensor<6xi64>
    %116 = "stablehlo.convert"(%115) : (tensor<6xi64>) -> tensor<6xi32>
    %117 = "stablehlo.broadcast_in_dim"(%113) <{broadcast_dimensions = array<i64: 0>}> : (tensor<6xi32>) -> tensor<6x1xi32>
    %118 = "stablehlo.broadcast_in_dim"(%116) <{broadcast_dimensions = array<i64: 0>}> : (tensor<6xi32>) -> tensor<6x1xi32>
    %119 = "stablehlo.concatenate"(%117, %118) <{dimension = 1 : i64}> : (tensor<6x1xi32>, tensor<6x1xi32>) -> tensor<6x2xi32>
    %120 = "stablehlo.scatter"(%arg5, %119, %106) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%arg19: tensor<f64>, %arg20: tensor<f64>):
      "stablehlo.return"(%arg20) : (tensor<f64>) -> ()
    }) : (tensor<5x3xf64>, tensor<6x2xi32>, tensor<6xf64>) -> tensor<5x3xf64>
    %121 = "stablehlo.slice"(%arg6) <{limit_indices = array<i64: 4, 3>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 1>}> : (tensor<6x3xf64>) -> tensor<4x3xf64>
    %122 = "stablehlo.constant"() <{value = dense<3.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %123 = "stablehlo.broadcast_in_dim"(%122) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<4x3xf64>
    %124 = "stablehlo.add"(%121, %123) : (tensor<4x3xf64>, tensor<4x3xf64>) -> tensor<4x3xf64>
    %125 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %126 = "stablehlo.broadcast_in_dim"(%125) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<5x3xf64>
    %127 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %128 = "stablehlo.broadcast_in_dim"(%127) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<4xi32>
    %129 = "stablehlo.compare"(%arg8, %128) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
    %130 = "stablehlo.constant"() <{value = dense<5> : tensor<i32>}> : () -> tensor<i32>
    %131 = "stablehlo.broadcast_in_dim"(%130) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<4xi32>
    %132 = "stablehlo.add"(%arg8, %131) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
    %133 = "stablehlo.select"(%129, %132, %arg8) : (tensor<4xi1>, tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
    %134 = "stablehlo.broadcast_in_dim"(%133) <{broadcast_dimensions = array<i64: 0>}> : (tensor<4xi32>) -> tensor<4x1xi32>
    %135 = "stablehlo.scatter"(%126, %134, %124) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = true}> ({
    ^bb0(%arg17: tensor<f64>, %arg18: tensor<f64>):
      %177 = "stablehlo.multiply"(%arg17, %arg18) : (tensor<f64>, tensor<f64>) -> tensor<f64>
      "stablehlo.return"(%177) : (tensor<f64>) -> ()
    }) : (tensor<5x3xf64>, tensor<4x1xi32>, tensor<4x3xf64>) -> tensor<5x3xf64>
    %136 = "stablehlo.divide"(%arg5, %135) : (tensor<5x3xf64>, tensor<5x3xf64>) -> tensor<5x3xf64>
    %137 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f64>}> : () -> tensor<f64>
    %138 = "stablehlo.broadcast_in_dim"(%137) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<4x3xf64>
    %139 = "stablehlo.broadcast_in_dim"(%arg7) <{broadcast_dimensions = array<i64: 0>}> : (tensor<6xi32>) -> tensor<6x1xi32>
    %140 = "stablehlo.scatter"(%138, %139, %arg6) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%arg15: tensor<f64>, %arg16: tensor<f64>):
      %176 = "stablehlo.add"(%arg15, %arg16) : (tensor<f64>, tensor<f64>) -> tensor<f64>
      "stablehlo.return"(%176) : (tensor<f64>) -> ()
    }) : (tensor<4x3xf64>, tensor<6x1xi32>, tensor<6x3xf64>) -> tensor<4x3xf64>
    %141 = "stablehlo.abs"(%arg7) : (tensor<6xi32>) -> tensor<6xi32>
    %142 = "stablehlo.constant"() <{value = dense<3> : tensor<i64>}> : () -> tensor<i64>
    %143 = "func.call"(%141, %142) <{callee = @remainder}> : (tensor<6xi32>, tensor<i64>) -> tensor<6xi32>
    %144 = "stablehlo.constant"() <{value = dense<0xFFF0000000000000> : tensor<f64>}> : () -> tensor<f64>
    %145 = "stablehlo.broadcast_in_dim"(%144) <{broadcast_dimensions = array<i64>}> : (tensor<f64>) -> tensor<3x3xf64>
    %146 = "stablehlo.broadcast_in_dim"(%143) <{broadcast_dimensions = array<i64: 0>}> : (tensor<6xi32>) -> tensor<6x1xi32>
    %147 = "stablehlo.scatter"(%145, %146, %arg6) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%arg13: tensor<f64>, %arg14: tensor<f64>):
      %175 = "stablehlo.maximum"(%arg13, %arg14) : (tensor<f64>, tensor<f64>) -> tensor<f64>
      "stablehlo.return"(%175) : (tensor<f64>) -> ()
    }) : (tensor<3x3xf64>, tensor<6x1xi32>, tensor<6x3xf64>) -> tensor<3x3xf64>
    %148 = "stablehlo.slice"(%arg6) <{limit_indices = array<i64: 2, 2>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 1>}> : (tensor<6x3xf64>) -> tensor<2x2xf64>
    %149 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<2xi32>
    %150 = "stablehlo.constant"() <{value = dense<2> : tensor<i32>}> : () -> tensor<i32>
    %151 = "stablehlo.broadcast_in_dim"(%150) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<2xi32>
    %152 = "stablehlo.multiply"(%151, %149) : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32>
    %153 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %154 = "stablehlo.broadcast_in_dim"(%153) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<2xi32>
    %155 = "stablehlo.add"(%154, %152) : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32>
    %156 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
    %157 = "stablehlo.broadcast_in_dim"(%156) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<2x1xi32>
    %158 = "stablehlo.broadcast_in_dim"(%155) <{broadcast_dimensions = array<i64: 0>}> : (tensor<2xi32>) -> tensor<2x1xi32>
    %159 = "stablehlo.concatenate"(%157, %158) <{dimension = 1 : i64}> : (tensor<2x1xi32>, tensor<2x1xi32>) -> tensor<2x2xi32>
    %160 = "stablehlo.scatter"(%arg5, %159, %148) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>, unique_indices = true}> ({
    ^bb0(%arg11: tensor<f64>, %arg12: tensor<f64>):
      %174 = "stablehlo.add"(%arg11, %arg12) : (tensor<f64>, tensor<f64>) -> tensor<f64>
      "stablehlo.return"(%174) : (tensor<f64>) -> ()
    }) : (tensor<5x3xf64>, tensor<2x2xi32>, tensor<2x2xf64>) -> tensor<5x3xf64>
    %161 = "stablehlo.slice"(%arg7) <{limit_indices = array<i64: 5>, start_indices = array<i64: 0>, strides = array<i64: 1>}> : (tensor<6xi32>) -> tensor<5xi32>
    %162 = "stablehlo.slice"(%arg6) <{limit_indices = array<i64: 5, 1>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 1>}> : (tensor<6x3xf64>) -> tensor<5x1xf64>
    %163 = "stablehlo.reshape"(%162) : (tensor<5x1xf64>) -> tensor<5xf64>
    %164 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %165 = "stablehlo.broadcast_in_dim"(%164) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<5xi32>
    %166 = "stablehlo.compare"(%161, %165) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<5xi32>, tensor<5xi32>) -> tensor<5xi1>
    %167 = "stablehlo.constant"() <{value = dense<3> : tensor<i32>}> : () -> tensor<i32>
    %168 = "stablehlo.broadcast_in_dim"(%167) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<5xi32>
    %169 = "stablehlo.add"(%161, %168) : (tensor<5xi32>, tensor<5xi32>) -> tensor<5xi32>
    %170 = "stablehlo.select"(%166, %169, %161) : (tensor<5xi1>, tensor<5xi32>, tensor<5xi32>) -> tensor<5xi32>
    %171 = "stablehlo.broadcast_in_dim"(%170) <{broadcast_dimensions = array<i64: 0>}> : (tensor<5xi32>) -> tensor<5x1xi32>
    %172 = "stablehlo.scatter"(%arg5, %171, %163) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 1>, unique_indices = true}> ({
    ^bb0(%arg9: tensor<f64>, %arg10: tensor<f64>):
      %173 = "stablehlo.add"(%arg9, %arg10) : (tensor<f64>, tensor<f64>) -> tensor<f64>
      "stablehlo.return"(%173) : (tensor<f64>) -> ()
    }) : (tensor<5x3xf64>, tensor<5x1xi32>, tensor<5xf64>) -> tensor<5x3xf64>
    "func.return"(%30, %39, %48, %57, %67, %77, %99, %104, %120, %136, %140, %147, %160, %172) : (tensor<5x3xf64>, tensor<5x3xf64>, tensor<5x3xf64>, tensor<5x3xf64>, tensor<5x3xf64>, tensor<5x3xf64>, tensor<5x3xf64>, tensor<5x3xf64>, tensor<5x3xf64>, tensor<5x3xf64>, tensor<4x3xf64>, tensor<3x3xf64>, tensor<5x3xf64>, tensor<5x3xf64>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}], function_type = (tensor<6xi32>, tensor<i64>) -> tensor<6xi32>, res_attrs = [{}], sym_name = "remainder", sym_visibility = "private"}> ({
  ^bb0(%arg3: tensor<6xi32>, %arg4: tensor<i64>):
    %1 = "stablehlo.convert"(%arg4) : (tensor<i64>) -> tensor<i32>
    %2 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %3 = "stablehlo.compare"(%1, %2) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %4 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
    %5 = "func.call"(%3, %4, %1) <{callee = @_where}> : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %6 = "stablehlo.broadcast_in_dim"(%5) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<6xi32>
    %7 = "stablehlo.remainder"(%arg3, %6) : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi32>
    %8 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %9 = "stablehlo.broadcast_in_dim"(%8) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<6xi32>
    %10 = "stablehlo.compare"(%7, %9) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi1>
    %11 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %12 = "stablehlo.broadcast_in_dim"(%11) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<6xi32>
    %13 = "stablehlo.compare"(%7, %12) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi1>
    %14 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %15 = "stablehlo.compare"(%5, %14) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %16 = "stablehlo.broadcast_in_dim"(%15) <{broadcast_dimensions = array<i64>}> : (tensor<i1>) -> tensor<6xi1>
    %17 = "stablehlo.compare"(%13, %16) <{compare_type = #stablehlo<comparison_type UNSIGNED>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<6xi1>, tensor<6xi1>) -> tensor<6xi1>
    %18 = "stablehlo.and"(%17, %10) : (tensor<6xi1>, tensor<6xi1>) -> tensor<6xi1>
    %19 = "stablehlo.broadcast_in_dim"(%5) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<6xi32>
    %20 = "stablehlo.add"(%7, %19) : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi32>
    %21 = "stablehlo.select"(%18, %20, %7) : (tensor<6xi1>, tensor<6xi32>, tensor<6xi32>) -> tensor<6xi32>
    "func.return"(%21) : (tensor<6xi32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}, {}], function_type = (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>, res_attrs = [{}], sym_name = "_where", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<i1>, %arg1: tensor<i32>, %arg2: tensor<i32>):
    %0 = "stablehlo.select"(%arg0, %arg1, %arg2) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    "func.return"(%0) : (tensor<i32>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()

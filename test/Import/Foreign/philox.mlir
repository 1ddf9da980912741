// RUN: %python %S/../Inputs/foreign_values.py remat-run %s %t

// From test/fuzz/stablehlo_cases.py, as JAX 0.10.2 lowers and computes it.

// tolerance 1e-09
// arg 0 i8 2: -6696874842932477345 -2
// result 0 i8 2: -6696874842932477345 0
// result 1 i4 7: 12478148 1942763929 -1023029228 -700635701 1374662726 1632460350 -308741267
// result 2 i8 2: -6696874842932477345 9
// result 3 i8 7x3: 8344107538915944132 -3009207418933096428 7011363816641376326 1795494104073304941 8910438573442010275 -7558848609707614652 -8879364449001659094 3655276059053523937 -7484007323665898440 -5089176800935608038 8689196972319301725 -6906825741573275248 -6741397230410653651 3624048054756689222 7189586804637063385 -8684058313283250365 4651294102852039794 -7101071862520194959 2256193989322026912 -4657040729529567347 7116483242323821484

"builtin.module"() <{sym_name = "jit__lambda"}> ({
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<2xui64>) -> (tensor<2xui64>, tensor<7xui32>, tensor<2xui64>, tensor<7x3xui64>), res_attrs = [{jax.result_info = "result[0]"}, {jax.result_info = "result[1]"}, {jax.result_info = "result[2]"}, {jax.result_info = "result[3]"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<2xui64>):
    %0:2 = "stablehlo.rng_bit_generator"(%arg0) <{rng_algorithm = #stablehlo<rng_algorithm DEFAULT>}> : (tensor<2xui64>) -> (tensor<2xui64>, tensor<7xui32>)
    %1:2 = "stablehlo.rng_bit_generator"(%arg0) <{rng_algorithm = #stablehlo<rng_algorithm DEFAULT>}> : (tensor<2xui64>) -> (tensor<2xui64>, tensor<7x3xui64>)
    "func.return"(%0#0, %0#1, %1#0, %1#1) : (tensor<2xui64>, tensor<7xui32>, tensor<2xui64>, tensor<7x3xui64>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()

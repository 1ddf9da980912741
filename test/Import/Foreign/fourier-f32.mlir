// RUN: %python %S/../Inputs/foreign_values.py remat-run %s %t

// Transforms in f32, as one product with a matrix and as two.
// From test/fuzz/stablehlo_linear.py, as JAX 0.10.2 lowers and computes it.

// tolerance 2e-05
// arg 0 f4 3x12: 2.040919 -2.555665 0.41809884 -0.5677696 -0.4526493 -0.21559717 -2.0199862 -0.23193237 -0.8652131 3.3229995 0.22578661 -0.3526308 -0.28128743 -0.66804636 -1.0551505 -0.39080098 0.4819454 -0.23855361 0.9577587 -0.19980213 0.024259565 1.5458208 0.5451055 -0.50522876 -0.18283898 0.54052514 1.935088 -0.26962033 -0.24355868 1.0023136 -0.88645995 -0.29172024 0.882539 0.58035004 0.0915167 0.6701044
// cotangent 0 f4 3x12: 0.48351336 0.44432962 -0.56256914 0.65977377 0.31530443 0.3655978 0.6401515 -0.1428542 0.51741093 0.7569604 -0.79536015 0.6995367 -0.21214533 -0.040632155 -0.7073309 0.3968527 -0.41604277 0.7422783 -0.44925123 0.12361944 -0.20068756 0.22581898 -0.6067215 -0.6394249 0.49372077 0.50444686 0.13395575 0.84215933 -0.5884499 0.70180225 -0.6620254 0.92871547 0.24738546 0.21376757 0.9411175 0.57406545
// cotangent 1 f4 3x12: 0.57983494 -0.8918125 -0.2614274 -0.83021045 -0.61294484 -0.57226604 0.71728384 -0.74649006 -0.40648445 -0.014306042 0.69892085 0.93046284 0.41628954 -0.5726256 0.089965366 0.41191807 -0.8962349 0.35976833 -0.26343632 0.17940058 0.33906657 0.338255 0.04609955 0.10947487 -0.6037006 -0.009625217 -0.74918103 -0.038505998 0.07248985 0.5482096 -0.21267042 -0.96079916 0.055499867 -0.589535 0.48251504 -0.22260554
// result 0 f4 3x12: 1.2536395 5.3259964 4.590342 2.7037597 5.0942764 9.043649 0.05244851 9.04365 5.0942764 2.70376 4.590342 5.3259964 0.21602035 3.8527682 2.2837536 1.7492986 3.125768 1.5270232 1.1292422 1.5270236 3.125768 1.7492986 2.2837536 3.8527682 3.828239 1.864319 2.205211 2.1273854 4.877524 1.3116912 0.63566667 1.3116914 4.877524 2.1273854 2.2052112 1.864319
// result 1 f4 3x12: 4.0818386 -5.1113305 0.83619773 -1.135539 -0.9052989 -0.431194 -4.0399723 -0.46386477 -1.7304265 6.645999 0.45157307 -0.7052617 -0.562575 -1.3360927 -2.110301 -0.7816019 0.9638909 -0.47710714 1.9155173 -0.3996044 0.048519175 3.0916414 1.0902112 -1.0104575 -0.36567807 1.0810504 3.870176 -0.53924066 -0.4871173 2.0046272 -1.77292 -0.5834404 1.765078 1.1607001 0.18303363 1.340209
// gradient 0 f4 3x12: 3.9264297 -0.38510847 -3.2656565 -3.9126816 -4.143338 -1.1151559 0.39787138 -1.56345 -0.7334827 1.6921394 -1.4934471 1.9748405 0.09996003 1.8740838 1.5898209 -0.87523484 -2.7877083 0.6083201 -0.68269837 0.38323593 0.18388453 0.33251163 -2.9081388 0.7521011 1.2257569 0.50273544 2.9153442 -1.0781744 0.9521601 0.2692635 -1.82864 -2.2564402 -0.68061465 1.6207628 2.4403765 -2.6136975

"builtin.module"() <{sym_name = "jit__lambda"}> ({
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<3x12xf32>) -> (tensor<3x12xf32>, tensor<3x12xf32>), res_attrs = [{jax.result_info = "result[0]"}, {jax.result_info = "result[1]"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg3: tensor<3x12xf32>):
    %4 = "func.call"(%arg3) <{callee = @fft}> : (tensor<3x12xf32>) -> tensor<3x12xcomplex<f32>>
    %5 = "stablehlo.abs"(%4) : (tensor<3x12xcomplex<f32>>) -> tensor<3x12xf32>
    %6 = "func.call"(%arg3) <{callee = @fft_0}> : (tensor<3x12xf32>) -> tensor<3x7xcomplex<f32>>
    %7 = "stablehlo.constant"() <{value = dense<(2.000000e+00,0.000000e+00)> : tensor<complex<f32>>}> : () -> tensor<complex<f32>>
    %8 = "stablehlo.broadcast_in_dim"(%7) <{broadcast_dimensions = array<i64>}> : (tensor<complex<f32>>) -> tensor<3x7xcomplex<f32>>
    %9 = "stablehlo.multiply"(%6, %8) : (tensor<3x7xcomplex<f32>>, tensor<3x7xcomplex<f32>>) -> tensor<3x7xcomplex<f32>>
    %10 = "func.call"(%9) <{callee = @fft_1}> : (tensor<3x7xcomplex<f32>>) -> tensor<3x12xf32>
    "func.return"(%5, %10) : (tensor<3x12xf32>, tensor<3x12xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<3x12xf32>) -> tensor<3x12xcomplex<f32>>, res_attrs = [{}], sym_name = "fft", sym_visibility = "private"}> ({
  ^bb0(%arg2: tensor<3x12xf32>):
    %2 = "stablehlo.convert"(%arg2) : (tensor<3x12xf32>) -> tensor<3x12xcomplex<f32>>
    %3 = "stablehlo.fft"(%2) <{fft_length = array<i64: 12>, fft_type = #stablehlo<fft_type FFT>}> : (tensor<3x12xcomplex<f32>>) -> tensor<3x12xcomplex<f32>>
    "func.return"(%3) : (tensor<3x12xcomplex<f32>>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<3x12xf32>) -> tensor<3x7xcomplex<f32>>, res_attrs = [{}], sym_name = "fft_0", sym_visibility = "private"}> ({
  ^bb0(%arg1: tensor<3x12xf32>):
    %1 = "stablehlo.fft"(%arg1) <{fft_length = array<i64: 12>, fft_type = #stablehlo<fft_type RFFT>}> : (tensor<3x12xf32>) -> tensor<3x7xcomplex<f32>>
    "func.return"(%1) : (tensor<3x7xcomplex<f32>>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<3x7xcomplex<f32>>) -> tensor<3x12xf32>, res_attrs = [{}], sym_name = "fft_1", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<3x7xcomplex<f32>>):
    %0 = "stablehlo.fft"(%arg0) <{fft_length = array<i64: 12>, fft_type = #stablehlo<fft_type IRFFT>}> : (tensor<3x7xcomplex<f32>>) -> tensor<3x12xf32>
    "func.return"(%0) : (tensor<3x12xf32>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()

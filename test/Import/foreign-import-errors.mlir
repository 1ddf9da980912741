// RUN: remat-opt %s -split-input-file -verify-diagnostics --remat-import-foreign

func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error@+1 {{is not in generic form, which is the only one that remat reads of this dialect: print the module by 'lowered.compiler_ir().operation.get_asm(print_generic_op_form=True)', or use 'remat.jax.export'}}
  %0 = stablehlo.add %x, %x : tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error@+1 {{'stablehlo.all_reduce' op is not supported: remat knows most of StableHLO}}
  %0 = "stablehlo.all_reduce"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error@+1 {{'torch.aten.relu' op is of a dialect that remat does not read: export with 'output_type="linalg-on-tensors"', or use 'remat.torch.export'}}
  %0 = "torch.aten.relu"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

func.func @main(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  // expected-error@+1 {{'stablehlo.custom_call' op calls 'lapack_sgeev_ffi', which is code outside of the program: factorizations of matrices that are not symmetric are not supported but LU, QR and SVD; use jnp.linalg.eigh where matrices are symmetric}}
  %0 = "stablehlo.custom_call"(%x) <{call_target_name = "lapack_sgeev_ffi"}> : (tensor<2x2xf32>) -> tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}

// -----

func.func @main(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  // expected-error@+1 {{'stablehlo.custom_call' op calls 'my_function', which is code outside of the program: compute it by operations of jax.numpy or jax.lax that are not custom calls}}
  %0 = "stablehlo.custom_call"(%x) <{call_target_name = "my_function"}> : (tensor<2x2xf32>) -> tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}

// -----

func.func @main(%x: tensor<2x2xcomplex<f32>>) -> tensor<2x2xcomplex<f32>> {
  // expected-error@+1 {{'stablehlo.custom_call' op calls 'lapack_cgetrf_ffi', which is code outside of the program: factorizations of complex matrices are not supported, so write the problem in real and imaginary parts}}
  %0 = "stablehlo.custom_call"(%x) <{call_target_name = "lapack_cgetrf_ffi"}> : (tensor<2x2xcomplex<f32>>) -> tensor<2x2xcomplex<f32>>
  return %0 : tensor<2x2xcomplex<f32>>
}

// -----

func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
  // expected-error@+1 {{dynamic shape is not supported: 'tensor<?xf32>'}}
  %0 = "stablehlo.sine"(%x) : (tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// -----

func.func @main(%x: tensor<2xi32>) -> tensor<2xi32> {
  // expected-error@+1 {{'stablehlo.sine' op is not supported for elements of type 'i32'}}
  %0 = "stablehlo.sine"(%x) : (tensor<2xi32>) -> tensor<2xi32>
  return %0 : tensor<2xi32>
}

// -----

func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error@+1 {{has an unknown policy 'keep', expected must_save, prefer_save, must_recompute, prefer_recompute, must_cpu_offload or prefer_cpu_offload}}
  %0 = "stablehlo.custom_call"(%x) <{call_target_name = "remat.tag", backend_config = {policy = "keep"}}> : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

func.func @main(%x: tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>) {
  // expected-error@+1 {{has the algorithm THREE_FRY, which is not supported, expected DEFAULT or PHILOX}}
  %0:2 = "stablehlo.rng_bit_generator"(%x) <{rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>}> : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)
  return %0#0, %0#1 : tensor<2xui64>, tensor<4xui32>
}

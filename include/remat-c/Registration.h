//===- Registration.h - remat in a program with MLIR ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For programs that use MLIR's C API themselves: IR of remat's dialect can then
// be in their contexts, and remat's passes in their pass managers. They must
// link the same shared libMLIR as libRemat does.
//
//   MlirDialectRegistry registry = mlirDialectRegistryCreate();
//   rematRegisterDialects(registry);
//   mlirContextAppendDialectRegistry(context, registry);
//   rematRegisterPasses();
//   mlirOpPassManagerAddPipeline(
//       mlirPassManagerGetAsOpPassManager(manager),
//       mlirStringRefCreateFromCString("remat-pipeline{budget=60%}"), ...);
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_C_REGISTRATION_H
#define REMAT_C_REGISTRATION_H

#include "mlir-c/IR.h"
#include "remat-c/Remat.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Adds remat's dialect, upstream's dialects, which its passes need, and what
/// is attached to their operations.
REMAT_CAPI_EXPORTED void rematRegisterDialects(MlirDialectRegistry registry);

/// A context that knows the dialects of `registry`, too, with what is attached
/// to them: a dialect that implements remat's interfaces is compiled as any.
/// The dialect must be linked with the same remat, so with the static library
/// RematCAPI and not with libRemat.so.
REMAT_CAPI_EXPORTED RematContext
rematContextCreateWithDialects(MlirDialectRegistry registry);

/// Makes remat's passes and pipelines known by name in this process. More than
/// one call does nothing more. Not while another thread makes passes known or
/// looks them up.
REMAT_CAPI_EXPORTED void rematRegisterPasses(void);

#ifdef __cplusplus
}
#endif

#endif // REMAT_C_REGISTRATION_H

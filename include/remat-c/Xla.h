//===- Xla.h - steps as custom calls of XLA ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Handlers of XLA's typed FFI, of version 0.3 of its interface. An executable
// of XLA has a custom call with the attribute `key`, an i64, and takes hold of
// the newest step with this key when it is made. Operands and results of the
// custom call are the arguments and results of the step, in order.
//
// All of these functions may be called from any thread.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_C_XLA_H
#define REMAT_C_XLA_H

#include "remat-c/Remat.h"
#include "remat/Runtime/Runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A hold on a step that executables of XLA may find and hold, too.
typedef struct RematXlaStep {
  void *ptr;
} RematXlaStep;

/// Takes over the step and the code that it was loaded from. They are freed
/// with the last hold on them. From now on only executables may run the step.
/// Steps of the same key must compute the same.
REMAT_CAPI_EXPORTED RematXlaStep rematXlaStepCreate(RematCode code,
                                                    remat_step *step,
                                                    int64_t key);

/// Gives up the caller's hold.
REMAT_CAPI_EXPORTED void rematXlaStepDestroy(RematXlaStep step);

/// Figures of the last run; waits for one that is under way.
REMAT_CAPI_EXPORTED void rematXlaStepGetStats(RematXlaStep step,
                                              remat_step_stats *stats);

/// What has to be registered with XLA, first the type of the handlers' state:
/// its XLA_FFI_TypeId and XLA_FFI_TypeInfo, under the name "remat_step".
REMAT_CAPI_EXPORTED void *rematXlaGetTypeId(void);
REMAT_CAPI_EXPORTED void *rematXlaGetTypeInfo(void);

/// Handlers of the stages `instantiate` and `execute`. A frame is an
/// XLA_FFI_CallFrame, what is returned an XLA_FFI_Error.
REMAT_CAPI_EXPORTED void *rematXlaInstantiate(void *frame);
REMAT_CAPI_EXPORTED void *rematXlaExecute(void *frame);

/// The same for the platform CUDA, with steps for a GPU: the type's
/// XLA_FFI_TypeId, which has its own number there, and the handlers. A run
/// begins behind what the call's stream has been given, and has ended when the
/// handler returns.
REMAT_CAPI_EXPORTED void *rematXlaCudaGetTypeId(void);
REMAT_CAPI_EXPORTED void *rematXlaCudaInstantiate(void *frame);
REMAT_CAPI_EXPORTED void *rematXlaCudaExecute(void *frame);

#ifdef __cplusplus
}
#endif

#endif // REMAT_C_XLA_H

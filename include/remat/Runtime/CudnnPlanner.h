//===- CudnnPlanner.h - execution plans of cuDNN ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Questions of the compiler to cuDNN, which answers for devices that are
// described to it and need not be there. The library is looked for when it is
// first asked; nothing links it.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_CUDNNPLANNER_H
#define REMAT_RUNTIME_CUDNNPLANNER_H

#include "remat/Runtime/StepTable.h"

#include <string>

namespace remat {

/// How cuDNN carries out a convolution; see remat_plan.
struct ConvolutionPlan {
  std::string text;
  uint32_t version = 0;
  uint64_t workspaceBytes = 0;
};

/// What a plan may be.
struct ConvolutionPlanLimits {
  /// The compute capability of the device: 90 is 9.0.
  uint32_t capability = 0;
  /// Whether f32 may be multiplied with 10 bits of mantissa.
  bool allowsTf32 = false;
  uint64_t workspaceBytes = 0;
};

/// Whether there is a cuDNN that makes plans for devices that are not there;
/// else a message.
bool canPlanConvolutions(std::string &error);

/// Makes the plan that the library thinks the fastest of those under the limits
/// which give the same bits in every run. Operands and result begin at
/// multiples of 16 bytes. False with a message if there is none. Safe to call
/// from several threads.
bool planConvolution(const remat_convolution &convolution,
                     const ConvolutionPlanLimits &limits, ConvolutionPlan &plan,
                     std::string &error);

} // namespace remat

#endif // REMAT_RUNTIME_CUDNNPLANNER_H

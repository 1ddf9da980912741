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
#include <vector>

namespace remat {

/// How cuDNN carries out a convolution; see remat_plan.
struct ConvolutionPlan {
  std::string text;
  uint32_t version = 0;
  uint64_t workspaceBytes = 0;
};

/// What a plan may be.
struct ConvolutionPlanLimits {
  /// The compute capability of the devices: 90 is 9.0.
  uint32_t capability = 0;
  /// Whether f32 may be multiplied with 10 bits of mantissa.
  bool allowsTf32 = false;
  uint64_t workspaceBytes = 0;
  /// Whether the plan with the least workspace is asked for, of the first ones
  /// that the library thinks fast, instead of the fastest.
  bool isSmallest = false;
};

/// Whether there is a cuDNN that makes plans for devices that are not there;
/// else a message.
bool canPlanConvolutions(std::string &error);

/// Makes plans for the devices of a compute capability that are known, as some
/// versions of the library take no plan for another device: those that it
/// thinks the fastest under the limits which give the same bits in every run,
/// or the smallest of them.
/// The workspace is what a plan needs on any of the devices that take it.
/// Operands and result begin at multiples of 16 bytes. False with a message if
/// there is no plan for one of the devices. Safe to call from several threads.
bool planConvolution(const remat_convolution &convolution,
                     const ConvolutionPlanLimits &limits,
                     std::vector<ConvolutionPlan> &plans, std::string &error);

} // namespace remat

#endif // REMAT_RUNTIME_CUDNNPLANNER_H

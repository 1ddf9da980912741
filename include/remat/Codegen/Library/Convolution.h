//===- Convolution.h - convolutions as library calls ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_CODEGEN_LIBRARY_CONVOLUTION_H
#define REMAT_CODEGEN_LIBRARY_CONVOLUTION_H

#include "remat/Codegen/LibraryCall.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Runtime/CudnnPlanner.h"
#include "remat/Runtime/StepTable.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

#include <optional>

namespace remat::codegen {

/// A convolution as the runtime's library describes it; nothing if the library
/// has none of that element type or rank.
std::optional<remat_convolution> describeConvolution(ConvOp op);

/// How a library carries a kernel out on devices of one compute capability.
struct DevicePlan {
  uint32_t capability;
  ConvolutionPlan plan;
  /// Whether it was chosen for its workspace, and there is a faster one.
  bool isSecond = false;
};

/// The speed of a convolution that is generated code, as a part of that of the
/// target's other loops: they read both factors of each product again. On an
/// H200, whose loops are estimated at 30 Tflop/s, convolutions of f32 and their
/// gradients took 0.1 to 1.4 Tflop/s.
constexpr double generatedConvolutionSpeed = 1.0 / 60;

/// The workspace with which a plan of a library is estimated to take as long as
/// generated code, by the speeds of contractions and loops: what is in it is
/// written and read.
int64_t getWorthwhileBytes(const LibraryCall &call, TargetAttr facts);

/// What the attribute `remat.plans` of a kernel says.
llvm::SmallVector<DevicePlan> getDevicePlans(mlir::FunctionOpInterface kernel);

/// Sets the attribute.
void setDevicePlans(mlir::FunctionOpInterface kernel,
                    llvm::ArrayRef<DevicePlan> plans);

} // namespace remat::codegen

#endif // REMAT_CODEGEN_LIBRARY_CONVOLUTION_H

//===- PeakDescription.h - what is live where most is live ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_DIALECT_REMAT_TRANSFORMS_PEAKDESCRIPTION_H
#define REMAT_LIB_DIALECT_REMAT_TRANSFORMS_PEAKDESCRIPTION_H

#include "remat/Dialect/Remat/IR/Remat.h"

#include <string>

namespace remat {

/// What lies in the arena where most is live, each buffer in a line, and those
/// of equal layers in one. `original` is the graph that `planned` is a plan of:
/// it is in a module, and so knows what its loops run.
std::string describePeak(GraphOp planned, GraphOp original);

} // namespace remat

#endif // REMAT_LIB_DIALECT_REMAT_TRANSFORMS_PEAKDESCRIPTION_H

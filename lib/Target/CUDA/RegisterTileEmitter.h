//===- RegisterTileEmitter.h - launches with tiles in registers -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TARGET_CUDA_REGISTERTILEEMITTER_H
#define REMAT_LIB_TARGET_CUDA_REGISTERTILEEMITTER_H

#include "TiledRowEmitter.h"

#include <memory>

namespace remat::cuda {

/// Emits a launch that the plan has registers for.
std::unique_ptr<TiledRowEmission>
makeRegisterTileEmission(const TiledRows &plan, const RowSchedule &schedule,
                         LaunchBuilder &launch, bool overRows);

} // namespace remat::cuda

#endif // REMAT_LIB_TARGET_CUDA_REGISTERTILEEMITTER_H

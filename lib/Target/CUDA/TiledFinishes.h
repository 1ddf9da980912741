//===- TiledFinishes.h - sums that threads finish ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TARGET_CUDA_TILEDFINISHES_H
#define REMAT_LIB_TARGET_CUDA_TILEDFINISHES_H

#include "TiledRows.h"

namespace remat::cuda {

/// Finds what threads finish in registers of what they have added up there: a
/// step or a final that makes one element of each sum, which nothing else
/// reads, and of what is known of its row. Such sums are in memory nowhere.
void planFinishes(const codegen::RowSchedule &schedule, TiledRows &plan);

} // namespace remat::cuda

#endif // REMAT_LIB_TARGET_CUDA_TILEDFINISHES_H

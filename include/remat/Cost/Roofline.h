//===- Roofline.h - an estimate of a kernel's time ---------------*- C++
//-*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_COST_ROOFLINE_H
#define REMAT_COST_ROOFLINE_H

#include "remat/Codegen/KernelInfo.h"

namespace remat {

/// What a machine does at best, in GFLOP/s (flops per nanosecond) and GB/s
/// (bytes per nanosecond), and what starting a task takes.
struct Roofline {
  double productGflops;
  double loopGflops;
  double bandwidth;
  int64_t overhead;

  /// This machine with another number of threads than `from`. Memory bandwidth
  /// does not grow beyond that of two threads.
  Roofline scaled(int from, int to) const;
  /// Nanoseconds that the kernel takes.
  int64_t estimate(const codegen::KernelInfo &kernel) const;
};

} // namespace remat

#endif // REMAT_COST_ROOFLINE_H

//===- Roofline.h - an estimate of a kernel's time --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_COST_ROOFLINE_H
#define REMAT_COST_ROOFLINE_H

#include "remat/Codegen/KernelInfo.h"
#include "remat/Dialect/Remat/IR/Remat.h"

namespace remat {

/// What a machine does at best, in operations and bytes per nanosecond, and
/// what starting a task takes in nanoseconds.
struct Roofline {
  /// Of a library, with factors of f32 or f64, and with narrower ones.
  double contractionPeak, narrowPeak;
  /// Of contractions in the midst of a generated kernel.
  double tilePeak, narrowTilePeak;
  double loopPeak;
  double bandwidth;
  int64_t overhead;

  /// Whether a library may multiply f32 with 10 bits of mantissa.
  bool tf32;

  /// The machine of `target` with `threads` threads of the host. Memory
  /// bandwidth does not grow beyond that of the target's own number.
  Roofline(TargetAttr target, int threads, bool tf32);
  /// Nanoseconds that the kernel takes.
  int64_t estimate(const codegen::KernelInfo &kernel) const;

private:
  double getCallPeak(const codegen::LibraryCall &call) const;
};

} // namespace remat

#endif // REMAT_COST_ROOFLINE_H

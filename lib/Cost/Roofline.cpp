//===- Roofline.cpp - an estimate of a kernel's time ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Cost/Roofline.h"
#include "Tuning.h"

#include "remat/Utils/Saturating.h"

#include <algorithm>
#include <cmath>

using namespace remat;

Roofline::Roofline(TargetAttr target, int threads) {
  double factor = target.getThreads() > 0
                      ? static_cast<double>(threads) /
                            static_cast<double>(target.getThreads())
                      : 1;
  contractionPeak = target.getContractionFlops() / 1e9 * factor;
  loopPeak = target.getLoopFlops() / 1e9 * factor;
  bandwidth = target.getBandwidth() / 1e9 * std::min(factor, 1.0);
  overhead = target.getLaunchNs();
}

int64_t Roofline::estimate(const codegen::KernelInfo &kernel) const {
  double peak = kernel.call ? contractionPeak : loopPeak;
  if (kernel.call && kernel.call->hasSecondPlans())
    peak /= PlanTuning::secondPlanTime;
  double arithmetic =
      static_cast<double>(kernel.flops) / peak +
      static_cast<double>(kernel.contractionFlops) / contractionPeak;
  double traffic = (static_cast<double>(kernel.bytesRead) +
                    static_cast<double>(kernel.bytesWritten)) /
                   bandwidth;
  // What does not fit is for whoever adds costs to refuse.
  double time = std::max(arithmetic, traffic);
  return time < 0x1p62 ? addCounts(std::llround(time), overhead) : INT64_MAX;
}

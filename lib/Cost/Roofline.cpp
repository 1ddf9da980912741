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

Roofline::Roofline(TargetAttr target, int threads, bool tf32) : tf32(tf32) {
  double factor = target.getThreads() > 0
                      ? static_cast<double>(threads) /
                            static_cast<double>(target.getThreads())
                      : 1;
  auto peak = [&](int64_t flops, double otherwise) {
    return flops > 0 ? static_cast<double>(flops) / 1e9 * factor : otherwise;
  };
  contractionPeak = peak(target.getContractionFlops(), 0);
  narrowPeak = peak(target.getNarrowContractionFlops(), contractionPeak);
  tilePeak = peak(target.getTileFlops(), contractionPeak);
  narrowTilePeak = peak(target.getNarrowTileFlops(), tilePeak);
  loopPeak = target.getLoopFlops() / 1e9 * factor;
  bandwidth = target.getBandwidth() / 1e9 * std::min(factor, 1.0);
  overhead = target.getLaunchNs();
}

double Roofline::getCallPeak(const codegen::LibraryCall &call) const {
  int32_t dtype;
  if (const remat_matmul *matmul = call.getMatmul())
    dtype = matmul->a_dtype;
  else if (const remat_convolution *convolution = call.getConvolution())
    dtype = convolution->input_dtype;
  else
    return contractionPeak;
  if (dtype == REMAT_F16 || dtype == REMAT_BF16)
    return narrowPeak;
  if (dtype == REMAT_F32 && tf32)
    return std::max(contractionPeak, narrowPeak / 2);
  return contractionPeak;
}

int64_t Roofline::estimate(const codegen::KernelInfo &kernel) const {
  double peak =
      kernel.call ? getCallPeak(*kernel.call) : loopPeak * kernel.loopSpeed;
  if (kernel.call && kernel.call->hasSecondPlans())
    peak /= PlanTuning::secondPlanTime;
  double narrow = static_cast<double>(kernel.narrowFlops);
  double arithmetic =
      static_cast<double>(kernel.flops) / peak +
      (static_cast<double>(kernel.contractionFlops) - narrow) / tilePeak +
      narrow / narrowTilePeak;
  double traffic = (static_cast<double>(kernel.bytesRead) +
                    static_cast<double>(kernel.bytesWritten)) /
                   bandwidth;
  // What does not fit is for whoever adds costs to refuse.
  double time = std::max(arithmetic, traffic);
  return time < 0x1p62 ? addCounts(std::llround(time), overhead) : INT64_MAX;
}

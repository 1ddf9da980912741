//===- Roofline.cpp - an estimate of a kernel's time ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Cost/Roofline.h"
#include "Tuning.h"

#include "remat/Runtime/LibraryCalls.h"
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

/// Whether rows and batches of both factors and the result begin at multiples
/// of 16 bytes, if the first of each does.
static bool hasAlignedRows(const remat_matmul &m) {
  auto isAligned = [](int64_t extent, int64_t stride, int32_t dtype) {
    return extent <= 1 || stride == 1 ||
           stride * static_cast<int64_t>(remat_dtype_bytes(dtype)) % 16 == 0;
  };
  for (int i = 0; i < 3; ++i)
    if (!isAligned(m.batch[i], m.a_batch_stride[i], m.a_dtype) ||
        !isAligned(m.batch[i], m.b_batch_stride[i], m.b_dtype) ||
        !isAligned(m.batch[i], m.c_batch_stride[i], m.c_dtype))
      return false;
  return isAligned(m.m, m.a_m_stride, m.a_dtype) &&
         isAligned(m.k, m.a_k_stride, m.a_dtype) &&
         isAligned(m.k, m.b_k_stride, m.b_dtype) &&
         isAligned(m.n, m.b_n_stride, m.b_dtype) &&
         isAligned(m.m, m.c_m_stride, m.c_dtype) &&
         isAligned(m.n, m.c_n_stride, m.c_dtype);
}

double Roofline::getCallPeak(const codegen::LibraryCall &call) const {
  const remat_matmul *matmul = call.getMatmul();
  const remat_convolution *convolution = call.getConvolution();
  if (!matmul && !convolution)
    return contractionPeak;
  int32_t dtype = matmul ? matmul->a_dtype : convolution->input_dtype;
  double peak = contractionPeak;
  if (dtype == REMAT_F16 || dtype == REMAT_BF16)
    peak = narrowPeak;
  else if (dtype == REMAT_F32 && tf32)
    peak = std::max(contractionPeak, narrowPeak / 2);
  if (matmul && peak > contractionPeak && !hasAlignedRows(*matmul))
    peak = std::max(contractionPeak, peak / MatmulTuning::misalignedTime);
  return peak;
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

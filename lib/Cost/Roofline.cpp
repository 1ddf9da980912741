//===- Roofline.cpp - an estimate of a kernel's time ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Cost/Roofline.h"

#include <algorithm>
#include <cmath>

using namespace remat;

Roofline Roofline::scaled(int from, int to) const {
  double factor = static_cast<double>(to) / from;
  return {productGflops * factor, loopGflops * factor,
          bandwidth * std::min(factor, 1.0), overhead};
}

int64_t Roofline::estimate(const codegen::KernelInfo &kernel) const {
  double peak = kernel.call ? productGflops : loopGflops;
  double arithmetic = static_cast<double>(kernel.flops) / peak +
                      static_cast<double>(kernel.productFlops) / productGflops;
  double traffic =
      static_cast<double>(kernel.bytesRead + kernel.bytesWritten) / bandwidth;
  return std::llround(std::max(arithmetic, traffic)) + overhead;
}

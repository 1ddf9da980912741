//===- Saturating.h - counts that stay in their type ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operations, points and costs of a kernel can exceed 64 bits although its
// tensors do not. Such a kernel never ends; what matters is that its cost does
// not look small.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_UTILS_SATURATING_H
#define REMAT_UTILS_SATURATING_H

#include "llvm/Support/MathExtras.h"

namespace remat {

/// The sum of two counts, at most INT64_MAX. Neither is negative.
inline int64_t addCounts(int64_t a, int64_t b) {
  int64_t sum;
  return llvm::AddOverflow(a, b, sum) ? INT64_MAX : sum;
}

/// The product of two counts, at most INT64_MAX. Neither is negative.
inline int64_t multiplyCounts(int64_t a, int64_t b) {
  int64_t product;
  return llvm::MulOverflow(a, b, product) ? INT64_MAX : product;
}

} // namespace remat

#endif // REMAT_UTILS_SATURATING_H

//===- FloatScope.h - how numbers are rounded -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thread has a mode of floating-point arithmetic, which its program may have
// changed: XLA takes subnormal numbers for zero, and so does PyTorch after
// torch.set_flush_denormal. The bits of a step depend neither on who calls it
// nor on which of its threads does the work.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_RUNTIME_FLOATSCOPE_H
#define REMAT_LIB_RUNTIME_FLOATSCOPE_H

#ifdef __SSE__
#include <xmmintrin.h>
#endif

namespace remat {

/// In its scope, this thread rounds to nearest, keeps subnormal numbers, and
/// has no traps; at its end, it has the mode of before again.
class FloatScope {
public:
#ifdef __SSE__
  FloatScope() : previous(_mm_getcsr()) {
    // Setting it takes longer than looking.
    if ((previous & ~flags) != plain)
      _mm_setcsr(plain);
  }
  ~FloatScope() {
    if ((previous & ~flags) != plain)
      _mm_setcsr(previous);
  }

private:
  static constexpr unsigned flags = 0x3f, plain = 0x1f80;
  unsigned previous;

public:
#else
  FloatScope() {}
#endif
  FloatScope(const FloatScope &) = delete;
  FloatScope &operator=(const FloatScope &) = delete;
};

} // namespace remat

#endif // REMAT_LIB_RUNTIME_FLOATSCOPE_H

//===- VectorIsa.h - what vector loops are compiled for ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_RUNTIME_CPU_VECTORISA_H
#define REMAT_LIB_RUNTIME_CPU_VECTORISA_H

#include <dnnl.h>

namespace remat {

enum class VectorIsa { Portable, Avx2, Avx512 };

/// What this machine has, but no more than oneDNN uses: with that, oneDNN's
/// variable ONEDNN_MAX_CPU_ISA holds for the run time as a whole.
inline VectorIsa getVectorIsa() {
  unsigned isa = dnnl_get_effective_cpu_isa();
  auto mayUse = [isa](unsigned needed) { return (isa & needed) == needed; };
#ifdef __x86_64__
  if (mayUse(dnnl_cpu_isa_avx512_core))
    return VectorIsa::Avx512;
  if (mayUse(dnnl_cpu_isa_avx2))
    return VectorIsa::Avx2;
#endif
  return VectorIsa::Portable;
}

} // namespace remat

#endif // REMAT_LIB_RUNTIME_CPU_VECTORISA_H

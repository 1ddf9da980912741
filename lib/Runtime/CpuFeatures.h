//===- CpuFeatures.h - what the code of a step needs of a CPU ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_RUNTIME_CPUFEATURES_H
#define REMAT_LIB_RUNTIME_CPUFEATURES_H

#include <string>
#include <string_view>

namespace remat {

/// Those of `needed`, as in remat_module::cpu_features, that this machine is
/// known to lack, in the same form.
std::string findMissingCpuFeatures(std::string_view needed);

} // namespace remat

#endif // REMAT_LIB_RUNTIME_CPUFEATURES_H

//===- CostFile.h - measured costs of kernels -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What kernels took on one machine, kept in a JSON file and found again by what
// they compute, in whatever model. Contractions may have been measured in
// two implementations, as calls of the library and as generated code:
//
//   {"schema": "remat.costs/2", "threads": 2,
//    "kernels": {"<key>": {"library": <ns>, "generated": <ns>}, ...}}
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_COST_COSTFILE_H
#define REMAT_COST_COSTFILE_H

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/Support/Error.h"

#include <map>
#include <optional>
#include <string>

namespace remat {

/// A name for what the kernel computes: equal for equal bodies and types,
/// whatever the function is called, where it came from and how it is carried
/// out.
std::string getKernelKey(mlir::FunctionOpInterface kernel);

/// Nanoseconds that a kernel took in the implementations that were measured.
struct KernelCosts {
  std::optional<int64_t> library, generated;
};

struct CostFile {
  /// Threads that the costs were measured with.
  int64_t threads = 0;
  /// By key.
  std::map<std::string, KernelCosts> kernels;

  /// Fails if the file cannot be read or is no cost file.
  static llvm::Expected<CostFile> load(llvm::StringRef path);
  llvm::Error save(llvm::StringRef path) const;
};

} // namespace remat

#endif // REMAT_COST_COSTFILE_H

//===- CostFile.h - measured costs of kernels -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What kernels took on one machine, kept in a JSON file and found again by what
// they compute, in whatever model:
//
//   {"schema": "remat.costs/1", "threads": 2, "kernels": {"<key>": <ns>, ...}}
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_COST_COSTFILE_H
#define REMAT_COST_COSTFILE_H

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/Support/Error.h"

#include <map>
#include <string>

namespace remat {

/// A name for what the kernel computes: equal for equal bodies and types,
/// whatever the function is called and where it came from.
std::string getKernelKey(mlir::FunctionOpInterface kernel);

struct CostFile {
  /// Threads that the costs were measured with.
  int threads = 0;
  /// Nanoseconds by key.
  std::map<std::string, int64_t> kernels;

  /// Fails if the file cannot be read or is no cost file.
  static llvm::Expected<CostFile> load(llvm::StringRef path);
  llvm::Error save(llvm::StringRef path) const;
};

} // namespace remat

#endif // REMAT_COST_COSTFILE_H

//===- Toolkit.h - programs and files of the CUDA toolkit -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TARGET_CUDA_TOOLKIT_H
#define REMAT_LIB_TARGET_CUDA_TOOLKIT_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <string>
#include <vector>

namespace remat::cuda {

/// Of so many threads of a multiprocessor, each may have 128 registers.
constexpr unsigned roomyThreads = 512;

/// What ptxas says of a function.
struct FunctionResources {
  std::string function;
  unsigned stackBytes = 0, spillBytes = 0;
  /// The `threads` of `limitBlocks` that it was assembled with, if it was.
  std::optional<unsigned> blockThreads = std::nullopt;
};

/// Says in the PTX of `function` that a multiprocessor need not have room for
/// more blocks than have `threads` threads together, or one. The assembler else
/// aims at a number of its own, and rather spills registers than have fewer.
void limitBlocks(std::string &ptx, llvm::StringRef function, unsigned threads);

/// What there is of a toolkit; empty strings stand for what is missing.
struct Toolkit {
  std::string ptxas, ptxasVersion;
  /// Functions of f64 as bitcode.
  std::string libdevice;

  /// The toolkit in `directory`, in which there must be a ptxas. If it is
  /// empty, the one that the environment variable CUDA_HOME names, that which
  /// remat was configured with, the one in its usual place, or a ptxas in PATH.
  static llvm::Expected<Toolkit> find(llvm::StringRef directory);

  /// Assembles PTX to a cubin for `chip`, and says what its functions need.
  /// Where a function spills, there are fewer of its blocks on a
  /// multiprocessor. An error has the messages of ptxas.
  llvm::Expected<llvm::SmallVector<char, 0>>
  assemble(llvm::StringRef ptx, llvm::StringRef chip,
           std::vector<FunctionResources> &resources) const;

private:
  llvm::Expected<llvm::SmallVector<char, 0>>
  run(llvm::StringRef ptx, llvm::StringRef chip,
      std::vector<FunctionResources> &resources) const;
};

} // namespace remat::cuda

#endif // REMAT_LIB_TARGET_CUDA_TOOLKIT_H

//===- KernelCache.h - compiled kernels, kept -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels are compiled once for all tasks that share them. A cache extends that
// to other steps: other budgets, edited models, later processes.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_CODEGEN_KERNELCACHE_H
#define REMAT_CODEGEN_KERNELCACHE_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <mutex>
#include <string>

namespace remat::codegen {

/// Machine code or bitcode in memory.
using ObjectCode = llvm::SmallVector<char, 0>;

/// Compiled code by a key that says what it was made from and for. Kept in
/// memory and, if it has one, in a directory, which several processes may use
/// at a time. Safe to use from several threads.
class KernelCache {
public:
  /// A cache in memory.
  KernelCache() = default;

  /// A cache in the directory as well, which is made if there is none. Its
  /// files that nobody read for a week are deleted; files of others stay. Fails
  /// if there is something else than a directory, or if another user could put
  /// code into it.
  static llvm::Expected<std::unique_ptr<KernelCache>>
  open(llvm::StringRef directory);

  /// What was stored under `key`, else what `compile` returns, which is then
  /// stored. A damaged file counts as none. Fails if `compile` fails. That the
  /// code cannot be written is a warning, after which no more is written.
  llvm::Expected<ObjectCode>
  get(llvm::StringRef key,
      llvm::function_ref<llvm::Expected<ObjectCode>()> compile);

  /// Why nothing can be written, once; empty if there is nothing to say.
  std::string takeWarning();

private:
  void warn(llvm::Error error);
  bool find(llvm::StringRef key, ObjectCode &code);

  std::string directory;
  std::mutex mutex;
  llvm::StringMap<ObjectCode> known;
  bool storing = true;
  std::string warning;
};

} // namespace remat::codegen

#endif // REMAT_CODEGEN_KERNELCACHE_H

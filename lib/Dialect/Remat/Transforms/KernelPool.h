//===- KernelPool.h - the kernels that tasks call ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_DIALECT_REMAT_TRANSFORMS_KERNELPOOL_H
#define REMAT_LIB_DIALECT_REMAT_TRANSFORMS_KERNELPOOL_H

#include "Clusters.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/StringMap.h"

namespace remat {

/// Whether each kernel makes its own `op` instead of reading it from a buffer.
bool isClonedIntoKernels(mlir::Operation *op);

/// What stands behind `value` but for operations that make nothing, as tags.
mlir::Value skipTransparent(mlir::Value value);

/// Makes the kernels of a module, one for each distinct body.
class KernelPool {
public:
  explicit KernelPool(mlir::ModuleOp module)
      : module(module), symbols(module) {}

  /// The kernel that computes what `op` does. `operands` receives the tensors
  /// that a task must pass to it.
  mlir::func::FuncOp getOrCreate(mlir::Operation *op,
                                 llvm::SmallVectorImpl<mlir::Value> &operands);

  /// The kernel that runs `loop`, with what is stacked and unstacked around it.
  /// It returns the loop's `getBufferResults`.
  mlir::func::FuncOp
  getOrCreateLoop(LoopOp loop, llvm::SmallVectorImpl<mlir::Value> &operands);

  /// The kernel that does all of `cluster`. `results` receives the values that
  /// are read outside of it.
  mlir::func::FuncOp getOrCreate(const Cluster &cluster,
                                 llvm::SmallVectorImpl<mlir::Value> &operands,
                                 llvm::SmallVectorImpl<mlir::Value> &results);

  /// The kernel that copies `value`, or makes it if it is not in a buffer.
  /// `transfers`: from or to host memory.
  mlir::func::FuncOp
  getOrCreateCopy(mlir::Value value,
                  llvm::SmallVectorImpl<mlir::Value> &operands,
                  bool transfers = false);

  unsigned size() const { return numKernels; }

  /// Takes back all kernels, when the module cannot be cut after all.
  void erase() {
    for (auto &entry : kernelsOfHash)
      for (mlir::func::FuncOp kernel : entry.second)
        kernel.erase();
  }

private:
  using BuildBody = llvm::function_ref<llvm::SmallVector<mlir::Value>(
      mlir::OpBuilder &, mlir::IRMapping &)>;

  std::string makeUnique(llvm::StringRef name);
  mlir::func::FuncOp getOrCreate(mlir::Location loc, llvm::StringRef name,
                                 llvm::ArrayRef<mlir::Operation *> prologue,
                                 llvm::ArrayRef<mlir::Value> operands,
                                 mlir::TypeRange results, BuildBody buildBody);

  mlir::ModuleOp module;
  mlir::SymbolTable symbols;
  llvm::DenseMap<llvm::hash_code, llvm::SmallVector<mlir::func::FuncOp, 1>>
      kernelsOfHash;
  /// How many kernels were called by each name.
  llvm::StringMap<unsigned> numOfName;
  unsigned numKernels = 0;
};

} // namespace remat

#endif // REMAT_LIB_DIALECT_REMAT_TRANSFORMS_KERNELPOOL_H

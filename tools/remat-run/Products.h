//===- Products.h - results and derivatives in files ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which derivatives to append to the model, as --emit or the options of a step
// ask for, and which files are their arguments and results.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TOOLS_REMAT_RUN_PRODUCTS_H
#define REMAT_TOOLS_REMAT_RUN_PRODUCTS_H

#include "common/Tensor.h"

#include "remat/Pipelines/StepOptions.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/Error.h"

namespace remat::run {

struct Products {
  llvm::SmallVector<DifferentiateOptions, 2> derivatives;
  /// The names of the files that arguments come from and results go to. A
  /// result without a name is not written.
  std::vector<std::string> argumentFiles, resultFiles;
  /// State that was in globals, at first: values of the arguments from number
  /// `firstState` on. A file for one is optional.
  std::vector<tools::Tensor> initialState;
  size_t firstState = 0;

  /// From this argument on, sums that gradients are added to: zeros without a
  /// file.
  size_t firstSum = SIZE_MAX;

  /// Results of the function itself, which come first, without those that an
  /// optimizer uses up: `used` numbers these among all that it returns.
  size_t ownResults = SIZE_MAX;
  llvm::SmallDenseSet<size_t> used;

  const tools::Tensor *findInitialState(size_t argument) const {
    return argument - firstState < initialState.size()
               ? &initialState[argument - firstState]
               : nullptr;
  }
};

/// `modes` are the words after --emit: 'forward' for the results, 'vjp' for
/// their vector-Jacobian products, 'jvp' for Jacobian-vector products, 'hvp'
/// for the tangents of the vector-Jacobian products at fixed cotangents.
/// `wrt` are the numbers of the arguments to differentiate with respect to; if
/// empty, all of floating point.
llvm::Expected<Products> planProducts(mlir::FunctionOpInterface entry,
                                      llvm::ArrayRef<std::string> modes,
                                      llvm::ArrayRef<int64_t> wrt);

/// The results of `entry`, and of the derivatives that `step` asks for the
/// gradients or vector-Jacobian products ('vjp'), the tangents of the results
/// ('jvp') and those of the gradients ('hvp').
Products planProducts(mlir::FunctionOpInterface entry, const StepOptions &step);

/// Names the files of the state and of the updates that an optimizer has added,
/// so that there are as many `arguments` and `results`: state0.npy, ... and
/// update0.npy, ... in the step's order.
void addOptimizerFiles(size_t arguments, size_t results, Products &products);

} // namespace remat::run

#endif // REMAT_TOOLS_REMAT_RUN_PRODUCTS_H

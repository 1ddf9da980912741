//===- StepData.h - what a step is given and makes --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TOOLS_REMAT_RUN_STEPDATA_H
#define REMAT_TOOLS_REMAT_RUN_STEPDATA_H

#include "Products.h"

#include "common/Manifest.h"

#include "remat/Runtime/Runtime.h"
#include "remat/Support/OutputFiles.h"

namespace remat::run {

/// The arguments of a step of the model: as the manifest says, or, without one,
/// read from --inputs.
llvm::Expected<std::vector<tools::Tensor>>
makeArguments(const remat_step *step, const Products &products,
              const tools::Manifest *manifest);

/// Adds the results to the files that are written to --outputs.
llvm::Error writeResults(llvm::ArrayRef<tools::Tensor> results,
                         const Products &products, OutputFiles &files);

} // namespace remat::run

#endif // REMAT_TOOLS_REMAT_RUN_STEPDATA_H

//===- Passes.h - clean-up of what exporters produce ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Graphs of PyTorch, JAX, ONNX and TOSA arrive as linalg on tensors, each
// with habits of its own. These passes bring them to one form, which
// `remat-import-verify` describes and checks.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_CONVERSION_IMPORT_PASSES_H
#define REMAT_CONVERSION_IMPORT_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassOptions.h"

#include "remat/Dialect/Remat/IR/Remat.h"

namespace remat {

#define GEN_PASS_DECL
#include "remat/Conversion/Import/Passes.h.inc"

struct ImportPipelineOptions
    : public mlir::PassPipelineOptions<ImportPipelineOptions> {
  Option<std::string> function{
      *this, "function", llvm::cl::desc("Name of the function to compile"),
      llvm::cl::init("main")};
  Option<bool> fuse{*this, "fuse",
                    llvm::cl::desc("Fuse elementwise operations at the end"),
                    llvm::cl::init(true)};
};

/// Adds the passes that turn an exporter's module into one function in the
/// form that `remat-import-verify` checks.
void buildImportPipeline(mlir::OpPassManager &pm,
                         const ImportPipelineOptions &options);

/// Registers the passes and the pipeline `remat-import-pipeline`.
void registerRematImportPasses();

} // namespace remat

#endif // REMAT_CONVERSION_IMPORT_PASSES_H

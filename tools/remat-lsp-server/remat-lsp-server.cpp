//===- remat-lsp-server.cpp - IR with remat's dialect in an editor --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// mlir-lsp-server for IR of all levels, see docs/embedding.md.
//
//===----------------------------------------------------------------------===//

#include "remat/Pipelines/Pipelines.h"

#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  remat::registerRematDialects(registry);
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}

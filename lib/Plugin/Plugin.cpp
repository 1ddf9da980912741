//===- Plugin.cpp - remat for tools that load plugins ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A stock mlir-opt with this plugin knows remat's dialect and passes:
//
//   mlir-opt --load-dialect-plugin=RematPlugin.so \
//            --load-pass-plugin=RematPlugin.so \
//            --pass-pipeline='builtin.module(remat-pipeline{budget=60%})'
//
// The tool has registered upstream's dialects itself and links the same shared
// libMLIR, so the plugin adds only what is remat's.
//
//===----------------------------------------------------------------------===//

#include "remat/Pipelines/Pipelines.h"

#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "mlir/Tools/Plugins/PassPlugin.h"

extern "C" ::mlir::DialectPluginLibraryInfo mlirGetDialectPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "RematPlugin", REMAT_VERSION,
          [](mlir::DialectRegistry *registry) {
            remat::registerRematExtensions(*registry);
          }};
}

extern "C" ::mlir::PassPluginLibraryInfo mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "RematPlugin", REMAT_VERSION,
          [] { remat::registerRematPasses(); }};
}

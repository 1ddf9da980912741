//===- registration.c - remat in a program that uses MLIR's C API ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// registration MODEL: parses a model into a context of the program's own and
// runs remat's pipeline on it by a pass manager of the program's own.
//
//===----------------------------------------------------------------------===//

#include "remat-c/Registration.h"

#include "mlir-c/Pass.h"

#include <stdio.h>
#include <stdlib.h>

static void print(MlirStringRef text, void *file) {
  fwrite(text.data, 1, text.length, file);
}

int main(int argc, char **argv) {
  static char text[1 << 20];
  FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
  size_t size = file ? fread(text, 1, sizeof(text), file) : 0;
  if (!size)
    return 2;
  fclose(file);
  MlirDialectRegistry registry = mlirDialectRegistryCreate();
  rematRegisterDialects(registry);
  MlirContext context = mlirContextCreateWithRegistry(registry, true);
  mlirDialectRegistryDestroy(registry);
  rematRegisterPasses();
  rematRegisterPasses();

  MlirModule module =
      mlirModuleCreateParse(context, mlirStringRefCreate(text, size));
  if (mlirModuleIsNull(module))
    return 1;
  MlirPassManager manager = mlirPassManagerCreate(context);
  MlirStringRef pipeline =
      mlirStringRefCreateFromCString("remat-pipeline{budget=60%}");
  if (mlirLogicalResultIsFailure(mlirOpPassManagerAddPipeline(
          mlirPassManagerGetAsOpPassManager(manager), pipeline, print,
          stderr)) ||
      mlirLogicalResultIsFailure(
          mlirPassManagerRunOnOp(manager, mlirModuleGetOperation(module))))
    return 1;
  mlirOperationPrint(mlirModuleGetOperation(module), print, stdout);
  mlirPassManagerDestroy(manager);
  mlirModuleDestroy(module);
  mlirContextDestroy(context);
  return 0;
}

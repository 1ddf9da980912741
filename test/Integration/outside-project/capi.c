//===- capi.c - a program that compiles by the C API ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// capi MODEL: plans the model for all of its bytes, and loads it.
//
//===----------------------------------------------------------------------===//

#include "remat-c/Remat.h"
#include "remat/Runtime/Runtime.h"

#include <stdio.h>

int main(int argc, char **argv) {
  RematContext context = rematContextCreate();
  RematOptions options = rematOptionsCreate(context);
  RematModule module = {NULL};
  RematCode code = {NULL};
  remat_step *step = NULL;
  if (argc != 2 || rematOptionsSet(options, "budget", "100%") ||
      rematModuleParseFile(context, argv[1], &module) ||
      rematModuleCompile(module, REMAT_LEVEL_PLACED, options) ||
      rematModuleLoad(module, options, &code) ||
      remat_step_load(rematCodeGetModule(code), NULL, &step)) {
    fprintf(stderr, "%s%s\n", rematContextGetError(context),
            remat_last_error());
    return 1;
  }
  remat_step_free(step);
  rematCodeDestroy(code);
  rematModuleDestroy(module);
  rematOptionsDestroy(options);
  rematContextDestroy(context);
  return 0;
}

//===- foreign.c - modules of foreign dialects ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// foreign MODEL: names argument 0 of the model 'first', compiles it, and prints
// its summary, or says what is wrong with it.
//
//===----------------------------------------------------------------------===//

#include "remat-c/Remat.h"

#include <stdio.h>

static RematContext context;

static int report(const char *what, RematStatus status) {
  if (status != REMAT_STATUS_OK)
    printf("%s: %s: %s\n", what, rematStatusGetName(status),
           rematContextGetError(context));
  return status != REMAT_STATUS_OK;
}

int main(int argc, char **argv) {
  RematModule module;
  RematBytes summary = {NULL, 0};
  if (argc != 2)
    return 2;
  context = rematContextCreate();
  RematOptions options = rematOptionsCreate(context);
  if (!report("parse", rematModuleParseFile(context, argv[1], &module)) &&
      !report("name", rematModuleNameArgument(module, options, 0, "first")) &&
      !report("compile",
              rematModuleCompile(module, REMAT_LEVEL_PLACED, options)) &&
      !report("summary", rematModuleGetSummary(module, &summary)))
    printf("%s\n", summary.data);
  rematBytesFree(&summary);
  rematModuleDestroy(module);
  rematOptionsDestroy(options);
  rematContextDestroy(context);
  return 0;
}

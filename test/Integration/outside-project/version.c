//===- version.c - a program that has the runtime only --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Runtime/Runtime.h"

#include <string.h>

int main(void) {
  remat_module module = {
      REMAT_STEP_TABLE_VERSION + 1, NULL, 0, NULL, 0, NULL, NULL};
  remat_step *step;
  if (remat_step_load(&module, NULL, &step) != REMAT_INVALID_MODULE)
    return 1;
  return strstr(remat_last_error(), "version") ? 0 : 1;
}

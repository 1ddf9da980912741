//===- train.c - a step that remat_add_step compiled ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlp.h"

#include <stdio.h>

int main(void) {
  remat_step *step;
  if (remat_step_load(&mlp, NULL, &step) != REMAT_OK) {
    fprintf(stderr, "%s\n", remat_last_error());
    return 1;
  }
  int same = remat_step_argument_count(step) == MLP_ARGUMENT_COUNT &&
             remat_step_arena_bytes(step) == MLP_ARENA_BYTES;
  remat_step_free(step);
  return same ? 0 : 1;
}

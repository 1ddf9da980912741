//===- separate-calls.c - forward and backward calls from C ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two forward calls on different data, then the backward call of each: results
// and gradients are those of two whole runs, bit for bit.
//
//===----------------------------------------------------------------------===//

#include "mlp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCHES = 2 };

static remat_tensor arguments[BATCHES][MLP_ARGUMENT_COUNT];
static remat_tensor whole[BATCHES][MLP_RESULT_COUNT];
static remat_tensor parts[BATCHES][MLP_RESULT_COUNT];

static void check(int good, const char *what) {
  if (good)
    return;
  fprintf(stderr, "%s: %s\n", what, remat_last_error());
  exit(1);
}

/// Memory at a multiple of 64, which is never freed.
static void *allocate(uint64_t bytes) {
  char *memory = calloc(bytes + REMAT_ALIGNMENT, 1);
  check(memory != NULL, "memory");
  return memory + (REMAT_ALIGNMENT - (uintptr_t)memory % REMAT_ALIGNMENT);
}

static remat_tensor makeTensor(const remat_tensor_info *info, int batch) {
  remat_tensor tensor;
  uint64_t i;
  tensor.data = allocate(info->bytes);
  tensor.dtype = (int32_t)info->dtype;
  tensor.rank = info->rank;
  tensor.dims = info->dims;
  if (info->dtype == REMAT_F32)
    for (i = 0; i < info->bytes / sizeof(float); ++i)
      ((float *)tensor.data)[i] =
          (float)((i * 37 + (uint64_t)batch * 11) % 101) / 500.0f - 0.1f;
  return tensor;
}

int main(void) {
  remat_step *step;
  remat_state states[BATCHES];
  remat_step_stats stats;
  remat_tensor_info info;
  int batch;
  size_t i;
  memset(states, 0, sizeof(states));
  check(remat_step_load(&mlp, NULL, &step) == REMAT_OK, "load");
  check(remat_step_backward_count(step) == MLP_BACKWARD_COUNT, "count");
  check(remat_step_state_bytes(step) == MLP_STATE_BYTES, "state");
  for (batch = 0; batch < BATCHES; ++batch) {
    for (i = 0; i < MLP_ARGUMENT_COUNT; ++i) {
      remat_step_argument(step, i, &info);
      arguments[batch][i] = makeTensor(&info, batch);
    }
    for (i = 0; i < MLP_RESULT_COUNT; ++i) {
      remat_step_result(step, i, &info);
      whole[batch][i] = makeTensor(&info, 0);
      parts[batch][i] = makeTensor(&info, 0);
    }
    check(remat_step_run(step, arguments[batch], MLP_ARGUMENT_COUNT,
                         whole[batch], MLP_RESULT_COUNT) == REMAT_OK,
          "run");
  }
  for (batch = 0; batch < BATCHES; ++batch) {
    states[batch].data = allocate(MLP_STATE_BYTES);
    states[batch].bytes = MLP_STATE_BYTES;
    check(remat_step_forward(step, arguments[batch], MLP_ARGUMENT_COUNT,
                             parts[batch], MLP_RESULT_COUNT,
                             &states[batch]) == REMAT_OK,
          "forward");
    remat_step_get_stats(step, &stats);
    check(stats.state_bytes == MLP_STATE_BYTES, "state bytes");
  }
  for (batch = BATCHES - 1; batch >= 0; --batch)
    check(remat_step_backward(step, 0, arguments[batch], MLP_ARGUMENT_COUNT,
                              parts[batch], MLP_RESULT_COUNT,
                              &states[batch]) == REMAT_OK,
          "backward");
  check(remat_step_backward(step, 0, arguments[0], MLP_ARGUMENT_COUNT, parts[0],
                            MLP_RESULT_COUNT,
                            &states[0]) == REMAT_INVALID_ARGUMENT,
        "backward again");
  for (batch = 0; batch < BATCHES; ++batch)
    for (i = 0; i < MLP_RESULT_COUNT; ++i) {
      remat_step_result(step, i, &info);
      check(memcmp(whole[batch][i].data, parts[batch][i].data, info.bytes) == 0,
            "results differ");
    }
  remat_step_free(step);
  return 0;
}

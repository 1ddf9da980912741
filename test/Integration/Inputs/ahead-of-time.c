//===- ahead-of-time.c - a C program that trains --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs a step compiled by remat-compile, knowing only the header made with it.
// Prints FileCheck lines that hold for the report of remat-run on the same
// model: loss and gradients are the same bits. Then makes every mistake that
// the C API has a code for. The arguments are those of mlp_tiny.json.
//
//===----------------------------------------------------------------------===//

#include "mlp.h"
#include "remat/Runtime/Runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static remat_tensor arguments[MLP_ARGUMENT_COUNT];
static remat_tensor results[MLP_RESULT_COUNT];
static int failures = 0;

static void fail(const char *what, const char *why) {
  fprintf(stderr, "%s: %s\n", what, why);
  ++failures;
}

/// The status is the expected one, and its message has `words` in it.
static void expect(const char *what, remat_status status, remat_status expected,
                   const char *message, const char *words) {
  if (status != expected)
    fail(what, remat_status_name(status));
  if (!strstr(message, words))
    fail(what, message);
  else if (status != REMAT_OK)
    fprintf(stderr, "as expected: %s: %s\n", remat_status_name(status),
            message);
}

static void *allocate(size_t bytes) {
  void *memory = malloc(bytes ? bytes : 1);
  if (!memory)
    exit(2);
  return memory;
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

static uint64_t splitmix64(uint64_t z) {
  z += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

/// The manifest's ranges of the weights and the data; the labels follow.
static const double bounds[] = {0.21650635094610965,
                                0.05,
                                0.15309310892394862,
                                0.05,
                                0.15309310892394862,
                                0.05,
                                1.0};
enum { LABELS = 7, CLASSES = 10 };

static void fillArgument(unsigned number, uint64_t bytes) {
  uint64_t first = (uint64_t)(number + 1) << 32, i;
  if (number == LABELS) {
    int64_t *labels = arguments[number].data;
    for (i = 0; i < bytes / sizeof(*labels); ++i)
      labels[i] = (int64_t)((splitmix64(first + i) >> 33) % CLASSES);
    return;
  }
  float *values = arguments[number].data;
  double high = bounds[number], low = -high;
  for (i = 0; i < bytes / sizeof(*values); ++i)
    values[i] =
        (float)(low + (high - low) * (double)(splitmix64(first + i) >> 40) /
                          16777216.0);
}

static void makeTensors(const remat_step *step) {
  remat_tensor_info info;
  unsigned i;
  for (i = 0; i < MLP_ARGUMENT_COUNT; ++i) {
    if (remat_step_argument(step, i, &info) != REMAT_OK)
      exit(2);
    arguments[i].data = allocate(info.bytes);
    arguments[i].dtype = (int32_t)info.dtype;
    arguments[i].rank = info.rank;
    arguments[i].dims = info.dims;
    fillArgument(i, info.bytes);
  }
  for (i = 0; i < MLP_RESULT_COUNT; ++i) {
    if (remat_step_result(step, i, &info) != REMAT_OK)
      exit(2);
    results[i].data = allocate(info.bytes);
    results[i].dtype = (int32_t)info.dtype;
    results[i].rank = info.rank;
    results[i].dims = info.dims;
  }
}

//===----------------------------------------------------------------------===//
// The good case
//===----------------------------------------------------------------------===//

static remat_status run(remat_step *step) {
  return remat_step_run(step, arguments, MLP_ARGUMENT_COUNT, results,
                        MLP_RESULT_COUNT);
}

/// What remat-run's report must say, in the order in which it does.
static void printExpectations(const remat_step *step) {
  remat_step_stats stats;
  unsigned i;
  remat_step_get_stats(step, &stats);
  if (stats.arena_bytes != MLP_ARENA_BYTES || stats.degraded_calls != 0)
    fail("stats", "not those of the header");
  printf("CHECK: \"arena_bytes\": %llu,\n",
         (unsigned long long)MLP_ARENA_BYTES);
  for (i = 1; i < MLP_RESULT_COUNT; ++i) {
    remat_tensor_info info;
    const float *gradient = results[i].data;
    double sum = 0;
    uint64_t k;
    if (remat_step_result(step, i, &info) != REMAT_OK)
      exit(2);
    for (k = 0; k < info.bytes / sizeof(*gradient); ++k)
      sum += gradient[k];
    printf("CHECK-DAG: \"sum\": %.17g\n", sum);
  }
  printf("CHECK: \"loss\": %.17g,\n", *(const float *)results[0].data);
  printf("CHECK: \"measured_peak_bytes\": %llu,\n",
         (unsigned long long)stats.measured_peak_bytes);
}

//===----------------------------------------------------------------------===//
// Mistakes
//===----------------------------------------------------------------------===//

static void passWrongTensors(remat_step *step) {
  remat_tensor kept = arguments[0];
  int64_t dims[3] = {128, 63, 1};
  expect("one argument less",
         remat_step_run(step, arguments, MLP_ARGUMENT_COUNT - 1, results,
                        MLP_RESULT_COUNT),
         REMAT_INVALID_ARGUMENT, remat_step_error(step),
         "got 7 arguments, expected 8");
  expect("no results",
         remat_step_run(step, arguments, MLP_ARGUMENT_COUNT, NULL, 0),
         REMAT_INVALID_ARGUMENT, remat_step_error(step),
         "got 0 results, expected 7");
  arguments[0].data = NULL;
  expect("no data", run(step), REMAT_INVALID_ARGUMENT, remat_step_error(step),
         "argument 0 'ls.0.weight' has no data");
  arguments[0] = kept;
  arguments[0].dtype = REMAT_F64;
  expect("dtype", run(step), REMAT_INVALID_ARGUMENT, remat_step_error(step),
         "'128x64xf64', expected '128x64xf32'");
  arguments[0].dtype = 1000;
  expect("no dtype", run(step), REMAT_INVALID_ARGUMENT, remat_step_error(step),
         "unknown");
  arguments[0] = kept;
  arguments[0].dims = dims;
  expect("shape", run(step), REMAT_INVALID_ARGUMENT, remat_step_error(step),
         "'128x63xf32', expected '128x64xf32'");
  dims[1] = 64;
  arguments[0].rank = 3;
  expect("rank", run(step), REMAT_INVALID_ARGUMENT, remat_step_error(step),
         "of rank 3, expected '128x64xf32'");
  arguments[0] = kept;
  kept = results[1];
  results[1].data = (char *)arguments[0].data + 4;
  expect("overlap", run(step), REMAT_INVALID_ARGUMENT, remat_step_error(step),
         "result 1 'ls.0.weight.grad' overlaps argument 0 'ls.0.weight'");
  results[1].data = results[3].data;
  expect("results overlap", run(step), REMAT_INVALID_ARGUMENT,
         remat_step_error(step),
         "result 3 'ls.1.weight.grad' overlaps result 1");
  results[1] = kept;
}

/// A label that is no class, and then the good one again.
static void passBadIndex(remat_step *step, float loss) {
  int64_t *label = (int64_t *)arguments[LABELS].data + 5;
  int64_t kept = *label;
  *label = CLASSES;
  expect("class 10 of 10", run(step), REMAT_INDEX_OUT_OF_BOUNDS,
         remat_step_error(step), "index 10 is out of bounds, expected 0 to 9");
  expect("names the op", REMAT_OK, REMAT_OK, remat_step_error(step),
         "'select_gather_");
  expect("names the line", REMAT_OK, REMAT_OK, remat_step_error(step),
         "mlp_tiny.mlir:");
  *label = -1;
  expect("class -1", run(step), REMAT_INDEX_OUT_OF_BOUNDS,
         remat_step_error(step), "index -1 is out of bounds");
  *label = kept;
  expect("after an error", run(step), REMAT_OK, remat_step_error(step), "");
  if (memcmp(results[0].data, &loss, sizeof(loss)) != 0)
    fail("after an error", "the loss is another");
}

static void useOwnArena(void) {
  char *memory = allocate(MLP_ARENA_BYTES + REMAT_ALIGNMENT);
  remat_step_options options = {0};
  remat_step *step = NULL;
  options.arena =
      memory + (REMAT_ALIGNMENT - (uintptr_t)memory % REMAT_ALIGNMENT);
  options.arena_bytes = MLP_ARENA_BYTES - 1;
  expect("small arena", remat_step_load(&mlp, &options, &step),
         REMAT_INVALID_ARGUMENT, remat_last_error(), "option 'arena' has");
  if (step)
    fail("small arena", "leaves a step");
  options.arena_bytes = MLP_ARENA_BYTES;
  options.arena = (char *)options.arena + 1;
  expect("unaligned arena", remat_step_load(&mlp, &options, &step),
         REMAT_INVALID_ARGUMENT, remat_last_error(),
         "1 bytes past a multiple of 64");
  options.arena = (char *)options.arena - 1;
  expect("own arena", remat_step_load(&mlp, &options, &step), REMAT_OK, "", "");
  expect("run in it", run(step), REMAT_OK, "", "");
  remat_step_free(step);
  options.threads = -1;
  expect("threads", remat_step_load(&mlp, &options, &step),
         REMAT_INVALID_ARGUMENT, remat_last_error(), "'threads' is -1");
  free(memory);
}

/// Modules that are damaged, or need more memory than there is.
static void loadBadModules(void) {
  remat_module module = mlp;
  remat_step_header header;
  remat_step *step = NULL;
  char *blob = allocate(mlp.blob_bytes);
  module.version += 1;
  expect("other version", remat_step_load(&module, NULL, &step),
         REMAT_INVALID_MODULE, remat_last_error(), "version");
  module = mlp;
  module.blob_bytes /= 2;
  expect("cut off", remat_step_load(&module, NULL, &step), REMAT_INVALID_MODULE,
         remat_last_error(), "");
  memcpy(blob, mlp.blob, mlp.blob_bytes);
  module = mlp;
  module.blob = blob;
  blob[mlp.blob_bytes - 1] ^= 4;
  expect("damaged", remat_step_load(&module, NULL, &step), REMAT_INVALID_MODULE,
         remat_last_error(), "is damaged: its checksum");
  blob[mlp.blob_bytes - 1] ^= 4;
  memcpy(&header, blob, sizeof(header));
  header.arena_bytes = UINT64_C(1) << 62;
  memcpy(blob, &header, sizeof(header));
  header.checksum = remat_table_checksum(blob, mlp.blob_bytes);
  memcpy(blob, &header, sizeof(header));
  expect("huge arena", remat_step_load(&module, NULL, &step),
         REMAT_OUT_OF_MEMORY, remat_last_error(),
         "cannot allocate an arena of 4611686018427387904 bytes");
  if (step)
    fail("huge arena", "leaves a step");
  free(blob);
}

int main(void) {
  remat_step_options options = {
      1, REMAT_STEP_POISON, NULL, 0, REMAT_CHECK_METADATA, NULL, 0, NULL, 0};
  remat_step *step;
  unsigned i;
  float loss;
  if (remat_step_load(&mlp, &options, &step) != REMAT_OK) {
    fail("load", remat_last_error());
    return 1;
  }
  if (remat_step_argument_count(step) != MLP_ARGUMENT_COUNT ||
      remat_step_result_count(step) != MLP_RESULT_COUNT ||
      remat_step_host_bytes(step) != MLP_HOST_BYTES)
    fail("header", "is not the module's");
  makeTensors(step);
  expect("run", run(step), REMAT_OK, remat_step_error(step), "");
  loss = *(const float *)results[0].data;
  // What PyTorch computed, see the manifest.
  if (!(loss > 2.35233 && loss < 2.35235))
    fail("loss", "is not that of PyTorch");
  printExpectations(step);
  passWrongTensors(step);
  passBadIndex(step, loss);
  remat_step_free(step);
  useOwnArena();
  loadBadModules();
  for (i = 0; i < MLP_ARGUMENT_COUNT; ++i)
    free(arguments[i].data);
  for (i = 0; i < MLP_RESULT_COUNT; ++i)
    free(results[i].data);
  return failures ? 1 : 0;
}

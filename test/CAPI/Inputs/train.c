//===- train.c - a model from text to a step that ran ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// train MODEL OBJECT HEADER: plans the model for a budget of 60 % and for none,
// runs both, and checks that the budget changes no bit of the results and that
// promised, counted and measured peaks are equal. Then writes the planned step
// to files.
//
//===----------------------------------------------------------------------===//

#include "remat-c/Remat.h"
#include "remat/Runtime/Runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static RematContext context;

static void fail(const char *what, const char *why) {
  fprintf(stderr, "%s: %s\n", what, why);
  exit(1);
}

static void check(const char *what, RematStatus status) {
  if (status != REMAT_STATUS_OK) {
    fprintf(stderr, "%s: ", rematStatusGetName(status));
    fail(what, rematContextGetError(context));
  }
}

static void *allocate(size_t bytes) {
  void *memory = calloc(bytes ? bytes : 1, 1);
  if (!memory)
    fail("allocate", "out of memory");
  return memory;
}

static RematBytes readFile(const char *path) {
  RematBytes text = {NULL, 0};
  FILE *file = fopen(path, "rb");
  if (!file || fseek(file, 0, SEEK_END))
    fail(path, "cannot be read");
  text.size = (size_t)ftell(file);
  rewind(file);
  text.data = allocate(text.size);
  if (fread(text.data, 1, text.size, file) != text.size)
    fail(path, "cannot be read");
  fclose(file);
  return text;
}

/// The number behind "key": in a report.
static long long getNumber(RematBytes json, const char *key) {
  char pattern[64];
  sprintf(pattern, "\"%s\": ", key);
  const char *found = strstr(json.data, pattern);
  if (!found)
    fail(key, "is not in the report");
  return strtoll(found + strlen(pattern), NULL, 10);
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

typedef struct Run {
  RematBytes summary;
  size_t count;
  remat_tensor *results;
  remat_tensor_info *infos;
  remat_step_stats stats;
} Run;

/// Numbers that depend on their place only; indices are classes or words.
static void fill(remat_tensor tensor, const remat_tensor_info *info,
                 size_t number) {
  uint64_t i, elements = info->bytes / remat_dtype_bytes(info->dtype);
  for (i = 0; i < elements; ++i) {
    if (info->dtype == REMAT_F32)
      ((float *)tensor.data)[i] =
          0.25f * (float)((i * 7 + number * 3) % 11) / 10.0f - 0.1f;
    else if (info->dtype == REMAT_I64)
      ((int64_t *)tensor.data)[i] = (int64_t)((i + number) % 3);
    else
      fail(info->name, "has a dtype that the test does not know");
  }
}

static remat_tensor makeTensor(const remat_tensor_info *info) {
  remat_tensor tensor;
  tensor.data = allocate(info->bytes);
  tensor.dtype = (int32_t)info->dtype;
  tensor.rank = info->rank;
  tensor.dims = info->dims;
  return tensor;
}

/// Plans, compiles and runs a module that is at the level of tasks.
static Run run(RematModule tasks, RematOptions options, RematModule *placed) {
  Run run;
  RematCode code;
  remat_step *step;
  size_t i, count;
  check("clone", rematModuleClone(tasks, placed));
  check("plan", rematModuleCompile(*placed, REMAT_LEVEL_PLACED, options));
  if (rematModuleGetLevel(*placed) != REMAT_LEVEL_PLACED)
    fail("plan", "left another level");
  check("summary", rematModuleGetSummary(*placed, &run.summary));
  check("load", rematModuleLoad(*placed, options, &code));
  remat_step_options stepOptions;
  memset(&stepOptions, 0, sizeof(stepOptions));
  stepOptions.threads = 1;
  stepOptions.flags = REMAT_STEP_POISON;
  if (remat_step_load(rematCodeGetModule(code), &stepOptions, &step) !=
      REMAT_OK)
    fail("remat_step_load", remat_last_error());

  count = remat_step_argument_count(step);
  remat_tensor *arguments = allocate(count * sizeof(*arguments));
  for (i = 0; i < count; ++i) {
    remat_tensor_info info;
    remat_step_argument(step, i, &info);
    arguments[i] = makeTensor(&info);
    fill(arguments[i], &info, i);
  }
  run.count = remat_step_result_count(step);
  run.results = allocate(run.count * sizeof(*run.results));
  run.infos = allocate(run.count * sizeof(*run.infos));
  for (i = 0; i < run.count; ++i) {
    remat_step_result(step, i, &run.infos[i]);
    run.results[i] = makeTensor(&run.infos[i]);
  }
  if (remat_step_run(step, arguments, count, run.results, run.count) !=
      REMAT_OK)
    fail("remat_step_run", remat_step_error(step));
  remat_step_get_stats(step, &run.stats);
  for (i = 0; i < count; ++i)
    free(arguments[i].data);
  free(arguments);
  remat_step_free(step);
  rematCodeDestroy(code);
  return run;
}

static void checkPeaks(const Run *run) {
  long long planned = getNumber(run->summary, "planned_peak_bytes");
  long long simulated = getNumber(run->summary, "simulated_peak_bytes");
  long long measured = (long long)run->stats.measured_peak_bytes;
  printf("planned %lld, simulated %lld, measured %lld\n", planned, simulated,
         measured);
  if (planned != simulated || planned != measured)
    fail("peaks", "differ");
  if (getNumber(run->summary, "recomputed_tasks") !=
      (long long)run->stats.recomputed_entries)
    fail("recomputed tasks", "differ");
  if (getNumber(run->summary, "arena_bytes") !=
      (long long)run->stats.arena_bytes)
    fail("arenas", "differ");
}

static void freeRun(Run *run) {
  size_t i;
  for (i = 0; i < run->count; ++i)
    free(run->results[i].data);
  free(run->results);
  free(run->infos);
  rematBytesFree(&run->summary);
}

//===----------------------------------------------------------------------===//
// The module in other forms
//===----------------------------------------------------------------------===//

/// What is written can be read again, and is the same then.
static void checkForms(RematModule placed) {
  RematBytes text, bytecode, again;
  RematModule fromText, fromBytecode;
  check("print", rematModulePrint(placed, &text));
  check("write", rematModuleWriteBytecode(placed, &bytecode));
  check("text", rematModuleParse(context, text.data, text.size, "placed.mlir",
                                 &fromText));
  check("bytecode", rematModuleParse(context, bytecode.data, bytecode.size,
                                     NULL, &fromBytecode));
  if (rematModuleGetLevel(fromText) != REMAT_LEVEL_PLACED ||
      rematModuleGetLevel(fromBytecode) != REMAT_LEVEL_PLACED)
    fail("forms", "lose the level");
  check("print", rematModulePrint(fromBytecode, &again));
  if (again.size != text.size || memcmp(again.data, text.data, text.size))
    fail("bytecode", "gives another module");
  rematBytesFree(&text);
  rematBytesFree(&bytecode);
  rematBytesFree(&again);
  rematModuleDestroy(fromText);
  rematModuleDestroy(fromBytecode);
}

static void checkFile(const char *path, RematBytes expected) {
  RematBytes found = readFile(path);
  if (found.size != expected.size ||
      memcmp(found.data, expected.data, found.size))
    fail(path, "is not what was emitted to memory");
  free(found.data);
}

static void emit(RematModule placed, RematOptions options, const char *object,
                 const char *header) {
  RematBytes code, text;
  check("emit", rematModuleEmitObject(placed, options, &code, &text));
  check("write", rematModuleWriteObject(placed, options, object, header));
  checkFile(object, code);
  checkFile(header, text);
  rematBytesFree(&code);
  rematBytesFree(&text);
  if (rematModuleGetLevel(placed) != REMAT_LEVEL_PLACED)
    fail("emit", "changed the module's level");
}

int main(int argc, char **argv) {
  static const char json[] = "{\"budget\": \"60%\", \"threads\": 1}";
  RematModule tasks, planned, unplanned;
  Run limited, unlimited;
  size_t i;
  if (argc != 4)
    return 2;
  context = rematContextCreate();
  RematOptions options = rematOptionsCreate(context);
  check("options", rematOptionsSetJson(options, json, strlen(json)));

  RematBytes text = readFile(argv[1]);
  check("parse",
        rematModuleParse(context, text.data, text.size, argv[1], &tasks));
  free(text.data);
  check("compile", rematModuleCompile(tasks, REMAT_LEVEL_TASKS, options));

  limited = run(tasks, options, &planned);
  check("options", rematOptionsSet(options, "budget", ""));
  unlimited = run(tasks, options, &unplanned);
  checkPeaks(&limited);
  checkPeaks(&unlimited);
  if (getNumber(limited.summary, "arena_bytes") >
      getNumber(limited.summary, "budget_bytes"))
    fail("arena", "exceeds the budget");
  if (!limited.stats.recomputed_entries || unlimited.stats.recomputed_entries)
    fail("recomputation", "is not where it was asked for");
  if (limited.count != unlimited.count)
    fail("results", "differ in number");
  for (i = 0; i < limited.count; ++i)
    if (memcmp(limited.results[i].data, unlimited.results[i].data,
               limited.infos[i].bytes))
      fail(limited.infos[i].name, "has other bits under the budget");

  checkForms(planned);
  emit(planned, options, argv[2], argv[3]);
  printf("%s\n", limited.summary.data);

  freeRun(&limited);
  freeRun(&unlimited);
  // In any order: objects keep their context.
  rematContextDestroy(context);
  rematModuleDestroy(unplanned);
  rematOptionsDestroy(options);
  rematModuleDestroy(planned);
  rematModuleDestroy(tasks);
  return 0;
}

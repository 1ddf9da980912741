//===- watch.c - how far searches are, and how they end early -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// watch MODEL INSTANCE LOOP: would search for ten minutes, but for what it is
// told. The smallest plans of the loop are searched for to the end.
//
//===----------------------------------------------------------------------===//

#include "remat-c/Remat.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct Watch {
  RematOptions options;
  /* How often it was told; 0 lets the search go on to its end. */
  int calls, ends_after;
  RematProgress last;
};

static int failures = 0;
/* The thread that calls the library, whatever threads that has. */
static pthread_t caller;

static void check(int is_true, const char *what) {
  if (is_true)
    return;
  printf("not true: %s\n", what);
  ++failures;
}

static void on_progress(const RematProgress *progress, void *user) {
  struct Watch *watch = user;
  if (watch->ends_after == 0 && watch->calls > 0) {
    check(progress->peakBytes < watch->last.peakBytes ||
              (progress->peakBytes == watch->last.peakBytes &&
               progress->time < watch->last.time),
          "a plan is better than that before");
    check(progress->baseTime > watch->last.baseTime / 2,
          "a plan is that of the step and not of a part");
  }
  check(pthread_equal(pthread_self(), caller),
        "the calling thread is the one that is told");
  watch->last = *progress;
  ++watch->calls;
  check(strlen(progress->planner) > 0, "a planner has a name");
  check(progress->seconds >= 0, "time has passed");
  check(progress->lowerBound <= progress->time, "the bound is one");
  check(progress->baseTime <= progress->time, "each task runs once");
  check(progress->peakBytes > 0, "a plan needs memory");
  if (watch->calls == watch->ends_after)
    rematOptionsInterrupt(watch->options, 1);
}

/* A call that searches, of which the first plan is enough. */
#define WATCHED(call)                                                          \
  do {                                                                         \
    watch.calls = 0;                                                           \
    rematOptionsInterrupt(options, 0);                                         \
    if ((call) != REMAT_STATUS_OK) {                                           \
      printf("%s: %s\n", #call, rematContextGetError(context));                \
      ++failures;                                                              \
    }                                                                          \
    check(watch.calls > 0, #call " tells its progress");                       \
  } while (0)

static char *read_file(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  char *data = malloc(1 << 20);
  *size = file && data ? fread(data, 1, 1 << 20, file) : 0;
  if (file)
    fclose(file);
  return data;
}

/* The loop as it is, whose body has plans of its own, and unrolled, of which
 * several planners make plans. */
static void watch_loop(const char *path, const char *unroll_limit) {
  RematContext context = rematContextCreate();
  RematOptions options = rematOptionsCreate(context);
  RematModule module;
  struct Watch watch = {{NULL}, 0, 0, {0}};
  rematOptionsSetProgress(options, on_progress, &watch);
  rematOptionsSet(options, "budget", "min");
  rematOptionsSet(options, "effort", "0.1");
  rematOptionsSet(options, "unroll-limit", unroll_limit);
  rematModuleParseFile(context, path, &module);
  WATCHED(rematModuleCompile(module, REMAT_LEVEL_PLANNED, options));
  rematModuleDestroy(module);
  rematOptionsDestroy(options);
  rematContextDestroy(context);
}

int main(int argc, char **argv) {
  RematContext context = rematContextCreate();
  RematOptions options = rematOptionsCreate(context), none = {NULL};
  RematModule tasks, placed;
  RematBytes json;
  struct Watch watch = {{NULL}, 0, 1, {0}};
  size_t size;
  char *instance;
  if (argc != 4)
    return 2;
  caller = pthread_self();
  instance = read_file(argv[2], &size);
  watch.options = options;
  rematOptionsSetProgress(none, on_progress, &watch);
  rematOptionsSetProgress(options, on_progress, &watch);
  rematOptionsSet(options, "time-limit", "600");
  rematOptionsSet(options, "budget", "65%");
  rematModuleParseFile(context, argv[1], &tasks);
  rematModuleCompile(tasks, REMAT_LEVEL_TASKS, options);
  check(watch.calls == 0, "there is no search before there are tasks");
  rematModuleClone(tasks, &placed);
  WATCHED(rematModuleCompile(placed, REMAT_LEVEL_PLACED, options));
  rematModuleGetSummary(placed, &json);
  printf("%s\n", json.data);
  rematBytesFree(&json);
  WATCHED(rematModuleGetFrontier(tasks, options, 3, &json));
  rematBytesFree(&json);
  WATCHED(rematModuleGetReport(placed, options, tasks, 3, NULL, NULL, &json));
  check(json.size > 100000, "the report has the plans so far");
  rematBytesFree(&json);
  rematOptionsSet(options, "budget", "95%");
  WATCHED(rematInstancePlan(options, instance, size, &json));
  rematBytesFree(&json);

  watch_loop(argv[3], "0");
  watch_loop(argv[3], "1000000");

  /* Nothing is told to nobody. */
  rematOptionsSetProgress(options, NULL, &watch);
  rematOptionsSet(options, "time-limit", "0.1");
  watch.calls = 0;
  rematOptionsInterrupt(options, 0);
  rematModuleCompile(tasks, REMAT_LEVEL_PLANNED, options);
  check(watch.calls == 0, "a null function ends the calls");

  rematModuleDestroy(placed);
  rematModuleDestroy(tasks);
  rematOptionsDestroy(options);
  rematContextDestroy(context);
  free(instance);
  printf("%d failures\n", failures);
  return failures != 0;
}

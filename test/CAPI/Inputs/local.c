//===- local.c - libRemat as a plugin of a program that has no libm -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// local LIBRARY: loads libRemat as language bindings do, so that its symbols
// and those of the libraries that it needs are not the process's, and runs a
// step whose code calls libm. Two threads do so, each with a context.
//
//===----------------------------------------------------------------------===//

#include "remat-c/Remat.h"
#include "remat/Runtime/Runtime.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *library;

/// The function of the library that `type` is a pointer to.
static void *find(const char *name) {
  void *symbol = dlsym(library, name);
  if (!symbol) {
    printf("%s: not found\n", name);
    exit(1);
  }
  return symbol;
}

/// Declares a local pointer to a function of the library.
#define USE(name)                                                              \
  __typeof__(&name) name##_;                                                   \
  *(void **)&name##_ = find(#name)

static const char text[] =
    "func.func @main(%x: tensor<4xf64>) -> tensor<4xf64> {\n"
    "  %y = math.atan %x : tensor<4xf64>\n"
    "  %z = math.erf %y : tensor<4xf64>\n"
    "  return %z : tensor<4xf64>\n"
    "}\n";

/// Returns null if all went well.
static void *run(void *unused) {
  USE(rematContextCreate);
  USE(rematContextDestroy);
  USE(rematContextGetError);
  USE(rematOptionsCreate);
  USE(rematOptionsDestroy);
  USE(rematOptionsSet);
  USE(rematModuleParse);
  USE(rematModuleCompile);
  USE(rematModuleDestroy);
  USE(rematModuleLoad);
  USE(rematCodeGetModule);
  USE(rematCodeDestroy);
  USE(remat_step_load);
  USE(remat_step_run);
  USE(remat_step_free);
  RematContext context = rematContextCreate_();
  RematOptions options = rematOptionsCreate_(context);
  RematModule module;
  RematCode code = {NULL};
  int round;
  (void)unused;
  if (rematOptionsSet_(options, "differentiate", "false") ||
      rematModuleParse_(context, text, strlen(text), NULL, &module) ||
      rematModuleCompile_(module, REMAT_LEVEL_PLACED, options) ||
      rematModuleLoad_(module, options, &code)) {
    printf("%s\n", rematContextGetError_(context));
    return &library;
  }
  // The code is all that a step needs.
  rematModuleDestroy_(module);
  rematOptionsDestroy_(options);
  for (round = 0; round < 2; ++round) {
    double in[] = {0, 0, 0, 0}, out[] = {1, 1, 1, 1};
    int64_t dims[] = {4};
    remat_tensor argument = {in, REMAT_F64, 1, dims};
    remat_tensor result = {out, REMAT_F64, 1, dims};
    remat_step *step;
    if (remat_step_load_(rematCodeGetModule_(code), NULL, &step) ||
        remat_step_run_(step, &argument, 1, &result, 1) || out[3] != 0)
      return &library;
    remat_step_free_(step);
  }
  rematCodeDestroy_(code);
  rematContextDestroy_(context);
  return NULL;
}

int main(int argc, char **argv) {
  pthread_t threads[2];
  void *failures[2];
  int i;
  if (argc != 2)
    return 2;
  library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    printf("%s\n", dlerror());
    return 1;
  }
  for (i = 0; i < 2; ++i)
    if (pthread_create(&threads[i], NULL, run, NULL))
      return 1;
  for (i = 0; i < 2; ++i)
    pthread_join(threads[i], &failures[i]);
  return failures[0] || failures[1];
}

//===- full-disk.c - files that cannot be written -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// full-disk DIRECTORY: writes object and header there, then again when no file
// may have more than 600 bytes, as on a full disk. That is an error like any
// other: both files are as they were, no other file is there, and the signal
// handlers of the program are its own.
//
//===----------------------------------------------------------------------===//

#define _POSIX_C_SOURCE 200809L
#include "remat-c/Remat.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

static void require(int holds, const char *what) {
  if (holds)
    return;
  printf("%s does not hold\n", what);
  exit(1);
}

static long getBytes(const char *path) {
  struct stat status;
  return stat(path, &status) == 0 ? (long)status.st_size : -1;
}

int main(int argc, char **argv) {
  const char *model = "func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {\n"
                      "  %y = math.exp %x : tensor<8xf32>\n"
                      "  return %y : tensor<8xf32>\n}";
  char object[1000], header[1000];
  struct sigaction before, after;
  RematContext context;
  RematModule module;
  RematOptions options;
  require(argc == 2, "one argument");
  snprintf(object, sizeof(object), "%s/step.o", argv[1]);
  snprintf(header, sizeof(header), "%s/step.h", argv[1]);
  context = rematContextCreate();
  options = rematOptionsCreate(context);
  require(rematModuleParse(context, model, strlen(model), "m", &module) ==
              REMAT_STATUS_OK,
          "a module");
  require(rematOptionsSet(options, "differentiate", "false") == REMAT_STATUS_OK,
          "no gradients");
  require(rematModuleCompile(module, REMAT_LEVEL_PLACED, options) ==
              REMAT_STATUS_OK,
          "a placed module");
  sigaction(SIGINT, NULL, &before);
  require(rematModuleWriteObject(module, options, object, header) ==
              REMAT_STATUS_OK,
          "the first writing");
  sigaction(SIGINT, NULL, &after);
  require(before.sa_handler == after.sa_handler, "the same signal handler");

  long objectBytes = getBytes(object), headerBytes = getBytes(header);
  require(objectBytes > 600 && headerBytes > 600, "more than 600 bytes");
  struct rlimit limit = {600, 600};
  signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &limit);
  require(rematModuleWriteObject(module, options, object, header) ==
              REMAT_STATUS_IO_ERROR,
          "an error");
  printf("%s\n", rematContextGetError(context));
  require(getBytes(object) == objectBytes && getBytes(header) == headerBytes,
          "both files are as they were");
  rematModuleDestroy(module);
  rematOptionsDestroy(options);
  rematContextDestroy(context);
  return 0;
}

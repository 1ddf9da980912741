//===- errors.c - every mistake that the C API has a status for -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// errors MODEL: makes mistakes and checks the status and the words of the
// message. A call that fails leaves what it was given as it was.
//
//===----------------------------------------------------------------------===//

#include "remat-c/Remat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static RematContext context;
static int failures = 0;

static void expect(const char *what, RematStatus status, RematStatus expected,
                   const char *words) {
  const char *message = rematContextGetError(context);
  if (status != expected) {
    printf("%s: %s, expected %s\n", what, rematStatusGetName(status),
           rematStatusGetName(expected));
    ++failures;
  }
  if (!strstr(message, words) || (!*words && *message)) {
    printf("%s: '%s' is not in the message '%s'\n", what, words, message);
    ++failures;
  }
}

static void expectDiagnostic(const char *words) {
  RematBytes json;
  if (rematContextGetDiagnostics(context, &json) != REMAT_STATUS_OK ||
      !strstr(json.data, words)) {
    printf("'%s' is not in the diagnostics %s\n", words, json.data);
    ++failures;
  }
  rematBytesFree(&json);
}

static RematStatus parse(const char *text, RematModule *module) {
  return rematModuleParse(context, text, strlen(text), "model.mlir", module);
}

static void testParsing(void) {
  RematModule module;
  expect("bad text", parse("func.func @main(", &module),
         REMAT_STATUS_PARSE_ERROR, "model.mlir:1:");
  if (module.ptr)
    ++failures;
  expectDiagnostic("\"line\": 1");
  expect("unknown dialect", parse("\"no.such\"() : () -> ()", &module),
         REMAT_STATUS_PARSE_ERROR, "of a dialect that remat does not know");
  expect("unknown op",
         parse("func.func @main() {\n  \"arith.no_such\"() : () -> ()\n"
               "  return\n}",
               &module),
         REMAT_STATUS_PARSE_ERROR, "model.mlir:2:3: error: ");
  expect("no file", rematModuleParseFile(context, "/no/such/file", &module),
         REMAT_STATUS_IO_ERROR, "/no/such/file");
  expect("no text", rematModuleParse(context, NULL, 0, NULL, &module),
         REMAT_STATUS_INVALID_ARGUMENT, "'data' must not be null");
  expect("nowhere to put it", parse("", NULL), REMAT_STATUS_INVALID_ARGUMENT,
         "'module' must not be null");
}

static void testOptions(RematOptions options) {
  static const char unknown[] = "{\"threads\": 2, \"no-such\": 1}";
  static const char mistyped[] = "{\"threads\": {}}";
  RematBytes json;
  expect("unknown key", rematOptionsSet(options, "no-such-option", "1"),
         REMAT_STATUS_INVALID_OPTION, "'budget'");
  expect("wrong budget", rematOptionsSet(options, "budget", "60 percent"),
         REMAT_STATUS_INVALID_OPTION, "expected bytes with an optional suffix");
  expect("wrong number", rematOptionsSet(options, "threads", "many"),
         REMAT_STATUS_INVALID_OPTION, "'many'");
  expect("no JSON", rematOptionsSetJson(options, "{", 1),
         REMAT_STATUS_INVALID_OPTION, "Expected object key");
  expect("no object", rematOptionsSetJson(options, "[]", 2),
         REMAT_STATUS_INVALID_OPTION, "object");
  expect("unknown key in JSON",
         rematOptionsSetJson(options, unknown, strlen(unknown)),
         REMAT_STATUS_INVALID_OPTION, "no-such");
  expect("no number in JSON",
         rematOptionsSetJson(options, mistyped, strlen(mistyped)),
         REMAT_STATUS_INVALID_OPTION, "threads");
  expect("null key", rematOptionsSet(options, NULL, "1"),
         REMAT_STATUS_INVALID_ARGUMENT, "'key' must not be null");
  expect("null value", rematOptionsSet(options, "budget", NULL),
         REMAT_STATUS_INVALID_ARGUMENT, "'value' must not be null");
  // The 2 threads that stood before the unknown key are not set either.
  expect("describe", rematOptionsDescribe(options, &json), REMAT_STATUS_OK, "");
  printf("options: %s\n", json.data);
  rematBytesFree(&json);
}

static const char noGradient[] =
    "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
    "  return %x : tensor<4xf32>\n"
    "}\n";

/* Of a placed module. */
static void testViews(RematModule module, RematOptions options) {
  RematBytes bytes;
  RematCode code;
  remat_step *step = NULL;
  remat_step_options profiled = {0};
  expect("planned", rematModuleGetTrace(module, options, NULL, &bytes),
         REMAT_STATUS_OK, "");
  if (!bytes.data || !strstr(bytes.data, "\"name\":\"planned\"") ||
      strstr(bytes.data, "\"name\":\"measured\""))
    ++failures;
  rematBytesFree(&bytes);
  expect("snapshot", rematModuleGetMemorySnapshot(module, options, &bytes),
         REMAT_STATUS_OK, "");
  /* The protocol of a pickle that PyTorch's page reads. */
  if (!bytes.data || bytes.size < 2 || memcmp(bytes.data, "\x80\x02", 2) != 0)
    ++failures;
  rematBytesFree(&bytes);
  expect("no snapshot", rematModuleGetMemorySnapshot(module, options, NULL),
         REMAT_STATUS_INVALID_ARGUMENT, "pickle");
  expect("no step",
         rematModuleGetProfile(module, options, NULL, NULL, NULL, &bytes),
         REMAT_STATUS_INVALID_ARGUMENT, "step");
  expect("load", rematModuleLoad(module, options, &code), REMAT_STATUS_OK, "");
  remat_step_load(rematCodeGetModule(code), NULL, &step);
  expect("no times",
         rematModuleGetProfile(module, options, step, NULL, NULL, &bytes),
         REMAT_STATUS_INVALID_ARGUMENT,
         "expected one that was loaded with REMAT_STEP_PROFILE");
  expect("no times", rematModuleGetTrace(module, options, step, &bytes),
         REMAT_STATUS_INVALID_ARGUMENT, "REMAT_STEP_PROFILE");
  remat_step_free(step);
  profiled.flags = REMAT_STEP_PROFILE;
  remat_step_load(rematCodeGetModule(code), &profiled, &step);
  expect("no group",
         rematModuleGetProfile(module, options, step, "task", NULL, &bytes),
         REMAT_STATUS_INVALID_ARGUMENT,
         "unknown group 'task', expected one of 'op', 'kernel', 'name', "
         "'layer', 'label', 'phase'");
  expect("no order",
         rematModuleGetProfile(module, options, step, NULL, "time", &bytes),
         REMAT_STATUS_INVALID_ARGUMENT, "unknown order 'time'");
  expect("profile",
         rematModuleGetProfile(module, options, step, "phase", "name", &bytes),
         REMAT_STATUS_OK, "");
  if (!bytes.data || !strstr(bytes.data, "\"group\": \"phase\""))
    ++failures;
  rematBytesFree(&bytes);
  expect("measured", rematModuleGetTrace(module, options, step, &bytes),
         REMAT_STATUS_OK, "");
  if (!bytes.data || !strstr(bytes.data, "\"name\":\"measured\""))
    ++failures;
  rematBytesFree(&bytes);
  remat_step_free(step);
  rematCodeDestroy(code);
}

static void testCompiling(RematOptions options) {
  RematModule module;
  RematBytes bytes;
  RematCode code;
  expect("parse", parse(noGradient, &module), REMAT_STATUS_OK, "");
  expect("not placed", rematModuleGetSummary(module, &bytes),
         REMAT_STATUS_INVALID_ARGUMENT, "expected 'placed'");
  expect("not placed", rematModuleLoad(module, options, &code),
         REMAT_STATUS_INVALID_ARGUMENT, "is at level 'captured'");
  expect("not planned", rematModuleGetExplanation(module, &bytes),
         REMAT_STATUS_INVALID_ARGUMENT,
         "is at level 'captured', and rematModuleCompile has not planned it");
  if (bytes.data || code.ptr)
    ++failures;
  expect("no scalar", rematModuleCompile(module, REMAT_LEVEL_PLACED, options),
         REMAT_STATUS_COMPILE_ERROR, "expected one element to differentiate");
  expectDiagnostic("\"file\": \"model.mlir\"");
  if (rematModuleGetLevel(module) != REMAT_LEVEL_CAPTURED)
    ++failures;
  expect("argument 7", rematModuleNameArgument(module, options, 7, "x"),
         REMAT_STATUS_INVALID_ARGUMENT, "has 1 arguments");
  expect("name", rematModuleNameArgument(module, options, 0, "x"),
         REMAT_STATUS_OK, "");
  expect("no gradient", rematOptionsSet(options, "differentiate", "false"),
         REMAT_STATUS_OK, "");
  expect("forward", rematModuleCompile(module, REMAT_LEVEL_PLACED, options),
         REMAT_STATUS_OK, "");
  expect("backwards", rematModuleCompile(module, REMAT_LEVEL_CAPTURED, options),
         REMAT_STATUS_INVALID_ARGUMENT, "from which none leads to 'captured'");
  expect("no directory",
         rematModuleWriteObject(module, options, "/no/such/file.o", NULL),
         REMAT_STATUS_IO_ERROR, "/no/such/file.o");
  expect("one path for two",
         rematModuleWriteObject(module, options, "step", "step"),
         REMAT_STATUS_INVALID_ARGUMENT, "have the same path 'step'");
  expect("summary", rematModuleGetSummary(module, &bytes), REMAT_STATUS_OK, "");
  printf("summary: %s\n", bytes.data);
  rematBytesFree(&bytes);
  testViews(module, options);
  rematModuleDestroy(module);
}

/* Pages show what was planned here, beside other plans of the same tasks. */
static void testReport(RematModule placed, RematModule tasks,
                       RematOptions options) {
  RematModule other, none = {NULL};
  RematBytes one, several, text;
  expect("nowhere",
         rematModuleGetReport(placed, options, none, 0, NULL, NULL, NULL),
         REMAT_STATUS_INVALID_ARGUMENT, "'html' must not be null");
  expect("saved", rematModuleGetSavedValues(placed, &text), REMAT_STATUS_OK,
         "");
  if (!strstr(text.data, " from the argument '") ||
      !strstr(text.data, "] output of "))
    ++failures;
  rematBytesFree(&text);
  expect("not saved", rematModuleGetSavedValues(tasks, &text),
         REMAT_STATUS_INVALID_ARGUMENT,
         "is at level 'tasks', expected 'placed'");
  expect("saved nowhere", rematModuleGetSavedValues(placed, NULL),
         REMAT_STATUS_INVALID_ARGUMENT, "'text' must not be null");
  expect("page",
         rematModuleGetReport(placed, options, none, 0, NULL, "a </b", &one),
         REMAT_STATUS_OK, "");
  if (!strstr(one.data, "\"title\":\"a \\u003c/b\"") ||
      !strstr(one.data, "\"origin\":\"chosen\"") ||
      strstr(one.data, "\"origin\":\"save-all\"") ||
      !strstr(one.data, "recomputing it would take"))
    ++failures;
  rematBytesFree(&one);
  expect("pages",
         rematModuleGetReport(placed, options, tasks, 5, NULL, NULL, &several),
         REMAT_STATUS_OK, "");
  if (!strstr(several.data, "\"title\":\"model\"") ||
      !strstr(several.data, "\"origin\":\"chosen\"") ||
      !strstr(several.data, "\"origin\":\"save-all\""))
    ++failures;
  rematBytesFree(&several);
  expect("before and after",
         rematModuleGetReport(placed, options, tasks, 0, NULL, NULL, &several),
         REMAT_STATUS_OK, "");
  if (!strstr(several.data, "\"origin\":\"chosen\"") ||
      strstr(several.data, "\"origin\":\"frontier\"") ||
      !strstr(several.data, "\"origin\":\"save-all\""))
    ++failures;
  expect("one point",
         rematModuleGetReport(placed, options, tasks, 1, NULL, NULL, &one),
         REMAT_STATUS_INVALID_ARGUMENT, "at least 2 points, got 1");
  rematBytesFree(&several);
  expect(
      "placed", rematModuleGetReport(tasks, options, none, 0, NULL, NULL, &one),
      REMAT_STATUS_INVALID_ARGUMENT, "is at level 'tasks', expected 'placed'");
  expect("tasks",
         rematModuleGetReport(placed, options, placed, 0, NULL, NULL, &one),
         REMAT_STATUS_INVALID_ARGUMENT,
         "is at level 'placed', expected 'tasks'");
  expect("other", parse(noGradient, &other), REMAT_STATUS_OK, "");
  rematOptionsSet(options, "differentiate", "false");
  expect("other tasks", rematModuleCompile(other, REMAT_LEVEL_TASKS, options),
         REMAT_STATUS_OK, "");
  expect("another step",
         rematModuleGetReport(placed, options, other, 0, NULL, NULL, &one),
         REMAT_STATUS_INVALID_ARGUMENT, "'tasks' is another step");
  rematModuleDestroy(other);
  rematModulePrint(placed, &text);
  expect("again", parse(text.data, &other), REMAT_STATUS_OK, "");
  expect("page of text",
         rematModuleGetReport(other, options, none, 0, NULL, NULL, &one),
         REMAT_STATUS_INVALID_ARGUMENT,
         "rematModuleCompile has not planned it");
  rematBytesFree(&text);
  rematModuleDestroy(other);
}

/* A table of other conditions is of a function, or of tasks, whose batch is
   settled. */
static void testWhatIf(RematModule captured, RematModule tasks,
                       RematModule placed, RematOptions options) {
  const char *batch = "batch=32,64", *budget = "budget=100%,1KiB",
             *wrong = "seed=1", *none = NULL;
  RematBytes rows;
  expect("batches", rematModuleGetWhatIf(captured, options, &batch, 1, &rows),
         REMAT_STATUS_OK, "");
  if (!strstr(rows.data, "\"batch\": \"64\"") ||
      !strstr(rows.data, "\"schema\": \"remat.what-if/1\""))
    ++failures;
  rematBytesFree(&rows);
  expect("budgets", rematModuleGetWhatIf(tasks, options, &budget, 1, &rows),
         REMAT_STATUS_OK, "");
  if (!strstr(rows.data, "\"feasible\": true") ||
      !strstr(rows.data, "\"feasible\": false"))
    ++failures;
  rematBytesFree(&rows);
  if (rematModuleGetLevel(captured) != REMAT_LEVEL_CAPTURED)
    ++failures;
  expect("settled", rematModuleGetWhatIf(tasks, options, &batch, 1, &rows),
         REMAT_STATUS_COMPILE_ERROR, "'batch' has no effect");
  expect("no condition", rematModuleGetWhatIf(tasks, options, &wrong, 1, &rows),
         REMAT_STATUS_INVALID_OPTION, "got 'seed=1', expected one of batch=");
  expect("null condition",
         rematModuleGetWhatIf(tasks, options, &none, 1, &rows),
         REMAT_STATUS_INVALID_ARGUMENT, "a condition is null");
  expect("null conditions",
         rematModuleGetWhatIf(tasks, options, NULL, 1, &rows),
         REMAT_STATUS_INVALID_ARGUMENT, "'conditions' must not be null");
  expect("no conditions", rematModuleGetWhatIf(tasks, options, NULL, 0, &rows),
         REMAT_STATUS_OK, "");
  if (!strstr(rows.data, "\"feasible\": true"))
    ++failures;
  rematBytesFree(&rows);
  expect("planned", rematModuleGetWhatIf(placed, options, &budget, 1, &rows),
         REMAT_STATUS_INVALID_ARGUMENT,
         "is at level 'placed', expected 'tasks'");
}

/* Why values are saved or recomputed is known of what was planned here, and of
   its clones. */
static void testExplanation(RematModule planned) {
  RematModule clone, parsed;
  RematBytes before, after, text;
  expect("nowhere", rematModuleGetExplanation(planned, NULL),
         REMAT_STATUS_INVALID_ARGUMENT, "'json' must not be null");
  expect("explain", rematModuleGetExplanation(planned, &before),
         REMAT_STATUS_OK, "");
  if (!strstr(before.data, "\"decision\": \"saved\"") ||
      !strstr(before.data, "\"value\": \"matmul f32[32,128] (task 0)\""))
    ++failures;
  rematModuleClone(planned, &clone);
  rematModulePrint(planned, &text);
  expect("explain a clone", rematModuleGetExplanation(clone, &after),
         REMAT_STATUS_OK, "");
  if (strcmp(before.data, after.data))
    ++failures;
  rematBytesFree(&before);
  rematBytesFree(&after);
  rematModuleDestroy(clone);
  expect("again", parse(text.data, &parsed), REMAT_STATUS_OK, "");
  expect("explain text", rematModuleGetExplanation(parsed, &after),
         REMAT_STATUS_INVALID_ARGUMENT, "is at level 'placed', and");
  rematBytesFree(&text);
  rematModuleDestroy(parsed);
}

static void testBudget(const char *path) {
  RematOptions options = rematOptionsCreate(context);
  RematModule module, tasks, captured;
  RematBytes before, after;
  char text[32];
  int64_t smallest;
  expect("parse", rematModuleParseFile(context, path, &module), REMAT_STATUS_OK,
         "");
  rematModuleClone(module, &captured);
  expect("tasks", rematModuleCompile(module, REMAT_LEVEL_TASKS, options),
         REMAT_STATUS_OK, "");
  expect("frontier", rematModuleGetFrontier(module, options, 2, &before),
         REMAT_STATUS_OK, "");
  if (!strstr(before.data, "\"budget_bytes\": "))
    ++failures;
  rematBytesFree(&before);
  expect("one point", rematModuleGetFrontier(module, options, 1, &before),
         REMAT_STATUS_INVALID_ARGUMENT, "at least 2 points");
  rematModulePrint(module, &before);
  rematOptionsSet(options, "budget", "64");
  expect("64 bytes", rematModuleCompile(module, REMAT_LEVEL_PLACED, options),
         REMAT_STATUS_INFEASIBLE_BUDGET, "the smallest feasible");
  smallest = rematContextGetSmallestBudget(context);
  rematModulePrint(module, &after);
  if (strcmp(before.data, after.data) ||
      rematContextGetSmallestBudget(context) != -1) {
    printf("a plan that failed left something behind\n");
    ++failures;
  }
  rematModuleClone(module, &tasks);
  // What is said to be feasible is.
  sprintf(text, "%lld", (long long)smallest);
  rematOptionsSet(options, "budget", text);
  expect("smallest", rematModuleCompile(module, REMAT_LEVEL_PLANNED, options),
         REMAT_STATUS_OK, "");
  expect("place", rematModuleCompile(module, REMAT_LEVEL_PLACED, options),
         REMAT_STATUS_OK, "");
  testExplanation(module);
  testWhatIf(captured, tasks, module, options);
  rematModuleDestroy(captured);
  testReport(module, tasks, options);
  rematModuleDestroy(tasks);
  rematBytesFree(&before);
  rematBytesFree(&after);
  rematModuleDestroy(module);
  rematOptionsDestroy(options);
}

/// Null objects are refused, and nothing else happens.
static void testNull(void) {
  RematContext noContext = {NULL};
  RematOptions noOptions = {NULL};
  RematModule noModule = {NULL}, module = {&module};
  RematCode noCode = {NULL}, code = {&code};
  RematBytes bytes = {(char *)&bytes, 1};
  int ok = 1;
#define REFUSED(call) ok &= (call) == REMAT_STATUS_INVALID_ARGUMENT
  REFUSED(rematContextGetDiagnostics(noContext, &bytes));
  ok &= *rematContextGetError(noContext) != 0;
  ok &= rematContextGetSmallestBudget(noContext) == -1;
  ok &= !rematOptionsCreate(noContext).ptr;
  REFUSED(rematOptionsSet(noOptions, "budget", "1"));
  REFUSED(rematOptionsSetJson(noOptions, "{}", 2));
  REFUSED(rematOptionsDescribe(noOptions, &bytes));
  REFUSED(rematModuleParse(noContext, "", 0, "", &module));
  ok &= !module.ptr;
  REFUSED(rematModuleParseFile(noContext, "", &module));
  REFUSED(rematModuleClone(noModule, &module));
  ok &= rematModuleGetLevel(noModule) == REMAT_LEVEL_CAPTURED;
  REFUSED(rematModuleNameArgument(noModule, noOptions, 0, ""));
  REFUSED(rematModuleCompile(noModule, REMAT_LEVEL_PLACED, noOptions));
  REFUSED(rematModulePrint(noModule, &bytes));
  ok &= !bytes.data && !bytes.size;
  REFUSED(rematModuleWriteBytecode(noModule, &bytes));
  REFUSED(rematModuleGetSummary(noModule, &bytes));
  REFUSED(rematModuleGetExplanation(noModule, &bytes));
  REFUSED(rematModuleGetSavedValues(noModule, &bytes));
  REFUSED(rematModuleGetReport(noModule, noOptions, noModule, 0, NULL, NULL,
                               &bytes));
  REFUSED(rematModuleGetWhatIf(noModule, noOptions, NULL, 0, &bytes));
  REFUSED(rematModuleGetFrontier(noModule, noOptions, 2, &bytes));
  REFUSED(rematModuleEmitObject(noModule, noOptions, &bytes, NULL));
  REFUSED(rematModuleWriteObject(noModule, noOptions, "a", "b"));
  REFUSED(rematModuleLoad(noModule, noOptions, &code));
  ok &= !code.ptr && !rematCodeGetModule(noCode);
#undef REFUSED
  rematBytesFree(NULL);
  rematContextDestroy(noContext);
  rematOptionsDestroy(noOptions);
  rematModuleDestroy(noModule);
  rematCodeDestroy(noCode);
  if (!ok) {
    printf("a null object was not refused\n");
    ++failures;
  }
}

int main(int argc, char **argv) {
  RematOptions options;
  if (argc != 2)
    return 2;
  context = rematContextCreate();
  options = rematOptionsCreate(context);
  testParsing();
  testOptions(options);
  testCompiling(options);
  testBudget(argv[1]);
  testNull();
  rematOptionsDestroy(options);
  rematContextDestroy(context);
  return failures != 0;
}

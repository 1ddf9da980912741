//===- Remat.h - the compiler's C API ---------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From a model as text to a step that runs, in C99:
//
//   RematContext context = rematContextCreate();
//   RematOptions options = rematOptionsCreate(context);
//   RematModule module = {NULL};
//   RematCode code = {NULL};
//   if (rematOptionsSet(options, "budget", "60%") == REMAT_STATUS_OK &&
//       rematModuleParseFile(context, "model.mlir", &module) ==
//           REMAT_STATUS_OK &&
//       rematModuleCompile(module, REMAT_LEVEL_PLACED, options) ==
//           REMAT_STATUS_OK &&
//       rematModuleLoad(module, options, &code) == REMAT_STATUS_OK)
//     ... remat_step_load(rematCodeGetModule(code), NULL, &step) ...
//   else
//     fprintf(stderr, "%s\n", rematContextGetError(context));
//
// Steps are run by the runtime's API (remat/Runtime/Runtime.h), whose functions
// this library has, too.
//
// Errors. A function that can fail returns a status. Unless it is
// REMAT_STATUS_OK, the context has a message, all diagnostics with their
// locations, and, for a budget that is too small, the smallest one that is not.
// A function that fails changes nothing that it was given and sets what it was
// to give to nothing. Nothing is written to standard error, and no function
// ends the process, but that memory runs out does, and so does MLIR whose
// regions or types nest too deeply for MLIR's own parser.
//
// Ownership. An object is the caller's, who destroys it; an object that is null
// may be destroyed. Objects may be destroyed in any order: a context lives as
// long as something that was made from it. Strings that are returned as
// `const char *` belong to the context and are valid until the next call with
// this context or something made from it. Bytes are the caller's, who frees
// them.
//
// Threads. A context, together with all that was made from it, is used by one
// thread at a time. Contexts are independent of each other. A call uses the
// cores of the machine.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_C_REMAT_H
#define REMAT_C_REMAT_H

#include "remat/Runtime/Runtime.h"
#include "remat/Runtime/StepTable.h"

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define REMAT_CAPI_EXPORTED
#else
#define REMAT_CAPI_EXPORTED __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// Handles, as in MLIR's C API: a null `ptr` is no object.
typedef struct RematContext {
  void *ptr;
} RematContext;
typedef struct RematOptions {
  void *ptr;
} RematOptions;
typedef struct RematModule {
  void *ptr;
} RematModule;
typedef struct RematCode {
  void *ptr;
} RematCode;

typedef enum RematStatus {
  REMAT_STATUS_OK = 0,
  /// A null object or pointer, or a module that is not at the level needed.
  REMAT_STATUS_INVALID_ARGUMENT = 1,
  /// An unknown option, or a value that an option does not have.
  REMAT_STATUS_INVALID_OPTION = 2,
  /// What was to be a module is none.
  REMAT_STATUS_PARSE_ERROR = 3,
  /// The module cannot be compiled; diagnostics say what and where.
  REMAT_STATUS_COMPILE_ERROR = 4,
  /// No plan fits; rematContextGetSmallestBudget says what would.
  REMAT_STATUS_INFEASIBLE_BUDGET = 5,
  /// A file cannot be read or written.
  REMAT_STATUS_IO_ERROR = 6,
  /// There is no device that the code could run on, or no driver for it.
  REMAT_STATUS_NO_DEVICE = 7
} RematStatus;

/// How far a module has come. See docs/design.md for what each level promises.
typedef enum RematLevel {
  /// As captured: functions on tensors.
  REMAT_LEVEL_CAPTURED = 0,
  /// One function with the forward and the backward computation.
  REMAT_LEVEL_JOINT = 1,
  /// A graph of tasks with costs.
  REMAT_LEVEL_TASKS = 2,
  /// A schedule that fits into the budget.
  REMAT_LEVEL_PLANNED = 3,
  /// Every value has an address.
  REMAT_LEVEL_PLACED = 4
} RematLevel;

/// Bytes that the caller owns. A byte that is 0 follows them, so text is a C
/// string.
typedef struct RematBytes {
  char *data;
  size_t size;
} RematBytes;

/// Frees the bytes and makes them none. A null pointer is allowed.
REMAT_CAPI_EXPORTED void rematBytesFree(RematBytes *bytes);

//===----------------------------------------------------------------------===//
// Contexts
//===----------------------------------------------------------------------===//

REMAT_CAPI_EXPORTED RematContext rematContextCreate(void);
REMAT_CAPI_EXPORTED void rematContextDestroy(RematContext context);

/// What the last call with this context failed with, all diagnostics and their
/// notes included; "" if it did not fail.
REMAT_CAPI_EXPORTED const char *rematContextGetError(RematContext context);

/// The diagnostics of the last call, errors, warnings and remarks, as JSON:
/// [{"severity": "error", "message": "...", "file": "model.mlir", "line": 3,
///   "column": 8, "notes": [{"message": "...", ...}, ...]}, ...].
/// What has no place in a file lacks file, line and column.
REMAT_CAPI_EXPORTED RematStatus rematContextGetDiagnostics(RematContext context,
                                                           RematBytes *json);

/// After REMAT_STATUS_INFEASIBLE_BUDGET, the smallest budget for which a plan
/// is known, in bytes, or 0 if no budget has a plan. Otherwise -1.
REMAT_CAPI_EXPORTED int64_t rematContextGetSmallestBudget(RematContext context);

/// "REMAT_STATUS_OK" and so on; "unknown status" for other numbers.
REMAT_CAPI_EXPORTED const char *rematStatusGetName(RematStatus status);

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

/// Options with their defaults. One object may serve several calls; each takes
/// what it needs.
REMAT_CAPI_EXPORTED RematOptions rematOptionsCreate(RematContext context);
REMAT_CAPI_EXPORTED void rematOptionsDestroy(RematOptions options);

/// Sets an option to a value that is written as on remat-compile's command
/// line, such as "budget" to "60%".
REMAT_CAPI_EXPORTED RematStatus rematOptionsSet(RematOptions options,
                                                const char *key,
                                                const char *value);

/// Sets the options of a JSON object, such as
/// {"budget": "60%", "wrt": [0, 1], "threads": 2, "reuse-result-buffers":
/// false}. All of them or, if one is refused, none.
REMAT_CAPI_EXPORTED RematStatus rematOptionsSetJson(RematOptions options,
                                                    const char *json,
                                                    size_t size);

/// Ends the searches that are running with the options, and those to come until
/// it is called with 0. They keep the best plan so far; where there is none
/// yet, the call fails. The only function that another thread may call while
/// one uses the options, or a handler of a signal.
REMAT_CAPI_EXPORTED void rematOptionsInterrupt(RematOptions options,
                                               int isInterrupted);

/// What a search has reached so far. A later version may add members behind
/// these.
typedef struct RematProgress {
  /// The algorithm at work. The text is valid during the call.
  const char *planner;
  /// Since the search began.
  double seconds;
  /// How long the best plan so far takes; what no plan is known to be faster
  /// than; and what the step takes if nothing is recomputed: in nanoseconds, of
  /// an instance in the unit of its costs.
  int64_t time, lowerBound, baseTime;
  /// The bytes that the best plan so far needs.
  int64_t peakBytes;
} RematProgress;

typedef void (*RematProgressFunction)(const RematProgress *progress,
                                      void *user);

/// From now on, each search with the options calls `function` with `user` soon
/// after each better plan or bound: often or, while none is found, not for a
/// long time. It is called by the thread that is in the call that searches,
/// though plans are searched for on all threads of the context, and not after
/// that call. Of this interface, it may call rematOptionsInterrupt alone. A
/// null function ends this. A call that makes several plans, as for a frontier
/// or a report, has several searches.
REMAT_CAPI_EXPORTED void rematOptionsSetProgress(RematOptions options,
                                                 RematProgressFunction function,
                                                 void *user);

/// What options there are, as JSON: an array with, for each option, its name,
/// its kind ("flag", "value" or "list"), how a value is written, its default,
/// its help, and, where there are only a few values, these as choices.
REMAT_CAPI_EXPORTED RematStatus rematOptionsDescribe(RematOptions options,
                                                     RematBytes *json);

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

/// Takes a module, at any level, from text or bytecode. `name` is what
/// diagnostics call it; null for "-". Operations of StableHLO, CHLO and
/// tm_tensor, which must be in generic form, become those of linalg here, so
/// the arguments are those of the step; what is not supported of them is a
/// REMAT_STATUS_COMPILE_ERROR.
REMAT_CAPI_EXPORTED RematStatus rematModuleParse(RematContext context,
                                                 const char *data, size_t size,
                                                 const char *name,
                                                 RematModule *module);
REMAT_CAPI_EXPORTED RematStatus rematModuleParseFile(RematContext context,
                                                     const char *path,
                                                     RematModule *module);
REMAT_CAPI_EXPORTED RematStatus rematModuleClone(RematModule module,
                                                 RematModule *copy);
REMAT_CAPI_EXPORTED void rematModuleDestroy(RematModule module);

/// REMAT_LEVEL_CAPTURED for what has no remat.graph, differentiated or not,
/// until rematModuleCompile has brought it further.
REMAT_CAPI_EXPORTED RematLevel rematModuleGetLevel(RematModule module);

/// Names an argument of the function to compile, by the options' "function",
/// before it is compiled. Reports and headers use the name.
REMAT_CAPI_EXPORTED RematStatus rematModuleNameArgument(RematModule module,
                                                        RematOptions options,
                                                        size_t argument,
                                                        const char *name);

/// Brings the module from its level to `level`, through all between. To plan
/// for several budgets, bring it to REMAT_LEVEL_TASKS once and clone it.
REMAT_CAPI_EXPORTED RematStatus rematModuleCompile(RematModule module,
                                                   RematLevel level,
                                                   RematOptions options);

/// The module as text, which rematModuleParse takes up again.
REMAT_CAPI_EXPORTED RematStatus rematModulePrint(RematModule module,
                                                 RematBytes *text);
/// The module as bytecode, likewise.
REMAT_CAPI_EXPORTED RematStatus rematModuleWriteBytecode(RematModule module,
                                                         RematBytes *bytecode);

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

/// What is known of a placed step before it runs, as JSON: peaks, budget and
/// arena in bytes, numbers of tasks, and arguments and results in order, each
/// with its name, dtype, shape and bytes. A result that `exists` not is a
/// derivative of what no differentiable path leads to: its zeros mean nothing.
/// An argument that gives its buffer to a result has its number as
/// `donated_to`.
REMAT_CAPI_EXPORTED RematStatus rematModuleGetSummary(RematModule module,
                                                      RematBytes *json);

/// The trade of memory for time of a module at REMAT_LEVEL_TASKS, as JSON: a
/// list of plans at `points` (2 or more) budgets, from the smallest feasible
/// one to that of keeping everything, each with the arena and the peak of the
/// step that it makes. The options' budget does not count.
REMAT_CAPI_EXPORTED RematStatus rematModuleGetFrontier(RematModule module,
                                                       RematOptions options,
                                                       unsigned points,
                                                       RematBytes *json);

/// What the plan of a module decided on each of its values, and why, as JSON:
/// the `explanation` of remat-plan's report. Bytes are those of a value, costs
/// are in nanoseconds. The module, or the one that it is a clone of, was
/// planned by rematModuleCompile: text and bytecode do not say why.
REMAT_CAPI_EXPORTED RematStatus rematModuleGetExplanation(RematModule module,
                                                          RematBytes *json);

/// Where the time of `step` went, which is of a placed module, was loaded with
/// REMAT_STEP_PROFILE and has run: as JSON, the `profile` of remat-run's report
/// with the rows of a `group` ("op", "kernel", "name", "layer", "label" or
/// "phase") in the order of `sort` ("self", "total", "calls", "bytes", "flops"
/// or "name"). Null is the first of these. The options are those that the
/// module was compiled with.
REMAT_CAPI_EXPORTED RematStatus rematModuleGetProfile(
    RematModule module, RematOptions options, const remat_step *step,
    const char *group, const char *sort, RematBytes *json);

/// A trace of a placed module as it was planned, for Perfetto and
/// chrome://tracing, and, unless `step` is null, of the last run of such a
/// step.
REMAT_CAPI_EXPORTED RematStatus rematModuleGetTrace(RematModule module,
                                                    RematOptions options,
                                                    const remat_step *step,
                                                    RematBytes *json);

/// The arena of a placed module as a memory snapshot of PyTorch, which
/// torch.cuda._memory_viz reads. The bytes are no text: they have zeros in
/// them.
REMAT_CAPI_EXPORTED RematStatus rematModuleGetMemorySnapshot(
    RematModule module, RematOptions options, RematBytes *pickle);

/// What a placed module keeps for its backward computation, as `remat-plan
/// --print-saved` lists it: a line for each value, arguments first, in the form
/// of JAX's print_saved_residuals.
REMAT_CAPI_EXPORTED RematStatus rematModuleGetSavedValues(RematModule module,
                                                          RematBytes *text);

/// A page in HTML that shows a placed module, as `--report` of the tools writes
/// it; it needs no network. The module was planned by rematModuleCompile. The
/// options are those that it was planned with. `tasks`, which may be null, is
/// what it was at REMAT_LEVEL_TASKS: with it the page compares the plan with
/// that which saves everything, and with as many of the frontier as `points`
/// says (0, or 2 and more). To find 5 may take twice as long as planning did.
/// `step`, which may be null, is as for rematModuleGetTrace and shows when each
/// task ran. `title` names the model; null is "model".
REMAT_CAPI_EXPORTED RematStatus
rematModuleGetReport(RematModule module, RematOptions options,
                     RematModule tasks, unsigned points, const remat_step *step,
                     const char *title, RematBytes *html);

/// How much memory a module would take under other conditions, as JSON: the
/// table of `remat-plan --what-if`, {"schema": "remat.what-if/1", "rows": ...},
/// a row for each combination of the values in `conditions`. There are `count`
/// of them, such as "batch=8,16" and "budget=50%,min". With none, which may be
/// null, there is one row, of the options as they are. The module is at
/// REMAT_LEVEL_CAPTURED, or at REMAT_LEVEL_TASKS, where its batch and types are
/// settled; it stays as it is. A budget that has no plan is a row. Fails with
/// REMAT_STATUS_INVALID_OPTION if a condition is none.
REMAT_CAPI_EXPORTED RematStatus rematModuleGetWhatIf(
    RematModule module, RematOptions options, const char *const *conditions,
    size_t count, RematBytes *json);

//===----------------------------------------------------------------------===//
// Plans without IR
//===----------------------------------------------------------------------===//

/// Plans an instance of docs/planning.md, which is JSON, under the options of
/// planning; a budget of the options replaces that of the instance. It bounds
/// what the instance says, which is the arena if it does not say. The plan is a
/// schedule as in that page, as JSON, with `peak_bytes`, `save_all_peak_bytes`
/// and, if there is a budget, `budget_bytes` and, where it bounds the arena,
/// `arena_bytes`. Fails with REMAT_STATUS_PARSE_ERROR if the instance is none.
REMAT_CAPI_EXPORTED RematStatus rematInstancePlan(RematOptions options,
                                                  const char *data, size_t size,
                                                  RematBytes *json);

//===----------------------------------------------------------------------===//
// Machine code
//===----------------------------------------------------------------------===//

/// Compiles a placed module to an object file and a C header that declares the
/// `remat_module` in it. Either may be null if it is not wanted. The module
/// stays at its level.
REMAT_CAPI_EXPORTED RematStatus rematModuleEmitObject(RematModule module,
                                                      RematOptions options,
                                                      RematBytes *object,
                                                      RematBytes *header);

/// The same to files. Each takes its name when both are complete, so that no
/// file is ever half written.
REMAT_CAPI_EXPORTED RematStatus rematModuleWriteObject(RematModule module,
                                                       RematOptions options,
                                                       const char *objectPath,
                                                       const char *headerPath);

/// Compiles a placed module for this process; one for the target cuda for the
/// device of this thread (remat_cuda_use_device), or REMAT_STATUS_NO_DEVICE if
/// there is none. The module stays at its level.
REMAT_CAPI_EXPORTED RematStatus rematModuleLoad(RematModule module,
                                                RematOptions options,
                                                RematCode *code);

/// What remat_step_load takes; null for null. It and the steps loaded from it
/// are valid until the code is destroyed.
REMAT_CAPI_EXPORTED const remat_module *rematCodeGetModule(RematCode code);
REMAT_CAPI_EXPORTED void rematCodeDestroy(RematCode code);

#ifdef __cplusplus
}
#endif

#endif // REMAT_C_REMAT_H

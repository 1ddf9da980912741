//===- State.h - what the handles of the C API point to ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Everything holds a reference to its context, so that callers may destroy
// objects in any order. Every function of the API that can fail does what it
// does by `runCall`. Its `Call` collects diagnostics while it lives, and fails.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_CAPI_STATE_H
#define REMAT_LIB_CAPI_STATE_H

#include "remat-c/Remat.h"
#include "remat/Codegen/KernelCache.h"
#include "remat/Pipelines/StepCompiler.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

#include <atomic>
#include <memory>
#include <string>

namespace remat::capi {

struct ContextState {
  explicit ContextState(const mlir::DialectRegistry &registry);

  mlir::MLIRContext mlir;
  /// Kernels that this context has compiled, for all modules and budgets.
  codegen::KernelCache kernels;
  /// What the last call left.
  std::string error;
  llvm::json::Array diagnostics;
  int64_t smallestBudget = -1;
};
using ContextRef = std::shared_ptr<ContextState>;

struct OptionsState {
  explicit OptionsState(ContextRef context) : context(std::move(context)) {
    step.plan.solver.interrupt = &isInterrupted;
  }

  ContextRef context;
  StepOptions step;
  /// Ends searches with these options.
  std::atomic<bool> isInterrupted = false;
};

struct ModuleState {
  ContextRef context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  RematLevel level;
  /// The plan that `rematModuleCompile` made for it; null if it came planned.
  std::shared_ptr<const GraphPlan> plan = nullptr;
};

inline ContextState &getContext(ContextRef &context) { return *context; }
inline ContextState &getContext(OptionsState &options) {
  return *options.context;
}
inline ContextState &getContext(ModuleState &module) { return *module.context; }

inline ContextRef *unwrap(RematContext context) {
  return static_cast<ContextRef *>(context.ptr);
}
inline OptionsState *unwrap(RematOptions options) {
  return static_cast<OptionsState *>(options.ptr);
}
inline ModuleState *unwrap(RematModule module) {
  return static_cast<ModuleState *>(module.ptr);
}

/// One call of a function of the API.
class Call {
public:
  /// Forgets what the last call left, and collects diagnostics from now on.
  explicit Call(ContextState &context);
  ~Call();

  RematStatus fail(RematStatus status, const llvm::Twine &message);
  /// Fails with the message of `error`. A budget that is infeasible is that,
  /// and a device that is missing is that, whatever `status` is.
  RematStatus fail(RematStatus status, llvm::Error error);

private:
  ContextState &context;
  mlir::DiagnosticEngine::HandlerID handler;
  std::string text;
};

/// An argument of a function of the API that must not be null.
struct Argument {
  llvm::StringLiteral name;
  const void *value;
};
/// One with `count` elements. Where there are none, it may be null.
inline Argument makeArray(llvm::StringLiteral name, const void *elements,
                          const size_t &count) {
  return {name, count == 0 ? &count : elements};
}
/// One that takes what the function gives: nothing, unless it succeeds.
inline Argument makeOutput(llvm::StringLiteral name, RematBytes *bytes) {
  if (bytes)
    *bytes = {nullptr, 0};
  return {name, bytes};
}
template <typename Handle>
Argument makeOutput(llvm::StringLiteral name, Handle *handle) {
  if (handle)
    handle->ptr = nullptr;
  return {name, handle};
}

/// A call of `function`, which is what `body` does with the state of `object`
/// if neither that nor one of `arguments` is null.
template <typename Handle, typename Body>
RematStatus runCall(llvm::StringRef function, Handle object,
                    std::initializer_list<Argument> arguments, Body body) {
  if (!object.ptr)
    return REMAT_STATUS_INVALID_ARGUMENT;
  auto &state = *unwrap(object);
  Call call(getContext(state));
  for (const Argument &argument : arguments)
    if (!argument.value)
      return call.fail(REMAT_STATUS_INVALID_ARGUMENT,
                       function + ": '" + argument.name + "' must not be null");
  return body(call, state);
}

/// Gives `bytes` to the caller of the API.
void giveBytes(llvm::StringRef bytes, RematBytes *out);
/// The value as indented text.
void giveJson(llvm::json::Value value, RematBytes *out);

/// "captured", "joint", "tasks", "planned", "placed".
llvm::StringRef getLevelName(RematLevel level);

/// Fails unless the module is at `level`.
RematStatus requireLevel(Call &call, const ModuleState &module,
                         RematLevel level);

/// Sets `graph` to the step of the module. Fails unless there is one, at
/// `level`.
RematStatus requireGraph(Call &call, const ModuleState &module,
                         RematLevel level, GraphOp &graph);

/// Fails unless it is known how the module was planned.
RematStatus requirePlan(Call &call, const ModuleState &module);

} // namespace remat::capi

#endif // REMAT_LIB_CAPI_STATE_H

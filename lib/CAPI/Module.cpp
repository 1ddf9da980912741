//===- Module.cpp - modules of the C API ----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "State.h"

#include "remat/Conversion/Import/ForeignDialects.h"
#include "remat/Dialect/Remat/IR/StepGraphs.h"
#include "remat/Pipelines/Pipelines.h"
#include "remat/Support/InputFiles.h"

#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace remat;
using namespace remat::capi;

//===----------------------------------------------------------------------===//
// Levels
//===----------------------------------------------------------------------===//

StringRef capi::getLevelName(RematLevel level) {
  static constexpr StringLiteral names[] = {"captured", "joint", "tasks",
                                            "planned", "placed"};
  return size_t(level) < std::size(names) ? StringRef(names[level])
                                          : StringRef("unknown");
}

static RematLevel findLevel(ModuleOp module) {
  auto graphs = getStepGraphs(module);
  if (graphs.empty())
    return REMAT_LEVEL_CAPTURED;
  GraphOp graph = *graphs.begin();
  if (graph.isPlaced())
    return REMAT_LEVEL_PLACED;
  return graph.isPlanned() ? REMAT_LEVEL_PLANNED : REMAT_LEVEL_TASKS;
}

RematStatus capi::requireLevel(Call &call, const ModuleState &module,
                               RematLevel level) {
  if (module.level == level)
    return REMAT_STATUS_OK;
  return call.fail(REMAT_STATUS_INVALID_ARGUMENT,
                   "the module is at level '" + getLevelName(module.level) +
                       "', expected '" + getLevelName(level) +
                       "': see rematModuleCompile");
}

RematStatus capi::requireGraph(Call &call, const ModuleState &module,
                               RematLevel level, GraphOp &graph) {
  if (RematStatus status = requireLevel(call, module, level))
    return status;
  graph = getOnlyGraph(*module.module);
  return graph ? REMAT_STATUS_OK
               : call.fail(REMAT_STATUS_INVALID_ARGUMENT,
                           "the module holds no step");
}

RematStatus capi::requirePlan(Call &call, const ModuleState &module) {
  if (module.plan)
    return REMAT_STATUS_OK;
  return call.fail(REMAT_STATUS_INVALID_ARGUMENT,
                   "the module is at level '" + getLevelName(module.level) +
                       "', and rematModuleCompile has not planned it: bring "
                       "it from level 'tasks' or an earlier one to 'planned' "
                       "or 'placed'");
}

//===----------------------------------------------------------------------===//
// Reading and writing
//===----------------------------------------------------------------------===//

static RematStatus parse(Call &call, const ContextRef &context,
                         std::unique_ptr<llvm::MemoryBuffer> buffer,
                         RematModule *module) {
  std::string name = buffer->getBufferIdentifier().str();
  auto sources = std::make_shared<llvm::SourceMgr>();
  sources->AddNewSourceBuffer(std::move(buffer), llvm::SMLoc());
  UnknownDialectHandler unknown(&context->mlir);
  auto parsed =
      parseSourceFile<ModuleOp>(sources, ParserConfig(&context->mlir));
  if (!parsed)
    return call.fail(REMAT_STATUS_PARSE_ERROR, "could not read '" + name + "'");
  RematLevel level = findLevel(*parsed);
  if (level == REMAT_LEVEL_CAPTURED && failed(importSignatures(*parsed)))
    return call.fail(REMAT_STATUS_COMPILE_ERROR,
                     "could not compile '" + name + "'");
  module->ptr = new ModuleState{context, std::move(parsed), level};
  return REMAT_STATUS_OK;
}

RematStatus rematModuleParse(RematContext context, const char *data,
                             size_t size, const char *name,
                             RematModule *module) {
  return runCall(__func__, context,
                 {{"data", data}, makeOutput("module", module)},
                 [&](Call &call, ContextRef &state) {
                   // A copy, since the parser reads a 0 behind the text.
                   return parse(call, state,
                                llvm::MemoryBuffer::getMemBufferCopy(
                                    StringRef(data, size), name ? name : "-"),
                                module);
                 });
}

RematStatus rematModuleParseFile(RematContext context, const char *path,
                                 RematModule *module) {
  return runCall(__func__, context,
                 {{"path", path}, makeOutput("module", module)},
                 [&](Call &call, ContextRef &state) {
                   auto buffer = readTextFileOrInput(path);
                   if (!buffer)
                     return call.fail(REMAT_STATUS_IO_ERROR,
                                      llvm::toString(buffer.takeError()));
                   return parse(call, state, std::move(*buffer), module);
                 });
}

RematStatus rematModuleClone(RematModule module, RematModule *copy) {
  return runCall(__func__, module, {makeOutput("copy", copy)},
                 [&](Call &, ModuleState &state) {
                   copy->ptr =
                       new ModuleState{state.context, state.module->clone(),
                                       state.level, state.plan};
                   return REMAT_STATUS_OK;
                 });
}

void rematModuleDestroy(RematModule module) { delete unwrap(module); }

RematLevel rematModuleGetLevel(RematModule module) {
  return module.ptr ? unwrap(module)->level : REMAT_LEVEL_CAPTURED;
}

RematStatus rematModulePrint(RematModule module, RematBytes *text) {
  return runCall(__func__, module, {makeOutput("text", text)},
                 [&](Call &, ModuleState &state) {
                   std::string printed;
                   llvm::raw_string_ostream stream(printed);
                   state.module->print(stream);
                   giveBytes(printed, text);
                   return REMAT_STATUS_OK;
                 });
}

RematStatus rematModuleWriteBytecode(RematModule module, RematBytes *bytecode) {
  return runCall(__func__, module, {makeOutput("bytecode", bytecode)},
                 [&](Call &call, ModuleState &state) {
                   std::string written;
                   llvm::raw_string_ostream stream(written);
                   if (failed(writeBytecodeToFile(*state.module, stream)))
                     return call.fail(REMAT_STATUS_COMPILE_ERROR,
                                      "the module has no form in bytecode");
                   giveBytes(written, bytecode);
                   return REMAT_STATUS_OK;
                 });
}

//===----------------------------------------------------------------------===//
// Compiling
//===----------------------------------------------------------------------===//

RematStatus rematModuleNameArgument(RematModule module, RematOptions options,
                                    size_t argument, const char *name) {
  return runCall(
      __func__, module, {{"options", options.ptr}, {"name", name}},
      [&](Call &call, ModuleState &state) {
        if (RematStatus status =
                requireLevel(call, state, REMAT_LEVEL_CAPTURED))
          return status;
        if (!*name)
          return call.fail(REMAT_STATUS_INVALID_ARGUMENT,
                           "the name is empty, expected a string that is not");
        const std::string &function = unwrap(options)->step.function;
        FunctionOpInterface entry = findEntry(*state.module, function);
        if (!entry)
          return call.fail(REMAT_STATUS_COMPILE_ERROR,
                           "the module has no function '" + function + "'");
        if (argument >= entry.getNumArguments())
          return call.fail(REMAT_STATUS_INVALID_ARGUMENT,
                           "function '" + function + "' has " +
                               Twine(entry.getNumArguments()) +
                               " arguments, so none is number " +
                               Twine(argument));
        entry.setArgAttr(argument, RematDialect::nameAttrName,
                         StringAttr::get(entry->getContext(), name));
        return REMAT_STATUS_OK;
      });
}

/// Brings a joint function to tasks.
static LogicalResult formTasks(ModuleOp module, const StepOptions &options) {
  FunctionOpInterface entry = findEntry(module, options.function);
  if (!entry)
    return module.emitError("has no function '") << options.function << "'";
  StepOptions tasks = options;
  tasks.function = entry.getName().str();
  PassManager pm(module.getContext());
  buildTasksPipeline(pm, tasks);
  return pm.run(module);
}

/// Plans `graph`. What the plan says of each value outlives the search.
static RematStatus plan(Call &call, GraphOp &graph, PlanOptions options,
                        std::shared_ptr<const GraphPlan> &plan) {
  options.listsDecisions = true;
  auto found = std::make_shared<GraphPlan>();
  if (llvm::Error error = planGraph(graph, options, found.get()))
    return call.fail(REMAT_STATUS_COMPILE_ERROR, std::move(error));
  plan = std::move(found);
  return REMAT_STATUS_OK;
}

/// Brings `module` from one level to a later one, in place. `found` gets the
/// plan if it is planned.
static RematStatus compile(Call &call, ModuleOp module, RematLevel from,
                           RematLevel to, const OptionsState &options,
                           std::shared_ptr<const GraphPlan> &found) {
  LogicalResult result = success();
  if (from == REMAT_LEVEL_CAPTURED)
    result = to == REMAT_LEVEL_JOINT ? compileToJoint(module, options.step)
                                     : compileToTasks(module, options.step);
  else if (from == REMAT_LEVEL_JOINT)
    result = formTasks(module, options.step);
  GraphOp graph;
  if (succeeded(result) && to >= REMAT_LEVEL_PLANNED)
    result = success(graph = getOnlyGraph(module));
  if (failed(result))
    return call.fail(REMAT_STATUS_COMPILE_ERROR, "the module does not compile");
  if (from < REMAT_LEVEL_PLANNED && to >= REMAT_LEVEL_PLANNED)
    if (RematStatus status = plan(call, graph, options.step.plan, found))
      return status;
  if (from < REMAT_LEVEL_PLACED && to == REMAT_LEVEL_PLACED)
    if (llvm::Error error =
            placeModule(module, options.step.plan.reuseResultBuffers)
                .takeError())
      return call.fail(REMAT_STATUS_COMPILE_ERROR, std::move(error));
  return REMAT_STATUS_OK;
}

RematStatus rematModuleCompile(RematModule module, RematLevel level,
                               RematOptions options) {
  return runCall(
      __func__, module, {{"options", options.ptr}},
      [&](Call &call, ModuleState &state) {
        if (level < state.level || level > REMAT_LEVEL_PLACED)
          return call.fail(
              REMAT_STATUS_INVALID_ARGUMENT,
              "the module is at level '" + getLevelName(state.level) +
                  "', from which none leads to '" + getLevelName(level) + "'");
        if (level == state.level)
          return REMAT_STATUS_OK;
        // What fails leaves the module as it was.
        OwningOpRef<ModuleOp> copy = state.module->clone();
        std::shared_ptr<const GraphPlan> plan = state.plan;
        if (RematStatus status = compile(call, *copy, state.level, level,
                                         *unwrap(options), plan))
          return status;
        state.module = std::move(copy);
        state.plan = std::move(plan);
        state.level = level;
        return REMAT_STATUS_OK;
      });
}

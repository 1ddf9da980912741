//===- StepReporter.cpp - reads a step off its graph ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepReporter.h"

#include "remat/Utils/Utf8.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace remat;

std::string StepReporter::getArgumentName(unsigned number) {
  if (around && !around->arguments[number].name.empty())
    return around->arguments[number].name;
  if (auto name = graph.getArgAttrOfType<StringAttr>(
          number, RematDialect::nameAttrName))
    return name.str();
  return "argument " + std::to_string(number);
}

//===----------------------------------------------------------------------===//
// What is known of arguments
//===----------------------------------------------------------------------===//

/// The gradients that exporters have computed are named after their parameters:
/// "w.grad" of "w".
void StepReporter::findNamedGradients() {
  llvm::StringMap<unsigned> arguments;
  for (unsigned number = 0; number < graph.getNumArguments(); ++number)
    if (auto name = graph.getArgAttrOfType<StringAttr>(
            number, RematDialect::nameAttrName))
      arguments[name.getValue()] = number;
  for (unsigned number = 0; number < graph.getNumResults(); ++number) {
    auto name = graph.getResultAttrOfType<StringAttr>(
        number, RematDialect::nameAttrName);
    StringRef of = name ? name.getValue() : StringRef();
    auto argument =
        of.consume_back(".grad") ? arguments.find(of) : arguments.end();
    if (argument == arguments.end() ||
        graph.getArgumentTypes()[argument->second] !=
            graph.getResultTypes()[number])
      continue;
    parameters.insert(argument->second);
    gradients[number] = of.str();
  }
}

void StepReporter::findParameters() {
  if (around) {
    gradients = around->gradients;
    return;
  }
  gradients.resize(graph.getNumResults());
  findNamedGradients();
  SmallVector<DifferentiateOptions, 2> derivatives = options.getDerivatives();
  if (derivatives.empty())
    return;
  const DifferentiateOptions &last = derivatives.back();
  for (int64_t number : last.wrt)
    if (number >= 0 && number < graph.getNumArguments())
      parameters.insert(number);
  // The gradients are the last results, unless an optimizer has used them up.
  size_t count = last.wrt.size();
  if (!options.optimizer.empty() || !last.tags.empty() ||
      last.mode == DifferentiateOptions::Forward ||
      count > graph.getNumResults())
    return;
  for (auto [index, number] : llvm::enumerate(last.wrt))
    if (parameters.contains(number))
      gradients[graph.getNumResults() - count + index] =
          getArgumentName(number);
}

//===----------------------------------------------------------------------===//
// All of it
//===----------------------------------------------------------------------===//

/// What is made of the report is in formats of UTF-8.
static void fixTexts(StepReport &report) {
  auto fix = [](std::initializer_list<std::string *> texts) {
    for (std::string *text : texts)
      *text = toUtf8(*text);
  };
  for (ReportEntry &entry : report.entries)
    fix({&entry.name, &entry.kind, &entry.kernel, &entry.layer, &entry.label,
         &entry.location});
  for (ReportBuffer &buffer : report.buffers)
    fix({&buffer.name, &buffer.why, &buffer.reason});
}

FailureOr<StepReport> StepReporter::run() {
  target = around ? around->target : lookupTarget(graph);
  if (!target)
    return failure();
  report.function = toUtf8(graph.getName());
  report.budget = graph.getBudget();
  report.plannedPeak = graph.getPlannedPeak().value_or(0);
  report.arenaBytes = graph.getArenaBytes().value_or(0);
  findParameters();
  names.emplace(graph, gradients,
                around ? ArrayRef(around->arguments) : ArrayRef<ValueName>());
  for (auto task : graph.getOps<TaskOp>())
    if (task.isClone())
      cloned.insert(task.getId());
  for (Operation &op : graph.getBody().front().without_terminator())
    if (failed(addEntry(op)))
      return failure();
  entryAt.push_back(report.entries.size());
  if (report.entries.empty())
    return std::move(report);
  addCallers();
  addBuffers();
  addReads();
  countLive();
  fixTexts(report);
  return std::move(report);
}

FailureOr<StepReport> remat::makeStepReport(GraphOp graph,
                                            const StepOptions &options,
                                            int64_t linkBytesPerSecond,
                                            ArrayRef<TaskDecision> decisions) {
  // Kernels are analyzed in the form that code is generated from. A graph that
  // was read from a file has not loaded what that needs.
  graph.getContext()
      ->loadDialect<arith::ArithDialect, bufferization::BufferizationDialect,
                    linalg::LinalgDialect, memref::MemRefDialect,
                    tensor::TensorDialect>();
  return StepReporter(graph, options, linkBytesPerSecond, decisions).run();
}

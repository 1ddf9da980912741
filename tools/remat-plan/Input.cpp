//===- Input.cpp - what remat-plan plans ----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reading of instances and models.
//
//===----------------------------------------------------------------------===//

#include "Input.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace llvm;
using namespace remat;
using namespace remat::tools;

plan::ModelFlags::ModelFlags(cl::OptionCategory &category)
    : function("function", cl::init("main"), cl::cat(category),
               cl::value_desc("name"),
               cl::desc("Function of a model to compile")),
      manifestFile("manifest", cl::cat(category), cl::value_desc("file"),
                   cl::desc("Which arguments of a model are parameters: these "
                            "are differentiated with respect to")),
      wrt("wrt", cl::CommaSeparated, cl::cat(category),
          cl::desc("Arguments to differentiate with respect to; the parameters "
                   "of the manifest, or all of floating point, if not given")),
      noGradients("no-gradients", cl::cat(category),
                  cl::desc("Do not append the backward computation")) {}

/// Brings a module with functions to a graph of tasks.
static Error compileFunction(mlir::ModuleOp module, StringRef path,
                             const plan::ModelFlags &flags) {
  StepOptions step;
  step.function = flags.function;
  SmallVector<int64_t> wrt(flags.wrt.begin(), flags.wrt.end());
  if (!flags.manifestFile.empty()) {
    Expected<Manifest> manifest = loadManifest(flags.manifestFile);
    if (!manifest)
      return manifest.takeError();
    if (flags.function.getNumOccurrences() == 0)
      step.function = manifest->function;
    if (Error error = applyManifest(*manifest, module, step.function))
      return error;
    if (wrt.empty())
      wrt = getParameters(*manifest);
  }
  if (flags.noGradients)
    step.derivatives.clear();
  else
    step.derivatives.front().wrt = wrt;
  if (failed(compileToTasks(module, step)))
    return makeError("could not compile " + path);
  return Error::success();
}

static Expected<planning::Instance>
readModel(std::unique_ptr<MemoryBuffer> buffer, const plan::ModelFlags &flags,
          const PlanOptions &options) {
  std::string path = buffer->getBufferIdentifier().str();
  ModelReader reader;
  auto module = reader.read(std::move(buffer));
  if (!module)
    return module.takeError();
  if ((*module)->getOps<GraphOp>().empty())
    if (Error error = compileFunction(**module, path, flags))
      return std::move(error);
  GraphOp graph = getOnlyGraph(**module);
  if (!graph)
    return makeError("could not plan " + path);
  Expected<planning::Problem> problem = makeProblem(graph, options);
  if (!problem)
    return createFileError(path, problem.takeError());
  return planning::parseInstance(
      formatv("{0}", planning::toJson(*problem)).str());
}

/// MLIR's text starts with a brace only for resources, "{-#".
static bool isJson(StringRef text) {
  text = text.ltrim();
  return text.starts_with("{") && !text.starts_with("{-#");
}

Expected<planning::Instance> plan::readInput(StringRef path,
                                             const ModelFlags &model,
                                             const PlanFlags &flags,
                                             const PlanOptions &plan) {
  ErrorOr<std::unique_ptr<MemoryBuffer>> file =
      MemoryBuffer::getFileOrSTDIN(path);
  if (!file)
    return createFileError(path, file.getError());
  if (!path.ends_with(".json") && !isJson((*file)->getBuffer()))
    return readModel(std::move(*file), model, plan);
  Expected<planning::Instance> instance =
      planning::parseInstance((*file)->getBuffer());
  if (!instance)
    return createFileError(path, instance.takeError());
  planning::Problem &problem = instance->problem;
  problem.freeOrder |= plan.reorder;
  if (plan.hostBudget)
    problem.hostBudget = plan.hostBudget;
  if (flags.linkBandwidth.getNumOccurrences())
    problem.linkBytesPerSecond = plan.linkBandwidth;
  for (const auto &[name, bytes] : plan.regionBudgets) {
    auto region = find_if(problem.regions, [&name = name](const auto &r) {
      return r.name == name;
    });
    if (region == problem.regions.end())
      return createFileError(path, makeError("has no region '" + name + "'"));
    region->budget = bytes;
  }
  return instance;
}

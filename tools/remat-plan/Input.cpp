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

#include "llvm/Support/MemoryBuffer.h"

using namespace llvm;
using namespace remat;
using namespace remat::plan;
using namespace remat::tools;

/// Refuses what was given although the input, which is what `why` says, is past
/// it.
static Error checkUnused(StringRef manifestFile, const StepFlags &flags,
                         StringRef why) {
  if (!manifestFile.empty())
    return makeError("'--manifest' has no effect: " + why);
  return flags.refuseStages(ImportStage | JointStage | TasksStage, why);
}

static Expected<Model> readModel(std::unique_ptr<MemoryBuffer> buffer,
                                 StringRef manifestFile, const StepFlags &flags,
                                 StepOptions options) {
  std::string path = buffer->getBufferIdentifier().str();
  Model model;
  model.reader = std::make_unique<ModelReader>();
  if (Error error =
          model.reader->read(std::move(buffer)).moveInto(model.module))
    return std::move(error);
  mlir::ModuleOp module = *model.module;
  if (module.getOps<GraphOp>().empty()) {
    if (Error error = applyManifestFile(manifestFile, flags, module, options))
      return std::move(error);
    if (failed(compileToTasks(module, options)))
      return makeError("could not compile " + path);
  } else if (Error error =
                 checkUnused(manifestFile, flags,
                             "the input is already a graph of tasks")) {
    return std::move(error);
  }
  model.graph = getOnlyGraph(module);
  if (!model.graph)
    return makeError("could not plan " + path);
  return model;
}

/// MLIR's text starts with a brace only for resources, "{-#".
static bool isJson(StringRef text) {
  text = text.ltrim();
  return text.starts_with("{") && !text.starts_with("{-#");
}

Expected<Input> plan::readInput(StringRef path, StringRef manifestFile,
                                const StepFlags &flags,
                                const StepOptions &options) {
  ErrorOr<std::unique_ptr<MemoryBuffer>> file =
      MemoryBuffer::getFileOrSTDIN(path);
  if (!file)
    return createFileError(path, file.getError());
  if (!path.ends_with(".json") && !isJson((*file)->getBuffer()))
    return readModel(std::move(*file), manifestFile, flags, options);
  if (Error error = checkUnused(manifestFile, flags,
                                "the input is an instance, no model"))
    return std::move(error);
  Expected<planning::Instance> instance =
      planning::parseInstance((*file)->getBuffer());
  if (!instance)
    return createFileError(path, instance.takeError());
  const PlanOptions &plan = options.plan;
  planning::Problem &problem = instance->problem;
  problem.freeOrder |= plan.reorder;
  if (plan.hostBudget)
    problem.hostBudget = plan.hostBudget;
  if (flags.isGiven("link-bandwidth"))
    problem.linkBytesPerSecond = plan.linkBandwidth;
  for (const auto &[name, bytes] : plan.regionBudgets) {
    auto region = find_if(problem.regions, [&name = name](const auto &r) {
      return r.name == name;
    });
    if (region == problem.regions.end())
      return createFileError(path, makeError("has no region '" + name + "'"));
    region->budget = bytes;
  }
  return std::move(*instance);
}

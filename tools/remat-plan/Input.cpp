//===- Input.cpp - what remat-plan plans ----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reading of instances, problems of a fast memory, and models.
//
//===----------------------------------------------------------------------===//

#include "Input.h"

#include "remat/Support/InputFiles.h"

using namespace llvm;
using namespace remat;
using namespace remat::plan;
using namespace remat::tools;

/// Refuses a manifest for an input that has no use for it, as `why` says.
static Error checkNoManifest(StringRef manifestFile, StringRef why) {
  if (manifestFile.empty())
    return Error::success();
  return makeError("'--manifest' has no effect: " + why);
}

/// Refuses what was given although the input is a graph and past it.
static Error checkForGraph(StringRef manifestFile, const StepFlags &flags) {
  StringRef why = "the input is already a graph of tasks";
  if (Error error = checkNoManifest(manifestFile, why))
    return error;
  return flags.refuseStages(ImportStage | JointStage | TasksStage, why);
}

/// Refuses what says nothing of an instance. It has no step that could run, so
/// threads are those of the search.
static Error checkForInstance(StringRef manifestFile, const StepFlags &flags) {
  StringRef why = "the input is an instance, no model";
  if (Error error = checkNoManifest(manifestFile, why))
    return error;
  return flags.refuseAllBut({"budget", "planner", "effort", "time-limit", "gap",
                             "seed", "search-threads", "threads", "reorder",
                             "offload", "host-budget", "link-bandwidth",
                             "region-budget"},
                            why);
}

/// Refuses what says nothing of a problem of a fast memory.
static Error checkForFastMemory(StringRef manifestFile,
                                const StepFlags &flags) {
  StringRef why = "the input is a problem of a fast memory";
  if (Error error = checkNoManifest(manifestFile, why))
    return error;
  return flags.refuseAllBut({"effort", "time-limit", "gap", "seed"}, why);
}

/// Replaces the limits of an instance where flags were given.
static Error setLimits(planning::Problem &problem, const StepFlags &flags,
                       const PlanOptions &plan) {
  if (flags.isGiven("budget"))
    problem.deviceBudget.reset();
  if (flags.isGiven("reorder"))
    problem.freeOrder = plan.reorder;
  if (flags.isGiven("host-budget"))
    problem.hostBudget = plan.hostBudget;
  if (plan.linkBandwidth == targetBandwidth)
    return makeError("'--link-bandwidth' is 'target', and an instance has "
                     "none; say how fast the link is");
  if (flags.isGiven("link-bandwidth"))
    problem.linkBytesPerSecond = plan.linkBandwidth;
  if (!plan.offload)
    problem.linkBytesPerSecond = 0;
  for (const auto &[name, bytes] : plan.regionBudgets) {
    auto region = find_if(problem.regions, [&name = name](const auto &r) {
      return r.name == name;
    });
    if (region == problem.regions.end())
      return makeError("has no region '" + name + "'");
    region->budget = bytes;
  }
  return Error::success();
}

static Expected<ModelSource> readModel(std::unique_ptr<MemoryBuffer> buffer,
                                       StringRef manifestFile,
                                       const StepFlags &flags,
                                       StepOptions options) {
  ModelSource model;
  model.reader = std::make_unique<ModelReader>();
  if (Error error =
          model.reader->read(std::move(buffer)).moveInto(model.module))
    return std::move(error);
  mlir::ModuleOp module = *model.module;
  if (Error error =
          module.getOps<GraphOp>().empty()
              ? applyManifestFile(manifestFile, flags, module, options)
              : checkForGraph(manifestFile, flags))
    return std::move(error);
  model.options = std::move(options);
  return model;
}

/// MLIR's text starts with a brace only for resources, "{-#".
static bool isJson(StringRef text) {
  text = text.ltrim();
  return text.starts_with("{") && !text.starts_with("{-#");
}

Expected<Source> plan::readSource(StringRef path, StringRef manifestFile,
                                  const StepFlags &flags,
                                  const StepOptions &options) {
  Expected<std::unique_ptr<MemoryBuffer>> file = readTextFileOrInput(path);
  if (!file)
    return file.takeError();
  if (!path.ends_with(".json") && !isJson((*file)->getBuffer()))
    return readModel(std::move(*file), manifestFile, flags, options);
  StringRef text = (*file)->getBuffer();
  if (planning::fastmemory::isProblem(text)) {
    if (Error error = checkForFastMemory(manifestFile, flags))
      return std::move(error);
    Expected<planning::fastmemory::Problem> problem =
        planning::fastmemory::parseProblem(text);
    if (!problem)
      return createFileError(path, problem.takeError());
    return std::move(*problem);
  }
  if (Error error = checkForInstance(manifestFile, flags))
    return std::move(error);
  Expected<planning::Instance> instance = planning::parseInstance(text);
  if (!instance)
    return createFileError(path, instance.takeError());
  if (Error error = setLimits(instance->problem, flags, options.plan))
    return createFileError(path, std::move(error));
  return std::move(*instance);
}

Expected<Input> plan::readInput(StringRef path, StringRef manifestFile,
                                const StepFlags &flags,
                                const StepOptions &options) {
  Expected<Source> source = readSource(path, manifestFile, flags, options);
  if (!source)
    return source.takeError();
  if (auto *instance = std::get_if<planning::Instance>(&*source))
    return std::move(*instance);
  if (auto *problem = std::get_if<planning::fastmemory::Problem>(&*source))
    return std::move(*problem);
  Model model{std::move(std::get<ModelSource>(*source)), {}};
  if (model.module->getOps<GraphOp>().empty() &&
      failed(compileToTasks(*model.module, model.options)))
    return makeError("could not compile " + path);
  model.graph = getOnlyGraph(*model.module);
  if (!model.graph)
    return makeError("could not plan " + path);
  return model;
}

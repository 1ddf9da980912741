//===- remat-compile.cpp - models to object files -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The way ahead of time: reads a model, differentiates, plans and compiles it
// to an object file, and writes the C header that goes with it. The object
// needs libremat_runtime and libm, nothing of MLIR. A file that already holds a
// graph is taken up at the level it has.
//
// Exit status: 0; 1 on bad input, with a diagnostic; 3 when the budget is
// infeasible, with the smallest feasible one. Files are written at the end,
// whole or not at all.
//
//===----------------------------------------------------------------------===//

#include "common/ChoiceParser.h"
#include "common/Driver.h"
#include "common/OutputFlags.h"
#include "common/PlanFlags.h"
#include "common/ReportFlag.h"
#include "common/StepFlags.h"

#include "remat/Codegen/Dtypes.h"
#include "remat/Codegen/HeaderEmitter.h"
#include "remat/Dialect/Remat/IR/TargetFacts.h"
#include "remat/Pipelines/StepSnapshot.h"
#include "remat/Pipelines/StepTrace.h"
#include "remat/Pipelines/SummaryJson.h"
#include "remat/Support/OutputFiles.h"
#include "remat/Target/Target.h"
#include "remat/Utils/Utf8.h"

#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace remat;
using namespace remat::tools;

namespace {
/// What to write, in the order in which it is reached: the levels of a
/// pipeline, then files of code.
enum class Output { Joint, Tasks, Planned, Placed, Code, Assembly, Object };

/// The command line.
struct Options {
  Options();

  cl::OptionCategory category{"remat-compile options"};
  cl::opt<std::string> inputFile{cl::Positional, cl::init("-"),
                                 cl::desc("<model.mlir>"), cl::cat(category)};
  cl::opt<std::string> outputFile{"o", cl::init("-"), cl::cat(category),
                                  cl::value_desc("file"),
                                  cl::desc("Output file")};
  cl::opt<std::string> headerFile{"header", cl::cat(category),
                                  cl::value_desc("file"),
                                  cl::desc("Write a C header here")};
  cl::opt<std::string> jsonFile{"json", cl::cat(category),
                                cl::value_desc("file"),
                                cl::desc("Write what is known of the placed "
                                         "step, in JSON")};
  ChoiceFlag<Output> emit{"emit", cl::init(Output::Object), cl::cat(category),
                          cl::desc("What to write:")};
  cl::opt<bool> assembly{"S", cl::cat(category),
                         cl::desc("Same as --emit=asm")};
  cl::opt<std::string> manifestFile{
      "manifest", cl::cat(category), cl::value_desc("file"),
      cl::desc("Names of the arguments, and which are parameters: these are "
               "differentiated with respect to")};
  StepFlags flags{category, AllStages, {"explain"}};
  PlanFlags plan{category};
  StoredPlanFlag storedPlan{category};
  cl::opt<std::string> traceFile{
      "trace", cl::cat(category), cl::value_desc("file"),
      cl::desc("Write a trace of the planned step for Perfetto or "
               "chrome://tracing")};
  cl::opt<std::string> snapshotFile{
      "memory-snapshot", cl::cat(category), cl::value_desc("file"),
      cl::desc("Write the planned arena as a memory snapshot of PyTorch")};
  ReportFlag report{category};
  /// What the flags say.
  StepOptions step;
};
} // namespace

Options::Options() {
  auto &parser = emit.getParser();
  parser.addLiteralOption("object", Output::Object, "an object file (default)");
  parser.addLiteralOption("asm", Output::Assembly, "assembly");
  for (const StepLevelInfo &level : reverse(getStepLevels()))
    parser.addLiteralOption(level.name, Output(level.level), level.help);
}

static Options &options() {
  static Options options;
  return options;
}

static std::array<OutputFlag, 6> getOutputFlags() {
  return {{{"-o", options().outputFile},
           {"--header", options().headerFile},
           {"--json", options().jsonFile},
           {"--trace", options().traceFile},
           {"--memory-snapshot", options().snapshotFile},
           {"--report", options().report.getFile()}}};
}

//===----------------------------------------------------------------------===//
// Checking the command line
//===----------------------------------------------------------------------===//

static Error refusePlanFlags(StringRef why) {
  if (options().storedPlan.isGiven())
    return makeError("'--plan' has no effect: " + why);
  if (Error error = options().report.refuse(why))
    return error;
  return options().plan.refuse(why);
}

static Error checkOptions() {
  if (Error error = options().flags.apply(options().step))
    return error;
  if (Error error = options().plan.check())
    return error;
  if (Error error = options().storedPlan.apply(options().flags, options().step))
    return error;
  if (options().assembly) {
    if (options().emit.getNumOccurrences() > 0 &&
        options().emit != Output::Assembly)
      return makeError("'-S' contradicts '--emit'");
    options().emit = Output::Assembly;
  }
  for (const cl::opt<std::string> *file :
       {&options().headerFile, &options().jsonFile, &options().traceFile,
        &options().snapshotFile})
    if (options().emit < Output::Placed && !file->empty())
      return makeError("'--" + file->ArgStr +
                       "' describes a placed step, but '--emit' stops before");
  if (options().emit < Output::Placed)
    if (Error error = options().report.refuse(
            "it shows a placed step, but '--emit' stops before"))
      return error;
  if (options().emit < Output::Planned)
    if (Error error = refusePlanFlags("'--emit' stops before the plan"))
      return error;
  if (Error error = checkFileNames(
          getOutputFlags(), {options().inputFile, options().manifestFile}))
    return error;
  if (options().emit == Output::Object &&
      OutputFiles::isStandardOutput(options().outputFile) &&
      outs().is_displayed())
    return makeError("an object file is nothing to show, give a file by '-o'");
  return Error::success();
}

//===----------------------------------------------------------------------===//
// The levels
//===----------------------------------------------------------------------===//

/// Brings a module with functions to the level of tasks, or only to the joint
/// graph if that is asked for.
static Error compileFunction(mlir::ModuleOp module) {
  StepOptions &step = options().step;
  if (Error error = applyManifestFile(options().manifestFile, options().flags,
                                      module, step))
    return error;
  if (failed(options().emit == Output::Joint ? compileToJoint(module, step)
                                             : compileToTasks(module, step)))
    return makeError("could not compile " + options().inputFile);
  return Error::success();
}

/// Refuses what was given although the input, a graph, is past it.
static Error checkUnused(unsigned stages, StringRef why) {
  if (options().manifestFile.getNumOccurrences() > 0)
    return makeError("'--manifest' has no effect: " + why);
  return options().flags.refuseStages(stages, why);
}

namespace {
/// What is known of a step beside its code.
struct Facts {
  /// Only if the step is placed.
  std::optional<StepSummary> summary;
  PlanDetails details;
  /// What happens in it, if a file shows that, and beside other plans.
  std::optional<StepReport> step;
  std::vector<PlannedStep> plans;
  /// Unset if the input was planned already.
  std::optional<double> planSeconds;
};
} // namespace

/// Plans the graph, and finds out what was asked about that. `found` is the
/// plan.
static Error plan(GraphOp &graph, PlanDetails &details, GraphPlan &found) {
  const PlanFlags &flags = options().plan;
  PlanOptions plan = options().step.plan;
  PlanWatch watch("remat-compile", flags.showsProgress(),
                  "going on with the best plan so far");
  watch.attach(plan.solver);
  unsigned points = flags.wantsFrontier() ? flags.getPoints() : 0;
  PlanTime time(plan.solver.timeLimitSeconds, 1 + points);
  if (points != 0) {
    PlanTime::Turn turn(time, plan.solver, points);
    if (Error error =
            computeFrontier(graph, plan, points,
                            options().report.isGiven() ? &details.frontierPlans
                                                       : nullptr)
                .moveInto(details.frontier))
      return error;
  }
  PlanTime::Turn turn(time, plan.solver);
  plan.listsDecisions = options().report.isGiven() || flags.wantsExplanation();
  if (Error error = planGraph(graph, plan, &found))
    return error;
  details.describeLink(found.problem, options().step);
  flags.listSaved(graph, details);
  return flags.explainPlan(found.problem, found.solution.plan, details, "ns",
                           found.decisions);
}

/// Describes the placed step of `graph` if a file shows it. A plan that was
/// made before, and is not `found`, does not say which link it was made for.
static Error describe(GraphOp graph, const GraphPlan &found, Facts &facts) {
  if (options().traceFile.empty() && options().snapshotFile.empty() &&
      !options().report.isGiven())
    return Error::success();
  int64_t link = facts.planSeconds ? found.problem.linkBytesPerSecond
                                   : getTargetFacts(graph).getLinkBandwidth();
  mlir::FailureOr<StepReport> report =
      makeStepReport(graph, options().step, link, found.decisions);
  if (failed(report))
    return makeError("could not describe the step");
  facts.step = std::move(*report);
  return Error::success();
}

/// The step that is compiled, by `found`, beside other plans of `tasks`.
static Expected<std::vector<PlannedStep>>
collectPlans(mlir::ModuleOp tasks, const GraphPlan &found, const Facts &facts) {
  const StepOptions &step = options().step;
  planning::SolverOptions search = step.plan.solver;
  PlanWatch watch("remat-compile", options().plan.showsProgress(),
                  "the report has the plans so far", "ns",
                  /*further=*/"plans for the report");
  watch.attach(search);
  return remat::collectPlans(
      tasks, step, search, facts.details.frontierPlans,
      makePlannedStep(PlanOrigin::Chosen, *facts.step, found));
}

/// Brings the module to the level that is to be written, L4 at most.
static Expected<Facts> compile(mlir::ModuleOp module) {
  constexpr unsigned toTasks = ImportStage | JointStage | TasksStage;
  const Options &given = options();
  if (module.getOps<GraphOp>().empty()) {
    if (Error error = compileFunction(module))
      return std::move(error);
  } else if (Error error = checkUnused(
                 toTasks, "the input is already a graph of tasks")) {
    return std::move(error);
  } else if (const Target *target = lookupTarget(module)) {
    if (Error unknown = target->checkDevice(given.step.device))
      return std::move(unknown);
  }
  Facts facts;
  if (given.emit <= Output::Tasks)
    return facts;
  GraphOp graph = getOnlyGraph(module);
  if (!graph)
    return makeError("could not compile " + given.inputFile);
  mlir::OwningOpRef<mlir::ModuleOp> tasks;
  if (given.report.isGiven())
    tasks = module.clone();
  GraphPlan found;
  if (graph.getPlannedPeak() || graph.getArenaBytes()) {
    unsigned done = toTasks | PlanStage;
    if (graph.getArenaBytes())
      done |= PlaceStage;
    StringLiteral why = "the input is already planned";
    if (Error error = checkUnused(done, why))
      return std::move(error);
    if (Error error = refusePlanFlags(why))
      return std::move(error);
  } else {
    double start = now();
    if (Error error = plan(graph, facts.details, found))
      return std::move(error);
    facts.planSeconds = now() - start;
  }
  if (given.emit == Output::Planned)
    return facts;
  if (graph.getArenaBytes()) {
    facts.summary = summarizeStep(graph);
    if (Error error = describe(graph, found, facts))
      return std::move(error);
    return facts;
  }
  if (Error error = placeModule(module, given.step.plan.reuseResultBuffers)
                        .moveInto(facts.summary))
    return std::move(error);
  if (Error error = describe(getOnlyGraph(module), found, facts))
    return std::move(error);
  if (given.report.isGiven())
    if (Error error = collectPlans(*tasks, found, facts).moveInto(facts.plans))
      return std::move(error);
  return facts;
}

//===----------------------------------------------------------------------===//
// Output
//===----------------------------------------------------------------------===//

namespace {
struct Files {
  SmallVector<char, 0> header, output;
};
} // namespace

/// Makes the contents of the files; lowers the module if code is asked for.
static Expected<Files> makeFiles(mlir::ModuleOp module) {
  const StepOptions &step = options().step;
  Files files;
  if (!options().headerFile.empty()) {
    raw_svector_ostream stream(files.header);
    if (failed(codegen::emitHeader(module, step.name, stream)))
      return makeError("could not describe the step");
  }
  raw_svector_ostream stream(files.output);
  if (options().emit <= Output::Placed) {
    module.print(stream);
    return files;
  }
  ProgressLine line("remat-compile", options().plan.showsProgress(),
                    [] { return ProgressState{"compiling", std::nullopt}; });
  const Target *target = lookupTarget(module);
  if (!target ||
      failed(target->lower(module, {step.name, step.threads, step.allowsTf32})))
    return makeError("could not compile " + options().inputFile);
  if (options().emit == Output::Code) {
    module.print(stream);
    return files;
  }
  std::unique_ptr<codegen::KernelCache> cache;
  if (!step.kernelCache.empty()) {
    auto opened = codegen::KernelCache::open(step.kernelCache);
    if (!opened)
      return opened.takeError();
    cache = std::move(*opened);
  }
  OutputKind kind = options().emit == Output::Assembly ? OutputKind::Assembly
                                                       : OutputKind::Object;
  if (Error error = target->emit(
          module, {step.chip, cache.get(), {}, step.cudaToolkit}, kind, stream))
    return std::move(error);
  return files;
}

static Error writeFiles(const Files &contents, const Facts &facts,
                        json::Value report) {
  auto writeTo = [](ArrayRef<char> bytes) {
    return [=](raw_ostream &os) { os.write(bytes.data(), bytes.size()); };
  };
  OutputFiles files;
  if (Error error = files.add(options().outputFile, writeTo(contents.output)))
    return error;
  if (!options().headerFile.empty())
    if (Error error = files.add(options().headerFile, writeTo(contents.header)))
      return error;
  if (!options().jsonFile.empty())
    if (Error error = files.add(options().jsonFile, [&](raw_ostream &os) {
          os << formatv("{0:2}", report) << '\n';
        }))
      return error;
  if (!options().traceFile.empty())
    if (Error error = files.add(options().traceFile, [&](raw_ostream &os) {
          writeTrace(*facts.step, /*measured=*/{}, os);
        }))
      return error;
  if (!options().snapshotFile.empty())
    if (Error error = files.add(options().snapshotFile, [&](raw_ostream &os) {
          writeMemorySnapshot(*facts.step, os);
        }))
      return error;
  if (Error error = options().report.addTo(
          files, facts.plans, ReportFlag::getTitle(options().inputFile)))
    return error;
  return files.commit();
}

/// What the caller provides for the tensors.
static int64_t sumBytes(mlir::TypeRange types) {
  int64_t bytes = 0;
  for (mlir::Type type : types)
    if (auto tensor = dyn_cast<mlir::RankedTensorType>(type))
      if (auto dtype = codegen::getDtype(tensor.getElementType()))
        bytes += tensor.getNumElements() * int64_t(remat_dtype_bytes(*dtype));
  return bytes;
}

/// The keys are those of the same figures in reports of remat-run.
static json::Object makeJson(GraphOp graph, const Facts &facts) {
  const StepFlags &flags = options().flags;
  json::Object object{
      {"schema", "remat.compile/1"},
      {"model", toUtf8(ReportFlag::getTitle(options().inputFile))},
      {"name", options().step.name},
      {"argument_bytes", sumBytes(graph.getArgumentTypes())},
      {"result_bytes", sumBytes(graph.getResultTypes())}};
  addSummary(object, *facts.summary);
  if (graph.getStateBytes())
    object["planned_state_bytes"] = facts.summary->stateBytes;
  if (facts.planSeconds) {
    object["planner"] = options().step.plan.planner;
    object["requested_budget"] =
        flags.isGiven("budget") ? flags.getText("budget") : "none";
    object["plan_seconds"] = *facts.planSeconds;
  }
  facts.details.addTo(object);
  return object;
}

static void printSummary(raw_ostream &os, GraphOp graph,
                         const StepSummary &summary) {
  os << options().step.name << ": planned peak " << summary.plannedPeak
     << " bytes (" << summary.saveAllPeak
     << " without rematerialization), arena " << summary.arenaBytes
     << ", budget ";
  if (graph.getBudget())
    os << *graph.getBudget();
  else
    os << "none";
  if (graph.getStateBytes())
    os << ", state " << summary.stateBytes;
  if (summary.hostArenaBytes)
    os << ", host arena " << summary.hostArenaBytes;
  if (!summary.microbatchOrder.empty())
    os << ", microbatches by " << summary.microbatchOrder;
  if (summary.batchParts > 1)
    os << ", batch in " << summary.batchParts << " parts";
  if (summary.sliceRows != 0)
    os << ", slices of " << summary.sliceRows << " rows"
       << (summary.slicesHidden ? ", hidden layers too" : "");
  if (summary.foldedLayers > 0)
    os << ", " << summary.foldedLayers << " layers as loops";
  os << "; " << graph.getArgumentTypes().size() << " arguments ("
     << sumBytes(graph.getArgumentTypes()) << " bytes), "
     << graph.getResultTypes().size() << " results ("
     << sumBytes(graph.getResultTypes()) << " bytes), " << summary.distinctTasks
     << " kernels, " << summary.tasks << " tasks, " << summary.recomputedTasks
     << " recomputed\n";
}

static Error runTool() {
  double start = now();
  if (Error error = checkOptions())
    return error;
  ModelReader reader;
  auto module = reader.read(options().inputFile);
  if (!module)
    return module.takeError();
  Expected<Facts> facts = compile(**module);
  if (!facts)
    return facts.takeError();
  std::string text;
  raw_string_ostream stream(text);
  json::Object report;
  if (facts->summary) {
    GraphOp graph = getOnlyGraph(**module);
    printSummary(stream, graph, *facts->summary);
    report = makeJson(graph, *facts);
  }
  facts->details.print(stream);
  stream << facts->details.saved;
  Expected<Files> files = makeFiles(**module);
  if (!files)
    return files.takeError();
  report["compile_seconds"] = now() - start - facts->planSeconds.value_or(0);
  if (Error error = writeFiles(*files, *facts, std::move(report)))
    return error;
  getTextStream(getOutputFlags()) << text;
  return Error::success();
}

int main(int argc, char **argv) {
  return runMain(
      argc, argv, "remat-compile",
      "Compile a training step to an object file\n",
      []() -> cl::OptionCategory & { return options().category; }, runTool);
}

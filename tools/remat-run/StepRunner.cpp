//===- StepRunner.cpp - compile and run steps -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepRunner.h"

#include "CodecLibrary.h"

#include "MemoryProbe.h"
#include "Options.h"

#include "remat/Cost/CostFile.h"
#include "remat/Support/OutputFiles.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/WithColor.h"

#include <cstring>
#include <ctime>

using namespace llvm;
using namespace remat;
using namespace remat::run;
using namespace remat::tools;

double run::cpuNow() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

static Error checkStatus(remat_status status) {
  if (status == REMAT_OK)
    return Error::success();
  return makeError(Twine(remat_status_name(status)) + ": " +
                   remat_last_error());
}

/// The kernels that this process has compiled, for all budgets, and those of
/// the directory if one is given.
static Expected<codegen::KernelCache *> getKernelCache() {
  static std::unique_ptr<codegen::KernelCache> cache;
  if (cache)
    return cache.get();
  StringRef directory = options().step.kernelCache;
  if (directory.empty()) {
    cache = std::make_unique<codegen::KernelCache>();
    return cache.get();
  }
  auto opened = codegen::KernelCache::open(directory);
  if (!opened)
    return opened.takeError();
  cache = std::move(*opened);
  return cache.get();
}

/// What is known of the algorithms of matmuls: those of the file of costs, and
/// what the steps of this process have chosen.
static std::optional<std::string> algorithms;

const std::string &run::getAlgorithms() {
  if (!algorithms)
    algorithms.emplace();
  return *algorithms;
}

bool run::holdsCosts(StringRef path) {
  return !path.empty() && !OutputFiles::isStream(path) && sys::fs::exists(path);
}

/// Reads them for the first step.
static Error loadAlgorithms() {
  if (algorithms)
    return Error::success();
  algorithms.emplace();
  for (StringRef path :
       {StringRef(options().step.costs), StringRef(options().profileCosts)}) {
    if (!holdsCosts(path) || !algorithms->empty())
      continue;
    Expected<CostFile> file = CostFile::load(path);
    if (!file)
      return file.takeError();
    algorithms = std::move(file->algorithms);
  }
  return Error::success();
}

/// Plans and places the module.
static Error plan(mlir::ModuleOp module, StringRef budget, RunReport &report) {
  PlanOptions plan = options().step.plan;
  // A stored plan was made for a budget of its own.
  if (!plan.stored)
    if (Error error = planning::parseBudget(budget).moveInto(plan.budget))
      return prefixError("--budget", std::move(error));
  bool isShown = options().seeing.getReport().isGiven();
  plan.listsDecisions = isShown || options().plan.wantsExplanation();
  GraphPlan found;
  {
    PlanWatch watch("remat-run", options().plan.showsProgress(),
                    "going on with the best plan so far");
    watch.attach(plan.solver);
    PlanTime::Turn turn(options().planTime, plan.solver);
    if (Error error = planModule(module, plan, &found).moveInto(report.summary))
      return error;
  }
  report.details.describeLink(found.problem, options().step);
  options().plan.listSaved(getOnlyGraph(module), report.details);
  if (options().seeing.isAsked()) {
    mlir::FailureOr<StepReport> seen =
        makeStepReport(getOnlyGraph(module), options().step,
                       found.problem.linkBytesPerSecond, found.decisions);
    if (failed(seen))
      return makeError("could not describe the step");
    report.step = std::move(*seen);
    if (isShown)
      report.chosen = makePlannedStep(PlanOrigin::Chosen, report.step, found);
  }
  return options().plan.explainPlan(found.problem, found.solution.plan,
                                    report.details, "ns", found.decisions);
}

Expected<LoadedStep> run::compile(mlir::ModuleOp tasks, StringRef budget,
                                  RunReport &report) {
  const StepOptions &stepOptions = options().step;
  double start = now();
  mlir::OwningOpRef<mlir::ModuleOp> module(tasks.clone());
  if (Error error = plan(*module, budget, report))
    return std::move(error);
  double planned = now();
  report.planSeconds = planned - start;

  Expected<codegen::KernelCache *> cache = getKernelCache();
  if (!cache)
    return cache.takeError();
  LoadedStep loaded;
  Expected<const Target *> target =
      lookupTarget(getTargetFacts(*module).getName());
  if (!target)
    return target.takeError();
  LoweringOptions lowering;
  lowering.name = stepOptions.name;
  lowering.threads = stepOptions.threads;
  EmitOptions emission;
  emission.chip = stepOptions.chip;
  emission.cache = *cache;
  emission.device = stepOptions.device;
  emission.toolkit = stepOptions.cudaToolkit;
  {
    ProgressLine line("remat-run", options().plan.showsProgress(),
                      [] { return ProgressState{"compiling", std::nullopt}; });
    Expected<std::unique_ptr<LoadedModule>> code =
        (*target)->load(*module, lowering, emission);
    if (!code)
      return code.takeError();
    loaded.code = std::move(*code);
  }
  remat_step_options loading{};
  loading.threads = stepOptions.threads;
  loading.determinism_check = options().determinismCheck;
  loading.flags = (options().debug ? REMAT_STEP_DEBUG : 0) |
                  (options().poison ? REMAT_STEP_POISON : 0) |
                  (options().seeing.isAsked() || !options().profileCosts.empty()
                       ? REMAT_STEP_PROFILE
                       : 0) |
                  static_cast<uint32_t>(options().anomaly.getValue());
  Expected<ArrayRef<remat_codec>> codecs = getCodecs();
  if (!codecs)
    return codecs.takeError();
  loading.codecs = codecs->data();
  loading.codec_count = codecs->size();
  if (Error error = loadAlgorithms())
    return std::move(error);
  if (!algorithms->empty()) {
    loading.algorithms = algorithms->data();
    loading.algorithm_bytes = algorithms->size();
  }
  remat_step *step = nullptr;
  if (Error error = checkStatus(
          remat_step_load(loaded.code->getModule(), &loading, &step)))
    return std::move(error);
  loaded.step.reset(step);
  uint64_t bytes = 0;
  if (const void *chosen = remat_step_algorithms(step, &bytes))
    algorithms = std::string(static_cast<const char *>(chosen), bytes);
  report.compileSeconds += now() - planned;
  return std::move(loaded);
}

/// What the calls from `call` on are given of `tensors`: those that this call
/// uses, the others are all zeros.
static std::vector<remat_tensor> select(
    const remat_step *step, uint32_t call, ArrayRef<remat_tensor> tensors,
    remat_status (*describe)(const remat_step *, size_t, remat_tensor_info *)) {
  std::vector<remat_tensor> selected(tensors.size());
  for (auto [index, tensor] : enumerate(tensors)) {
    remat_tensor_info info;
    describe(step, index, &info);
    if (info.first_call <= call && call <= info.last_call)
      selected[index] = tensor;
  }
  return selected;
}

/// Runs the step call by call.
static remat_status runCalls(remat_step *step, ArrayRef<remat_tensor> arguments,
                             ArrayRef<remat_tensor> results,
                             RunReport &report) {
  Tensor data(REMAT_I8, int64_t(remat_step_state_bytes(step))),
      host(REMAT_I8, int64_t(remat_step_host_bytes(step))),
      check(REMAT_I8, int64_t(remat_step_check_bytes(step)));
  if (!data.isAllocated() || !host.isAllocated() || !check.isAllocated())
    return REMAT_OUT_OF_MEMORY;
  remat_state state{
      data.getData(),  data.getBytes(),  host.getData(), host.getBytes(), 0,
      check.getData(), check.getBytes(), nullptr};
  report.calls.clear();
  for (size_t call = 0; call <= remat_step_backward_count(step); ++call) {
    auto given = select(step, call, arguments, remat_step_argument);
    auto taken = select(step, call, results, remat_step_result);
    remat_status status =
        call == 0
            ? remat_step_forward(step, given.data(), given.size(), taken.data(),
                                 taken.size(), &state)
            : remat_step_backward(step, call - 1, given.data(), given.size(),
                                  taken.data(), taken.size(), &state);
    if (status != REMAT_OK)
      return status;
    remat_step_get_stats(step, &report.calls.emplace_back());
  }
  return REMAT_OK;
}

Expected<StepBinding> StepBinding::create(const remat_step *step,
                                          ArrayRef<Tensor> arguments) {
  StepBinding bound;
  for (const Tensor &tensor : arguments)
    bound.arguments.push_back(tensor.getView());
  for (size_t i = 0, e = remat_step_result_count(step); i < e; ++i) {
    remat_tensor_info info;
    remat_step_result(step, i, &info);
    bound.memory.emplace_back(info);
    if (!bound.memory.back().isAllocated())
      return makeError("no memory for result '" + Twine(info.name) + "'");
  }
  // Views refer to the shapes in the tensors, which are in place by now.
  for (const Tensor &tensor : bound.memory)
    bound.results.push_back(tensor.getView());
  bound.reset(step, arguments);
  return std::move(bound);
}

void StepBinding::reset(const remat_step *step, ArrayRef<Tensor> values) {
  for (auto [number, value] : enumerate(values)) {
    remat_tensor_info info;
    remat_step_argument(step, number, &info);
    if (info.donation == REMAT_NONE)
      continue;
    Tensor &result = memory[info.donation];
    std::memcpy(result.getData(), value.getData(), result.getBytes());
    arguments[number].data = result.getData();
  }
}

Expected<std::vector<Tensor>> run::execute(remat_step *step,
                                           ArrayRef<Tensor> arguments,
                                           RunReport &report,
                                           ArrayRef<double> learningRates) {
  // An argument that gives its buffer to a result goes on as this in the next
  // step.
  Expected<StepBinding> bound = StepBinding::create(step, arguments);
  if (!bound)
    return bound.takeError();
  std::vector<remat_tensor> &argumentViews = bound->arguments,
                            &resultViews = bound->results;
  std::vector<Tensor> &results = bound->memory;
  for (auto [index, tensor] : enumerate(arguments)) {
    report.argumentBytes += tensor.getBytes();
    remat_tensor_info info;
    remat_step_argument(step, index, &info);
    if (info.flags & REMAT_TENSOR_HOST)
      report.hostArgumentBytes += tensor.getBytes();
    if (info.donation != REMAT_NONE)
      report.donatedBytes += results[info.donation].getBytes();
  }
  for (const Tensor &tensor : results)
    report.resultBytes += tensor.getBytes();
  // The caller has these buffers already.
  report.resultBytes -= report.donatedBytes;
  void *rate = nullptr;
  for (auto [number, view] : enumerate(argumentViews)) {
    remat_tensor_info info;
    remat_step_argument(step, number, &info);
    if (info.name == learningRateName && info.dtype == REMAT_F32)
      rate = view.data;
  }
  MemoryProbe probe;
  int steps = options().steps;
  if (options().benchmarkSteps > 0)
    steps = Benchmark::warmupSteps + options().benchmarkSteps;
  if (!options().profileCosts.empty())
    steps = std::max(steps, 5);
  if (options().anomaly.getValue() != Anomaly::Off)
    report.anomalies = 0;
  std::optional<MachineWatch> watch;
  for (int i = 0; i < steps; ++i) {
    if (options().benchmarkSteps > 0 && i == Benchmark::warmupSteps)
      watch.emplace();
    if (rate && !learningRates.empty()) {
      size_t last = learningRates.size() - 1;
      auto given = float(learningRates[std::min<size_t>(i, last)]);
      std::memcpy(rate, &given, sizeof given);
    }
    double start = now(), cpuStart = cpuNow();
    remat_status status =
        options().step.separateBackward
            ? runCalls(step, argumentViews, resultViews, report)
            : remat_step_run(step, argumentViews.data(), argumentViews.size(),
                             resultViews.data(), resultViews.size());
    if (status != REMAT_OK)
      return makeError(Twine(remat_status_name(status)) + ": " +
                       remat_step_error(step));
    report.stepSeconds.push_back(now() - start);
    report.stepCpuSeconds.push_back(cpuNow() - cpuStart);
    // Of each step those that it made.
    for (StringRef message : split(remat_step_anomalies(step), '\n'))
      if (!message.empty()) {
        WithColor::warning(errs(), "remat-run") << message << '\n';
        ++*report.anomalies;
      }
    if (i == 0)
      report.rssGrowth = probe.getGrowth();
  }
  if (watch) {
    report.benchmark = summarizeTimes(
        ArrayRef(report.stepSeconds).drop_front(Benchmark::warmupSteps));
    report.benchmark->otherCores = watch->getOtherCores();
  }
  remat_step_get_stats(step, &report.stats);
  if (options().step.separateBackward)
    report.stats = sumCalls(report.calls);
  report.checkBytes = remat_step_check_bytes(step);
  if (options().debug)
    report.trace = remat_step_trace(step);
  if (options().seeing.isAsked())
    if (Error error = options().seeing.measure(step, report))
      return std::move(error);
  return std::move(results);
}

//===- remat-run.cpp - compile and run a training step --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The whole way at once: reads a model, differentiates, plans, compiles and
// runs it, and reports the bytes it was promised and the bytes it used.
//
// Exit status: 0; 1 on bad input, with a diagnostic; 3 when the budget is
// infeasible, with the smallest feasible one.
//
//===----------------------------------------------------------------------===//

#include "GradCheck.h"
#include "MemoryProbe.h"
#include "Products.h"
#include "Report.h"

#include "common/Driver.h"

#include "remat/Conversion/CPU/Jit.h"
#include "remat/Cost/CostFile.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Path.h"

#include <chrono>
#include <ctime>
#include <map>

using namespace llvm;
using namespace remat;
using namespace remat::run;
using namespace remat::tools;

namespace {
/// The command line. Made after LLVM's own options, some of which have the same
/// names, were dropped.
struct Options {
  cl::OptionCategory category{"remat-run options"};
  cl::opt<std::string> inputFile{cl::Positional, cl::Required,
                                 cl::desc("<model.mlir>"), cl::cat(category)};
  cl::opt<std::string> manifestFile{
      "manifest", cl::cat(category), cl::value_desc("file"),
      cl::desc("How to make the arguments, and golden values")};
  cl::list<std::string> budgets{
      "budget", cl::CommaSeparated, cl::cat(category),
      cl::value_desc("bytes|N%|min"),
      cl::desc("Bound on the arena: bytes with KiB, MiB or GiB, a percentage "
               "of the peak without rematerialization, or 'min'; several give "
               "a table")};
  PlanFlags plan{category};
  cl::opt<int> steps{"steps", cl::init(1), cl::cat(category),
                     cl::desc("Steps to run")};
  cl::opt<int> threads{"threads", cl::init(0), cl::cat(category),
                       cl::desc("Threads to run on; 0 for all cores")};
  cl::opt<std::string> jsonFile{"json", cl::cat(category),
                                cl::value_desc("file"),
                                cl::desc("Write a report")};
  cl::opt<std::string> function{"function", cl::cat(category), cl::init("main"),
                                cl::desc("Function to compile")};
  cl::opt<std::string> inputDirectory{
      "inputs", cl::cat(category), cl::value_desc("dir"),
      cl::desc("Directory of arg0.npy ..., cotangent0.npy ... (one for each "
               "result) and tangent0.npy ... (one for each argument to "
               "differentiate with respect to)")};
  cl::opt<std::string> outputDirectory{
      "outputs", cl::cat(category), cl::value_desc("dir"),
      cl::desc("Directory for result0.npy ..., vjp0.npy ... (the gradients "
               "when there is a manifest), jvp0.npy ... and hvp0.npy ...")};
  cl::list<std::string> emit{
      "emit", cl::CommaSeparated, cl::cat(category),
      cl::desc(
          "With --inputs, what to compute: forward (the results), vjp, "
          "jvp, hvp (the gradient of <vector-Jacobian product, tangent>)")};
  cl::list<int64_t> wrt{"wrt", cl::CommaSeparated, cl::cat(category),
                        cl::desc("Arguments to differentiate with respect to")};
  cl::opt<std::string> gradcheck{
      "gradcheck", cl::ValueOptional, cl::cat(category),
      cl::value_desc("order"),
      cl::desc("Compare the gradients, in f64, with central differences at "
               "random arguments or those of --inputs; 2: those of the "
               "vector-Jacobian product, too")};
  cl::opt<bool> separateBackward{
      "separate-backward", cl::cat(category),
      cl::desc("Run forward and backward computation as separate calls, with "
               "the state between them in memory of its own")};
  cl::opt<remat_determinism_check> determinismCheck{
      "determinism-check", cl::cat(category), cl::init(REMAT_CHECK_METADATA),
      cl::desc("What is asked of recomputations:"),
      cl::values(
          clEnumValN(REMAT_CHECK_NONE, "none", "nothing"),
          clEnumValN(REMAT_CHECK_METADATA, "metadata",
                     "results of the same sizes (default)"),
          clEnumValN(REMAT_CHECK_BITWISE, "bitwise",
                     "the same bits, compared with copies while it runs"))};
  cl::opt<bool> debug{
      "debug", cl::cat(category),
      cl::desc("Print what ran forward beside what was recomputed")};
  cl::opt<bool> profile{"profile", cl::cat(category),
                        cl::desc("Print the time of each kind of task")};
  cl::opt<std::string> costsFile{
      "costs", cl::cat(category), cl::value_desc("file"),
      cl::desc("Plan with the measured costs in this file")};
  cl::opt<std::string> profileCosts{
      "profile-costs", cl::cat(category), cl::value_desc("file"),
      cl::desc("Measure the distinct tasks and add them to this file; takes "
               "the best of at least 5 steps")};
  cl::opt<std::string> kernelCache{
      "kernel-cache", cl::cat(category), cl::value_desc("dir"),
      cl::desc("Keep compiled kernels here, and take them from here")};
  cl::opt<bool> poison{
      "poison", cl::cat(category),
      cl::desc("Overwrite dead buffers, to find wrong addresses")};
};
} // namespace

static Options &options() {
  static Options options;
  return options;
}

static double now() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// CPU time of all threads of this process.
static double cpuNow() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

//===----------------------------------------------------------------------===//
// Running a compiled step
//===----------------------------------------------------------------------===//

namespace {
struct FreeStep {
  void operator()(remat_step *step) const { remat_step_free(step); }
};
using StepHandle = std::unique_ptr<remat_step, FreeStep>;

/// A compiled step that is ready to run. The machine code outlives the step.
struct LoadedStep {
  std::unique_ptr<cpu::JitModule> code;
  StepHandle step;
};
} // namespace

static Error checkStatus(remat_status status) {
  if (status == REMAT_OK)
    return Error::success();
  return makeError(Twine(remat_status_name(status)) + ": " +
                   remat_last_error());
}

/// The kernels that this process has compiled, for all budgets, and those of
/// the directory if one is given.
static Expected<cpu::KernelCache *> getKernelCache() {
  static std::unique_ptr<cpu::KernelCache> cache;
  if (cache)
    return cache.get();
  if (options().kernelCache.empty()) {
    cache = std::make_unique<cpu::KernelCache>();
    return cache.get();
  }
  auto opened = cpu::KernelCache::open(options().kernelCache);
  if (!opened)
    return opened.takeError();
  cache = std::move(*opened);
  return cache.get();
}

/// Plans and compiles a copy of `tasks` and records sizes and times.
static Expected<LoadedStep> compile(mlir::ModuleOp tasks, StringRef budget,
                                    RunReport &report) {
  Expected<PlanOptions> plan = options().plan.makeOptions(budget);
  if (!plan)
    return plan.takeError();

  double start = now();
  mlir::OwningOpRef<mlir::ModuleOp> module(tasks.clone());
  Expected<StepSummary> summary = planModule(*module, *plan);
  if (!summary)
    return summary.takeError();
  report.summary = *summary;
  double planned = now();
  report.planSeconds = planned - start;

  Expected<cpu::KernelCache *> cache = getKernelCache();
  if (!cache)
    return cache.takeError();
  LoadedStep loaded;
  cpu::LoweringOptions lowering;
  lowering.threads = options().threads;
  Expected<std::unique_ptr<cpu::JitModule>> code =
      cpu::JitModule::create(*module, lowering, *cache);
  if (!code)
    return code.takeError();
  loaded.code = std::move(*code);
  remat_step_options stepOptions{};
  stepOptions.threads = options().threads;
  stepOptions.determinism_check = options().determinismCheck;
  stepOptions.flags =
      (options().debug ? REMAT_STEP_DEBUG : 0) |
      (options().poison ? REMAT_STEP_POISON : 0) |
      (options().profile || !options().profileCosts.empty() ? REMAT_STEP_PROFILE
                                                            : 0);
  remat_step *step = nullptr;
  if (Error error = checkStatus(
          remat_step_load(loaded.code->getModule(), &stepOptions, &step)))
    return std::move(error);
  loaded.step.reset(step);
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
      data.getData(),  data.getBytes(), host.getData(), host.getBytes(), 0,
      check.getData(), check.getBytes()};
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

/// Runs the step and records what it used. Results are allocated here, so that
/// their pages count as the step's.
static Expected<std::vector<Tensor>>
execute(remat_step *step, ArrayRef<Tensor> arguments, RunReport &report) {
  std::vector<remat_tensor> argumentViews, resultViews;
  for (const Tensor &tensor : arguments) {
    argumentViews.push_back(tensor.getView());
    report.argumentBytes += tensor.getBytes();
  }
  MemoryProbe probe;
  std::vector<Tensor> results;
  for (size_t i = 0, e = remat_step_result_count(step); i < e; ++i) {
    remat_tensor_info info;
    remat_step_result(step, i, &info);
    results.emplace_back(info);
    if (!results.back().isAllocated())
      return makeError("no memory for result '" + Twine(info.name) + "'");
  }
  for (const Tensor &tensor : results) {
    resultViews.push_back(tensor.getView());
    report.resultBytes += tensor.getBytes();
  }
  int steps = options().steps;
  if (!options().profileCosts.empty())
    steps = std::max(steps, 5);
  for (int i = 0; i < steps; ++i) {
    double start = now(), cpuStart = cpuNow();
    remat_status status =
        options().separateBackward
            ? runCalls(step, argumentViews, resultViews, report)
            : remat_step_run(step, argumentViews.data(), argumentViews.size(),
                             resultViews.data(), resultViews.size());
    if (status != REMAT_OK)
      return makeError(Twine(remat_status_name(status)) + ": " +
                       remat_step_error(step));
    report.stepSeconds.push_back(now() - start);
    report.stepCpuSeconds.push_back(cpuNow() - cpuStart);
    if (i == 0)
      report.rssGrowth = probe.getGrowth();
  }
  remat_step_get_stats(step, &report.stats);
  if (options().separateBackward)
    report.stats = sumCalls(report.calls);
  report.checkBytes = remat_step_check_bytes(step);
  if (options().debug)
    report.trace = remat_step_trace(step);
  if (options().profile)
    report.profile = collectProfile(step);
  return std::move(results);
}

//===----------------------------------------------------------------------===//
// With a manifest: loss and gradients of the parameters
//===----------------------------------------------------------------------===//

static Expected<std::vector<Tensor>> makeArguments(const Manifest &manifest,
                                                   const Products &products) {
  std::vector<Tensor> arguments;
  for (const ManifestArgument &argument : manifest.arguments) {
    arguments.emplace_back(argument.dtype, argument.shape);
    if (!arguments.back().isAllocated())
      return makeError("no memory for argument '" + argument.name + "'");
    argument.fill.apply(arguments.back());
  }
  for (const Tensor &state : products.initialState)
    arguments.push_back(state.copy());
  return std::move(arguments);
}

/// Takes loss and gradients out of the results: the loss is the last of the
/// model's own, the gradients follow.
static Error evaluate(const Manifest &manifest, ArrayRef<Tensor> results,
                      RunReport &report) {
  size_t numGradients =
      count_if(manifest.arguments, [](const ManifestArgument &argument) {
        return argument.isParameter;
      });
  if (results.size() <= numGradients)
    return makeError("the model returns no loss");
  ArrayRef<Tensor> gradients = results.take_back(numGradients);
  // Behind the loss may be state.
  results = results.drop_back(numGradients);
  while (results.size() > 1 && results.back().getDtype() >= REMAT_I1)
    results = results.drop_back();
  const Tensor &loss = results.back();
  if (loss.getNumElements() != 1)
    return makeError("the loss, the model's last result, has " +
                     Twine(loss.getNumElements()) + " elements, expected one");
  report.loss = loss.get(0);
  if (manifest.loss)
    report.maxRelativeError = std::abs(*report.loss - *manifest.loss) /
                              std::max(std::abs(*manifest.loss), 1e-30);
  for (const ManifestArgument &argument : manifest.arguments) {
    if (!argument.isParameter)
      continue;
    const Tensor &gradient = gradients.front();
    gradients = gradients.drop_front();
    const GradientSummary *golden = manifest.findGradient(argument.name);
    report.gradients.push_back(
        {argument.name, summarize(gradient, golden), gradient.hash()});
    if (golden)
      report.maxRelativeError =
          std::max(report.maxRelativeError.value_or(0),
                   compare(report.gradients.back().summary, *golden));
  }
  return Error::success();
}

namespace {
/// The model, brought to tasks, and what is known of it as it was read.
struct Model {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  Products products;
  double compileSeconds = 0;
};
} // namespace

//===----------------------------------------------------------------------===//
// With files: results and derivatives
//===----------------------------------------------------------------------===//

static std::string getPath(StringRef directory, const Twine &name) {
  SmallString<128> path(directory);
  sys::path::append(path, name);
  return std::string(path);
}

static Expected<std::vector<Tensor>> readArguments(remat_step *step,
                                                   const Products &products) {
  std::vector<Tensor> arguments;
  for (auto [index, file] : enumerate(products.argumentFiles)) {
    remat_tensor_info info;
    remat_step_argument(step, index, &info);
    std::string path = getPath(options().inputDirectory, file);
    if (const Tensor *state = products.findInitialState(index);
        state && !sys::fs::exists(path)) {
      arguments.push_back(state->copy());
      continue;
    }
    Expected<Tensor> tensor =
        readNpy(path, info.dtype, ArrayRef(info.dims, info.rank));
    if (!tensor)
      return tensor.takeError();
    arguments.push_back(std::move(*tensor));
  }
  return std::move(arguments);
}

static Error writeResults(ArrayRef<Tensor> results, const Products &products) {
  if (std::error_code code =
          sys::fs::create_directories(options().outputDirectory))
    return makeError(options().outputDirectory + ": " + code.message());
  for (auto [tensor, file] : zip(results, products.resultFiles))
    if (!file.empty())
      if (Error error =
              writeNpy(getPath(options().outputDirectory, file), tensor))
        return error;
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Main
//===----------------------------------------------------------------------===//

/// The numbers that nothing further down refuses by the option's name.
static Error checkNumbers() {
  if (options().threads < 0)
    return makeError("--threads is " + Twine(options().threads) +
                     ", expected 0 (all cores) or more");
  if (options().steps < 1)
    return makeError("--steps is " + Twine(options().steps) +
                     ", expected 1 or more");
  return Error::success();
}

static Error checkOptions() {
  if (Error error = checkNumbers())
    return error;
  if (options().manifestFile.empty() == options().inputDirectory.empty())
    return makeError("give the arguments by --manifest or by --inputs");
  if (!options().manifestFile.empty())
    return Error::success();
  if (options().outputDirectory.empty())
    return makeError("--inputs needs --outputs");
  if (options().emit.empty())
    return makeError("--inputs needs --emit=forward, vjp, jvp, hvp or some of "
                     "these");
  return Error::success();
}

static Expected<Model> loadModel(ModelReader &reader,
                                 const Manifest *manifest) {
  double start = now();
  auto module = reader.read(options().inputFile);
  if (!module)
    return module.takeError();
  Model model;
  model.module = std::move(*module);
  StepOptions step;
  step.function = options().function;
  step.threads = options().threads;
  step.costs = options().costsFile;
  step.separateBackward = options().separateBackward;
  if (manifest)
    if (Error error = applyManifest(*manifest, *model.module, step.function))
      return std::move(error);
  if (auto entry = findEntry(*model.module, step.function)) {
    Expected<Products> products =
        manifest ? planGradients(entry, getParameters(*manifest))
                 : planProducts(entry, options().emit, options().wrt);
    if (!products)
      return products.takeError();
    model.products = std::move(*products);
  }
  step.derivatives = model.products.derivatives;
  if (failed(compileToTasks(*model.module, step)))
    return makeError("could not compile " + options().inputFile);
  model.compileSeconds = now() - start;
  return std::move(model);
}

/// Adds what the tasks of `step` took to the file of costs. An entry's name
/// begins with its kernel's.
static Error saveCosts(const remat_step *step, mlir::ModuleOp tasks) {
  CostFile file;
  if (sys::fs::exists(options().profileCosts)) {
    Expected<CostFile> old = CostFile::load(options().profileCosts);
    if (!old)
      return old.takeError();
    if (old->threads == options().threads)
      file = std::move(*old);
  }
  file.threads = options().threads;
  const int64_t *times = remat_step_entry_times(step);
  std::map<std::string, int64_t> best;
  for (size_t i = 0, e = remat_step_entry_count(step); times && i < e; ++i) {
    remat_entry_info info;
    remat_step_entry(step, i, &info);
    std::string kernel = StringRef(info.name).split(':').first.str();
    auto [entry, isNew] = best.try_emplace(kernel, times[i]);
    entry->second = std::min(entry->second, times[i]);
  }
  for (const auto &[name, nanoseconds] : best)
    if (auto kernel = tasks.lookupSymbol<mlir::FunctionOpInterface>(name))
      file.kernels[getKernelKey(kernel)] = nanoseconds;
  return file.save(options().profileCosts);
}

static Expected<RunReport> runOnce(const Model &model, const Manifest *manifest,
                                   StringRef budget) {
  RunReport report;
  report.model = manifest
                     ? manifest->model
                     : sys::path::stem(options().inputFile.getValue()).str();
  report.planner = options().plan.planner;
  report.budgetText = budget.empty() ? "none" : budget.str();
  report.compileSeconds = model.compileSeconds;
  Expected<LoadedStep> loaded = compile(*model.module, budget, report);
  if (!loaded)
    return loaded.takeError();
  remat_step *step = loaded->step.get();
  Expected<std::vector<Tensor>> arguments =
      manifest ? makeArguments(*manifest, model.products)
               : readArguments(step, model.products);
  if (!arguments)
    return arguments.takeError();
  Expected<std::vector<Tensor>> results = execute(step, *arguments, report);
  if (!results)
    return results.takeError();
  if (!options().profileCosts.empty())
    if (Error error = saveCosts(step, *model.module))
      return std::move(error);
  for (const Tensor &result : *results)
    report.resultHash = report.resultHash * 0x100000001b3 ^ result.hash();
  if (manifest)
    if (Error error = evaluate(*manifest, *results, report))
      return std::move(error);
  if (!options().outputDirectory.empty())
    if (Error error = writeResults(*results, model.products))
      return std::move(error);
  return report;
}

//===----------------------------------------------------------------------===//
// Gradients against finite differences
//===----------------------------------------------------------------------===//

/// The argument `index` of a gradient check: from a file, if it is one of the
/// model's and there are files, else random.
static Expected<Tensor> makeArgument(const remat_tensor_info &info,
                                     size_t index, bool hasFile, double least) {
  Tensor tensor(info);
  if (!tensor.isAllocated())
    return makeError("no memory for argument '" + Twine(info.name) + "'");
  if (!hasFile) {
    fillRandom(tensor, index, least);
    return std::move(tensor);
  }
  std::string path =
      getPath(options().inputDirectory, "arg" + Twine(index) + ".npy");
  Expected<Tensor> given = readNpy(path);
  if (!given)
    return given.takeError();
  if (given->getShape() != tensor.getShape())
    return makeError(path + ": the shape is not that of argument " +
                     Twine(index));
  for (size_t i = 0; i < tensor.getNumElements(); ++i)
    tensor.set(i, given->get(i));
  return std::move(tensor);
}

/// Compiles the input file in double precision, with `derivatives`.
static Expected<LoadedStep>
compileWide(ArrayRef<DifferentiateOptions> derivatives) {
  ModelReader reader;
  auto module = reader.read(options().inputFile);
  if (!module)
    return module.takeError();
  StepOptions step;
  step.function = options().function;
  step.threads = options().threads;
  step.derivatives.assign(derivatives.begin(), derivatives.end());
  step.widen = true;
  if (failed(compileToTasks(**module, step)))
    return makeError("could not compile " + options().inputFile);
  RunReport report;
  return compile(**module, "", report);
}

static Error runGradCheck(int order) {
  ModelReader reader;
  auto module = reader.read(options().inputFile);
  if (!module)
    return module.takeError();
  auto entry = findEntry(**module, options().function);
  if (!entry)
    return makeError("has no function '" + options().function + "'");
  size_t numArguments = entry.getNumArguments();
  GradCheck check = GradCheck::get(entry, options().wrt, order);
  Expected<LoadedStep> loaded = compileWide(check.derivatives);
  if (!loaded)
    return loaded.takeError();
  // Differences need many evaluations, but none of the derivatives.
  Expected<LoadedStep> forOutputs =
      compileWide(ArrayRef(check.derivatives).take_front(check.numForOutputs));
  if (!forOutputs)
    return forOutputs.takeError();
  RunReport report;
  bool hasFiles = !options().inputDirectory.empty();
  auto evaluate = [&](ArrayRef<Tensor> given) {
    return execute(loaded->step.get(), given, report);
  };
  auto evaluateOutputs = [&](ArrayRef<Tensor> given) {
    return execute(forOutputs->step.get(), given, report);
  };
  std::vector<Tensor> arguments;
  // Where a function is not defined, it may be for numbers above 1.
  for (double least : {0.1, 1.1}) {
    arguments.clear();
    for (size_t i = 0, e = remat_step_argument_count(loaded->step.get()); i < e;
         ++i) {
      remat_tensor_info info;
      remat_step_argument(loaded->step.get(), i, &info);
      Expected<Tensor> tensor =
          makeArgument(info, i, i < numArguments && hasFiles, least);
      if (!tensor)
        return tensor.takeError();
      arguments.push_back(std::move(*tensor));
    }
    Expected<bool> defined = isDefined(check, arguments, evaluate);
    if (!defined)
      return defined.takeError();
    if (hasFiles || *defined)
      break;
  }
  return checkGradients(check, arguments, evaluate, evaluateOutputs);
}

/// The table's last line: whether the budget changed any bit of the results.
static void printVerdict(raw_ostream &os, ArrayRef<RunReport> runs) {
  if (runs.size() < 2)
    return;
  bool same = all_of(runs, [&](const RunReport &run) {
    return run.resultHash == runs.front().resultHash;
  });
  os << "the results are " << (same ? "" : "NOT ")
     << "bit-identical across the budgets\n";
}

static Error runTool() {
  if (options().gradcheck.getNumOccurrences() > 0) {
    StringRef order = options().gradcheck;
    if (order != "" && order != "1" && order != "2")
      return makeError("--gradcheck is '" + order + "', expected 1 or 2");
    if (Error error = checkNumbers())
      return error;
    return runGradCheck(order == "2" ? 2 : 1);
  }
  if (Error error = checkOptions())
    return error;
  std::optional<Manifest> manifest;
  if (!options().manifestFile.empty()) {
    Expected<Manifest> loaded = loadManifest(options().manifestFile);
    if (!loaded)
      return loaded.takeError();
    manifest = std::move(*loaded);
    if (options().function.getNumOccurrences() == 0)
      options().function = manifest->function;
  }
  ModelReader reader;
  const Manifest *known = manifest ? &*manifest : nullptr;
  Expected<Model> model = loadModel(reader, known);
  if (!model)
    return model.takeError();
  std::vector<std::string> wanted(options().budgets.begin(),
                                  options().budgets.end());
  if (wanted.empty())
    wanted.push_back("");
  std::vector<RunReport> reports;
  for (const std::string &budget : wanted) {
    Expected<RunReport> report = runOnce(*model, known, budget);
    // In a table, an infeasible row shows the smallest feasible budget.
    if (!report && wanted.size() > 1 &&
        report.errorIsA<planning::InfeasibleBudgetError>()) {
      consumeError(report.takeError());
      report = runOnce(*model, known, "min");
      if (report)
        report->budgetText = budget + " infeasible, min";
    }
    if (!report)
      return report.takeError();
    reports.push_back(std::move(*report));
  }
  printTable(outs(), reports);
  printVerdict(outs(), reports);
  return options().jsonFile.empty() ? Error::success()
                                    : writeJson(options().jsonFile, reports);
}

int main(int argc, char **argv) {
  InitLLVM initLLVM(argc, argv);
  cl::ResetCommandLineParser();
  cl::HideUnrelatedOptions(options().category);
  cl::ParseCommandLineOptions(
      argc, argv, "Compile and run a training step under a byte budget\n");
  return reportError("remat-run", runTool());
}

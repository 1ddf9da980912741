//===- Options.h - the command line of remat-run ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TOOLS_REMAT_RUN_OPTIONS_H
#define REMAT_TOOLS_REMAT_RUN_OPTIONS_H

#include "SeeingFlags.h"

#include "common/ChoiceParser.h"
#include "common/Driver.h"
#include "common/NumberParser.h"
#include "common/OutputFlags.h"
#include "common/PlanFlags.h"
#include "common/StepFlags.h"

#include "remat/Runtime/Runtime.h"

namespace remat::run {

namespace cl = llvm::cl;

/// What becomes of a step that makes a NaN or an infinity.
enum class Anomaly : uint32_t {
  Off = 0,
  Error = REMAT_STEP_ANOMALY_ERROR,
  Warn = REMAT_STEP_ANOMALY_WARN
};

/// The command line.
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
  /// Several budgets can be given, so they are not among the flags of a step.
  tools::StepFlags flags{category, AllStages, {"budget", "explain"}};
  tools::PlanFlags plan{category};
  tools::StoredPlanFlag storedPlan{category};
  /// What --benchmark says; 0 without it.
  int benchmarkSteps = 0;
  /// What the flags say, then also what the manifest and --emit say. The budget
  /// is another one for each run.
  StepOptions step;
  /// The time limit of all plans together.
  tools::PlanTime planTime;
  tools::NumberFlag<int> steps{"steps", cl::init(1), cl::cat(category),
                               cl::desc("Steps to run")};
  cl::opt<std::string> benchmark{
      "benchmark", cl::ValueOptional, cl::cat(category),
      cl::value_desc("steps"),
      cl::desc("Say what so many steps take (20 if not given), after some "
               "others: the median, and percentiles 10 and 90")};
  cl::opt<std::string> jsonFile{"json", cl::cat(category),
                                cl::value_desc("file"),
                                cl::desc("Write a report")};
  cl::opt<std::string> inputDirectory{
      "inputs", cl::cat(category), cl::value_desc("dir"),
      cl::desc("Directory of arg0.npy ..., cotangent0.npy ... (one for each "
               "result), tangent0.npy ... (one for each argument to "
               "differentiate with respect to) and, with --accumulate, "
               "grad0.npy ... (likewise; zeros if there is none)")};
  cl::opt<std::string> outputDirectory{
      "outputs", cl::cat(category), cl::value_desc("dir"),
      cl::desc("Directory for result0.npy ..., vjp0.npy ... (the gradients "
               "when there is a manifest), jvp0.npy ... and hvp0.npy ...")};
  cl::list<std::string> emit{
      "emit", cl::CommaSeparated, cl::cat(category),
      cl::desc(
          "With --inputs, what to compute: forward (the results), vjp, "
          "jvp, hvp (the gradient of <vector-Jacobian product, tangent>); if "
          "not given, the results and what the options of a step ask for")};
  cl::opt<std::string> gradcheck{
      "gradcheck", cl::ValueOptional, cl::cat(category),
      cl::value_desc("order"),
      cl::desc("Compare the derivatives, in f64, with central differences at "
               "random arguments or those of --inputs; 2: those of the "
               "vector-Jacobian product")};
  cl::opt<bool> gradgradcheck{"gradgradcheck", cl::cat(category),
                              cl::desc("Same as --gradcheck=2")};
  tools::NumberFlag<double> eps{
      "eps", cl::init(1e-6), cl::cat(category),
      cl::desc("With --gradcheck, the step of a difference (default: 1e-6)")};
  tools::NumberFlag<double> atol{
      "atol", cl::init(1e-5), cl::cat(category),
      cl::desc("With --gradcheck, what a derivative may differ by in any case "
               "(default: 1e-5)")};
  tools::NumberFlag<double> rtol{
      "rtol", cl::init(1e-3), cl::cat(category),
      cl::desc("With --gradcheck, what it may also differ by, relative to the "
               "difference (default: 1e-3)")};
  tools::NumberFlag<double> nondetTol{
      "nondet-tol", cl::init(0.0), cl::cat(category),
      cl::desc("With --gradcheck, what gradients may differ by when they are "
               "computed again (default: 0)")};
  tools::NumberFlag<unsigned long long> gradcheckSeed{
      "gradcheck-seed", cl::init(0), cl::cat(category),
      cl::desc("With --gradcheck, the seed of arguments and directions")};
  cl::opt<bool> fast{
      "fast", cl::cat(category),
      cl::desc("With --gradcheck, vary each argument along one random "
               "direction only; the default for more than 10000 elements")};
  cl::opt<bool> forwardOnly{
      "forward-only", cl::cat(category),
      cl::desc("With --gradcheck, compare tangents but no gradients")};
  cl::opt<bool> allowSkipped{
      "allow-skipped", cl::cat(category),
      cl::desc("With --gradcheck, no error if finite differences say nothing "
               "at some places, as at a kink or where a result is not finite")};
  tools::ChoiceFlag<remat_determinism_check> determinismCheck{
      "determinism-check", cl::cat(category), cl::init(REMAT_CHECK_METADATA),
      cl::desc("What is asked of recomputations:"),
      cl::values(
          clEnumValN(REMAT_CHECK_NONE, "none", "nothing"),
          clEnumValN(REMAT_CHECK_METADATA, "metadata",
                     "results of the same sizes (default)"),
          clEnumValN(REMAT_CHECK_BITWISE, "bitwise",
                     "the same bits, compared with copies while it runs"))};
  cl::opt<std::string> codecs{
      "codecs", cl::cat(category), cl::value_desc("file"),
      cl::desc("Shared library with the codecs that the model names by "
               "#remat.callback: a function 'remat_codecs' gives them")};
  cl::opt<bool> debug{
      "debug", cl::cat(category),
      cl::desc("Print what ran forward beside what was recomputed")};
  SeeingFlags seeing{category};
  tools::ChoiceFlag<Anomaly> anomaly{
      "anomaly",
      cl::cat(category),
      cl::ValueOptional,
      cl::init(Anomaly::Off),
      cl::desc("Look for the first NaN or infinity that is made of finite "
               "numbers, and name the operation:"),
      cl::values(
          clEnumValN(Anomaly::Error, "error",
                     "end the step (also without a value)"),
          clEnumValN(Anomaly::Error, "", ""),
          clEnumValN(Anomaly::Warn, "warn", "go on, and say what was found"))};
  cl::opt<std::string> profileCosts{
      "profile-costs", cl::cat(category), cl::value_desc("file"),
      cl::desc("Measure the distinct tasks and add them to this file; takes "
               "the best of at least 5 steps")};
  cl::opt<bool> poison{
      "poison", cl::cat(category),
      cl::desc("Overwrite dead buffers, to find wrong addresses")};
};

Options &options();

/// The flags that name files, of which the results are not.
llvm::SmallVector<tools::OutputFlag> getOutputFlags();

} // namespace remat::run

#endif // REMAT_TOOLS_REMAT_RUN_OPTIONS_H

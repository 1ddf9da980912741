//===- CostProfile.cpp - what tasks take on this machine ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CostProfile.h"

#include "Options.h"

#include "remat/Codegen/LibraryCall.h"
#include "remat/Cost/CostFile.h"
#include "remat/Cost/Passes.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/Transforms/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FileSystem.h"

#include <map>

using namespace llvm;
using namespace remat;
using namespace remat::run;
using namespace remat::tools;

/// The costs known so far of the machine that `module` is compiled for.
static Expected<CostFile> loadKnown(mlir::ModuleOp module) {
  EmitOptions machine;
  machine.chip = options().step.chip;
  machine.device = options().step.device;
  if (holdsCosts(options().profileCosts))
    return loadCosts(options().profileCosts, module, machine,
                     options().step.threads);
  CostFile file;
  if (Error error = describeMachine(module, machine, options().step.threads)
                        .moveInto(file.target))
    return std::move(error);
  return std::move(file);
}

/// Adds what the tasks of `step` took, each as its kernel is implemented. An
/// entry's name begins with its kernel's.
static void addCosts(const remat_step *step, mlir::ModuleOp tasks,
                     CostFile &file) {
  const int64_t *times = remat_step_entry_times(step);
  std::map<std::string, int64_t> best;
  for (size_t i = 0, e = remat_step_entry_count(step); times && i < e; ++i) {
    remat_entry_info info;
    remat_step_entry(step, i, &info);
    std::string kernel = StringRef(info.name).split(':').first.str();
    auto [entry, isNew] = best.try_emplace(kernel, times[i]);
    entry->second = std::min(entry->second, times[i]);
  }
  for (const auto &[name, nanoseconds] : best) {
    auto kernel = tasks.lookupSymbol<mlir::FunctionOpInterface>(name);
    if (!kernel)
      continue;
    KernelCosts &costs = file.kernels[getKernelKey(kernel)];
    (codegen::matchLibraryCall(kernel) ? costs.library : costs.generated) =
        nanoseconds;
  }
}

/// Whether any kernel of `module` has another implementation than in `tasks`.
static bool differsInImplementation(mlir::ModuleOp module,
                                    mlir::ModuleOp tasks) {
  StringRef name = RematDialect::implementationAttrName;
  return any_of(
      module.getOps<mlir::FunctionOpInterface>(),
      [&](mlir::FunctionOpInterface kernel) {
        auto original =
            tasks.lookupSymbol<mlir::FunctionOpInterface>(kernel.getName());
        return original && kernel->getAttr(name) != original->getAttr(name);
      });
}

/// Runs the step with the contractions in their other implementations. They may
/// need more workspace than the budget allows; then they are not measured.
static Error addOtherCosts(mlir::ModuleOp others, StringRef budget,
                           ArrayRef<Tensor> arguments, CostFile &file) {
  RunReport report;
  Expected<LoadedStep> loaded = compile(others, budget, report);
  if (!loaded && loaded.errorIsA<planning::InfeasibleBudgetError>()) {
    consumeError(loaded.takeError());
    return Error::success();
  }
  if (!loaded)
    return loaded.takeError();
  Expected<std::vector<Tensor>> results =
      execute(loaded->step.get(), arguments, report);
  if (!results)
    return results.takeError();
  addCosts(loaded->step.get(), others, file);
  return Error::success();
}

/// Measures the link between the arenas of `step`.
static Error addLink(remat_step *step, CostFile &file) {
  remat_link_speed speed;
  if (remat_status status = remat_step_measure_link(step, &speed))
    return makeError(Twine(remat_status_name(status)) + ": " +
                     remat_last_error());
  file.link = {int64_t(speed.to_host), int64_t(speed.to_device)};
  return Error::success();
}

Error run::profileCosts(remat_step *step, mlir::ModuleOp tasks,
                        StringRef budget, ArrayRef<Tensor> arguments) {
  Expected<CostFile> file = loadKnown(tasks);
  if (!file)
    return file.takeError();
  addCosts(step, tasks, *file);
  if (Error error = addLink(step, *file))
    return error;

  mlir::OwningOpRef<mlir::ModuleOp> others(tasks.clone());
  ChooseImplementationsPassOptions implementations;
  implementations.threads = options().step.threads;
  implementations.chip = options().step.chip;
  implementations.device = options().step.device;
  implementations.others = true;
  AnnotateCostsPassOptions costs;
  costs.threads = options().step.threads;
  costs.costs = options().step.costs;
  costs.chip = options().step.chip;
  costs.device = options().step.device;
  mlir::PassManager pm(tasks.getContext());
  pm.addPass(createChooseImplementationsPass(implementations));
  pm.addPass(createAnnotateCostsPass(costs));
  // Costs of loops are those of their bodies.
  pm.addPass(createPlaceBodiesPass());
  if (mlir::failed(pm.run(*others)))
    return makeError(
        "could not give the contractions their other implementations");
  if (differsInImplementation(*others, tasks))
    if (Error error = addOtherCosts(*others, budget, arguments, *file))
      return error;
  file->algorithms = getAlgorithms();
  return file->save(options().profileCosts);
}

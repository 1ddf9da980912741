//===- ErrorProfile.cpp - what packed forms do to gradients ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A step without a budget keeps what the backward computation reads. So the
// effect of a packed form is seen without a plan that packs: between two
// entries, what packs and unpacks runs on the value's buffer.
//
//===----------------------------------------------------------------------===//

#include "ErrorProfile.h"

#include "Options.h"

#include "common/ProgressLine.h"

#include "remat/Dialect/Remat/IR/PackedForms.h"
#include "remat/Dialect/Remat/IR/Views.h"
#include "remat/Pipelines/Pipelines.h"
#include "remat/Utils/ElementCodecs.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/FormatVariadic.h"

#include <atomic>
#include <cmath>
#include <cstring>
#include <map>
#include <set>

using namespace llvm;
using namespace remat;
using namespace remat::run;
using namespace remat::tools;

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

/// ||other - exact|| / ||exact||.
static double findError(const Tensor &exact, const Tensor &other) {
  double square = 0, change = 0;
  auto add = [&](double value, double otherValue) {
    // What is no number, or infinite, without packing is no error of it.
    if (!std::isfinite(value))
      return;
    square += value * value;
    change += (otherValue - value) * (otherValue - value);
  };
  size_t count = exact.getNumScalars();
  if (exact.getDtype() == REMAT_F32) {
    auto *values = static_cast<const float *>(exact.getData());
    auto *others = static_cast<const float *>(other.getData());
    for (size_t i = 0; i < count; ++i)
      add(values[i], others[i]);
  } else {
    for (size_t i = 0; i < count; ++i)
      add(exact.get(i), other.get(i));
  }
  if (change == 0)
    return 0;
  double error = std::sqrt(change / square);
  return std::isfinite(error) ? error : INFINITY;
}

double ExactGradients::compare(ArrayRef<Tensor> others) const {
  double largest = 0;
  for (size_t number : numbers)
    largest = std::max(largest, findError(results[number], others[number]));
  return largest;
}

/// What the backward computation makes of floating-point numbers.
static std::vector<size_t> findGradients(GraphOp graph) {
  std::vector<size_t> numbers;
  for (auto [number, value] :
       enumerate(graph.getBody().front().getTerminator()->getOperands())) {
    auto task = getViewRoot(value).getDefiningOp<TaskOp>();
    mlir::Type element = mlir::getElementTypeOrSelf(value.getType());
    if (task && task.getBackwardLevel() >= graph.getPlannedLevel() &&
        (isa<mlir::FloatType, mlir::ComplexType>(element)))
      numbers.push_back(number);
  }
  return numbers;
}

//===----------------------------------------------------------------------===//
// Rounding
//===----------------------------------------------------------------------===//

namespace {
/// Rounds tensors of one type as a codec does: packs and unpacks them, by the
/// code that a step would have.
class Rounder {
public:
  static Expected<std::unique_ptr<Rounder>> create(mlir::RankedTensorType type,
                                                   ElementCodec codec);

  /// Rounds in place.
  bool apply(void *data);

private:
  mlir::OwningOpRef<mlir::ModuleOp> module;
  LoadedStep loaded;
  std::optional<Tensor> input, output;
};
} // namespace

Expected<std::unique_ptr<Rounder>> Rounder::create(mlir::RankedTensorType type,
                                                   ElementCodec codec) {
  auto rounder = std::make_unique<Rounder>();
  mlir::OpBuilder builder(type.getContext());
  mlir::Location loc = builder.getUnknownLoc();
  rounder->module = mlir::ModuleOp::create(builder, loc);
  builder.setInsertionPointToEnd(rounder->module->getBody());
  auto function = mlir::func::FuncOp::create(
      builder, loc, "main", builder.getFunctionType(type, type));
  mlir::Block *body = function.addEntryBlock();
  builder.setInsertionPointToStart(body);
  SmallVector<mlir::Value> packed =
      createPacked(builder, loc, body->getArgument(0), codec);
  mlir::func::ReturnOp::create(
      builder, loc, createUnpacked(builder, loc, packed, type, codec));
  StepOptions step;
  step.differentiate = false;
  step.threads = options().step.threads;
  if (failed(compileToTasks(*rounder->module, step)))
    return makeError("could not compile what packs " +
                     getElementCodecName(codec));
  RunReport report;
  if (Error error =
          compile(*rounder->module, "", report).moveInto(rounder->loaded))
    return std::move(error);
  remat_tensor_info info;
  remat_step_argument(rounder->loaded.step.get(), 0, &info);
  rounder->input.emplace(info);
  rounder->output.emplace(info);
  if (!rounder->input->isAllocated() || !rounder->output->isAllocated())
    return makeError("no memory to round a value");
  return std::move(rounder);
}

bool Rounder::apply(void *data) {
  std::memcpy(input->getData(), data, input->getBytes());
  remat_tensor argument = input->getView(), result = output->getView();
  if (remat_step_run(loaded.step.get(), &argument, 1, &result, 1) != REMAT_OK)
    return false;
  std::memcpy(data, output->getData(), output->getBytes());
  return true;
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

namespace {
/// A value to be rounded in a run of the step.
class Rounding {
public:
  /// It is `result` of the entry `maker`, and rounded behind entry `moment`.
  Rounding(Rounder &rounder, size_t maker, size_t result, size_t moment)
      : rounder(rounder), maker(maker), result(result), moment(moment) {}

  static void observe(void *user, size_t entry, const remat_observed *results,
                      size_t count) {
    auto &rounding = *static_cast<Rounding *>(user);
    if (entry == rounding.maker && rounding.result < count)
      rounding.data = results[rounding.result].data;
    if (entry == rounding.moment && rounding.data)
      rounding.isDone = rounding.rounder.apply(rounding.data);
  }
  /// Whether that happened.
  bool isDone = false;

private:
  Rounder &rounder;
  size_t maker, result, moment;
  void *data = nullptr;
};

/// What is to be measured.
struct Measurement {
  mlir::OpResult value;
  ElementCodec codec;
};
} // namespace

/// The values that `graph` offers to pack, with those of `codecs` that have a
/// form of them, from the most exact one on.
static std::vector<Measurement> findForms(GraphOp graph,
                                          ArrayRef<std::string> codecs) {
  std::set<ElementCodec> asked;
  for (const std::string &name : codecs)
    asked.insert(*parseElementCodec(name));
  std::vector<Measurement> forms;
  for (auto task : graph.getOps<TaskOp>()) {
    auto value = dyn_cast_or_null<mlir::OpResult>(getUnpackedValue(task));
    if (!value)
      continue;
    auto type = cast<mlir::RankedTensorType>(value.getType());
    for (ElementCodec codec : asked) {
      bool hasForm =
          !hasScales(codec) || type.getNumElements() % codecBlockSize == 0;
      if (hasForm)
        forms.push_back({value, codec});
    }
  }
  return forms;
}

namespace {
/// Where the tasks of a graph are among the entries of its step.
struct EntryPlaces {
  EntryPlaces(const remat_step *step, GraphOp graph) {
    DenseSet<int64_t> backward;
    for (auto task : graph.getOps<TaskOp>())
      if (task.getBackwardLevel() >= graph.getPlannedLevel())
        backward.insert(task.getId());
    size_t count = remat_step_entry_count(step);
    lastForward = count;
    for (size_t i = 0; i < count; ++i) {
      remat_entry_info info;
      remat_step_entry(step, i, &info);
      if (info.task == REMAT_NONE)
        continue;
      entryOf.try_emplace(info.task, i);
      if (backward.contains(info.task) && i < lastForward)
        lastForward = i;
    }
    lastForward = lastForward > 0 ? lastForward - 1 : 0;
  }
  std::map<uint32_t, size_t> entryOf;
  /// The last entry before the backward computation.
  size_t lastForward;
};
} // namespace

Expected<ExactGradients>
run::profileErrors(remat_step *step, mlir::ModuleOp tasks,
                   ArrayRef<std::string> codecs, double bound,
                   ArrayRef<Tensor> arguments, GradientErrors &errors) {
  GraphOp graph = getOnlyGraph(tasks);
  ExactGradients exact;
  exact.numbers = findGradients(graph);
  Expected<StepBinding> binding = StepBinding::create(step, arguments);
  if (!binding)
    return binding.takeError();
  auto runAgain = [&]() -> Error {
    binding->reset(step, arguments);
    if (remat_status status = remat_step_run(
            step, binding->arguments.data(), binding->arguments.size(),
            binding->results.data(), binding->results.size()))
      return makeError(Twine(remat_status_name(status)) + ": " +
                       remat_step_error(step));
    return Error::success();
  };
  if (Error error = runAgain())
    return std::move(error);
  for (const Tensor &result : binding->memory)
    exact.results.push_back(result.copy());
  std::vector<Measurement> forms = findForms(graph, codecs);
  EntryPlaces places(step, graph);
  DenseMap<std::pair<mlir::Type, int>, std::unique_ptr<Rounder>> rounders;
  std::atomic<size_t> done = 0;
  ProgressLine line("remat-run", options().plan.showsProgress(), [&] {
    return ProgressState{formatv("measuring errors of gradients, {0} of {1}",
                                 done.load(), forms.size()),
                         double(done) / double(forms.size())};
  });
  // The value of which a more exact form is beyond the bound already.
  mlir::OpResult hopeless;
  for (const Measurement &measurement : forms) {
    auto maker = cast<TaskOp>(measurement.value.getOwner());
    auto entry = places.entryOf.find(maker.getId());
    ++done;
    if (entry == places.entryOf.end() || measurement.value == hopeless)
      continue;
    if (std::optional<double> known =
            errors.find(measurement.value, measurement.codec)) {
      if (*known * gradientErrorMargin > bound)
        hopeless = measurement.value;
      continue;
    }
    auto &rounder = rounders[{measurement.value.getType(),
                              static_cast<int>(measurement.codec)}];
    if (!rounder)
      if (Error error = Rounder::create(cast<mlir::RankedTensorType>(
                                            measurement.value.getType()),
                                        measurement.codec)
                            .moveInto(rounder))
        return std::move(error);
    double largest = 0;
    bool isMeasured = true;
    for (size_t moment :
         {std::max(places.lastForward, entry->second), entry->second}) {
      Rounding rounding(*rounder, entry->second,
                        measurement.value.getResultNumber(), moment);
      remat_step_observe(step, Rounding::observe, &rounding);
      Error error = runAgain();
      remat_step_observe(step, nullptr, nullptr);
      if (error)
        return std::move(error);
      isMeasured &= rounding.isDone;
      largest = std::max(largest, exact.compare(binding->memory));
    }
    if (largest * gradientErrorMargin > bound)
      hopeless = measurement.value;
    if (isMeasured)
      errors.values[GradientErrors::getName(measurement.value)]
                   [measurement.codec] = largest;
  }
  return std::move(exact);
}

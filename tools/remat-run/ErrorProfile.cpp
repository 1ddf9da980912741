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

static bool isBackward(TaskOp task) {
  auto graph = task->getParentOfType<GraphOp>();
  return task.getBackwardLevel() >= graph.getPlannedLevel();
}

/// What the backward computation makes of floating-point numbers.
static std::vector<size_t> findGradients(GraphOp graph) {
  std::vector<size_t> numbers;
  for (auto [number, value] :
       enumerate(graph.getBody().front().getTerminator()->getOperands())) {
    auto task = getViewRoot(value).getDefiningOp<TaskOp>();
    mlir::Type element = mlir::getElementTypeOrSelf(value.getType());
    if (task && isBackward(task) &&
        isa<mlir::FloatType, mlir::ComplexType>(element))
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
} // namespace

//===----------------------------------------------------------------------===//
// Forms
//===----------------------------------------------------------------------===//

std::vector<ValueForm> run::findForms(GraphOp graph,
                                      ArrayRef<std::string> codecs) {
  std::set<ElementCodec> asked;
  for (const std::string &name : codecs)
    asked.insert(*parseElementCodec(name));
  std::vector<ValueForm> forms;
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

bool run::isHopeless(const GradientErrors &errors, const ValueForm &form,
                     double bound) {
  auto known = errors.values.find(GradientErrors::getName(form.value));
  return known != errors.values.end() &&
         any_of(known->second, [&](const auto &measured) {
           return measured.first < form.codec &&
                  measured.second * gradientErrorMargin > bound;
         });
}

//===----------------------------------------------------------------------===//
// Measuring
//===----------------------------------------------------------------------===//

namespace {
/// Where the tasks of a graph are among the entries of its step.
struct EntryPlaces {
  EntryPlaces(const remat_step *step, GraphOp graph) {
    DenseSet<int64_t> backward;
    for (auto task : graph.getOps<TaskOp>())
      if (isBackward(task))
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

struct ErrorProfile::State {
  State(remat_step *step, GraphOp graph, ArrayRef<Tensor> arguments,
        StepBinding binding)
      : step(step), arguments(arguments), binding(std::move(binding)),
        places(step, graph) {}

  Error runAgain();
  Expected<Rounder *> getRounder(const ValueForm &form);
  /// What the gradients lose if a form is rounded behind the entry `moment`;
  /// nothing if the step never had the value.
  Expected<std::optional<double>> measureAt(const ValueForm &form,
                                            Rounder &rounder, size_t maker,
                                            size_t moment);
  Expected<std::optional<double>> measure(const ValueForm &form);

  remat_step *step;
  ArrayRef<Tensor> arguments;
  StepBinding binding;
  ExactGradients exact;
  EntryPlaces places;
  DenseMap<std::pair<mlir::Type, int>, std::unique_ptr<Rounder>> rounders;
};

Error ErrorProfile::State::runAgain() {
  binding.reset(step, arguments);
  if (remat_status status = remat_step_run(
          step, binding.arguments.data(), binding.arguments.size(),
          binding.results.data(), binding.results.size()))
    return makeError(Twine(remat_status_name(status)) + ": " +
                     remat_step_error(step));
  return Error::success();
}

Expected<Rounder *> ErrorProfile::State::getRounder(const ValueForm &form) {
  auto type = cast<mlir::RankedTensorType>(form.value.getType());
  auto &rounder = rounders[{type, static_cast<int>(form.codec)}];
  if (!rounder)
    if (Error error = Rounder::create(type, form.codec).moveInto(rounder))
      return std::move(error);
  return rounder.get();
}

Expected<std::optional<double>>
ErrorProfile::State::measureAt(const ValueForm &form, Rounder &rounder,
                               size_t maker, size_t moment) {
  Rounding rounding(rounder, maker, form.value.getResultNumber(), moment);
  remat_step_observe(step, Rounding::observe, &rounding);
  Error error = runAgain();
  remat_step_observe(step, nullptr, nullptr);
  if (error)
    return std::move(error);
  if (!rounding.isDone)
    return std::nullopt;
  return exact.compare(binding.memory);
}

/// Whether the forward computation reads a value, or a view of it.
static bool isReadForward(mlir::Value value) {
  return any_of(value.getUsers(), [](mlir::Operation *reader) {
    if (auto task = dyn_cast<TaskOp>(reader))
      return !isBackward(task);
    return any_of(reader->getResults(), isReadForward);
  });
}

Expected<std::optional<double>>
ErrorProfile::State::measure(const ValueForm &form) {
  auto entry = places.entryOf.find(cast<TaskOp>(form.value.getOwner()).getId());
  if (entry == places.entryOf.end())
    return std::nullopt;
  Expected<Rounder *> rounder = getRounder(form);
  if (!rounder)
    return rounder.takeError();
  size_t maker = entry->second;
  auto early = measureAt(form, **rounder, maker, maker);
  // Where nothing reads the value in between, both moments are the same.
  if (!early || !*early || maker >= places.lastForward ||
      !isReadForward(form.value))
    return early;
  auto late = measureAt(form, **rounder, maker, places.lastForward);
  if (!late || !*late)
    return late;
  return std::max(**early, **late);
}

ErrorProfile::ErrorProfile(std::unique_ptr<State> state)
    : state(std::move(state)) {}
ErrorProfile::ErrorProfile(ErrorProfile &&) = default;
ErrorProfile::~ErrorProfile() = default;

Expected<ErrorProfile> ErrorProfile::create(remat_step *step, GraphOp graph,
                                            ArrayRef<Tensor> arguments) {
  Expected<StepBinding> binding = StepBinding::create(step, arguments);
  if (!binding)
    return binding.takeError();
  auto state =
      std::make_unique<State>(step, graph, arguments, std::move(*binding));
  state->exact.numbers = findGradients(graph);
  if (Error error = state->runAgain())
    return std::move(error);
  for (const Tensor &result : state->binding.memory)
    state->exact.results.push_back(result.copy());
  return ErrorProfile(std::move(state));
}

ExactGradients ErrorProfile::takeExact() { return std::move(state->exact); }

Error ErrorProfile::measure(ArrayRef<ValueForm> forms, double bound,
                            GradientErrors &errors) {
  std::atomic<size_t> done = 0;
  ProgressLine line("remat-run", options().plan.showsProgress(), [&] {
    return ProgressState{formatv("measuring errors of gradients, {0} of {1}",
                                 done.load(), forms.size()),
                         double(done) / double(forms.size())};
  });
  for (const ValueForm &form : forms) {
    ++done;
    if (errors.find(form.value, form.codec) || isHopeless(errors, form, bound))
      continue;
    Expected<std::optional<double>> error = state->measure(form);
    if (!error)
      return error.takeError();
    if (*error)
      errors.values[GradientErrors::getName(form.value)][form.codec] = **error;
  }
  return Error::success();
}

//===- ApplyOptimizer.cpp - updates of weights in the step ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each gradient that a function returns becomes the updated weight, which has
// the buffer of the old one, and the optimizer's state goes from an argument to
// a result in the same way. An update stands right behind what makes its
// gradient, so that this dies there: in the body of a loop, if an iteration
// makes it. The arithmetic is that of torch.optim: the state is at least f32,
// and an update is rounded to the type of the weight once.
//
//===----------------------------------------------------------------------===//

#include "LoopUpdates.h"
#include "remat/Dialect/Remat/IR/Gradients.h"
#include "remat/Dialect/Remat/IR/HostArguments.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/IR/StepGraphs.h"
#include "remat/Transforms/Passes.h"
#include "remat/Utils/BackwardMarks.h"
#include "remat/Utils/EntryFunction.h"
#include "remat/Utils/Locations.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace remat {
#define GEN_PASS_DEF_APPLYOPTIMIZERPASS
#include "remat/Transforms/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

namespace {
/// A gradient that a function returns.
struct Gradient {
  unsigned argument, result;
};

/// A function that gets updates of its weights.
class OptimizedFunction {
public:
  OptimizedFunction(func::FuncOp function, const OptimizerOptions &options)
      : function(function), options(options), body(function.front()),
        terminator(body.getTerminator()), builder(terminator),
        loc(NameLoc::get(builder.getStringAttr(optimizerLocName),
                         function.getLoc())) {}

  LogicalResult findGradients();
  LogicalResult apply();

private:
  Value addArgument(RankedTensorType type, const Twine &name,
                    std::optional<double> initial);
  void returnInPlace(Value argument, Value value);
  StringAttr getArgumentName(unsigned argument) {
    return function.getArgAttrOfType<StringAttr>(argument,
                                                 RematDialect::nameAttrName);
  }

  LogicalResult takeLossScale();
  void computeNumbers();
  void computeNumbersOfGradients();
  OptimizerScalar
  sumOverGradients(llvm::function_ref<OptimizerScalar(OptimizerScalar)> term);
  WeightUpdate addState(Gradient gradient);
  void updateWeights();
  void returnUpdate(const WeightUpdate &given, const WeightUpdate &updated);
  void finish();

  func::FuncOp function;
  const OptimizerOptions &options;
  Block &body;
  Operation *terminator;
  OpBuilder builder;
  Location loc;
  SmallVector<Gradient> gradients;
  SmallVector<DictionaryAttr> argAttrs, resAttrs;
  /// Tensors of rank 0, numbers as f64.
  StepNumbers numbers;
  /// The number of steps before and behind this one, if it is counted.
  Value before, after;
};
} // namespace

LogicalResult OptimizedFunction::findGradients() {
  SmallVector<bool> seen(function.getNumArguments());
  for (unsigned result = 0; result < function.getNumResults(); ++result) {
    auto number =
        function.getResultAttrOfType<IntegerAttr>(result, gradientAttrName);
    if (!number)
      continue;
    auto emit = [&] {
      return function.emitOpError("result #")
             << result << " is marked as the gradient of argument #"
             << number.getInt();
    };
    if (number.getInt() >= function.getNumArguments())
      return emit() << ", but there are " << function.getNumArguments()
                    << " arguments";
    unsigned argument = number.getInt();
    Type type = function.getArgumentTypes()[argument];
    if (function.getResultTypes()[result] != type)
      return emit() << ", which has another type: "
                    << function.getResultTypes()[result] << " and " << type;
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || !isa<FloatType>(tensor.getElementType()))
      return emit() << " of type " << type
                    << ", expected a tensor of floating point: optimizers "
                       "update no others";
    if (seen[argument])
      return emit() << ", which another result is, too";
    if (function.getArgAttr(argument, RematDialect::donatedAttrName))
      return emit() << ", which gives its buffer to another result";
    seen[argument] = true;
    // As in PyTorch, a weight that nothing depends on stays as it is.
    if (!function.getResultAttr(result, RematDialect::absentAttrName))
      gradients.push_back({argument, result});
  }
  if (gradients.empty())
    return function.emitOpError("returns no gradient, expected results with '")
           << gradientAttrName << "' to update weights by";
  return success();
}

/// A new last argument; with `initial`, the value that all of its elements have
/// before the first step.
Value OptimizedFunction::addArgument(RankedTensorType type, const Twine &name,
                                     std::optional<double> initial) {
  NamedAttrList attrs;
  if (std::string text = name.str(); !text.empty())
    attrs.set(RematDialect::nameAttrName, builder.getStringAttr(text));
  Type element = type.getElementType();
  if (initial) {
    Attribute value =
        isa<FloatType>(element)
            ? Attribute(builder.getFloatAttr(element, *initial))
            : Attribute(builder.getIntegerAttr(element, int64_t(*initial)));
    attrs.set(RematDialect::initialValueAttrName,
              DenseElementsAttr::get(type, value));
  }
  argAttrs.push_back(attrs.getDictionary(builder.getContext()));
  return body.addArgument(type, loc);
}

/// Returns `value` as one more result, in the buffer of `argument` and by its
/// name.
void OptimizedFunction::returnInPlace(Value argument, Value value) {
  unsigned number = cast<BlockArgument>(argument).getArgNumber();
  NamedAttrList given(argAttrs[number]), returned;
  if (Attribute name = given.get(RematDialect::nameAttrName))
    returned.set(RematDialect::nameAttrName, name);
  given.set(RematDialect::donatedAttrName,
            builder.getI64IntegerAttr(terminator->getNumOperands()));
  argAttrs[number] = given.getDictionary(builder.getContext());
  resAttrs.push_back(returned.getDictionary(builder.getContext()));
  terminator->insertOperands(terminator->getNumOperands(), value);
}

/// Makes the cotangent of the loss what it is multiplied by. It is the last
/// argument: the loss was differentiated with one.
LogicalResult OptimizedFunction::takeLossScale() {
  unsigned last = body.getNumArguments() - 1;
  BlockArgument cotangent = body.getArgument(last);
  auto type = dyn_cast<RankedTensorType>(cotangent.getType());
  if (!type || !isa<FloatType>(type.getElementType()) ||
      type.getNumElements() != 1)
    return function.emitOpError("has a last argument of type ")
           << cotangent.getType()
           << ", expected the cotangent of a loss, of one element of floating "
              "point, to scale gradients by";
  auto f64 = RankedTensorType::get({}, builder.getF64Type());
  if (options.lossScale) {
    auto element = cast<FloatType>(type.getElementType());
    APFloat scale(*options.lossScale);
    bool isRounded;
    scale.convert(element.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                  &isRounded);
    if (!scale.isFiniteNonZero()) {
      const llvm::fltSemantics &semantics = element.getFloatSemantics();
      return function.emitOpError("has a loss of type ")
             << element << ", in which the scale " << *options.lossScale
             << " is " << (scale.isZero() ? "0" : "infinite")
             << "; expected a 'loss_scale' from "
             << APFloat::getSmallest(semantics).convertToDouble() << " to "
             << APFloat::getLargest(semantics).convertToDouble();
    }
    cotangent.replaceAllUsesWith(arith::ConstantOp::create(
        builder, loc, DenseElementsAttr::get(type, scale)));
    // What gradients are divided by is what they were multiplied by.
    numbers.unscale = {&builder, arith::ConstantOp::create(
                                     builder, loc,
                                     DenseElementsAttr::get(
                                         f64, 1 / scale.convertToDouble()))};
    return function.eraseArgument(last);
  }
  function.setArgAttr(last, RematDialect::nameAttrName,
                      builder.getStringAttr("optimizer.loss_scale"));
  Value scale = cotangent;
  if (type.getRank() != 0)
    scale = tensor::CollapseShapeOp::create(builder, loc, scale,
                                            ArrayRef<ReassociationIndices>());
  OptimizerScalar wide = convertNumber({&builder, scale}, builder.getF64Type());
  numbers.unscale = 1 / wide;
  return success();
}

/// What is the same for all weights and needs no gradient, at the place of the
/// builder.
void OptimizedFunction::computeNumbers() {
  auto type = RankedTensorType::get({}, builder.getF64Type());
  auto constant = [&](double number) -> OptimizerScalar {
    return {&builder, arith::ConstantOp::create(
                          builder, loc, DenseElementsAttr::get(type, number))};
  };
  OptimizerScalar steps;
  if (countsSteps(options)) {
    auto count = RankedTensorType::get({}, builder.getI64Type());
    before = addArgument(count, "optimizer.step", 0);
    auto makeCount = [&](int64_t number) -> Value {
      return arith::ConstantOp::create(builder, loc,
                                       DenseElementsAttr::get(count, number));
    };
    after = arith::AddIOp::create(builder, loc, before, makeCount(1));
    if (options.dampening != 0 || options.masters)
      numbers.isFirst = {&builder, arith::CmpIOp::create(
                                       builder, loc, arith::CmpIPredicate::eq,
                                       before, makeCount(0))};
    steps = {&builder, arith::SIToFPOp::create(builder, loc, type, after)};
  }
  OptimizerScalar rate;
  if (options.learningRate) {
    rate = constant(*options.learningRate);
  } else {
    Value given = addArgument(RankedTensorType::get({}, builder.getF32Type()),
                              "optimizer.lr", std::nullopt);
    rate = convertNumber({&builder, given}, builder.getF64Type());
  }
  if (decaysWeights(options))
    numbers.decay = 1 - options.weightDecay * rate;
  auto power = [](OptimizerScalar base, OptimizerScalar exponent) {
    return base.apply<math::PowFOp>(exponent);
  };
  if (options.kind == OptimizerKind::Adam ||
      options.kind == OptimizerKind::AdamW) {
    auto correct = [&](double beta) {
      return 1 - power(constant(beta), steps);
    };
    rate = rate / correct(options.beta1);
    numbers.rootCorrection = sqrt(correct(options.beta2));
  }
  if (options.kind == OptimizerKind::Adafactor) {
    numbers.share = power(steps, constant(options.beta2Decay));
    rate = rate.apply<arith::MinimumFOp>(1 / sqrt(steps));
  }
  numbers.rate = rate;
}

/// The sum of what `term` makes of the elements of all gradients, as f64.
OptimizerScalar OptimizedFunction::sumOverGradients(
    llvm::function_ref<OptimizerScalar(OptimizerScalar)> term) {
  OptimizerScalar total;
  StepNumbers used;
  used.unscale = numbers.unscale;
  for (Gradient gradient : gradients) {
    Value value = terminator->getOperand(gradient.result);
    auto type = cast<RankedTensorType>(value.getType());
    Type computed = getComputedType(type.getElementType());
    OptimizerLoops loops(builder, loc, type.getShape());
    SmallVector<OptimizerOperand> inputs = {loops.whole(value)};
    addNumbers(used, computed, loops, inputs);
    Value sum = loops.sum(inputs, loops.number(value).map, computed,
                          [&](ArrayRef<OptimizerScalar> elements) {
                            OptimizerScalar element =
                                convertNumber(elements[0], computed);
                            if (used.unscale)
                              element = element * elements[1];
                            return term(element);
                          });
    OptimizerScalar wide = convertNumber({&builder, sum}, builder.getF64Type());
    total = total ? total + wide : wide;
  }
  return total;
}

/// What all gradients are needed for.
void OptimizedFunction::computeNumbersOfGradients() {
  if (options.skipNonfinite) {
    // A number less itself is 0, or NaN if it is not finite.
    OptimizerScalar zero = sumOverGradients(
        [](OptimizerScalar element) { return element - element; });
    numbers.isFinite =
        zero.compare(arith::CmpFPredicate::OEQ, zero.constant(0));
  }
  if (options.clipNorm != 0) {
    // As torch.nn.utils.clip_grad_norm_ computes it: at most 1.
    OptimizerScalar norm = sqrt(sumOverGradients(
        [](OptimizerScalar element) { return element * element; }));
    numbers.clip = atMost(options.clipNorm / (norm + 1e-6), 1);
  }
}

/// A weight as it is given, with arguments for its state.
WeightUpdate OptimizedFunction::addState(Gradient gradient) {
  Value weight = body.getArgument(gradient.argument);
  auto type = cast<RankedTensorType>(weight.getType());
  Type computed = getComputedType(type.getElementType());
  StringAttr weightName = getArgumentName(gradient.argument);
  auto add = [&](StringRef name, ArrayRef<int64_t> shape) {
    Value state = addArgument(
        RankedTensorType::get(shape, computed),
        weightName ? weightName.getValue() + "." + name : Twine(), 0);
    if (options.offloadState) {
      NamedAttrList attrs(argAttrs.back());
      attrs.set(hostAttrName, builder.getUnitAttr());
      argAttrs.back() = attrs.getDictionary(builder.getContext());
    }
    return state;
  };
  WeightUpdate update = {
      weight, terminator->getOperand(gradient.result), {}, {}};
  for (const StateTensor &state : getState(options, type.getShape()))
    update.state.push_back(add(state.name, state.shape));
  if (options.masters && computed != type.getElementType())
    update.master = add("master", type.getShape());
  return update;
}

void OptimizedFunction::returnUpdate(const WeightUpdate &given,
                                     const WeightUpdate &updated) {
  returnInPlace(given.weight, updated.weight);
  for (auto [argument, value] : llvm::zip_equal(given.state, updated.state))
    returnInPlace(argument, value);
  if (given.master)
    returnInPlace(given.master, updated.master);
}

void OptimizedFunction::updateWeights() {
  SmallVector<WeightUpdate> given = llvm::map_to_vector(
      gradients, [&](Gradient gradient) { return addState(gradient); });
  SmallVector<WeightUpdate> updated = given;
  bool needsAll = numbers.isFinite || numbers.clip;
  llvm::MapVector<LoopOp, SmallVector<LoopWeights>> loops;
  // What comes from the host comes for all iterations together.
  if (!needsAll && !options.offloadState)
    loops = findLoopWeights(
        llvm::map_to_vector(
            given, [](const WeightUpdate &update) { return update.gradient; }),
        llvm::map_to_vector(
            given, [](const WeightUpdate &update) { return update.weight; }));
  llvm::BitVector isInLoop(given.size());
  for (auto &[loop, lists] : loops)
    for (const LoopWeights &weights : lists)
      for (unsigned number : weights.numbers)
        isInLoop.set(number);
  for (auto [number, update] : llvm::enumerate(updated)) {
    if (isInLoop.test(number))
      continue;
    // Not behind what comes before the numbers that it needs.
    Operation *maker = update.gradient.getDefiningOp();
    builder.setInsertionPoint(terminator);
    if (maker && !needsAll && isBackward(maker))
      builder.setInsertionPointAfter(maker);
    emitUpdate(builder, loc, options, update, numbers);
  }
  for (auto &[loop, lists] : loops)
    updateInLoop(loop, lists, loc, numbers, updated,
                 [&](OpBuilder &inside, WeightUpdate &update,
                     const StepNumbers &passed) {
                   emitUpdate(inside, loc, options, update, passed);
                 });
  for (auto [before, after] : llvm::zip_equal(given, updated))
    returnUpdate(before, after);
}

LogicalResult OptimizedFunction::apply() {
  unsigned level = 1;
  Operation *first = terminator;
  for (Operation &op : llvm::reverse(body))
    if (isBackward(&op)) {
      level = std::max(level, getBackwardLevel(&op));
      first = &op;
    }
  builder.setInsertionPoint(first);
  if (options.scalesLoss() && failed(takeLossScale()))
    return failure();
  auto addMissing = [&](SmallVector<DictionaryAttr> &attrs, unsigned count) {
    attrs.resize(count, builder.getDictionaryAttr({}));
  };
  function.getAllArgAttrs(argAttrs);
  function.getAllResultAttrs(resAttrs);
  addMissing(argAttrs, function.getNumArguments());
  addMissing(resAttrs, function.getNumResults());

  // These numbers are forward: what the backward computation begins with is
  // the plan's border between both, and the tasks of numbers come early.
  computeNumbers();
  DenseSet<Operation *> forward;
  for (Operation &op : body)
    forward.insert(&op);
  builder.setInsertionPoint(terminator);
  computeNumbersOfGradients();
  if (Value count = after) {
    if (numbers.isFinite)
      count = arith::SelectOp::create(builder, loc, numbers.isFinite.value,
                                      after, before);
    returnInPlace(before, count);
  }
  updateWeights();
  for (Operation &op : body.without_terminator())
    if (!forward.contains(&op) && !isBackward(&op))
      setBackwardLevel(&op, level);
  if (numbers.isFinite) {
    resAttrs.push_back(builder.getDictionaryAttr(
        builder.getNamedAttr(RematDialect::nameAttrName,
                             builder.getStringAttr("optimizer.is_finite"))));
    terminator->insertOperands(terminator->getNumOperands(),
                               numbers.isFinite.value);
  }
  finish();
  return success();
}

/// Takes the gradients from the results and gives the function its type.
void OptimizedFunction::finish() {
  llvm::BitVector erased(terminator->getNumOperands());
  for (unsigned result = 0; result < function.getNumResults(); ++result)
    if (function.getResultAttr(result, gradientAttrName))
      erased.set(result);
  SmallVector<int64_t> places;
  SmallVector<DictionaryAttr> kept;
  for (unsigned result = 0; result < erased.size(); ++result) {
    places.push_back(kept.size());
    if (!erased.test(result))
      kept.push_back(resAttrs[result]);
  }
  terminator->eraseOperands(erased);
  for (DictionaryAttr &attrs : argAttrs)
    if (auto result = attrs.getAs<IntegerAttr>(RematDialect::donatedAttrName);
        result && result.getInt() < int64_t(places.size())) {
      NamedAttrList changed(attrs);
      changed.set(RematDialect::donatedAttrName,
                  builder.getI64IntegerAttr(places[result.getInt()]));
      attrs = changed.getDictionary(builder.getContext());
    }
  function.setFunctionType(builder.getFunctionType(
      body.getArgumentTypes(), terminator->getOperandTypes()));
  function.setAllArgAttrs(argAttrs);
  function.setAllResultAttrs(kept);
}

namespace {
struct ApplyOptimizerPass
    : remat::impl::ApplyOptimizerPassBase<ApplyOptimizerPass> {
  using ApplyOptimizerPassBase::ApplyOptimizerPassBase;

  LogicalResult initialize(MLIRContext *context) override {
    llvm::Expected<OptimizerOptions> parsed = parseOptimizer(optimizer);
    if (!parsed)
      return emitError(UnknownLoc::get(context), "option 'optimizer': ")
             << llvm::toString(parsed.takeError());
    options = *parsed;
    return success();
  }

  void runOnOperation() override {
    auto target = dyn_cast_or_null<func::FuncOp>(
        findEntry(getOperation(), function).getOperation());
    if (!target || target.isExternal() || !target.getBody().hasOneBlock()) {
      getOperation().emitError("has no function '")
          << function << "' of one block to update weights in";
      return signalPassFailure();
    }
    if (failed(apply(target)))
      return signalPassFailure();
    for (FunctionOpInterface other : findAlternatives(target))
      if (failed(apply(cast<func::FuncOp>(other.getOperation()))))
        return signalPassFailure();
  }

private:
  LogicalResult apply(func::FuncOp target) {
    OptimizedFunction optimized(target, options);
    return success(succeeded(optimized.findGradients()) &&
                   succeeded(optimized.apply()));
  }

  OptimizerOptions options;
};
} // namespace

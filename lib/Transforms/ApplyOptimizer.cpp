//===- ApplyOptimizer.cpp - updates of weights in the step ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each gradient that a function returns becomes the updated weight, which has
// the buffer of the old one, and the optimizer's state goes from an argument to
// a result in the same way. An update stands right behind what makes its
// gradient, so that this dies there. The arithmetic is that of torch.optim: the
// state is at least f32, and an update is rounded to the type of the weight
// once.
//
//===----------------------------------------------------------------------===//

#include "OptimizerUpdates.h"
#include "remat/Dialect/Remat/IR/Gradients.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Transforms/Passes.h"
#include "remat/Utils/BackwardMarks.h"
#include "remat/Utils/Builders.h"
#include "remat/Utils/EntryFunction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/MapVector.h"

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
        loc(NameLoc::get(builder.getStringAttr("optimizer"),
                         function.getLoc())) {}

  LogicalResult findGradients();
  void apply();

private:
  Value addArgument(RankedTensorType type, const Twine &name,
                    std::optional<double> initial);
  void returnInPlace(Value argument, Value value);
  StringAttr getArgumentName(unsigned argument) {
    return function.getArgAttrOfType<StringAttr>(argument,
                                                 RematDialect::nameAttrName);
  }

  void computeNumbers();
  Value computeClip();
  void updateWeight(Gradient gradient);
  Value narrow(Value number, Type element);
  void finish();

  func::FuncOp function;
  const OptimizerOptions &options;
  Block &body;
  Operation *terminator;
  OpBuilder builder;
  Location loc;
  SmallVector<Gradient> gradients;
  SmallVector<DictionaryAttr> argAttrs, resAttrs;
  /// Tensors of rank 0 and of type f64, but for `isFirst`.
  Value rate, decay, rootCorrection, isFirst, clip;
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

/// What is the same for all weights, at the place of the builder.
void OptimizedFunction::computeNumbers() {
  auto type = RankedTensorType::get({}, builder.getF64Type());
  auto constant = [&](double number) -> Value {
    return arith::ConstantOp::create(builder, loc,
                                     DenseElementsAttr::get(type, number));
  };
  auto subtract = [&](double number, Value value) -> Value {
    return arith::SubFOp::create(builder, loc, constant(number), value);
  };
  bool isAdam = options.kind == OptimizerKind::Adam ||
                options.kind == OptimizerKind::AdamW;
  Value steps;
  if (isAdam || options.dampening != 0) {
    auto count = RankedTensorType::get({}, builder.getI64Type());
    Value before = addArgument(count, "optimizer.step", 0);
    auto makeCount = [&](int64_t number) -> Value {
      return arith::ConstantOp::create(builder, loc,
                                       DenseElementsAttr::get(count, number));
    };
    Value after = arith::AddIOp::create(builder, loc, before, makeCount(1));
    if (options.dampening != 0)
      isFirst = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                      before, makeCount(0));
    steps = arith::SIToFPOp::create(builder, loc, type, after);
    returnInPlace(before, after);
  }
  if (options.learningRate) {
    rate = constant(*options.learningRate);
  } else {
    Value given = addArgument(RankedTensorType::get({}, builder.getF32Type()),
                              "optimizer.lr", std::nullopt);
    rate = arith::ExtFOp::create(builder, loc, type, given);
  }
  if (decaysWeights(options))
    decay = subtract(1, arith::MulFOp::create(
                            builder, loc, constant(options.weightDecay), rate));
  if (!isAdam)
    return;
  auto correct = [&](double beta) {
    return subtract(1,
                    math::PowFOp::create(builder, loc, constant(beta), steps));
  };
  rate = arith::DivFOp::create(builder, loc, rate, correct(options.beta1));
  rootCorrection = math::SqrtOp::create(builder, loc, correct(options.beta2));
}

/// At most 1: what brings the norm of all gradients down to the bound, as
/// torch.nn.utils.clip_grad_norm_ computes it.
Value OptimizedFunction::computeClip() {
  auto type = RankedTensorType::get({}, builder.getF64Type());
  Value total;
  for (Gradient gradient : gradients) {
    Value value = terminator->getOperand(gradient.result);
    int64_t rank = cast<RankedTensorType>(value.getType()).getRank();
    AffineMap maps[] = {builder.getMultiDimIdentityMap(rank),
                        AffineMap::get(rank, 0, builder.getContext())};
    SmallVector<utils::IteratorType> iterators(rank,
                                               utils::IteratorType::reduction);
    Type element = getElementTypeOrSelf(value);
    auto sum = RankedTensorType::get({}, element.getIntOrFloatBitWidth() < 32
                                             ? builder.getF32Type()
                                             : element);
    Value squares =
        linalg::GenericOp::create(
            builder, loc, sum, value, createZeros(builder, loc, sum), maps,
            iterators,
            [&](OpBuilder &builder, Location loc, ValueRange elements) {
              Value x = elements[0];
              if (x.getType() != sum.getElementType())
                x = arith::ExtFOp::create(builder, loc, sum.getElementType(),
                                          x);
              Value square = arith::MulFOp::create(builder, loc, x, x);
              Value next =
                  arith::AddFOp::create(builder, loc, elements[1], square);
              linalg::YieldOp::create(builder, loc, next);
            })
            .getResult(0);
    if (sum != type)
      squares = arith::ExtFOp::create(builder, loc, type, squares);
    total = total ? Value(arith::AddFOp::create(builder, loc, total, squares))
                  : squares;
  }
  auto constant = [&](double number) -> Value {
    return arith::ConstantOp::create(builder, loc,
                                     DenseElementsAttr::get(type, number));
  };
  Value norm = math::SqrtOp::create(builder, loc, total);
  Value ratio = arith::DivFOp::create(
      builder, loc, constant(options.clipNorm),
      arith::AddFOp::create(builder, loc, norm, constant(1e-6)));
  return arith::MinimumFOp::create(builder, loc, ratio, constant(1));
}

/// A tensor of rank 0 as one of `element`.
Value OptimizedFunction::narrow(Value number, Type element) {
  Type from = getElementTypeOrSelf(number);
  if (from == element || !isa<FloatType>(from))
    return number;
  return arith::TruncFOp::create(builder, loc,
                                 RankedTensorType::get({}, element), number);
}

void OptimizedFunction::updateWeight(Gradient gradient) {
  Value weight = body.getArgument(gradient.argument);
  auto type = cast<RankedTensorType>(weight.getType());
  Type element = type.getElementType();
  Type computed =
      element.getIntOrFloatBitWidth() < 32 ? builder.getF32Type() : element;
  auto stateType = RankedTensorType::get(type.getShape(), computed);
  SmallVector<Value> state;
  StringAttr weightName = getArgumentName(gradient.argument);
  for (StringRef name : getStateNames(options))
    state.push_back(addArgument(
        stateType, weightName ? weightName.getValue() + "." + name : Twine(),
        0));

  // Numbers that the body asks for are read as operands of rank 0.
  SmallVector<Value> inputs = {weight, terminator->getOperand(gradient.result)};
  llvm::append_range(inputs, state);
  unsigned firstNumber = inputs.size();
  llvm::SmallMapVector<Value *, unsigned, 4> places;
  for (Value *number : {&rate, &decay, &rootCorrection, &isFirst, &clip})
    if (*number) {
      places[number] = inputs.size();
      inputs.push_back(narrow(*number, computed));
    }
  SmallVector<Type> types = {type};
  types.append(state.size(), stateType);
  SmallVector<Value> outputs;
  for (Type result : types)
    outputs.push_back(tensor::EmptyOp::create(builder, loc, type.getShape(),
                                              getElementTypeOrSelf(result)));
  AffineMap identity = builder.getMultiDimIdentityMap(type.getRank());
  SmallVector<AffineMap> maps(inputs.size() + outputs.size(), identity);
  for (unsigned i = firstNumber; i < inputs.size(); ++i)
    maps[i] = AffineMap::get(type.getRank(), 0, builder.getContext());
  SmallVector<utils::IteratorType> iterators(type.getRank(),
                                             utils::IteratorType::parallel);
  auto generic = linalg::GenericOp::create(
      builder, loc, types, inputs, outputs, maps, iterators,
      [&](OpBuilder &builder, Location loc, ValueRange elements) {
        auto widen = [&](Value value) -> OptimizerScalar {
          if (value.getType() != computed)
            value = arith::ExtFOp::create(builder, loc, computed, value);
          return {&builder, value};
        };
        auto number = [&](Value *value) -> OptimizerScalar {
          auto place = places.find(value);
          return {&builder,
                  place == places.end() ? Value() : elements[place->second]};
        };
        OptimizedElement current = {widen(elements[0]), widen(elements[1]), {}};
        for (unsigned i = 0; i < state.size(); ++i)
          current.state.push_back({&builder, elements[2 + i]});
        updateElement(options, current,
                      {number(&rate), number(&decay), number(&rootCorrection),
                       number(&isFirst), number(&clip)});
        SmallVector<Value> results = {current.weight.value};
        if (element != computed)
          results[0] =
              arith::TruncFOp::create(builder, loc, element, results[0]);
        for (OptimizerScalar value : current.state)
          results.push_back(value.value);
        linalg::YieldOp::create(builder, loc, results);
      });
  returnInPlace(weight, generic.getResult(0));
  for (auto [argument, value] :
       llvm::zip(state, generic.getResults().drop_front()))
    returnInPlace(argument, value);
}

void OptimizedFunction::apply() {
  auto addMissing = [&](SmallVector<DictionaryAttr> &attrs, unsigned count) {
    attrs.resize(count, builder.getDictionaryAttr({}));
  };
  function.getAllArgAttrs(argAttrs);
  function.getAllResultAttrs(resAttrs);
  addMissing(argAttrs, function.getNumArguments());
  addMissing(resAttrs, function.getNumResults());

  unsigned level = 1;
  Operation *first = terminator;
  for (Operation &op : llvm::reverse(body))
    if (isBackward(&op)) {
      level = std::max(level, getBackwardLevel(&op));
      first = &op;
    }
  DenseSet<Operation *> known;
  for (Operation &op : body)
    known.insert(&op);

  builder.setInsertionPoint(first);
  computeNumbers();
  builder.setInsertionPoint(terminator);
  if (options.clipNorm != 0)
    clip = computeClip();
  for (Gradient gradient : gradients) {
    // Not behind what comes before the numbers that it needs.
    Operation *maker = terminator->getOperand(gradient.result).getDefiningOp();
    builder.setInsertionPoint(terminator);
    if (maker && !clip && isBackward(maker))
      builder.setInsertionPointAfter(maker);
    updateWeight(gradient);
  }
  for (Operation &op : body.without_terminator())
    if (!known.contains(&op))
      setBackwardLevel(&op, level);
  finish();
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
    OptimizedFunction optimized(target, options);
    if (failed(optimized.findGradients()))
      return signalPassFailure();
    optimized.apply();
  }

private:
  OptimizerOptions options;
};
} // namespace

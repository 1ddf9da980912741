//===- Differentiate.cpp - differentiation of functions -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks what was asked for, finds the values between the chosen arguments and
// results, sweeps the function and gives it the arguments and results of the
// derivative.
//
//===----------------------------------------------------------------------===//

#include "remat/AutoDiff/AutoDiff.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include "ConstantWeights.h"
#include "Emit.h"
#include "Idioms.h"
#include "LoopBodies.h"
#include "Rules.h"
#include "Sweep.h"
#include "remat/AutoDiff/Expr.h"
#include "remat/Dialect/Remat/IR/Gradients.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Utils/BackwardMarks.h"
#include "remat/Utils/Locations.h"

using namespace mlir;
using namespace remat;

//===----------------------------------------------------------------------===//
// Checking what was asked for
//===----------------------------------------------------------------------===//

static LogicalResult checkFunction(func::FuncOp function) {
  if (function.isExternal())
    return function.emitOpError("has no body to differentiate");
  if (!function.getBody().hasOneBlock())
    return function.emitOpError("has ")
           << function.getBody().getBlocks().size()
           << " blocks, expected straight-line code in one";
  // Of other types there are no zeros that have the shape of a value.
  auto isSupported = [](Value value) {
    auto shaped = dyn_cast<ShapedType>(value.getType());
    auto tensor = dyn_cast<RankedTensorType>(value.getType());
    return !shaped ||
           (shaped.hasStaticShape() && (!tensor || !tensor.getEncoding()));
  };
  for (BlockArgument argument : function.getArguments())
    if (!isSupported(argument) || isa<MemRefType>(argument.getType()))
      return function.emitOpError("argument #")
             << argument.getArgNumber() << " has type " << argument.getType()
             << ", expected a tensor of static shape without encoding";
  for (Operation &op : function.front())
    for (OpResult result : op.getResults())
      if (!isSupported(result))
        return op.emitOpError("result #")
               << result.getResultNumber() << " has type " << result.getType()
               << ", expected a static shape without encoding";
  return success();
}

static bool isFloat(Type type) {
  return isa<FloatType>(getElementTypeOrSelf(type));
}

/// The arguments to differentiate with respect to.
static FailureOr<SmallVector<Value>>
getInputs(func::FuncOp function, const DifferentiateOptions &options) {
  SmallVector<Value> inputs;
  if (options.wrt.empty()) {
    for (BlockArgument argument : function.getArguments())
      if (isDifferentiableType(argument.getType()))
        inputs.push_back(argument);
    return inputs;
  }
  int64_t count = function.getNumArguments();
  for (int64_t number : options.wrt) {
    if (number < 0 || number >= count)
      return function.emitOpError("has ")
             << count << " arguments, cannot differentiate with respect to #"
             << number;
    Value argument = function.getArgument(number);
    if (!isDifferentiableType(argument.getType()))
      return function.emitOpError("argument #")
             << number << " has type " << argument.getType()
             << ", expected floating-point or complex elements to "
                "differentiate with respect to";
    inputs.push_back(argument);
  }
  return inputs;
}

/// Appends the values that tags of the names in `options` give.
static LogicalResult addTagged(func::FuncOp function,
                               const DifferentiateOptions &options,
                               SmallVectorImpl<Value> &inputs) {
  for (StringRef name : options.tags) {
    size_t before = inputs.size();
    for (auto tag : function.front().getOps<TagOp>())
      if (tag.getName() == name && isDifferentiableType(tag.getType()))
        inputs.push_back(tag.getResult());
    if (inputs.size() == before)
      return function.emitOpError("has no floating-point value named '")
             << name << "' to differentiate with respect to";
  }
  return success();
}

/// Whether a result of `type` is one floating-point number, as a loss is.
static bool isNumber(Type type) {
  auto shaped = dyn_cast<ShapedType>(type);
  return isFloat(type) && (!shaped || shaped.getNumElements() == 1);
}

/// The place of result `number`. Negative numbers count from the last of
/// floating point, behind which there may be state. If that one is no number,
/// -1 is the only one that is.
static int64_t resolveResult(func::FuncOp function, int64_t number) {
  Operation *terminator = function.front().getTerminator();
  SmallVector<Type> types(terminator->getOperandTypes());
  if (number >= 0)
    return number;
  int64_t end = types.size();
  if (llvm::any_of(types, isFloat))
    while (!isFloat(types[end - 1]))
      --end;
  if (number == -1 && end > 0 && !isNumber(types[end - 1]) &&
      llvm::count_if(types, isNumber) == 1)
    return llvm::find_if(types, isNumber) - types.begin();
  return end + number;
}

/// The result `number`, which must carry a derivative and, if it is to have a
/// gradient, be real.
static FailureOr<Value> getOutput(func::FuncOp function, int64_t number,
                                  bool mustBeReal) {
  Operation *terminator = function.front().getTerminator();
  int64_t count = terminator->getNumOperands();
  if (count == 0)
    return function.emitOpError(
        "has no results, expected one to differentiate; run it without its "
        "derivative ('differentiate=false', '--no-gradients')");
  int64_t index = resolveResult(function, number);
  if (index < 0 || index >= count)
    return function.emitOpError("has ")
           << count << " results, cannot differentiate #" << number;
  Value output = terminator->getOperand(index);
  bool mayBe = mustBeReal ? isFloat(output.getType())
                          : isDifferentiableType(output.getType());
  if (!mayBe)
    return function.emitOpError("result #")
           << index << " has type " << output.getType() << ", expected a "
           << (mustBeReal ? "floating-point" : "floating-point or complex")
           << " type to differentiate";
  return output;
}

/// The results to differentiate.
static FailureOr<SmallVector<Value>>
getOutputs(func::FuncOp function, const DifferentiateOptions &options) {
  SmallVector<Value> outputs;
  if (options.mode == DifferentiateOptions::Gradient) {
    FailureOr<Value> output =
        getOutput(function, options.result, /*mustBeReal=*/true);
    if (failed(output))
      return failure();
    auto type = dyn_cast<ShapedType>(output->getType());
    if (type && type.getNumElements() != 1)
      return function.emitOpError("result #")
             << resolveResult(function, options.result) << " has type " << type
             << ", expected one element to differentiate (or cotangents as "
                "arguments)";
    outputs.push_back(*output);
    return outputs;
  }
  for (int64_t number : options.results) {
    FailureOr<Value> output = getOutput(function, number, /*mustBeReal=*/false);
    if (failed(output))
      return failure();
    outputs.push_back(*output);
  }
  if (options.results.empty())
    for (Value value : function.front().getTerminator()->getOperands())
      if (isDifferentiableType(value.getType()))
        outputs.push_back(value);
  return outputs;
}

//===----------------------------------------------------------------------===//
// The sweeps
//===----------------------------------------------------------------------===//

namespace {
/// A function that is being differentiated.
class Differentiator {
public:
  /// The sweeps take down the idioms that they find in `idioms`, if not null.
  Differentiator(func::FuncOp function, ArrayRef<Value> inputs,
                 ArrayRef<Value> outputs, IdiomLog *idioms);

  /// Emit the derivative and add its values to the function's results.
  LogicalResult reverse(bool withCotangents, bool accumulate);
  LogicalResult forward();

  /// Leaves nothing behind of a derivative that could not be emitted.
  void rollBack();
  /// Gives the function the type of its arguments and results, and names to
  /// the new results; with `markGradients` these are those of the inputs.
  void finish(bool markGradients);

private:
  Location getLoc(StringRef name) {
    return NameLoc::get(StringAttr::get(function.getContext(), name),
                        terminator->getLoc());
  }
  /// An argument for a derivative of `value`, named after it.
  BlockArgument addArgumentLike(Value value, StringRef suffix) {
    argumentNames.push_back(getName(value, suffix));
    return body.addArgument(value.getType(), value.getLoc());
  }
  /// Returns `value`, or zeros of the type of `like` if it is null. It is
  /// `absent` if there is no such derivative.
  void addResult(Value value, Value like, Location loc, StringAttr name,
                 bool absent);
  StringAttr getName(Value value, StringRef suffix);
  Value addEarly(Value sum, Value gradient, Location loc);
  FailureOr<SmallVector<GradientHookOp>> findLateHooks();

  func::FuncOp function;
  Block &body;
  Operation *terminator;
  ArrayRef<Value> inputs, outputs;
  IdiomLog *idioms;
  /// What there was before.
  SmallVector<Operation *> ops;
  unsigned numArguments, numResults;
  OpBuilder builder;
  /// Of each argument that is added.
  SmallVector<StringAttr> argumentNames;
  /// Of each result that is added.
  SmallVector<StringAttr> names;
  SmallVector<bool> absent;
  /// Arguments that give their buffers to results, and the results' numbers.
  SmallVector<std::pair<BlockArgument, int64_t>> donations;
};
} // namespace

Differentiator::Differentiator(func::FuncOp function, ArrayRef<Value> inputs,
                               ArrayRef<Value> outputs, IdiomLog *idioms)
    : function(function), body(function.front()),
      terminator(body.getTerminator()), inputs(inputs), outputs(outputs),
      idioms(idioms), numArguments(function.getNumArguments()),
      numResults(function.getNumResults()), builder(terminator) {
  for (Operation &op : body.without_terminator())
    ops.push_back(&op);
}

/// The name of `value` if it is an argument or result that has one, with
/// `suffix`: the gradient of 'x' is 'x.grad', and what comes for the result 'y'
/// is 'y.cotangent'.
StringAttr Differentiator::getName(Value value, StringRef suffix) {
  StringAttr name;
  if (auto argument = dyn_cast<BlockArgument>(value))
    name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                 RematDialect::nameAttrName);
  if (auto tag = value.getDefiningOp<TagOp>())
    name = tag.getNameAttr();
  auto operands = terminator->getOperands().take_front(numResults);
  auto found = llvm::find(operands, value);
  if (!name && found != operands.end())
    name = function.getResultAttrOfType<StringAttr>(
        std::distance(operands.begin(), found), RematDialect::nameAttrName);
  return name ? StringAttr::get(name.getContext(), name.getValue() + suffix)
              : StringAttr();
}

void Differentiator::addResult(Value value, Value like, Location loc,
                               StringAttr name, bool isAbsent) {
  if (!value)
    value = createZeroConstant(builder, loc, like.getType());
  terminator->insertOperands(terminator->getNumOperands(), value);
  names.push_back(name);
  absent.push_back(isAbsent);
}

/// What `value` is behind hooks that see gradients only when all is added.
static Value skipLateHooks(Value value) {
  while (auto hook = value.getDefiningOp<GradientHookOp>()) {
    if (!hook.getAccumulated())
      break;
    value = hook.getValues().front();
  }
  return value;
}

/// Hooks that see gradients when all is added, the last first.
FailureOr<SmallVector<GradientHookOp>> Differentiator::findLateHooks() {
  SmallVector<GradientHookOp> hooks;
  for (Operation *op : llvm::reverse(ops)) {
    auto hook = dyn_cast<GradientHookOp>(op);
    if (!hook || !hook.getAccumulated())
      continue;
    Value value = skipLateHooks(hook.getValues().front());
    if (!isa<BlockArgument>(value) && !llvm::is_contained(inputs, value))
      return hook.emitOpError("sees a gradient after it was accumulated, "
                              "expected the operand to be an argument or a "
                              "tagged value that has one");
    hooks.push_back(hook);
  }
  return hooks;
}

/// `sum` and `gradient` where that is known: it takes room until it is added.
Value Differentiator::addEarly(Value sum, Value gradient, Location loc) {
  OpBuilder::InsertionGuard guard(builder);
  Operation *maker = gradient.getDefiningOp();
  if (maker && (ops.empty() || ops.back()->isBeforeInBlock(maker)))
    builder.setInsertionPointAfter(maker);
  return createSum(builder, loc, sum, gradient);
}

LogicalResult Differentiator::reverse(bool withCotangents, bool accumulate) {
  Location loc = getLoc(backwardLocName);
  SequenceActivity activity(ops, inputs, outputs);
  ReverseSweep sweep(builder, activity, loc);
  sweep.setIdiomLog(idioms);
  for (Value output : outputs) {
    Value seed;
    if (withCotangents)
      seed = addArgumentLike(output, ".cotangent");
    else if (activity.isActive(output))
      seed = createFloatConstant(builder, loc, output.getType(), 1.0);
    sweep.accumulate(output, seed);
  }
  FailureOr<SmallVector<GradientHookOp>> lateHooks = findLateHooks();
  if (failed(lateHooks) || failed(sweep.run(ops)))
    return failure();
  sweep.setLoc(loc);
  for (Value input : inputs) {
    Value gradient = sweep.cotangent(input);
    StringAttr name = getName(input, ".grad");
    bool isZero = !gradient;
    if (accumulate) {
      // One name for what comes and what goes.
      BlockArgument sum = addArgumentLike(input, ".grad");
      donations.emplace_back(sum, terminator->getNumOperands());
      gradient = gradient ? addEarly(sum, gradient, loc) : sum;
    }
    for (GradientHookOp hook : *lateHooks)
      if (!isZero && skipLateHooks(hook.getValues().front()) == input)
        gradient = emitHook(hook, gradient, sweep).front();
    addResult(gradient, input, loc, name, !activity.isActive(input));
  }
  // All that stands behind the forward operations, which may contain other
  // derivatives.
  unsigned level = 0;
  for (Operation *op : ops)
    level = std::max(level, getHighestLevel(op));
  Attribute mark = getBackwardMark(builder.getContext(), level + 1);
  Operation *last = ops.empty() ? nullptr : ops.back();
  for (Operation *op = terminator->getPrevNode(); op != last;
       op = op->getPrevNode())
    op->setAttr(RematDialect::backwardAttrName, mark);
  return success();
}

LogicalResult Differentiator::forward() {
  Location loc = getLoc(tangentLocName);
  SequenceActivity activity(ops, inputs, outputs);
  ForwardSweep sweep(builder, activity, loc);
  sweep.setIdiomLog(idioms);
  builder.setInsertionPointToStart(&body);
  for (Value input : inputs)
    sweep.addTangent(input, addArgumentLike(input, ".tangent"));
  if (failed(sweep.run(ops)))
    return failure();
  builder.setInsertionPoint(terminator);
  for (Value output : outputs)
    addResult(sweep.tangent(output), output, loc, getName(output, ".tangent"),
              !activity.isActive(output));
  for (Operation *op : ops)
    if (auto loop = dyn_cast<LoopOp>(op))
      replaceByForwardLoop(loop,
                           [&](Value value) { return sweep.tangent(value); });
  return success();
}

void Differentiator::rollBack() {
  llvm::DenseSet<Operation *> known(ops.begin(), ops.end());
  SmallVector<Operation *> made;
  for (Operation &op : body.without_terminator())
    if (!known.contains(&op))
      made.push_back(&op);
  for (Operation *op : llvm::reverse(made))
    op->erase();
  body.eraseArguments(numArguments, body.getNumArguments() - numArguments);
}

void Differentiator::finish(bool markGradients) {
  SmallVector<DictionaryAttr> argAttrs, resAttrs;
  function.getAllArgAttrs(argAttrs);
  function.getAllResultAttrs(resAttrs);
  function.setFunctionType(builder.getFunctionType(
      body.getArgumentTypes(), terminator->getOperandTypes()));
  DictionaryAttr none = builder.getDictionaryAttr({});
  if (!argAttrs.empty()) {
    argAttrs.resize(body.getNumArguments(), none);
    function.setAllArgAttrs(argAttrs);
  }
  if (!resAttrs.empty()) {
    resAttrs.resize(terminator->getNumOperands(), none);
    function.setAllResultAttrs(resAttrs);
  }
  for (auto [number, name] : llvm::enumerate(argumentNames))
    if (name)
      function.setArgAttr(numArguments + number, RematDialect::nameAttrName,
                          name);
  for (auto [number, name, isAbsent] : llvm::enumerate(names, absent)) {
    if (name)
      function.setResultAttr(numResults + number, RematDialect::nameAttrName,
                             name);
    if (isAbsent)
      function.setResultAttr(numResults + number, RematDialect::absentAttrName,
                             builder.getUnitAttr());
  }
  if (markGradients)
    for (auto [number, input] : llvm::enumerate(inputs))
      if (auto argument = dyn_cast<BlockArgument>(input))
        function.setResultAttr(
            numResults + number, gradientAttrName,
            builder.getI64IntegerAttr(argument.getArgNumber()));
  for (auto [argument, result] : donations)
    function.setArgAttr(argument.getArgNumber(), RematDialect::donatedAttrName,
                        builder.getI64IntegerAttr(result));
}

LogicalResult remat::differentiate(func::FuncOp function,
                                   const DifferentiateOptions &options,
                                   DifferentiateStatistics *statistics) {
  if (failed(attachRules(function)) || failed(checkFunction(function)))
    return failure();
  FailureOr<SmallVector<Value>> inputs = getInputs(function, options);
  if (failed(inputs))
    return failure();
  bool isForward = options.mode == DifferentiateOptions::Forward;
  if (!isForward && failed(stackSaved(function)))
    return failure();
  if (!isForward && failed(addTagged(function, options, *inputs)))
    return failure();
  FailureOr<SmallVector<Value>> outputs = getOutputs(function, options);
  if (failed(outputs))
    return failure();
  // Who chooses arguments knows that there are weights among them.
  if (llvm::all_of(function.getArguments(), [&](Value argument) {
        return !isDifferentiableType(argument.getType()) ||
               llvm::is_contained(*inputs, argument);
      }))
    warnOfConstantWeights(function);
  IdiomLog idioms;
  Differentiator differentiator(function, *inputs, *outputs,
                                options.idioms ? &idioms : nullptr);
  bool withCotangents = options.mode == DifferentiateOptions::Reverse;
  LogicalResult emitted =
      isForward ? differentiator.forward()
                : differentiator.reverse(withCotangents, options.accumulate);
  if (failed(emitted)) {
    differentiator.rollBack();
    return failure();
  }
  differentiator.finish(options.markGradients && !isForward);
  idioms.emitRemarks(function.getName());
  if (statistics)
    statistics->numIdioms += idioms.size();
  return success();
}

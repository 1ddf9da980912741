//===- Differentiate.cpp - the reverse sweep of a function ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds the values between the chosen arguments and results, walks the forward
// operations backwards and lets the rule of each add to the cotangents of its
// operands. Cotangents that are zero are never made.
//
//===----------------------------------------------------------------------===//

#include "remat/AutoDiff/AutoDiff.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include "Cotangents.h"
#include "Emit.h"
#include "Expr.h"
#include "remat/AutoDiff/DifferentiableOpInterface.h"
#include "remat/Dialect/Remat/IR/Remat.h"

using namespace mlir;
using namespace remat;

namespace {

/// The activity of the values of a function.
class FunctionActivity : public Activity {
public:
  FunctionActivity(Block &body, ArrayRef<Value> inputs,
                   ArrayRef<Value> outputs);
  bool isActive(Value value) const override { return active.contains(value); }

private:
  llvm::DenseSet<Value> active;
};

/// The context in which the operations of a function are differentiated.
class FunctionContext : public ReverseContext {
public:
  FunctionContext(OpBuilder &builder, const FunctionActivity &activity)
      : ReverseContext(builder), activity(activity) {}

  bool isActive(Value value) const override { return activity.isActive(value); }
  Value primal(Value forward) override { return forward; }
  Value cotangent(Value forward) override {
    return cotangents.get(forward, getBuilder(), getLoc());
  }
  void accumulate(Value forward, Value term) override {
    if (term && isActive(forward))
      cotangents.add(forward, term, getBuilder(), getLoc());
  }
  void accumulateSlice(Value forward, Value term, ArrayRef<int64_t> offsets,
                       ArrayRef<int64_t> sizes,
                       ArrayRef<int64_t> strides) override {
    if (term && isActive(forward))
      cotangents.addSlice(forward, {term, offsets, sizes, strides},
                          getBuilder(), getLoc());
  }

private:
  const FunctionActivity &activity;
  Cotangents cotangents;
};

} // namespace

FunctionActivity::FunctionActivity(Block &body, ArrayRef<Value> inputs,
                                   ArrayRef<Value> outputs) {
  auto blocks = [](Operation &op) {
    auto rule = dyn_cast<DifferentiableOpInterface>(op);
    return rule && rule.blocksDerivative();
  };
  // Forwards: what depends on the inputs.
  active.insert(inputs.begin(), inputs.end());
  for (Operation &op : body.without_terminator()) {
    if (blocks(op) || llvm::none_of(getDependencies(&op), [&](Value value) {
          return isActive(value);
        }))
      continue;
    auto rule = dyn_cast<DifferentiableOpInterface>(op);
    for (OpResult result : op.getResults())
      if (isDifferentiableType(result.getType()) &&
          (!rule || rule.resultVaries(result, *this)))
        active.insert(result);
  }
  // Backwards: of that, what the outputs depend on.
  llvm::DenseSet<Value> useful(outputs.begin(), outputs.end());
  for (Operation &op : llvm::reverse(body.without_terminator())) {
    if (blocks(op) || llvm::none_of(op.getResults(), [&](Value value) {
          return useful.contains(value) && isActive(value);
        }))
      continue;
    for (Value value : getDependencies(&op))
      useful.insert(value);
  }
  llvm::DenseSet<Value> varied = std::move(active);
  active.clear();
  for (Value value : varied)
    if (useful.contains(value))
      active.insert(value);
}

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
  auto isDynamic = [](Value value) {
    auto type = dyn_cast<ShapedType>(value.getType());
    return type && !type.hasStaticShape();
  };
  for (BlockArgument argument : function.getArguments())
    if (isDynamic(argument))
      return function.emitOpError("argument #")
             << argument.getArgNumber() << " has type " << argument.getType()
             << ", expected a static shape";
  for (Operation &op : function.front())
    for (OpResult result : op.getResults())
      if (isDynamic(result))
        return op.emitOpError("result #")
               << result.getResultNumber() << " has type " << result.getType()
               << ", expected a static shape";
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
      if (isFloat(argument.getType()))
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
    if (!isFloat(argument.getType()))
      return function.emitOpError("argument #")
             << number << " has type " << argument.getType()
             << ", expected floating-point elements to differentiate with "
                "respect to";
    inputs.push_back(argument);
  }
  return inputs;
}

/// The results to differentiate.
static FailureOr<SmallVector<Value>>
getOutputs(func::FuncOp function, const DifferentiateOptions &options) {
  Operation *terminator = function.front().getTerminator();
  SmallVector<Value> outputs;
  if (options.cotangents) {
    for (Value value : terminator->getOperands())
      if (isFloat(value.getType()))
        outputs.push_back(value);
    return outputs;
  }
  int64_t count = terminator->getNumOperands();
  int64_t number = options.result < 0 ? count + options.result : options.result;
  if (number < 0 || number >= count)
    return function.emitOpError("has ")
           << count << " results, cannot differentiate #" << options.result;
  Value output = terminator->getOperand(number);
  if (!isFloat(output.getType()))
    return function.emitOpError("result #")
           << number << " has type " << output.getType()
           << ", expected a floating-point type to differentiate";
  auto type = dyn_cast<ShapedType>(output.getType());
  if (type && type.getNumElements() != 1)
    return function.emitOpError("result #")
           << number << " has type " << type
           << ", expected one element to differentiate (or cotangents as "
              "arguments)";
  outputs.push_back(output);
  return outputs;
}

//===----------------------------------------------------------------------===//
// The sweep
//===----------------------------------------------------------------------===//

static LogicalResult sweep(ArrayRef<Operation *> forward,
                           FunctionContext &context) {
  StringAttr name =
      StringAttr::get(context.getBuilder().getContext(), "backward");
  for (Operation *op : llvm::reverse(forward)) {
    context.setLoc(NameLoc::get(name, op->getLoc()));
    // A value is complete once all its users have been visited; what was
    // collected for it is put together here.
    if (llvm::none_of(op->getResults(), [&](Value result) {
          return context.isActive(result) && context.cotangent(result);
        }))
      continue;
    auto rule = dyn_cast<DifferentiableOpInterface>(op);
    if (!rule)
      return op->emitOpError("has no derivative rule");
    if (failed(rule.emitVJP(context)))
      return failure();
  }
  return success();
}

/// The gradients, the last results, are called after their arguments where
/// those have names: the gradient of 'x' is 'x.grad'.
static void nameGradients(func::FuncOp function, ArrayRef<Value> inputs) {
  unsigned first = function.getNumResults() - inputs.size();
  for (auto [number, input] : llvm::enumerate(inputs)) {
    auto name = function.getArgAttrOfType<StringAttr>(
        cast<BlockArgument>(input).getArgNumber(), RematDialect::nameAttrName);
    if (name)
      function.setResultAttr(
          first + number, RematDialect::nameAttrName,
          StringAttr::get(function.getContext(), name.getValue() + ".grad"));
  }
}

LogicalResult remat::differentiate(func::FuncOp function,
                                   const DifferentiateOptions &options) {
  if (failed(checkFunction(function)))
    return failure();
  FailureOr<SmallVector<Value>> inputs = getInputs(function, options);
  if (failed(inputs))
    return failure();
  FailureOr<SmallVector<Value>> outputs = getOutputs(function, options);
  if (failed(outputs))
    return failure();

  Block &body = function.front();
  Operation *terminator = body.getTerminator();
  SmallVector<Operation *> forward;
  for (Operation &op : body.without_terminator())
    forward.push_back(&op);
  FunctionActivity activity(body, *inputs, *outputs);
  unsigned numArguments = function.getNumArguments();
  OpBuilder builder(terminator);
  FunctionContext context(builder, activity);
  Location loc =
      NameLoc::get(builder.getStringAttr("backward"), terminator->getLoc());
  context.setLoc(loc);

  for (Value output : *outputs) {
    Value seed =
        options.cotangents
            ? body.addArgument(output.getType(), output.getLoc())
            : (context.isActive(output)
                   ? createFloatConstant(builder, loc, output.getType(), 1.0)
                   : Value());
    context.accumulate(output, seed);
  }
  if (failed(sweep(forward, context))) {
    // Leave nothing behind.
    while (terminator->getPrevNode() !=
           (forward.empty() ? nullptr : forward.back()))
      terminator->getPrevNode()->erase();
    body.eraseArguments(numArguments, body.getNumArguments() - numArguments);
    return failure();
  }

  context.setLoc(loc);
  for (Value input : *inputs) {
    Value gradient = context.cotangent(input);
    if (!gradient)
      gradient = createZeroConstant(builder, loc, input.getType());
    terminator->insertOperands(terminator->getNumOperands(), gradient);
  }
  Operation *last = forward.empty() ? nullptr : forward.back();
  for (Operation *op = terminator->getPrevNode(); op != last;
       op = op->getPrevNode())
    op->setAttr(RematDialect::backwardAttrName, builder.getUnitAttr());

  SmallVector<DictionaryAttr> argAttrs, resAttrs;
  function.getAllArgAttrs(argAttrs);
  function.getAllResultAttrs(resAttrs);
  function.setFunctionType(builder.getFunctionType(
      body.getArgumentTypes(), terminator->getOperandTypes()));
  if (!argAttrs.empty()) {
    argAttrs.resize(body.getNumArguments(), builder.getDictionaryAttr({}));
    function.setAllArgAttrs(argAttrs);
  }
  if (!resAttrs.empty()) {
    resAttrs.resize(terminator->getNumOperands(),
                    builder.getDictionaryAttr({}));
    function.setAllResultAttrs(resAttrs);
  }
  nameGradients(function, *inputs);
  return success();
}

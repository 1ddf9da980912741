//===- NarrowTensors.cpp - a function with tensors of 16 bits -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A model is converted to bf16 by its framework before it is exported. To tell
// what it would take without another export, its tensors are made narrow here,
// in one walk from the arguments on: each operation finds its operands in the
// types that they have in the end. Arithmetic is not touched, only what is
// loaded and stored.
//
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Transforms/Passes.h"
#include "remat/Utils/Builders.h"
#include "remat/Utils/EntryFunction.h"
#include "remat/Utils/Structured.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace remat {
#define GEN_PASS_DEF_NARROWTENSORSPASS
#include "remat/Transforms/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

/// Elements that a reduction reads for each that it writes, from which on its
/// results stay wide: statistics of rows and channels, which take few bytes. A
/// sum over the rows of a small batch takes about as many as what it adds up.
static constexpr int64_t statisticRatio = 8;

namespace {
class Narrower {
public:
  Narrower(ModuleOp module, FloatType narrow)
      : module(module), narrow(narrow) {}
  LogicalResult run(func::FuncOp entry);
  int64_t getNumNarrowed() const { return numNarrowed; }

private:
  // Types and values.
  bool isWide(Type type) const;
  bool isWide(Value value) const { return isWide(value.getType()); }
  Type getNarrow(Type type) const;
  Attribute getNarrow(Attribute attr) const;
  void setNarrow(Value value);
  Value getNarrow(Value value);
  Value getAs(Value value, Type type);
  void narrowOperands(Operation *op);
  void roundResults(Operation *op);

  // Operations.
  LogicalResult narrowBlock(Block &block);
  LogicalResult narrowOp(Operation *op);
  void narrowElementwise(linalg::LinalgOp op);
  void narrowReduction(linalg::LinalgOp op);
  bool staysWide(linalg::LinalgOp op);
  LogicalResult narrowLoop(LoopOp op);
  LogicalResult narrowRule(Operation *op);
  LogicalResult narrowRegion(Region &region, ValueRange taken,
                             ValueRange given);
  void matchYields(Operation *end, TypeRange types);
  LogicalResult narrowFunction(func::FuncOp function, ArrayRef<bool> isElement,
                               ArrayRef<Type> resultTypes);
  void matchBody(Block &body, ValueRange operands, unsigned firstArgument,
                 TypeRange results, unsigned firstYielded);

  ModuleOp module;
  FloatType narrow;
  /// What was rounded, in the narrow type.
  llvm::DenseMap<Value, Value> rounded;
  llvm::DenseSet<Operation *> bodies;
  int64_t numNarrowed = 0;
};
} // namespace

//===----------------------------------------------------------------------===//
// Types and values
//===----------------------------------------------------------------------===//

/// Whether it is a tensor of floats with more bits.
bool Narrower::isWide(Type type) const {
  auto tensor = dyn_cast<RankedTensorType>(type);
  auto element =
      tensor ? dyn_cast<FloatType>(tensor.getElementType()) : FloatType();
  return element && element.getWidth() > FloatType(narrow).getWidth();
}

Type Narrower::getNarrow(Type type) const {
  return isWide(type) ? cast<RankedTensorType>(type).clone(narrow) : type;
}

/// A number of the narrow type. What is finite stays finite: a mask that adds
/// the lowest number must not turn into one of infinities, which make nans.
static APFloat round(const APFloat &wide, FloatType type) {
  APFloat value = wide;
  bool losesInfo = false;
  value.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                &losesInfo);
  if (value.isInfinity() && !wide.isInfinity())
    return APFloat::getLargest(type.getFloatSemantics(), wide.isNegative());
  return value;
}

/// The value of a constant, a number or a tensor.
Attribute Narrower::getNarrow(Attribute attr) const {
  if (auto number = dyn_cast<FloatAttr>(attr))
    return FloatAttr::get(narrow, round(number.getValue(), narrow));
  return cast<DenseFPElementsAttr>(attr).mapValues(
      narrow, [&](const APFloat &value) {
        return round(value, narrow).bitcastToAPInt();
      });
}

void Narrower::setNarrow(Value value) {
  if (!isWide(value))
    return;
  value.setType(getNarrow(value.getType()));
  ++numNarrowed;
}

/// A number of another type, by a conversion where `builder` stands.
static Value convert(OpBuilder &builder, Location loc, Value number,
                     Type type) {
  auto from = cast<FloatType>(number.getType());
  if (from == type)
    return number;
  if (from.getWidth() > cast<FloatType>(type).getWidth())
    return arith::TruncFOp::create(builder, loc, type, number);
  return arith::ExtFOp::create(builder, loc, type, number);
}

/// `value` in the narrow type: itself, or rounded behind where it is made.
Value Narrower::getNarrow(Value value) {
  if (!isWide(value))
    return value;
  Value &made = rounded[value];
  if (made)
    return made;
  auto type = cast<RankedTensorType>(getNarrow(value.getType()));
  Location loc = value.getLoc();
  OpBuilder builder(module.getContext());
  builder.setInsertionPointAfterValue(value);
  ++numNarrowed;
  if (auto constant = value.getDefiningOp<arith::ConstantOp>();
      constant && isa<DenseFPElementsAttr>(constant.getValue()))
    return made = arith::ConstantOp::create(
               builder, loc,
               cast<TypedAttr>(getNarrow(Attribute(constant.getValue()))));
  if (value.getDefiningOp<tensor::EmptyOp>())
    return made =
               tensor::EmptyOp::create(builder, loc, type.getShape(), narrow);
  if (auto number = dyn_cast_or_null<FloatAttr>(getSplatConstant(value))) {
    Value scalar = arith::ConstantOp::create(
        builder, loc, cast<TypedAttr>(getNarrow(Attribute(number))));
    Value empty =
        tensor::EmptyOp::create(builder, loc, type.getShape(), narrow);
    return made =
               linalg::FillOp::create(builder, loc, scalar, empty).getResult(0);
  }
  return made = createElementwise(
             builder, loc, value, type,
             [&](OpBuilder &body, Location at, ValueRange elements) -> Value {
               return convert(body, at, elements[0], narrow);
             });
}

/// `value` in the narrow type if `type` is so.
Value Narrower::getAs(Value value, Type type) {
  return isWide(value) && !isWide(type) ? getNarrow(value) : value;
}

void Narrower::narrowOperands(Operation *op) {
  for (OpOperand &operand : op->getOpOperands())
    operand.set(getNarrow(operand.get()));
}

/// Puts rounded results in the place of what the operation makes. What is asked
/// of its values, such as to save them, is then asked of these.
void Narrower::roundResults(Operation *op) {
  for (Value result : op->getResults()) {
    if (!isWide(result) || result.use_empty())
      continue;
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : result.getUses())
      uses.push_back(&use);
    Value narrowed = getNarrow(result);
    for (OpOperand *use : uses)
      use->set(narrowed);
    if (Attribute policy = op->getAttr(RematDialect::policyAttrName))
      narrowed.getDefiningOp()->setAttr(RematDialect::policyAttrName, policy);
  }
  op->removeAttr(RematDialect::policyAttrName);
}

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

/// Lets a body, whose arithmetic stays as it is, take elements of `operands`
/// and yield elements of `results`.
void Narrower::matchBody(Block &body, ValueRange operands,
                         unsigned firstArgument, TypeRange results,
                         unsigned firstYielded) {
  auto setType = [&](Value value, Type type, OpBuilder builder) {
    Type before = value.getType();
    if (before == type || !isa<FloatType>(type))
      return;
    value.setType(type);
    if (value.use_empty())
      return;
    Value same = convert(builder, value.getLoc(), value, before);
    value.replaceAllUsesExcept(same, same.getDefiningOp());
  };
  for (auto [argument, operand] :
       llvm::zip(body.getArguments().drop_front(firstArgument), operands))
    setType(argument, getElementTypeOrSelf(operand),
            OpBuilder::atBlockBegin(&body));
  body.walk([&](tensor::ExtractOp op) {
    op.getTensorMutable().set(op.getTensor().getDefiningOp<arith::ConstantOp>()
                                  ? getNarrow(op.getTensor())
                                  : op.getTensor());
    OpBuilder builder(op);
    builder.setInsertionPointAfter(op);
    setType(op.getResult(), getElementTypeOrSelf(op.getTensor()), builder);
  });
  Operation *yield = body.getTerminator();
  for (auto [number, type] : llvm::enumerate(results)) {
    OpOperand &yielded = yield->getOpOperand(firstYielded + number);
    auto element = dyn_cast<FloatType>(getElementTypeOrSelf(type));
    if (!element)
      continue;
    OpBuilder builder(yield);
    yielded.set(convert(builder, yield->getLoc(), yielded.get(), element));
  }
}

//===----------------------------------------------------------------------===//
// Structured operations
//===----------------------------------------------------------------------===//

/// Whether what an elementwise operation makes is computed from statistics
/// alone, and no larger than these.
bool Narrower::staysWide(linalg::LinalgOp op) {
  int64_t most = -1;
  for (OpOperand &operand : op->getOpOperands()) {
    auto type = dyn_cast<RankedTensorType>(operand.get().getType());
    if (!type || !isa<FloatType>(type.getElementType()) ||
        !op.payloadUsesValueFromOperand(&operand) ||
        getSplatConstant(operand.get()))
      continue;
    if (!isWide(type) || operand.get().getDefiningOp<arith::ConstantOp>())
      return false;
    most = std::max(most, type.getNumElements());
  }
  return llvm::all_of(op->getResultTypes(), [&](Type type) {
    return cast<RankedTensorType>(type).getNumElements() <= most;
  });
}

void Narrower::narrowElementwise(linalg::LinalgOp op) {
  bool isStatistic = staysWide(op);
  for (OpOperand &operand : op->getOpOperands())
    if (!isStatistic && operand.get().getDefiningOp<arith::ConstantOp>() &&
        !getSplatConstant(operand.get()))
      operand.set(getNarrow(operand.get()));
  for (auto [init, result] :
       llvm::zip(op.getDpsInitsMutable(), op->getResults())) {
    bool hasRank = cast<RankedTensorType>(result.getType()).getRank() > 0;
    if (!isStatistic && hasRank)
      init.set(getNarrow(init.get()));
    if (isWide(result) && !isWide(init.get()))
      ++numNarrowed;
    result.setType(init.get().getType());
  }
  matchBody(*op.getBlock(), op->getOperands(), 0, op->getResultTypes(), 0);
}

/// Sums are formed in the wide type; so is what `op` adds to.
void Narrower::narrowReduction(linalg::LinalgOp op) {
  int64_t most = 0;
  for (Value input : op.getDpsInputs())
    if (auto type = dyn_cast<RankedTensorType>(input.getType()))
      most = std::max(most, type.getNumElements());
  bool isProduct = isa<linalg::ContractOp>(op.getOperation()) ||
                   !isa<linalg::GenericOp>(op.getOperation());
  if (isProduct)
    for (OpOperand *input : op.getDpsInputOperands())
      input->set(getNarrow(input->get()));
  for (auto [init, result] :
       llvm::zip(op.getDpsInitsMutable(), op->getResults())) {
    auto type = cast<RankedTensorType>(result.getType());
    if (init.get().getType() == type)
      continue;
    OpBuilder builder(op);
    init.set(createElementwise(
        builder, op.getLoc(), init.get(), type,
        [&](OpBuilder &body, Location at, ValueRange elements) -> Value {
          return convert(body, at, elements[0], type.getElementType());
        }));
  }
  matchBody(*op.getBlock(), op->getOperands(), 0, op->getResultTypes(), 0);
  bool isStatistic =
      !isProduct && llvm::all_of(op->getResultTypes(), [&](Type type) {
        auto tensor = cast<RankedTensorType>(type);
        return tensor.getRank() == 0 ||
               tensor.getNumElements() <= most / statisticRatio;
      });
  if (!isStatistic)
    roundResults(op);
}

//===----------------------------------------------------------------------===//
// Functions and loops
//===----------------------------------------------------------------------===//

/// Lets a region end with values that are wide where `types` are.
void Narrower::matchYields(Operation *end, TypeRange types) {
  for (auto [operand, type] : llvm::zip(end->getOpOperands(), types)) {
    operand.set(getAs(operand.get(), type));
    if (isWide(type) == isWide(operand.get().getType()))
      continue;
    // An element of a narrow tensor, where a wide one is expected.
    OpBuilder builder(end);
    auto wide = cast<RankedTensorType>(type);
    operand.set(createElementwise(
        builder, end->getLoc(), operand.get(), wide,
        [&](OpBuilder &body, Location at, ValueRange elements) -> Value {
          return convert(body, at, elements[0], wide.getElementType());
        }));
  }
}

/// `isElement` says which arguments are narrow whatever rank they have.
/// `resultTypes` are those that the function had; the ones of rank 0 stay.
LogicalResult Narrower::narrowFunction(func::FuncOp function,
                                       ArrayRef<bool> isElement,
                                       ArrayRef<Type> resultTypes) {
  Block &block = function.front();
  for (auto [number, argument] : llvm::enumerate(block.getArguments()))
    if (auto type = dyn_cast<RankedTensorType>(argument.getType()))
      if (type.getRank() > 0 || (!isElement.empty() && isElement[number]))
        setNarrow(argument);
  if (failed(narrowBlock(block)))
    return failure();
  Operation *end = block.getTerminator();
  matchYields(end, resultTypes);
  function.setFunctionType(FunctionType::get(
      function.getContext(), block.getArgumentTypes(), end->getOperandTypes()));
  return success();
}

/// What a function takes and gives in the end: all but single numbers narrow.
static bool hasRank(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getRank() > 0;
}

LogicalResult Narrower::narrowLoop(LoopOp op) {
  auto body = module.lookupSymbol<func::FuncOp>(op.getBody());
  if (!body || op.getAdvance() || body.isExternal())
    return op.emitOpError("has no body that is a function, cannot narrow it");
  for (OpOperand &operand : op->getOpOperands())
    if (hasRank(operand.get().getType()))
      operand.set(getNarrow(operand.get()));
  // Of slices and stacks, iterations have elements, which may be of rank 0.
  SmallVector<bool> isElement(body.getNumArguments(), false);
  size_t firstSlice = op.getInits().size() + op.getInvariants().size();
  std::fill(isElement.begin() + firstSlice, isElement.end(), true);
  SmallVector<Type> types;
  for (auto [number, type] : llvm::enumerate(body.getResultTypes()))
    types.push_back(hasRank(type) || number >= op.getInits().size()
                        ? getNarrow(type)
                        : type);
  for (Value result : op.getResults())
    if (hasRank(result.getType()))
      setNarrow(result);
  if (!bodies.insert(body).second)
    return success();
  return narrowFunction(body, isElement, types);
}

/// A region that takes derivatives of `taken`, and yields those of `given`.
LogicalResult Narrower::narrowRegion(Region &region, ValueRange taken,
                                     ValueRange given) {
  if (region.empty())
    return success();
  auto getTypes = [](ValueRange values) {
    return llvm::filter_to_vector(values.getTypes(), [](Type type) {
      return isa<FloatType, ComplexType>(getElementTypeOrSelf(type));
    });
  };
  Block &block = region.front();
  for (auto [argument, type] : llvm::zip(block.getArguments(), getTypes(taken)))
    argument.setType(type);
  if (failed(narrowBlock(block)))
    return failure();
  matchYields(block.getTerminator(), getTypes(given));
  return success();
}

/// Derivatives have the types of what they are of.
LogicalResult Narrower::narrowRule(Operation *op) {
  for (OpOperand &operand : op->getOpOperands())
    if (hasRank(operand.get().getType()))
      operand.set(getNarrow(operand.get()));
  auto rule = dyn_cast<CustomRuleOp>(op);
  ValueRange values =
      rule ? ValueRange(rule.getValues()) : ValueRange(op->getOperands());
  for (auto [result, value] : llvm::zip(op->getResults(), values))
    result.setType(value.getType());
  if (!rule)
    return narrowRegion(op->getRegion(0), values, values);
  if (failed(narrowRegion(rule.getVjp(), values, rule.getInputs())))
    return failure();
  return narrowRegion(rule.getJvp(), rule.getInputs(), values);
}

//===----------------------------------------------------------------------===//
// The walk
//===----------------------------------------------------------------------===//

LogicalResult Narrower::narrowOp(Operation *op) {
  if (isa<arith::ConstantOp, tensor::EmptyOp, linalg::FillOp, RandomOp>(op))
    return success();
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op)) {
    if (linalgOp.getNumReductionLoops() > 0)
      narrowReduction(linalgOp);
    else
      narrowElementwise(linalgOp);
    return success();
  }
  if (auto loop = dyn_cast<LoopOp>(op))
    return narrowLoop(loop);
  if (isa<CustomRuleOp, GradientHookOp>(op))
    return narrowRule(op);
  if (isa<ConvOp>(op)) {
    narrowOperands(op);
    roundResults(op);
    return success();
  }
  if (auto scatter = dyn_cast<ScatterOp>(op)) {
    narrowOperands(op);
    setNarrow(scatter.getResult());
    matchBody(scatter.getBody().front(), scatter.getInputs(),
              scatter.getNumLoops(), op->getResultTypes(),
              scatter.getInit().getType().getRank());
    return success();
  }
  if (auto pad = dyn_cast<tensor::PadOp>(op)) {
    setNarrow(pad.getResult());
    narrowOperands(op);
    OpOperand &value = pad.getRegion().front().getTerminator()->getOpOperand(0);
    // A constant from before stays one, and outside.
    OpBuilder builder(value.get().getParentRegion() == &pad.getRegion()
                          ? value.getOwner()
                          : pad);
    if (isa<FloatType>(value.get().getType()))
      value.set(convert(builder, pad.getLoc(), value.get(),
                        pad.getType().getElementType()));
    return success();
  }
  auto codec = op->getAttr("codec");
  if (codec && !isa<StringAttr>(codec))
    return op->emitOpError("has a codec of functions, whose types would have "
                           "to become narrow, too");
  if (isa<CheckpointOp, ScopeOp>(op)) {
    Block &body = op->getRegion(0).front();
    if (failed(narrowBlock(body)))
      return failure();
    for (auto [result, value] :
         llvm::zip(op->getResults(), body.getTerminator()->getOperands()))
      result.setType(value.getType());
    return success();
  }
  if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp,
          tensor::ExtractSliceOp, TagOp, StopGradientOp>(op)) {
    if (!isWide(op->getOperand(0)))
      setNarrow(op->getResult(0));
    return success();
  }
  if (isa<tensor::InsertSliceOp, tensor::ConcatOp>(op)) {
    narrowOperands(op);
    setNarrow(op->getResult(0));
    return success();
  }
  auto isFloat = [](Type type) {
    return isa<FloatType>(getElementTypeOrSelf(type));
  };
  if (op->hasTrait<OpTrait::IsTerminator>() ||
      (llvm::none_of(op->getOperandTypes(), isFloat) &&
       llvm::none_of(op->getResultTypes(), isFloat)))
    return success();
  return op->emitOpError("cannot be narrowed: known are operations of linalg, "
                         "reshapes, slices, pads, convolutions, scatters, "
                         "loops and regions");
}

LogicalResult Narrower::narrowBlock(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block))
    if (failed(narrowOp(&op)))
      return failure();
  return success();
}

LogicalResult Narrower::run(func::FuncOp entry) {
  // What such a function has of wide tensors is wide on purpose.
  if (llvm::none_of(entry.getArgumentTypes(),
                    [&](Type type) { return isWide(type) && hasRank(type); }))
    return success();
  SmallVector<Type> types;
  for (Type type : entry.getResultTypes())
    types.push_back(hasRank(type) ? getNarrow(type) : type);
  return narrowFunction(entry, {}, types);
}

namespace {
struct NarrowTensors : remat::impl::NarrowTensorsPassBase<NarrowTensors> {
  using NarrowTensorsPassBase::NarrowTensorsPassBase;

  void runOnOperation() override {
    auto entry = dyn_cast_or_null<func::FuncOp>(
        findEntry(getOperation(), function).getOperation());
    if (!entry || entry.isExternal() || !entry.getBody().hasOneBlock()) {
      getOperation().emitError("has no function '")
          << function << "' of one block to narrow the tensors of";
      return signalPassFailure();
    }
    auto element = type == NarrowType::BF16
                       ? FloatType(BFloat16Type::get(&getContext()))
                       : FloatType(Float16Type::get(&getContext()));
    Narrower narrower(getOperation(), element);
    if (failed(narrower.run(entry)))
      return signalPassFailure();
    numNarrowed = narrower.getNumNarrowed();
  }
};
} // namespace

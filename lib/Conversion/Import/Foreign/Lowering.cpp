//===- Lowering.cpp - functions, blocks, values and types -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/IR/Matchers.h"
#include "remat/Conversion/Import/ForeignDialects.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Utils/BackwardMarks.h"

using namespace mlir;
using namespace remat;
using namespace remat::foreign;

/// Functions of a body that call each other are written out this deep.
static constexpr unsigned maxDepth = 64;

//===----------------------------------------------------------------------===//
// Types and values
//===----------------------------------------------------------------------===//

static Type makeSignless(Type type) {
  auto integer = dyn_cast<IntegerType>(type);
  return integer ? IntegerType::get(type.getContext(), integer.getWidth())
                 : type;
}

LogicalResult Lowering::convertType(Location loc, Type type,
                                    SmallVectorImpl<Type> &types) {
  if (auto tuple = dyn_cast<TupleType>(type)) {
    for (Type inner : tuple.getTypes())
      if (failed(convertType(loc, inner, types)))
        return failure();
    return success();
  }
  if (auto opaque = dyn_cast<OpaqueType>(type)) {
    if (opaque.getTypeData() == "token")
      return success();
    return emitError(loc, "type ") << type << " is not supported";
  }
  if (auto tensor = dyn_cast<RankedTensorType>(type)) {
    Type element = makeSignless(tensor.getElementType());
    if (isa<OpaqueType>(element))
      return emitError(loc, "type ") << type << " is not supported";
    types.push_back(RankedTensorType::get(tensor.getShape(), element));
    return success();
  }
  types.push_back(makeSignless(type));
  return success();
}

RankedTensorType Lowering::getTensorType(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return RankedTensorType::get(type.getShape(),
                               makeSignless(type.getElementType()));
}

Type Lowering::getType(Value value) {
  RankedTensorType type = getTensorType(value);
  return scalars ? type.getElementType() : Type(type);
}

Value Lowering::get(Value value) {
  SmallVector<Value> all = get(ValueRange(value));
  assert(all.size() == 1 && "is one tensor, as checkTypes has seen");
  return all.front();
}

SmallVector<Value> Lowering::get(ValueRange group) {
  SmallVector<Value> all;
  for (Value value : group) {
    auto known = values.find(value);
    assert(known != values.end() && "operations are in order");
    for (Value stands : known->second)
      // What a body reads of the function around it are tensors.
      if (scalars && isa<RankedTensorType>(stands.getType()))
        all.push_back(tensor::ExtractOp::create(builder, value.getLoc(), stands,
                                                ValueRange()));
      else
        all.push_back(stands);
  }
  return all;
}

Value Lowering::getScalar(Value value) {
  Value stands = get(value);
  if (!isa<RankedTensorType>(stands.getType()))
    return stands;
  DenseElementsAttr constant;
  if (matchPattern(stands, m_Constant(&constant)) && constant.isSplat())
    if (auto number = dyn_cast<TypedAttr>(constant.getSplatValue<Attribute>()))
      return arith::ConstantOp::create(builder, value.getLoc(), number);
  return tensor::ExtractOp::create(builder, value.getLoc(), stands,
                                   ValueRange());
}

void Lowering::set(Value value, ValueRange stands) {
  values[value] = llvm::to_vector_of<Value, 1>(stands);
}

LogicalResult Lowering::set(Operation *op, ValueRange results) {
  for (OpResult result : op->getResults()) {
    SmallVector<Type> types;
    if (failed(convertType(op->getLoc(), result.getType(), types)))
      return failure();
    if (types.size() > results.size())
      return op->emitOpError("has more results than it should have");
    set(result, results.take_front(types.size()));
    results = results.drop_front(types.size());
  }
  return success();
}

func::FuncOp Lowering::lookUp(Operation *op, StringRef name) {
  return module.lookupSymbol<func::FuncOp>(name);
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

DenseElementsAttr Lowering::findConstant(Value value) {
  // Functions may be called by functions that are called with constants.
  for (unsigned steps = 0; steps < maxDepth; ++steps) {
    if (Operation *op = value.getDefiningOp()) {
      StringRef name = op->getName().getStringRef();
      if (name == "stablehlo.constant" || name == "arith.constant")
        return dyn_cast_or_null<DenseElementsAttr>(getAttr(op, "value"));
      bool passesOn = name == "stablehlo.reshape" ||
                      name == "stablehlo.broadcast_in_dim" ||
                      name == "stablehlo.optimization_barrier";
      if (!passesOn || op->getNumOperands() != 1)
        return {};
      value = op->getOperand(0);
      continue;
    }
    auto argument = cast<BlockArgument>(value);
    auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
    if (!function || !function.isPrivate())
      return {};
    auto uses = SymbolTable::getSymbolUses(function, module);
    if (!uses || uses->empty())
      return {};
    Value same;
    DenseElementsAttr known;
    for (const SymbolTable::SymbolUse &use : *uses) {
      auto call = dyn_cast<func::CallOp>(use.getUser());
      if (!call)
        return {};
      same = call.getOperand(argument.getArgNumber());
      if (std::next(uses->begin()) == uses->end())
        break;
      DenseElementsAttr given = findConstant(same);
      if (!given || (known && given != known))
        return {};
      known = given;
    }
    if (known)
      return known;
    value = same;
  }
  return {};
}

std::optional<int64_t> Lowering::findInteger(Value value) {
  DenseElementsAttr constant = findConstant(value);
  if (!constant || !constant.isSplat() ||
      !isa<IntegerType>(constant.getElementType()))
    return std::nullopt;
  auto number = constant.getSplatValue<APInt>();
  if (number.getBitWidth() > 64)
    return std::nullopt;
  return constant.getElementType().isUnsignedInteger()
             ? static_cast<int64_t>(number.getZExtValue())
             : number.getSExtValue();
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

LogicalResult Lowering::checkTypes(Operation *op) {
  for (Type type : op->getResultTypes()) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (tensor && tensor.hasStaticShape())
      continue;
    if (tensor || isa<UnrankedTensorType>(type))
      return op->emitError("dynamic shape is not supported: ") << type;
    SmallVector<Type> types;
    if (failed(convertType(op->getLoc(), type, types)))
      return failure();
  }
  return success();
}

/// What an operation that is not foreign has an unsigned constant in.
static Attribute convertAttr(Attribute attr) {
  auto dense = dyn_cast<DenseElementsAttr>(attr);
  if (!dense || !dense.getElementType().isUnsignedInteger())
    return attr;
  return DenseElementsAttr::getFromRawBuffer(
      dense.getType().clone(makeSignless(dense.getElementType())),
      dense.getRawData());
}

/// Operations that are not foreign stay what they are, on other values.
LogicalResult Lowering::copy(Operation *op) {
  OperationState state(op->getLoc(), op->getName());
  state.addOperands(get(op->getOperands()));
  for (Type type : op->getResultTypes())
    if (failed(convertType(op->getLoc(), type, state.types)))
      return failure();
  for (NamedAttribute attr : op->getAttrs())
    state.addAttribute(attr.getName(), convertAttr(attr.getValue()));
  for (Region &region : op->getRegions()) {
    Region *lowered = state.addRegion();
    for (Block &block : region) {
      SmallVector<Type> types;
      for (BlockArgument argument : block.getArguments())
        if (failed(convertType(argument.getLoc(), argument.getType(), types)))
          return failure();
      OpBuilder::InsertionGuard guard(builder);
      Block *body = builder.createBlock(
          lowered, lowered->end(), types,
          SmallVector<Location>(types.size(), op->getLoc()));
      bool outside = std::exchange(scalars, false);
      auto yielded = lowerBlock(block, body->getArguments());
      scalars = outside;
      if (failed(yielded))
        return failure();
      Operation *last = &block.back();
      OperationState end(last->getLoc(), last->getName());
      end.addOperands(*yielded);
      end.addAttributes(last->getAttrs());
      builder.create(end);
    }
  }
  Operation *made = builder.create(state);
  return set(op, made->getResults());
}

/// Names and policies on an operation that is not foreign, a call, stay there.
void Lowering::tagResults(Operation *op) {
  auto name = op->getAttrOfType<StringAttr>(RematDialect::nameAttrName);
  auto policy = op->getAttrOfType<PolicyAttr>(RematDialect::policyAttrName);
  if (scalars || op->isRegistered() || (!name && !policy))
    return;
  for (Value result : op->getResults())
    for (Value &stands : values[result])
      stands = TagOp::create(builder, op->getLoc(), stands, name, policy);
}

/// Builds what an operation in the table stands for.
LogicalResult Lowering::lowerKnown(Operation *op, OpLowering lower) {
  if (failed(checkTypes(op)))
    return failure();
  Block *block = builder.getInsertionBlock();
  Operation *before = block->empty() ? nullptr : &block->back();
  if (failed(lower(op, *this)))
    return failure();
  tagResults(op);
  if (unsigned level = scalars ? 0 : getBackwardLevel(op))
    for (Operation &made : llvm::make_range(
             before ? std::next(before->getIterator()) : block->begin(),
             builder.getInsertionPoint()))
      setBackwardLevel(&made, level);
  return success();
}

LogicalResult Lowering::lowerOp(Operation *op) {
  StringRef name = op->getName().getStringRef();
  if (OpLowering lower = find(name))
    return lowerKnown(op, lower);
  StringRef dialect = op->getName().getDialectNamespace();
  if (StringRef advice = getForeignAdvice(dialect); !advice.empty())
    return op->emitOpError() << advice;
  if (op->isRegistered())
    return copy(op);
  return op->emitOpError("is not supported: remat knows ")
         << llvm::StringSwitch<StringRef>(dialect)
                .Case("stablehlo", "most of StableHLO, but neither operations "
                                   "on several devices nor those of dynamic "
                                   "shape; compute it by other operations")
                .Case("chlo", "the operations of CHLO that JAX writes; "
                              "compute it by other operations")
                .Case("tm_tensor", "scan, scatter, sort and topk of tm_tensor")
                .Default("no such operation");
}

FailureOr<SmallVector<Value>> Lowering::lowerBlock(Block &block,
                                                   ValueRange arguments) {
  for (BlockArgument argument : block.getArguments()) {
    SmallVector<Type> types;
    if (failed(convertType(argument.getLoc(), argument.getType(), types)))
      return failure();
    set(argument, arguments.take_front(types.size()));
    arguments = arguments.drop_front(types.size());
  }
  // The last operation hands on, whether or not it is known to.
  for (Operation &op : llvm::drop_end(block))
    if (failed(lowerOp(&op)))
      return failure();
  return get(block.back().getOperands());
}

FailureOr<SmallVector<Value>> Lowering::lowerScalars(OpBuilder &nested,
                                                     Region &region,
                                                     ValueRange arguments) {
  Operation *owner = region.getParentOp();
  if (!region.hasOneBlock() || region.getNumArguments() != arguments.size())
    return owner->emitOpError("expected a region of one block with ")
           << arguments.size() << " arguments";
  if (depth == maxDepth)
    return owner->emitOpError("calls functions too deep to be written out");
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(nested.getInsertionBlock(),
                            nested.getInsertionPoint());
  bool outside = std::exchange(scalars, true);
  ++depth;
  auto yielded = lowerBlock(region.front(), arguments);
  --depth;
  scalars = outside;
  nested.setInsertionPoint(builder.getInsertionBlock(),
                           builder.getInsertionPoint());
  return yielded;
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

LogicalResult Lowering::lowerFunction(func::FuncOp function, Region &body,
                                      SmallVectorImpl<unsigned> &kept) {
  if (!function.getBody().hasOneBlock())
    return function.emitOpError("'")
           << function.getName() << "' has "
           << function.getBody().getBlocks().size()
           << " blocks, expected 1: control flow is not supported";
  Block &block = function.getBody().front();
  Block *lowered = builder.createBlock(&body);
  for (BlockArgument argument : block.getArguments()) {
    SmallVector<Type> types;
    if (failed(convertType(argument.getLoc(), argument.getType(), types)))
      return failure();
    for (Type type : types) {
      lowered->addArgument(type, argument.getLoc());
      kept.push_back(argument.getArgNumber());
    }
  }
  auto returned = lowerBlock(block, lowered->getArguments());
  if (failed(returned))
    return failure();
  func::ReturnOp::create(builder, block.back().getLoc(), *returned);
  return success();
}

//===- Lowering.cpp - functions, blocks, values and types -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "mlir/Dialect/Complex/IR/Complex.h"
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

Type foreign::makeSignless(Type type) {
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
      if (auto tensor = dyn_cast<RankedTensorType>(stands.getType());
          scalars && tensor) {
        SmallVector<Value> place;
        for (int64_t dim = 0; dim < tensor.getRank(); ++dim)
          place.push_back(createIndex(builder, value.getLoc(), 0));
        all.push_back(
            tensor::ExtractOp::create(builder, value.getLoc(), stands, place));
      } else {
        all.push_back(stands);
      }
  }
  return all;
}

Value Lowering::getScalar(Value value) {
  Value stands = get(value);
  return isa<RankedTensorType>(stands.getType())
             ? createElementOf(builder, value.getLoc(), stands)
             : stands;
}

void Lowering::set(Value value, ValueRange stands) {
  values[value] = llvm::to_vector_of<Value, 1>(stands);
}

/// Gives each result of `op` as many of `results` as stand for its type.
LogicalResult Lowering::distribute(Operation *op, ValueRange results) {
  for (OpResult result : op->getResults()) {
    SmallVector<Type> types;
    if (failed(convertType(op->getLoc(), result.getType(), types)))
      return failure();
    if (types.size() > results.size())
      return op->emitOpError("has more results than it should have");
    set(result, results.take_front(types.size()));
    results = results.drop_front(types.size());
  }
  if (!results.empty())
    return op->emitOpError("has fewer results than it should have");
  return success();
}

LogicalResult Lowering::set(Operation *op, ValueRange results) {
  if (failed(distribute(op, results)))
    return failure();
  for (OpResult result : op->getResults()) {
    SmallVector<Type> wanted;
    if (failed(convertType(op->getLoc(), result.getType(), wanted)))
      return failure();
    for (auto [stands, type] : llvm::zip_equal(values[result], wanted)) {
      Type expected = scalars ? getElementTypeOrSelf(type) : type;
      if (stands.getType() != expected)
        return op->emitOpError("has a result of type ")
               << result.getType() << ", expected what it makes of its "
               << "operands, which is " << stands.getType();
    }
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
  // Without a definition, the region of a loop may be one whose values are read
  // before they are made.
  for (unsigned steps = 0; Operation *op = value.getDefiningOp(); ++steps) {
    StringRef name = op->getName().getStringRef();
    if (name == "stablehlo.constant" || name == "arith.constant")
      return dyn_cast_or_null<DenseElementsAttr>(getAttr(op, "value"));
    bool passesOn = name == "stablehlo.reshape" ||
                    name == "stablehlo.broadcast_in_dim" ||
                    name == "stablehlo.optimization_barrier";
    if (!passesOn || op->getNumOperands() != 1 || steps == maxDepth)
      return {};
    value = op->getOperand(0);
  }
  auto argument = cast<BlockArgument>(value);
  // Functions may be called by functions that are called with constants. One
  // that calls itself finds its own argument while that is looked for.
  auto [known, isNew] = constants.try_emplace(argument, DenseElementsAttr());
  if (!isNew || constantDepth == maxDepth)
    return known->second;
  ++constantDepth;
  DenseElementsAttr found = findArgument(argument);
  --constantDepth;
  return constants[argument] = found;
}

/// The constant that all calls give for an argument.
DenseElementsAttr Lowering::findArgument(BlockArgument argument) {
  auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
  if (!function || !function.isPrivate())
    return {};
  auto uses = SymbolTable::getSymbolUses(function, module);
  if (!uses)
    return {};
  DenseElementsAttr same;
  for (const SymbolTable::SymbolUse &use : *uses) {
    auto call = dyn_cast<func::CallOp>(use.getUser());
    if (!call)
      return {};
    DenseElementsAttr given =
        findConstant(call.getOperand(argument.getArgNumber()));
    if (!given || (same && given != same))
      return {};
    same = given;
  }
  return same;
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

/// Whether tensors of `type` can be computed with.
static bool isElement(Type type) {
  if (auto integer = dyn_cast<IntegerType>(type))
    return integer.getWidth() > 0 && integer.getWidth() <= 64;
  if (auto complex = dyn_cast<ComplexType>(type))
    type = complex.getElementType();
  return type.isF16() || type.isBF16() || type.isF32() || type.isF64();
}

/// What to do instead of computing with elements of `type`.
static StringRef getTypeAdvice(Type type) {
  return isa<FloatType>(type)
             ? ", expected f16, bf16, f32 or f64; 'stablehlo.reduce_precision' "
               "(jax.lax.reduce_precision) rounds to fewer bits"
             : "";
}

LogicalResult Lowering::checkType(Operation *op, Type type,
                                  const KnownOp &known) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if ((tensor && !tensor.hasStaticShape()) || isa<UnrankedTensorType>(type))
    return op->emitError("dynamic shape is not supported: ") << type;
  // Calls of functions are not foreign.
  if (op->isRegistered())
    return success();
  if (!tensor) {
    SmallVector<Type> types;
    if (known.kind == KnownOp::Groups && !scalars &&
        isa<TupleType, OpaqueType>(type))
      return convertType(op->getLoc(), type, types);
    return op->emitOpError("expected tensors, got a value of type ") << type;
  }
  if (!isElement(tensor.getElementType()))
    return op->emitOpError("is not supported for elements of type ")
           << tensor.getElementType() << getTypeAdvice(tensor.getElementType());
  if (scalars && tensor.getNumElements() != 1)
    return op->emitOpError("works on a tensor of type ")
           << type << " in a body of scalars";
  return success();
}

/// Nothing has verified an operation without a definition.
LogicalResult Lowering::check(Operation *op, const KnownOp &known) {
  auto checkCount = [&](StringRef what, int count,
                        int expected) -> LogicalResult {
    if (expected == KnownOp::any || count == expected)
      return success();
    return op->emitOpError("has ")
           << count << " " << what << ", expected " << expected;
  };
  if (failed(checkCount("operands", op->getNumOperands(), known.operands)) ||
      failed(checkCount("results", op->getNumResults(), known.results)) ||
      failed(checkCount("regions", op->getNumRegions(), known.regions)))
    return failure();
  if (scalars && known.kind == KnownOp::Tensors)
    return op->emitOpError("is not supported in the body of a reduction");
  for (Region &region : op->getRegions())
    if (!region.hasOneBlock() || region.front().empty())
      return op->emitOpError("expected regions of one block");
  for (TypeRange types :
       {TypeRange(op->getOperandTypes()), TypeRange(op->getResultTypes())})
    for (Type type : types)
      if (failed(checkType(op, type, known)))
        return failure();
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
  return distribute(op, made->getResults());
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
LogicalResult Lowering::lowerKnown(Operation *op, const KnownOp &known) {
  if (failed(check(op, known)))
    return failure();
  Block *block = builder.getInsertionBlock();
  Operation *before = block->empty() ? nullptr : &block->back();
  if (failed(known.lower(op, *this)))
    return failure();
  tagResults(op);
  if (unsigned level = scalars ? 0 : getBackwardLevel(op))
    for (Operation &made : llvm::make_range(
             before ? std::next(before->getIterator()) : block->begin(),
             builder.getInsertionPoint()))
      setBackwardLevel(&made, level);
  return success();
}

LogicalResult Lowering::lowerAs(Operation *op, StringRef name) {
  const KnownOp &known = table.find(name)->second;
  return failed(check(op, known)) ? failure() : known.lower(op, *this);
}

LogicalResult Lowering::checkOrder(Operation *op) {
  for (Value operand : op->getOperands())
    if (!values.contains(operand))
      return op->emitOpError("reads a value that is not made before it");
  return success();
}

LogicalResult Lowering::lowerOp(Operation *op) {
  if (failed(checkOrder(op)))
    return failure();
  StringRef name = op->getName().getStringRef();
  if (auto known = table.find(name); known != table.end())
    return lowerKnown(op, known->second);
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
                .Case("chlo", "most operations of CHLO that JAX writes; "
                              "'remat.jax.export' knows the others, too")
                .Case("tm_tensor", "attention, scan, scatter, sort and topk of "
                                   "tm_tensor")
                .Default("no such operation");
}

LogicalResult Lowering::setArguments(Block &block, ValueRange arguments) {
  SmallVector<Type> all;
  for (BlockArgument argument : block.getArguments()) {
    SmallVector<Type> types;
    if (failed(convertType(argument.getLoc(), argument.getType(), types)))
      return failure();
    set(argument,
        arguments.slice(std::min(all.size(), arguments.size()),
                        std::min(types.size(), arguments.size() - all.size())));
    llvm::append_range(all, types);
  }
  if (scalars)
    for (Type &type : all)
      type = getElementTypeOrSelf(type);
  if (TypeRange(all) != arguments.getTypes())
    return block.getParentOp()->emitOpError("has a region with arguments (")
           << all << "), expected (" << arguments.getTypes() << ")";
  return success();
}

/// Whether `op` ends a block by handing on its operands.
static bool handsOn(Operation *op) {
  StringRef name = op->getName().stripDialect();
  return op->hasTrait<OpTrait::IsTerminator>() || name == "return" ||
         name == "yield";
}

FailureOr<SmallVector<Value>> Lowering::lowerBlock(Block &block,
                                                   ValueRange arguments) {
  if (failed(setArguments(block, arguments)))
    return failure();
  Operation *last = block.empty() ? nullptr : &block.back();
  if (!last || !handsOn(last))
    return block.getParentOp()->emitOpError(
        "has a region that does not end in a return");
  for (Operation &op : llvm::drop_end(block))
    if (failed(lowerOp(&op)))
      return failure();
  if (failed(checkOrder(last)))
    return failure();
  return get(last->getOperands());
}

FailureOr<SmallVector<Value>> Lowering::lowerScalars(OpBuilder &nested,
                                                     Region &region,
                                                     ValueRange arguments,
                                                     TypeRange results) {
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
  if (succeeded(yielded) && ValueRange(*yielded).getTypes() != results)
    return owner->emitOpError("has a region that returns (")
           << ValueRange(*yielded).getTypes() << "), expected (" << results
           << ")";
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

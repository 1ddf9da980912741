//===- KernelContext.cpp - the function that loops are emitted to ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Codegen/KernelContext.h"
#include "remat/Codegen/LoopNest.h"

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Utils/Builders.h"
#include "remat/Utils/Locations.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace remat;
using namespace remat::codegen;

int32_t CheckList::add(StringRef message) {
  auto [it, isNew] = numbers.try_emplace(message, messages.size());
  if (isNew)
    messages.push_back(message.str());
  return it->second;
}

Value remat::codegen::emitIndex(OpBuilder &builder, Location loc,
                                int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

Value remat::codegen::emitZero(OpBuilder &builder, Location loc, Type type) {
  return createZeroConstant(builder, loc, type);
}

Value remat::codegen::emitLinear(OpBuilder &builder, Location loc,
                                 int64_t offset, ArrayRef<int64_t> coefficients,
                                 ArrayRef<Value> indices) {
  Value sum;
  for (auto [coefficient, index] : llvm::zip(coefficients, indices)) {
    if (coefficient == 0 || !index)
      continue;
    Value term = index;
    if (coefficient != 1)
      term = arith::MulIOp::create(builder, loc, term,
                                   emitIndex(builder, loc, coefficient), nsw);
    sum = sum ? arith::AddIOp::create(builder, loc, sum, term, nsw) : term;
  }
  if (!sum)
    return emitIndex(builder, loc, offset);
  if (offset == 0)
    return sum;
  return arith::AddIOp::create(builder, loc, sum,
                               emitIndex(builder, loc, offset), nsw);
}

Type remat::codegen::getStorageType(Type elementType) {
  // A byte that holds 0 or 1: as i1 no loop over it would be vectorized.
  return elementType.isInteger(1)
             ? IntegerType::get(elementType.getContext(), 8)
             : elementType;
}

MemRefType remat::codegen::getFlatType(MemRefType type) {
  return MemRefType::get({type.getNumElements()},
                         getStorageType(type.getElementType()));
}

LogicalResult KernelContext::addConstant(OpBuilder &builder, Operation *module,
                                         StringRef kernelName,
                                         memref::GetGlobalOp get) {
  auto old = SymbolTable::lookupNearestSymbolFrom<memref::GlobalOp>(
      get, get.getNameAttr());
  auto elements =
      old ? dyn_cast_or_null<DenseElementsAttr>(old.getInitialValueAttr())
          : DenseElementsAttr();
  if (!elements)
    return get.emitOpError("refers to a constant without elements");
  std::string symbol = (kernelName + "_" + get.getName()).str();
  MemRefType type = getFlatType(get.getType());
  if (!SymbolTable::lookupSymbolIn(module, symbol)) {
    auto flat =
        RankedTensorType::get(type.getShape(), old.getType().getElementType());
    elements = elements.reshape(flat);
    if (type.getElementType() != flat.getElementType())
      elements = elements.mapValues(type.getElementType(), [&](const APInt &x) {
        return x.zext(type.getElementType().getIntOrFloatBitWidth());
      });
    OpBuilder atBegin = OpBuilder::atBlockBegin(&module->getRegion(0).front());
    memref::GlobalOp::create(atBegin, get.getLoc(), symbol,
                             atBegin.getStringAttr("private"), type, elements,
                             /*constant=*/true,
                             atBegin.getI64IntegerAttr(bufferAlignment));
  }
  buffers[get.getResult()] =
      memref::GetGlobalOp::create(builder, get.getLoc(), type, symbol);
  return success();
}

Value KernelContext::load(OpBuilder &builder, Location loc, Value root,
                          Type elementType, Value index) const {
  Value value =
      memref::LoadOp::create(builder, loc, buffers.lookup(root), index);
  if (value.getType() != elementType)
    value = arith::TruncIOp::create(builder, loc, elementType, value);
  return value;
}

void KernelContext::store(OpBuilder &builder, Location loc, Value value,
                          Value root, Value index) const {
  Type storage = getStorageType(value.getType());
  if (storage != value.getType())
    value = arith::ExtUIOp::create(builder, loc, storage, value);
  memref::StoreOp::create(builder, loc, value, buffers.lookup(root), index);
}

void KernelContext::emitFailure(OpBuilder &builder, Location loc, Value failed,
                                StringRef message, Value index,
                                Value bound) const {
  std::string text = message.str();
  if (std::string place = describeLocation(loc); !place.empty())
    text += " at " + place;
  int32_t number = checks->add(text);
  auto ifFailed = scf::IfOp::create(builder, loc, failed, false);
  OpBuilder inner = ifFailed.getThenBodyBuilder();
  Type i64 = builder.getI64Type();
  Value check = arith::ConstantIntOp::create(inner, loc, number, 32);
  // What is no index has no bound.
  auto toI64 = [&](Value value) -> Value {
    if (!value)
      return arith::ConstantIntOp::create(inner, loc, -1, 64);
    return arith::IndexCastOp::create(inner, loc, i64, value);
  };
  SmallVector<Value> operands{status, check, toI64(index), toI64(bound)};
  LLVM::CallOp::create(inner, loc, TypeRange(), failFunctionName, operands);
}

static bool isDivision(Operation *op) {
  return isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp,
             arith::FloorDivSIOp, arith::CeilDivSIOp, arith::CeilDivUIOp>(op);
}

/// Lets a division by zero, which ends the process on many processors, end the
/// step. The least number divided by -1, which does so too, is itself.
void KernelContext::guardDivision(OpBuilder &builder, Operation *op) const {
  Location loc = op->getLoc();
  Value dividend = op->getOperand(0), divisor = op->getOperand(1);
  Type type = divisor.getType();
  bool isSigned = !isa<arith::DivUIOp, arith::RemUIOp, arith::CeilDivUIOp>(op);
  APInt known;
  bool isKnown = matchPattern(divisor, m_ConstantInt(&known));
  if (isKnown && !known.isZero() && !(isSigned && known.isAllOnes()))
    return;
  unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  auto constant = [&](const APInt &value) -> Value {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getIntegerAttr(type, value));
  };
  auto isEqual = [&](Value value, const APInt &other) -> Value {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, value,
                                 constant(other));
  };
  Value unsafe = isEqual(divisor, APInt::getZero(width));
  emitFailure(
      builder, loc, unsafe,
      ("division by zero in '" + op->getName().getStringRef() + "'").str(),
      Value(), Value());
  if (isSigned) {
    Value overflows = arith::AndIOp::create(
        builder, loc, isEqual(divisor, APInt::getAllOnes(width)),
        isEqual(dividend, APInt::getSignedMinValue(width)));
    unsafe = arith::OrIOp::create(builder, loc, unsafe, overflows);
  }
  op->setOperand(1,
                 arith::SelectOp::create(builder, loc, unsafe,
                                         constant(APInt(width, 1)), divisor));
}

FailureOr<Value> KernelContext::lowerOp(Operation *op) const {
  OpBuilder builder(op);
  Location loc = op->getLoc();
  if (auto load = dyn_cast<memref::LoadOp>(op)) {
    FailureOr<BufferView> view = resolveView(load.getMemRef());
    if (failed(view))
      return failure();
    Value index = emitLinear(builder, loc, view->offset, view->strides,
                             llvm::to_vector(load.getIndices()));
    Value value = this->load(builder, loc, view->root,
                             load.getMemRefType().getElementType(), index);
    op->getResult(0).replaceAllUsesWith(value);
    op->erase();
    return value;
  }
  if (auto check = dyn_cast<CheckIndexOp>(op)) {
    Value failed =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::uge,
                              check.getIndex(), check.getBound());
    emitFailure(builder, loc, failed, "'remat.check_index'", check.getIndex(),
                check.getBound());
    Value index = arith::SelectOp::create(
        builder, loc, failed, emitIndex(builder, loc, 0), check.getIndex());
    op->getResult(0).replaceAllUsesWith(index);
    op->erase();
    return index;
  }
  if (auto assertion = dyn_cast<cf::AssertOp>(op)) {
    Value yes = arith::ConstantIntOp::create(builder, loc, 1, 1);
    Value failed = arith::XOrIOp::create(builder, loc, assertion.getArg(), yes);
    emitFailure(builder, loc, failed, assertion.getMsg(), Value(), Value());
    op->erase();
  } else if (isDivision(op)) {
    guardDivision(builder, op);
  }
  return Value();
}

//===- RuleOps.cpp - derivatives in the program (L0) ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace remat;

static bool isDifferentiable(Type type) {
  return isa<FloatType, ComplexType>(getElementTypeOrSelf(type));
}

static SmallVector<Type> getDifferentiable(TypeRange types) {
  return llvm::to_vector(llvm::make_filter_range(types, isDifferentiable));
}

//===----------------------------------------------------------------------===//
// vjp and jvp
//===----------------------------------------------------------------------===//

/// The numbers given, or those of all floating-point `types`.
static SmallVector<int64_t> getNumbers(std::optional<ArrayRef<int64_t>> given,
                                       TypeRange types) {
  if (given)
    return llvm::to_vector(*given);
  SmallVector<int64_t> numbers;
  for (auto [number, type] : llvm::enumerate(types))
    if (isa<FloatType>(getElementTypeOrSelf(type)))
      numbers.push_back(number);
  return numbers;
}

SmallVector<int64_t> VJPOp::getWrtNumbers(FunctionOpInterface function) {
  return getNumbers(getWrt(), function.getArgumentTypes());
}
SmallVector<int64_t> VJPOp::getOfNumbers(FunctionOpInterface function) {
  return getNumbers(getOf(), function.getResultTypes());
}
SmallVector<int64_t> JVPOp::getWrtNumbers(FunctionOpInterface function) {
  return getNumbers(getWrt(), function.getArgumentTypes());
}
SmallVector<int64_t> JVPOp::getOfNumbers(FunctionOpInterface function) {
  return getNumbers(getOf(), function.getResultTypes());
}

/// Checks that `numbers` count `types` of floating-point elements, and returns
/// these types.
static FailureOr<SmallVector<Type>> selectTypes(Operation *op,
                                                ArrayRef<int64_t> numbers,
                                                TypeRange types,
                                                StringRef what) {
  SmallVector<Type> selected;
  for (int64_t number : numbers) {
    if (number < 0 || number >= int64_t(types.size()))
      return op->emitOpError("has ")
             << what << " #" << number << ", but the function has "
             << types.size() << " of them";
    Type type = types[number];
    if (!isa<FloatType>(getElementTypeOrSelf(type)))
      return op->emitOpError("cannot differentiate ")
             << what << " #" << number << " of type " << type;
    selected.push_back(type);
  }
  return selected;
}

template <typename Op>
static LogicalResult verifyDerivative(Op op, SymbolTableCollection &table,
                                      bool isReverse) {
  auto function = table.lookupNearestSymbolFrom<FunctionOpInterface>(
      op, op.getCalleeAttr());
  if (!function)
    return op.emitOpError("calls '") << op.getCallee()
                                     << "', which is no "
                                        "function of this module";
  if (op.getInputs().getTypes() != function.getArgumentTypes())
    return op.emitOpError("has inputs of types (")
           << op.getInputs().getTypes() << "), expected ("
           << function.getArgumentTypes() << ")";
  FailureOr<SmallVector<Type>> wrt = selectTypes(
      op, op.getWrtNumbers(function), function.getArgumentTypes(), "argument");
  FailureOr<SmallVector<Type>> of = selectTypes(
      op, op.getOfNumbers(function), function.getResultTypes(), "result");
  if (failed(wrt) || failed(of))
    return failure();
  if (std::optional<int64_t> batch = op.getBatch())
    for (Type &type : llvm::concat<Type>(*wrt, *of)) {
      auto tensor = dyn_cast<RankedTensorType>(type);
      if (!tensor)
        return op.emitOpError("has a batch of ")
               << type << ", expected tensors";
      SmallVector<int64_t> shape = {*batch};
      llvm::append_range(shape, tensor.getShape());
      type = RankedTensorType::get(shape, tensor.getElementType());
    }
  TypeRange seeds = isReverse ? *of : *wrt;
  if (op.getSeeds().getTypes() != seeds)
    return op.emitOpError("has ")
           << (isReverse ? "cotangents" : "tangents") << " of types ("
           << op.getSeeds().getTypes() << "), expected (" << seeds << ")";
  SmallVector<Type> results = llvm::to_vector(function.getResultTypes());
  llvm::append_range(results, isReverse ? *wrt : *of);
  if (op.getResultTypes() != TypeRange(results))
    return op.emitOpError("has results of types (")
           << op.getResultTypes() << "), expected (" << TypeRange(results)
           << ")";
  return success();
}

LogicalResult VJPOp::verifySymbolUses(SymbolTableCollection &table) {
  return verifyDerivative(*this, table, /*isReverse=*/true);
}
LogicalResult JVPOp::verifySymbolUses(SymbolTableCollection &table) {
  return verifyDerivative(*this, table, /*isReverse=*/false);
}

//===----------------------------------------------------------------------===//
// Rules and hooks
//===----------------------------------------------------------------------===//

/// Checks that `region` maps `from` to `to`.
static LogicalResult verifyRule(Operation *op, Region &region, StringRef name,
                                TypeRange from, TypeRange to) {
  if (!region.hasOneBlock())
    return op->emitOpError() << name << " must be one block";
  Block &block = region.front();
  if (TypeRange(block.getArgumentTypes()) != from)
    return op->emitOpError() << name << " has arguments of types ("
                             << TypeRange(block.getArgumentTypes())
                             << "), expected (" << from << ")";
  auto yield = dyn_cast<YieldOp>(block.empty() ? nullptr : &block.back());
  if (!yield)
    return op->emitOpError() << name << " must end with 'remat.yield'";
  if (yield.getValues().getTypes() != to)
    return op->emitOpError()
           << name << " yields types (" << yield.getValues().getTypes()
           << "), expected (" << to << ")";
  return success();
}

LogicalResult CustomRuleOp::inferReturnTypes(MLIRContext *,
                                             std::optional<Location>,
                                             Adaptor adaptor,
                                             SmallVectorImpl<Type> &types) {
  llvm::append_range(types, adaptor.getValues().getTypes());
  return success();
}

LogicalResult CustomRuleOp::verify() {
  if (getVjp().empty() && getJvp().empty())
    return emitOpError("needs a region 'vjp' or 'jvp'");
  return success();
}

LogicalResult CustomRuleOp::verifyRegions() {
  SmallVector<Type> inputs = getDifferentiable(getInputs().getTypes());
  SmallVector<Type> values = getDifferentiable(getValues().getTypes());
  if (!getVjp().empty() &&
      failed(verifyRule(*this, getVjp(), "region 'vjp'", values, inputs)))
    return failure();
  if (!getJvp().empty() &&
      failed(verifyRule(*this, getJvp(), "region 'jvp'", inputs, values)))
    return failure();
  return success();
}

LogicalResult GradientHookOp::inferReturnTypes(MLIRContext *,
                                               std::optional<Location>,
                                               Adaptor adaptor,
                                               SmallVectorImpl<Type> &types) {
  llvm::append_range(types, adaptor.getValues().getTypes());
  return success();
}

LogicalResult GradientHookOp::verify() {
  for (Type type : getValues().getTypes())
    if (!isDifferentiable(type))
      return emitOpError("has an operand of type ")
             << type << ", expected floating-point elements";
  if (getAccumulated() && getValues().size() != 1)
    return emitOpError("sees an accumulated gradient but has ")
           << getValues().size() << " operands, expected one";
  return success();
}

LogicalResult GradientHookOp::verifyRegions() {
  return verifyRule(*this, getBody(), "region", getValues().getTypes(),
                    getValues().getTypes());
}

//===- Factorizations.cpp - what factorizations of matrices share ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Factorizations.h"

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/IR/Unrolling.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace remat;
using namespace remat::foreign;

/// Loops over columns that unroll to more operations than these stay loops: no
/// plan gains from knowing their steps, and each is a kernel to compile.
static constexpr int64_t unrollLimit = 64;

//===----------------------------------------------------------------------===//
// Operands and results
//===----------------------------------------------------------------------===//

FailureOr<Value> foreign::getMatrices(Operation *op, Lowering &lowering,
                                      unsigned number, bool isSquare) {
  RankedTensorType type = lowering.getTensorType(op->getOperand(number));
  ArrayRef<int64_t> shape = type.getShape();
  if (shape.size() < 2 ||
      !(type.getElementType().isF32() || type.getElementType().isF64()) ||
      (isSquare && shape.back() != shape.drop_back().back()))
    return op->emitOpError("of ")
           << type << " is not supported, expected "
           << (isSquare ? "square matrices" : "matrices") << " of f32 or f64";
  ArrayRef<int64_t> matrix = shape.take_back(2);
  if (llvm::any_of(matrix, [](int64_t n) { return n > largestFactorized; }))
    return op->emitOpError("of matrices of ")
           << matrix[0] << " by " << matrix[1]
           << " elements is not supported, expected at most "
           << largestFactorized << " rows and columns";
  return createReshape(
      lowering.builder, op->getLoc(), lowering.get(op->getOperand(number)),
      {ShapedType::getNumElements(shape.drop_back(2)), matrix[0], matrix[1]});
}

LogicalResult foreign::setResults(Operation *op, Lowering &lowering,
                                  ArrayRef<Value> results) {
  OpBuilder &builder = lowering.builder;
  SmallVector<Value> shaped;
  for (auto [number, result] : llvm::enumerate(op->getResults())) {
    RankedTensorType type = lowering.getTensorType(result);
    Value made = number < results.size() ? results[number] : Value();
    if (!made) {
      shaped.push_back(createZeroConstant(builder, op->getLoc(), type));
      continue;
    }
    auto own = cast<RankedTensorType>(made.getType());
    if (own.getNumElements() != type.getNumElements())
      return op->emitOpError("has a result of type ")
             << type << ", expected " << own.getNumElements() << " elements";
    shaped.push_back(
        createReshape(builder, op->getLoc(), made, type.getShape()));
  }
  return lowering.set(op, shaped);
}

char foreign::getLetter(Operation *op, StringRef name, char missing) {
  for (StringRef where : {"mhlo.backend_config", "backend_config"})
    if (auto config = dyn_cast_or_null<DictionaryAttr>(getAttr(op, where)))
      if (auto letter = config.getAs<IntegerAttr>(name))
        return static_cast<char>(letter.getValue().getZExtValue());
  return missing;
}

//===----------------------------------------------------------------------===//
// Loops and rules
//===----------------------------------------------------------------------===//

SmallVector<Value> foreign::createLoop(
    OpBuilder &builder, Location loc, int64_t count, ValueRange inits,
    llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  if (count == 0)
    return SmallVector<Value>(inits);
  auto loop = scf::ForOp::create(builder, loc, createIndex(builder, loc, 0),
                                 createIndex(builder, loc, count),
                                 createIndex(builder, loc, 1), inits);
  loop->setAttr(unrollLimitAttrName, builder.getI64IntegerAttr(unrollLimit));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(loop.getBody());
  scf::YieldOp::create(builder, loc,
                       body(loop.getInductionVar(), loop.getRegionIterArgs()));
  return llvm::to_vector_of<Value>(loop.getResults());
}

SmallVector<Value> foreign::createWithPullback(
    OpBuilder &builder, Location loc, ValueRange inputs, ValueRange values,
    llvm::function_ref<SmallVector<Value>(ValueRange)> pullback) {
  OperationState state(loc, CustomRuleOp::getOperationName());
  state.addOperands(inputs);
  state.addOperands(values);
  state.addTypes(values.getTypes());
  state.addAttribute(
      "operandSegmentSizes",
      builder.getDenseI32ArrayAttr({static_cast<int32_t>(inputs.size()),
                                    static_cast<int32_t>(values.size())}));
  Region *vjp = state.addRegion();
  state.addRegion();
  {
    OpBuilder::InsertionGuard guard(builder);
    SmallVector<Location> locs(values.size(), loc);
    Block *block = builder.createBlock(vjp, {}, values.getTypes(), locs);
    YieldOp::create(builder, loc, pullback(block->getArguments()));
  }
  return llvm::to_vector_of<Value>(builder.create(state)->getResults());
}

//===----------------------------------------------------------------------===//
// Parts of matrices
//===----------------------------------------------------------------------===//

Value foreign::createTakenAt(Indexed &math, Value tensor, unsigned dim,
                             Value index) {
  OpBuilder &builder = math.builder;
  auto type = cast<RankedTensorType>(tensor.getType());
  SmallVector<OpFoldResult> offsets(type.getRank(), builder.getIndexAttr(0)),
      ones(type.getRank(), builder.getIndexAttr(1)), sizes;
  SmallVector<int64_t> shape(type.getShape()), taken(type.getShape());
  offsets[dim] = index;
  shape[dim] = 1;
  taken.erase(taken.begin() + dim);
  for (int64_t size : shape)
    sizes.push_back(builder.getIndexAttr(size));
  Value slice = tensor::ExtractSliceOp::create(
      builder, math.loc, type.clone(shape), tensor, offsets, sizes, ones);
  return createReshape(builder, math.loc, slice, taken);
}

Value foreign::createBlock(Indexed &math, Value matrices, int64_t row,
                           int64_t rows, int64_t column, int64_t columns) {
  int64_t batches =
      cast<RankedTensorType>(matrices.getType()).getShape().front();
  return createSlice(math.builder, math.loc, matrices, {0, row, column},
                     {batches, rows, columns}, {1, 1, 1});
}

Value foreign::createIdentity(Indexed &math, int64_t rows, int64_t columns,
                              Type element) {
  auto type = RankedTensorType::get({rows, columns}, element);
  const llvm::fltSemantics &semantics =
      cast<FloatType>(element).getFloatSemantics();
  SmallVector<APFloat> numbers(rows * columns, APFloat::getZero(semantics));
  for (int64_t i = 0; i < std::min(rows, columns); ++i)
    numbers[i * columns + i] = APFloat(semantics, 1);
  return arith::ConstantOp::create(math.builder, math.loc,
                                   DenseElementsAttr::get(type, numbers));
}

Value foreign::createTriangle(Indexed &math, Value matrices,
                              arith::CmpIPredicate predicate) {
  return math.map(
      "bmn->bmn", matrices,
      [&](OpBuilder &nested, Location loc, ValueRange args) -> Value {
        Value row = linalg::IndexOp::create(nested, loc, 1),
              column = linalg::IndexOp::create(nested, loc, 2);
        Value isKept =
            arith::CmpIOp::create(nested, loc, predicate, row, column);
        return arith::SelectOp::create(
            nested, loc, isKept, args[0],
            createConstant(nested, loc, args[0].getType(), 0.0));
      });
}

Value foreign::createStrictlyLower(Indexed &math, Value matrices) {
  return createTriangle(math, matrices, arith::CmpIPredicate::ugt);
}

Value foreign::createUpper(Indexed &math, Value matrices) {
  return createTriangle(math, matrices, arith::CmpIPredicate::ule);
}

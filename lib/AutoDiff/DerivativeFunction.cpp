//===- DerivativeFunction.cpp - gradient, Jacobian, Hessian ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes functions in terms of remat.vjp and remat.jvp of others: a gradient is
// a vjp with cotangent 1, a Jacobian a batch of vjps, one for each element of
// the result, a Hessian the Jacobian of the gradient.
//
//===----------------------------------------------------------------------===//

#include "remat/AutoDiff/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"

#include "remat/AutoDiff/AutoDiff.h"
#include "remat/Dialect/Remat/IR/Remat.h"

namespace remat {
#define GEN_PASS_DEF_DERIVATIVEFUNCTIONPASS
#include "remat/AutoDiff/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

namespace {
/// Writes functions behind the one that they differentiate.
class Writer {
public:
  Writer(func::FuncOp function, ArrayRef<int64_t> wrt)
      : builder(function.getContext()), function(function),
        loc(function.getLoc()), wrt(wrt) {
    builder.setInsertionPointAfter(function);
  }

  FailureOr<func::FuncOp> writeGradient();
  /// With results by result of `of`, argument by argument.
  FailureOr<func::FuncOp> writeJacobian(StringRef name, func::FuncOp of);
  FailureOr<func::FuncOp> writeProduct(StringRef name, bool isForward);

private:
  func::FuncOp create(StringRef kind, ArrayRef<Type> more,
                      ArrayRef<Type> results);
  SmallVector<Type> getWrtTypes() {
    return llvm::map_to_vector(wrt, [&](int64_t number) {
      return function.getArgumentTypes()[number];
    });
  }

  OpBuilder builder;
  func::FuncOp function;
  Location loc;
  ArrayRef<int64_t> wrt;
};
} // namespace

/// A function on the same arguments and `more`, with an entry block at whose
/// end the builder stands.
func::FuncOp Writer::create(StringRef kind, ArrayRef<Type> more,
                            ArrayRef<Type> results) {
  SmallVector<Type> types = llvm::to_vector(function.getArgumentTypes());
  llvm::append_range(types, more);
  auto made = func::FuncOp::create(builder, loc,
                                   (function.getName() + "." + kind).str(),
                                   builder.getFunctionType(types, results));
  builder.setInsertionPointToStart(made.addEntryBlock());
  return made;
}

static Value createOne(OpBuilder &builder, Location loc,
                       RankedTensorType type) {
  return arith::ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(
          type, Attribute(builder.getFloatAttr(type.getElementType(), 1))));
}

/// For each element of a tensor of `type`, one with 1 there and else 0.
static Value createUnits(OpBuilder &builder, Location loc,
                         RankedTensorType type) {
  SmallVector<int64_t> shape = {type.getNumElements()};
  llvm::append_range(shape, type.getShape());
  Value empty =
      tensor::EmptyOp::create(builder, loc, shape, type.getElementType());
  SmallVector<utils::IteratorType> iterators(shape.size(),
                                             utils::IteratorType::parallel);
  auto body = [&](OpBuilder &nested, Location loc, ValueRange) {
    Value row = linalg::IndexOp::create(nested, loc, 0);
    Value place = arith::ConstantIndexOp::create(nested, loc, 0);
    for (int64_t dim = 0; dim < type.getRank(); ++dim) {
      Value extent =
          arith::ConstantIndexOp::create(nested, loc, type.getDimSize(dim));
      place = arith::MulIOp::create(nested, loc, place, extent);
      place = arith::AddIOp::create(
          nested, loc, place, linalg::IndexOp::create(nested, loc, dim + 1));
    }
    Value isHere = arith::CmpIOp::create(nested, loc, arith::CmpIPredicate::eq,
                                         row, place);
    auto constant = [&](double value) -> Value {
      return arith::ConstantOp::create(
          nested, loc, nested.getFloatAttr(type.getElementType(), value));
    };
    Value element =
        arith::SelectOp::create(nested, loc, isHere, constant(1), constant(0));
    linalg::YieldOp::create(nested, loc, element);
  };
  return linalg::GenericOp::create(
             builder, loc, TypeRange(empty.getType()), ValueRange(),
             ValueRange(empty),
             ArrayRef<AffineMap>(builder.getMultiDimIdentityMap(shape.size())),
             iterators, body)
      .getResult(0);
}

FailureOr<func::FuncOp> Writer::writeGradient() {
  auto type = function.getNumResults() == 1
                  ? dyn_cast<RankedTensorType>(function.getResultTypes()[0])
                  : RankedTensorType();
  if (!type || !isa<FloatType>(type.getElementType()) ||
      type.getNumElements() != 1)
    return function.emitOpError("has results (")
           << function.getResultTypes()
           << "), expected one of one floating-point element for a gradient";
  SmallVector<Type> types = getWrtTypes();
  func::FuncOp made = create("gradient", {}, types);
  Value seed = createOne(builder, loc, type);
  SmallVector<Type> results = {type};
  llvm::append_range(results, types);
  auto vjp = VJPOp::create(builder, loc, results, function.getName(),
                           made.getArguments(), seed,
                           builder.getDenseI64ArrayAttr(wrt),
                           builder.getDenseI64ArrayAttr({0}), nullptr);
  func::ReturnOp::create(builder, loc, vjp.getResults().drop_front());
  builder.setInsertionPointAfter(made);
  return made;
}

/// The type of a Jacobian of `result` by `argument`.
static RankedTensorType getJacobianType(RankedTensorType result,
                                        RankedTensorType argument) {
  SmallVector<int64_t> shape = llvm::to_vector(result.getShape());
  llvm::append_range(shape, argument.getShape());
  return RankedTensorType::get(shape, argument.getElementType());
}

/// `rows`, one for each element of a tensor of type `result`, as a tensor of
/// type `to`, of which the leading dimensions are the result's.
static Value splitRows(OpBuilder &builder, Location loc, Value rows,
                       RankedTensorType result, RankedTensorType to) {
  int64_t argumentRank = to.getRank() - result.getRank();
  SmallVector<ReassociationIndices> groups;
  if (result.getRank() == 0) {
    for (int64_t dim = 0; dim < argumentRank; ++dim)
      groups.push_back({dim + 1});
    if (!groups.empty())
      groups[0].insert(groups[0].begin(), 0);
    return tensor::CollapseShapeOp::create(builder, loc, to, rows, groups);
  }
  groups.push_back(llvm::to_vector<2>(llvm::seq<int64_t>(0, result.getRank())));
  for (int64_t dim = 0; dim < argumentRank; ++dim)
    groups.push_back({result.getRank() + dim});
  return tensor::ExpandShapeOp::create(builder, loc, to, rows, groups);
}

FailureOr<func::FuncOp> Writer::writeJacobian(StringRef name, func::FuncOp of) {
  SmallVector<Type> types, wrtTypes = getWrtTypes();
  for (Type result : of.getResultTypes()) {
    auto type = dyn_cast<RankedTensorType>(result);
    if (!type || !type.hasStaticShape() ||
        !isa<FloatType>(type.getElementType()))
      return of.emitOpError("has a result of type ")
             << result << ", expected a floating-point tensor of static shape";
    for (Type argument : wrtTypes) {
      auto tensor = dyn_cast<RankedTensorType>(argument);
      if (!tensor || !tensor.hasStaticShape())
        return of.emitOpError("has an argument of type ")
               << argument << ", expected a tensor of static shape";
      types.push_back(getJacobianType(type, tensor));
    }
  }
  func::FuncOp made = create(name, {}, types);
  SmallVector<Value> jacobians;
  for (auto [number, result] : llvm::enumerate(of.getResultTypes())) {
    auto type = cast<RankedTensorType>(result);
    int64_t rows = type.getNumElements();
    SmallVector<Type> results = llvm::to_vector(of.getResultTypes());
    for (Type argument : wrtTypes) {
      SmallVector<int64_t> shape = {rows};
      llvm::append_range(shape, cast<RankedTensorType>(argument).getShape());
      results.push_back(
          cast<RankedTensorType>(argument).clone(ArrayRef<int64_t>(shape)));
    }
    auto vjp = VJPOp::create(
        builder, loc, results, of.getName(), made.getArguments(),
        createUnits(builder, loc, type), builder.getDenseI64ArrayAttr(wrt),
        builder.getDenseI64ArrayAttr({int64_t(number)}),
        builder.getI64IntegerAttr(rows));
    for (Value product : vjp.getResults().drop_front(of.getNumResults()))
      jacobians.push_back(
          splitRows(builder, loc, product, type,
                    cast<RankedTensorType>(types[jacobians.size()])));
  }
  func::ReturnOp::create(builder, loc, jacobians);
  builder.setInsertionPointAfter(made);
  return made;
}

/// The product of the Hessian with a vector, forwards or in reverse over the
/// gradient.
FailureOr<func::FuncOp> Writer::writeProduct(StringRef name, bool isForward) {
  FailureOr<func::FuncOp> gradient = writeGradient();
  if (failed(gradient))
    return failure();
  SmallVector<Type> types = getWrtTypes();
  func::FuncOp made = create(name, types, types);
  unsigned count = function.getNumArguments();
  ValueRange arguments = made.getArguments();
  SmallVector<Type> results = types;
  llvm::append_range(results, types);
  auto numbers = builder.getDenseI64ArrayAttr(wrt);
  Operation *product =
      isForward ? JVPOp::create(builder, loc, results, gradient->getName(),
                                arguments.take_front(count),
                                arguments.drop_front(count), numbers, nullptr,
                                nullptr)
                : VJPOp::create(builder, loc, results, gradient->getName(),
                                arguments.take_front(count),
                                arguments.drop_front(count), numbers, nullptr,
                                nullptr)
                      .getOperation();
  func::ReturnOp::create(builder, loc,
                         product->getResults().drop_front(types.size()));
  return made;
}

namespace {
struct RematDerivativeFunctionPass
    : remat::impl::DerivativeFunctionPassBase<RematDerivativeFunctionPass> {
  using DerivativeFunctionPassBase::DerivativeFunctionPassBase;

  LogicalResult write(func::FuncOp target) {
    SmallVector<int64_t> numbers = llvm::to_vector(llvm::iterator_range(wrt));
    for (int64_t number : numbers)
      if (number < 0 || number >= int64_t(target.getNumArguments()))
        return target.emitOpError("has ")
               << target.getNumArguments()
               << " arguments, cannot differentiate with respect to #"
               << number;
    if (numbers.empty())
      for (auto [number, type] : llvm::enumerate(target.getArgumentTypes()))
        if (isa<FloatType>(getElementTypeOrSelf(type)))
          numbers.push_back(number);
    Writer writer(target, numbers);
    if (kind == "gradient")
      return writer.writeGradient();
    if (kind == "jacobian")
      return writer.writeJacobian("jacobian", target);
    if (kind == "hvp" || kind == "vhp")
      return writer.writeProduct(kind, kind == "hvp");
    if (kind != "hessian")
      return target.emitError("unknown kind of derivative '")
             << kind
             << "', expected 'gradient', 'jacobian', 'hessian', 'hvp' or 'vhp'";
    FailureOr<func::FuncOp> gradient = writer.writeGradient();
    if (failed(gradient))
      return failure();
    return writer.writeJacobian("hessian", *gradient);
  }

  void runOnOperation() override {
    auto target = getOperation().lookupSymbol<func::FuncOp>(function);
    if (!target) {
      getOperation().emitError("has no function '") << function << "'";
      return signalPassFailure();
    }
    if (failed(write(target)))
      signalPassFailure();
  }
};
} // namespace

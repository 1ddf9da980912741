//===- DerivativeFunction.cpp - gradient, Jacobian, Hessian ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes functions in terms of remat.vjp and remat.jvp of others: a gradient is
// a vjp with cotangent 1, a Jacobian one vjp for each element of the result, a
// Hessian the Jacobian of the gradient.
//
//===----------------------------------------------------------------------===//

#include "remat/AutoDiff/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"

#include "remat/AutoDiff/AutoDiff.h"
#include "remat/Dialect/Remat/IR/Remat.h"

namespace remat {
#define GEN_PASS_DEF_REMATDERIVATIVEFUNCTIONPASS
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

static Value createOneHot(OpBuilder &builder, Location loc,
                          RankedTensorType type, int64_t at) {
  SmallVector<Attribute> elements(
      type.getNumElements(), builder.getFloatAttr(type.getElementType(), 0));
  elements[at] = builder.getFloatAttr(type.getElementType(), 1);
  return arith::ConstantOp::create(builder, loc,
                                   DenseElementsAttr::get(type, elements));
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
  Value seed = createOneHot(builder, loc, type, 0);
  SmallVector<Type> results = {type};
  llvm::append_range(results, types);
  auto vjp = VJPOp::create(
      builder, loc, results, function.getName(), made.getArguments(), seed,
      builder.getDenseI64ArrayAttr(wrt), builder.getDenseI64ArrayAttr({0}));
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

FailureOr<func::FuncOp> Writer::writeJacobian(StringRef name, func::FuncOp of) {
  SmallVector<Type> types, wrtTypes = getWrtTypes();
  for (Type result : of.getResultTypes()) {
    auto type = dyn_cast<RankedTensorType>(result);
    if (!type || !type.hasStaticShape() ||
        !isa<FloatType>(type.getElementType()))
      return of.emitOpError("has a result of type ")
             << result << ", expected a floating-point tensor of static shape";
    for (Type argument : wrtTypes)
      types.push_back(getJacobianType(type, cast<RankedTensorType>(argument)));
  }
  func::FuncOp made = create(name, {}, types);
  SmallVector<Value> jacobians;
  for (auto [number, result] : llvm::enumerate(of.getResultTypes())) {
    auto type = cast<RankedTensorType>(result);
    SmallVector<Value> parts;
    for (size_t i = 0; i < wrt.size(); ++i)
      parts.push_back(tensor::EmptyOp::create(
          builder, loc,
          cast<RankedTensorType>(types[jacobians.size() + i]).getShape(),
          cast<RankedTensorType>(wrtTypes[i]).getElementType()));
    for (int64_t row = 0; row < type.getNumElements(); ++row) {
      SmallVector<Type> results = llvm::to_vector(of.getResultTypes());
      llvm::append_range(results, wrtTypes);
      auto vjp = VJPOp::create(builder, loc, results, of.getName(),
                               made.getArguments(),
                               createOneHot(builder, loc, type, row),
                               builder.getDenseI64ArrayAttr(wrt),
                               builder.getDenseI64ArrayAttr({int64_t(number)}));
      SmallVector<int64_t> at(type.getRank());
      for (int64_t dim = type.getRank(), rest = row; dim-- > 0;
           rest /= type.getDimSize(dim))
        at[dim] = rest % type.getDimSize(dim);
      for (size_t i = 0; i < wrt.size(); ++i) {
        auto argument = cast<RankedTensorType>(wrtTypes[i]);
        SmallVector<int64_t> offsets = at, sizes(type.getRank(), 1);
        offsets.resize(type.getRank() + argument.getRank(), 0);
        llvm::append_range(sizes, argument.getShape());
        auto attrs = [&](ArrayRef<int64_t> values) {
          return getAsIndexOpFoldResult(builder.getContext(), values);
        };
        parts[i] = tensor::InsertSliceOp::create(
            builder, loc, vjp.getResult(of.getNumResults() + i), parts[i],
            attrs(offsets), attrs(sizes),
            attrs(SmallVector<int64_t>(offsets.size(), 1)));
      }
    }
    llvm::append_range(jacobians, parts);
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
                                arguments.drop_front(count), numbers, nullptr)
                : VJPOp::create(builder, loc, results, gradient->getName(),
                                arguments.take_front(count),
                                arguments.drop_front(count), numbers, nullptr)
                      .getOperation();
  func::ReturnOp::create(builder, loc,
                         product->getResults().drop_front(types.size()));
  return made;
}

namespace {
struct RematDerivativeFunctionPass
    : remat::impl::RematDerivativeFunctionPassBase<
          RematDerivativeFunctionPass> {
  using RematDerivativeFunctionPassBase::RematDerivativeFunctionPassBase;

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

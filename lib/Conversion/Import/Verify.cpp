//===- Verify.cpp - the form that import ends with ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What comes after import may rely on seeing no other operations than these.
//
//===----------------------------------------------------------------------===//

#include "Sizes.h"

#include "remat/Conversion/Import/Passes.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Interfaces/KernelOpInterface.h"

#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "llvm/ADT/SetVector.h"

namespace remat {
#define GEN_PASS_DEF_IMPORTVERIFYPASS
#include "remat/Conversion/Import/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

/// Whether `op` may stand in the body of a structured operation.
static bool isBodyOp(Operation *op) {
  // No target has code for these.
  if (isa<math::IPowIOp, complex::BitcastOp>(op))
    return false;
  return isa<arith::ArithDialect, math::MathDialect, complex::ComplexDialect>(
             op->getDialect()) ||
         isa<linalg::IndexOp, linalg::YieldOp, tensor::ExtractOp,
             tensor::YieldOp, CheckIndexOp, YieldOp, cf::AssertOp>(op);
}

/// Whether `op` may stand in a function or a checkpoint region.
static bool isTensorOp(Operation *op) {
  if (isa<RematDialect>(op->getDialect()))
    return !isa<CheckIndexOp>(op);
  if (op->hasTrait<OpTrait::ConstantLike>())
    return true;
  if (isa<linalg::GenericOp, linalg::ContractOp, linalg::FillOp,
          func::ReturnOp>(op))
    return true;
  if (isa<linalg::LinalgOp>(op))
    return op->getName().stripDialect().starts_with("pooling_");
  return isa<tensor::EmptyOp, tensor::ExpandShapeOp, tensor::CollapseShapeOp,
             tensor::ExtractSliceOp, tensor::InsertSliceOp, tensor::PadOp,
             tensor::ConcatOp>(op);
}

/// Whether `op` stays whole until its kernel is made. What its regions contain
/// is its own affair.
static bool staysWhole(Operation *op) {
  return isa<KernelOpInterface>(op) && !op->getParentOfType<linalg::LinalgOp>();
}

static bool hasBody(Operation *op) {
  return isa<linalg::LinalgOp, tensor::PadOp, ScatterOp>(op);
}

/// Whether there are computations with elements of `type`: of the
/// floating-point types, f8 and such have none.
static bool isComputable(Type type) {
  Type element = getElementTypeOrSelf(type);
  if (auto complex = dyn_cast<ComplexType>(element))
    element = complex.getElementType();
  return !isa<FloatType>(element) || element.isF16() || element.isBF16() ||
         element.isF32() || element.isF64();
}

/// Refuses what `op` reads or makes.
static LogicalResult verifyElements(Operation *op) {
  for (TypeRange types :
       {TypeRange(op->getOperandTypes()), TypeRange(op->getResultTypes())})
    for (Type type : types)
      if (!isComputable(type))
        return op->emitOpError("has a value of type ")
               << type
               << ", whose elements remat does not compute with, expected f16, "
                  "bf16, f32 or f64";
  return success();
}

/// Refuses to round otherwise than to the nearest number, which not every
/// target can.
static LogicalResult verifyRounding(Operation *op) {
  auto rounding = dyn_cast<arith::ArithRoundingModeInterface>(op);
  arith::RoundingModeAttr mode =
      rounding ? rounding.getRoundingModeAttr() : nullptr;
  if (!mode || mode.getValue() == arith::RoundingMode::to_nearest_even)
    return success();
  return op->emitOpError("rounds '")
         << arith::stringifyRoundingMode(mode.getValue())
         << "', expected 'to_nearest_even'";
}

/// Whether one of `refused` reads a number that `op` makes, such as that of the
/// iterations of a loop: if that one were supported, this would be, too.
static bool isForOneOf(const llvm::SetVector<Operation *> &refused,
                       Operation *op) {
  return llvm::none_of(op->getResultTypes(), llvm::IsaPred<ShapedType>) &&
         llvm::any_of(op->getUsers(), [&](Operation *user) {
           while (user && !refused.contains(user))
             user = user->getParentOp();
           return user != nullptr;
         });
}

namespace {
struct ImportVerify : public remat::impl::ImportVerifyPassBase<ImportVerify> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    SizeChecker sizes;
    llvm::SetVector<Operation *> refused;
    function.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (failed(sizes.check(op))) {
        signalPassFailure();
        return WalkResult::interrupt();
      }
      if (op == function)
        return WalkResult::advance();
      if (failed(verifyElements(op)) || failed(verifyRounding(op))) {
        signalPassFailure();
        return WalkResult::skip();
      }
      if (hasBody(op->getParentOp())) {
        if (!isBodyOp(op)) {
          op->emitOpError("is not supported in the body of '")
              << op->getParentOp()->getName() << "'";
          signalPassFailure();
        }
        return WalkResult::skip();
      }
      if (staysWhole(op))
        return WalkResult::skip();
      if (!isTensorOp(op)) {
        refused.insert(op);
        return WalkResult::skip();
      }
      return WalkResult::advance();
    });
    for (Operation *op : refused)
      if (!isForOneOf(refused, op))
        op->emitOpError("is not supported, expected an operation of linalg or "
                        "tensor that remat compiles, or one with "
                        "'remat::KernelOpInterface'");
    if (!refused.empty())
      signalPassFailure();
  }
};
} // namespace

//===- WidenFloats.cpp - a function in double precision -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finite differences need more digits than f32 has. This pass lets a function
// compute with f64 wherever it computes with a narrower floating-point type.
//
//===----------------------------------------------------------------------===//

#include "remat/AutoDiff/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AttrTypeSubElements.h"

namespace remat {
#define GEN_PASS_DEF_WIDENFLOATSPASS
#include "remat/AutoDiff/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

/// The same numbers in f64.
static FloatAttr widen(FloatAttr attr) {
  APFloat value = attr.getValue();
  bool losesInfo = false;
  value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                &losesInfo);
  return FloatAttr::get(Float64Type::get(attr.getContext()), value);
}

static DenseElementsAttr widen(DenseElementsAttr attr) {
  auto mapValue = [](const APFloat &value) {
    APFloat wide = value;
    bool losesInfo = false;
    wide.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                 &losesInfo);
    return wide.bitcastToAPInt();
  };
  Type wide = Float64Type::get(attr.getContext());
  return cast<DenseFPElementsAttr>(attr).mapValues(wide, mapValue);
}

namespace {
struct RematWidenFloatsPass
    : remat::impl::WidenFloatsPassBase<RematWidenFloatsPass> {
  void runOnOperation() override {
    AttrTypeReplacer replacer;
    replacer.addReplacement([](FloatType type) -> std::optional<Type> {
      if (type.getWidth() >= 64)
        return std::nullopt;
      return Float64Type::get(type.getContext());
    });
    replacer.addReplacement(
        [](FloatAttr attr) -> std::optional<Attribute> { return widen(attr); });
    replacer.addReplacement(
        [](DenseElementsAttr attr) -> std::optional<Attribute> {
          if (!isa<FloatType>(attr.getElementType()))
            return std::nullopt;
          return widen(attr);
        });
    WalkResult result = getOperation().walk([](Operation *op) {
      // The bits of a number are not those of a wider one.
      auto isComplex = [](Type type) {
        return isa<ComplexType>(getElementTypeOrSelf(type));
      };
      if (!isa<arith::BitcastOp>(op) &&
          !(isa<arith::ConstantOp>(op) &&
            llvm::any_of(op->getResultTypes(), isComplex)))
        return WalkResult::advance();
      op->emitOpError("cannot be computed in double precision");
      return WalkResult::interrupt();
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    replacer.recursivelyReplaceElementsIn(getOperation(), /*replaceAttrs=*/true,
                                          /*replaceLocs=*/false,
                                          /*replaceTypes=*/true);
    dropConversions();
  }

  /// Conversions between types that are now the same.
  void dropConversions() {
    getOperation().walk([](Operation *op) {
      if (!isa<arith::ExtFOp, arith::TruncFOp>(op) ||
          op->getOperand(0).getType() != op->getResult(0).getType())
        return;
      op->replaceAllUsesWith(op->getOperands());
      op->erase();
    });
  }
};
} // namespace

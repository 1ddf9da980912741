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
static APFloat widen(APFloat value) {
  bool losesInfo = false;
  value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                &losesInfo);
  return value;
}

static FloatAttr widen(FloatAttr attr) {
  return FloatAttr::get(Float64Type::get(attr.getContext()),
                        widen(attr.getValue()));
}

static DenseElementsAttr widen(DenseElementsAttr attr) {
  Type wide = Float64Type::get(attr.getContext());
  if (auto reals = dyn_cast<DenseFPElementsAttr>(attr))
    return reals.mapValues(wide, [](const APFloat &value) {
      return widen(value).bitcastToAPInt();
    });
  using Complex = std::complex<APFloat>;
  SmallVector<Complex> values;
  auto add = [&](const Complex &value) {
    values.emplace_back(widen(value.real()), widen(value.imag()));
  };
  if (attr.isSplat())
    add(attr.getSplatValue<Complex>());
  else
    llvm::for_each(attr.getValues<Complex>(), add);
  return DenseElementsAttr::get(attr.getType().clone(ComplexType::get(wide)),
                                values);
}

/// Whether a number of this type, or an element of it, becomes a wider one.
static bool isNarrow(Type type) {
  Type element = getElementTypeOrSelf(type);
  if (auto complex = dyn_cast<ComplexType>(element))
    element = complex.getElementType();
  auto real = dyn_cast<FloatType>(element);
  return real && real.getWidth() < 64;
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
    replacer.addReplacement([](FloatAttr attr) -> std::optional<Attribute> {
      if (!isNarrow(attr.getType()))
        return std::nullopt;
      return widen(attr);
    });
    replacer.addReplacement(
        [](DenseElementsAttr attr) -> std::optional<Attribute> {
          if (!isNarrow(attr.getElementType()))
            return std::nullopt;
          return widen(attr);
        });
    WalkResult result = getOperation().walk([](Operation *op) {
      // The bits of a number are not those of a wider one.
      if (!isa<arith::BitcastOp>(op) ||
          !(isNarrow(op->getOperand(0).getType()) ||
            isNarrow(op->getResult(0).getType())))
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

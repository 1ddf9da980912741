//===- Complex.cpp - complex arithmetic that folds to its value -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Upstream folds log(exp(z)) to z, which is not the principal value where the
// imaginary part leaves (-pi, pi]. It folds (a - b) + b and (a + b) - b to a,
// so that a sum which a program rounds on purpose is not rounded. Operations
// without such folds take their places before any pass folds.
//
//===----------------------------------------------------------------------===//

#include "remat/Conversion/Import/Passes.h"
#include "remat/Utils/Builders.h"

#include "mlir/Dialect/Complex/IR/Complex.h"

namespace remat {
#define GEN_PASS_DEF_IMPORTCOMPLEXPASS
#include "remat/Conversion/Import/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

namespace {
struct ImportComplex
    : public remat::impl::ImportComplexPassBase<ImportComplex> {
  void runOnOperation() override {
    getOperation()->walk([](Operation *op) {
      OpBuilder b(op);
      Location loc = op->getLoc();
      Value result;
      if (auto log = dyn_cast<complex::LogOp>(op)) {
        result = createComplexLog(b, loc, log.getComplex());
      } else if (auto sub = dyn_cast<complex::SubOp>(op)) {
        // A difference is rounded as the sum with the negative is.
        Value negative = complex::NegOp::create(b, loc, sub.getRhs());
        result = complex::AddOp::create(b, loc, sub.getLhs(), negative);
      } else {
        return;
      }
      op->getResult(0).replaceAllUsesWith(result);
      op->erase();
    });
  }
};
} // namespace

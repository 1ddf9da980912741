//===- ConstantWeights.cpp - weights that are no arguments ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Exporters may write the weights of a model into the program, where nothing
// can be differentiated with respect to them. What they look like is a constant
// that is a factor of a contraction or a convolution.
//
//===----------------------------------------------------------------------===//

#include "ConstantWeights.h"

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/IR/Views.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace remat;

/// What `value` was before it was laid out anew.
static Value skipMovement(Value value) {
  while (true) {
    value = getRoot(value);
    auto transpose = value.getDefiningOp<linalg::TransposeOp>();
    if (!transpose)
      return value;
    value = transpose.getInput();
  }
}

/// Whether `value` is a constant of different floating-point numbers.
static bool isTable(Value value) {
  ElementsAttr elements;
  return matchPattern(skipMovement(value), m_Constant(&elements)) &&
         isa<FloatType>(elements.getElementType()) &&
         elements.getShapedType().getRank() >= 2 && !elements.isSplat();
}

static bool isProduct(Operation *op) {
  if (isa<ConvOp>(op))
    return true;
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  return linalgOp && (linalg::isaContractionOpInterface(linalgOp) ||
                      linalg::isaConvolutionOpInterface(linalgOp));
}

void remat::warnOfConstantWeights(func::FuncOp function) {
  Operation *first = nullptr;
  unsigned count = 0;
  for (Operation &op : function.front())
    if (isProduct(&op) && llvm::any_of(op.getOperands(), isTable)) {
      first = first ? first : &op;
      ++count;
    }
  if (first)
    first->emitWarning()
        << count << " of the contractions and convolutions of '"
        << function.getName()
        << "' have a constant as a factor, this one is the first; if constants "
           "are weights, they get no gradients: export the model so that they "
           "are arguments, as remat.torch.export(model, args) does";
}

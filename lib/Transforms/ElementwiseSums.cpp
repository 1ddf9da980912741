//===- ElementwiseSums.cpp - additions of whole tensors -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementwiseSums.h"

#include "remat/Dialect/Remat/IR/Donations.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace remat;

bool remat::isPartOfSum(Operation &op) {
  return isa<arith::AddFOp, arith::AddIOp, arith::ExtFOp>(op) ||
         (isa<arith::TruncFOp>(op) &&
          op.getOperand(0).getDefiningOp<arith::AddFOp>());
}

bool remat::isElementwiseSum(linalg::GenericOp op) {
  if (op.getNumDpsInputs() != 2 || op->getNumResults() != 1 ||
      !op.hasPureTensorSemantics() ||
      !llvm::all_of(op.getIndexingMapsArray(),
                    [](AffineMap map) { return map.isIdentity(); }))
    return false;
  Block &body = *op.getBody();
  Operation &sum = body.front();
  return body.getOperations().size() == 2 &&
         isa<arith::AddFOp, arith::AddIOp>(sum) &&
         body.getTerminator()->getOperand(0) == sum.getResult(0) &&
         ((sum.getOperand(0) == body.getArgument(0) &&
           sum.getOperand(1) == body.getArgument(1)) ||
          (sum.getOperand(0) == body.getArgument(1) &&
           sum.getOperand(1) == body.getArgument(0)));
}

bool remat::isCallersSum(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto function =
      argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp())
               : func::FuncOp();
  return function && !function.isPrivate() &&
         getDonatedResult(function, argument.getArgNumber());
}

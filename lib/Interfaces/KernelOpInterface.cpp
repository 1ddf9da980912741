//===- KernelOpInterface.cpp - operations that stay whole -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Interfaces/KernelOpInterface.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/PatternMatch.h"

#include "remat/Interfaces/KernelOpInterface.cpp.inc"

using namespace mlir;
using namespace remat;

FailureOr<SmallVector<Value>> remat::decomposeAggregate(Operation *op,
                                                        OpBuilder &builder) {
  auto aggregate = dyn_cast<linalg::AggregatedOpInterface>(op);
  if (!aggregate)
    return failure();
  return aggregate.decomposeOperation(builder);
}

/// Parts of parts of an operation that is in itself are found by their number.
static constexpr unsigned maxRounds = 64;

FailureOr<bool> remat::decomposeKernelOps(Operation *root) {
  IRRewriter rewriter(root->getContext());
  for (unsigned round = 0; round < maxRounds; ++round) {
    SmallVector<Operation *> ops;
    root->walk([&](Operation *op) {
      if (isa<KernelOpInterface, linalg::AggregatedOpInterface>(op))
        ops.push_back(op);
    });
    if (ops.empty())
      return round != 0;
    for (Operation *op : ops) {
      rewriter.setInsertionPoint(op);
      auto whole = dyn_cast<KernelOpInterface>(op);
      FailureOr<SmallVector<Value>> parts =
          whole ? whole.decomposeInKernel(rewriter)
                : decomposeAggregate(op, rewriter);
      if (failed(parts))
        return op->emitOpError("cannot be decomposed in its kernel, expected "
                               "'linalg::AggregatedOpInterface' or a "
                               "'decomposeInKernel' of its own to succeed");
      if (TypeRange(ValueRange(*parts)) != op->getResultTypes())
        return op->emitOpError("decomposes into values of types ")
               << TypeRange(ValueRange(*parts)) << ", expected "
               << op->getResultTypes();
      rewriter.replaceOp(op, *parts);
    }
  }
  return root->emitError("an operation decomposes into itself, more than ")
         << maxRounds << " times";
}

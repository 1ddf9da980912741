//===- SliceRows.cpp - wide values that exist a slice at a time -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A contraction may be larger than its factors and yet be read only row by row,
// or to be summed up over the rows: a language model's logits, which a cross
// entropy reads, and whose gradient two contractions read. Such a contraction,
// with all that reads it, is done for some hundred rows, then for the next.
// What is as wide as the contraction is then never there as a whole.
//
// The slices are fixed by the shapes, so that no budget or number of threads
// changes a result. They are so large that the library's contractions lose
// nothing.
//
//===----------------------------------------------------------------------===//

#include "RowSlicer.h"

#include "remat/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace remat {
#define GEN_PASS_DEF_SLICEROWSPASS
#include "remat/Transforms/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

namespace {
struct SliceRows : remat::impl::SliceRowsPassBase<SliceRows> {
  using SliceRowsPassBase::SliceRowsPassBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (!llvm::hasSingleElement(function.getBody()))
      return;
    Block &body = function.getBody().front();
    SmallVector<linalg::ContractOp> contractions(
        body.getOps<linalg::ContractOp>());
    DenseSet<Operation *> gone;
    for (linalg::ContractOp contraction : contractions)
      if (!gone.contains(contraction))
        numSliced += RowSlicer(body).run(contraction, gone);
  }
};
} // namespace

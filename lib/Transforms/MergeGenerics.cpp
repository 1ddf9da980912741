//===- MergeGenerics.cpp - one operation in the place of several ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MergeGenerics.h"

using namespace mlir;
using namespace remat;

linalg::GenericOp remat::mergeGenerics(RewriterBase &rewriter,
                                       ArrayRef<linalg::GenericOp> ops) {
  auto isInside = [&](OpOperand *input) {
    return llvm::is_contained(ops, input->get().getDefiningOp());
  };
  SmallVector<Value> inputs, inits;
  SmallVector<AffineMap> maps, initMaps;
  for (linalg::GenericOp op : ops) {
    for (OpOperand *input : op.getDpsInputOperands()) {
      if (isInside(input))
        continue;
      inputs.push_back(input->get());
      maps.push_back(op.getMatchingIndexingMap(input));
    }
    for (OpOperand &init : op.getDpsInitsMutable()) {
      inits.push_back(init.get());
      initMaps.push_back(op.getMatchingIndexingMap(&init));
    }
  }
  llvm::append_range(maps, initMaps);
  linalg::GenericOp first = ops.front();
  auto merged = linalg::GenericOp::create(
      rewriter, first.getLoc(), ValueRange(inits).getTypes(), inputs, inits,
      maps, first.getIteratorTypesArray());
  merged->setDiscardableAttrs(first->getDiscardableAttrDictionary());

  OpBuilder::InsertionGuard guard(rewriter);
  Block *body = rewriter.createBlock(&merged.getRegion());
  for (ValueRange operands : {ValueRange(inputs), ValueRange(inits)})
    for (Value operand : operands)
      body->addArgument(getElementTypeOrSelf(operand.getType()),
                        operand.getLoc());
  SmallVector<Value> yielded;
  IRMapping elements;
  unsigned nextInput = 0, nextInit = inputs.size();
  for (linalg::GenericOp op : ops) {
    IRMapping mapping;
    for (OpOperand *input : op.getDpsInputOperands())
      mapping.map(op.getMatchingBlockArgument(input),
                  isInside(input) ? elements.lookup(input->get())
                                  : body->getArgument(nextInput++));
    for (BlockArgument argument : op.getRegionOutputArgs())
      mapping.map(argument, body->getArgument(nextInit++));
    for (Operation &inner : op.getBody()->without_terminator())
      rewriter.clone(inner, mapping);
    for (auto [result, value] : llvm::zip(
             op->getResults(), op.getBody()->getTerminator()->getOperands())) {
      yielded.push_back(mapping.lookupOrDefault(value));
      elements.map(result, yielded.back());
    }
  }
  linalg::YieldOp::create(rewriter, first.getLoc(), yielded);
  SmallVector<Value> results(merged.getResults());
  auto *next = results.begin();
  for (linalg::GenericOp op : ops) {
    rewriter.replaceAllUsesWith(
        op->getResults(), ValueRange(ArrayRef(next, op->getNumResults())));
    next += op->getNumResults();
  }
  for (linalg::GenericOp op : llvm::reverse(ops))
    rewriter.eraseOp(op);
  return merged;
}

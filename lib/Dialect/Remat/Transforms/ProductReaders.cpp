//===- ProductReaders.cpp - what reads a product --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProductReaders.h"

#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace remat;

bool ProductReaders::collect(Value value, Block *block) {
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    if (isViewOp(user)) {
      views.push_back(user);
      if (!collect(user->getResult(0), block))
        return false;
      continue;
    }
    auto generic = dyn_cast<linalg::GenericOp>(user);
    if (!generic || !generic.isDpsInput(&use) || generic->getBlock() != block)
      return false;
    reads.push_back(&use);
  }
  return true;
}

SmallVector<linalg::LinalgOp> remat::getProducts(Block &block) {
  SmallVector<linalg::LinalgOp> products;
  for (auto op : block.getOps<linalg::LinalgOp>())
    if (op->getNumResults() == 1 && linalg::isaContractionOpInterface(op))
      products.push_back(op);
  return products;
}

bool remat::hasPolicy(Operation *op) {
  return op->hasAttr(RematDialect::policyAttrName) ||
         llvm::any_of(op->getResults(), isTagged);
}

void remat::simplifyReader(linalg::GenericOp reader) {
  Block *body = reader.getBody();
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*body)))
    if (isOpTriviallyDead(&op))
      op.erase();
  SmallVector<AffineMap> maps = reader.getIndexingMapsArray();
  for (unsigned number = reader.getNumDpsInputs(); number-- > 0;) {
    if (!body->getArgument(number).use_empty())
      continue;
    SmallVector<AffineMap> others(maps);
    others.erase(others.begin() + number);
    // What says how large a window is has no other use.
    if (!inversePermutation(concatAffineMaps(others, reader.getContext())))
      continue;
    body->eraseArgument(number);
    reader.getInputsMutable().erase(number);
    maps = std::move(others);
  }
  reader.setIndexingMapsAttr(
      Builder(reader.getContext()).getAffineMapArrayAttr(maps));
  if (reader->getNumResults() != 1 || !isMemoryEffectFree(reader) ||
      hasPolicy(reader))
    return;
  auto yielded = dyn_cast<BlockArgument>(body->getTerminator()->getOperand(0));
  if (!yielded || yielded.getOwner() != body ||
      yielded.getArgNumber() >= reader.getNumDpsInputs())
    return;
  unsigned number = yielded.getArgNumber();
  Value input = reader.getDpsInputs()[number];
  if (maps[number] != maps.back() || !maps.back().isPermutation() ||
      input.getType() != reader->getResult(0).getType())
    return;
  reader->getResult(0).replaceAllUsesWith(input);
  reader.erase();
}

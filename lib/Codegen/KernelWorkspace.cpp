//===- KernelWorkspace.cpp - scratch memory of a kernel -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Codegen/KernelWorkspace.h"

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/IR/Rows.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace remat;
using namespace remat::codegen;

bool remat::codegen::isRowKernel(func::FuncOp function) {
  bool any = false;
  for (Operation &op : function.getBody().front().without_terminator()) {
    if (isa<memref::AllocOp, memref::DeallocOp, ViewLikeOpInterface>(op) ||
        (op.getNumRegions() == 0 && isPure(&op)))
      continue;
    if (!isa<linalg::GenericOp>(op) || !op.hasAttr(rowsAttrName))
      return false;
    any = true;
  }
  return any;
}

bool remat::codegen::isAccessed(Value memref) {
  for (OpOperand &use : memref.getUses()) {
    Operation *user = use.getOwner();
    if (isa<ViewLikeOpInterface>(user) && user->getNumResults() == 1) {
      if (isAccessed(user->getResult(0)))
        return true;
      continue;
    }
    auto generic = dyn_cast<linalg::GenericOp>(user);
    if (!generic || !generic.isDpsInput(&use) ||
        generic.payloadUsesValueFromOperand(&use))
      return true;
  }
  return false;
}

int64_t
remat::codegen::assignWorkspace(func::FuncOp function,
                                SmallVectorImpl<WorkspaceBuffer> &buffers) {
  int64_t bytes = 0;
  if (isRowKernel(function))
    return bytes;
  function.walk([&](memref::AllocOp alloc) {
    if (!isAccessed(alloc))
      return;
    buffers.push_back({alloc, bytes});
    auto type = alloc.getType();
    bytes += getBufferBytes(
        RankedTensorType::get(type.getShape(), type.getElementType()));
  });
  return bytes;
}

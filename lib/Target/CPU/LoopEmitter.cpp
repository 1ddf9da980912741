//===- LoopEmitter.cpp - loops for structured ops -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoopEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace remat::codegen;
using namespace remat::cpu;

scf::ForOp remat::cpu::openLoop(OpBuilder &builder, Location loc, Value begin,
                                Value end, ValueRange carried) {
  Value one = emitIndex(builder, loc, 1);
  auto loop = scf::ForOp::create(builder, loc, begin, end, one, carried);
  builder.setInsertionPointToStart(loop.getBody());
  return loop;
}

void remat::cpu::keepLoop(scf::ForOp loop, unsigned vectors) {
  Builder builder(loop.getContext());
  auto unroll = LLVM::LoopUnrollAttr::get(loop.getContext(),
                                          /*disable=*/builder.getBoolAttr(true),
                                          {}, {}, {}, {}, {}, {});
  LLVM::LoopInterleaveAttr interleave;
  if (vectors != 0)
    interleave = LLVM::LoopInterleaveAttr::get(
        loop.getContext(), builder.getI32IntegerAttr(vectors));
  // The name that it has on LLVM's branches.
  loop->setAttr("loop_annotation",
                LLVM::LoopAnnotationAttr::get(loop.getContext(), {}, {},
                                              interleave, unroll, {}, {}, {},
                                              {}, {}, {}, {}, {}, {}, {}, {}));
}

void remat::cpu::keepScalar(scf::ForOp loop) {
  Builder builder(loop.getContext());
  BoolAttr isDisabled = builder.getBoolAttr(true);
  auto unroll = LLVM::LoopUnrollAttr::get(loop.getContext(), isDisabled, {}, {},
                                          {}, {}, {}, {});
  auto vectorize = LLVM::LoopVectorizeAttr::get(loop.getContext(), isDisabled,
                                                {}, {}, {}, {}, {}, {});
  loop->setAttr("loop_annotation",
                LLVM::LoopAnnotationAttr::get(loop.getContext(), {}, vectorize,
                                              {}, unroll, {}, {}, {}, {}, {},
                                              {}, {}, {}, {}, {}, {}));
}

SmallVector<UnitBlock> remat::cpu::splitUnit(OpBuilder &builder, Location loc,
                                             Value unit,
                                             ArrayRef<UnitLoop> loops) {
  SmallVector<UnitBlock> blocks(loops.size());
  for (unsigned i = loops.size(); i-- > 0;) {
    const UnitLoop &loop = loops[i];
    Value number = unit;
    if (i != 0) {
      Value count = emitIndex(builder, loc, loop.getCount());
      number = arith::RemUIOp::create(builder, loc, unit, count);
      unit = arith::DivUIOp::create(builder, loc, unit, count);
    }
    if (loop.block == 1) {
      blocks[i].begin = number;
      continue;
    }
    Value block = emitIndex(builder, loc, loop.block);
    blocks[i].begin = arith::MulIOp::create(builder, loc, number, block, nsw);
    blocks[i].end =
        arith::AddIOp::create(builder, loc, blocks[i].begin, block, nsw);
    if (loop.size % loop.block != 0)
      blocks[i].end = arith::MinSIOp::create(
          builder, loc, blocks[i].end, emitIndex(builder, loc, loop.size));
  }
  return blocks;
}

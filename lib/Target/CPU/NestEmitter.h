//===- NestEmitter.h - loops for elementwise ops and reductions -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the emitters of a nest's forms share: how its loops are divided, and the
// pieces that all of them are made of.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TARGET_CPU_NESTEMITTER_H
#define REMAT_LIB_TARGET_CPU_NESTEMITTER_H

#include "LoopEmitter.h"
#include "remat/Codegen/BodyEmitter.h"
#include "remat/Codegen/Reduction.h"
#include "remat/Utils/Saturating.h"

namespace remat::cpu {

using namespace codegen;

class NestEmitter : public Emitter {
  class StackSums;

public:
  NestEmitter(LoopNest nest, const KernelContext &kernel)
      : nest(std::move(nest)), kernel(kernel), loc(this->nest.op->getLoc()) {
    chooseLoops();
    chooseUnits();
    accumulators = findAccumulators(this->nest);
  }
  int64_t getExtent() const override {
    int64_t extent = 1;
    for (const UnitLoop &loop : units)
      extent = multiplyCounts(extent, loop.getCount());
    return extent;
  }
  int64_t getCost() const override {
    return multiplyCounts(nest.numPoints(), nest.bodyCost());
  }
  mlir::LogicalResult emit(mlir::OpBuilder &builder, mlir::Value begin,
                           mlir::Value end) override;

private:
  void chooseLoops();
  int64_t getInnerCost(unsigned loop) const;
  void chooseTile();
  void chooseUnits();
  /// The accumulator of an output, or null.
  const Accumulator *findAccumulator(unsigned output) const {
    for (const Accumulator &accumulator : accumulators)
      if (accumulator.output == output)
        return &accumulator;
    return nullptr;
  }

  void defineBody(BodyEmitter &body);
  mlir::Value emitAddress(mlir::OpBuilder &builder, const Access &access);
  mlir::Value emitElement(mlir::OpBuilder &builder, const Access &access);
  mlir::Value emitInit(mlir::OpBuilder &builder,
                       const Accumulator &accumulator);
  mlir::Value emitCombined(mlir::OpBuilder &builder, BodyEmitter &body,
                           const Accumulator &accumulator, mlir::Value old);
  /// Where a loop ends if nothing else is said.
  mlir::Value emitEnd(mlir::OpBuilder &builder, unsigned loop);
  mlir::LogicalResult enterLoop(mlir::OpBuilder &builder, BodyEmitter &body,
                                unsigned loop, mlir::Value begin = {},
                                mlir::Value end = {});
  void emitStores(mlir::OpBuilder &builder, BodyEmitter &body);
  void emitFinal(mlir::OpBuilder &builder, const Accumulator &accumulator,
                 mlir::Value value);
  bool mayOverlap() const;
  mlir::LogicalResult emitPointwise(mlir::OpBuilder &builder,
                                    BodyEmitter &body);
  mlir::LogicalResult emitAlongMemory(mlir::OpBuilder &builder,
                                      BodyEmitter &body);
  bool hasSumsOnStack() const;
  bool joinsUnits() const;
  UnitBlock emitJoined(mlir::OpBuilder &builder, mlir::Value begin,
                       mlir::Value end);
  mlir::LogicalResult emitOnStack(mlir::OpBuilder &builder, BodyEmitter &body);
  void emitFills(mlir::OpBuilder &builder);

  LoopNest nest;
  const KernelContext &kernel;
  mlir::Location loc;

  /// Loops by role; each loop is in one of them or in `units`.
  llvm::SmallVector<UnitLoop> units;
  llvm::SmallVector<unsigned> parallel, reductions;
  int inner = -1, tiled = -1;
  bool innerIsReduction = false;
  llvm::SmallVector<Accumulator> accumulators;

  /// While emitting: index of each loop and the blocks that units gave.
  llvm::SmallVector<mlir::Value> indices;
  llvm::SmallVector<UnitBlock> blocks;
  llvm::SmallVector<unsigned> depths;
  unsigned depth = 0;
};

} // namespace remat::cpu

#endif // REMAT_LIB_TARGET_CPU_NESTEMITTER_H

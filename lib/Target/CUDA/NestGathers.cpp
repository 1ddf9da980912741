//===- NestGathers.cpp - what bodies read at places that they compute -----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The points of a thread are next to each other along one loop. A body that
// looks up a row of a table reads elements of the row that are next to each
// other, too: the first of the points reads them for all. It also computes for
// all what is the same in them, such as which row that is.
//
//===----------------------------------------------------------------------===//

#include "NestEmitter.h"
#include "VectorAccess.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace remat;
using namespace remat::codegen;
using namespace remat::cuda;

bool remat::cuda::variesAlong(const Access &access, ArrayRef<unsigned> loops) {
  return access.nonlinear || llvm::any_of(loops, [&](unsigned loop) {
           return access.coefficients[loop] != 0;
         });
}

DenseSet<Operation *> remat::cuda::findVarying(const LoopNest &nest,
                                               ArrayRef<unsigned> loops) {
  DenseSet<Value> varying;
  for (auto [argument, access] :
       llvm::zip(nest.body->getArguments(), nest.inputs))
    if (variesAlong(access, loops))
      varying.insert(argument);
  for (BlockArgument argument : getOutputArguments(nest))
    varying.insert(argument);
  DenseSet<Operation *> found;
  for (Operation &op : nest.body->without_terminator()) {
    bool varies = false;
    op.walk([&](Operation *inner) {
      if (auto index = dyn_cast<linalg::IndexOp>(inner))
        varies |= llvm::any_of(loops, [&](unsigned loop) {
          return llvm::is_contained(nest.loops[loop].dims, index.getDim());
        });
      for (Value operand : inner->getOperands())
        varies |= varying.contains(operand);
    });
    if (!varies)
      continue;
    found.insert(&op);
    varying.insert_range(op.getResults());
  }
  return found;
}

bool remat::cuda::isVectorGather(const LoopNest &nest, memref::LoadOp load,
                                 unsigned loop, int64_t width,
                                 const DenseSet<Operation *> &varying) {
  if (isa<ComplexType>(load.getMemRefType().getElementType()))
    return false;
  FailureOr<BufferView> view = resolveView(load.getMemRef());
  if (failed(view) || view->offset % width != 0 ||
      !isWholeVectors(view->root, width))
    return false;
  bool isAlong = false;
  for (auto [index, stride] : llvm::zip(load.getIndices(), view->strides)) {
    auto own = index.getDefiningOp<linalg::IndexOp>();
    if (own && nest.loops[loop].dims == ArrayRef<unsigned>(own.getDim())) {
      if (isAlong || stride != 1)
        return false;
      isAlong = true;
      continue;
    }
    if (APInt constant; matchPattern(index, m_ConstantInt(&constant))) {
      if (constant.getSExtValue() * stride % width != 0)
        return false;
      continue;
    }
    Operation *producer = index.getDefiningOp();
    if (!producer || varying.contains(producer) || stride % width != 0)
      return false;
  }
  return isAlong;
}

/// The loops along which the points of a thread differ.
SmallVector<unsigned> NestEmitter::findLoopsOfPoints() const {
  if (plan.width == 1)
    return plan.kind == NestPlan::Sum ? reductions : parallel;
  SmallVector<unsigned> loops{unsigned(plan.vectorLoop)};
  if (plan.carryLoop >= 0)
    loops.push_back(plan.carryLoop);
  return loops;
}

/// Lets the first of neighbours read for all of them, and compute what is the
/// same in all. Points that are not next to each other are all neighbours here.
void NestEmitter::shareOps(unsigned number) {
  if (points.size() == 1)
    return;
  Point &point = points[number];
  unsigned first = plan.width == 1 ? 0 : getFirst(number);
  unsigned lane = number - first;
  DenseSet<Operation *> varying = findVarying(nest, findLoopsOfPoints());
  for (Operation &op : nest.body->without_terminator()) {
    if (!varying.contains(&op)) {
      if (lane != 0)
        point.body.defineOp(&op, [this, &op, first](OpBuilder &) {
          return llvm::map_to_vector(op.getResults(), [&](Value result) {
            return points[first].body.lookup(result);
          });
        });
      continue;
    }
    auto load = dyn_cast<memref::LoadOp>(&op);
    if (!load || plan.width == 1 || plan.carryLoop >= 0 ||
        !isVectorGather(nest, load, plan.vectorLoop, plan.width, varying))
      continue;
    point.body.defineOp(
        &op, [this, load, &point, lane, first](OpBuilder &) mutable {
          SmallVector<Value> &elements = gathered[{load, first}];
          if (lane == 0)
            elements = loadGather(load, point);
          return SmallVector<Value>{elements[lane]};
        });
  }
}

SmallVector<Value> NestEmitter::loadGather(memref::LoadOp load, Point &point) {
  // The view was resolved before.
  BufferView view = *resolveView(load.getMemRef());
  SmallVector<Value> place = llvm::map_to_vector(
      load.getIndices(), [&](Value index) { return point.body.lookup(index); });
  return loadVector(builder, loc, plan.width,
                    load.getMemRefType().getElementType(),
                    launch.context.buffers.lookup(view.root),
                    emitLinear(builder, loc, view.offset, view.strides, place));
}

//===- Transpose.cpp - forward rules from reverse rules -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The reverse rule of an operation with the Jacobian J emits u -> J' u for
// unknown cotangents u. Its reverse-mode derivative by u, at cotangents t, is
// J t, whatever u is. What the first step emits and the second does not need
// is dropped.
//
//===----------------------------------------------------------------------===//

#include "Idioms.h"
#include "Sweep.h"

using namespace mlir;
using namespace remat;

namespace {
/// Takes down what a reverse rule makes of unknown cotangents.
class Recorder : public ReverseContext {
public:
  Recorder(ForwardContext &outer)
      : DerivativeContext(outer.getBuilder()), outer(outer) {
    setLoc(outer.getLoc());
  }

  bool isActive(Value value) const override { return outer.isActive(value); }
  Value primal(Value forward) override { return outer.primal(forward); }
  Value cotangent(Value forward) override {
    if (!isActive(forward))
      return nullptr;
    Value &unknown = unknowns[forward];
    if (!unknown)
      unknown = UnrealizedConversionCastOp::create(
                    getBuilder(), getLoc(), forward.getType(), ValueRange())
                    .getResult(0);
    return unknown;
  }
  void accumulate(Value forward, Value term) override {
    Value tangent = outer.tangent(forward);
    if (term && tangent)
      terms.emplace_back(term, tangent);
  }

  DenseMap<Value, Value> unknowns;
  /// Contributions to cotangents of operands, and the tangents of these.
  SmallVector<std::pair<Value, Value>> terms;

private:
  ForwardContext &outer;
};
} // namespace

/// Erases those of `ops` that nothing uses.
static void eraseUnused(ArrayRef<Operation *> ops) {
  for (Operation *op : llvm::reverse(ops))
    if (op->use_empty())
      op->erase();
}

LogicalResult remat::emitTransposedVJP(Operation *op, ForwardContext &context) {
  Block *block = context.getBuilder().getInsertionBlock();
  Block::iterator end = context.getBuilder().getInsertionPoint();
  Operation *before = end == block->begin() ? nullptr : &*std::prev(end);

  // What is swept here is no part of the program, so its idioms do not count.
  IdiomLog unused;
  IdiomLog *idioms = context.getIdiomLog() ? &unused : nullptr;
  Recorder recorder(context);
  recorder.setIdiomLog(idioms);
  SmallVector<Value> unknowns;
  for (Value result : op->getResults())
    unknowns.push_back(recorder.cotangent(result));
  if (failed(cast<DifferentiableOpInterface>(op).emitVJP(recorder)))
    return failure();

  SmallVector<Operation *> emitted;
  Block::iterator first =
      before ? std::next(before->getIterator()) : block->begin();
  for (Operation &made : llvm::make_range(first, end))
    emitted.push_back(&made);
  SmallVector<Value> outputs;
  for (auto [term, tangent] : recorder.terms)
    outputs.push_back(term);
  SmallVector<Value> inputs = llvm::filter_to_vector(
      unknowns, [](Value value) -> bool { return value != nullptr; });
  // The unknown cotangents are what the sweep arrives at.
  SmallVector<Operation *> swept =
      llvm::filter_to_vector(emitted, [](Operation *op) {
        return !isa<UnrealizedConversionCastOp>(op);
      });
  SequenceActivity activity(swept, inputs, outputs);
  ReverseSweep sweep(context.getBuilder(), activity, context.getLoc());
  sweep.setIdiomLog(idioms);
  for (auto [term, tangent] : recorder.terms)
    sweep.accumulate(term, tangent);
  if (failed(sweep.run(swept)))
    return failure();
  for (auto [result, unknown] : llvm::zip(op->getResults(), unknowns))
    if (unknown)
      context.addTangent(result, sweep.cotangent(unknown));
  eraseUnused(emitted);
  return success();
}
